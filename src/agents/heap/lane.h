/* SPDX-License-Identifier: Apache-2.0 */
/* The calling thread's lane: records are put into it without a lock and without memory of
 * the program's heap. A signal handler may put records while the same thread puts one.
 *
 * After a fork, the child's first record announces the process, and its threads claim
 * lanes of their own. */
#ifndef STOKE_AGENTS_HEAP_LANE_H
#define STOKE_AGENTS_HEAP_LANE_H

#include "agents/heap/walk.h"
#include "base/heap_format.h"
#include <stdbool.h>
#include <stddef.h>

/* The shared memory; NULL: nothing is recorded. */
extern struct heap_shared *heap_shared;

/* Maps the shared memory and announces the process. Without the variable in the
 * environment, or if the collector has gone, nothing is recorded. */
void lane_start(void);

/* The same for a running process, and a file that is open in it: lane_map, which returns
 * NULL if that is not possible, then lane_attach. lane_is_used: an earlier recording has
 * not ended. The memory of an earlier recording stays mapped: a thread may be putting a
 * record. */
bool lane_is_used(void);
struct heap_shared *lane_map(int fd);
bool lane_attach(struct heap_shared *shared);

/* What a record is made of. */
struct lane_record {
    uint32_t kind, flags;
    uint64_t address, size;
    const void *fixed; /* follows the record; or NULL */
    size_t fixed_size;
    uint64_t copied; /* address of memory that is copied after `fixed` */
    size_t copied_size;
    bool is_guarded; /* the end of the copied memory may not be readable */
};

/* Writes a record. Returns false, and counts it as lost, if the buffer stays full too long. */
bool lane_put(const struct lane_record *record);

/* The same for the short kinds. `size` is ignored unless it is HEAP_ALLOCATED. */
void lane_put_short(enum heap_record_kind kind, uint64_t second, uint64_t size);

/* Memory of the thread's lane that is not shared; zeroed when the lane is claimed. */
struct lane_private {
    uint64_t stacks[HEAP_STACKS]; /* by their numbers: hash of the frames */
    uint64_t frames[HEAP_FRAMES_MAX];
    struct walk_cache cache;
};

/* NULL: the thread has no lane. */
struct lane_private *lane_private(void);

/* True while records are read. Detects that this process was forked. */
bool lane_is_on(void);

/* From now on, the library makes no system calls in this process: threads without a lane
 * record nothing, and what does not fit is lost. */
void lane_confine(void);
bool lane_is_confined(void);

/* This process records nothing more. */
void lane_end(void);

/* The number of this process's image: changes by a fork. */
uint32_t lane_generation(void);

#endif
