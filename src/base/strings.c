#include "base/strings.h"
#include "base/hash.h"

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
