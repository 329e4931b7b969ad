/* SPDX-License-Identifier: Apache-2.0 */
/* A virtual CPU's words, put by the thread that runs it. What is called for every block
 * stands here: it is some ten instructions of the host. */
#ifndef STOKE_AGENTS_QEMU_LANE_H
#define STOKE_AGENTS_QEMU_LANE_H

#include "agents/qemu/block.h"
#include "agents/qemu/channel.h"
#include "base/qemu_format.h"

enum {
    LANE_SPARE = 8,         /* words that may be put after lane_room, before the next */
    LANE_AGAIN_MOST = 65536 /* so that one who watches a loop sees something */
};

/* A new thread takes the lane: another count of instructions. `name` is known later. */
void lane_open(struct lane *l);

/* The thread that runs has this id and name: on the first block, and when it is renamed.
 */
void lane_name(struct lane *l, uint32_t thread, const char *name);

/* Puts what is under way: the thread has ended, or the guest. */
void lane_close(struct lane *l);

/* The same, by the writer, when QEMU has gone: what is known of the block under way. */
void lane_abandon(struct lane *l);

/* The block under way stores or loads a stack's context: `kind` is QEMU_RUN_SAVE or
 * QEMU_RUN_LOAD. */
void lane_context(struct lane *l, uint32_t kind, uint64_t address);

/* A forked guest goes on in a trace of its own, of which this lane begins with a gap. */
void lane_fork(struct lane *l);

/* Makes room for LANE_SPARE words at least, waiting for the writer. */
void lane_room(struct lane *l);

/* Puts the block under way, piece by piece where the trigger turns in it. */
void lane_finish(struct lane *l);

static inline void lane_put_whole(struct lane *l)
{
    if (l->id == l->last && l->again < LANE_AGAIN_MOST) {
        l->again++;
        return;
    }
    uint32_t head = atomic_load_explicit(&l->head, memory_order_relaxed);
    if ((int32_t)(l->limit - head) < LANE_SPARE)
        lane_room(l);
    if (l->again)
        l->words[head++ & (LANE_WORDS - 1)] = QEMU_RUN_AGAIN | l->again;
    l->words[head++ & (LANE_WORDS - 1)] = l->id;
    l->again = 0;
    l->last = l->id;
    atomic_store_explicit(&l->head, head, memory_order_release);
}

/* The block before was left, wherever it was; b is entered. */
static inline void lane_enter(struct lane *l, const struct block *b)
{
    uint64_t begun = l->begun + l->reached;
    if (__builtin_expect(l->reached == l->whole && begun <= l->edge, 1)) {
        l->begun = begun;
        lane_put_whole(l);
    } else {
        lane_finish(l);
    }
    l->block = b;
    l->id = b->id;
    l->reached = b->begin;
    l->whole = b->whole & l->on;
}

#endif
