/* stoke top: what runs now, on the terminal: a table or a flame view that follows it. */
#include "base/format.h"
#include "base/number.h"
#include "cli/command.h"
#include "cli/message.h"
#include "cli/record_words.h"
#include "cli/symbols.h"
#include "cli/top_view.h"
#include "os/machine.h"
#include "os/screen.h"
#include "os/task.h"
#include "os/terminal.h"
#include "record/live.h"
#include "record/refusal.h"
#include "record/targets.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#define NUMBERS_MAX 1024
#define RATE_DEFAULT 499
#define DELAY_DEFAULT 2
#define DUMPED_WHOLE 2000 /* samples a second; of more, less of each stack is taken */
#define ROWS_PRINTED 20
#define COLUMNS_PRINTED 100
#define NS 1e9

struct number_list {
    uint32_t items[NUMBERS_MAX];
    size_t count;
};

struct cpu_list {
    uint32_t items[OS_CPUS_MAX];
    size_t count;
};

struct top_settings {
    struct number_list pids, tids;
    struct cpu_list cpus;
    struct record_events events;
    const char *user;
    int64_t rate, period, looks, rows;
    uint64_t ring_size;
    double delay;
    int stacks, sort;
    bool everyone, plain, flame, zero, no_kernel, no_user;
};

#define OFF(field) offsetof(struct top_settings, field)

static bool parse_numbers(const char *text, void *value, struct error *err)
{
    struct number_list *list = value;
    for (struct str rest = str_of(text); rest.len;) {
        uint64_t v;
        if (!number_parse_u64(str_cut(&rest, ','), &v) || v == 0 || v >= UINT32_MAX) {
            error_set(err, "'%s' is no list of processes or threads", text);
            return error_hint(err, "as ps shows them: 412,17");
        }
        if (list->count == NUMBERS_MAX)
            return error_set(err, "more than %d of them", NUMBERS_MAX);
        list->items[list->count++] = (uint32_t)v;
    }
    return list->count || error_set(err, "'' is no list of processes or threads");
}

static bool parse_cpus(const char *text, void *value, struct error *err)
{
    struct cpu_list *list = value;
    return record_cpus_add(str_of(text), list->items, &list->count, err);
}

static bool parse_events(const char *text, void *value, struct error *err)
{
    return record_events_parse(text, value, err);
}

/* In the order of enum record_stacks. */
static const char *const stack_names[] = {"none", "fp", "dwarf", "lbr", "auto", NULL};

static bool parse_stacks(const char *text, void *value, struct error *err)
{
    for (int i = 0; stack_names[i]; i++) {
        if (strcmp(stack_names[i], text) != 0)
            continue;
        *(int *)value = i;
        return true;
    }
    error_set(err, "stacks cannot be taken by '%s'", text);
    return error_hint(err, "auto, fp, dwarf, lbr, none");
}

static const struct option top_options[] = {
    {"all-cpus", 'a', NULL, "all that runs on this machine (default)", OPTION_FLAG,
     OFF(everyone)},
    {"pid", 'p', "LIST", "these processes, and what they start", OPTION_PARSED, OFF(pids),
     .parse = parse_numbers},
    {"tid", 't', "LIST", "these threads", OPTION_PARSED, OFF(tids),
     .parse = parse_numbers},
    {"cpu", 'C', "LIST", "all that runs on these CPUs: 0-3,7", OPTION_PARSED, OFF(cpus),
     .parse = parse_cpus},
    {"uid", 'u', "USER", "all that is this user's, by name or number", OPTION_STRING,
     OFF(user)},
    {"freq", 'F', "HZ",
     "samples a second (default: 499); max: as many as the kernel gives", OPTION_PARSED,
     OFF(rate), .parse = record_parse_rate},
    {"count", 'c', "N", "a sample every N events, in place of --freq", OPTION_INT,
     OFF(period), .least = 1, .most = 1e15},
    {"event", 'e', "NAME", "sample by this event (default: cycles, else cpu-clock)",
     OPTION_PARSED, OFF(events), .parse = parse_events},
    {"call-graph", 'g', "HOW", "how stacks are taken: auto (default), fp, dwarf, none",
     OPTION_PARSED, OFF(stacks), stack_names, .parse = parse_stacks, .fallback = "fp"},
    {"ring,mmap-pages", 'm', "SIZE",
     "of a CPU's ring, which holds what was not read yet (default: by the rate)",
     OPTION_PARSED, OFF(ring_size), .parse = record_parse_ring},
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
    {"options", top_options, 0}, {"what is shown", shown_options, 0}, {0}};

