/* SPDX-License-Identifier: Apache-2.0 */
/* The read side of Pyroscope, so that its clients show this history: the Connect calls of
 * querier.v1.QuerierService, and /pyroscope/render. */
#include "base/number.h"
#include "base/sort.h"
#include "codec/json.h"
#include "codec/protobuf.h"
#include "daemon/api_parts.h"
#include "daemon/flame_levels.h"
#include "daemon/profile_types.h"
#include "daemon/pyroscope.h"
#include "daemon/selector.h"
#include "export/exporter.h"
#include "model/sample_labels.h"
#include "os/machine.h"
#include <stdlib.h>

#define MS 1000000
#define DEFAULT_MS ((uint64_t)3600 * 1000)
#define SPAN_MS_MAX ((uint64_t)366 * 86400 * 1000)
#define NODES_DEFAULT 8192
#define STEPS_MAX 12000
#define SERIES_MAX 1000

/* A call: its request and where its reply goes. */
struct call {
    struct daemon_api *api;
    const struct http_tenant *tenant; /* or NULL */
    struct pyroscope_request request;
    struct http_reply *reply;
    bool json;
    struct json_writer json_writer;
    struct arena arena;
};

/* --- Replies of Connect --------------------------------------------------------------- */

static void fail_call(struct http_reply *r, unsigned status, const char *code,
                      const struct error *err)
{
    struct json_writer w = {.out = &r->body};
    r->body.used = 0;
    r->status = status;
    r->type = "application/json";
    json_begin(&w, JSON_OBJECT);
    json_member_str(&w, "code", str_of(code));
    json_member_str(&w, "message", str_of(err->message));
    json_end(&w, JSON_OBJECT);
}

/* The request is invalid, or the store cannot be read. */
static void fail_answer(const struct daemon_api *api, struct http_reply *r,
                        const struct error *err)
{
    struct error why;
    if (api_store_is_absent(api, &why))
        fail_call(r, STATUS_UNAVAILABLE, "unavailable", &why);
    else
        fail_call(r, STATUS_BAD, "invalid_argument", err);
}

/* A list of texts: {"names":[...]} */
static void put_names(struct call *c, const struct str *names, size_t count)
{
    struct output *o = &c->reply->body;
    struct json_writer w = {.out = o};
    if (!c->json) {
        for (size_t i = 0; i < count; i++)
            proto_put_str(o, 1, names[i]);
        return;
    }
    json_begin(&w, JSON_OBJECT);
    json_put_key(&w, "names");
    json_begin(&w, JSON_ARRAY);
    for (size_t i = 0; i < count; i++)
        json_put_str(&w, names[i]);
    json_end(&w, JSON_ARRAY);
    json_end(&w, JSON_OBJECT);
}

/* Numbers of 64 bits are texts in the JSON of protocol buffers. */
static void put_number(struct json_writer *w, int64_t v)
{
    char text[32];
    size_t n = format_text(text, sizeof text, "%lld", (long long)v);
    json_put_str(w, (struct str){text, n});
}

/* --- Samples -------------------------------------------------------------------------- */

static bool span_of(const struct pyroscope_request *r, struct store_span *span,
                    struct error *err)
{
    uint64_t now = os_clock_real() / MS;
    uint64_t end = r->end ? r->end : now, start = r->start;
    if (!start)
        start = end > DEFAULT_MS ? end - DEFAULT_MS : 0;
    if (start >= end || end - start > SPAN_MS_MAX || end > UINT64_MAX / MS)
        return error_set(err, "invalid span");
    *span = (struct store_span){start * MS, end * MS};
    return true;
}

/* Five names with colons between them. */
static bool is_type(struct str type)
{
    size_t colons = 0;
    for (size_t i = 0; i < type.len; i++)
        colons += type.ptr[i] == ':';
    return colons == 4 && type.len < PROFILE_TYPE_SIZE;
}

