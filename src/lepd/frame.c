/* SPDX-License-Identifier: Apache-2.0 */
#include "lepd/frame.h"

/* Bytes of numbers, true, false and null. */
static bool is_word(char c)
{
    return byte_is_word(c) || c == '-' || c == '+' || c == '.';
}

static bool can_begin(char c)
{
    return c == '{' || c == '[' || c == '"' || c == '-' || byte_is_digit(c) || c == 't' ||
           c == 'f' || c == 'n';
}

static enum lepd_frame finish(struct lepd_framer *f)
{
    *f = (struct lepd_framer){0};
    return LEPD_FRAME_DONE;
}

/* A byte inside a string; returns true if the value ends with it. */
static bool step_string(struct lepd_framer *f, char c)
{
    if (f->escaped)
        f->escaped = false;
    else if (c == '\\')
        f->escaped = true;
    else if (c == '"')
        f->in_string = false;
    return !f->in_string && f->depth == 0;
}

/* A byte outside of strings; returns true if the value ends with it. */
static bool step(struct lepd_framer *f, char c)
{
    if (c == '"')
        f->in_string = true;
    else if (c == '{' || c == '[')
        f->depth++;
    else if ((c == '}' || c == ']') && f->depth)
        return --f->depth == 0;
    return false;
}

enum lepd_frame lepd_frame_find(struct lepd_framer *f, struct str bytes, size_t *used)
{
    for (*used = 0; *used < bytes.len; ++*used) {
        char c = bytes.ptr[*used];
        if (f->in_string) {
            if (step_string(f, c)) {
                ++*used;
                return finish(f);
            }
            continue;
        }
        if (!f->begun && byte_is_space(c))
            continue;
        if (!f->begun && !can_begin(c))
            return LEPD_FRAME_BROKEN;
        if (f->begun && f->depth == 0 && !is_word(c))
            return finish(f); /* the byte after a word belongs to the next value */
        f->begun = true;
        if (step(f, c)) {
            ++*used;
            return finish(f);
        }
        if (f->depth > LEPD_DEPTH_MAX)
            return LEPD_FRAME_BROKEN;
    }
    return LEPD_FRAME_MORE;
}
