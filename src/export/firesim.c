/* SPDX-License-Identifier: Apache-2.0 */
/* FireSim's stack text (TracerV's output format 2), for the tools that read it: one
 * line at the start and one at the end of each function, with the cycle.
 *
 *   Indent: 2, Start label: do_trap_ecall_u, At cycle: 125
 *   Indent: 2, End label: do_trap_ecall_u, End cycle: 162
 *
 * The format has a single time axis. Samples without a time, or that overlap earlier
 * ones (other cores), are written one after the other; the stack is empty in gaps. */
#include "analysis/paths.h"
#include "base/number.h"
#include "export/exporter.h"
#include "export/threads.h"
#include <math.h>

struct firesim_writer {
    struct arena arena;
    const struct profile *p;
    const struct export_options *options;
    struct paths paths;
    string_id *thread_names; /* by thread; 0: not shown */
    struct strings names;
    struct output *out;

    /* The open labels: optionally a thread's name, and a path's labels. */
    string_id thread;
    uint32_t *open, *next; /* paths, root first */
    size_t count;
    double now;
};

static void put_line(struct firesim_writer *w, bool start, size_t indent,
                     struct str label)
{
    output_text(w->out, "Indent: ");
    output_format(w->out, "%zu", indent);
    output_text(w->out, start ? ", Start label: " : ", End label: ");
    output_str(w->out, label);
    output_text(w->out, start ? ", At cycle: " : ", End cycle: ");
    output_format(w->out, "%.0f\n", w->now);
}

static struct str path_name(const struct firesim_writer *w, uint32_t path)
{
    struct str name = strings_get(&w->paths.labels, path_label(&w->paths, path));
    return name.len ? name : STR("[unknown]");
}

static void close_to(struct firesim_writer *w, size_t count)
{
    size_t more = w->thread ? 1 : 0;
    while (w->count > count) {
        w->count--;
        put_line(w, false, w->count + 1 + more, path_name(w, w->open[w->count]));
    }
}

static void change_thread(struct firesim_writer *w, string_id thread)
{
    if (w->thread == thread)
        return;
    close_to(w, 0);
    if (w->thread)
        put_line(w, false, 1, strings_get(&w->names, w->thread));
    w->thread = thread;
    if (thread)
        put_line(w, true, 1, strings_get(&w->names, thread));
}

static void change_path(struct firesim_writer *w, uint32_t path)
{
    size_t depth = 0, same = 0, more = w->thread ? 1 : 0;
    for (uint32_t n = path; n; n = w->paths.nodes[n].parent)
        w->next[depth++] = n;
    while (same < depth && same < w->count && w->next[depth - 1 - same] == w->open[same])
        same++;
    close_to(w, same);
    for (; w->count < depth; w->count++) {
        w->open[w->count] = w->next[depth - 1 - w->count];
        put_line(w, true, w->count + 1 + more, path_name(w, w->open[w->count]));
    }
}

static void write_sample(struct firesim_writer *w, const struct sample *s)
{
    double weight =
        w->options->tree.weight == CALLTREE_SAMPLES ? (double)s->count : s->weight;
    if (s->time != TIME_NONE && (double)s->time > floor(w->now + 0.5)) {
        change_thread(w, 0);
        close_to(w, 0);
        w->now = (double)s->time;
    }
    if (weight <= 0)
        return;
    change_thread(w, w->thread_names[s->thread]);
    change_path(w, path_of_stack(&w->paths, s->stack));
    w->now += weight;
}

static bool prepare(struct firesim_writer *w)
{
    struct output text = OUTPUT_BUFFER;
    size_t paths = w->paths.count;
    w->open = arena_alloc(&w->arena, paths * sizeof *w->open);
    w->next = arena_alloc(&w->arena, paths * sizeof *w->next);
    w->thread_names = arena_zalloc(&w->arena, w->p->thread_count, sizeof(string_id));
    if (!w->open || !w->next || !w->thread_names || !strings_init(&w->names, &w->arena))
        return false;
    for (thread_id t = 1; t < w->p->thread_count; t++) {
        text.used = 0;
        label_thread(&text, w->p, t, w->options->tree.threads);
        w->thread_names[t] = strings_add(&w->names, output_contents(&text));
    }
    bool ok = !text.failed && !w->arena.failed;
    output_deinit(&text);
    return ok;
}

static bool firesim_write(const struct profile *p, const struct export_options *options,
                          struct output *out, struct error *err)
{
    struct firesim_writer w = {.p = p, .options = options, .out = out};
    struct label_style style = options->tree.label;
    event_id event, base;
    style.folded = true; /* readers convert it to folded lines */
    bool ok = paths_init(&w.paths, p, &style, err);
    if (ok && !prepare(&w))
        ok = error_memory(err);
    calltree_events(p, &options->tree, &event, &base);
    for (size_t i = 0; ok && i < p->sample_count; i++)
        if (p->samples[i].event == event)
            write_sample(&w, &p->samples[i]);
    if (ok)
        close_to(&w, 0);
    if (ok)
        change_thread(&w, 0);
    arena_deinit(&w.arena);
    paths_deinit(&w.paths);
    return ok;
}

const struct exporter export_firesim = {
    .name = "firesim",
    .suffixes = "",
    .summary = "FireSim's stack text, for the scripts of FireSim",
    .needs_time = true,
    .write = firesim_write,
};
