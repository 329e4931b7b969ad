/* SPDX-License-Identifier: Apache-2.0 */
#include "symbol/rust_v0.h"
#include "base/bytes.h"
#include "base/number.h"
#include "base/utf8.h"

/* The functions here are recursive, as deep as the name is nested and refers back, but
 * at most RUST_V0_DEPTH_MAX deep and STEPS_MAX calls.
 *
 * NOLINTBEGIN(misc-no-recursion): the depth is bounded here. */
#define STEPS_MAX 65536
#define PUNYCODE_MAX 256

struct walk {
    struct output *out;
    struct str text; /* after "_R": offsets are relative to this */
    size_t at;
    unsigned depth, steps;
    unsigned silent;    /* > 0: parse without writing */
    uint64_t lifetimes; /* bound by the enclosing binders */
    bool failed;
};

struct identifier {
    struct str ascii, punycode;
    uint64_t disambiguator;
};

static void path(struct walk *w, bool in_value);
static void type(struct walk *w);
static void constant(struct walk *w);

static char peek(const struct walk *w)
{
    return w->at < w->text.len ? w->text.ptr[w->at] : '\0';
}

static void fail(struct walk *w)
{
    w->failed = true;
    w->at = w->text.len;
}

static char next(struct walk *w)
{
    char c = peek(w);
    if (w->at < w->text.len)
        w->at++;
    else
        w->failed = true;
    return c;
}

static bool accept(struct walk *w, char c)
{
    bool yes = w->at < w->text.len && w->text.ptr[w->at] == c;
    w->at += yes;
    return yes;
}

static bool enter(struct walk *w)
{
    if (w->failed || w->depth >= RUST_V0_DEPTH_MAX || ++w->steps > STEPS_MAX) {
        fail(w);
        return false;
    }
    w->depth++;
    return true;
}

static void write_str(struct walk *w, struct str s)
{
    if (w->silent || w->failed)
        return;
    if (w->out->used + s.len > RUST_V0_WRITTEN_MAX)
        fail(w);
    else
        output_str(w->out, s);
}

static void write_text(struct walk *w, const char *text)
{
    write_str(w, str_of(text));
}

static void write_number(struct walk *w, uint64_t value)
{
    char digits[NUMBER_TEXT_MAX];
    write_str(w, (struct str){digits, number_write_u64(value, digits)});
}

/* "_" is 0, "0_" is 1, "Z_" is 62. */
static uint64_t base_62(struct walk *w)
{
    uint64_t value = 0;
    if (accept(w, '_'))
        return 0;
    while (!w->failed && !accept(w, '_')) {
        char c = next(w);
        unsigned digit = byte_is_digit(c)       ? (unsigned)(c - '0')
                         : c >= 'a' && c <= 'z' ? (unsigned)(c - 'a') + 10
                         : c >= 'A' && c <= 'Z' ? (unsigned)(c - 'A') + 36
                                                : 62;
        if (digit == 62 || value > (UINT64_MAX - 62) / 62)
            fail(w);
        else
            value = value * 62 + digit;
    }
    return value + 1;
}

/* TAG BASE-62, or nothing: then 0. */
static uint64_t optional_62(struct walk *w, char tag)
{
    return accept(w, tag) ? base_62(w) + 1 : 0;
}

/* --- Identifiers ------------------------------------------------------------------ */

static struct identifier plain_identifier(struct walk *w)
{
    struct identifier id = {STR(""), STR(""), 0};
    bool is_punycode = accept(w, 'u');
    uint64_t length = 0;
    if (!byte_is_digit(peek(w)))
        fail(w);
    if (!accept(w, '0'))
        while (byte_is_digit(peek(w)) && length < RUST_V0_LENGTH_MAX)
            length = length * 10 + (uint64_t)(next(w) - '0');
    accept(w, '_');
    if (w->failed || length > w->text.len - w->at) {
        fail(w);
        return id;
    }
    id.ascii = str_part(w->text, w->at, length);
    w->at += length;
    if (is_punycode) {
        size_t cut = str_rfind(id.ascii, '_');
        id.punycode = cut < id.ascii.len ? str_skip(id.ascii, cut + 1) : id.ascii;
        id.ascii = str_head(id.ascii, cut < id.ascii.len ? cut : 0);
        if (id.punycode.len == 0)
            fail(w);
    }
    return id;
}

