/* SPDX-License-Identifier: Apache-2.0 */
/* Replaces functions by larger units: modules, files, threads, labels. */
#include "model/sample_labels.h"
#include "transform/rewrite.h"

struct grouping {
    enum group_by by;
    frame_id *of_thread; /* by old thread */
    frame_id *outermost; /* by old stack */
    struct str key;      /* of a label */
    label_id *labels;    /* by old label set: the label with the key */
    frame_id *of_label;  /* by old label; 0: not made yet */
    struct output text;
};

/* --- Each frame becomes its module or file ------------------------------------------ */

static struct str group_name(const struct profile *p, const struct frame *f,
                             enum group_by by)
{
    if (by == GROUP_FILE)
        return profile_string(p, f->file);
    return str_basename(profile_string(p, p->modules[f->module].path));
}

static frame_id copy_group(struct rewrite *r, frame_id old)
{
    const struct grouping *g = r->context;
    const struct profile *from = r->from;
    struct frame f = from->frames[old];
    struct str name = group_name(from, &f, g->by);
    struct str path = profile_string(from, from->modules[f.module].path);
    struct str build = profile_string(from, from->modules[f.module].build_id);
    struct frame group = {.name =
                              builder_string(r->to, name.len ? name : STR("[unknown]")),
                          .module = builder_module(r->to, path, build),
                          .file = g->by == GROUP_FILE ? builder_string(r->to, name) : 0,
                          .kind = f.kind == FRAME_INLINED ? FRAME_USER : f.kind};
    return builder_frame(r->to, &group);
}

static bool has_groups(const struct profile *p, enum group_by by)
{
    for (frame_id f = 1; f < p->frame_count; f++)
        if (group_name(p, &p->frames[f], by).len)
            return true;
    return false;
}

/* --- Each stack becomes its thread -------------------------------------------------- */

static bool is_by_thread(enum group_by by)
{
    return by == GROUP_COMM || by == GROUP_PROCESS || by == GROUP_THREAD;
}

/* The outermost frame is the comm of samples without a thread, such as folded stacks. */
static stack_id thread_stack(struct rewrite *r, struct sample *s)
{
    const struct grouping *g = r->context;
    frame_id frame =
        s->thread ? g->of_thread[s->thread] : rewrite_frame(r, g->outermost[s->stack]);
    s->thread = 0;
    return builder_push(r->to, 0, frame);
}

static bool prepare_threads(struct rewrite *r, struct grouping *g)
{
    enum thread_style style = g->by == GROUP_COMM      ? THREAD_COMM
                              : g->by == GROUP_PROCESS ? THREAD_PID
                                                       : THREAD_TID;
    g->of_thread = rewrite_thread_frames(r, style);
    g->outermost = rewrite_outermost_frames(r);
    r->make_stack = thread_stack;
    return g->of_thread && g->outermost;
}

/* --- Each stack becomes the value of a label ----------------------------------------- */

/* The frame of samples without the label is "[no KEY]". */
static frame_id frame_of_label(struct rewrite *r, struct grouping *g, label_id label)
{
    g->text.used = 0;
    if (label)
        sample_label_write(&g->text, r->from, label);
    else
        output_format(&g->text, "[no %.*s]", STR_ARG(g->key));
    if (g->text.used == 0)
        output_text(&g->text, "[empty]");
    return builder_named_frame(r->to, output_contents(&g->text));
}

static stack_id label_stack(struct rewrite *r, struct sample *s)
{
    struct grouping *g = r->context;
    label_id label = g->labels[r->labels];
    if (!g->of_label[label])
        g->of_label[label] = frame_of_label(r, g, label);
    s->thread = 0;
    return builder_push(r->to, 0, g->of_label[label]);
}

static bool prepare_labels(struct rewrite *r, struct grouping *g)
{
    g->labels = label_sets_find(r->from, g->key, &r->arena);
    g->of_label = arena_zalloc(&r->arena, r->from->label_count + 1, sizeof *g->of_label);
    r->make_stack = label_stack;
    return g->labels && g->of_label;
}

/* --- The verb ----------------------------------------------------------------------- */

static bool group_requested(const struct transform_options *o)
{
    return o->group != GROUP_FUNCTION;
}

static bool can_group(const struct profile *p, const struct grouping *g,
                      struct error *err)
{
    if (g->by == GROUP_LABEL)
        return label_key_check(p, g->key, err);
    return is_by_thread(g->by) || has_groups(p, g->by) ||
           error_set(err, "the input has no %s to group by",
                     g->by == GROUP_FILE ? "source files" : "modules");
}

static bool group_run(const struct profile *from, const struct transform_options *o,
                      struct builder *to, struct error *err)
{
    struct rewrite r;
    struct grouping g = {.by = o->group,
                         .key = str_of(o->group_label ? o->group_label : ""),
                         .text = OUTPUT_BUFFER};
    if (from->sample_count && !can_group(from, &g, err))
        return false;
    bool ok = rewrite_init(&r, from, to, err);
    if (ok) {
        r.context = &g;
        if (g.by == GROUP_LABEL)
            ok = prepare_labels(&r, &g) || error_memory(err);
        else if (!is_by_thread(g.by))
            r.frame = copy_group;
        else if (!prepare_threads(&r, &g))
            ok = error_memory(err);
        ok = ok && rewrite_run(&r, err);
        ok = ok && (!g.text.failed || error_memory(err));
    }
    output_deinit(&g.text);
    rewrite_deinit(&r);
    return ok;
}

const struct transform transform_group = {
    .name = "group",
    .summary = "show modules, files, threads or labels in place of functions",
    .requested = group_requested,
    .run = group_run,
};
