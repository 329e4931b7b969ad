/* SPDX-License-Identifier: Apache-2.0 */
#include "web/core/memory.h"
#include "base/array.h"
#include "base/idmap.h"
#include "base/sort.h"
#include "model/allocator.h"

#define BLOCK 64               /* moments */
#define OF_MODULE (1ULL << 32) /* in a key: the string is a module's path */

/* What a layer can be made of: a function, a module or a thread. */
struct group {
    uint64_t key;
    double now, most; /* bytes */
    unsigned layer;
};

struct maker {
    struct memory *m;
    const struct profile *p;
    struct arena scratch;
    struct sort_key *order; /* samples of live and resident memory by time */
    size_t count;
    uint64_t *keys;     /* by stack: the key of what allocated */
    uint32_t *group_of; /* by entry of `order` */
    struct group *groups;
    size_t group_count, group_cap;
};

/* --- What allocated ---------------------------------------------------------------------- */

static uint64_t key_of_frame(const struct maker *k, const struct frame *f)
{
    string_id path = k->p->modules[f->module].path;
    if (k->m->by == MEMORY_MODULE && f->kind != FRAME_MARKER)
        return OF_MODULE | path;
    return f->name ? f->name : OF_MODULE | path;
}

/* Of each stack: the innermost frame that does not allocate for its caller. A parent
 * comes first. */
static bool find_keys(struct maker *k)
{
    const struct profile *p = k->p;
    uint8_t *allocates = arena_zalloc(&k->scratch, p->frame_count, 1);
    k->keys = arena_zalloc(&k->scratch, p->stack_count, sizeof *k->keys);
    if (!allocates || !k->keys)
        return false;
    for (frame_id f = 1; f < p->frame_count; f++)
        allocates[f] = is_allocating(profile_string(p, p->frames[f].name));
    for (stack_id s = 1; s < p->stack_count; s++) {
        struct stack at = p->stacks[s];
        k->keys[s] = allocates[at.frame] && at.parent
                         ? k->keys[at.parent]
                         : key_of_frame(k, &p->frames[at.frame]);
    }
    return true;
}

/* --- Samples ------------------------------------------------------------------------------- */

static bool is_taken(const struct maker *k, const struct sample *s)
{
    return s->time != TIME_NONE && s->time >= k->p->facts.time_first &&
           (s->event == k->m->live || s->event == k->m->resident);
}

static bool order_samples(struct maker *k)
{
    const struct profile *p = k->p;
    size_t count = 0;
    for (size_t i = 0; i < p->sample_count; i++)
        count += is_taken(k, &p->samples[i]);
    k->order = arena_alloc(&k->scratch, 2 * (count + 1) * sizeof *k->order);
    if (!k->order)
        return false;
    for (size_t i = 0; i < p->sample_count; i++)
        if (is_taken(k, &p->samples[i]))
            k->order[k->count++] = (struct sort_key){p->samples[i].time, (uint32_t)i};
    sort_keys(k->order, k->count, k->order + k->count);
    return true;
}

static const struct sample *sample_at(const struct maker *k, size_t i)
{
    return &k->p->samples[k->order[i].id];
}

/* Groups the samples, with the most bytes that each group has at a time. Groups begin at
 * 1: 0 is the resident memory. */
static bool group_samples(struct maker *k)
{
    struct idmap known = {0};
    k->group_of = arena_zalloc(&k->scratch, k->count + 1, sizeof *k->group_of);
    if (!k->group_of || !ARRAY_RESERVE(&k->scratch, k->groups, k->group_cap, 1))
        return false;
    k->groups[0] = (struct group){0};
    k->group_count = 1;
    for (size_t i = 0; i < k->count; i++) {
        const struct sample *s = sample_at(k, i);
        if (s->event != k->m->live)
            continue;
        uint64_t key = k->m->by == MEMORY_THREAD ? s->thread : k->keys[s->stack];
        uint64_t *number = idmap_put(&known, &k->scratch, key);
        if (!number)
            return false;
        if (!*number) {
            struct group *added =
                ARRAY_APPEND(&k->scratch, k->groups, k->group_count, k->group_cap);
            if (!added)
                return false;
            *added = (struct group){.key = key};
            *number = k->group_count - 1;
        }
        struct group *group = &k->groups[*number];
        k->group_of[i] = (uint32_t)*number;
        group->now += s->weight;
        if (group->now > group->most)
            group->most = group->now;
    }
    return true;
}

