/* SPDX-License-Identifier: Apache-2.0 */
/* Builds a table in two passes: first the FDEs of all sections are listed and sorted,
 * then their programs run, and the rows are appended function by function. */
#include "base/array.h"
#include "base/hash.h"
#include "base/index.h"
#include "base/sort.h"
#include "unwind/registers.h"
#include "unwind/unwind_table.h"

#define RULES_MAX UINT16_MAX

/* The first two rules of every table. */
#define RULE_NONE 0
#define RULE_GENERAL 1

/* A trampoline without an FDE. */
#define ENTRY_TRAMPOLINE UINT64_MAX

/* An FDE, or a signal trampoline without one. */
struct function {
    uint64_t start, end;
    uint64_t entry; /* offset << 1 | section */
};

struct build {
    struct unwind_table *table;
    const struct unwind_source *source;
    struct arena *arena; /* for the result */
    struct arena scratch;

    struct function *functions;
    size_t function_count, function_cap;

    uint32_t *pcs;
    uint16_t *rule_of;
    size_t row_count, pc_cap, rule_of_cap;

    struct unwind_rule *rules;
    size_t rule_count, rule_cap;
    struct index index;
    uint16_t last_rule;

    struct unwind_fde *fdes;
    size_t fde_count;
    uint64_t end; /* of the previous function, relative to the base */
};

/* --- Functions ---------------------------------------------------------------------- */

static void add_function(struct build *b, uint64_t start, uint64_t end, uint64_t entry)
{
    struct function *item =
        ARRAY_APPEND(&b->scratch, b->functions, b->function_count, b->function_cap);
    if (!item)
        return;
    *item = (struct function){start, end, entry};
}

/* Dropped functions, which linkers leave at 0 in .debug_frame, are in no segment. */
static bool is_loaded(const struct unwind_source *source, uint64_t address)
{
    for (size_t i = 0; i < source->segment_count; i++)
        if (address - source->segments[i].address < source->segments[i].size)
            return true;
    return source->segment_count == 0;
}

static void list_section(struct build *b, size_t number)
{
    struct cfi_reader r = cfi_reader_of(&b->source->sections[number]);
    struct cfi_fde fde;
    while (!b->scratch.failed && cfi_next(&r, &fde))
        if (is_loaded(b->source, fde.start))
            add_function(b, fde.start, fde.end, fde.offset << 1 | number);
    b->table->broken += r.broken;
}

/* Finds the code that signal handlers return to: it calls rt_sigreturn. Its range
 * begins one byte earlier, because a return address may be looked up one byte before. */
static void list_trampolines(struct build *b)
{
    static const struct str arm64 = {"\x68\x11\x80\xd2\x01\x00\x00\xd4", 8};
    static const struct str x86_64 = {"\x48\xc7\xc0\x0f\x00\x00\x00\x0f\x05", 9};
    const struct unwind_source *source = b->source;
    struct str pattern = source->machine == ARCH_ARM64 ? arm64 : x86_64;
    struct str rest = source->code;
    while (rest.len && !b->scratch.failed) {
        size_t at = str_search(rest, pattern);
        if (at >= rest.len)
            break;
        rest = str_skip(rest, at);
        uint64_t start = source->code_address + (uint64_t)(rest.ptr - source->code.ptr);
        rest = str_skip(rest, pattern.len);
        add_function(b, start - 1, start + pattern.len, ENTRY_TRAMPOLINE);
    }
}

static bool begins_before(const void *context, uint32_t a, uint32_t b)
{
    const struct function *functions = context;
    return functions[a].start < functions[b].start;
}

/* The indexes of the functions, sorted by start; NULL when out of memory. */
static uint32_t *order_functions(struct build *b)
{
    size_t count = b->function_count;
    uint32_t *order = arena_alloc(&b->scratch, count * sizeof *order);
    uint32_t *scratch = arena_alloc(&b->scratch, count * sizeof *order);
    if (!order || !scratch)
        return NULL;
    for (size_t i = 0; i < count; i++)
        order[i] = (uint32_t)i;
    sort_u32(order, count, scratch, begins_before, b->functions);
    return order;
}

/* --- Rules and rows ----------------------------------------------------------------- */

struct rule_lookup {
    const struct unwind_rule *rules;
    struct unwind_rule rule;
};

static bool is_same_rule(const void *context, uint32_t id)
{
    const struct rule_lookup *lookup = context;
    return memcmp(&lookup->rules[id - 1], &lookup->rule, sizeof lookup->rule) == 0;
}

