/* SPDX-License-Identifier: Apache-2.0 */
/* Compiles the expressions of a format to steps, and evaluates steps. Operators wait on a
 * stack until an operator of lower precedence comes (shunting-yard algorithm), so nothing
 * recurses. */
#include "base/array.h"
#include "base/format.h"
#include "base/number.h"
#include "perf/tracepoint.h"

#define WAITING_MAX 256
#define STEPS_MAX ((size_t)1 << 14)

enum op {
    OP_NONE,
    OP_MINUS,
    OP_NOT,
    OP_COMPLEMENT,
    OP_KEEP,
    OP_MULTIPLY,
    OP_DIVIDE,
    OP_REST,
    OP_ADD,
    OP_SUBTRACT,
    OP_LEFT,
    OP_RIGHT,
    OP_LESS,
    OP_MORE,
    OP_LESS_EQUAL,
    OP_MORE_EQUAL,
    OP_EQUAL,
    OP_UNEQUAL,
    OP_AND,
    OP_XOR,
    OP_OR,
    OP_BOTH,
    OP_EITHER,
};

/* Longer ones first. */
static const struct {
    const char *text;
    uint8_t op, binds;
} binaries[] = {
    {"<<", OP_LEFT, 8},       {">>", OP_RIGHT, 8},  {"<=", OP_LESS_EQUAL, 7},
    {">=", OP_MORE_EQUAL, 7}, {"==", OP_EQUAL, 6},  {"!=", OP_UNEQUAL, 6},
    {"&&", OP_BOTH, 2},       {"||", OP_EITHER, 1}, {"*", OP_MULTIPLY, 10},
    {"/", OP_DIVIDE, 10},     {"%", OP_REST, 10},   {"+", OP_ADD, 9},
    {"-", OP_SUBTRACT, 9},    {"<", OP_LESS, 7},    {">", OP_MORE, 7},
    {"&", OP_AND, 5},         {"^", OP_XOR, 4},     {"|", OP_OR, 3},
};
#define BINDS_UNARY 11
#define BINDS_CHOICE 0

enum function {
    FUNCTION_FLAGS,
    FUNCTION_SYMBOL,
    FUNCTION_FIRST,
    FUNCTION_LENGTH,
    FUNCTION_HEX,
    FUNCTION_HEX_JOINED,
};

static const struct {
    const char *name;
    uint8_t function;
    bool of_field; /* its argument is the name of a field */
} functions[] = {
    {"__print_flags", FUNCTION_FLAGS, false},
    {"__print_flags_u64", FUNCTION_FLAGS, false},
    {"__print_symbolic", FUNCTION_SYMBOL, false},
    {"__print_symbolic_u64", FUNCTION_SYMBOL, false},
    {"__builtin_expect", FUNCTION_FIRST, false},
    {"__print_hex", FUNCTION_HEX, false},
    {"__print_hex_str", FUNCTION_HEX_JOINED, false},
    {"__get_str", FUNCTION_FIRST, true},
    {"__get_rel_str", FUNCTION_FIRST, true},
    {"__get_dynamic_array", FUNCTION_FIRST, true},
    {"__get_rel_dynamic_array", FUNCTION_FIRST, true},
    {"__get_dynamic_array_len", FUNCTION_LENGTH, true},
};

/* --- Compiling ---------------------------------------------------------------------- */

/* An operator, call or bracket on the operator stack. */
enum waiting_kind {
    WAIT_UNARY,
    WAIT_BINARY,
    WAIT_CHOICE,
    WAIT_ROUND,
    WAIT_SQUARE,
    WAIT_CURLY,
    WAIT_CALL,
    WAIT_QUESTION
};

struct waiting {
    uint8_t kind, op, binds;
    uint32_t count; /* of a call: the number of arguments so far */
};

struct compiler {
    struct tracepoint_format *f;
    struct arena *arena;
    struct str rest;
    struct waiting waiting[WAITING_MAX];
    size_t depth;
    bool wants_operand, failed;
};

static void add_step(struct compiler *c, struct tracepoint_step step)
{
    struct tracepoint_format *f = c->f;
    if (f->step_count < STEPS_MAX &&
        ARRAY_RESERVE(c->arena, f->steps, f->step_cap, f->step_count + 1))
        f->steps[f->step_count++] = step;
    else
        c->failed = true;
}

