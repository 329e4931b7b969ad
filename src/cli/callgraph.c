/* SPDX-License-Identifier: Apache-2.0 */
/* stoke callgraph: a call graph for Graphviz, with the options of gprof2dot. */
#include "analysis/call_costs.h"
#include "base/number.h"
#include "base/visible.h"
#include "cli/command.h"
#include "cli/message.h"
#include "cli/options/load.h"
#include "cli/options/transforms.h"
#include "export/dot.h"
#include "os/command.h"
#include "os/file.h"
#include "os/terminal.h"
#include <string.h>

#define PICTURE_MOST ((size_t)1 << 30) /* bytes */

enum picture { PICTURE_BY_NAME, PICTURE_NONE, PICTURE_SVG, PICTURE_PDF, PICTURE_PNG };

struct callgraph_settings {
    struct load_settings load;
    struct transforms_settings transforms;
    struct dot_options dot;
    struct name_list paths;
    const char *output, *title, *root, *leaf, *list;
    double function_percent, call_percent, tolerance;
    int64_t depth;
    int method; /* enum costs_method */
    int theme;  /* enum dot_theme */
    int type;   /* enum picture */
    unsigned labels;
    bool compare, by_self, only_slower, only_faster, by_difference;
};

#define OFF(field) offsetof(struct callgraph_settings, field)

/* In the orders of enum costs_method and enum dot_theme. */
static const char *const methods[] = {"callstacks", "callratios", NULL};
static const char *const themes[] = {"color", "pink", "gray", "bw", "print", NULL};

/* In the order of enum picture; "auto" is by the suffix of the output. */
static const char *const types[] = {"auto", "dot", "svg", "pdf", "png", NULL};

static const char *const label_names[] = {"total-time", "total-time-percentage",
                                          "self-time", "self-time-percentage", NULL};

static bool parse_label(const char *text, void *value, struct error *err)
{
    static const unsigned labels[] = {DOT_TOTAL, DOT_TOTAL_SHARE, DOT_SELF,
                                      DOT_SELF_SHARE};
    for (size_t i = 0; label_names[i]; i++)
        if (strcmp(text, label_names[i]) == 0) {
            *(unsigned *)value |= labels[i];
            return true;
        }
    error_set(err, "invalid value '%s' for --node-label", text);
    return error_hint(err, "total-time, total-time-percentage, self-time or "
                           "self-time-percentage");
}

/* "%.3f s" */
static bool parse_number_format(const char *text, void *value, struct error *err)
{
    struct dot_number *n = value;
    struct str rest = str_of(text), digits;
    uint64_t precision = 6;
    n->before = str_cut(&rest, '%');
    bool ok = n->before.len < strlen(text) && rest.len > 0;
    size_t at = 0;
    if (ok && rest.ptr[0] == '.') {
        while (at + 1 < rest.len && byte_is_digit(rest.ptr[at + 1]))
            at++;
        digits = str_head(str_skip(rest, 1), at);
        ok = number_parse_u64(digits, &precision) && precision <= 9;
        rest = str_skip(rest, at + 1);
    }
    n->kind = rest.len ? rest.ptr[0] : 0;
    if (n->kind == 'F' || n->kind == 'G')
        n->kind += 'f' - 'F';
    if (n->kind == 'i' || n->kind == 'u')
        n->kind = 'd';
    ok = ok && (n->kind == 'f' || n->kind == 'g' || n->kind == 'd') &&
         !str_has(str_skip(rest, 1), STR("%"));
    if (!ok) {
        error_set(err, "invalid time format '%s'", text);
        return error_hint(err,
                          "%%.3f, %%.7g or %%d, at most 9 digits, with text before and "
                          "after");
    }
    n->precision = (int)precision;
    n->after = str_skip(rest, 1);
    return true;
}

