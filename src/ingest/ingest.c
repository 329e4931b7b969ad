/* SPDX-License-Identifier: Apache-2.0 */
#include "ingest/ingest.h"
#include "base/format.h"
#include "codec/decode.h"
#include "import/importer.h"

#define RATE_DEFAULT \
    100.0 /* samples per second: what Pyroscope's agents mean without one */
#define NAME_MAX ((size_t)64 << 10) /* of a function */
#define EVENT_NAME_MAX ((size_t)256)
#define THREAD_NAME_MAX ((size_t)256)

/* Deeper stacks are truncated. What a body unpacks to has the same bound however small it is. */
static const struct limits limits = {
    .depth = 2048,
    .frames = LIMIT_FRAMES / 16,
    .line = (uint64_t)1 << 20,
    .ratio = 1,
    .unpacked = INGEST_UNPACKED_MAX,
    .block_ratio = LIMIT_BLOCK_RATIO,
    .file_ratio = LIMIT_FILE_RATIO,
    .piece = 4 * INGEST_UNPACKED_MAX,
    .memory = LIMIT_MEMORY,
    .expansion = LIMIT_EXPANSION,
    .expanded = LIMIT_EXPANDED / 16,
};

bool ingest_init(struct ingest *in, struct error *err)
{
    in->start = in->end = in->profiles = in->repeated = in->left_out = 0;
    in->is_busy = false;
    in->unpacked = 0;
    in->arena = ARENA_INIT;
    if (!builder_init(&in->builder, BUILD_KEEP))
        return error_memory(err);
    builder_set_limits(&in->builder, &limits);
    return true;
}

void ingest_deinit(struct ingest *in)
{
    builder_deinit(&in->builder);
    arena_deinit(&in->arena);
}

/* --- Times ------------------------------------------------------------------------------ */

uint64_t ingest_time(uint64_t number)
{
    uint64_t unit = number < 100000000000         ? INGEST_SECOND
                    : number < 100000000000000    ? 1000000
                    : number < 100000000000000000 ? 1000
                                                  : 1;
    return number * unit;
}

/* The present is the default of both times. */
static bool check_span(const struct ingest *in, uint64_t from, uint64_t until,
                       struct error *err)
{
    if (until < from)
        return error_set(err, "the profile ends before it begins");
    if (until - from > INGEST_LENGTH)
        return error_set(err, "the profile is longer than an hour");
    if (until > in->now + INGEST_AHEAD) {
        error_set(err, "the profile is of a time %llu s ahead of this server's clock",
                  (unsigned long long)((until - in->now) / INGEST_SECOND));
        return error_hint(err, "is the clock of the agent right?");
    }
    if (from < in->oldest)
        return error_set(err, "the profile is older than what the store keeps");
    return true;
}

bool ingest_span(struct ingest *in, uint64_t *from, uint64_t *until, struct error *err)
{
    uint64_t end = *until ? *until : *from ? *from : in->now;
    uint64_t start = *from ? *from : end;
    if (!check_span(in, start, end, err))
        return false;
    start -= start % INGEST_SECOND;
    end += (INGEST_SECOND - end % INGEST_SECOND) % INGEST_SECOND;
    end += end == start ? INGEST_SECOND : 0;
    uint64_t first = in->end && in->start < start ? in->start : start;
    uint64_t last = in->end > end ? in->end : end;
    if (last - first > INGEST_LENGTH + INGEST_SECOND)
        return error_set(err, "the profiles of a request are of more than an hour");
    in->start = first;
    in->end = last;
    *from = start;
    *until = end;
    return true;
}

/* --- Labels ----------------------------------------------------------------------------- */

bool ingest_put_label(struct ingest_labels *labels, struct str key, struct str value,
                      struct error *err)
{
    if (key.len == 0 || key.len > INGEST_KEY_MAX || value.len > INGEST_VALUE_MAX)
        return error_set(err,
                         "a label has no name, or is longer than %d bytes (name), %d "
                         "bytes (value)",
                         INGEST_KEY_MAX, INGEST_VALUE_MAX);
    if (labels->count == INGEST_LABELS_MAX)
        return error_set(err, "more than %d labels", INGEST_LABELS_MAX);
    labels->items[labels->count++] = (struct ingest_label){key, value};
    return true;
}

struct str ingest_label(const struct ingest_labels *labels, struct str key)
{
    for (size_t i = 0; i < labels->count; i++)
        if (str_equal(labels->items[i].key, key))
            return labels->items[i].value;
    return STR("");
}

/* Names of Pyroscope and of OpenTelemetry, and those of stoke daemon. The first that a profile
 * has counts. */