/* The samples that the request selects; the caller destroys them. */
static struct profile *select_samples(struct call *c, bool keep, struct error *err)
{
    const struct pyroscope_request *r = &c->request;
    struct selector selector = {.arena = &c->arena};
    struct store_span span = {0, 0};
    struct profile *p = NULL;
    if (r->type.len && !is_type(r->type)) {
        error_set(err, "invalid profile type '%.*s'", STR_ARG(str_head(r->type, 100)));
        return NULL;
    }
    for (size_t i = 0; i < r->selector_count; i++)
        if (!selector_add(&selector, r->selectors[i], err))
            return NULL;
    if (!span_of(r, &span, err))
        return NULL;
    p = api_read_profile(c->api, c->tenant, &span, keep, err);
    if (p && !(selector_apply(&selector, p) &&
               (!r->type.len || profile_type_retain(p, r->type)))) {
        error_memory(err);
        profile_destroy(p);
        return NULL;
    }
    return p;
}

/* --- Types and labels ----------------------------------------------------------------- */

#define TYPES_MAX 256

/* The profile types of the span; a daemon that samples has one. */
static struct profile_type *find_types(struct call *c, size_t *count, struct error *err)
{
    struct profile_type *types = arena_zalloc(&c->arena, TYPES_MAX, sizeof *types);
    struct profile *p;
    *count = 0;
    if (!types) {
        error_memory(err);
        return NULL;
    }
    profile_type_cpu(&types[(*count)++]);
    if (c->api->recording)
        return types;
    p = select_samples(c, false, err);
    if (!p)
        return NULL;
    for (event_id e = 1; e < p->event_count && *count < TYPES_MAX; e++) {
        struct profile_type *type = &types[*count];
        bool known = false;
        profile_type_of(p, e, type);
        for (size_t i = 0; i < *count && !known; i++)
            known = strcmp(types[i].id, type->id) == 0;
        *count += !known;
    }
    for (size_t i = 1; i < *count; i++) { /* the profile's texts end here */
        types[i].name = arena_str(&c->arena, types[i].name);
        types[i].sample = arena_str(&c->arena, types[i].sample);
        types[i].period = arena_str(&c->arena, types[i].period);
    }
    profile_destroy(p);
    return types;
}

static void put_type(struct call *c, const struct profile_type *t, struct json_writer *w)
{
    const struct {
        uint32_t field;
        const char *key;
        struct str value;
    } members[] = {{1, "ID", str_of(t->id)},     {2, "name", t->name},
                   {4, "sampleType", t->sample}, {5, "sampleUnit", t->unit},
                   {6, "periodType", t->period}, {7, "periodUnit", t->period_unit}};
    struct output type = OUTPUT_BUFFER;
    if (c->json)
        json_begin(w, JSON_OBJECT);
    for (size_t i = 0; i < sizeof members / sizeof *members; i++)
        if (c->json)
            json_member_str(w, members[i].key, members[i].value);
        else
            proto_put_str(&type, members[i].field, members[i].value);
    if (c->json)
        json_end(w, JSON_OBJECT);
    else
        proto_put_bytes(&c->reply->body, 1, output_contents(&type));
    output_deinit(&type);
}

static bool answer_types(struct call *c, struct error *err)
{
    struct json_writer w = {.out = &c->reply->body};
    size_t count;
    struct profile_type *types = find_types(c, &count, err);
    if (!types)
        return false;
    if (c->json) {
        json_begin(&w, JSON_OBJECT);
        json_put_key(&w, "profileTypes");
        json_begin(&w, JSON_ARRAY);
    }
    for (size_t i = 0; i < count; i++)
        put_type(c, &types[i], &w);
    if (c->json) {
        json_end(&w, JSON_ARRAY);
        json_end(&w, JSON_OBJECT);
    }
    return true;
}

/* The values of the label for types, of which each name may occur several times. */
static bool answer_type_values(struct call *c, bool by_name, struct error *err)
{
    size_t count, used = 0;
    struct profile_type *types = find_types(c, &count, err);
    struct str *values = types ? arena_zalloc(&c->arena, count, sizeof *values) : NULL;
    for (size_t i = 0; values && i < count; i++) {
        struct str value = by_name ? types[i].name : str_of(types[i].id);
        bool known = false;
        for (size_t k = 0; k < used && !known; k++)
            known = str_equal(values[k], value);
        values[used] = value;
        used += !known;
    }
    if (values)
        put_names(c, values, used);
    return values || (types && error_memory(err));
}

static const char *const extra_names[] = {"service_name", "__profile_type__", "__name__"};
#define EXTRA_NAMES (sizeof extra_names / sizeof *extra_names)

