/* stoke trace: instruction traces to stacks. */
#include "base/decode.h"
#include "base/nearest.h"
#include "base/number.h"
#include "cli/command.h"
#include "cli/drawing.h"
#include "cli/message.h"
#include "cli/save.h"
#include "cli/trace_binaries.h"
#include "cli/trace_trigger.h"
#include "os/file.h"
#include "os/parallel.h"
#include "trace/reader.h"
#include <stdio.h>
#include <stdlib.h>

struct trace_settings {
    struct drawing_settings drawing;
    struct symbol_settings symbols;
    struct option_list binaries, users, switches;
    struct trigger_settings trigger;
    const char *output;
    const struct exporter *to;
    const struct trace_format *format;
    int64_t ipc, threads;
    bool list_formats, quiet, keep;
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
    error_set(err, "there is no format '%s' of traces", text);
    return nearest_hint(&nearest, "", "'stoke trace --list-formats' lists them", err);
}

static const struct option trace_options[] = {
    {"output", 'o', "FILE",
     "write there; its suffix tells the format (default: folded "
     "stacks to standard output)",
     OPTION_STRING, OFF(output)},
    {"to", 0, "NAME", "the format, for standard output or a file of another suffix",
     OPTION_PARSED, OFF(to), .parse = save_parse_exporter},
    {"dwarf", 'd', "FILE",
     "the binary that ran, with its debug information: the kernel, firmware, or the "
     "program itself (repeatable)",
     OPTION_LIST, OFF(binaries)},
    {"user", 'u', "FILE",
     "a program that ran above the kernel, or a library of it "
     "(repeatable)",
     OPTION_LIST, OFF(users)},
    {"kallsyms", 0, "FILE",
     "the kernel's names, where there is no file of it: a copy of "
     "/proc/kallsyms",
     OPTION_STRING, OFF(symbols.kallsyms)},
    {"switch", 0, "NAME",
     "a function that switches tasks (repeatable; default: "
     "__switch_to and the like)",
     OPTION_LIST, OFF(switches)},
    {"no-inline", 0, NULL, "do not look for inlined functions", OPTION_FLAG,
     OFF(symbols.no_inline)},
    {"demangle", 0, "HOW", "C++ and Rust names: simple (the default), no or full",
     OPTION_CHOICE, OFF(symbols.demangle), demangle_choices},
    {0}};

static const struct option trace_input_options[] = {
    {"format", 0, "NAME", "what the traces are, when their content does not tell",
     OPTION_PARSED, OFF(format), .parse = parse_format},
    {"ipc", 0, "N", "binary traces: instructions that the core can retire in a cycle",
     OPTION_INT, OFF(ipc), .least = 1, .most = 64},
    {"list-formats", 0, NULL, "list the formats of traces, and end", OPTION_FLAG,
     OFF(list_formats)},
    {"threads", 'j', "N",
     "traces to read at a time (default: as many as there are cores)", OPTION_INT,
     OFF(threads), .least = 0, .most = THREADS_MAX},
    {"debug-dir", 0, "DIR", "look for debug files there, not in /usr/lib/debug",
     OPTION_LIST, OFF(symbols.debug_dirs)},
    {"no-debuginfod", 0, NULL, "do not ask the servers of $DEBUGINFOD_URLS", OPTION_FLAG,
     OFF(symbols.no_debuginfod)},
    {"quiet", 'q', NULL, "no warnings and no progress", OPTION_FLAG, OFF(quiet)},
    {0}};

static const struct option trigger_options[] = {
    {"selector", 0, "N",
     "what the trigger looks at: 0 nothing, 1 cycles, 2 addresses, 3 instructions",
     OPTION_STRING, OFF(trigger.selector)},
    {"start", 0, "X",
     "where it begins: a cycle, decimal; an address, hexadecimal; mask << 32 | value, "
     "hexadecimal",
     OPTION_STRING, OFF(trigger.start)},
    {"end", 0, "Y", "where it ends, alike; -1: never", OPTION_STRING, OFF(trigger.end)},
    {"config", 0, "FILE",
     "take all three from [tracing] of FireSim's config_runtime.ini or .yaml",
     OPTION_STRING, OFF(trigger.config)},
    {0}};

static const struct option_group trace_groups[] = {
    {"options", trace_options, 0},
    {"input", trace_input_options, 0},
    {"a trigger, for a trace that was recorded without", trigger_options, 0},
    {"how a flame graph looks", drawing_options, OFF(drawing)},
    {0}};

static const struct trace_settings trace_defaults = {.drawing = DRAWING_DEFAULTS};

/* --- One trace ---------------------------------------------------------------------- */

