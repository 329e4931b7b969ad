/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/daemon.h"
#include "daemon/address.h"
#include "daemon/api.h"
#include "daemon/history.h"
#include "daemon/metrics.h"
#include "daemon/names.h"
#include "daemon/notes.h"
#include "daemon/recent.h"
#include "daemon/recording.h"
#include "daemon/samples.h"
#include "daemon/triggers.h"
#include "engine/sampling.h"
#include "lepd/machine.h"
#include "lepd/server.h"
#include "metrics/rates.h"
#include "os/machine.h"
#include "record/live.h"
#include "record/refusal.h"
#include <stdlib.h>
#include <unistd.h>

#define NS STORE_SECOND
#define DRAIN_MS 1000
#define DRAIN_MS_OFTEN 100 /* while a trigger's recording runs, or a request waits */
#define LIVE_INTERVAL (NS - NS / 10)
#define CLOCK_STEP (NS / 2) /* a larger change of the clock ends a window */

struct daemon {
    const struct daemon_settings *settings;
    const struct engine_report *report;
    struct record_live_settings record;
    struct record_threads threads; /* without rights: those of this user */
    struct record_live live;
    struct daemon_samples samples;
    struct daemon_names names;
    struct daemon_history history;
    struct daemon_budget budget;
    struct daemon_triggers triggers;
    struct daemon_watch watch;
    uint32_t rate;         /* of the open counters; requested_rate() follows */
    uint32_t trigger_rate; /* that the kernel allows */
    bool triggered;        /* the open counters are of the recording of a trigger */
    uint64_t marked_from;  /* second in which the trigger's recording began */
    struct daemon_metrics metrics;
    struct daemon_notes notes;
    struct daemon_recent recent;
    uint64_t published;                /* when clients got what is new; monotonic clock */
    struct daemon_recording recording; /* its job uses live.wait */
    struct lepd_server *lepd;          /* or NULL */
    struct daemon_api api;
    struct http_settings http_settings;
    struct http_server *http;         /* or NULL */
    int address;                      /* the file of its address; -1: none */
    struct event_source_report waits; /* of the counters that were open before */
    uint64_t noted_wait;              /* ns: the highest threshold so far */
    uint64_t window_start;            /* ns of the samples' clock */
    uint64_t offset;                  /* from the samples' clock to the time of day */
    uint64_t lost;                    /* when the window began */
    bool stops, restarts, failed;
    bool is_open; /* sampling was opened before */
    struct error err;
};

/* --- Windows ------------------------------------------------------------------------ */

static uint64_t clock_offset(void)
{
    return os_clock_real() - os_clock_monotonic();
}

/* The recording of a trigger runs: its windows are short, so that memory is bounded. */
static bool is_triggered(const struct daemon *d)
{
    return d->triggers.state == TRIGGER_RUNS;
}

/* Windows end at multiples of their length in the time of day. The offset of the clocks varies a
 * little, so `from` may be shortly before such a time: that is the end of the window before. */
static uint64_t next_end(const struct daemon *d, uint64_t from)
{
    uint64_t length = (is_triggered(d) ? 1 : d->settings->window) * NS;
    uint64_t left = length - (from + d->offset) % length;
    return from + left + (left < NS / 4 ? length : 0);
}

/* All samples of a window are before its end: if this process was late, one window has those of
 * several. */
static void extend_window(struct daemon *d)
{
    while (d->samples.until <= daemon_samples_latest(&d->samples))
        d->samples.until = next_end(d, d->samples.until);
}

/* Stores the window that ends at `end`; the next one begins there. */
static void end_window(struct daemon *d, uint64_t end)
{
    struct profile *p;
    struct error err;
    uint64_t lost = record_live_lost(&d->live);
    struct store_window w = {.start = d->window_start + d->offset,
                             .end = end + d->offset,
                             .rate = d->rate,
                             .lost = lost - d->lost};
    uint64_t offset = d->offset;
    d->offset = clock_offset();
    d->window_start = end;
    d->lost = lost;
    if (!daemon_samples_cut(&d->samples, next_end(d, end), offset, &p, &err))
        engine_note(d->report, "samples are lost: %s", err.message);
    extend_window(d);
    w.profile = p;
    daemon_names_stored(&d->names);
    if (p)
        w.names = daemon_names_late(&d->names, &w.name_count);
    w.metrics = daemon_metrics_unstored(&d->metrics, &w.metric_count);
    d->failed = !daemon_history_add(&d->history, &w, &err);
    if (d->failed) {
        d->err = err;
        return;
    }
    daemon_metrics_stored(&d->metrics);
    daemon_recent_publish(&d->recent, NULL, end + offset, end + offset);
    if (p) /* the names are stored with the window */
        daemon_names_forget_late(&d->names);
    if (!is_triggered(d))
        os_return_memory(); /* of the window, and of requests since the last one */
}

