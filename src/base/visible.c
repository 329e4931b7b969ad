/* SPDX-License-Identifier: Apache-2.0 */
#include "base/visible.h"
#include "base/utf8.h"

/* A character, or the escape that replaces it. */
struct piece {
    size_t length;   /* bytes of the text */
    char escape[12]; /* empty: print the bytes themselves */
    size_t columns;
};

struct range {
    unsigned from, to;
};

static bool in_ranges(const struct range *ranges, size_t count, unsigned c)
{
    for (size_t i = 0; i < count; i++)
        if (c >= ranges[i].from && c <= ranges[i].to)
            return true;
    return false;
}

#define IN(ranges, c) in_ranges((ranges), sizeof(ranges) / sizeof *(ranges), (c))

/* Control characters, line separators, and invisible characters that change direction
 * or joining. */
static const struct range hidden[] = {
    {0x00, 0x1f},     {0x7f, 0x9f},     {0xad, 0xad},      {0x61c, 0x61c},
    {0x180e, 0x180e}, {0x200b, 0x200f}, {0x2028, 0x202e},  {0x2060, 0x206f},
    {0xfeff, 0xfeff}, {0xfff9, 0xfffb}, {0xe0000, 0xe0fff}};

static const struct range wide[] = {
    {0x1100, 0x115f},   {0x2e80, 0x303e},   {0x3041, 0xa4cf},   {0xac00, 0xd7a3},
    {0xf900, 0xfaff},   {0xfe30, 0xfe6f},   {0xff01, 0xff60},   {0xffe0, 0xffe6},
    {0x1f300, 0x1f64f}, {0x1f680, 0x1f6ff}, {0x1f900, 0x1f9ff}, {0x20000, 0x3fffd}};

static const struct range combining[] = {
    {0x300, 0x36f},   {0x483, 0x489},   {0x591, 0x5bd},   {0x610, 0x61a},
    {0x64b, 0x65f},   {0x1ab0, 0x1aff}, {0x1dc0, 0x1dff}, {0x20d0, 0x20ff},
    {0xfe00, 0xfe0f}, {0xfe20, 0xfe2f}};

static unsigned decode(const char *bytes, size_t length)
{
    const unsigned char *p = (const unsigned char *)bytes;
    if (length == 1)
        return p[0];
    unsigned c = p[0] & (0x7fu >> length);
    for (size_t i = 1; i < length; i++)
        c = c << 6 | (p[i] & 0x3fu);
    return c;
}

static struct piece escaped(size_t length, const char *format, unsigned c)
{
    struct piece p = {.length = length};
    p.columns = format_text(p.escape, sizeof p.escape, format, c);
    return p;
}

/* The first piece of s, which is not empty. */
static struct piece next_piece(struct str s)
{
    size_t bad, length = utf8_length(s, &bad);
    if (length == 0)
        return escaped(1, "\\x%02x", (unsigned char)s.ptr[0]);
    unsigned c = decode(s.ptr, length);
    if (c == '\n' || c == '\t' || c == '\r')
        return escaped(1, "\\%c", c == '\n' ? 'n' : c == '\t' ? 't' : 'r');
    if (IN(hidden, c))
        return escaped(length, c < 0x80 ? "\\x%02x" : "\\u%04x", c);
    if (c < 0x300)
        return (struct piece){.length = length, .columns = 1};
    return (struct piece){.length = length,
                          .columns = IN(combining, c) ? 0
                                     : IN(wide, c)    ? 2
                                                      : 1};
}

/* Length of the prefix of printable ASCII. */
static size_t plain_run(struct str s)
{
    size_t n = 0;
    while (n < s.len && s.ptr[n] >= ' ' && s.ptr[n] < 0x7f)
        n++;
    return n;
}

static void print_piece(struct output *o, struct str s, const struct piece *p)
{
    if (p->escape[0])
        output_text(o, p->escape);
    else
        output_bytes(o, s.ptr, p->length);
}

void visible_print(struct output *o, struct str s)
{
    while (s.len) {
        size_t plain = plain_run(s);
        output_bytes(o, s.ptr, plain);
        s = str_skip(s, plain);
        if (s.len == 0)
            return;
        struct piece p = next_piece(s);
        print_piece(o, s, &p);
        s = str_skip(s, p.length);
    }
}

size_t visible_columns(struct str s)
{
    size_t columns = 0;
    while (s.len) {
        size_t plain = plain_run(s);
        columns += plain;
        s = str_skip(s, plain);
        if (s.len == 0)
            break;
        struct piece p = next_piece(s);
        columns += p.columns;
        s = str_skip(s, p.length);
    }
    return columns;
}

size_t visible_print_cut(struct output *o, struct str s, size_t columns)
{
    size_t all = visible_columns(s), head = columns / 2, taken = 0, left;
    if (all <= columns) {
        visible_print(o, s);
        return all;
    }
    if (columns == 0)
        return 0;
    for (struct piece p; p = next_piece(s), taken + p.columns <= head;
         taken += p.columns) {
        print_piece(o, s, &p);
        s = str_skip(s, p.length);
    }
    output_text(o, "…");
    for (left = all - taken; left > columns - taken - 1;) {
        struct piece p = next_piece(s);
        left -= p.columns;
        s = str_skip(s, p.length);
    }
    /* no combining mark without its character */
    while (s.len && next_piece(s).columns == 0)
        s = str_skip(s, next_piece(s).length);
    visible_print(o, s);
    return taken + 1 + left;
}

struct str visible_head(struct str s, size_t columns)
{
    struct str rest = s;
    size_t taken = 0;
    while (rest.len) {
        struct piece p = next_piece(rest);
        taken += p.columns;
        if (taken > columns)
            break;
        rest = str_skip(rest, p.length);
    }
    return str_head(s, s.len - rest.len);
}

/* --- On the way to another output ------------------------------------------------- */

/* A name may be written in several pieces, so only whole lines are filtered. */
static bool filter_write(void *context, const char *bytes, size_t length)
{
    struct visible_filter *f = context;
    for (size_t i = 0, from = 0; i < length; i++) {
        bool ends = bytes[i] == '\n' || bytes[i] == '\t';
        if (ends || i + 1 == length)
            output_bytes(&f->line, bytes + from, i - from + !ends);
        if (!ends)
            continue;
        visible_print(f->to, output_contents(&f->line));
        output_char(f->to, bytes[i]);
        f->line.used = 0;
        from = i + 1;
    }
    return !f->line.failed && !f->to->failed;
}

void visible_filter_init(struct visible_filter *f, struct output *to)
{
    *f = (struct visible_filter){.to = to};
    f->output = (struct output){.flush = filter_write, .context = f};
}

bool visible_filter_finish(struct visible_filter *f)
{
    bool ok = output_finish(&f->output);
    visible_print(f->to, output_contents(&f->line));
    f->line.used = 0;
    return ok && !f->to->failed;
}

void visible_filter_deinit(struct visible_filter *f)
{
    output_deinit(&f->output);
    output_deinit(&f->line);
}
