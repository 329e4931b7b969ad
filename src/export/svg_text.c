/* SPDX-License-Identifier: Apache-2.0 */
#include "export/svg_text.h"
#include "base/number.h"
#include "base/utf8.h"

#define ELLIPSIS_WIDTH 1.0 /* in font sizes */

/* --- Code points ----------------------------------------------------------------- */

/* Removes one code point from the start of *s, which is not empty; U+FFFD for
 * ill-formed bytes. */
static uint32_t take_code_point(struct str *s)
{
    size_t bad, length = utf8_length(*s, &bad);
    const unsigned char *p = (const unsigned char *)s->ptr;
    *s = str_skip(*s, length ? length : bad);
    if (length == 0)
        return UTF8_REPLACEMENT;
    if (length == 1)
        return p[0];
    uint32_t c = p[0] & (0x7fu >> length);
    for (size_t i = 1; i < length; i++)
        c = c << 6 | (p[i] & 0x3f);
    return c;
}

/* The replacement of a code point that must not be shown. */
static uint32_t visible(uint32_t c)
{
    if (c < 0x20)
        return 0x2400 + c; /* the block of control pictures */
    if (c == 0x7f)
        return 0x2421;
    bool control = c >= 0x80 && c < 0xa0;
    /* These change the direction of writing, so that a name could imitate another. */
    bool turns = (c >= 0x202a && c <= 0x202e) || (c >= 0x2066 && c <= 0x2069) ||
                 c == 0x200e || c == 0x200f || c == 0x61c;
    bool not_a_character = (c & 0xfffe) == 0xfffe;
    return control || turns || not_a_character ? UTF8_REPLACEMENT : c;
}

static bool is_plain(struct str s)
{
    for (size_t i = 0; i < s.len; i++)
        if (s.ptr[i] < ' ' || s.ptr[i] > '~')
            return false;
    return true;
}

void svg_clean(struct output *o, struct str name)
{
    if (is_plain(name)) {
        output_str(o, name);
        return;
    }
    while (name.len) {
        char bytes[4];
        output_bytes(o, bytes, utf8_write(visible(take_code_point(&name)), bytes));
    }
}

/* --- Escaping -------------------------------------------------------------------- */

static const char *entity(char c)
{
    switch (c) {
    case '&':
        return "&amp;";
    case '<':
        return "&lt;";
    case '>':
        return "&gt;";
    case '"':
        return "&quot;";
    case '\'':
        return "&#39;";
    default:
        return NULL;
    }
}

/* The length of the text up to the first character that is written in another way. */
static size_t plain_length(struct str text, bool ascii)
{
    static const bool has_entity[128] = {
        ['&'] = true, ['<'] = true, ['>'] = true, ['"'] = true, ['\''] = true};
    for (size_t i = 0; i < text.len; i++) {
        unsigned char c = (unsigned char)text.ptr[i];
        if (c < 0x80 ? has_entity[c] : ascii)
            return i;
    }
    return text.len;
}

void svg_escape(struct output *o, struct str clean, bool ascii)
{
    struct str plain = clean;
    for (;;) {
        clean = str_skip(clean, plain_length(clean, ascii));
        if (!clean.len)
            break;
        const char *escaped = entity(clean.ptr[0]);
        output_str(o, str_span(plain.ptr, clean.ptr));
        if (escaped) {
            output_text(o, escaped);
            clean = str_skip(clean, 1);
        } else {
            output_format(o, "&#%u;", take_code_point(&clean));
        }
        plain = clean;
    }
    output_str(o, plain);
}

static void write_utf16_escape(struct output *o, uint32_t c)
{
    if (c >= 0x10000) {
        output_format(o, "\\u%04x", 0xd800 + ((c - 0x10000) >> 10));
        c = 0xdc00 + ((c - 0x10000) & 0x3ff);
    }
    output_format(o, "\\u%04x", c);
}

void svg_quote(struct output *o, struct str clean, bool ascii)
{
    struct str plain = clean;
    output_char(o, '"');
    while (clean.len) {
        char c = clean.ptr[0];
        bool escaped = c == '"' || c == '\\' || c == '<' || c == '>' || c == '&' ||
                       (c >= 0 && c < ' ') || (ascii && c & '\x80');
        if (!escaped) {
            clean = str_skip(clean, 1);
            continue;
        }
        output_str(o, str_span(plain.ptr, clean.ptr));
        write_utf16_escape(o, take_code_point(&clean));
        plain = clean;
    }
    output_str(o, plain);
    output_char(o, '"');
}

