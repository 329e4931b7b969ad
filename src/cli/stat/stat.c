/* SPDX-License-Identifier: Apache-2.0 */
/* stoke stat: counts events while a command runs, with the options and output of perf stat. */
#include "cli/command.h"
#include "cli/message.h"
#include "cli/options/sampling.h"
#include "cli/stat/parts.h"
#include "os/cgroup.h"
#include "os/wait.h"
#include <errno.h>
#include <stdlib.h>
#include <time.h>

#define MS ((uint64_t)1000000)
#define DAY_MS 86400000.0
#define EVENTS_USUAL                                                            \
    "context-switches,cpu-migrations,page-faults,cycles,instructions,branches," \
    "branch-misses"
#define LEVELS 3

/* What -d, -dd and -ddd add. */
static const char *const details[LEVELS] = {
    "L1-dcache-loads,L1-dcache-load-misses,LLC-loads,LLC-load-misses",
    ("L1-icache-loads,L1-icache-load-misses,dTLB-loads,dTLB-load-misses,iTLB-loads,"
     "iTLB-load-misses"),
    "L1-dcache-prefetches,L1-dcache-prefetch-misses",
};

struct stat_settings {
    struct sampling_targets targets;
    struct record_events events;
    int64_t runs, interval, interval_count, duration, delay, descriptor;
    const char *separator, *output, *before, *after;
    int level, rows;
    bool json, append, no_events, sync, unscaled, all_digits, each_run, all_user,
        all_kernel, quiet;
};

#define OFF(field) offsetof(struct stat_settings, field)

