/* SPDX-License-Identifier: Apache-2.0 */
/* The processes and threads of a recording: what each has mapped and how it is called,
 * followed through the records of forks, execs and maps in the order of time.
 *
 * Whatever numbers an input makes up, a record costs the same. */
#ifndef STOKE_MODEL_PROCESSES_H
#define STOKE_MODEL_PROCESSES_H

#include "base/idmap.h"
#include "base/strings.h"
#include "model/space.h"

/* A thread. */
struct task {
    string_id name; /* 0: the recording does not tell */
    uint32_t tag;   /* the caller's; 0 once the name has changed */
};

/* What a process has mapped. While it execs, the old program's code is still what its
 * registers point at, though the new one is mapped already: until it is seen to run,
 * `fresh` collects what was mapped since. */
struct process {
    space_id space;
    uint32_t version; /* another one whenever the maps of any process were others */
    space_id fresh;
    bool execs;
};

struct processes {
    struct arena arena; /* its `failed` sticks */
    struct spaces spaces;
    struct strings names;
    struct idmap pids, tids; /* to places in the tables */
    uint32_t versions;       /* the newest given */
    struct process *items;   /* [0] is none: it never maps anything */
    size_t count, cap;
    struct task *tasks; /* [0] is none */
    size_t task_count, task_cap;
};

/* False when memory is short; deinit is safe then, too. The struct is not to be moved. */
bool processes_init(struct processes *p);
void processes_deinit(struct processes *p);
bool processes_failed(const struct processes *p);

/* The thread's name changes; with `exec`, its process begins another program. */
void processes_name(struct processes *p, uint32_t pid, uint32_t tid, struct str name,
                    bool exec);

/* A thread begins, with its parent's name; a process with its parent's maps, too, unless it
 * is told that it `was_there`, and has executed who knows what since it began. */
void processes_fork(struct processes *p, uint32_t pid, uint32_t parent_pid, uint32_t tid,
                    uint32_t parent_tid, bool was_there);

/* A file is mapped. */
void processes_map(struct processes *p, uint32_t pid, const struct address_map *map);

/* The process, with what it has mapped; never NULL, good until the next call of another
 * function. The space goes on being held: share it to keep it. */
const struct process *processes_find(const struct processes *p, uint32_t pid);

/* The process was seen to run code of its own: whatever it executed before is gone. */
void processes_ran(struct processes *p, uint32_t pid);

/* The thread, made known where it is not; NULL when memory is short. */
struct task *processes_task(struct processes *p, uint32_t tid);

static inline struct str task_name(const struct processes *p, const struct task *t)
{
    return strings_get(&p->names, t->name);
}

#endif
