/* SPDX-License-Identifier: Apache-2.0 */
#include "trace/profile.h"
#include <stdlib.h>

#define UNRESOLVED UINT32_MAX

struct writing {
    struct tracer *t;
    struct builder *b;
    const struct trace_profile_options *options;
    stack_id *stacks;   /* by node */
    uint32_t *tasks;    /* by node */
    frame_id *frames;   /* by function */
    thread_id *threads; /* by task */
    module_id *modules; /* by binary */
    trace_node *climb;  /* scratch: as many as there are nodes */
    event_id event;
    struct output text;
};

/* --- Names ------------------------------------------------------------------------- */

static module_id module_of(struct writing *w, uint32_t binary)
{
    if (binary == 0)
        return 0;
    if (!w->modules[binary])
        w->modules[binary] =
            builder_module(w->b, trace_code_binary(&w->t->code, binary)->name, STR(""));
    return w->modules[binary];
}

static frame_id frame_of(struct writing *w, trace_function_id id)
{
    const struct trace_function *f = &w->t->code.functions[id];
    if (w->frames[id])
        return w->frames[id];
    enum frame_kind kind =
        f->binary ? trace_code_binary(&w->t->code, f->binary)->kind : FRAME_USER;
    if (id == TRACE_UNKNOWN_KERNEL)
        kind = FRAME_KERNEL;
    if (f->flags & TRACE_FUNCTION_INLINED)
        kind = FRAME_INLINED;
    struct str name = demangle(f->name, w->options->demangle, &w->text);
    w->frames[id] =
        builder_frame(w->b, &(struct frame){.name = builder_string(w->b, name),
                                            .module = module_of(w, f->binary),
                                            .kind = kind});
    return w->frames[id];
}

/* The number identifies a thread of a process; core and number together with it
 * identify a task. */
static thread_id thread_of(struct writing *w, uint32_t task)
{
    char text[64];
    const struct tracer *t = w->t;
    const struct trace_profile_options *o = w->options;
    if (w->threads[task])
        return w->threads[task];
    struct str name = t->tasks[task].name;
    size_t n = t->task_count > 1
                   ? format_text(text, sizeof text, "task %u", (unsigned)task)
                   : format_text(text, sizeof text, "core %lld", (long long)o->core);
    if (name.len == 0)
        name = o->name.len ? o->name : (struct str){text, n};
    w->threads[task] = o->process == ID_NONE
                           ? builder_thread(w->b, o->core, (int64_t)task, name)
                           : builder_thread(w->b, o->process, o->core, name);
    return w->threads[task];
}

/* --- Stacks ------------------------------------------------------------------------ */

/* The caller's stack of a node: its parent, or, for a base, the stack that the base is
 * linked to. */
static trace_node outward(const struct trace_tree *tree, trace_node n)
{
    uint32_t key = tree->trie.nodes[n].key;
    return key & TRACE_BASE_KEY ? tree->bases[key & ~TRACE_BASE_KEY].link
                                : tree->trie.nodes[n].parent;
}

/* Code outside all binaries is one frame, even if it calls itself: when its frames
 * were added, the callers of a base were unknown. */
static bool is_in_caller(const struct writing *w, trace_node n)
{
    const struct trace_tree *tree = &w->t->tree;
    uint32_t key = tree->trie.nodes[n].key;
    trace_node caller = outward(tree, n);
    if (!(w->t->code.functions[key].flags & TRACE_FUNCTION_UNKNOWN) ||
        !trace_node_is_base(tree, caller))
        return false;
    return tree->trie.nodes[outward(tree, caller)].key == key;
}

/* Walks up to a resolved node, and back down. A base that is linked to one of its own
 * descendants, which only a damaged trace contains, ends there. */
static void resolve(struct writing *w, trace_node n)
{
    const struct trace_tree *tree = &w->t->tree;
    size_t count = 0;
    for (; w->stacks[n] == UNRESOLVED; n = outward(tree, n)) {
        w->stacks[n] = 0;
        w->climb[count++] = n;
    }
    stack_id stack = w->stacks[n];
    while (count > 0) {
        n = w->climb[--count];
        if (!trace_node_is_base(tree, n) && !is_in_caller(w, n))
            stack = builder_push(w->b, stack, frame_of(w, tree->trie.nodes[n].key));
        w->stacks[n] = stack;
    }
}

static uint64_t scale(const struct writing *w, uint64_t cycles)
{
    uint64_t multiply = w->options->multiply, divide = w->options->divide;
    if (!multiply || !divide || multiply == divide)
        return cycles;
    uint64_t whole = cycles / divide, part = cycles % divide;
    return whole * multiply + part * multiply / divide;
}