static uint32_t requested_rate(const struct daemon *d)
{
    uint32_t often = d->triggers.state != TRIGGER_NONE ? d->trigger_rate : 0;
    return often > d->budget.rate ? often : d->budget.rate;
}

/* Not while a recording on demand runs, whose process uses the wait of the open counters. */
static bool changes_rate(const struct daemon *d)
{
    bool begins =
        d->triggers.state == TRIGGER_REQUESTED; /* also if the rate is the same */
    return (begins || d->rate != requested_rate(d)) &&
           !daemon_recording_is_active(&d->recording);
}

static void check_cost(struct daemon *d)
{
    struct daemon_cost cost = daemon_cost_now();
    if (d->rate == d->budget.rate && d->triggers.state == TRIGGER_NONE)
        daemon_budget_check(&d->budget, &cost);
}

/* --- Triggers ----------------------------------------------------------------------- */

static void note_trigger(struct daemon *d, const char *what)
{
    char name[METRICS_NAME_MAX];
    const struct daemon_threshold *t = &d->settings->triggers.items[d->triggers.which];
    engine_note(d->report, "%s is %.0f %s, above %.0f: %s",
                daemon_threshold_name(t, name, sizeof name), d->triggers.value,
                daemon_threshold_unit(t), t->most, what);
}

/* Marks the seconds of the recording so far. */
static void mark_trigger(struct daemon *d)
{
    char name[METRICS_NAME_MAX];
    const struct daemon_threshold *t = &d->settings->triggers.items[d->triggers.which];
    daemon_metrics_mark(&d->metrics, d->marked_from,
                        daemon_threshold_name(t, name, sizeof name),
                        daemon_threshold_unit(t), (int64_t)(d->triggers.value + 0.5));
}

static void check_triggers(struct daemon *d)
{
    double values[DAEMON_THRESHOLDS_MAX];
    struct daemon_cost cost = daemon_cost_now();
    bool has_room = daemon_budget_has_room(&d->budget, &cost) &&
                    !daemon_recording_is_active(&d->recording);
    daemon_watch_read(&d->watch, &d->metrics.before, values);
    if (daemon_triggers_check(&d->triggers, values, cost.time, has_room))
        note_trigger(d, "it is recorded");
    else if (d->triggers.is_refused)
        note_trigger(d, "it is not recorded now, the budget has no room, or another "
                        "recording runs");
}

static void begin_trigger(struct daemon *d)
{
    struct daemon_cost cost = daemon_cost_now();
    uint32_t most = record_rate_most();
    daemon_triggers_begin(&d->triggers, &cost);
    d->trigger_rate = d->settings->triggers.rate;
    if (d->trigger_rate > most)
        d->trigger_rate = most;
    d->marked_from = os_clock_real() / NS;
}

static void end_trigger(struct daemon *d)
{
    struct daemon_cost cost = daemon_cost_now();
    daemon_triggers_end(&d->triggers, &cost, &d->settings->budget);
    daemon_budget_skip(&d->budget);
}

static void turn_triggers(struct daemon *d, bool is_new)
{
    if (is_triggered(d) && is_new)
        mark_trigger(d);
    if (daemon_triggers_are_over(&d->triggers, os_clock_monotonic()))
        end_trigger(d);
    if (is_new && d->settings->triggers.count)
        check_triggers(d);
}

/* --- The loop ----------------------------------------------------------------------- */

/* The clock was set, or the machine was suspended: earlier samples have the old offset. */
static bool clock_changed(const struct daemon *d)
{
    uint64_t now = clock_offset();
    uint64_t change = now > d->offset ? now - d->offset : d->offset - now;
    return change > CLOCK_STEP && change < UINT64_MAX - CLOCK_STEP;
}

/* Gives the last complete second to LEPD's clients, if any ask for it. */
static void publish(struct daemon *d, uint64_t complete)
{
    uint64_t end = complete < d->samples.until ? complete : d->samples.until;
    if (!d->lepd || end < d->window_start + NS || !lepd_server_needs_samples(d->lepd))
        return;
    struct profile *p = daemon_samples_recent(&d->samples, end - NS, end);
    if (p)
        lepd_server_publish(d->lepd, p);
}

