/* SPDX-License-Identifier: Apache-2.0 */
#include "ingest/pyroscope.h"
#include "base/number.h"
#include "codec/json.h"
#include "ingest/multipart.h"

#define NAME_MAX ((size_t)16 << 10)

/* What the end of an application's name, or `units`, says about the samples. Time is what
 * samples stand for at the rate of the agent. */
static const struct measure {
    const char *end; /* of the name */
    const char *event;
    enum unit unit;
    bool is_sampled;
} measures[] = {
    {"cpu", "cpu", UNIT_NANOSECONDS, true},
    {"itimer", "cpu", UNIT_NANOSECONDS, true},
    {"wall", "wall", UNIT_NANOSECONDS, true},
    {"inuse_objects", "inuse_objects", UNIT_COUNT, false},
    {"inuse_space", "inuse_space", UNIT_BYTES, false},
    {"alloc_objects", "alloc_objects", UNIT_COUNT, false},
    {"alloc_space", "alloc_space", UNIT_BYTES, false},
    {"goroutines", "goroutines", UNIT_COUNT, false},
    {"mutex_count", "mutex_count", UNIT_COUNT, false},
    {"mutex_duration", "mutex_duration", UNIT_NANOSECONDS, false},
    {"block_count", "block_count", UNIT_COUNT, false},
    {"block_duration", "block_duration", UNIT_NANOSECONDS, false},
    {"lock_count", "lock_count", UNIT_COUNT, false},
    {"lock_duration", "lock_duration", UNIT_NANOSECONDS, false},
    {"alloc_in_new_tlab_objects", "alloc_in_new_tlab_objects", UNIT_COUNT, false},
    {"alloc_in_new_tlab_bytes", "alloc_in_new_tlab_bytes", UNIT_BYTES, false},
    {"alloc_outside_tlab_objects", "alloc_outside_tlab_objects", UNIT_COUNT, false},
    {"alloc_outside_tlab_bytes", "alloc_outside_tlab_bytes", UNIT_BYTES, false},
    {"live", "live", UNIT_COUNT, false},
    {"exceptions", "exceptions", UNIT_COUNT, false},
};

static const struct measure units[] = {
    {"samples", "cpu", UNIT_NANOSECONDS, true},
    {"objects", "objects", UNIT_COUNT, false},
    {"bytes", "bytes", UNIT_BYTES, false},
    {"goroutines", "goroutines", UNIT_COUNT, false},
    {"lock_samples", "lock_count", UNIT_COUNT, false},
    {"lock_nanoseconds", "lock_duration", UNIT_NANOSECONDS, false},
};

static const struct measure *measure_named(const struct measure *list, size_t count,
                                           struct str name)
{
    for (size_t i = 0; i < count; i++)
        if (str_equal(name, str_of(list[i].end)))
            return &list[i];
    return NULL;
}

#define MEASURE_OF_NAME(name) \
    measure_named(measures, sizeof measures / sizeof *measures, name)
#define MEASURE_OF_UNITS(name) measure_named(units, sizeof units / sizeof *units, name)

/* --- The name --------------------------------------------------------------------------- */

static bool read_labels(struct str text, struct ingest_labels *labels, struct error *err)
{
    while (text.len) {
        struct str pair = str_trim(str_cut(&text, ','));
        struct str value = pair, key = str_trim(str_cut(&value, '='));
        if (pair.len == 0)
            continue;
        if (key.len == pair.len)
            return error_set(err, "the label '%.*s' has no value",
                             (int)(pair.len < 80 ? pair.len : 80), pair.ptr);
        if (!ingest_put_label(labels, key, str_trim(value), err))
            return false;
    }
    return true;
}

bool ingest_pyroscope_name(struct str text, struct ingest_labels *labels,
                           struct str *measure, struct error *err)
{
    struct str rest = str_trim(text);
    bool has_labels = str_find(rest, '{') < rest.len;
    struct str app = str_trim(str_cut(&rest, '{'));
    *measure = STR("");
    if (text.len > NAME_MAX)
        return error_set(err, "the name has more than %zu bytes", NAME_MAX);
    if (app.len == 0)
        return error_set(err, "the argument `name` has no name of an application");
    if (has_labels && !str_ends(rest, STR("}")))
        return error_set(err, "the labels in the argument `name` do not end with '}'");
    size_t dot = str_rfind(app, '.');
    if (dot < app.len && dot && MEASURE_OF_NAME(str_skip(app, dot + 1))) {
        *measure = str_skip(app, dot + 1);
        app = str_head(app, dot);
    }
    if (has_labels && !read_labels(str_head(rest, rest.len - 1), labels, err))
        return false;
    struct str key = ingest_label(labels, STR("service_name")).len ? STR("app_name")
                                                                   : STR("service_name");
    return ingest_label(labels, key).len || ingest_put_label(labels, key, app, err);
}

/* --- Arguments -------------------------------------------------------------------------- */

