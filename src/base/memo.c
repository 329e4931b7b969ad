/* SPDX-License-Identifier: Apache-2.0 */
#include "base/memo.h"

#define PAIRS_FIRST 256

bool memo_init(struct memo *m, struct arena *a, size_t pairs_max)
{
    size_t pairs = pairs_max < PAIRS_FIRST ? pairs_max : PAIRS_FIRST;
    *m = (struct memo){.mask = pairs - 1, .pairs_max = pairs_max, .arena = a};
    m->entries = arena_zalloc(a, pairs * 2, sizeof *m->entries);
    return m->entries != NULL;
}

void memo_grow(struct memo *m)
{
    size_t before = m->mask + 1, after = before * 4;
    if (after > m->pairs_max)
        after = m->pairs_max;
    struct memo_entry *old = m->entries;
    struct memo_entry *entries = arena_zalloc(m->arena, after * 2, sizeof *entries);
    if (!entries)
        return;
    m->entries = entries;
    m->mask = after - 1;
    m->puts = 0;
    for (size_t i = before * 2; i-- > 0;) { /* the older entry of each pair first */
        if (old[i].key.lo || old[i].key.hi) {
            memo_store(m, old[i].key, old[i].value);
            m->puts++;
        }
    }
    arena_release(m->arena, old, before * 2 * sizeof *old);
}
