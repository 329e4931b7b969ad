/* SPDX-License-Identifier: Apache-2.0 */
/* From the samples of recordings to the functions that they were in.
 *
 * Of each recording the samples are counted by place; at its end the places are named and
 * become spots, which are told by names and addresses, and those are the same in all
 * recordings. At the end of the last one the spots become annotations, while the objects
 * are still there. */
#include "base/hash.h"
#include "base/sort.h"
#include "cli/annotate/annotate.h"
#include "import/perf_line.h"
#include "model/name.h"
#include "resolve/machine.h"
#include "transform/transform.h"
#include <stdlib.h>

#define CANDIDATES 12
#define FUNCTIONS_MOST 16 /* of one name that are shown, the heaviest */

/* Samples of one event at one place, by the recording's numbers. */
struct hit {
    frame_id place;
    uint32_t event;
    struct annotated samples;
};

/* Samples of one event at one address of a function. */
struct spot {
    uint32_t function, event;
    uint64_t address; /* the file's own */
    struct annotated samples;
};

/* A function that samples were in. */
struct function {
    struct str name;    /* the resolver's */
    struct str module;  /* as perf shows it */
    object_id object;   /* 0: there is no file */
    uint64_t low, high; /* of one without a symbol; else 0 */
    double weight;      /* of the event that is shown */
    bool matches;
    bool holds_wanted; /* the wanted one is inlined into it */
};

/* An event, by its name. */
struct event_total {
    double weight;
    enum unit unit;
};

struct annotate_collector {
    struct annotations *a;
    struct perf_taker taker;
    int recordings_left;

    struct arena hit_arena; /* of the recording under way */
    struct idmap by_place;
    struct hit *hits;
    size_t hit_count, hit_cap;

    struct arena arena;
    struct strings events;      /* those that have samples, in the recording's order */
    struct event_total *totals; /* by the events' numbers */
    size_t total_cap;
    struct strings keys;        /* of the functions; their numbers are the functions' */
    struct function *functions; /* [0] is none */
    size_t function_cap;
    struct spot *spots;
    size_t spot_count, spot_cap;
};

/* --- Samples ----------------------------------------------------------------------- */

static bool take_sample(void *context, struct perf_profile *p,
                        const struct perf_sample *s, struct sample *sample)
{
    (void)context;
    (void)p;
    (void)s;
    (void)sample;
    return true;
}

static void take_stack(void *context, struct perf_profile *p, const struct sample *s,
                       const frame_id *places, size_t count, size_t unwound)
{
    struct annotate_collector *c = context;
    frame_id place = count ? places[0] : 0;
    uint64_t *at =
        idmap_put(&c->by_place, &c->hit_arena, (uint64_t)s->event << 32 | place);
    struct hit *hits =
        arena_grow(&c->hit_arena, c->hits, &c->hit_cap, c->hit_count + 1, sizeof *hits);
    (void)p;
    (void)unwound;
    if (!at || !hits)
        return;
    c->hits = hits;
    if (*at == 0) {
        hits[c->hit_count] = (struct hit){.place = place, .event = s->event};
        *at = ++c->hit_count;
    }
    hits[*at - 1].samples.weight += s->weight;
    hits[*at - 1].samples.count++;
}

/* --- From places to spots ---------------------------------------------------------- */

static const struct name_job *names_of(const struct perf_profile *p, frame_id place)
{
    static const struct name_job none;
    return place < p->named_count ? &p->jobs[place] : &none;
}

static bool is_exact(struct str wanted, struct str name)
{
    return str_equal(wanted, name) || str_equal(wanted, name_without_arguments(name));
}

/* The event's number among all recordings'; 0 when memory is short. */
static uint32_t event_of(struct annotate_collector *c, const struct perf_event *e)
{
    size_t before = c->events.count;
    uint32_t number = strings_add(&c->events, e->name);
    struct event_total *totals = arena_grow(&c->arena, c->totals, &c->total_cap,
                                            (size_t)number + 1, sizeof *totals);
    if (!totals)
        return 0;
    c->totals = totals;
    if (c->events.count > before)
        totals[number] =
            (struct event_total){0, perf_event_unit(e->name, perf_prints_period(e))};
    return number;
}

/* Numbers the events with samples in the order in which they were recorded, so that the
 * first one is the one that is shown by default. */
static void add_events(struct annotate_collector *c, const struct perf_profile *p)
{
    for (size_t i = 0; i < p->data.event_count; i++)
        if (perf_event_seen(p, i))
            event_of(c, &p->data.events[i]);
}

/* What tells a function from all others: its name, the file it is in and where there. Of
 * one build of a file there is an object a recording. */