static struct identifier full_identifier(struct walk *w)
{
    uint64_t disambiguator = optional_62(w, 's');
    struct identifier id = plain_identifier(w);
    id.disambiguator = disambiguator;
    return id;
}

/* The next number of punycode (RFC 3492, 6.2), with the bias; false at its end. */
static bool punycode_delta(struct str *code, uint32_t bias, uint64_t *delta)
{
    uint64_t weight = 1;
    *delta = 0;
    for (uint32_t k = 36;; k += 36) {
        if (code->len == 0 || weight > UINT32_MAX)
            return false;
        char c = code->ptr[0];
        *code = str_skip(*code, 1);
        bool letter = c >= 'a' && c <= 'z';
        if (!letter && !byte_is_digit(c))
            return false;
        uint32_t digit = letter ? (uint32_t)(c - 'a') : (uint32_t)(c - '0') + 26;
        uint32_t least = k <= bias + 1 ? 1 : k >= bias + 26 + 1 ? 26 : k - bias;
        *delta += digit * weight;
        if (digit < least)
            return true;
        weight *= 36 - least;
    }
}

static uint32_t punycode_bias(uint64_t delta, size_t count, bool first)
{
    uint32_t k = 0;
    delta /= first ? 700 : 2;
    for (delta += delta / count; delta > 455; k += 36)
        delta /= 35;
    return k + (uint32_t)(36 * delta / (delta + 38));
}

/* The characters of an identifier; returns their number, or 0 if it is invalid. */
static size_t punycode_decode(const struct identifier *id, uint32_t *chars)
{
    struct str code = id->punycode;
    size_t count = 0;
    uint64_t n = 128, i = 0, delta;
    uint32_t bias = 72;
    bool is_first = true;
    for (; count < id->ascii.len && count < PUNYCODE_MAX; count++)
        chars[count] = (unsigned char)id->ascii.ptr[count];
    while (code.len) {
        if (count == PUNYCODE_MAX || !punycode_delta(&code, bias, &delta))
            return 0;
        i += delta;
        n += i / (count + 1);
        i %= count + 1;
        if (n > 0x10ffff || (n >= 0xd800 && n < 0xe000))
            return 0;
        bias = punycode_bias(delta, count + 1, is_first);
        is_first = false;
        memmove(chars + i + 1, chars + i, (count - i) * sizeof *chars);
        chars[i++] = (uint32_t)n;
        count++;
    }
    return count;
}

/* Not inlined: otherwise each of the nested calls would have the characters on its
 * stack. */
__attribute__((noinline)) static void write_identifier(struct walk *w,
                                                       const struct identifier *id)
{
    uint32_t chars[PUNYCODE_MAX + 1];
    if (id->punycode.len == 0) {
        write_str(w, id->ascii);
        return;
    }
    size_t count = punycode_decode(id, chars);
    for (size_t i = 0; i < count; i++) {
        char text[8];
        write_str(w, (struct str){text, utf8_write(chars[i], text)});
    }
    if (count)
        return;
    write_text(w, "punycode{");
    write_str(w, id->ascii);
    write_text(w, id->ascii.len ? "-" : "");
    write_str(w, id->punycode);
    write_text(w, "}");
}

/* --- Lifetimes -------------------------------------------------------------------- */

/* `index` counts from the innermost binder; 0 is the erased lifetime. */
static void write_lifetime(struct walk *w, uint64_t index)
{
    char letter[2] = {0};
    write_text(w, "'");
    if (index == 0) {
        write_text(w, "_");
    } else if (index > w->lifetimes) {
        fail(w);
    } else if (w->lifetimes - index < 26) {
        letter[0] = (char)('a' + (w->lifetimes - index));
        write_text(w, letter);
    } else {
        write_text(w, "_");
        write_number(w, w->lifetimes - index);
    }
}

