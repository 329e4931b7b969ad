/* SPDX-License-Identifier: Apache-2.0 */
#include "base/array.h"
#include "base/hash.h"
#include "import/perfetto.h"

#define MALLOC STR("libc.malloc")

static bool same_heap(const void *context, uint32_t id)
{
    const struct perfetto *p = context;
    const struct perfetto_heap *a = &p->heaps[id], *b = &p->heaps[0];
    return a->pid == b->pid && a->heap == b->heap && a->stack == b->stack;
}

/* Makes room for the key of a search. */
static bool reserve_key(struct perfetto *p)
{
    if (p->heap_count)
        return true;
    struct perfetto_heap *key =
        ARRAY_APPEND(&p->arena, p->heaps, p->heap_count, p->heap_cap);
    return key != NULL;
}

/* The row of that process, heap and stack. [0] holds the key during the search. */
static struct perfetto_heap *heap_row(struct perfetto *p, uint64_t pid, string_id heap,
                                      stack_id stack)
{
    if (!reserve_key(p))
        return NULL;
    p->heaps[0] = (struct perfetto_heap){.pid = pid, .heap = heap, .stack = stack};
    if (p->heap_count >= UINT32_MAX || !index_reserve(&p->heap_index, &p->arena, 1))
        return NULL;
    uint32_t hash = (uint32_t)(hash_ids((int64_t)pid, (int64_t)hash_pair(heap, stack)));
    struct index_slot *slot = index_find(&p->heap_index, hash, same_heap, p);
    if (slot->id)
        return &p->heaps[slot->id];
    struct perfetto_heap key = p->heaps[0];
    struct perfetto_heap *added =
        ARRAY_APPEND(&p->arena, p->heaps, p->heap_count, p->heap_cap);
    if (!added)
        return NULL;
    *added = key;
    index_fill(&p->heap_index, slot, hash, (uint32_t)p->heap_count - 1);
    return added;
}

/* A message HeapSample. The sums replace those of an earlier dump. */
static void read_row(struct perfetto *p, const struct perfetto_sequence *s, uint64_t pid,
                     string_id heap, struct str message)
{
    struct proto_reader r = proto_of(message);
    struct perfetto_heap row = {0};
    struct proto_field f;
    uint64_t number = 0;
    while (proto_next(&r, &f))
        switch (f.number) {
        case 1:
            number = f.value;
            break;
        case 2:
            row.allocated = f.value;
            break;
        case 3:
            row.freed = f.value;
            break;
        case 5:
            row.count = f.value;
            break;
        case 8:
            row.peak = f.value;
            break;
        default:
            break;
        }
    struct perfetto_heap *found = heap_row(p, pid, heap, perfetto_stack(p, s, number));
    if (!found)
        return;
    row.pid = found->pid;
    row.heap = found->heap;
    row.stack = found->stack;
    *found = row;
}

/* A message ProcessHeapSamples. */
static void read_process(struct perfetto *p, const struct perfetto_sequence *s,
                         struct str message)
{
    struct proto_reader r = proto_of(message);
    struct proto_field f;
    uint64_t pid = 0;
    string_id heap = 0;
    while (proto_next(&r, &f))
        if (f.number == 1)
            pid = f.value;
        else if (f.number == 11 && !str_equal(f.bytes, MALLOC))
            heap = perfetto_string(p, &f);
    r = proto_of(message);
    while (proto_next(&r, &f) && !p->arena.failed && !builder_failed(&p->raw))
        if (f.number == 2 && f.wire == PROTO_BYTES)
            read_row(p, s, pid, heap, f.bytes);
}

void perfetto_heap_dump(struct perfetto *p, struct perfetto_sequence *s,
                        struct str message)
{
    struct perfetto_sequence own = {0};
    const struct perfetto_sequence *tables = s;
    struct proto_reader r = proto_of(message);
    struct proto_field f;
    perfetto_intern_profile(p, &own, message);
    if (own.tables[TABLE_STACKS].count)
        tables = &own;
    while (proto_next(&r, &f))
        if (f.number == 5 && f.wire == PROTO_BYTES)
            read_process(p, tables, f.bytes);
}

/* --- Samples -------------------- */

static event_id heap_event(struct perfetto *p, struct str name, string_id heap,
                           enum unit unit)
{
    char text[256];
    struct str of = profile_string(p->raw.profile, heap);
    if (p->options->samples)
        unit = UNIT_COUNT;
    if (!heap)
        return builder_event(&p->raw, name, unit);
    size_t length = format_text(text, sizeof text, "%.*s (%.*s)", (int)name.len, name.ptr,
                                (int)(of.len < 200 ? of.len : 200), of.ptr);
    return builder_event(&p->raw, (struct str){text, length}, unit);
}

static void add_value(struct perfetto *p, const struct perfetto_heap *row,
                      struct str name, enum unit unit, uint64_t value)
{
    struct sample sample = {.time = TIME_NONE,
                            .cpu = CPU_NONE,
                            .stack = row->stack,
                            .count = 1,
                            .weight = p->options->samples ? 1 : (double)value};
    if (!value)
        return;
    sample.event = heap_event(p, name, row->heap, unit);
    sample.thread = builder_thread(&p->raw, (int64_t)row->pid, ID_NONE, STR(""));
    builder_add(&p->raw, &sample);
}

void perfetto_heap_finish(struct perfetto *p)
{
    for (size_t i = 1; i < p->heap_count && !builder_failed(&p->raw); i++) {
        const struct perfetto_heap *row = &p->heaps[i];
        add_value(p, row, STR("peak"), UNIT_BYTES, row->peak);
        if (row->freed > row->allocated)
            builder_warn(&p->raw, "a stack that freed more than it allocated", 0, 0,
                         STR(""));
        else
            add_value(p, row, STR("live"), UNIT_BYTES, row->allocated - row->freed);
        add_value(p, row, STR("allocated"), UNIT_BYTES, row->allocated);
        add_value(p, row, STR("allocations"), UNIT_COUNT, row->count);
    }
}
