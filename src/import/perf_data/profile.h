/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the files of this folder, which make a profile of the records of a
 * perf.data. Other folders include recording.h only.
 *
 * A sample takes these forms:
 *   1. the bytes of its record;
 *   2. struct perf_sample (perf/perf_data.h): its fields, read where they lie;
 *   3. struct perf_queued (walk.h): an entry of a batch. A worker of the thread pool turns
 *      call chain and stack dump into a path of locations, root first. The reader gives
 *      the locations their final ids, in place;
 *   4. a row of a builder of its own ("raw") whose frames are locations: equal stacks are
 *      stored once. Or a call of the consumer;
 *   5. a row of the profile. At the end all locations are named at once, and the raw stacks
 *      become the profile's. */
#ifndef STOKE_IMPORT_PERF_DATA_PROFILE_H
#define STOKE_IMPORT_PERF_DATA_PROFILE_H

#include "import/importer.h"
#include "import/perf_data/recording.h"
#include "import/perf_data/walk.h"
#include "model/processes.h"

/* A mapped file, or a substitute for one. */
struct perf_file {
    struct str module;   /* as perf shows it; empty: unknown */
    struct str build_id; /* lower-case hexadecimal, or empty */
    struct str symbol;   /* if the file is one function, its name; else empty */
    object_id object;    /* 0 without a resolver */
    uint64_t
        start; /* of_kernel: the address of the map, or of its reference symbol; of one
                       function of the kernel, its address */
    bool of_kernel;      /* the kernel, a guest's kernel or a module of one */
    bool is_interpreted; /* one function of an interpreted program; `module` is its source
                            file (perf/interpreted.h) */
    bool by_address;     /* the resolver takes addresses, not offsets in the file */
    uint8_t marker;      /* enum frame_kind if it is not code but a marker; else 0 */
};

/* Locations, root first. */
struct perf_path {
    location_id *items; /* the element before items[0] is free */
    size_t count;
};

/* A control group by its path. */
struct perf_cgroup {
    struct str path;
    label_set_id labels; /* of its samples in "raw"; 0: none yet */
};

/* A sample whose user chain comes later. `parts` contains the known part of its path. */
struct perf_pending {
    struct sample sample;
    label_set_id labels;
    size_t first, count;
    uint32_t previous; /* index + 1 of another sample that waits for the same chain */
};

struct perf_pendings {
    struct perf_pending *items;
    size_t count, cap;
    location_id *parts;
    size_t part_count, part_cap;
};

struct perf_numbers;

/* Releases the memory of the input once it was read. */
struct perf_release {
    struct pool_task task;
    struct source *input;
};

struct perf_profile {
    /* Carried from one file of a recording to the next: */
    struct processes processes;
    struct arena maps;       /* memory of the following fields */
    struct strings keys;     /* of the files, with the same ids */
    struct perf_file *files; /* [0]: unknown */
    size_t file_cap, files_finished;
    struct perf_scope kernel, guest;
    struct idmap counters;       /* by id: the last value */
    struct idmap cgroup_numbers; /* by id: index in cgroups + 1 */
    struct perf_cgroup *cgroups;
    size_t cgroup_count, cgroup_cap;

    /* Of this file: */
    struct perf_data data;
    struct perf_release release;
    struct builder *b;
    const struct import_options *options;
    const struct resolver *resolver;      /* or NULL */
    const struct perf_consumer *consumer; /* NULL: a profile is made */
    struct arena arena;

    struct perf_locations locations;
    struct name_job *jobs; /* by location, the first named_count */
    size_t named_count, job_cap;
    struct builder raw; /* stacks of locations, and samples */
    location_id *path;  /* scratch */
    size_t path_cap;
    struct idmap seen_events; /* by index of the event: the period of its last sample */
    uint64_t offset, first_time; /* of the current sample's record; of the first sample */