static uint32_t hash_rule(const struct unwind_rule *rule)
{
    uint32_t words[3];
    memcpy(words, rule, sizeof words);
    return (uint32_t)hash_mix(hash_pair(words[0], words[1]) ^ words[2], HASH_C);
}

/* The index of the rule; RULE_GENERAL if there are too many. */
static uint16_t rule_number(struct build *b, const struct unwind_rule *rule)
{
    if (b->rule_count && memcmp(&b->rules[b->last_rule], rule, sizeof *rule) == 0)
        return b->last_rule;
    struct rule_lookup lookup = {b->rules, *rule};
    if (!ARRAY_RESERVE(b->arena, b->rules, b->rule_cap, b->rule_count + 1) ||
        !index_reserve(&b->index, &b->scratch, 1))
        return RULE_NONE;
    lookup.rules = b->rules;
    uint32_t hash = hash_rule(rule);
    struct index_slot *slot = index_find(&b->index, hash, is_same_rule, &lookup);
    if (!slot->id && b->rule_count == RULES_MAX)
        return RULE_GENERAL;
    if (!slot->id) {
        b->rules[b->rule_count++] = *rule;
        index_fill(&b->index, slot, hash, (uint32_t)b->rule_count);
    }
    b->last_rule = (uint16_t)(slot->id - 1);
    return b->last_rule;
}

/* Adds a row: the rule applies from pc on. */
static void add_row(struct build *b, uint32_t pc, uint16_t rule)
{
    if (b->row_count && b->rule_of[b->row_count - 1] == rule)
        return;
    if (b->row_count && b->pcs[b->row_count - 1] == pc) {
        b->rule_of[b->row_count - 1] = rule;
        return;
    }
    size_t want = b->row_count + 1;
    if (!ARRAY_RESERVE(b->arena, b->pcs, b->pc_cap, want))
        return;
    if (!ARRAY_RESERVE(b->arena, b->rule_of, b->rule_of_cap, want))
        return;
    b->pcs[b->row_count] = pc;
    b->rule_of[b->row_count++] = rule;
}

/* --- Building ----------------------------------------------------------------------- */

/* Adds rows for a rule that applies in [from, to), except where the code runs on
 * another stack. */
static void add_rule(struct build *b, uint64_t from, uint64_t to,
                     const struct unwind_rule *rule)
{
    const struct unwind_source *source = b->source;
    uint64_t base = b->table->base;
    for (size_t i = 0; i < source->switch_count && from < to; i++) {
        const struct unwind_switch *s = &source->switches[i];
        uint64_t start = s->start - base, end = s->end - base;
        if (s->start < base || end <= from || start >= to)
            continue;
        struct unwind_rule other = {.cfa = CFA_GENERAL,
                                    .from = s->returns ? RETURN_SWITCHED : RETURN_NONE};
        if (start > from)
            add_row(b, (uint32_t)from, rule_number(b, rule));
        add_row(b, (uint32_t)(start > from ? start : from), rule_number(b, &other));
        from = end;
    }
    if (from < to)
        add_row(b, (uint32_t)from, rule_number(b, rule));
}

/* The state for one section, which stays between FDEs, so that a shared CIE is read
 * once. */
struct reading {
    struct cfi_reader reader;
    struct cfi_program program;
};

/* Appends an FDE's rows, from the end of the previous function on. */
static void add_fde_rows(struct build *b, struct reading *r, const struct function *f)
{
    uint64_t base = b->table->base, end = b->end;
    struct cfi_fde fde;
    r->reader.at = f->entry >> 1;
    if (!cfi_next(&r->reader, &fde))
        return;
    cfi_rows_begin(&r->program, &fde);
    while (cfi_rows_next(&r->program)) {
        const struct cfi_row *row = &r->program.row;
        uint64_t from = row->start - base, to = row->end - base;
        if (to <= end || from > UINT32_MAX)
            continue;
        struct unwind_rule rule = unwind_rule_of(&r->program);
        add_rule(b, from > end ? from : end, to, &rule);
    }
    if (r->program.broken) {
        b->table->broken++;
        uint64_t from = r->program.next - base;
        if (from <= UINT32_MAX)
            add_row(b, (uint32_t)(from > end ? from : end), RULE_NONE);
    }
}

