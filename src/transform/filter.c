/* SPDX-License-Identifier: Apache-2.0 */
/* Which samples remain: by event, thread, CPU, label and time. */
#include "base/nearest.h"
#include "model/sample_labels.h"
#include "transform/pattern.h"
#include "transform/rewrite.h"

/* The options, prepared for one profile. */
struct filter {
    const struct filter_options *o;
    unsigned char *threads; /* by thread: its samples remain */
    frame_id *outermost;    /* by stack; NULL without a filter by comm */
    unsigned char *frames;  /* by frame: it matches as a comm */
    unsigned char *labels;  /* by label set: its samples remain; NULL: all do */
    struct {
        uint64_t start, end;
    } all, spans[TIME_SPANS_MAX]; /* on the clock of the input */
};

/* `none`: the number is unknown, so it is in no set. */
static bool number_stays(const struct number_set *keep, const struct number_set *drop,
                         uint64_t number, bool none)
{
    return (keep->count == 0 || (!none && number_set_has(keep, number))) &&
           (none || !number_set_has(drop, number));
}

static bool in_words(const struct transform_words *words, struct str name)
{
    for (size_t i = 0; i < words->count; i++)
        if (glob_match(str_of(words->items[i]), name))
            return true;
    return false;
}

static bool name_stays(const struct transform_words *keep,
                       const struct transform_words *drop, struct str name)
{
    return (keep->count == 0 || in_words(keep, name)) && !in_words(drop, name);
}

/* --- Events ------------------------------------------------------------------------- */

/* The name without the modifiers of perf: cycles:ppp -> cycles. */
static struct str without_modifiers(struct str event)
{
    struct str modifiers = STR("ukhGHpPSDIWeb");
    size_t colon = str_rfind(event, ':');
    for (size_t i = colon + 1; i < event.len; i++)
        if (str_find(modifiers, event.ptr[i]) == modifiers.len)
            return event;
    return str_head(event, colon);
}

bool event_matches(struct str requested, struct str name)
{
    return glob_match(requested, name) || glob_match(requested, without_modifiers(name));
}

static bool event_in(const struct transform_words *words, struct str name)
{
    for (size_t i = 0; i < words->count; i++)
        if (event_matches(str_of(words->items[i]), name))
            return true;
    return false;
}

static bool no_such_event(const struct profile *p, const char *requested,
                          struct error *err)
{
    char all[200];
    size_t used = format_text(all, sizeof all, "it has: ");
    struct nearest nearest = {.word = str_of(requested)};
    for (event_id e = 1; e < p->event_count; e++)
        nearest_offer(&nearest, profile_string(p, p->events[e].name));
    for (event_id e = 1; e < p->event_count && used < sizeof all - 1; e++)
        used += format_text(all + used, sizeof all - used, "%s%.*s", e > 1 ? ", " : "",
                            STR_ARG(profile_string(p, p->events[e].name)));
    error_set(err, "there is no event '%s' in the input", requested);
    return nearest_hint(&nearest, "", all, err);
}

/* An unknown event to keep is an error; an unknown event to drop is not. */
static bool check_events(const struct profile *p, const struct transform_words *requested,
                         struct error *err)
{
    for (size_t i = 0; i < requested->count; i++) {
        struct transform_words one = {{requested->items[i]}, 1};
        bool found = false;
        for (event_id e = 1; e < p->event_count; e++)
            found |= event_in(&one, profile_string(p, p->events[e].name));
        if (!found)
            return no_such_event(p, requested->items[i], err);
    }
    return true;
}

/* --- Threads ------------------------------------------------------------------------ */

static unsigned char *choose_threads(struct rewrite *r, const struct filter_options *o)
{
    const struct profile *p = r->from;
    unsigned char *stays = arena_zalloc(&r->arena, p->thread_count, 1);
    for (thread_id i = 0; stays && i < p->thread_count; i++) {
        const struct thread *t = &p->threads[i];
        stays[i] =
            number_stays(&o->pids, &o->drop_pids, (uint64_t)t->pid, t->pid == ID_NONE) &&
            number_stays(&o->tids, &o->drop_tids, (uint64_t)t->tid, t->tid == ID_NONE) &&
            (i == 0 || name_stays(&o->comms, &o->drop_comms, profile_string(p, t->name)));
    }
    return stays;
}

/* In an input without threads, such as folded stacks, the outermost frame is the comm. */
static bool choose_outermost(struct rewrite *r, struct filter *f)
{
    const struct profile *p = r->from;
    if (f->o->comms.count + f->o->drop_comms.count == 0)
        return true;
    f->outermost = rewrite_outermost_frames(r);
    f->frames = arena_zalloc(&r->arena, p->frame_count, 1);
    for (frame_id i = 0; f->frames && i < p->frame_count; i++)
        f->frames[i] = name_stays(&f->o->comms, &f->o->drop_comms,
                                  profile_string(p, p->frames[i].name));
    return f->outermost && f->frames;
}