/* Reads the sums of the waits. If there are many, the source samples only longer ones. */
static void check_waits(struct daemon *d)
{
    struct event_source_report r;
    record_chain_report(&d->live.chain, EVENT_SOURCE_long_waits, &r);
    if (!r.active)
        return;
    d->api.waits = d->waits.items + r.items;
    d->api.waited = d->waits.sum + r.sum;
    if (r.threshold > d->noted_wait && d->api.least_wait)
        engine_note(d->report,
                    "there are many waits: those of at least %.2f ms are stored now",
                    (double)r.threshold / 1e6);
    if (r.threshold > d->noted_wait)
        d->noted_wait = r.threshold;
    d->api.least_wait = r.threshold;
}

/* Gives the clients of the HTTP server what is new: once a second, or when a request waits. */
static void publish_live(struct daemon *d, uint64_t complete)
{
    uint64_t now = os_clock_monotonic(), offset = d->offset;
    bool due = now - d->published >= LIVE_INTERVAL;
    if (!d->http)
        return;
    if (daemon_recent_is_needed(&d->recent, complete + offset, due))
        daemon_recent_publish(&d->recent, daemon_samples_so_far(&d->samples, offset),
                              d->window_start + offset, complete + offset);
    if (!due)
        return;
    daemon_api_send(&d->api, d->http);
    d->published = now;
}

/* The clock was set: the window ends after the samples that it has. */
static void end_window_early(struct daemon *d, uint64_t complete)
{
    uint64_t latest = daemon_samples_latest(&d->samples);
    d->samples.until = latest < complete ? complete : latest + 1;
    if (latest < complete)
        end_window(d, complete);
}

static int drain_ms(struct daemon *d)
{
    return is_triggered(d) || (d->http && daemon_recent_is_awaited(&d->recent))
               ? DRAIN_MS_OFTEN
               : DRAIN_MS;
}

static bool turn(void *context, unsigned reasons, int *next)
{
    struct daemon *d = context;
    uint64_t complete = record_live_complete_until(&d->live);
    *next = drain_ms(d);
    turn_triggers(
        d, daemon_metrics_turn(&d->metrics, os_clock_monotonic(), os_clock_real()));
    check_waits(d);
    daemon_samples_name(&d->samples, daemon_names_turn(&d->names, os_clock_monotonic()));
    if (d->triggers.state == TRIGGER_NONE) /* it would use the wait that is closed then */
        daemon_recording_turn(&d->recording, &d->live.wait);
    publish(d, complete);
    publish_live(d, complete);
    if (reasons & OS_WAIT_STOP)
        d->stops = true;
    else if (complete >= d->samples.until) {
        end_window(d, d->samples.until);
        check_cost(d);
    } else if (clock_changed(d) && complete > d->window_start) {
        end_window_early(d, complete);
    }
    d->restarts = daemon_samples_full(&d->samples) || changes_rate(d);
    return !d->stops && !d->restarts;
}

/* The reader ends: all samples so far are in the last window. */
static void on_end(void *context)
{
    struct daemon *d = context;
    if (daemon_samples_has_later(&d->samples))
        end_window(d, d->samples.until);
    d->samples.until = UINT64_MAX;
    d->history.is_last = d->stops;
    end_window(d, os_clock_monotonic());
}

/* --- Sampling ----------------------------------------------------------------------- */

/* Reads one stream, until it is stopped or the reader has grown too large. */
static bool read_stream(struct daemon *d, struct error *err)
{
    struct import_options options = {.resolver = &d->names.seam, .stable_offsets = true};
    struct builder b;
    struct source in = record_live_source(&d->live);
    const struct perf_consumer consumer = daemon_samples_consumer(&d->samples);
    if (!builder_init(&b, BUILD_COUNT))
        return error_memory(err);
    daemon_names_trim(&d->names);
    bool ok = perf_data_replay(&in, &options, &b, &consumer, err);
    source_deinit(&in);
    builder_deinit(&b);
    return ok;
}

static bool open_sampling(struct daemon *d, struct error *err);

static void note_rate(const struct daemon *d)
{
    if (d->triggers.state != TRIGGER_NONE)
        engine_note(d->report, "sampling at %u Hz for %u s", requested_rate(d),
                    d->settings->triggers.seconds);
    else if (d->triggered)
        engine_note(d->report, "sampling at %u Hz again", d->budget.rate);
    else
        engine_note(d->report, "sampling at %u Hz now, not at %u: the budget %s",
                    d->budget.rate, d->rate,
                    d->budget.rate < d->rate ? "does not permit more" : "permits more");
}

