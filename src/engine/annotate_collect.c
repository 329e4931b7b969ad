/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the functions that contain the samples of recordings.
 *
 * The samples of a recording are counted by location. At its end the locations are named
 * and become spots: a function and an address, which are the same in all recordings. At
 * the end of the last recording the spots of the requested functions become annotations,
 * while the resolver still has the objects. */
#include "base/array.h"
#include "base/hash.h"
#include "base/sort.h"
#include "engine/annotate_parts.h"
#include "export/exporter.h"
#include "import/perf_line.h"
#include "model/name.h"
#include "transform/transform.h"
#include <stdlib.h>

#define CANDIDATES 12
#define FUNCTIONS_MOST 16 /* maximum of shown functions with one name; the heaviest */

/* Samples of one event at one location, by the ids of the recording. */
struct hit {
    location_id location;
    uint32_t event, cpu; /* CPU_NONE unless a bundle is made */
    struct annotated samples;
};

/* --- Samples ----------------------------------------------------------------------- */

static bool on_sample(void *context, struct perf_profile *p, const struct perf_sample *s,
                      struct sample *sample)
{
    struct annotate_collector *c = context;
    const struct number_set *cpus = c->a->cpus;
    (void)p, (void)sample;
    c->saw_cpu |= (s->event->sample_type & PERF_SAMPLE_CPU) != 0;
    return !cpus || !cpus->count || number_set_has(cpus, s->cpu);
}

static void on_stack(void *context, struct perf_profile *p, const struct sample *s,
                     const location_id *locations, size_t count, size_t unwound)
{
    struct annotate_collector *c = context;
    location_id location = count ? locations[count - 1] : 0;
    uint32_t cpu = c->a->keep ? s->cpu : CPU_NONE;
    uint64_t *event =
        idmap_put(&c->by_event, &c->hit_arena, (uint64_t)cpu << 32 | s->event);
    if (event && *event == 0)
        *event = c->by_event.count;
    uint64_t *at =
        event ? idmap_put(&c->by_location, &c->hit_arena, *event << 32 | location) : NULL;
    (void)p, (void)unwound;
    if (!at || !ARRAY_RESERVE(&c->hit_arena, c->hits, c->hit_cap, c->hit_count + 1))
        return;
    if (*at == 0) {
        c->hits[c->hit_count] =
            (struct hit){.location = location, .event = s->event, .cpu = cpu};
        *at = ++c->hit_count;
    }
    c->hits[*at - 1].samples.weight += s->weight;
    c->hits[*at - 1].samples.count++;
}

/* --- From locations to spots ------------------------------------------------------- */

static bool is_exact(struct str requested, struct str name)
{
    return str_equal(requested, name) ||
           str_equal(requested, name_without_arguments(name));
}

/* The number of the event in the list of all recordings; 0 when out of memory. */
static uint32_t event_named(struct annotate_collector *c, struct str name, enum unit unit)
{
    size_t before = c->events.count;
    uint32_t number = strings_add(&c->events, name);
    if (!ARRAY_RESERVE(&c->arena, c->totals, c->total_cap, (size_t)number + 1))
        return 0;
    if (c->events.count > before)
        c->totals[number] = (struct event_total){0, unit};
    return number;
}

static uint32_t event_of(struct annotate_collector *c, const struct perf_event *e)
{
    return event_named(c, e->name, perf_event_unit(e->name, true));
}

/* Adds the events with samples in the order of the recording: the first one is shown by
 * default. */
static void add_events(struct annotate_collector *c, const struct perf_profile *p)
{
    const struct perf_data *d = perf_profile_data(p);
    for (size_t i = 0; i < d->event_count; i++)
        if (perf_event_seen(p, i))
            event_of(c, &d->events[i]);
}