/* What of a trace was in a binary: see struct trace_known. */
struct share {
    uint64_t instructions, described, differing;
};

struct job {
    const char *path;
    struct builder builder;
    struct error err;
    uint64_t instructions, kept_out;
    struct trace_trigger recorded; /* with which it says it was recorded */
    struct trace_report report;    /* of all its cores */
    struct share *shares;       /* by binary */
    bool ok;
};

struct jobs {
    const struct trace_settings *settings;
    struct trace_files *files;
    const char *const *switches;
    struct trace_trigger trigger;
    enum demangle demangle;
    struct job *items;
    size_t count, next; /* next is atomic */
};

/* TRACEFILE-C3 is core 3's. */
static int64_t core_of(const char *path)
{
    struct str name = str_basename(str_of(path));
    uint64_t core;
    size_t at = str_rsearch(name, STR("-C")), end = at + 2;
    if (at == name.len)
        return 0;
    while (end < name.len && byte_is_digit(name.ptr[end]))
        end++;
    struct str digits = str_head(str_skip(name, at + 2), end - at - 2);
    return number_parse_u64(digits, &core) && core < 1u << 20 ? (int64_t)core : 0;
}

static void add_report(struct trace_report *sum, const struct trace_report *r)
{
    uint64_t *to = (uint64_t *)sum;
    const uint64_t *from = (const uint64_t *)r;
    uint64_t deepest = sum->deepest > r->deepest ? sum->deepest : r->deepest;
    for (size_t i = 0; i < sizeof *sum / sizeof *to; i++)
        to[i] += from[i];
    sum->deepest = deepest;
}

static void add_shares(struct job *job, const struct trace_files *files,
                       const struct trace_code *code)
{
    for (uint32_t i = 1; i < code->known_count; i++) {
        const struct trace_known *k = &code->known[i];
        size_t at = (size_t)(k->binary - files->binaries);
        if (k->binary < files->binaries || at >= files->count)
            continue; /* one that the trace names */
        job->shares[at].instructions += k->instructions;
        job->shares[at].described += k->described;
        job->shares[at].differing += k->differing;
    }
}

static bool read_source(const struct jobs *jobs, struct job *job, struct source *in)
{
    const struct trace_settings *s = jobs->settings;
    struct trace_reader_options options = {.binaries = jobs->files->binaries,
                                           .binary_count = jobs->files->count,
                                           .keeps = s->keep,
                                           .ipc = (unsigned)s->ipc,
                                           .core = core_of(job->path),
                                           .trigger = jobs->trigger,
                                           .switches = jobs->switches,
                                           .find = trace_files_find,
                                           .find_context = jobs->files};
    struct trace_reader *r = malloc(sizeof *r);
    job->shares = calloc(jobs->files->count + 1, sizeof *job->shares);
    if (!r || !job->shares) {
        free(r);
        return error_memory(&job->err);
    }
    trace_reader_init(r, in, &options);
    bool ok = trace_read(r, s->format, &job->err);
    job->instructions = ok ? trace_reader_instructions(r) : 0;
    job->kept_out = trace_reader_kept_out(r);
    job->recorded = r->recorded;
    ok = ok && trace_reader_finish(r, &job->builder, jobs->demangle, &job->err);
    for (size_t i = 0; ok && i < r->core_count; i++) {
        add_report(&job->report, &r->cores[i]->tracer.report);
        add_shares(job, jobs->files, &r->cores[i]->tracer.code);
    }
    trace_reader_deinit(r);
    free(r);
    return ok;
}

static bool read_trace(const struct jobs *jobs, struct job *job)
{
    struct os_input input;
    struct decoder d;
    if (!builder_init(&job->builder, jobs->settings->keep ? BUILD_KEEP : BUILD_COUNT))
        return error_memory(&job->err);
    if (!os_input_open(&input, job->path, &job->err))
        return false;
    struct source raw = os_input_source(&input);
    bool ok = decoder_init(&d, &raw, &job->err);
    if (ok) {
        ok = read_source(jobs, job, &d.source);
        if (ok && d.flaw)
            builder_warn_offset(&job->builder, d.flaw, d.in);
        decoder_deinit(&d);
    }
    source_deinit(&raw);
    os_input_close(&input);
    return ok;
}

static void read_traces(void *context, unsigned thread)
{
    struct jobs *jobs = context;
    (void)thread;
    for (;;) {
        size_t i = __atomic_fetch_add(&jobs->next, 1, __ATOMIC_RELAXED);
        if (i >= jobs->count)
            return;
        struct job *job = &jobs->items[i];
        job->err.place = PLACE_NONE;
        job->ok = read_trace(jobs, job);
    }
}

/* --- All of them ---------------------------------------------------------------------
 */