    unsigned workers; /* of the pool */
    struct perf_walk_settings walk;
    struct perf_walker **walkers; /* by worker */
    struct perf_numbers *numbers; /* by worker */
    struct perf_batch *batches;   /* a ring: the batches in work, then the open batch */
    size_t batch_count, oldest_batch, batches_out;

    struct idmap branch_labels; /* by the flags of a branch: its labels in "raw" */
    bool saw_branches;
    struct idmap wakers; /* by woken thread: the waker's raw stack << 32 | its thread */
    struct perf_pendings deferred; /* samples that wait for their user chain */
    size_t deferred_left;
    struct idmap cookies;                      /* by cookie: the last of them */
    uint64_t lost_records, lost_samples, lost; /* by record type; reported so far */
};

/* --- files.c ----------------------------------------------------------------------- */

/* Adds the files that every recording has. Returns false if out of memory. */
bool perf_files_init(struct perf_profile *p);

/* Applies a MMAP, MMAP2 or KSYMBOL record. */
void perf_file_mapped(struct perf_profile *p, const struct perf_record *r);

/* A file for markers in stacks, of kind FRAME_MARKER or FRAME_WAKER; 0 if out of memory. */
uint32_t perf_file_marker(struct perf_profile *p, struct str name, enum frame_kind kind);

/* Sets module names and build IDs of the files that are new since the last call. Called as
 * late as possible: a pipe has its build IDs at its end, and the names of kernel modules
 * depend on them. */
void perf_files_finish(struct perf_profile *p);

/* The marker of a wait. Its reason is found from the functions below it. */
#define WAIT_MARK STR("[wait]")

/* The kind of wait that the event records, for events of stoke record and of perf record
 * --off-cpu. */
enum perf_wait perf_wait_of(const struct perf_event *e);

/* --- cgroups.c --------------------------------------------------------------------- */

/* Applies a CGROUP record: the path of a control group. */
void perf_cgroup_named(struct perf_profile *p, const struct perf_record *r);

/* The labels of a sample in "raw": its control group if a record named it, or none. */
label_set_id perf_cgroup_labels(struct perf_profile *p, const struct perf_sample *s);

/* --- locks.c ----------------------------------------------------------------------- */

/* The labels with those of what the sample waits for (perf/off_cpu.h): lock=NAME, or file=NAME and
 * device=NAME. */
label_set_id perf_lock_labels(struct perf_profile *p, const struct perf_sample *s,
                              label_set_id labels);

/* --- branches.c -------------------------------------------------------------------- */

/* The labels of a branch in "raw". */
label_set_id perf_branch_labels(struct perf_profile *p, const struct perf_branch *branch);

/* --- stacks.c ---------------------------------------------------------------------- */

/* The resolver's pool, or NULL. */
static inline const struct thread_pool *perf_thread_pool(const struct perf_profile *p)
{
    return p->resolver ? p->resolver->pool : NULL;
}

bool perf_stacks_init(struct perf_profile *p);
void perf_stacks_deinit(struct perf_profile *p);

/* Queues a sample. */
void perf_stacks_sample(struct perf_profile *p, const struct perf_sample *s,
                        const struct sample *sample);

/* Queues a branch of a sample, as a sample of its own. */
void perf_stacks_branch(struct perf_profile *p, const struct perf_sample *s,
                        const struct sample *sample, const struct perf_branch *branch);

/* Adds the samples that waited for this user chain. */
void perf_stacks_deferred(struct perf_profile *p, const struct perf_identity *id,
                          uint64_t time, const struct perf_deferred *chain);

/* Adds the samples whose user chains never came, as truncated. */
void perf_stacks_abandon(struct perf_profile *p);

/* Adds all queued samples: the bytes of their records are about to move. */
void perf_stacks_unwind(struct perf_profile *p);

/* --- finish.c ---------------------------------------------------------------------- */

/* Names the new locations: p->jobs is then complete. False if out of memory. */
bool perf_locations_name(struct perf_profile *p);

/* Names the locations and adds the samples to the profile. */
void perf_profile_finish(struct perf_profile *p);

#endif
