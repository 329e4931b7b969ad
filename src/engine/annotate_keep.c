/* SPDX-License-Identifier: Apache-2.0 */
/* Makes a bundle: the tables of model/code.h from the samples that were collected. */
#include "base/array.h"
#include "base/sort.h"
#include "engine/annotate_parts.h"
#include "engine/sources.h"

#define SHARE_INCLUDED 0.99 /* of the weight of each event, */
#define COUNT_INCLUDED \
    50 /* but as many functions as a page shows, if there are so many */

/* The functions by their weights of one event, and what is chosen. */
struct choosing {
    struct annotate_collector *c;
    size_t count;    /* of functions, with [0] */
    double *weights; /* of the current event, by function */
    double *shares;  /* by function: the largest of all events */
    bool *is_hot;
    bool *is_bundled; /* its code is in the bundle */
    uint32_t *order, *room;
    size_t hot_count;
    uint32_t *hot; /* functions, the heaviest first */
    uint32_t
        *numbers; /* in the bundle, by function: first the hot ones, in their order */
    struct strings files; /* of lines from files of this machine */
};

static bool heavier_first(const void *context, uint32_t a, uint32_t b)
{
    const double *weights = context;
    return weights[a] > weights[b];
}

static void sum_event(struct choosing *h, uint32_t event)
{
    const struct annotate_collector *c = h->c;
    memset(h->weights, 0, h->count * sizeof *h->weights);
    for (size_t i = 0; i < c->spot_count; i++)
        if (c->spots[i].event == event)
            h->weights[c->spots[i].function] += c->spots[i].samples.weight;
}

/* Marks the heaviest functions of an event, up to the share of what functions have. */
static void mark_hot(struct choosing *h, uint32_t event)
{
    double all = 0, sum = 0;
    size_t count = 0;
    sum_event(h, event);
    for (uint32_t f = 1; f < h->count; f++) {
        all += h->weights[f];
        if (h->weights[f] > 0)
            h->order[count++] = f;
    }
    sort_u32(h->order, count, h->room, heavier_first, h->weights);
    for (size_t i = 0; i < count && (i < COUNT_INCLUDED || sum < all * SHARE_INCLUDED);
         i++) {
        uint32_t f = h->order[i];
        sum += h->weights[f];
        h->is_hot[f] = true;
        if (h->weights[f] / all > h->shares[f])
            h->shares[f] = h->weights[f] / all;
    }
}

/* --- The tables -------------------------------------------------------------------- */

static void add_events(const struct annotate_collector *c, struct code *to)
{
    for (uint32_t i = 1; i < c->events.count; i++) {
        string_id name = strings_add(&to->strings, strings_get(&c->events, i));
        struct code_event *e =
            ARRAY_APPEND(&to->arena, to->events, to->event_count, to->event_cap);
        if (e)
            *e = (struct code_event){name, c->totals[i].unit};
    }
}

static void add_function(struct choosing *h, struct code *to, uint32_t number)
{
    const struct function_identity *is = &h->c->functions[number].is;
    struct code_function f = {.name = strings_add(&to->strings, is->name),
                              .module = strings_add(&to->strings, is->module),
                              .build_id = strings_add(&to->strings, is->build_id),
                              .path = strings_add(&to->strings, is->path),
                              .start = is->start};
    struct code_function *item =
        ARRAY_APPEND(&to->arena, to->functions, to->function_count, to->function_cap);
    if (!item)
        return;
    *item = f;
    h->numbers[number] = (uint32_t)to->function_count - 1;
}

static void add_functions(struct choosing *h, struct code *to)
{
    for (size_t i = 0; i < h->hot_count; i++)
        add_function(h, to, h->hot[i]);
    for (uint32_t i = 1; i < h->count; i++)
        if (!h->is_hot[i])
            add_function(h, to, i);
}

/* By function, address, event and CPU. */
static bool spot_before(const void *context, uint32_t a, uint32_t b)
{
    const struct spot *x = &((const struct spot *)context)[a],
                      *y = &((const struct spot *)context)[b];
    if (x->function != y->function)
        return x->function < y->function;
    if (x->address != y->address)
        return x->address < y->address;
    return x->event != y->event ? x->event < y->event : x->cpu < y->cpu;
}

