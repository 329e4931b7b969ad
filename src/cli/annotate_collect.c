/* From the samples of a recording to the functions that they were in. */
#include "base/hash.h"
#include "base/sort.h"
#include "cli/annotate.h"
#include "import/perf_line.h"
#include "model/name.h"
#include "resolve/machine.h"
#include "transform/pattern.h"
#include <stdlib.h>

#define CANDIDATES 12
#define FUNCTIONS_MOST 16 /* of one name that are shown, the heaviest */

/* Samples of one event at one place. */
struct hit {
    frame_id place;
    uint32_t event, function; /* function + 1; 0: none */
    struct annotated samples;
};

/* A function that samples were in. */
struct function {
    struct str name; /* the resolver's */
    uint32_t file;
    double weight;
    bool matches;
};

struct annotate_collector {
    struct annotations *a;
    struct perf_taker taker;
    struct arena arena;
    struct idmap by_place;
    struct hit *hits;
    size_t hit_count, hit_cap;
    uint32_t *events; /* those that have samples, in the order of appearance */
    size_t event_count, event_cap;
    struct idmap seen_events;
    struct function *functions;
    size_t function_count, function_cap;
    struct idmap by_start;
};

/* --- Samples --------------------------------------------------------------------------
 */

static bool take_sample(void *context, struct perf_profile *p,
                        const struct perf_sample *s, struct sample *sample)
{
    (void)context;
    (void)p;
    (void)s;
    (void)sample;
    return true;
}

static void note_event(struct annotate_collector *c, uint32_t event)
{
    uint64_t *seen = idmap_put(&c->seen_events, &c->arena, event);
    uint32_t *events = arena_grow(&c->arena, c->events, &c->event_cap, c->event_count + 1,
                                  sizeof *events);
    if (events)
        c->events = events;
    if (!events || !seen || *seen)
        return;
    *seen = 1;
    events[c->event_count++] = event;
}

static void take_stack(void *context, struct perf_profile *p, const struct sample *s,
                       const frame_id *places, size_t count, size_t unwound)
{
    struct annotate_collector *c = context;
    frame_id place = count ? places[0] : 0;
    uint64_t *at = idmap_put(&c->by_place, &c->arena, (uint64_t)s->event << 32 | place);
    struct hit *hits =
        arena_grow(&c->arena, c->hits, &c->hit_cap, c->hit_count + 1, sizeof *hits);
    (void)p;
    (void)unwound;
    if (!at || !hits)
        return;
    c->hits = hits;
    if (*at == 0) {
        hits[c->hit_count] = (struct hit){.place = place, .event = s->event};
        *at = ++c->hit_count;
        note_event(c, s->event);
    }
    hits[*at - 1].samples.weight += s->weight;
    hits[*at - 1].samples.count++;
}

/* --- Which event ----------------------------------------------------------------------
 */

static bool is_event(const char *wanted, struct str name)
{
    struct str pattern = str_of(wanted);
    return glob_match(pattern, name) ||
           glob_match(pattern, str_head(name, str_rfind(name, ':')));
}

static bool choose_event(struct annotate_collector *c, const struct perf_data *d,
                         uint32_t *event)
{
    struct annotations *a = c->a;
    char all[200] = "";
    size_t used = 0;
    if (c->event_count == 0)
        return error_set(&a->err, "the recording has no samples");
    *event = c->events[0];
    for (size_t i = 0; i < c->event_count; i++) {
        struct str name = d->events[c->events[i]].name;
        used += format_text(all + used, sizeof all - used, "%s%.*s", i ? ", " : "",
                            STR_ARG(name));
        if (a->wanted_event && is_event(a->wanted_event, name)) {
            *event = c->events[i];
            return true;
        }
    }
    if (!a->wanted_event)
        return true;
    error_set(&a->err, "there is no event '%s' in the recording", a->wanted_event);
    return error_hint(&a->err, "it has: %s", all);
}

/* --- Which function -------------------------------------------------------------------
 */

static const struct resolved_frame *outer_frame(const struct perf_profile *p,
                                                frame_id place)
{
    const struct name_job *job = place < p->named_count ? &p->jobs[place] : NULL;
    return job && job->count ? &job->frames[job->count - 1] : NULL;
}

