/* SPDX-License-Identifier: Apache-2.0 */
/* stoke top: shows live samples on the terminal, as a table or as a flame view. */
#include "base/format.h"
#include "cli/command.h"
#include "cli/message.h"
#include "cli/options/sampling.h"
#include "cli/top/view.h"
#include "engine/symbols.h"
#include "os/cgroup.h"
#include "os/machine.h"
#include "os/proc.h"
#include "os/screen.h"
#include "os/terminal.h"
#include "record/refusal.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#define RATE_DEFAULT 499
#define DELAY_DEFAULT 2
/* samples per second; at higher rates, less of each stack is recorded */
#define DUMPED_WHOLE 2000
#define ROWS_PRINTED 20
#define COLUMNS_PRINTED 100

struct top_settings {
    struct sampling_targets targets;
    struct sampling_settings sampling;
    int64_t refreshes, rows;
    double delay;
    int by, sort;
    bool plain, flame, zero, no_kernel, no_user;
};

#define OFF(field) offsetof(struct top_settings, field)

static const struct option top_options[] = {
    {"delay", 'd', "S", "seconds between refreshes (default: 2)", OPTION_NUMBER,
     OFF(delay), .least = 0.1, .most = 3600},
    {"zero", 'z', NULL, "start each refresh at zero (default: old samples decay)",
     OPTION_FLAG, OFF(zero)},
    {"iterations", 'n', "N", "exit after N refreshes", OPTION_INT, OFF(refreshes),
     .least = 1, .most = 1e9},
    {0}};

static const struct option shown_options[] = {
    {"by", 0, "WHAT", "rows: function (default), process, thread, service or container",
     OPTION_CHOICE, OFF(by), live_groups},
    {"sort", 's', "COLUMN",
     "sort by self (default; with --by the CPU time), total, name or module; with --by "
     "also "
     "ready or waits",
     OPTION_CHOICE, OFF(sort), live_sorts},
    {"flame", 0, NULL, "begin with the flame view", OPTION_FLAG, OFF(flame)},
    {"hide-kernel", 'K', NULL, "hide kernel functions", OPTION_FLAG, OFF(no_kernel)},
    {"hide-user", 'U', NULL, "hide user functions", OPTION_FLAG, OFF(no_user)},
    {"plain", 0, NULL, "print one table per refresh, as without a terminal", OPTION_FLAG,
     OFF(plain)},
    {"entries", 'E', "N", "rows of a printed table (default: 20)", OPTION_INT, OFF(rows),
     .least = 1, .most = 1000000},
    {0}};

static const struct option_group top_groups[] = {
    {"options", top_options, 0, NULL},
    {"what is shown", shown_options, 0, NULL},
    {"targets (default: -a)", sampling_target_options, OFF(targets), NULL},
    {"", sampling_thread_options, OFF(targets), NULL},
    {"sampling (default: -F 499)", sampling_options, OFF(sampling), NULL},
    {0}};

struct top {
    const struct top_settings *s;
    struct engine_live live;
    struct top_view view;
    struct output out; /* of printed tables */
    char target[128], cache[4096];
    struct record_threads threads;
    struct live_task_targets tasks;
    int64_t refreshes;
    bool on_screen, ends, failed;
    struct error err;
};

/* --- Targets and sampling ---------------------------------------------------------- */

static bool check_sort(const struct top_settings *s, struct error *err)
{
    bool of_tasks = s->sort == LIVE_BY_READY || s->sort == LIVE_BY_WAITS;
    bool of_functions = s->sort == LIVE_BY_TOTAL || s->sort == LIVE_BY_MODULE;
    if (!(s->by == LIVE_FUNCTIONS ? of_tasks : of_functions))
        return true;
    error_set(err, "a %s has no %s to sort by", live_groups[s->by], live_sorts[s->sort]);
    return error_hint(err, s->by == LIVE_FUNCTIONS ? "--by process has ready and waits"
                                                   : "self, ready, waits or name");
}

static bool check_shown(const struct top_settings *s, struct error *err)
{
    if (!check_sort(s, err))
        return false;
    if (!s->no_kernel || !s->no_user)
        return true;
    error_set(err, "-K with -U leaves nothing to show");
    return error_hint(err, "-K leaves out the kernel's functions, -U all others");
}

static void name_target(struct top *t)
{
    const struct sampling_targets *s = &t->s->targets;
    char name[64];
    const uint32_t *tids = t->threads.items;
    if (s->user) {
        format_text(t->target, sizeof t->target, "processes of %s", s->user);
    } else if (tids) {
        uint32_t tid = s->pids.count ? s->pids.items[0] : s->tids.items[0];
        struct str comm = os_thread_name(tid, tid, name, sizeof name);
        bool more = s->pids.count + s->tids.count > 1;
        format_text(t->target, sizeof t->target, "%.*s %u%s", STR_ARG(comm), tid,
                    more ? " and others" : "");
    } else if (s->cpus.count == 1) {
        format_text(t->target, sizeof t->target, "CPU %u", s->cpus.items[0]);
    } else if (s->cgroup) {
        format_text(t->target, sizeof t->target, "control group %s", s->cgroup);
    } else {
        format_text(t->target, sizeof t->target, s->cpus.count ? "%zu CPUs" : "all CPUs",
                    s->cpus.count);
    }
}