/* One stoke top. */
struct top {
    const struct top_settings *s;
    struct record_live_settings settings;
    struct record_live live;
    struct top_data data;
    struct top_view view;
    struct output out; /* of printed tables */
    char whom[128], cache[4096];
    struct record_threads threads;
    uint64_t looked, told; /* ns: the last look, and up to when it knew all samples */
    int64_t looks;
    bool on_screen, ends, restarts, failed;
    struct error err;
};

/* --- Whom and what ----------------------------------------------------------------- */

static bool check_targets(const struct top_settings *s, struct error *err)
{
    bool all = s->everyone || s->cpus.count;
    if (all && (s->pids.count || s->tids.count || s->user)) {
        error_set(err, "all (-a, -C) and some processes (-p, -t, -u) cannot be looked at "
                       "together");
        return error_hint(err, "-p alone; / chooses among names");
    }
    if (!s->no_kernel || !s->no_user)
        return true;
    error_set(err, "-K and -U together leave nothing to be shown");
    return error_hint(err, "-K leaves out the kernel's functions, -U all others");
}

static void name_whom(struct top *t)
{
    const struct top_settings *s = t->s;
    char name[64];
    const uint32_t *tids = t->threads.items;
    if (s->user) {
        format_text(t->whom, sizeof t->whom, "what is %s's", s->user);
    } else if (tids) {
        uint32_t tid = s->pids.count ? s->pids.items[0] : s->tids.items[0];
        struct str comm = os_task_name(tid, tid, name, sizeof name);
        bool more = s->pids.count + s->tids.count > 1;
        format_text(t->whom, sizeof t->whom, "%.*s %u%s", STR_ARG(comm), tid,
                    more ? " and others" : "");
    } else if (s->cpus.count == 1) {
        format_text(t->whom, sizeof t->whom, "CPU %u", s->cpus.items[0]);
    } else {
        format_text(t->whom, sizeof t->whom, s->cpus.count ? "%zu CPUs" : "all CPUs",
                    s->cpus.count);
    }
}

static bool find_targets(struct top *t, struct error *err)
{
    const struct top_settings *s = t->s;
    struct record_targets *targets = &t->settings.sampler.targets;
    if (!check_targets(s, err))
        return false;
    if ((s->user && !record_threads_of_user(&t->threads, s->user, err)) ||
        !record_threads_find(&t->threads, s->pids.items, s->pids.count, s->tids.items,
                             s->tids.count, err))
        return false;
    targets->everyone = t->threads.count == 0;
    targets->cpus = s->cpus.count ? s->cpus.items : NULL;
    targets->cpu_count = s->cpus.count;
    targets->tids = t->threads.items;
    targets->tid_count = t->threads.count;
    t->settings.pids = s->pids.items;
    t->settings.pid_count = s->pids.count;
    name_whom(t);
    return true;
}

/* Samples a second, as many as the kernel gives. */
static bool choose_rate(struct top *t, struct error *err)
{
    struct perf_sampler_settings *sampler = &t->settings.sampler;
    uint32_t most = record_rate_most();
    if (t->s->rate && t->s->period) {
        error_set(err, "samples are taken by time (-F) or by a count of events (-c), not "
                       "by both");
        return error_hint(err, "-F alone, or -c alone");
    }
    sampler->period = (uint64_t)t->s->period;
    sampler->rate = sampler->period ? 0
                    : t->s->rate    ? (uint32_t)t->s->rate
                                    : RATE_DEFAULT;
    if (sampler->rate > most)
        sampler->rate = most;
    if (sampler->rate > DUMPED_WHOLE)
        sampler->dump_size /= 2;
    return true;
}