/* The same build of a file has an object for each recording, but one identity. */
static struct str function_key(struct annotate_collector *c,
                               const struct function_identity *is)
{
    struct output key = OUTPUT_BUFFER;
    output_format(&key, "%llx ", (unsigned long long)is->start);
    output_str(&key, is->build_id);
    output_char(&key, 0);
    output_str(&key, is->path);
    output_char(&key, 0);
    output_str(&key, is->module);
    output_char(&key, 0);
    output_str(&key, is->name);
    struct str copy = arena_str(&c->hit_arena, output_contents(&key));
    output_deinit(&key);
    return copy;
}

/* The number of the function, which is added if it is new; 0 when out of memory. */
static uint32_t add_function(struct annotate_collector *c,
                             const struct function_identity *is,
                             const struct annotation_code *code)
{
    struct arena *arena = &c->arena;
    size_t before = c->keys.count;
    uint32_t number = strings_add(&c->keys, function_key(c, is));
    if (!ARRAY_RESERVE(arena, c->functions, c->function_cap, (size_t)number + 1))
        return 0;
    if (c->keys.count > before)
        c->functions[number] =
            (struct annotated_function){.is = {.name = arena_str(arena, is->name),
                                               .module = arena_str(arena, is->module),
                                               .build_id = arena_str(arena, is->build_id),
                                               .path = arena_str(arena, is->path),
                                               .start = is->start},
                                        .code = *code};
    return number;
}

/* The name of a function without a symbol: its file and its address there. */
static struct str name_of_stripped(struct annotate_collector *c,
                                   const struct resolver *resolver,
                                   const struct perf_location_info *l, uint64_t address,
                                   struct annotation_code *code)
{
    struct output name = OUTPUT_BUFFER;
    if (!local_resolver_function(resolver, l->object, address, &code->low, &code->high))
        return STR("");
    output_str(&name, str_basename(l->module));
    output_format(&name, "+0x%llx", (unsigned long long)code->low);
    struct str copy = arena_str(&c->hit_arena, output_contents(&name));
    output_deinit(&name);
    return copy;
}

/* True if the requested function is inlined at the location. */
static bool holds_requested(const struct annotate_collector *c,
                            const struct perf_location_info *l)
{
    for (size_t i = 0; c->a->function && i + 1 < l->frame_count; i++)
        if (is_exact(str_of(c->a->function), l->frames[i].name))
            return true;
    return false;
}

/* The function of a location, added if it is new; 0 if it has no name. `address` is the
 * location's in the object. */
static uint32_t function_of(struct annotate_collector *c, const struct resolver *resolver,
                            const struct perf_location_info *l, const struct object *o,
                            uint64_t address)
{
    const struct resolved_frame *frame =
        l->frame_count ? &l->frames[l->frame_count - 1] : NULL;
    struct annotation_code code = {.object = o ? l->object : 0};
    struct function_identity is = {.name = frame ? frame->name : l->symbol,
                                   .module = l->module,
                                   .build_id = o ? o->request.build_id : STR(""),
                                   .path =
                                       o && o->file.mapping.map ? o->file.path : STR(""),
                                   .start = frame ? address - frame->offset : 0};
    if (is.name.len == 0 && o) {
        is.name = name_of_stripped(c, resolver, l, address, &code);
        is.start = code.low;
    }
    uint32_t function = is.name.len ? add_function(c, &is, &code) : 0;
    if (function)
        c->functions[function].holds_requested |= holds_requested(c, l);
    return function;
}

/* The object of a location, and the location's address there. */
static const struct object *object_of(const struct resolver *resolver,
                                      const struct perf_location_info *l,
                                      uint64_t *address)
{
    const struct object *o = local_resolver_object(resolver, l->object);
    if (!o || !object_address(o, l->address, address))
        *address = l->address;
    return o;
}

static void add_spot(struct annotate_collector *c, const struct perf_profile *p,
                     const struct hit *hit)
{
    const struct resolver *resolver = perf_profile_resolver(p);
    struct perf_location_info l = perf_profile_location(p, hit->location);
    uint64_t address = 0;
    const struct object *o = hit->location ? object_of(resolver, &l, &address) : NULL;
    uint32_t event = event_of(c, &perf_profile_data(p)->events[hit->event]);
    uint32_t function = hit->location ? function_of(c, resolver, &l, o, address) : 0;
    if (!ARRAY_RESERVE(&c->arena, c->spots, c->spot_cap, c->spot_count + 1) || !event)
        return;
    c->totals[event].weight += hit->samples.weight;
    if (function || c->a->keep)
        c->spots[c->spot_count++] = (struct spot){function, event, hit->cpu,
                                                  function ? address : 0, hit->samples};
}