static const struct alias {
    const char *from, *to;
} aliases[] = {
    {"service", "service"},
    {"service_name", "service"},
    {"service.name", "service"},
    {"app_name", "service"},
    {"host", "host"},
    {"hostname", "host"},
    {"host.name", "host"},
    {"host_name", "host"},
    {"instance", "host"},
    {"container.id", "container"},
};

#define ALIASES (sizeof aliases / sizeof *aliases)

/* The index of the name among the aliases, or ALIASES. */
static size_t alias_of(struct str key)
{
    size_t i = 0;
    while (i < ALIASES && !str_equal(key, str_of(aliases[i].from)))
        i++;
    return i;
}

/* Whether the label at `at` becomes this alias's name: no better one is there. */
static bool is_first(const struct ingest_labels *labels, size_t alias)
{
    for (size_t i = 0; i < alias; i++)
        if (strcmp(aliases[i].to, aliases[alias].to) == 0 &&
            ingest_label(labels, str_of(aliases[i].from)).len)
            return false;
    return true;
}

static bool is_internal(struct str key)
{
    return str_starts(key, STR("__")) && str_ends(key, STR("__"));
}

/* A label that the server sets: agents cannot. */
static bool is_own(const struct ingest *in, struct str key)
{
    return in->own.key.len && str_equal(key, in->own.key);
}

/* The ids of the labels; returns how many. */
static size_t put_labels(struct ingest *in, const struct ingest_labels *labels,
                         label_id ids[LABELS_MAX])
{
    size_t count = 0;
    for (size_t i = 0; i < labels->count; i++) {
        const struct ingest_label *l = &labels->items[i];
        size_t alias = alias_of(l->key);
        struct str key = l->key;
        if (is_internal(key) || l->value.len == 0)
            continue;
        if (alias < ALIASES && is_first(labels, alias))
            key = str_of(aliases[alias].to);
        if (is_own(in, key))
            continue;
        ids[count++] = builder_label_text(&in->builder, key, l->value);
    }
    if (in->own.key.len)
        ids[count++] = builder_label_text(&in->builder, in->own.key, in->own.value);
    return count;
}

bool ingest_label_set(struct ingest *in, const struct ingest_labels *labels,
                      label_set_id *set, struct error *err)
{
    label_id ids[LABELS_MAX];
    size_t count = put_labels(in, labels, ids);
    *set = builder_label_set(&in->builder, ids, count);
    return !builder_failed(&in->builder) || error_memory(err);
}

