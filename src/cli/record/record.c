/* SPDX-License-Identifier: Apache-2.0 */
/* stoke record: samples this machine, and writes a perf.data or draws it immediately. */
#include "base/format.h"
#include "base/number.h"
#include "cli/command.h"
#include "cli/message.h"
#include "cli/options/load.h"
#include "cli/options/perf.h"
#include "cli/options/quantity.h"
#include "cli/record/check.h"
#include "cli/record/summary.h"
#include "engine/heap.h"
#include "engine/record_heap.h"
#include "engine/symbols.h"
#include "os/cgroup.h"
#include "os/data_file.h"
#include "os/file.h"
#include "os/machine.h"
#include "os/proc.h"
#include "record/refusal.h"
#include "record/session.h"
#include "record/targets.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#define NS 1e9

#define OFF(field) offsetof(struct record_command_settings, field)

#define SPAN_MOST ((uint64_t)366 * 86400)

/* "10m", to ns */
static bool parse_span(const char *text, void *value, struct error *err)
{
    static const uint64_t factors[] = {1, 60, 3600};
    uint64_t seconds;
    if (!quantity_parse(text, "smh", factors, SPAN_MOST, &seconds)) {
        error_set(err, "invalid time '%s'", text);
        return error_hint(err, "in seconds, or 90s, 10m, 2h");
    }
    *(uint64_t *)value = seconds * (uint64_t)NS;
    return true;
}

#define DELAY_MOST 1000000000

/* Milliseconds. perf also has -1 (start disabled) and ranges of times. */
static bool parse_delay(const char *text, void *value, struct error *err)
{
    uint64_t v;
    if (number_parse_u64(str_of(text), &v) && v >= 1 && v <= DELAY_MOST) {
        *(int64_t *)value = (int64_t)v;
        return true;
    }
    error_set(err, "invalid value '%s' for --delay", text);
    if (strcmp(text, "-1") == 0)
        return error_hint(err, "to begin later, on request: --snapshot, and kill -USR2");
    if (strchr(text, '-'))
        return error_hint(err, "one range of time: --delay MS --duration S");
    return error_hint(err, "a whole number from 1 to %d", DELAY_MOST);
}

/* perf's -k: the times of recordings are of one clock. */
static bool parse_clock(const char *text, void *value, struct error *err)
{
    static const char *const names[] = {"mono", "monotonic", "CLOCK_MONOTONIC", "1"};
    (void)value;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(names[i], text) == 0)
            return true;
    error_set(err, "the clock '%s' is not supported", text);
    return error_hint(err, "the times of recordings are of CLOCK_MONOTONIC: -k mono");
}

#define LEVEL_LEAST 1
#define LEVEL_MOST 19 /* above it, zstd needs hundreds of MB and gains nothing */

static bool parse_level(const char *text, void *value, struct error *err)
{
    uint64_t v;
    if (number_parse_u64(str_of(text), &v) && v >= LEVEL_LEAST && v <= LEVEL_MOST) {
        *(int64_t *)value = (int64_t)v;
        return true;
    }
    error_set(err, "invalid compression level '%s'", text);
    return error_hint(err, "%d (fastest) to %d (smallest)", LEVEL_LEAST, LEVEL_MOST);
}

static const char *const interpreter_choices[] = {
    "auto", "none", "python", "ruby", "node", "php", "perl", "java", NULL};