static void add_trampoline_row(struct build *b, const struct function *f)
{
    struct unwind_rule rule = unwind_signal_rule(b->source->machine);
    uint64_t from = f->start - b->table->base;
    add_row(b, (uint32_t)(from > b->end ? from : b->end), rule_number(b, &rule));
}

static void add_rows(struct build *b, struct reading *readings, const struct function *f)
{
    uint64_t from = f->start - b->table->base, to = f->end - b->table->base;
    if (to > UINT32_MAX)
        to = UINT32_MAX;
    if (to <= b->end || from >= to)
        return;
    if (from > b->end)
        add_row(b, (uint32_t)b->end, RULE_NONE);
    else
        from = b->end;
    if (f->entry == ENTRY_TRAMPOLINE) {
        add_trampoline_row(b, f);
    } else {
        b->fdes[b->fde_count++] =
            (struct unwind_fde){(uint32_t)from, (uint32_t)to, f->entry};
        add_fde_rows(b, &readings[f->entry & 1], f);
    }
    b->end = to;
}

static bool make_rows(struct build *b)
{
    uint32_t *order = order_functions(b);
    struct reading *readings =
        arena_alloc(&b->scratch, UNWIND_SECTIONS_MAX * sizeof *readings);
    b->fdes = arena_alloc(b->arena, b->function_count * sizeof *b->fdes);
    if (!order || !readings || !b->fdes)
        return false;
    for (size_t i = 0; i < b->source->section_count; i++) {
        readings[i].reader = cfi_reader_of(&b->source->sections[i]);
        cfi_program_init(&readings[i].program, &b->source->sections[i]);
    }
    rule_number(b, &(struct unwind_rule){.cfa = CFA_NONE});
    rule_number(b, &(struct unwind_rule){.cfa = CFA_GENERAL});
    b->table->base = b->functions[order[0]].start;
    add_row(b, 0, RULE_NONE); /* up to the first function */
    for (size_t i = 0; i < b->function_count && !b->arena->failed; i++)
        add_rows(b, readings, &b->functions[order[i]]);
    add_row(b, (uint32_t)b->end, RULE_NONE);
    return !b->arena->failed && !b->scratch.failed;
}

/* Builds the table of the listed functions. */
static bool build_table(struct build *b)
{
    struct unwind_table *t = b->table;
    if (b->scratch.failed || (b->function_count && !make_rows(b)))
        return false;
    t->pcs = b->pcs;
    t->rule_of = b->rule_of;
    t->row_count = b->row_count;
    t->rules = b->rules;
    t->rule_count = b->rule_count;
    t->fdes = b->fdes;
    t->fde_count = b->fde_count;
    return unwind_table_index(t, b->arena);
}

static bool begin_table(struct unwind_table *t, const struct unwind_source *source,
                        struct error *err)
{
    *t = (struct unwind_table){.machine = source->machine};
    if (!register_roles_of(source->machine))
        return error_set(err, "unwinding is not supported on this architecture");
    memcpy(t->sections, source->sections, sizeof t->sections);
    t->section_count = source->section_count;
    memcpy(t->segments, source->segments, sizeof t->segments);
    t->segment_count = source->segment_count;
    return true;
}

static bool end_table(struct build *b, struct error *err)
{
    bool ok = build_table(b);
    arena_deinit(&b->scratch);
    if (!ok)
        *b->table = (struct unwind_table){.machine = b->source->machine};
    return ok || error_memory(err);
}

bool unwind_table_build(struct unwind_table *t, const struct unwind_source *source,
                        struct arena *arena, struct error *err)
{
    struct build b = {
        .table = t, .source = source, .arena = arena, .scratch = ARENA_INIT};
    if (!begin_table(t, source, err))
        return false;
    for (size_t i = 0; i < source->section_count; i++)
        list_section(&b, i);
    list_trampolines(&b);
    return end_table(&b, err);
}

bool unwind_table_build_function(struct unwind_table *t,
                                 const struct unwind_source *source, uint64_t fde,
                                 struct arena *arena, struct error *err)
{
    struct build b = {
        .table = t, .source = source, .arena = arena, .scratch = ARENA_INIT};
    struct cfi_fde f;
    if (!begin_table(t, source, err))
        return false;
    if (source->section_count && cfi_at(&source->sections[0], fde, &f) &&
        is_loaded(source, f.start))
        add_function(&b, f.start, f.end, fde << 1);
    return end_table(&b, err);
}