static bool is_same_spot(const struct code_spot *last, const struct spot *spot)
{
    return last->function == spot->function && last->address == spot->address &&
           last->event == spot->event && last->cpu == spot->cpu;
}

static bool add_spots(const struct choosing *h, struct code *to)
{
    struct arena room = ARENA_INIT;
    size_t n = h->c->spot_count;
    struct spot *spots = arena_alloc(&room, (n + 1) * sizeof *spots);
    uint32_t *order = arena_alloc(&room, (n + 1) * sizeof *order);
    uint32_t *scratch = arena_alloc(&room, (n + 1) * sizeof *scratch);
    bool ok = spots && order && scratch;
    for (uint32_t i = 0; ok && i < n; i++) {
        spots[i] = h->c->spots[i];
        spots[i].function = h->numbers[spots[i].function];
        order[i] = i;
    }
    if (ok)
        sort_u32(order, n, scratch, spot_before, spots);
    for (size_t i = 0; ok && i < n; i++) {
        const struct spot *spot = &spots[order[i]];
        struct code_spot *last = to->spot_count ? &to->spots[to->spot_count - 1] : NULL;
        if (!last || !is_same_spot(last, spot)) {
            last = ARRAY_APPEND(&to->arena, to->spots, to->spot_count, to->spot_cap);
            if (!last)
                break;
            *last = (struct code_spot){.address = spot->address,
                                       .function = spot->function,
                                       .event = spot->event,
                                       .cpu = spot->cpu};
        }
        last->weight += spot->samples.weight;
        last->count += spot->samples.count;
    }
    arena_deinit(&room);
    return ok;
}

/* --- The code of one function ------------------------------------------------------- */

static void add_addresses(const struct code *code, uint32_t number, struct annotation *f,
                          struct arena *arena)
{
    const struct code_range *range = &code->functions[number].spots;
    for (size_t i = 0; i < range->count; i++) {
        struct annotated_address *address =
            ARRAY_APPEND(arena, f->addresses, f->address_count, f->address_cap);
        if (address)
            *address = (struct annotated_address){
                .address = code->spots[range->first + i].address};
    }
}

/* The files of its lines, whose texts are read later. Texts of a bundle's lines come from the
 * bundle. */
static void note_files(struct choosing *h, const struct annotation *f)
{
    for (string_id i = 1; !f->is_bundled && i < f->files.count; i++)
        strings_add(&h->files, strings_get(&f->files, i));
}

static void keep_built(struct choosing *h, uint32_t number, const struct annotation *f)
{
    struct annotation_keeping *k = h->c->a->keep;
    bool has_code = f->bytes.len || f->row_count;
    if (f->is_left_out || !has_code)
        k->without_code++;
    if (f->is_left_out)
        return;
    if (f->bytes.len > k->most - k->code_size) {
        k->over_limit++;
        return;
    }
    annotation_keep(f, k->code, h->numbers[number]);
    note_files(h, f);
    k->code_size += f->bytes.len;
    k->included_count += has_code;
    h->is_bundled[number] = has_code;
}

static bool keep_function(struct choosing *h, uint32_t number,
                          const struct resolver *resolver)
{
    const struct annotated_function *function = &h->c->functions[number];
    struct arena arena = ARENA_INIT;
    struct annotation f = {
        .symbol = function->is.name, .module = function->is.module, .no_code = STR("")};
    add_addresses(h->c->a->keep->code, h->numbers[number], &f, &arena);
    bool ok = annotation_build(&f, &function->code, resolver, &arena);
    if (ok)
        keep_built(h, number, &f);
    arena_deinit(&arena);
    return ok;
}

/* --- Sources ----------------------------------------------------------------------- */