static bool has_more(const void *context, uint32_t a, uint32_t b)
{
    const struct group *groups = context;
    return groups[a].most > groups[b].most;
}

/* The groups that have most bytes at a time have a layer each, the largest at the base. */
static bool choose_layers(struct maker *k)
{
    struct memory *m = k->m;
    size_t count = k->group_count - 1, own = MEMORY_LAYERS - 1;
    uint32_t *order = arena_alloc(&k->scratch, 2 * (count + 1) * sizeof *order);
    if (!order)
        return false;
    for (uint32_t i = 0; i < count; i++)
        order[i] = i + 1;
    sort_u32(order, count, order + count + 1, has_more, k->groups);
    if (count == MEMORY_LAYERS)
        own = MEMORY_LAYERS;
    for (size_t i = 0; i < count; i++) {
        k->groups[order[i]].layer = (unsigned)(i < own ? i : own);
        if (i < own)
            m->keys[m->layer_count++] = k->groups[order[i]].key;
    }
    m->has_others = count > own;
    return true;
}

/* --- Moments ------------------------------------------------------------------------------- */

/* The sums at the samples' time. */
static void add_moment(struct memory *m, double at, const double *bytes, double resident)
{
    struct moment *moment = &m->moments[m->count++];
    double total = 0;
    *moment = (struct moment){.at = at, .resident = resident > 0 ? (float)resident : 0};
    for (int i = 0; i < MEMORY_LAYERS; i++) {
        double layer = bytes[i] > 0 ? bytes[i] : 0;
        moment->layers[i] = (float)layer;
        total += layer;
    }
    moment->total = (float)total;
    if (moment->total > m->moments[m->peak].total)
        m->peak = m->count - 1;
}

static size_t count_times(const struct maker *k)
{
    size_t count = 0;
    for (size_t i = 0; i < k->count; i++)
        count += i == 0 || k->order[i].key != k->order[i - 1].key;
    return count;
}

static bool add_moments(struct maker *k)
{
    struct memory *m = k->m;
    size_t times = count_times(k);
    double bytes[MEMORY_LAYERS] = {0}, resident = 0;
    m->moments = arena_alloc(&m->arena, (times + 1) * sizeof *m->moments);
    m->largest = arena_zalloc(&m->arena, times / BLOCK + 1, sizeof *m->largest);
    if (!m->moments || !m->largest)
        return false;
    for (size_t i = 0; i < k->count; i++) {
        const struct sample *s = sample_at(k, i);
        if (s->event == m->resident)
            resident += s->weight;
        else
            bytes[k->groups[k->group_of[i]].layer] += s->weight;
        if (i + 1 == k->count || k->order[i + 1].key != k->order[i].key)
            add_moment(m, (double)(s->time - k->p->facts.time_first), bytes, resident);
    }
    for (uint32_t i = 0; i < m->count; i++) {
        uint32_t *largest = &m->largest[i / BLOCK];
        if (i % BLOCK == 0 || m->moments[i].total > m->moments[*largest].total)
            *largest = i;
    }
    return true;
}

/* --- The track ----------------------------------------------------------------------------- */

/* Some formats know only at the end what was leaked. */
static bool are_leaks_timed(const struct memory *m)
{
    const struct profile *p = m->p;
    uint64_t first = TIME_NONE;
    for (size_t i = 0; m->leaked && i < p->sample_count; i++) {
        const struct sample *s = &p->samples[i];
        if (s->event != m->leaked || s->time == TIME_NONE)
            continue;
        if (first != TIME_NONE && s->time != first)
            return true;
        first = s->time;
    }
    return false;
}

