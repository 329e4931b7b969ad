/* SPDX-License-Identifier: Apache-2.0 */
#include "base/strings.h"
#include "base/hash.h"
#include "base/sort.h"

struct wanted {
    const struct strings *table;
    struct str s;
};

static bool same_string(const void *context, uint32_t id)
{
    const struct wanted *w = context;
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

string_id strings_add(struct strings *t, struct str s)
{
    if (s.len == 0 || t->arena->failed || !index_reserve(&t->index, t->arena, 1))
        return 0;
    struct wanted w = {t, s};
    uint32_t hash = (uint32_t)hash_bytes(s.ptr, s.len);
    struct index_slot *slot = index_find(&t->index, hash, same_string, &w);
    if (slot->id)
        return slot->id;
    struct str *items =
        arena_grow(t->arena, t->items, &t->cap, t->count + 1, sizeof *items);
    if (!items)
        return 0;
    t->items = items;
    struct str copy = arena_str(t->arena, s);
    if (copy.len == 0)
        return 0;
    items[t->count] = copy;
    index_fill(&t->index, slot, hash, (uint32_t)t->count);
    return (string_id)t->count++;
}

string_id strings_find(const struct strings *t, struct str s)
{
    struct wanted w = {t, s};
    if (s.len == 0)
        return 0;
    return index_find(&t->index, (uint32_t)hash_bytes(s.ptr, s.len), same_string, &w)->id;
}

/* --- Sorting ------------------------------------------------------------------------ */

#define KEY sizeof(uint64_t)
#define FEW 12 /* so many texts are compared as they are */

/* So far ahead it is looked for what texts have in common: the first may have much with
 * the second, and little with the last. */
#define AHEAD 64

/* Texts that have their first `skip` bytes in common. */
struct group {
    size_t from, to, skip;
};

struct text_sort {
    const struct strings *strings;
    string_id *ids;
    struct sort_key *keys, *scratch; /* room for all */
    struct group *groups;            /* still to sort: a stack */
    size_t group_count;
};

/* The bytes from `skip` on as a number that is ordered as they are; those behind the end
 * are 0. */
static uint64_t key_at(struct str text, size_t skip)
{
    struct str rest = str_skip(text, skip);
    uint64_t key = 0;
    for (size_t i = 0; i < KEY; i++)
        key = key << 8 | (i < rest.len ? (unsigned char)rest.ptr[i] : 0);
    return key;
}

static void sort_few(const struct text_sort *s, size_t from, size_t to)
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

static size_t in_common(const struct text_sort *s, const struct group *g)
{
    struct str first = strings_get(s->strings, s->ids[g->from]);
    size_t common = first.len < g->skip + AHEAD ? first.len : g->skip + AHEAD;
    for (size_t i = g->from + 1; i < g->to && common > g->skip; i++) {
        struct str text = strings_get(s->strings, s->ids[i]);
        size_t most = text.len < common ? text.len : common, at = g->skip;
        while (at < most && text.ptr[at] == first.ptr[at])
            at++;
        common = at;
    }
    return common;
}

/* Texts with the same key: those that end within it, which but for bytes of 0 is one, come
 * first, by their lengths; the others differ further on. */
static void sort_alike(struct text_sort *s, size_t from, size_t to, size_t skip)
{
    size_t longer = from;
    for (size_t i = from; i < to; i++) {
        string_id id = s->ids[i];
        if (strings_get(s->strings, id).len > skip)
            continue;
        s->ids[i] = s->ids[longer];
        s->ids[longer++] = id;
    }
    sort_few(s, from, longer);
    if (to - longer > 1)
        s->groups[s->group_count++] = (struct group){longer, to, skip};
}

static void sort_group(struct text_sort *s, const struct group *g)
{
    size_t skip = in_common(s, g), count = g->to - g->from;
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
            sort_alike(s, g->from + i, g->from + next, skip + KEY);
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
        if (g.to - g.from <= FEW)
            sort_few(&s, g.from, g.to);
        else
            sort_group(&s, &g);
    }
    return true;
}
