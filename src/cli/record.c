/* stoke record: samples what runs, and writes a perf.data or draws it at once. */
#include "base/format.h"
#include "base/number.h"
#include "cli/command.h"
#include "cli/message.h"
#include "cli/record_draw.h"
#include "cli/record_told.h"
#include "cli/record_words.h"
#include "cli/symbols.h"
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

#define RATE_DEFAULT 99
#define NUMBERS_MAX 1024
#define NS 1e9

/* A list of processes or threads. */
struct number_list {
    uint32_t items[NUMBERS_MAX];
    size_t count;
};

struct cpu_numbers {
    uint32_t items[OS_CPUS_MAX];
    size_t count;
};

struct stacks_wanted {
    enum record_stacks how;
    uint32_t dump_size;
};

struct record_command_settings {
    int64_t rate, period;
    struct number_list pids, tids;
    struct cpu_numbers cpus;
    struct stacks_wanted stacks;
    struct record_events events;
    double duration;
    uint64_t ring_size, max_size, rotate;
    int64_t keep, pack_level, delay;
    const char *output, *cgroup, *user;
    bool everyone, unpacked, keep_dumps, snapshot, bundle, counted, quiet, off_cpu,
        wakers, strict, lists, alone, all_user, all_kernel;
};

#define OFF(field) offsetof(struct record_command_settings, field)

static bool parse_numbers(const char *text, void *value, struct error *err)
{
    struct number_list *list = value;
    for (struct str rest = str_of(text); rest.len;) {
        uint64_t v;
        struct str one = str_cut(&rest, ',');
        if (!number_parse_u64(one, &v) || v == 0 || v >= UINT32_MAX) {
            error_set(err, "'%s' is no list of numbers", text);
            return error_hint(err, "as ps shows them: 412,17");
        }
        if (list->count == NUMBERS_MAX)
            return error_set(err, "more than %d of them", NUMBERS_MAX);
        list->items[list->count++] = (uint32_t)v;
    }
    return list->count || error_set(err, "'' is no list of numbers");
}

static bool parse_cpus(const char *text, void *value, struct error *err)
{
    struct cpu_numbers *list = value;
    return record_cpus_add(str_of(text), list->items, &list->count, err);
}

/* In the order of enum record_stacks. */
const char *const record_stack_names[] = {"none", "fp", "dwarf", "lbr", "auto", NULL};

/* By default, as much as can be taken without anybody noticing: so many bytes a second.
 */
#define DUMP_BYTES_A_SECOND 40000000
#define DUMP_DEFAULT_LEAST 8192
#define DUMP_DEFAULT_MOST 32768

static bool parse_dump_size(struct str text, uint32_t *size, struct error *err)
{
    uint64_t v;
    if (text.len == 0)
        return true;
    if (number_parse_u64(text, &v) && v >= 8 && v <= RECORD_DUMP_MOST) {
        *size = (uint32_t)(v + 7) & ~7u;
        return true;
    }
    error_set(err, "a dump of a stack cannot have '%.*s' bytes", STR_ARG(text));
    return error_hint(err, "dwarf,8192; at most %d", RECORD_DUMP_MOST);
}

static bool parse_stacks(const char *text, void *value, struct error *err)
{
    struct stacks_wanted *wanted = value;
    struct str size = str_of(text), how = str_cut(&size, ',');
    wanted->dump_size = 0;
    for (int i = 0; record_stack_names[i]; i++) {
        if (!str_equal(str_of(record_stack_names[i]), how))
            continue;
        wanted->how = (enum record_stacks)i;
        if (size.len == 0 || record_stacks_dumped(wanted->how))
            return parse_dump_size(size, &wanted->dump_size, err);
    }
    error_set(err, "stacks cannot be taken by '%s'", text);
    return error_hint(err, "auto; fp: frame pointers; dwarf[,BYTES]: what programs tell "
                           "of themselves; lbr: the processor; none");
}

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

