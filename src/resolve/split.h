/* SPDX-License-Identifier: Apache-2.0 */
/* Debug information that lies in files of its own: .dwo, and packages of them, .dwp. */
#ifndef STOKE_RESOLVE_SPLIT_H
#define STOKE_RESOLVE_SPLIT_H

#include "os/mapping.h"
#include "os/parallel.h"
#include "resolve/find.h"
#include "symbol/dwarf_package.h"

struct split_file;

/* The split files of one object. */
struct split_files {
    struct os_lock *lock; /* the object's */
    struct arena *arena;
    struct split_file *files, *packages; /* open */
    bool searched;                       /* for packages */
    const char *symfs;                   /* or NULL */
    const struct find_beside *beside;
    struct str path;    /* of the file with debug information */
    struct str missing; /* the first file that was nowhere; or empty */
};

/* For struct dwarf_input, with a struct split_files as its context: from a package
 * beside the program, else from the .dwo where the compiler put it or beside the program.
 */
bool split_find(void *split, const struct dwarf_split *wanted,
                struct dwarf_sections *out);

void split_deinit(struct split_files *s);

#endif
