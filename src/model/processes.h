/* SPDX-License-Identifier: Apache-2.0 */
/* The processes and threads of a recording: their maps and names over time, from the
 * records of forks, execs and maps in time order.
 *
 * A record has constant cost, whatever numbers the input contains. */
#ifndef STOKE_MODEL_PROCESSES_H
#define STOKE_MODEL_PROCESSES_H

#include "base/idmap.h"
#include "base/strings.h"
#include "model/space.h"

/* A thread. */
struct task {
    string_id name; /* 0: unknown */
    uint32_t tag;   /* for the caller; reset to 0 when the name changes */
};

/* The maps of a process. During an exec, the registers still refer to the code of the old
 * program, although the new one is already mapped. `fresh` collects the new maps until
 * the process is known to run them. */
struct process {
    space_id space;
    uint32_t version; /* changes when the maps of any process change */
    space_id fresh;
    bool execs;
};

struct processes {
    struct arena arena; /* its `failed` is sticky */
    struct spaces spaces;
    struct strings names;
    struct idmap pids, tids; /* to indexes in the tables */
    uint32_t versions;       /* the last version */
    struct process *items;   /* [0] is none and has no maps */
    size_t count, cap;
    struct task *tasks; /* [0] is none */
    size_t task_count, task_cap;
};

/* False when out of memory; deinit is safe in every case. The struct must not be
 * moved. */
bool processes_init(struct processes *p);
void processes_deinit(struct processes *p);
bool processes_failed(const struct processes *p);

/* Sets the name of the thread; with `exec`, its process starts another program. */
void processes_name(struct processes *p, uint32_t pid, uint32_t tid, struct str name,
                    bool exec);

/* A thread starts and gets the name of its parent; a new process also gets the maps of
 * its parent. If it `was_there` before the recording, it gets no maps, because it may
 * have executed other programs. */
void processes_fork(struct processes *p, uint32_t pid, uint32_t parent_pid, uint32_t tid,
                    uint32_t parent_tid, bool was_there);

/* A file is mapped. */
void processes_map(struct processes *p, uint32_t pid, const struct address_map *map);

/* The process and its maps; never NULL, valid until the next call of another function.
 * The space may be freed then: call space_share to hold it. */
const struct process *processes_find(const struct processes *p, uint32_t pid);

/* The process ran code of its new program: the old maps are removed. */
void processes_ran(struct processes *p, uint32_t pid);

/* The thread, which is added if it is new; NULL when out of memory. */
struct task *processes_task(struct processes *p, uint32_t tid);

static inline struct str task_name(const struct processes *p, const struct task *t)
{
    return strings_get(&p->names, t->name);
}

#endif
