/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/options/load.h"
#include "base/format.h"
#include "base/limits.h"
#include "base/nearest.h"
#include "base/number.h"
#include "cli/message.h"
#include "cli/options/history.h"
#include "os/file.h"
#include <string.h>
#include <unistd.h>

#define OFF(field) offsetof(struct load_settings, field)

#define THREADS_MAX 4096

static const char *const ghc_columns[] = {"time", "ticks", "bytes", NULL};

/* Names that gprof2dot has for formats. */
static const struct {
    const char *alias, *name;
} format_aliases[] = {{"collapse", "folded"}, {"prof", "gprof"}, {"json", "gprof2dot"}};

bool load_parse_format(const char *text, void *value, struct error *err)
{
    const struct importer **format = value;
    struct nearest nearest = {.word = str_of(text)};
    *format = importer_named(nearest.word);
    for (size_t i = 0; i < sizeof format_aliases / sizeof *format_aliases; i++)
        if (!*format && strcmp(text, format_aliases[i].alias) == 0)
            *format = importer_named(str_of(format_aliases[i].name));
    if (*format)
        return true;
    for (size_t i = 0; importers[i]; i++)
        nearest_offer(&nearest, str_of(importers[i]->name));
    error_set(err, "unknown format '%s'", text);
    return nearest_hint(&nearest, "", "'stoke help formats' lists them", err);
}

bool load_parse_limit(const char *text, void *value, struct error *err)
{
    uint64_t number = 0;
    struct str digits = str_skip(str_of(text), text[0] == 'x');
    bool none = strcmp(text, "none") == 0;
    if (!none && (!number_parse_u64(digits, &number) || number == 0 ||
                  number > LIMITS_FACTOR_MAX)) {
        error_set(err, "invalid limits '%s'", text);
        return error_hint(err, "--limits x8, up to x%d, or --limits none",
                          LIMITS_FACTOR_MAX);
    }
    *(struct limits *)value = limits_times((unsigned)number);
    return true;
}

static bool parse_demangle(const char *text, void *value, struct error *err)
{
    for (int i = 0; demangle_choices[i]; i++) {
        if (strcmp(text, demangle_choices[i]) == 0) {
            *(int *)value = i;
            return true;
        }
    }
    error_set(err, "invalid value '%s'", text);
    return error_hint(err, "one of: simple, no, full");
}

const struct option load_options[] = {
    {"format", 0, "NAME", "input format (default: detected from the content)",
     OPTION_PARSED, OFF(format), .parse = load_parse_format},
    {"threads,nthreads", 'j', "N", "number of reader threads (default: one per CPU)",
     OPTION_INT, OFF(threads), .least = 0, .most = THREADS_MAX},
    {"count-samples", 0, NULL, "give every sample the weight 1 and ignore its period",
     OPTION_FLAG, OFF(import.samples)},
    {"keep-arguments", 0, NULL, "keep argument lists in names", OPTION_FLAG,
     OFF(import.signatures)},
    {"includeoffset", 0, NULL, "keep offsets (+0x1f) in names", OPTION_FLAG,
     OFF(import.offsets)},
    {"limits", 0, "xN",
     "multiply the limits on stack depth, line length and decompression by N; or none",
     OPTION_PARSED, OFF(limits), .parse = load_parse_limit},
    {"all-threads", 0, NULL, "thread dumps: include idle and waiting threads",
     OPTION_FLAG, OFF(import.all_threads)},
    {"ghc", 0, "COLUMN", "GHC profiles: the column to read (default: time)",
     OPTION_CHOICE, OFF(import.ghc), ghc_columns},
    {"skip-after", 0, "NAME", "drop the callers of this function (repeatable)",
     OPTION_LIST, OFF(skip_after)},
    {"source-map", 0, "FILE",
     "JavaScript: source map with the original names and lines (repeatable)", OPTION_LIST,
     OFF(source_maps)},
    {"symfs", 0, "DIR", "recordings: look up recorded files below this directory",
     OPTION_STRING, OFF(symbols.symfs)},
    {"debug-dir", 0, "DIR",
     "directory of debug files instead of /usr/lib/debug (repeatable)", OPTION_LIST,
     OFF(symbols.debug_dirs)},
    {"kallsyms", 0, "FILE", "kernel symbols in the format of /proc/kallsyms",
     OPTION_STRING, OFF(symbols.kallsyms)},
    {"vmlinux", 'k', "FILE", "kernel object file", OPTION_STRING, OFF(symbols.vmlinux)},
    {"no-inline", 0, NULL, "do not resolve inlined functions", OPTION_FLAG,
     OFF(symbols.no_inline)},
    {"no-debuginfod", 0, NULL, "do not query the servers in $DEBUGINFOD_URLS",
     OPTION_FLAG, OFF(symbols.no_debuginfod)},
    {"demangle", 0, "HOW", "how to demangle C++ and Rust names (default: simple)",
     OPTION_PARSED, OFF(symbols.demangle), demangle_choices, .parse = parse_demangle,
     .fallback = "simple"},
    {"no-demangle", 0, NULL, "same as --demangle no", OPTION_SET, OFF(symbols.demangle),
     .value = 1}, /* its index in demangle_choices */
    {"at", 0, "SPAN",
     "history of stoke daemon instead of a file: 14:30..14:35, -5m, 2026-11-23",
     OPTION_LIST, OFF(history.at)},
    {"store", 0, "FILE", "the store that --at reads (default: that of stoke daemon)",
     OPTION_STRING, OFF(history.store)},
    {"version", 'V', NULL, NULL, OPTION_REPLACED, .instead = "stoke --version"},
    {"quiet", 'q', NULL, "suppress warnings and progress", OPTION_FLAG, OFF(quiet)},
    {0}};

