/* SPDX-License-Identifier: Apache-2.0 */
/* Something coarser than functions: modules, files, threads. */
#include "transform/rewrite.h"

struct grouping {
    enum group_by by;
    frame_id *of_thread; /* by old thread */
    frame_id *outermost; /* by old stack */
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

/* Samples of no thread, as folded stacks are: the outermost frame is the comm. */
static stack_id place_thread(struct rewrite *r, struct sample *s)
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
    r->place = place_thread;
    return g->of_thread && g->outermost;
}

/* --- The verb ----------------------------------------------------------------------- */

static bool group_wanted(const struct transform_options *o)
{
    return o->group != GROUP_FUNCTION;
}

static bool group_run(const struct profile *from, const struct transform_options *o,
                      struct builder *to, struct error *err)
{
    struct rewrite r;
    struct grouping g = {.by = o->group};
    if (!is_by_thread(g.by) && from->sample_count && !has_groups(from, g.by))
        return error_set(err, "the input tells no %s to group by",
                         g.by == GROUP_FILE ? "source files" : "modules");
    bool ok = rewrite_init(&r, from, to, err);
    if (ok) {
        r.context = &g;
        if (!is_by_thread(g.by))
            r.frame = copy_group;
        else if (!prepare_threads(&r, &g))
            ok = error_memory(err);
        ok = ok && rewrite_run(&r, err);
    }
    rewrite_deinit(&r);
    return ok;
}

const struct transform transform_group = {
    .name = "group",
    .summary = "show modules, files or threads in place of functions",
    .wanted = group_wanted,
    .run = group_run,
};
