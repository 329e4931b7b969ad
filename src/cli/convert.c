/* SPDX-License-Identifier: Apache-2.0 */
/* stoke convert: converts profiles between formats. */
#include "analysis/call_costs.h"
#include "cli/annotate/annotate.h"
#include "cli/command.h"
#include "cli/message.h"
#include "cli/options/load.h"
#include "cli/options/names.h"
#include "cli/options/quantity.h"
#include "cli/options/save.h"
#include "cli/options/transforms.h"
#include "engine/bundle.h"
#include "engine/sources.h"
#include <math.h>
#include <string.h>
#include <unistd.h>

#define UNSET (-1)

struct convert_settings {
    struct load_settings load;
    struct transforms_settings transforms;
    struct names_settings names;
    const char *output, *title;
    const struct exporter *to; /* NULL: by the output's name */
    int threads;               /* enum thread_style, or UNSET */
    int pack;                  /* 0, 1, or UNSET */
    bool with_callgraph, with_source, with_assembly, with_code;
    uint64_t code_limit;
    struct name_list source_dirs;
    double function_percent, call_percent;
};

#define OFF(field) offsetof(struct convert_settings, field)

/* In the order of enum thread_style. */
static const char *const thread_styles[] = {"comm", "pid", "tid", "none", NULL};

static const struct option convert_options[] = {
    {"output", 'o', "FILE", "write to FILE; its suffix selects the format", OPTION_STRING,
     OFF(output)},
    {"to", 0, "NAME", "output format (default: by the suffix of the output file)",
     OPTION_PARSED, OFF(to), .parse = save_parse_exporter},
    {"title", 0, "TEXT", "title of the profile, if the format has a field for it",
     OPTION_STRING, OFF(title)},
    {"apart", 0, "WHAT",
     "how to separate threads (default: tid if the format holds complete profiles, "
     "otherwise comm)",
     OPTION_CHOICE, OFF(threads), .choices = thread_styles},
    {"with-callgraph", 0, NULL,
     "HTML page: include the code that draws call graphs (0.7 MB)", OPTION_FLAG,
     OFF(with_callgraph)},
    {"with-source", 0, NULL,
     "HTML page: include the source files named by the line tables of the binaries",
     OPTION_FLAG, OFF(with_source)},
    {"with-assembly", 0, NULL,
     "HTML page: include the instructions of the heaviest functions of a perf.data",
     OPTION_FLAG, OFF(with_assembly)},
    {"with-code", 0, NULL,
     ".stoke: include the code, lines and sources of the functions with most samples of "
     "a "
     "perf.data",
     OPTION_FLAG, OFF(with_code)},
    {"code-limit", 0, "SIZE",
     "with --with-code: size limit of code and sources (default: 32M)", OPTION_PARSED,
     OFF(code_limit), .parse = quantity_parse_size},
    {"source-dir", 0, "DIR",
     "with --with-source, --with-code: also search this directory (repeatable)",
     OPTION_LIST, OFF(source_dirs)},
    {"node-limit", 0, "PERCENT",
     "call graph: omit functions below PERCENT of the total (default: 0.5)",
     OPTION_NUMBER, OFF(function_percent), .least = 0, .most = 100},
    {"edge-limit", 0, "PERCENT",
     "call graph: omit calls below PERCENT of the total (default: 0.1)", OPTION_NUMBER,
     OFF(call_percent), .least = 0, .most = 100},
    {"gzip", 'z', NULL, "compress the output", OPTION_SET, OFF(pack), .value = 1},
    {"no-gzip", 0, NULL, "do not compress, even if the name or format implies it",
     OPTION_SET, OFF(pack), .value = 0},
    {0}};

static const struct option_group convert_groups[] = {
    {"options", convert_options, 0},
    {"names", names_options, OFF(names)},
    {"filters and transforms", transforms_options, OFF(transforms)},
    {"input", load_options, OFF(load)},
    {0}};

static const struct convert_settings convert_defaults = {.threads = UNSET,
                                                         .pack = UNSET,
                                                         .code_limit = BUNDLE_MOST,
                                                         .function_percent = 0.5,
                                                         .call_percent = 0.1};

/* The part of an event's weights that rounding changes; `sums` has room for all stacks. */
static double rounding_error(const struct profile *p, event_id event, double *sums)
{
    double scale = p->events[event].unit == UNIT_MILLISECONDS ? 1e6 : 1;
    double all = 0, change = 0;
    memset(sums, 0, p->stack_count * sizeof *sums);
    for (size_t i = 0; i < p->sample_count; i++)
        if (p->samples[i].event == event)
            sums[p->samples[i].stack] += p->samples[i].weight;
    for (size_t i = 0; i < p->stack_count; i++) {
        double sum = fabs(sums[i] * scale);
        all += sum;
        change += fabs(sum - floor(sum + 0.5));
    }
    return all > 0 ? change / all : 0;
}

#define ERROR_NOTED 1e-3

/* Small weights that become 0 would otherwise be lost without a message. */
static void note_rounding(const struct profile *p, const char *format)
{
    struct arena arena = {0};
    double *sums = arena_alloc(&arena, p->stack_count * sizeof *sums);
    for (event_id e = 1; sums && e < p->event_count; e++) {
        double error = rounding_error(p, e, sums);
        struct str name = profile_string(p, p->events[e].name);
        if (error >= ERROR_NOTED)
            message_note(
                "'%.*s' has fractions, and %s has integers only: rounding changes "
                "%.2f%% of the weights; --scale 1000 makes them larger",
                STR_ARG(name), format, 100 * error);
    }
    arena_deinit(&arena);
}

/* What is written beside the profile. */
struct parts {
    struct sources sources;
    struct output listing;
    struct code code;
    struct annotation_keeping keeping;
};