/* --- Widths ---------------------------------------------------------------------- */

/* The advance width of each printable ASCII character, in hundredths of the font size:
 * of a wide sans serif, so that the estimate is rather too wide than too narrow. */
static const unsigned char advances[95] = {
    32, 40, 46, 84, 64, 95, 78, 27, 39, 39, 50, 84, 32, 36, 32, 34, 64, 64, 64,
    64, 64, 64, 64, 64, 64, 64, 34, 34, 84, 84, 84, 53, 99, 68, 69, 70, 77, 63,
    58, 77, 75, 29, 29, 66, 56, 86, 75, 79, 60, 79, 69, 63, 61, 73, 68, 99, 69,
    61, 69, 39, 34, 39, 84, 50, 50, 61, 63, 55, 63, 62, 35, 63, 63, 28, 28, 58,
    28, 97, 63, 61, 63, 63, 41, 52, 39, 63, 59, 82, 59, 59, 52, 64, 34, 64, 84};

static double advance(const struct svg_font *f, uint32_t c)
{
    if (f->width > 0)
        return f->size * f->width;
    if (c >= ' ' && c <= '~')
        return f->size * advances[c - ' '] / 100;
    return f->size * (c < 0x1100 ? 0.65 : 1); /* letters, or square characters */
}

double svg_text_width(struct str clean, const struct svg_font *font)
{
    double width = 0;
    while (clean.len)
        width += advance(font, take_code_point(&clean));
    return width;
}

/* The number of bytes at the beginning that fit. */
static size_t fitting_head(struct str text, double room, const struct svg_font *f)
{
    struct str rest = text;
    while (rest.len) {
        size_t at = text.len - rest.len;
        room -= advance(f, take_code_point(&rest));
        if (room < 0)
            return at;
    }
    return text.len;
}

/* The start of the code point that ends at `end`. */
static size_t step_back(struct str text, size_t end)
{
    do
        end--;
    while (end && (text.ptr[end] & '\xc0') == '\x80');
    return end;
}

static uint32_t code_point_at(struct str text, size_t at)
{
    struct str rest = str_skip(text, at);
    return take_code_point(&rest);
}

/* Returns the start of the longest suffix that fits. */
static size_t fitting_tail(struct str text, double room, const struct svg_font *f)
{
    size_t at = text.len;
    while (at) {
        size_t before = step_back(text, at);
        room -= advance(f, code_point_at(text, before));
        if (room < 0)
            break;
        at = before;
    }
    return at;
}

/* --- Cutting --------------------------------------------------------------------- */

/* Fewer bytes are useless as a label. */
#define LABEL_LEAST 2
#define HASH_TEXT 19 /* bytes of "::h0123456789abcdef" */
/* Qualifiers further from the end are not searched for. */
#define QUALIFIERS_MOST 4096

static double ellipsis_width(const struct svg_font *f)
{
    return f->size * (f->width > 0 ? f->width : ELLIPSIS_WIDTH);
}

/* Without room for an ellipsis, only letters are shown. */
static struct svg_label cut_end(struct str text, double room, const struct svg_font *f)
{
    size_t all = fitting_head(text, room, f);
    size_t fits = fitting_head(text, room - ellipsis_width(f), f);
    if (all == text.len)
        return (struct svg_label){text, false, false};
    if (fits >= LABEL_LEAST)
        return (struct svg_label){str_head(text, fits), false, true};
    return (struct svg_label){str_head(text, all < LABEL_LEAST ? 0 : all), false, false};
}

static struct svg_label cut_beginning(struct str text, double room,
                                      const struct svg_font *f)
{
    size_t at = fitting_tail(text, room - ellipsis_width(f), f);
    if (text.len - at >= LABEL_LEAST)
        return (struct svg_label){str_skip(text, at), true, false};
    at = fitting_tail(text, room, f);
    if (text.len - at < LABEL_LEAST)
        at = text.len;
    return (struct svg_label){str_skip(text, at), false, false};
}

