/* SPDX-License-Identifier: Apache-2.0 */
/* stoke info: prints the facts of a profile. */
#include "cli/info/info.h"
#include "cli/command.h"
#include "cli/message.h"
#include "cli/options/history.h"
#include "cli/options/load.h"
#include "cli/options/transforms.h"
#include "engine/trace/load.h"
#include "os/file.h"
#include "os/terminal.h"

struct info_settings {
    struct load_settings load;
    struct transforms_settings transforms;
    struct name_list binaries, users;
    const char *output;
    bool json, all;
};

#define OFF(field) offsetof(struct info_settings, field)

static const struct option info_options[] = {
    {"json", 0, NULL, "write JSON", OPTION_FLAG, OFF(json)},
    {"all", 0, NULL, "list all threads and modules, not only the first ten", OPTION_FLAG,
     OFF(all)},
    {"output", 'o', "FILE", "write to FILE (default: standard output)", OPTION_STRING,
     OFF(output)},
    {0}};

static const struct option info_trace_options[] = {
    {"dwarf", 0, "FILE", "traced binary, see stoke-trace(1) (repeatable)", OPTION_LIST,
     OFF(binaries)},
    {"user", 0, "FILE", "traced user-space binary (repeatable)", OPTION_LIST, OFF(users)},
    {0}};

static const struct option_group info_groups[] = {
    {"options", info_options, 0},
    {"instruction traces", info_trace_options, 0},
    {"filters and transforms", transforms_options, OFF(transforms)},
    {"input", load_options, OFF(load)},
    {0}};

double info_share(const struct info_report *r, double weight)
{
    return r->s->all.weight > 0 ? 100 * weight / r->s->all.weight : 0;
}

struct str info_event_name(const struct info_report *r, event_id event)
{
    return profile_string(r->p, r->p->events[event].name);
}

static bool write_report(const struct info_settings *s, struct info_report *r,
                         struct error *err)
{
    struct os_output file;
    const char *path = s->output ? s->output : "-";
    if (!os_output_open(&file, path, err))
        return false;
    struct output out = os_output_stream(&file);
    r->out = &out;
    r->colour = strcmp(path, "-") == 0 && os_terminal_of(1).colour;
    if (s->json)
        info_print_json(r);
    else
        info_print_text(r);
    bool ok = os_output_close(&file, &out, err);
    output_deinit(&out);
    r->out = NULL;
    return ok;
}

/* Loads profiles, or instruction traces if the first file is one. */
static struct profile *load_files(struct info_settings *s, int file_count, char **files,
                                  struct error *err)
{
    bool binaries = s->binaries.count || s->users.count;
    if (s->load.format || s->load.history.at.count ||
        !(binaries || engine_is_trace(files[0])))
        return load_profiles(&s->load, file_count, files, err);
    struct trace_load t = {.symbols = s->load.symbols,
                           .binaries = s->binaries,
                           .users = s->users,
                           .threads = s->load.threads,
                           .quiet = s->load.quiet,
                           .keep = s->load.keep};
    return engine_load_traces(&t, file_count, files, &message_report, err);
}

/* --store without --at and files: the store itself. */
static int print_store(const char *location)
{
    struct error err = {.location = LOCATION_NONE};
    return command_status(history_print_usage(location, &err), &err);
}

static int info_run(void *settings, int file_count, char **files)
{
    struct info_settings *s = settings;
    struct error err = {.location = LOCATION_NONE};
    if (s->load.history.store && !s->load.history.at.count && !file_count)
        return print_store(s->load.history.store);
    struct summary summary = {0};
    s->load.own_warnings = s->load.events_apart = s->load.import.empty = true;
    transforms_prepare(&s->transforms, &s->load);
    struct profile *p = NULL;
    if (load_inputs(&s->load, NULL, &file_count, &files, &err))
        p = load_files(s, file_count, files, &err);
    p = transforms_apply(&s->transforms, p, &err);
    struct info_report r = {
        .p = p, .s = &summary, .all = s->all, .file_count = file_count, .files = files};
    bool ok = p && summary_init(&summary, p, &err) && write_report(s, &r, &err);
    summary_deinit(&summary);
    profile_destroy(p);
    return command_status(ok, &err);
}

const struct command command_info = {
    .name = "info",
    .summary = "show the facts of a profile",
    .usage = "[OPTION...] [FILE...]",
    .examples = "  stoke info perf.txt\n"
                "  stoke info --json cpu.pprof\n",
    .groups = info_groups,
    .settings_size = sizeof(struct info_settings),
    .result = offsetof(struct info_settings, load.result),
    .run = info_run,
};
