/* SPDX-License-Identifier: Apache-2.0 */
#include "codec/json.h"
#include "base/array.h"
#include "base/hash.h"
#include "base/number.h"
#include "base/utf8.h"

/* maximum length of a number or literal */
#define WORD_MAX 4096

/* maximum length of the line in messages */
#define CONTEXT_MAX 160

void json_init(struct json *j, struct source *source, bool lenient, struct error *err)
{
    *j = (struct json){.source = source,
                       .err = err,
                       .lenient = lenient,
                       .depth_max = JSON_DEPTH_MAX,
                       .at = source->begin,
                       .counted = source->begin,
                       .line = 1,
                       .line_from = source->offset};
}

void json_deinit(struct json *j)
{
    output_deinit(&j->text);
    arena_deinit(&j->arena);
}

/* --- The window ------------------------------------------------------------------- */

static uint64_t offset_of(const struct json *j, const char *at)
{
    return j->source->offset + (uint64_t)(at - j->source->begin);
}

static void count_lines(struct json *j, const char *upto)
{
    while (j->counted < upto) {
        const char *end = memchr(j->counted, '\n', (size_t)(upto - j->counted));
        j->counted = end ? end + 1 : upto;
        if (end) {
            j->line++;
            j->line_from = offset_of(j, end + 1);
        }
    }
}

struct json_location json_location(struct json *j)
{
    struct json_location location = {.text = STR("")};
    const struct source *s = j->source;
    count_lines(j, j->at);
    location.line = j->line;
    location.column = offset_of(j, j->at) - j->line_from + 1;
    if (j->line_from >= s->offset) {
        struct str rest = str_head(str_span(j->at, s->end), CONTEXT_MAX);
        const char *begin = s->begin + (j->line_from - s->offset);
        location.text = str_trim_right(str_span(begin, j->at + str_find(rest, '\n')));
    }
    return location;
}

static bool fail_at(struct json *j, const char *what)
{
    if (j->failed)
        return false;
    struct json_location location = json_location(j);
    j->failed = j->broken = true;
    error_set(j->err, "%s", what);
    return error_at_line(j->err, location.line, location.column, location.text);
}

static bool fail_memory(struct json *j)
{
    j->failed = true;
    return error_memory(j->err);
}

/* The input ended where more was required. */
static bool ended(struct json *j)
{
    if (!j->lenient)
        return fail_at(j, "the JSON text is truncated");
    j->cut |= !j->failed;
    return false;
}

/* Reads more input and retains the window from `retain` on. False at the end and on
 * failure. */
static bool read_on(struct json *j, const char *retain)
{
    struct source *s = j->source;
    size_t held = (size_t)(s->end - retain), at = (size_t)(j->at - retain);
    if (j->failed || s->last)
        return false;
    count_lines(j, retain);
    j->failed = !source_more(s, retain, j->err);
    if (j->failed)
        at = held = 0;
    j->counted = s->begin;
    j->at = s->begin + at;
    return !j->failed && (size_t)(s->end - s->begin) > held;
}

/* Skips white space; false at the end. */
static bool to_token(struct json *j)
{
    if (j->failed)
        return false;
    do {
        const char *end = j->source->end;
        for (; j->at < end; j->at++)
            if (*j->at != ' ' && *j->at != '\n' && *j->at != '\r' && *j->at != '\t')
                return true;
    } while (read_on(j, j->at));
    return false;
}

/* --- Strings ---------------------------------------------------------------------- */

/* Finds the first quote or backslash, eight bytes at a time: a matching byte becomes
 * zero, and subtracting from a zero byte borrows into its highest bit. */
static const char *find_mark(const char *p, const char *end)
{
    const uint64_t ones = 0x0101010101010101u, highs = 0x8080808080808080u;
    for (; end - p >= 8; p += 8) {
        uint64_t v = hash_read64((const unsigned char *)p);
        uint64_t quote = v ^ (ones * '"'), slash = v ^ (ones * '\\');
        if ((((quote - ones) & ~quote) | ((slash - ones) & ~slash)) & highs)
            break;
    }
    while (p < end && *p != '"' && *p != '\\')
        p++;
    return p;
}

