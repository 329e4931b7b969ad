/* SPDX-License-Identifier: Apache-2.0 */
/* How a library function of stoke reports failure: what failed, where, and what to try.
 *
 * A function that can fail returns bool (or a null pointer) and fills a struct error,
 * its last parameter, which the caller owns. Filling it allocates nothing, so it works
 * when out of memory. This layer prints nothing: src/cli/message.c does. */
#ifndef STOKE_BASE_ERROR_H
#define STOKE_BASE_ERROR_H

#include "base/str.h"
#include <stdint.h>

/* A location in an input. `line` and `column` count from 1. If line is 0, the location
 * is the byte offset; if offset is UINT64_MAX too, it is the input as a whole. */
struct input_location {
    uint64_t line;
    uint64_t column;
    uint64_t offset;
    unsigned caret; /* column within `text`, from 1 */
    char text[160]; /* part of the line around the column, made printable; may be empty */
};

#define LOCATION_NONE ((struct input_location){.offset = UINT64_MAX})

struct error {
    char message[512]; /* a sentence without a full stop; never empty once set */
    char file[256];    /* name of the input; may be empty */
    char hint[256];    /* what to try; may be empty */
    struct input_location location;
};

/* Sets the message and clears the other fields. Always returns false, so that a
 * function can `return error_set(err, ...)`. err may be NULL. */
bool error_set(struct error *err, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Sets the hint. Always returns false. */
bool error_hint(struct error *err, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Set the location. `text` is the text of the line, or empty; it is copied, shortened
 * to the part around the column, and its control characters are made visible. Always
 * return false. */
bool error_at_line(struct error *err, uint64_t line, uint64_t column, struct str text);
bool error_at_offset(struct error *err, uint64_t offset);

/* Sets the message for a failed allocation. Always returns false; it is inline because static
 * analysis follows only what it sees. */
void error_set_memory(struct error *err);
static inline bool error_memory(struct error *err)
{
    error_set_memory(err);
    return false;
}

/* Sets the location's text to the part of a line that contains `column`. */
void input_location_set_line(struct input_location *location, uint64_t line,
                             uint64_t column, struct str text);

#endif