/* G BASE-62: "for<'a, 'b> "; returns the number of lifetimes. */
static uint64_t binder(struct walk *w)
{
    uint64_t count = optional_62(w, 'G');
    if (count == 0)
        return 0;
    write_text(w, "for<");
    for (uint64_t i = 0; i < count && !w->failed && ++w->steps < STEPS_MAX; i++) {
        write_text(w, i ? ", " : "");
        w->lifetimes++;
        write_lifetime(w, 1);
    }
    if (w->steps >= STEPS_MAX)
        fail(w);
    write_text(w, "> ");
    return count;
}

/* B BASE-62: parses the part at that offset, then returns to the current position. */
static void refer_back(struct walk *w, void (*part)(struct walk *w, bool in_value),
                       bool in_value)
{
    size_t here = w->at - 1;
    uint64_t to = base_62(w);
    size_t after = w->at;
    if (w->failed || to >= here) {
        fail(w);
        return;
    }
    /* The part was already checked at its own position. */
    if (w->silent)
        return;
    w->at = (size_t)to;
    part(w, in_value);
    if (!w->failed)
        w->at = after;
}

/* --- Paths ------------------------------------------------------------------------ */

static void generic_argument(struct walk *w)
{
    if (accept(w, 'L'))
        write_lifetime(w, base_62(w));
    else if (accept(w, 'K'))
        constant(w);
    else
        type(w);
}

static void generic_arguments(struct walk *w)
{
    write_text(w, "<");
    for (bool first = true; !w->failed && !accept(w, 'E'); first = false) {
        write_text(w, first ? "" : ", ");
        generic_argument(w);
    }
    write_text(w, ">");
}

/* A name in a namespace: "::name", "::{closure#0}". */
static void nested(struct walk *w, bool in_value)
{
    char space = next(w);
    path(w, in_value);
    struct identifier id = full_identifier(w);
    if (space >= 'a' && space <= 'z') {
        bool has_name = id.ascii.len || id.punycode.len;
        write_text(w, has_name ? "::" : "");
        write_identifier(w, &id);
        return;
    }
    char plain[2] = {space, 0};
    if (space < 'A' || space > 'Z')
        fail(w);
    write_text(w, "::{");
    write_text(w, space == 'C' ? "closure" : space == 'S' ? "shim" : plain);
    if (id.ascii.len || id.punycode.len) {
        write_text(w, ":");
        write_identifier(w, &id);
    }
    write_text(w, "#");
    write_number(w, id.disambiguator);
    write_text(w, "}");
}

/* <TYPE>, <TYPE as TRAIT>; the path of the implementation is not written. */
static void implementation(struct walk *w, bool has_path, bool has_trait)
{
    if (has_path) {
        optional_62(w, 's');
        w->silent++;
        path(w, false);
        w->silent--;
    }
    write_text(w, "<");
    type(w);
    if (has_trait) {
        write_text(w, " as ");
        path(w, false);
    }
    write_text(w, ">");
}

static void path_inside(struct walk *w, bool in_value)
{
    struct identifier id;
    char tag = next(w);
    switch (tag) {
    case 'C':
        id = full_identifier(w);
        write_identifier(w, &id);
        break;
    case 'M':
    case 'X':
    case 'Y':
        implementation(w, tag != 'Y', tag != 'M');
        break;
    case 'N':
        nested(w, in_value);
        break;
    case 'I':
        path(w, in_value);
        write_text(w, in_value ? "::" : "");
        generic_arguments(w);
        break;
    case 'B':
        refer_back(w, path, in_value);
        break;
    default:
        fail(w);
    }
}

static void path(struct walk *w, bool in_value)
{
    if (!enter(w))
        return;
    path_inside(w, in_value);
    w->depth--;
}

/* --- Types ------------------------------------------------------------------------ */

static const char *basic_type(char tag)
{
    static const char *const types[26] = {
        "i8",    "bool", "char", "f64", "str",  "f32",  NULL,  "u8", "isize",
        "usize", NULL,   "i32",  "u32", "i128", "u128", "_",   NULL, NULL,
        "i16",   "u16",  "()",   "...", NULL,   "i64",  "u64", "!"};
    return tag >= 'a' && tag <= 'z' ? types[tag - 'a'] : NULL;
}

