/* SPDX-License-Identifier: Apache-2.0 */
/* The stage that makes call chains of stack dumps as they come: samples that hold
 * registers and a part of the stack go on with the addresses of their callers instead,
 * which take a hundredth of the room.
 *
 * It follows the maps of all processes, and unwinds many stacks at a time (src/unwind).
 * Memory does not grow with the recording: what no process has mapped any more is let go,
 * and of the tables that are made as much is kept as TABLES_MOST says.
 *
 * Where samples have the chain that the kernel made by frame pointers, too, it is used as
 * far as it is right: in place of the dump where all the code keeps frame pointers, and
 * to go on where the dump ends.
 *
 * A stack of which only the inner part is known, as the dump was too short or there are
 * more frames than UNWIND_FRAMES_MAX, ends with a marker without anything behind it
 * (PERF_CONTEXT_USER): perf passes over it, stoke's reader counts the stack as truncated.
 * Such a marker also stands before an address that is not a return address: what a signal
 * interrupted, and the trampoline that its handler returns to.
 */
#ifndef STOKE_RECORD_UNWINDER_H
#define STOKE_RECORD_UNWINDER_H

#include "base/idmap.h"
#include "model/space.h"
#include "record/record.h"
#include "resolve/object.h"

#define UNWINDER_BATCH 64

/* A file that processes have mapped. */
struct unwinder_file {
    uint64_t key;          /* of what it is; 0: there is none of this number */
    struct object *object; /* once what it tells of stacks was asked for */
    struct str path;       /* in the files' arena */
    struct str build_id;   /* hexadecimal; or empty */
    uint32_t pid;          /* one that mapped it */
    uint32_t next_free;    /* of a number without a file: the next of those */
    bool is_jit;
    bool is_mapped; /* while it is found out what can go */
    bool is_awake;  /* bytes of it may be in memory */
    uint8_t frames; /* enum unwinder_frames */
};

/* Whether a file's code keeps frame pointers. */
enum unwinder_frames {
    FRAMES_NOT_LOOKED_AT,
    FRAMES_KEPT,
    FRAMES_OMITTED,
    FRAMES_OF_GO, /* Go's own code does, and other code in the file does not */
};

struct unwinder_batch;

struct unwinder_counts {
    uint64_t stacks;    /* of user code */
    uint64_t by_frames; /* of them: by frame pointers alone */
    uint64_t truncated; /* of them: the dump was too short, or the stack too deep */
    uint64_t broken;    /* of them: no rule led further */
    uint64_t no_file;   /* of them: where the program was is in no file */
};

struct record_unwinder {
    const struct record_layout *layout; /* of the records that come */
    struct record_sink next;
    const struct resolve_settings *settings;
    uint64_t registers; /* the mask that samples have */
    struct spaces spaces;
    space_id *space_of; /* by process */
    uint32_t pid_limit;
    struct arena arena;          /* the cache's */
    struct unwinder_file *files; /* [0] is none */
    size_t file_count, file_cap;
    size_t known;       /* files, without the numbers that are free */
    size_t known_limit; /* from there on it is looked for what can go */
    uint32_t free_number;
    struct arena texts;   /* the files', and of `numbers`: made anew when files go */
    struct idmap numbers; /* of files, by key */
    struct unwind_cache *cache;
    size_t looks; /* into files, since what was read was let go */
    struct unwinder_batch *batch;
    struct record_maker maker;
    struct unwinder_counts counts;
    uint32_t *no_file_of; /* counts.no_file, by process */
};

/* `registers` is the mask of those that were asked for. Not to be moved; deinit it in any
 * case. */
bool record_unwinder_init(struct record_unwinder *u, const struct record_layout *layout,
                          uint64_t registers, const struct resolve_settings *settings,
                          struct record_sink next, struct error *err);
void record_unwinder_deinit(struct record_unwinder *u); /* also of one that is all 0 */

struct record_sink record_unwinder_sink(struct record_unwinder *u);

/* unwinder_frames.c: what chains by frame pointers are good for. `chain` is the user part
 * of one, as the kernel has it. */

/* Makes the chain of callers of `job`, whose registers, stack and space are set, by frame
 * pointers alone. False where that would not be right, with nothing changed. */
bool unwinder_follow_frames(struct record_unwinder *u, struct unwind_job *job,
                            struct str chain);

/* Goes on behind the last of the frames that were found in the dump. */
void unwinder_go_on(struct record_unwinder *u, struct unwind_job *job, struct str chain);

/* unwinder.c: the table for an offset in a file, and what is known of the file; NULL for
 * none. */
const struct unwind_table *unwinder_table_at(void *unwinder, object_id number,
                                             uint64_t offset);
struct unwinder_file *unwinder_file_of(struct record_unwinder *u, object_id number);

/* What is said of an event whose samples went through: without the dump. */
void record_unwinder_attr(struct perf_attr *attr);

#endif
