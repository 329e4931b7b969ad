/* SPDX-License-Identifier: Apache-2.0 */
/* stoke top: what runs now, on the terminal: a table or a flame view that follows it. */
#include "base/format.h"
#include "cli/command.h"
#include "cli/message.h"
#include "cli/options/sampling.h"
#include "cli/top/view.h"
#include "engine/package_hint.h"
#include "engine/symbols.h"
#include "os/cgroup.h"
#include "os/machine.h"
#include "os/screen.h"
#include "os/task.h"
#include "os/terminal.h"
#include "record/live.h"
#include "record/refusal.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#define RATE_DEFAULT 499
#define DELAY_DEFAULT 2
#define DUMPED_WHOLE 2000 /* samples a second; of more, less of each stack is taken */
#define ROWS_PRINTED 20
#define COLUMNS_PRINTED 100
#define NS 1e9

struct top_settings {
    struct sampling_targets targets;
    struct sampling_settings sampling;
    int64_t looks, rows;
    double delay;
    int sort;
    bool plain, flame, zero, no_kernel, no_user;
};

#define OFF(field) offsetof(struct top_settings, field)

static const struct option top_options[] = {
    {"delay", 'd', "S", "seconds from look to look (default: 2)", OPTION_NUMBER,
     OFF(delay), .least = 0.1, .most = 3600},
    {"zero", 'z', NULL, "each look anew; else the old loses weight", OPTION_FLAG,
     OFF(zero)},
    {"iterations", 'n', "N", "end after so many looks", OPTION_INT, OFF(looks),
     .least = 1, .most = 1e9},
    {0}};

static const struct option shown_options[] = {
    {"sort", 's', "COLUMN", "order by self (default), total, name or module",
     OPTION_CHOICE, OFF(sort), top_sorts},
    {"flame", 0, NULL, "begin with the flame view", OPTION_FLAG, OFF(flame)},
    {"hide-kernel", 'K', NULL, "leave out the kernel's functions", OPTION_FLAG,
     OFF(no_kernel)},
    {"hide-user", 'U', NULL, "leave out all others", OPTION_FLAG, OFF(no_user)},
    {"plain", 0, NULL, "print a table after the other, as without a terminal",
     OPTION_FLAG, OFF(plain)},
    {"entries", 'E', "N", "rows of a printed table (default: 20)", OPTION_INT, OFF(rows),
     .least = 1, .most = 1000000},
    {0}};

static const struct option_group top_groups[] = {
    {"options", top_options, 0, NULL},
    {"what is shown", shown_options, 0, NULL},
    {"who is looked at (default: -a)", sampling_target_options, OFF(targets), NULL},
    {"how they are sampled (default: -F 499)", sampling_options, OFF(sampling), NULL},
    {0}};

/* The samples of a look, and the time in which they were taken. */
struct top_span {
    uint64_t from, to; /* ns of the clock of the samples */
    uint64_t samples;
};

/* One stoke top. */
struct top {
    const struct top_settings *s;
    struct record_live_settings settings;
    struct record_live live;
    struct top_data data;
    struct top_view view;
    struct output out; /* of printed tables */
    char target[128], cache[4096];
    struct record_threads threads;
    struct top_span last; /* the last look */
    int64_t looks;
    bool on_screen, ends, restarts, failed;
    struct error err;
};

/* --- Whom and what ----------------------------------------------------------------- */

static bool check_shown(const struct top_settings *s, struct error *err)
{
    if (!s->no_kernel || !s->no_user)
        return true;
    error_set(err, "-K and -U together leave nothing to be shown");
    return error_hint(err, "-K leaves out the kernel's functions, -U all others");
}

static void name_target(struct top *t)
{
    const struct sampling_targets *s = &t->s->targets;
    char name[64];
    const uint32_t *tids = t->threads.items;
    if (s->user) {
        format_text(t->target, sizeof t->target, "what is %s's", s->user);
    } else if (tids) {
        uint32_t tid = s->pids.count ? s->pids.items[0] : s->tids.items[0];
        struct str comm = os_task_name(tid, tid, name, sizeof name);
        bool more = s->pids.count + s->tids.count > 1;
        format_text(t->target, sizeof t->target, "%.*s %u%s", STR_ARG(comm), tid,
                    more ? " and others" : "");
    } else if (s->cpus.count == 1) {
        format_text(t->target, sizeof t->target, "CPU %u", s->cpus.items[0]);
    } else if (s->cgroup) {
        format_text(t->target, sizeof t->target, "what is in %s", s->cgroup);
    } else {
        format_text(t->target, sizeof t->target, s->cpus.count ? "%zu CPUs" : "all CPUs",
                    s->cpus.count);
    }
}

