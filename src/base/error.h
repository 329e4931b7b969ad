/* SPDX-License-Identifier: Apache-2.0 */
/* What went wrong, where, and what to try: the one way a library function of stoke fails.
 *
 * A fallible function returns bool (or a null pointer) and fills a caller-owned struct
 * error, its last parameter. It allocates nothing, so it works when memory is short.
 * Nothing here prints: src/cli/message.c does. */
#ifndef STOKE_BASE_ERROR_H
#define STOKE_BASE_ERROR_H

#include "base/str.h"
#include <stdint.h>

/* A place in an input. `line` and `column` count from 1; line 0 means the place is a byte
 * offset, and with offset UINT64_MAX it is the input as a whole. */
struct place {
    uint64_t line;
    uint64_t column;
    uint64_t offset;
    unsigned caret; /* the column within `text`, from 1 */
    char text[160]; /* the line, cut around the column and cleaned; may be empty */
};

#define PLACE_NONE ((struct place){.offset = UINT64_MAX})

struct error {
    char message[512]; /* a sentence without a full stop; never empty once set */
    char file[256];    /* the input's name; empty where there is none */
    char hint[256];    /* what to try; may be empty */
    struct place place;
};

/* Sets the message and clears the rest. Always returns false, so that a function can
 * `return error_set(err, ...)`. err may be NULL. */
bool error_set(struct error *err, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Adds the next step to try. Always returns false. */
bool error_hint(struct error *err, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Adds the place. `line` is the text of the line, or empty; it is copied, cut around the
 * column, control characters made visible. Always returns false. */
bool error_at_line(struct error *err, uint64_t line, uint64_t column, struct str text);
bool error_at_offset(struct error *err, uint64_t offset);

/* The message for an allocation that failed. Always returns false. */
bool error_memory(struct error *err);

/* Fills the place's text from a line, so that `column` is inside it. */
void place_set_line(struct place *place, uint64_t line, uint64_t column, struct str text);

#endif
