/* SPDX-License-Identifier: Apache-2.0 */
/* Comparing two profiles: each is filtered alone, so that filters by time, thread ID and CPU
 * have an effect, and its noise is measured. */
#include "analysis/idle.h"
#include "transform/transform.h"
#include "web/core/core.h"
#include "web/core/label_process.h"

#define FULL_TONE 0.1 /* the change of a share that has the strongest colour */

static void choose_events(struct comparison *c, event_id event)
{
    const struct profile *before = c->sides[0], *after = c->sides[1];
    c->events[1] =
        event && event < after->event_count ? event : profile_default_event(after);
    c->events[0] = profile_find_event(
        before, profile_string(after, after->events[c->events[1]].name));
    if (!c->events[0])
        c->events[0] = profile_default_event(before);
}

static bool is_busy(const struct profile *p, const struct sample *s, const void *context)
{
    return !sample_is_idle(p, s, context);
}

static double weight_of(const struct profile *p, event_id event)
{
    double weight = 0;
    for (size_t i = 0; i < p->sample_count; i++)
        weight += p->samples[i].event == event ? p->samples[i].weight : 0;
    return weight;
}

/* Replaces the side by one without the time of idle CPUs, if there is some and it is not all. */
static bool leave_idle(struct comparison *c, unsigned side, struct error *err)
{
    struct arena a = ARENA_INIT;
    struct profile *p = c->sides[side], *busy = NULL, view;
    event_id event = c->events[side];
    const uint8_t *idle = frames_idle(p, &a);
    bool ok = !idle || filter_rows(p, is_busy, idle, &a, &view);
    double left = idle && ok ? weight_of(&view, event) : 0;
    bool is_part = left > 0 && left < weight_of(p, event);
    if (is_part && (busy = profile_compact(&view, err))) {
        c->idle[side] = weight_of(p, event) - left;
        c->events[side] =
            profile_find_event(busy, profile_string(p, p->events[event].name));
        c->sides[side] = busy;
        if (p != c->opened[side])
            profile_destroy(p);
    }
    ok = ok && !a.failed ? !is_part || busy : error_memory(err);
    arena_deinit(&a);
    return ok;
}

bool comparison_init(struct comparison *c, struct profile *before, struct profile *after,
                     const struct comparison_options *o, struct error *err)
{
    *c = (struct comparison){.opened = {before, after}};
    /* one side may have no samples */
    if (!(c->sides[0] = filter_apply_before(before, o->filters, err)) ||
        !(c->sides[1] = filter_apply(after, NULL, o->filters, true, err)))
        return false;
    if (!c->sides[0]->sample_count && !c->sides[1]->sample_count) {
        error_set(err, "no samples remain in either profile");
        return error_hint(err, "remove the last filter");
    }
    choose_events(c, o->event);
    return !o->without_idle || (leave_idle(c, 0, err) && leave_idle(c, 1, err));
}

struct profile *comparison_profile(const struct comparison *c, struct error *err)
{
    struct diff_options options = {.threads = THREAD_COMM,
                                   .events = {c->events[0], c->events[1]}};
    struct arena scratch = ARENA_INIT;
    size_t processes[2];
    int64_t *numbers[2];
    for (unsigned i = 0; i < 2; i++) {
        const struct profile *side = c->sides[i];
        numbers[i] = arena_alloc(&scratch, (side->thread_count + 1) * sizeof **numbers);
        processes[i] = numbers[i] ? process_numbers(side, c->events[i], numbers[i]) : 0;
        options.processes[i] = numbers[i];
    }
    /* two programs, or two versions of one, are compared function by function */
    if (processes[0] < 2 && processes[1] < 2)
        options.processes[0] = options.processes[1] = NULL;
    struct profile *p =
        scratch.failed ? NULL : transform_diff(c->sides[0], c->sides[1], &options, err);
    if (scratch.failed)
        error_memory(err);
    arena_deinit(&scratch);
    if (p && !label_process_keep_names(p)) {
        profile_destroy(p);
        error_memory(err);
        return NULL;
    }
    return p;
}

struct profile *comparison_whole(struct profile *before, struct profile *after,
                                 struct error *err)
{
    struct comparison c = {.opened = {before, after}, .sides = {before, after}};
    choose_events(&c, 0);
    return comparison_profile(&c, err);
}

void comparison_deinit(struct comparison *c)
{
    for (unsigned i = 0; i < 2; i++)
        if (c->sides[i] != c->opened[i])
            profile_destroy(c->sides[i]);
    *c = (struct comparison){0};
}

bool changes_init(struct changes *n, const struct comparison *c, const struct shown *s,
                  struct error *err)
{
    *n = (struct changes){.made = true};
    for (unsigned i = 0; i < 2; i++) {
        n->event_names[i] =
            arena_str(&n->arena, profile_string(c->sides[i],
                                                c->sides[i]->events[c->events[i]].name));
        if (!noise_init(&n->sides[i], c->sides[i], c->events[i], s->count,
                        &s->paths.labels, err))
            return false;
    }
    n->event = c->events[1];
    memcpy(n->idle, c->idle, sizeof n->idle);
    return !n->arena.failed || error_memory(err);
}