/* "list" and "help" are answered once the options are read. */
static bool parse_events(const char *text, void *value, struct error *err)
{
    struct record_events *events = value;
    if (strcmp(text, "list") != 0 && strcmp(text, "help") != 0)
        return record_events_parse(text, events, err);
    events->listed = true;
    return true;
}

static bool parse_filter(const char *text, void *value, struct error *err)
{
    struct record_events *events = value;
    struct record_event *e = events->count ? &events->items[events->count - 1] : NULL;
    if (e && e->tracepoint[0]) {
        e->filter = text;
        return true;
    }
    error_set(err, "'%s' has no tracepoint before it to filter", text);
    return error_hint(err, "-e sched:sched_switch --filter 'prev_prio < 100'");
}

static const struct option record_options[] = {
    {"freq", 'F', "HZ",
     "samples a second (default: 99); max: as many as the kernel gives", OPTION_PARSED,
     OFF(rate), .parse = record_parse_rate},
    {"strict-freq", 0, NULL, "fail where the kernel gives fewer than that", OPTION_FLAG,
     OFF(strict)},
    {"count", 'c', "N", "a sample every N events, in place of --freq", OPTION_INT,
     OFF(period), .least = 1, .most = 1e15},
    {"event", 'e', "LIST", "sample by these events (default: cycles, else cpu-clock)",
     OPTION_PARSED, OFF(events), .parse = parse_events},
    {"filter", 0, "TEXT", "of the tracepoint before it, only those of which that is true",
     OPTION_PARSED, OFF(events), .parse = parse_filter},
    {"list-events", 0, NULL, "list what -e may name, and what of it is not here",
     OPTION_FLAG, OFF(lists)},
    {"call-graph", 'g', "HOW",
     "how stacks are taken: auto (the default), fp, dwarf[,BYTES], lbr, none",
     OPTION_PARSED, OFF(stacks), record_stack_names, .parse = parse_stacks,
     .fallback = "fp", .before_command = true},
    {"all-user", 0, NULL, "user code alone, as :u behind each event", OPTION_FLAG,
     OFF(all_user)},
    {"all-kernel", 0, NULL, "the kernel's code alone, as :k behind each event",
     OPTION_FLAG, OFF(all_kernel)},
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
    {"ring,mmap-pages", 'm', "SIZE",
     "of a CPU's ring, which holds what was not read yet (default: by the rate)",
     OPTION_PARSED, OFF(ring_size), .parse = record_parse_ring},
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

static const struct option target_options[] = {
    {"all-cpus", 'a', NULL, "all that runs on this machine", OPTION_FLAG, OFF(everyone)},
    {"pid", 'p', "LIST", "these processes, and what they start", OPTION_PARSED, OFF(pids),
     .parse = parse_numbers},
    {"tid", 't', "LIST", "these threads", OPTION_PARSED, OFF(tids),
     .parse = parse_numbers},
    {"cpu", 'C', "LIST", "all that runs on these CPUs: 0-3,7", OPTION_PARSED, OFF(cpus),
     .parse = parse_cpus},
    {"uid", 'u', "USER", "all that is this user's, by name or number", OPTION_STRING,
     OFF(user)},
    {"cgroup", 0, "PATH",
     "all that runs in this control group: system.slice/cron.service", OPTION_STRING,
     OFF(cgroup)},
    {"no-inherit", 'i', NULL, "not what they begin: their threads and children",
     OPTION_FLAG, OFF(alone)},
    {0}};

static const struct option_group record_groups[] = {
    {"options", record_options, 0}, {"who is recorded", target_options, 0}, {0}};

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
    int cgroup; /* open; 0: none */
    char room[16384], cache[4096];
    const char *words[256]; /* of this program's command line; in `room` */
};

static bool no_target(struct error *err)
{
    error_set(err, "nobody is named to be recorded");
    return error_hint(
        err, "stoke record COMMAND..., or -a (all), or -p PID with --duration S");
}

