/* SPDX-License-Identifier: Apache-2.0 */
/* stoke convert: a profile of any format to another format. */
#include "analysis/calls.h"
#include "cli/command.h"
#include "cli/message.h"
#include "cli/options/load.h"
#include "cli/options/names.h"
#include "cli/options/save.h"
#include "cli/options/view.h"
#include "engine/sources.h"
#include <unistd.h>

#define NOT_SAID (-1)

struct convert_settings {
    struct load_settings load;
    struct view_settings view;
    struct names_settings names;
    const char *output, *title;
    const struct exporter *to; /* NULL: by the output's name */
    int threads;               /* enum thread_style, or NOT_SAID */
    int pack;                  /* 0, 1, or NOT_SAID */
    bool with_callgraph, with_source;
    struct name_list source_dirs;
    double function_percent, call_percent;
};

#define OFF(field) offsetof(struct convert_settings, field)

/* In the order of enum thread_style. */
static const char *const thread_styles[] = {"comm", "pid", "tid", "none", NULL};

static const struct option convert_options[] = {
    {"output", 'o', "FILE", "write there; its suffix tells the format", OPTION_STRING,
     OFF(output)},
    {"to", 0, "NAME", "the format, for standard output or a file of another suffix",
     OPTION_PARSED, OFF(to), .parse = save_parse_exporter},
    {"title", 0, "TEXT", "a name for what is shown, where the format has a place for it",
     OPTION_STRING, OFF(title)},
    {"apart", 0, "WHAT",
     "what tells threads apart: comm, pid, tid or none (default: tid where the format "
     "holds a whole profile, else comm)",
     OPTION_CHOICE, OFF(threads), .choices = thread_styles},
    {"with-callgraph", 0, NULL,
     "a page that also draws call graphs, without a network (0.7 MB more)", OPTION_FLAG,
     OFF(with_callgraph)},
    {"with-source", 0, NULL,
     "a page with the source files that the line tables of the recorded binaries name",
     OPTION_FLAG, OFF(with_source)},
    {"source-dir", 0, "DIR",
     "with source files: take them from below this folder, too (repeatable)", OPTION_LIST,
     OFF(source_dirs)},
    {"node-limit", 0, "PERCENT",
     "in a call graph: functions with less of the whole are left out (default: 0.5)",
     OPTION_NUMBER, OFF(function_percent), .least = 0, .most = 100},
    {"edge-limit", 0, "PERCENT",
     "in a call graph: calls with less of the whole are left out (default: 0.1)",
     OPTION_NUMBER, OFF(call_percent), .least = 0, .most = 100},
    {"gzip", 'z', NULL, "pack it", OPTION_SET, OFF(pack), .value = 1},
    {"no-gzip", 0, NULL, "do not pack it, whatever its name or format says", OPTION_SET,
     OFF(pack), .value = 0},
    {0}};

static const struct option_group convert_groups[] = {
    {"options", convert_options, 0},
    {"names", names_options, OFF(names)},
    {"what is converted", view_options, OFF(view)},
    {"input", load_options, OFF(load)},
    {0}};

static const struct convert_settings convert_defaults = {
    .threads = NOT_SAID, .pack = NOT_SAID, .function_percent = 0.5, .call_percent = 0.1};

static bool convert(struct convert_settings *s, const struct exporter *e, int file_count,
                    char **files, struct error *err)
{
    const char *path = s->output ? s->output : "-";
    bool pack = s->pack == NOT_SAID ? save_packs(e, str_of(path)) : s->pack;
    struct call_limits calls = {.function_share = s->function_percent / 100,
                                .call_share = s->call_percent / 100};
    struct export_options options = {.title = str_of(s->title ? s->title : ""),
                                     .calls = &calls,
                                     .with_callgraph = s->with_callgraph};
    enum thread_style threads = s->threads != NOT_SAID ? (enum thread_style)s->threads
                                : e->whole             ? THREAD_TID
                                                       : THREAD_COMM;
    if (pack && strcmp(path, "-") == 0 && isatty(STDOUT_FILENO)) {
        error_set(err, "packed data is not written to a terminal");
        return error_hint(err, "-o FILE, or --no-gzip");
    }
    if (!load_inputs(NULL, &file_count, &files, err))
        return false;
    s->load.keep = e->wants_time;
    s->load.events_apart = e->whole;
    s->load.import.addresses = s->load.import.every_address = e->whole;
    s->load.import.lines = e->whole;
    s->load.import.cuts = str_equal(str_of(e->name), STR("html"));
    if (e->titled && !s->title && file_count == 1 && strcmp(files[0], "-") != 0)
        options.title = str_basename(str_of(files[0]));
    names_prepare(&s->names, threads, &s->load, &s->view, &options);
    view_prepare(&s->view, &s->load);
    struct profile *p = load_profiles(&s->load, file_count, files, err);
    p = view_apply(&s->view, p, err);
    if (p && !e->whole)
        load_note_event(p, s->load.quiet);
    struct sources sources = {0};
    bool ok = p && (!s->with_source || sources_read(&sources, p, &s->source_dirs, err));
    options.sources = sources.items;
    options.source_count = sources.count;
    ok = ok && save_profile_as(e, p, &options, path, pack, NULL, err);
    if (ok && s->with_source && !s->load.quiet)
        sources_list(&sources, &message_report);
    sources_deinit(&sources);
    profile_destroy(p);
    return ok;
}

static int convert_run(void *settings, int file_count, char **files)
{
    struct convert_settings *s = settings;
    struct error err = {.place = PLACE_NONE};
    const struct exporter *e = save_choose_exporter(s->to, s->output, NULL, &err);
    if (e && convert(s, e, file_count, files, &err))
        return STATUS_OK;
    message_error(&err);
    return e ? STATUS_FAILED : STATUS_USAGE;
}

const struct command command_convert = {
    .name = "convert",
    .summary = "a profile of any format to another format",
    .usage = "[OPTION...] [FILE...] -o OUT",
    .examples =
        "  stoke convert perf.txt -o out.speedscope.json\n"
        "  stoke convert perf.txt -o out.pb.gz && go tool pprof -http : out.pb.gz\n"
        "  stoke convert cpu.pprof --to folded | grep main\n",
    .groups = convert_groups,
    .settings_size = sizeof(struct convert_settings),
    .defaults = &convert_defaults,
    .run = convert_run,
};
