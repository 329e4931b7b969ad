/* SPDX-License-Identifier: Apache-2.0 */
/* stoke report: a table of functions, or a call tree. */
#include "cli/command.h"
#include "cli/message.h"
#include "cli/options/load.h"
#include "cli/options/perf.h"
#include "cli/options/save.h"
#include "cli/options/transforms.h"
#include "cli/rows.h"
#include "model/sample_labels.h"
#include "os/file.h"

struct report_settings {
    struct load_settings load;
    struct transforms_settings transforms;
    struct tables_settings tables;
    struct rows_settings rows;
    struct name_list inputs;
    const char *output;
    bool locks, io;
    bool header, header_only;
};

#define OFF(field) offsetof(struct report_settings, field)

static const struct option report_options[] = {
    {"output", 'o', "FILE", "write to FILE (default: standard output)", OPTION_STRING,
     OFF(output)},
    {"input", 'i', "FILE", "input file, same as the argument FILE (repeatable)",
     OPTION_LIST, OFF(inputs)},
    {"locks", 0, NULL,
     "who waited for which lock, and who held it (recorded by stoke record --locks)",
     OPTION_FLAG, OFF(locks)},
    {"io", 0, NULL,
     "how long threads waited for which file, socket or device (recorded by stoke record "
     "--io)",
     OPTION_FLAG, OFF(io)},
    {"header", 0, NULL, "recordings: first print the facts of the header", OPTION_FLAG,
     OFF(header)},
    {"header-only", 0, NULL, "recordings: only print the facts of the header",
     OPTION_FLAG, OFF(header_only)},
    {"pid", 0, "LIST", NULL, OPTION_PARSED, OFF(rows.pids),
     .parse = transforms_parse_numbers},
    {"tid", 0, "LIST", NULL, OPTION_PARSED, OFF(rows.tids),
     .parse = transforms_parse_numbers},
    {0}};

static const struct report_settings report_defaults = {.tables = TABLES_DEFAULTS,
                                                       .rows = ROWS_DEFAULTS};

static const struct option_group report_groups[] = {
    {"options", report_options, 0},
    {"rows by keys, like perf report", rows_options, OFF(rows)},
    {"table", tables_options, OFF(tables)},
    {"filters and transforms", transforms_options, OFF(transforms),
     .taken = "s"}, /* -s is --sort */
    {"input", load_options, OFF(load)},
    {"options of perf report", perf_report_options, 0},
    {0}};

/* As --comms, --pid and --tid of perf choose rows, and shares are of all samples. Tables
 * without rows by keys have only the chosen samples. */
static void select_threads(struct report_settings *s)
{
    struct filter_options *f = &s->transforms.options.filter;
    if (rows_requested(&s->rows))
        return;
    if (s->rows.pids.count)
        f->pids = s->rows.pids;
    if (s->rows.tids.count)
        f->tids = s->rows.tids;
}

static struct profile *read_inputs(struct report_settings *s, int file_count,
                                   char **files, struct error *err)
{
    select_threads(s);
    s->transforms.options.max_stack = (uint32_t)s->rows.max_stack;
    s->load.import.tracepoints = true;
    s->load.import.header = s->header || s->header_only;
    s->load.import.empty |= s->header_only;
    transforms_prepare(&s->transforms, &s->load);
    rows_prepare(&s->rows, &s->load);
    return load_inputs(&s->load, &s->inputs, &file_count, &files, err)
               ? load_profiles(&s->load, file_count, files, err)
               : NULL;
}

/* --io: the waits with a file, by file or as the user requests. */
static void select_files(struct transforms_settings *t)
{
    struct filter_options *f = &t->options.filter;
    if (!f->events.count)
        f->events.items[f->events.count++] = "off-cpu";
    if (f->labels.count < TRANSFORM_WORDS_MAX)
        f->labels.items[f->labels.count++] = "file";
    if (t->options.group == GROUP_FUNCTION) {
        t->options.group = GROUP_LABEL;
        t->options.group_label = "file";
    }
}

/* Whether the options that choose a table can be combined. */
static bool check_tables(struct report_settings *s, struct error *err)
{
    s->tables.sort = s->rows.sort_column;
    if (s->io)
        select_files(&s->transforms);
    if (!tables_prepare(&s->tables, &s->transforms, err) ||
        !rows_check(&s->rows, &s->tables, err))
        return false;
    if (s->header && s->tables.form != TABLE_TEXT) {
        error_set(err, "--header cannot be combined with --csv or --json");
        return error_hint(err, "--header-only prints the header alone");
    }
    if (!s->locks || !(s->tables.tree || s->tables.callers || rows_requested(&s->rows)))
        return true;
    error_set(err, "--locks is a table of its own");
    return error_hint(err, "leave out --tree, --callers, and the options of perf report");
}