static const struct option callgraph_options[] = {
    {"output", 'o', "FILE", "write to FILE (default: standard output)", OPTION_STRING,
     OFF(output)},
    {"", 'f', "NAME", NULL, OPTION_PARSED, OFF(load.format), .parse = load_parse_format},
    {"type", 'T', "TYPE",
     "dot, or a picture by Graphviz's dot (default: by the suffix of --output, else dot)",
     OPTION_CHOICE, OFF(type), types},
    {"title", 0, "TEXT", "heading of the graph", OPTION_STRING, OFF(title)},
    {"node-thres,node-limit", 'n', "PERCENT",
     "omit functions below PERCENT of the total (default: 0.5)", OPTION_NUMBER,
     OFF(function_percent), .least = 0, .most = 100},
    {"edge-thres,edge-limit", 'e', "PERCENT",
     "omit calls below PERCENT of the total (default: 0.1)", OPTION_NUMBER,
     OFF(call_percent), .least = 0, .most = 100},
    {"total", 0, "METHOD",
     "totals of samples: exact, or by ratios of calls, gprof2dot's default (default: "
     "callstacks)",
     OPTION_CHOICE, OFF(method), methods},
    {"colormap", 'c', "THEME", "colours (default: color)", OPTION_CHOICE, OFF(theme),
     themes},
    {"strip", 's', NULL, "names without arguments and template arguments", OPTION_FLAG,
     OFF(dot.strip)},
    {"color-nodes-by-selftime", 0, NULL, "colour functions by self weight", OPTION_FLAG,
     OFF(by_self)},
    {"wrap", 'w', NULL, "wrap long names", OPTION_FLAG, OFF(dot.wrap)},
    {"show-samples", 0, NULL, "show the number of samples that end in a function",
     OPTION_FLAG, OFF(dot.samples)},
    {"parent-percentage", 0, NULL, "calls: also the part of the caller's total",
     OPTION_FLAG, OFF(dot.parent_share)},
    {"time-format", 0, "FORMAT", "format of absolute times (default: %.7g)",
     OPTION_PARSED, OFF(dot.number), .parse = parse_number_format},
    {"node-label", 0, "WHAT", "what a box shows (repeatable; default: both percentages)",
     OPTION_PARSED, OFF(labels), label_names, .parse = parse_label},
    {"list-functions", 0, "GLOB",
     "list the names of functions that match; + lists all, %GLOB also their numbers",
     OPTION_STRING, OFF(list)},
    {"root", 'z', "GLOB", "only functions that are called, directly or not, by these",
     OPTION_STRING, OFF(root)},
    {"leaf", 'l', "GLOB", "only functions that call these, directly or not",
     OPTION_STRING, OFF(leaf)},
    {"depth", 0, "N", "with --root or --leaf: at most N calls away (default: -1, any)",
     OPTION_INT, OFF(depth), .least = -1, .most = UINT32_MAX},
    {"skew", 0, "N", "skew of the colours; below 1, small weights differ more",
     OPTION_NUMBER, OFF(dot.skew), .least = 1e-9, .most = 1e9},
    {"path", 'p', "PATH",
     "only functions of files that begin with, or modules that contain, PATH "
     "(repeatable)",
     OPTION_LIST, OFF(paths)},
    {"compare", 0, NULL, "compare two files: BEFORE AFTER", OPTION_FLAG, OFF(compare)},
    {"compare-tolerance", 0, "SHARE",
     "with --compare: ignore smaller changes (default: 0.001)", OPTION_NUMBER,
     OFF(tolerance), .least = 0, .most = 1},
    {"compare-only-slower", 0, NULL, "with --compare: only functions that grew",
     OPTION_FLAG, OFF(only_slower)},
    {"compare-only-faster", 0, NULL, "with --compare: only functions that shrank",
     OPTION_FLAG, OFF(only_faster)},
    {"compare-color-by-difference", 0, NULL, "with --compare: colours are the change",
     OPTION_FLAG, OFF(by_difference)},
    {0}};

