/* SPDX-License-Identifier: Apache-2.0 */
#include "record/chain.h"
#include "base/number.h"
#include "os/machine.h"
#include "record/interpreters.h"
#include <stdlib.h>

/* From this number of threads on, a process is read before the counters start; if the machine is
 * crowded, all processes are. */
#define CROWDED_THREADS 100

/* --- Counting ---------------------------------------------------------------------- */

/* How many frames of a stack the kernel unwinds. */
static uint64_t read_frames_most(const struct record_chain *c)
{
    char room[32];
    uint64_t most = 0;
    struct str text =
        os_read_text("/proc/sys/kernel/perf_event_max_stack", room, sizeof room);
    bool by_kernel = c->sampler_settings.stacks == RECORD_STACKS_FP;
    return by_kernel && number_parse_u64(str_trim(text), &most) ? most : 0;
}

static bool is_deep(const struct record_chain *c, const struct record *r)
{
    size_t fixed = c->sampler.layout.fixed_size;
    return c->frames_most && r->bytes.len >= fixed + 8 &&
           record_u64(r->bytes, fixed) >= c->frames_most;
}

static void count_record(void *context, const struct record *r)
{
    struct record_chain *c = context;
    struct record_counts *n = &c->counts;
    if (r->type == PERF_SAMPLE) {
        if (n->samples++ == 0)
            n->first = r->time;
        n->last = r->time;
        n->idle += record_tid(&c->sampler.layout, r) == 0;
        n->deep += is_deep(c, r);
    } else if (r->type == PERF_LOST) {
        n->lost += record_u64(r->bytes, 16);
    } else if (r->type == PERF_THROTTLE) {
        n->throttled++;
    }
    record_pass(&c->output, r);
}

static void count_round(void *context)
{
    struct record_chain *c = context;
    c->output.round(c->output.context);
}

/* --- Opening ----------------------------------------------------------------------- */

static bool is_requested(const struct event_source_request *request, size_t id)
{
    bool on = request->on[id];
    for (size_t i = 0; i < EVENT_SOURCE_COUNT; i++)
        on |= request->on[i] && event_sources[i]->part_of == event_sources[id];
    return on && !event_sources[id]->part_of;
}

static void close_source(struct record_chain *c, size_t id)
{
    if (c->sources[id] && event_sources[id]->close)
        event_sources[id]->close(c->sources[id]);
    free(c->sources[id]);
    c->sources[id] = NULL;
}

static void close_sources(struct record_chain *c)
{
    for (size_t i = 0; i < EVENT_SOURCE_COUNT; i++)
        close_source(c, i);
}

/* Prepares one source; a source that is not possible but optional is left out. */
static bool prepare_source(struct record_chain *c, size_t id, struct error *err)
{
    const struct event_source *source = event_sources[id];
    struct perf_sampler_settings sampler = c->sampler_settings;
    struct event_source_setup setup = {.sampler = &sampler,
                                       .request = &c->settings->sources,
                                       .interval = c->interval,
                                       .probe = c->settings->probe,
                                       .keeps_dumps = c->settings->keep_dumps};
    c->sources[id] = calloc(1, source->size ? source->size : 1);
    if (!c->sources[id])
        return error_memory(err);
    if (source->prepare && !source->prepare(c->sources[id], &setup, err)) {
        close_source(c, id);
        c->unavailable[id] = *err;
        return source->optional;
    }
    c->sampler_settings = sampler;
    c->interval = setup.interval;
    return true;
}

static bool prepare_sources(struct record_chain *c, const struct record_targets *targets,
                            bool with_optional, struct error *err)
{
    c->sampler_settings = c->settings->sampler;
    c->interval = c->settings->interval;
    c->sampler_settings.filter = c->filter.program ? &c->filter : NULL;
    if (targets)
        c->sampler_settings.targets = *targets;
    for (size_t i = 0; i < EVENT_SOURCE_COUNT; i++)
        if (is_requested(&c->settings->sources, i) &&
            (with_optional || !event_sources[i]->optional) && !prepare_source(c, i, err))
            return false;
    return true;
}

/* Stores why the optional sources are not possible; false if none is active. */
static bool drop_optional(struct record_chain *c, const struct error *why)
{
    bool any = false;
    for (size_t i = 0; i < EVENT_SOURCE_COUNT; i++) {
        if (!c->sources[i] || !event_sources[i]->optional)
            continue;
        c->unavailable[i] = *why;
        any = true;
    }
    return any;
}

/* Loads the filter if it can keep records of other threads, or large stacks of wakers, out of the
 * rings. Without it, the stages remove them. */
