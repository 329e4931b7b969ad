/* SPDX-License-Identifier: Apache-2.0 */
/* Building a profile.
 *
 * Two ways: BUILD_COUNT adds up weights per stack, event and thread, so memory grows with
 * what is distinct and an endless input holds steady; BUILD_KEEP keeps every sample with
 * its time and CPU, which time order and filters by time need.
 *
 * Every table interns: the same thing added twice has one id. Failure sticks: after an
 * allocation failed the functions return 0 and do nothing, and builder_finish says so. */
#ifndef STOKE_MODEL_BUILDER_H
#define STOKE_MODEL_BUILDER_H

#include "base/trie.h"
#include "model/profile.h"

enum build_mode { BUILD_COUNT, BUILD_KEEP };

/* The frames of one stack under way, in the order in which the input gives them. */
struct frame_path {
    frame_id *items;
    size_t count, cap;
    bool is_cut; /* frames were left out */
};

struct builder {
    struct profile *profile;
    enum build_mode mode;
    bool modules_alike; /* functions of one name are one, whatever modules they are of */
    struct frame_path path;
    void *grown; /* the column that was made room in last */
    size_t module_cap, frame_cap, thread_cap, event_cap, sample_cap;
    struct index modules, frames, threads, events;
    struct index samples;   /* where they are counted: their rows */
    struct trie stack_tree; /* the profile's stacks */
};

/* False when memory is short; the builder is then safe to deinit, and nothing else. */
bool builder_init(struct builder *b, enum build_mode mode);

/* Frees what was built and not handed out. */
void builder_deinit(struct builder *b);

/* Hands out the profile (the caller destroys it); NULL, with err set, when memory was
 * short at any time since init. */
struct profile *builder_finish(struct builder *b, struct error *err);

static inline bool builder_failed(const struct builder *b)
{
    return b->profile->arena.failed;
}

string_id builder_string(struct builder *b, struct str s);
module_id builder_module(struct builder *b, struct str path, struct str build_id);
frame_id builder_frame(struct builder *b, const struct frame *frame);
thread_id builder_thread(struct builder *b, int64_t pid, int64_t tid, struct str name);
event_id builder_event(struct builder *b, struct str name, enum unit unit);

/* A frame of which the input tells the name only. */
frame_id builder_named_frame(struct builder *b, struct str name);

/* The stack in which `frame` is called by `parent` (0: outermost). */
stack_id builder_push(struct builder *b, stack_id parent, frame_id frame);

/* The stack of a run of frames, each called by the one before it, the first by `parent`.
 * With `stacks` (count entries), tells the stack of each. */
stack_id builder_push_run(struct builder *b, stack_id parent, const frame_id *frames,
                          size_t count, stack_id *stacks);

/* Adds a sample. A weight that is not finite is refused with a warning. */
void builder_add(struct builder *b, const struct sample *sample);

/* Adds a sample of which the input tells only stack, event and weight. */
void builder_add_stack(struct builder *b, event_id event, stack_id stack, double weight);

/* Counts a stack that was cut because it is deeper than limits.depth. */
void builder_cut(struct builder *b);

/* The path: collect the frames of a stack, then make the stack of them. Frames behind the
 * first limits.depth are left out, and the stack that is made counts as cut. */
static inline void builder_path_clear(struct builder *b)
{
    b->path.count = 0;
    b->path.is_cut = false;
}
void builder_path_add(struct builder *b, frame_id frame);
stack_id builder_path_from_leaf(struct builder *b); /* the frames came leaf first */
stack_id builder_path_from_root(struct builder *b); /* outermost first */

/* Turns the path's frames from `from` on around: leaf first to outermost first. */
void builder_path_reverse(struct builder *b, size_t from);

/* Counts something that was left out or repaired. `what` is a literal, compared by its
 * text; the first place is kept. `line` 0: no line number, `text` may be empty. */
/* Notes that samples were lost, then, or at a time that is not known (TIME_NONE). */
void builder_lost(struct builder *b, uint64_t time, uint64_t count);

void builder_warn(struct builder *b, const char *what, uint64_t line, uint64_t column,
                  struct str text);
/* The same for what happened so many times (0: not at all), nobody knows where, or first
 * at that place. */
void builder_warn_times(struct builder *b, const char *what, uint64_t times);
void builder_warn_place(struct builder *b, const char *what, uint64_t times,
                        const struct place *first);
/* The same for what was worked out, so many times. */
void builder_infer_times(struct builder *b, const char *what, uint64_t times);
void builder_warn_offset(struct builder *b, const char *what, uint64_t offset);

/* Adds all of another profile: its tables are interned into this one's, its facts summed
 * up. The other stays the caller's. */
void builder_merge(struct builder *b, const struct profile *other);

/* The same of a builder, which is used up; one that nothing was added to yet just takes
 * its place. */
void builder_absorb(struct builder *b, struct builder *other);

/* A row that is not counted among the samples read: a sample of another profile, its ids
 * already mapped (transforms call builder_merge_facts beside it), or a further value,
 * for another event, of the sample added last. */
void builder_add_mapped(struct builder *b, const struct sample *sample);

/* What a transform is made of: new ids for another profile's rows. The arrays have one
 * entry per old id and belong to the builder's profile. NULL on failure. */
frame_id *builder_map_frames(struct builder *b, const struct profile *other);
thread_id *builder_map_threads(struct builder *b, const struct profile *other);
event_id *builder_map_events(struct builder *b, const struct profile *other);
module_id *builder_map_modules(struct builder *b, const struct profile *other);

/* Frames that stand for one of another profile's, outermost first. */
struct frame_run {
    uint32_t first, count; /* among frames that the caller has */
};

/* The other profile's stacks with a run in place of each frame: fills stacks, by the old
 * id; stacks[0] is 0. */
void builder_map_runs(struct builder *b, const struct profile *other,
                      const struct frame_run *runs, const frame_id *frames,
                      stack_id *stacks);

/* Adds up the other profile's facts and warnings. */
void builder_merge_facts(struct builder *b, const struct profile *other);

#endif