static const struct option record_options[] = {
    {"interpreters", 0, "WHICH",
     "interpreted functions in stacks: auto (the default), none, python, ruby, node, "
     "php, perl, java",
     OPTION_CHOICE, OFF(interpreters), interpreter_choices},
    {"strict-freq", 0, NULL, "fail if the kernel does not allow the requested rate",
     OPTION_FLAG, OFF(strict)},
    {"duration", 0, "S", "end after S seconds", OPTION_NUMBER, OFF(duration),
     .least = 0.001, .most = 1e9},
    {"delay", 'D', "MS", "start sampling after MS milliseconds", OPTION_PARSED,
     OFF(delay), .parse = parse_delay},
    {"output", 'o', "FILE",
     "output file (default: perf.data); .svg, .folded, ...: draw it directly; -: a pipe",
     OPTION_STRING, OFF(output)},
    {"max-size", 0, "SIZE",
     "end when the file has this size (64M); with --rotate and --snapshot: size limit of "
     "what is retained",
     OPTION_PARSED, OFF(max_size), .parse = quantity_parse_size},
    {"rotate", 0, "TIME", "start a new file after each TIME (10m): FILE.1, FILE.2, ...",
     OPTION_PARSED, OFF(rotate), .parse = parse_span},
    {"keep", 0, "N", "with --rotate: retain the last N files (default: 10)", OPTION_INT,
     OFF(keep), .least = 1, .most = 1000000},
    {"snapshot", 0, NULL,
     "record to memory; SIGUSR2 writes the latest samples to FILE.1, FILE.2, ...",
     OPTION_FLAG, OFF(snapshot)},
    {"bundle", 0, NULL,
     "write a .stoke with all names, hot code and its sources, for other machines "
     "(default: perf.stoke)",
     OPTION_FLAG, OFF(bundle)},
    {"heap", 0, NULL,
     "record samples of the command's allocations, too, as stoke heap does (default: "
     "perf.stoke)",
     OPTION_FLAG, OFF(heap)},
    {"full", 0, NULL, "with --heap: record every allocation and release", OPTION_FLAG,
     OFF(heap_full)},
    {"keep-stacks", 0, NULL, "with -g dwarf: store stack dumps, to unwind them later",
     OPTION_FLAG, OFF(keep_dumps)},
    {"compress,compression-level", 'z', "LEVEL",
     "compression level, 1 (fastest) to 19 (smallest)", OPTION_PARSED,
     OFF(compression_level), .parse = parse_level, .fallback = "1",
     .before_command = true},
    {"no-compress", 0, NULL, "do not compress the recording", OPTION_FLAG,
     OFF(uncompressed)},
    {"quiet", 'q', NULL, "no progress and no summary", OPTION_FLAG, OFF(quiet)},
    {"clockid", 'k', "CLOCK", NULL, OPTION_PARSED, 0, .parse = parse_clock},
    {0}};