/* --- Labels ------------------------------------------------------------------------- */

static struct str key_of(const char *word)
{
    return str_head(str_of(word), str_find(str_of(word), '='));
}

/* True if the label matches "KEY" or "KEY=VALUE". A number matches with and without its
 * unit. */
static bool label_matches(const struct profile *p, label_id label, const char *word,
                          struct output *value)
{
    struct str key = key_of(word), rest = str_skip(str_of(word), key.len);
    if (!str_equal(sample_label_key(p, label), key))
        return false;
    if (rest.len == 0)
        return true;
    value->used = 0;
    sample_label_write(value, p, label);
    struct str text = output_contents(value), requested = str_skip(rest, 1);
    bool has_unit = p->labels[label].is_number && p->labels[label].unit;
    return glob_match(requested, text) ||
           (has_unit && glob_match(requested, str_head(text, str_find(text, ' '))));
}

/* By label: one bit for each word that matches it. */
static uint32_t *match_labels(struct rewrite *r, const struct transform_words *words)
{
    const struct profile *p = r->from;
    struct output value = OUTPUT_BUFFER;
    uint32_t *bits = arena_zalloc(&r->arena, p->label_count + 1, sizeof *bits);
    for (label_id i = 1; bits && i < p->label_count; i++)
        for (size_t w = 0; w < words->count; w++)
            if (label_matches(p, i, words->items[w], &value))
                bits[i] |= (uint32_t)1 << w;
    bool ok = !value.failed;
    output_deinit(&value);
    return ok ? bits : NULL;
}

/* True if the bits contain a word for each key of the words. */
static bool every_key_matches(const struct transform_words *words, uint32_t bits)
{
    for (size_t i = 0; i < words->count; i++) {
        bool any = false;
        for (size_t w = 0; w < words->count && !any; w++)
            any = (bits >> w & 1) &&
                  str_equal(key_of(words->items[w]), key_of(words->items[i]));
        if (!any)
            return false;
    }
    return true;
}

/* A set has the bits of its parent and of its label. */
static bool choose_labels(struct rewrite *r, struct filter *f)
{
    const struct profile *p = r->from;
    const struct transform_words *keep = &f->o->labels, *drop = &f->o->drop_labels;
    if (keep->count + drop->count == 0)
        return true;
    uint32_t *keeps = match_labels(r, keep), *drops = match_labels(r, drop);
    uint32_t *matched = arena_zalloc(&r->arena, p->label_set_count + 1, sizeof *matched);
    uint32_t *dropped = arena_zalloc(&r->arena, p->label_set_count + 1, sizeof *dropped);
    f->labels = arena_zalloc(&r->arena, p->label_set_count + 1, 1);
    if (!keeps || !drops || !matched || !dropped || !f->labels)
        return false;
    f->labels[0] = keep->count == 0;
    for (label_set_id i = 1; i < p->label_set_count; i++) {
        struct label_set s = p->label_sets[i];
        matched[i] = matched[s.parent] | keeps[s.label];
        dropped[i] = dropped[s.parent] | drops[s.label];
        f->labels[i] = !dropped[i] && every_key_matches(keep, matched[i]);
    }
    return true;
}

/* --- Events that remain ------------------------------------------------------------- */

/* By event: whether samples with the requested labels have it. What other programs measure,
 * in a store of many, would be shown empty. NULL when out of memory. */
static bool *events_with_labels(struct rewrite *r, const struct filter *f)
{
    const struct profile *p = r->from;
    bool *has = arena_zalloc(&r->arena, p->event_count, sizeof *has), any = false;
    for (size_t i = 0; has && f->labels && i < p->sample_count; i++)
        if (f->labels[profile_labels(p, i)])
            any = has[p->samples[i].event] = true;
    if (has && (!any || p->facts.differential))
        memset(has, true, p->event_count * sizeof *has);
    return has;
}

/* The map of the events that remain. */
static event_id *choose_events(struct rewrite *r, const struct filter *f)
{
    const struct profile *p = r->from;
    const struct filter_options *o = f->o;
    event_id *map = arena_zalloc(&r->arena, p->event_count, sizeof *map);
    const bool *has = events_with_labels(r, f);
    for (event_id e = 1; map && has && e < p->event_count; e++) {
        struct str name = profile_string(p, p->events[e].name);
        if ((o->events.count ? event_in(&o->events, name) : has[e]) &&
            !event_in(&o->drop_events, name))
            map[e] = builder_event(r->to, name, p->events[e].unit);
    }
    return has ? map : NULL;
}

static bool check_labels(const struct profile *p, const struct transform_words *words,
                         struct error *err)
{
    for (size_t i = 0; i < words->count; i++)
        if (!label_key_check(p, key_of(words->items[i]), err))
            return false;
    return true;
}

/* --- Time --------------------------------------------------------------------------- */

