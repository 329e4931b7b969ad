/* SPDX-License-Identifier: Apache-2.0 */
/* The interpreter in a running process, and the roles of the native functions of its
 * module. */
#ifndef STOKE_RESOLVE_RUNTIME_H
#define STOKE_RESOLVE_RUNTIME_H

#include "resolve/runtime_files.h"

/* Executable memory of the runtime's module. */
struct process_code {
    uint64_t start, end, offset; /* addresses; in the file */
};

/* What is known of all processes: those of a machine have a few sets of modules and a few
 * runtimes. */
struct runtimes {
    struct arena arena;
    /* sets of modules without a runtime, by a hash of paths and inodes */
    struct idmap absent;
    struct runtime_files files;
};

/* isolated: files of processes are read by a child (runtime_files.h). */
void runtimes_init(struct runtimes *known, bool isolated);
void runtimes_deinit(struct runtimes *known); /* after that of all processes */

struct process_runtime {
    struct arena arena; /* owns everything but the symbols */
    struct runtimes *known;
    uint32_t pid;
    const char *only;                   /* the interpreter to search for; NULL: all */
    struct interpreter_runtime runtime; /* interpreter NULL: there is none */
    struct str module;                  /* the path of its module */
    struct error refused;               /* why a runtime cannot be read; or no message */
    bool is_starting;                   /* a runtime is there, but not ready */
    struct interpreter_access access;
    struct runtime_mapping *modules;
    size_t module_count, module_cap;
    uint64_t set; /* hash of the modules */
    struct process_code *code;
    size_t code_count, code_cap;
    struct runtime_roles *roles; /* of the runtime's module; NULL: unknown */
    uint64_t bias;               /* addresses in the process minus those in its file */
};

/* Searches for the runtime of a process; NULL if out of memory. `only`: the name of the
 * interpreter to search for; NULL: all. `known` must outlive the result. */
struct process_runtime *process_runtime_create(uint32_t pid, const char *only,
                                               struct runtimes *known);
void process_runtime_destroy(struct process_runtime *r); /* NULL is allowed */

/* The role of a native function that an address belongs to, which is of a call if
 * `is_call`. */
enum interpreter_native process_runtime_role(const struct process_runtime *r,
                                             uint64_t address, bool is_call);

#endif