static bool answer_label_names(struct call *c, struct error *err)
{
    struct profile *p = select_samples(c, false, err);
    if (!p)
        return false;
    size_t count = 0;
    struct str *names =
        arena_zalloc(&c->arena, p->label_count + EXTRA_NAMES, sizeof *names);
    for (size_t i = 0; names && i < EXTRA_NAMES; i++)
        names[count++] = str_of(extra_names[i]);
    for (label_id i = 1; names && i < p->label_count; i++) {
        bool known = false;
        for (size_t k = 0; k < count && !known; k++)
            known = str_equal(names[k], sample_label_key(p, i));
        if (!known)
            names[count++] = sample_label_key(p, i);
    }
    if (names)
        put_names(c, names, count);
    profile_destroy(p);
    return names || error_memory(err);
}

static int compare(const void *a, const void *b)
{
    const struct str *x = a, *y = b;
    int order = memcmp(x->ptr, y->ptr, x->len < y->len ? x->len : y->len);
    return order ? order : (x->len > y->len) - (x->len < y->len);
}

/* The different values of the samples, sorted; empty ones are left out. */
static struct str *distinct_values(struct call *c, const struct profile *p,
                                   struct str key, size_t *count)
{
    struct str *values = selector_values(p, key, &c->arena);
    bool *used = arena_zalloc(&c->arena, p->label_set_count + 1, sizeof *used);
    size_t n = 0, out = 0;
    if (!values || !used)
        return NULL;
    for (size_t i = 0; i < p->sample_count; i++)
        used[profile_labels(p, i)] = true;
    for (size_t i = 0; i < p->label_set_count; i++)
        if (used[i] && values[i].len)
            values[n++] = values[i];
    if (n)
        qsort(values, n, sizeof *values, compare);
    for (size_t i = 0; i < n; i++)
        if (i == 0 || !str_equal(values[i], values[out - 1]))
            values[out++] = values[i];
    *count = out;
    return values;
}

static bool answer_label_values(struct call *c, struct error *err)
{
    bool by_name = str_equal(c->request.name, STR("__name__"));
    if (by_name || str_equal(c->request.name, STR("__profile_type__")))
        return answer_type_values(c, by_name, err);
    struct profile *p = select_samples(c, false, err);
    size_t count = 0;
    if (!p)
        return false;
    struct str *values = distinct_values(c, p, c->request.name, &count);
    if (values)
        put_names(c, values, count);
    profile_destroy(p);
    return values || error_memory(err);
}

/* --- Flame graphs --------------------------------------------------------------------- */

static void put_flame_proto(const struct flame_levels *f, struct output *o)
{
    struct output graph = OUTPUT_BUFFER;
    for (size_t i = 0; i < f->name_count; i++)
        proto_put_str(&graph, 1, f->names[i]);
    for (size_t i = 0; i < f->level_count; i++) {
        struct output level = OUTPUT_BUFFER, values = OUTPUT_BUFFER;
        for (size_t k = 0; k < f->levels[i].count; k++)
            proto_put_varint(&values, (uint64_t)f->levels[i].values[k]);
        proto_put_bytes(&level, 1, output_contents(&values));
        proto_put_bytes(&graph, 2, output_contents(&level));
        output_deinit(&values);
        output_deinit(&level);
    }
    proto_put_u64(&graph, 3, (uint64_t)f->total);
    proto_put_u64(&graph, 4, (uint64_t)f->self_max);
    proto_put_bytes(o, 1, output_contents(&graph));
    o->failed |= graph.failed;
    output_deinit(&graph);
}

static void put_flame_names(const struct flame_levels *f, struct json_writer *w)
{
    json_put_key(w, "names");
    json_begin(w, JSON_ARRAY);
    for (size_t i = 0; i < f->name_count; i++)
        json_put_str(w, f->names[i]);
    json_end(w, JSON_ARRAY);
}