static struct str function_key(struct annotate_collector *c, const struct perf_file *file,
                               const struct object *o, struct str name, uint64_t start)
{
    struct output key = OUTPUT_KEEP;
    output_format(&key, "%llx ", (unsigned long long)start);
    output_str(&key, o ? o->wanted.build_id : STR(""));
    output_char(&key, 0);
    output_str(&key, o && o->file.mapping.map ? o->file.path : STR(""));
    output_char(&key, 0);
    output_str(&key, file->module);
    output_char(&key, 0);
    output_str(&key, name);
    struct str kept = arena_str(&c->hit_arena, output_kept(&key));
    output_deinit(&key);
    return kept;
}

/* A function of stripped code is called by its file and where it begins there. */
static struct str name_of_stripped(struct annotate_collector *c,
                                   const struct perf_profile *p,
                                   const struct perf_file *file, uint64_t address,
                                   uint64_t *low, uint64_t *high)
{
    struct output name = OUTPUT_KEEP;
    if (!machine_resolver_function(p->resolver, file->object, address, low, high))
        return STR("");
    output_str(&name, str_basename(file->module));
    output_format(&name, "+0x%llx", (unsigned long long)*low);
    struct str kept = arena_str(&c->hit_arena, output_kept(&name));
    output_deinit(&name);
    return kept;
}

/* The function of a place, made known where it is not; 0 where it has no name. `address`
 * is the place's in the object. */
static uint32_t function_of(struct annotate_collector *c, const struct perf_profile *p,
                            frame_id number, const struct object *o, uint64_t address)
{
    const struct perf_file *file = &p->files[p->places.items[number].file];
    const struct name_job *job = names_of(p, number);
    const struct resolved_frame *frame = job->count ? &job->frames[job->count - 1] : NULL;
    struct str name = frame ? frame->name : file->symbol;
    uint64_t start = frame ? address - frame->offset : 0, low = 0, high = 0;
    if (name.len == 0 && o) {
        name = name_of_stripped(c, p, file, address, &low, &high);
        start = low;
    }
    if (name.len == 0)
        return 0;
    size_t before = c->keys.count;
    uint32_t function = strings_add(&c->keys, function_key(c, file, o, name, start));
    struct function *functions = arena_grow(&c->arena, c->functions, &c->function_cap,
                                            (size_t)function + 1, sizeof *functions);
    if (!functions)
        return 0;
    c->functions = functions;
    if (c->keys.count > before)
        functions[function] =
            (struct function){.name = arena_str(&c->arena, name),
                              .module = arena_str(&c->arena, file->module),
                              .object = o ? file->object : 0,
                              .low = low,
                              .high = high};
    for (size_t k = 0; k + 1 < job->count; k++)
        functions[function].holds_wanted |=
            is_exact(str_of(c->a->wanted), job->frames[k].name);
    return function;
}

/* The object of a place, and the place's address there. */
static const struct object *object_of(const struct perf_profile *p, frame_id number,
                                      uint64_t *address)
{
    const struct perf_place *place = &p->places.items[number];
    const struct object *o =
        machine_resolver_object(p->resolver, p->files[place->file].object);
    if (!o || !object_address(o, place->address, address))
        *address = place->address;
    return o;
}

static void add_spot(struct annotate_collector *c, const struct perf_profile *p,
                     const struct hit *hit)
{
    uint64_t address = 0;
    const struct object *o = hit->place ? object_of(p, hit->place, &address) : NULL;
    uint32_t event = event_of(c, &p->data.events[hit->event]);
    uint32_t function = hit->place ? function_of(c, p, hit->place, o, address) : 0;
    struct spot *spots =
        arena_grow(&c->arena, c->spots, &c->spot_cap, c->spot_count + 1, sizeof *spots);
    if (!spots || !event)
        return;
    c->spots = spots;
    c->totals[event].weight += hit->samples.weight;
    if (function)
        spots[c->spot_count++] = (struct spot){function, event, address, hit->samples};
}

/* Gives the samples of a place to the profile, for the hint about modules without names
 * (package_hint.h): which module, and whether there is a name. */
