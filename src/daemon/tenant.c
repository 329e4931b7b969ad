/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/tenant.h"
#include "model/sample_labels.h"
#include "transform/rewrite.h"

struct restricting {
    label_id own;      /* 0: no sample has it */
    label_id *of_sets; /* by label set: `own`, if it has this label */
};

static bool is_own_row(const struct rewrite *r, struct sample *s)
{
    const struct restricting *x = r->context;
    (void)s;
    return x->own && x->of_sets[r->labels] == x->own;
}

/* The label; 0 if the profile does not have it. */
static label_id find_label(const struct profile *p, const struct http_tenant *t)
{
    for (label_id i = 1; i < p->label_count; i++)
        if (!p->labels[i].is_number && str_equal(sample_label_key(p, i), t->key) &&
            str_equal(profile_string(p, p->labels[i].text), t->value))
            return i;
    return 0;
}

/* A set of labels belongs to a tenant if all of its labels of the key are the tenant's. */
static bool find_sets(struct restricting *x, struct rewrite *r)
{
    const struct profile *p = r->from;
    x->of_sets = arena_zalloc(&r->arena, p->label_set_count + 1, sizeof *x->of_sets);
    label_id other = (label_id)p->label_count;
    for (label_set_id i = 1; x->of_sets && x->own && i < p->label_set_count; i++) {
        struct label_set s = p->label_sets[i];
        bool is_of_key = p->labels[s.label].key == p->labels[x->own].key;
        label_id before = x->of_sets[s.parent];
        x->of_sets[i] = !is_of_key                                           ? before
                        : s.label == x->own && (!before || before == x->own) ? x->own
                                                                             : other;
    }
    return x->of_sets != NULL;
}

/* Only events that the tenant's samples have. */
static bool map_events(struct rewrite *r)
{
    const struct profile *p = r->from;
    event_id *events = arena_zalloc(&r->arena, p->event_count + 1, sizeof *events);
    for (size_t i = 0; events && i < p->sample_count; i++) {
        struct sample s = p->samples[i];
        const struct event *e = &p->events[s.event];
        r->labels = profile_labels(p, i);
        if (s.event && !events[s.event] && is_own_row(r, &s))
            events[s.event] =
                builder_event(r->to, profile_string(p, e->name), (enum unit)e->unit);
    }
    r->events = events;
    return events != NULL;
}

struct profile *daemon_tenant_restrict(const struct http_tenant *t, struct profile *p,
                                       struct error *err)
{
    struct restricting x = {0};
    struct rewrite r;
    struct builder b;
    struct profile *to = NULL;
    if (!p)
        return NULL;
    if (!builder_init(&b, p->all_samples ? BUILD_KEEP : BUILD_COUNT)) {
        profile_destroy(p);
        error_memory(err);
        return NULL;
    }
    x.own = find_label(p, t);
    bool ok = rewrite_init(&r, p, &b, err);
    if (ok) {
        r.context = &x;
        r.row = is_own_row;
        ok = (find_sets(&x, &r) && map_events(&r)) || error_memory(err);
        ok = ok && rewrite_run(&r, err);
    }
    rewrite_deinit(&r);
    if (ok) {
        b.profile->facts.rate = p->facts.rate;
        b.profile->facts.format = builder_string(&b, STR("store"));
        to = builder_finish(&b, err);
    }
    builder_deinit(&b);
    profile_destroy(p);
    return to;
}