static void put_flame_json(const struct flame_levels *f, struct output *o)
{
    struct json_writer w = {.out = o};
    json_begin(&w, JSON_OBJECT);
    json_put_key(&w, "flamegraph");
    json_begin(&w, JSON_OBJECT);
    put_flame_names(f, &w);
    json_put_key(&w, "levels");
    json_begin(&w, JSON_ARRAY);
    for (size_t i = 0; i < f->level_count; i++) {
        json_begin(&w, JSON_OBJECT);
        json_put_key(&w, "values");
        json_begin(&w, JSON_ARRAY);
        for (size_t k = 0; k < f->levels[i].count; k++)
            put_number(&w, f->levels[i].values[k]);
        json_end(&w, JSON_ARRAY);
        json_end(&w, JSON_OBJECT);
    }
    json_end(&w, JSON_ARRAY);
    json_put_key(&w, "total");
    put_number(&w, f->total);
    json_put_key(&w, "maxSelf");
    put_number(&w, f->self_max);
    json_end(&w, JSON_OBJECT);
    json_end(&w, JSON_OBJECT);
}

static bool answer_stacktraces(struct call *c, struct error *err)
{
    struct profile *p = select_samples(c, false, err);
    struct flame_levels f;
    if (!p)
        return false;
    bool ok = flame_levels_init(&f, p,
                                c->request.nodes ? c->request.nodes : NODES_DEFAULT, err);
    if (ok && c->json)
        put_flame_json(&f, &c->reply->body);
    else if (ok)
        put_flame_proto(&f, &c->reply->body);
    flame_levels_deinit(&f);
    profile_destroy(p);
    return ok;
}

/* The message google.v1.Profile is pprof's. */
static bool answer_profile(struct call *c, struct error *err)
{
    static const struct export_options options = {.title = {"", 0}};
    if (c->json)
        return error_set(err, "this call needs protocol buffers");
    struct profile *p = select_samples(c, false, err);
    bool ok = p && exporter_named(STR("pprof"))->write(p, &options, &c->reply->body, err);
    profile_destroy(p);
    return ok;
}

/* --- Series --------------------------------------------------------------------------- */

struct series {
    label_set_id set; /* one of its sets: the values of its labels */
    double total;
    double *values; /* by step */
};

struct series_list {
    const struct profile *profile;
    struct str *values[PYROSCOPE_LIST_MAX]; /* by group and label set */
    size_t groups;
    struct series *items;
    size_t count;
    uint32_t *of_set;     /* index + 1 */
    uint64_t start, step; /* ns */
    size_t steps;
};

static bool is_same_series(const struct series_list *l, label_set_id a, label_set_id b)
{
    for (size_t g = 0; g < l->groups; g++)
        if (!str_equal(l->values[g][a], l->values[g][b]))
            return false;
    return true;
}

/* NULL: too many, or if out of memory. */
static struct series *series_of(struct series_list *l, label_set_id set, struct arena *a)
{
    if (l->of_set[set])
        return &l->items[l->of_set[set] - 1];
    for (size_t i = 0; i < l->count; i++)
        if (is_same_series(l, l->items[i].set, set)) {
            l->of_set[set] = (uint32_t)i + 1;
            return &l->items[i];
        }
    if (l->count == SERIES_MAX)
        return NULL;
    struct series *s = &l->items[l->count];
    *s = (struct series){.set = set, .values = arena_zalloc(a, l->steps, sizeof(double))};
    if (!s->values)
        return NULL;
    l->of_set[set] = (uint32_t)++l->count;
    return s;
}

static void sum_series(struct series_list *l, struct arena *a)
{
    const struct profile *p = l->profile;
    for (size_t i = 0; i < p->sample_count; i++) {
        const struct sample *sample = &p->samples[i];
        struct series *s = series_of(l, profile_labels(p, i), a);
        uint64_t at = (sample->time - l->start) / l->step;
        if (!s || sample->time < l->start || at >= l->steps)
            continue;
        s->values[at] += sample->weight;
        s->total += sample->weight;
    }
}

static int larger_first(const void *a, const void *b)
{
    const struct series *x = a, *y = b;
    return (x->total < y->total) - (x->total > y->total);
}

static void put_point_proto(struct output *o, double value, uint64_t ms)
{
    struct output point = OUTPUT_BUFFER;
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    output_char(&point, 1 << 3 | 1); /* field 1, 64 bits */
    for (int i = 0; i < 8; i++)
        output_char(&point, (char)(bits >> 8 * i));
    proto_put_u64(&point, 2, ms);
    proto_put_bytes(o, 2, output_contents(&point));
    output_deinit(&point);
}

