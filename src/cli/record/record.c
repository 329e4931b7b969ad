/* SPDX-License-Identifier: Apache-2.0 */
/* stoke record: samples what runs, and writes a perf.data or draws it at once. */
#include "base/format.h"
#include "base/number.h"
#include "cli/command.h"
#include "cli/message.h"
#include "cli/record/check.h"
#include "cli/record/summary.h"
#include "engine/symbols.h"
#include "os/cgroup.h"
#include "os/file.h"
#include "os/machine.h"
#include "os/task.h"
#include "record/refusal.h"
#include "record/session.h"
#include "record/targets.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#define NS 1e9

#define OFF(field) offsetof(struct record_command_settings, field)

/* A number and its unit: letters of `units`, each with its factor. */
static bool parse_quantity(const char *text, const char *units, const uint64_t *factors,
                           uint64_t most, uint64_t *value)
{
    struct str number = str_of(text);
    const char *unit = number.len > 1 ? strchr(units, number.ptr[number.len - 1]) : NULL;
    uint64_t v, factor = unit ? factors[unit - units] : 1;
    if (unit)
        number.len--;
    if (!number_parse_u64(number, &v) || v == 0 || v > most / factor)
        return false;
    *value = v * factor;
    return true;
}

/* "64M" */
static bool parse_size(const char *text, void *value, struct error *err)
{
    static const uint64_t factors[] = {1 << 10, 1 << 20, 1 << 30};
    if (parse_quantity(text, "KMG", factors, (uint64_t)1 << 50, value))
        return true;
    error_set(err, "'%s' is no size", text);
    return error_hint(err, "in bytes, or 512K, 64M, 2G");
}

#define SPAN_MOST ((uint64_t)366 * 86400)

/* "10m", to ns */
static bool parse_span(const char *text, void *value, struct error *err)
{
    static const uint64_t factors[] = {1, 60, 3600};
    uint64_t seconds;
    if (!parse_quantity(text, "smh", factors, SPAN_MOST, &seconds)) {
        error_set(err, "'%s' is no time", text);
        return error_hint(err, "in seconds, or 90s, 10m, 2h");
    }
    *(uint64_t *)value = seconds * (uint64_t)NS;
    return true;
}

#define PACK_LEVEL_LEAST 1
#define PACK_LEVEL_MOST 19 /* beyond it, zstd takes hundreds of MB for nothing */

static bool parse_pack_level(const char *text, void *value, struct error *err)
{
    uint64_t v;
    if (number_parse_u64(str_of(text), &v) && v >= PACK_LEVEL_LEAST &&
        v <= PACK_LEVEL_MOST) {
        *(int64_t *)value = (int64_t)v;
        return true;
    }
    error_set(err, "'%s' is no level of packing", text);
    return error_hint(err, "%d, quick, to %d, small", PACK_LEVEL_LEAST, PACK_LEVEL_MOST);
}

static const struct option record_options[] = {
    {"strict-freq", 0, NULL, "fail where the kernel gives fewer than that", OPTION_FLAG,
     OFF(strict)},
    {"off-cpu", 0, NULL, "where threads waited, and for how long, too", OPTION_FLAG,
     OFF(off_cpu)},
    {"wakers", 0, NULL, "the same, and who woke them up", OPTION_FLAG, OFF(wakers)},
    {"duration", 0, "S", "end after so many seconds", OPTION_NUMBER, OFF(duration),
     .least = 0.001, .most = 1e9},
    {"delay", 'D', "MS", "begin so many milliseconds later", OPTION_INT, OFF(delay),
     .least = 1, .most = 1e9},
    {"output", 'o', "FILE",
     "write there (default: perf.data); .svg, .folded, ...: draw it at once",
     OPTION_STRING, OFF(output)},
    {"max-size", 0, "SIZE",
     "end when the file has so much (64M); of --rotate and --snapshot, keep so much",
     OPTION_PARSED, OFF(max_size), .parse = parse_size},
    {"rotate", 0, "TIME",
     "begin a new file each time so much is over (10m): FILE.1, FILE.2, ...",
     OPTION_PARSED, OFF(rotate), .parse = parse_span},
    {"keep", 0, "N", "with --rotate: keep the last N files (default: 10)", OPTION_INT,
     OFF(keep), .least = 1, .most = 1000000},
    {"snapshot", 0, NULL,
     "keep what happens in memory; SIGUSR2 writes what led up to it to FILE.1, FILE.2, "
     "...",
     OPTION_FLAG, OFF(snapshot)},
    {"bundle", 0, NULL,
     "write a .stoke with all names in it, to be opened anywhere (default: perf.stoke)",
     OPTION_FLAG, OFF(bundle)},
    {"bpf", 0, NULL, "count stacks in the kernel (eBPF), by frame pointers", OPTION_FLAG,
     OFF(counted)},
    {"keep-stacks", 0, NULL, "dwarf: keep the dumps of stacks, to be unwound later",
     OPTION_FLAG, OFF(keep_dumps)},
    {"compress,compression-level", 'z', "LEVEL",
     "pack the records more than they are without it: 1, quick, to 19, small",
     OPTION_PARSED, OFF(pack_level), .parse = parse_pack_level, .fallback = "1",
     .before_command = true},
    {"no-compress", 0, NULL, "do not pack the records", OPTION_FLAG, OFF(unpacked)},
    {"quiet", 'q', NULL, "no progress and no summary", OPTION_FLAG, OFF(quiet)},
    /* what every recording has, or none */
    {"timestamp", 'T', NULL, NULL, OPTION_IGNORED, 0},
    {"period", 'P', NULL, NULL, OPTION_IGNORED, 0},
    {"raw-samples", 'R', NULL, NULL, OPTION_IGNORED, 0},
    {"sample-cpu", 0, NULL, NULL, OPTION_IGNORED, 0},
    {"no-buildid-cache", 'N', NULL, NULL, OPTION_IGNORED, 0},
    {0}};

