/* SPDX-License-Identifier: Apache-2.0 */
/* From the records of a perf.data to a profile: what the importer's files share.
 *
 * The way: each sample's chain becomes a run of places, an address in a file each; runs
 * are kept as stacks of places in a builder of their own, so that a stack met a thousand
 * times is kept once. Samples wait until there are enough to look up and unwind together,
 * which others may do while the reader goes on (perf_data_walk.h); they come back in
 * order. At the end every place is named, all in one go, and the stacks of places become
 * the profile's. */
#ifndef STOKE_IMPORT_PERF_DATA_PROFILE_H
#define STOKE_IMPORT_PERF_DATA_PROFILE_H

#include "import/importer.h"
#include "import/perf_data/session.h"
#include "import/perf_data/walk.h"
#include "model/processes.h"

/* A file that was mapped, or what stands for one. */
struct perf_file {
    struct str module;   /* as perf shows it; empty: not known */
    struct str build_id; /* lower-case hexadecimal, or empty */
    struct str symbol;   /* the one function that it is; or empty */
    object_id object;    /* 0 without a resolver */
    bool of_kernel;      /* the kernel or a module of it, a guest's, too */
    bool by_address;     /* it is asked for addresses, not for offsets in it */
    uint8_t marker;      /* enum frame_kind of what is no code but its symbol; or 0 */
};

/* A sample whose user chain is to come; its known part lies in `parts`. */
struct perf_pending {
    struct sample sample;
    size_t first, count;
    uint32_t previous; /* + 1: of those that wait for the same chain */
};

struct perf_pendings {
    struct perf_pending *items;
    size_t count, cap;
    frame_id *parts; /* places, leaf first */
    size_t part_count, part_cap;
};

struct perf_numbers;
struct perf_profile;

/* Who is given the samples of a recording, where that is not the profile that it becomes:
 * a printer of text, a counter of addresses. */
struct perf_taker {
    void *context;
    bool leaf_alone; /* stacks are where the sample was, and not who called it */

    /* A record that is no sample; what follows from it is known already. May be NULL. */
    void (*record)(void *context, struct perf_profile *p, const struct perf_record *r);

    /* A sample whose stack will be known later. What is put into sample->stack comes back
     * with the stack. False: the sample is not wanted. */
    bool (*sample)(void *context, struct perf_profile *p, const struct perf_sample *s,
                   struct sample *sample);

    /* The stack of a sample, in the order of the samples but for those whose chains come
     * later: places, leaf first. The last `unwound` ones come from a stack dump. */
    void (*stack)(void *context, struct perf_profile *p, const struct sample *sample,
                  const frame_id *places, size_t count, size_t unwound);

    /* All samples were given. */
    void (*end)(void *context, struct perf_profile *p);
};

/* Gives back the memory that the recording takes once it was read. */
struct perf_release {
    struct errand errand;
    struct source *input;
};

struct perf_profile {
    /* Carried from one part of a recording to the next: */
    struct processes processes;
    struct arena maps;       /* of what follows */
    struct strings keys;     /* of the files; their numbers are the files' */
    struct perf_file *files; /* [0]: not known */
    size_t file_cap, files_finished;
    struct perf_scope kernel, guest;
    struct idmap counters; /* by id: the last value */

    /* Of the part alone: */
    struct perf_data data;
    struct perf_release release;
    struct builder *b;
    const struct import_options *options;
    const struct resolver *resolver; /* or NULL */
    const struct perf_taker *taker;  /* or NULL: the profile */
    struct arena arena;

    struct perf_places places;
    struct name_job *jobs; /* by place, as far as they were asked for: its name */
    size_t named_count, job_cap;
    struct builder raw; /* stacks of places, and samples */
    frame_id *path;     /* the stack under way, leaf first */
    size_t path_count, path_cap;
    struct idmap
        seen_events; /* by the place of the event: the period of the last sample */
    uint64_t at, first_time; /* of the sample under way: its offset; of the first */