/* One flag for each event source. */
static const struct option source_options[] = {
#define EVENT_SOURCE_BESIDE(name)
#define EVENT_SOURCE(name, option, help) \
    {option, 0, NULL, help, OPTION_FLAG, OFF(sources.on[EVENT_SOURCE_##name])},
#include "record/event_sources.def"
#undef EVENT_SOURCE
    {0}};

static const struct option_group record_groups[] = {
    {"targets", sampling_target_options, OFF(targets), NULL},
    {"", sampling_thread_options, OFF(targets), NULL},
    {"sampling (default: -F auto for a COMMAND, else -F 99)", sampling_options,
     OFF(sampling), NULL},
    {"event sources", source_options, 0, NULL},
    {"the recording", record_options, 0, NULL},
    {"options of perf record", perf_record_options, 0, NULL},
    {0}};

/* Memory of --snapshot by default. */
#define SNAPSHOT_SIZE ((uint64_t)16 << 20)

/* --- From options to settings ------------------------------------------------------ */

struct recording {
    const struct record_command_settings *s;
    struct record_settings settings;
    struct record_session *session;
    struct record_threads threads;
    struct record_drawing drawing;
    struct record_heap heap; /* of --heap */
    uint32_t chosen_rate;    /* by -F auto; or 0 */
    char room[16384], cache[4096];
    const char *words[256]; /* of this program's command line; in `room` */
};

/* Without event sources, output that needs stacks only and no times does not need each
 * sample: counting in the kernel costs the least if the whole machine is recorded. */
static bool can_be_counted(const struct recording *r)
{
    const struct record_command_settings *s = r->s;
    for (size_t i = 0; i < EVENT_SOURCE_COUNT; i++)
        if (s->sources.on[i])
            return false;
    return r->drawing.exporter && !r->drawing.exporter->needs_time &&
           s->sampling.stacks.kind == RECORD_STACKS_FP &&
           (s->targets.everyone || s->targets.cpus.count);
}

/* False if the clock is slower than requested and the user forbids that. */
static bool check_clock_rate(const struct recording *r, uint32_t rate, struct error *err)
{
    if (!rate)
        return true;
    if (r->s->strict) {
        error_set(
            err,
            "this machine serves at most %u samples of a clock per second: more take "
            "too much CPU time",
            rate);
        return error_hint(
            err, "-F %u, or sudo sysctl kernel.perf_cpu_time_max_percent=100", rate);
    }
    if (!r->s->quiet)
        message_note("%u samples of a clock per second: more take too much CPU time "
                     "(kernel.perf_cpu_time_max_percent)",
                     rate);
    return true;
}

/* Selects the events, and reports differences from the requested ones. */
static bool choose_events(struct recording *r, struct error *err)
{
    struct sampling_events_found found;
    if (!sampling_events(&r->s->sampling, &r->settings.sampler, &found, err) ||
        !check_clock_rate(r, found.clock_rate, err))
        return false;
    if (found.clock && !r->s->quiet)
        message_note("this machine has no counter of cycles: sampling by the kernel's "
                     "clock (cpu-clock)");
    if (found.hidden && !r->s->quiet)
        message_note("kernel code is not sampled: that needs root, CAP_PERFMON, or "
                     "kernel.perf_event_paranoid at 1 or less");
    return true;
}

static bool find_targets(struct recording *r, char **command, struct error *err)
{
    const struct sampling_targets *targets = &r->s->targets;
    r->settings.command = command[0] ? command : NULL;
    r->settings.pids = targets->pids.items;
    r->settings.pid_count = targets->pids.count;
    return sampling_find(targets, command[0], &r->settings.sampler.targets, &r->threads,
                         err);
}

/* As in perf record, a rate above the kernel's limit is reduced. */
static bool choose_rate(struct recording *r, struct error *err)
{
    uint32_t most = record_rate_most(), *rate = &r->settings.sampler.rate;
    if (*rate <= most)
        return true;
    if (r->s->strict)
        return record_refusal(&r->settings.sampler, 0, EINVAL, err);
    if (!r->s->quiet)
        message_note("%u samples per second, not %u: kernel.perf_event_max_sample_rate",
                     most, *rate);
    *rate = most;
    return true;
}

/* --- Running ----------------------------------------------------------------------- */

static void show_progress(void *context, const struct record_report *report)
{
    const struct recording *r = context;
    if (!r->s->quiet)
        record_show_progress(report);
}

/* The command still runs. */
static void show_waiting(void *context, const struct record_report *report,
                         const struct error *why)
{
    const struct recording *r = context;
    message_progress_end();
    if (r->s->quiet)
        return;
    if (why)
        message_note("the recording ends early: %s; '%s' continues without it",
                     why->message, report->command);
    else
        message_note("waiting for '%s' (process %lld), which was asked to end; Ctrl-C "
                     "kills it",
                     report->command, (long long)report->command_pid);
}

static void show_snapshot(void *context, const struct record_report *report,
                          const struct error *why_not)
{
    const struct recording *r = context;
    message_progress_end();
    if (why_not)
        message_error(why_not);
    else if (!r->s->quiet)
        message_note("the latest samples are in %s", report->files.path);
}

/* The words of this program's command line, which the recording contains. Fills `words`;
 * their text is in `room`. */
static size_t own_words(char *room, size_t size, const char **words, size_t most)
{
    size_t count = 0;
    struct str text = os_read_text("/proc/self/cmdline", room, size - 1);
    room[text.len] = 0;
    for (size_t at = 0; at < text.len && count < most; at += strlen(room + at) + 1)
        words[count++] = room + at;
    return count;
}

/* Whether the choice is an interpreter that the event source reads. */
static bool is_one_interpreter(int choice)
{
    return choice > INTERPRETERS_NONE && choice < INTERPRETERS_JAVA;
}

/* Requested event sources that are not possible, but optional. */
static void print_unavailable(const struct recording *r)
{
    struct record_report report;
    record_session_report(r->session, &report);
    for (size_t i = 0; i < EVENT_SOURCE_COUNT; i++) {
        const struct error *why = &report.sources[i].unavailable;
        bool requested = event_sources[i]->beside ? is_one_interpreter(r->s->interpreters)
                                                  : r->s->sources.on[i];
        if (requested && why->message[0])
            message_note("recording without --%s: %s%s%s%s", event_sources[i]->name,
                         why->message, why->hint[0] ? " (" : "", why->hint,
                         why->hint[0] ? ")" : "");
    }
}

static bool open_session(struct recording *r, struct error *err)
{
    if (!record_session_open(r->session, err))
        return false;
    if (r->s->quiet)
        return true;
    print_unavailable(r);
    if (r->s->snapshot)
        message_note("kill -USR2 %lld writes the latest samples",
                     (long long)os_own_pid());
    return true;
}

/* Called in the process that draws. */
static void note_loaded(void *context, const struct profile *p, const char *file)
{
    const struct recording *r = context;
    if (r->s->quiet)
        return;
    message_warnings(p, file);
    if (!r->drawing.exporter->whole)
        load_note_event(p, false);
}

static void note_failed(void *context, const struct error *err)
{
    (void)context;
    message_error(err);
}

static bool draw(const struct recording *r, bool whole, struct error *err)
{
    const struct record_drawing *d = &r->drawing;
    char size[32], why[sizeof err->message];
    enum record_drawing_result result = record_drawing_make(d, r->session, whole, err);
    if (result == RECORD_RETAINED) {
        format_text(why, sizeof why, "%s", err->message);
        error_set(err, "%s; the recording is in %s", why, d->data);
        error_hint(err, "stoke convert %s%s%s --to %s -o %s", d->data,
                   d->beside ? " " : "", d->beside ? d->beside : "", d->exporter->name,
                   d->output);
    }
    if (result != RECORD_DRAWN)
        return false;
    uint64_t bytes = os_output_size(d->output);
    if (!r->s->quiet && bytes)
        message_note("%s is %s, %s", d->output,
                     d->exporter == exporter_named(STR("stoke")) ? "written" : "drawn",
                     record_size_text(bytes, size));
    return true;
}

static bool start_heap(struct recording *r, struct error *err)
{
    struct record_heap_settings settings = {
        .sample_bytes = r->s->heap_full ? 0 : ENGINE_HEAP_SAMPLE_BYTES,
        .output = r->drawing.output};
    return !r->s->heap || record_heap_start(&r->heap, &settings, err);
}

/* Without its heap, the recording is still drawn. */
static void finish_heap(struct recording *r)
{
    struct error why = {.message = ""};
    if (!r->s->heap)
        return;
    if (record_heap_finish(&r->heap, &why))
        r->drawing.beside = r->heap.path;
    else
        message_error(&why);
    if (r->heap.python_arenas && !r->s->quiet)
        message_note(ENGINE_HEAP_PYTHON_NOTE);
}

static bool open_all(struct recording *r, struct error *err)
{
    bool ok = start_heap(r, err) && open_session(r, err);
    if (r->s->heap)
        record_heap_restore(&r->heap);
    return ok;
}

static bool record(struct recording *r, struct error *err)
{
    struct record_report report;
    bool ran = (!r->drawing.exporter || os_output_check(r->drawing.output, err)) &&
               open_all(r, err) && record_session_run(r->session, err);
    bool ok = ran;
    message_progress_end();
    if (ran) {
        ok = record_session_finish(r->session, err);
        finish_heap(r);
        record_session_report(r->session, &report);
        if (!r->s->quiet)
            record_print_summary(&report, r->chosen_rate, r->drawing.exporter);
    }
    if (ran && r->drawing.exporter)
        ok = draw(r, ok, err);
    struct error at_end;
    if (!record_session_close(r->session, &at_end) && ok) {
        *err = at_end;
        ok = false;
    }
    return ok;
}

static void choose_settings(struct recording *r)
{
    const struct record_command_settings *s = r->s;
    const char *path = r->drawing.exporter ? r->drawing.data : s->output;
    r->settings = (struct record_settings){
        .sampler = sampling_sampler(&s->sampling),
        .sources = s->sources,
        .duration = (uint64_t)(s->duration * NS),
        .delay = (uint64_t)s->delay * 1000000,
        .files = {.path = path[0] ? path : NULL,
                  .most = s->snapshot && !s->max_size ? SNAPSHOT_SIZE : s->max_size,
                  .rotate = s->rotate,
                  .limit = (uint32_t)s->keep,
                  .snapshot = s->snapshot},
        .uncompressed = s->uncompressed,
        .compression_level = (int)s->compression_level,
        .keep_dumps = s->keep_dumps,
        .resolve = {.find = {.only_mapped = true},
                    .cache_dir = symbols_cache_dir(r->cache, sizeof r->cache)},
        .words = r->words,
        .word_count = own_words(r->room, sizeof r->room, r->words,
                                sizeof r->words / sizeof *r->words),
        .writes_later = r->drawing.exporter,
        .context = r,
        .progress = show_progress,
        .snapshot = show_snapshot,
        .waiting = show_waiting,
    };
    /* the kernel counts stacks that it can unwind itself */
    if (s->sources.on[EVENT_SOURCE_bpf] && s->sampling.stacks.kind == RECORD_STACKS_AUTO)
        r->settings.sampler.stacks = RECORD_STACKS_FP;
    r->settings.sources.on[EVENT_SOURCE_bpf] |= can_be_counted(r);
    bool one = is_one_interpreter(s->interpreters);
    r->settings.sources.on[EVENT_SOURCE_interpreters] =
        s->interpreters == INTERPRETERS_AUTO || one;
    r->settings.sources.interpreter = one ? interpreter_choices[s->interpreters] : NULL;
    r->settings.request_java =
        s->interpreters == INTERPRETERS_AUTO || s->interpreters == INTERPRETERS_JAVA;
}

static void choose_reports(struct recording *r)
{
    r->drawing.report = r->s->quiet ? &engine_silent : &message_report;
    r->drawing.context = r;
    r->drawing.loaded = note_loaded;
    r->drawing.failed = note_failed;
}

/* `-o -`: before anything is printed, and before the command starts. */
static bool take_stream(struct recording *r, struct error *err)
{
    if (strcmp(r->s->output, "-") != 0)
        return true;
    int stream = os_data_stream_take(err);
    r->settings.files.stream = stream > 0 ? stream : 0;
    return stream > 0;
}

/* False with err and *status set, or *status is the command's. */
static bool record_with(struct recording *r, int word_count, char **words, int *status,
                        struct error *err)
{
    const struct record_command_settings *s = r->s;
    struct record_report report;
    *status = STATUS_USAGE;
    if (!record_drawing_choose(&r->drawing, s->output, s->bundle, err))
        return false;
    choose_reports(r);
    choose_settings(r);
    if (!record_check(s, &r->drawing, word_count, err) || !take_stream(r, err) ||
        !choose_rate(r, err) || !find_targets(r, words, err))
        return false;
    *status = STATUS_FAILED;
    r->session = record_session_create(&r->settings, err);
    if (!r->session || !choose_events(r, err) || !record(r, err))
        return false;
    record_session_report(r->session, &report);
    *status = report.command_status;
    return true;
}

/* Short programs need more samples; a machine is recorded for longer. */
static int64_t usual_rate(const struct record_command_settings *s, bool command)
{
    const struct sampling_targets *t = &s->targets;
    bool only_command = command && !sampling_names_some(t) && !t->everyone &&
                        !t->cgroup && !t->cpus.count;
    return only_command ? SAMPLING_RATE_AUTO : 0;
}

static int record_run(void *settings, int word_count, char **words)
{
    struct record_command_settings *s = settings;
    struct error err = {.message = ""};
    if (s->sampling.events.listed)
        return sampling_list_events();
    struct recording *r = calloc(1, sizeof *r);
    if (!r)
        return STATUS_FAILED;
    os_wait_block_signals();
    words[word_count] = NULL;
    if (!s->output)
        s->output = s->bundle || s->heap ? "perf.stoke" : "perf.data";
    r->s = s;
    if (sampling_choose_rate(&s->sampling, usual_rate(s, word_count)))
        r->chosen_rate = (uint32_t)s->sampling.rate;
    int status;
    if (!record_with(r, word_count, words, &status, &err))
        message_error(&err);
    if (r->heap.control)
        record_heap_close(&r->heap);
    record_session_destroy(r->session);
    os_cgroup_close(r->settings.sampler.targets.cgroup);
    record_threads_free(&r->threads);
    free(r);
    return status;
}

static const struct record_command_settings record_defaults = {
    .sampling = {.stacks = {RECORD_STACKS_AUTO, 0}},
};

const struct command command_record = {
    .name = "record",
    .summary = "record stacks of what runs on this machine",
    .usage = "[OPTION...] [--] COMMAND...",
    .examples = "  stoke record ./program\n"
                "  stoke record -a --duration 10 -o out.svg\n"
                "  stoke record -F 999 -p 412 --duration 5\n",
    .groups = record_groups,
    .settings_size = sizeof(struct record_command_settings),
    .defaults = &record_defaults,
    .runs_command = true,
    .small_pages = true,
    .run = record_run,
};
