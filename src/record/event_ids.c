/* SPDX-License-Identifier: Apache-2.0 */
#include "record/event_ids.h"

/* The sample with the other id, up to the next one. */
static struct record with_id(struct record_event_ids *e, const struct record *r,
                             uint64_t id)
{
    struct record_maker *m = &e->maker;
    struct record out = *r;
    m->used = 0;
    record_put(m, r->bytes.ptr, r->bytes.len);
    memcpy(m->bytes + e->layout->id, &id, sizeof id);
    out.bytes.ptr = m->bytes;
    return out;
}

static void take(void *context, const struct record *r)
{
    struct record_event_ids *e = context;
    bool has_id = e->layout->sample_type & PERF_SAMPLE_IDENTIFIER;
    const uint64_t *known = NULL;
    if (e->known.count && has_id && r->type == PERF_SAMPLE)
        known = idmap_find(&e->known, record_u64(r->bytes, e->layout->id));
    if (!known) {
        record_pass(&e->next, r);
        return;
    }
    struct record out = with_id(e, r, *known);
    record_pass(&e->next, &out);
}

static void round_over(void *context)
{
    struct record_event_ids *e = context;
    e->next.round(e->next.context);
}

void record_event_ids_start(struct record_event_ids *e,
                            const struct record_layout *layout, struct record_sink next)
{
    e->layout = e->maker.layout = layout;
    e->next = next;
}

void record_event_ids_deinit(struct record_event_ids *e)
{
    arena_deinit(&e->arena);
    e->known = (struct idmap){0};
}

void record_event_ids_add(struct record_event_ids *e, uint64_t later, uint64_t known)
{
    uint64_t *id = idmap_put(&e->known, &e->arena, later);
    if (id)
        *id = known;
}

struct record_sink record_event_ids_sink(struct record_event_ids *e)
{
    return (struct record_sink){e, take, round_over};
}