/* The rate of a trigger was not possible. */
static bool open_without_trigger(struct daemon *d, struct error *err)
{
    if (!d->triggered)
        return false;
    engine_note(d->report, "nothing is recorded for the trigger: %s", err->message);
    record_live_close(&d->live);
    record_threads_free(&d->threads);
    d->threads = (struct record_threads){0};
    end_trigger(d);
    d->rate = requested_rate(d);
    d->triggered = false;
    return open_sampling(d, err);
}

/* Opens the counters again, for the rate that the budget or a trigger requests. */
static bool change_rate(struct daemon *d, struct error *err)
{
    d->waits.items = d->api.waits;
    d->waits.sum = d->api.waited;
    record_live_close(&d->live);
    record_threads_free(&d->threads);
    d->threads = (struct record_threads){0};
    if (d->triggers.state == TRIGGER_REQUESTED)
        begin_trigger(d);
    note_rate(d);
    d->rate = requested_rate(d);
    d->triggered = is_triggered(d);
    if (!open_sampling(d, err) && !open_without_trigger(d, err))
        return false;
    d->lost = 0;
    d->api.rate = d->rate;
    d->window_start = d->live.began;
    d->samples.until = next_end(d, d->window_start);
    return true;
}

static bool read_streams(struct daemon *d, struct error *err)
{
    for (;;) {
        d->restarts = false;
        if (!read_stream(d, err))
            return false;
        if (d->stops || !d->restarts)
            return true;
        if (changes_rate(d) ? !change_rate(d, err) : !record_live_begin(&d->live, err))
            return false;
    }
}

static void choose_event(struct daemon *d)
{
    struct perf_sampler_settings *sampler = &d->record.sampler;
    struct record_event *e = &sampler->events.items[0];
    *e = record_event_clock(); /* weights are time on every machine */
    sampler->events.count = 1;
    if (!perf_sampler_sees_kernel(e)) {
        record_event_only_user(e);
        if (!d->is_open)
            engine_note(d->report, "kernel code is not sampled: this needs root or the "
                                   "capability CAP_PERFMON");
    }
}

/* A source that was requested and is not possible: the samples go without what it adds. */
static void note_missing(const struct daemon *d, size_t source, bool requested,
                         const char *what)
{
    struct event_source_report r;
    if (!requested || d->is_open)
        return;
    record_chain_report(&d->live.chain, source, &r);
    if (!r.active)
        engine_note(d->report, "%s are not stored: %s%s%s", what, r.unavailable.message,
                    r.unavailable.hint[0] ? "; " : "", r.unavailable.hint);
}

static bool open_everyone(struct daemon *d, struct error *err)
{
    d->record.sampler.targets.everyone = true;
    return record_live_open(&d->live, &d->record, err);
}

/* Without rights: the threads of this user, and what they start. */
static bool open_own(struct daemon *d, struct error *err)
{
    char user[16];
    struct record_targets *targets = &d->record.sampler.targets;
    record_live_close(&d->live);
    format_text(user, sizeof user, "%u", (unsigned)geteuid());
    if (!record_threads_of_user(&d->threads, user, err))
        return false;
    targets->everyone = false;
    d->record.sources.on[EVENT_SOURCE_long_waits] = false; /* they are of all threads */
    targets->tids = d->threads.items;
    targets->tid_count = d->threads.count;
    return record_live_open(&d->live, &d->record, err);
}

static bool open_sampling(struct daemon *d, struct error *err)
{
    struct error first;
    d->record = (struct record_live_settings){
        .sampler = {.stacks = RECORD_STACKS_FP, .rate = d->rate, .command = "daemon"},
        .watched = -1,
        .only_sampled = true,
        .drain_ms = drain_ms(d),
        .idle = turn,
        .idle_context = d};
    d->record.sources.on[EVENT_SOURCE_long_waits] = d->settings->least_wait != 0;
    d->record.sources.least_wait = d->settings->least_wait;
    d->record.sources.on[EVENT_SOURCE_interpreters] = d->settings->interpreters;
    d->record.sources.interpreters_by_kernel = d->settings->interpreters;
    choose_event(d);
    bool ok = open_everyone(d, &first);
    note_missing(d, EVENT_SOURCE_long_waits, d->settings->least_wait != 0, "waits");
    if (!ok) {
        if (!open_own(d, err))
            return false;
        if (!d->is_open)
            engine_note(d->report,
                        "only your own processes are sampled, and what they start: %s",
                        first.message);
    }
    note_missing(d, EVENT_SOURCE_interpreters, d->settings->interpreters,
                 "functions of Python and other interpreters");
    return true;
}

/* --- Running ------------------------------------------------------------------------ */

