/* SPDX-License-Identifier: Apache-2.0 */
#include "base/lines.h"

struct lines lines_of(struct source *s, struct error *err)
{
    return (struct lines){.source = s, .err = err};
}

/* Drops the bytes of a line that is too long. */
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

/* Finds the end of the line that begins the window, reading more as needed. Sets *next
 * to the byte after it. The first `seen` bytes contain no line end. */
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
        if (length > source_limits(s)->line)
            pass_over(l);
        seen = (size_t)(s->end - s->begin);
        l->failed = !source_more(s, s->begin, l->err);
    }
}

bool lines_next_after(struct lines *l, size_t known, struct str *line)
{
    struct source *s = l->source;
    const char *next;
    while (find_line(l, known, line, &next)) {
        s->offset += (uint64_t)(next - s->begin);
        s->begin = next;
        l->number++;
        if (!l->passing && line->len <= source_limits(s)->line)
            return true;
        count_long(l);
        known = 0;
    }
    if (l->passing && !l->failed) { /* the last line, without a line end */
        l->number++;
        count_long(l);
    }
    return false;
}

bool lines_next(struct lines *l, struct str *line)
{
    return lines_next_after(l, 0, line);
}