static void put_series_proto(const struct series_list *l, const struct series *s,
                             const struct str *keys, struct output *o)
{
    struct output one = OUTPUT_BUFFER;
    for (size_t g = 0; g < l->groups; g++) {
        struct output pair = OUTPUT_BUFFER;
        proto_put_str(&pair, 1, keys[g]);
        proto_put_str(&pair, 2, l->values[g][s->set]);
        proto_put_bytes(&one, 1, output_contents(&pair));
        output_deinit(&pair);
    }
    for (size_t i = 0; i < l->steps; i++)
        put_point_proto(&one, s->values[i], (l->start + i * l->step) / MS);
    proto_put_bytes(o, 1, output_contents(&one));
    o->failed |= one.failed;
    output_deinit(&one);
}

static void put_series_json(const struct series_list *l, const struct series *s,
                            const struct str *keys, struct json_writer *w)
{
    json_begin(w, JSON_OBJECT);
    json_put_key(w, "labels");
    json_begin(w, JSON_ARRAY);
    for (size_t g = 0; g < l->groups; g++) {
        json_begin(w, JSON_OBJECT);
        json_member_str(w, "name", keys[g]);
        json_member_str(w, "value", l->values[g][s->set]);
        json_end(w, JSON_OBJECT);
    }
    json_end(w, JSON_ARRAY);
    json_put_key(w, "points");
    json_begin(w, JSON_ARRAY);
    for (size_t i = 0; i < l->steps; i++) {
        json_begin(w, JSON_OBJECT);
        json_member_double(w, "value", s->values[i]);
        json_put_key(w, "timestamp");
        put_number(w, (int64_t)((l->start + i * l->step) / MS));
        json_end(w, JSON_OBJECT);
    }
    json_end(w, JSON_ARRAY);
    json_end(w, JSON_OBJECT);
}

static void put_series(struct call *c, const struct series_list *l)
{
    struct json_writer w = {.out = &c->reply->body};
    size_t limit = c->request.limit && c->request.limit < l->count
                       ? (size_t)c->request.limit
                       : l->count;
    if (c->json) {
        json_begin(&w, JSON_OBJECT);
        json_put_key(&w, "series");
        json_begin(&w, JSON_ARRAY);
    }
    for (size_t i = 0; i < limit; i++)
        if (c->json)
            put_series_json(l, &l->items[i], c->request.groups, &w);
        else
            put_series_proto(l, &l->items[i], c->request.groups, &c->reply->body);
    if (c->json) {
        json_end(&w, JSON_ARRAY);
        json_end(&w, JSON_OBJECT);
    }
}

static bool choose_steps(const struct pyroscope_request *r, struct series_list *l,
                         struct error *err)
{
    struct store_span span = {0, 0};
    if (!span_of(r, &span, err))
        return false;
    double step = r->step >= 1 ? r->step : 15;
    if (step > 366.0 * 86400)
        return error_set(err, "invalid step");
    l->start = span.from;
    l->step = (uint64_t)(step * 1e9);
    uint64_t steps = (span.to - span.from + l->step - 1) / l->step;
    if (steps > STEPS_MAX)
        return error_set(err, "more than %d steps", STEPS_MAX);
    l->steps = (size_t)steps;
    return true;
}

static bool answer_series(struct call *c, struct error *err)
{
    struct series_list l = {.groups = c->request.group_count, .step = 1};
    if (!choose_steps(&c->request, &l, err))
        return false;
    struct profile *p = select_samples(c, true, err);
    if (!p)
        return false;
    l.profile = p;
    l.items = arena_zalloc(&c->arena, SERIES_MAX, sizeof *l.items);
    l.of_set = arena_zalloc(&c->arena, p->label_set_count + 1, sizeof *l.of_set);
    for (size_t g = 0; g < l.groups; g++)
        l.values[g] = selector_values(p, c->request.groups[g], &c->arena);
    if (!c->arena.failed) {
        sum_series(&l, &c->arena);
        if (l.count)
            qsort(l.items, l.count, sizeof *l.items, larger_first);
        put_series(c, &l);
    }
    profile_destroy(p);
    return !c->arena.failed || error_memory(err);
}

