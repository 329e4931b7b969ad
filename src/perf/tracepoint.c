/* SPDX-License-Identifier: Apache-2.0 */
#include "perf/tracepoint.h"
#include "base/array.h"
#include "base/format.h"
#include "base/number.h"

#define FIELDS_MAX ((size_t)512)

/* --- The format -------------------------------------------------------------------- */

size_t tracepoint_text_end(struct str text)
{
    for (size_t i = 0; i < text.len; i++) {
        if (text.ptr[i] == '\\')
            i++;
        else if (text.ptr[i] == '"')
            return i;
    }
    return text.len;
}

/* The text between the two; empty if either is missing. */
static struct str between(struct str text, struct str from, char to)
{
    struct str rest = str_skip(text, str_search(text, from));
    rest = str_skip(rest, from.len);
    return str_head(rest, str_find(rest, to));
}

static uint32_t number_between(struct str text, struct str from)
{
    uint64_t number = 0;
    number_parse_u64(str_trim(between(text, from, ';')), &number);
    return number <= UINT32_MAX ? (uint32_t)number : 0;
}

uint64_t tracepoint_format_id(struct str text)
{
    uint64_t id = UINT64_MAX;
    number_parse_u64(str_trim(between(text, STR("\nID:"), '\n')), &id);
    return id;
}

/* The size of an element of that type. */
static uint32_t element_size(struct str type)
{
    static const struct {
        const char *name;
        uint32_t size;
    } sizes[] = {{"char", 1}, {"u8", 1},     {"s8", 1},  {"short", 2},
                 {"u16", 2},  {"s16", 2},    {"u64", 8}, {"s64", 8},
                 {"long", 8}, {"size_t", 8}, {"*", 8}};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        if (str_has(type, str_of(sizes[i].name)))
            return sizes[i].size;
    return 4;
}

/* "char prev_comm[16]", "__data_loc char[] name", "unsigned long args[6]": the number of
 * elements also follows from the size. */
static void take_declaration(struct tracepoint_field *f, struct str text)
{
    size_t array = str_find(text, '[');
    f->is_placed = str_starts(text, STR("__data_loc"));
    f->is_behind = str_starts(text, STR("__rel_loc"));
    f->is_placed |= f->is_behind;
    struct str name = array < text.len && !f->is_placed ? str_head(text, array) : text;
    size_t begin = name.len;
    while (begin && byte_is_word(name.ptr[begin - 1]))
        begin--;
    f->name = str_skip(name, begin);
    struct str type = str_head(name, begin);
    if (array == text.len && !f->is_placed)
        return;
    uint64_t count = 0;
    number_parse_u64(between(text, STR("["), ']'), &count);
    f->element =
        count && count <= f->size ? f->size / (uint32_t)count : element_size(type);
    f->is_text = f->element == 1 && str_has(type, STR("char"));
}

/* "\tfield:int pid;\toffset:4;\tsize:4;\tsigned:1;" */
static void add_field(struct tracepoint_format *f, struct str line, struct arena *a)
{
    struct tracepoint_field *field =
        f->field_count < FIELDS_MAX
            ? ARRAY_APPEND(a, f->fields, f->field_count, f->field_cap)
            : NULL;
    if (!field)
        return;
    *field = (struct tracepoint_field){.offset = number_between(line, STR("offset:")),
                                       .size = number_between(line, STR("size:")),
                                       .is_signed = number_between(line, STR("signed:"))};
    take_declaration(field, str_trim(between(line, STR("field:"), ';')));
    field->is_common = str_starts(field->name, STR("common_"));
}

/* "print fmt: "pid=%d", REC->pid" */
static void take_print(struct tracepoint_format *f, struct str text, struct arena *a)
{
    struct str rest = str_trim(text);
    if (!str_starts(rest, STR("\"")))
        return;
    rest = str_skip(rest, 1);
    struct str print = str_head(rest, tracepoint_text_end(rest));
    rest = str_trim(str_skip(rest, print.len + 1));
    bool has_values = str_starts(rest, STR(","));
    if ((rest.len == 0 || has_values) &&
        tracepoint_compile(f, str_skip(rest, has_values), a))
        f->print = print;
    else
        f->step_count = 0;
}

bool tracepoint_format_read(struct tracepoint_format *f, struct str text, struct arena *a)
{
    struct str rest = text;
    *f = (struct tracepoint_format){.id = tracepoint_format_id(text),
                                    .name = str_trim(between(text, STR("name:"), '\n')),
                                    .print = STR("")};
    while (rest.len) {
        if (str_starts(rest, STR("print fmt:"))) {
            take_print(f, str_skip(rest, 10), a);
            break;
        }
        struct str line = str_cut(&rest, '\n');
        if (str_has(line, STR("field:")))
            add_field(f, line, a);
    }
    return !a->failed;
}

/* --- Fields ------------------------------------------------------------------------ */

