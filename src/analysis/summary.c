/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/summary.h"
#include "base/hash.h"
#include "base/sort.h"

/* By stack. */
struct trait {
    uint32_t depth;
    bool sampled; /* a sample ends in it */
    bool used;    /* a sample ends in it or in one of its callees */
    bool unknown; /* it has a frame without a name */
};

static bool is_unknown(const struct profile *p, frame_id frame)
{
    struct str name = profile_string(p, p->frames[frame].name);
    return name.len == 0 || str_equal(name, STR("[unknown]"));
}

/* Callers come before their callees, so depth and names are passed on in one pass. */
static struct trait *find_traits(struct summary *s, const struct profile *p)
{
    struct trait *traits = arena_zalloc(&s->arena, p->stack_count, sizeof *traits);
    for (stack_id i = 1; traits && i < p->stack_count; i++) {
        const struct trait *caller = &traits[p->stacks[i].parent];
        traits[i].depth = caller->depth + 1;
        traits[i].unknown = caller->unknown || is_unknown(p, p->stacks[i].frame);
    }
    return traits;
}

static void add_tally(struct tally *t, const struct sample *sample)
{
    t->samples += sample->count;
    t->weight += sample->weight;
}

static void add_sample(struct summary *s, const struct profile *p, struct trait *traits,
                       const struct sample *sample)
{
    struct trait *trait = &traits[sample->stack];
    frame_id leaf = p->stacks[sample->stack].frame;
    add_tally(&s->events[sample->event], sample);
    if (sample->event != s->event)
        return;
    add_tally(&s->all, sample);
    add_tally(&s->threads[sample->thread], sample);
    add_tally(&s->modules[p->frames[leaf].module], sample);
    s->stacks += sample->stack && !trait->sampled;
    trait->sampled = trait->used = true;
    if (trait->depth > s->deepest)
        s->deepest = trait->depth;
    if (trait->unknown)
        s->unknown_any += sample->weight;
    if (leaf && is_unknown(p, leaf))
        s->unknown_leaf += sample->weight;
}

/* --- Counts of items ----------------------------------------------------------- */

struct functions {
    const struct profile *p;
    uint32_t frame; /* the frame to find */
};

static bool same_function(const void *context, uint32_t id)
{
    const struct functions *w = context;
    const struct frame *a = &w->p->frames[id], *b = &w->p->frames[w->frame];
    return a->name == b->name && a->module == b->module;
}

/* Counts the functions of the used stacks: frames that differ only in address or line
 * are one function. */
static bool count_functions(struct summary *s, const struct profile *p,
                            struct trait *traits)
{
    struct index index = {0};
    for (stack_id i = (stack_id)p->stack_count; i-- > 1;) {
        struct functions w = {p, p->stacks[i].frame};
        if (!traits[i].used)
            continue;
        traits[p->stacks[i].parent].used = true;
        if (!index_reserve(&index, &s->arena, 1))
            return false;
        const struct frame *f = &p->frames[w.frame];
        uint32_t hash = (uint32_t)hash_pair(f->name, f->module);
        struct index_slot *slot = index_find(&index, hash, same_function, &w);
        if (slot->id)
            continue;
        index_fill(&index, slot, hash, w.frame);
        s->functions++;
    }
    return true;
}

struct processes {
    const struct profile *p;
    int64_t pid;
};

static bool same_process(const void *context, uint32_t id)
{
    const struct processes *w = context;
    return w->p->threads[id].pid == w->pid;
}

static bool count_processes(struct summary *s, const struct profile *p)
{
    struct index index = {0};
    for (size_t i = 0; i < s->thread_count; i++) {
        thread_id thread = s->thread_order[i];
        struct processes w = {p, p->threads[thread].pid};
        if (w.pid == ID_NONE)
            continue;
        if (!index_reserve(&index, &s->arena, 1))
            return false;
        uint32_t hash = (uint32_t)hash_mix((uint64_t)w.pid ^ HASH_A, HASH_B);
        struct index_slot *slot = index_find(&index, hash, same_process, &w);
        if (slot->id)
            continue;
        index_fill(&index, slot, hash, thread);
        s->process_count++;
    }
    return true;
}

static bool heavier(const void *context, uint32_t a, uint32_t b)
{
    const struct tally *tallies = context;
    return tallies[a].weight > tallies[b].weight;
}

/* The ids from 1 on that have samples, the heaviest first; NULL when out of memory. */
static uint32_t *order_tallies(struct summary *s, const struct tally *tallies,
                               size_t size, size_t *count)
{
    uint32_t *order = arena_alloc(&s->arena, size * sizeof *order);
    uint32_t *scratch = arena_alloc(&s->arena, size * sizeof *scratch);
    *count = 0;
    if (!order || !scratch)
        return NULL;
    for (uint32_t i = 1; i < size; i++)
        if (tallies[i].samples)
            order[(*count)++] = i;
    sort_u32(order, *count, scratch, heavier, tallies);
    return order;
}

/* Adds up the samples of each label. The samples of a set also count for its parents,
 * which have fewer labels. A label that a set has twice counts once: equal labels are
 * neighbours. */
static bool tally_labels(struct summary *s, const struct profile *p)
{
    struct tally *sets = arena_zalloc(&s->arena, p->label_set_count + 1, sizeof *sets);
    s->labels = arena_zalloc(&s->arena, p->label_count + 1, sizeof *s->labels);
    if (!sets || !s->labels)
        return false;
    for (size_t i = 0; i < p->sample_count; i++)
        if (p->samples[i].event == s->event)
            add_tally(&sets[p->sample_labels[i]], &p->samples[i]);
    for (label_set_id i = (label_set_id)p->label_set_count; i-- > 1;) {
        struct label_set set = p->label_sets[i];
        sets[set.parent].samples += sets[i].samples;
        sets[set.parent].weight += sets[i].weight;
        if (set.parent && p->label_sets[set.parent].label == set.label)
            continue;
        s->labels[set.label].samples += sets[i].samples;
        s->labels[set.label].weight += sets[i].weight;
    }
    s->label_order = order_tallies(s, s->labels, p->label_count, &s->label_count);
    return s->label_order != NULL;
}

static bool summarize(struct summary *s, const struct profile *p)
{
    struct arena *a = &s->arena;
    struct trait *traits = find_traits(s, p);
    s->event = profile_default_event(p);
    s->events = arena_zalloc(a, p->event_count, sizeof *s->events);
    s->threads = arena_zalloc(a, p->thread_count, sizeof *s->threads);
    s->modules = arena_zalloc(a, p->module_count, sizeof *s->modules);
    if (!traits || !s->events || !s->threads || !s->modules)
        return false;
    for (size_t i = 0; i < p->sample_count; i++)
        add_sample(s, p, traits, &p->samples[i]);
    if (p->sample_labels && !tally_labels(s, p))
        return false;
    s->thread_order = order_tallies(s, s->threads, p->thread_count, &s->thread_count);
    s->module_order = order_tallies(s, s->modules, p->module_count, &s->module_count);
    return s->thread_order && s->module_order && count_functions(s, p, traits) &&
           count_processes(s, p);
}

bool summary_init(struct summary *s, const struct profile *p, struct error *err)
{
    *s = (struct summary){0};
    return summarize(s, p) || error_memory(err);
}

void summary_deinit(struct summary *s)
{
    arena_deinit(&s->arena);
}