static void open_filter(struct record_chain *c, const struct record_targets *targets)
{
    struct perf_sampler_settings set = c->settings->sampler;
    struct error ignored;
    if (targets)
        set.targets = *targets;
    const struct record_targets *t = &set.targets;
    const bool *on = c->settings->sources.on;
    bool wakings = on[EVENT_SOURCE_wakers] || on[EVENT_SOURCE_locks];
    if (!wakings &&
        (t->everyone || (!on[EVENT_SOURCE_io] && !perf_sampler_prefers_cpus(&set))))
        return;
    if (!os_task_filter_open(&c->filter, !t->alone && !t->everyone, &ignored)) {
        os_task_filter_close(&c->filter);
        return;
    }
    if (t->everyone)
        os_task_filter_add_all(&c->filter);
    for (size_t i = 0; i < t->tid_count; i++)
        os_task_filter_add(&c->filter, t->tids[i]);
}

static bool try_sampler(struct record_chain *c, const struct record_targets *targets,
                        bool with_optional, struct error *err)
{
    if (!prepare_sources(c, targets, with_optional, err))
        return false;
    const struct perf_sampler_settings *set = &c->sampler_settings;
    int next = set->program ? set->program : set->observer;
    if (set->filter && !os_task_filter_chain(set->filter, next))
        return error_set(err, "the kernel cannot run two eBPF programs at a sample");
    return perf_sampler_open(&c->sampler, set, c->wait, err);
}

static void close_for_retry(struct record_chain *c)
{
    perf_sampler_close(&c->sampler);
    close_sources(c);
}

static bool open_sampler(struct record_chain *c, const struct record_targets *targets,
                         struct error *err)
{
    open_filter(c, targets);
    if (try_sampler(c, targets, true, err))
        return true;
    /* --io needs the filter */
    if (c->filter.program && !c->settings->sources.on[EVENT_SOURCE_io]) {
        close_for_retry(c);
        os_task_filter_close(&c->filter);
        if (try_sampler(c, targets, true, err))
            return true;
    }
    if (!drop_optional(c, err))
        return false;
    close_for_retry(c);
    return try_sampler(c, targets, false, err);
}

static void report_counters(struct record_chain *c)
{
    for (size_t i = 0; i < EVENT_SOURCE_COUNT; i++)
        if (c->sources[i] && event_sources[i]->opened)
            event_sources[i]->opened(c->sources[i], &c->sampler);
}

/* --- Events ------------------------------------------------------------------------ */

static void describe_event(struct record_chain *c, size_t i, uint64_t *ids, size_t room)
{
    const struct record_events *events = &c->sampler_settings.events;
    struct perf_file_event *e = &c->events[i];
    *e = (struct perf_file_event){.attr = c->sampler.attrs[i],
                                  .name = events->items[i].name,
                                  .tracepoint = events->items[i].tracepoint,
                                  .members = perf_sampler_members(&c->sampler, i),
                                  .ids = ids};
    if (e->members)
        e->group = events->groups[events->items[i].group - 1].name;
    e->id_count = perf_sampler_ids(&c->sampler, i, ids, room);
    if (c->unwinds)
        record_unwinder_attr(&e->attr);
    for (size_t s = 0; s < EVENT_SOURCE_COUNT; s++)
        if (c->sources[s] && event_sources[s]->describe)
            event_sources[s]->describe(c->sources[s], i, e);
}

static bool describe_events(struct record_chain *c, struct error *err)
{
    size_t count = record_chain_event_count(c), used = 0;
    size_t room = c->sampler.counter_count;
    c->ids = calloc(room + 1, sizeof *c->ids);
    if (!c->ids)
        return error_memory(err);
    for (size_t i = 0; i < count; i++) {
        describe_event(c, i, c->ids + used, room - used);
        used += c->events[i].id_count;
    }
    return true;
}

static bool has_id(const struct perf_file_event *e, uint64_t id)
{
    for (size_t i = 0; i < e->id_count; i++)
        if (e->ids[i] == id)
            return true;
    return false;
}

/* The output's head does not have the ids of new counters. */
static void add_ids(struct record_chain *c, size_t event, uint64_t *room, size_t size)
{
    const struct perf_file_event *e = &c->events[event];
    size_t count = e->id_count ? perf_sampler_ids(&c->sampler, event, room, size) : 0;
    for (size_t i = 0; i < count; i++)
        if (!has_id(e, room[i]))
            record_event_ids_add(&c->event_ids, room[i], e->ids[0]);
}

/* CPUs came online or went offline, or counters were replaced. */
static void counters_changed(struct record_chain *c)
{
    size_t size = c->sampler.counter_count;
    uint64_t *room = malloc((size + 1) * sizeof *room);
    report_counters(c);
    for (size_t i = 0; room && i < record_chain_event_count(c); i++)
        add_ids(c, i, room, size);
    free(room);
}

