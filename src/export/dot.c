/* SPDX-License-Identifier: Apache-2.0 */
/* The call graph in Graphviz's language (graphviz.org/doc/info/lang.html), for dot, xdot
 * and other programs that read it: a box per function with its module, its name, its total
 * share, its self share and the number of calls of it; an arrow per call. Functions and
 * calls below the limits are omitted; the graph's label has their numbers.
 *
 * A larger share has a warmer colour and a thicker arrow. In a comparison, boxes and arrows
 * also have the change of the share in percentage points. Tooltips have the full names. */
#include "export/dot.h"
#include "base/sort.h"
#include "base/visible.h"
#include "export/exporter.h"
#include "model/name.h"
#include <math.h>

#define NAME_MOST 4096 /* bytes: dot reads quoted strings of up to 16 KiB */
#define WRAP_COLUMNS 32
#define TIMES "\xc3\x97" /* the multiplication sign */
#define NANOSECONDS 1e9

const struct dot_options dot_defaults = {
    .labels = DOT_TOTAL_SHARE | DOT_SELF_SHARE,
    .skew = 1,
    .tolerance = 0.001,
    .by_change = true,
    .number = {.precision = 7, .kind = 'g'},
};

struct dot_writer {
    const struct call_costs *c;
    const struct dot_options *o;
    const struct dot_style *style;
    struct output *out;
    struct output text, name; /* scratch */
};

/* --- Text --------------------------------------------------------------------------- */

/* The text of a quoted string. Graphviz interprets entities ("&amp;") and escapes in
 * it. A line end becomes the escape for one. */
static void put_quoted(struct output *out, struct str s)
{
    for (size_t i = 0; i < s.len; i++) {
        if (s.ptr[i] == '&')
            output_text(out, "&amp;");
        else if (s.ptr[i] == '\n')
            output_text(out, "\\n");
        else if (s.ptr[i] == '"' || s.ptr[i] == '\\')
            output_format(out, "\\%c", s.ptr[i]);
        else
            output_char(out, s.ptr[i]);
    }
}

/* Without control characters. */
static void put_name(struct dot_writer *w, struct str name)
{
    size_t length = name.len < NAME_MOST ? name.len : NAME_MOST;
    while (length < name.len && length > 0 && ((unsigned char)name.ptr[length] >> 6) == 2)
        length--; /* not within a character of UTF-8 */
    w->text.used = 0;
    visible_print(&w->text, str_head(name, length));
    if (name.len > NAME_MOST)
        output_text(&w->text, "\xe2\x80\xa6");
    put_quoted(w->out, output_contents(&w->text));
}

static struct str stripped(struct dot_writer *w, struct str name)
{
    w->name.used = 0;
    name_write_without_templates(&w->name, name_without_arguments(name));
    struct str text = output_contents(&w->name);
    return text.len ? text : name;
}

/* The length of the next line of a long name: up to the last space, or the last "::" or
 * comma if there is none. */
static size_t line_length(struct str rest)
{
    size_t space = 0, mark = 0;
    if (rest.len <= WRAP_COLUMNS)
        return rest.len;
    for (size_t i = 1; i < WRAP_COLUMNS; i++) {
        if (rest.ptr[i] == ' ')
            space = i + 1;
        else if (rest.ptr[i] == ',' || (rest.ptr[i] == ':' && rest.ptr[i - 1] == ':'))
            mark = i + 1;
    }
    if (space || mark)
        return space ? space : mark;
    for (size_t i = WRAP_COLUMNS; i < rest.len; i++)
        if (rest.ptr[i] == ' ' || rest.ptr[i] == ',')
            return i + 1;
    return rest.len;
}

