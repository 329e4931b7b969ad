/* SPDX-License-Identifier: Apache-2.0 */
/* Continues truncated stacks: the outermost known function gets the callers that it has most often
 * in the whole stacks of the same thread. Between them is a mark, because the callers are inferred.
 * Functions of the kernel are called from everywhere, and get none. A stack that remains truncated
 * loses the mark that says so, unless the output shows it also without grafts. */
#include "transform/rewrite.h"

#include "base/array.h"
#include "base/idmap.h"

/* A function in a thread, and what calls it. */
struct grafted_function {
    size_t best; /* index + 1 of its most frequent callers; 0: none */
};

struct callers {
    stack_id stack; /* of the caller; 0: it has none */
    uint64_t samples;
};

struct grafting {
    const uint32_t *numbers;  /* by frame: equal for the same function */
    stack_id *outermost;      /* by truncated stack: its outermost known one; else 0 */
    uint8_t *is_searched;     /* by number: a truncated stack begins with it */
    struct idmap function_of; /* by thread and number: index + 1 */
    struct grafted_function *functions;
    size_t function_count, function_cap;
    struct idmap callers_of; /* by index of the function and caller: index + 1 */
    struct callers *callers;
    size_t caller_count, caller_cap;
    stack_id *copied;     /* by old stack; 0: not copied yet */
    struct idmap grafted; /* by callers and old stack: the new one */
    stack_id *path;
    frame_id mark;
    bool keeps_marks; /* of stacks that remain truncated */
};

static uint32_t number_of(const struct rewrite *r, stack_id stack)
{
    const struct grafting *g = r->context;
    return g->numbers[r->from->stacks[stack].frame];
}

static uint64_t key_of(uint32_t high, uint32_t low)
{
    return (uint64_t)high << 32 | low;
}

static bool is_mark(const struct profile *p, stack_id stack)
{
    const struct frame *f = &p->frames[p->stacks[stack].frame];
    return p->stacks[stack].parent == 0 && f->kind == FRAME_MARKER &&
           str_equal(profile_string(p, f->name), STR(TRUNCATED_MARK));
}

/* Finds the truncated stacks, and the functions that they begin with. Returns their number. */
static size_t find_truncated(const struct rewrite *r)
{
    struct grafting *g = r->context;
    const struct profile *p = r->from;
    size_t count = 0;
    for (stack_id i = 1; i < p->stack_count; i++) {
        stack_id parent = p->stacks[i].parent;
        if (!parent)
            continue;
        g->outermost[i] = is_mark(p, parent) ? i : g->outermost[parent];
        if (g->outermost[i] != i || p->frames[p->stacks[i].frame].kind == FRAME_KERNEL)
            continue;
        g->is_searched[number_of(r, i)] = 1;
        count++;
    }
    return count;
}

/* The function of a thread, new if it is not known; NULL if out of memory. */
static struct grafted_function *function_in(struct rewrite *r, thread_id thread,
                                            uint32_t number)
{
    struct grafting *g = r->context;
    uint64_t *known = idmap_put(&g->function_of, &r->arena, key_of(thread, number));
    if (!known || *known)
        return known ? &g->functions[*known - 1] : NULL;
    struct grafted_function *added =
        ARRAY_APPEND(&r->arena, g->functions, g->function_count, g->function_cap);
    if (added) {
        *added = (struct grafted_function){0};
        *known = g->function_count;
    }
    return added;
}

/* The index of one of a function's callers; SIZE_MAX if out of memory. */
static size_t caller_of(struct rewrite *r, const struct grafted_function *f,
                        stack_id caller)
{
    struct grafting *g = r->context;
    uint64_t key = key_of((uint32_t)(f - g->functions), caller);
    uint64_t *known = idmap_put(&g->callers_of, &r->arena, key);
    if (!known || *known)
        return known ? (size_t)*known - 1 : SIZE_MAX;
    struct callers *added =
        ARRAY_APPEND(&r->arena, g->callers, g->caller_count, g->caller_cap);
    if (!added)
        return SIZE_MAX;
    *added = (struct callers){caller, 0};
    *known = g->caller_count;
    return g->caller_count - 1;
}

/* Counts samples for one of the function's callers. */
static bool add_caller(struct rewrite *r, struct grafted_function *f, stack_id caller,
                       uint64_t samples)
{
    struct grafting *g = r->context;
    size_t index = caller_of(r, f, caller);
    if (index == SIZE_MAX)
        return false;
    g->callers[index].samples += samples;
    if (!f->best || g->callers[index].samples > g->callers[f->best - 1].samples)
        f->best = index + 1;
    return true;
}

