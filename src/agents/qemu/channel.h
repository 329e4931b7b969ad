/* SPDX-License-Identifier: Apache-2.0 */
/* Memory that the threads of QEMU and the writer process share, with the words that
 * are not written yet.
 *
 * A separate process writes the trace, because QEMU does not call a plugin when a
 * signal kills its guest: QEMU exits immediately. The shared memory remains, and the
 * writer completes the file. Also, the thread of the guest does not spend time on
 * writing.
 *
 * Each virtual CPU has a lane, a ring with one writer and one reader that needs no
 * lock. Descriptions of blocks and maps have a feed each, which needs a lock. Words
 * are published after the descriptions that they refer to, and the writer reads the
 * lanes first: so it has the description of each word that it reads. */
#ifndef STOKE_AGENTS_QEMU_CHANNEL_H
#define STOKE_AGENTS_QEMU_CHANNEL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    LANES = 2048,              /* virtual CPUs, or simultaneous threads of a guest */
    LANE_WORDS = 1 << 17,      /* a power of two */
    BLOCK_FEED_SIZE = 1 << 22, /* powers of two, too, */
    MAP_FEED_SIZE = 1 << 20,   /* and larger than any description */
    THREAD_NAME_SIZE = 32,
};

struct block;

/* A virtual CPU: its current block, and its ring. The thread that runs it writes all
 * fields except `tail`, without a lock. */
struct lane {
    /* The current block. */
    uint64_t begun; /* instructions that started before it */
    uint64_t edge;  /* the number of the instruction at which the trigger changes */
    const struct block *block; /* valid only in QEMU; NULL before the first block */
    uint32_t id;               /* 0 for none */
    uint32_t reached;          /* number of its instructions that have started */
    uint32_t whole; /* number of its instructions; 0: use the slow path (lane_finish) */
    uint32_t on;    /* all ones while the trigger is on, else 0 */

    /* The words before the block. */
    uint32_t last;  /* the last word was this block, all of it; else 0 */
    uint32_t again; /* and it ran this many times more */
    uint64_t gap;   /* instructions that were omitted since */

    uint32_t *words;
    uint32_t limit; /* the value of head at which lane_room is due */
    _Atomic uint32_t head;

    uint64_t skipped; /* omitted instructions, of all that started */
    uint64_t carried; /* instructions in the trace of earlier threads of this lane */
    bool fresh;       /* its thread has not run yet */

    /* A new thread or name, which applies from `thread_from` in the ring on, while
     * `thread_is_new`. */
    uint32_t thread, thread_from;
    char thread_name[THREAD_NAME_SIZE];
    _Atomic uint32_t thread_is_new;

    _Alignas(64) _Atomic uint32_t tail; /* set by the writer */
    _Atomic uint32_t is_awaited;        /* a thread sleeps until the tail moves */
};

/* Whole records, one after the other. head and tail count bytes. */
struct feed {
    uint32_t size;
    char *bytes;
    _Atomic uint32_t head;
    _Alignas(64) _Atomic uint32_t tail;
    _Atomic uint32_t is_awaited;
};

enum channel_state {
    CHANNEL_RUNS,
    CHANNEL_ENDS, /* set by QEMU: all words are in the rings */
};

struct channel {
    _Atomic uint32_t state;
    _Atomic uint32_t is_failed;     /* writing failed: the rings are discarded */
    _Atomic uint32_t is_execing;    /* the guest is within execve */
    _Atomic uint32_t bell;          /* futex that wakes the writer */
    _Atomic uint32_t context_count; /* stores and loads of contexts, in all lanes */
    _Atomic uint32_t lane_count;    /* lanes from this one on were never used */
    struct feed blocks, maps;
    struct lane lanes[LANES];
    uint32_t words[LANES][LANE_WORDS];
    char block_bytes[BLOCK_FEED_SIZE];
    char map_bytes[MAP_FEED_SIZE];
};

extern struct channel *channel;

/* Allocates the memory, zeroed; it replaces the old one. Only touched pages use
 * memory. False if there is none. */
bool channel_init(void);

/* Wakes the writer, which otherwise checks every CHANNEL_TICK. */
#define CHANNEL_TICK_NS 20000000
void channel_ring_bell(void);
void channel_await_bell(uint32_t heard);

/* Waits until the tail is not `seen`, or until a timeout. If the writer has ended, the
 * channel has failed afterwards. */
void channel_await_tail(_Atomic uint32_t *tail, uint32_t seen,
                        _Atomic uint32_t *is_awaited);

/* The writer has read all words before `to`. */
void channel_move_tail(_Atomic uint32_t *tail, uint32_t to, _Atomic uint32_t *is_awaited);

/* Writes a record of two parts to a feed, padded with zeros to a multiple of 4; waits
 * for room. One thread at a time. */
void feed_put(struct feed *f, const void *head, size_t head_size, const void *body,
              size_t body_size);

#endif
