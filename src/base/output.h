/* SPDX-License-Identifier: Apache-2.0 */
/* Text going out: a buffer that is flushed as it fills, or kept whole.
 *
 * Failure sticks, so a writer may print a whole document and look at `failed` once. */
#ifndef STOKE_BASE_OUTPUT_H
#define STOKE_BASE_OUTPUT_H

#include "base/format.h"
#include "base/str.h"
#include <stdint.h>

struct output {
    char *bytes;
    size_t used, cap;
    size_t room; /* up to there bytes may be filled without a further look */
    /* Takes all the bytes to where they belong, false when that fails. NULL: everything
     * is kept in `bytes`. */
    bool (*flush)(void *context, const char *bytes, size_t length);
    void *context;
    bool failed;
};

/* A buffer that keeps what is written. */
#define OUTPUT_KEEP ((struct output){0})

void output_deinit(struct output *o);

/* Makes room for `length` more bytes; false once anything has failed. */
bool output_reserve(struct output *o, size_t length);

/* output_bytes, where there is no room. */
void output_more(struct output *o, const char *bytes, size_t length);

static inline void output_bytes(struct output *o, const char *bytes, size_t length)
{
    if (length > o->room - o->used) {
        output_more(o, bytes, length);
    } else if (length) {
        memcpy(o->bytes + o->used, bytes, length);
        o->used += length;
    }
}

static inline void output_char(struct output *o, char c)
{
    if (o->used < o->room || output_reserve(o, 1))
        o->bytes[o->used++] = c;
}

static inline void output_str(struct output *o, struct str s)
{
    output_bytes(o, s.ptr, s.len);
}

void output_text(struct output *o, const char *zero_terminated);
void output_u64(struct output *o, uint64_t v);
void output_double(struct output *o, double v); /* shortest form, see number.h */

/* The sum of both: an integer of up to 100 bits with all of its digits, else as
 * output_double writes v. `rest` is small beside v. */
void output_exact(struct output *o, double v, double rest);
void output_fixed(struct output *o, double v, int decimals);
void output_format(struct output *o, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Flushes what is left. False when anything failed since the beginning. */
bool output_finish(struct output *o);

/* What a keeping output holds; good until the next write. */
struct str output_kept(const struct output *o);

#endif
