/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/api.h"
#include "base/number.h"
#include "codec/encode.h"
#include "codec/json.h"
#include "daemon/metrics_reply.h"
#include "engine/save.h"
#include "export/exporter.h"
#include "lepd/machine.h"
#include "metrics/openmetrics.h"
#include "model/sample_labels.h"
#include "os/machine.h"
#include "store/store.h"
#include "transform/transform.h"

#define STATUS_BAD 400u
#define STATUS_MISSING 404u
#define STATUS_FAILED 500u

#define PROFILE_SECONDS 60  /* of /api/profile without `from` */
#define PPROF_SECONDS 30    /* of /debug/pprof/profile */
#define LABELS_SECONDS 3600 /* of /api/labels */
#define METRIC_SECONDS 600  /* of /api/metrics */
#define SPAN_MAX ((uint64_t)366 * 86400 * STORE_SECOND)

static void fail(struct http_reply *r, unsigned status, const struct error *err)
{
    r->status = status;
    r->type = "text/plain; charset=utf-8";
    r->body.used = 0;
    output_format(&r->body, "%s\n", err->message);
    if (err->hint[0])
        output_format(&r->body, "%s\n", err->hint);
}

/* --- Times -------------------------------------------------------------------------- */

static bool parse_ago(struct str text, uint64_t now, uint64_t *out)
{
    static const char letters[] = "smhd";
    static const uint64_t seconds[] = {1, 60, 3600, 86400};
    uint64_t count;
    if (text.len < 2 || !number_parse_u64(str_head(text, text.len - 1), &count))
        return false;
    const char *letter = strchr(letters, text.ptr[text.len - 1]);
    if (!letter || !*letter || count > SPAN_MAX / STORE_SECOND)
        return false;
    uint64_t ago = count * seconds[letter - letters] * STORE_SECOND;
    *out = ago < now ? now - ago : 0;
    return true;
}

bool daemon_api_time(struct str text, uint64_t now, uint64_t *out)
{
    uint64_t v;
    if (str_starts(text, STR("now")))
        text = str_skip(text, 3);
    else if (number_parse_u64(text, &v)) {
        uint64_t unit = v < 100000000000         ? STORE_SECOND
                        : v < 100000000000000    ? 1000000
                        : v < 100000000000000000 ? 1000
                                                 : 1;
        *out = v * unit;
        return true;
    }
    *out = now;
    return text.len == 0 ||
           (text.ptr[0] == '-' && parse_ago(str_skip(text, 1), now, out));
}

/* Reads `from` and `to`; by default the last `seconds`. */
static bool read_span(const struct http_query *q, uint64_t seconds,
                      struct store_span *span, struct error *err)
{
    const char *from = http_query_argument(q, "from"), *to = http_query_argument(q, "to");
    uint64_t now = os_clock_real();
    span->to = now;
    if (to && !daemon_api_time(str_of(to), now, &span->to))
        return error_set(err, "invalid time '%s'", to);
    span->from = span->to - seconds * STORE_SECOND;
    if (from && !daemon_api_time(str_of(from), now, &span->from))
        return error_set(err, "invalid time '%s'", from);
    if (span->from >= span->to || span->to - span->from > SPAN_MAX)
        return error_set(err, "invalid span: it ends before it begins, or is too long");
    return true;
}

/* --- Profiles ----------------------------------------------------------------------- */

static struct profile *read_profile(const struct daemon_api *api,
                                    const struct store_span *span, bool keep,
                                    struct error *err)
{
    struct builder b;
    struct profile *p = NULL;
    struct store *s = store_open(api->store, STORE_READ, err);
    if (!s)
        return NULL;
    if (!builder_init(&b, keep ? BUILD_KEEP : BUILD_COUNT)) {
        error_memory(err);
    } else {
        if (s->kind->read(s, span, &b, err))
            p = builder_finish(&b, err);
        builder_deinit(&b);
    }
    store_close(s);
    return p;
}

static void add_word(void *context, const char *value)
{
    struct transform_words *w = context;
    if (w->count < TRANSFORM_WORDS_MAX)
        w->items[w->count++] = value;
}

