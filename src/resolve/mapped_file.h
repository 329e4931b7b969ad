/* SPDX-License-Identifier: Apache-2.0 */
/* A file that a running process maps as code: the addresses of its symbols in the process. */
#ifndef STOKE_RESOLVE_MAPPED_FILE_H
#define STOKE_RESOLVE_MAPPED_FILE_H

#include "resolve/find.h"

struct mapped_file {
    struct str path;        /* in the namespace of the process */
    struct str build_id;    /* hexadecimal; or empty: any */
    uint64_t start, offset; /* of its first mapping */
    bool opened, has_file;  /* the search for the file was tried; it was found */
    struct found found;
};

/* Opens the file itself, not a debug file, unless that was tried before. False if it is not there,
 * or has been replaced since. The arena owns what is found. */
bool mapped_file_open(struct mapped_file *m, uint32_t pid,
                      const struct find_settings *find, struct arena *arena);
void mapped_file_close(struct mapped_file *m); /* a zeroed struct is allowed */

/* What the process adds to addresses of the file (elf_load_bias). False if it is not open. */
bool mapped_file_bias(const struct mapped_file *m, uint64_t *bias);

/* Of an open file: the address of a symbol in the process. */
bool mapped_file_symbol(struct mapped_file *m, struct str name, uint64_t *address);

#endif