static void count_names(const struct perf_profile *p, const struct hit *hit)
{
    uint64_t address;
    struct builder *b = p->b;
    const struct object *o = hit->place ? object_of(p, hit->place, &address) : NULL;
    const struct perf_file *file = &p->files[p->places.items[hit->place].file];
    const struct name_job *job = names_of(p, hit->place);
    struct frame frame = {.kind = FRAME_USER};
    bool unnamed = o && o->wanted.kind == FRAME_USER && file->symbol.len == 0 &&
                   (!job->count || job->frames[job->count - 1].name.len == 0);
    if (unnamed)
        frame.module = builder_module(b, file->module, file->build_id);
    builder_path_clear(b);
    builder_path_add(b, unnamed ? builder_frame(b, &frame)
                                : builder_named_frame(b, STR("named")));
    const struct perf_event *e = &p->data.events[hit->event];
    event_id event =
        builder_event(b, e->name, perf_event_unit(e->name, perf_prints_period(e)));
    builder_add_stack(b, event, builder_path_from_leaf(b), hit->samples.weight);
}

static void forget_hits(struct annotate_collector *c)
{
    arena_deinit(&c->hit_arena);
    c->hit_arena = ARENA_INIT;
    c->by_place = (struct idmap){0};
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
        if (a->wanted_event && event_matches(str_of(a->wanted_event), name)) {
            *event = i;
            return true;
        }
    }
    if (!a->wanted_event)
        return true;
    error_set(&a->err, "there is no event '%s' in the recording", a->wanted_event);
    return error_hint(&a->err, "it has: %s", all);
}

/* --- Which function ---------------------------------------------------------------- */

static bool lighter_first(const void *context, uint32_t a, uint32_t b)
{
    const struct function *f = context;
    return f[a].weight > f[b].weight;
}

/* The numbers of the functions that have samples of the event, the heaviest first; behind
 * them a 0. */
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
    sort_u32(order, count, room, lighter_first, c->functions);
    order[count] = 0;
    return order;
}

/* "[libc.so.6]" is how other commands show code without names. */
static struct str without_brackets(struct str name)
{
    bool has = str_starts(name, STR("[")) && str_ends(name, STR("]")) && name.len > 2;
    return has ? str_skip(str_head(name, name.len - 1), 1) : name;
}

