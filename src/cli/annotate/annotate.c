/* SPDX-License-Identifier: Apache-2.0 */
/* stoke annotate: shows the samples in a function by line and by instruction. */
#include "cli/annotate/annotate.h"
#include "cli/command.h"
#include "cli/message.h"
#include "cli/options/load.h"
#include "cli/options/perf.h"
#include "cli/options/transforms.h"
#include "os/file.h"
#include "os/terminal.h"

struct annotate_settings {
    struct load_settings load;
    const char *event, *output, *symbol, *style;
    struct name_list inputs;
    struct number_set cpus;
    double least;
    bool json, whole, counts, weights, group;
};

/* Without the name of a function: how many, the heaviest. */
#define FUNCTIONS_MOST 10

#define OFF(field) offsetof(struct annotate_settings, field)

/* The styles of objdump, which ignores others. Those that end with '=' have a value. */
static const char *const styles[] = {"intel",
                                     "att",
                                     "no-aliases",
                                     "aliases",
                                     "numeric",
                                     "intel-mnemonic",
                                     "att-mnemonic",
                                     "x86-64",
                                     "i386",
                                     "i8086",
                                     "suffix",
                                     "addr64",
                                     "addr32",
                                     "addr16",
                                     "data32",
                                     "data16",
                                     "amd64",
                                     "intel64",
                                     "no-notes",
                                     "notes",
                                     "force-thumb",
                                     "no-force-thumb",
                                     "reg-names-raw",
                                     "reg-names-gcc",
                                     "reg-names-std",
                                     "reg-names-apcs",
                                     "reg-names-atpcs",
                                     "reg-names-special-atpcs",
                                     "priv-spec=",
                                     "raw",
                                     "any",
                                     "32",
                                     "64",
                                     NULL};

/* "intel,suffix" */
static bool parse_style(const char *text, void *value, struct error *err)
{
    for (struct str rest = str_of(text), word; rest.len;) {
        size_t i = 0;
        word = str_cut(&rest, ',');
        while (styles[i] && !str_equal(word, str_of(styles[i])) &&
               !(str_ends(str_of(styles[i]), STR("=")) &&
                 str_starts(word, str_of(styles[i]))))
            i++;
        if (styles[i])
            continue;
        error_set(err, "unknown style '%.*s' of the disassembler", STR_ARG(word));
        return error_hint(err,
                          "intel, att, suffix, no-aliases, numeric, or another one that "
                          "'objdump --help' lists for -M");
    }
    *(const char **)value = text;
    return true;
}

static const struct option annotate_options[] = {
    {"symbol", 's', "NAME", "the function, instead of the argument FUNCTION",
     OPTION_STRING, OFF(symbol)},
    {"input", 'i', "FILE", "input file, like FILE (repeatable)", OPTION_LIST,
     OFF(inputs)},
    {"event", 0, "NAME", "event to count; * and ? are wildcards", OPTION_STRING,
     OFF(event)},
    {"json", 0, NULL, "JSON output for scripts", OPTION_FLAG, OFF(json)},
    {"whole", 0, NULL, "all lines and instructions (default: those near samples)",
     OPTION_FLAG, OFF(whole)},
    {"show-nr-samples", 'n', NULL, "numbers of samples instead of shares", OPTION_FLAG,
     OFF(counts)},
    {"group", 0, NULL, "a column for each event", OPTION_FLAG, OFF(group)},
    {"show-total-period", 0, NULL, "weights instead of shares", OPTION_FLAG,
     OFF(weights)},
    {"cpu", 'C', "LIST", "only samples of these CPUs", OPTION_PARSED, OFF(cpus),
     .parse = transforms_parse_numbers},
    {"percent-limit", 0, "P", "no functions below P percent of the samples",
     OPTION_NUMBER, OFF(least), .least = 0, .most = 100},
    {"disassembler-style", 'M', "STYLE", "of objdump: intel, att, no-aliases",
     OPTION_PARSED, OFF(style), .parse = parse_style},
    {"output", 'o', "FILE", "output file (default: standard output)", OPTION_STRING,
     OFF(output)},
    {0}};

