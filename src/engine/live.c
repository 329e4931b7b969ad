/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/live.h"
#include "engine/package_hint.h"
#include "engine/symbols.h"

#define NS 1e9

/* --- Time -------------------------------------------------------------------------- */

/* All samples up to this time are read. Samples that arrive during a refresh belong to
 * the next refresh, and so does its duration. */
static uint64_t read_up_to(const struct engine_live *l)
{
    uint64_t drained = record_live_complete_until(&l->record);
    return l->samples.last > drained ? l->samples.last : drained;
}

double engine_live_elapsed(const struct engine_live *l)
{
    uint64_t to = read_up_to(l);
    return to > l->last.to ? (double)(to - l->last.to) / NS : 0;
}

/* Samples that are shown lose weight at each refresh, and so does the time that they cover. */
static void update_cpus(struct engine_live *l, double seconds)
{
    const struct perf_sampler_settings *set = &l->settings.record.sampler;
    const struct record_event *e = &set->events.items[0];
    uint32_t rate = e->rate ? e->rate : e->period ? 0 : set->rate;
    double part = l->samples.zero || !l->samples.shown ? 0 : LIVE_SAMPLES_DECAY;
    uint64_t taken = l->samples.taken - (l->samples.with_idle ? 0 : l->samples.idle);
    l->shown_samples = l->shown_samples * part + (double)taken;
    l->shown_seconds = l->shown_seconds * part + seconds;
    l->cpus = rate && l->shown_seconds > 0 && perf_sampler_counts_time(e)
                  ? l->shown_samples / rate / l->shown_seconds
                  : 0;
}

/* When the sampled processes end, the last refresh is early: its samples are added to
 * the samples of the preceding refresh. */
static void update_rate(struct engine_live *l, double delay)
{
    uint64_t to = read_up_to(l);
    struct engine_live_span now = {l->last.to, to > l->last.to ? to : l->last.to,
                                   l->samples.taken};
    bool early = engine_live_elapsed(l) < delay && l->last.from < l->last.to;
    l->rate_samples = now.samples + (early ? l->last.samples : 0);
    l->rate_seconds = (double)(now.to - (early ? l->last.from : now.from)) / NS;
    update_cpus(l, (double)(now.to - now.from) / NS);
    l->last = now;
}

bool engine_live_refresh(struct engine_live *l, double delay, struct error *err)
{
    update_rate(l, delay);
    if (!live_samples_refresh(&l->samples, err))
        return false;
    l->restarts = live_samples_full(&l->samples);
    return true;
}

/* --- Running ----------------------------------------------------------------------- */

/* The source ends when the caller ends the run, and when a new reader must start. */
static bool turn(void *context, unsigned reasons, int *next)
{
    struct engine_live *l = context;
    bool goes_on = l->settings.turn(l->settings.context, reasons, next);
    l->restarts &= goes_on;
    return goes_on && !l->restarts;
}

bool engine_live_open(struct engine_live *l, struct error *err)
{
    l->settings.record.idle = turn;
    l->settings.record.idle_context = l;
    bool ok = record_live_open(&l->record, &l->settings.record, err);
    l->last = (struct engine_live_span){l->record.began, l->record.began, 0};
    return ok;
}

void engine_live_close(struct engine_live *l)
{
    record_live_close(&l->record);
    live_samples_deinit(&l->samples);
}

static bool read_stream(struct engine_live *l, const struct engine_report *report,
                        struct error *err)
{
    struct symbols symbols;
    struct symbol_settings settings = {.no_inline = true, .no_debuginfod = true};
    struct builder b;
    struct source in = record_live_source(&l->record);
    const struct perf_consumer consumer = live_samples_consumer(&l->samples);
    if (!builder_init(&b, BUILD_COUNT))
        return error_memory(err);
    bool ok = symbols_init(&symbols, &settings, false, 0, err);
    if (ok) {
        struct import_options options = {.resolver = &symbols.seam};
        ok = perf_data_replay(&in, &options, &b, &consumer, err);
    }
    if (ok && !l->restarts && l->samples.shown)
        package_hint(&symbols, l->samples.shown, report);
    live_samples_detach(&l->samples);
    symbols_deinit(&symbols);
    source_deinit(&in);
    builder_deinit(&b);
    return ok;
}

bool engine_live_run(struct engine_live *l, const struct engine_report *report,
                     struct error *err)
{
    for (;;) {
        l->restarts = false;
        if (!read_stream(l, report, err))
            return false;
        if (!l->restarts)
            return true;
        l->shown_samples = l->shown_seconds = 0;
        if (!record_live_begin(&l->record, err))
            return false;
    }
}
