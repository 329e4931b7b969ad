/* SPDX-License-Identifier: Apache-2.0 */
/* The share of lines in a text that are folded stacks. */
#ifndef STOKE_IMPORT_FOLDED_H
#define STOKE_IMPORT_FOLDED_H

#include "base/str.h"

/* Of the first 1000 lines, without empty lines and those that begin with '#'. A line
 * that ends in a number is good only if the text before it looks like frames, because
 * most lines of logs and tables also end in a number. */
struct folded_share {
    size_t good;   /* readable, or would be with another number */
    size_t stacks; /* of the good lines: have a ';' between frames */
    size_t bad;    /* not readable, or look like something else */
};

struct folded_share folded_share(struct str head);

#endif
