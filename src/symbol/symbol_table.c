/* SPDX-License-Identifier: Apache-2.0 */
#include "symbol/symbol_table.h"
#include "base/array.h"
#include "base/sort.h"

/* A last symbol whose end is unknown extends to the end of its page, and one page
 * further, as in perf. */
#define PAGE ((uint64_t)4096)

/* No function is that large: the next symbol is in another part of the address space. */
#define FAR ((uint64_t)64 << 20)

void symbol_table_init(struct symbol_table *t, struct arena *arena)
{
    *t = (struct symbol_table){.arena = arena};
}

unsigned symbol_table_text(struct symbol_table *t, struct str text)
{
    if (t->text_count == SYMBOL_TEXTS_MAX)
        return UINT32_MAX;
    t->texts[t->text_count] = text;
    return t->text_count++;
}

uint16_t symbol_table_module(struct symbol_table *t, struct str name)
{
    size_t n = t->module_count ? t->module_count : 1;
    if (name.len == 0 || n > UINT16_MAX)
        return 0;
    if (n > 1 && str_equal(t->modules[n - 1], name))
        return (uint16_t)(n - 1);
    if (!ARRAY_RESERVE(t->arena, t->modules, t->module_cap, n + 1)) {
        t->failed = true;
        return 0;
    }
    t->modules[0] = STR("");
    t->modules[n] = name;
    t->module_count = n + 1;
    return (uint16_t)n;
}

void symbol_table_reserve(struct symbol_table *t, size_t count)
{
    if (count > t->cap - t->count &&
        !ARRAY_RESERVE(t->arena, t->entries, t->cap, t->count + count))
        t->failed = true;
}

/* --- Filter ------------------------------------------------------------------------ */

#define PRUNE_MIN ((size_t)4096)
#define RELEASE_AFTER 32768 /* symbols */

void symbol_table_filter(struct symbol_table *t, struct symbol_filter *filter)
{
    filter->gaps = arena_zalloc(t->arena, filter->count + 1, sizeof *filter->gaps);
    t->failed |= !filter->gaps;
    t->filter = filter->gaps ? filter : NULL;
    t->prune_at = PRUNE_MIN;
}

/* How many addresses of the filter are below `address`. */
static size_t gap_of(const struct symbol_filter *f, uint64_t address)
{
    size_t from = 0, to = f->count;
    while (from < to) {
        size_t middle = from + (to - from) / 2;
        if (f->addresses[middle] < address)
            from = middle + 1;
        else
            to = middle;
    }
    return from;
}

static bool covers(const struct symbol_filter *f, size_t gap, uint64_t end)
{
    return gap < f->count && end > f->addresses[gap];
}

/* Symbols whose end is unknown end at the next symbol: only the last one before an
 * address can cover it. */
static bool is_needed(const struct symbol_filter *f, const struct symbol_entry *e)
{
    size_t at = gap_of(f, e->address);
    const struct symbol_gap *gap = &f->gaps[at];
    return e->address == gap->first || e->address == gap->last ||
           (!e->open && covers(f, at, e->end));
}

static void prune(struct symbol_table *t)
{
    size_t retained = 0;
    for (size_t i = 0; i < t->count; i++)
        if (is_needed(t->filter, &t->entries[i]))
            t->entries[retained++] = t->entries[i];
    t->count = retained;
    t->prune_at = 2 * retained > PRUNE_MIN ? 2 * retained : PRUNE_MIN;
}

bool symbol_table_needs(struct symbol_table *t, uint64_t address, uint64_t end)
{
    struct symbol_filter *f = t->filter;
    if (!f)
        return true;
    if (++f->offered % RELEASE_AFTER == 0 && f->release)
        f->release(f->context);
    size_t at = gap_of(f, address);
    const struct symbol_gap *gap = &f->gaps[at];
    return !gap->any || address <= gap->first || address >= gap->last ||
           covers(f, at, end);
}

static void note_in_gap(const struct symbol_filter *f, uint64_t address)
{
    struct symbol_gap *gap = &f->gaps[gap_of(f, address)];
    if (!gap->any || address < gap->first)
        gap->first = address;
    if (!gap->any || address > gap->last)
        gap->last = address;
    gap->any = true;
}

