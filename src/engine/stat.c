/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/stat.h"
#include "base/array.h"
#include "base/format.h"
#include "base/number.h"
#include "os/child.h"
#include "os/machine.h"
#include "os/proc.h"
#include "os/wait.h"
#include <math.h>
#include <stdlib.h>
#include <unistd.h>

#define MS ((uint64_t)1000000)
#define ALIVE_INTERVAL (100 * MS) /* how often the targets are checked */
#define TOPOLOGY "/sys/devices/system/cpu/cpu%u/topology/%s"
#define NODES_MAX 1024

/* One run. */
struct run {
    const struct engine_stat_settings *settings;
    struct stat_table *table;
    struct record_counters counters;
    struct record_events events; /* as counted; the table points here */
    bool missing[RECORD_EVENTS_MAX];
    uint32_t *row_of;           /* of each counter */
    struct os_perf_count *last; /* of each counter, at the end of the last interval */
    struct os_wait wait;
    struct os_child child;
    uint32_t child_tid;
    uint64_t began, ended, interval_began;
    uint64_t enable_at, end_at, report_at, check_at; /* 0: never */
    uint64_t reports;
};

/* --- Rows -------------------------------------------------------------------------- */

static uint32_t topology(uint32_t cpu, const char *file)
{
    char path[128], room[32];
    uint64_t value;
    format_text(path, sizeof path, TOPOLOGY, cpu, file);
    struct str text = str_trim(os_read_text(path, room, sizeof room));
    return number_parse_u64(text, &value) && value < UINT16_MAX ? (uint32_t)value : 0;
}

static uint32_t node_of(uint32_t cpu)
{
    char path[128], room[4096];
    uint32_t *cpus = malloc(OS_CPUS_MAX * sizeof *cpus), found = 0;
    for (uint32_t node = 0; cpus && node < NODES_MAX; node++) {
        format_text(path, sizeof path, "/sys/devices/system/node/node%u/cpulist", node);
        struct str text = os_read_text(path, room, sizeof room);
        size_t count = text.len ? os_cpu_list(str_trim(text), cpus) : 0;
        for (size_t i = 0; i < count; i++)
            if (cpus[i] == cpu)
                found = node;
        if (text.len == 0 && node)
            break;
    }
    free(cpus);
    return found;
}

static void name_thread(struct stat_row *row, uint32_t tid)
{
    char room[32];
    struct str name = os_thread_name(os_thread_process(tid), tid, room, sizeof room);
    row->id = tid;
    format_text(row->name, sizeof row->name, "%.*s-%u", STR_ARG(name), tid);
}

/* The row of a counter, without its number of targets. */
static struct stat_row describe_row(enum stat_rows rows, const struct record_counter *c)
{
    struct stat_row row = {.id = 0};
    uint32_t cpu = c->cpu, socket = 0, die = 0;
    if (rows >= STAT_BY_CORE && rows <= STAT_BY_SOCKET) {
        socket = topology(cpu, "physical_package_id");
        die = topology(cpu, "die_id");
    }
    switch (rows) {
    case STAT_BY_CPU:
        row.id = cpu;
        format_text(row.name, sizeof row.name, "CPU%u", cpu);
        break;
    case STAT_BY_CORE:
        row.id = (uint64_t)socket << 32 | die << 16 | topology(cpu, "core_id");
        format_text(row.name, sizeof row.name, "S%u-D%u-C%u", socket, die,
                    (unsigned)(row.id & UINT16_MAX));
        break;
    case STAT_BY_DIE:
        row.id = (uint64_t)socket << 32 | die << 16;
        format_text(row.name, sizeof row.name, "S%u-D%u", socket, die);
        break;
    case STAT_BY_SOCKET:
        row.id = socket;
        format_text(row.name, sizeof row.name, "S%u", socket);
        break;
    case STAT_BY_NODE:
        row.id = node_of(cpu);
        format_text(row.name, sizeof row.name, "N%u", (unsigned)row.id);
        break;
    case STAT_BY_THREAD:
        name_thread(&row, (uint32_t)c->tid);
        break;
    default:
        break;
    }
    return row;
}