/* Adds the samples of a location to the profile for the hint about modules without names
 * (package_hint.h): by module, and whether there is a name. */
static void count_names(struct perf_profile *p, const struct hit *hit)
{
    uint64_t address;
    struct builder *b = perf_profile_builder(p);
    struct perf_location_info l = perf_profile_location(p, hit->location);
    const struct object *o =
        hit->location ? object_of(perf_profile_resolver(p), &l, &address) : NULL;
    struct frame frame = {.kind = FRAME_USER};
    bool unnamed = o && o->request.kind == FRAME_USER && l.symbol.len == 0 &&
                   (!l.frame_count || l.frames[l.frame_count - 1].name.len == 0);
    if (unnamed)
        frame.module = builder_module(b, l.module, l.build_id);
    builder_path_clear(b);
    builder_path_add(b, unnamed ? builder_frame(b, &frame)
                                : builder_named_frame(b, STR("named")));
    const struct perf_event *e = &perf_profile_data(p)->events[hit->event];
    event_id event = builder_event(b, e->name, perf_event_unit(e->name, true));
    builder_add_stack(b, event, builder_path_from_leaf(b), hit->samples.weight);
}

static void clear_hits(struct annotate_collector *c)
{
    arena_deinit(&c->hit_arena);
    c->hit_arena = ARENA_INIT;
    c->by_event = c->by_location = (struct idmap){0};
    c->hits = NULL;
    c->hit_count = c->hit_cap = 0;
}

/* --- Which event ------------------------------------------------------------------- */

static bool choose_event(struct annotate_collector *c, uint32_t *event)
{
    struct annotations *a = c->a;
    char all[200] = "";
    size_t used = 0;
    *event = 1;
    for (uint32_t i = 1; i < c->events.count; i++) {
        struct str name = strings_get(&c->events, i);
        used += format_text(all + used, sizeof all - used, "%s%.*s", i > 1 ? ", " : "",
                            STR_ARG(name));
        if (a->event_pattern && event_matches(str_of(a->event_pattern), name)) {
            *event = i;
            return true;
        }
    }
    if (!a->event_pattern)
        return true;
    error_set(&a->err, "there is no event '%s' in the recording", a->event_pattern);
    return error_hint(&a->err, "it has: %s", all);
}

/* --- Which function ---------------------------------------------------------------- */

/* Functions of equal weight are in the order of their names, which is the same for a recording
 * and its bundle. */
static bool heavier_first(const void *context, uint32_t a, uint32_t b)
{
    const struct annotated_function *x = (const struct annotated_function *)context + a,
                                    *y = (const struct annotated_function *)context + b;
    if (x->weight > y->weight || x->weight < y->weight)
        return x->weight > y->weight;
    int order = str_compare(x->is.name, y->is.name);
    return order ? order < 0 : x->is.start < y->is.start;
}

/* The numbers of the functions that have samples of the event, the heaviest first, then
 * a 0. */
static uint32_t *ranked(struct annotate_collector *c)
{
    size_t count = 0;
    uint32_t *order = arena_alloc(&c->arena, c->keys.count * sizeof *order);
    uint32_t *room = arena_alloc(&c->arena, c->keys.count * sizeof *room);
    if (!order || !room)
        return NULL;
    for (uint32_t i = 1; i < c->keys.count; i++)
        if (c->functions[i].weight > 0)
            order[count++] = i;
    sort_u32(order, count, room, heavier_first, c->functions);
    order[count] = 0;
    return order;
}

