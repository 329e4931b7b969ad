/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/options/load.h"
#include "base/format.h"
#include "base/limits.h"
#include "base/nearest.h"
#include "base/number.h"
#include "cli/message.h"
#include "os/file.h"
#include <string.h>
#include <unistd.h>

#define OFF(field) offsetof(struct load_settings, field)

#define THREADS_MAX 4096 /* more than any machine has cores */

static const char *const ghc_columns[] = {"time", "ticks", "bytes", NULL};

static bool parse_format(const char *text, void *value, struct error *err)
{
    const struct importer **format = value;
    struct nearest nearest = {.word = str_of(text)};
    *format = importer_named(nearest.word);
    if (*format)
        return true;
    for (size_t i = 0; importers[i]; i++)
        nearest_offer(&nearest, str_of(importers[i]->name));
    error_set(err, "there is no format '%s'", text);
    return nearest_hint(&nearest, "", "'stoke help formats' lists them", err);
}

bool load_parse_limit(const char *text, void *value, struct error *err)
{
    const char **kept = value;
    uint64_t number = 0;
    struct str digits = str_skip(str_of(text), text[0] == 'x');
    bool none = strcmp(text, "none") == 0;
    if (!none && (!number_parse_u64(digits, &number) || number == 0 ||
                  number > LIMITS_FACTOR_MAX)) {
        error_set(err, "invalid limits '%s'", text);
        return error_hint(err, "--limits x8, up to x%d, or --limit none",
                          LIMITS_FACTOR_MAX);
    }
    *kept = text;
    limits_raise((unsigned)number);
    return true;
}

const struct option load_options[] = {
    {"format", 0, "NAME", "what the input is, when its content does not tell",
     OPTION_PARSED, OFF(format), .parse = parse_format},
    {"threads,nthreads", 'j', "N", "cores to read with (default: all)", OPTION_INT,
     OFF(threads), .least = 0, .most = THREADS_MAX},
    {"count-samples", 0, NULL, "weigh every sample 1, whatever period it carries",
     OPTION_FLAG, OFF(import.samples)},
    {"keep-arguments", 0, NULL, "keep argument lists in names", OPTION_FLAG,
     OFF(import.signatures)},
    {"includeoffset", 0, NULL, "keep offsets (+0x1f) in names", OPTION_FLAG,
     OFF(import.offsets)},
    {"limits", 0, "xN",
     "raise the limits of stack depth, line length and unpacking N times; or none",
     OPTION_PARSED, OFF(limits), .parse = load_parse_limit},
    {"all-threads", 0, NULL, "thread dumps: idle and waiting threads too", OPTION_FLAG,
     OFF(import.all_threads)},
    {"ghc", 0, "COLUMN", "GHC profiles: time (the default), ticks or bytes",
     OPTION_CHOICE, OFF(import.ghc), ghc_columns},
    {"skip-after", 0, "NAME", "drop the callers of this function (repeatable)",
     OPTION_LIST, OFF(skip_after)},
    {"source-map", 0, "FILE",
     "JavaScript: names and places as the sources have them (repeatable)", OPTION_LIST,
     OFF(source_maps)},
    {"symfs", 0, "DIR", "recordings: look for files below this folder", OPTION_STRING,
     OFF(symbols.symfs)},
    {"debug-dir", 0, "DIR", "look for debug files there, not in /usr/lib/debug",
     OPTION_LIST, OFF(symbols.debug_dirs)},
    {"kallsyms", 0, "FILE", "the kernel's symbols, as /proc/kallsyms has them",
     OPTION_STRING, OFF(symbols.kallsyms)},
    {"vmlinux", 0, "FILE", "the kernel's object file", OPTION_STRING,
     OFF(symbols.vmlinux)},
    {"no-inline", 0, NULL, "do not look for inlined functions", OPTION_FLAG,
     OFF(symbols.no_inline)},
    {"no-debuginfod", 0, NULL, "do not ask the servers of $DEBUGINFOD_URLS", OPTION_FLAG,
     OFF(symbols.no_debuginfod)},
    {"demangle", 0, "HOW", "C++ and Rust names: simple (the default), no or full",
     OPTION_CHOICE, OFF(symbols.demangle), demangle_choices},
    {"quiet", 'q', NULL, "no warnings and no progress", OPTION_FLAG, OFF(quiet)},
    {0}};

#define RECORDING "perf.data" /* as perf record and stoke record name it */

bool load_has_input(void)
{
    return os_input_is_given() || access(RECORDING, F_OK) == 0;
}

bool load_inputs(const struct name_list *inputs, int *file_count, char ***files,
                 struct error *err)
{
    static char standard_input[] = "-", recording[] = RECORDING;
    static char *chosen[1];
    if (inputs && inputs->count) {
        if (*file_count) {
            error_set(err, "'%s' stands beside --input", (*files)[0]);
            return error_hint(err, "give all files alone, or all with --input");
        }
        *file_count = (int)inputs->count;
        *files = (char **)(void *)inputs->items;
        return true;
    }
    if (*file_count)
        return true;
    if (!load_has_input()) {
        error_set(err, "there is no perf.data here, and no other input was named");
        return error_hint(err, "name a FILE, pipe one in, or run stoke record first");
    }
    chosen[0] = os_input_is_given() ? standard_input : recording;
    *file_count = 1;
    *files = chosen;
    return true;
}

static bool incomplete; /* an input ended early or is damaged */

bool load_was_incomplete(void)
{
    return incomplete;
}

struct profile *load_profiles(const struct load_settings *settings, int file_count,
                              char **files, struct error *err)
{
    struct profile *p = engine_load(settings, file_count, files, &message_report, err);
    incomplete |= p && p->facts.incomplete;
    if (p && !settings->quiet && !settings->own_warnings)
        message_warnings(p, file_count == 1 ? files[0] : NULL);
    return p;
}

/* The names of the events, as many as there is room for. */
static void list_events(const struct profile *p, char *room, size_t size)
{
    const size_t behind = sizeof " and 4294967295 more";
    size_t used = 0;
    event_id e = 1;
    room[0] = 0;
    for (; e < p->event_count; e++) {
        struct str name = profile_string(p, p->events[e].name);
        if (used + name.len + 2 + behind > size)
            break;
        used += format_text(room + used, size - used, "%s%.*s", e > 1 ? ", " : "",
                            STR_ARG(name));
    }
    if (e < p->event_count)
        format_text(room + used, size - used, "%s%zu more", e > 1 ? " and " : "",
                    p->event_count - e);
}

void load_note_event(const struct profile *p, bool quiet)
{
    char all[200];
    if (p->event_count <= 2 || p->facts.differential || quiet)
        return;
    list_events(p, all, sizeof all);
    message_note("showing %.*s of %zu events (%s); choose with --event",
                 STR_ARG(profile_string(p, p->events[1].name)), p->event_count - 1, all);
}
