/* SPDX-License-Identifier: Apache-2.0 */
/* Applies the records of libstoke_heap.so (base/heap_format.h) in their order: the live
 * blocks of each process, and totals for each allocating thread and stack.
 *
 * The records come from another process and may be damaged: those that make no sense are
 * counted and ignored. */
#ifndef STOKE_RECORD_HEAP_EVENTS_H
#define STOKE_RECORD_HEAP_EVENTS_H

#include "base/heap_format.h"
#include "base/idmap.h"
#include "model/builder.h"
#include "model/resolver.h"
#include "record/heap_classes.h"
#include "record/heap_timeline.h"

/* Allocations of one thread at one stack, of one class of sizes. In a sampled recording, the values are
 * estimates of all allocations: each sample counts 1 / P(it was sampled) times. */
struct heap_site {
    thread_id thread; /* of `raw` */
    stack_id stack;   /* of `raw`: its frames are indexes of locations */
    double bytes, count, temporary;
    double live;   /* bytes */
    double leaked; /* live when their process ended */
    double at_peak;
    /* Blocks that are the samples of `live` and `at_peak`. */
    uint64_t live_blocks, blocks_at_peak;
    uint64_t peak;  /* number of the peak that the values at the peak belong to */
    uint32_t slice; /* its last one in the timeline, or 0 */
    uint32_t size_class;
};

/* What was released of a site, by its lifetime. */
struct heap_releases {
    double bytes[HEAP_LIFETIMES], count[HEAP_LIFETIMES];
    uint64_t samples[HEAP_LIFETIMES];
};

/* The sites of one thread at one stack. */
struct heap_group {
    thread_id thread;
    stack_id stack;
    uint32_t sites[HEAP_SIZES]; /* by class; 0: none */
};

/* An address in a file. */
struct heap_location {
    uint32_t file; /* index in files; 0: unknown */
    uint64_t pc;
    uint64_t address; /* the offset in the file */
    bool is_call;
};

struct heap_file {
    struct str path;
    object_id object;
    bool is_recorder; /* libstoke_heap.so itself */
};

/* A live block; address 0: an empty slot. A program may have millions of them. The number of
 * allocations and bytes that a block stands for follows from its size and is not stored. */
struct heap_block {
    uint64_t time;
    uint64_t address : HEAP_ADDRESS_BITS;
    uint64_t size_high : 16;
    uint32_t size_low; /* no block is larger than the addresses allow */
    uint32_t site;
};

/* Open addressing; the slots have no gap between a block and its hash. At most two thirds
 * of them are used. */
struct heap_blocks {
    struct heap_block *slots;
    size_t mask, count;
    struct arena arena; /* owns the slots: in large pages, as each access is elsewhere */
};

/* The image of a process, from its start or exec to its end or exec. */
struct heap_process {
    uint32_t pid;
    bool is_ended;
    space_id space;
    space_id listed;     /* the code of the list that is being read, */
    uint32_t lists;      /* and how many threads put one */
    uint64_t rule_space; /* as the library numbers it */
    struct heap_blocks blocks;
    uint32_t last; /* site of the allocation that was the last event, + 1 */
    uint64_t last_address;
};

/* Where records come from: a thread. Zeroed for a new thread, except for `groups`. */
struct heap_origin {
    uint32_t pid;
    uint32_t process; /* index + 1 */
    thread_id thread;
    bool is_moving;           /* between the records of a realloc, */
    struct heap_block moving; /* of this block, */
    unsigned lifetime;        /* with a lifetime of this class */
    uint32_t *groups;         /* by number of the stack; owned, or NULL */
};

/* A record of any kind. */
struct heap_entry {
    unsigned kind; /* enum heap_record_kind */
    uint32_t flags, stack;
    uint64_t time, address, size;
    struct str payload; /* of a long one */
};

struct heap_events {
    const struct resolver *resolver; /* NULL: stacks have no frames */
    uint64_t sample_bytes;           /* 0: every event was recorded */
    /* Returns false if a process has ended and all its records were applied. */
    bool (*runs)(void *context, uint32_t pid);
    void *context; /* of `runs` */
    /* The rules that the library reads: HEAP_RULES, or NULL. */
    struct heap_rule *rules;

    struct arena arena;
    struct builder raw; /* threads, and stacks of locations */
    struct spaces spaces;
    struct idmap by_pid; /* index + 1 of the latest image */
    struct idmap file_numbers, location_numbers, group_numbers;
    struct idmap stack_numbers; /* stack_id + 1, by the library's hash */
    struct heap_process *processes;
    struct heap_file *files;         /* [0] is unknown */
    struct heap_location *locations; /* [0] is unused */
    struct heap_site *sites;         /* [0] is unused */
    struct heap_releases *releases;  /* by site */
    struct heap_group *groups;       /* [0] is unused */
    size_t process_count, process_cap, file_count, file_cap, location_count, location_cap,
        site_count, site_cap, release_cap, group_count, group_cap;

    struct heap_timeline timeline;
    struct heap_slice no_slice; /* instead of one of the timeline, when out of memory */
    uint64_t now;               /* time of the last record */
    double unit_ns;             /* of times, as far as it is known; the caller sets it */
    double live, most;          /* bytes, now and at the peak */
    uint64_t peak;              /* number of the largest peak so far */
    uint64_t peak_time;
    uint64_t records, allocations, truncated, damaged, untracked;
    uint64_t unknown; /* releases of blocks whose allocation is not known */
    bool is_finishing;
    bool failed; /* out of memory: what came later is missing */

    uint64_t addresses[UNWIND_FRAMES_MAX]; /* scratch of unwinding */
    uint32_t signals[UNWIND_FRAMES_MAX / 32];
};

/* False when out of memory; call heap_events_deinit in either case. The caller sets
 * `runs`; NULL: processes run until heap_events_finish. */
bool heap_events_init(struct heap_events *e, const struct resolver *resolver,
                      uint64_t sample_bytes);
void heap_events_deinit(struct heap_events *e);

/* Reads the record at the start of `bytes`. Returns its length; 0 if it is damaged. */
size_t heap_event_read(struct heap_entry *event, struct str bytes);

/* The time of that record, if there are 8 bytes. */
uint64_t heap_event_time(struct str bytes);

/* Reads what heap_events_apply will need into the CPU's cache. */
void heap_events_prefetch(const struct heap_events *e, const struct heap_origin *from,
                          const struct heap_entry *event);

void heap_events_apply(struct heap_events *e, struct heap_origin *from,
                       const struct heap_entry *event);

/* Prepares an origin for another thread. */
void heap_origin_reset(struct heap_origin *from, uint32_t pid);
void heap_origin_deinit(struct heap_origin *from);

/* Ends processes that have ended by now, but not the first one. */
void heap_events_end_dead(struct heap_events *e);

/* Ends all processes: their live blocks are leaked. In the timeline they remain live. */
void heap_events_finish(struct heap_events *e);

/* The bytes of the site that were live at the peak. */
static inline double heap_site_peak(const struct heap_events *e,
                                    const struct heap_site *site)
{
    return site->peak == e->peak ? site->at_peak : site->live;
}

/* The number of recorded blocks that are these bytes. */
static inline uint64_t heap_site_peak_blocks(const struct heap_events *e,
                                             const struct heap_site *site)
{
    return site->peak == e->peak ? site->blocks_at_peak : site->live_blocks;
}

#endif