/* The recorder wakes up when a source has something to read immediately. */
static bool watch_sources(struct record_chain *c, struct error *err)
{
    for (size_t i = 0; i < EVENT_SOURCE_COUNT; i++) {
        int fd = c->sources[i] && event_sources[i]->descriptor
                     ? event_sources[i]->descriptor(c->sources[i])
                     : -1;
        if (fd >= 0 && !os_wait_watch(c->wait, fd, err))
            return false;
    }
    return true;
}

/* --- The stages -------------------------------------------------------------------- */

bool record_chain_open(struct record_chain *c,
                       const struct record_chain_settings *settings,
                       const struct record_targets *targets, struct os_wait *wait,
                       struct error *err)
{
    *c = (struct record_chain){.settings = settings, .wait = wait};
    c->unwinds = record_stacks_dumped(settings->sampler.stacks) && !settings->keep_dumps;
    if (!open_sampler(c, targets, err))
        return false;
    report_counters(c);
    return watch_sources(c, err) && describe_events(c, err);
}

static bool put_source_stages(struct record_chain *c, struct record_sink *next,
                              struct error *err)
{
    for (size_t i = EVENT_SOURCE_COUNT; i-- > 0;)
        if (c->sources[i] && event_sources[i]->stage &&
            !event_sources[i]->stage(c->sources[i], &c->sampler.layout, next, err))
            return false;
    return true;
}

/* The first stage: it gets records of the kernel, and the next one adds its own. */
static bool put_first(struct record_chain *c, struct error *err)
{
    bool by_kernel = c->sampler.attrs[0].flags & PERF_FLAG_BUILD_ID;
    c->first = record_tasks_sink(&c->tasks);
    if (!by_kernel) {
        if (!record_build_ids_init(&c->build_ids, &c->sampler.layout,
                                   !c->sampler_settings.no_build_ids, c->first, err))
            return false;
        c->first = record_build_ids_sink(&c->build_ids);
    }
    if (c->settings->only_sampled) {
        if (!record_sampled_init(&c->sampled, &c->sampler.layout, &c->tasks, c->first,
                                 err))
            return false;
        c->first = record_sampled_sink(&c->sampled);
    }
    if (c->sampler.of_cpus && !c->sampler_settings.program) {
        if (!record_descent_init(&c->descent, &c->sampler, c->first, err))
            return false;
        c->first = record_descent_sink(&c->descent);
    }
    return true;
}

bool record_chain_start(struct record_chain *c, struct record_sink output,
                        struct error *err)
{
    struct record_sink next = {c, count_record, count_round};
    const struct record_layout *layout = &c->sampler.layout;
    c->output = output;
    record_descent_deinit(&c->descent);
    record_sampled_deinit(&c->sampled);
    record_build_ids_deinit(&c->build_ids);
    record_tasks_deinit(&c->tasks);
    record_unwinder_deinit(&c->unwinder);
    record_event_ids_start(&c->event_ids, layout, next);
    next = record_event_ids_sink(&c->event_ids);
    if (!put_source_stages(c, &next, err))
        return false;
    if (c->unwinds) {
        if (!record_unwinder_init(&c->unwinder, layout,
                                  c->sampler.attrs[0].user_registers,
                                  c->settings->resolve, next, err))
            return false;
        c->unwinder.probe = c->settings->probe;
        next = record_unwinder_sink(&c->unwinder);
    }
    if (!record_tasks_init(&c->tasks, layout, next, err) || !put_first(c, err))
        return false;
    c->tasks.jit_maps = c->settings->jit_maps;
    c->frames_most = read_frames_most(c);
    c->kernel_hidden = !record_tasks_add_kernel(&c->tasks);
    for (size_t i = 0; i < c->settings->pid_count; i++)
        record_tasks_add(&c->tasks, c->settings->pids[i]);
    c->tasks.probe = c->settings->probe;
    bool crowded = os_is_crowded();
    if (c->sampler_settings.targets.everyone)
        record_tasks_add_crowded(&c->tasks, crowded ? 1 : CROWDED_THREADS);
    return true;
}

void record_chain_close(struct record_chain *c)
{
    perf_sampler_close(&c->sampler);
    os_task_filter_close(&c->filter);
    close_sources(c);
    record_descent_deinit(&c->descent);
    record_sampled_deinit(&c->sampled);
    record_build_ids_deinit(&c->build_ids);
    record_tasks_deinit(&c->tasks);
    record_unwinder_deinit(&c->unwinder);
    record_event_ids_deinit(&c->event_ids);
    free(c->ids);
    c->ids = NULL;
}

/* --- Turns ------------------------------------------------------------------------- */