static void put_box_name(struct dot_writer *w, struct str name)
{
    struct str rest = w->o->strip ? stripped(w, name) : name;
    if (!name.len)
        rest = STR("[unknown]");
    while (w->o->wrap && rest.len > WRAP_COLUMNS) {
        size_t length = line_length(rest);
        if (length == rest.len)
            break;
        put_name(w, str_head(rest, length));
        output_text(w->out, "\\n");
        rest = str_skip(rest, length);
    }
    put_name(w, rest);
}

/* --- Numbers ------------------------------------------------------------------------ */

static double shown_percent(double part, double all)
{
    return 100 * cost_share(part, all);
}

static double change_of(const struct dot_writer *w, double total, double base_total)
{
    double change =
        cost_share(total, w->c->total) - cost_share(base_total, w->c->base_total);
    return fabs(change) < w->o->tolerance ? 0 : change;
}

static void put_change(struct dot_writer *w, const char *start, double total,
                       double base_total)
{
    if (!w->c->differs)
        return;
    double points = 100 * change_of(w, total, base_total);
    output_format(w->out, points < 0 ? "\\n%s%.2f" : "\\n%s+%.2f", start, points);
}

/* With this number of significant digits: formats print 15 (base/number.h). */
static double rounded(double v, int digits)
{
    int more = digits > 1 ? digits - 1 : 0;
    double scale = v > 0 ? pow(10, more - floor(log10(v))) : 0;
    return scale > 0 && isfinite(scale) ? floor(v * scale + 0.5) / scale : v;
}

/* Times are in seconds, as in gprof2dot; other weights in their unit. */
static void put_weight(struct dot_writer *w, double weight)
{
    const struct dot_number *n = &w->o->number;
    double v = w->c->unit == UNIT_NANOSECONDS ? weight / NANOSECONDS : weight;
    put_name(w, n->before);
    if (n->kind == 'f')
        output_format(w->out, "%.*f", n->precision, v);
    else if (n->kind == 'd')
        output_format(w->out, "%.0f", trunc(v));
    else
        output_format(w->out, "%g", rounded(v, n->precision));
    put_name(w, n->after);
}

static void put_count(struct dot_writer *w, double count)
{
    if (count >= 0)
        output_format(w->out, "\\n%.0f" TIMES, count);
}

/* --- Colours ------------------------------------------------------------------------ */

static struct dot_rgb color_of(const struct dot_writer *w, double weight, double total,
                               double base_total)
{
    return w->c->differs && w->o->by_change
               ? dot_change_color(change_of(w, total, base_total))
               : dot_color_of(w->style, weight, w->o->skew);
}

static void put_color(struct dot_writer *w, const char *name, struct dot_rgb c)
{
    output_format(w->out, "%s=\"#%02x%02x%02x\"", name, c.red, c.green, c.blue);
}

/* On a light box, the text is dark. */
static const char *text_color(const struct dot_writer *w, struct dot_rgb box)
{
    bool dark = w->style->filled && dot_luminance(box) <= DOT_LIGHT_BOX;
    return dark ? "#ffffff" : "#000000";
}

static double pen_of(const struct dot_writer *w, double weight)
{
    double pen = weight * w->style->pen_most;
    return pen > w->style->pen_least ? pen : w->style->pen_least;
}

static double font_of(const struct dot_writer *w, double weight)
{
    double size = weight * weight * w->style->font_most;
    return size > w->style->font_least ? size : w->style->font_least;
}

/* --- Functions and calls ------------------------------------------------------------ */

static void put_measures(struct dot_writer *w, const struct cost_function *f)
{
    unsigned labels = w->o->labels;
    if (labels & DOT_TOTAL) {
        output_text(w->out, "\\n");
        put_weight(w, f->total);
    }
    if (labels & DOT_TOTAL_SHARE)
        output_format(w->out, "\\n%.2f%%", shown_percent(f->total, w->c->total));
    put_change(w, "", f->total, f->base_total);
    if (labels & DOT_SELF) {
        output_text(w->out, "\\n(");
        put_weight(w, f->self);
        output_text(w->out, ")");
    }
    if (labels & DOT_SELF_SHARE)
        output_format(w->out, "\\n(%.2f%%)", shown_percent(f->self, w->c->total));
    if (w->o->samples)
        put_count(w, f->samples);
    put_count(w, f->called);
}