static bool no_instructions(const struct jobs *jobs, const struct job *job,
                            struct error *err)
{
    char text[120];
    if (job->kept_out) {
        trace_trigger_say(&jobs->trigger, text, sizeof text);
        error_set(err, "the trigger never fired in %llu instructions (%s)",
                  (unsigned long long)job->kept_out, text);
        return error_hint(err, "a trace that was recorded with it needs no --selector or "
                               "--config");
    }
    const struct trace_trigger *t =
        job->recorded.selector ? &job->recorded : &jobs->trigger;
    if (t->selector) {
        trace_trigger_say(t, text, sizeof text);
        error_set(err, "the trigger never fired: the trace is empty (%s)", text);
        return error_hint(err, "the guest has to come by what starts it");
    }
    error_set(err, "there are no instructions in the trace");
    return error_hint(err, "the trigger may never have fired: see 'selector', 'start' "
                           "and 'end' of the run");
}

/* An empty trace, or one of another program, makes no picture: why is said. */
static bool check(const struct jobs *jobs, const struct job *job, struct error *err)
{
    const struct trace_report *r = &job->report;
    if (job->instructions == 0)
        return no_instructions(jobs, job, err);
    if (r->unknown < r->instructions || jobs->files->count == 0)
        return true;
    error_set(err, "none of the %llu addresses is in %.*s%s",
              (unsigned long long)job->instructions,
              STR_ARG(jobs->files->binaries[0].name),
              jobs->files->count > 1 ? ", nor in another binary that was given" : "");
    return error_hint(err, "--dwarf takes the binary that ran");
}

/* What share of a binary's steps must be wrong for it to be another build. */
#define OTHER_BUILD 0.01

static void note_binary(const struct job *job, const struct trace_binary *b,
                        const struct share *s)
{
    if (s->instructions == 0)
        message_note("%s: none of the instructions is in %.*s", job->path,
                     STR_ARG(b->name));
    else if ((double)s->differing > OTHER_BUILD * (double)s->described)
        message_note("%s: %.1f%% of the instructions in the trace are others in %.*s: is "
                     "it the binary that ran?",
                     job->path, 100.0 * (double)s->differing / (double)s->described,
                     STR_ARG(b->name));
}

/* Tells what of the trace the binaries do not explain, and which of them. */
static void note_binaries(const struct jobs *jobs, const struct job *job)
{
    const struct trace_report *r = &job->report;
    const struct trace_files *files = jobs->files;
    double all = (double)r->instructions, share = 100.0 * (double)r->unknown / all;
    if (share >= 0.05)
        message_note("%s: %.1f%% of the instructions are in no binary that was given "
                     "(--dwarf, --user): they are shown as [user], [firmware] and "
                     "[kernel]",
                     job->path, share);
    for (size_t i = 0; i < files->count; i++)
        note_binary(job, &files->binaries[i], &job->shares[i]);
    double wrong = (double)(r->jumps + r->unmatched);
    if (wrong > OTHER_BUILD * all && files->count > 0)
        message_note("%s: %.1f%% of the instructions do not follow from those before, as "
                     "the code of %.*s has it: is it the binary that ran?",
                     job->path, 100.0 * wrong / all, STR_ARG(files->binaries[0].name));
}

static bool merge(struct jobs *jobs, struct builder *b, struct error *err)
{
    for (size_t i = 0; i < jobs->count; i++) {
        struct job *job = &jobs->items[i];
        if (!job->ok)
            *err = job->err;
        bool ok = job->ok && check(jobs, job, err);
        if (!ok) {
            if (err->file[0] == 0)
                format_text(err->file, sizeof err->file, "%s", job->path);
            return err->message[0] ? false : error_memory(err);
        }
        if (!jobs->settings->quiet)
            note_binaries(jobs, job);
        builder_absorb(b, &job->builder);
    }
    return true;
}

static struct profile *load_jobs(struct jobs *jobs, struct error *err)
{
    struct builder b;
    uint64_t wanted =
        jobs->settings->threads > 0 ? (uint64_t)jobs->settings->threads : os_core_count();
    unsigned threads = jobs->count < wanted ? (unsigned)jobs->count : (unsigned)wanted;
    if (!builder_init(&b, jobs->settings->keep ? BUILD_KEEP : BUILD_COUNT)) {
        builder_deinit(&b);
        error_memory(err);
        return NULL;
    }
    os_parallel(threads, read_traces, jobs);
    bool ok = merge(jobs, &b, err);
    struct profile *p = NULL;
    if (ok) {
        b.profile->facts.format = builder_string(&b, STR("trace"));
        p = builder_finish(&b, err);
    }
    builder_deinit(&b);
    return p;
}

