/* SPDX-License-Identifier: Apache-2.0 */
/* The messages, by field number:
 *
 *   Request           1 resource_profiles  2 dictionary
 *   ResourceProfiles  1 resource  2 scope_profiles      Resource       1 attributes
 *                                                       ScopeProfiles  2 profiles
 *   Profile    1 sample_type  2 samples  3 time_unix_nano (fixed64)  4 duration_nano
 *              5 period_type  6 period  7 profile_id
 *   ValueType  1 type  2 unit
 *   Sample     1.10, 1.11:  1 stack  2 attributes (packed)  3 link  4 values (packed)
 *              1.8, 1.9:    1 stack  2 values (packed)  3 attributes (packed)  4 link
 *              5 timestamps (packed, fixed64) */
#include "ingest/otlp.h"
#include "base/bytes.h"
#include "ingest/otlp_tables.h"
#include "model/value_unit.h"

#define COUNT_MAX ((uint64_t)1 << 40) /* of one sample, so that sums stay exact */

/* What the samples of a request say about their field numbers. */
struct evidence {
    uint64_t is_old, is_new; /* samples that can only be that */
    uint64_t unequal; /* samples with another number of timestamps than in field 2 */
    uint64_t most;    /* the largest number in field 2 */
};

struct profile_message {
    struct proto_reader fields;
    struct ingest_labels labels;
    uint64_t from, until;
    event_id event;
    double factor;   /* of values */
    bool is_counted; /* values are numbers of samples */
    label_set_id set;
};

struct reading {
    struct ingest *in;
    struct otlp_tables tables;
    bool is_old;  /* field numbers of 1.8 and 1.9 */
    uint64_t key; /* of the body */
    struct str body;
};

/* --- Field numbers ---------------------------------------------------------------------- */

static uint64_t count_numbers(struct proto_field f, uint64_t *most)
{
    uint64_t count = 0, v;
    while (proto_number(&f, &v)) {
        count++;
        *most = v > *most ? v : *most;
    }
    return count;
}

static void weigh_sample(struct proto_reader in, struct evidence *e)
{
    struct proto_field f;
    uint64_t second = 0, times = 0;
    while (proto_next(&in, &f)) {
        bool is_list = f.wire == PROTO_BYTES;
        if (f.number == 2)
            second += count_numbers(f, &e->most);
        else if (f.number == 3)
            *(is_list ? &e->is_old : &e->is_new) += 1;
        else if (f.number == 4)
            *(is_list ? &e->is_new : &e->is_old) += 1;
        else if (f.number == 5)
            times += is_list ? f.bytes.len / 8 : 1;
    }
    e->unequal += times && second && second != times;
}

/* Calls `each` with all profiles of a request, until it returns false. */
static bool each_profile(struct reading *r,
                         bool (*each)(struct reading *r, struct proto_reader resource,
                                      struct proto_reader profile, void *context,
                                      struct error *err),
                         void *context, struct error *err)
{
    struct proto_reader request = proto_of(r->body);
    struct proto_field f, s, p;
    while (proto_next(&request, &f)) {
        if (f.number != 1 || f.wire != PROTO_BYTES)
            continue;
        struct proto_reader resource = proto_inside(&request, &f), scopes = resource;
        while (proto_next(&scopes, &s)) {
            if (s.number != 2 || s.wire != PROTO_BYTES)
                continue;
            struct proto_reader profiles = proto_inside(&scopes, &s);
            while (proto_next(&profiles, &p))
                if (p.number == 2 && p.wire == PROTO_BYTES &&
                    !each(r, resource, proto_inside(&profiles, &p), context, err))
                    return false;
            if (profiles.failed)
                return otlp_damaged("the profiles of a scope", err);
        }
        if (scopes.failed)
            return otlp_damaged("the profiles of a resource", err);
    }
    return !request.failed || otlp_damaged("its fields", err);
}