/* Finds the row of that description, or adds it. False if out of memory. */
static bool put_row(struct stat_table *t, const struct stat_row *row, uint32_t *index)
{
    for (*index = 0; *index < t->row_count; ++*index)
        if (t->rows[*index].id == row->id)
            return true;
    if (!ARRAY_RESERVE_HEAP(t->rows, t->row_cap, t->row_count + 1))
        return false;
    t->rows[t->row_count++] = *row;
    return true;
}

/* Counters of one target follow each other, so each target is counted once. The total has a
 * row even if nothing could be counted. */
static bool make_rows(struct run *r, struct error *err)
{
    enum stat_rows rows = r->settings->rows;
    struct stat_table *t = r->table;
    const struct record_counters *c = &r->counters;
    struct stat_row total = {.id = 0};
    uint32_t index = 0;
    r->row_of = calloc(c->count + 1, sizeof *r->row_of);
    r->last = calloc(c->count + 1, sizeof *r->last);
    bool ok = r->row_of && r->last && (rows != STAT_TOTAL || put_row(t, &total, &index));
    for (size_t i = 0; ok && i < t->row_count; i++)
        t->rows[i].targets = 0;
    for (size_t i = 0; ok && i < c->count; i++) {
        const struct record_counter *k = &c->items[i], *before = i ? k - 1 : NULL;
        bool same = before && before->cpu == k->cpu && before->tid == k->tid;
        if (!same) {
            struct stat_row row = describe_row(rows, k);
            ok = put_row(t, &row, &index);
            if (ok)
                t->rows[index].targets++;
        }
        r->row_of[i] = index;
    }
    return ok || error_memory(err);
}

/* --- Sums -------------------------------------------------------------------------- */

static void add_count(struct stat_cell *cell, const struct record_event *e, bool unscaled,
                      const struct os_perf_count *now, const struct os_perf_count *last)
{
    double value = (double)(now->value - last->value);
    double enabled = (double)(now->enabled - last->enabled);
    double running = (double)(now->running - last->running);
    if (running > 0 && running < enabled && !unscaled)
        value *= enabled / running;
    cell->value += value * (e->scale > 0 ? e->scale : 1);
    cell->enabled += enabled;
    cell->running += running;
    cell->counted |= running > 0;
}

/* What was counted since the last call, or since the start of the run. */
static void sum_counts(struct run *r, struct stat_cell *cells, bool since_last)
{
    static const struct os_perf_count zero;
    size_t events = r->events.count;
    memset(cells, 0, r->table->row_count * events * sizeof *cells);
    for (size_t i = 0; i < r->counters.count; i++) {
        const struct record_counter *c = &r->counters.items[i];
        struct os_perf_count now = record_counters_read(c);
        add_count(&cells[r->row_of[i] * events + c->event], &r->events.items[c->event],
                  r->settings->unscaled, &now, since_last ? &r->last[i] : &zero);
        r->last[i] = now;
    }
}

/* Adds the value of the n-th run to a mean (Welford's method). */
static void add_run(double *mean, double *squares, double value, uint64_t n)
{
    double before = *mean;
    *mean += (value - before) / (double)n;
    *squares += (value - before) * (value - *mean);
}

/* The standard deviation of the mean of n values. */
static double deviation_of_mean(double squares, uint64_t n)
{
    return n < 2 ? 0 : sqrt(squares / (double)(n - 1) / (double)n);
}

static void add_cell(struct stat_cell *mean, const struct stat_cell *one, uint64_t n)
{
    double ignored = 0;
    add_run(&mean->value, &mean->squares, one->value, n);
    add_run(&mean->enabled, &ignored, one->enabled, n);
    add_run(&mean->running, &ignored, one->running, n);
    mean->deviation = deviation_of_mean(mean->squares, n);
    mean->counted |= one->counted;
}

/* Makes room for the rows that were added; new cells are zero. */
static bool reserve_cells(struct stat_table *t, size_t rows_before, size_t events)
{
    size_t before = rows_before * events, count = t->row_count * events;
    struct stat_cell *cells = realloc(t->cells, (count + 1) * sizeof *cells);
    if (!cells)
        return false;
    memset(cells + before, 0, (count - before) * sizeof *cells);
    t->cells = cells;
    return true;
}

