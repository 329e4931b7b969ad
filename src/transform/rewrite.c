/* SPDX-License-Identifier: Apache-2.0 */
#include "transform/rewrite.h"
#include "model/sample_labels.h"

bool rewrite_init(struct rewrite *r, const struct profile *from, struct builder *to,
                  struct error *err)
{
    *r = (struct rewrite){.from = from, .to = to};
    struct arena *a = &r->arena;
    r->modules = arena_zalloc(a, from->module_count, sizeof *r->modules);
    r->frames = arena_zalloc(a, from->frame_count, sizeof *r->frames);
    r->threads = arena_zalloc(a, from->thread_count, sizeof *r->threads);
    r->stacks = arena_zalloc(a, from->stack_count, sizeof *r->stacks);
    r->label_sets = arena_zalloc(a, from->label_set_count + 1, sizeof *r->label_sets);
    return !a->failed || error_memory(err);
}

void rewrite_deinit(struct rewrite *r)
{
    arena_deinit(&r->arena);
}

static module_id rewrite_module(struct rewrite *r, module_id old)
{
    const struct module *m = &r->from->modules[old];
    if (old && !r->modules[old])
        r->modules[old] = builder_module(r->to, profile_string(r->from, m->path),
                                         profile_string(r->from, m->build_id));
    return r->modules[old];
}

frame_id rewrite_copy_frame(struct rewrite *r, frame_id old, const struct str *name)
{
    struct frame f = r->from->frames[old];
    f.name = builder_string(r->to, name ? *name : profile_string(r->from, f.name));
    f.file = builder_string(r->to, profile_string(r->from, f.file));
    f.module = rewrite_module(r, f.module);
    return builder_frame(r->to, &f);
}

frame_id rewrite_frame(struct rewrite *r, frame_id old)
{
    if (old && !r->frames[old])
        r->frames[old] = r->frame ? r->frame(r, old) : rewrite_copy_frame(r, old, NULL);
    return r->frames[old];
}

static thread_id rewrite_thread(struct rewrite *r, thread_id old)
{
    const struct thread *t = &r->from->threads[old];
    if (old && !r->threads[old])
        r->threads[old] =
            builder_thread(r->to, t->pid, t->tid, profile_string(r->from, t->name));
    return r->threads[old];
}

static label_set_id rewrite_labels(struct rewrite *r, label_set_id old)
{
    if (old && !r->label_sets[old])
        r->label_sets[old] = builder_copy_label_set(r->to, r->from, old);
    return r->label_sets[old];
}

/* True if the sample remains; *s is then the copy to add. */
static bool row_stays(struct rewrite *r, size_t i, struct sample *s)
{
    *s = r->from->samples[i];
    r->labels = profile_labels(r->from, i);
    r->index = i;
    return (r->events[s->event] || !s->event) && (!r->row || r->row(r, s));
}

static stack_id stand_in(const struct rewrite *r, stack_id old)
{
    return r->instead ? r->instead[old] : old;
}

/* The old stack whose new stack is the caller of the new stack for `old`. */
static stack_id caller_of(const struct rewrite *r, stack_id old)
{
    const struct stack *s = &r->from->stacks[old];
    stack_id caller = r->begins && r->begins[s->frame] ? 0 : stand_in(r, s->parent);
    return caller == STACK_DROPPED ? 0 : caller;
}

/* Marks the stacks of samples and their callers. */
static unsigned char *mark_needed(struct rewrite *r)
{
    const struct profile *from = r->from;
    unsigned char *needed = arena_zalloc(&r->arena, from->stack_count, 1);
    struct sample s;
    size_t rows = 0;
    if (!needed)
        return NULL;
    for (size_t i = 0; i < from->sample_count; i++) {
        stack_id to = stand_in(r, from->samples[i].stack);
        if (to != STACK_DROPPED && row_stays(r, i, &s)) {
            needed[to] = 1;
            rows++;
        }
    }
    builder_reserve_samples(r->to, rows);
    for (stack_id i = (stack_id)from->stack_count; i-- > 1;)
        if (needed[i])
            needed[caller_of(r, i)] = 1;
    return needed;
}

static bool map_stacks(struct rewrite *r)
{
    const struct profile *from = r->from;
    unsigned char *needed = mark_needed(r);
    for (stack_id i = 1; needed && i < from->stack_count; i++) {
        if (!needed[i])
            continue;
        stack_id parent = r->stacks[caller_of(r, i)];
        r->stacks[i] = r->push ? r->push(r, parent, i)
                               : builder_push(r->to, parent,
                                              rewrite_frame(r, from->stacks[i].frame));
    }
    return needed != NULL;
}

/* The new stack of a sample with old IDs. */
static stack_id stack_of_sample(struct rewrite *r, struct sample *s)
{
    if (r->make_stack)
        return r->make_stack(r, s);
    stack_id to = stand_in(r, s->stack);
    return to == STACK_DROPPED ? to : r->stacks[to];
}

bool rewrite_run(struct rewrite *r, struct error *err)
{
    struct sample s;
    if (!r->events)
        r->events = builder_map_events(r->to, r->from);
    if (!r->events || (!r->make_stack && !map_stacks(r)))
        return error_memory(err);
    for (size_t i = 0; i < r->from->sample_count && !builder_failed(r->to); i++) {
        bool stays = row_stays(r, i, &s);
        stack_id stack = stays ? stack_of_sample(r, &s) : STACK_DROPPED;
        if (stack == STACK_DROPPED) {
            r->to->profile->facts.filtered = true;
            continue;
        }
        s.event = r->events[s.event];
        s.thread = rewrite_thread(r, s.thread);
        s.stack = stack;
        builder_add_mapped_labelled(r->to, &s, rewrite_labels(r, r->labels));
    }
    return !r->arena.failed || error_memory(err);
}

frame_id *rewrite_outermost_frames(struct rewrite *r)
{
    const struct profile *from = r->from;
    frame_id *outermost = arena_zalloc(&r->arena, from->stack_count, sizeof *outermost);
    for (stack_id i = 1; outermost && i < from->stack_count; i++) {
        const struct stack *s = &from->stacks[i];
        outermost[i] = s->parent ? outermost[s->parent] : s->frame;
    }
    return outermost;
}

frame_id *rewrite_thread_frames(struct rewrite *r, enum thread_style style)
{
    const struct profile *from = r->from;
    struct output label = OUTPUT_BUFFER;
    frame_id *frames = arena_zalloc(&r->arena, from->thread_count, sizeof *frames);
    for (thread_id i = 1; frames && i < from->thread_count; i++) {
        label.used = 0;
        label_thread(&label, from, i, style);
        if (label.used)
            frames[i] = builder_named_frame(r->to, output_contents(&label));
    }
    bool ok = !label.failed;
    output_deinit(&label);
    return ok ? frames : NULL;
}

uint32_t *rewrite_name_numbers(struct rewrite *r, size_t *limit)
{
    const struct profile *from = r->from;
    uint32_t *numbers = arena_zalloc(&r->arena, from->frame_count, sizeof *numbers);
    for (frame_id i = 1; numbers && i < from->frame_count; i++) {
        const struct frame *f = &from->frames[i];
        numbers[i] = f->name ? f->name : (uint32_t)from->strings.count + f->module;
    }
    *limit = from->strings.count + from->module_count;
    return numbers;
}