#define RECORDING "perf.data" /* the default output of perf record and stoke record */

bool load_has_input(void)
{
    return os_input_is_given() || access(RECORDING, F_OK) == 0;
}

/* The spans of --at replace files. */
static bool load_spans(const struct name_list *at, const struct name_list *inputs,
                       int *file_count, char ***files, struct error *err)
{
    if (*file_count || (inputs && inputs->count)) {
        error_set(err, "'%s' cannot be combined with --at",
                  *file_count ? (*files)[0] : inputs->items[0]);
        return error_hint(err, "--store FILE names the store that --at reads");
    }
    *file_count = (int)at->count;
    *files = (char **)(void *)at->items;
    return true;
}

bool load_inputs(const struct load_settings *settings, const struct name_list *inputs,
                 int *file_count, char ***files, struct error *err)
{
    static char standard_input[] = "-", recording[] = RECORDING;
    static char *piped[] = {standard_input}, *recorded[] = {recording}; /* constant */
    if (settings->history.at.count)
        return load_spans(&settings->history.at, inputs, file_count, files, err);
    if (inputs && inputs->count) {
        if (*file_count) {
            error_set(err, "'%s' cannot be combined with --input", (*files)[0]);
            return error_hint(err, "name all files with --input, or none");
        }
        *file_count = (int)inputs->count;
        *files = (char **)(void *)inputs->items;
        return true;
    }
    if (*file_count)
        return true;
    if (!load_has_input()) {
        error_set(err, "no input: no file is named and ./perf.data does not exist");
        return error_hint(err, "name a FILE, pipe one in, or run stoke record first");
    }
    *file_count = 1;
    *files = os_input_is_given() ? piped : recorded;
    return true;
}

struct profile *load_profiles(const struct load_settings *settings, int file_count,
                              char **files, struct error *err)
{
    struct profile *p;
    if (settings->history.at.count && file_count > 1) {
        error_set(err, "--at is given twice");
        error_hint(err, "stoke diff compares two spans");
        return NULL;
    }
    if (settings->history.at.count)
        p = history_load(settings, files[0], err);
    else
        p = engine_load(settings, file_count, files, &message_report, err);
    if (p && !settings->quiet && !settings->own_warnings)
        message_warnings(p, file_count == 1 ? files[0] : NULL);
    return p;
}

/* Writes as many event names as fit into `text`. */
static void list_events(const struct profile *p, char *text, size_t size)
{
    const size_t reserve = sizeof " and 4294967295 more";
    size_t used = 0;
    event_id e = 1;
    text[0] = 0;
    for (; e < p->event_count; e++) {
        struct str name = profile_string(p, p->events[e].name);
        if (used + name.len + 2 + reserve > size)
            break;
        used += format_text(text + used, size - used, "%s%.*s", e > 1 ? ", " : "",
                            STR_ARG(name));
    }
    if (e < p->event_count)
        format_text(text + used, size - used, "%s%zu more", e > 1 ? " and " : "",
                    p->event_count - e);
}

void load_note_event(const struct profile *p, bool quiet)
{
    char all[200];
    if (p->event_count <= 2 || p->facts.differential || quiet)
        return;
    list_events(p, all, sizeof all);
    message_note("showing %.*s of %zu events (%s); choose with --event",
                 STR_ARG(profile_string(p, p->events[profile_default_event(p)].name)),
                 p->event_count - 1, all);
}