/* Reads the current string without its quotes; escapes are not decoded. */
static bool read_raw(struct json *j, struct str *raw, bool *escaped)
{
    size_t seen = 1;
    *escaped = false;
    for (;;) {
        const char *end = j->source->end, *mark = find_mark(j->at + seen, end);
        seen = (size_t)(mark - j->at);
        if (mark < end && *mark == '"') {
            *raw = str_span(j->at + 1, mark);
            j->at = mark + 1;
            return true;
        }
        /* a backslash escapes the next byte, whatever it is */
        size_t step = mark < end ? 2 : 0;
        *escaped |= step > 0;
        if (end - mark < 2 && !read_on(j, j->at)) {
            j->at = j->source->end;
            return ended(j);
        }
        seen += step;
    }
}

static bool hex4(struct str s, unsigned *out)
{
    uint64_t v;
    if (s.len < 4 || !byte_is_hex(s.ptr[0]) || !byte_is_hex(s.ptr[1]) ||
        !number_parse_hex(str_head(s, 4), &v))
        return false;
    *out = (unsigned)v;
    return true;
}

/* Decodes the escape at the beginning of s, without its backslash; returns its length. */
static size_t unescape(struct str s, unsigned *c)
{
    static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
    unsigned low;
    const char *known = s.len ? memchr(from, s.ptr[0], sizeof from - 1) : NULL;
    *c = known ? (unsigned char)to[known - from] : UTF8_REPLACEMENT;
    if (s.len == 0 || s.ptr[0] != 'u' || !hex4(str_skip(s, 1), c))
        return s.len ? 1 : 0;
    if (*c < 0xd800 || *c > 0xdfff)
        return 5;
    if (*c < 0xdc00 && str_starts(str_skip(s, 5), STR("\\u")) &&
        hex4(str_skip(s, 7), &low) && low >= 0xdc00 && low <= 0xdfff) {
        *c = 0x10000 + ((*c - 0xd800) << 10) + (low - 0xdc00);
        return 11;
    }
    *c = UTF8_REPLACEMENT;
    return 5;
}

/* Decodes `raw` into j->text. */
static bool rewrite(struct json *j, struct str raw, struct str *out)
{
    char bytes[4];
    unsigned c;
    j->text.used = 0;
    while (raw.len) {
        size_t plain = str_find(raw, '\\');
        utf8_print(&j->text, str_head(raw, plain));
        raw = str_skip(raw, plain);
        if (raw.len == 0)
            break;
        raw = str_skip(raw, 1 + unescape(str_skip(raw, 1), &c));
        output_bytes(&j->text, bytes, utf8_write(c, bytes));
    }
    *out = output_contents(&j->text);
    return !j->text.failed || fail_memory(j);
}

static bool read_string(struct json *j, struct str *out)
{
    bool escaped = false;
    *out = STR("");
    if (!read_raw(j, out, &escaped))
        return false;
    return (!escaped && utf8_valid(*out) == out->len) || rewrite(j, *out, out);
}

/* --- Words: numbers and literals --------------------------------------------------- */

static bool in_word(char c)
{
    return byte_is_word(c) || c == '-' || c == '+' || c == '.';
}

static bool read_word(struct json *j, struct str *word)
{
    size_t length = 0;
    for (;;) {
        while (j->at + length < j->source->end && in_word(j->at[length]))
            length++;
        if (length > WORD_MAX)
            return fail_at(j, "invalid number or literal");
        if (j->at + length < j->source->end)
            break;
        if (read_on(j, j->at))
            continue;
        if (j->depth == 0 && !j->failed)
            break;
        j->at = j->source->end; /* its end is missing, so its value is unknown */
        return ended(j);
    }
    *word = str_head(str_span(j->at, j->source->end), length);
    return true;
}

static size_t digits(struct str s)
{
    size_t n = 0;
    while (n < s.len && byte_is_digit(s.ptr[n]))
        n++;
    return n;
}

