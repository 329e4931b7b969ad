/* SPDX-License-Identifier: Apache-2.0 */
/* How much of a text is lines of folded stacks. */
#ifndef STOKE_IMPORT_FOLDED_H
#define STOKE_IMPORT_FOLDED_H

#include "base/str.h"

/* Of the first 1000 lines; empty lines and those that begin with '#' do not count. A line
 * that ends in a number counts as good only where what stands before it looks like frames:
 * most lines of logs and tables end in a number, too. */
struct folded_share {
    size_t good;   /* they are read, or would be with another number */
    size_t stacks; /* of the good ones: have a ';' between frames */
    size_t bad;    /* are not read, or look like something else */
};

struct folded_share folded_share(struct str head);

#endif