static void push(struct compiler *c, struct waiting w)
{
    if (c->depth == WAITING_MAX)
        c->failed = true;
    else
        c->waiting[c->depth++] = w;
}

static void skip_space(struct compiler *c)
{
    c->rest = str_trim_left(c->rest);
}

static bool take(struct compiler *c, const char *text)
{
    struct str token = str_of(text);
    skip_space(c);
    if (!str_starts(c->rest, token))
        return false;
    c->rest = str_skip(c->rest, token.len);
    return true;
}

static struct str take_word(struct compiler *c)
{
    size_t n = 0;
    skip_space(c);
    while (n < c->rest.len && byte_is_word(c->rest.ptr[n]))
        n++;
    struct str word = str_head(c->rest, n);
    c->rest = str_skip(c->rest, n);
    return word;
}

/* Emits steps for operators of at least that precedence, down to the last open bracket.
 */
static void pop_bound(struct compiler *c, unsigned binds)
{
    while (c->depth) {
        struct waiting w = c->waiting[c->depth - 1];
        if (w.kind > WAIT_CHOICE || w.binds < binds)
            return;
        uint8_t kind = w.kind == WAIT_UNARY    ? TRACE_UNARY
                       : w.kind == WAIT_BINARY ? TRACE_BINARY
                                               : TRACE_CHOICE;
        add_step(c, (struct tracepoint_step){.kind = kind, .op = w.op});
        c->depth--;
    }
}

static bool field_named(const struct tracepoint_format *f, struct str name,
                        uint32_t *number)
{
    for (*number = 0; *number < f->field_count; ++*number)
        if (str_equal(f->fields[*number].name, name))
            return true;
    return false;
}

static void add_field(struct compiler *c, struct str name)
{
    uint32_t number;
    if (field_named(c->f, name, &number))
        add_step(c, (struct tracepoint_step){.kind = TRACE_FIELD, .count = number});
    else
        c->failed = true;
    c->wants_operand = false;
}

/* A C number or character. */
static void take_number(struct compiler *c)
{
    struct str word = take_word(c);
    uint64_t value = 0;
    while (word.len > 1 && strchr("uUlL", word.ptr[word.len - 1]))
        word.len--;
    bool hex = str_starts(word, STR("0x")) || str_starts(word, STR("0X"));
    c->failed |= hex ? !number_parse_hex(str_skip(word, 2), &value)
                     : !number_parse_u64(word, &value);
    add_step(c, (struct tracepoint_step){.kind = TRACE_NUMBER, .number = (int64_t)value});
    c->wants_operand = false;
}

static void take_text(struct compiler *c)
{
    size_t end = tracepoint_text_end(c->rest);
    add_step(
        c, (struct tracepoint_step){.kind = TRACE_TEXT, .text = str_head(c->rest, end)});
    c->failed |= end == c->rest.len;
    c->rest = str_skip(c->rest, end + 1);
    c->wants_operand = false;
}

/* "(unsigned long)", "(struct x *)": casts do not change what is printed. */
static bool take_cast(struct compiler *c)
{
    struct str inside = str_trim(str_head(c->rest, str_find(c->rest, ')')));
    if (inside.len == 0 || inside.len == c->rest.len || byte_is_digit(inside.ptr[0]) ||
        str_starts(inside, STR("REC")) || str_starts(inside, STR("__print")) ||
        str_starts(inside, STR("__get")))
        return false;
    for (size_t i = 0; i < inside.len; i++)
        if (!byte_is_word(inside.ptr[i]) && inside.ptr[i] != ' ' && inside.ptr[i] != '*')
            return false;
    c->rest = str_skip(c->rest, str_find(c->rest, ')') + 1);
    return true;
}

/* Whether braces follow: a flag or a number with its name. */
static bool is_listed(const struct compiler *c)
{
    size_t at = c->depth;
    while (at && c->waiting[at - 1].kind != WAIT_CURLY &&
           c->waiting[at - 1].kind != WAIT_CALL)
        at--;
    return at && c->waiting[at - 1].kind == WAIT_CURLY;
}

/* A function; or a constant of the kernel, whose value is unknown: 0, as in perf; in a
 * list, a value that never matches. */
