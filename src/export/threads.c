/* SPDX-License-Identifier: Apache-2.0 */
#include "export/threads.h"
#include "base/hash.h"

struct search {
    const struct thread *items;
    struct thread thread;
};

static bool same_thread(const void *context, uint32_t id)
{
    const struct search *w = context;
    const struct thread *t = &w->items[id];
    return t->pid == w->thread.pid && t->tid == w->thread.tid &&
           t->name == w->thread.name;
}

static struct thread as_shown(const struct thread *t, enum thread_style style)
{
    bool pid = style == THREAD_PID || style == THREAD_TID;
    return (struct thread){.pid = pid ? t->pid : ID_NONE,
                           .tid = style == THREAD_TID ? t->tid : ID_NONE,
                           .name = style == THREAD_NONE ? 0 : t->name};
}

bool thread_set_init(struct thread_set *set, struct arena *a, const struct profile *p,
                     enum thread_style style)
{
    struct index index = {0};
    set->items = arena_alloc(a, p->thread_count * sizeof *set->items);
    set->of_thread = arena_zalloc(a, p->thread_count, sizeof *set->of_thread);
    if (!set->items || !set->of_thread || !index_reserve(&index, a, p->thread_count))
        return false;
    set->items[0] = (struct thread){.pid = ID_NONE, .tid = ID_NONE};
    set->count = 1;
    for (thread_id t = 1; t < p->thread_count; t++) {
        struct search w = {set->items, as_shown(&p->threads[t], style)};
        uint64_t ids = hash_ids(w.thread.pid, w.thread.tid);
        uint32_t hash = (uint32_t)hash_mix(ids ^ HASH_A, w.thread.name ^ HASH_B);
        if (w.thread.name == 0 && w.thread.pid == ID_NONE && w.thread.tid == ID_NONE)
            continue;
        struct index_slot *slot = index_find(&index, hash, same_thread, &w);
        if (!slot->id) {
            set->items[set->count] = w.thread;
            index_fill(&index, slot, hash, (uint32_t)set->count++);
        }
        set->of_thread[t] = slot->id;
    }
    return true;
}
