/* SPDX-License-Identifier: Apache-2.0 */
/* stoke trace: converts instruction traces to stacks. */
#include "base/nearest.h"
#include "cli/command.h"
#include "cli/message.h"
#include "cli/options/drawing.h"
#include "cli/options/save.h"
#include "engine/trace/load.h"
#include "os/file.h"
#include <stdio.h>
#include <string.h>

struct trace_settings {
    struct drawing_settings drawing;
    struct trace_load load;
    const char *output;
    const struct exporter *to;
    bool list_formats;
};

#define OFF(field) offsetof(struct trace_settings, field)
#define THREADS_MAX 256

static bool parse_format(const char *text, void *value, struct error *err)
{
    const struct trace_format **format = value;
    struct nearest nearest = {.word = str_of(text)};
    *format = trace_format_named(nearest.word);
    if (*format)
        return true;
    for (size_t i = 0; trace_formats[i]; i++)
        nearest_offer(&nearest, str_of(trace_formats[i]->name));
    error_set(err, "unknown trace format '%s'", text);
    return nearest_hint(&nearest, "", "'stoke trace --list-formats' lists them", err);
}

static const struct option trace_options[] = {
    {"output", 'o', "FILE",
     "output file; its suffix selects the format (default: folded "
     "stacks to standard output)",
     OPTION_STRING, OFF(output)},
    {"to", 0, "NAME", "output format, for standard output or another suffix",
     OPTION_PARSED, OFF(to), .parse = save_parse_exporter},
    {"dwarf", 'd', "FILE",
     "traced binary with debug information: kernel, firmware or program (repeatable)",
     OPTION_LIST, OFF(load.binaries)},
    {"user", 'u', "FILE",
     "user program or shared library that ran on the traced kernel (repeatable)",
     OPTION_LIST, OFF(load.users)},
    {"kallsyms", 0, "FILE",
     "kernel symbols without a kernel file: a copy of /proc/kallsyms", OPTION_STRING,
     OFF(load.symbols.kallsyms)},
    {"switch", 0, "NAME",
     "function that switches tasks (repeatable; default: __switch_to and others)",
     OPTION_LIST, OFF(load.switches)},
    {"no-inline", 0, NULL, "do not resolve inlined functions", OPTION_FLAG,
     OFF(load.symbols.no_inline)},
    {"demangle", 0, "HOW", "how to demangle C++ and Rust names (default: simple)",
     OPTION_CHOICE, OFF(load.symbols.demangle), demangle_choices},
    {0}};

static const struct option trace_input_options[] = {
    {"format", 0, "NAME", "input format (default: detected from the content)",
     OPTION_PARSED, OFF(load.format), .parse = parse_format},
    {"ipc", 0, "N", "binary traces: instructions that the core can retire per cycle",
     OPTION_INT, OFF(load.ipc), .least = 1, .most = 64},
    {"list-formats", 0, NULL, "list the trace formats and exit", OPTION_FLAG,
     OFF(list_formats)},
    {"threads", 'j', "N",
     "number of traces to read at the same time (default: one per CPU)", OPTION_INT,
     OFF(load.threads), .least = 0, .most = THREADS_MAX},
    {"debug-dir", 0, "DIR",
     "directory of debug files instead of /usr/lib/debug (repeatable)", OPTION_LIST,
     OFF(load.symbols.debug_dirs)},
    {"no-debuginfod", 0, NULL, "do not query the servers in $DEBUGINFOD_URLS",
     OPTION_FLAG, OFF(load.symbols.no_debuginfod)},
    {"quiet", 'q', NULL, "suppress warnings and progress", OPTION_FLAG, OFF(load.quiet)},
    {0}};