static bool weigh_profile(struct reading *r, struct proto_reader resource,
                          struct proto_reader profile, void *context, struct error *err)
{
    struct proto_field f;
    (void)r, (void)resource;
    while (proto_next(&profile, &f)) {
        if (f.number == 2 && f.wire == PROTO_BYTES)
            weigh_sample(proto_inside(&profile, &f), context);
        if (f.number == 3 && f.wire == PROTO_BYTES) {
            error_set(err, "the profiles have the field numbers of version 1.7 of "
                           "OpenTelemetry's protocol or earlier");
            return error_hint(err, "versions 1.8 to 1.11 are supported");
        }
    }
    return !profile.failed || otlp_damaged("a profile", err);
}

/* If only field 2 is there, it has the values of 1.9, one for each timestamp if there are any:
 * a sample of 1.10 without values has timestamps, and rarely as many attributes. */
static bool find_version(struct reading *r, struct error *err)
{
    struct evidence e = {0};
    if (!each_profile(r, weigh_profile, &e, err))
        return false;
    if (e.is_old && e.is_new)
        return error_set(err, "the samples of the request have the field numbers of "
                              "different versions of OpenTelemetry's protocol");
    r->is_old =
        e.is_old || (!e.is_new && (!e.unequal || e.most >= r->tables.attribute_count));
    return true;
}

/* --- What is measured ------------------------------------------------------------------- */

struct value_type {
    struct str type, unit;
};

static struct value_type read_type(const struct otlp_tables *t, struct proto_reader in)
{
    struct proto_field f;
    struct value_type v = {STR(""), STR("")};
    while (proto_next(&in, &f)) {
        if (f.number == 1)
            v.type = otlp_string(t, f.value);
        else if (f.number == 2)
            v.unit = otlp_string(t, f.value);
    }
    return v;
}

/* Samples of a period of time are that time. */
static bool choose_event(struct reading *r, struct profile_message *m,
                         const struct value_type *type, const struct value_type *period,
                         uint64_t length, struct error *err)
{
    const struct value_unit *unit = value_unit_of(type->unit),
                            *of = value_unit_of(period->unit);
    struct str name = type->type;
    enum unit weighed = unit->unit;
    m->factor = unit->factor;
    m->is_counted = str_equal(name, STR("samples")) && unit->unit == UNIT_COUNT;
    if (name.len == 0 || name.len > 256)
        return error_set(err, "a profile has no sample type, or a name of more than 256 "
                              "bytes for it");
    if (str_equal(name, STR("off_cpu")))
        name = STR("off-cpu");
    if (m->is_counted && length && length <= COUNT_MAX && of->unit == UNIT_NANOSECONDS) {
        name = str_equal(period->type, STR("wall")) ? STR("wall") : STR("cpu");
        weighed = UNIT_NANOSECONDS;
        m->factor = (double)length * of->factor;
        r->in->builder.profile->facts.rate = 1e9 / m->factor;
    }
    m->event = builder_event(&r->in->builder, name, weighed);
    return true;
}

/* --- Labels ----------------------------------------------------------------------------- */

/* Others, such as a command line, may be secret, or differ from process to process. */
static bool is_label(struct str key)
{
    static const char *const names[] = {"host.name", "process.executable.name",
                                        "telemetry.sdk.language",
                                        "deployment.environment"};
    static const char *const heads[] = {"service.", "container.", "k8s.", "cloud.",
                                        "deployment.environment."};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (str_equal(key, str_of(names[i])))
            return true;
    for (size_t i = 0; i < sizeof heads / sizeof *heads; i++)
        if (str_starts(key, str_of(heads[i])))
            return !str_equal(key, STR("service.instance.id"));
    return false;
}

static struct str label_name(struct str key)
{
    return str_equal(key, STR("process.executable.name")) ? STR("process") : key;
}

static bool read_resource(struct reading *r, struct proto_reader resource_profiles,
                          struct ingest_labels *labels, struct error *err)
{
    struct proto_field f, a;
    while (proto_next(&resource_profiles, &f)) {
        if (f.number != 1 || f.wire != PROTO_BYTES)
            continue;
        struct proto_reader resource = proto_inside(&resource_profiles, &f);
        while (proto_next(&resource, &a)) {
            struct otlp_attribute attribute;
            if (a.number != 1 || a.wire != PROTO_BYTES)
                continue;
            if (!otlp_attribute_read(&r->tables, proto_inside(&resource, &a), &attribute))
                return otlp_damaged("an attribute of a resource", err);
            if (is_label(attribute.key) && attribute.text.len &&
                !ingest_put_label(labels, label_name(attribute.key), attribute.text, err))
                return false;
        }
        if (resource.failed)
            return otlp_damaged("a resource", err);
    }
    return true;
}