static bool find_targets(struct top *t, struct error *err)
{
    const struct sampling_targets *targets = &t->s->targets;
    struct record_live_settings *record = &t->live.settings.record;
    if (!check_shown(t->s, err) ||
        !sampling_find(targets, false, &record->sampler.targets, &t->threads, err))
        return false;
    record->pids = targets->pids.items;
    record->pid_count = targets->pids.count;
    const struct record_targets *found = &record->sampler.targets;
    t->tasks = (struct live_task_targets){.everyone = found->everyone && !found->cgroup &&
                                                      !found->cpus,
                                          .pids = targets->pids.items,
                                          .pid_count = targets->pids.count,
                                          .tids = t->threads.items,
                                          .tid_count = t->threads.count};
    name_target(t);
    return true;
}

/* The sampling rate, at most the kernel's limit. */
static bool choose_rate(struct top *t, struct error *err)
{
    struct perf_sampler_settings *sampler = &t->live.settings.record.sampler;
    const struct sampling_settings *sampling = &t->s->sampling;
    uint32_t most = record_rate_most();
    if (!sampling_check(sampling, err))
        return false;
    sampler->period = (uint64_t)sampling->period;
    sampler->regular = sampling->regular;
    sampler->rate = sampler->period  ? 0
                    : sampling->rate ? (uint32_t)sampling->rate
                                     : RATE_DEFAULT;
    if (sampler->rate > most)
        sampler->rate = most;
    if (sampling->stacks.dump_size)
        sampler->dump_size = sampling->stacks.dump_size;
    else if (sampler->rate > DUMPED_WHOLE)
        sampler->dump_size /= 2;
    return true;
}

/* A single event, because a table has one unit. */
static bool choose_event(struct top *t, struct error *err)
{
    struct sampling_events_found found;
    if (t->s->sampling.events.count <= 1)
        return sampling_events(&t->s->sampling, &t->live.settings.record.sampler, &found,
                               err);
    error_set(err, "stoke top shows one event");
    return error_hint(err, "stoke record -e takes several");
}

/* --- Refreshes --------------------------------------------------------------------- */

static void note_facts(struct top *t, unsigned reasons)
{
    struct top_facts *f = &t->view.facts;
    const struct record_event *e = &t->live.settings.record.sampler.events.items[0];
    f->event = e->name;
    f->target = t->target;
    bool own = e->rate || e->period;
    f->rate = own ? e->rate : t->live.settings.record.sampler.rate;
    f->period = own ? e->period : t->live.settings.record.sampler.period;
    f->lost_before = f->lost;
    f->lost = record_live_lost(&t->live.record);
    f->throttled = t->live.record.throttled;
    f->gone |= reasons & OS_WAIT_ALONE && t->threads.count;
}

static bool print(struct top *t, struct error *err)
{
    struct str text = output_contents(&t->out);
    bool ok = message_lines(text);
    t->out.used = 0;
    return ok || error_set(err, "cannot write the table: %s", strerror(errno));
}

static bool read_tasks(struct top *t)
{
    return !top_view_has_tasks(&t->view) ||
           live_tasks_read(&t->view.tasks, &t->tasks, t->live.samples.shown,
                           os_clock_monotonic(), &t->err);
}

static bool refresh(struct top *t, unsigned reasons)
{
    note_facts(t, reasons);
    t->refreshes++;
    if (!engine_live_refresh(&t->live, t->view.delay, &t->err))
        return false;
    t->view.facts.samples = t->live.rate_samples;
    t->view.facts.seconds = t->live.rate_seconds;
    t->view.facts.cpus = t->live.cpus;
    if (!read_tasks(t) || !top_view_update(&t->view, &t->err))
        return false;
    if (t->on_screen)
        return true;
    top_view_print(&t->view, t->s->rows ? (size_t)t->s->rows : ROWS_PRINTED,
                   COLUMNS_PRINTED, &t->out);
    return print(t, &t->err);
}

static bool take_keys(struct top *t, bool *any)
{
    for (int key = os_screen_key(); key != OS_KEY_NONE; key = os_screen_key()) {
        *any = true;
        if (!top_view_key(&t->view, key, &t->err))
            return false;
    }
    if (!*any || !top_view_has_tasks(&t->view) || t->view.tasks.time)
        return true;
    return read_tasks(t) && top_view_update(&t->view, &t->err);
}

