/* SPDX-License-Identifier: Apache-2.0 */
/* Lines of scripts. V8 computes them only when it needs them, so they are counted in the
 * source. Instructions have positions in the source, in a table of the bytecode. */
#include "base/array.h"
#include "base/hash.h"
#include "interpreter/node.h"

/* Longer sources have no lines, in characters. */
#define SOURCE_MAX ((uint64_t)32 << 20)

/* The garbage collector may move a source while it is read. */
#define ATTEMPTS 3

/* Larger tables are not read, bytes. */
#define TABLE_MAX ((uint32_t)1 << 20)

#define SCRIPT_SOURCE 8 /* the first field in all versions */

/* --- Lines of a script -------------------------------------------------------------- */

struct counting {
    struct node_lines *lines;
    struct arena *arena;
    uint32_t position;
    unsigned last; /* the character before */
    bool failed;
};

static void end_line(struct counting *c)
{
    uint32_t *end =
        ARRAY_APPEND(c->arena, c->lines->ends, c->lines->count, c->lines->cap);
    if (end)
        *end = c->position;
    c->failed |= end == NULL;
}

/* The ends of lines of JavaScript; CR and LF are one. */
static void take_character(struct counting *c, unsigned ch)
{
    if (ch == '\n' && c->last == '\r')
        c->lines->ends[c->lines->count - 1] = c->position;
    else if (ch == '\n' || ch == '\r' || ch == 0x2028 || ch == 0x2029)
        end_line(c);
    c->last = ch;
}

static size_t find_byte(const unsigned char *bytes, size_t from, size_t count, char byte)
{
    const unsigned char *at = memchr(bytes + from, byte, count - from);
    return at ? (size_t)(at - bytes) : count;
}

/* Most sources have one byte for each character, and lines that memchr finds fast. */
static void take_bytes(struct counting *c, const unsigned char *bytes, size_t count)
{
    uint32_t start = c->position;
    size_t lf = find_byte(bytes, 0, count, '\n'), cr = find_byte(bytes, 0, count, '\r');
    for (size_t i; !c->failed && (i = lf < cr ? lf : cr) < count;) {
        c->position = start + (uint32_t)i;
        c->last = i ? bytes[i - 1] : c->last;
        take_character(c, bytes[i]);
        if (i == lf)
            lf = find_byte(bytes, i + 1, count, '\n');
        else
            cr = find_byte(bytes, i + 1, count, '\r');
    }
    c->position = start + (uint32_t)count;
    c->last = count ? bytes[count - 1] : c->last;
}

static void take_source(void *context, const unsigned char *bytes, size_t count,
                        unsigned width)
{
    struct counting *c = context;
    if (width == 1) {
        take_bytes(c, bytes, count);
        return;
    }
    for (size_t i = 0; i < count && !c->failed; i++, c->position++)
        take_character(c, bytes[2 * i] | (unsigned)bytes[2 * i + 1] << 8);
}

/* Workers have scripts of their own with the same ids. */
static uint64_t script_key(struct memory *m, const struct node_layout *l, uint64_t script,
                           uint64_t source, struct str file)
{
    uint64_t id = node_field(m, script, l->script_line_ends + NODE_WORD);
    uint64_t length = node_string_length(m, l, source);
    return hash_mix(hash_bytes(file.ptr, file.len) ^ id, length ^ HASH_A) | 1;
}

/* The lines with a key, which are empty if they are new; NULL if out of memory. */
static struct node_lines *lines_of(struct node *node, uint64_t key, struct arena *arena)
{
    uint64_t *index = idmap_put(&node->by_script, arena, key);
    if (index && *index)
        return &node->lines[*index - 1];
    struct node_lines *added =
        index ? ARRAY_APPEND(arena, node->lines, node->lines_count, node->lines_cap)
              : NULL;
    if (added) {
        *added = (struct node_lines){.attempts = ATTEMPTS};
        *index = node->lines_count;
    }
    return added;
}