/* [BINDER] [U] [K ABI] TYPE* E TYPE */
static void function_type(struct walk *w)
{
    uint64_t bound = binder(w);
    write_text(w, accept(w, 'U') ? "unsafe " : "");
    if (accept(w, 'K')) {
        write_text(w, "extern \"");
        if (accept(w, 'C')) {
            write_text(w, "C");
        } else {
            struct identifier id = plain_identifier(w);
            for (size_t i = 0; i < id.ascii.len; i++) /* "-" was mangled as "_" */
                write_str(w,
                          id.ascii.ptr[i] == '_' ? STR("-") : str_part(id.ascii, i, 1));
        }
        write_text(w, "\" ");
    }
    write_text(w, "fn(");
    for (bool first = true; !w->failed && !accept(w, 'E'); first = false) {
        write_text(w, first ? "" : ", ");
        type(w);
    }
    write_text(w, ")");
    if (!accept(w, 'u')) {
        write_text(w, " -> ");
        type(w);
    }
    w->lifetimes -= bound <= w->lifetimes ? bound : 0;
}

/* PATH {p NAME TYPE}, the types inside the brackets of the path's arguments. */
static void dyn_trait(struct walk *w)
{
    bool open = false;
    bool referred = peek(w) == 'B';
    size_t here = w->at, after = 0;
    /* the brackets of its arguments must stay open, so it is parsed here */
    if (referred) {
        next(w);
        uint64_t to = base_62(w);
        after = w->at;
        if (to >= here)
            fail(w);
        else
            w->at = (size_t)to;
    }
    if (accept(w, 'I')) {
        path(w, false);
        write_text(w, "<");
        open = true;
        for (bool first = true; !w->failed && !accept(w, 'E'); first = false) {
            write_text(w, first ? "" : ", ");
            generic_argument(w);
        }
    } else {
        path(w, false);
    }
    if (referred && !w->failed)
        w->at = after;
    while (!w->failed && accept(w, 'p')) {
        write_text(w, open ? ", " : "<");
        open = true;
        struct identifier id = plain_identifier(w);
        write_identifier(w, &id);
        write_text(w, " = ");
        type(w);
    }
    write_text(w, open ? ">" : "");
}

/* D [BINDER] TRAIT* E L LIFETIME */
static void dyn_type(struct walk *w)
{
    write_text(w, "dyn ");
    uint64_t bound = binder(w);
    for (bool first = true; !w->failed && !accept(w, 'E'); first = false) {
        write_text(w, first ? "" : " + ");
        dyn_trait(w);
    }
    w->lifetimes -= bound <= w->lifetimes ? bound : 0;
    if (!accept(w, 'L')) {
        fail(w);
        return;
    }
    uint64_t lifetime = base_62(w);
    if (lifetime) {
        write_text(w, " + ");
        write_lifetime(w, lifetime);
    }
}

static void reference_type(struct walk *w, bool is_mutable)
{
    write_text(w, "&");
    if (accept(w, 'L')) {
        uint64_t lifetime = base_62(w);
        if (lifetime) {
            write_lifetime(w, lifetime);
            write_text(w, " ");
        }
    }
    write_text(w, is_mutable ? "mut " : "");
    type(w);
}

static void tuple_type(struct walk *w)
{
    size_t count = 0;
    write_text(w, "(");
    for (; !w->failed && !accept(w, 'E'); count++) {
        write_text(w, count ? ", " : "");
        type(w);
    }
    write_text(w, count == 1 ? ",)" : ")");
}

static void type_of_reference(struct walk *w, bool in_value)
{
    (void)in_value;
    type(w);
}

static void type_inside(struct walk *w)
{
    char tag = next(w);
    const char *basic = basic_type(tag);
    if (basic) {
        write_text(w, basic);
        return;
    }
    switch (tag) {
    case 'R':
    case 'Q':
        reference_type(w, tag == 'Q');
        break;
    case 'P':
    case 'O':
        write_text(w, tag == 'P' ? "*const " : "*mut ");
        type(w);
        break;
    case 'A':
    case 'S':
        write_text(w, "[");
        type(w);
        if (tag == 'A') {
            write_text(w, "; ");
            constant(w);
        }
        write_text(w, "]");
        break;
    case 'T':
        tuple_type(w);
        break;
    case 'F':
        function_type(w);
        break;
    case 'D':
        dyn_type(w);
        break;
    case 'B':
        refer_back(w, type_of_reference, false);
        break;
    default:
        w->at -= w->at > 0;
        path(w, false);
    }
}