/* Counts the samples of a stack for the callers of each function on it. */
static bool add_stack(struct rewrite *r, thread_id thread, stack_id stack,
                      uint64_t samples)
{
    const struct grafting *g = r->context;
    for (stack_id at = stack; at; at = r->from->stacks[at].parent) {
        uint32_t number = number_of(r, at);
        if (!g->is_searched[number])
            continue;
        struct grafted_function *f = function_in(r, thread, number);
        if (!f || !add_caller(r, f, r->from->stacks[at].parent, samples))
            return false;
    }
    return true;
}

/* Reads the whole stacks, each once for a thread. */
static bool find_callers(struct rewrite *r)
{
    const struct grafting *g = r->context;
    const struct profile *p = r->from;
    struct idmap pairs = {0};
    for (size_t i = 0; i < p->sample_count; i++) {
        const struct sample *s = &p->samples[i];
        if (!s->stack || g->outermost[s->stack])
            continue;
        uint64_t *samples = idmap_put(&pairs, &r->arena, key_of(s->thread, s->stack));
        if (!samples)
            return false;
        *samples += s->count;
    }
    for (size_t i = 1; i < pairs.count; i++) {
        uint64_t pair = pairs.entries[i].id;
        if (!add_stack(r, (thread_id)(pair >> 32), (stack_id)pair,
                       pairs.entries[i].value))
            return false;
    }
    return true;
}

/* The copy of a stack; its callers are copied once. */
static stack_id copy(struct rewrite *r, stack_id stack)
{
    const struct grafting *g = r->context;
    size_t depth = 0;
    stack_id at = stack;
    for (; at && !g->copied[at]; at = r->from->stacks[at].parent)
        if (g->keeps_marks || !is_mark(r->from, at))
            g->path[depth++] = at;
    stack_id made = at ? g->copied[at] : 0;
    while (depth-- > 0) {
        at = g->path[depth];
        made = builder_push(r->to, made, rewrite_frame(r, r->from->stacks[at].frame));
        g->copied[at] = made;
    }
    return made;
}

/* The stack from `first` on, below the callers. */
static stack_id graft(struct rewrite *r, stack_id callers, stack_id first, stack_id stack)
{
    const struct grafting *g = r->context;
    stack_id made = copy(r, callers);
    size_t depth = 0;
    if (callers) /* without any, the function is outermost */
        made = builder_push(r->to, made, g->mark);
    for (stack_id at = stack; at != r->from->stacks[first].parent;
         at = r->from->stacks[at].parent)
        g->path[depth++] = at;
    while (depth-- > 0)
        made = builder_push(r->to, made,
                            rewrite_frame(r, r->from->stacks[g->path[depth]].frame));
    return made;
}

static stack_id make_stack(struct rewrite *r, struct sample *s)
{
    struct grafting *g = r->context;
    stack_id first = g->outermost[s->stack];
    const uint64_t *function =
        first ? idmap_find(&g->function_of, key_of(s->thread, number_of(r, first)))
              : NULL;
    if (!function || r->from->frames[r->from->stacks[first].frame].kind == FRAME_KERNEL)
        return copy(r, s->stack);
    stack_id callers = g->callers[g->functions[*function - 1].best - 1].stack;
    r->to->profile->facts.grafted += callers ? s->count : 0;
    uint64_t *known = idmap_put(&g->grafted, &r->arena, key_of(callers, s->stack));
    if (!known)
        return 0;
    if (!*known)
        *known = graft(r, callers, first, s->stack);
    return (stack_id)*known;
}

static bool prepare(struct rewrite *r, struct grafting *g)
{
    const struct profile *p = r->from;
    size_t limit;
    g->numbers = rewrite_name_numbers(r, &limit);
    g->outermost = arena_zalloc(&r->arena, p->stack_count, sizeof *g->outermost);
    g->copied = arena_zalloc(&r->arena, p->stack_count, sizeof *g->copied);
    g->path = arena_zalloc(&r->arena, p->stack_count, sizeof *g->path);
    g->is_searched = g->numbers ? arena_zalloc(&r->arena, limit + 1, 1) : NULL;
    r->context = g;
    if (!g->is_searched || r->arena.failed)
        return false;
    r->make_stack = make_stack;
    return !find_truncated(r) || find_callers(r);
}

static bool graft_requested(const struct transform_options *o)
{
    return o->graft;
}

static bool graft_run(const struct profile *from, const struct transform_options *o,
                      struct builder *to, struct error *err)
{
    struct rewrite r;
    struct grafting g = {0};
    bool ok = rewrite_init(&r, from, to, err);
    g.keeps_marks = o->marks_truncated;
    if (ok) {
        struct frame mark = {.name = builder_string(to, STR(INFERRED_MARK)),
                             .kind = FRAME_MARKER};
        g.mark = builder_frame(to, &mark);
        ok = prepare(&r, &g) ? rewrite_run(&r, err) : error_memory(err);
    }
    rewrite_deinit(&r);
    return ok;
}

const struct transform transform_graft = {
    .name = "graft",
    .summary = "truncated stacks continue with the usual callers in their thread",
    .requested = graft_requested,
    .run = graft_run,
};