static const struct option stat_options[] = {
    {"event", 'e', "LIST", "events to count, as in stoke record", OPTION_PARSED,
     OFF(events), .parse = sampling_parse_events},
    {"filter", 0, "TEXT", "kernel filter for the preceding tracepoint", OPTION_PARSED,
     OFF(events), .parse = sampling_parse_filter},
    {"list-events", 0, NULL, "list the events for -e, including unavailable ones",
     OPTION_FLAG, OFF(events.listed)},
    {"detailed", 'd', NULL, "add cache events; -dd and -ddd add more", OPTION_COUNT,
     OFF(level)},
    {"all-user", 0, NULL, "only user code, like :u after each event", OPTION_FLAG,
     OFF(all_user)},
    {"all-kernel", 0, NULL, "only kernel code, like :k after each event", OPTION_FLAG,
     OFF(all_kernel)},
    {"null", 'n', NULL, "count no events, only measure time", OPTION_FLAG,
     OFF(no_events)},
    {"repeat", 'r', "N", "run the command N times; print means and their deviations",
     OPTION_INT, OFF(runs), .least = 1, .most = 1e6},
    {"table", 0, NULL, "print the time of each run", OPTION_FLAG, OFF(each_run)},
    {"pre", 0, "COMMAND", "shell command before each run", OPTION_STRING, OFF(before)},
    {"post", 0, "COMMAND", "shell command after each run", OPTION_STRING, OFF(after)},
    {"sync", 'S', NULL, "call sync before each run", OPTION_FLAG, OFF(sync)},
    {"interval-print,interval", 'I', "MS", "print counts at this interval", OPTION_INT,
     OFF(interval), .least = 1, .most = DAY_MS},
    {"interval-count", 0, "N", "stop after N intervals", OPTION_INT, OFF(interval_count),
     .least = 1, .most = 1e9},
    {"timeout", 0, "MS", "stop after this time", OPTION_INT, OFF(duration), .least = 10,
     .most = DAY_MS},
    {"delay", 'D', "MS", "start counting after this time", OPTION_INT, OFF(delay),
     .least = 0, .most = DAY_MS},
    {"no-aggr", 'A', NULL, "one row per CPU", OPTION_SET, OFF(rows),
     .value = STAT_BY_CPU},
    {"per-core", 0, NULL, "one row per core", OPTION_SET, OFF(rows),
     .value = STAT_BY_CORE},
    {"per-die", 0, NULL, "one row per die", OPTION_SET, OFF(rows), .value = STAT_BY_DIE},
    {"per-socket", 0, NULL, "one row per socket", OPTION_SET, OFF(rows),
     .value = STAT_BY_SOCKET},
    {"per-node", 0, NULL, "one row per NUMA node", OPTION_SET, OFF(rows),
     .value = STAT_BY_NODE},
    {"per-thread", 0, NULL, "one row per thread, with -p or -t", OPTION_SET, OFF(rows),
     .value = STAT_BY_THREAD},
    {"no-scale", 0, NULL,
     "do not scale counts of counters that ran only part of the time", OPTION_FLAG,
     OFF(unscaled)},
    {"field-separator", 'x', "TEXT", "print fields with this separator", OPTION_STRING,
     OFF(separator)},
    {"json,json-output", 'j', NULL, "print JSON, an object per line", OPTION_FLAG,
     OFF(json)},
    {"output", 'o', "FILE", "write to this file, not to standard error", OPTION_STRING,
     OFF(output)},
    {"append", 0, NULL, "append to the file", OPTION_FLAG, OFF(append)},
    {"log-fd", 0, "N", "write to this open file descriptor", OPTION_INT, OFF(descriptor),
     .least = 1, .most = 1e6},
    {"no-big-num", 0, NULL, "no thousands separators", OPTION_FLAG, OFF(all_digits)},
    {"quiet", 'q', NULL, "print nothing", OPTION_FLAG, OFF(quiet)},
    {"big-num", 'B', NULL, NULL, OPTION_CLEAR, OFF(all_digits)},
    {"scale", 'c', NULL, NULL, OPTION_CLEAR, OFF(unscaled)},
    {"verbose", 'v', NULL, NULL, OPTION_IGNORED, 0},
    {"no-merge", 0, NULL, NULL, OPTION_IGNORED, 0},
    {"no-csv-summary", 0, NULL, NULL, OPTION_IGNORED, 0},
    {"group", 'g', NULL, NULL, OPTION_REPLACED, .instead = "-e '{cycles,instructions}'"},
    {"metrics", 'M', "LIST", NULL, OPTION_REPLACED,
     .instead = "-e EVENT,...: stoke has no tables of the processors' metrics"},
    {"metric-only", 0, NULL, NULL, OPTION_REPLACED,
     .instead = "-j, and its metric-value"},
    {"topdown", 0, NULL, NULL, OPTION_REPLACED, .instead = "-e 'cpu/topdown-.../'"},
    {"transaction", 'T', NULL, NULL, OPTION_REPLACED, .instead = "-e cpu/tx-start/"},
    {"control", 0, "FD", NULL, OPTION_REPLACED, .instead = "-D MS, --timeout MS"},
    {"interval-clear", 0, NULL, NULL, OPTION_REPLACED, .instead = "stoke top, or -I MS"},
    {"for-each-cgroup", 0, "LIST", NULL, OPTION_REPLACED,
     .instead = "--cgroup PATH, for each of them"},
    {"summary", 0, NULL, NULL, OPTION_REPLACED, .instead = "a run without -I"},
    {0}};

static const struct option_group stat_groups[] = {
    {"options", stat_options, 0}, /* first: its --per-thread is another */
    {"targets", sampling_target_options, OFF(targets)},
    {0}};

/* --- Settings ---------------------------------------------------------------------- */

static bool check(const struct stat_settings *s, bool command,
                  const struct record_targets *t, struct error *err)
{
    if (s->runs > 1 && !command) {
        error_set(err, "--repeat needs a command");
        return error_hint(err, "stoke stat -r 10 ./program");
    }
    if (s->interval_count && !s->interval) {
        error_set(err, "--interval-count needs an interval");
        return error_hint(err, "stoke stat -I 1000 --interval-count 10 -a");
    }
    if (s->rows == STAT_BY_THREAD && t->tid_count == 0) {
        error_set(err, "--per-thread needs processes or threads");
        return error_hint(err, "stoke stat --per-thread -p PID");
    }
    if (s->rows >= STAT_BY_CPU && s->rows <= STAT_BY_NODE && !t->everyone) {
        error_set(err, "rows of CPUs need counters of CPUs");
        return error_hint(err, "-a, or -C LIST");
    }
    if (s->json && s->separator)
        return error_set(err, "--json and --field-separator exclude each other");
    if (s->all_user && s->all_kernel)
        return error_set(err, "--all-user and --all-kernel exclude each other");
    return true;
}

