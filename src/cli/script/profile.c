/* SPDX-License-Identifier: Apache-2.0 */
/* The samples of any profile in perf script's layout. Unknown fields are left out. A
 * period is an integer in this layout, so weights are rounded. */
#include "cli/script/script.h"

struct writer {
    const struct script_settings *settings;
    struct script_choice *choice;
    struct script_span span;
    const struct profile *p;
    struct output *o;
    size_t event_width;
    struct script_clock *clock;
};

/* The stack's outermost frame. */
static stack_id outermost(const struct profile *p, stack_id stack)
{
    while (p->stacks[stack].parent)
        stack = p->stacks[stack].parent;
    return stack;
}

static struct str frame_name(const struct profile *p, frame_id frame)
{
    return profile_string(p, p->frames[frame].name);
}

/* Folded stacks have no threads: their outermost frame is the name of the thread and is
 * not printed as a frame. */
static struct script_head head_of(const struct writer *w, const struct sample *s,
                                  stack_id *end)
{
    const struct profile *p = w->p;
    const struct thread *thread = &p->threads[s->thread];
    struct script_head h = {.clock = w->clock,
                            .has_chain = true,
                            .event_width = w->event_width,
                            .event = profile_string(p, p->events[s->event].name),
                            .comm = profile_string(p, thread->name),
                            .pid = thread->pid,
                            .tid = thread->tid,
                            .cpu = s->cpu,
                            .time = s->time};
    *end = 0;
    if (s->thread == 0 && s->stack) {
        *end = outermost(p, s->stack);
        h.comm = frame_name(p, p->stacks[*end].frame);
    }
    uint32_t fields = w->settings->fields.shown[PERF_TYPE_KNOWN];
    fields &= s->cpu == CPU_NONE ? ~(uint32_t)FIELD_CPU : UINT32_MAX;
    fields &= s->time == TIME_NONE ? ~(uint32_t)FIELD_TIME : UINT32_MAX;
    h.fields = fields & ~(uint32_t)(FIELD_MISC | FIELD_ADDR | FIELD_BRSTACK |
                                    FIELD_IREGS | FIELD_UREGS);
    return h;
}

static void write_frame(const struct writer *w, uint32_t fields, frame_id number)
{
    const struct profile *p = w->p;
    const struct frame *frame = &p->frames[number];
    struct str file = profile_string(p, frame->file);
    struct script_frame f = {
        .address = frame->address,
        .in_module = frame->address,
        .name = profile_string(p, frame->name),
        .module = profile_string(p, p->modules[frame->module].path),
        .file = w->settings->full_paths ? file : str_basename(file),
        .line = frame->line,
        .inlined = frame->kind == FRAME_INLINED,
    };
    script_write_frame(w->o, fields, true, &f);
}

static void write_sample(const struct writer *w, const struct sample *s)
{
    const struct profile *p = w->p;
    stack_id end;
    struct script_head h = head_of(w, s, &end);
    struct script_origin of = {.comm = h.comm,
                               .event = h.event,
                               .pid = h.pid,
                               .tid = h.tid,
                               .cpu = h.cpu,
                               .time = h.time};
    if (!script_wants(w->choice, &of, &w->span))
        return;
    const struct frame *leaf = &p->frames[p->stacks[s->stack].frame];
    if (!script_wants_function(&w->settings->wishes,
                               frame_name(p, p->stacks[s->stack].frame),
                               profile_string(p, p->modules[leaf->module].path)))
        return;
    h.pid = h.pid == ID_NONE ? 0 : h.pid;
    h.tid = h.tid == ID_NONE ? h.pid : h.tid;
    script_write_head(w->o, &h);
    if (h.fields & FIELD_PERIOD)
        output_format(w->o, "%10.0f ", s->weight);
    script_write_event(w->o, &h);
    output_char(w->o, '\n');
    int64_t left = w->settings->max_stack;
    for (stack_id at = s->stack; h.fields & FIELD_IP && at != end && left > 0; left--) {
        write_frame(w, h.fields, p->stacks[at].frame);
        at = p->stacks[at].parent;
    }
    output_char(w->o, '\n');
}

void script_write_profile(const struct script_settings *s, struct script_choice *choice,
                          const struct profile *p, struct output *o)
{
    struct script_clock clock = s->clock;
    struct writer w = {.settings = s,
                       .clock = &clock,
                       .choice = choice,
                       .span = {p->facts.time_first, p->facts.time_last,
                                p->facts.time_first != TIME_NONE},
                       .p = p,
                       .o = o};
    for (event_id e = 1; e < p->event_count; e++) {
        size_t length = profile_string(p, p->events[e].name).len;
        w.event_width = length > w.event_width ? length : w.event_width;
    }
    for (size_t i = 0; i < p->sample_count; i++)
        write_sample(&w, &p->samples[i]);
}
