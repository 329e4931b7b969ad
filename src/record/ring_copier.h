/* SPDX-License-Identifier: Apache-2.0 */
/* Copies records out of the kernel's rings in a thread of its own, so that stages may wait for a
 * disk, a symbol table or another process: the rings do not overflow meanwhile. The thread only
 * copies: it opens no file and takes no lock but the copier's.
 *
 * The copies of a ring are a queue, which the reader empties. Of a stack dump only the bytes with
 * content are copied. All queues hold a limited number of bytes. While they fill up, dumps become
 * shorter: a truncated stack is better than none. When they are full, samples are dropped and
 * counted, and a record of type PERF_LOST shows when. Other records (processes, mappings) are few
 * and needed to name samples: they have an eighth more. The memory of the queues goes back to the
 * system when they are empty.
 *
 * Among thousands of threads with work, the reader's share of a CPU is too small to empty the
 * queues. From an eighth of the limit on, the reader runs before other threads, until they are
 * nearly empty.
 *
 *   init, add rings, watch counters, start; then passes of the reader:
 *   begin, peek and consume of each ring, release; at the end deinit
 *
 * All functions are called by the reader. Without `start`, begin does the work of the thread. */
#ifndef STOKE_RECORD_RING_COPIER_H
#define STOKE_RECORD_RING_COPIER_H

#include "os/perf_event.h"
#include "os/thread.h"
#include "os/wait.h"
#include "record/record.h"

struct copied_ring;

struct ring_copier_counts {
    uint64_t dropped;   /* records, because the queues were full */
    uint64_t shortened; /* stack dumps, because the queues filled up */
};

struct ring_copier {
    const struct record_layout *layout;
    size_t limit; /* of bytes in the queues */
    struct os_lock lock;
    struct os_thread thread;
    struct os_wait changes;     /* counters with records, or the end */
    struct os_wake wake, ready; /* of the thread; of the reader */
    struct copied_ring *rings;  /* a list */
    struct ring_chunk *chunks;  /* the memory of all queues */
    size_t chunk_count;
    struct ring_chunk **empty; /* chunks without memory, a stack */
    size_t empty_count;
    struct ring_chunk *spare; /* chunks with memory, a list */
    size_t spare_count;
    size_t bytes; /* in chunks of the queues */
    struct ring_copier_counts counts;
    int32_t reader;    /* thread ID */
    bool filling;      /* the queues fill up; atomic */
    bool late;         /* as ring_copier_was_late; atomic */
    bool reader_first; /* it has real-time priority */
    bool hurries;      /* as ring_copier_hurry */
    bool no_more;      /* the counters have ended */
    bool ends;
};

/* The layout must outlive it. Call deinit in any case, also if it is all zeros. */
bool ring_copier_init(struct ring_copier *c, const struct record_layout *layout,
                      size_t limit, struct error *err);
void ring_copier_deinit(struct ring_copier *c);

/* Adds the ring of a counter, of `size` bytes; NULL, with *why an errno, if that is not possible.
 * Remove gives its memory back, with records that were not read. */
struct copied_ring *ring_copier_add(struct ring_copier *c, int fd, size_t size, int *why);
void ring_copier_remove(struct ring_copier *c, struct copied_ring *r);

/* The thread copies when this counter wakes it. No other thread may wait for the counter: a wait
 * resets the kernel's state of its ring. Call unwatch before it is closed. */
bool ring_copier_watch(struct ring_copier *c, int counter, struct error *err);
void ring_copier_unwatch(struct ring_copier *c, int counter);

/* Starts the thread, which runs before others and has only the right to let the reader, which is
 * the calling thread, do so too. False if the system starts none. */
bool ring_copier_start(struct ring_copier *c, struct error *err);

/* Between calls with true and false, the reader runs before other threads, if the copying thread may
 * set that: for work during which the queues would overflow if other threads interrupted it. */
void ring_copier_hurry(struct ring_copier *c, bool hurries);

/* The counters have ended: the reader runs before other threads until the queues are empty. */
void ring_copier_counters_ended(struct ring_copier *c);

/* Readable when the thread has copied many records since the last begin. A reader of few records
 * needs a deadline of its own. */
static inline int ring_copier_fd(const struct ring_copier *c)
{
    return c->ready.fd;
}

/* Readable when a counter that is watched has records: for a caller without the thread. */
static inline int ring_copier_rings_fd(const struct ring_copier *c)
{
    return os_wait_fd(&c->changes);
}

/* Whether the queues fill up: then the reader should leave work that may wait for later. */
static inline bool ring_copier_is_filling(const struct ring_copier *c)
{
    return __atomic_load_n(&c->filling, __ATOMIC_RELAXED);
}

/* Whether a ring was more than half full when it was copied, or the queues were: the kernel writes so
 * fast that a short delay of the thread, or of the reader, would lose records. */
static inline bool ring_copier_was_late(const struct ring_copier *c)
{
    return __atomic_load_n(&c->late, __ATOMIC_RELAXED);
}

/* Starts a pass: it gives all records that are in the rings now. */
void ring_copier_begin(struct ring_copier *c);

/* The next record of the pass; false at its end. It is valid until the release after its
 * consume. */
bool ring_copier_peek(struct copied_ring *r, struct str *record);
void ring_copier_consume(struct copied_ring *r, struct str record);

/* Frees what was consumed. What was not is in the next pass. */
void ring_copier_release(struct ring_copier *c);

struct ring_copier_counts ring_copier_counts(const struct ring_copier *c);

#endif