/* The events of perf stat: whole CPUs have a clock of their own. */
static bool add_usual(const struct stat_settings *s, bool of_cpus,
                      struct record_events *events, struct error *err)
{
    bool ok = record_events_parse(of_cpus ? "cpu-clock" : "task-clock", events, err) &&
              record_events_parse(EVENTS_USUAL, events, err);
    for (int i = 0; ok && i < s->level && i < LEVELS; i++)
        ok = record_events_parse(details[i], events, err);
    return ok;
}

static bool choose_events(const struct stat_settings *s, bool of_cpus,
                          struct record_events *events, struct error *err)
{
    *events = s->events;
    if (s->no_events)
        events->count = events->group_count = 0;
    else if (events->count == 0 && !add_usual(s, of_cpus, events, err))
        return false;
    for (size_t i = 0; i < events->count; i++) {
        if (s->all_user)
            record_event_only_user(&events->items[i]);
        if (s->all_kernel)
            record_event_only_kernel(&events->items[i]);
    }
    return true;
}

/* --- Output ------------------------------------------------------------------------ */

struct printing {
    const struct stat_settings *settings;
    struct stat_form form;
    FILE *to;
    bool failed, has_columns;
};

static bool is_text(const struct stat_form *form)
{
    return !form->json && !form->separator;
}

/* Passes text on to a terminal with control characters made visible. */
static void print(struct printing *p, struct output *out)
{
    p->failed |= out->failed || !message_put(output_contents(out), p->to);
    output_deinit(out);
}

static void print_interval(void *context, const struct stat_table *t)
{
    struct printing *p = context;
    struct output out = OUTPUT_BUFFER;
    if (p->settings->quiet)
        return;
    if (is_text(&p->form)) {
        if (!p->has_columns)
            stat_put_columns(&out);
        p->has_columns = true;
        stat_put_text(&out, t, &p->form);
    } else {
        stat_put_lines(&out, t, &p->form);
    }
    print(p, &out);
}

static void put_numbers(struct output *out, const char *what, const uint32_t *items,
                        size_t count)
{
    output_text(out, what);
    for (size_t i = 0; i < count; i++)
        output_format(out, "%s%u", i ? "," : "", items[i]);
    output_char(out, '\'');
}

/* What is counted, for the heading. */
static void put_what(struct output *out, const struct stat_settings *s, char **command)
{
    const struct sampling_targets *t = &s->targets;
    if (t->pids.count)
        put_numbers(out, "process id '", t->pids.items, t->pids.count);
    else if (t->tids.count)
        put_numbers(out, "thread id '", t->tids.items, t->tids.count);
    else if (t->user)
        output_format(out, "user '%s'", t->user);
    else if (t->cgroup)
        output_format(out, "cgroup '%s'", t->cgroup);
    else if (t->cpus.count)
        put_numbers(out, "'CPU(s) ", t->cpus.items, t->cpus.count);
    else if (t->everyone || !command[0])
        output_text(out, "'system wide'");
    else
        for (char **word = command; *word; word++)
            output_format(out, "%s%s%s", word == command ? "'" : " ", *word,
                          word[1] ? "" : "'");
    output_char(out, '\0');
}

static void print_result(struct printing *p, const struct stat_table *t, char **command,
                         bool of_command)
{
    struct output out = OUTPUT_BUFFER, what = OUTPUT_BUFFER;
    put_what(&what, p->settings, command);
    if (!is_text(&p->form)) {
        stat_put_lines(&out, t, &p->form);
    } else if (!what.failed) {
        stat_put_heading(&out, what.bytes, t->runs);
        stat_put_text(&out, t, &p->form);
        stat_put_times(&out, t, &p->form, of_command);
    }
    out.failed |= what.failed;
    output_deinit(&what);
    print(p, &out);
}

/* perf's first line of a file. */
static void print_date(FILE *to)
{
    char text[64];
    time_t now = time(NULL);
    struct tm local;
    if (localtime_r(&now, &local) &&
        strftime(text, sizeof text, "%a %b %e %H:%M:%S %Y", &local))
        fprintf(to, "# started on %s\n\n", text);
}