static event_id event_of_bytes(const struct profile *p, const char *name)
{
    event_id event = profile_find_event(p, str_of(name));
    return event && p->events[event].unit == UNIT_BYTES ? event : 0;
}

static bool has_times(const struct profile *p)
{
    return p->facts.time_first != TIME_NONE && !p->facts.differential;
}

bool memory_init(struct memory *m, const struct profile *p, enum memory_by by,
                 struct error *err)
{
    struct maker k = {.m = m, .p = p};
    bool ok = true;
    *m = (struct memory){.p = p, .by = by, .live = profile_find_kind(p, EVENT_LIVE)};
    if (m->live && has_times(p)) {
        m->resident = event_of_bytes(p, "resident");
        m->allocated = event_of_bytes(p, "allocated");
        m->leaked = event_of_bytes(p, "leaked");
        m->allocations = profile_find_event(p, STR("allocations"));
        m->leaks_timed = are_leaks_timed(m);
        ok = find_keys(&k) && order_samples(&k) && group_samples(&k) &&
             choose_layers(&k) && add_moments(&k) && allocations_init(m);
    }
    arena_deinit(&k.scratch);
    m->made = ok;
    if (!ok)
        m->count = 0;
    return ok || error_memory(err);
}

void memory_deinit(struct memory *m)
{
    arena_deinit(&m->arena);
    *m = (struct memory){0};
}

