/* SPDX-License-Identifier: Apache-2.0 */
#include "base/index.h"

bool index_grow(struct index *ix, struct arena *a, size_t more)
{
    size_t before = ix->slots ? ix->mask + 1 : 0, after = before ? before * 2 : 64;
    while ((ix->used + more) * 4 > after * 3)
        after *= 2;
    struct index_slot *slots = arena_zalloc(a, after, sizeof *slots);
    if (!slots)
        return false;
    for (size_t i = 0; i < before; i++) {
        struct index_slot slot = ix->slots[i];
        size_t at = slot.hash & (after - 1);
        if (slot.id == 0)
            continue;
        while (slots[at].id)
            at = (at + 1) & (after - 1);
        slots[at] = slot;
    }
    arena_release(a, ix->slots, before * sizeof *slots);
    ix->slots = slots;
    ix->mask = after - 1;
    return true;
}
