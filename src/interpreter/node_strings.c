/* SPDX-License-Identifier: Apache-2.0 */
/* Strings of V8. The type of a string says its form: characters after its head, in one or two
 * bytes each; two strings, one after the other; a part of another string; another string
 * instead of it; characters outside the heap. */
#include "base/utf8.h"
#include "interpreter/node.h"

/* The bits of a string's type. */
#define FORM_MASK 7u
#define FORM_HERE 0u
#define FORM_TWO_STRINGS 1u
#define FORM_OUTSIDE 2u
#define FORM_PART 3u
#define FORM_OTHER 5u
#define ONE_BYTE 8u
#define NOT_CACHED 16u /* the address of the characters is not in the string */

/* Parts of a string that wait, and parts in total. */
#define WAITING_MAX 64
#define PARTS_MAX 65536

#define PIECE ((size_t)16384) /* bytes that are read at once */

uint32_t node_type(struct memory *m, const struct node_layout *l, uint64_t object)
{
    unsigned char bytes[2];
    if (!node_is_object(object))
        return UINT32_MAX;
    uint64_t map = node_field(m, object, 0);
    bool ok = node_is_object(map) &&
              memory_read(m, map - NODE_TAG + l->map_type, bytes, sizeof bytes);
    m->failed = m->exhausted;
    return ok ? (uint32_t)bytes[0] | (uint32_t)bytes[1] << 8 : UINT32_MAX;
}

/* Characters [from, from + count) of a string. */
struct part {
    uint64_t string;
    uint32_t from, count;
};

struct reading {
    struct memory *m;
    const struct node_layout *l;
    uint64_t left; /* characters that may be read */
    node_characters *take;
    void *context;
    struct part waiting[WAITING_MAX]; /* the last one is next */
    size_t count;
};

static bool add_part(struct reading *r, uint64_t string, uint64_t from, uint64_t count)
{
    if (count == 0)
        return true;
    if (r->count == WAITING_MAX || from + count > UINT32_MAX)
        return false;
    r->waiting[r->count++] = (struct part){string, (uint32_t)from, (uint32_t)count};
    return true;
}

/* Reads characters at an address. */
static bool read_characters(struct reading *r, uint64_t at, uint64_t count,
                            unsigned width)
{
    unsigned char bytes[PIECE];
    count = count < r->left ? count : r->left;
    r->left -= count;
    for (uint64_t size = count * width; size > 0;) {
        size_t piece = size < PIECE ? (size_t)size : PIECE;
        if (!memory_read(r->m, at, bytes, piece))
            return false;
        r->take(r->context, bytes, piece / width, width);
        at += piece;
        size -= piece;
    }
    return true;
}

static bool split(struct reading *r, const struct part *p)
{
    uint64_t first = node_field(r->m, p->string, r->l->cons_first);
    uint64_t second = node_field(r->m, p->string, r->l->cons_second);
    uint64_t length = node_string_length(r->m, r->l, first);
    uint64_t from = p->from, end = from + p->count;
    uint64_t middle = end < length ? end : length;
    bool ok = end <= length || add_part(r, second, from > length ? from - length : 0,
                                        end - (from > length ? from : length));
    return ok && (from >= middle || add_part(r, first, from, middle - from));
}

static bool read_part(struct reading *r, const struct part *p)
{
    const struct node_layout *l = r->l;
    uint32_t type = node_type(r->m, l, p->string), width = type & ONE_BYTE ? 1 : 2;
    uint64_t start = p->string - NODE_TAG, skipped = (uint64_t)p->from * width;
    if (type >= l->first_nonstring)
        return false;
    switch (type & FORM_MASK) {
    case FORM_HERE:
        start += width == 1 ? l->string_one : l->string_two;
        return read_characters(r, start + skipped, p->count, width);
    case FORM_TWO_STRINGS:
        return split(r, p);
    case FORM_OUTSIDE:
        start = node_field(r->m, p->string, l->external_resource + NODE_WORD);
        return !(type & NOT_CACHED) &&
               read_characters(r, start + skipped, p->count, width);
    case FORM_PART:
        return add_part(r, node_field(r->m, p->string, l->sliced_parent),
                        (uint64_t)p->from +
                            node_number(node_field(r->m, p->string, l->sliced_offset)),
                        p->count);
    case FORM_OTHER:
        return add_part(r, node_field(r->m, p->string, l->thin_actual), p->from,
                        p->count);
    default:
        return false;
    }
}

uint32_t node_string_length(struct memory *m, const struct node_layout *l,
                            uint64_t string)
{
    if (node_type(m, l, string) >= l->first_nonstring)
        return 0;
    uint32_t length = memory_u32(m, string - NODE_TAG + l->string_length);
    m->failed = m->exhausted;
    return length <= INT32_MAX ? length : 0;
}

bool node_string_read(struct memory *m, const struct node_layout *l, uint64_t string,
                      uint64_t most, node_characters *take, void *context)
{
    struct reading r = {.m = m, .l = l, .left = most, .take = take, .context = context};
    bool ok = add_part(&r, string, 0, node_string_length(m, l, string));
    for (size_t i = 0; ok && r.count && r.left; i++) {
        struct part p = r.waiting[--r.count];
        ok =
            i < PARTS_MAX && memory_work(m, NODE_WORD) && read_part(&r, &p) && !m->failed;
    }
    m->failed = m->exhausted;
    return ok;
}

/* --- Text --------------------------------------------------------------------------- */

#define HIGH_SURROGATE 0xd800u
#define LOW_SURROGATE 0xdc00u
#define SURROGATES_END 0xe000u

struct text {
    char bytes[INTERPRETER_NAME_MAX + 4];
    size_t used;
    unsigned high; /* the first half of a character; or 0 */
};

static void put(struct text *t, unsigned c)
{
    if (t->used + 4 <= INTERPRETER_NAME_MAX)
        t->used += utf8_write(c, t->bytes + t->used);
}

static void put_character(struct text *t, unsigned c)
{
    bool is_low = c >= LOW_SURROGATE && c < SURROGATES_END;
    unsigned high = t->high;
    t->high = 0;
    if (high && is_low) {
        put(t, 0x10000 + ((high - HIGH_SURROGATE) << 10) + (c - LOW_SURROGATE));
        return;
    }
    if (high)
        put(t, UTF8_REPLACEMENT);
    if (c >= HIGH_SURROGATE && c < LOW_SURROGATE)
        t->high = c;
    else
        put(t, is_low ? UTF8_REPLACEMENT : c);
}

static void take_text(void *context, const unsigned char *bytes, size_t count,
                      unsigned width)
{
    struct text *t = context;
    for (size_t i = 0; i < count; i++)
        put_character(t, width == 1 ? bytes[i]
                                    : bytes[2 * i] | (unsigned)bytes[2 * i + 1] << 8);
}

struct str node_string(struct memory *m, const struct node_layout *l, uint64_t string,
                       struct arena *arena)
{
    struct text t = {.used = 0};
    if (!node_string_read(m, l, string, INTERPRETER_NAME_MAX, take_text, &t))
        return STR("");
    if (t.high)
        put(&t, UTF8_REPLACEMENT);
    return arena_str(arena, (struct str){t.bytes, t.used});
}