struct record_turn record_chain_turn(struct record_chain *c, int milliseconds)
{
    struct record_turn t = {.reasons = os_wait_for(c->wait, milliseconds)};
    for (size_t i = 0; i < EVENT_SOURCE_COUNT; i++)
        if (c->sources[i] && event_sources[i]->wake)
            event_sources[i]->wake(c->sources[i]);
    t.drained = os_clock_monotonic();
    perf_sampler_drain(&c->sampler, &c->first);
    c->queues = ring_copier_counts(&c->sampler.copier);
    t.now = os_clock_monotonic();
    if (perf_sampler_limit_dumps(&c->sampler))
        counters_changed(c);
    record_jitter_turn(&c->jitter, &c->sampler, t.now);
    return t;
}

bool record_chain_drain_sources(struct record_chain *c)
{
    for (size_t i = 0; !c->failed && i < EVENT_SOURCE_COUNT; i++)
        if (c->sources[i] && event_sources[i]->drain)
            c->failed = !event_sources[i]->drain(c->sources[i], &c->first, &c->why);
    return !c->failed;
}

/* CPUs rarely come and go: the chain checks once in this number of intervals; of a second, as those
 * of a daemon, less often, because reading a counter interrupts its CPU. */
#define INTERVALS_PER_CPU_CHECK 2
#define SECONDS_PER_CPU_CHECK 10

bool record_chain_collect(struct record_chain *c)
{
    c->turns++;
    if (c->settings->jit_maps)
        record_jit_maps_check(c->settings->jit_maps);
    if (!record_chain_drain_sources(c))
        return false;
    uint64_t turns = c->settings->interval < 1000000000 ? INTERVALS_PER_CPU_CHECK
                                                        : SECONDS_PER_CPU_CHECK;
    if (c->sampler_settings.targets.everyone && c->turns % turns == 0 &&
        perf_sampler_follow_cpus(&c->sampler))
        counters_changed(c);
    return true;
}

static uint64_t lost_by_sources(const struct record_chain *c)
{
    uint64_t lost = 0;
    for (size_t i = 0; i < EVENT_SOURCE_COUNT; i++)
        if (c->sources[i] && event_sources[i]->lost)
            lost += event_sources[i]->lost(c->sources[i]);
    return lost;
}

uint64_t record_chain_lost(const struct record_chain *c)
{
    uint64_t lost = perf_sampler_lost(&c->sampler) + lost_by_sources(c) +
                    ring_copier_counts(&c->sampler.copier).dropped;
    return lost > c->counts.lost ? lost : c->counts.lost;
}

struct record_losses record_chain_losses(const struct record_chain *c)
{
    struct record_losses l = {.by_queues = c->queues.dropped,
                              .by_sources = lost_by_sources(c),
                              .short_dumps = c->queues.shortened,
                              .dump_limit =
                                  c->sampler.dumps_limited ? c->sampler.dump_limit : 0};
    uint64_t others = l.by_queues + l.by_sources;
    l.by_rings = c->counts.lost > others ? c->counts.lost - others : 0;
    return l;
}

/* Reports records that were lost after the last record in the ring. */
static void report_lost(struct record_chain *c)
{
    struct record_maker *m = &c->tasks.maker;
    uint64_t lost = record_chain_lost(c);
    if (lost <= c->counts.lost)
        return;
    record_begin(m, PERF_LOST, 0);
    record_put_u64(m, 0);
    record_put_u64(m, lost - c->counts.lost);
    struct record r = record_end(m, 0, 0, os_clock_monotonic());
    record_pass(&c->first, &r);
    c->first.round(c->first.context);
}

void record_chain_finish(struct record_chain *c, uint64_t now)
{
    perf_sampler_drain(&c->sampler, &c->first);
    c->queues = ring_copier_counts(&c->sampler.copier);
    record_chain_drain_sources(c);
    for (size_t i = 0; i < EVENT_SOURCE_COUNT; i++)
        if (c->sources[i] && event_sources[i]->finish)
            event_sources[i]->finish(c->sources[i], now);
    report_lost(c);
}

void record_chain_report(const struct record_chain *c, enum event_source_id id,
                         struct event_source_report *r)
{
    *r = (struct event_source_report){.active = c->sources[id] != NULL,
                                      .unavailable = c->unavailable[id]};
    if (c->sources[id] && event_sources[id]->report)
        event_sources[id]->report(c->sources[id], r);
}

uint64_t record_chain_interpreted_code(const struct record_chain *c)
{
    const struct record_interpreters *s = c->sources[EVENT_SOURCE_interpreters];
    return s ? s->in_jit : 0;
}

void record_chain_put_interpreters(const struct record_chain *c, struct output *out)
{
    size_t id = EVENT_SOURCE_interpreters;
    const struct error *why = &c->unavailable[id];
    if (c->sources[id])
        record_interpreters_put(c->sources[id], out);
    else if (why->message[0])
        output_format(out, "not read: %s%s%s\n", why->message, why->hint[0] ? "; " : "",
                      why->hint);
}