static bool open_output(struct printing *p, struct error *err)
{
    const struct stat_settings *s = p->settings;
    p->to = stderr;
    if (s->output && s->descriptor)
        return error_set(err, "--output and --log-fd exclude each other");
    if (s->output)
        p->to = fopen(s->output, s->append ? "ae" : "we");
    else if (s->descriptor)
        p->to = fdopen((int)s->descriptor, "w");
    if (!p->to && s->output)
        return error_set(err, "cannot write '%s': %s", s->output, strerror(errno));
    if (!p->to)
        return error_set(err, "cannot write to the descriptor %d: %s", (int)s->descriptor,
                         strerror(errno));
    if (s->output && is_text(&p->form))
        print_date(p->to);
    return true;
}

static bool close_output(struct printing *p, struct error *err)
{
    bool ok = !p->failed && !ferror(p->to) && fflush(p->to) == 0;
    if (p->to != stderr && fclose(p->to) != 0)
        ok = false;
    return ok || error_set(err, "cannot write the counts: %s", strerror(errno));
}

/* --- The command ------------------------------------------------------------------- */

static struct engine_stat_settings engine_settings(const struct stat_settings *s,
                                                   char **command, struct printing *p)
{
    return (struct engine_stat_settings){
        .command = command[0] ? command : NULL,
        .runs = s->runs ? (uint64_t)s->runs : 1,
        .interval = (uint64_t)s->interval * MS,
        .interval_count = (uint64_t)s->interval_count,
        .duration = (uint64_t)s->duration * MS,
        .delay = (uint64_t)s->delay * MS,
        .rows = (enum stat_rows)s->rows,
        .unscaled = s->unscaled,
        .sync = s->sync,
        .before = s->before,
        .after = s->after,
        .context = p,
        .report = print_interval,
    };
}

static bool count(struct stat_settings *s, struct printing *p, char **command,
                  int *status, struct error *err)
{
    struct record_threads threads = {0};
    struct stat_table result = {.runs = 0};
    struct engine_stat_settings set = engine_settings(s, command, p);
    bool found = sampling_find(&s->targets, command[0], &set.targets, &threads, err);
    set.targets.everyone |= s->targets.cpus.count && threads.count == 0;
    bool ok = found && check(s, command[0], &set.targets, err) &&
              choose_events(s, set.targets.everyone, &set.events, err);
    bool targets = set.targets.everyone || threads.count;
    *status = found && !ok ? STATUS_USAGE : STATUS_FAILED;
    ok = ok && open_output(p, err);
    if (ok) {
        *status = STATUS_FAILED;
        ok = engine_stat(&set, &result, err);
        if (ok && !s->interval && !s->quiet)
            print_result(p, &result, command, set.command && !targets);
        ok = close_output(p, ok ? err : &(struct error){.location = LOCATION_NONE}) && ok;
    }
    if (ok)
        *status = result.status;
    engine_stat_free(&result);
    record_threads_free(&threads);
    os_cgroup_close(set.targets.cgroup);
    return ok;
}

static int stat_run(void *settings, int word_count, char **words)
{
    struct stat_settings *s = settings;
    struct error err = {.location = LOCATION_NONE};
    struct printing p = {.settings = s,
                         .form = {.separator = s->separator,
                                  .json = s->json,
                                  .intervals = s->interval,
                                  .all_digits = s->all_digits,
                                  .each_run = s->each_run,
                                  .rows = (enum stat_rows)s->rows}};
    int status = STATUS_USAGE;
    if (s->events.listed)
        return sampling_list_events();
    words[word_count] = NULL;
    os_wait_block_signals();
    if (!count(s, &p, words, &status, &err))
        message_error(&err);
    return status;
}

const struct command command_stat = {
    .name = "stat",
    .summary = "count events while a command runs",
    .usage = "[OPTION...] [[--] COMMAND...]",
    .examples = "  stoke stat ./program\n"
                "  stoke stat -r 10 -e cycles,instructions ./program\n"
                "  stoke stat -a -I 1000\n",
    .groups = stat_groups,
    .settings_size = sizeof(struct stat_settings),
    .runs_command = true,
    .small_pages = true,
    .run = stat_run,
};
