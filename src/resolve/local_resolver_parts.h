/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the files of the local resolver: local_resolver.c (objects, tasks,
 * unwinding), naming.c (names of many addresses on all cores) and
 * local_resolver_report.c. */
#ifndef STOKE_RESOLVE_LOCAL_RESOLVER_PARTS_H
#define STOKE_RESOLVE_LOCAL_RESOLVER_PARTS_H

#include "base/idmap.h"
#include "base/segmented_array.h"
#include "resolve/local_resolver.h"
#include "resolve/namer.h"

/* Data of one worker of the pool. */
struct worker {
    struct arena arena;         /* texts and frames that were returned */
    struct unwind_cache *cache; /* owned by the arena */
    struct namer *namer;        /* while names are resolved */
};

/* An object, and its background task: to load names, or to close its files. */
struct entry {
    struct pool_task task;
    struct object *object;
    bool
        is_loaded; /* atomic: the task that loads names is done. Apart from the other flags,
                       which a compiler reads with one access */
    const struct resolve_settings *settings;
    bool has_task; /* the task was started and is not finished */
    bool is_closed;
};

struct local_resolver {
    const struct resolve_settings *settings;
    struct segmented_array entries; /* of objects, by id; [0] is unused */
    struct idmap dumps; /* by process: address of the pointer to its jitdump object */
    struct arena arena;
    struct os_thread_pool *os_thread_pool;
    struct thread_pool pool;
    struct worker *workers;
    struct elf_unpacked unpacked; /* of all objects */
};

struct entry *local_resolver_entry(const struct local_resolver *m, size_t id);

/* Starts a low-priority task of the object. */
void local_resolver_start(struct local_resolver *m, struct entry *entry,
                          void (*work)(struct pool_task *e, unsigned worker));

/* Waits for the task of the object, or of all objects. */
void local_resolver_finish(struct local_resolver *m, struct entry *entry);
void local_resolver_finish_all(struct local_resolver *m);

/* Answers the jobs: sets their frames, which are valid as long as m. */
void local_resolver_name(struct local_resolver *m, struct name_job *jobs, size_t count);

#endif