void symbol_table_add(struct symbol_table *t, struct symbol_entry entry)
{
    if (t->count >= 4000000000u)
        return;
    if (t->filter) {
        if (!symbol_table_needs(t, entry.address, entry.open ? 0 : entry.end))
            return;
        note_in_gap(t->filter, entry.address);
        if (t->count >= t->prune_at)
            prune(t);
    }
    if (t->count == t->cap)
        symbol_table_reserve(t, 1);
    if (t->failed)
        return;
    if (!entry.open && entry.end < entry.address)
        entry.end = entry.address;
    t->entries[t->count++] = entry;
}

struct str symbol_table_name(const struct symbol_table *t, const struct symbol_entry *e,
                             size_t longest)
{
    if (e->length != SYMBOL_MEASURE)
        return str_head((struct str){e->name, e->length}, longest);
    struct str text = t->texts[e->text];
    struct str name = str_head(str_span(e->name, text.ptr + text.len), longest);
    return str_head(name, str_find(name, '\0'));
}

/* --- Aliases ---------------------------------------------------------------------- */

static size_t underscores(struct str name)
{
    size_t n = 0;
    while (n < name.len && name.ptr[n] == '_')
        n++;
    return n;
}

/* Internal kernel aliases of system calls. */
static bool is_syscall_alias(struct str name)
{
    return str_starts(name, STR("SyS")) || str_starts(name, STR("compat_SyS"));
}

static int prefer(bool a, bool b)
{
    return (int)a - (int)b;
}

/* Returns true if b is preferred over a, when both begin at the same address. The order
 * is that of perf (tools/perf, choose_best_symbol), so that the names are the same:
 * with a size, with a type, not weak, global, fewer leading underscores, the longer
 * name, the first. */
static bool is_better(const struct symbol_table *t, const struct symbol_entry *a,
                      const struct symbol_entry *b)
{
    int order = prefer(b->end > b->address, a->end > a->address);
    if (!order)
        order = prefer(b->kind != SYMBOL_LABEL, a->kind != SYMBOL_LABEL);
    if (!order)
        order = prefer(b->binding != SYMBOL_WEAK, a->binding != SYMBOL_WEAK);
    if (!order)
        order = prefer(b->binding == SYMBOL_GLOBAL, a->binding == SYMBOL_GLOBAL);
    if (order)
        return order > 0;
    struct str name_a = symbol_table_name(t, a, SYMBOL_COMPARED);
    struct str name_b = symbol_table_name(t, b, SYMBOL_COMPARED);
    size_t under_a = underscores(name_a), under_b = underscores(name_b);
    if (under_a != under_b)
        return under_b < under_a;
    if (name_a.len != name_b.len)
        return name_b.len > name_a.len;
    return is_syscall_alias(name_a);
}

static uint64_t page_end(uint64_t address)
{
    uint64_t rounded = (address + (PAGE - 1)) & ~(PAGE - 1);
    return rounded >= address && rounded + PAGE > rounded ? rounded + PAGE : UINT64_MAX;
}

/* Symbols without a size end where the next one begins, possibly at their own start. */
static void close_open(struct symbol_entry *entries, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct symbol_entry *e = &entries[i], *next = i + 1 < count ? e + 1 : NULL;
        if (!e->open)
            continue;
        bool last =
            !next || next->module != e->module || next->address - e->address > FAR;
        if (last && e->end == UINT64_MAX)
            e->end = page_end(e->address);
        if (next && next->address < e->end)
            e->end = next->address;
    }
}

/* Keeps the preferred symbol at each address; returns the number that remain. */
static size_t choose_best(struct symbol_table *t)
{
    size_t retained = 0;
    for (size_t i = 0; i < t->count; i++) {
        struct symbol_entry *e = &t->entries[i];
        struct symbol_entry *last = retained ? &t->entries[retained - 1] : NULL;
        if (!last || last->address != e->address)
            t->entries[retained++] = *e;
        else if (is_better(t, last, e))
            *last = *e;
    }
    return retained;
}

/* --- Finishing -------------------------------------------------------------------- */

static bool in_order(const struct symbol_table *t)
{
    for (size_t i = 1; i < t->count; i++)
        if (t->entries[i].address < t->entries[i - 1].address)
            return false;
    return true;
}