static bool two_targets(struct error *err)
{
    error_set(err,
              "all (-a, -C, --cgroup) and some of them (-p, -t, -u) cannot be recorded "
              "together");
    return error_hint(err, "record all, and show some: stoke flamegraph --only-pid N");
}

/* The pipe form of perf.data is not written. */
static bool check_output(const struct recording *r, struct error *err)
{
    if (strcmp(r->s->output, "-") != 0)
        return true;
    error_set(err, "a recording is not written to standard output");
    return error_hint(err, "-o FILE, and then stoke script FILE");
}

/* What files are made and kept. */
static bool check_files(const struct recording *r, struct error *err)
{
    const struct record_command_settings *s = r->s;
    if (r->drawing.exporter && (s->max_size || s->rotate || s->snapshot)) {
        error_set(err, "what is drawn at once goes to one file, and all of it");
        return error_hint(err, "-o FILE.data, and then stoke flamegraph FILE.data");
    }
    if (s->keep && (!s->rotate || s->snapshot)) {
        error_set(err, "--keep is for files that rotate");
        return error_hint(err, "--rotate 10m --keep %lld", (long long)s->keep);
    }
    return true;
}

/* A wait's stack is kept until the wait is over: dumps are too large for that. */
static bool check_off_cpu(const struct recording *r, struct error *err)
{
    const struct record_command_settings *s = r->s;
    if (r->settings.off_cpu && s->keep_dumps) {
        error_set(err, "--keep-stacks keeps no dumps of waits (--off-cpu)");
        return error_hint(err, "without --keep-stacks: the chains are made of them");
    }
    if (s->wakers && s->stacks.how == RECORD_STACKS_LBR) {
        error_set(err, "wakers (--wakers) are not recorded with -g lbr");
        return error_hint(err, "-g fp or -g dwarf");
    }
    return true;
}

static bool find_targets(struct recording *r, char **command, struct error *err)
{
    const struct record_command_settings *s = r->s;
    struct record_targets *t = &r->settings.sampler.targets;
    bool some = s->pids.count || s->tids.count || s->user;
    t->everyone = s->everyone || s->cgroup || (s->cpus.count && !some && !command[0]);
    if (t->everyone && some)
        return two_targets(err);
    if (!t->everyone && !some && !command[0])
        return no_target(err);
    if (s->cpus.count) {
        t->cpus = s->cpus.items;
        t->cpu_count = s->cpus.count;
    }
    if (s->cgroup && (r->cgroup = os_cgroup_open(s->cgroup, err)) < 0)
        return false;
    t->cgroup = r->cgroup;
    t->alone = s->alone;
    r->settings.command = command[0] ? command : NULL;
    if (!some)
        return true;
    if (command[0]) {
        error_set(err, "a command and processes that run (-p, -t) cannot be recorded "
                       "together");
        return error_hint(err, "--duration S ends the recording of processes");
    }
    r->settings.pids = s->pids.items;
    r->settings.pid_count = s->pids.count;
    if (s->user && !record_threads_of_user(&r->threads, s->user, err))
        return false;
    if (!record_threads_find(&r->threads, s->pids.items, s->pids.count, s->tids.items,
                             s->tids.count, err))
        return false;
    t->tids = r->threads.items;
    t->tid_count = r->threads.count;
    return true;
}

/* What is counted in the kernel has the stacks that the kernel can follow. */
static enum record_stacks stacks_of(const struct record_command_settings *s)
{
    return s->counted && s->stacks.how == RECORD_STACKS_AUTO ? RECORD_STACKS_FP
                                                             : s->stacks.how;
}

/* Of what is drawn by stacks alone, with no times, the kernel need not tell each sample:
 * where the whole machine is recorded, that costs the least. */
static bool counts_by_itself(const struct recording *r)
{
    const struct record_command_settings *s = r->s;
    return r->drawing.exporter && !r->drawing.exporter->wants_time &&
           s->stacks.how == RECORD_STACKS_FP && (s->everyone || s->cpus.count) &&
           !s->off_cpu && !s->wakers;
}