static void take_call(struct compiler *c, struct str name)
{
    skip_space(c);
    if (!str_starts(c->rest, STR("("))) {
        add_step(c, (struct tracepoint_step){.kind = TRACE_NUMBER,
                                             .number = is_listed(c) ? -1 : 0});
        c->wants_operand = false;
        return;
    }
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
        if (!str_equal(name, str_of(functions[i].name)) || !take(c, "("))
            continue;
        push(c, (struct waiting){
                    .kind = WAIT_CALL, .op = functions[i].function, .count = 1});
        if (functions[i].of_field)
            add_field(c, take_word(c));
        return;
    }
    c->failed = true;
}

static void take_operand(struct compiler *c)
{
    static const struct {
        const char *text;
        uint8_t op;
    } unaries[] = {{"-", OP_MINUS}, {"!", OP_NOT},  {"~", OP_COMPLEMENT},
                   {"+", OP_KEEP},  {"&", OP_KEEP}, {"*", OP_KEEP}};
    skip_space(c);
    if (c->rest.len && byte_is_digit(c->rest.ptr[0])) {
        take_number(c);
    } else if (take(c, "\"")) {
        take_text(c);
    } else if (take(c, "REC->")) {
        add_field(c, take_word(c));
    } else if (c->rest.len && byte_is_word(c->rest.ptr[0])) {
        take_call(c, take_word(c));
    } else if (take(c, "(")) {
        if (!take_cast(c))
            push(c, (struct waiting){.kind = WAIT_ROUND});
    } else if (take(c, "{")) {
        push(c, (struct waiting){.kind = WAIT_CURLY});
    } else {
        for (size_t i = 0; i < sizeof unaries / sizeof *unaries; i++)
            if (take(c, unaries[i].text)) {
                push(c, (struct waiting){WAIT_UNARY, unaries[i].op, BINDS_UNARY, 0});
                return;
            }
        c->failed = true;
    }
}

/* Emits steps down to the matching open bracket. Returns false if the closing bracket is
 * another. */
static bool close_open(struct compiler *c, enum waiting_kind kind)
{
    pop_bound(c, 0);
    if (c->depth == 0 || c->waiting[c->depth - 1].kind != kind)
        return false;
    c->depth--;
    return true;
}

static void close_round(struct compiler *c)
{
    if (close_open(c, WAIT_ROUND))
        return;
    if (c->depth == 0 || c->waiting[c->depth - 1].kind != WAIT_CALL) {
        c->failed = true;
        return;
    }
    struct waiting w = c->waiting[--c->depth];
    add_step(c,
             (struct tracepoint_step){.kind = TRACE_CALL, .op = w.op, .count = w.count});
}

/* The next argument of a call, in braces or not; or the next value to print. */
static void take_comma(struct compiler *c)
{
    pop_bound(c, 0);
    c->wants_operand = true;
    size_t at = c->depth;
    while (at && c->waiting[at - 1].kind == WAIT_CURLY)
        at--;
    if (at && c->waiting[at - 1].kind == WAIT_CALL)
        c->waiting[at - 1].count++;
    else if (at)
        c->failed = true;
    else
        add_step(c, (struct tracepoint_step){.kind = TRACE_SHOW});
}

static void take_binary(struct compiler *c)
{
    for (size_t i = 0; i < sizeof binaries / sizeof *binaries; i++) {
        if (!take(c, binaries[i].text))
            continue;
        pop_bound(c, binaries[i].binds);
        push(c, (struct waiting){WAIT_BINARY, binaries[i].op, binaries[i].binds, 0});
        c->wants_operand = true;
        return;
    }
    c->failed = true;
}

static void take_operator(struct compiler *c)
{
    if (take(c, ",")) {
        take_comma(c);
    } else if (take(c, ")")) {
        close_round(c);
    } else if (take(c, "}")) {
        c->failed |= !close_open(c, WAIT_CURLY);
    } else if (take(c, "]")) {
        c->failed |= !close_open(c, WAIT_SQUARE);
        add_step(c, (struct tracepoint_step){.kind = TRACE_ELEMENT});
    } else if (take(c, "[")) {
        push(c, (struct waiting){.kind = WAIT_SQUARE});
        c->wants_operand = true;
    } else if (take(c, "?")) {
        pop_bound(c, BINDS_CHOICE + 1);
        push(c, (struct waiting){.kind = WAIT_QUESTION});
        c->wants_operand = true;
    } else if (take(c, ":")) {
        c->failed |= !close_open(c, WAIT_QUESTION);
        push(c, (struct waiting){.kind = WAIT_CHOICE, .binds = BINDS_CHOICE});
        c->wants_operand = true;
    } else {
        take_binary(c);
    }
}