static struct profile *load(const struct trace_settings *s, int file_count, char **files,
                            struct error *err)
{
    struct symbols symbols = {0};
    struct trace_files opened = {0};
    struct jobs jobs = {.settings = s, .files = &opened, .count = (size_t)file_count};
    struct profile *p = NULL;
    const char **switches = calloc(s->switches.count + 1, sizeof *switches);
    jobs.items = calloc(jobs.count, sizeof *jobs.items);
    bool ok = (jobs.items && switches) || error_memory(err);
    for (size_t i = 0; switches && i < s->switches.count; i++)
        switches[i] = s->switches.items[i];
    ok = ok && trace_trigger_read(&jobs.trigger, &s->trigger, s->quiet, err);
    ok = ok && symbols_init(&symbols, &s->symbols, false, s->threads, err);
    ok = ok && trace_files_open(&opened, &s->binaries, &s->users, s->symbols.kallsyms,
                                &symbols.settings, err);
    if (ok && jobs.items) {
        jobs.switches = s->switches.count ? switches : NULL;
        jobs.demangle = symbols.settings.demangle;
        for (size_t i = 0; i < jobs.count; i++)
            jobs.items[i].path = files[i];
        p = load_jobs(&jobs, err);
    }
    for (size_t i = 0; jobs.items && i < jobs.count; i++) {
        builder_deinit(&jobs.items[i].builder);
        free(jobs.items[i].shares);
    }
    free(jobs.items);
    free(switches);
    trace_files_close(&opened);
    symbols_deinit(&symbols);
    return p;
}

/* --- The command ---------------------------------------------------------------------
 */

static int list_formats(void)
{
    for (size_t i = 0; trace_formats[i]; i++)
        printf("%-10s %s\n", trace_formats[i]->name, trace_formats[i]->summary);
    return STATUS_OK;
}

/* The exporter that is named, or that the output's name asks for; folded stacks else. */
static const struct exporter *choose_exporter(const struct trace_settings *s,
                                              struct error *err)
{
    bool to_file = s->output && strcmp(s->output, "-") != 0;
    if (s->to)
        return s->to;
    if (!to_file)
        return exporter_named(STR("folded"));
    struct str file = str_of(s->output);
    const struct exporter *e = exporter_for_file(file);
    if (!e && str_ends(file, STR(".gz")))
        e = exporter_for_file(str_head(file, file.len - 3));
    if (!e) {
        error_set(err, "the name '%s' does not tell a format to write", s->output);
        error_hint(err, "--to NAME, or -o FILE.SUFFIX; 'stoke help formats' lists them");
    }
    return e;
}

static bool trace(struct trace_settings *s, const struct exporter *e, int file_count,
                  char **files, struct error *err)
{
    struct export_options options = {0};
    struct drawing d;
    bool ok = drawing_init(&d, &s->drawing, &options, err);
    s->keep = e->wants_time || s->drawing.by_time;
    struct profile *p = ok ? load(s, file_count, files, err) : NULL;
    if (p && !s->quiet)
        message_warnings(p, file_count == 1 ? files[0] : NULL);
    /* One thread is told by the file. */
    options.tree.threads = p && p->thread_count > 2 ? THREAD_COMM : THREAD_NONE;
    if (e->whole)
        options.tree.threads = THREAD_TID;
    ok = p && save_profile(e, p, &options, s->output ? s->output : "-", err) &&
         drawing_finish(&d, err);
    profile_destroy(p);
    drawing_deinit(&d);
    return ok;
}

static int trace_run(void *settings, int file_count, char **files)
{
    struct trace_settings *s = settings;
    struct error err = {.place = PLACE_NONE};
    static char standard_input[] = "-";
    char *only[] = {standard_input};
    if (s->list_formats)
        return list_formats();
    const struct exporter *e = choose_exporter(s, &err);
    if (e && trace(s, e, file_count ? file_count : 1, file_count ? files : only, &err))
        return STATUS_OK;
    message_error(&err);
    return e ? STATUS_FAILED : STATUS_USAGE;
}

const struct command command_trace = {
    .name = "trace",
    .summary = "instruction traces of RISC-V cores to stacks",
    .usage = "[OPTION...] TRACEFILE... --dwarf BINARY [-o OUT]",
    .examples = "  stoke trace TRACEFILE-C0 --dwarf br-base-bin-dwarf -o out.svg\n"
                "  stoke trace TRACEFILE-C* --dwarf br-base-bin-dwarf --user prog -o "
                "out.folded\n",
    .groups = trace_groups,
    .settings_size = sizeof(struct trace_settings),
    .defaults = &trace_defaults,
    .run = trace_run,
};