static bool is_number(struct str s)
{
    s = str_skip(s, s.len && s.ptr[0] == '-');
    size_t whole = digits(s);
    if (whole == 0 || (whole > 1 && s.ptr[0] == '0'))
        return false;
    s = str_skip(s, whole);
    if (s.len && s.ptr[0] == '.') {
        size_t fraction = digits(str_skip(s, 1));
        if (fraction == 0)
            return false;
        s = str_skip(s, 1 + fraction);
    }
    if (s.len && (s.ptr[0] | 0x20) == 'e') {
        s = str_skip(s, 1);
        s = str_skip(s, s.len && (s.ptr[0] == '+' || s.ptr[0] == '-'));
        size_t exponent = digits(s);
        return exponent && exponent == s.len;
    }
    return s.len == 0;
}

static bool is_literal(const struct json *j, struct str s)
{
    return str_equal(s, STR("null")) || str_equal(s, STR("true")) ||
           str_equal(s, STR("false")) ||
           (j->lenient && (str_equal(s, STR("NaN")) || str_equal(s, STR("Infinity")) ||
                           str_equal(s, STR("-Infinity"))));
}

/* Reads a word that is a value. */
static bool read_value_word(struct json *j, struct str *word)
{
    *word = STR("");
    if (!read_word(j, word))
        return false;
    if (!is_number(*word) && !is_literal(j, *word))
        return fail_at(j, "invalid JSON value");
    j->at += word->len;
    return true;
}

/* --- Values ----------------------------------------------------------------------- */

enum json_kind json_peek(struct json *j)
{
    if (!to_token(j)) {
        ended(j);
        return JSON_NONE;
    }
    char c = *j->at;
    if (c == '"')
        return JSON_STRING;
    if (c == '{')
        return JSON_OBJECT;
    if (c == '[')
        return JSON_ARRAY;
    if (c == 't' || c == 'f')
        return JSON_BOOL;
    if (c == 'n')
        return JSON_NULL;
    if (c == '-' || byte_is_digit(c) || (j->lenient && (c == 'N' || c == 'I')))
        return JSON_NUMBER;
    fail_at(j, "expected a JSON value");
    return JSON_NONE;
}

static bool open_container(struct json *j, enum json_kind kind)
{
    if (j->depth >= j->depth_max)
        return fail_at(j, "the JSON text is nested too deeply");
    if (!ARRAY_RESERVE(&j->arena, j->nesting, j->depth_cap, j->depth + 1))
        return fail_memory(j);
    j->nesting[j->depth++] = (unsigned char)kind;
    j->fresh = true;
    j->at++;
    return true;
}

bool json_enter(struct json *j, enum json_kind kind)
{
    enum json_kind is = json_peek(j);
    if (is == kind && is != JSON_NONE)
        return open_container(j, kind);
    json_skip(j);
    return false;
}

/* Leaves the innermost container. */
static bool close_container(struct json *j)
{
    if (j->depth)
        j->depth--;
    j->fresh = false;
    return false;
}

static bool ends_early(struct json *j)
{
    ended(j);
    return close_container(j);
}

/* Moves to the next item or key of the innermost container, which `end` closes. */
static bool next(struct json *j, char end)
{
    if (!to_token(j))
        return ends_early(j);
    if (!j->fresh && *j->at == ',') {
        j->at++;
        if (!to_token(j))
            return ends_early(j);
        if (*j->at == end && !j->lenient)
            return fail_at(j, "unexpected comma before the end");
    } else if (!j->fresh && *j->at != end) {
        return fail_at(j, end == ']' ? "expected a comma or ']'"
                                     : "expected a comma or '}'");
    }
    if (*j->at == end) {
        j->at++;
        return close_container(j);
    }
    j->fresh = false;
    return true;
}

bool json_item(struct json *j)
{
    return next(j, ']');
}

