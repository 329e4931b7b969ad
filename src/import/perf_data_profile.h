/* From the records of a perf.data to a profile: what the importer's files share.
 *
 * The way: each sample's chain becomes a run of places, an address in a file each; runs
 * are kept as stacks of places in a builder of their own, so that a stack met a thousand
 * times is kept once. Stack dumps wait until there are enough to unwind together. At the
 * end every place is named, all in one go, and the stacks of places become the profile's.
 */
#ifndef STOKE_IMPORT_PERF_DATA_PROFILE_H
#define STOKE_IMPORT_PERF_DATA_PROFILE_H

#include "import/importer.h"
#include "import/perf_data.h"
#include "model/processes.h"

/* A file that was mapped, or what stands for one. */
struct perf_file {
    struct str module;   /* as perf shows it; empty: not known */
    struct str build_id; /* lower-case hexadecimal, or empty */
    struct str symbol;   /* the one function that it is; or empty */
    object_id object;    /* 0 without a resolver */
    bool of_kernel;      /* the kernel or a module of it, a guest's, too */
    bool by_address;     /* it is asked for addresses, not for offsets in it */
};

/* Files that every recording has. */
enum { FILE_NONE, FILE_KERNEL, FILE_GUEST_KERNEL, FILE_GUEST_USER };

/* An address in a file. */
struct perf_place {
    uint64_t address; /* as the resolver is asked for it */
    uint64_t pc;      /* as recorded, where it is to be kept; else 0 */
    uint32_t file;
    bool is_call;
};

/* An entry of the small memory of addresses looked up last. */
struct perf_recent {
    uint64_t pc;
    uint32_t version, place; /* of what was mapped; the place | is_call << 31 */
};

#define PERF_RECENT 8192

/* Where addresses of one mode are looked up, and since when that is so. */
struct perf_scope {
    space_id space;
    uint32_t version;
    uint32_t otherwise; /* the file of what is not mapped */
};

/* A sample whose stack is not complete yet; its known part lies in `parts`. */
struct perf_pending {
    struct sample sample;
    size_t first, count;
    uint32_t job;      /* + 1; 0: it only keeps its turn */
    uint32_t previous; /* + 1: of those that wait for the same chain */
    struct perf_scope user;
};

struct perf_pendings {
    struct perf_pending *items;
    size_t count, cap;
    frame_id *parts; /* places, leaf first */
    size_t part_count, part_cap;
};

struct perf_batch;
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

struct perf_profile {
    struct perf_data data;
    struct processes processes;
    struct builder *b;
    const struct import_options *options;
    const struct resolver *resolver; /* or NULL */
    const struct perf_taker *taker;  /* or NULL: the profile */
    struct arena arena;

    struct strings keys;     /* of the files; their numbers are the files' */
    struct perf_file *files; /* [0]: not known */
    size_t file_cap, files_finished;
    struct perf_scope kernel, guest;

    struct perf_place *places; /* [0] is none */
    size_t place_count, place_cap;
    struct index place_index;
    struct name_job *jobs; /* by place, as far as they were asked for: its name */
    size_t named_count, job_cap;
    struct perf_recent *recent;
    struct builder raw; /* stacks of places, and samples */
    frame_id *path;     /* the chain under way, leaf first */
    size_t path_count, path_cap;
    uint32_t *events; /* places among the recording's, in the order of appearance */
    size_t event_count, event_cap;
    struct idmap seen_events;
    struct idmap counters; /* by id: the last value */

    struct perf_batch *batch;      /* dumps to unwind; NULL before the first */
    struct perf_pendings deferred; /* samples whose user chain is to come */
    size_t deferred_left;
    struct idmap cookies; /* to the last of those that wait for it */
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

/* Names the files that were mapped since the last call. Once all is read, or as late as
 * can be: a file from a pipe tells build ids at its end, and modules of the kernel are
 * named by them. */
void perf_files_finish(struct perf_profile *p);

/* perf_data_stacks.c */
bool perf_stacks_init(struct perf_profile *p);
void perf_stacks_deinit(struct perf_profile *p);

/* Adds a sample, now or once its stack is complete. */
void perf_stacks_sample(struct perf_profile *p, const struct perf_sample *s,
                        const struct sample *sample);

/* The user chain that samples waited for. */
void perf_stacks_deferred(struct perf_profile *p, uint32_t pid, uint32_t tid,
                          const struct perf_deferred *chain);

/* Adds the samples whose user chains never came. */
void perf_stacks_give_up(struct perf_profile *p);

/* Unwinds what waits in the batch: its bytes are about to go. */
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

/* perf_data_import.c: the number of the sample's thread among the profile's. */
thread_id perf_profile_thread(struct perf_profile *p, uint32_t pid, uint32_t tid);

/* Reads a recording and gives its samples to the taker. The builder gets the threads, the
 * facts and the warnings, and no sample. */
bool perf_data_replay(struct source *in, const struct import_options *options,
                      struct builder *b, const struct perf_taker *taker,
                      struct error *err);

#endif