static void put_tooltip(struct dot_writer *w, const struct cost_function *f)
{
    output_text(w->out, "\", tooltip=\"");
    put_name(w, f->name);
    if (f->path.len) {
        output_text(w->out, "\\n");
        put_name(w, f->path);
    }
    if (f->file.len) {
        output_text(w->out, "\\n");
        put_name(w, f->file);
    }
    output_text(w->out, "\\ntotal ");
    put_weight(w, f->total);
    output_text(w->out, ", self ");
    put_weight(w, f->self);
    output_text(w->out, "\", ");
}

static void put_function(struct dot_writer *w, uint32_t id)
{
    const struct cost_function *f = &w->c->functions[id];
    output_format(w->out, "\tn%u [label=\"", id);
    if (f->module.len) {
        put_name(w, f->module);
        output_text(w->out, "\\n");
    }
    put_box_name(w, f->name);
    put_measures(w, f);
    put_tooltip(w, f);
    struct dot_rgb box = color_of(w, f->weight, f->total, f->base_total);
    put_color(w, "color", box);
    output_format(w->out, ", fontcolor=\"%s\", fontsize=\"%.2f\"];\n", text_color(w, box),
                  font_of(w, f->weight));
}

/* Labels are beside the middle of the line: without space, wide lines hide their start. */
#define BESIDE "  "

static void put_call_label(struct dot_writer *w, const struct cost_call *call)
{
    const struct cost_function *caller = &w->c->functions[call->caller];
    output_text(w->out, " [label=\"");
    if (call->total >= 0) {
        output_format(w->out, BESIDE "%.2f%%", shown_percent(call->total, w->c->total));
        if (w->o->parent_share)
            output_format(w->out, "\\n" BESIDE "%.2f%% of caller",
                          shown_percent(call->total, caller->total));
        put_change(w, BESIDE, call->total, call->base_total);
    }
    if (call->count >= 0)
        output_format(w->out, "%s" BESIDE "%.0f" TIMES, call->total >= 0 ? "\\n" : "",
                      call->count);
}

static void put_call(struct dot_writer *w, const struct cost_call *call)
{
    const struct cost_function *caller = &w->c->functions[call->caller];
    const struct cost_function *callee = &w->c->functions[call->callee];
    double pen = pen_of(w, call->weight), total = call->total > 0 ? call->total : 0;
    output_format(w->out, "\tn%u -> n%u", call->caller, call->callee);
    put_call_label(w, call);
    output_text(w->out, "\", tooltip=\"");
    put_name(w, caller->name);
    output_text(w->out, " -> ");
    put_name(w, callee->name);
    output_text(w->out, "\", ");
    struct dot_rgb line = color_of(w, call->weight, total, call->base_total);
    put_color(w, "color", line);
    output_text(w->out, ", ");
    put_color(w, "fontcolor", dot_on_white(line));
    output_format(w->out,
                  ", fontsize=\"%.2f\", penwidth=\"%.2f\", labeldistance=\"%.2f\", "
                  "arrowsize=\"%.2f\"];\n",
                  font_of(w, call->weight), pen, pen, 0.5 * sqrt(pen));
}

/* --- The graph ---------------------------------------------------------------------- */

struct omitted {
    size_t functions, calls;
};

static void put_total(struct dot_writer *w)
{
    const struct call_costs *c = w->c;
    bool time = c->unit == UNIT_NANOSECONDS;
    output_format(w->out, "%g ", rounded(time ? c->total / NANOSECONDS : c->total, 10));
    put_name(w, time                                     ? STR("s")
                : c->unit == UNIT_EVENTS && c->event.len ? c->event
                                                         : str_of(unit_name(c->unit)));
}