/* The different sets of the requested labels. */
static bool answer_label_sets(struct call *c, struct error *err)
{
    struct profile *p = select_samples(c, false, err);
    struct json_writer w = {.out = &c->reply->body};
    size_t count = 0;
    if (!p)
        return false;
    struct str key = c->request.group_count ? c->request.groups[0] : STR("service_name");
    struct str *values = distinct_values(c, p, key, &count);
    if (c->json) {
        json_begin(&w, JSON_OBJECT);
        json_put_key(&w, "labelsSet");
        json_begin(&w, JSON_ARRAY);
    }
    for (size_t i = 0; values && i < count; i++) {
        struct output pair = OUTPUT_BUFFER, set = OUTPUT_BUFFER;
        proto_put_str(&pair, 1, key);
        proto_put_str(&pair, 2, values[i]);
        proto_put_bytes(&set, 1, output_contents(&pair));
        if (c->json) {
            json_begin(&w, JSON_OBJECT);
            json_put_key(&w, "labels");
            json_begin(&w, JSON_ARRAY);
            json_begin(&w, JSON_OBJECT);
            json_member_str(&w, "name", key);
            json_member_str(&w, "value", values[i]);
            json_end(&w, JSON_OBJECT);
            json_end(&w, JSON_ARRAY);
            json_end(&w, JSON_OBJECT);
        } else {
            proto_put_bytes(&c->reply->body, 2, output_contents(&set));
        }
        output_deinit(&pair);
        output_deinit(&set);
    }
    if (c->json) {
        json_end(&w, JSON_ARRAY);
        json_end(&w, JSON_OBJECT);
    }
    profile_destroy(p);
    return values || error_memory(err);
}

/* The times of all samples are not for a tenant: it gets the present. */
static bool read_stats(const struct call *c, struct store_usage *u, struct error *err)
{
    if (c->tenant) {
        *u = (struct store_usage){.samples = 1, .last = os_clock_real()};
        return true;
    }
    struct store *s = store_open(c->api->store, STORE_READ, err);
    bool ok = s && s->kind->usage(s, u, err);
    store_close(s);
    return ok;
}

static bool answer_stats(struct call *c, struct error *err)
{
    struct store_usage u = {0};
    struct output *o = &c->reply->body;
    struct json_writer w = {.out = o};
    bool ok = read_stats(c, &u, err);
    if (ok && c->json) {
        json_begin(&w, JSON_OBJECT);
        json_put_key(&w, "dataIngested");
        json_put_bool(&w, u.samples > 0);
        json_put_key(&w, "oldestProfileTime");
        put_number(&w, (int64_t)(u.first / MS));
        json_put_key(&w, "newestProfileTime");
        put_number(&w, (int64_t)(u.last / MS));
        json_end(&w, JSON_OBJECT);
    } else if (ok) {
        proto_put_u64(o, 1, u.samples > 0);
        proto_put_u64(o, 2, u.first / MS);
        proto_put_u64(o, 3, u.last / MS);
    }
    return ok;
}

/* --- Calls ---------------------------------------------------------------------------- */

static bool (*const answers[PYROSCOPE_METHODS])(struct call *, struct error *) = {
    [PYROSCOPE_PROFILE_TYPES] = answer_types,
    [PYROSCOPE_LABEL_NAMES] = answer_label_names,
    [PYROSCOPE_LABEL_VALUES] = answer_label_values,
    [PYROSCOPE_SERIES] = answer_label_sets,
    [PYROSCOPE_SELECT_SERIES] = answer_series,
    [PYROSCOPE_SELECT_MERGE_STACKTRACES] = answer_stacktraces,
    [PYROSCOPE_SELECT_MERGE_PROFILE] = answer_profile,
    [PYROSCOPE_GET_PROFILE_STATS] = answer_stats,
};

void api_querier(struct daemon_api *api, const struct http_query *q, struct http_reply *r)
{
    struct error err = {.message = ""};
    struct str rest = q->path;
    str_cut(&rest, '/');
    str_cut(&rest, '/');
    enum pyroscope_method method = pyroscope_method(rest);
    struct call c = {.api = api, .tenant = q->tenant, .reply = r};
    c.json =
        str_starts(str_of(http_query_field(q, "Content-Type")), STR("application/json"));
    r->type = c.json ? "application/json" : "application/proto";
    if (method == PYROSCOPE_METHODS) {
        error_set(&err, "this method is not supported");
        fail_call(r, STATUS_UNSUPPORTED, "unimplemented", &err);
        return;
    }
    bool read = pyroscope_request_read(&c.request, method, q->body, c.json, &err);
    if (!read)
        fail_call(r, STATUS_BAD, "invalid_argument", &err);
    else if (!answers[method](&c, &err))
        fail_answer(api, r, &err);
    pyroscope_request_deinit(&c.request);
    arena_deinit(&c.arena);
}