static bool find_targets(struct top *t, struct error *err)
{
    const struct sampling_targets *targets = &t->s->targets;
    if (!check_shown(t->s, err) ||
        !sampling_find(targets, false, &t->settings.sampler.targets, &t->threads, err))
        return false;
    t->settings.pids = targets->pids.items;
    t->settings.pid_count = targets->pids.count;
    name_target(t);
    return true;
}

/* Samples a second, as many as the kernel gives. */
static bool choose_rate(struct top *t, struct error *err)
{
    struct perf_sampler_settings *sampler = &t->settings.sampler;
    const struct sampling_settings *sampling = &t->s->sampling;
    uint32_t most = record_rate_most();
    if (!sampling_check(sampling, err))
        return false;
    sampler->period = (uint64_t)sampling->period;
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

/* One event: a table has one unit. */
static bool choose_event(struct top *t, struct error *err)
{
    struct sampling_events_found found;
    if (t->s->sampling.events.count <= 1)
        return sampling_events(&t->s->sampling, &t->settings.sampler, &found, err);
    error_set(err, "stoke top shows one event");
    return error_hint(err, "stoke record -e takes several");
}

/* --- Looks ------------------------------------------------------------------------- */

/* Up to when the table has all samples. A look takes its time, in which samples come: they
 * are of the next look, and so is that time. */
static uint64_t told_up_to(const struct top *t)
{
    uint64_t drained = record_live_told(&t->live);
    return t->data.last > drained ? t->data.last : drained;
}

/* How much of the delay has passed between the last look and what a look would show now, in
 * seconds. The clock of the samples decides, not the clock of this process: rings are read
 * late when the machine is busy, and then the time that a look covers and the time since
 * the last look differ. */
static double sampled_seconds(const struct top *t)
{
    uint64_t to = told_up_to(t);
    return to > t->last.to ? (double)(to - t->last.to) / NS : 0;
}

/* The rate of the samples. The end of the processes cuts the last look short: its samples
 * are counted together with those of the look before it. */
static void note_rate(struct top *t)
{
    struct top_facts *f = &t->view.facts;
    uint64_t to = told_up_to(t);
    struct top_span now = {t->last.to, to > t->last.to ? to : t->last.to, t->data.taken};
    bool cut = sampled_seconds(t) < t->view.delay && t->last.from < t->last.to;
    f->samples = now.samples + (cut ? t->last.samples : 0);
    f->seconds = (double)(now.to - (cut ? t->last.from : now.from)) / NS;
    t->last = now;
}

static void note_facts(struct top *t, unsigned reasons)
{
    struct top_facts *f = &t->view.facts;
    const struct record_event *e = &t->settings.sampler.events.items[0];
    f->event = e->name;
    f->target = t->target;
    bool own = e->rate || e->period;
    f->rate = own ? e->rate : t->settings.sampler.rate;
    f->period = own ? e->period : t->settings.sampler.period;
    f->lost_before = f->lost;
    f->lost = t->live.lost;
    f->throttled = t->live.throttled;
    f->gone |= reasons & OS_WAIT_ALONE && t->threads.count;
}

static bool print(struct top *t, struct error *err)
{
    struct str text = output_kept(&t->out);
    bool ok = message_lines(text);
    t->out.used = 0;
    return ok || error_set(err, "cannot write the table: %s", strerror(errno));
}

static bool look(struct top *t, unsigned reasons)
{
    note_facts(t, reasons);
    note_rate(t);
    t->looks++;
    if (!top_data_look(&t->data, &t->err) || !top_view_update(&t->view, &t->err))
        return false;
    t->restarts = top_data_is_full(&t->data);
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
    return true;
}

/* The turn that the stream gives: keys, and looks when they are due. */
static bool idle(void *context, unsigned reasons, int *next)
{
    struct top *t = context;
    bool draws = false, ok = !t->on_screen || take_keys(t, &draws);
    t->view.facts.gone |= reasons & OS_WAIT_ALONE && t->threads.count;
    bool gone = t->view.facts.gone && !t->on_screen;
    if (t->view.clears)
        top_data_forget(&t->data);
    t->view.clears = false;
    double left = t->view.delay - sampled_seconds(t);
    bool over = reasons & OS_WAIT_STOP || t->view.quits;
    bool due = left <= 0 && !t->view.paused;
    if (ok && (due || gone) && !over) {
        ok = look(t, reasons);
        draws = true;
        left = t->view.delay;
    }
    if (ok && draws && t->on_screen)
        top_view_draw(&t->view);
    *next = left <= 0 || left > 1 ? 1000 : (int)(left * 1000) + 1; /* <= 0: paused */
    t->ends = !ok || over || gone || (t->s->looks && t->looks >= t->s->looks);
    t->failed |= !ok;
    return !t->ends && !t->restarts;
}

/* --- Running ----------------------------------------------------------------------- */

/* Reads one stream to its end: until the user wants an end, or a new one is to begin. */
static bool read_stream(struct top *t, struct error *err)
{
    struct symbols symbols;
    struct symbol_settings wanted = {.no_inline = true, .no_debuginfod = true};
    struct builder b;
    struct source in = record_live_source(&t->live);
    const struct perf_taker taker = top_data_taker(&t->data);
    t->restarts = false;
    if (!builder_init(&b, BUILD_COUNT))
        return error_memory(err);
    bool ok = symbols_init(&symbols, &wanted, false, 0, err);
    if (ok) {
        struct import_options options = {.resolver = &symbols.seam};
        ok = perf_data_replay(&in, &options, &b, &taker, err);
    }
    if (ok && !t->restarts && t->data.shown) {
        os_screen_close(); /* the last words of stoke top */
        package_hint(&symbols, t->data.shown, &message_report);
    }
    top_data_clear(&t->data);
    symbols_deinit(&symbols);
    source_deinit(&in);
    builder_deinit(&b);
    return ok;
}

static bool run(struct top *t, struct error *err)
{
    bool ok = record_live_open(&t->live, &t->settings, err);
    t->last.from = t->last.to = t->live.began;
    if (ok && t->on_screen) {
        ok = os_screen_open(err);
        if (ok) {
            note_facts(t, 0);
            top_view_draw(&t->view);
        }
    }
    while (ok && !t->ends) {
        ok = read_stream(t, err);
        if (ok && t->restarts && !t->ends)
            ok = record_live_begin(&t->live, err);
    }
    os_screen_close();
    if (ok && t->failed) {
        *err = t->err;
        ok = false;
    }
    record_live_close(&t->live);
    return ok;
}

static void prepare(struct top *t, const struct top_settings *s)
{
    t->s = s;
    t->settings = (struct record_live_settings){
        .sampler = {.stacks = s->sampling.stacks.how,
                    .dump_size = 16384,
                    .ring_size = (size_t)s->sampling.ring_size,
                    .command = "top"},
        .resolve = {.find = {.only_mapped = true},
                    .cache_dir = symbols_cache_dir(t->cache, sizeof t->cache)},
        .watched = -1,
        .idle = idle,
        .idle_context = t};
    t->data.zero = s->zero;
    t->view = (struct top_view){.data = &t->data,
                                .delay = s->delay,
                                .flame = s->flame,
                                .wanted = {.sort = (enum top_sort)s->sort,
                                           .no_kernel = s->no_kernel,
                                           .no_user = s->no_user}};
}

/* Where it is shown: said, where that cannot be the screen. */
static void choose_screen(struct top *t)
{
    t->on_screen =
        !t->s->plain && os_terminal_of(1).is_terminal && os_terminal_of(0).is_terminal;
    if (t->on_screen && !os_screen_is_there()) {
        message_note("this stoke was built without ncurses: one table after the other");
        t->on_screen = false;
    }
    if (t->on_screen && !os_screen_knows_terminal()) {
        message_note(
            "the terminal that TERM names cannot be drawn on: one table after the "
            "other");
        t->on_screen = false;
    }
    t->settings.watched = t->on_screen ? 0 : -1;
    t->view.flame &= t->on_screen;
}

static int top_run(void *settings, int word_count, char **words)
{
    struct error err = {.place = PLACE_NONE};
    const struct top_settings *s = settings;
    if (s->sampling.events.listed)
        return sampling_list_events();
    struct top *t = calloc(1, sizeof *t);
    int status = STATUS_USAGE;
    if (!t)
        return STATUS_FAILED;
    prepare(t, s);
    if (word_count) {
        error_set(&err, "'%s' is more than stoke top takes", words[0]);
        error_hint(&err, "-p PID looks at a process; stoke record runs a command");
    } else if (find_targets(t, &err) && choose_rate(t, &err) && choose_event(t, &err)) {
        choose_screen(t);
        status = run(t, &err) ? STATUS_OK : STATUS_FAILED;
    }
    if (status != STATUS_OK)
        message_error(&err);
    top_view_deinit(&t->view);
    top_data_deinit(&t->data);
    output_deinit(&t->out);
    record_threads_free(&t->threads);
    os_cgroup_close(t->settings.sampler.targets.cgroup);
    free(t);
    return status;
}

static const struct top_settings top_defaults = {
    .delay = DELAY_DEFAULT, .sampling = {.stacks = {RECORD_STACKS_AUTO, 0}}};

const struct command command_top = {
    .name = "top",
    .summary = "which functions run now, as a table or a live flame graph",
    .usage = "[OPTION...]",
    .examples = "  stoke top\n"
                "  stoke top -p 412 -F 999\n"
                "  stoke top -n 3 -d 1 > tables\n",
    .groups = top_groups,
    .settings_size = sizeof(struct top_settings),
    .defaults = &top_defaults,
    .run = top_run,
};
