/* SPDX-License-Identifier: Apache-2.0 */
/* stoke diff: compares two profiles. */
#include "base/number.h"
#include "base/sort.h"
#include "cli/command.h"
#include "cli/message.h"
#include "cli/options/load.h"
#include "cli/options/perf.h"
#include "cli/options/save.h"
#include "cli/options/tables.h"
#include "cli/options/transforms.h"
#include "engine/sources.h"
#include "os/terminal.h"
#include <unistd.h>

/* Exit statuses with --fail-above: 1 means growth, so failures need another number. */
enum { STATUS_GREW = 1, STATUS_TROUBLE = 3 };

#define NAMED_MAX 20 /* the number of functions that the report of --fail-above names */

struct diff_settings {
    struct load_settings load;
    struct transforms_settings transforms;
    struct tables_settings tables;
    const char *output, *title;
    bool folded, svg, table;
    bool normalise, pid, tid, with_source;
    struct name_list source_dirs;
    double fail_above; /* below 0: off */
    int fail_on;       /* enum fail_on */
};

enum fail_on { FAIL_ON_TOTAL, FAIL_ON_SELF };

static const char *const fail_ons[] = {"total", "self", NULL};

static const struct diff_settings diff_defaults = {.tables = TABLES_DEFAULTS,
                                                   .fail_above = -1};

static bool parse_points(const char *text, void *value, struct error *err)
{
    struct str s = str_of(text);
    if (str_ends(s, STR("%")))
        s.len--;
    if (!number_parse_double(s, value) || *(double *)value < 0) {
        error_set(err, "invalid number of percentage points '%s'", text);
        return error_hint(err, "2, or 0.5");
    }
    return true;
}

#define OFF(field) offsetof(struct diff_settings, field)

static const struct option diff_options[] = {
    {"normalize,normalise", 'n', NULL, "scale BEFORE to the total of AFTER", OPTION_FLAG,
     OFF(normalise)},
    {"verbose", 'v', NULL, NULL, OPTION_IGNORED, 0},
    {"pid", 0, NULL, "separate processes by PID, not only by name", OPTION_FLAG,
     OFF(pid)},
    {"tid", 0, NULL, "separate threads by TID", OPTION_FLAG, OFF(tid)},
    {"folded", 0, NULL,
     "write folded lines with two counts (default for files and pipes)", OPTION_FLAG,
     OFF(folded)},
    {"table", 0, NULL, "write a table of functions (default on a terminal)", OPTION_FLAG,
     OFF(table)},
    {"svg", 0, NULL, "draw a flame graph coloured by the change", OPTION_FLAG, OFF(svg)},
    {"output", 'o', "FILE", "write to FILE; its suffix selects the format", OPTION_STRING,
     OFF(output)},
    {"sort", 0, "COLUMN", "sort the table by this column (default: total)", OPTION_CHOICE,
     OFF(tables.sort), tables_sorts},
    {"title", 0, "TEXT", "title of the image or table", OPTION_STRING, OFF(title)},
    {"with-source", 0, NULL,
     "HTML page: include the source files named by the line tables of the binaries",
     OPTION_FLAG, OFF(with_source)},
    {"source-dir", 0, "DIR",
     "with --with-source: also search this directory (repeatable)", OPTION_LIST,
     OFF(source_dirs)},
    {"fail-above", 0, "POINTS",
     "exit with status 1 if a function's share grows by more than POINTS percentage "
     "points",
     OPTION_PARSED, OFF(fail_above), .parse = parse_points},
    {"fail-on", 0, "SHARE", "the share that --fail-above compares (default: total)",
     OPTION_CHOICE, OFF(fail_on), fail_ons},
    {0}};

static const struct option_group diff_groups[] = {
    {"options", diff_options, 0},
    {"table", tables_options, OFF(tables)},
    {"filters and transforms", transforms_options, OFF(transforms)},
    {"input", load_options, OFF(load)},
    {"options of perf diff", perf_diff_options, 0},
    {0}};

static enum thread_style thread_style_of(const struct diff_settings *s)
{
    return s->tid ? THREAD_TID : s->pid ? THREAD_PID : THREAD_COMM;
}

/* --- Output ------------------------------------------------------------------------- */