/* --- Samples ---------------------------------------------------------------------------- */

struct otlp_sample {
    uint64_t stack;
    struct proto_field values, attributes; /* bytes; empty: none */
    struct str times;
    uint64_t time; /* the only one, if it is not in a list */
};

static void read_sample(const struct reading *r, struct proto_reader *in,
                        struct otlp_sample *s)
{
    const uint32_t values = r->is_old ? 2 : 4, attributes = r->is_old ? 3 : 2;
    const struct proto_field none = {.wire = PROTO_BYTES, .bytes = STR("")};
    struct proto_field f;
    *s = (struct otlp_sample){.values = none, .attributes = none, .times = STR("")};
    while (proto_next(in, &f)) {
        if (f.number == 1)
            s->stack = f.value;
        else if (f.number == values)
            s->values = f;
        else if (f.number == attributes)
            s->attributes = f;
        else if (f.number == 5 && f.wire == PROTO_BYTES)
            s->times = f.bytes;
        else if (f.number == 5)
            s->time = f.value;
    }
}

/* The name of the thread is stored apart; the process's is a label. */
static bool read_attributes(struct reading *r, const struct profile_message *m,
                            struct proto_field list, struct sample *sample,
                            label_set_id *set)
{
    const struct otlp_tables *t = &r->tables;
    struct builder *b = &r->in->builder;
    uint64_t index;
    *set = m->set;
    while (proto_number(&list, &index)) {
        if (index >= t->attribute_count)
            return false;
        const struct otlp_attribute *a = &t->attributes[index];
        struct str text = str_head(a->text, 256);
        if (text.len && str_equal(a->key, STR("thread.name")))
            sample->thread = builder_thread(b, ID_NONE, ID_NONE, text);
        else if (text.len && str_equal(a->key, STR("process.executable.name")))
            *set = builder_label_set_add(b, *set,
                                         builder_label_text(b, STR("process"), text));
    }
    return true;
}

/* Adds one value at one time: that of the profile if it is outside of it. */
static void add_value(struct reading *r, const struct profile_message *m,
                      struct sample *sample, label_set_id set, uint64_t value,
                      uint64_t time)
{
    bool is_inside = time >= m->from && time < m->until;
    if (value == 0 || value > INT64_MAX || value > ((uint64_t)1 << 53)) {
        r->in->left_out += value != 0;
        return;
    }
    sample->time = is_inside ? time - time % INGEST_SECOND : m->from;
    sample->weight = (double)value * m->factor;
    sample->count = m->is_counted && value <= COUNT_MAX ? value : 1;
    builder_add_labelled(&r->in->builder, sample, set);
}

/* Without values each timestamp is one. */
static bool add_values(struct reading *r, const struct profile_message *m,
                       struct otlp_sample *s, struct sample *sample, label_set_id set)
{
    struct bytes times = bytes_of(s->times, false);
    uint64_t value, count = 0, time_count = s->times.len / 8;
    if (s->times.len % 8)
        return false;
    while (proto_number(&s->values, &value)) {
        uint64_t time = time_count ? bytes_u64(&times) : s->time;
        add_value(r, m, sample, set, value, time);
        count++;
    }
    if (count)
        return !times.failed && bytes_left(&times) == 0;
    for (; count < time_count; count++)
        add_value(r, m, sample, set, 1, bytes_u64(&times));
    if (s->time)
        add_value(r, m, sample, set, 1, s->time);
    return true;
}