static double scale_weight(const struct writing *w, uint64_t cycles)
{
    uint64_t multiply = w->options->multiply, divide = w->options->divide;
    return multiply && divide ? (double)cycles * (double)multiply / (double)divide
                              : (double)cycles;
}

static void add(struct writing *w, trace_node n, uint64_t time, struct trace_count spent)
{
    uint32_t key = w->t->tree.trie.nodes[n].key;
    if (!(key & TRACE_BASE_KEY)) {
        const struct trace_function *f = &w->t->code.functions[key];
        w->t->code.known[f->binary].instructions += spent.instructions;
        if (f->flags & TRACE_FUNCTION_UNKNOWN)
            w->t->report.unknown += spent.instructions;
    }
    if (w->stacks[n] == UNRESOLVED)
        resolve(w, n);
    builder_add(w->b, &(struct sample){.time = time,
                                       .thread = thread_of(w, w->tasks[n]),
                                       .cpu = w->options->process == ID_NONE
                                                  ? (uint32_t)w->options->core
                                                  : CPU_NONE,
                                       .event = w->event,
                                       .stack = w->stacks[n],
                                       .count = spent.instructions,
                                       .weight = scale_weight(w, spent.cycles)});
}

static void add_all(struct writing *w)
{
    const struct tracer *t = w->t;
    const struct trace_tree *tree = &t->tree;
    if (w->b->mode == BUILD_KEEP && t->keeps) {
        for (size_t i = 0; i < t->stretch_count; i++) {
            const struct trace_stretch *s = &t->stretches[i];
            add(w, s->node, scale(w, s->time),
                (struct trace_count){s->cycles, s->instructions});
        }
        return;
    }
    for (trace_node n = 1; n < tree->trie.count && n < tree->count_cap; n++)
        if (tree->counts[n].cycles || tree->counts[n].instructions)
            add(w, n, TIME_NONE, tree->counts[n]);
}

/* --- Repaired and inferred data ----------------------------------------------------- */

static void warn(struct writing *w)
{
    const struct trace_report *r = &w->t->report;
    builder_warn_times(w->b, "a return without a matching call", r->unmatched);
    builder_warn_times(w->b,
                       "a step that the instruction in the binary does not make (patched "
                       "code, or a gap)",
                       r->jumps);
    builder_warn_times(w->b, "a trap that returned to another address", r->astray);
    builder_warn_times(w->b, "a call beyond the stack limit", r->too_deep);
    builder_infer_times(
        w->b, "a caller whose call is not in the trace, found by its return", r->callers);
    builder_infer_times(
        w->b, "a frame removed by longjmp, an exception or the return of a trap",
        r->unwound);
    builder_infer_times(w->b, "a task that continued, identified by its return addresses",
                        r->resumed);
    builder_infer_times(w->b,
                        "of these: a task chosen only because it was suspended longest",
                        r->guessed);
}

/* --- The whole profile -------------------------------------------------------------- */

static bool prepare(struct writing *w)
{
    const struct trace_tree *tree = &w->t->tree;
    size_t nodes = tree->trie.count;
    w->stacks = malloc(nodes * sizeof *w->stacks);
    w->tasks = calloc(nodes, sizeof *w->tasks);
    w->climb = malloc(nodes * sizeof *w->climb);
    w->frames = calloc(w->t->code.function_count, sizeof *w->frames);
    w->threads = calloc(w->t->task_count + 1, sizeof *w->threads);
    w->modules = calloc(w->t->code.known_count, sizeof *w->modules);
    if (!w->stacks || !w->tasks || !w->climb || !w->frames || !w->threads || !w->modules)
        return false;
    w->stacks[0] = 0;
    for (trace_node n = 1; n < nodes; n++) {
        uint32_t key = tree->trie.nodes[n].key;
        w->stacks[n] = UNRESOLVED;
        w->tasks[n] = key & TRACE_BASE_KEY ? tree->bases[key & ~TRACE_BASE_KEY].task
                                           : w->tasks[tree->trie.nodes[n].parent];
    }
    return true;
}

bool trace_profile(struct tracer *t, struct builder *b,
                   const struct trace_profile_options *options, struct error *err)
{
    struct writing w = {.t = t, .b = b, .options = options, .text = OUTPUT_BUFFER};
    w.event = builder_event(b, STR("cycles"), UNIT_CYCLES);
    bool ok = !tracer_failed(t) && prepare(&w);
    if (ok) {
        add_all(&w);
        warn(&w);
    }
    free(w.stacks);
    free(w.tasks);
    free(w.climb);
    free(w.frames);
    free(w.threads);
    free(w.modules);
    output_deinit(&w.text);
    return ok || error_memory(err);
}
