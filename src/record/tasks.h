/* SPDX-License-Identifier: Apache-2.0 */
/* The stage that adds processes and threads to a recording: their names and mappings.
 * The kernel reports tasks that start during the recording. Those that ran before are read from
 * /proc when their first sample comes, or a child's: most never have one, and reading all would
 * cost more than the recording. What is read comes before that sample. */
#ifndef STOKE_RECORD_TASKS_H
#define STOKE_RECORD_TASKS_H

#include "record/jit_maps.h"
#include "record/record.h"
#include "record/thread_counts.h"

struct record_tasks {
    const struct record_layout *layout;
    struct record_sink next;
    uint8_t *known; /* by process or thread id: what the recording contains about it */
    uint32_t limit; /* ids are below it */
    struct thread_counts threads;
    struct record_maker maker;
    uint64_t
        earliest; /* time of what is read of a process when its first sample comes; 0: that
                          of the sample, which no earlier one follows */
    struct record_jit_maps
        *jit_maps; /* the caller's, gets the sampled processes; or NULL */
    struct os_process_probe *probe; /* the caller's; or NULL */
};

/* Must not be moved afterwards, neither it nor the layout. False if out of memory. */
bool record_tasks_init(struct record_tasks *t, const struct record_layout *layout,
                       struct record_sink next, struct error *err);
void record_tasks_deinit(struct record_tasks *t); /* also if it is all zeros */

struct record_sink record_tasks_sink(struct record_tasks *t);

/* Adds a process and all its threads at once. */
void record_tasks_add(struct record_tasks *t, uint32_t pid);

/* Adds the mappings of all processes with at least that number of threads. The kernel locks the
 * mappings of a process while one of its threads changes them. Among many threads, that thread may
 * wait for a CPU for seconds, and a reader of the mappings waits with it. Before the counters start,
 * no samples are lost meanwhile. */
void record_tasks_add_crowded(struct record_tasks *t, uint32_t threads_least);

/* Adds all tasks again that are known and still exist, as of `time`, and the kernel's mappings:
 * the records that follow can be read without the earlier ones. */
void record_tasks_add_again(struct record_tasks *t, uint64_t time);

/* The task is read again when its next sample comes. */
void record_tasks_forget(struct record_tasks *t, uint32_t id);

/* Adds the mappings of the kernel and its modules. False if the system hides their addresses. */
bool record_tasks_add_kernel(struct record_tasks *t);

#endif
