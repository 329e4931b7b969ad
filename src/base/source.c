/* SPDX-License-Identifier: Apache-2.0 */
#include "base/source.h"
#include <stdlib.h>

#define WINDOW_FIRST ((size_t)256 << 10)

struct source source_of(struct str bytes, struct str name)
{
    return (struct source){
        .begin = bytes.ptr, .end = bytes.ptr + bytes.len, .last = true, .name = name};
}

struct source source_reading(bool (*read)(void *, char *, size_t, size_t *,
                                          struct error *),
                             void *context, struct str name)
{
    return (struct source){
        .begin = "", .end = "", .name = name, .read = read, .context = context};
}

void source_deinit(struct source *s)
{
    free(s->buffer);
    s->buffer = NULL;
    s->begin = s->end = "";
    s->size = 0;
}

/* Moves the retained bytes to the beginning of the buffer, or of a larger one if they
 * fill more than half of it. */
static bool window_slide(struct source *s, const char *retain, struct error *err)
{
    size_t retained = (size_t)(s->end - retain), size = s->size;
    uint64_t most = source_limits(s)->piece;
    if (size == 0)
        size = WINDOW_FIRST;
    if (retained > size / 2)
        size *= 2;
    if (size > most) {
        error_set(err, "one piece of the input exceeds the limit of %zu MiB",
                  (size_t)(most >> 20));
        error_hint(err, "--limits x8 raises the limits");
        return error_at_offset(err, s->offset);
    }
    if (retained && s->buffer) /* bytes that are not retained need not be moved */
        memmove(s->buffer, retain, retained);
    char *buffer = size != s->size ? realloc(s->buffer, size) : s->buffer;
    if (!buffer) {
        if (s->buffer) { /* the retained bytes have moved */
            s->begin = s->buffer;
            s->end = s->begin + retained;
        }
        return error_memory(err);
    }
    if (retained && !s->buffer)
        memcpy(buffer, retain, retained);
    s->buffer = buffer;
    s->size = size;
    s->begin = buffer;
    s->end = buffer + retained;
    return true;
}

bool source_more(struct source *s, const char *retain, struct error *err)
{
    size_t got = 0;
    if (s->last) {
        s->offset += (uint64_t)(retain - s->begin);
        s->begin = retain;
        return true;
    }
    uint64_t passed = (uint64_t)(retain - s->begin);
    if (!window_slide(s, retain, err))
        return false;
    s->offset += passed;
    size_t used = (size_t)(s->end - s->begin);
    if (!s->read(s->context, s->buffer + used, s->size - used, &got, err))
        return false;
    s->end += got;
    s->last = got == 0;
    return true;
}

bool source_all(struct source *s, struct str *all, struct error *err)
{
    while (!s->last)
        if (!source_more(s, s->begin, err))
            return false;
    *all = str_span(s->begin, s->end);
    return true;
}

bool source_map(struct source *s, struct str *all)
{
    struct str whole;
    if (!s->last && s->map && s->map(s->context, &whole) && s->offset <= whole.len) {
        s->begin = whole.ptr + s->offset;
        s->end = whole.ptr + whole.len;
        s->last = true;
        free(s->buffer);
        s->buffer = NULL;
        s->size = 0;
    }
    *all = str_span(s->begin, s->end);
    return s->last;
}

bool source_peek(struct source *s, size_t size, struct error *err)
{
    while (!s->last && (size_t)(s->end - s->begin) < size)
        if (!source_more(s, s->begin, err))
            return false;
    return true;
}
