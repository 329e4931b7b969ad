/* SPDX-License-Identifier: Apache-2.0 */
#include "codec/marshal.h"
#include "base/array.h"
#include "base/bytes.h"
#include "base/number.h"
#include <math.h>

#define REFERENCED 0x80 /* the bit of a type whose object may be referred to later */
#define DIGIT 32768     /* the base of long integers */

/* A code object has 4 to 6 numbers (Python 2; 3.0 to 3.7, and 3.11 or later; 3.8 to 3.10), 8
 * objects, the number of its first line, and one object, or two since Python 3.11. The fifth
 * object is a text since then, and a tuple before; the eighth is the name, or the qualified name
 * since then. */
enum { CODE_NUMBERS_LEAST = 4, CODE_NUMBERS_MOST = 6 };
enum { CODE_KINDS = 5, CODE_NAME = 8, CODE_ITEMS = 9, CODE_ITEMS_3_11 = 10 };

/* A container whose items follow. */
struct open_node {
    uint32_t node, left; /* items to come; not of a dict, which a null object ends */
};

/* Nodes that references name by their position. */
struct targets {
    uint32_t *nodes;
    size_t count, cap;
};

struct reader {
    struct marshal *m;
    struct arena *arena;
    struct bytes in;
    size_t cap;
    struct targets objects, strings; /* strings: of Python 2, interned */
    struct open_node open[MARSHAL_DEPTH_MAX];
    size_t depth;
    bool damaged;
};

static void add_target(struct reader *r, struct targets *t, uint32_t node)
{
    if (ARRAY_RESERVE(r->arena, t->nodes, t->cap, t->count + 1))
        t->nodes[t->count++] = node;
}

static void set_number(struct marshal_node *n, double value)
{
    n->kind = MARSHAL_NUMBER;
    n->number = value;
}

/* --- Values -------------------- */

/* A size, which is not negative. */
static uint32_t read_size(struct reader *r)
{
    uint32_t size = bytes_u32(&r->in);
    r->damaged |= size > INT32_MAX;
    return r->damaged ? 0 : size;
}

static void read_text(struct reader *r, struct marshal_node *n, uint32_t size)
{
    struct str text = bytes_take(&r->in, size);
    n->kind = MARSHAL_TEXT;
    n->text = text.ptr;
    n->count = (uint32_t)text.len;
}

/* A number of digits, negative for a negative integer, and the digits, the lowest first. */
static void read_long(struct reader *r, struct marshal_node *n)
{
    int64_t count = (int32_t)bytes_u32(&r->in);
    uint64_t digits = (uint64_t)(count < 0 ? -count : count);
    struct str text = bytes_take(&r->in, digits * 2);
    double value = 0;
    for (size_t i = text.len; i >= 2; i -= 2) {
        unsigned low = (unsigned char)text.ptr[i - 2],
                 high = (unsigned char)text.ptr[i - 1];
        value = value * DIGIT + (double)(high << 8 | low);
    }
    set_number(n, count < 0 ? -value : value);
}

static void read_decimal(struct reader *r, struct marshal_node *n)
{
    double value = NAN;
    number_parse_double(bytes_take(&r->in, bytes_u8(&r->in)), &value);
    set_number(n, value);
}

static void read_double(struct reader *r, struct marshal_node *n)
{
    uint64_t bits = bytes_u64(&r->in);
    double value;
    memcpy(&value, &bits, sizeof value);
    set_number(n, value);
}

static void read_reference(struct reader *r, struct marshal_node *n,
                           const struct targets *t)
{
    uint32_t index = bytes_u32(&r->in);
    if (index >= t->count) {
        r->damaged = true;
        return;
    }
    n->kind = MARSHAL_REFERENCE;
    n->target = t->nodes[index];
}

static void skip_complex(struct reader *r)
{
    bytes_skip(&r->in, bytes_u8(&r->in));
    bytes_skip(&r->in, bytes_u8(&r->in));
}

/* --- Containers -------------------- */

static void close_container(struct reader *r)
{
    struct open_node *top = &r->open[--r->depth];
    r->m->nodes[top->node].end = r->m->count;
}

/* After an item of a code object, which is a text or not. */
static void count_code_item(struct reader *r, struct open_node *top, bool is_text)
{
    uint32_t count = r->m->nodes[top->node].count;
    if (count == CODE_KINDS && top->left == CODE_ITEMS_3_11 - CODE_KINDS && !is_text)
        top->left--; /* Python 3.0 to 3.7 */
    if (count == CODE_NAME)
        bytes_skip(&r->in, 4); /* the number of the first line */
}

/* The innermost container has one more item; a tuple that is complete is an item of the
 * next one. */
static void count_item(struct reader *r)
{
    bool is_text = r->m->nodes[marshal_at(r->m, r->m->count - 1)].kind == MARSHAL_TEXT;
    for (; r->depth; is_text = false) {
        struct open_node *top = &r->open[r->depth - 1];
        struct marshal_node *n = &r->m->nodes[top->node];
        n->count++;
        if (n->kind == MARSHAL_DICT || --top->left) {
            if (n->kind == MARSHAL_CODE)
                count_code_item(r, top, is_text);
            return;
        }
        close_container(r);
    }
}

static void open_container(struct reader *r, uint32_t node, enum marshal_kind kind,
                           uint32_t size)
{
    struct marshal_node *n = &r->m->nodes[node];
    if (r->depth == MARSHAL_DEPTH_MAX) {
        r->damaged = true;
        return;
    }
    n->kind = kind;
    n->end = r->m->count;
    if (kind == MARSHAL_DICT || size)
        r->open[r->depth++] = (struct open_node){node, size};
    else
        count_item(r);
}