bool tracepoint_compile(struct tracepoint_format *f, struct str text, struct arena *a)
{
    struct compiler c = {.f = f, .arena = a, .rest = text, .wants_operand = true};
    skip_space(&c);
    while (c.rest.len && !c.failed) {
        if (c.wants_operand)
            take_operand(&c);
        else
            take_operator(&c);
        skip_space(&c);
    }
    if (c.wants_operand || c.failed)
        return text.len == 0;
    pop_bound(&c, 0);
    add_step(&c, (struct tracepoint_step){.kind = TRACE_SHOW});
    return !c.failed && c.depth == 0;
}

/* --- Evaluating --------------------------------------------------------------------- */

static int64_t unary(enum op op, int64_t v)
{
    switch (op) {
    case OP_MINUS:
        return (int64_t)(0 - (uint64_t)v);
    case OP_NOT:
        return !v;
    case OP_COMPLEMENT:
        return ~v;
    default:
        return v;
    }
}

/* Numbers are compared and divided as unsigned, as in perf. */
static uint64_t divide(enum op op, uint64_t a, uint64_t b)
{
    if (b == 0)
        return 0;
    return op == OP_DIVIDE ? a / b : a % b;
}

static int64_t compare(enum op op, uint64_t a, uint64_t b)
{
    switch (op) {
    case OP_LESS:
        return a < b;
    case OP_MORE:
        return a > b;
    case OP_LESS_EQUAL:
        return a <= b;
    case OP_MORE_EQUAL:
        return a >= b;
    case OP_EQUAL:
        return a == b;
    case OP_UNEQUAL:
        return a != b;
    case OP_BOTH:
        return a && b;
    default:
        return a || b;
    }
}

static int64_t binary(enum op op, int64_t a, int64_t b)
{
    uint64_t x = (uint64_t)a, y = (uint64_t)b;
    switch (op) {
    case OP_MULTIPLY:
        return (int64_t)(x * y);
    case OP_DIVIDE:
    case OP_REST:
        return (int64_t)divide(op, x, y);
    case OP_ADD:
        return (int64_t)(x + y);
    case OP_SUBTRACT:
        return (int64_t)(x - y);
    case OP_LEFT:
        return y < 64 ? (int64_t)(x << y) : 0;
    case OP_RIGHT:
        return y < 64 ? (int64_t)(x >> y) : 0;
    case OP_AND:
        return a & b;
    case OP_XOR:
        return a ^ b;
    case OP_OR:
        return a | b;
    default:
        return compare(op, x, y);
    }
}

/* Writes strings into the scratch buffer; what does not fit is truncated. */
static void make_text(struct tracepoint_values *v, struct str text)
{
    size_t room = TRACE_SCRATCH - v->used, size = text.len < room ? text.len : room;
    if (size)
        memcpy(v->scratch + v->used, text.ptr, size);
    v->used += size;
}

static void make_number(struct tracepoint_values *v, uint64_t number)
{
    char text[24];
    size_t n = format_text(text, sizeof text, "0x%llx", (unsigned long long)number);
    make_text(v, (struct str){text, n});
}

/* The arguments: value, separator, then pairs of a flag and its name. */
static void make_flags(struct tracepoint_values *v, const struct tracepoint_value *args,
                       size_t count)
{
    uint64_t left = (uint64_t)args[0].number;
    bool any = false;
    for (size_t i = 2; i + 1 < count; i += 2) {
        uint64_t flag = (uint64_t)args[i].number;
        bool none = left == 0 && flag == 0 && !any;
        if (!none && !(flag && (left & flag) == flag))
            continue;
        if (any)
            make_text(v, args[1].text);
        make_text(v, args[i + 1].text);
        any = true;
        left &= ~flag;
        if (none)
            return;
    }
    if (left == 0)
        return;
    if (any)
        make_text(v, args[1].text);
    make_number(v, left);
}

