/* SPDX-License-Identifier: Apache-2.0 */
/* Split debug information: .dwo files, and packages of them, .dwp. */
#ifndef STOKE_RESOLVE_SPLIT_H
#define STOKE_RESOLVE_SPLIT_H

#include "base/idmap.h"
#include "os/mapping.h"
#include "os/thread_pool.h"
#include "resolve/find.h"
#include "symbol/dwarf_package.h"

struct split_file;

/* The split files of one object. */
struct split_files {
    struct os_lock *lock; /* the lock of the object */
    struct arena *arena;
    struct split_file *files, *packages; /* open */
    struct idmap by_path;                /* of files, by hash */
    bool searched;                       /* for packages */
    const char *symfs;                   /* or NULL */
    struct elf_unpacked *unpacked;       /* of the object */
    const struct find_beside *beside;
    struct str path;    /* of the file with debug information */
    struct str missing; /* the first file that was not found; or empty */
};

/* For struct dwarf_input, with a struct split_files as its context: searches the
 * packages beside the executable, then the .dwo where the compiler wrote it or beside
 * the executable. */
bool split_find(void *split, const struct dwarf_split *unit, struct dwarf_sections *out);

/* Number of compressed sections that exceed the limits. */
unsigned split_rejected(const struct split_files *s);

void split_deinit(struct split_files *s);

#endif
