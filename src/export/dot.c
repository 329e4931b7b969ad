/* SPDX-License-Identifier: Apache-2.0 */
/* The call graph in Graphviz's language (graphviz.org/doc/info/lang.html), for dot,
 * xdot and other programs that read it: a box per function, with its total share and
 * its self share; an arrow per call. Functions and calls below the limits are omitted;
 * the graph's label has their numbers.
 *
 * A larger share has a warmer colour. In a differential profile, a box is red if its
 * share grew and blue if it shrank, and shows the change in percentage points. */
#include "analysis/call_graph.h"
#include "base/visible.h"
#include "export/exporter.h"
#include <math.h>

#define NAME_COLUMNS 60 /* of a name in its box */

struct dot_writer {
    const struct profile *p;
    const struct calltree *tree;
    const struct call_graph *graph;
    struct output *out;
    struct output text; /* scratch */
};

/* The text of a quoted string. Graphviz interprets entities ("&amp;") and escapes in
 * it. */
static void put_quoted(struct output *out, struct str s)
{
    for (size_t i = 0; i < s.len; i++) {
        if (s.ptr[i] == '&')
            output_text(out, "&amp;");
        else if (s.ptr[i] == '"' || s.ptr[i] == '\\')
            output_format(out, "\\%c", s.ptr[i]);
        else
            output_char(out, s.ptr[i]);
    }
}

/* A name without control characters; truncated to `columns`, or whole if that is 0. */
static void put_name(struct dot_writer *w, struct str name, size_t columns)
{
    w->text.used = 0;
    if (columns)
        visible_print_cut(&w->text, name, columns);
    else
        visible_print(&w->text, name);
    put_quoted(w->out, output_contents(&w->text));
}

static double percent(double part, double all)
{
    return all > 0 ? part / all * 100 : 0;
}

static double between_0_and(double most, double v)
{
    return v > most ? most : v > 0 ? v : 0;
}

/* The change of the share in percentage points. */
static double change(const struct dot_writer *w, double total, double base_total)
{
    return percent(total, w->graph->total) - percent(base_total, w->graph->base_total);
}

static void put_change(struct dot_writer *w, double total, double base_total)
{
    double points = change(w, total, base_total);
    output_format(w->out, points < 0 ? "\\n%.2f" : "\\n+%.2f", points);
}

/* Hue, saturation and value. */
static void put_color(struct dot_writer *w, double total, double base_total)
{
    double share = between_0_and(1, percent(total, w->graph->total) / 100);
    if (w->tree->base) {
        double points = change(w, total, base_total);
        double strength = between_0_and(1, sqrt((points < 0 ? -points : points) / 25));
        output_format(w->out, "\"%.3f %.3f 1.000\"", points < 0 ? 0.6 : 0.02,
                      0.6 * strength);
        return;
    }
    output_format(w->out, "\"%.3f %.3f 1.000\"", 0.15 - 0.13 * share,
                  0.12 + 0.5 * sqrt(share));
}

static void put_function(struct dot_writer *w, const struct function *f)
{
    struct str name = strings_get(&w->tree->paths.labels, f->label);
    const struct frame *frame = &w->p->frames[f->frame];
    struct str module = profile_string(w->p, w->p->modules[frame->module].path);
    output_format(w->out, "    n%u [label=\"", f->label);
    put_name(w, name, NAME_COLUMNS);
    if (module.len && frame->name) {
        output_text(w->out, "\\n");
        put_name(w, str_basename(module), NAME_COLUMNS);
    }
    output_format(w->out, "\\n%.2f%%", percent(f->total, w->graph->total));
    if (f->self > 0)
        output_format(w->out, " (self %.2f%%)", percent(f->self, w->graph->total));
    if (w->tree->base)
        put_change(w, f->total, f->base_total);
    output_text(w->out, "\", tooltip=\"");
    put_name(w, name, 0);
    output_text(w->out, "\", fillcolor=");
    put_color(w, f->total, f->base_total);
    output_text(w->out, "];\n");
}

static void put_call(struct dot_writer *w, const struct call *c)
{
    double share = between_0_and(100, percent(c->total, w->graph->total));
    output_format(w->out, "    n%u -> n%u [label=\"%.2f%%", c->caller, c->callee,
                  percent(c->total, w->graph->total));
    if (w->tree->base)
        put_change(w, c->total, c->base_total);
    output_format(w->out, "\", weight=%.0f, penwidth=%.2f, arrowsize=%.2f];\n", 1 + share,
                  0.6 + sqrt(share) / 2.5, 0.5 + sqrt(share) / 14);
}

static void put_graph(struct dot_writer *w, struct str title)
{
    const struct call_graph *g = w->graph;
    const struct event *e = &w->p->events[w->tree->event];
    output_text(w->out,
                "digraph stoke {\n    graph [fontname=\"sans-serif\", labelloc=t, "
                "charset=\"UTF-8\", label=\"");
    put_name(w, title, 0);
    output_text(w->out, title.len ? "\\n" : "");
    output_format(w->out, "%.*g ", 10, g->total);
    put_name(w, str_of(unit_name((enum unit)e->unit)), 0);
    if (g->functions_left || g->calls_left)
        output_format(w->out,
                      "; %zu functions and %zu calls below the limits are not shown",
                      g->functions_left, g->calls_left);
    output_text(w->out,
                "\"];\n"
                "    node [fontname=\"sans-serif\", fontsize=11, shape=box, "
                "style=\"filled,rounded\", color=\"#00000030\"];\n"
                "    edge [fontname=\"sans-serif\", fontsize=9, color=\"#606060\"];\n");
    for (size_t i = 0; i < g->function_count; i++)
        put_function(w, &g->functions[i]);
    for (size_t i = 0; i < g->call_count; i++)
        put_call(w, &g->calls[i]);
    output_text(w->out, "}\n");
}

static bool dot_write(const struct profile *p, const struct export_options *options,
                      struct output *out, struct error *err)
{
    /* the defaults of gprof2dot */
    static const struct call_limits limits = {.function_share = 0.005,
                                              .call_share = 0.001};
    struct calltree_options tree_options = options->tree;
    struct calltree tree;
    struct call_graph graph = {0};
    tree_options.label.words = true;
    tree_options.threads = THREAD_NONE;
    tree_options.min_share = 0;
    if (!calltree_init(&tree, p, &tree_options, err))
        return false;
    bool ok =
        call_graph_init(&graph, &tree, options->calls ? options->calls : &limits, err);
    struct dot_writer w = {p, &tree, &graph, out, OUTPUT_BUFFER};
    if (ok)
        put_graph(&w, options->title);
    ok = ok && (!w.text.failed || error_memory(err));
    output_deinit(&w.text);
    call_graph_deinit(&graph);
    calltree_deinit(&tree);
    return ok;
}

const struct exporter export_dot = {
    .name = "dot",
    .suffixes = "dot,gv",
    .summary = "the call graph, for Graphviz",
    .titled = true,
    .write = dot_write,
};