/* The message of the filter would not name --io. */
static bool check_files(const struct profile *p, struct error *err)
{
    if (label_key_check(p, STR("file"), err))
        return true;
    error_set(err, "no waits for files are recorded");
    return error_hint(err, "stoke record --io records them");
}

/* --header: the text is in front of the tables. */
static bool check_header(const struct report_settings *s, const struct profile *p,
                         struct error *err)
{
    if (!(s->header || s->header_only) || p->facts.header)
        return true;
    error_set(err, "the input has no header of perf: it is not a recording");
    return error_hint(err, "'stoke info FILE' shows what is known of other formats");
}

static bool write_header(const struct profile *p, const char *path, struct error *err)
{
    struct os_output file;
    if (!os_output_open(&file, path, err))
        return false;
    struct output o = os_output_stream(&file);
    output_str(&o, profile_string(p, p->facts.header));
    bool ok = os_output_close(&file, &o, err);
    output_deinit(&o);
    return ok;
}

static int print_header(struct report_settings *s, int file_count, char **files)
{
    struct error err = {.location = LOCATION_NONE};
    struct profile *p = read_inputs(s, file_count, files, &err);
    bool ok = p && check_header(s, p, &err) &&
              write_header(p, s->output ? s->output : "-", &err);
    profile_destroy(p);
    return command_status(ok, &err);
}

/* The heading of perf-style tables is longer than that of other tables, so fewer rows fit
 * the terminal. */
static uint32_t less_heading(uint32_t rows)
{
    return rows > 14 ? rows - 4 : rows;
}

static int report_run(void *settings, int file_count, char **files)
{
    struct report_settings *s = settings;
    struct error err = {.location = LOCATION_NONE};
    struct export_options options = {0};
    struct table_options table;
    struct rows_options rows;
    struct arena arena = ARENA_INIT;
    const uint32_t *parents = NULL;
    const bool *threads = NULL;
    if (!check_tables(s, &err)) {
        message_error(&err);
        return STATUS_USAGE;
    }
    if (s->header_only)
        return print_header(s, file_count, files);
    struct profile *p = read_inputs(s, file_count, files, &err);
    bool ok = p && (!s->io || check_files(p, &err)) && check_header(s, p, &err);
    p = ok ? transforms_apply(&s->transforms, p, &err) : p;
    ok = ok && p && rows_check_profile(&s->rows, p, &err) &&
         rows_find_parents(&s->rows, p, &arena, &parents, &err) &&
         rows_find_threads(&s->rows, p, &arena, &threads, &err);
    if (ok) {
        table = tables_choose(&s->tables, &s->transforms, p, s->output);
        table.locks = s->locks;
        if (s->locks)
            table.limit = (uint32_t)s->tables.limit;
        options.table = &table;
        if (rows_requested(&s->rows)) {
            rows = rows_choose(&s->rows, &s->tables, p);
            rows.by.threads = threads;
            rows.by.parents = parents;
            table.rows = &rows;
            if (s->tables.limit ==
                0) /* a call graph rarely fits the terminal: no limit */
                table.limit = rows.graph.order ? 0 : less_heading(table.limit);
        }
        options.tree.threads =
            s->transforms.options.group == GROUP_FUNCTION ? THREAD_COMM : THREAD_NONE;
        ok = save_profile(exporter_named(STR("table")), p, &options,
                          s->output ? s->output : "-", &err);
    }
    profile_destroy(p);
    arena_deinit(&arena);
    return command_status(ok, &err);
}

const struct command command_report = {
    .name = "report",
    .summary = "show functions as a table or a call tree",
    .usage = "[OPTION...] [FILE...]",
    .examples = "  stoke report                 # reads ./perf.data, like perf report\n"
                "  stoke report --no-children --sort comm,dso,sym perf.data\n"
                "  stoke report -g caller --percent-limit 1 perf.data\n"
                "  stoke report --sort total --by module perf.data\n"
                "  stoke report --locks perf.data\n"
                "  stoke report --io perf.data\n"
                "  perf script | stoke report\n"
                "  stoke report --tree --focus parse out.folded\n"
                "  stoke report --callers --focus malloc out.folded\n",
    .groups = report_groups,
    .settings_size = sizeof(struct report_settings),
    .result = offsetof(struct report_settings, load.result),
    .defaults = &report_defaults,
    .run = report_run,
};
