/* SPDX-License-Identifier: Apache-2.0 */
/* Shortens calls inside a module: consecutive frames of a matching module become one
 * frame with the name of the module. */
#include "transform/pattern.h"
#include "transform/rewrite.h"

static bool of_same_module(const struct profile *p, stack_id a, stack_id b)
{
    return p->frames[p->stacks[a].frame].module == p->frames[p->stacks[b].frame].module;
}

/* A stack whose caller is in the same module becomes that caller. */
static stack_id *stacks_collapsed(struct rewrite *r)
{
    const struct profile *from = r->from;
    const uint32_t *matches = r->context; /* by module */
    stack_id *instead = arena_zalloc(&r->arena, from->stack_count, sizeof *instead);
    for (stack_id i = 1; instead && i < from->stack_count; i++) {
        stack_id parent = from->stacks[i].parent;
        bool inside = parent && matches[from->frames[from->stacks[i].frame].module] &&
                      of_same_module(from, i, parent);
        instead[i] = inside ? instead[parent] : i;
    }
    return instead;
}

static frame_id copy_frame(struct rewrite *r, frame_id old)
{
    const uint32_t *matches = r->context;
    const struct profile *from = r->from;
    const struct frame *f = &from->frames[old];
    const struct module *m = &from->modules[f->module];
    if (!matches[f->module])
        return rewrite_copy_frame(r, old, NULL);
    struct str path = profile_string(from, m->path);
    struct frame whole = {
        .name = builder_string(r->to, str_basename(path)),
        .module = builder_module(r->to, path, profile_string(from, m->build_id)),
        .kind = f->kind == FRAME_INLINED ? FRAME_USER : f->kind};
    return builder_frame(r->to, &whole);
}

static bool collapse_module_requested(const struct transform_options *o)
{
    return o->collapse_module.count > 0;
}

static bool collapse_module_run(const struct profile *from,
                                const struct transform_options *o, struct builder *to,
                                struct error *err)
{
    struct rewrite r;
    bool ok = rewrite_init(&r, from, to, err);
    if (ok) {
        r.context = pattern_match_modules(&r.arena, from, &o->collapse_module, err);
        ok = r.context != NULL;
    }
    if (ok) {
        r.instead = stacks_collapsed(&r);
        r.frame = copy_frame;
        ok = r.instead ? rewrite_run(&r, err) : error_memory(err);
    }
    rewrite_deinit(&r);
    return ok;
}

const struct transform transform_collapse_module = {
    .name = "collapse-module",
    .summary = "make what happens inside of a module one frame",
    .requested = collapse_module_requested,
    .run = collapse_module_run,
};
