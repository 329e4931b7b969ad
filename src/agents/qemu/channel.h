/* SPDX-License-Identifier: Apache-2.0 */
/* What QEMU's threads and the process that writes the trace share: memory, and the words
 * in it on their way.
 *
 * The trace is written by a process of its own, because nobody tells a plugin that its
 * guest dies of a signal: QEMU simply goes. What stands in shared memory outlives it, and
 * the writer finishes the file. It also takes the writing off the guest's thread.
 *
 * Each virtual CPU has a lane, a ring with one writer and one reader that needs no lock.
 * Descriptions of blocks and maps have a feed each, for which a lock is held. Words are
 * published after the descriptions that they name, and the writer looks at the lanes
 * first: so it never meets a word whose description it has not. */
#ifndef STOKE_AGENTS_QEMU_CHANNEL_H
#define STOKE_AGENTS_QEMU_CHANNEL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    LANES = 2048,              /* virtual CPUs, or threads of a guest at a time */
    LANE_WORDS = 1 << 17,      /* a power of two */
    BLOCK_FEED_SIZE = 1 << 22, /* powers of two as well, */
    MAP_FEED_SIZE = 1 << 20,   /* and longer than any description */
    THREAD_NAME_SIZE = 32,
};

struct block;

/* A virtual CPU: the block that it is in, and its ring. The thread that runs it writes
 * everything but `tail`, without a lock. */
struct lane {
    /* The block under way. */
    uint64_t begun;            /* instructions begun before it */
    uint64_t edge;             /* the instruction from which the trigger is another */
    const struct block *block; /* good in QEMU only; NULL before the first */
    uint32_t id;               /* 0 for none */
    uint32_t reached;          /* so many of its instructions were begun */
    uint32_t whole;            /* and it has so many; 0: look closer (lane_finish) */
    uint32_t on;               /* all ones while the trigger is on, else 0 */

    /* What is known of the words before it. */
    uint32_t last;  /* the word put last was this block, all of it; else 0 */
    uint32_t again; /* and it ran so many times more */
    uint64_t gap;   /* instructions left out since */

    uint32_t *words;
    uint32_t limit; /* the value of head at which lane_room is due */
    _Atomic uint32_t head;

    uint64_t skipped; /* instructions left out, of all that were begun */
    uint64_t
        carried; /* instructions in the trace, of threads that had this lane before */
    bool fresh;  /* its thread has not run yet */

    /* A new thread or name, from `thread_from` in the ring on, while `thread_is_new`. */
    uint32_t thread, thread_from;
    char thread_name[THREAD_NAME_SIZE];
    _Atomic uint32_t thread_is_new;

    _Alignas(64) _Atomic uint32_t tail; /* the writer's */
    _Atomic uint32_t is_awaited;        /* somebody sleeps until the tail moves */
};

/* Whole records, one behind the other. head and tail count bytes. */
struct feed {
    uint32_t size;
    char *bytes;
    _Atomic uint32_t head;
    _Alignas(64) _Atomic uint32_t tail;
    _Atomic uint32_t is_awaited;
};

enum channel_state {
    CHANNEL_RUNS,
    CHANNEL_ENDS, /* QEMU says that all is in the rings */
};

struct channel {
    _Atomic uint32_t state;
    _Atomic uint32_t is_failed;  /* nothing can be written any more: rings go nowhere */
    _Atomic uint32_t is_execing; /* the guest is within execve */
    _Atomic uint32_t bell;       /* rung for the writer */
    _Atomic uint32_t context_count; /* stores and loads of contexts, in all lanes */
    _Atomic uint32_t lane_count;    /* lanes from here on were never used */
    struct feed blocks, maps;
    struct lane lanes[LANES];
    uint32_t words[LANES][LANE_WORDS];
    char block_bytes[BLOCK_FEED_SIZE];
    char map_bytes[MAP_FEED_SIZE];
};

extern struct channel *channel;

/* Makes the memory, zeroed, in the place of that which there was. It is only used as far
 * as it is touched. False where there is none. */
bool channel_init(void);

/* Wakes the writer, which else looks every CHANNEL_TICK. */
#define CHANNEL_TICK_NS 20000000
void channel_ring_bell(void);
void channel_await_bell(uint32_t heard);

/* Sleeps until the tail is no longer `seen`, or for a while. If the writer is gone, the
 * channel has failed afterwards. */
void channel_await_tail(_Atomic uint32_t *tail, uint32_t seen,
                        _Atomic uint32_t *is_awaited);

/* The writer took what stands before `to`. */
void channel_move_tail(_Atomic uint32_t *tail, uint32_t to, _Atomic uint32_t *is_awaited);

/* Puts a record of two pieces into a feed, filled up with zeros to a multiple of 4; waits
 * for room. One thread at a time. */
void feed_put(struct feed *f, const void *head, size_t head_size, const void *body,
              size_t body_size);

#endif