static void make_symbol(struct tracepoint_values *v, const struct tracepoint_value *args,
                        size_t count)
{
    for (size_t i = 1; i + 1 < count; i += 2) {
        if (args[i].number != args[0].number)
            continue;
        make_text(v, args[i + 1].text);
        return;
    }
    make_number(v, (uint64_t)args[0].number);
}

static void make_hex(struct tracepoint_values *v, const struct tracepoint_value *args,
                     size_t count, bool joined)
{
    struct str bytes = args[0].text;
    char text[4];
    if (count > 1)
        bytes = str_head(bytes, args[1].number < 0 ? 0 : (size_t)args[1].number);
    for (size_t i = 0; i < bytes.len; i++) {
        size_t n = format_text(text, sizeof text, i && !joined ? " %02x" : "%02x",
                               (unsigned char)bytes.ptr[i]);
        make_text(v, (struct str){text, n});
    }
}

static struct tracepoint_value call(struct tracepoint_values *v, uint8_t function,
                                    const struct tracepoint_value *args, size_t count)
{
    size_t from = v->used;
    switch (function) {
    case FUNCTION_FLAGS:
        make_flags(v, args, count);
        break;
    case FUNCTION_SYMBOL:
        make_symbol(v, args, count);
        break;
    case FUNCTION_HEX:
    case FUNCTION_HEX_JOINED:
        make_hex(v, args, count, function == FUNCTION_HEX_JOINED);
        break;
    case FUNCTION_LENGTH:
        return (struct tracepoint_value){.number = (int64_t)args[0].text.len};
    default:
        return args[0];
    }
    return (struct tracepoint_value){.text = {v->scratch + from, v->used - from},
                                     .is_text = true};
}

struct evaluation {
    struct tracepoint_value stack[TRACE_VALUES_MAX];
    size_t depth;
    struct str raw;
    bool big_endian;
};

/* The number of values that the step pops. */
static size_t taken(const struct tracepoint_step *s)
{
    switch (s->kind) {
    case TRACE_UNARY:
    case TRACE_SHOW:
        return 1;
    case TRACE_BINARY:
    case TRACE_ELEMENT:
        return 2;
    case TRACE_CHOICE:
        return 3;
    case TRACE_CALL:
        return s->count;
    default:
        return 0;
    }
}

/* The result of the step. */
static struct tracepoint_value step_value(const struct tracepoint_format *f,
                                          const struct evaluation *e,
                                          const struct tracepoint_step *s,
                                          const struct tracepoint_value *args,
                                          struct tracepoint_values *values)
{
    struct tracepoint_value v = {.text = STR("")};
    switch (s->kind) {
    case TRACE_NUMBER:
        v.number = s->number;
        break;
    case TRACE_TEXT:
        v.text = s->text;
        v.is_text = true;
        break;
    case TRACE_FIELD:
        return tracepoint_field_value(&f->fields[s->count], e->raw, e->big_endian);
    case TRACE_UNARY:
        if (s->op == OP_KEEP)
            return args[0];
        v.number = unary((enum op)s->op, args[0].number);
        break;
    case TRACE_BINARY:
        v.number = binary((enum op)s->op, args[0].number, args[1].number);
        break;
    case TRACE_CHOICE:
        return args[0].number ? args[1] : args[2];
    case TRACE_ELEMENT:
        v.number = tracepoint_element(&args[0], (uint64_t)args[1].number, e->big_endian);
        break;
    default:
        return call(values, s->op, args, s->count);
    }
    return v;
}

void tracepoint_evaluate(const struct tracepoint_format *f, struct str raw,
                         bool big_endian, struct tracepoint_values *values)
{
    struct evaluation e = {.raw = raw, .big_endian = big_endian};
    values->count = values->used = 0;
    for (size_t i = 0; i < f->step_count; i++) {
        const struct tracepoint_step *s = &f->steps[i];
        size_t count = taken(s);
        if (count > e.depth)
            return;
        e.depth -= count;
        if (s->kind == TRACE_SHOW) {
            if (values->count == TRACE_VALUES_MAX)
                return;
            values->shown[values->count++] = e.stack[e.depth];
            continue;
        }
        if (e.depth == TRACE_VALUES_MAX)
            return;
        struct tracepoint_value v = step_value(f, &e, s, e.stack + e.depth, values);
        e.stack[e.depth++] = v;
    }
}