/* Retains the samples with the labels of the request. Takes over p. */
static struct profile *filter(const struct http_query *q, struct profile *p,
                              struct error *err)
{
    struct transform_options o = {0};
    const struct transform *emptied = NULL;
    http_query_each(q, "label", add_word, &o.filter.labels);
    return o.filter.labels.count ? transform_apply(&o, p, &emptied, err) : p;
}

static bool pack(struct output *body, struct error *err)
{
    struct encoder e = {0};
    struct output packed = OUTPUT_BUFFER;
    struct str text = output_contents(body);
    bool ok = encoder_init_gzip(&e, &packed, err);
    if (ok) {
        output_str(&e.output, text);
        ok = encoder_finish(&e) || error_memory(err);
    }
    encoder_deinit(&e);
    if (ok) {
        output_deinit(body);
        *body = packed;
    } else {
        output_deinit(&packed);
    }
    return ok;
}

/* Whether the format is compressed: pprof is by default. */
static bool packs(const struct exporter *e)
{
    return save_packs(e, str_of(e->name));
}

static const char *type_of(const struct exporter *e)
{
    static const char *const types[][2] = {{"svg", "image/svg+xml"},
                                           {"html", "text/html; charset=utf-8"},
                                           {"speedscope", "application/json"},
                                           {"d3", "application/json"},
                                           {"firefox", "application/json"}};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (strcmp(e->name, types[i][0]) == 0)
            return types[i][1];
    return packs(e) ? "application/octet-stream" : "text/plain; charset=utf-8";
}

/* Writes the reply: a profile of the span, or an error. */
static void reply_profile(const struct daemon_api *api, const struct http_query *q,
                          const struct exporter *e, const struct store_span *span,
                          struct http_reply *r)
{
    static const struct export_options options = {.title = {"", 0}};
    struct error err = {.message = ""};
    unsigned status = STATUS_FAILED;
    struct profile *p = read_profile(api, span, e->needs_time, &err);
    if (p && p->sample_count) {
        p = filter(q, p, &err);
        status = p ? STATUS_FAILED : STATUS_BAD; /* an unknown label */
    }
    r->type = type_of(e);
    if (!p || !e->write(p, &options, &r->body, &err) ||
        (packs(e) && !pack(&r->body, &err)))
        fail(r, status, &err);
    profile_destroy(p);
}

static void answer_profile(const struct daemon_api *api, const struct http_query *q,
                           struct http_reply *r)
{
    struct error err = {.message = ""};
    struct store_span span;
    const char *format = http_query_argument(q, "format");
    const struct exporter *e = exporter_named(str_of(format ? format : "pprof"));
    if (!e) {
        error_set(&err, "unknown format '%s'", format);
        error_hint(&err, "stoke help formats");
        fail(r, STATUS_BAD, &err);
    } else if (!read_span(q, PROFILE_SECONDS, &span, &err)) {
        fail(r, STATUS_BAD, &err);
    } else {
        reply_profile(api, q, e, &span, r);
    }
}

/* The last seconds of history, at once: sampling needs no start. */
static void answer_pprof(const struct daemon_api *api, const struct http_query *q,
                         struct http_reply *r)
{
    struct error err = {.message = ""};
    uint64_t seconds = PPROF_SECONDS;
    const char *text = http_query_argument(q, "seconds");
    struct store_span span = {.to = os_clock_real()};
    if (text && (!number_parse_u64(str_of(text), &seconds) || !seconds ||
                 seconds > SPAN_MAX / STORE_SECOND)) {
        error_set(&err, "invalid number of seconds '%s'", text);
        fail(r, STATUS_BAD, &err);
        return;
    }
    span.from = span.to - seconds * STORE_SECOND;
    reply_profile(api, q, exporter_named(STR("pprof")), &span, r);
}

/* --- Labels ------------------------------------------------------------------------- */