static const char *plural(size_t count)
{
    return count == 1 ? "" : "s";
}

static void put_head(struct dot_writer *w, struct str title, struct omitted omitted)
{
    output_text(w->out, "digraph {\n\tgraph [fontname=Arial, nodesep=0.125, "
                        "ranksep=0.25, charset=\"UTF-8\", labelloc=t, label=\"");
    put_name(w, title);
    output_text(w->out, title.len ? "\\n" : "");
    put_total(w);
    if (omitted.functions || omitted.calls)
        output_format(w->out, "; not shown: %zu function%s, %zu call%s",
                      omitted.functions, plural(omitted.functions), omitted.calls,
                      plural(omitted.calls));
    output_format(w->out,
                  "\"];\n\tnode [fontname=Arial, height=0, shape=box, style=%s, "
                  "width=0];\n\tedge [fontname=Arial];\n",
                  w->style->filled ? "filled" : "solid");
}

static bool heavier_function(const void *context, uint32_t a, uint32_t b)
{
    const struct cost_function *functions = context;
    return functions[a].weight > functions[b].weight;
}

static bool heavier_call(const void *context, uint32_t a, uint32_t b)
{
    const struct cost_call *calls = context;
    return calls[a].weight > calls[b].weight;
}

static void put_graph(struct dot_writer *w, struct str title, uint32_t *order)
{
    const struct call_costs *c = w->c;
    size_t most = c->function_count + c->call_count;
    uint32_t *scratch = order + most, *calls = order + c->function_count;
    size_t function_count = 0, call_count = 0;
    for (uint32_t f = 1; f < c->function_count; f++)
        if (c->functions[f].shown)
            order[function_count++] = f;
    for (uint32_t i = 1; i < c->call_count; i++)
        if (c->calls[i].shown)
            calls[call_count++] = i;
    sort_u32(order, function_count, scratch, heavier_function, c->functions);
    sort_u32(calls, call_count, scratch, heavier_call, c->calls);
    put_head(w, title,
             (struct omitted){c->function_count - 1 - function_count,
                              c->call_count - 1 - call_count});
    for (size_t i = 0; i < function_count; i++)
        put_function(w, order[i]);
    for (size_t i = 0; i < call_count; i++)
        put_call(w, &c->calls[calls[i]]);
    output_text(w->out, "}\n");
}

bool dot_write_graph(const struct call_costs *c, const struct dot_options *o,
                     struct str title, struct output *out, struct error *err)
{
    struct arena arena = ARENA_INIT;
    struct dot_writer w = {
        c, o, &dot_styles[o->theme], out, OUTPUT_BUFFER, OUTPUT_BUFFER};
    uint32_t *order =
        arena_zalloc(&arena, 2 * (c->function_count + c->call_count) + 2, sizeof *order);
    if (order)
        put_graph(&w, title, order);
    bool ok = order && !w.text.failed && !w.name.failed;
    output_deinit(&w.text);
    output_deinit(&w.name);
    arena_deinit(&arena);
    return ok || error_memory(err);
}

static bool dot_write(const struct profile *p, const struct export_options *options,
                      struct output *out, struct error *err)
{
    /* the defaults of gprof2dot */
    static const struct costs_limits limits = {
        .function_share = 0.005, .call_share = 0.001, .depth = -1};
    struct call_costs costs;
    bool ok = call_costs_init(&costs, p, &options->tree, COSTS_EXACT, err) &&
              call_costs_choose(&costs, options->calls ? options->calls : &limits, err) &&
              dot_write_graph(&costs, &dot_defaults, options->title, out, err);
    call_costs_deinit(&costs);
    return ok;
}

const struct exporter export_dot = {
    .name = "dot",
    .suffixes = "dot,gv",
    .summary = "the call graph, for Graphviz",
    .titled = true,
    .write = dot_write,
};