static const struct option_group callgraph_groups[] = {
    {"options", callgraph_options, 0},
    {"filters and transforms", transforms_options, OFF(transforms), .taken = "s"},
    {"input", load_options, OFF(load)},
    {0}};

static const struct callgraph_settings callgraph_defaults = {
    .function_percent = 0.5,
    .call_percent = 0.1,
    .tolerance = 0.001,
    .depth = -1,
    .dot = {.skew = 1, .number = {.precision = 7, .kind = 'g'}}};

/* --- Graphs ------------------------------------------------------------------------- */

static bool read_graph(struct callgraph_settings *s, int file_count, char **files,
                       struct call_costs *c, struct error *err)
{
    struct calltree_options options = {0};
    struct profile *p = load_profiles(&s->load, file_count, files, err);
    p = transforms_apply(&s->transforms, p, err);
    if (p)
        load_note_event(p, s->load.quiet);
    bool ok = p && call_costs_init(c, p, &options, (enum costs_method)s->method, err);
    profile_destroy(p);
    return ok;
}

static bool choose(struct callgraph_settings *s, struct call_costs *c, struct error *err)
{
    const struct costs_limits limits = {.function_share = s->function_percent / 100,
                                        .call_share = s->call_percent / 100,
                                        .paths = s->paths.items,
                                        .path_count = s->paths.count,
                                        .root = s->root,
                                        .leaf = s->leaf,
                                        .depth = s->depth,
                                        .by_self = s->by_self,
                                        .only_more = s->only_slower,
                                        .only_less = s->only_faster,
                                        .tolerance = s->tolerance};
    return call_costs_choose(c, &limits, err);
}

static void list_functions(const struct call_costs *c, const char *glob,
                           struct output *out)
{
    bool all = glob[0] == '%';
    struct str pattern = str_of(glob + all);
    if (pattern.len == 0 || str_equal(pattern, STR("+")))
        pattern = STR("*");
    for (size_t i = 1; i < c->function_count; i++) {
        const struct cost_function *f = &c->functions[i];
        if (!call_costs_matches(pattern, f->name))
            continue;
        if (all)
            output_format(out, "%6.2f%% %6.2f%% ", 100 * cost_share(f->total, c->total),
                          100 * cost_share(f->self, c->total));
        if (all && f->module.len)
            visible_print(out, f->module);
        output_text(out, all && f->module.len ? ": " : "");
        visible_print(out, f->name);
        output_char(out, '\n');
    }
}

static enum picture picture_of(const struct callgraph_settings *s)
{
    struct str name = str_of(s->output ? s->output : ""), suffix;
    if (s->type != PICTURE_BY_NAME)
        return (enum picture)s->type;
    suffix = str_skip(name, str_rfind(name, '.'));
    for (int i = PICTURE_SVG; i <= PICTURE_PNG; i++)
        if (suffix.len && str_equal(str_skip(suffix, 1), str_of(types[i])))
            return (enum picture)i;
    return PICTURE_NONE;
}

/* Refuses a file name whose suffix is not that of a graph or of a picture that dot makes here. */
static bool check_suffix(const struct callgraph_settings *s, struct error *err)
{
    static const char *const graphs[] = {"", "dot", "gv", "txt", "out", "xdot"};
    struct str name = str_basename(str_of(s->output ? s->output : ""));
    size_t point = str_rfind(name, '.');
    struct str suffix = str_skip(name, point + 1);
    if (s->type != PICTURE_BY_NAME || s->list || point == name.len || point == 0 ||
        picture_of(s) != PICTURE_NONE)
        return true;
    for (size_t i = 0; i < sizeof graphs / sizeof *graphs; i++)
        if (str_equal(suffix, str_of(graphs[i])))
            return true;
    error_set(err, "%s: unknown type of graph or picture '.%.*s'", s->output,
              STR_ARG(suffix));
    return error_hint(err, "name it .dot, .svg, .pdf or .png, or give the type: -T dot");
}

