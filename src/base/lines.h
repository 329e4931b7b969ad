/* SPDX-License-Identifier: Apache-2.0 */
/* The lines of a source, in order, with their numbers.
 *
 * A line ends with LF, CR LF, or the end of the input; the end is not part of it. A
 * line longer than limits.line is skipped without buffering it, and counted in the
 * source (long_lines). */
#ifndef STOKE_BASE_LINES_H
#define STOKE_BASE_LINES_H

#include "base/source.h"

struct lines {
    struct source *source;
    uint64_t number;   /* of the line returned last; the first is 1 */
    struct error *err; /* receives read errors */
    bool cut;          /* the line returned last had no line end */
    bool failed;       /* the source failed; see err */
    bool passing;      /* the window begins inside a line that is skipped */
};

struct lines lines_of(struct source *s, struct error *err);

/* Returns the next line, valid until the next call. False at the end and on failure. */
bool lines_next(struct lines *l, struct str *line);

/* The same, if the first `known` bytes of the window contain no line end. */
bool lines_next_after(struct lines *l, size_t known, struct str *line);

/* Skips bytes of the window that contain `count` lines. */
static inline void lines_skip(struct lines *l, size_t bytes, uint64_t count)
{
    l->source->begin += bytes;
    l->source->offset += bytes;
    l->number += count;
}

#endif
