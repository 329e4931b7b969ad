/* SPDX-License-Identifier: Apache-2.0 */
#include "base/idmap.h"
#include "base/array.h"
#include "base/hash.h"

struct lookup {
    const struct idmap *map;
    uint64_t id;
};

static bool same_id(const void *context, uint32_t at)
{
    const struct lookup *w = context;
    return w->map->entries[at].id == w->id;
}

static uint32_t hash_id(uint64_t id)
{
    return (uint32_t)hash_mix(id ^ HASH_A, HASH_B);
}

uint64_t *idmap_put(struct idmap *m, struct arena *a, uint64_t id)
{
    uint32_t hash = hash_id(id);
    if (!index_reserve(&m->index, a, 1))
        return NULL;
    struct index_slot *slot =
        index_find(&m->index, hash, same_id, &(struct lookup){m, id});
    if (slot->id)
        return &m->entries[slot->id].value;
    size_t at = m->count ? m->count : 1;
    if (at >= UINT32_MAX || !ARRAY_RESERVE(a, m->entries, m->cap, at + 1))
        return NULL;
    m->count = at + 1;
    m->entries[at] = (struct idmap_entry){id, 0};
    index_fill(&m->index, slot, hash, (uint32_t)at);
    return &m->entries[at].value;
}

const uint64_t *idmap_find(const struct idmap *m, uint64_t id)
{
    if (!m->index.slots)
        return NULL;
    const struct index_slot *slot =
        index_find(&m->index, hash_id(id), same_id, &(struct lookup){m, id});
    return slot->id ? &m->entries[slot->id].value : NULL;
}
