/* SPDX-License-Identifier: Apache-2.0 */
/* /metrics, /api/metrics, and the events of /api/live. */
#include "daemon/api_parts.h"
#include "daemon/metrics_reply.h"
#include "lepd/machine.h"
#include "metrics/openmetrics.h"
#include "os/machine.h"

#define METRIC_SECONDS 600   /* of /api/metrics */
#define TRIGGER_SECONDS 3599 /* with steps of a second */

/* --- Metrics ------------------------------------------------------------------------ */

static void add_name(void *context, const char *value)
{
    struct daemon_metric_names *n = context;
    if (n->count < DAEMON_METRIC_NAMES_MAX)
        n->items[n->count++] = str_of(value);
}

void api_series(struct daemon_api *api, const struct http_query *q, struct http_reply *r)
{
    struct error err = {.message = ""};
    struct store_span span;
    struct daemon_metric_names names = {.count = 0};
    if (!api_read_span(q, METRIC_SECONDS, &span, &err)) {
        api_fail(r, STATUS_BAD, &err);
        return;
    }
    http_query_each(q, "name", add_name, &names);
    r->type = "application/json";
    api_share(r, API_SHARED_SHORT);
    if (!daemon_metrics_reply(api->metrics, api->store, &span, &names, &r->body, &err))
        api_fail_read(api, r, STATUS_FAILED, &err);
}

void api_triggers(struct daemon_api *api, const struct http_query *q,
                  struct http_reply *r)
{
    struct error err = {.message = ""};
    struct store_span span;
    if (!api_read_span(q, TRIGGER_SECONDS, &span, &err)) {
        api_fail(r, STATUS_BAD, &err);
        return;
    }
    r->type = "application/json";
    api_share(r, API_SHARED_SHORT);
    if (!daemon_triggers_reply(api->metrics, api->store, &span, &r->body, &err))
        api_fail_read(api, r, STATUS_FAILED, &err);
}

static void put_rate(struct output *o, const struct daemon_api *api)
{
    openmetrics_family(o, "stoke_sampling_rate", OPENMETRICS_GAUGE, "",
                       "Samples per second and CPU.");
    output_format(o, "stoke_sampling_rate %u\n", (unsigned)api->rate);
    openmetrics_family(o, "stoke_sampling_rate_requested", OPENMETRICS_GAUGE, "",
                       "The same without the budget of CPU time and memory.");
    output_format(o, "stoke_sampling_rate_requested %u\n", (unsigned)api->requested_rate);
}

static void put_waits(struct output *o, const struct daemon_api *api)
{
    openmetrics_family(o, "stoke_least_wait_seconds", OPENMETRICS_GAUGE, "seconds",
                       "Shorter waits are not sampled.");
    output_format(o, "stoke_least_wait_seconds %.9f\n", (double)api->least_wait / 1e9);
    openmetrics_family(o, "stoke_waits", OPENMETRICS_COUNTER, "",
                       "Waits that were sampled.");
    output_format(o, "stoke_waits_total %llu\n", (unsigned long long)api->waits);
    openmetrics_family(o, "stoke_waited_seconds", OPENMETRICS_COUNTER, "seconds",
                       "The time of these waits.");
    output_format(o, "stoke_waited_seconds_total %.9f\n", (double)api->waited / 1e9);
}

static void put_own(struct output *o, const struct http_totals *totals)
{
    openmetrics_family(o, "process_cpu_seconds", OPENMETRICS_COUNTER, "seconds",
                       "CPU time of this process.");
    output_format(o, "process_cpu_seconds_total %f\n", (double)os_own_cpu_time() / 1e9);
    openmetrics_family(o, "process_resident_memory_bytes", OPENMETRICS_GAUGE, "bytes",
                       "Resident memory of this process.");
    output_format(o, "process_resident_memory_bytes %llu\n",
                  (unsigned long long)os_own_bytes());
    openmetrics_family(o, "process_peak_memory_bytes", OPENMETRICS_GAUGE, "bytes",
                       "Peak resident memory of this process.");
    output_format(o, "process_peak_memory_bytes %llu\n",
                  (unsigned long long)os_own_peak_bytes());
    openmetrics_family(
        o, "stoke_http_requests", OPENMETRICS_COUNTER, "",
        "Requests that got a new reply, or shared the reply to another request.");
    output_format(o, "stoke_http_requests_total{reply=\"made\"} %llu\n",
                  (unsigned long long)totals->answered);
    output_format(o, "stoke_http_requests_total{reply=\"shared\"} %llu\n",
                  (unsigned long long)totals->shared);
}

