/* SPDX-License-Identifier: Apache-2.0 */
#include "base/output.h"
#include "base/number.h"
#include <stdlib.h>

#define FLUSH_SIZE (64u << 10)

void output_deinit(struct output *o)
{
    free(o->bytes);
    o->bytes = NULL;
    o->used = o->cap = o->room = 0;
}

static void flush(struct output *o)
{
    if (o->used && !o->failed)
        o->failed = !o->flush(o->context, o->bytes, o->used);
    o->used = 0;
}

bool output_reserve(struct output *o, size_t length)
{
    if (o->flush && o->used + length > FLUSH_SIZE)
        flush(o);
    if (!o->failed && o->used + length > o->cap) {
        size_t cap = o->cap * 2 > o->used + length ? o->cap * 2 : o->used + length;
        if (cap < FLUSH_SIZE && o->flush)
            cap = FLUSH_SIZE;
        char *bytes = realloc(o->bytes, cap);
        if (!bytes)
            o->failed = true;
        else
            o->bytes = bytes, o->cap = cap;
    }
    o->room = o->cap;
    if (o->flush && o->room > FLUSH_SIZE) /* a stream is flushed in small pieces */
        o->room = o->used + length > FLUSH_SIZE ? o->used + length : FLUSH_SIZE;
    if (o->failed)
        o->room = o->used;
    return !o->failed;
}

/* Long text bypasses the buffer of a stream. */
void output_more(struct output *o, const char *bytes, size_t length)
{
    if (o->flush && length >= FLUSH_SIZE) {
        flush(o);
        o->failed = o->failed || !o->flush(o->context, bytes, length);
    } else if (output_reserve(o, length)) {
        memcpy(o->bytes + o->used, bytes, length);
        o->used += length;
    }
}

void output_text(struct output *o, const char *zero_terminated)
{
    output_bytes(o, zero_terminated, strlen(zero_terminated));
}

/* Room for a number, which is written in place; NULL once anything has failed. */
static char *number_room(struct output *o)
{
    bool has_room = o->room - o->used >= NUMBER_TEXT_MAX;
    return has_room || output_reserve(o, NUMBER_TEXT_MAX) ? o->bytes + o->used : NULL;
}

void output_u64(struct output *o, uint64_t v)
{
    char *at = number_room(o);
    o->used += at ? number_write_u64(v, at) : 0;
}

void output_double(struct output *o, double v)
{
    char *at = number_room(o);
    o->used += at ? number_write_double(v, at) : 0;
}

void output_exact(struct output *o, double v, double rest)
{
    char *at = number_room(o);
    o->used += at ? number_write_exact(v, rest, at) : 0;
}

void output_fixed(struct output *o, double v, int decimals)
{
    char *at = number_room(o);
    o->used += at ? number_write_fixed(v, decimals, at) : 0;
}

void output_short(struct output *o, double v, int decimals)
{
    char *at = number_room(o);
    if (!at)
        return;
    size_t length = number_write_fixed(v, decimals, at);
    if (decimals > 0 && memchr(at, '.', length)) {
        while (at[length - 1] == '0')
            length--;
        length -= at[length - 1] == '.';
    }
    o->used += length;
}

static void emit_output(void *context, const char *bytes, size_t length)
{
    output_bytes(context, bytes, length);
}

void output_format(struct output *o, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    format_to(emit_output, o, format, args);
    va_end(args);
}

bool output_finish(struct output *o)
{
    if (o->flush)
        flush(o);
    return !o->failed;
}

struct str output_contents(const struct output *o)
{
    return o->bytes ? (struct str){o->bytes, o->used} : STR("");
}