static bool has_times(const struct filter_options *o)
{
    return o->start.at || o->end.at || o->spans.count;
}

static uint64_t resolve(const struct time_point *t, const struct facts *facts,
                        uint64_t missing)
{
    return t->at ? time_point_resolve(t, facts->time_first, facts->time_last) : missing;
}

static bool ends_early(const struct facts *facts, struct error *err)
{
    error_set(err, "the time range ends before it begins");
    return error_hint(err, "the input is from %.6f to %.6f",
                      (double)facts->time_first / 1e9, (double)facts->time_last / 1e9);
}

static bool resolve_times(struct filter *f, const struct facts *facts, struct error *err)
{
    const struct filter_options *o = f->o;
    if (!has_times(o))
        return true;
    if (facts->time_first == TIME_NONE)
        return error_set(err, "the input has no times to filter by");
    f->all.start = resolve(&o->start, facts, 0);
    f->all.end = resolve(&o->end, facts, UINT64_MAX);
    if (f->all.start >= f->all.end)
        return ends_early(facts, err);
    for (size_t i = 0; i < o->spans.count; i++) {
        f->spans[i].start = resolve(&o->spans.items[i].start, facts, 0);
        f->spans[i].end = resolve(&o->spans.items[i].end, facts, UINT64_MAX);
        if (f->spans[i].start >= f->spans[i].end)
            return ends_early(facts, err);
    }
    return true;
}

/* What is live at the end of a span began before it, too. */
static bool is_in_time(const struct filter *f, uint64_t time, bool since_start)
{
    bool within = f->o->spans.count == 0;
    for (size_t i = 0; !within && i < f->o->spans.count; i++)
        within = (since_start || time >= f->spans[i].start) && time < f->spans[i].end;
    return within && (since_start || time >= f->all.start) && time < f->all.end;
}

/* --- The whole ---------------------------------------------------------------------- */

static bool sample_stays(const struct rewrite *r, struct sample *s)
{
    const struct filter *f = r->context;
    const struct filter_options *o = f->o;
    if (!f->threads[s->thread] || (f->labels && !f->labels[r->labels]))
        return false;
    if (s->thread == 0 && f->outermost && !f->frames[f->outermost[s->stack]])
        return false;
    if (!number_stays(&o->cpus, &o->drop_cpus, s->cpu, s->cpu == CPU_NONE))
        return false;
    if (!has_times(o))
        return true;
    bool since_start = r->from->events[s->event].kind == EVENT_LIVE;
    return s->time != TIME_NONE && is_in_time(f, s->time, since_start);
}

/* Unknown numbers cannot be filtered by. */
static bool check_numbers(const struct profile *p, const struct filter_options *o,
                          struct error *err)
{
    bool pid = o->pids.count == 0, tid = o->tids.count == 0, cpu = o->cpus.count == 0;
    for (thread_id i = 1; i < p->thread_count; i++) {
        pid |= p->threads[i].pid != ID_NONE;
        tid |= p->threads[i].tid != ID_NONE;
    }
    for (size_t i = 0; !cpu && i < p->sample_count; i++)
        cpu = p->samples[i].cpu != CPU_NONE;
    if (!pid || !tid)
        return error_set(err, "the input has no %s IDs to filter by",
                         pid ? "thread" : "process");
    return cpu || error_set(err, "the input has no CPUs to filter by");
}

static bool filter_requested(const struct transform_options *o)
{
    const struct filter_options *f = &o->filter;
    return f->events.count || f->drop_events.count || f->labels.count ||
           f->drop_labels.count || f->comms.count || f->drop_comms.count ||
           f->pids.count || f->drop_pids.count || f->tids.count || f->drop_tids.count ||
           f->cpus.count || f->drop_cpus.count || has_times(f);
}

static bool filter_run(const struct profile *from, const struct transform_options *o,
                       struct builder *to, struct error *err)
{
    struct rewrite r;
    struct filter f = {.o = &o->filter};
    bool ok = rewrite_init(&r, from, to, err) && check_events(from, &f.o->events, err) &&
              check_labels(from, &f.o->labels, err) && check_numbers(from, f.o, err) &&
              resolve_times(&f, &from->facts, err);
    if (ok) {
        f.threads = choose_threads(&r, f.o);
        r.row = sample_stays;
        r.context = &f;
        bool chosen = f.threads && choose_outermost(&r, &f) && choose_labels(&r, &f) &&
                      (r.events = choose_events(&r, &f)) != NULL;
        ok = chosen ? rewrite_run(&r, err) : error_memory(err);
        /* One side of a differential profile is an ordinary profile. */
        to->profile->facts.differential &= to->profile->event_count > 2;
    }
    rewrite_deinit(&r);
    return ok;
}

const struct transform transform_filter = {
    .name = "filter",
    .summary = "keep samples by event, comm, process, thread, CPU, label and time",
    .requested = filter_requested,
    .run = filter_run,
};
