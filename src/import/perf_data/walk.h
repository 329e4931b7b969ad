/* SPDX-License-Identifier: Apache-2.0 */
/* Converts call chains and stack dumps to paths of locations, a batch of samples at a
 * time. Any worker of a thread pool can do this, for several batches at the same
 * time.
 *
 * A worker only reads data that does not change: the bytes of the records, the address
 * spaces that the batch retains, the settings. It writes to the batch and to its own
 * state only, so each worker has its own ids of locations. A batch lists the locations
 * that are new to its worker; the reader gives them their final ids in the order of the
 * batches, so the ids do not depend on the number of workers. */
#ifndef STOKE_IMPORT_PERF_DATA_WALK_H
#define STOKE_IMPORT_PERF_DATA_WALK_H

#include "base/index.h"
#include "base/thread_pool.h"
#include "import/perf_data/recording.h"

/* Maximum number of dumps in a batch, enough to unwind several at the same time, and of
 * samples. */
#define PERF_BATCH_DUMPS ((size_t)256)
#define PERF_BATCH_SAMPLES ((size_t)1024)

/* Files that every recording has. */
enum { FILE_NONE, FILE_KERNEL, FILE_GUEST_KERNEL, FILE_GUEST_USER };

/* An address in a file. */
struct perf_location {
    uint64_t address; /* as the resolver takes it */
    uint64_t pc;      /* as sampled, if it is retained; else 0 */
    uint32_t file;    /* the tag of its map */
    uint32_t version; /* of a JIT's code */
    bool is_call;
    bool of_waker; /* in the stack of the thread that ended a wait */
};

struct perf_locations {
    struct perf_location *items; /* [0] is unused */
    size_t count, cap;
    struct index index;
};

/* The id of the location, which is added if it is new; 0 if out of memory. */
location_id perf_locations_add(struct perf_locations *p, struct arena *a,
                               const struct perf_location *location);

/* Where addresses of one CPU mode are looked up. */
struct perf_scope {
    space_id space;
    uint32_t version;   /* changes with the maps */
    uint32_t otherwise; /* the file of addresses that are not mapped */
};

/* The kinds of samples of a wait. */
enum perf_wait { WAIT_NONE, WAIT_OFF_CPU, WAIT_WAKER, WAIT_HOLDER };

/* A sample in a batch: the input of a worker, then its results. */
struct perf_queued {
    struct sample sample;
    bool is_item;   /* an item of perf_profile_enqueue, which has no stack */
    bool is_branch; /* its stack is `from`, which calls `ip` */
    uint64_t from;

    struct perf_scope user; /* the batch retains its space */
    label_set_id labels;    /* of "raw" (profile.h) */
    uint32_t tid;
    uint8_t wait;          /* enum perf_wait, */
    uint32_t word;         /* and its raw word (perf/off_cpu.h) */
    uint8_t mode, machine; /* enum perf_mode; enum architecture */
    bool has_chain, has_ip, from_branches, is_tracepoint;
    uint64_t ip;
    struct perf_words chain, branches;
    struct perf_registers registers;
    struct str stack;
    uint64_t jit_time; /* CLOCK_MONOTONIC; TIME_NONE if the recording has another clock */

    /* The path: `count` locations from `first` on in the batch's path, root first. The
     * first `unwound` of them come from the dump. There is one free element in front. */
    size_t first, count, unwound;
    uint32_t job;      /* index of the dump's job + 1; 0: none */
    uint8_t end;       /* enum unwind_end: of the job, or as the recorder marked it */
    bool is_truncated; /* there is a dump but no resolver */
    bool waits;        /* for its user chain, which has this cookie */
    uint64_t cookie;
};

/* Data that all walks share and do not change. */
struct perf_walk_settings {
    const struct resolver *resolver; /* NULL: dumps are not unwound */
    const struct spaces *spaces;
    bool leaf_only;          /* only the location where the sample was taken */
    bool tracepoints;        /* also that of tracepoints without a chain */
    bool keeps_pc, every_pc; /* perf_location.pc: the address in the file; as sampled */
};

struct perf_walker; /* the state of one worker */

struct perf_batch {
    struct pool_task task;
    const struct perf_walk_settings *settings;
    struct perf_walker **walkers; /* by worker, created on first use */

    struct arena arena;
    struct perf_scope kernel, guest; /* the batch retains their spaces */
    struct perf_queued *samples;
    size_t count, cap, dumps;

    unsigned worker;   /* whose ids these are: */
    location_id *path; /* of all samples */
    size_t path_count, path_cap;
    struct perf_location
        *learned; /* those new to the worker, in the order of their ids */
    size_t learned_count, learned_cap;
    bool failed; /* out of memory */
};

/* The work of a batch's task: walks all its samples. */
void perf_walk_batch(struct pool_task *batch, unsigned worker);

/* Walks a user chain that came in a record of its own. The batch's path was empty and is
 * then that of the chain, root first. Uses the ids of worker 0. */
void perf_walk_user(struct perf_batch *batch, struct perf_words chain,
                    const struct perf_scope *user, uint64_t jit_time);

void perf_walker_destroy(struct perf_walker *w); /* NULL is allowed */

#endif