/* Ids, of which each request has a new one. */
static bool is_id(struct str key)
{
    static const char *const names[] = {"span_id",    "trace_id",  "profile_id",
                                        "profile id", "thread id", "thread_id",
                                        "request_id"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (str_equal(key, str_of(names[i])))
            return true;
    return false;
}

static bool is_stored(const struct profile *p, const struct sample_label *l)
{
    struct str key = profile_string(p, l->key);
    return !l->is_number && key.len && key.len <= INGEST_KEY_MAX && l->text &&
           profile_string(p, l->text).len <= INGEST_VALUE_MAX && !is_id(key);
}

/* By label set of the profile: the set of the builder, with the labels of the agent. NULL when
 * out of memory. */
static label_set_id *map_label_sets(struct ingest *in, const struct profile *p,
                                    const struct ingest_labels *labels)
{
    label_id first[LABELS_MAX], ids[LABELS_MAX];
    size_t base = put_labels(in, labels, first);
    label_set_id *sets = arena_zalloc(&in->arena, p->label_set_count + 1, sizeof *sets);
    for (size_t i = 0; sets && (i == 0 || i < p->label_set_count); i++) {
        size_t count = base;
        memcpy(ids, first, base * sizeof *ids);
        for (label_set_id s = (label_set_id)i; s && count < LABELS_MAX;
             s = p->label_sets[s].parent) {
            const struct sample_label *l = &p->labels[p->label_sets[s].label];
            if (is_stored(p, l) && !is_own(in, profile_string(p, l->key)))
                ids[count++] = builder_label_text(&in->builder, profile_string(p, l->key),
                                                  profile_string(p, l->text));
        }
        sets[i] = builder_label_set(&in->builder, ids, count);
    }
    return sets;
}

/* --- Events ----------------------------------------------------------------------------- */

/* What becomes of the values of an event. */
struct conversion {
    event_id event; /* 0: they are left out */
    double factor;
};

static const struct ingest_type *type_named(const struct ingest_about *about,
                                            struct str name)
{
    for (size_t i = 0; i < about->type_count; i++)
        if (str_equal(about->types[i].name, name))
            return &about->types[i];
    return NULL;
}

static bool is_left_out(const struct ingest_about *about, struct str name)
{
    const struct ingest_type *type = type_named(about, name);
    return about->types && (!type || type->is_cumulative);
}

static bool counts_samples(const struct profile *p, const struct event *e)
{
    return e->unit == UNIT_COUNT && str_equal(profile_string(p, e->name), STR("samples"));
}

/* Whether the profile also says what time its samples stand for. */
static bool has_time(const struct profile *p, const struct ingest_about *about)
{
    for (size_t i = 1; i < p->event_count; i++)
        if (p->events[i].unit == UNIT_NANOSECONDS &&
            !is_left_out(about, profile_string(p, p->events[i].name)))
            return true;
    return false;
}

/* The time that samples measure; empty: they are only counted. */
static struct str time_of(struct str measure, struct str display)
{
    if (str_equal(display, STR("cpu")) || str_equal(display, STR("itimer")) ||
        str_equal(measure, STR("process_cpu")) || str_equal(measure, STR("cpu")))
        return STR("cpu");
    if (str_equal(display, STR("wall")) || str_equal(measure, STR("wall")))
        return STR("wall");
    return STR("");
}

/* Both pairs of names are those of several kinds of profiles. */
static struct str name_by_measure(struct str measure, struct str name)
{
    static const struct {
        const char *measure, *name, *to;
    } names[] = {
        {"mutex", "contentions", "mutex_count"}, {"mutex", "delay", "mutex_duration"},
        {"block", "contentions", "block_count"}, {"block", "delay", "block_duration"},
        {"memory", "objects", "inuse_objects"},  {"memory", "space", "inuse_space"}};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (str_equal(measure, str_of(names[i].measure)) &&
            str_equal(name, str_of(names[i].name)))
            return str_of(names[i].to);
    return name;
}

static double rate_of(const struct profile *p, const struct ingest_about *about)
{
    return p->facts.rate > 0 ? p->facts.rate
           : about->rate > 0 ? about->rate
                             : RATE_DEFAULT;
}

static bool convert_event(struct ingest *in, const struct profile *p, event_id id,
                          const struct ingest_about *about, struct conversion *to,
                          struct error *err)
{
    const struct event *e = &p->events[id];
    struct str name = profile_string(p, e->name);
    struct str measure = ingest_label(&about->labels, STR("__name__"));
    const struct ingest_type *type = type_named(about, name);
    struct str display = type && type->display.len ? type->display : name;
    *to = (struct conversion){0, 1};
    if (name.len == 0 || name.len > EVENT_NAME_MAX || display.len > EVENT_NAME_MAX)
        return error_set(err, "a value type has no name, or a longer one than %zu bytes",
                         EVENT_NAME_MAX);
    if (is_left_out(about, name) || (counts_samples(p, e) && has_time(p, about)))
        return true;
    struct str time = counts_samples(p, e) ? time_of(measure, display) : STR("");
    if (time.len) {
        to->event = builder_event(&in->builder, time, UNIT_NANOSECONDS);
        to->factor = 1e9 / rate_of(p, about);
    } else {
        to->event =
            builder_event(&in->builder, name_by_measure(measure, display), e->unit);
    }
    return !builder_failed(&in->builder) || error_memory(err);
}

/* --- Samples ---------------------------------------------------------------------------- */

static bool check_names(const struct profile *p, struct error *err)
{
    for (size_t i = 1; i < p->frame_count; i++)
        if (profile_string(p, p->frames[i].name).len > NAME_MAX)
            return error_set(err, "the name of a function has more than %zu bytes",
                             NAME_MAX);
    return true;
}

/* Threads are stored by name: their numbers are of one process. */
static thread_id thread_of(struct ingest *in, const struct profile *p, thread_id id)
{
    struct str name = profile_string(p, p->threads[id].name);
    return name.len ? builder_thread(&in->builder, ID_NONE, ID_NONE,
                                     str_head(name, THREAD_NAME_MAX))
                    : 0;
}

static bool add_samples(struct ingest *in, const struct profile *p,
                        const struct conversion *events, const label_set_id *sets,
                        uint64_t time)
{
    stack_id *stacks = arena_zalloc(&in->arena, p->stack_count + 1, sizeof *stacks);
    frame_id *frames = builder_map_frames(&in->builder, p);
    if (!stacks || !frames)
        return false;
    for (size_t i = 1; i < p->stack_count; i++)
        stacks[i] = builder_push(&in->builder, stacks[p->stacks[i].parent],
                                 frames[p->stacks[i].frame]);
    for (size_t i = 0; i < p->sample_count; i++) {
        const struct sample *s = &p->samples[i];
        const struct conversion *to = &events[s->event];
        double weight = (s->weight + s->rest) * to->factor;
        if (!to->event || !(weight > 0)) {
            in->left_out += !(weight >= 0);
            continue;
        }
        builder_add_labelled(&in->builder,
                             &(struct sample){.time = time,
                                              .cpu = CPU_NONE,
                                              .thread = thread_of(in, p, s->thread),
                                              .event = to->event,
                                              .stack = stacks[s->stack],
                                              .count = s->count ? s->count : 1,
                                              .weight = weight},
                             sets[profile_labels(p, i)]);
    }
    return !builder_failed(&in->builder);
}

bool ingest_add(struct ingest *in, const struct profile *p,
                const struct ingest_about *about, struct error *err)
{
    uint64_t from = about->from, until = about->until;
    struct conversion *events =
        arena_zalloc(&in->arena, p->event_count + 1, sizeof *events);
    if (!events)
        return error_memory(err);
    if (p->event_count > INGEST_TYPES_MAX + 1)
        return error_set(err, "more than %d value types", INGEST_TYPES_MAX);
    if (in->profiles == INGEST_PROFILES_MAX)
        return error_set(err, "more than %d profiles in a request", INGEST_PROFILES_MAX);
    if (!check_names(p, err) || !ingest_span(in, &from, &until, err))
        return false;
    for (size_t i = 1; i < p->event_count; i++)
        if (!convert_event(in, p, (event_id)i, about, &events[i], err))
            return false;
    label_set_id *sets = map_label_sets(in, p, &about->labels);
    if (!sets || !add_samples(in, p, events, sets, from))
        return error_memory(err);
    in->builder.profile->facts.rate = rate_of(p, about);
    in->profiles++;
    return true;
}

/* --- Bytes ------------------------------------------------------------------------------ */

bool ingest_claim(struct ingest *in, uint64_t key, bool *is_new, struct error *err)
{
    enum ingest_answer answer = in->claim ? in->claim(in->context, key) : INGEST_NEW;
    *is_new = answer == INGEST_NEW;
    in->repeated += answer == INGEST_KNOWN;
    in->is_busy |= answer == INGEST_BUSY;
    return answer != INGEST_BUSY || error_set(err, "the same profile is being stored");
}

static bool read_unpacked(struct ingest *in, struct decoder *d, struct str *out,
                          struct error *err)
{
    struct str all;
    if (!source_all(&d->source, &all, err))
        return false;
    in->unpacked += all.len;
    if (d->stopped || in->unpacked > INGEST_UNPACKED_MAX)
        return error_set(err, "the body unpacks to more than %zu MiB",
                         INGEST_UNPACKED_MAX >> 20);
    if (d->flaw)
        return error_set(err, "the body is not valid gzip: %s", d->flaw);
    *out = arena_str(&in->arena, all);
    return !in->arena.failed || error_memory(err);
}

bool ingest_unpack(struct ingest *in, struct str packed, struct str *out,
                   struct error *err)
{
    struct source source = source_of(packed, STR("body"));
    struct decoder d = {0};
    *out = packed;
    if (!str_starts(packed, STR("\x1f\x8b")))
        return packed.len <= INGEST_UNPACKED_MAX ||
               error_set(err, "the body is larger than %zu MiB",
                         INGEST_UNPACKED_MAX >> 20);
    source.limits = &limits;
    bool ok = decoder_init(&d, &source, err);
    if (ok) {
        ok = read_unpacked(in, &d, out, err);
        decoder_deinit(&d);
    }
    source_deinit(&source);
    return ok;
}

struct profile *ingest_read_format(struct ingest *in, const char *importer,
                                   struct str body, struct error *err)
{
    static const struct import_options options = {.addresses = true,
                                                  .stable_offsets = true};
    struct str bytes;
    struct builder b;
    struct profile *p = NULL;
    if (!ingest_unpack(in, body, &bytes, err))
        return NULL;
    if (!builder_init(&b, BUILD_COUNT)) {
        error_memory(err);
        return NULL;
    }
    struct source source = source_of(bytes, STR("body"));
    source.limits = &limits;
    builder_set_limits(&b, &limits);
    if (import_part(importer_named(str_of(importer)), &source, &options, &b, err))
        p = builder_finish(&b, err);
    source_deinit(&source);
    builder_deinit(&b);
    if (!p || !p->facts.incomplete)
        return p;
    error_set(err, "the %s data is damaged: %s", importer,
              p->facts.warning_count ? p->facts.warnings[0].what : "it is truncated");
    profile_destroy(p);
    return NULL;
}

bool ingest_add_format(struct ingest *in, const char *importer, struct str body,
                       struct ingest_about *about, struct error *err)
{
    struct profile *p = ingest_read_format(in, importer, body, err);
    if (!p)
        return false;
    if (!about->from && p->facts.time_first != TIME_NONE) {
        about->from = p->facts.time_first;
        about->until = p->facts.time_last;
    }
    bool ok = ingest_add(in, p, about, err);
    profile_destroy(p);
    return ok;
}