/* Handles keys, and refreshes when it is time. */
static bool turn(void *context, unsigned reasons, int *next)
{
    struct top *t = context;
    bool draws = false, ok = !t->on_screen || take_keys(t, &draws);
    t->view.facts.gone |= reasons & OS_WAIT_ALONE && t->threads.count;
    bool gone = t->view.facts.gone && !t->on_screen;
    if (t->view.clears)
        live_samples_clear(&t->live.samples);
    t->view.clears = false;
    double left = t->view.delay - engine_live_elapsed(&t->live);
    bool over = reasons & OS_WAIT_STOP || t->view.quits;
    bool due = left <= 0 && !t->view.paused;
    if (ok && (due || gone) && !over) {
        ok = refresh(t, reasons);
        draws = true;
        left = t->view.delay;
    }
    if (ok && draws && t->on_screen)
        top_view_draw(&t->view);
    *next = left <= 0 || left > 1 ? 1000 : (int)(left * 1000) + 1; /* <= 0: paused */
    t->ends = !ok || over || gone || (t->s->refreshes && t->refreshes >= t->s->refreshes);
    t->failed |= !ok;
    if (t->ends)
        os_screen_close(); /* messages at the end remain visible */
    return !t->ends;
}

/* --- Running ----------------------------------------------------------------------- */

static bool run(struct top *t, struct error *err)
{
    bool ok = engine_live_open(&t->live, err);
    if (ok && !read_tasks(t)) {
        *err = t->err;
        ok = false;
    }
    if (ok && t->on_screen) {
        ok = os_screen_open(err);
        if (ok) {
            note_facts(t, 0);
            top_view_draw(&t->view);
        }
    }
    ok = ok && engine_live_run(&t->live, &message_report, err);
    os_screen_close();
    if (ok && t->failed) {
        *err = t->err;
        ok = false;
    }
    engine_live_close(&t->live);
    return ok;
}

static void prepare(struct top *t, const struct top_settings *s)
{
    t->s = s;
    t->live.settings = (struct engine_live_settings){
        .record = {.sampler = {.stacks = s->sampling.stacks.kind,
                               .dump_size = 16384,
                               .ring_size = (size_t)s->sampling.ring_size,
                               .command = "top"},
                   .sources = {.on = {[EVENT_SOURCE_interpreters] = true}},
                   .resolve = {.find = {.only_mapped = true},
                               .cache_dir = symbols_cache_dir(t->cache, sizeof t->cache)},
                   .watched = -1},
        .turn = turn,
        .context = t};
    t->live.samples.zero = s->zero;
    t->view = (struct top_view){.samples = &t->live.samples,
                                .delay = s->delay,
                                .flame = s->flame,
                                .request = {.by = (enum live_group)s->by,
                                            .sort = (enum live_sort)s->sort,
                                            .no_kernel = s->no_kernel,
                                            .no_user = s->no_user}};
}

/* Selects the screen or standard output; reports why the screen cannot be used. */
static void choose_screen(struct top *t)
{
    t->on_screen =
        !t->s->plain && os_terminal_of(1).is_terminal && os_terminal_of(0).is_terminal;
    if (t->on_screen && !os_screen_is_available()) {
        message_note(
            "this stoke was built without ncurses: tables are printed one by one");
        t->on_screen = false;
    }
    if (t->on_screen && !os_screen_knows_terminal()) {
        message_note(
            "the terminal type in TERM is not usable: tables are printed one by one");
        t->on_screen = false;
    }
    t->live.settings.record.watched = t->on_screen ? 0 : -1;
    t->view.flame &= t->on_screen;
}

static int top_run(void *settings, int word_count, char **words)
{
    struct error err = {.location = LOCATION_NONE};
    struct top_settings *s = settings;
    if (s->sampling.events.listed)
        return sampling_list_events();
    sampling_choose_rate(&s->sampling, 0);
    struct top *t = calloc(1, sizeof *t);
    int status = STATUS_USAGE;
    if (!t)
        return STATUS_FAILED;
    prepare(t, s);
    if (word_count) {
        error_set(&err, "unexpected argument '%s'", words[0]);
        error_hint(&err, "-p PID samples a process; stoke record runs a command");
    } else if (find_targets(t, &err) && choose_rate(t, &err) && choose_event(t, &err)) {
        choose_screen(t);
        status = run(t, &err) ? STATUS_OK : STATUS_FAILED;
    }
    if (status != STATUS_OK)
        message_error(&err);
    top_view_deinit(&t->view);
    output_deinit(&t->out);
    record_threads_free(&t->threads);
    os_cgroup_close(t->live.settings.record.sampler.targets.cgroup);
    free(t);
    return status;
}

static const struct top_settings top_defaults = {
    .delay = DELAY_DEFAULT, .sampling = {.stacks = {RECORD_STACKS_AUTO, 0}}};

const struct command command_top = {
    .name = "top",
    .summary = "show which functions and processes run now",
    .usage = "[OPTION...]",
    .examples = "  stoke top\n"
                "  stoke top -p 412 -F 999\n"
                "  stoke top --by service\n"
                "  stoke top -n 3 -d 1 > tables\n",
    .groups = top_groups,
    .settings_size = sizeof(struct top_settings),
    .defaults = &top_defaults,
    .small_pages = true,
    .run = top_run,
};