/* Other commands show code without names as "[libc.so.6]". */
static struct str without_brackets(struct str name)
{
    bool has = str_starts(name, STR("[")) && str_ends(name, STR("]")) && name.len > 2;
    return has ? str_skip(str_head(name, name.len - 1), 1) : name;
}

/* The functions whose name contains the text, if all of them have the same name. */
static bool match_part(struct annotate_collector *c, const uint32_t *order)
{
    struct str requested = without_brackets(str_of(c->a->function));
    struct strings names;
    struct output all = OUTPUT_BUFFER;
    if (!strings_init(&names, &c->arena))
        return false;
    for (; *order; order++) {
        struct annotated_function *f = &c->functions[*order];
        if (!str_has(f->is.name, requested))
            continue;
        f->matches = true;
        size_t before = names.count;
        strings_add(&names, f->is.name);
        if (names.count > before && before <= CANDIDATES)
            output_format(&all, "%s%.*s", before > 1 ? ", " : "", STR_ARG(f->is.name));
    }
    size_t found = names.count - 1;
    if (found > 1) {
        error_set(&c->a->err, "'%s' is a part of the names of %zu functions",
                  c->a->function, found);
        error_hint(&c->a->err, "one of: %.*s%s", STR_ARG(output_contents(&all)),
                   found > CANDIDATES ? ", ..." : "");
    }
    output_deinit(&all);
    return found == 1;
}

/* The functions into which a function of that name is inlined, for the message. */
static void hint_inlined(struct annotate_collector *c, const uint32_t *order)
{
    struct output all = OUTPUT_BUFFER;
    size_t names = 0;
    for (; *order && names < CANDIDATES; order++) {
        const struct annotated_function *f = &c->functions[*order];
        if (f->holds_requested)
            output_format(&all, "%s%.*s", names++ ? ", " : "", STR_ARG(f->is.name));
    }
    if (names)
        error_hint(&c->a->err, "it was inlined into: %.*s",
                   STR_ARG(output_contents(&all)));
    output_deinit(&all);
}

static bool match_functions(struct annotate_collector *c, const uint32_t *order)
{
    bool found = false;
    for (const uint32_t *at = order; *at; at++) {
        struct annotated_function *f = &c->functions[*at];
        f->matches = !c->a->function || is_exact(str_of(c->a->function), f->is.name);
        found |= f->matches;
    }
    if (found || !c->a->function || match_part(c, order))
        return true;
    if (c->a->err.message[0])
        return false;
    error_set(&c->a->err, "no sample is in a function named '%s'", c->a->function);
    error_hint(&c->a->err, "'stoke report' lists the functions");
    hint_inlined(c, order);
    return false;
}

/* --- Annotations ------------------------------------------------------------------- */

static void add_addresses(struct annotate_collector *c, uint32_t function, uint32_t event,
                          struct annotation *f)
{
    for (size_t i = 0; i < c->spot_count; i++) {
        const struct spot *spot = &c->spots[i];
        bool counts = spot->event == event;
        if (spot->function != function || !(counts || c->a->group))
            continue;
        struct annotated_address *address =
            ARRAY_APPEND(&c->a->arena, f->addresses, f->address_count, f->address_cap);
        if (!address)
            return;
        *address = (struct annotated_address){.address = spot->address};
        if (!counts)
            continue;
        address->samples = spot->samples;
        f->samples.weight += spot->samples.weight;
        f->samples.count += spot->samples.count;
    }
}

/* Adds the samples of the other events, in their order. */
static bool add_others(struct annotate_collector *c, uint32_t function, uint32_t event,
                       struct annotation *f)
{
    if (!c->a->other_count)
        return true;
    if (!annotation_add_others(f, c->a->other_count, &c->a->arena))
        return false;
    for (size_t i = 0; i < c->spot_count; i++) {
        const struct spot *spot = &c->spots[i];
        size_t other = spot->event - 1 - (spot->event > event);
        if (spot->function == function && spot->event != event)
            annotation_count_other(f, other, spot->address, &spot->samples);
    }
    return true;
}