/* The bracket depth before a character, scanning backwards. The '>' of "->" is not a
 * bracket. */
static int bracket_step(struct str text, size_t at, int depth)
{
    char c = text.ptr[at], before = at ? text.ptr[at - 1] : 0;
    if (c == ')' || c == ']' || (c == '>' && before != '-' && before != '='))
        return depth + 1;
    if ((c == '(' || c == '[' || c == '<') && depth > 0)
        return depth - 1;
    return depth;
}

/* The name without the hash that distinguishes builds of a Rust function:
 * "::h0123456789abcdef". */
static struct str without_hash(struct str text)
{
    struct str head = str_head(text, text.len < HASH_TEXT ? 0 : text.len - HASH_TEXT);
    struct str hash = str_skip(text, head.len);
    if (head.len == 0 || !str_starts(hash, STR("::h")))
        return text;
    for (size_t i = 3; i < hash.len; i++)
        if (!byte_is_hex(hash.ptr[i]))
            return text;
    return head;
}

/* "{{closure}}", and its form in Rust's old mangling. */
static bool begins_closure(struct str part)
{
    return part.ptr[0] == '{' || str_starts(part, STR("_$u7b$")) ||
           str_starts(part, STR("$u7b$"));
}

/* The start of the last part of a qualified name, and of the longest run of parts that
 * fits (text.len if none fits). "alloc::vec::Vec<a::T>::push" has four parts. A path
 * with more words after it ("f /lib/a.js") is not a qualified name; "{{closure}}"
 * belongs to the part before it. */
static size_t find_parts(struct str text, double room, const struct svg_font *f,
                         size_t *fitting)
{
    size_t last = 0, stop = text.len > QUALIFIERS_MOST ? text.len - QUALIFIERS_MOST : 0;
    bool slash = false;
    int depth = 0;
    *fitting = text.len;
    for (size_t at = text.len; at > stop;) {
        at = step_back(text, at);
        room -= advance(f, code_point_at(text, at));
        depth = bracket_step(text, at, depth);
        if (last && room < 0 && !slash)
            break;
        if (depth || at < 2)
            continue;
        if (text.ptr[at] == ' ') {
            if (slash)
                *fitting = text.len;
            return slash ? 0 : last;
        }
        bool path = text.ptr[at - 1] == '/';
        if (!path && (text.ptr[at - 1] != ':' || text.ptr[at - 2] != ':'))
            continue;
        slash |= path;
        if (begins_closure(str_skip(text, at)))
            continue;
        if (!last)
            last = at;
        if (room >= 0)
            *fitting = at;
    }
    return last;
}

struct svg_label svg_fit(struct str clean, double room, const struct svg_font *font,
                         enum svg_cut cut)
{
    if (fitting_head(clean, room, font) == clean.len)
        return (struct svg_label){clean, false, false};
    if (cut == SVG_CUT_END)
        return cut_end(clean, room, font);
    clean = without_hash(clean);
    if (fitting_head(clean, room, font) == clean.len)
        return (struct svg_label){clean, false, false};
    if (cut == SVG_CUT_BEGINNING)
        return cut_beginning(clean, room, font);
    size_t fitting, last = find_parts(clean, room - ellipsis_width(font), font, &fitting);
    if (fitting < clean.len)
        return (struct svg_label){str_skip(clean, fitting), true, false};
    return cut_end(str_skip(clean, last), room, font);
}

/* --- Figures --------------------------------------------------------------------- */

void svg_figure(struct output *o, double v)
{
    if (v < 0) {
        output_char(o, '-');
        v = -v;
    }
    if (!(v < 1e15)) {
        output_double(o, v);
        return;
    }
    char text[NUMBER_TEXT_MAX];
    size_t length = number_write_fixed(v, 2, text), point = length - 3;
    for (size_t i = 0; i < point; i++) {
        if (i && (point - i) % 3 == 0)
            output_char(o, ',');
        output_char(o, text[i]);
    }
    while (length > point && (text[length - 1] == '0' || text[length - 1] == '.'))
        length--;
    if (length > point)
        output_bytes(o, text + point, length - point);
}

void svg_percent(struct output *o, double share)
{
    output_fixed(o, share * 100, 2);
    output_char(o, '%');
}