void changes_deinit(struct changes *n)
{
    noise_deinit(&n->sides[0]);
    noise_deinit(&n->sides[1]);
    arena_deinit(&n->arena);
    *n = (struct changes){0};
}

static struct difference compare(const struct changes *n, string_id label, double before,
                                 double after)
{
    return (n->by_weight ? noise_compare_weights : noise_compare)(
        &n->sides[0], &n->sides[1], label, before, after);
}

/* --- Findings ---------------------------------------------------------------------- */

/* The limit for one column of the functions. */
static double limit_of(const struct changes *n, const double *before, const double *after,
                       size_t labels, double *p, size_t *tested)
{
    size_t count = 0;
    for (string_id label = 1; label < labels; label++) {
        struct difference d = compare(n, label, before[label], after[label]);
        if (!d.few)
            p[count++] = d.p;
    }
    *tested = count;
    return noise_limit(p, count);
}

bool changes_test(struct shown *s, const struct functions *f, struct error *err)
{
    struct changes *n = &s->changes;
    struct arena scratch = ARENA_INIT;
    if (!n->made || !f->base_total)
        return true;
    double *p = arena_alloc(&scratch, (f->labels + 1) * sizeof *p);
    if (p) {
        n->limit[PART_SELF] =
            limit_of(n, f->base_self, f->self, f->labels, p, &n->tested);
        n->limit[PART_TOTAL] =
            limit_of(n, f->base_total, f->total, f->labels, p, &n->tested);
    }
    arena_deinit(&scratch);
    return p || error_memory(err);
}

struct change change_of(const struct shown *s, string_id label, enum part part,
                        double before, double after)
{
    const struct changes *n = &s->changes;
    struct change c = {.difference = compare(n, label, before, after)};
    const struct difference *d = &c.difference;
    c.verdict = d->few                  ? CHANGE_FEW
                : d->p > n->limit[part] ? CHANGE_NOISE
                : d->after > d->before  ? CHANGE_MORE
                                        : CHANGE_LESS;
    return c;
}

uint32_t change_tone(const struct change *c)
{
    double delta = c->difference.after - c->difference.before;
    double size = (delta < 0 ? -delta : delta) / FULL_TONE;
    uint32_t steps = 1 + (uint32_t)((size < 1 ? size : 1) * 126);
    if (c->verdict != CHANGE_MORE && c->verdict != CHANGE_LESS)
        return 128;
    return c->verdict == CHANGE_MORE ? 128 + steps : 128 - steps;
}

/* --- Replies ----------------------------------------------------------------------- */

void reply_change(struct json_writer *w, const char *key, const struct shown *s,
                  string_id label, enum part part, double before, double after)
{
    if (!s->changes.made)
        return;
    struct change c = change_of(s, label, part, before, after);
    json_put_key(w, key);
    json_begin(w, JSON_OBJECT);
    json_member_double(w, "before", c.difference.before);
    json_member_double(w, "after", c.difference.after);
    json_member_double(w, "low", c.difference.low);
    json_member_double(w, "high", c.difference.high);
    json_member_u64(w, "verdict", c.verdict);
    json_end(w, JSON_OBJECT);
}

static void reply_side(struct json_writer *w, const struct noise *side, struct str event)
{
    json_begin(w, JSON_OBJECT);
    json_member_str(w, "event", event);
    json_member_double(w, "samples", side->samples);
    json_put_key(w, "timed");
    json_put_bool(w, side->timed);
    json_member_u64(w, "block", side->block);
    json_end(w, JSON_OBJECT);
}

void reply_comparison(struct json_writer *w, const struct shown *s,
                      const struct functions *f)
{
    const struct changes *n = &s->changes;
    double found = 0, all = 0, noise = 0;
    uint64_t count = 0, others = 0;
    for (string_id label = 1; label < f->labels; label++) {
        struct change c =
            change_of(s, label, PART_SELF, f->base_self[label], f->self[label]);
        double delta = c.difference.after - c.difference.before;
        all += delta < 0 ? -delta : delta;
        bool is = c.verdict == CHANGE_MORE || c.verdict == CHANGE_LESS;
        found += is ? (delta < 0 ? -delta : delta) : 0;
        count += is;
        noise += is ? 0 : delta;
        others += !is && (f->self[label] > 0 || f->base_self[label] > 0);
    }
    json_begin(w, JSON_OBJECT);
    json_put_key(w, "sides");
    json_begin(w, JSON_ARRAY);
    for (unsigned i = 0; i < 2; i++)
        reply_side(w, &n->sides[i], n->event_names[i]);
    json_end(w, JSON_ARRAY);
    json_member_u64(w, "found", count);
    json_member_u64(w, "others", others);
    json_member_double(w, "noise", noise);
    json_member_double(w, "explained", all > 0 ? found / all : 0);
    json_end(w, JSON_OBJECT);
}
