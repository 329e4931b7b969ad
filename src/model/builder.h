/* SPDX-License-Identifier: Apache-2.0 */
/* Building a profile.
 *
 * There are two modes: BUILD_COUNT adds up the weights per stack, event, thread and
 * labels, so memory grows with distinct items only, and an endless input needs constant
 * memory. BUILD_KEEP keeps each sample with its time and CPU, which time order and time
 * filters need.
 *
 * Every table interns: if the same item is added twice, it has one ID. Errors are sticky:
 * after a failed allocation, the functions return 0 and do nothing, and builder_finish
 * fails. */
#ifndef STOKE_MODEL_BUILDER_H
#define STOKE_MODEL_BUILDER_H

#include "base/limits.h"

#include "base/trie.h"
#include "model/profile.h"

enum build_mode { BUILD_COUNT, BUILD_KEEP };

/* The frames of the current stack, in the order of the input. */
struct frame_path {
    frame_id *items;
    size_t count, cap;
    bool is_cut; /* frames were left out */
};

struct builder {
    struct profile *profile;
    enum build_mode mode;
    bool
        modules_alike; /* functions of the same name are one, even in different modules */
    struct frame_path path;
    size_t module_cap, frame_cap, thread_cap, event_cap, sample_cap;
    size_t label_cap, sample_label_cap, call_cap;
    struct index modules, frames, threads, events, labels;
    struct index samples;   /* BUILD_COUNT: their rows */
    struct trie stack_tree; /* the profile's stacks */
    struct trie label_tree; /* the profile's label sets; begins with the first one */
    const struct limits *limits;
};

/* False when out of memory; then only builder_deinit may be called. */
bool builder_init(struct builder *b, enum build_mode mode);

/* Sets the limits, which outlive the builder; limits_default at first. NULL: the
 * defaults. */
void builder_set_limits(struct builder *b, const struct limits *limits);

/* Frees the profile, unless builder_finish returned it. */
void builder_deinit(struct builder *b);

/* Returns the profile, which the caller destroys; NULL, with err set, if any allocation
 * failed since builder_init. */
struct profile *builder_finish(struct builder *b, struct error *err);

static inline bool builder_failed(const struct builder *b)
{
    return b->profile->arena.failed;
}

/* Frees an importer's scratch memory. If an allocation of it failed, the builder has
 * failed, too. */
static inline void builder_end_scratch(struct builder *b, struct arena *scratch)
{
    b->profile->arena.failed |= scratch->failed;
    arena_deinit(scratch);
}

string_id builder_string(struct builder *b, struct str s);
module_id builder_module(struct builder *b, struct str path, struct str build_id);
frame_id builder_frame(struct builder *b, const struct frame *frame);
thread_id builder_thread(struct builder *b, int64_t pid, int64_t tid, struct str name);
event_id builder_event(struct builder *b, struct str name, enum unit unit);

/* Makes the event a member of a group, which is named by its first event. */
void builder_event_group(struct builder *b, event_id event, event_id group);

/* A frame with a name and no other information. */
frame_id builder_named_frame(struct builder *b, struct str name);

/* The stack in which `frame` is called by `parent` (0: outermost). */
stack_id builder_push(struct builder *b, stack_id parent, frame_id frame);

/* The stack of a run of frames: each is called by the one before it, the first by
 * `parent`. If `stacks` is not NULL, it receives the stack of each frame (count
 * entries). */
stack_id builder_push_run(struct builder *b, stack_id parent, const frame_id *frames,
                          size_t count, stack_id *stacks);

/* Adds a sample with labels (sample_labels.h). A weight that is not finite is refused with
 * a warning. */
void builder_add_labelled(struct builder *b, const struct sample *sample,
                          label_set_id labels);

/* The same without labels. */
static inline void builder_add(struct builder *b, const struct sample *sample)
{
    builder_add_labelled(b, sample, 0);
}

/* Makes room for that many more rows, if each sample is a row. For importers that know
 * their number: an array that grows has up to twice the size. */
void builder_reserve_samples(struct builder *b, size_t rows);

/* Adds a sample with stack, event and weight only. */
void builder_add_stack(struct builder *b, event_id event, stack_id stack, double weight);

/* Adds a call that the input states. A profile that also gets samples of another input
 * loses its calls unless that has them, too (builder_merge). */
void builder_add_call(struct builder *b, const struct stated_call *call);

/* Counts a stack that was truncated because it is deeper than limits.depth. */
void builder_cut(struct builder *b);

/* The path collects the frames of a stack, then the stack is made of them. Frames after
 * the first limits.depth are left out, and the stack counts as truncated. */
static inline void builder_path_clear(struct builder *b)
{
    b->path.count = 0;
    b->path.is_cut = false;
}
void builder_path_add(struct builder *b, frame_id frame);
stack_id builder_path_from_leaf(struct builder *b); /* the input gives the leaf first */
stack_id builder_path_from_root(
    struct builder *b); /* the input gives the outermost frame first */

/* Reverses the path's frames, starting at index `from`. */
void builder_path_reverse(struct builder *b, size_t from);

/* Records lost samples, with their time or TIME_NONE. */
void builder_lost(struct builder *b, uint64_t time, uint64_t count);

/* Counts an item that was left out or repaired. `what` is a literal and is compared by
 * its text; the first location is recorded. `line` 0: no line number; `text` may be
 * empty. */
void builder_warn(struct builder *b, const char *what, uint64_t line, uint64_t column,
                  struct str text);
/* Counts `times` items (0: none) without a location, or with the first location. */
void builder_warn_times(struct builder *b, const char *what, uint64_t times);
void builder_warn_location(struct builder *b, const char *what, uint64_t times,
                           const struct input_location *first);
/* Counts values that were inferred. */
void builder_infer_times(struct builder *b, const char *what, uint64_t times);
void builder_warn_offset(struct builder *b, const char *what, uint64_t offset);

/* Adds another profile: interns its tables and adds up its facts. The caller keeps the
 * other profile. */
void builder_merge(struct builder *b, const struct profile *other);

/* The same for a builder, which is destroyed. If nothing was added to b yet, b takes over
 * its contents. */
void builder_absorb(struct builder *b, struct builder *other);

/* Adds a row that does not count as a sample that was read: a sample of another profile
 * with mapped IDs (transforms also call builder_merge_facts), or a further value of the
 * sample that was added last, for another event. */
void builder_add_mapped_labelled(struct builder *b, const struct sample *sample,
                                 label_set_id labels);
static inline void builder_add_mapped(struct builder *b, const struct sample *sample)
{
    builder_add_mapped_labelled(b, sample, 0);
}

/* Maps the IDs of another profile for transforms. The arrays have one entry per old ID;
 * the builder's profile owns them. NULL on failure. */
frame_id *builder_map_frames(struct builder *b, const struct profile *other);
thread_id *builder_map_threads(struct builder *b, const struct profile *other);
event_id *builder_map_events(struct builder *b, const struct profile *other);
module_id *builder_map_modules(struct builder *b, const struct profile *other);

/* Frames that replace one frame of another profile, outermost first. */
struct frame_run {
    uint32_t first, count; /* in the caller's array of frames */
};

/* Maps the other profile's stacks and replaces each frame by a run. Fills `stacks`,
 * indexed by the old ID; stacks[0] is 0. */
void builder_map_runs(struct builder *b, const struct profile *other,
                      const struct frame_run *runs, const frame_id *frames,
                      stack_id *stacks);

/* Adds up the other profile's facts and warnings. */
void builder_merge_facts(struct builder *b, const struct profile *other);

#endif