static bool add_sample(struct reading *r, const struct profile_message *m,
                       struct proto_reader in, struct error *err)
{
    struct otlp_sample s;
    struct sample sample = {.cpu = CPU_NONE, .event = m->event};
    label_set_id set;
    read_sample(r, &in, &s);
    if (in.failed)
        return otlp_damaged("a sample", err);
    if (s.stack >= r->tables.stack_count && s.stack)
        return otlp_damaged("a sample has an unknown stack", err);
    sample.stack = s.stack ? r->tables.stacks[s.stack] : 0;
    if (!read_attributes(r, m, s.attributes, &sample, &set))
        return otlp_damaged("a sample has an unknown attribute", err);
    if (!add_values(r, m, &s, &sample, set))
        return otlp_damaged("a sample has other numbers of values and timestamps", err);
    return !builder_failed(&r->in->builder) || error_memory(err);
}

/* --- Profiles --------------------------------------------------------------------------- */

static bool is_zero(struct str bytes)
{
    for (size_t i = 0; i < bytes.len; i++)
        if (bytes.ptr[i])
            return false;
    return true;
}

/* What a profile has besides its samples. *key becomes 0 if it has no id. */
static bool read_profile(struct reading *r, struct profile_message *m, uint64_t *key,
                         struct error *err)
{
    struct value_type type = {STR(""), STR("")}, period = type;
    struct proto_reader in = m->fields;
    struct proto_field f;
    uint64_t length = 0, duration = 0;
    *key = 0;
    while (proto_next(&in, &f)) {
        if (f.number == 1 && f.wire == PROTO_BYTES)
            type = read_type(&r->tables, proto_inside(&in, &f));
        else if (f.number == 3)
            m->from = f.value;
        else if (f.number == 4)
            duration = f.value;
        else if (f.number == 5 && f.wire == PROTO_BYTES)
            period = read_type(&r->tables, proto_inside(&in, &f));
        else if (f.number == 6)
            length = f.value;
        else if (f.number == 7 && f.wire == PROTO_BYTES && !is_zero(f.bytes))
            *key = hash_mix(hash_bytes(f.bytes.ptr, f.bytes.len) ^ HASH_A, r->key) ^
                   hash_bytes(m->fields.rest.ptr, m->fields.rest.len);
    }
    if (duration > INGEST_LENGTH)
        return error_set(err, "the profile is longer than an hour");
    m->until = m->from ? m->from + duration : 0;
    return ingest_span(r->in, &m->from, &m->until, err) &&
           choose_event(r, m, &type, &period, length, err);
}

static bool add_profile(struct reading *r, struct proto_reader resource,
                        struct proto_reader profile, void *context, struct error *err)
{
    struct profile_message m = {.fields = profile};
    struct proto_field f;
    uint64_t key;
    bool is_new = true;
    (void)context;
    if (r->in->profiles == INGEST_PROFILES_MAX)
        return error_set(err, "more than %d profiles in a request", INGEST_PROFILES_MAX);
    if (!read_resource(r, resource, &m.labels, err) ||
        !ingest_label_set(r->in, &m.labels, &m.set, err) ||
        !read_profile(r, &m, &key, err) ||
        (key && !ingest_claim(r->in, key, &is_new, err)))
        return false;
    while (is_new && proto_next(&profile, &f))
        if (f.number == 2 && f.wire == PROTO_BYTES &&
            !add_sample(r, &m, proto_inside(&profile, &f), err))
            return false;
    r->in->profiles += is_new;
    return true;
}

/* The dictionary follows the profiles, or comes before them. */
static bool read_dictionary(struct reading *r, struct error *err)
{
    struct proto_reader in = proto_of(r->body), dictionary = proto_of(STR(""));
    struct proto_field f;
    while (proto_next(&in, &f))
        if (f.number == 2 && f.wire == PROTO_BYTES)
            dictionary = proto_inside(&in, &f);
    return otlp_tables_read(&r->tables, r->in, dictionary, r->body.len, err);
}

bool ingest_otlp(struct ingest *in, struct str body, struct error *err)
{
    struct reading r = {.in = in};
    if (!ingest_unpack(in, body, &r.body, err))
        return false;
    r.key = hash_bytes(r.body.ptr, r.body.len);
    return read_dictionary(&r, err) && find_version(&r, err) &&
           each_profile(&r, add_profile, NULL, err);
}