static bool start_lepd(struct daemon *d, struct error *err)
{
    if (!d->settings->lepd)
        return true;
    d->lepd = lepd_server_start(d->settings->lepd, false, err);
    if (d->lepd)
        engine_note(d->report, "LEPD clients connect to port %u",
                    lepd_server_port(d->lepd));
    return d->lepd != NULL;
}

/* For stoke live, without which the daemon is as good. */
static void write_address(struct daemon *d)
{
    const struct daemon_settings *s = d->settings;
    struct daemon_address a = {.is_encrypted = s->certificate != NULL};
    struct error err;
    if (store_location_is_address(s->store)) /* the file would be beside the store */
        return;
    daemon_address_set(&a, s->listen, http_server_port(d->http));
    format_text(a.token, sizeof a.token, "%s", s->token ? s->token : "");
    d->address = daemon_address_write(&a, s->store, &err);
    if (d->address < 0)
        engine_note(d->report, "stoke live does not find this daemon: %s", err.message);
}

static bool start_http(struct daemon *d, struct error *err)
{
    if (!d->settings->listen)
        return true;
    d->api.store = d->settings->store;
    d->api.metrics = &d->metrics;
    d->api.recent = &d->recent;
    d->api.history = &d->history;
    d->api.recording = &d->recording;
    d->api.notes = &d->notes;
    d->api.has_token = d->settings->token != NULL;
    d->api.rate = d->api.requested_rate = d->settings->rate;
    d->api.budget = d->settings->budget;
    if (!daemon_api_init(&d->api))
        return error_memory(err);
    d->http_settings = (struct http_settings){.address = d->settings->listen,
                                              .token = d->settings->token,
                                              .certificate = d->settings->certificate,
                                              .key = d->settings->key,
                                              .answer = daemon_api_answer,
                                              .context = &d->api};
    d->http = http_server_start(&d->http_settings, err);
    if (!d->http)
        return false;
    engine_note(d->report, "HTTP is served on port %u", http_server_port(d->http));
    write_address(d);
    return true;
}

static bool run(struct daemon *d, struct error *err)
{
    if (!daemon_history_open(&d->history, d->settings->store, err))
        return false;
    if (!open_sampling(d, err))
        return false;
    d->is_open = true;
    engine_note(d->report, "sampling at %u Hz into %s", d->settings->rate,
                d->settings->store);
    if (!start_lepd(d, err) || !start_http(d, err))
        return false;
    d->offset = clock_offset();
    d->window_start = d->live.began;
    d->samples.until = next_end(d, d->window_start);
    if (!read_streams(d, err))
        return false;
    engine_note(d->report, "%llu samples were taken",
                (unsigned long long)d->samples.taken);
    if (d->api.least_wait)
        engine_note(d->report, "%llu waits were sampled, %llu ns",
                    (unsigned long long)d->api.waits, (unsigned long long)d->api.waited);
    if (!d->failed)
        return true;
    *err = d->err;
    return false;
}

bool daemon_run(const struct daemon_settings *settings,
                const struct engine_report *report, struct error *err)
{
    struct daemon *d = calloc(1, sizeof *d);
    if (!d)
        return error_memory(err);
    d->settings = settings;
    d->report = report;
    d->address = -1;
    d->live.wait = (struct os_wait){.epoll = -1, .signals = -1};
    d->history.limits = settings->limits;
    d->rate = settings->rate;
    daemon_budget_init(&d->budget, &settings->budget, d->rate);
    d->history.report = report;
    d->triggers.settings = d->watch.settings = &settings->triggers;
    d->watch.source = &lepd_metrics_source;
    d->watch.page_size = os_page_size();
    d->samples.ended = on_end;
    d->samples.context = d;
    daemon_samples_init(&d->samples);
    daemon_names_init(&d->names);
    bool ok = daemon_metrics_init(&d->metrics) && daemon_recent_init(&d->recent) &&
                      daemon_history_init(&d->history) &&
                      daemon_notes_init(&d->notes, settings->store) &&
                      daemon_recording_init(&d->recording, settings->store)
                  ? run(d, err)
                  : error_memory(err);
    lepd_server_stop(d->lepd);
    http_server_stop(d->http);
    daemon_api_deinit(&d->api);
    daemon_recording_deinit(&d->recording);
    record_live_close(&d->live);
    record_threads_free(&d->threads);
    daemon_samples_deinit(&d->samples);
    daemon_names_deinit(&d->names);
    daemon_metrics_deinit(&d->metrics);
    daemon_recent_deinit(&d->recent);
    daemon_notes_deinit(&d->notes);
    daemon_history_deinit(&d->history);
    daemon_address_remove(settings->store, d->address); /* another one may start now */
    free(d);
    return ok;
}