uint64_t node_script_lines(struct node *node, struct memory *m, uint64_t script,
                           struct str file, struct arena *arena)
{
    const struct node_layout *l = &node->layout;
    uint64_t source = node_field(m, script, SCRIPT_SOURCE);
    uint64_t key = script_key(m, l, script, source, file);
    m->failed = m->exhausted;
    if (node_string_length(m, l, source) > SOURCE_MAX || node->cached > NODE_CACHED_MAX)
        return 0;
    struct node_lines *lines = lines_of(node, key, arena);
    if (!lines || lines->attempts == 0)
        return lines ? key : 0;
    struct counting c = {.lines = lines, .arena = arena};
    lines->count = 0;
    lines->attempts--;
    lines->first = node_number(node_field(m, script, l->script_name + NODE_WORD));
    m->failed = m->exhausted;
    lines->is_known =
        node_string_read(m, l, source, SOURCE_MAX, take_source, &c) && !c.failed;
    if (lines->is_known)
        lines->attempts = 0;
    node->cached += lines->count * sizeof *lines->ends + sizeof *lines;
    return key;
}

uint32_t node_line_at(const struct node *node, uint64_t key, uint32_t position)
{
    const uint64_t *index = key ? idmap_find(&node->by_script, key) : NULL;
    if (!index || !*index)
        return 0;
    const struct node_lines *lines = &node->lines[*index - 1];
    if (!lines->is_known)
        return 0;
    size_t low = 0, high = lines->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (lines->ends[middle] < position)
            low = middle + 1;
        else
            high = middle;
    }
    return (uint32_t)low + 1 + lines->first;
}

/* --- Positions of instructions ------------------------------------------------------ */

/* The bytecode of a function; 0 if it has none. */
static uint64_t bytecode_of(struct memory *m, const struct node_layout *l,
                            uint64_t shared)
{
    uint64_t data = node_field(m, shared, l->shared_data);
    uint32_t type = node_type(m, l, data);
    if (type == l->interpreter_data)
        data = node_field(m, data, NODE_WORD);
    return node_type(m, l, data) == l->bytecode ? data : 0;
}

/* A table that is read in pieces. */
struct table {
    struct memory *m;
    uint64_t at;   /* of what is not read yet */
    uint32_t left; /* bytes of it */
    size_t next, count;
    unsigned char bytes[512];
};

static bool take_byte(struct table *t, unsigned *byte)
{
    if (t->next == t->count) {
        size_t size = t->left < sizeof t->bytes ? t->left : sizeof t->bytes;
        if (size == 0 || !memory_read(t->m, t->at, t->bytes, size))
            return false;
        t->at += size;
        t->left -= (uint32_t)size;
        t->next = 0;
        t->count = size;
    }
    *byte = t->bytes[t->next++];
    return true;
}

/* A number of 7 bits per byte, least first, with its sign in the lowest bit. */
static bool take_delta(struct table *t, int64_t *value)
{
    uint64_t bits = 0;
    unsigned byte;
    for (unsigned shift = 0; shift < 63 && take_byte(t, &byte); shift += 7) {
        bits |= (uint64_t)(byte & 0x7f) << shift;
        if (!(byte & 0x80)) {
            *value = (int64_t)(bits >> 1) ^ -(int64_t)(bits & 1);
            return *value > INT32_MIN && *value < (int64_t)UINT32_MAX;
        }
    }
    return false;
}

/* The last position at or before an offset; -1 if there is none. The table begins with the
 * offset -1, before the first instruction. Entries: the distance of the
 * offset, below zero (-distance - 1) for expressions, and that of the position, which is 1
 * higher and has a mark in its lowest bit. */
static int64_t search_positions(struct table *t, uint32_t offset)
{
    int64_t code = -1, position = 0, step, moved, found = -1;
    while (take_delta(t, &step) && take_delta(t, &moved)) {
        code += step >= 0 ? step : -(step + 1);
        position += moved;
        if (code > (int64_t)offset || position < 0 || position > UINT32_MAX)
            break;
        found = (position >> 1) - 1;
    }
    return found;
}

int64_t node_bytecode_position(struct memory *m, const struct node_layout *l,
                               uint64_t shared, uint32_t offset)
{
    uint32_t head = l->bytecode_data - (uint32_t)NODE_TAG;
    uint64_t bytecode = bytecode_of(m, l, shared);
    uint64_t array = bytecode ? node_field(m, bytecode, l->bytecode_positions) : 0;
    uint32_t type = node_type(m, l, array);
    int64_t position = -1;
    if ((type == l->byte_array || type == l->trusted_byte_array) && offset >= head) {
        struct table t = {.m = m,
                          .at = array - NODE_TAG + l->array_data,
                          .left = node_number(node_field(m, array, l->array_length))};
        if (!m->failed && t.left <= TABLE_MAX)
            position = search_positions(&t, offset - head);
    }
    m->failed = m->exhausted;
    return position;
}