static bool read_time(struct str text, const char *name, uint64_t *time,
                      struct error *err)
{
    uint64_t number;
    *time = 0;
    if (text.len == 0)
        return true;
    if (!number_parse_u64(text, &number))
        return error_set(err, "the argument `%s` is not a number since 1970", name);
    *time = ingest_time(number);
    return true;
}

static bool read_rate(struct str text, double *rate, struct error *err)
{
    *rate = 0;
    if (text.len == 0)
        return true;
    return (number_parse_double(text, rate) && *rate >= 0.001 &&
            *rate <= INGEST_RATE_MAX) ||
           error_set(err, "the argument `sampleRate` is not from 0.001 to %d",
                     INGEST_RATE_MAX);
}

/* --- Text ------------------------------------------------------------------------------- */

static bool find_text(const struct ingest_pyroscope_query *q, enum ingest_text *kind)
{
    static const struct {
        const char *name;
        enum ingest_text kind;
    } names[] = {{"", INGEST_GROUPS},       {"folded", INGEST_GROUPS},
                 {"groups", INGEST_GROUPS}, {"collapsed", INGEST_GROUPS},
                 {"lines", INGEST_LINES},   {"trie", INGEST_TRIE},
                 {"tree", INGEST_TREE}};
    struct str format = q->format;
    if (str_equal(q->content_type, STR("binary/octet-stream+trie")))
        format = STR("trie");
    else if (str_equal(q->content_type, STR("binary/octet-stream+tree")))
        format = STR("tree");
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        *kind = names[i].kind;
        if (str_equal(format, str_of(names[i].name)))
            return true;
    }
    return false;
}

static const struct measure *find_measure(const struct ingest_pyroscope_query *q,
                                          struct str end, struct error *err)
{
    const struct measure *m =
        end.len ? MEASURE_OF_NAME(end)
                : MEASURE_OF_UNITS(q->units.len ? q->units : STR("samples"));
    if (!m) {
        error_set(err, "unknown units '%.*s'",
                  (int)(q->units.len < 80 ? q->units.len : 80), q->units.ptr);
        error_hint(err, "samples, objects, bytes, goroutines, lock_samples or "
                        "lock_nanoseconds");
    }
    return m;
}

static bool add_text(struct ingest *in, const struct ingest_pyroscope_query *q,
                     enum ingest_text kind, struct str measure, struct str body,
                     const struct ingest_about *about, struct error *err)
{
    const struct measure *m = find_measure(q, measure, err);
    struct builder b;
    struct str text;
    if (!m || !ingest_unpack(in, body, &text, err))
        return false;
    if (!builder_init(&b, BUILD_COUNT))
        return error_memory(err);
    builder_set_limits(&b, in->builder.limits);
    double period = m->is_sampled ? 1e9 / (about->rate > 0 ? about->rate : 100) : 0;
    event_id event = builder_event(&b, str_of(m->event), m->unit);
    struct profile *p = NULL;
    if (ingest_pyroscope_text(kind, text, &b, event, period, err))
        p = builder_finish(&b, err);
    builder_deinit(&b);
    bool ok = p && ingest_add(in, p, about, err);
    profile_destroy(p);
    return ok;
}

/* --- Forms ------------------------------------------------------------------------------ */

/* The parts of a form that are used; empty: not given. */
struct form {
    struct str profile, before, types, jfr;
    struct ingest_type items[INGEST_TYPES_MAX];
    size_t count;
};

static bool read_form(struct form *f, struct str content_type, struct str body,
                      struct error *err)
{
    struct multipart m;
    struct multipart_part part;
    if (!multipart_init(&m, content_type, body, err))
        return false;
    while (multipart_next(&m, &part, err)) {
        if (str_equal(part.name, STR("profile")))
            f->profile = part.body;
        else if (str_equal(part.name, STR("prev_profile")))
            f->before = part.body;
        else if (str_equal(part.name, STR("sample_type_config")))
            f->types = part.body;
        else if (str_equal(part.name, STR("jfr")))
            f->jfr = part.body;
    }
    return !m.failed;
}

static void read_type(struct json *j, struct arena *a, struct ingest_type *type)
{
    struct str key, text;
    if (!json_enter(j, JSON_OBJECT))
        return;
    while (json_key(j, &key)) {
        if (str_equal(key, STR("display-name")) && json_string(j, &text))
            type->display = arena_str(a, text);
        else if (str_equal(key, STR("cumulative")))
            json_bool(j, &type->is_cumulative);
        else
            json_skip(j);
    }
}

/* {"alloc_space": {"units": "bytes", "display-name": "alloc_space", "cumulative": true}} */
static bool read_types(struct ingest *in, struct form *f, struct error *err)
{
    struct source source = source_of(f->types, STR("sample_type_config"));
    struct json j;
    struct str key;
    struct error why;
    bool fits = true;
    json_init(&j, &source, false, &why);
    j.depth_max = 8;
    bool is_object = json_enter(&j, JSON_OBJECT);
    while (is_object && json_key(&j, &key)) {
        fits &= f->count < INGEST_TYPES_MAX;
        if (!fits) {
            json_skip(&j);
            continue;
        }
        struct ingest_type *type = &f->items[f->count++];
        *type = (struct ingest_type){.name = arena_str(&in->arena, key)};
        type->display = STR("");
        read_type(&j, &in->arena, type);
    }
    bool ok = is_object && json_finish(&j) && !j.failed && !j.broken;
    json_deinit(&j);
    source_deinit(&source);
    if (!fits)
        return error_set(err, "sample_type_config has more than %d types",
                         INGEST_TYPES_MAX);
    return ok || error_set(err, "sample_type_config is not a JSON object");
}

