/* SPDX-License-Identifier: Apache-2.0 */
/* The words of a virtual CPU, written by the thread that runs it. This file has the
 * functions that are called for every block: about ten instructions of the host. */
#ifndef STOKE_AGENTS_QEMU_LANE_H
#define STOKE_AGENTS_QEMU_LANE_H

#include "agents/qemu/block.h"
#include "agents/qemu/channel.h"
#include "base/qemu_format.h"

enum {
    LANE_SPARE =
        8, /* words that may be written after lane_room, before the next call of it */
    LANE_AGAIN_MOST =
        65536 /* maximum of repetitions, so that a reader of a running trace sees progress */
};

/* A new thread uses the lane: counts restart. `name` is set later. */
void lane_open(struct lane *l);

/* The running thread has this id and name: at its first block, and when it is renamed. */
void lane_name(struct lane *l, uint32_t thread, const char *name);

/* Writes the current block: the thread or the guest has ended. */
void lane_close(struct lane *l);

/* The same, called by the writer after QEMU has ended: the part that is known. */
void lane_abandon(struct lane *l);

/* The current block stores or loads the context of a stack: `kind` is QEMU_RUN_SAVE or
 * QEMU_RUN_LOAD. */
void lane_context(struct lane *l, uint32_t kind, uint64_t address);

/* A forked guest continues in its own trace, in which this lane begins with a gap. */
void lane_fork(struct lane *l);

/* Makes room for at least LANE_SPARE words; waits for the writer. */
void lane_room(struct lane *l);

/* Writes the current block, in several parts if the trigger changes in it. */
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

/* Ends the block before, at any instruction of it, and starts b. */
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
