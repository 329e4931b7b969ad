/* stoke report: which functions the weight is in, as a table or a tree. */
#include "cli/command.h"
#include "cli/load.h"
#include "cli/message.h"
#include "cli/save.h"
#include "cli/tables.h"
#include "cli/view.h"

struct report_settings {
    struct load_settings load;
    struct view_settings view;
    struct tables_settings tables;
    const char *output;
};

#define OFF(field) offsetof(struct report_settings, field)

static const struct option report_options[] = {{"output", 'o', "FILE",
                                                "write there (default: standard output)",
                                                OPTION_STRING, OFF(output)},
                                               {0}};

static const struct report_settings report_defaults = {.tables = TABLES_DEFAULTS};

static const struct option_group report_groups[] = {
    {"options", report_options, 0},
    {"the table", tables_options, OFF(tables)},
    {"what is shown", view_options, OFF(view)},
    {"input", load_options, OFF(load)},
    {0}};

static int report_run(void *settings, int file_count, char **files)
{
    struct report_settings *s = settings;
    struct error err = {.place = PLACE_NONE};
    struct export_options options = {0};
    struct table_options table;
    if (!tables_check(&s->tables, &s->view, &err)) {
        message_error(&err);
        return STATUS_USAGE;
    }
    view_prepare(&s->view, &s->load);
    struct profile *p = load_profiles(&s->load, file_count, files, &err);
    p = view_apply(&s->view, p, &err);
    bool ok = p != NULL;
    if (ok) {
        table = tables_choose(&s->tables, &s->view, p, s->output);
        options.table = &table;
        options.tree.threads =
            s->view.transform.group == GROUP_FUNCTION ? THREAD_COMM : THREAD_NONE;
        ok = save_profile(exporter_named(STR("table")), p, &options,
                          s->output ? s->output : "-", &err);
    }
    profile_destroy(p);
    if (!ok)
        message_error(&err);
    return ok ? STATUS_OK : STATUS_FAILED;
}

const struct command command_report = {
    .name = "report",
    .summary = "which functions the time is in: a table, or a tree",
    .usage = "[OPTION...] [FILE...]",
    .examples = "  perf script | stoke report\n"
                "  stoke report --sort total --by module out.perf\n"
                "  stoke report --tree --focus parse out.folded\n"
                "  stoke report --callers --focus malloc out.folded\n",
    .groups = report_groups,
    .settings_size = sizeof(struct report_settings),
    .defaults = &report_defaults,
    .run = report_run,
};