static bool annotate(struct annotate_collector *c, const struct resolver *resolver,
                     uint32_t number, uint32_t event)
{
    const struct annotated_function *function = &c->functions[number];
    struct arena *arena = &c->a->arena;
    struct annotation f = {.symbol = arena_str(arena, function->is.name),
                           .module = arena_str(arena, function->is.module),
                           .style = c->a->style,
                           .no_code = STR("")};
    add_addresses(c, number, event, &f);
    if (!annotation_build(&f, &function->code, resolver, arena) ||
        !add_others(c, number, event, &f))
        return false;
    struct annotation *item = ARRAY_APPEND(arena, c->a->items, c->a->count, c->a->cap);
    if (!item)
        return false;
    *item = f;
    return true;
}

/* Why nothing is shown. */
static bool explain_nothing(struct annotate_collector *c, uint32_t heaviest)
{
    struct annotations *a = c->a;
    if (a->cpus && a->cpus->count && !c->saw_cpu) {
        error_set(&a->err, "the recording has no CPU numbers");
        return error_hint(&a->err, "perf record --sample-cpu records them");
    }
    if (a->cpus && a->cpus->count && !(a->total > 0))
        return error_set(&a->err, "no sample of the event '%.*s' is from these CPUs",
                         STR_ARG(a->event));
    if (!heaviest) {
        error_set(&a->err, "no sample is in a function with a name");
        return error_hint(&a->err, "'stoke report' shows the modules");
    }
    const struct annotated_function *f = &c->functions[heaviest];
    error_set(&a->err, "no function has %g%% of the samples", a->least);
    return error_hint(&a->err, "the heaviest, %.*s, has %.2f%%: --percent-limit",
                      STR_ARG(f->is.name), 100 * f->weight / a->total);
}

/* Lists the other events of a group. */
static bool list_others(struct annotate_collector *c, uint32_t event)
{
    struct annotations *a = c->a;
    if (!a->group)
        return true;
    a->others = arena_alloc(&a->arena, c->events.count * sizeof *a->others);
    for (uint32_t i = 1; a->others && i < c->events.count; i++)
        if (i != event)
            a->others[a->other_count++] =
                (struct annotated_event){arena_str(&a->arena, strings_get(&c->events, i)),
                                         c->totals[i].unit, c->totals[i].weight};
    return !a->arena.failed;
}

/* All recordings were read. */
static bool finish(struct annotate_collector *c, const struct resolver *resolver)
{
    struct annotations *a = c->a;
    uint32_t event = 0;
    if (c->events.count == 1)
        return error_set(&a->err, "the recording has no samples");
    if (a->keep)
        return annotate_keep(c, resolver);
    if (!choose_event(c, &event))
        return false;
    a->event = arena_str(&a->arena, strings_get(&c->events, event));
    a->unit = c->totals[event].unit;
    a->total = c->totals[event].weight;
    a->event_count = c->events.count - 1;
    for (size_t i = 0; i < c->spot_count; i++)
        if (c->spots[i].event == event)
            c->functions[c->spots[i].function].weight += c->spots[i].samples.weight;
    if (!list_others(c, event))
        return false;
    const uint32_t *order = ranked(c);
    size_t most = a->function ? FUNCTIONS_MOST : a->most;
    if (!order || !match_functions(c, order))
        return false;
    uint32_t heaviest = *order;
    double least = a->least / 100 * a->total;
    for (; *order && a->count < most && c->functions[*order].weight >= least; order++)
        if (c->functions[*order].matches && !annotate(c, resolver, *order, event))
            return false;
    return a->count || a->arena.failed || explain_nothing(c, heaviest);
}

/* One recording, or one bundle, was read. */
static void end_recording(struct annotate_collector *c, bool ok,
                          const struct resolver *resolver)
{
    struct annotations *a = c->a;
    ok = ok && !c->hit_arena.failed && !c->arena.failed;
    clear_hits(c);
    if (!ok) {
        error_memory(&a->err);
        return;
    }
    if (--c->recordings_left)
        return;
    a->ended = true;
    a->ok = finish(c, resolver);
    if (!a->ok && !a->err.message[0])
        error_memory(&a->err);
}