static int64_t number_at(struct str bytes, bool big_endian, bool is_signed)
{
    struct bytes b = bytes_of(bytes, big_endian);
    unsigned size = (unsigned)(bytes.len > 8 ? 8 : bytes.len);
    uint64_t v = bytes_number(&b, size);
    if (is_signed && size && size < 8 && v >> (size * 8 - 1) & 1)
        v |= UINT64_MAX << (size * 8);
    return (int64_t)v;
}

struct tracepoint_value tracepoint_field_value(const struct tracepoint_field *f,
                                               struct str raw, bool big_endian)
{
    struct str bytes = str_part(raw, f->offset, f->size);
    struct tracepoint_value v = {
        .text = STR(""), .element = f->element, .is_text = f->is_text};
    if (f->is_placed) {
        uint64_t location = (uint64_t)number_at(str_head(bytes, 4), big_endian, false);
        uint64_t behind = f->is_behind ? (uint64_t)f->offset + 4 : 0;
        bytes = str_part(raw, (location & 0xffff) + behind, location >> 16);
    }
    if (f->is_text)
        v.text = str_head(bytes, str_find(bytes, 0));
    else if (f->element)
        v.text = bytes;
    else
        v.number = number_at(bytes, big_endian, f->is_signed);
    return v;
}

int64_t tracepoint_element(const struct tracepoint_value *array, uint64_t i,
                           bool big_endian)
{
    if (!array->element || i >= array->text.len / array->element)
        return 0;
    return number_at(str_part(array->text, i * array->element, array->element),
                     big_endian, false);
}

/* --- Printing ---------------------------------------------------------------------- */

/* The specification between the % and the letter: "%-08.*llx". */
struct conversion {
    char flags[8];
    int width, precision; /* -1: none */
    unsigned longs; /* number of 'l's, or of the equivalent; shorts are counted below */
    unsigned shorts;
    char letter;
};

struct printer {
    const struct tracepoint_values *values;
    size_t next;
    struct output *o;
};

static const struct tracepoint_value *next_value(struct printer *p)
{
    static const struct tracepoint_value none = {.text = {"", 0}};
    return p->next < p->values->count ? &p->values->shown[p->next++] : &none;
}

#define WIDTH_MAX 256

static int take_size(struct printer *p, struct str *rest)
{
    int64_t size = 0;
    if (rest->len && rest->ptr[0] == '*') {
        *rest = str_skip(*rest, 1);
        size = next_value(p)->number;
    }
    while (rest->len && byte_is_digit(rest->ptr[0])) {
        size = size < WIDTH_MAX ? size * 10 + (rest->ptr[0] - '0') : size;
        *rest = str_skip(*rest, 1);
    }
    return size < 0 ? 0 : size > WIDTH_MAX ? WIDTH_MAX : (int)size;
}

static struct conversion take_conversion(struct printer *p, struct str *rest)
{
    struct conversion c = {.width = 0, .precision = -1};
    size_t n = 0;
    while (rest->len && strchr("-+ #0", rest->ptr[0]) && n + 1 < sizeof c.flags) {
        c.flags[n++] = rest->ptr[0];
        *rest = str_skip(*rest, 1);
    }
    c.width = take_size(p, rest);
    if (rest->len && rest->ptr[0] == '.') {
        *rest = str_skip(*rest, 1);
        c.precision = take_size(p, rest);
    }
    for (; rest->len && strchr("hlLqjzt", rest->ptr[0]); *rest = str_skip(*rest, 1)) {
        c.shorts += rest->ptr[0] == 'h';
        c.longs += rest->ptr[0] != 'h';
    }
    c.letter = rest->len ? rest->ptr[0] : 0;
    *rest = str_skip(*rest, 1);
    return c;
}

static uint64_t cut_to(const struct conversion *c, int64_t v, bool is_signed)
{
    if (c->longs)
        return (uint64_t)v;
    if (c->shorts > 1)
        return is_signed ? (uint64_t)(int8_t)v : (uint8_t)v;
    if (c->shorts)
        return is_signed ? (uint64_t)(int16_t)v : (uint16_t)v;
    return is_signed ? (uint64_t)(int32_t)v : (uint32_t)v;
}

/* Writes digits or letters, padded to the width. */
static void print_filled(struct output *o, const struct conversion *c, struct str sign,
                         struct str body, bool is_number)
{
    size_t used = sign.len + body.len, width = (size_t)c->width;
    size_t fill = used < width ? width - used : 0;
    bool left = strchr(c->flags, '-');
    bool zeros = is_number && !left && strchr(c->flags, '0');
    for (size_t i = 0; !left && !zeros && i < fill; i++)
        output_char(o, ' ');
    output_str(o, sign);
    for (size_t i = 0; zeros && i < fill; i++)
        output_char(o, '0');
    output_str(o, body);
    for (size_t i = 0; left && i < fill; i++)
        output_char(o, ' ');
}