bool json_key(struct json *j, struct str *key)
{
    if (!next(j, '}'))
        return false;
    if (*j->at != '"')
        return fail_at(j, "expected a key in quotes");
    if (!read_string(j, key))
        return ends_early(j);
    if (j->at < j->source->end && *j->at == ':') {
        j->at++;
        return true;
    }
    if (key->ptr != j->text.bytes) { /* the window may move */
        j->text.used = 0;
        output_str(&j->text, *key);
        if (j->text.failed)
            return fail_memory(j);
        *key = output_contents(&j->text);
    }
    if (!to_token(j))
        return ends_early(j);
    if (*j->at != ':')
        return fail_at(j, "expected ':' after the key");
    j->at++;
    return true;
}

/* Skips a value that is not a container. */
static void skip_scalar(struct json *j, enum json_kind kind)
{
    struct str raw;
    bool escaped;
    if (kind == JSON_STRING)
        read_raw(j, &raw, &escaped);
    else
        read_value_word(j, &raw);
}

void json_skip(struct json *j)
{
    size_t base = j->depth;
    struct str key;
    do {
        enum json_kind kind = json_peek(j);
        if (kind == JSON_NONE)
            return;
        if (kind == JSON_ARRAY || kind == JSON_OBJECT)
            open_container(j, kind);
        else
            skip_scalar(j, kind);
        while (
            !j->failed && j->depth > base &&
            !(j->nesting[j->depth - 1] == JSON_ARRAY ? json_item(j) : json_key(j, &key)))
            ;
    } while (!j->failed && j->depth > base);
}

bool json_string(struct json *j, struct str *out)
{
    if (json_peek(j) == JSON_STRING)
        return read_string(j, out);
    json_skip(j);
    return false;
}

bool json_text(struct json *j, struct str *out)
{
    enum json_kind kind = json_peek(j);
    if (kind == JSON_STRING)
        return read_string(j, out);
    if (kind == JSON_NUMBER || kind == JSON_BOOL)
        return read_value_word(j, out);
    json_skip(j);
    return false;
}

/* Reads a number, or a string that contains one. */
static bool read_number(struct json *j, struct str *text)
{
    if (json_peek(j) == JSON_NUMBER)
        return read_value_word(j, text);
    if (!json_string(j, text))
        return false;
    *text = str_trim(*text);
    return true;
}

bool json_number(struct json *j, double *out)
{
    struct str text;
    return read_number(j, &text) && number_parse_double(text, out);
}

/* Fast path for most numbers of a large file: reads up to 18 digits if they and the
 * byte after them are in the window. Otherwise reads nothing. */
static bool read_digits(struct json *j, uint64_t *out)
{
    const char *p = j->at, *end = j->source->end;
    uint64_t v = 0;
    if (end - p > 18)
        end = p + 18;
    for (; p < end && byte_is_digit(*p); p++)
        v = v * 10 + (uint64_t)(*p - '0');
    if (p == end || p == j->at || in_word(*p) || (*j->at == '0' && p - j->at > 1))
        return false;
    j->at = p;
    *out = v;
    return true;
}

bool json_u64(struct json *j, uint64_t *out)
{
    struct str text;
    double v;
    if (to_token(j) && read_digits(j, out))
        return true;
    if (!read_number(j, &text))
        return false;
    if (number_parse_u64(text, out))
        return true;
    if (!number_parse_double(text, &v) || !(v >= 0 && v < 18446744073709551616.0) ||
        v > (double)(uint64_t)v)
        return false;
    *out = (uint64_t)v;
    return true;
}

bool json_bool(struct json *j, bool *out)
{
    struct str text;
    if (json_peek(j) != JSON_BOOL) {
        json_skip(j);
        return false;
    }
    if (!read_value_word(j, &text))
        return false;
    *out = text.ptr[0] == 't';
    return true;
}

bool json_finish(struct json *j)
{
    if (to_token(j))
        return fail_at(j, "unexpected text after the end of the JSON text");
    return !j->failed;
}

/* --- Writing ---------------------------------------------------------------------- */

static void put_separator(struct json_writer *w)
{
    if (w->comma)
        output_char(w->out, ',');
    if (w->line)
        output_char(w->out, '\n');
    w->comma = true;
    w->line = false;
}

