/* SPDX-License-Identifier: Apache-2.0 */
/* Counters of the kernel, and the rings through which it tells of them: perf_event_open
 * and what belongs to it. Nothing here knows what a record means.
 *
 * A ring is memory that the kernel writes and this process reads. The kernel moves the
 * head, and data before it may be read once the head was read with acquire ordering; the
 * tail is this process's, and storing it with release ordering gives the room back. */
#ifndef STOKE_OS_PERF_EVENT_H
#define STOKE_OS_PERF_EVENT_H

#include "base/error.h"
#include "base/perf_attr.h"

#define OS_ANY_TASK (-1)
#define OS_ANY_CPU (-1)

/* Opens a counter of a thread (OS_ANY_TASK: of all) on a CPU (OS_ANY_CPU: wherever it
 * runs). Gives the handle, closed on exec; or -errno, by which the caller says why. */
int os_perf_open(const struct perf_attr *attr, int64_t tid, int cpu);

/* The same in the group of another counter of the same thread and CPU: both count, or
 * none does. -1: in none. */
int os_perf_open_in(const struct perf_attr *attr, int64_t tid, int cpu, int leader);

/* The same of the threads of a control group, whose folder is open; on one CPU. */
int os_perf_open_cgroup(const struct perf_attr *attr, int cgroup, int cpu, int leader);

/* The number that the counter has in records. */
bool os_perf_id(int fd, uint64_t *id);

/* Begins, or ends, counting. */
bool os_perf_enable(int fd);
bool os_perf_disable(int fd);

/* What the counter tells goes into the ring of another one of the same CPU. */
bool os_perf_redirect(int fd, int into);

/* Has an eBPF program, which is loaded, run at each sample in place of a record. */
bool os_perf_attach(int fd, int program);

/* Of a tracepoint, only what the filter lets through is told
 * (Documentation/trace/events.rst). */
bool os_perf_filter(int fd, const char *filter);

/* For how long the counter has counted, in ns, and how many of its records were lost
 * since it was opened. Its read_format is PERF_READ_ENABLED, and PERF_READ_LOST where the
 * kernel knows that (Linux 6.0): else none was lost. False where it cannot be read. */
struct os_perf_state {
    uint64_t enabled, lost;
};

bool os_perf_read(int fd, struct os_perf_state *state);

struct os_perf_ring {
    void *map;
    size_t map_size;
    const char *data;
    uint64_t size; /* of data: a power of two */
    uint64_t tail; /* what is before it was given back */
    uint64_t at;   /* the next record of this pass, which goes up to the head */
    uint64_t head;
    char *joined; /* a record that goes over the ring's end, in one piece */
};

/* Maps a counter's ring of `size` bytes: a power of two, at least a page. False, with
 * *why an errno: EPERM where more memory is asked for than the user may lock. */
bool os_perf_ring_open(struct os_perf_ring *r, int fd, size_t size, int *why);
void os_perf_ring_close(struct os_perf_ring *r); /* also of one that is all zeros */

/* A pass over what is in the ring by now: begin, then peek, look and take, for as long as
 * wanted; what is not taken is there in the next pass. A record is in one piece, has 8
 * bytes at least, and stays where it is until its room is given back, which must happen
 * before the next pass. A ring that makes no sense is at its end. */
void os_perf_ring_begin(struct os_perf_ring *r);
bool os_perf_ring_peek(struct os_perf_ring *r, struct str *record);
void os_perf_ring_take(struct os_perf_ring *r, struct str record);

/* Gives back the room of what was taken. */
void os_perf_ring_release(struct os_perf_ring *r);

#endif