static bool draw_picture(enum picture picture, struct str graph, struct output *out,
                         struct error *err)
{
    char type[8];
    const char *const argv[] = {"dot", type, NULL};
    format_text(type, sizeof type, "-T%s", types[picture]);
    if (os_command_run(argv, graph, out, PICTURE_MOST, err))
        return true;
    return error_hint(err, "Graphviz has the program dot; -T dot writes its input, and "
                           "larger values of -n and -e make it smaller");
}

/* The output is opened after the picture is made, so that a failure leaves the file. */
static bool write_output(const struct callgraph_settings *s, struct str content,
                         struct error *err)
{
    struct os_output file;
    const char *path = s->output ? s->output : "-";
    if (!os_output_open(&file, path, err))
        return false;
    struct output out = os_output_stream(&file);
    output_str(&out, content);
    bool ok = os_output_close(&file, &out, err);
    output_deinit(&out);
    return ok;
}

/* Why no function of a sufficient share is shown. */
static const char *exclusion(const struct callgraph_settings *s)
{
    return s->only_slower   ? "no function grew by more than --compare-tolerance"
           : s->only_faster ? "no function shrank by more than --compare-tolerance"
           : s->paths.count ? "none is of a file or module that --path selects"
                            : "none is selected";
}

/* An empty picture would not say why it is empty. */
static void note_empty(const struct callgraph_settings *s, const struct call_costs *c)
{
    double most = 0;
    for (size_t i = 1; i < c->function_count; i++) {
        double share = cost_share(c->functions[i].total, c->total);
        most = share > most ? share : most;
    }
    if (100 * most >= s->function_percent)
        message_note("no function is shown: %s", exclusion(s));
    else
        message_note(
            "no function is shown: none of the selected functions has %g%% of the total; "
            "the largest share is %.2f%% (--node-thres)",
            s->function_percent, 100 * most);
}

/* Says what the graph does not: why it is empty; and that --path, as in gprof2dot, does not
 * exclude functions of which the input has no path. */
static void note_shown(const struct callgraph_settings *s, const struct call_costs *c)
{
    size_t shown = 0, located = 0;
    for (size_t i = 1; i < c->function_count; i++) {
        const struct cost_function *f = &c->functions[i];
        shown += f->shown;
        located += f->shown && (f->file.len || f->path.len);
    }
    if (s->load.quiet)
        return;
    if (!shown)
        note_empty(s, c);
    else if (s->paths.count && !located)
        message_note(
            "no shown function is of a file or module that --path selects: those "
            "without a file and a module are shown");
}

static bool write_graph(struct callgraph_settings *s, struct call_costs *c,
                        const char *title, struct error *err)
{
    struct output graph = OUTPUT_BUFFER, drawn = OUTPUT_BUFFER;
    enum picture picture = s->list ? PICTURE_NONE : picture_of(s);
    bool ok = true;
    if (s->list)
        list_functions(c, s->list, &graph);
    else
        ok = choose(s, c, err) && dot_write_graph(c, &s->dot, str_of(title), &graph, err);
    if (ok && !s->list)
        note_shown(s, c);
    if (ok && picture != PICTURE_NONE)
        ok = draw_picture(picture, output_contents(&graph), &drawn, err);
    ok = ok && ((!graph.failed && !drawn.failed) || error_memory(err));
    ok = ok &&
         write_output(s, output_contents(picture == PICTURE_NONE ? &graph : &drawn), err);
    output_deinit(&graph);
    output_deinit(&drawn);
    return ok;
}

/* Weights in different units are not comparable; their shares may be. */
static void note_units(const struct callgraph_settings *s,
                       const struct call_costs *before, const struct call_costs *after)
{
    if (s->load.quiet ||
        (before->unit == after->unit && str_equal(before->event, after->event)))
        return;
    message_note(
        "BEFORE has '%.*s' (%s), AFTER has '%.*s' (%s): their shares are compared",
        STR_ARG(before->event), unit_name(before->unit), STR_ARG(after->event),
        unit_name(after->unit));
}

