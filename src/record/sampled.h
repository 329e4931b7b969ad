/* SPDX-License-Identifier: Apache-2.0 */
/* The stage that passes the forks, names and mappings of sampled processes only. Most processes of
 * a machine that compiles or runs scripts execute a program and end between two samples; what
 * they map would cost more than all samples.
 *
 * Records of a process that starts are held until one of its threads, or a child of it, is
 * sampled. Then they pass with their time. If readers have already read later records, they pass
 * with the earliest time that is still possible: samples of some sources (long_waits.c) come
 * after later records of the same round. The records are removed when the process ends, or after
 * some time. If the process is sampled after that, tasks.h reads its mappings at its first
 * sample, as for processes that ran before the recording. */
#ifndef STOKE_RECORD_SAMPLED_H
#define STOKE_RECORD_SAMPLED_H

#include "base/idmap.h"
#include "record/tasks.h"

struct record_sampled_process;

struct record_sampled {
    const struct record_layout *layout;
    struct record_tasks *tasks; /* the stage after this one; it forgets what is removed */
    struct record_sink next;
    uint64_t *passes; /* a bit for each process id: its records are not held */
    uint32_t limit;   /* ids are below it */
    struct arena arena;
    struct idmap index; /* of the processes by their ids */
    struct record_sampled_process *processes;
    size_t count, cap;
    uint64_t round;     /* their number */
    uint64_t newest[3]; /* time of all records; until the last two rounds ended */
    uint64_t removed;   /* records of processes that were never sampled */
};

/* Neither it nor the layout may be moved afterwards. False if out of memory. */
bool record_sampled_init(struct record_sampled *s, const struct record_layout *layout,
                         struct record_tasks *tasks, struct record_sink next,
                         struct error *err);
void record_sampled_deinit(struct record_sampled *s); /* also if it is all zeros */

struct record_sink record_sampled_sink(struct record_sampled *s);

#endif
