/* SPDX-License-Identifier: Apache-2.0 */
/* The interpreter in a running process, and the roles of the native functions of its
 * module. */
#ifndef STOKE_RESOLVE_RUNTIME_H
#define STOKE_RESOLVE_RUNTIME_H

#include "base/idmap.h"
#include "interpreter/interpreter.h"
#include "symbol/symbol_table.h"

/* Executable memory of the runtime's module. */
struct process_code {
    uint64_t start, end, offset; /* addresses; in the file */
};

struct process_runtime {
    struct arena arena; /* owns everything */
    uint32_t pid;
    const char *only;                   /* the interpreter to search for; NULL: all */
    struct interpreter_runtime runtime; /* interpreter NULL: there is none */
    struct str module;                  /* the path of its module */
    struct error refused;               /* why a runtime cannot be read; or no message */
    struct interpreter_access access;
    struct mapped_file *modules; /* during the search */
    size_t module_count, module_cap;
    uint64_t set; /* hash of the modules */
    struct process_code *code;
    size_t code_count, code_cap;
    struct symbol_table symbols;
    int64_t moved; /* addresses in the process minus those in the file */
    struct arena roles_arena;
    struct idmap roles; /* by address: 1 + enum interpreter_native */
};

/* Sets of modules without a runtime: most processes of a machine have one of a few
 * sets. All zeros is empty. */
struct runtimes_absent {
    struct arena arena;
    struct idmap sets; /* by a hash of paths and inodes */
};

/* Searches for the runtime of a process; NULL if out of memory. `only`: the name of the
 * interpreter to search for; NULL: all. `absent` gets those without one, and saves the
 * search; or NULL. */
struct process_runtime *process_runtime_create(uint32_t pid, const char *only,
                                               struct runtimes_absent *absent);
void process_runtime_destroy(struct process_runtime *r); /* NULL is allowed */

/* The role of a native function that an address belongs to, which is of a call if
 * `is_call`. */
enum interpreter_native process_runtime_role(struct process_runtime *r, uint64_t address,
                                             bool is_call);

#endif