/* The function of a place, made known where it is not; 0 where it has no name. */
static uint32_t function_of(struct annotate_collector *c, const struct perf_profile *p,
                            frame_id number)
{
    const struct perf_place *place = &p->places.items[number];
    const struct resolved_frame *frame = outer_frame(p, number);
    struct str name = frame ? frame->name : p->files[place->file].symbol;
    uint64_t offset = frame ? frame->offset : 0;
    if (number == 0 || name.len == 0)
        return 0;
    uint64_t start = frame ? place->address - offset : 0;
    uint64_t *at = idmap_put(&c->by_start, &c->arena,
                             hash_mix(start ^ HASH_A, HASH_B + place->file));
    struct function *functions = arena_grow(&c->arena, c->functions, &c->function_cap,
                                            c->function_count + 1, sizeof *functions);
    if (!at || !functions)
        return 0;
    c->functions = functions;
    if (*at == 0) {
        functions[c->function_count] =
            (struct function){.name = name, .file = place->file};
        *at = ++c->function_count;
    }
    return (uint32_t)*at;
}

static void find_functions(struct annotate_collector *c, const struct perf_profile *p,
                           uint32_t event)
{
    for (size_t i = 0; i < c->hit_count; i++) {
        struct hit *hit = &c->hits[i];
        if (hit->event != event)
            continue;
        c->a->total += hit->samples.weight;
        hit->function = function_of(c, p, hit->place);
        if (hit->function)
            c->functions[hit->function - 1].weight += hit->samples.weight;
    }
}

static bool lighter_first(const void *context, uint32_t a, uint32_t b)
{
    const struct function *f = context;
    return f[a].weight > f[b].weight;
}

/* The functions' numbers, the heaviest first. */
static uint32_t *ranked(struct annotate_collector *c)
{
    uint32_t *order = arena_alloc(&c->arena, (c->function_count + 1) * sizeof *order);
    uint32_t *room = arena_alloc(&c->arena, (c->function_count + 1) * sizeof *room);
    if (!order || !room)
        return NULL;
    for (uint32_t i = 0; i < c->function_count; i++)
        order[i] = i;
    sort_u32(order, c->function_count, room, lighter_first, c->functions);
    return order;
}

static bool is_exact(struct str wanted, struct str name)
{
    return str_equal(wanted, name) || str_equal(wanted, name_without_arguments(name));
}

/* The functions with a part of that name, unless they have several names. */
static bool match_part(struct annotate_collector *c, const uint32_t *order)
{
    struct str wanted = str_of(c->a->wanted);
    struct strings names;
    struct output all = OUTPUT_KEEP;
    if (!strings_init(&names, &c->arena))
        return false;
    for (size_t i = 0; i < c->function_count; i++) {
        struct function *f = &c->functions[order[i]];
        if (!str_has(f->name, wanted))
            continue;
        f->matches = true;
        size_t before = names.count;
        strings_add(&names, f->name);
        if (names.count > before && before <= CANDIDATES)
            output_format(&all, "%s%.*s", before > 1 ? ", " : "", STR_ARG(f->name));
    }
    size_t found = names.count - 1;
    if (found > 1) {
        error_set(&c->a->err, "'%s' is a part of the names of %zu functions",
                  c->a->wanted, found);
        error_hint(&c->a->err, "one of: %.*s%s", STR_ARG(output_kept(&all)),
                   found > CANDIDATES ? ", ..." : "");
    }
    output_deinit(&all);
    return found == 1;
}

/* The functions that one of the name is inlined into, for the message. */
static void tell_where_inlined(struct annotate_collector *c, const struct perf_profile *p)
{
    struct str wanted = str_of(c->a->wanted), last = STR("");
    struct output all = OUTPUT_KEEP;
    size_t names = 0;
    for (size_t i = 0; p->jobs && i < c->hit_count && names < CANDIDATES; i++) {
        const struct name_job *job = &p->jobs[c->hits[i].place];
        bool found = false;
        for (size_t k = 0; c->hits[i].place && k + 1 < job->count; k++)
            found |= is_exact(wanted, job->frames[k].name);
        if (!found || !c->hits[i].function)
            continue;
        struct str name = c->functions[c->hits[i].function - 1].name;
        if (!str_equal(name, last))
            output_format(&all, "%s%.*s", names++ ? ", " : "", STR_ARG(name));
        last = name;
    }
    if (names)
        error_hint(&c->a->err, "it was inlined into: %.*s", STR_ARG(output_kept(&all)));
    output_deinit(&all);
}

static bool match_functions(struct annotate_collector *c, const struct perf_profile *p,
                            const uint32_t *order)
{
    bool found = false;
    for (size_t i = 0; i < c->function_count; i++) {
        c->functions[i].matches = is_exact(str_of(c->a->wanted), c->functions[i].name);
        found |= c->functions[i].matches;
    }
    if (found || match_part(c, order))
        return true;
    if (c->a->err.message[0])
        return false;
    error_set(&c->a->err, "no sample was in a function named '%s'", c->a->wanted);
    error_hint(&c->a->err, "'stoke report' lists the functions");
    tell_where_inlined(c, p);
    return false;
}