static bool wants_table(const struct diff_settings *s)
{
    return s->table || s->tables.tree || s->tables.callers ||
           s->tables.form != TABLE_TEXT;
}

/* Returns the format by option, or by the kind of output; NULL: by the file's suffix. */
static const char *form_of(const struct diff_settings *s, bool to_file)
{
    bool for_people = s->fail_above >= 0 || os_terminal_of(1).is_terminal;
    if (s->svg)
        return "svg";
    if (wants_table(s) || (!s->folded && !to_file && for_people))
        return "table";
    return s->folded || !to_file ? "folded" : NULL;
}

static const struct exporter *choose_exporter(const struct diff_settings *s,
                                              struct error *err)
{
    bool to_file = s->output && strcmp(s->output, "-") != 0;
    const char *form = form_of(s, to_file);
    if (s->folded + s->svg + wants_table(s) > 1) {
        error_set(err, "--folded, --svg and tables cannot be combined");
        return NULL;
    }
    struct str file = s->output ? str_of(s->output) : STR("");
    const struct exporter *e =
        form ? exporter_named(str_of(form)) : exporter_for_file(file);
    if (!e) {
        error_set(err, "no output format for the file name '%s'", s->output);
        error_hint(err,
                   "--folded, --svg or --table; 'stoke help formats' lists suffixes");
    }
    return e;
}

static bool write_diff(const struct diff_settings *s, const struct exporter *e,
                       const struct profile *p, struct error *err)
{
    struct table_options table = tables_choose(&s->tables, &s->transforms, p, s->output);
    struct export_options options = {.table = &table,
                                     .title = str_of(s->title ? s->title : "")};
    options.tree.threads = thread_style_of(s);
    if (s->transforms.options.group != GROUP_FUNCTION)
        options.tree.threads = THREAD_NONE;
    if (s->fail_above >= 0 && table.form == TABLE_TEXT && table.limit == 0)
        table.limit = NAMED_MAX;
    return save_profile(e, p, &options, s->output ? s->output : "-", err);
}

static struct str title_of(const char *file)
{
    return strcmp(file, "-") == 0 ? STR("standard input") : str_basename(str_of(file));
}

/* A page has both profiles, and compares them itself. */
static bool write_page(const struct diff_settings *s, const struct exporter *e,
                       struct profile *const sides[2], struct sources *sources,
                       char **files, struct error *err)
{
    if (s->with_source && (!sources_read(sources, sides[1], &s->source_dirs, err) ||
                           !sources_read(sources, sides[0], &s->source_dirs, err)))
        return false;
    struct export_options options = {.title =
                                         s->title ? str_of(s->title) : title_of(files[1]),
                                     .tree.threads = THREAD_TID,
                                     .before = sides[0],
                                     .before_title = title_of(files[0]),
                                     .with_callgraph = true,
                                     .sources = sources->items,
                                     .source_count = sources->count};
    if (!save_profile(e, sides[1], &options, s->output, err))
        return false;
    if (s->with_source && !s->load.quiet)
        sources_list(sources, &message_report);
    return true;
}

/* --- Growth ------------------------------------------------------------------------- */

struct growth {
    const struct function *functions;
    double before, after; /* totals */
    bool self;
};

static double share(double part, double all)
{
    return all != 0 ? 100 * part / all : 0;
}

static double share_before(const struct growth *g, uint32_t i)
{
    const struct function *f = &g->functions[i];
    return share(g->self ? f->base_self : f->base_total, g->before);
}

static double share_after(const struct growth *g, uint32_t i)
{
    const struct function *f = &g->functions[i];
    return share(g->self ? f->self : f->total, g->after);
}

static double growth_of(const struct growth *g, uint32_t i)
{
    return share_after(g, i) - share_before(g, i);
}

static bool grew_more(const void *context, uint32_t a, uint32_t b)
{
    return growth_of(context, a) > growth_of(context, b);
}

static void name_grown(const struct growth *g, const struct calltree *tree,
                       const uint32_t *items, size_t count, double points)
{
    message_note("%zu function%s grew by more than %g percentage points of %s:", count,
                 count == 1 ? "" : "s", points, fail_ons[g->self]);
    for (size_t i = 0; i < count && i < NAMED_MAX; i++) {
        struct str name = strings_get(&tree->paths.labels, g->functions[items[i]].label);
        message_note("  +%.2f  %6.2f%% -> %6.2f%%  %.*s", growth_of(g, items[i]),
                     share_before(g, items[i]), share_after(g, items[i]), STR_ARG(name));
    }
    if (count > NAMED_MAX)
        message_note("and %zu more", count - NAMED_MAX);
}

