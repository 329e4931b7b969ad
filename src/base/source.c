/* SPDX-License-Identifier: Apache-2.0 */
#include "base/source.h"
#include "base/limits.h"
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

/* Puts the kept bytes at the buffer's beginning, in a larger one where they fill more
 * than half of it. */
static bool window_slide(struct source *s, const char *keep, struct error *err)
{
    size_t kept = (size_t)(s->end - keep), size = s->size;
    if (size == 0)
        size = WINDOW_FIRST;
    if (kept > size / 2)
        size *= 2;
    if (size > limits.piece) {
        error_set(err, "a single piece of the input is larger than %zu MiB",
                  (size_t)(limits.piece >> 20));
        error_hint(err, "--limits x8 raises the limits");
        return error_at_offset(err, s->offset);
    }
    if (kept && s->buffer) /* what is not kept need not be moved with the rest */
        memmove(s->buffer, keep, kept);
    char *buffer = size != s->size ? realloc(s->buffer, size) : s->buffer;
    if (!buffer) {
        if (s->buffer) { /* what is kept was moved */
            s->begin = s->buffer;
            s->end = s->begin + kept;
        }
        return error_memory(err);
    }
    if (kept && !s->buffer)
        memcpy(buffer, keep, kept);
    s->buffer = buffer;
    s->size = size;
    s->begin = buffer;
    s->end = buffer + kept;
    return true;
}

bool source_more(struct source *s, const char *keep, struct error *err)
{
    size_t got = 0;
    if (s->last) {
        s->offset += (uint64_t)(keep - s->begin);
        s->begin = keep;
        return true;
    }
    uint64_t passed = (uint64_t)(keep - s->begin);
    if (!window_slide(s, keep, err))
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

bool source_peek(struct source *s, size_t want, struct error *err)
{
    while (!s->last && (size_t)(s->end - s->begin) < want)
        if (!source_more(s, s->begin, err))
            return false;
    return true;
}
