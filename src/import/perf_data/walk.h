/* SPDX-License-Identifier: Apache-2.0 */
/* From chains of addresses and stack dumps to places, a batch of samples at a time. This
 * is the part of the reader that any hand of a crew may do, several batches at once.
 *
 * A walk reads what does not change while it goes on: the bytes of the records, the
 * address spaces that the batch holds, the options. It writes what is the batch's or its
 * hand's. So each hand numbers the places that it meets by itself; with a batch come
 * those that are new, for the reader to number them for all, in the order of the
 * batches: whatever hands there are, the same recording gives the same numbers. */
#ifndef STOKE_IMPORT_PERF_DATA_WALK_H
#define STOKE_IMPORT_PERF_DATA_WALK_H

#include "base/crew.h"
#include "base/index.h"
#include "model/resolver.h"
#include "perf/perf_data.h"

/* So many dumps are unwound together: enough to keep several stacks in flight; and so
 * many samples are a batch at most. */
#define PERF_BATCH_DUMPS ((size_t)256)
#define PERF_BATCH_SAMPLES ((size_t)1024)

/* Files that every recording has. */
enum { FILE_NONE, FILE_KERNEL, FILE_GUEST_KERNEL, FILE_GUEST_USER };

/* An address in a file. */
struct perf_place {
    uint64_t address; /* as the resolver is asked for it */
    uint64_t pc;      /* as recorded, where it is to be kept; else 0 */
    uint32_t file;    /* the tag of its map */
    uint32_t version; /* of a JIT's code */
    bool is_call;
    bool of_waker; /* of the stack that ended a wait, not of the one that waited */
};

struct perf_places {
    struct perf_place *items; /* [0] is none */
    size_t count, cap;
    struct index index;
};

/* The number of the place, added where it is new; 0 when memory is short. */
frame_id perf_places_add(struct perf_places *p, struct arena *a,
                         const struct perf_place *place);

/* Where addresses of one mode are looked up, and since when that is so. */
struct perf_scope {
    space_id space;
    uint32_t version;
    uint32_t otherwise; /* the file of what is not mapped */
};

/* What a sample is where it tells of waits. */
enum perf_wait { WAIT_NONE, WAIT_OFF_CPU, WAIT_WAKER };

/* A sample in a batch. */
struct perf_held {
    struct sample sample;
    bool is_turn; /* what is no sample but keeps its turn: it has nothing of the below */

    struct perf_scope user; /* its space is held by the batch */
    uint32_t tid;
    uint8_t wait;          /* enum perf_wait, */
    uint32_t word;         /* and what it says (perf/off_cpu.h) */
    uint8_t mode, machine; /* enum perf_mode; enum architecture */
    bool has_chain, has_ip, from_branches, is_tracepoint;
    uint64_t ip;
    struct perf_words chain, branches;
    struct perf_registers registers;
    struct str stack;
    uint64_t jit_time; /* by a JIT's clock; TIME_NONE where the recording has another */

    /* What the walk finds. The path is leaf first: `known` places of the chain, at
     * `first` in the batch's, and `unwound` ones of the dump, at `unwound_first`. */
    size_t first, known, unwound_first, unwound;
    uint32_t job; /* of the dump, + 1; 0: none */
    uint8_t end;  /* enum unwind_end, where there is a job */
    bool is_cut;  /* marked so; or there is a dump, and nobody to unwind it */
    bool waits;   /* for its user chain, with that cookie */
    uint64_t cookie;
};

/* What walks have in common and leave as it is. */
struct perf_walk_settings {
    const struct resolver *resolver; /* NULL: dumps are not unwound */
    const struct spaces *spaces;
    bool leaf_alone;         /* stacks are where the sample was, and not who called it */
    bool keeps_pc, every_pc; /* of places: as a file's addresses, or as recorded */
};

struct perf_walker; /* what a hand has to itself */

struct perf_batch {
    struct errand errand;
    const struct perf_walk_settings *settings;
    struct perf_walker **walkers; /* by hand, made when first needed */

    struct arena arena;
    struct perf_scope kernel, guest; /* their spaces are held */
    struct perf_held *samples;
    size_t count, cap, dumps;

    unsigned hand;  /* whose places these are: */
    frame_id *path; /* by the hand's numbers */
    size_t path_count, path_cap;
    struct perf_place *learned; /* those new to the hand, in the order of their numbers */
    size_t learned_count, learned_cap;
    bool failed; /* memory was short */
};

/* The errand of a batch: walks all its samples. */
void perf_walk_batch(struct errand *batch, unsigned hand);

/* Walks a chain of user code that came by itself: into the batch's path, which is empty,
 * as hand 0. */
void perf_walk_user(struct perf_batch *batch, struct perf_words chain,
                    const struct perf_scope *user, uint64_t jit_time);

void perf_walker_destroy(struct perf_walker *w); /* NULL is allowed */

#endif
