/* SPDX-License-Identifier: Apache-2.0 */
/* Performance counters of the kernel (perf_event_open) and their ring buffers. This
 * file does not interpret records.
 *
 * A ring buffer is memory that the kernel writes and this process reads. The kernel
 * advances the head; data before it may be read after the head was read with acquire
 * ordering. This process advances the tail; storing it with release ordering frees the
 * space. */
#ifndef STOKE_OS_PERF_EVENT_H
#define STOKE_OS_PERF_EVENT_H

#include "base/error.h"
#include "base/perf_attr.h"

#define OS_ANY_THREAD (-1)
#define OS_ANY_CPU (-1)

/* Opens a counter for a thread (OS_ANY_THREAD: all) on a CPU (OS_ANY_CPU: any that the
 * thread runs on). Returns the descriptor, close-on-exec; or -errno, for the caller to
 * explain. */
int os_perf_open(const struct perf_attr *attr, int64_t tid, int cpu);

/* The same in the group of another counter of the same thread and CPU: its counters run
 * at the same time. -1: no group. */
int os_perf_open_in(const struct perf_attr *attr, int64_t tid, int cpu, int leader);

/* The same for the threads of a control group, given by its open folder, on one CPU. */
int os_perf_open_cgroup(const struct perf_attr *attr, int cgroup, int cpu, int leader);

/* The id of the counter in records. */
bool os_perf_id(int fd, uint64_t *id);

/* Starts or stops counting. */
bool os_perf_enable(int fd);

/* Starts counting, and stops after that many samples. */
bool os_perf_enable_for(int fd, int samples);
bool os_perf_disable(int fd);

/* Sets the period of a counter by time, ns, and begins the next period now. */
bool os_perf_restart(int fd, uint64_t period);

/* Redirects the records of a counter into the ring buffer of another one of the same
 * CPU. */
bool os_perf_redirect(int fd, int into);

/* Runs a loaded eBPF program at each sample. The record is written if it returns 1. */
bool os_perf_attach(int fd, int program);

/* Sets the filter of a tracepoint (Documentation/trace/events.rst). */
bool os_perf_filter(int fd, const char *filter);

/* How long the counter was enabled, in ns, and how many of its records were lost since
 * it was opened. Its read_format must be PERF_READ_ENABLED, plus PERF_READ_LOST if the
 * kernel supports that (Linux 6.0); otherwise `lost` is 0. Returns false if it cannot
 * be read. */
struct os_perf_state {
    uint64_t enabled, lost;
};

bool os_perf_read(int fd, struct os_perf_state *state);

/* What the counter has counted, and how long it was enabled and how long it ran, in ns: it ran
 * for less if it shared the hardware with other counters. Its read_format must be
 * PERF_READ_ENABLED | PERF_READ_RUNNING. False if it cannot be read: its event is pinned,
 * and the hardware had no room for it. */
struct os_perf_count {
    uint64_t value, enabled, running;
};

bool os_perf_count(int fd, struct os_perf_count *count);

struct os_perf_ring {
    void *map;
    size_t map_size;
    const char *data;
    uint64_t size; /* of data: a power of two */
    uint64_t tail; /* data before it is released */
    uint64_t at;   /* the next record of this pass, which ends at `head` */
    uint64_t head;
    char *joined; /* buffer for a record that wraps around the end of the ring buffer */
};

/* Maps a counter's ring buffer of `size` bytes: a power of two, at least a page.
 * Returns false and sets *why to an errno: EPERM if the user may not lock that much
 * memory. */
bool os_perf_ring_open(struct os_perf_ring *r, int fd, size_t size, int *why);
void os_perf_ring_close(struct os_perf_ring *r); /* a zeroed struct is allowed */

/* Reads the records that are in the ring buffer now: begin, then peek and consume
 * repeatedly. Records that are not consumed appear again in the next pass. A record is
 * contiguous, has at least 8 bytes, and stays valid until os_perf_ring_release, which
 * must be called before the next pass. A corrupt record ends the pass. */
void os_perf_ring_begin(struct os_perf_ring *r);
bool os_perf_ring_peek(struct os_perf_ring *r, struct str *record);
void os_perf_ring_consume(struct os_perf_ring *r, struct str record);

/* Bytes of the records of this pass that are not consumed. */
static inline uint64_t os_perf_ring_pending(const struct os_perf_ring *r)
{
    return r->head - r->at;
}

/* Frees the space of the consumed records. */
void os_perf_ring_release(struct os_perf_ring *r);

#endif