static const struct option_group record_groups[] = {
    {"who is recorded", sampling_target_options, OFF(targets), NULL},
    {"how they are sampled (default: -F 99)", sampling_options, OFF(sampling), NULL},
    {"the recording", record_options, 0, NULL},
    {0}};

/* What is kept in memory by default. */
#define SNAPSHOT_SIZE ((uint64_t)16 << 20)

/* --- From options to settings ------------------------------------------------------ */

/* A recording as the command line has it. */
struct recording {
    const struct record_command_settings *s;
    struct record_settings settings;
    struct record_session session;
    struct record_threads threads;
    struct record_drawing drawing;
    char room[16384], cache[4096];
    const char *words[256]; /* of this program's command line; in `room` */
};

/* What is counted in the kernel has the stacks that the kernel can follow. */
static enum record_stacks stacks_of(const struct record_command_settings *s)
{
    return s->counted && s->sampling.stacks.how == RECORD_STACKS_AUTO
               ? RECORD_STACKS_FP
               : s->sampling.stacks.how;
}

/* Of what is drawn by stacks alone, with no times, the kernel need not tell each sample:
 * where the whole machine is recorded, that costs the least. */
static bool counts_by_itself(const struct recording *r)
{
    const struct record_command_settings *s = r->s;
    return r->drawing.exporter && !r->drawing.exporter->wants_time &&
           s->sampling.stacks.how == RECORD_STACKS_FP &&
           (s->targets.everyone || s->targets.cpus.count) && !s->off_cpu && !s->wakers;
}

static uint32_t rate_of(const struct record_command_settings *s)
{
    return s->sampling.rate ? (uint32_t)s->sampling.rate : SAMPLING_RATE_DEFAULT;
}