/* Faults of the store. */
static void put_store(struct output *o, struct daemon_history *history)
{
    struct daemon_store_state s = {.failing = false};
    if (history)
        daemon_history_state(history, &s);
    openmetrics_family(o, "stoke_store_failing", OPENMETRICS_GAUGE, "",
                       "1 while the store cannot be written.");
    output_format(o, "stoke_store_failing %d\n", s.failing);
    openmetrics_family(o, "stoke_store_pending_windows", OPENMETRICS_GAUGE, "",
                       "Windows in memory that are stored later.");
    output_format(o, "stoke_store_pending_windows %llu\n", (unsigned long long)s.pending);
    openmetrics_family(o, "stoke_store_dropped_windows", OPENMETRICS_COUNTER, "",
                       "Windows that were lost.");
    output_format(o, "stoke_store_dropped_windows_total %llu\n",
                  (unsigned long long)s.dropped);
    openmetrics_family(o, "stoke_store_fixes", OPENMETRICS_COUNTER, "",
                       "How often the store was removed, replaced or damaged.");
    output_format(o, "stoke_store_fixes_total %llu\n", (unsigned long long)s.fixed);
}

void api_metrics(struct daemon_api *api, const struct http_query *q, struct http_reply *r)
{
    struct metrics m;
    if (!metrics_read(&m, &lepd_metrics_source, METRICS_SYSTEM, os_clock_monotonic(),
                      os_clock_real()))
        r->body.failed = true;
    openmetrics_write(&r->body, &m);
    put_own(&r->body, &q->totals);
    if (api->requested_rate)
        put_rate(&r->body, api);
    if (api->least_wait)
        put_waits(&r->body, api);
    put_store(&r->body, api->history);
    if (api->intake)
        api_put_intake(&r->body, api->intake);
    openmetrics_end(&r->body);
    r->type = OPENMETRICS_TYPE;
    metrics_deinit(&m);
}

/* --- Events ------------------------------------------------------------------------- */

static const char *const live_names[] = {"cpu",        "memory",  "swap",    "disk.read",
                                         "disk.write", "net.in",  "net.out", "pressure",
                                         "load",       "threads", "kernel",  "trigger"};

/* "event: metrics", with the values of the span as one line of JSON. */
static bool put_event(struct daemon_api *api, const struct store_span *span,
                      struct output *out)
{
    struct error ignored;
    struct daemon_metric_names names = {.count = 0};
    for (size_t i = 0; i < sizeof live_names / sizeof *live_names; i++)
        names.items[names.count++] = str_of(live_names[i]);
    output_text(out, "event: metrics\ndata: ");
    bool ok = daemon_metrics_reply(api->metrics, api->store, span, &names, out, &ignored);
    output_text(out, "\n\n");
    return ok && !out->failed;
}

/* A reading within a second has the values of the second before. */
void daemon_api_send(struct daemon_api *api, struct http_server *s)
{
    uint64_t second = os_clock_real() / STORE_SECOND;
    struct store_span span = {(second - 3) * STORE_SECOND, (second + 1) * STORE_SECOND};
    struct output event = OUTPUT_BUFFER;
    if (api->sent == second || !http_server_has_streams(s))
        return;
    api->sent = second;
    if (put_event(api, &span, &event))
        http_server_send(s, output_contents(&event));
    output_deinit(&event);
}

void api_live(struct daemon_api *api, const struct http_query *q, struct http_reply *r)
{
    (void)api, (void)q;
    r->type = "text/event-stream";
    r->is_stream = true;
    output_text(&r->body, "retry: 1000\n\n");
}
