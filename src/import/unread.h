/* SPDX-License-Identifier: Apache-2.0 */
/* Files of profilers, and results of profilers, that no importer reads but that users
 * have beside those that one reads. */
#ifndef STOKE_IMPORT_UNREAD_H
#define STOKE_IMPORT_UNREAD_H

#include "base/str.h"

struct unread_format {
    struct str begin; /* the first bytes of the file */
    struct str has;   /* a text in the first bytes (input head); empty: none */
    const char *what; /* with its article: "a core dump" */
    const char *hint; /* how to get a file that can be read */
};

/* The format of an input that no importer knows, by its first bytes; NULL: unknown. */
const struct unread_format *unread_format_of(struct str head);

#endif
