/* SPDX-License-Identifier: Apache-2.0 */
#include "base/array.h"
#include "base/sort.h"
#include "import/perfetto.h"
#include "model/name.h"

/* --- Symbols -------------------- */

static void add_line(struct perfetto *p, struct str message)
{
    struct proto_reader r = proto_of(message);
    struct perfetto_line line = {0};
    struct proto_field f;
    while (proto_next(&r, &f))
        if (f.number == 1)
            line.name = perfetto_string(p, &f);
        else if (f.number == 2)
            line.file = perfetto_string(p, &f);
        else if (f.number == 3 && f.value < UINT32_MAX)
            line.line = (uint32_t)f.value;
    struct perfetto_line *added =
        ARRAY_APPEND(&p->arena, p->lines, p->line_count, p->line_cap);
    if (added)
        *added = line;
}

/* The file has the innermost function first. */
static void reverse_lines(struct perfetto_line *lines, size_t count)
{
    for (size_t i = 0; i < count / 2; i++) {
        struct perfetto_line line = lines[i];
        lines[i] = lines[count - 1 - i];
        lines[count - 1 - i] = line;
    }
}

/* A message AddressSymbols. */
static void add_symbol(struct perfetto *p, string_id path, struct str message)
{
    struct proto_reader r = proto_of(message);
    struct perfetto_symbol symbol = {.path = path, .first = (uint32_t)p->line_count};
    struct proto_field f;
    while (proto_next(&r, &f))
        if (f.number == 1)
            symbol.address = f.value;
        else if (f.number == 2 && f.wire == PROTO_BYTES)
            add_line(p, f.bytes);
    symbol.count = (uint32_t)(p->line_count - symbol.first);
    if (!symbol.count || p->line_count >= UINT32_MAX)
        return;
    reverse_lines(p->lines + symbol.first, symbol.count);
    struct perfetto_symbol *added =
        ARRAY_APPEND(&p->arena, p->symbols, p->symbol_count, p->symbol_cap);
    if (added)
        *added = symbol;
}

void perfetto_symbols(struct perfetto *p, struct str message)
{
    struct proto_reader r = proto_of(message);
    struct proto_field f;
    string_id path = 0;
    while (proto_next(&r, &f))
        if (f.number == 1)
            path = perfetto_string(p, &f);
    r = proto_of(message);
    while (proto_next(&r, &f) && !p->arena.failed && !builder_failed(&p->raw))
        if (f.number == 3 && f.wire == PROTO_BYTES)
            add_symbol(p, path, f.bytes);
}

static bool symbol_before(const void *context, uint32_t left, uint32_t right)
{
    const struct perfetto_symbol *symbols = context;
    const struct perfetto_symbol *a = &symbols[left], *b = &symbols[right];
    return a->path != b->path ? a->path < b->path : a->address < b->address;
}

/* Sorts the symbols. Of equal addresses, the last one counts. */
static bool sort_symbols(struct perfetto *p)
{
    size_t count = p->symbol_count;
    p->symbol_order = arena_zalloc(&p->arena, 2 * count + 1, sizeof *p->symbol_order);
    if (!p->symbol_order)
        return false;
    for (uint32_t i = 0; i < count; i++)
        p->symbol_order[i] = i;
    sort_u32(p->symbol_order, count, p->symbol_order + count, symbol_before, p->symbols);
    return true;
}

/* The last symbol of that address; NULL if there is none. */
static const struct perfetto_symbol *find_symbol(const struct perfetto *p, string_id path,
                                                 uint64_t address)
{
    const struct perfetto_symbol *found = NULL;
    size_t low = 0, high = p->symbol_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const struct perfetto_symbol *at = &p->symbols[p->symbol_order[middle]];
        bool equal = at->path == path && at->address == address;
        bool before = at->path != path ? at->path < path : at->address < address;
        found = equal ? at : found;
        if (equal || before)
            low = middle + 1;
        else
            high = middle;
    }
    return found;
}

/* --- The profile -------------------- */

struct finish {
    struct perfetto *p;
    const module_id *modules; /* by module of `raw` */
    struct frame_run *runs;   /* by frame of `raw` */
    frame_id *frames;
    size_t count, cap;
};