/* Reports the functions that grew by more than --fail-above, largest growth first. Sets
 * *grown to their number. */
static bool find_grown(const struct diff_settings *s, struct calltree *tree,
                       size_t *grown, struct error *err)
{
    size_t count;
    struct growth g = {.functions = calltree_functions(tree, &count, err),
                       .before = tree->nodes[0].base_total,
                       .after = tree->nodes[0].total,
                       .self = s->fail_on == FAIL_ON_SELF};
    uint32_t *items = arena_alloc(&tree->arena, (count + 1) * sizeof *items);
    uint32_t *scratch = arena_alloc(&tree->arena, (count + 1) * sizeof *scratch);
    *grown = 0;
    if (!g.functions || !items || !scratch)
        return error_memory(err);
    for (uint32_t i = 0; i < count; i++)
        if (growth_of(&g, i) > s->fail_above + 1e-9) /* ignore rounding errors */
            items[(*grown)++] = i;
    sort_u32(items, (uint32_t)*grown, scratch, grew_more, &g);
    if (*grown)
        name_grown(&g, tree, items, *grown, s->fail_above);
    return true;
}

static bool check_growth(const struct diff_settings *s, const struct profile *p,
                         size_t *grown, struct error *err)
{
    struct calltree tree;
    struct calltree_options options = {.threads = THREAD_NONE};
    if (!calltree_init(&tree, p, &options, err))
        return false;
    bool ok = find_grown(s, &tree, grown, err);
    calltree_deinit(&tree);
    return ok;
}

/* --- Input -------------------------------------------------------------------------- */

/* Turns threads into frames. Folded input has threads as frames; the other side must have
 * the same form. */
static struct profile *with_thread_frames(struct profile *p, enum thread_style style,
                                          struct error *err)
{
    struct transforms_settings frames = {
        .options = {.thread_frames = true, .threads = style}};
    return transforms_apply_any(&frames, p, err);
}

/* The texts are those of AFTER: a page has one text of a file. */
static bool load_sides(struct diff_settings *s, char **files, struct sources *sources,
                       struct profile *sides[2], struct error *err)
{
    struct code_consumer consumer = sources_consumer(sources);
    for (int i = 0; i < 2; i++) {
        s->load.code_consumer = i == 1 && s->with_source ? &consumer : NULL;
        sides[i] = load_profiles(&s->load, 1, &files[i], err);
        s->load.code_consumer = NULL;
        sides[i] = transforms_apply_any(&s->transforms, sides[i], err);
        if (!sides[i])
            return false;
    }
    if (sides[0]->sample_count == 0 && sides[1]->sample_count == 0)
        return error_set(err, "the filters match no sample in either file");
    if ((sides[0]->thread_count > 1) == (sides[1]->thread_count > 1))
        return true;
    int threaded = sides[1]->thread_count > 1;
    sides[threaded] = with_thread_frames(sides[threaded], thread_style_of(s), err);
    return sides[threaded] != NULL;
}

/* Reports which events are compared if there is more than one choice. */
static void note_events(const struct diff_settings *s, struct profile *const sides[2])
{
    const struct profile *before = sides[0], *after = sides[1];
    if (s->load.quiet || before->event_count < 2 || after->event_count < 2)
        return;
    struct str name =
        profile_string(after, after->events[profile_default_event(after)].name);
    if (!profile_find_event(before, name))
        message_note("comparing %.*s before with %.*s after",
                     STR_ARG(profile_string(
                         before, before->events[profile_default_event(before)].name)),
                     STR_ARG(name));
    else if (after->event_count > 2)
        message_note("comparing %.*s of %zu events; choose with --event", STR_ARG(name),
                     after->event_count - 1);
}