static uint32_t rate_of(const struct record_command_settings *s)
{
    return s->rate ? (uint32_t)s->rate : RATE_DEFAULT;
}

static uint32_t choose_dump_size(const struct record_command_settings *s)
{
    int64_t size = DUMP_BYTES_A_SECOND / rate_of(s);
    if (s->stacks.dump_size)
        return s->stacks.dump_size;
    if (size > DUMP_DEFAULT_MOST)
        return DUMP_DEFAULT_MOST;
    return size < DUMP_DEFAULT_LEAST ? DUMP_DEFAULT_LEAST : (uint32_t)size & ~7u;
}

static void by_default(struct recording *r, struct record_events *events)
{
    events->items[events->count++] = record_event_cycles();
    if (perf_sampler_has(&events->items[0]))
        return;
    events->items[0] = record_event_clock();
    if (!r->s->quiet)
        message_note("this machine has no counter of cycles: sampling by the "
                     "kernel's clock (cpu-clock)");
}

/* What is sampled by: as asked, or what this machine has. */
static bool choose_events(struct recording *r, struct error *err)
{
    struct record_events *events = &r->settings.sampler.events;
    size_t hidden = 0;
    if (r->s->all_user && r->s->all_kernel) {
        error_set(err,
                  "--all-user and --all-kernel together leave nothing to be sampled");
        return error_hint(err, "neither of them: both are sampled");
    }
    *events = r->s->events;
    record_events_pace(events, (uint32_t)r->s->rate, (uint64_t)r->s->period);
    if (events->count == 0)
        by_default(r, events);
    for (size_t i = 0; i < events->count; i++) {
        struct record_event *e = &events->items[i];
        if (r->s->all_user)
            record_event_only_user(e);
        if (r->s->all_kernel)
            record_event_only_kernel(e);
        if (e->tracepoint[0] || perf_sampler_sees_kernel(e))
            continue;
        if (e->asks_kernel)
            return record_refusal(&r->settings.sampler, i, EACCES, err);
        record_event_only_user(e);
        hidden++;
    }
    if (hidden && !r->s->quiet)
        message_note(
            "the kernel's own code is not sampled: that takes root, CAP_PERFMON, "
            "or kernel.perf_event_paranoid at 1 or less");
    return true;
}

/* How often: as perf record has it, what is more than the kernel gives is made less. */
static bool choose_rate(struct recording *r, struct error *err)
{
    uint32_t most = record_rate_most(), *rate = &r->settings.sampler.rate;
    if (r->s->rate && r->s->period) {
        error_set(err, "samples are taken by time (-F) or by a count of events (-c), not "
                       "by both");
        return error_hint(err, "-F alone, or -c alone");
    }
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

static int list_events(void)
{
    struct output out = OUTPUT_KEEP;
    record_events_list(&out);
    struct str text = output_kept(&out);
    bool ok = !out.failed && fwrite(text.ptr, 1, text.len, stdout) == text.len &&
              fflush(stdout) == 0;
    output_deinit(&out);
    return ok ? STATUS_OK : STATUS_FAILED;
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
                    .dump_size = choose_dump_size(s),
                    .ring_size = (size_t)s->ring_size,
                    .rate = s->period ? 0 : rate_of(s),
                    .period = (uint64_t)s->period},
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
    if (s->lists || s->events.listed) {
        free(r);
        return list_events();
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
        if (check_output(r, &err) && check_files(r, &err) && check_off_cpu(r, &err) &&
            choose_rate(r, &err) && find_targets(r, words, &err))
            status =
                choose_events(r, &err) && record(r, &err) ? STATUS_OK : STATUS_FAILED;
    }
    if (status != STATUS_OK)
        message_error(&err);
    else
        status = r->session.command_status;
    os_cgroup_close(r->cgroup);
    record_threads_free(&r->threads);
    free(r);
    return status;
}

static const struct record_command_settings record_defaults = {
    .stacks = {RECORD_STACKS_AUTO, 0},
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