/* --- Formats of other tools ------------------------------------------------------------- */

/* Subtracts the values of cumulative types until then. Takes over both profiles. */
static struct profile *subtract(struct ingest *in, struct profile *p,
                                struct profile *before, struct form *f, struct error *err)
{
    struct builder b;
    struct profile *difference = NULL;
    for (size_t i = 0; i < before->sample_count; i++) {
        struct sample *s = &before->samples[i];
        struct str name = profile_string(before, before->events[s->event].name);
        bool is_cumulative = false;
        for (size_t t = 0; t < f->count; t++)
            is_cumulative |=
                f->items[t].is_cumulative && str_equal(f->items[t].name, name);
        s->count = 0;
        s->weight = is_cumulative ? -s->weight : 0;
        s->rest = is_cumulative ? -s->rest : 0;
    }
    if (builder_init(&b, BUILD_COUNT)) {
        builder_set_limits(&b, in->builder.limits);
        builder_merge(&b, p);
        builder_merge(&b, before);
        difference = builder_finish(&b, err);
        builder_deinit(&b);
    } else {
        error_memory(err);
    }
    for (size_t t = 0; t < f->count; t++)
        f->items[t].is_cumulative = false;
    profile_destroy(p);
    profile_destroy(before);
    return difference;
}

static bool add_pprof(struct ingest *in, struct form *f, struct ingest_about *about,
                      struct error *err)
{
    if (f->types.len && !read_types(in, f, err))
        return false;
    about->types = f->types.len ? f->items : NULL;
    about->type_count = f->count;
    if (!f->before.len)
        return ingest_add_format(in, "pprof", f->profile, about, err);
    struct profile *p = ingest_read_format(in, "pprof", f->profile, err);
    struct profile *before = p ? ingest_read_format(in, "pprof", f->before, err) : NULL;
    if (!before) {
        profile_destroy(p);
        return false;
    }
    struct profile *difference = subtract(in, p, before, f, err);
    bool ok = difference && ingest_add(in, difference, about, err);
    profile_destroy(difference);
    return ok;
}

static bool add_other(struct ingest *in, const struct ingest_pyroscope_query *q,
                      struct str body, struct ingest_about *about, struct error *err)
{
    struct form f = {STR(""), STR(""), STR(""), STR("")};
    bool is_form = multipart_is(q->content_type);
    bool is_jfr = str_equal(q->format, STR("jfr"));
    if (is_form && !read_form(&f, q->content_type, body, err))
        return false;
    if (!is_form)
        f.profile = f.jfr = body;
    struct str used = is_jfr ? f.jfr : f.profile;
    if (used.len == 0)
        return error_set(err, is_form ? "the form has no part `%s`" : "the body is empty",
                         is_jfr ? "jfr" : "profile");
    if (is_jfr)
        return ingest_add_format(in, "jfr", used, about, err);
    if (str_equal(q->format, STR("speedscope")))
        return ingest_add_format(in, "speedscope", used, about, err);
    bool ok = add_pprof(in, &f, about, err);
    about->types = NULL; /* they are of this form */
    about->type_count = 0;
    return ok;
}

static bool is_other(const struct ingest_pyroscope_query *q)
{
    return str_equal(q->format, STR("pprof")) || str_equal(q->format, STR("jfr")) ||
           str_equal(q->format, STR("speedscope")) ||
           (q->format.len == 0 && multipart_is(q->content_type));
}

bool ingest_pyroscope(struct ingest *in, const struct ingest_pyroscope_query *q,
                      struct str body, struct error *err)
{
    struct ingest_about about = {.rate = 0};
    struct str measure;
    enum ingest_text kind;
    if (!ingest_pyroscope_name(q->name, &about.labels, &measure, err) ||
        !read_time(q->from, "from", &about.from, err) ||
        !read_time(q->until, "until", &about.until, err) ||
        !read_rate(q->rate, &about.rate, err))
        return false;
    /* what values mean that the profile names ambiguously */
    if (measure.len && !ingest_put_label(&about.labels, STR("__name__"), measure, err))
        return false;
    if (is_other(q))
        return add_other(in, q, body, &about, err);
    if (find_text(q, &kind))
        return add_text(in, q, kind, measure, body, &about, err);
    error_set(err, "unknown format '%.*s'",
              (int)(q->format.len < 80 ? q->format.len : 80), q->format.ptr);
    return error_hint(err, "groups, lines, trie, tree, pprof, jfr or speedscope");
}