/* The number of moments that begin at or before x. */
static size_t moments_until(const struct memory *m, size_t low, double x)
{
    size_t high = m->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (m->moments[middle].at <= x)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* The largest of the moments from `first` to `stop`, which are not none. */
static const struct moment *largest_of(const struct memory *m, size_t first, size_t stop)
{
    const struct moment *found = &m->moments[first];
    for (size_t i = first; i < stop;) {
        bool whole = i % BLOCK == 0 && i + BLOCK <= stop;
        const struct moment *one = &m->moments[whole ? m->largest[i / BLOCK] : i];
        if (one->total > found->total)
            found = one;
        i += whole ? BLOCK : 1;
    }
    return found;
}

const struct moment *memory_most(const struct memory *m, double from, double to)
{
    size_t first = moments_until(m, 0, from), stop = moments_until(m, first, to);
    first -= first > 0;
    return first < stop ? largest_of(m, first, stop) : NULL;
}

double memory_draw(const struct memory *m, double from, double to, uint32_t columns,
                   float *values)
{
    double column = (to - from) / columns, most = 0;
    size_t next = moments_until(m, 0, from);
    for (uint32_t c = 0; c < columns; c++) {
        size_t first = next - (next > 0);
        next = moments_until(m, next, from + (c + 1) * column);
        if (first == next)
            continue;
        const struct moment *moment = largest_of(m, first, next);
        for (size_t i = 0; i < MEMORY_LAYERS; i++)
            values[i * columns + c] = moment->layers[i];
        values[(size_t)MEMORY_LAYERS * columns + c] = moment->resident;
        most = (double)moment->total > most ? (double)moment->total : most;
    }
    return most;
}

/* --- JSON ---------------------------------------------------------------------------------- */

static const char *const by_names[MEMORY_BY_COUNT] = {"function", "module", "thread"};

static void put_bool(struct json_writer *w, const char *key, bool value)
{
    json_put_key(w, key);
    json_put_bool(w, value);
}

static void put_thread(struct json_writer *w, const struct memory *m, thread_id thread)
{
    const struct thread *t = &m->p->threads[thread];
    json_begin(w, JSON_OBJECT);
    json_member_str(w, "name", profile_string(m->p, t->name));
    if (t->tid != ID_NONE)
        json_member_double(w, "tid", (double)t->tid);
    json_end(w, JSON_OBJECT);
}

static struct str file_of(struct str path)
{
    size_t at = str_rfind(path, '/');
    return at < path.len ? str_skip(path, at + 1) : path;
}

static void put_layer(struct json_writer *w, const struct memory *m, uint64_t key)
{
    struct str name = profile_string(m->p, (string_id)key);
    if (m->by == MEMORY_THREAD) {
        put_thread(w, m, (thread_id)key);
        return;
    }
    json_begin(w, JSON_OBJECT);
    json_member_str(w, "name", key & OF_MODULE ? file_of(name) : name);
    if (key & OF_MODULE && m->by == MEMORY_FUNCTION)
        put_bool(w, "nameless", true);
    json_end(w, JSON_OBJECT);
}

/* Only the ways that have more than one layer. */
static void put_ways(struct json_writer *w, const struct memory *m)
{
    const struct profile *p = m->p;
    thread_id first = p->thread_count;
    bool has_threads = false;
    for (size_t i = 0; !has_threads && i < p->sample_count; i++) {
        if (p->samples[i].event != m->live)
            continue;
        has_threads = first != p->thread_count && p->samples[i].thread != first;
        first = p->samples[i].thread;
    }
    json_put_key(w, "ways");
    json_begin(w, JSON_ARRAY);
    json_put_str(w, str_of(by_names[MEMORY_FUNCTION]));
    if (p->module_count > 2)
        json_put_str(w, str_of(by_names[MEMORY_MODULE]));
    if (has_threads)
        json_put_str(w, str_of(by_names[MEMORY_THREAD]));
    json_end(w, JSON_ARRAY);
}

void reply_memory(struct json_writer *w, const struct memory *m)
{
    if (!m->count) {
        json_put_null(w);
        return;
    }
    json_begin(w, JSON_OBJECT);
    json_member_str(w, "by", str_of(by_names[m->by]));
    put_ways(w, m);
    json_put_key(w, "layers");
    json_begin(w, JSON_ARRAY);
    for (size_t i = 0; i < m->layer_count; i++)
        put_layer(w, m, m->keys[i]);
    json_end(w, JSON_ARRAY);
    put_bool(w, "others", m->has_others);
    put_bool(w, "resident", m->resident != 0);
    json_member_u64(w, "event", m->live);
    json_member_double(w, "peak", (double)m->moments[m->peak].total);
    json_member_double(w, "peakAt", m->moments[m->peak].at);
    if (m->tally_count > 1)
        json_member_double(w, "allocations", m->tallies[m->tally_count - 1].sum);
    json_end(w, JSON_OBJECT);
}

static double live_at(const struct memory *m, double at)
{
    size_t count = moments_until(m, 0, at);
    return count ? (double)m->moments[count - 1].total : 0;
}

void reply_memory_span(struct json_writer *w, const struct memory *m, double from,
                       double to)
{
    const struct profile *p = m->p;
    double allocated = 0, leaked = 0, change = 0;
    for (size_t i = 0; i < p->sample_count; i++) {
        const struct sample *s = &p->samples[i];
        if (s->time == TIME_NONE || s->time < p->facts.time_first)
            continue;
        double at = (double)(s->time - p->facts.time_first);
        if (at < from || at >= to)
            continue;
        allocated += s->event == m->allocated ? s->weight : 0;
        leaked += s->event == m->leaked ? s->weight : 0;
        change += s->event == m->live ? s->weight : 0;
    }
    json_begin(w, JSON_OBJECT);
    json_member_double(w, "change", change);
    json_member_double(w, "live", live_at(m, to));
    if (m->allocated) {
        json_member_double(w, "allocated", allocated);
        json_member_double(w, "freed", allocated > change ? allocated - change : 0);
    }
    if (m->leaks_timed)
        json_member_double(w, "leaked", leaked);
    json_end(w, JSON_OBJECT);
}
