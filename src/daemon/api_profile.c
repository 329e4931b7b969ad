/* SPDX-License-Identifier: Apache-2.0 */
/* /api/profile, /debug/pprof/profile, /api/labels and /api/usage. */
#include "analysis/summary.h"
#include "base/number.h"
#include "codec/encode.h"
#include "codec/json.h"
#include "daemon/api_parts.h"
#include "daemon/tenant.h"
#include "engine/demangle.h"
#include "engine/save.h"
#include "export/exporter.h"
#include "model/sample_labels.h"
#include "os/machine.h"
#include "transform/transform.h"

#define PROFILE_SECONDS 60  /* of /api/profile without `from` */
#define PPROF_SECONDS 30    /* of /debug/pprof/profile */
#define LABELS_SECONDS 3600 /* of /api/labels */
#define USAGE_SECONDS 60    /* of /api/usage */
#define SPAN_SECONDS_MAX ((uint64_t)366 * 86400)

/* --- Profiles ----------------------------------------------------------------------- */

/* Adds the samples of the span to the builder: first those that are not stored yet, because
 * they may be stored meanwhile. */
static bool read_samples(const struct daemon_api *api, struct store *s,
                         const struct store_span *span, struct builder *b,
                         struct error *err)
{
    struct store_span stored = *span;
    uint64_t start = UINT64_MAX;
    if (api->recent)
        daemon_recent_read(api->recent, span, b, &start);
    if (start < stored.to)
        stored.to = start;
    return stored.from >= stored.to || s->kind->read(s, &stored, b, err);
}

struct profile *api_read_profile(const struct daemon_api *api,
                                 const struct http_tenant *tenant,
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
        if (read_samples(api, s, span, &b, err))
            p = builder_finish(&b, err);
        builder_deinit(&b);
    }
    store_close(s);
    return tenant ? daemon_tenant_restrict(tenant, p, err) : p;
}

static void add_word(void *context, const char *value)
{
    struct transform_words *w = context;
    if (w->count < TRANSFORM_WORDS_MAX)
        w->items[w->count++] = value;
}

/* Retains the samples with the labels and of the events of the request. Takes over p. */
static struct profile *filter(const struct http_query *q, struct profile *p,
                              struct error *err)
{
    struct transform_options o = {0};
    const struct transform *emptied = NULL;
    http_query_each(q, "label", add_word, &o.filter.labels);
    http_query_each(q, "event", add_word, &o.filter.events);
    return o.filter.labels.count || o.filter.events.count
               ? transform_apply(&o, p, &emptied, err)
               : p;
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
                                           {"stoke", "application/octet-stream"},
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
static void reply_profile(struct daemon_api *api, const struct http_query *q,
                          const struct exporter *e, const struct store_span *span,
                          struct http_reply *r)
{
    static const struct export_options options = {.title = {"", 0}};
    struct error err = {.message = ""};
    unsigned status = STATUS_FAILED;
    struct profile *p = api_read_profile(api, q->tenant, span, e->needs_time, &err);
    if (p && p->sample_count) {
        p = filter(q, p, &err);
        status = p ? STATUS_FAILED : STATUS_BAD; /* an unknown label or event */
    }
    p = demangle_names(p, DEMANGLE_SIMPLE, &err); /* the store has the symbols' names */
    r->type = type_of(e);
    api_share(r, API_SHARED_SHORT);
    if (!p || !e->write(p, &options, &r->body, &err) ||
        (packs(e) && !pack(&r->body, &err)))
        api_fail_read(api, r, status, &err);
    profile_destroy(p);
}

void api_profile(struct daemon_api *api, const struct http_query *q, struct http_reply *r)
{
    struct error err = {.message = ""};
    struct store_span span;
    const char *format = http_query_argument(q, "format");
    const struct exporter *e = exporter_named(str_of(format ? format : "pprof"));
    if (!e) {
        error_set(&err, "unknown format '%s'", format);
        error_hint(&err, "stoke help formats");
        api_fail(r, STATUS_BAD, &err);
    } else if (!api_read_span(q, PROFILE_SECONDS, &span, &err)) {
        api_fail(r, STATUS_BAD, &err);
    } else {
        reply_profile(api, q, e, &span, r);
    }
}

/* The last seconds of history, immediately: sampling needs no start. */
void api_pprof(struct daemon_api *api, const struct http_query *q, struct http_reply *r)
{
    struct error err = {.message = ""};
    uint64_t seconds = PPROF_SECONDS;
    const char *text = http_query_argument(q, "seconds");
    struct store_span span = {.to = os_clock_real()};
    if (text && (!number_parse_u64(str_of(text), &seconds) || !seconds ||
                 seconds > SPAN_SECONDS_MAX)) {
        error_set(&err, "invalid number of seconds '%s'", text);
        api_fail(r, STATUS_BAD, &err);
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

void api_labels(struct daemon_api *api, const struct http_query *q, struct http_reply *r)
{
    struct error err = {.message = ""};
    struct store_span span;
    struct profile *p = NULL;
    if (!api_read_span(q, LABELS_SECONDS, &span, &err)) {
        api_fail(r, STATUS_BAD, &err);
        return;
    }
    p = api_read_profile(api, q->tenant, &span, false, &err);
    r->type = "application/json";
    api_share(r, API_SHARED_SHORT);
    if (p)
        write_labels(p, &r->body);
    else
        api_fail_read(api, r, STATUS_FAILED, &err);
    profile_destroy(p);
}

/* --- Usage -------------------------------------------------------------------------- */

/* The CPU time by the values of a label, in ms, the most first. */
static void write_usage_by(struct json_writer *w, const struct profile *p,
                           const struct summary *sum, const char *key)
{
    struct output text = OUTPUT_BUFFER;
    json_put_key(w, key);
    json_begin(w, JSON_OBJECT);
    for (size_t i = 0; i < sum->label_count; i++) {
        label_id id = sum->label_order[i];
        if (!str_equal(sample_label_key(p, id), str_of(key)))
            continue;
        text.used = 0;
        sample_label_write(&text, p, id);
        output_char(&text, '\0');
        json_member_double(w, text.failed ? "" : text.bytes,
                           sum->labels[id].weight / 1e6);
    }
    json_end(w, JSON_OBJECT);
    w->out->failed |= text.failed;
    output_deinit(&text);
}

/* {"process":{"sh":1200.5},"service":{...},"container":{...}} */
static bool write_usage(const struct profile *p, struct output *o, struct error *err)
{
    static const char *const keys[] = {"process", "service", "container"};
    struct json_writer w = {.out = o};
    struct summary sum;
    if (!summary_init(&sum, p, err))
        return false;
    bool timed = p->event_count > 1 && p->events[sum.event].unit == UNIT_NANOSECONDS;
    json_begin(&w, JSON_OBJECT);
    for (size_t i = 0; timed && i < sizeof keys / sizeof *keys; i++)
        write_usage_by(&w, p, &sum, keys[i]);
    json_end(&w, JSON_OBJECT);
    summary_deinit(&sum);
    return true;
}

void api_usage(struct daemon_api *api, const struct http_query *q, struct http_reply *r)
{
    struct error err = {.message = ""};
    struct store_span span;
    if (!api_read_span(q, USAGE_SECONDS, &span, &err)) {
        api_fail(r, STATUS_BAD, &err);
        return;
    }
    struct profile *p = api_read_profile(api, q->tenant, &span, false, &err);
    r->type = "application/json";
    api_share(r, API_SHARED_SHORT);
    if (!p || !write_usage(p, &r->body, &err))
        api_fail_read(api, r, STATUS_FAILED, &err);
    profile_destroy(p);
}