static void type(struct walk *w)
{
    if (!enter(w))
        return;
    type_inside(w);
    w->depth--;
}

/* --- Constants -------------------------------------------------------------------- */

/* [n] HEX* _ */
static struct str hex_digits(struct walk *w)
{
    size_t begin = w->at;
    while (byte_is_digit(peek(w)) || (peek(w) >= 'a' && peek(w) <= 'f'))
        w->at++;
    struct str digits = str_part(w->text, begin, w->at - begin);
    if (!accept(w, '_'))
        fail(w);
    return digits;
}

static void integer(struct walk *w, bool is_signed)
{
    uint64_t value = 0;
    if (is_signed && accept(w, 'n'))
        write_text(w, "-");
    struct str digits = hex_digits(w);
    if (digits.len == 0) {
        write_text(w, "0");
    } else if (digits.len <= 16 && number_parse_hex(digits, &value)) {
        write_number(w, value);
    } else {
        write_text(w, "0x");
        write_str(w, digits);
    }
}

static void character(struct walk *w)
{
    struct str digits = hex_digits(w);
    uint64_t value = 0;
    char text[8];
    if (!number_parse_hex(digits, &value) || value > 0x10ffff ||
        (value >= 0xd800 && value < 0xe000)) {
        fail(w);
        return;
    }
    const char *escape = value == '\t'   ? "\\t"
                         : value == '\r' ? "\\r"
                         : value == '\n' ? "\\n"
                         : value == '\'' ? "\\'"
                         : value == '\\' ? "\\\\"
                                         : NULL;
    write_text(w, "'");
    if (escape) {
        write_text(w, escape);
    } else if (value < ' ' || value == 0x7f) {
        write_text(w, "\\u{");
        write_str(w, digits);
        write_text(w, "}");
    } else {
        write_str(w, (struct str){text, utf8_write((uint32_t)value, text)});
    }
    write_text(w, "'");
}

static void constant_of_reference(struct walk *w, bool in_value)
{
    (void)in_value;
    constant(w);
}

static void constant_inside(struct walk *w)
{
    char tag = next(w);
    struct str digits;
    switch (tag) {
    case 'p':
        write_text(w, "_");
        break;
    case 'h':
    case 't':
    case 'm':
    case 'y':
    case 'o':
    case 'j':
        integer(w, false);
        break;
    case 'a':
    case 's':
    case 'l':
    case 'x':
    case 'n':
    case 'i':
        integer(w, true);
        break;
    case 'b':
        digits = hex_digits(w);
        if (!str_equal(digits, STR("0")) && !str_equal(digits, STR("1")))
            fail(w);
        write_text(w, str_equal(digits, STR("1")) ? "true" : "false");
        break;
    case 'c':
        character(w);
        break;
    case 'B':
        refer_back(w, constant_of_reference, false);
        break;
    default: /* structures as constants are not stable yet */
        fail(w);
    }
}

static void constant(struct walk *w)
{
    if (!enter(w))
        return;
    constant_inside(w);
    w->depth--;
}

bool rust_v0_write(struct output *out, struct str name)
{
    struct str text = str_head(name, str_find(name, '.'));
    struct walk w = {.out = out};
    size_t before = out->used;
    if (!str_starts(text, STR("_R")) || name.len > RUST_V0_LENGTH_MAX)
        return false;
    w.text = str_skip(text, 2);
    if (peek(&w) < 'A' || peek(&w) > 'Z') /* a digit: a future version */
        return false;
    path(&w, true);
    if (!w.failed && w.at < w.text.len) { /* the crate that instantiated it */
        w.silent++;
        path(&w, false);
    }
    if (!w.failed && w.at == w.text.len && !out->failed)
        return true;
    out->used = before;
    return false;
}

/* NOLINTEND(misc-no-recursion) */
