/* SPDX-License-Identifier: Apache-2.0 */
/* Drops the leaks that suppressions match, and counts them. Only the event "leaked" is
 * concerned. */
#include "base/glob.h"
#include "base/number.h"
#include "model/allocator.h"
#include "transform/rewrite.h"
#include "transform/suppressions.h"

/* A template may match the stack as a whole if it matches one of its frames: for each
 * stack, the number of the first one that does, + 1. */
struct suppressing {
    const struct profile *p;
    struct suppressions *s;
    event_id leaked;
    uint32_t *of_stack; /* templates */
    uint32_t *result;   /* by stack: the suppression + 1; or NONE; 0: not known yet */
};

#define NONE UINT32_MAX

/* --- Templates ---------------------------------------------------------------------- */

static bool frame_has(const struct profile *p, const struct frame *f, struct str pattern)
{
    return glob_match(pattern, profile_string(p, f->name)) ||
           glob_match(pattern, profile_string(p, f->file)) ||
           glob_match(pattern, profile_string(p, p->modules[f->module].path));
}

static uint32_t template_of(const struct suppressing *g, const struct frame *f)
{
    for (size_t i = 0; i < g->s->count; i++)
        if (!g->s->items[i].is_stack &&
            frame_has(g->p, f, g->s->items[i].lines[0].pattern))
            return (uint32_t)i + 1;
    return 0;
}

/* A callee's template has priority over its callers'. */
static bool find_templates(struct suppressing *g, struct arena *a)
{
    const struct profile *p = g->p;
    uint32_t *of_frame = arena_zalloc(a, p->frame_count, sizeof *of_frame);
    g->of_stack = arena_zalloc(a, p->stack_count, sizeof *g->of_stack);
    if (!of_frame || !g->of_stack)
        return false;
    for (frame_id f = 1; f < p->frame_count; f++)
        of_frame[f] = template_of(g, &p->frames[f]);
    for (stack_id i = 1; i < p->stack_count; i++) {
        const struct stack *s = &p->stacks[i];
        g->of_stack[i] = of_frame[s->frame] ? of_frame[s->frame] : g->of_stack[s->parent];
    }
    return true;
}

/* --- Lines -------------------------------------------------------------------------- */

static struct str base_name(struct str path)
{
    size_t slash = str_rfind(path, '/');
    return slash < path.len ? str_skip(path, slash + 1) : path;
}

static bool source_matches(struct str pattern, struct str file, uint32_t line)
{
    size_t colon = str_rfind(pattern, ':');
    uint64_t number;
    struct str name = base_name(file);
    if (number_parse_u64(str_skip(pattern, colon + 1), &number))
        return number == line && glob_match(str_head(pattern, colon), name);
    return file.len && (glob_match(pattern, file) || glob_match(pattern, name));
}

static bool line_matches(const struct profile *p, const struct suppression_line *line,
                         stack_id stack)
{
    const struct frame *f = &p->frames[p->stacks[stack].frame];
    if (line->kind == SUPPRESSION_FUNCTION)
        return glob_match(line->pattern, profile_string(p, f->name));
    if (line->kind == SUPPRESSION_MODULE)
        return glob_match(line->pattern, profile_string(p, p->modules[f->module].path));
    return source_matches(line->pattern, profile_string(p, f->file), f->line);
}

/* After "...", the first run of frames that matches leaves most for the lines that
 * follow. */
static bool lines_match(const struct profile *p, const struct suppression_line *lines,
                        size_t count, stack_id stack)
{
    size_t at = 0, run = count; /* run: the line after the last "..." */
    stack_id run_stack = 0;
    while (at < count) {
        if (lines[at].kind == SUPPRESSION_FRAMES) {
            run = ++at;
            run_stack = stack;
        } else if (stack && line_matches(p, &lines[at], stack)) {
            at++;
            stack = p->stacks[stack].parent;
        } else if (run < count && run_stack) {
            at = run;
            stack = run_stack = p->stacks[run_stack].parent;
        } else {
            return false;
        }
    }
    return true;
}

/* Functions that allocate may be on the stack or not, as recorders differ in it. */
static bool stack_matches(const struct profile *p, const struct suppression *s,
                          stack_id stack)
{
    size_t first = 0;
    while (first < s->count && s->lines[first].kind == SUPPRESSION_FUNCTION &&
           is_allocator(s->lines[first].pattern))
        first++;
    if (lines_match(p, s->lines, s->count, stack))
        return true;
    while (stack &&
           is_allocator(profile_string(p, p->frames[p->stacks[stack].frame].name)))
        stack = p->stacks[stack].parent;
    return lines_match(p, s->lines + first, s->count - first, stack);
}

/* --- The whole ---------------------------------------------------------------------- */

static uint32_t find(const struct suppressing *g, stack_id stack)
{
    if (g->of_stack[stack])
        return g->of_stack[stack];
    for (size_t i = 0; i < g->s->count; i++)
        if (g->s->items[i].is_stack && stack_matches(g->p, &g->s->items[i], stack))
            return (uint32_t)i + 1;
    return NONE;
}

static void count_samples(struct suppressing *g)
{
    for (size_t i = 0; g->leaked && i < g->p->sample_count; i++) {
        const struct sample *s = &g->p->samples[i];
        if (s->event != g->leaked)
            continue;
        bool is_new = g->result[s->stack] == 0;
        if (is_new)
            g->result[s->stack] = find(g, s->stack);
        if (g->result[s->stack] == NONE)
            continue;
        struct suppression *item = &g->s->items[g->result[s->stack] - 1];
        item->stacks += is_new;
        item->weight += s->weight;
    }
}

static bool sample_stays(const struct rewrite *r, struct sample *s)
{
    const struct suppressing *g = r->context;
    return s->event != g->leaked || g->result[s->stack] == NONE;
}

static bool suppress_requested(const struct transform_options *o)
{
    return o->suppressions && o->suppressions->count > 0;
}

static bool suppress_run(const struct profile *from, const struct transform_options *o,
                         struct builder *to, struct error *err)
{
    struct rewrite r;
    struct suppressing g = {.p = from,
                            .s = o->suppressions,
                            .leaked = profile_find_event(from, STR("leaked"))};
    bool ok = rewrite_init(&r, from, to, err);
    if (ok) {
        g.result = arena_zalloc(&r.arena, from->stack_count, sizeof *g.result);
        ok = g.result && find_templates(&g, &r.arena);
        if (ok)
            count_samples(&g);
        r.row = sample_stays;
        r.context = &g;
        ok = ok ? rewrite_run(&r, err) : error_memory(err);
    }
    rewrite_deinit(&r);
    return ok;
}

const struct transform transform_suppress = {
    .name = "suppressions",
    .summary = "drop the leaks that suppressions match",
    .requested = suppress_requested,
    .run = suppress_run,
};
