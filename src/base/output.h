/* SPDX-License-Identifier: Apache-2.0 */
/* Text output: a buffer that is flushed when it is full, or that keeps the whole text.
 *
 * Failure is sticky: a writer can print a whole document and check `failed` once. */
#ifndef STOKE_BASE_OUTPUT_H
#define STOKE_BASE_OUTPUT_H

#include "base/format.h"
#include "base/str.h"
#include <stdint.h>

struct output {
    char *bytes;
    size_t used, cap;
    size_t room; /* bytes that may be filled without another check */
    /* Writes all bytes to their destination; false on failure. NULL: `bytes` keeps the
     * whole text. */
    bool (*flush)(void *context, const char *bytes, size_t length);
    void *context;
    bool failed;
};

/* An output that keeps the whole text in memory. */
#define OUTPUT_BUFFER ((struct output){0})

void output_deinit(struct output *o);

/* Makes room for `length` more bytes; false after any failure. */
bool output_reserve(struct output *o, size_t length);

/* The slow path of output_bytes: the buffer has no room. */
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

/* Writes v + rest, where `rest` is small compared with v: all digits if the sum is an
 * integer of up to 100 bits, otherwise v as output_double writes it. */
void output_exact(struct output *o, double v, double rest);
void output_fixed(struct output *o, double v, int decimals);

/* As output_fixed, without the zeros at the end of the fraction. */
void output_short(struct output *o, double v, int decimals);
void output_format(struct output *o, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Flushes the rest. Returns false if anything has failed since the beginning. */
bool output_finish(struct output *o);

/* The text of an OUTPUT_BUFFER; valid until the next write. */
struct str output_contents(const struct output *o);

#endif
