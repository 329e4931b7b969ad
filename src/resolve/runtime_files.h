/* SPDX-License-Identifier: Apache-2.0 */
/* What the search for interpreters asks about files that processes map as code: addresses of
 * symbols, and the roles of the functions of an interpreter. A question about a file is
 * asked once for all its processes; the answers are small, the symbols do not stay in memory.
 *
 * The files are untrusted. They are read by this process or, if `isolated`, by a child
 * (os/service.h), which runs until runtime_files_rest. */
#ifndef STOKE_RESOLVE_RUNTIME_FILES_H
#define STOKE_RESOLVE_RUNTIME_FILES_H

#include "base/idmap.h"
#include "interpreter/interpreter.h"
#include "os/service.h"

struct runtime_reader; /* the files that are open */

/* The functions of a file from an address on, up to the next part: their role. */
struct runtime_part {
    uint64_t start; /* in the file */
    enum interpreter_native role;
};

/* The roles of the functions of a file. */
struct runtime_roles {
    struct runtime_roles *next;
    uint64_t file;     /* hash of its identity */
    uint64_t distance; /* of its address 0 from the start of the mapping */
    size_t users;      /* processes */
    struct arena arena;
    struct runtime_part *parts; /* ascending */
    size_t count, cap;
};

struct runtime_files {
    bool isolated;
    struct os_service service; /* if isolated */
    struct runtime_reader
        *reader; /* otherwise, and in the child; NULL: nothing is open */
    struct arena arena;
    /* 1 + the index of a distance, by hash of file and name; 1: it is not defined. By the hash
     * of a file alone: it is not read. */
    struct idmap symbols;
    uint64_t *distances; /* [0] is unused */
    size_t distance_count, distance_cap;
    uint64_t expires; /* ns: then the symbols are asked again */
    struct runtime_roles *roles;
    size_t roles_count;
};

/* A file that a process maps: its first executable mapping. */
struct runtime_mapping {
    struct str path;
    uint64_t start, offset;
    uint64_t file; /* hash of its identity: path, device, inode, offset */
};

void runtime_files_init(struct runtime_files *f, bool isolated);
void runtime_files_deinit(struct runtime_files *f);

/* The address of a symbol in the process. False if the file does not define it, or cannot be
 * read. */
bool runtime_files_symbol(struct runtime_files *f, uint32_t pid,
                          const struct runtime_mapping *m, struct str name,
                          uint64_t *address);

/* The roles of the file's functions, which the process then uses; *bias is what the process
 * adds to addresses of the file. NULL if the file cannot be read. */
struct runtime_roles *runtime_files_roles(struct runtime_files *f, uint32_t pid,
                                          const struct runtime_mapping *m,
                                          const struct interpreter *interpreter,
                                          uint64_t *bias);
void runtime_files_leave(struct runtime_files *f, struct runtime_roles *r); /* or NULL */

/* The role of the function at an address of the file. */
enum interpreter_native runtime_roles_find(const struct runtime_roles *r,
                                           uint64_t address);

/* Closes the files, or ends the child, until the next question. */
void runtime_files_rest(struct runtime_files *f);

#endif
