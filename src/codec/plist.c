/* SPDX-License-Identifier: Apache-2.0 */
#include "codec/plist.h"
#include "base/bytes.h"
#include "base/number.h"
#include "base/utf8.h"

#define TRAILER_SIZE 32

/* Reads a big-endian number of up to 16 bytes; returns its low 64 bits. Larger numbers
 * and missing bytes make the cursor fail. */
static uint64_t number_of(struct bytes *b, uint64_t size)
{
    b->failed |= size > 16;
    struct str bytes = bytes_take(b, size);
    uint64_t v = 0;
    for (size_t i = 0; i < bytes.len; i++)
        v = v << 8 | (unsigned char)bytes.ptr[i];
    return v;
}

bool plist_init(struct plist *p, struct str bytes)
{
    *p = (struct plist){.bytes = bytes};
    if (!str_starts(bytes, STR("bplist0")) || bytes.len < TRAILER_SIZE + 8)
        return false;
    struct bytes b = bytes_of(str_skip(bytes, bytes.len - TRAILER_SIZE), true);
    bytes_skip(&b, 6);
    p->offset_size = bytes_u8(&b);
    p->item_size = bytes_u8(&b);
    uint64_t count = bytes_u64(&b), root = bytes_u64(&b), table = bytes_u64(&b);
    if (p->offset_size - 1 > 7 || p->item_size - 1 > 7 || root >= count ||
        count > bytes.len / p->offset_size)
        return false;
    p->offsets = str_part(bytes, table, count * p->offset_size);
    p->count = (uint32_t)(p->offsets.len / p->offset_size);
    p->root = (uint32_t)root;
    return p->root < p->count;
}

static double real_of(uint64_t bits, uint64_t size)
{
    double wide;
    float narrow;
    uint32_t half = (uint32_t)bits;
    memcpy(&wide, &bits, sizeof wide);
    memcpy(&narrow, &half, sizeof narrow);
    return size == sizeof narrow ? (double)narrow : wide;
}

/* The count: in the low half of the marker, or, if that is all ones, in an integer
 * after it. */
static uint64_t length_of(struct bytes *b, unsigned low)
{
    if (low != 0xf)
        return low;
    unsigned marker = bytes_u8(b);
    if (marker >> 4 != 1) {
        b->failed = true;
        return 0;
    }
    return number_of(b, 1u << (marker & 0xf));
}

/* Bytes of `count` items; empty if they exceed the input. */
static struct str many_of(struct bytes *b, uint64_t count, unsigned size)
{
    if (count > bytes_left(b) / size)
        b->failed = true;
    return bytes_take(b, count * size);
}

static void read_items(struct plist_value *v, struct bytes *b, uint64_t count,
                       unsigned size)
{
    v->bytes = many_of(b, count, size);
    v->count = count < UINT32_MAX ? (uint32_t)count : UINT32_MAX;
}

static void read_number(struct plist_value *v, struct bytes *b, enum plist_kind kind,
                        uint64_t size)
{
    v->kind = kind;
    v->integer = number_of(b, size);
    v->real = kind == PLIST_INTEGER || kind == PLIST_UID ? 0 : real_of(v->integer, size);
}

static void read_text(struct plist_value *v, struct bytes *b, enum plist_kind kind,
                      uint64_t length)
{
    v->kind = kind;
    v->bytes = many_of(b, length, kind == PLIST_UTF16 ? 2 : 1);
}

struct plist_value plist_object(const struct plist *p, uint32_t number)
{
    struct plist_value v = {0}, none = {0};
    if (number >= p->count)
        return none;
    struct bytes b = bytes_of(
        str_part(p->offsets, (uint64_t)number * p->offset_size, p->offset_size), true);
    uint64_t offset = number_of(&b, p->offset_size);
    b = bytes_of(p->bytes, true);
    bytes_seek(&b, offset);
    unsigned marker = bytes_u8(&b), low = marker & 0xf;
    switch (marker >> 4) {
    case 0x0:
        v.kind = low == 8 || low == 9 ? PLIST_BOOL : PLIST_NONE;
        v.integer = low == 9;
        break;
    case 0x1:
        read_number(&v, &b, PLIST_INTEGER, 1u << low);
        break;
    case 0x2:
        read_number(&v, &b, PLIST_REAL, 1u << low);
        break;
    case 0x3:
        read_number(&v, &b, PLIST_DATE, 1u << low);
        break;
    case 0x4:
        read_text(&v, &b, PLIST_DATA, length_of(&b, low));
        break;
    case 0x5:
        read_text(&v, &b, PLIST_ASCII, length_of(&b, low));
        break;
    case 0x6:
        read_text(&v, &b, PLIST_UTF16, length_of(&b, low));
        break;
    case 0x8:
        read_number(&v, &b, PLIST_UID, low + 1);
        break;
    case 0xa:
        v.kind = PLIST_ARRAY;
        read_items(&v, &b, length_of(&b, low), p->item_size);
        break;
    case 0xd:
        v.kind = PLIST_DICT;
        read_items(&v, &b, length_of(&b, low), 2 * p->item_size);
        break;
    default:
        break;
    }
    return b.failed ? none : v;
}