/* --- /pyroscope/render ---------------------------------------------------------------- */

static void put_render(const struct flame_levels *f, const struct store_span *span,
                       double rate, struct str type, struct output *o)
{
    struct str rest = type, unit = STR("");
    for (int i = 0; i < 3; i++)
        unit = str_cut(&rest, ':');
    struct json_writer w = {.out = o};
    json_begin(&w, JSON_OBJECT);
    json_member_u64(&w, "version", 1);
    json_put_key(&w, "flamebearer");
    json_begin(&w, JSON_OBJECT);
    put_flame_names(f, &w);
    json_put_key(&w, "levels");
    json_begin(&w, JSON_ARRAY);
    for (size_t i = 0; i < f->level_count; i++) {
        json_begin(&w, JSON_ARRAY);
        for (size_t k = 0; k < f->levels[i].count; k++)
            json_put_double(&w, (double)f->levels[i].values[k]);
        json_end(&w, JSON_ARRAY);
    }
    json_end(&w, JSON_ARRAY);
    json_member_double(&w, "numTicks", (double)f->total);
    json_member_double(&w, "maxSelf", (double)f->self_max);
    json_end(&w, JSON_OBJECT);
    json_put_key(&w, "metadata");
    json_begin(&w, JSON_OBJECT);
    json_member_str(&w, "format", STR("single"));
    json_member_str(&w, "spyName", STR("stoke"));
    json_member_double(&w, "sampleRate", rate);
    json_member_str(&w, "units", unit);
    json_member_str(&w, "name", type);
    json_end(&w, JSON_OBJECT);
    json_put_key(&w, "timeline");
    json_begin(&w, JSON_OBJECT);
    json_member_u64(&w, "startTime", span->from / STORE_SECOND);
    json_put_key(&w, "samples");
    json_begin(&w, JSON_ARRAY);
    json_put_double(&w, (double)f->total);
    json_end(&w, JSON_ARRAY);
    json_member_u64(&w, "durationDelta", (span->to - span->from) / STORE_SECOND);
    json_end(&w, JSON_OBJECT);
    json_end(&w, JSON_OBJECT);
}

static bool render(struct call *c, const struct http_query *q, struct error *err)
{
    const char *query = http_query_argument(q, "query"), *nodes;
    struct store_span span = {0, 0};
    uint64_t most = 1024;
    struct flame_levels f;
    if (!api_read_span_to(q, "until", DEFAULT_MS / 1000, &span, err))
        return false;
    nodes = http_query_argument(q, "max-nodes");
    nodes = nodes ? nodes : http_query_argument(q, "maxNodes");
    if (nodes && !number_parse_u64(str_of(nodes), &most))
        return error_set(err, "invalid number of nodes");
    c->request.start = span.from / MS;
    c->request.end = span.to / MS;
    if (query) {
        struct str text = str_of(query),
                   type = str_trim(str_head(text, str_find(text, '{')));
        c->request.selectors[c->request.selector_count++] = text;
        c->request.type = is_type(type) ? type : c->request.type;
    }
    struct profile *p = select_samples(c, false, err);
    if (!p)
        return false;
    bool ok = flame_levels_init(&f, p, (size_t)most, err);
    if (ok)
        put_render(&f, &span, p->facts.rate, c->request.type, &c->reply->body);
    flame_levels_deinit(&f);
    profile_destroy(p);
    return ok;
}

void api_render(struct daemon_api *api, const struct http_query *q, struct http_reply *r)
{
    struct error err = {.message = ""};
    struct call c = {.api = api, .tenant = q->tenant, .reply = r, .json = true};
    struct profile_type cpu;
    profile_type_cpu(&cpu);
    c.request.type = str_of(cpu.id);
    r->type = "application/json";
    if (!render(&c, q, &err))
        api_fail_read(api, r, STATUS_BAD, &err);
    arena_deinit(&c.arena);
}