/* The digits in that base; returns their count. */
static size_t write_digits(uint64_t v, unsigned base, bool upper, char *text)
{
    const char *digits = upper ? "0123456789ABCDEF" : "0123456789abcdef";
    char back[24];
    size_t n = 0;
    do
        back[n++] = digits[v % base];
    while (v /= base);
    for (size_t i = 0; i < n; i++)
        text[i] = back[n - 1 - i];
    return n;
}

static void print_number(struct printer *p, const struct conversion *c)
{
    char text[24];
    bool is_signed = c->letter == 'd' || c->letter == 'i';
    uint64_t v = cut_to(c, next_value(p)->number, is_signed);
    bool negative = is_signed && (int64_t)v < 0;
    unsigned base = c->letter == 'x' || c->letter == 'X' ? 16 : c->letter == 'o' ? 8 : 10;
    size_t n = write_digits(negative ? 0 - v : v, base, c->letter == 'X', text);
    bool marked = strchr(c->flags, '#') && v;
    struct str sign = negative                             ? STR("-")
                      : marked && c->letter == 'x'         ? STR("0x")
                      : marked && c->letter == 'X'         ? STR("0X")
                      : marked && c->letter == 'o'         ? STR("0")
                      : is_signed && strchr(c->flags, '+') ? STR("+")
                                                           : STR("");
    print_filled(p->o, c, sign, (struct str){text, n}, true);
}

/* A number where a string is expected, or the reverse, is printed as nothing. */
static void print_text(struct printer *p, const struct conversion *c)
{
    const struct tracepoint_value *v = next_value(p);
    char number[24];
    struct str text = v->text;
    if (!v->is_text && !v->element)
        text = (struct str){number, format_text(number, sizeof number, "0x%llx",
                                                (unsigned long long)v->number)};
    if (c->precision >= 0)
        text = str_head(text, (size_t)c->precision);
    print_filled(p->o, c, STR(""), text, false);
}

/* "%pS", "%pI4": the letters after it select a form; this prints the number. */
static void print_pointer(struct printer *p, const struct conversion *c, struct str *rest)
{
    char text[24];
    uint64_t v = (uint64_t)next_value(p)->number;
    while (rest->len && byte_is_word(rest->ptr[0]) && rest->ptr[0] != '_')
        *rest = str_skip(*rest, 1);
    size_t n = format_text(text, sizeof text, "0x%llx", (unsigned long long)v);
    print_filled(p->o, c, STR(""), (struct str){text, n}, false);
}

static void print_conversion(struct printer *p, struct str *rest)
{
    struct conversion c = take_conversion(p, rest);
    char one;
    switch (c.letter) {
    case 'd':
    case 'i':
    case 'u':
    case 'x':
    case 'X':
    case 'o':
        print_number(p, &c);
        break;
    case 's':
        print_text(p, &c);
        break;
    case 'p':
        print_pointer(p, &c, rest);
        break;
    case 'c':
        one = (char)next_value(p)->number;
        print_filled(p->o, &c, STR(""), (struct str){&one, 1}, false);
        break;
    case '%':
        output_char(p->o, '%');
        break;
    default:
        break;
    }
}

static void print_escape(struct output *o, char letter)
{
    if (letter == 'n')
        output_char(o, '\n');
    else if (letter == 't')
        output_char(o, '\t');
    else
        output_char(o, letter);
}

/* Prints the fields one by one, without the common fields of all tracepoints. */
static void print_fields(const struct tracepoint_format *f, struct str raw,
                         bool big_endian, struct output *o)
{
    for (size_t i = 0; i < f->field_count; i++) {
        const struct tracepoint_field *field = &f->fields[i];
        if (field->is_common)
            continue;
        struct tracepoint_value v = tracepoint_field_value(field, raw, big_endian);
        output_format(o, " %.*s=", STR_ARG(str_head(field->name, 256)));
        if (v.is_text)
            output_str(o, v.text);
        else if (!v.element)
            output_format(o, "%lld", (long long)v.number);
        for (uint64_t k = 0; !v.is_text && v.element && k < v.text.len / v.element; k++)
            output_format(o, k ? ",%llx" : "%llx",
                          (unsigned long long)tracepoint_element(&v, k, big_endian));
    }
}

void tracepoint_format_print(const struct tracepoint_format *f, struct str raw,
                             bool big_endian, struct output *o)
{
    struct tracepoint_values values;
    struct printer p = {.values = &values, .o = o};
    struct str rest = f->print;
    if (rest.len == 0) {
        print_fields(f, raw, big_endian, o);
        return;
    }
    tracepoint_evaluate(f, raw, big_endian, &values);
    while (rest.len) {
        char c = rest.ptr[0];
        rest = str_skip(rest, 1);
        if (c == '%') {
            print_conversion(&p, &rest);
        } else if (c == '\\' && rest.len) {
            print_escape(o, rest.ptr[0]);
            rest = str_skip(rest, 1);
        } else {
            output_char(o, c);
        }
    }
}