static const struct option trigger_options[] = {
    {"selector", 0, "N",
     "what the trigger compares: 0 nothing, 1 cycles, 2 addresses, 3 instruction words",
     OPTION_STRING, OFF(load.trigger.selector)},
    {"start", 0, "X",
     "start value: a decimal cycle, a hexadecimal address, or mask << 32 | value "
     "(hexadecimal)",
     OPTION_STRING, OFF(load.trigger.start)},
    {"end", 0, "Y", "end value in the same form; -1: no end", OPTION_STRING,
     OFF(load.trigger.end)},
    {"config", 0, "FILE",
     "read all three from [tracing] in FireSim's config_runtime.ini or .yaml",
     OPTION_STRING, OFF(load.trigger.config)},
    {0}};

static const struct option_group trace_groups[] = {
    {"options", trace_options, 0},
    {"input", trace_input_options, 0},
    {"trigger, for traces that were recorded without one", trigger_options, 0},
    {"drawing", drawing_options, OFF(drawing)},
    {0}};

static const struct trace_settings trace_defaults = {.drawing = DRAWING_DEFAULTS};

/* --- The command ------------------------------------------------------------------- */

static int list_formats(void)
{
    for (size_t i = 0; trace_formats[i]; i++)
        printf("%-10s %s\n", trace_formats[i]->name, trace_formats[i]->summary);
    return STATUS_OK;
}

static bool trace(struct trace_settings *s, const struct exporter *e, int file_count,
                  char **files, struct error *err)
{
    struct export_options options = {0};
    struct drawing d;
    bool ok = drawing_init(&d, &s->drawing, &options, err);
    s->load.keep = e->needs_time || s->drawing.by_time;
    struct profile *p =
        ok ? engine_load_traces(&s->load, file_count, files, &message_report, err) : NULL;
    if (p && !s->load.quiet)
        message_warnings(p, file_count == 1 ? files[0] : NULL);
    /* The file name contains the thread if there is one. */
    options.tree.threads = p && p->thread_count > 2 ? THREAD_COMM : THREAD_NONE;
    if (e->whole)
        options.tree.threads = THREAD_TID;
    if (e->titled && options.title.len == 0 && file_count == 1 &&
        strcmp(files[0], "-") != 0)
        options.title = str_basename(str_of(files[0]));
    ok = p && save_profile(e, p, &options, s->output ? s->output : "-", err) &&
         drawing_finish(&d, err);
    profile_destroy(p);
    drawing_deinit(&d);
    return ok;
}

static int trace_run(void *settings, int file_count, char **files)
{
    struct trace_settings *s = settings;
    struct error err = {.location = LOCATION_NONE};
    static char standard_input[] = "-";
    char *only[] = {standard_input};
    if (s->list_formats)
        return list_formats();
    if (file_count == 0 && !os_input_is_given()) {
        error_set(&err,
                  "no trace is given, and standard input is neither a pipe nor a file");
        error_hint(&err, "stoke trace TRACEFILE --dwarf BINARY; - is standard input");
        message_error(&err);
        return STATUS_USAGE;
    }
    const struct exporter *e =
        save_choose_exporter(s->to, s->output, exporter_named(STR("folded")), &err);
    if (e && trace(s, e, file_count ? file_count : 1, file_count ? files : only, &err))
        return STATUS_OK;
    message_error(&err);
    return e ? STATUS_FAILED : STATUS_USAGE;
}

const struct command command_trace = {
    .name = "trace",
    .summary = "convert instruction traces of RISC-V cores to stacks",
    .usage = "[OPTION...] TRACEFILE... --dwarf BINARY [-o OUT]",
    .examples = "  stoke trace TRACEFILE-C0 --dwarf br-base-bin-dwarf -o out.svg\n"
                "  stoke trace TRACEFILE-C* --dwarf br-base-bin-dwarf --user prog -o "
                "out.folded\n",
    .groups = trace_groups,
    .settings_size = sizeof(struct trace_settings),
    .result = offsetof(struct trace_settings, load.result),
    .defaults = &trace_defaults,
    .run = trace_run,
};
