/* SPDX-License-Identifier: Apache-2.0 */
#include "base/lines.h"
#include "base/limits.h"

struct lines lines_of(struct source *s, struct error *err)
{
    return (struct lines){.source = s, .err = err};
}

/* What the window holds of a line that is too long is not kept. */
static void pass_over(struct lines *l)
{
    struct source *s = l->source;
    s->offset += (uint64_t)(s->end - s->begin);
    s->begin = s->end;
    l->passing = true;
}

static void count_long(struct lines *l)
{
    l->passing = false;
    if (l->source->long_lines++ == 0)
        l->source->long_line = l->number;
}

/* Finds the end of the line at the window's beginning, reading on as need be: *next is
 * behind it. It is not among the first `seen` bytes. */
static bool find_line(struct lines *l, size_t seen, struct str *line, const char **next)
{
    struct source *s = l->source;
    for (;;) {
        size_t length = (size_t)(s->end - s->begin);
        const char *end =
            length > seen ? memchr(s->begin + seen, '\n', length - seen) : NULL;
        if (end || (s->last && length)) {
            *next = end ? end + 1 : s->end;
            l->cut = !end;
            *line = str_span(s->begin, end ? end : s->end);
            if (line->len && line->ptr[line->len - 1] == '\r')
                line->len--;
            return true;
        }
        if (s->last || l->failed)
            return false;
        if (length > limits.line)
            pass_over(l);
        seen = (size_t)(s->end - s->begin);
        l->failed = !source_more(s, s->begin, l->err);
    }
}

bool lines_next_behind(struct lines *l, size_t known, struct str *line)
{
    struct source *s = l->source;
    const char *next;
    while (find_line(l, known, line, &next)) {
        s->offset += (uint64_t)(next - s->begin);
        s->begin = next;
        l->number++;
        if (!l->passing && line->len <= limits.line)
            return true;
        count_long(l);
        known = 0;
    }
    if (l->passing && !l->failed) { /* the last line, and it has no end */
        l->number++;
        count_long(l);
    }
    return false;
}

bool lines_next(struct lines *l, struct str *line)
{
    return lines_next_behind(l, 0, line);
}