/* What is sampled by, and what is missed of what users expect. */
static bool choose_events(struct recording *r, struct error *err)
{
    struct sampling_events_found found;
    if (!sampling_events(&r->s->sampling, &r->settings.sampler, &found, err))
        return false;
    if (found.clock && !r->s->quiet)
        message_note("this machine has no counter of cycles: sampling by the "
                     "kernel's clock (cpu-clock)");
    if (found.hidden && !r->s->quiet)
        message_note(
            "the kernel's own code is not sampled: that takes root, CAP_PERFMON, "
            "or kernel.perf_event_paranoid at 1 or less");
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

/* How often: as perf record has it, what is more than the kernel gives is made less. */
static bool choose_rate(struct recording *r, struct error *err)
{
    uint32_t most = record_rate_most(), *rate = &r->settings.sampler.rate;
    if (*rate <= most)
        return true;
    if (r->s->strict)
        return record_refusal(&r->settings.sampler, 0, EINVAL, err);
    if (!r->s->quiet)
        message_note("%u samples a second, not %u: kernel.perf_event_max_sample_rate",
                     most, *rate);
    *rate = most;
    return true;
}

/* --- Running ----------------------------------------------------------------------- */

static void show_progress(void *context, const struct record_session *session)
{
    const struct recording *r = context;
    if (!r->s->quiet)
        record_tell_progress(session);
}

/* The command still runs. */
static void tell_waits(void *context, const struct record_session *s,
                       const struct error *why)
{
    const struct recording *r = context;
    message_progress_end();
    if (r->s->quiet)
        return;
    if (why)
        message_note("the recording is cut short: %s; '%s' goes on without it",
                     why->message, s->settings->command[0]);
    else
        message_note("waiting for '%s' (process %lld), which was asked to end; Ctrl-C "
                     "kills it",
                     s->settings->command[0], (long long)s->child.pid);
}

static void tell_written(void *context, const struct record_session *s,
                         const struct error *why_not)
{
    const struct recording *r = context;
    message_progress_end();
    if (why_not)
        message_error(why_not);
    else if (!r->s->quiet)
        message_note("what led up to now is in %s", s->files.path);
}

/* The words of this program's command line, as the system has them: a recording tells how
 * it was made. Fills `words`; their text is in `room`. */
static size_t own_words(char *room, size_t size, const char **words, size_t most)
{
    size_t count = 0;
    struct str text = os_read_text("/proc/self/cmdline", room, size - 1);
    room[text.len] = 0;
    for (size_t at = 0; at < text.len && count < most; at += strlen(room + at) + 1)
        words[count++] = room + at;
    return count;
}

/* What was asked for and cannot be had, but can be done without. */
static void tell_fallbacks(const struct recording *r)
{
    const struct record_session *s = &r->session;
    if (r->s->counted && !s->sampler_settings.program && !r->s->quiet)
        message_note("stacks are not counted in the kernel, but sampled: %s%s%s%s",
                     s->why_not.message, s->why_not.hint[0] ? " (" : "", s->why_not.hint,
                     s->why_not.hint[0] ? ")" : "");
}

static bool open_session(struct recording *r, struct error *err)
{
    if (!record_session_open(&r->session, &r->settings, err))
        return false;
    tell_fallbacks(r);
    if (r->s->snapshot && !r->s->quiet)
        message_note("kill -USR2 %lld writes what led up to that moment",
                     (long long)os_task_own());
    return true;
}

static bool record(struct recording *r, struct error *err)
{
    bool ran = (!r->drawing.exporter || os_output_check(r->drawing.output, err)) &&
               open_session(r, err) && record_session_run(&r->session, err);
    bool ok = ran;
    message_progress_end();
    if (ran) {
        ok = record_session_finish(&r->session, err);
        if (!r->s->quiet)
            record_tell_summary(&r->session, r->drawing.exporter);
    }
    if (ran && r->drawing.exporter)
        ok = record_drawing_make(&r->drawing, &r->session, ok, err);
    struct error at_end;
    if (!record_session_close(&r->session, &at_end) && ok) {
        *err = at_end;
        ok = false;
    }
    return ok;
}

static struct record_settings settings_of(struct recording *r)
{
    const struct record_command_settings *s = r->s;
    const char *path = r->drawing.exporter ? r->drawing.data : s->output;
    return (struct record_settings){
        .sampler = {.stacks = stacks_of(s),
                    .dump_size = sampling_dump_size(&s->sampling, rate_of(s)),
                    .ring_size = (size_t)s->sampling.ring_size,
                    .rate = s->sampling.period ? 0 : rate_of(s),
                    .period = (uint64_t)s->sampling.period},
        .duration = (uint64_t)(s->duration * NS),
        .delay = (uint64_t)s->delay * 1000000,
        .files = {.path = path[0] ? path : NULL,
                  .most = s->snapshot && !s->max_size ? SNAPSHOT_SIZE : s->max_size,
                  .rotate = s->rotate,
                  .kept = (uint32_t)s->keep,
                  .snapshot = s->snapshot},
        .unpacked = s->unpacked,
        .pack_level = (int)s->pack_level,
        .keep_dumps = s->keep_dumps,
        .counted = s->counted || counts_by_itself(r),
        .off_cpu = s->off_cpu || s->wakers,
        .wakers = s->wakers,
        .resolve = {.find = {.only_mapped = true},
                    .cache_dir = symbols_cache_dir(r->cache, sizeof r->cache)},
        .words = r->words,
        .word_count = own_words(r->room, sizeof r->room, r->words,
                                sizeof r->words / sizeof *r->words),
        .progress = show_progress,
        .progress_context = r,
        .written = tell_written,
        .drawn_later = r->drawing.exporter,
        .waits = tell_waits,
    };
}

static int record_run(void *settings, int word_count, char **words)
{
    struct record_command_settings *s = settings;
    struct error err = {.place = PLACE_NONE};
    struct recording *r = calloc(1, sizeof *r);
    int status = STATUS_USAGE;
    if (s->sampling.events.listed) {
        free(r);
        return sampling_list_events();
    }
    if (!r)
        return STATUS_FAILED;
    os_wait_hold_signals();
    words[word_count] = NULL;
    if (!s->output)
        s->output = s->bundle ? "perf.stoke" : "perf.data";
    r->s = s;
    if (record_drawing_choose(&r->drawing, s->output, s->bundle, &err)) {
        r->drawing.quiet = s->quiet;
        r->settings = settings_of(r);
        if (record_check(s, &r->drawing, word_count, &err) && choose_rate(r, &err) &&
            find_targets(r, words, &err))
            status =
                choose_events(r, &err) && record(r, &err) ? STATUS_OK : STATUS_FAILED;
    }
    if (status != STATUS_OK)
        message_error(&err);
    else
        status = r->session.command_status;
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
    .summary = "samples what runs on this machine",
    .usage = "[OPTION...] [--] COMMAND...",
    .examples = "  stoke record ./program\n"
                "  stoke record -a --duration 10 -o out.svg\n"
                "  stoke record -F 999 -p 412 --duration 5\n",
    .groups = record_groups,
    .settings_size = sizeof(struct record_command_settings),
    .defaults = &record_defaults,
    .runs_command = true,
    .run = record_run,
};
