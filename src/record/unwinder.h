/* SPDX-License-Identifier: Apache-2.0 */
/* The stage that turns stack dumps into call chains during the recording: samples with
 * registers and a part of the stack are passed on with return addresses instead, which take a
 * hundredth of the space.
 * It tracks the mappings of all processes, and unwinds stacks in batches (src/unwind). Memory
 * does not grow with the recording: files that no process maps any more are freed, and tables
 * are limited by TABLES_MOST.
 * If samples also contain the chain that the kernel made by frame pointers, it is used as far as
 * it is correct: instead of the dump if all code keeps frame pointers, and to continue where the
 * dump ends.
 * A truncated stack (the dump was too short, or it has more frames than UNWIND_FRAMES_MAX) ends
 * with a marker without anything after it (PERF_CONTEXT_USER): perf skips it, stoke's reader
 * counts the stack as truncated. A stack that ends in code without unwind information ends with
 * two. Such a marker also stands before an address that is not a return
 * address: one that a signal interrupted, and the trampoline that its handler returns to. */
#ifndef STOKE_RECORD_UNWINDER_H
#define STOKE_RECORD_UNWINDER_H

#include "base/idmap.h"
#include "model/space.h"
#include "model/unwind_gaps.h"
#include "record/record.h"
#include "record/thread_counts.h"
#include "resolve/object.h"

#define UNWINDER_BATCH 64

/* A file that processes map. */
struct unwinder_file {
    uint64_t key;          /* identifies it; 0: no file has this id */
    struct object *object; /* opened on first use; or NULL */
    struct str path;       /* in the files' arena */
    struct str build_id;   /* hexadecimal; or empty */
    uint32_t pid;          /* a process that mapped it */
    uint32_t next_free;    /* of an unused id: the next unused one */
    bool is_jit;
    bool is_mapped; /* during the search for unused files */
    bool is_awake;  /* pages of it may be in memory */
    uint8_t frames; /* enum unwinder_frames */
};

/* Whether a file's code keeps frame pointers. */
enum unwinder_frames {
    FRAMES_UNKNOWN,
    FRAMES_USED,
    FRAMES_OMITTED,
    FRAMES_OF_GO, /* Go code does, other code in the file does not */
};

struct unwinder_batch;

struct unwinder_counts {
    uint64_t stacks;         /* of user code */
    uint64_t by_frames;      /* of them: by frame pointers alone */
    uint64_t truncated;      /* the dump was too short, or the stack too deep */
    uint64_t switched;       /* the callers are on another stack, not in the dump */
    uint64_t broken;         /* a frame without unwind information */
    uint64_t no_file;        /* the instruction pointer is in no file */
    struct unwind_gaps gaps; /* `broken`, by file */
};

/* A process whose threads have all ended, with its mappings at that time. The kernel still works
 * for it afterwards, so that later samples need them. */
struct unwinder_exit {
    uint32_t pid;
    space_id space;
};

struct record_unwinder {
    const struct record_layout *layout; /* of the input */
    struct record_sink next;
    const struct resolve_settings *settings;
    struct os_process_probe *probe; /* set by the caller; or NULL */
    uint64_t registers;             /* the mask of the samples */
    struct spaces spaces;
    space_id *space_of; /* by process id */
    uint32_t pid_limit;
    struct unwinder_exit *exits; /* of this round */
    size_t exit_count, exit_cap;
    struct thread_counts threads; /* a process lives longer than its main thread */
    struct arena arena;           /* the cache's */
    struct unwinder_file *files;  /* [0] is none */
    size_t file_count, file_cap;
    size_t known;       /* files, without unused ids */
    size_t known_limit; /* above it, unused files are searched for */
    uint32_t free_number;
    struct arena
        texts; /* of the files and of `numbers`: built again when files are removed */
    struct idmap numbers; /* ids of files, by key */
    struct unwind_cache *cache;
    size_t accesses; /* accesses to files since pages were released */
    struct unwinder_batch *batch;
    struct record_maker maker;
    struct unwinder_counts counts;
    uint32_t *no_file_of; /* counts.no_file, by process id */
};

/* `registers` is the mask of the sampled registers. Must not be moved; deinit it in any case. */
bool record_unwinder_init(struct record_unwinder *u, const struct record_layout *layout,
                          uint64_t registers, const struct resolve_settings *settings,
                          struct record_sink next, struct error *err);
void record_unwinder_deinit(struct record_unwinder *u); /* also if it is all zeros */

struct record_sink record_unwinder_sink(struct record_unwinder *u);

/* unwinder_frames.c: use of chains by frame pointers. `chain` is the user part of a chain, in the
 * kernel's form. */

/* Makes the chain of callers of `job`, whose registers, stack and space are set, by frame
 * pointers only. False, with nothing changed, if that would not be correct. */
bool unwinder_follow_frames(struct record_unwinder *u, struct unwind_job *job,
                            struct str chain);

/* Continues after the last frame that was found in the dump. */
void unwinder_go_on(struct record_unwinder *u, struct unwind_job *job, struct str chain);

/* unwinder.c: the unwind table for an offset in a file, and the file; NULL if there is none. */
const struct unwind_table *unwinder_table_at(void *unwinder, object_id number,
                                             uint64_t offset);
struct unwinder_file *unwinder_file_of(struct record_unwinder *u, object_id number);

/* Changes the attributes of an event to those of its samples after this stage: no dumps. */
void record_unwinder_attr(struct perf_attr *attr);

#endif