/* The functions with a part of that name, unless they have several names. */
static bool match_part(struct annotate_collector *c, const uint32_t *order)
{
    struct str wanted = without_brackets(str_of(c->a->wanted));
    struct strings names;
    struct output all = OUTPUT_KEEP;
    if (!strings_init(&names, &c->arena))
        return false;
    for (; *order; order++) {
        struct function *f = &c->functions[*order];
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
static void tell_where_inlined(struct annotate_collector *c, const uint32_t *order)
{
    struct output all = OUTPUT_KEEP;
    size_t names = 0;
    for (; *order && names < CANDIDATES; order++) {
        const struct function *f = &c->functions[*order];
        if (f->holds_wanted)
            output_format(&all, "%s%.*s", names++ ? ", " : "", STR_ARG(f->name));
    }
    if (names)
        error_hint(&c->a->err, "it was inlined into: %.*s", STR_ARG(output_kept(&all)));
    output_deinit(&all);
}

static bool match_functions(struct annotate_collector *c, const uint32_t *order)
{
    bool found = false;
    for (const uint32_t *at = order; *at; at++) {
        struct function *f = &c->functions[*at];
        f->matches = is_exact(str_of(c->a->wanted), f->name);
        found |= f->matches;
    }
    if (found || match_part(c, order))
        return true;
    if (c->a->err.message[0])
        return false;
    error_set(&c->a->err, "no sample was in a function named '%s'", c->a->wanted);
    error_hint(&c->a->err, "'stoke report' lists the functions");
    tell_where_inlined(c, order);
    return false;
}

/* --- One function ------------------------------------------------------------------ */

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

static void add_addresses(struct annotate_collector *c, uint32_t function, uint32_t event,
                          struct annotation *f)
{
    for (size_t i = 0; i < c->spot_count; i++) {
        const struct spot *spot = &c->spots[i];
        if (spot->function != function || spot->event != event)
            continue;
        struct annotated_address *addresses =
            arena_grow(&c->a->arena, f->addresses, &f->address_cap, f->address_count + 1,
                       sizeof *addresses);
        if (!addresses)
            return;
        f->addresses = addresses;
        addresses[f->address_count++] =
            (struct annotated_address){spot->address, spot->samples};
        f->samples.weight += spot->samples.weight;
        f->samples.count += spot->samples.count;
    }
}

static void keep_rows(struct annotation *f, const struct dwarf_row *rows, size_t count,
                      struct arena *arena)
{
    f->rows = arena_alloc(arena, (count + 1) * sizeof *f->rows);
    for (size_t i = 0; f->rows && i < count; i++) {
        bool known = rows[i].line && rows[i].file.len;
        f->rows[f->row_count++] = (struct annotated_row){
            rows[i].address, known ? strings_add(&f->files, rows[i].file) : 0,
            known ? rows[i].line : 0};
    }
}

static void add_dwarf_rows(struct annotation *f, const struct object *o,
                           struct arena *arena)
{
    struct dwarf_reader reader;
    struct error ignored;
    struct dwarf_row *rows;
    size_t count;
    if (!o->has_dwarf || !dwarf_reader_init(&reader, &o->dwarf, &ignored))
        return;
    if (!dwarf_rows(&reader, f->low, f->high, &rows, &count, &ignored))
        count = 0;
    keep_rows(f, rows, count, arena);
    dwarf_reader_deinit(&reader);
}

/* From DWARF, else from Go's own table. */
static void add_rows(struct annotation *f, const struct object *o, struct arena *arena)
{
    struct go_reader reader;
    struct dwarf_row *rows;
    size_t count;
    add_dwarf_rows(f, o, arena);
    if (f->row_count || !o->has_go)
        return;
    go_reader_init(&reader, &o->go);
    if (go_rows(&reader, f->low, f->high, &rows, &count))
        keep_rows(f, rows, count, arena);
    go_reader_deinit(&reader);
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
static void set_range(struct annotation *f, const struct object *o,
                      const struct function *function)
{
    struct symbol symbol;
    uint64_t first = f->address_count ? f->addresses[0].address : 0;
    uint64_t last = f->address_count ? f->addresses[f->address_count - 1].address : 0;
    f->low = first;
    f->high = last + 1;
    if (function->high > last) {
        f->low = function->low;
        f->high = function->high;
    } else if (o && o->has_symbols && symbol_table_find(&o->symbols, first, &symbol)) {
        f->low = symbol.address;
        f->high = symbol.end > last ? symbol.end : last + 1;
    }
}

/* --- Instructions ------------------------------------------------------------------ */

/* An address of the file, as names are asked for by. */
static uint64_t asked_address(const struct object *o, uint64_t address)
{
    uint64_t offset = UINT64_MAX;
    if (o->addressing == BY_ADDRESS)
        return address + o->moved;
    elf_offset_of_address(&o->file.elf, address, &offset);
    return offset;
}

/* What the resolver calls an address, "name+0x12"; where it knows none, the module and the
 * address in it. */
static struct str target_name(struct annotation *f, uint64_t address,
                              const struct name_job *job, struct output *scratch)
{
    const struct resolved_frame *frame = job->count ? &job->frames[job->count - 1] : NULL;
    bool own = address >= f->low && address < f->high && !f->is_stripped;
    uint64_t offset = own ? address - f->low : frame ? frame->offset : address;
    struct str name = own                        ? name_without_arguments(f->symbol)
                      : frame && frame->name.len ? name_without_arguments(frame->name)
                                                 : str_basename(f->module);
    scratch->used = 0;
    output_str(scratch, name);
    if (offset)
        output_format(scratch, "+0x%llx", (unsigned long long)offset);
    return output_kept(scratch);
}

/* The instruction with the name of what it jumps to. objdump calls an address of data by
 * the symbol that begins there, or by the next one before it, which says nothing. */
static void name_target(struct annotation *f, struct annotated_code *code,
                        const struct name_job *job, struct output *scratch,
                        struct arena *arena)
{
    uint64_t address;
    struct str before, said;
    struct output text = OUTPUT_KEEP;
    if (!annotated_target(code->text, &address, &before, &said))
        return;
    bool is_data = str_ends(str_trim_right(before), STR("#"));
    output_str(&text, before);
    output_format(&text, "%llx", (unsigned long long)address);
    if (!is_data || job->count)
        said = target_name(f, address, job, scratch);
    else if (str_search(said, STR("+0x")) < said.len)
        said = STR("");
    else
        said = demangle(said, DEMANGLE_SIMPLE, scratch);
    if (said.len) {
        output_text(&text, " <");
        output_str(&text, said);
        output_char(&text, '>');
    }
    code->text = arena_str(arena, output_kept(&text));
    output_deinit(&text);
}

/* Names what instructions jump to, and what is inlined where. */
static void name_code(struct annotation *f, const struct resolver *resolver,
                      object_id object, const struct object *o, struct arena *arena)
{
    struct output scratch = OUTPUT_KEEP;
    struct arena room = ARENA_INIT;
    struct name_job *jobs = arena_zalloc(&room, 2 * f->code_count + 1, sizeof *jobs);
    for (size_t i = 0; jobs && i < f->code_count; i++) {
        uint64_t target;
        struct str before, said;
        jobs[2 * i].object = jobs[2 * i + 1].object = object;
        jobs[2 * i].address = asked_address(o, f->code[i].address);
        jobs[2 * i + 1].address = UINT64_MAX;
        if (annotated_target(f->code[i].text, &target, &before, &said))
            jobs[2 * i + 1].address = asked_address(o, target);
    }
    if (jobs)
        resolver->name(resolver->context, jobs, 2 * f->code_count);
    for (size_t i = 0; jobs && i < f->code_count; i++) {
        const struct name_job *job = &jobs[2 * i];
        name_target(f, &f->code[i], &jobs[2 * i + 1], &scratch, arena);
        if (job->count > 1)
            f->code[i].function = arena_str(arena, job->frames[0].name);
    }
    output_deinit(&scratch);
    arena_deinit(&room);
}

static bool annotate(struct annotate_collector *c, const struct resolver *resolver,
                     uint32_t number, uint32_t event)
{
    const struct function *function = &c->functions[number];
    const struct object *o = machine_resolver_tables(resolver, function->object);
    struct arena *arena = &c->a->arena;
    struct annotation f = {.symbol = arena_str(arena, function->name),
                           .module = arena_str(arena, function->module),
                           .path = STR(""),
                           .no_code = STR("")};
    if (!strings_init(&f.files, arena))
        return false;
    add_addresses(c, number, event, &f);
    if (!order_addresses(&f, arena))
        return false;
    set_range(&f, o, function);
    f.is_stripped = function->high != 0;
    f.is_jit = o && (o->wanted.kind == FRAME_JIT || o->is_dump);
    if (o && o->file.mapping.map && o->file.path.len)
        f.path = arena_str(arena, o->file.path);
    if (o)
        add_rows(&f, o, arena);
    if (!add_lines(&f, arena))
        return false;
    if (annotation_disassemble(&f, arena))
        name_code(&f, resolver, function->object, o, arena);
    struct annotation *items =
        arena_grow(arena, c->a->items, &c->a->cap, c->a->count + 1, sizeof *items);
    if (!items)
        return false;
    c->a->items = items;
    items[c->a->count++] = f;
    return !arena->failed;
}

/* All recordings were read. */
static bool finish(struct annotate_collector *c, const struct resolver *resolver)
{
    struct annotations *a = c->a;
    uint32_t event = 0;
    if (c->events.count == 1)
        return error_set(&a->err, "the recording has no samples");
    if (!choose_event(c, &event))
        return false;
    a->event = arena_str(&a->arena, strings_get(&c->events, event));
    a->unit = c->totals[event].unit;
    a->total = c->totals[event].weight;
    a->event_count = c->events.count - 1;
    for (size_t i = 0; i < c->spot_count; i++)
        if (c->spots[i].event == event)
            c->functions[c->spots[i].function].weight += c->spots[i].samples.weight;
    const uint32_t *order = ranked(c);
    if (!order || !match_functions(c, order))
        return false;
    for (; *order && a->count < FUNCTIONS_MOST; order++)
        if (c->functions[*order].matches && !annotate(c, resolver, *order, event))
            return false;
    return true;
}

static void take_end(void *context, struct perf_profile *p)
{
    struct annotate_collector *c = context;
    struct annotations *a = c->a;
    perf_files_finish(p);
    bool ok = !p->resolver || perf_places_name(p);
    add_events(c, p);
    for (size_t i = 0; ok && i < c->hit_count; i++) {
        add_spot(c, p, &c->hits[i]);
        count_names(p, &c->hits[i]);
    }
    ok = ok && !c->hit_arena.failed && !c->arena.failed;
    forget_hits(c);
    if (!ok) {
        error_memory(&a->err);
        return;
    }
    if (--c->recordings_left)
        return;
    a->ended = true;
    a->ok = finish(c, p->resolver);
    if (!a->ok && !a->err.message[0])
        error_memory(&a->err);
}

/* --- The whole --------------------------------------------------------------------- */

struct annotate_collector *annotate_collector_create(struct annotations *a,
                                                     int recordings)
{
    struct annotate_collector *c = calloc(1, sizeof *c);
    if (!c)
        return NULL;
    if (!strings_init(&c->events, &c->arena) || !strings_init(&c->keys, &c->arena)) {
        annotate_collector_destroy(c);
        return NULL;
    }
    c->a = a;
    c->recordings_left = recordings;
    c->taker = (struct perf_taker){.context = c,
                                   .leaf_alone = true,
                                   .sample = take_sample,
                                   .stack = take_stack,
                                   .end = take_end};
    return c;
}

void annotate_collector_destroy(struct annotate_collector *c)
{
    if (c) {
        arena_deinit(&c->hit_arena);
        arena_deinit(&c->arena);
    }
    free(c);
}

const struct perf_taker *annotate_collector_taker(const struct annotate_collector *c)
{
    return &c->taker;
}