static void on_end(void *context, struct perf_profile *p)
{
    struct annotate_collector *c = context;
    bool ok = perf_profile_name(p);
    add_events(c, p);
    for (size_t i = 0; ok && i < c->hit_count; i++) {
        add_spot(c, p, &c->hits[i]);
        count_names(p, &c->hits[i]);
    }
    end_recording(c, ok, perf_profile_resolver(p));
}

/* --- Bundles ----------------------------------------------------------------------- */

/* The functions of a bundle, with the same numbers; NULL when out of memory. */
static const uint32_t *take_functions(struct annotate_collector *c,
                                      const struct code *code)
{
    uint32_t *numbers =
        arena_zalloc(&c->hit_arena, code->function_count, sizeof *numbers);
    for (uint32_t i = 1; numbers && i < code->function_count; i++) {
        const struct code_function *f = &code->functions[i];
        struct function_identity is = {.name = code_string(code, f->name),
                                       .module = code_string(code, f->module),
                                       .build_id = code_string(code, f->build_id),
                                       .path = code_string(code, f->path),
                                       .start = f->start};
        struct annotation_code bundled = {.bundle = code, .bundled_function = i};
        numbers[i] = is.name.len ? add_function(c, &is, &bundled) : 0;
        struct annotation_code *has = &c->functions[numbers[i]].code;
        bool better =
            has->bundle && (f->flags & CODE_INCLUDED) &&
            !(has->bundle->functions[has->bundled_function].flags & CODE_INCLUDED);
        if (better)
            *has = bundled;
    }
    return numbers;
}

/* Finds the functions into which the requested one is inlined. */
static void take_inlined(struct annotate_collector *c, const struct code *code,
                         const uint32_t *numbers)
{
    for (size_t i = 0; c->a->function && i < code->note_count; i++) {
        const struct code_note *note = &code->notes[i];
        if (note->kind == CODE_INLINED &&
            is_exact(str_of(c->a->function), code_string(code, note->text)))
            c->functions[numbers[note->function]].holds_requested = true;
    }
}

static bool take_spots(struct annotate_collector *c, const struct code *code,
                       const uint32_t *functions, const uint32_t *events)
{
    const struct number_set *cpus = c->a->cpus;
    if (!ARRAY_RESERVE(&c->arena, c->spots, c->spot_cap,
                       c->spot_count + code->spot_count))
        return code->spot_count == 0;
    for (size_t i = 0; i < code->spot_count; i++) {
        const struct code_spot *from = &code->spots[i];
        uint32_t function = functions[from->function], event = events[from->event];
        c->saw_cpu |= from->cpu != CPU_NONE;
        if (cpus && cpus->count && !number_set_has(cpus, from->cpu))
            continue;
        c->totals[event].weight += from->weight;
        if (function || c->a->keep)
            c->spots[c->spot_count++] = (struct spot){function,
                                                      event,
                                                      c->a->keep ? from->cpu : CPU_NONE,
                                                      from->address,
                                                      {from->weight, from->count}};
    }
    return true;
}

/* Adds the sources of a bundle to those of the bundles before. The result owns them. */
static bool take_sources(struct annotate_collector *c, const struct code *code)
{
    struct annotations *a = c->a;
    struct source_text *all =
        arena_zalloc(&a->arena, a->source_count + code->source_count, sizeof *all);
    if (!all)
        return false;
    if (a->source_count)
        memcpy(all, a->sources, a->source_count * sizeof *all);
    for (size_t i = 1; i < code->source_count; i++)
        all[a->source_count++] = (struct source_text){
            arena_str(&a->arena, code_string(code, code->sources[i].name)),
            arena_str(&a->arena, code_string(code, code->sources[i].text))};
    a->sources = all;
    return true;
}