/* Adds the result of a run to the means. */
static bool add_result(struct run *r, size_t rows_before, struct error *err)
{
    struct stat_table *t = r->table;
    size_t count = t->row_count * r->events.count;
    struct stat_cell *cells = calloc(count + 1, sizeof *cells);
    double ignored = 0, elapsed = (double)(r->ended - r->began);
    double *times = realloc(t->times, (t->runs + 1) * sizeof *times);
    if (times)
        t->times = times;
    if (!cells || !times || !reserve_cells(t, rows_before, r->events.count)) {
        free(cells);
        return error_memory(err);
    }
    sum_counts(r, cells, false);
    t->times[t->runs++] = elapsed;
    for (size_t i = 0; i < count; i++)
        add_cell(&t->cells[i], &cells[i], t->runs);
    add_run(&t->elapsed, &t->elapsed_squares, elapsed, t->runs);
    t->elapsed_deviation = deviation_of_mean(t->elapsed_squares, t->runs);
    add_run(&t->user_time, &ignored, (double)r->child.user_time, t->runs);
    add_run(&t->kernel_time, &ignored, (double)r->child.kernel_time, t->runs);
    t->time = r->ended - r->began;
    t->status = r->child.status;
    free(cells);
    return true;
}

/* --- Running ----------------------------------------------------------------------- */

static bool report_interval(struct run *r, uint64_t now)
{
    const struct engine_stat_settings *s = r->settings;
    struct stat_table t = *r->table;
    t.cells = calloc(t.row_count * r->events.count + 1, sizeof *t.cells);
    if (!t.cells)
        return false;
    sum_counts(r, t.cells, true);
    t.events = &r->events;
    t.missing = r->missing;
    t.runs = 1;
    t.time = now - r->began;
    t.elapsed = (double)(now - r->interval_began);
    r->interval_began = now;
    r->reports++;
    s->report(s->context, &t);
    free(t.cells);
    return true;
}

/* The command is the target, unless other targets are requested. */
static bool prepare(struct run *r, struct record_targets *targets, struct error *err)
{
    const struct engine_stat_settings *s = r->settings;
    struct os_user_ids user = os_invoking_user();
    *targets = s->targets;
    if (!s->command)
        return true;
    if (!os_child_prepare(&r->child, s->command, &user, err))
        return false;
    if (targets->everyone || targets->tid_count)
        return true;
    r->child_tid = (uint32_t)r->child.pid;
    targets->tids = &r->child_tid;
    targets->tid_count = 1;
    targets->from_exec = s->delay == 0;
    return true;
}

static bool open_counters(struct run *r, struct error *err)
{
    struct record_counters_settings set = {.events = r->settings->events};
    if (!prepare(r, &set.targets, err) || !record_counters_open(&r->counters, &set, err))
        return false;
    r->events = r->counters.settings.events;
    memcpy(r->missing, r->counters.missing, sizeof r->missing);
    r->table->hidden = r->counters.hidden;
    return make_rows(r, err);
}

/* Each target has ended. */
static bool targets_ended(const struct run *r)
{
    const struct record_targets *t = &r->settings->targets;
    for (size_t i = 0; i < t->tid_count; i++) {
        uint32_t pid = os_thread_process(t->tids[i]);
        if (pid && os_process_runs(pid))
            return false;
    }
    return t->tid_count > 0;
}

static uint64_t earliest(const struct run *r)
{
    const uint64_t times[] = {r->enable_at, r->end_at, r->report_at, r->check_at};
    uint64_t first = UINT64_MAX;
    for (size_t i = 0; i < sizeof times / sizeof *times; i++)
        if (times[i] && times[i] < first)
            first = times[i];
    return first;
}

/* Waits for what comes next. False at the end of the run. */
static bool turn(struct run *r)
{
    const struct engine_stat_settings *s = r->settings;
    uint64_t first = earliest(r);
    unsigned reasons =
        os_wait_for(&r->wait, first == UINT64_MAX ? -1 : os_wait_left(first));
    uint64_t now = os_clock_monotonic();
    r->table->stopped |= reasons & OS_WAIT_STOP;
    bool ends = r->table->stopped || (r->end_at && now >= r->end_at) ||
                (reasons & OS_WAIT_CHILD && os_child_ended(&r->child));
    if (r->enable_at && now >= r->enable_at) {
        record_counters_enable(&r->counters);
        r->enable_at = 0;
    }
    if (r->check_at && now >= r->check_at) {
        r->check_at = now + ALIVE_INTERVAL;
        ends |= targets_ended(r);
    }
    if (!ends && r->report_at && now >= r->report_at) {
        ends = !report_interval(r, now) || r->reports == s->interval_count;
        while (r->report_at <= now)
            r->report_at += s->interval;
    }
    return !ends;
}