/* One event: a table has one unit. */
static bool choose_event(struct top *t, struct error *err)
{
    struct record_events *events = &t->settings.sampler.events;
    *events = t->s->events;
    record_events_pace(events, (uint32_t)t->s->rate, (uint64_t)t->s->period);
    if (events->count > 1) {
        error_set(err, "stoke top shows one event");
        return error_hint(err, "stoke record -e takes several");
    }
    if (events->count == 0) {
        events->items[events->count++] = record_event_cycles();
        if (!perf_sampler_has(&events->items[0]))
            events->items[0] = record_event_clock();
    }
    struct record_event *e = &events->items[0];
    if (e->tracepoint[0] || perf_sampler_sees_kernel(e))
        return true;
    if (e->asks_kernel)
        return record_refusal(&t->settings.sampler, 0, EACCES, err);
    record_event_only_user(e);
    return true;
}

/* --- Looks ------------------------------------------------------------------------- */

/* Up to when the table has all samples. A look takes its time, in which samples come: they
 * are of the next look, and so is that time. */
static uint64_t told_up_to(const struct top *t)
{
    uint64_t drained = record_live_told(&t->live);
    return t->data.last > drained ? t->data.last : drained;
}

static void note_facts(struct top *t, unsigned reasons)
{
    struct top_facts *f = &t->view.facts;
    const struct record_event *e = &t->settings.sampler.events.items[0];
    f->event = e->name;
    f->whom = t->whom;
    bool own = e->rate || e->period;
    f->rate = own ? e->rate : t->settings.sampler.rate;
    f->period = own ? e->period : t->settings.sampler.period;
    f->lost_before = f->lost;
    f->lost = t->live.lost;
    f->throttled = t->live.throttled;
    f->gone |= reasons & OS_WAIT_ALONE && t->threads.count;
    uint64_t told = told_up_to(t);
    f->seconds = told > t->told ? (double)(told - t->told) / NS : 0;
    if (told > t->told)
        t->told = told;
}

static bool print(struct top *t, struct error *err)
{
    struct str text = output_kept(&t->out);
    bool ok = fwrite(text.ptr, 1, text.len, stdout) == text.len && fflush(stdout) == 0;
    t->out.used = 0;
    return ok || error_set(err, "cannot write the table: %s", strerror(errno));
}

static bool look(struct top *t, uint64_t now, unsigned reasons)
{
    note_facts(t, reasons);
    t->looked = now;
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
    uint64_t now = os_clock_monotonic();
    bool draws = false, ok = !t->on_screen || take_keys(t, &draws);
    t->view.facts.gone |= reasons & OS_WAIT_ALONE && t->threads.count;
    bool gone = t->view.facts.gone && !t->on_screen;
    if (t->view.clears)
        top_data_forget(&t->data);
    t->view.clears = false;
    double left = t->view.delay - (double)(now - t->looked) / NS;
    bool over = reasons & OS_WAIT_STOP || t->view.quits;
    bool due = left <= 0 && !t->view.paused && told_up_to(t) > t->told;
    if (ok && (due || gone) && !over) {
        ok = look(t, now, reasons);
        draws = true;
        left = t->view.delay;
    }
    if (ok && draws && t->on_screen)
        top_view_draw(&t->view);
    *next = left < 0 ? 0 : left > 1 ? 1000 : (int)(left * 1000) + 1;
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
    top_data_clear(&t->data);
    symbols_deinit(&symbols);
    source_deinit(&in);
    builder_deinit(&b);
    return ok;
}

static bool run(struct top *t, struct error *err)
{
    bool ok = record_live_open(&t->live, &t->settings, err);
    t->looked = t->told = os_clock_monotonic();
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
        .sampler = {.stacks = (enum record_stacks)s->stacks,
                    .dump_size = 16384,
                    .ring_size = (size_t)s->ring_size,
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
    struct top *t = calloc(1, sizeof *t);
    int status = STATUS_USAGE;
    if (!t)
        return STATUS_FAILED;
    prepare(t, settings);
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
    free(t);
    return status;
}

static const struct top_settings top_defaults = {.delay = DELAY_DEFAULT,
                                                 .stacks = RECORD_STACKS_AUTO};

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