static void on_code(void *context, struct code *code, const struct resolver *resolver)
{
    struct annotate_collector *c = context;
    struct bundled_code *bundled = calloc(1, sizeof *bundled);
    if (!bundled) {
        error_memory(&c->a->err);
        return;
    }
    *bundled = (struct bundled_code){*code, c->bundles};
    *code = (struct code){.arena = ARENA_INIT};
    c->bundles = bundled;
    uint32_t *events =
        arena_zalloc(&c->hit_arena, bundled->code.event_count, sizeof *events);
    for (size_t i = 1; events && i < bundled->code.event_count; i++)
        events[i] =
            event_named(c, code_string(&bundled->code, bundled->code.events[i].name),
                        bundled->code.events[i].unit);
    const uint32_t *functions = events ? take_functions(c, &bundled->code) : NULL;
    if (functions)
        take_inlined(c, &bundled->code, functions);
    bool ok = functions && take_spots(c, &bundled->code, functions, events) &&
              take_sources(c, &bundled->code);
    end_recording(c, ok, resolver);
}

/* --- The whole --------------------------------------------------------------------- */

struct annotate_collector *annotate_collector_create(struct annotations *a,
                                                     int recordings)
{
    struct annotate_collector *c = calloc(1, sizeof *c);
    if (!c)
        return NULL;
    if (!strings_init(&c->events, &c->arena) || !strings_init(&c->keys, &c->arena) ||
        !ARRAY_RESERVE_ZEROED(&c->arena, c->functions, c->function_cap, 1) ||
        !ARRAY_RESERVE_ZEROED(&c->arena, c->totals, c->total_cap, 1)) {
        annotate_collector_destroy(c);
        return NULL;
    }
    c->a = a;
    c->recordings_left = recordings;
    c->consumer = (struct perf_consumer){.context = c,
                                         .leaf_only = true,
                                         .sample = on_sample,
                                         .stack = on_stack,
                                         .end = on_end};
    c->code_consumer = (struct code_consumer){c, on_code};
    return c;
}

void annotate_collector_destroy(struct annotate_collector *c)
{
    while (c && c->bundles) {
        struct bundled_code *next = c->bundles->next;
        code_deinit(&c->bundles->code);
        free(c->bundles);
        c->bundles = next;
    }
    if (c) {
        arena_deinit(&c->hit_arena);
        arena_deinit(&c->arena);
    }
    free(c);
}

const struct perf_consumer *annotate_collector_consumer(
    const struct annotate_collector *c)
{
    return &c->consumer;
}

const struct code_consumer *annotate_collector_code_consumer(
    const struct annotate_collector *c)
{
    return &c->code_consumer;
}

/* --- Reading recordings ------------------------------------------------------------ */

bool annotate_check_result(const struct annotations *a, int file_count, struct error *err)
{
    if (!a->ended && !a->err.message[0]) {
        error_set(err, "%s not a recording and has no code: the addresses are unknown",
                  file_count > 1 ? "one of the inputs is" : "the input is");
        return error_hint(err, "give a perf.data, or what 'stoke convert perf.data "
                               "--with-code -o FILE.stoke' makes of it");
    }
    if (!a->ok)
        *err = a->err;
    return a->ok;
}

bool annotate_read_again(struct annotations *a, const struct load_settings *first,
                         int file_count, char **files, struct error *err)
{
    if (first->history.at.count) {
        error_set(err, "the history of stoke daemon has no code of functions");
        return error_hint(err, "give a recording instead of --at");
    }
    for (int i = 0; i < file_count; i++)
        if (strcmp(files[i], "-") == 0)
            return error_set(err, "the code of functions needs a second reading: give a "
                                  "file instead of the standard input");
    struct load_settings load = *first;
    struct annotate_collector *c = annotate_collector_create(a, file_count);
    if (!c)
        return error_memory(err);
    load.consumer = annotate_collector_consumer(c);
    load.code_consumer = annotate_collector_code_consumer(c);
    load.quiet = true;
    load.keep = load.events_apart = false;
    load.import.lines = true;
    struct profile *p = engine_load(&load, file_count, files, &engine_silent, err);
    profile_destroy(p);
    annotate_collector_destroy(c);
    return p && annotate_check_result(a, file_count, err);
}
