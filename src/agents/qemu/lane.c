/* SPDX-License-Identifier: Apache-2.0 */
#include "agents/qemu/lane.h"
#include "agents/qemu/thread.h"
#include "agents/qemu/trigger.h"

#define HALF (LANE_WORDS / 2)

void lane_room(struct lane *l)
{
    uint32_t head = atomic_load_explicit(&l->head, memory_order_relaxed);
    for (;;) {
        uint32_t tail = atomic_load_explicit(&l->tail, memory_order_acquire);
        if (atomic_load(&channel->is_failed)) {
            l->limit = head + HALF;
            return;
        }
        if (LANE_WORDS - (head - tail) >= LANE_SPARE) {
            /* The writer is notified when the ring is half full, and not more often. */
            uint32_t half = (head + LANE_SPARE) / HALF * HALF + HALF;
            uint32_t end = tail + LANE_WORDS;
            l->limit = (int32_t)(end - half) < 0 ? end : half;
            channel_ring_bell();
            return;
        }
        channel_await_tail(&l->tail, tail, &l->is_awaited);
    }
}

/* Published at once, so a reader never sees a part of them. */
static void put(struct lane *l, const uint32_t *words, uint32_t count)
{
    uint32_t head = atomic_load_explicit(&l->head, memory_order_relaxed);
    if ((int32_t)(l->limit - head) < LANE_SPARE)
        lane_room(l);
    for (uint32_t i = 0; i < count; i++)
        l->words[head++ & (LANE_WORDS - 1)] = words[i];
    atomic_store_explicit(&l->head, head, memory_order_release);
}

static void put_again(struct lane *l)
{
    if (l->again)
        put(l, (uint32_t[]){QEMU_RUN_AGAIN | l->again}, 1);
    l->again = 0;
}

static void put_gap(struct lane *l)
{
    put_again(l);
    put(l, (uint32_t[]){QEMU_RUN_GAP, (uint32_t)l->gap, (uint32_t)(l->gap >> 32)}, 3);
    l->gap = 0;
    l->last = 0;
}

/* Writes `count` instructions of the block with this id and size, from number `first`
 * on. */
static void put_piece(struct lane *l, uint32_t id, uint32_t size, uint32_t first,
                      uint32_t count)
{
    l->begun += count;
    if (!l->on) {
        l->gap += count;
        l->skipped += count;
        return;
    }
    if (l->gap)
        put_gap(l);
    if (count == size) {
        lane_put_whole(l);
        return;
    }
    put_again(l);
    put(l, (uint32_t[]){QEMU_RUN_PART | first << QEMU_RUN_PART_BITS | count, id}, 2);
    l->last = 0;
}

/* Omits the whole current block from the trace. */
static void skip_block(struct lane *l)
{
    l->begun += l->reached;
    l->gap += l->reached;
    l->skipped += l->reached;
}

static void put_block(struct lane *l, const struct block *b)
{
    for (uint32_t at = 0, mark = 0; at < l->reached;) {
        if (l->begun == l->edge)
            trigger_pass_edge(l);
        uint32_t stop = l->reached, turned = l->on;
        if (l->edge - l->begun < stop - at)
            stop = at + (uint32_t)(l->edge - l->begun);
        if (b->marks && mark < b->mark_count && b->marks[mark].index < stop) {
            stop = b->marks[mark].index + 1;
            turned = b->marks[mark++].on;
        }
        put_piece(l, b->id, b->count, at, stop - at);
        l->on = turned;
        at = stop;
    }
}

void lane_finish(struct lane *l)
{
    const struct block *b = l->block;
    if (l->fresh)
        thread_introduce(l);
    if (b && !l->on && !b->marks && l->begun + l->reached <= l->edge)
        skip_block(l);
    else if (b)
        put_block(l, b);
    if (l->gap && l->on)
        put_gap(l);
    l->block = NULL;
    l->id = l->reached = 0;
}

void lane_context(struct lane *l, uint32_t kind, uint64_t address)
{
    if (l->fresh || !l->on)
        return;
    uint32_t number = atomic_fetch_add(&channel->context_count, 1);
    put_again(l);
    put(l, (uint32_t[]){kind, (uint32_t)address, (uint32_t)(address >> 32), number}, 4);
    l->last = 0;
}

void lane_open(struct lane *l)
{
    l->carried += l->begun - l->skipped;
    l->begun = l->skipped = l->gap = 0;
    l->block = NULL;
    l->id = l->reached = l->last = l->again = 0;
    l->whole =
        1; /* never equal to `reached`: the first block is finished by the slow path */
    l->words = channel->words[l - channel->lanes];
    l->fresh = true;
    trigger_begin(l);
}

void lane_name(struct lane *l, uint32_t thread, const char *name)
{
    while (atomic_load(&l->thread_is_new) && !atomic_load(&channel->is_failed))
        channel_await_tail(&l->tail, atomic_load(&l->tail), &l->is_awaited);
    l->thread = thread;
    size_t length = strnlen(name, THREAD_NAME_SIZE - 1);
    memset(l->thread_name, 0, sizeof l->thread_name);
    memcpy(l->thread_name, name, length);
    l->thread_from = atomic_load_explicit(&l->head, memory_order_relaxed);
    atomic_store(&l->thread_is_new, 1);
    channel_ring_bell();
}

void lane_close(struct lane *l)
{
    lane_finish(l);
    put_again(l);
}

void lane_abandon(struct lane *l)
{
    /* The block is in QEMU's memory, which is gone. A change of the trigger within it
     * needs the block, and is omitted. */
    if (l->id && l->whole && l->reached && l->reached <= l->whole &&
        l->edge - l->begun >= l->reached)
        put_piece(l, l->id, l->whole, 0, l->reached);
    put_again(l);
}

void lane_fork(struct lane *l)
{
    l->begun += l->reached;
    l->skipped = l->gap = l->begun;
    l->carried = 0;
    l->block = NULL;
    l->id = l->reached = l->last = l->again = 0;
    l->whole = 1;
    l->limit = 0;
    l->is_awaited = l->thread_is_new = l->head = l->tail = 0;
    l->fresh = true;
}