static const struct option_group annotate_groups[] = {
    {"options", annotate_options, 0},
    {"input", load_options, OFF(load)},
    {"options of perf annotate", perf_annotate_options, 0},
    {0}};

/* Reads the recording into `a`. */
static bool collect(struct annotate_settings *s, struct annotations *a, int file_count,
                    char **files, struct error *err)
{
    struct annotate_collector *c = annotate_collector_create(a, file_count);
    if (!c)
        return error_memory(err);
    s->load.consumer = annotate_collector_consumer(c);
    s->load.code_consumer = annotate_collector_code_consumer(c);
    struct profile *p = load_profiles(&s->load, file_count, files, err);
    bool ok = p != NULL;
    profile_destroy(p);
    annotate_collector_destroy(c);
    if (!ok)
        return false;
    if (!annotate_check_result(a, file_count, err))
        return false;
    if (a->event_count > 1 && !s->event && !s->group && !s->load.quiet)
        message_note("showing %.*s of %zu events; choose with --event", STR_ARG(a->event),
                     a->event_count);
    return true;
}

static bool write_annotations(const struct annotate_settings *s,
                              const struct annotations *a, struct error *err)
{
    struct os_output file;
    const char *path = s->output ? s->output : "-";
    if (!os_output_open(&file, path, err))
        return false;
    struct output o = os_output_stream(&file);
    struct annotate_output to = {.out = &o,
                                 .colour =
                                     strcmp(path, "-") == 0 && os_terminal_of(1).colour,
                                 .whole = s->whole,
                                 .counts = s->counts,
                                 .weights = s->weights};
    bool ok =
        (s->json ? annotate_write_json(a, true, &o) : annotate_write_text(a, &to)) ||
        error_memory(err);
    if (ok)
        ok = os_output_close(&file, &o, err);
    else
        os_output_abandon(&file);
    output_deinit(&o);
    return ok;
}

/* The only argument is a file, and no other input is given: it does not name a function. */
static bool is_only_input(const struct annotate_settings *s, int file_count, char **files)
{
    return file_count == 1 && !s->inputs.count && !s->load.history.at.count &&
           !load_has_input() && os_output_exists(files[0]);
}

static int annotate_run(void *settings, int file_count, char **files)
{
    struct annotate_settings *s = settings;
    struct error err = {.location = LOCATION_NONE};
    bool named = s->symbol || (file_count && !is_only_input(s, file_count, files));
    struct annotations a = {.function = s->symbol ? s->symbol
                                        : named   ? files[0]
                                                  : NULL,
                            .most = FUNCTIONS_MOST,
                            .least = s->least,
                            .cpus = &s->cpus,
                            .group = s->group,
                            .style = s->style,
                            .event_pattern = s->event};
    if (a.function && a.function[0] == 0) {
        error_set(&err, "the name of a function is missing");
        error_hint(&err, "stoke annotate FUNCTION [FILE]; 'stoke report' lists them");
        message_error(&err);
        return STATUS_USAGE;
    }
    if (s->group && s->json) {
        error_set(&err, "--group cannot be combined with --json");
        error_hint(&err, "--event NAME --json, once for each event");
        message_error(&err);
        return STATUS_USAGE;
    }
    s->load.import.lines = true;
    if (named && !s->symbol) {
        file_count--;
        files++;
    }
    bool ok = load_inputs(&s->load, &s->inputs, &file_count, &files, &err) &&
              collect(s, &a, file_count, files, &err) && write_annotations(s, &a, &err);
    arena_deinit(&a.arena);
    return command_status(ok, &err);
}

const struct command command_annotate = {
    .name = "annotate",
    .summary = "show where in a function the time is, by line and instruction",
    .usage = "[OPTION...] [FUNCTION [FILE...]]",
    .examples = "  stoke annotate               # the heaviest functions of ./perf.data\n"
                "  stoke annotate compress\n"
                "  stoke annotate --event cycles 'std::sort' perf.data\n",
    .groups = annotate_groups,
    .settings_size = sizeof(struct annotate_settings),
    .result = offsetof(struct annotate_settings, load.result),
    .run = annotate_run,
};
