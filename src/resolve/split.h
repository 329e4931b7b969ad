/* Debug information that lies in files of its own: .dwo, and packages of them, .dwp. */
#ifndef STOKE_RESOLVE_SPLIT_H
#define STOKE_RESOLVE_SPLIT_H

#include "os/mapping.h"
#include "os/parallel.h"
#include "symbol/dwarf_package.h"

struct split_file;

/* The split files of one object. */
struct split_files {
    struct os_lock *lock; /* the object's */
    struct arena *arena;
    struct split_file *files; /* open */
    struct dwarf_package package;
    bool searched;   /* for a package */
    struct str path; /* of the file with debug information */
};

/* For struct dwarf_input, with a struct split_files as its context: from the package
 * beside the file, else from the .dwo where the compiler put it or beside the file. */
bool split_find(void *split, const struct dwarf_split *wanted,
                struct dwarf_sections *out);

void split_deinit(struct split_files *s);

#endif
