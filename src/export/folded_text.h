/* SPDX-License-Identifier: Apache-2.0 */
/* Text of sorted folded lines. */
#ifndef STOKE_EXPORT_FOLDED_TEXT_H
#define STOKE_EXPORT_FOLDED_TEXT_H

#include "analysis/paths.h"
#include "base/output.h"
#include "base/thread_pool.h"

struct folded_line {
    struct str thread; /* its label, or empty */
    uint32_t path;
    double weight, rest, base, base_rest; /* see struct sample */
};

struct folded_text {
    const struct paths *paths;
    const struct folded_line *lines;
    size_t count;
    bool differential; /* the base precedes the weight */
};

/* Writes all lines, in parallel if there are many. False if out of memory. */
bool folded_text_write(const struct folded_text *text, const struct thread_pool *pool,
                       struct output *out);

#endif