void json_begin(struct json_writer *w, enum json_kind kind)
{
    put_separator(w);
    output_char(w->out, kind == JSON_OBJECT ? '{' : '[');
    w->comma = false;
}

void json_end(struct json_writer *w, enum json_kind kind)
{
    if (w->line)
        output_char(w->out, '\n');
    output_char(w->out, kind == JSON_OBJECT ? '}' : ']');
    w->comma = true;
    w->line = false;
}

/* Format characters that hide text or change its direction: U+200B to 200F, 2028 to
 * 202E, 2060 to 206F. */
static bool is_format_mark(struct str s, unsigned *code)
{
    unsigned b = (unsigned char)s.ptr[1], a = (unsigned char)s.ptr[2];
    *code = 0x2000 | (b & 0x3fu) << 6 | (a & 0x3fu);
    return (*code >= 0x200b && *code <= 0x200f) || (*code >= 0x2028 && *code <= 0x202e) ||
           (*code >= 0x2060 && *code <= 0x206f);
}

/* Length of a character that must be escaped in a string: quotes, backslashes, and what
 * a terminal interprets (C0, DEL, C1 controls, direction marks). 0 for a plain byte. */
static size_t escape_at(struct str s, unsigned *code)
{
    unsigned char c = (unsigned char)s.ptr[0];
    *code = c;
    if (c == 0xc2 && s.len > 1 && (unsigned char)s.ptr[1] < 0xa0) {
        *code = (unsigned char)s.ptr[1];
        return 2;
    }
    if (c == 0xe2 && s.len > 2 && is_format_mark(s, code))
        return 3;
    return c < ' ' || c == 0x7f || c == '"' || c == '\\';
}

static void put_escape(struct output *o, unsigned code)
{
    static const char from[] = "\"\\\b\f\n\r\t", to[] = "\"\\bfnrt";
    const char *known = memchr(from, (int)code, sizeof from - 1);
    if (known) {
        output_char(o, '\\');
        output_char(o, to[known - from]);
    } else {
        output_format(o, "\\u%04x", code);
    }
}

static void put_quoted(struct output *o, struct str s)
{
    size_t plain = 0, length;
    unsigned code;
    output_char(o, '"');
    for (size_t i = 0; i < s.len; i += length ? length : 1) {
        length = escape_at(str_skip(s, i), &code);
        if (length == 0)
            continue;
        utf8_print(o, str_head(str_skip(s, plain), i - plain));
        put_escape(o, code);
        plain = i + length;
    }
    utf8_print(o, str_skip(s, plain));
    output_char(o, '"');
}

void json_put_key(struct json_writer *w, const char *key)
{
    put_separator(w);
    put_quoted(w->out, str_of(key));
    output_char(w->out, ':');
    w->comma = false;
}

void json_put_str(struct json_writer *w, struct str s)
{
    put_separator(w);
    put_quoted(w->out, s);
}

void json_put_u64(struct json_writer *w, uint64_t v)
{
    put_separator(w);
    output_u64(w->out, v);
}

void json_put_double(struct json_writer *w, double v)
{
    put_separator(w);
    output_double(w->out, v);
}

void json_put_bool(struct json_writer *w, bool v)
{
    put_separator(w);
    output_text(w->out, v ? "true" : "false");
}

void json_put_null(struct json_writer *w)
{
    put_separator(w);
    output_text(w->out, "null");
}

void json_put_raw(struct json_writer *w, struct str json)
{
    put_separator(w);
    output_str(w->out, json);
}

void json_put_line(struct json_writer *w)
{
    w->line = true;
}

void json_member_str(struct json_writer *w, const char *key, struct str s)
{
    json_put_key(w, key);
    json_put_str(w, s);
}

void json_member_u64(struct json_writer *w, const char *key, uint64_t v)
{
    json_put_key(w, key);
    json_put_u64(w, v);
}

void json_member_double(struct json_writer *w, const char *key, double v)
{
    json_put_key(w, key);
    json_put_double(w, v);
}
