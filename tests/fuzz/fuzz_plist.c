/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzzes binary property lists: reads every object and its items; all bytes of a value
 * must be inside the list. */
#include "codec/plist.h"
#include "fuzz.h"

#define OBJECTS 256 /* maximum number of objects to read, and of items of each */

FUZZ_ONE_WAY("plist")

static void check_value(const struct plist *p, const struct plist_value *v)
{
    const char *end = p->bytes.ptr + p->bytes.len;
    if (v->bytes.len)
        CHECK(v->bytes.ptr >= p->bytes.ptr &&
              v->bytes.len <= (size_t)(end - v->bytes.ptr));
    CHECK(v->kind == PLIST_ARRAY || v->kind == PLIST_DICT || v->count == 0);
    CHECK((uint64_t)v->count * p->item_size <= v->bytes.len);
}

static void check_object(const struct keyed_archive *a, const struct plist *p,
                         struct plist_value v, struct arena *arena)
{
    check_value(p, &v);
    for (uint32_t i = 0; i < v.count && i < OBJECTS; i++) {
        struct plist_value item = plist_item(p, &v, i);
        check_value(p, &item);
        keyed_position(&item);
        struct plist_value followed = keyed_follow(a, item);
        check_value(p, &followed);
    }
    keyed_text(a, v, arena);
    keyed_entry(a, &v, STR("k"));
}

int fuzz_one(const uint8_t *data, size_t size)
{
    struct str bytes = {(const char *)data, size};
    struct keyed_archive a;
    struct plist p;
    struct arena arena = ARENA_INIT;
    bool keyed = keyed_init(&a, bytes), list = plist_init(&p, bytes);
    CHECK(list || !keyed);
    for (uint32_t i = 0; list && i < p.count && i < OBJECTS; i++)
        check_object(&a, &p, plist_object(&p, i), &arena);
    arena_deinit(&arena);
    return 0;
}