/* Sorts the entries by address; order[i].id is the former index of entry i. */
static bool sort_entries(struct symbol_table *t, struct sort_key *order, struct arena *a)
{
    size_t size = t->count * sizeof *order;
    struct sort_key *scratch = arena_alloc(a, size);
    struct symbol_entry *sorted = arena_alloc(t->arena, t->count * sizeof *sorted);
    if (!scratch || !sorted)
        return false;
    for (size_t i = 0; i < t->count; i++)
        order[i] = (struct sort_key){t->entries[i].address, (uint32_t)i};
    sort_keys(order, t->count, scratch);
    arena_release(a, scratch, size);
    for (size_t i = 0; i < t->count; i++)
        sorted[i] = t->entries[order[i].id];
    arena_release(t->arena, t->entries, t->cap * sizeof *sorted);
    t->entries = sorted;
    t->cap = t->count;
    return true;
}

/* Local assembly labels do not split the function around them. */
static bool is_inner_label(const struct symbol_entry *e)
{
    return e->open && e->kind == SYMBOL_LABEL && e->binding == SYMBOL_LOCAL;
}

/* Returns true if no entry overlaps the next one, so that no choice is needed. */
static bool is_flat(const struct symbol_table *t)
{
    for (size_t i = 1; i < t->count; i++)
        if (t->entries[i - 1].end > t->entries[i].address)
            return false;
    return true;
}

static bool lay_flat(struct symbol_table *t)
{
    if (!ranges_begin(&t->ranges, t->count, t->arena))
        return false;
    for (size_t i = 0; i < t->count; i++)
        ranges_lay(&t->ranges, t->entries[i].address, t->entries[i].end, (uint32_t)i);
    return true;
}

/* Makes the ranges of overlapping entries; order[i].id is the position at which entry i
 * was added; NULL: i. */
static bool make_ranges(struct symbol_table *t, enum symbol_choice choice,
                        const struct sort_key *order, struct arena *a)
{
    struct range *items = arena_alloc(a, t->count * sizeof *items);
    if (!items)
        return false;
    for (size_t i = 0; i < t->count; i++) {
        const struct symbol_entry *e = &t->entries[i];
        uint32_t rank = is_inner_label(e) ? 0 : (uint32_t)i + 1;
        if (choice == SYMBOLS_NEWEST)
            rank = order ? order[i].id : (uint32_t)i;
        items[i] = (struct range){e->address, e->end, rank, (uint32_t)i};
    }
    return ranges_init(&t->ranges, items, t->count, t->arena);
}

static bool finish(struct symbol_table *t, enum symbol_choice choice)
{
    struct arena scratch = ARENA_INIT;
    struct sort_key *order = NULL;
    bool ok = true;
    if (t->filter)
        prune(t);
    if (!in_order(t)) {
        order = arena_alloc(&scratch, t->count * sizeof *order);
        ok = order && sort_entries(t, order, &scratch);
    }
    if (ok) {
        close_open(t->entries, t->count);
        if (choice == SYMBOLS_BEST)
            t->count = choose_best(t);
        ok = is_flat(t) ? lay_flat(t) : make_ranges(t, choice, order, &scratch);
    }
    arena_deinit(&scratch);
    return ok;
}

bool symbol_table_finish(struct symbol_table *t, enum symbol_choice choice,
                         struct error *err)
{
    if (!t->failed && (t->count == 0 || finish(t, choice)))
        return true;
    t->failed = true;
    t->count = t->ranges.count = 0;
    return error_memory(err);
}

/* --- Looking up ------------------------------------------------------------------- */

struct symbol symbol_table_get(const struct symbol_table *t, size_t i)
{
    const struct symbol_entry *e = &t->entries[i];
    return (struct symbol){.address = e->address,
                           .end = e->end,
                           .name = symbol_table_name(t, e, SYMBOL_NAME_MAX),
                           .module = e->module ? t->modules[e->module] : STR(""),
                           .kind = (enum symbol_kind)e->kind,
                           .binding = (enum symbol_binding)e->binding};
}

bool symbol_table_find(const struct symbol_table *t, uint64_t address,
                       struct symbol *found)
{
    uint32_t owner = ranges_find(&t->ranges, address);
    if (owner == RANGE_NONE)
        return false;
    *found = symbol_table_get(t, owner);
    return true;
}

void symbol_table_part(const struct symbol_table *t, uint64_t address, uint64_t *start,
                       uint64_t *end)
{
    *start = ranges_start(&t->ranges, address);
    *end = ranges_end(&t->ranges, address);
}