static bool start(struct run *r, struct error *err)
{
    const struct engine_stat_settings *s = r->settings;
    if (s->sync)
        sync();
    if (s->delay == 0)
        record_counters_enable(&r->counters);
    r->began = r->interval_began = os_clock_monotonic();
    r->enable_at = s->delay ? r->began + s->delay : 0;
    r->end_at = s->duration ? r->began + s->duration : 0;
    r->report_at = s->interval ? r->began + s->interval : 0;
    r->check_at = s->command ? 0 : r->began + ALIVE_INTERVAL;
    return !s->command || os_child_start(&r->child, s->command[0], err);
}

/* Asks the command to end; a further signal kills it. */
static void end_command(struct run *r)
{
    if (!r->settings->command || !os_child_terminate(&r->child))
        return;
    while (!os_child_ended(&r->child))
        if (os_wait_for(&r->wait, -1) & OS_WAIT_STOP)
            os_child_kill(&r->child);
    r->child.status = 0; /* of the signal, which was not the command's doing */
}

/* What was counted after the last interval is reported, too. */
static void finish(struct run *r)
{
    end_command(r);
    r->ended = os_clock_monotonic();
    record_counters_disable(&r->counters);
    if (r->report_at && r->reports != r->settings->interval_count)
        report_interval(r, r->ended);
}

static bool run_once(const struct engine_stat_settings *settings, struct stat_table *t,
                     struct run *r, struct error *err)
{
    size_t rows_before = t->row_count;
    *r = (struct run){.settings = settings, .table = t};
    r->child.go = r->child.failed = -1;
    r->wait.epoll = r->wait.signals = -1;
    bool ok = os_wait_init(&r->wait, err) && open_counters(r, err) && start(r, err);
    while (ok && turn(r))
        continue;
    if (ok)
        finish(r);
    ok = ok && add_result(r, rows_before, err);
    if (r->child.pid && !r->child.ended) {
        os_child_kill(&r->child);
        os_child_wait(&r->child);
    }
    record_counters_close(&r->counters);
    os_wait_deinit(&r->wait);
    free(r->row_of);
    free(r->last);
    return ok;
}

/* Runs a shell command and waits for it. NULL: none. */
static bool run_shell(const char *text, struct error *err)
{
    char shell[] = "sh", option[] = "-c", *copy = text ? strdup(text) : NULL;
    char *argv[] = {shell, option, copy, NULL};
    struct os_user_ids user = os_invoking_user();
    struct os_child child = {.go = -1, .failed = -1};
    if (!text)
        return true;
    if (!copy)
        return error_memory(err);
    bool ok = os_child_prepare(&child, argv, &user, err) &&
              os_child_start(&child, argv[0], err);
    if (ok) {
        os_child_wait(&child);
        ok = child.status == 0 ||
             error_set(err, "'%s' failed with status %d", text, child.status);
    }
    free(copy);
    return ok;
}

bool engine_stat(const struct engine_stat_settings *settings, struct stat_table *result,
                 struct error *err)
{
    struct run *r = malloc(sizeof *r); /* too large for the stack */
    struct record_events *events = malloc(sizeof *events);
    bool *missing = calloc(RECORD_EVENTS_MAX, sizeof *missing);
    *result = (struct stat_table){.events = events, .missing = missing};
    bool ok = r && events && missing;
    if (!ok)
        error_memory(err);
    for (uint64_t i = 0; ok && i < settings->runs && !result->stopped; i++) {
        ok = run_shell(settings->before, err) && run_once(settings, result, r, err) &&
             run_shell(settings->after, err);
        if (!ok)
            break;
        *events = r->events;
        memcpy(missing, r->missing, sizeof r->missing);
    }
    free(r);
    return ok;
}

void engine_stat_free(struct stat_table *t)
{
    free(t->events);
    free(t->missing);
    free(t->rows);
    free(t->cells);
    free(t->times);
    *t = (struct stat_table){.runs = 0};
}