/* Writes the comparison; returns it, or NULL. */
static struct profile *make_diff(struct diff_settings *s, const struct exporter *e,
                                 char **files, struct error *err)
{
    struct profile *sides[2] = {NULL, NULL}, *p = NULL;
    struct diff_options o = {.normalise = s->normalise, .threads = thread_style_of(s)};
    struct sources sources;
    if (!sources_init(&sources))
        error_memory(err);
    else if (load_sides(s, files, &sources, sides, err)) {
        if (!e->pairs)
            note_events(s, sides);
        p = transform_diff(sides[0], sides[1], &o, err);
    }
    if (p && !(e->pairs ? write_page(s, e, sides, &sources, files, err)
                        : write_diff(s, e, p, err))) {
        profile_destroy(p);
        p = NULL;
    }
    sources_deinit(&sources);
    profile_destroy(sides[0]);
    profile_destroy(sides[1]);
    return p;
}

/* What perf diff compares by default: the last recording, and the one before, which the recorder
 * renamed. */
static char last_one[] = "perf.data", one_before[] = "perf.data.old";
static char *last_two[] = {one_before, last_one};

static bool has_last_two(void)
{
    return access(last_two[0], F_OK) == 0 && access(last_two[1], F_OK) == 0;
}

static bool check_files(const struct diff_settings *s, int *file_count_of,
                        char ***files_of, struct error *err)
{
    if (s->load.history.at.count &&
        !load_inputs(&s->load, NULL, file_count_of, files_of, err))
        return false;
    if (*file_count_of == 0 && has_last_two()) {
        *files_of = last_two;
        *file_count_of = 2;
        if (!s->load.quiet)
            message_note("comparing %s with %s", last_two[0], last_two[1]);
    }
    int file_count = *file_count_of;
    char **files = *files_of;
    if (file_count != 2) {
        error_set(err, "diff needs two files, BEFORE and AFTER, not %d", file_count);
        return error_hint(err, "stoke diff before.folded after.folded");
    }
    if (strcmp(files[0], "-") == 0 && strcmp(files[1], "-") == 0)
        return error_set(err, "only one of the two files can be standard input");
    return true;
}

/* Only a page has texts of sources. */
static bool check_parts(const struct diff_settings *s, const struct exporter *e,
                        struct error *err)
{
    if (!s->with_source || e->pairs)
        return true;
    error_set(err, "--with-source is for HTML pages, and the output is %s", e->name);
    return error_hint(err, "-o FILE.html");
}

/* A page compares all events, threads by name, and shares. */
static bool prepare_page(struct diff_settings *s, struct error *err)
{
    if (s->normalise || s->pid || s->tid) {
        error_set(err, "--normalize, --pid and --tid do not apply to a page, which "
                       "compares threads by name");
        return error_hint(err, "the page shows shares; or select another format");
    }
    save_prepare_load(exporter_named(STR("html")), &s->load);
    return true;
}

static int diff_run(void *settings, int file_count, char **files)
{
    struct diff_settings *s = settings;
    struct error err = {.location = LOCATION_NONE};
    size_t grown = 0;
    const struct exporter *e = NULL;
    if (!check_files(s, &file_count, &files, &err) ||
        !tables_prepare(&s->tables, &s->transforms, &err) ||
        !(e = choose_exporter(s, &err)) || !check_parts(s, e, &err) ||
        (e->pairs && !prepare_page(s, &err))) {
        message_error(&err);
        return STATUS_USAGE;
    }
    transforms_prepare(&s->transforms, &s->load);
    s->transforms.options.threads = thread_style_of(s);
    struct profile *p = make_diff(s, e, files, &err);
    bool ok = p != NULL;
    if (ok && s->fail_above >= 0)
        ok = check_growth(s, p, &grown, &err);
    profile_destroy(p);
    if (ok)
        return grown ? STATUS_GREW : STATUS_OK;
    message_error(&err);
    return s->fail_above >= 0 ? STATUS_TROUBLE : STATUS_FAILED;
}

const struct command command_diff = {
    .name = "diff",
    .summary = "compare two profiles",
    .usage = "[OPTION...] [BEFORE AFTER]",
    .examples = "  stoke diff before.folded after.folded | stoke flamegraph > diff.svg\n"
                "  stoke diff --table before.folded after.folded\n"
                "  stoke diff --fail-above 2 before.folded after.folded\n",
    .groups = diff_groups,
    .settings_size = sizeof(struct diff_settings),
    .result = offsetof(struct diff_settings, load.result),
    .defaults = &diff_defaults,
    .run = diff_run,
};