static bool add_source(struct annotation_keeping *k, struct str name, struct str text)
{
    struct code *to = k->code;
    string_id name_id = strings_add(&to->strings, name);
    string_id text_id = strings_add(&to->strings, text);
    struct code_source *s =
        ARRAY_APPEND(&to->arena, to->sources, to->source_count, to->source_cap);
    if (!s)
        return false;
    *s = (struct code_source){name_id, text_id};
    k->source_size += text.len;
    k->source_count++;
    return true;
}

static bool add_read_sources(struct choosing *h, struct error *err)
{
    struct annotation_keeping *k = h->c->a->keep;
    struct sources sources;
    bool ok = (sources_init(&sources) || error_memory(err)) &&
              sources_read_named(&sources, &h->files, k->source_dirs,
                                 k->most - k->code_size - k->source_size, err);
    for (size_t i = 0; ok && i < sources.count; i++)
        ok = add_source(k, sources.items[i].name, sources.items[i].text);
    k->unread = sources.skipped;
    k->over_limit += sources.too_large;
    sources_deinit(&sources);
    return ok;
}

/* Those of the bundles that were read; of several with one name, the first. */
static bool add_bundled_sources(struct annotate_collector *c)
{
    struct annotation_keeping *k = c->a->keep;
    struct strings met;
    bool ok = strings_init(&met, &c->arena);
    for (size_t i = 0; ok && i < c->a->source_count; i++) {
        const struct source_text *s = &c->a->sources[i];
        if (strings_find(&met, s->name))
            continue;
        strings_add(&met, s->name);
        if (s->text.len > k->most - k->code_size - k->source_size)
            k->over_limit++;
        else
            ok = add_source(k, s->name, s->text);
    }
    return ok;
}

/* --- The whole --------------------------------------------------------------------- */

static bool make_room(struct choosing *h)
{
    struct arena *arena = &h->c->arena;
    h->count = h->c->keys.count;
    h->weights = arena_zalloc(arena, h->count, sizeof *h->weights);
    h->shares = arena_zalloc(arena, h->count, sizeof *h->shares);
    h->is_hot = arena_zalloc(arena, h->count, sizeof *h->is_hot);
    h->is_bundled = arena_zalloc(arena, h->count, sizeof *h->is_bundled);
    h->order = arena_zalloc(arena, h->count, sizeof *h->order);
    h->room = arena_zalloc(arena, h->count, sizeof *h->room);
    h->hot = arena_zalloc(arena, h->count, sizeof *h->hot);
    h->numbers = arena_zalloc(arena, h->count, sizeof *h->numbers);
    return strings_init(&h->files, arena) && !arena->failed;
}

/* Of the event of which the included functions have the smallest share. */
static double least_share(struct choosing *h)
{
    double least = 1;
    for (uint32_t event = 1; event < h->c->events.count; event++) {
        double all = 0, included = 0;
        sum_event(h, event);
        for (uint32_t f = 0; f < h->count; f++) {
            all += h->weights[f];
            included += h->is_bundled[f] ? h->weights[f] : 0;
        }
        if (all > 0 && included / all < least)
            least = included / all;
    }
    return 100 * least;
}

static void choose(struct choosing *h)
{
    for (uint32_t event = 1; event < h->c->events.count; event++)
        mark_hot(h, event);
    for (uint32_t f = 1; f < h->count; f++)
        if (h->is_hot[f])
            h->hot[h->hot_count++] = f;
    sort_u32(h->hot, h->hot_count, h->room, heavier_first, h->shares);
}

bool annotate_keep(struct annotate_collector *c, const struct resolver *resolver)
{
    struct choosing h = {.c = c};
    struct annotation_keeping *k = c->a->keep;
    if (!make_room(&h))
        return false;
    k->function_count = h.count - 1;
    choose(&h);
    add_events(c, k->code);
    add_functions(&h, k->code);
    if (k->code->arena.failed || !add_spots(&h, k->code))
        return false;
    code_index(k->code);
    for (size_t i = 0; i < h.hot_count; i++)
        if (!keep_function(&h, h.hot[i], resolver))
            return false;
    if (!add_bundled_sources(c) || !add_read_sources(&h, &c->a->err))
        return false;
    k->share = least_share(&h);
    return !k->code->arena.failed;
}