    unsigned hands; /* of the crew */
    struct perf_walk_settings walk;
    struct perf_walker **walkers; /* by hand */
    struct perf_numbers *numbers; /* by hand */
    struct perf_batch *batches;   /* a ring: those under way, then the open one */
    size_t batch_count, oldest_batch, batches_out;

    struct idmap wakers; /* by who was woken: the waker's stack of places, and thread */
    struct perf_pendings deferred; /* samples whose user chain is to come */
    size_t deferred_left;
    struct idmap cookies;                      /* to the last of those that wait for it */
    uint64_t lost_records, lost_samples, lost; /* by each kind of record; counted */
};

/* Whether perf script shows the period of the event's samples by default. */
static inline bool perf_prints_period(const struct perf_event *e)
{
    return e->type != PERF_TYPE_TRACEPOINT;
}

/* perf_data_files.c */

/* The files that every recording has. False when memory is short. */
bool perf_files_init(struct perf_profile *p);

/* A MMAP, MMAP2 or KSYMBOL record. */
void perf_file_mapped(struct perf_profile *p, const struct perf_record *r);

/* What is no code but stands in stacks, of FRAME_MARKER or FRAME_WAKER; 0 when memory is
 * short. */
uint32_t perf_file_marker(struct perf_profile *p, struct str name, enum frame_kind kind);

/* Names the files that were mapped since the last call. Once all is read, or as late as
 * can be: a file from a pipe tells build ids at its end, and modules of the kernel are
 * named by them. */
void perf_files_finish(struct perf_profile *p);

/* The file that stands for a wait whose reason is told by what it was called by. */
#define WAIT_MARK STR("[wait]")

/* What a sample of the event tells of waits: those of ours and of perf record --off-cpu.
 */
enum perf_wait perf_wait_of(const struct perf_event *e);

/* perf_data_stacks.c */

/* Who helps, or NULL. */
static inline const struct crew *perf_crew(const struct perf_profile *p)
{
    return p->resolver ? p->resolver->crew : NULL;
}

bool perf_stacks_init(struct perf_profile *p);
void perf_stacks_deinit(struct perf_profile *p);

/* Adds a sample, now or once its stack is complete. */
void perf_stacks_sample(struct perf_profile *p, const struct perf_sample *s,
                        const struct sample *sample);

/* The user chain that samples waited for. */
void perf_stacks_deferred(struct perf_profile *p, const struct perf_identity *id,
                          uint64_t time, const struct perf_deferred *chain);

/* Adds the samples whose user chains never came. */
void perf_stacks_give_up(struct perf_profile *p);

/* Adds all samples that are under way: the bytes of their records are about to go. */
void perf_stacks_unwind(struct perf_profile *p);

/* Keeps the turn of what is not a sample: the taker is given it, with an empty stack,
 * once the samples before it were. */
void perf_stacks_turn(struct perf_profile *p, const struct sample *turn);

/* perf_data_finish.c */

/* Asks for the names of the places that were not asked for yet, all together: p->jobs is
 * then filled. False when memory is short. */
bool perf_places_name(struct perf_profile *p);

/* Names the places and adds the samples to the profile. */
void perf_profile_finish(struct perf_profile *p);

/* Makes a profile of what a taker has collected so far: stacks of places and samples, as
 * it was given them. The recording may go on. False when memory is short. */
bool perf_profile_snapshot(struct perf_profile *p, const struct profile *raw,
                           struct builder *b);

/* Whether the recording's event of that number has samples so far. */
bool perf_event_seen(const struct perf_profile *p, size_t event);

/* perf_data_import.c: the number of the sample's thread among the profile's. */
thread_id perf_profile_thread(struct perf_profile *p, uint32_t pid, uint32_t tid);

/* Reads a recording and gives its samples to the taker. The builder gets the threads, the
 * facts and the warnings, and no sample. */
bool perf_data_replay(struct source *in, const struct import_options *options,
                      struct builder *b, const struct perf_taker *taker,
                      struct error *err);

#endif