/* --- One function ---------------------------------------------------------------------
 */

static bool by_address(const void *context, uint32_t a, uint32_t b)
{
    const struct annotated_address *addresses = context;
    return addresses[a].address < addresses[b].address;
}

/* Puts the addresses in order, each once. */
static bool order_addresses(struct annotation *f, struct arena *arena)
{
    size_t n = f->address_count, kept = 0;
    uint32_t *order = arena_alloc(arena, (n + 1) * sizeof *order);
    uint32_t *room = arena_alloc(arena, (n + 1) * sizeof *room);
    struct annotated_address *sorted = arena_alloc(arena, (n + 1) * sizeof *sorted);
    if (!order || !room || !sorted)
        return false;
    for (uint32_t i = 0; i < n; i++)
        order[i] = i;
    sort_u32(order, n, room, by_address, f->addresses);
    for (size_t i = 0; i < n; i++) {
        const struct annotated_address *a = &f->addresses[order[i]];
        if (kept && sorted[kept - 1].address == a->address) {
            sorted[kept - 1].samples.weight += a->samples.weight;
            sorted[kept - 1].samples.count += a->samples.count;
        } else {
            sorted[kept++] = *a;
        }
    }
    f->addresses = sorted;
    f->address_count = kept;
    return true;
}

static void add_addresses(struct annotate_collector *c, const struct perf_profile *p,
                          const struct object *o, uint32_t function, uint32_t event,
                          struct annotation *f)
{
    for (size_t i = 0; i < c->hit_count; i++) {
        const struct hit *hit = &c->hits[i];
        uint64_t address = p->places.items[hit->place].address;
        struct annotated_address *addresses =
            arena_grow(&c->a->arena, f->addresses, &f->address_cap, f->address_count + 1,
                       sizeof *addresses);
        if (!addresses)
            return;
        f->addresses = addresses;
        if (hit->function != function || hit->event != event ||
            (o && !object_address(o, address, &address)))
            continue;
        addresses[f->address_count++] = (struct annotated_address){address, hit->samples};
        f->samples.weight += hit->samples.weight;
        f->samples.count += hit->samples.count;
    }
}

static void add_rows(struct annotation *f, const struct object *o, struct arena *arena)
{
    struct dwarf_reader reader;
    struct error ignored;
    struct dwarf_row *rows;
    size_t count;
    if (!o->has_dwarf || !dwarf_reader_init(&reader, &o->dwarf, &ignored))
        return;
    if (!dwarf_rows(&reader, f->low, f->high, &rows, &count, &ignored))
        count = 0;
    f->rows = arena_alloc(arena, (count + 1) * sizeof *f->rows);
    for (size_t i = 0; f->rows && i < count; i++) {
        bool known = rows[i].line && rows[i].file.len;
        f->rows[f->row_count++] = (struct annotated_row){
            rows[i].address, known ? strings_add(&f->files, rows[i].file) : 0,
            known ? rows[i].line : 0};
    }
    dwarf_reader_deinit(&reader);
}

const struct annotated_row *annotation_row(const struct annotation *f, uint64_t address)
{
    size_t from = 0, to = f->row_count;
    while (from < to) {
        size_t middle = from + (to - from) / 2;
        if (f->rows[middle].address <= address)
            from = middle + 1;
        else
            to = middle;
    }
    return from && f->rows[from - 1].line ? &f->rows[from - 1] : NULL;
}

static bool by_line(const void *context, uint32_t a, uint32_t b)
{
    const struct annotated_row *rows = context;
    return rows[a].file != rows[b].file ? rows[a].file < rows[b].file
                                        : rows[a].line < rows[b].line;
}

static struct annotated_line *find_line(const struct annotation *f,
                                        const struct annotated_row *row)
{
    size_t from = 0, to = f->line_count;
    while (from < to) {
        size_t middle = from + (to - from) / 2;
        const struct annotated_line *line = &f->lines[middle];
        if (line->file == row->file && line->line == row->line)
            return &f->lines[middle];
        if (line->file < row->file || (line->file == row->file && line->line < row->line))
            from = middle + 1;
        else
            to = middle;
    }
    return NULL;
}