/* The numbers end before the first object, the instructions: a text that fits into the input. */
static void open_code(struct reader *r, uint32_t node)
{
    for (int n = CODE_NUMBERS_LEAST; n <= CODE_NUMBERS_MOST; n++) {
        struct bytes in = r->in;
        bytes_skip(&in, (uint64_t)n * 4);
        bool is_text = (bytes_u8(&in) & ~(unsigned)REFERENCED) == 's';
        uint32_t size = bytes_u32(&in);
        bytes_skip(&in, size);
        if (!is_text || size == 0 || in.failed)
            continue;
        bytes_skip(&r->in, (uint64_t)n * 4);
        open_container(r, node, MARSHAL_CODE, n == 5 ? CODE_ITEMS_3_11 : CODE_ITEMS);
        return;
    }
    r->damaged = true;
}

/* A null object ends a dict. */
static void end_dict(struct reader *r)
{
    const struct marshal_node *n =
        r->depth ? &r->m->nodes[r->open[r->depth - 1].node] : NULL;
    if (!n || n->kind != MARSHAL_DICT || n->count % 2) {
        r->damaged = true;
        return;
    }
    close_container(r);
    count_item(r);
}

/* --- Objects -------------------- */

/* False if the type is not one of a value without items. */
static bool read_value(struct reader *r, uint32_t node, char type)
{
    struct marshal_node *n = &r->m->nodes[node];
    switch (type) {
    case 'N':
    case 'T':
    case 'F':
    case 'S':
    case '.':
        break;
    case 'i':
        set_number(n, (int32_t)bytes_u32(&r->in));
        break;
    case 'I':
        set_number(n, (double)(int64_t)bytes_u64(&r->in));
        break;
    case 'l':
        read_long(r, n);
        break;
    case 'f':
        read_decimal(r, n);
        break;
    case 'g':
        read_double(r, n);
        break;
    case 'x':
        skip_complex(r);
        break;
    case 'y':
        bytes_skip(&r->in, 16);
        break;
    case 't':
        add_target(r, &r->strings, node);
        read_text(r, n, read_size(r));
        break;
    case 's':
    case 'u':
    case 'a':
    case 'A':
        read_text(r, n, read_size(r));
        break;
    case 'z':
    case 'Z':
        read_text(r, n, bytes_u8(&r->in));
        break;
    case 'r':
        read_reference(r, n, &r->objects);
        break;
    case 'R':
        read_reference(r, n, &r->strings);
        break;
    default:
        return false;
    }
    return true;
}

static void read_container(struct reader *r, uint32_t node, char type)
{
    switch (type) {
    case '(':
    case '[':
    case '<':
    case '>':
        open_container(r, node, MARSHAL_LIST, read_size(r));
        break;
    case ')':
        open_container(r, node, MARSHAL_LIST, bytes_u8(&r->in));
        break;
    case '{':
        open_container(r, node, MARSHAL_DICT, 0);
        break;
    case 'c':
        open_code(r, node);
        break;
    default:
        r->damaged = true; /* not an object */
    }
}

static void read_object(struct reader *r)
{
    unsigned type = bytes_u8(&r->in);
    char plain = (char)(type & ~(unsigned)REFERENCED);
    if (r->in.failed)
        return;
    if (type == '0') {
        end_dict(r);
        return;
    }
    if (!ARRAY_RESERVE(r->arena, r->m->nodes, r->cap, (size_t)r->m->count + 1))
        return;
    uint32_t node = r->m->count++;
    r->m->nodes[node] = (struct marshal_node){.kind = MARSHAL_NONE};
    if (type & REFERENCED && plain != 'r')
        add_target(r, &r->objects, node);
    if (!read_value(r, node, plain))
        read_container(r, node, plain);
    else if (r->in.failed || r->damaged)
        r->m->nodes[node].kind = MARSHAL_NONE; /* its value is incomplete */
    else
        count_item(r);
}

void marshal_read(struct marshal *m, struct arena *a, struct str bytes, uint32_t most)
{
    struct reader r = {.m = m, .arena = a, .in = bytes_of(bytes, false)};
    *m = (struct marshal){0};
    do {
        m->offset = bytes_offset(&r.in);
        read_object(&r);
    } while (r.depth && m->count < most && !r.in.failed && !r.damaged && !a->failed);
    m->damaged = r.depth || r.in.failed || r.damaged;
    while (r.depth) {
        close_container(&r);
        if (r.depth) /* what there is of the item */
            m->nodes[r.open[r.depth - 1].node].count++;
    }
}

/* The node of a code object's name; its own if it has none. */
static uint32_t name_of_code(const struct marshal *m, uint32_t code)
{
    uint32_t item = code + 1;
    if (m->nodes[code].count < CODE_NAME)
        return code;
    for (int i = 1; i < CODE_NAME; i++)
        item = marshal_next(m, item);
    return marshal_at(m, item);
}

bool marshal_text(const struct marshal *m, uint32_t i, struct str *out)
{
    uint32_t at = marshal_at(m, i);
    if (m->nodes[at].kind == MARSHAL_CODE)
        at = name_of_code(m, at);
    const struct marshal_node *n = &m->nodes[at];
    if (n->kind != MARSHAL_TEXT)
        return false;
    *out = (struct str){n->text, n->count};
    return true;
}

bool marshal_number(const struct marshal *m, uint32_t i, double *out)
{
    const struct marshal_node *n = &m->nodes[marshal_at(m, i)];
    if (n->kind != MARSHAL_NUMBER)
        return false;
    *out = n->number;
    return true;
}