/* Returns what takes the sources of a .stoke. Memory that failed is reported later. */
static struct code_consumer init_parts(struct parts *parts)
{
    *parts = (struct parts){.listing = OUTPUT_BUFFER};
    sources_init(&parts->sources);
    return sources_consumer(&parts->sources);
}

static bool read_parts(struct convert_settings *s, struct parts *parts,
                       const struct profile *p, int file_count, char **files,
                       struct error *err)
{
    if (s->with_code && p->facts.filtered) {
        error_set(err, "--with-code keeps all samples, and filters leave some out");
        return error_hint(err, "either without the other");
    }
    parts->keeping = (struct annotation_keeping){
        .most = s->code_limit, .source_dirs = &s->source_dirs, .code = &parts->code};
    return (!s->with_source || sources_read(&parts->sources, p, &s->source_dirs, err)) &&
           (!s->with_assembly ||
            annotate_write_listing(&s->load, file_count, files, &parts->listing, err)) &&
           (!s->with_code ||
            bundle_read(&parts->keeping, &s->load, file_count, files, err));
}

static void set_parts(const struct convert_settings *s, const struct parts *parts,
                      struct export_options *options)
{
    options->assembly = output_contents(&parts->listing);
    options->sources = parts->sources.items;
    options->source_count = parts->sources.count;
    options->code = s->with_code ? &parts->code : NULL;
}

static void describe_parts(const struct convert_settings *s, const struct parts *parts)
{
    if (s->with_source)
        sources_list(&parts->sources, &message_report);
    if (s->with_code)
        bundle_describe(&parts->keeping, &message_report);
}

static void free_parts(struct parts *parts)
{
    sources_deinit(&parts->sources);
    output_deinit(&parts->listing);
    code_deinit(&parts->code);
}

static bool convert(struct convert_settings *s, const struct exporter *e, int file_count,
                    char **files, struct error *err)
{
    const char *path = s->output ? s->output : "-";
    bool pack = s->pack == UNSET ? save_packs(e, str_of(path)) : s->pack;
    struct costs_limits calls = {.function_share = s->function_percent / 100,
                                 .call_share = s->call_percent / 100,
                                 .depth = -1};
    struct export_options options = {.title = str_of(s->title ? s->title : ""),
                                     .calls = &calls,
                                     .with_callgraph = s->with_callgraph};
    enum thread_style threads = s->threads != UNSET ? (enum thread_style)s->threads
                                : e->whole          ? THREAD_TID
                                                    : THREAD_COMM;
    if (pack && strcmp(path, "-") == 0 && isatty(STDOUT_FILENO)) {
        error_set(err, "refusing to write compressed data to a terminal");
        return error_hint(err, "-o FILE, or --no-gzip");
    }
    if (!load_inputs(&s->load, NULL, &file_count, &files, err))
        return false;
    save_prepare_load(e, &s->load);
    if (e->titled && !s->title && file_count == 1 && strcmp(files[0], "-") != 0)
        options.title = str_basename(str_of(files[0]));
    names_prepare(&s->names, threads, &s->load, &s->transforms, &options);
    transforms_prepare(&s->transforms, &s->load);
    struct parts parts;
    struct code_consumer consumer = init_parts(&parts);
    s->load.code_consumer = s->with_source ? &consumer : NULL;
    struct profile *p = load_profiles(&s->load, file_count, files, err);
    p = transforms_apply(&s->transforms, p, err);
    if (p && !e->whole)
        load_note_event(p, s->load.quiet);
    if (p && e->integers && !s->load.quiet)
        note_rounding(p, e->name);
    bool ok = p && read_parts(s, &parts, p, file_count, files, err);
    set_parts(s, &parts, &options);
    ok = ok && save_profile_as(e, p, &options, path, pack, NULL, err);
    if (ok && !s->load.quiet)
        describe_parts(s, &parts);
    free_parts(&parts);
    profile_destroy(p);
    return ok;
}

/* Only some formats have these parts. */
static bool check_parts(const struct convert_settings *s, const struct exporter *e,
                        struct error *err)
{
    const char *part = s->with_callgraph  ? "--with-callgraph"
                       : s->with_source   ? "--with-source"
                       : s->with_assembly ? "--with-assembly"
                                          : NULL;
    if (s->with_code && strcmp(e->name, "stoke") != 0) {
        error_set(err, "--with-code is for .stoke files, and the output is %s", e->name);
        return error_hint(err, "-o FILE.stoke");
    }
    if (!part || strcmp(e->name, "html") == 0)
        return true;
    error_set(err, "%s is for HTML pages, and the output is %s", part, e->name);
    return error_hint(err, "-o FILE.html");
}

static int convert_run(void *settings, int file_count, char **files)
{
    struct convert_settings *s = settings;
    struct error err = {.location = LOCATION_NONE};
    const struct exporter *e = save_choose_exporter(s->to, s->output, NULL, &err);
    bool valid = e && check_parts(s, e, &err);
    if (valid && convert(s, e, file_count, files, &err))
        return STATUS_OK;
    message_error(&err);
    return valid ? STATUS_FAILED : STATUS_USAGE;
}

const struct command command_convert = {
    .name = "convert",
    .summary = "convert profiles between formats",
    .usage = "[OPTION...] [FILE...] -o OUT",
    .examples =
        "  stoke convert perf.txt -o out.speedscope.json\n"
        "  stoke convert perf.txt -o out.pb.gz && go tool pprof -http : out.pb.gz\n"
        "  stoke convert cpu.pprof --to folded | grep main\n",
    .groups = convert_groups,
    .settings_size = sizeof(struct convert_settings),
    .result = offsetof(struct convert_settings, load.result),
    .defaults = &convert_defaults,
    .run = convert_run,
};