/* {"host":["a"],"service":["x","y"]}: labels are in the order of their keys' IDs. */
static void write_labels(const struct profile *p, struct output *o)
{
    struct json_writer w = {.out = o};
    json_begin(&w, JSON_OBJECT);
    for (label_id i = 1; i < p->label_count; i++) {
        bool known = false;
        for (label_id k = 1; k < i && !known; k++)
            known = p->labels[k].key == p->labels[i].key;
        if (known)
            continue;
        output_text(o, w.comma ? "," : "");
        w.comma = false;
        json_put_str(&w, sample_label_key(p, i));
        output_char(o, ':');
        w.comma = false;
        json_begin(&w, JSON_ARRAY);
        for (label_id k = i; k < p->label_count; k++) {
            struct output text = OUTPUT_BUFFER;
            if (p->labels[k].key != p->labels[i].key)
                continue;
            sample_label_write(&text, p, k);
            json_put_str(&w, output_contents(&text));
            output_deinit(&text);
        }
        json_end(&w, JSON_ARRAY);
    }
    json_end(&w, JSON_OBJECT);
}

static void answer_labels(const struct daemon_api *api, const struct http_query *q,
                          struct http_reply *r)
{
    struct error err = {.message = ""};
    struct store_span span;
    struct profile *p = NULL;
    if (!read_span(q, LABELS_SECONDS, &span, &err)) {
        fail(r, STATUS_BAD, &err);
        return;
    }
    p = read_profile(api, &span, false, &err);
    r->type = "application/json";
    if (p)
        write_labels(p, &r->body);
    else
        fail(r, STATUS_FAILED, &err);
    profile_destroy(p);
}

/* --- Metrics ------------------------------------------------------------------------ */

static void add_name(void *context, const char *value)
{
    struct daemon_metric_names *n = context;
    if (n->count < DAEMON_METRIC_NAMES_MAX)
        n->items[n->count++] = str_of(value);
}

static void answer_stored_metrics(const struct daemon_api *api,
                                  const struct http_query *q, struct http_reply *r)
{
    struct error err = {.message = ""};
    struct store_span span;
    struct daemon_metric_names names = {.count = 0};
    if (!read_span(q, METRIC_SECONDS, &span, &err)) {
        fail(r, STATUS_BAD, &err);
        return;
    }
    http_query_each(q, "name", add_name, &names);
    r->type = "application/json";
    if (!daemon_metrics_reply(api->metrics, api->store, &span, &names, &r->body, &err))
        fail(r, STATUS_FAILED, &err);
}

static void put_own(struct output *o)
{
    openmetrics_family(o, "process_cpu_seconds", OPENMETRICS_COUNTER, "seconds",
                       "CPU time of stoke daemon.");
    output_format(o, "process_cpu_seconds_total %f\n", (double)os_own_cpu_time() / 1e9);
    openmetrics_family(o, "process_peak_memory_bytes", OPENMETRICS_GAUGE, "bytes",
                       "Peak resident memory of stoke daemon.");
    output_format(o, "process_peak_memory_bytes %llu\n",
                  (unsigned long long)os_own_peak_bytes());
}

static void answer_metrics(struct http_reply *r)
{
    struct metrics m;
    if (!metrics_read(&m, &lepd_metrics_source, METRICS_SYSTEM, os_clock_monotonic(),
                      os_clock_real()))
        r->body.failed = true;
    openmetrics_write(&r->body, &m);
    put_own(&r->body);
    openmetrics_end(&r->body);
    r->type = OPENMETRICS_TYPE;
    metrics_deinit(&m);
}

void daemon_api_answer(void *context, const struct http_query *q, struct http_reply *r)
{
    const struct daemon_api *api = context;
    struct arena_bound bound = {.most = DAEMON_API_MEMORY}, *before;
    before = arena_count_in(&bound);
    if (str_equal(q->path, STR("/metrics"))) {
        answer_metrics(r);
    } else if (str_equal(q->path, STR("/api/profile"))) {
        answer_profile(api, q, r);
    } else if (str_equal(q->path, STR("/debug/pprof/profile"))) {
        answer_pprof(api, q, r);
    } else if (str_equal(q->path, STR("/api/labels"))) {
        answer_labels(api, q, r);
    } else if (str_equal(q->path, STR("/api/metrics"))) {
        answer_stored_metrics(api, q, r);
    } else {
        r->status = STATUS_MISSING;
        output_text(&r->body, "/metrics, /api/profile, /api/metrics, /api/labels, "
                              "/debug/pprof/profile\n");
    }
    arena_count_in(before);
}
