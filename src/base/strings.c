/* SPDX-License-Identifier: Apache-2.0 */
#include "base/strings.h"
#include "base/array.h"
#include "base/hash.h"
#include "base/sort.h"

#define STRING_LONG_MIN ((size_t)256)

struct lookup {
    const struct strings *table;
    struct str s;
};

static bool same_string(const void *context, uint32_t id)
{
    const struct lookup *w = context;
    return str_equal(w->table->items[id], w->s);
}

bool strings_init(struct strings *t, struct arena *a)
{
    *t = (struct strings){.arena = a};
    t->items = arena_grow(a, NULL, &t->cap, 64, sizeof *t->items);
    if (!t->items || !index_grow(&t->index, a, 1))
        return false;
    t->items[0] = STR("");
    t->count = 1;
    return true;
}

/* The number of a string whose bytes are the table's own copy; 0: they are not. */
static string_id find_copy(const struct strings *t, struct str s)
{
    const uint64_t *id = idmap_find(&t->long_items, (uintptr_t)s.ptr);
    return id && t->items[*id].len == s.len ? (string_id)*id : 0;
}

static void note_copy(struct strings *t, string_id id)
{
    uint64_t *noted = idmap_put(&t->long_items, t->arena, (uintptr_t)t->items[id].ptr);
    if (noted)
        *noted = id;
}

string_id strings_add(struct strings *t, struct str s)
{
    if (s.len == 0 || t->arena->failed || !index_reserve(&t->index, t->arena, 1))
        return 0;
    string_id known = s.len >= STRING_LONG_MIN ? find_copy(t, s) : 0;
    if (known)
        return known;
    struct lookup w = {t, s};
    uint32_t hash = (uint32_t)hash_bytes(s.ptr, s.len);
    struct index_slot *slot = index_find(&t->index, hash, same_string, &w);
    if (slot->id)
        return slot->id;
    if (!ARRAY_RESERVE(t->arena, t->items, t->cap, t->count + 1))
        return 0;
    struct str copy = arena_str(t->arena, s);
    if (copy.len == 0)
        return 0;
    t->items[t->count] = copy;
    index_fill(&t->index, slot, hash, (uint32_t)t->count);
    if (s.len >= STRING_LONG_MIN)
        note_copy(t, (string_id)t->count);
    return (string_id)t->count++;
}

string_id strings_find(const struct strings *t, struct str s)
{
    struct lookup w = {t, s};
    if (s.len == 0)
        return 0;
    return index_find(&t->index, (uint32_t)hash_bytes(s.ptr, s.len), same_string, &w)->id;
}

/* --- Sorting ------------------------------------------------------------------------ */

#define KEY sizeof(uint64_t)
#define SMALL_GROUP 12 /* groups up to this size are sorted by comparing texts */

/* How far ahead the common prefix is computed: the first text may share much with the
 * second and little with the last. */
#define PREFIX_STEP 64

/* Texts that share their first `skip` bytes. */
struct group {
    size_t from, to, skip;
};

struct text_sort {
    const struct strings *strings;
    string_id *ids;
    struct sort_key *keys, *scratch; /* room for all items */
    struct group *groups;            /* a stack of groups that are not sorted yet */
    size_t group_count;
};

/* The bytes from `skip` on as a big-endian number, padded with zeros, so that numbers
 * and texts have the same order. */
static uint64_t key_at(struct str text, size_t skip)
{
    struct str rest = str_skip(text, skip);
    uint64_t key = 0;
    for (size_t i = 0; i < KEY; i++)
        key = key << 8 | (i < rest.len ? (unsigned char)rest.ptr[i] : 0);
    return key;
}

static void sort_small(const struct text_sort *s, size_t from, size_t to)
{
    for (size_t i = from + 1; i < to; i++) {
        string_id id = s->ids[i];
        struct str text = strings_get(s->strings, id);
        size_t at = i;
        for (; at > from; at--) {
            if (str_compare(text, strings_get(s->strings, s->ids[at - 1])) >= 0)
                break;
            s->ids[at] = s->ids[at - 1];
        }
        s->ids[at] = id;
    }
}

static size_t common_prefix(const struct text_sort *s, const struct group *g)
{
    struct str first = strings_get(s->strings, s->ids[g->from]);
    size_t common = first.len < g->skip + PREFIX_STEP ? first.len : g->skip + PREFIX_STEP;
    for (size_t i = g->from + 1; i < g->to && common > g->skip; i++) {
        struct str text = strings_get(s->strings, s->ids[i]);
        size_t most = text.len < common ? text.len : common, at = g->skip;
        while (at < most && text.ptr[at] == first.ptr[at])
            at++;
        common = at;
    }
    return common;
}

/* Sorts texts with equal keys. Texts that end within the key, which differ at most in
 * trailing zero bytes, come first, by length; the others differ in later bytes. */
static void sort_equal_keys(struct text_sort *s, size_t from, size_t to, size_t skip)
{
    size_t longer = from;
    for (size_t i = from; i < to; i++) {
        string_id id = s->ids[i];
        if (strings_get(s->strings, id).len > skip)
            continue;
        s->ids[i] = s->ids[longer];
        s->ids[longer++] = id;
    }
    sort_small(s, from, longer);
    if (to - longer > 1)
        s->groups[s->group_count++] = (struct group){longer, to, skip};
}

static void sort_group(struct text_sort *s, const struct group *g)
{
    size_t skip = common_prefix(s, g), count = g->to - g->from;
    for (size_t i = 0; i < count; i++) {
        string_id id = s->ids[g->from + i];
        s->keys[i] = (struct sort_key){key_at(strings_get(s->strings, id), skip), id};
    }
    sort_keys(s->keys, count, s->scratch);
    for (size_t i = 0; i < count; i++)
        s->ids[g->from + i] = s->keys[i].id;
    for (size_t i = 0, next; i < count; i = next) {
        for (next = i + 1; next < count && s->keys[next].key == s->keys[i].key; next++)
            ;
        if (next - i > 1)
            sort_equal_keys(s, g->from + i, g->from + next, skip + KEY);
    }
}

bool strings_sort(const struct strings *t, string_id *ids, size_t count,
                  struct arena *scratch)
{
    struct text_sort s = {.strings = t, .ids = ids, .group_count = 1};
    s.keys = arena_alloc(scratch, (count + 1) * sizeof *s.keys);
    s.scratch = arena_alloc(scratch, (count + 1) * sizeof *s.scratch);
    s.groups = arena_alloc(scratch, (count / 2 + 1) * sizeof *s.groups);
    if (!s.keys || !s.scratch || !s.groups)
        return false;
    s.groups[0] = (struct group){0, count, 0};
    while (s.group_count) {
        struct group g = s.groups[--s.group_count];
        if (g.to - g.from <= SMALL_GROUP)
            sort_small(&s, g.from, g.to);
        else
            sort_group(&s, &g);
    }
    return true;
}
