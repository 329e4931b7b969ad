/* SPDX-License-Identifier: Apache-2.0 */
/* stoke stacks: the stacks of all threads of a running process now, or of a core file. */
#include "cli/stacks/stacks.h"
#include "base/number.h"
#include "cli/command.h"
#include "cli/message.h"
#include "cli/options/save.h"
#include "os/terminal.h"

struct stacks_settings {
    struct symbol_settings symbols;
    const char *output;
    int native; /* index in native_choices */
    bool json;
};

#define OFF(field) offsetof(struct stacks_settings, field)

static const char *const native_choices[] = {"yes", "no", NULL};

static const struct option stacks_options[] = {
    {"native", 0, "WHEN", "show native frames (default: yes)", OPTION_CHOICE, OFF(native),
     native_choices},
    {"json", 0, NULL, "JSON output for scripts", OPTION_FLAG, OFF(json)},
    {"output", 'o', "FILE",
     "write a profile with one sample for each thread; the suffix selects the format",
     OPTION_STRING, OFF(output)},
    {0}};

static const struct option stacks_symbols[] = {
    {"debug-dir", 0, "DIR", "search debug files here, not in /usr/lib/debug (repeatable)",
     OPTION_LIST, OFF(symbols.debug_dirs)},
    {"no-inline", 0, NULL, "omit inlined functions", OPTION_FLAG, OFF(symbols.no_inline)},
    {"no-debuginfod", 0, NULL, "do not download debug files", OPTION_FLAG,
     OFF(symbols.no_debuginfod)},
    {"demangle", 0, "STYLE", "C++ and Rust names (default: simple)", OPTION_CHOICE,
     OFF(symbols.demangle), demangle_choices},
    {0}};

static const struct option_group stacks_groups[] = {
    {"options", stacks_options, 0}, {"symbols", stacks_symbols, 0}, {0}};

static bool write_output(const struct stacks_settings *s, const struct stacks *stacks,
                         struct error *err)
{
    struct os_output file;
    if (!os_output_open(&file, "-", err))
        return false;
    struct output o = os_output_stream(&file);
    bool ok = (s->json ? stacks_write_json(stacks, &o)
                       : stacks_write_text(stacks, os_terminal_of(1).colour, &o)) ||
              error_memory(err);
    if (ok)
        ok = os_output_close(&file, &o, err);
    else
        os_output_abandon(&file);
    output_deinit(&o);
    return ok;
}

static bool write_profile(const struct stacks_settings *s, const struct stacks *stacks,
                          struct error *err)
{
    struct export_options options = {.title = stacks->command};
    const struct exporter *e =
        save_choose_exporter(NULL, s->output, exporter_named(STR("folded")), err);
    struct profile *p = e ? stacks_profile(stacks, err) : NULL;
    bool ok = p && save_profile(e, p, &options, s->output, err);
    profile_destroy(p);
    return ok;
}

static int stacks_run(void *settings, int file_count, char **files)
{
    struct stacks_settings *s = settings;
    struct error err = {.location = LOCATION_NONE};
    struct stacks stacks;
    struct stacks_request request = {.interpreted = s->native != 0,
                                     .symbols = s->symbols};
    uint64_t pid = 0;
    if (file_count != 1) {
        error_set(&err, "one process id or core file is expected");
        error_hint(&err, "stoke stacks PID; 'pgrep -a NAME' lists processes");
        message_error(&err);
        return STATUS_USAGE;
    }
    if (number_parse_u64(str_of(files[0]), &pid) && pid > 0 && pid <= INT32_MAX)
        request.pid = (int64_t)pid;
    else
        request.core = files[0];
    bool ok =
        stacks_read(&stacks, &request, &err) &&
        (s->output ? write_profile(s, &stacks, &err) : write_output(s, &stacks, &err));
    stacks_deinit(&stacks);
    return command_status(ok, &err);
}

const struct command command_stacks = {
    .name = "stacks",
    .summary = "print the stacks of all threads of a process or core file",
    .usage = "[OPTION...] PID|CORE",
    .examples = "  stoke stacks 1234\n"
                "  stoke stacks --native no $(pgrep -n python3)\n"
                "  stoke stacks -o stacks.svg 1234\n"
                "  stoke stacks core.1234\n",
    .groups = stacks_groups,
    .settings_size = sizeof(struct stacks_settings),
    .small_pages = true,
    .run = stacks_run,
};