struct plist_value plist_item(const struct plist *p, const struct plist_value *in,
                              uint32_t i)
{
    uint64_t items = in->kind == PLIST_DICT ? (uint64_t)in->count * 2 : in->count;
    if ((in->kind != PLIST_ARRAY && in->kind != PLIST_DICT) || i >= items)
        return (struct plist_value){0};
    struct bytes b =
        bytes_of(str_part(in->bytes, (uint64_t)i * p->item_size, p->item_size), true);
    uint64_t number = number_of(&b, p->item_size);
    return plist_object(p, number < UINT32_MAX ? (uint32_t)number : UINT32_MAX);
}

struct plist_value plist_find(const struct plist *p, const struct plist_value *dict,
                              struct str key)
{
    for (uint32_t i = 0; dict->kind == PLIST_DICT && i < dict->count; i++) {
        struct plist_value k = plist_item(p, dict, i);
        if (k.kind == PLIST_ASCII && str_equal(k.bytes, key))
            return plist_item(p, dict, dict->count + i);
    }
    return (struct plist_value){0};
}

/* --- NSKeyedArchiver ---------------------------------------------------------------- */

bool keyed_init(struct keyed_archive *a, struct str bytes)
{
    *a = (struct keyed_archive){0};
    if (!plist_init(&a->plist, bytes))
        return false;
    struct plist_value root = plist_object(&a->plist, a->plist.root);
    struct plist_value archiver = plist_find(&a->plist, &root, STR("$archiver"));
    a->objects = plist_find(&a->plist, &root, STR("$objects"));
    a->top = plist_find(&a->plist, &root, STR("$top"));
    return archiver.kind == PLIST_ASCII &&
           str_equal(archiver.bytes, STR("NSKeyedArchiver")) &&
           a->objects.kind == PLIST_ARRAY && a->top.kind == PLIST_DICT;
}

struct plist_value keyed_follow(const struct keyed_archive *a, struct plist_value v)
{
    if (v.kind != PLIST_UID)
        return v;
    if (v.integer == 0 || v.integer > UINT32_MAX) /* 0 is "$null" */
        return (struct plist_value){0};
    return plist_item(&a->plist, &a->objects, (uint32_t)v.integer);
}

struct plist_value keyed_find(const struct keyed_archive *a,
                              const struct plist_value *object, struct str key)
{
    return keyed_follow(a, plist_find(&a->plist, object, key));
}

uint32_t keyed_position(const struct plist_value *key)
{
    uint64_t n;
    if (key->kind != PLIST_ASCII || !str_starts(key->bytes, STR("$")) ||
        !number_parse_u64(str_skip(key->bytes, 1), &n) || n >= UINT32_MAX)
        return UINT32_MAX;
    return (uint32_t)n;
}

static unsigned unit_at(struct str text, size_t i)
{
    return (unsigned)(unsigned char)text.ptr[i] << 8 | (unsigned char)text.ptr[i + 1];
}

/* One UTF-16 unit becomes at most 3 bytes, a surrogate pair 4. */
static struct str utf8_of(struct str text, struct arena *arena)
{
    char *out = arena_alloc(arena, text.len * 2);
    size_t used = 0;
    for (size_t i = 0; out && i + 1 < text.len; i += 2) {
        unsigned c = unit_at(text, i);
        unsigned low = i + 3 < text.len ? unit_at(text, i + 2) : 0;
        bool high = c >= 0xd800 && c < 0xdc00;
        if (high && low >= 0xdc00 && low < 0xe000) {
            c = 0x10000 + ((c - 0xd800) << 10) + (low - 0xdc00);
            i += 2;
        } else if (c >= 0xd800 && c < 0xe000) {
            c = UTF8_REPLACEMENT;
        }
        used += utf8_write(c, out + used);
    }
    return out ? (struct str){out, used} : STR("");
}

struct str keyed_text(const struct keyed_archive *a, struct plist_value v,
                      struct arena *arena)
{
    v = keyed_follow(a, v);
    if (v.kind == PLIST_DICT) {
        struct plist_value text = keyed_find(a, &v, STR("NS.string"));
        v = text.kind ? text : keyed_find(a, &v, STR("NS.bytes"));
        if (v.kind == PLIST_DATA)
            return v.bytes;
    }
    if (v.kind == PLIST_UTF16)
        return utf8_of(v.bytes, arena);
    return v.kind == PLIST_ASCII ? v.bytes : STR("");
}

struct plist_value keyed_entry(const struct keyed_archive *a,
                               const struct plist_value *dictionary, struct str key)
{
    struct plist_value keys = keyed_find(a, dictionary, STR("NS.keys"));
    struct plist_value objects = keyed_find(a, dictionary, STR("NS.objects"));
    for (uint32_t i = 0; keys.kind == PLIST_ARRAY && i < keys.count; i++) {
        struct plist_value k = keyed_follow(a, plist_item(&a->plist, &keys, i));
        if (k.kind == PLIST_ASCII && str_equal(k.bytes, key))
            return keyed_follow(a, plist_item(&a->plist, &objects, i));
    }
    return (struct plist_value){0};
}