/* The lines of all rows, and how much of the samples each has. */
static bool add_lines(struct annotation *f, struct arena *arena)
{
    size_t n = f->row_count;
    uint32_t *order = arena_alloc(arena, (n + 1) * sizeof *order);
    uint32_t *room = arena_alloc(arena, (n + 1) * sizeof *room);
    f->lines = arena_alloc(arena, (n + 1) * sizeof *f->lines);
    if (!order || !room || !f->lines)
        return false;
    for (uint32_t i = 0; i < n; i++)
        order[i] = i;
    sort_u32(order, n, room, by_line, f->rows);
    for (size_t i = 0; i < n; i++) {
        const struct annotated_row *row = &f->rows[order[i]];
        const struct annotated_line *last =
            f->line_count ? &f->lines[f->line_count - 1] : NULL;
        bool again = last && last->file == row->file && last->line == row->line;
        if (row->line && !again)
            f->lines[f->line_count++] =
                (struct annotated_line){row->file, row->line, {0, 0}};
    }
    for (size_t i = 0; i < f->address_count; i++) {
        const struct annotated_row *row = annotation_row(f, f->addresses[i].address);
        struct annotated_line *line = row ? find_line(f, row) : NULL;
        if (line) {
            line->samples.weight += f->addresses[i].samples.weight;
            line->samples.count += f->addresses[i].samples.count;
        }
    }
    return true;
}

/* Where the function's code is: the symbol's, else from its beginning to the last sample.
 */
static void set_range(struct annotation *f, const struct object *o)
{
    struct symbol symbol;
    uint64_t first = f->address_count ? f->addresses[0].address : 0;
    uint64_t last = f->address_count ? f->addresses[f->address_count - 1].address : 0;
    f->low = first;
    f->high = last + 1;
    if (o && o->has_symbols && symbol_table_find(&o->symbols, first, &symbol)) {
        f->low = symbol.address;
        f->high = symbol.end > last ? symbol.end : last + 1;
    }
}

static bool annotate(struct annotate_collector *c, const struct perf_profile *p,
                     uint32_t number, uint32_t event)
{
    const struct function *function = &c->functions[number];
    const struct perf_file *file = &p->files[function->file];
    const struct object *o = machine_resolver_object(p->resolver, file->object);
    struct arena *arena = &c->a->arena;
    struct annotation f = {.symbol = arena_str(arena, function->name),
                           .module = arena_str(arena, file->module),
                           .path = STR("")};
    if (!strings_init(&f.files, arena))
        return false;
    add_addresses(c, p, o, number + 1, event, &f);
    if (!order_addresses(&f, arena))
        return false;
    set_range(&f, o);
    if (o && o->file.mapping.map && o->file.path.len)
        f.path = arena_str(arena, o->file.path);
    if (o)
        add_rows(&f, o, arena);
    if (!add_lines(&f, arena))
        return false;
    struct annotation *items =
        arena_grow(arena, c->a->items, &c->a->cap, c->a->count + 1, sizeof *items);
    if (!items)
        return false;
    c->a->items = items;
    items[c->a->count++] = f;
    return !arena->failed;
}

static void take_end(void *context, struct perf_profile *p)
{
    struct annotate_collector *c = context;
    struct annotations *a = c->a;
    uint32_t event = 0;
    a->ended = true;
    a->ok = choose_event(c, &p->data, &event);
    if (!a->ok)
        return;
    const struct perf_event *e = &p->data.events[event];
    a->event = arena_str(&a->arena, e->name);
    a->unit = perf_event_unit(e->name, perf_prints_period(e));
    a->event_count = c->event_count;
    perf_files_finish(p);
    a->ok = !p->resolver || perf_places_name(p) || error_memory(&a->err);
    if (!a->ok)
        return;
    find_functions(c, p, event);
    const uint32_t *order = ranked(c);
    a->ok = order && match_functions(c, p, order);
    for (size_t i = 0; a->ok && i < c->function_count && a->count < FUNCTIONS_MOST; i++)
        if (c->functions[order[i]].matches && c->functions[order[i]].weight > 0)
            a->ok = annotate(c, p, order[i], event);
    if (!a->ok && !a->err.message[0])
        error_memory(&a->err);
}

/* --- The whole ------------------------------------------------------------------------
 */

struct annotate_collector *annotate_collector_create(struct annotations *a)
{
    struct annotate_collector *c = calloc(1, sizeof *c);
    if (!c)
        return NULL;
    c->a = a;
    c->taker = (struct perf_taker){.context = c,
                                   .leaf_alone = true,
                                   .sample = take_sample,
                                   .stack = take_stack,
                                   .end = take_end};
    return c;
}

void annotate_collector_destroy(struct annotate_collector *c)
{
    if (c)
        arena_deinit(&c->arena);
    free(c);
}

const struct perf_taker *annotate_collector_taker(const struct annotate_collector *c)
{
    return &c->taker;
}
