/* SPDX-License-Identifier: Apache-2.0 */
/* The lines of a source, one after the other, with their numbers.
 *
 * A line ends with LF, CR LF, or the end of the input; its end is not part of it. A line
 * that is longer than limits.line is left out, without being kept in memory, and counted
 * in the source (long_lines). */
#ifndef STOKE_BASE_LINES_H
#define STOKE_BASE_LINES_H

#include "base/source.h"

struct lines {
    struct source *source;
    uint64_t number;   /* of the line given last; the first is 1 */
    struct error *err; /* where a read error goes */
    bool cut;          /* the line given last had no line end */
    bool failed;       /* the source failed; err says how */
    bool passing;      /* the window begins inside a line that is left out */
};

struct lines lines_of(struct source *s, struct error *err);

/* Gives the next line, good until the next call. False at the end and on failure. */
bool lines_next(struct lines *l, struct str *line);

/* The same, where the first `known` bytes of the window are known to hold no line end. */
bool lines_next_behind(struct lines *l, size_t known, struct str *line);

/* Passes over bytes of the window that hold `count` lines. */
static inline void lines_skip(struct lines *l, size_t bytes, uint64_t count)
{
    l->source->begin += bytes;
    l->source->offset += bytes;
    l->number += count;
}

#endif