static void add_frame(struct finish *f, const struct frame *frame)
{
    frame_id *added = ARRAY_APPEND(&f->p->arena, f->frames, f->count, f->cap);
    if (added)
        *added = builder_frame(f->p->b, frame);
}

/* The frame of `raw` with another name, as the options want it. */
static void add_named(struct finish *f, const struct frame *raw, struct perfetto_line at,
                      bool inlined)
{
    const struct import_options *o = f->p->options;
    struct builder *b = f->p->b;
    const struct profile *from = f->p->raw.profile;
    struct str name = profile_string(from, at.name);
    struct frame frame = {.module = f->modules[raw->module], .kind = raw->kind};
    if (inlined)
        frame.kind = FRAME_INLINED;
    if (name.len)
        frame.name = builder_string(b, o->signatures ? name : name_tidy(name));
    if (o->lines && at.file) {
        frame.file = builder_string(b, profile_string(from, at.file));
        frame.line = at.line;
    }
    if (o->every_address || (!name.len && o->addresses))
        frame.address = raw->address;
    if (!name.len && (o->addresses || o->stable_offsets))
        frame.offset = raw->address;
    add_frame(f, &frame);
}

static void add_run(struct finish *f, frame_id number)
{
    struct perfetto *p = f->p;
    const struct frame *raw = &p->raw.profile->frames[number];
    const struct perfetto_symbol *symbol = NULL;
    f->runs[number].first = (uint32_t)f->count;
    if (raw->module && p->symbol_count)
        symbol = find_symbol(p, p->raw.profile->modules[raw->module].path, raw->address);
    for (uint32_t i = 0; symbol && i < symbol->count; i++)
        add_named(f, raw, p->lines[symbol->first + i], i > 0);
    if (!symbol)
        add_named(f, raw, (struct perfetto_line){raw->name, raw->file, raw->line}, false);
    f->runs[number].count = (uint32_t)f->count - f->runs[number].first;
}

/* Names of threads may come after their samples. */
static thread_id *map_threads(struct perfetto *p)
{
    const struct profile *raw = p->raw.profile;
    thread_id *threads = arena_zalloc(&p->arena, raw->thread_count, sizeof *threads);
    for (size_t i = 1; threads && i < raw->thread_count; i++) {
        const struct thread *t = &raw->threads[i];
        const uint64_t *name = idmap_find(&p->thread_names, (uint64_t)t->tid);
        if (!name || !*name)
            name = idmap_find(&p->process_names, (uint64_t)t->pid);
        threads[i] = builder_thread(
            p->b, t->pid, t->tid, name ? profile_string(raw, (string_id)*name) : STR(""));
    }
    return threads;
}

static void add_samples(struct finish *f, const stack_id *stacks)
{
    struct perfetto *p = f->p;
    const struct profile *raw = p->raw.profile;
    const thread_id *threads = map_threads(p);
    const event_id *events = builder_map_events(p->b, raw);
    if (!threads || !events)
        return;
    builder_merge_facts(p->b, raw);
    builder_reserve_samples(p->b, raw->sample_count);
    for (size_t i = 0; i < raw->sample_count && !builder_failed(p->b); i++) {
        struct sample s = raw->samples[i];
        s.stack = stacks[s.stack];
        s.event = events[s.event];
        s.thread = threads[s.thread];
        builder_add_mapped(p->b, &s);
    }
}

void perfetto_finish(struct perfetto *p)
{
    const struct profile *raw = p->raw.profile;
    struct finish f = {.p = p};
    p->b->profile->arena.failed |= builder_failed(&p->raw) || p->arena.failed;
    if (builder_failed(p->b) || !sort_symbols(p))
        return;
    stack_id *stacks = arena_zalloc(&p->arena, raw->stack_count, sizeof *stacks);
    f.modules = builder_map_modules(p->b, raw);
    f.runs = arena_zalloc(&p->arena, raw->frame_count, sizeof *f.runs);
    for (frame_id i = 1; f.modules && f.runs && i < raw->frame_count; i++)
        add_run(&f, i);
    p->b->profile->arena.failed |= p->arena.failed;
    if (!stacks || !f.runs || !f.modules || builder_failed(p->b))
        return;
    builder_map_runs(p->b, raw, f.runs, f.frames, stacks);
    add_samples(&f, stacks);
}