static bool read_both(struct callgraph_settings *s, char **files,
                      struct call_costs *before, struct call_costs *after,
                      struct error *err)
{
    if (!read_graph(s, 1, &files[0], before, err) ||
        !read_graph(s, 1, &files[1], after, err) ||
        !call_costs_compare(after, before, err))
        return false;
    note_units(s, before, after);
    return true;
}

static bool make_graph(struct callgraph_settings *s, int file_count, char **files,
                       struct error *err)
{
    struct call_costs graph = {0}, before = {0};
    bool ok = s->compare ? read_both(s, files, &before, &graph, err)
                         : read_graph(s, file_count, files, &graph, err);
    ok = ok && write_graph(s, &graph, s->title ? s->title : "", err);
    call_costs_deinit(&before);
    call_costs_deinit(&graph);
    return ok;
}

static bool options_agree(const struct callgraph_settings *s, int file_count,
                          struct error *err)
{
    if (s->compare && file_count != 2)
        return error_set(err, "--compare needs two files, BEFORE and AFTER, not %d",
                         file_count);
    if (!s->compare && (s->only_slower || s->only_faster || s->by_difference)) {
        error_set(err, "%s needs --compare",
                  s->only_slower   ? "--compare-only-slower"
                  : s->only_faster ? "--compare-only-faster"
                                   : "--compare-color-by-difference");
        return error_hint(err, "--compare BEFORE AFTER");
    }
    if (s->only_slower && s->only_faster) {
        error_set(err,
                  "--compare-only-slower and --compare-only-faster exclude each other");
        return error_hint(err, "without both, all functions are shown");
    }
    if (s->depth >= 0 && !s->root && !s->leaf) {
        error_set(err, "--depth counts calls from --root or --leaf; both are missing");
        return error_hint(err, "--root main --depth %lld", (long long)s->depth);
    }
    if (!check_suffix(s, err))
        return false;
    if (!s->output && picture_of(s) >= PICTURE_PDF && os_terminal_of(1).is_terminal) {
        error_set(err, "refusing to write a picture to a terminal");
        return error_hint(err, "-o FILE");
    }
    return true;
}

static int callgraph_run(void *settings, int file_count, char **files)
{
    struct callgraph_settings *s = settings;
    struct error err = {.location = LOCATION_NONE};
    if (!options_agree(s, file_count, &err) ||
        !load_inputs(&s->load, NULL, &file_count, &files, &err)) {
        message_error(&err);
        return STATUS_USAGE;
    }
    s->dot.theme = (enum dot_theme)s->theme;
    s->dot.labels = s->labels ? s->labels : dot_defaults.labels;
    s->dot.by_change = s->by_difference;
    s->dot.tolerance = s->tolerance;
    s->load.import.lines |= s->paths.count > 0;
    transforms_prepare(&s->transforms, &s->load);
    return command_status(make_graph(s, file_count, files, &err), &err);
}

const struct command command_callgraph = {
    .name = "callgraph",
    .summary = "draw a call graph, with the options of gprof2dot",
    .usage = "[OPTION...] [FILE...]",
    .examples = "  perf script | stoke callgraph | dot -Tsvg -o calls.svg\n"
                "  stoke callgraph -n 2 -w gmon.txt -o calls.svg\n"
                "  stoke callgraph -z main --depth 3 out.pstats\n"
                "  stoke callgraph --compare before.folded after.folded\n",
    .groups = callgraph_groups,
    .settings_size = sizeof(struct callgraph_settings),
    .result = offsetof(struct callgraph_settings, load.result),
    .defaults = &callgraph_defaults,
    .run = callgraph_run,
};
