/* SPDX-License-Identifier: Apache-2.0 */
#include "symbol/dwarf_function.h"
#include "base/array.h"
#include "symbol/dwarf_scope.h"
#include "symbol/dwarf_table.h"

/* Maximum nesting of bodies; deeper ones are ignored. */
#define DEPTH_MAX 1024

/* --- Units and their abbreviations -------------------------------------------------- */

struct dwarf_file_state *dwarf_file_state_make(struct dwarf_reader *r,
                                               const struct dwarf_file *file)
{
    struct dwarf_file_state *s = arena_zalloc(&r->arena, 1, sizeof *s);
    struct dwarf_unit_state *units =
        arena_zalloc(&r->arena, file->count, sizeof *s->units);
    if (!s || !units)
        return NULL;
    s->file = file;
    s->units = units;
    s->abbrev_budget = 2 * (uint64_t)file->sections.abbrev.len;
    return s;
}

/* Key of equal tables: the same offset, for units with the same address and offset
 * sizes. */
static uint64_t abbrevs_key(const struct dwarf_unit *u)
{
    return u->abbrev << 8 | (uint64_t)u->address_size << 1 | (u->offset_size == 8) |
           (u->version <= 2 ? 32 : 0);
}

static struct dwarf_abbrevs *abbrevs_of(struct dwarf_reader *r,
                                        struct dwarf_file_state *f,
                                        const struct dwarf_unit *u)
{
    uint64_t *known = idmap_put(&f->abbrevs, &r->arena, abbrevs_key(u));
    if (!known)
        return NULL;
    if (!*known)
        *known = (uintptr_t)dwarf_abbrevs_make(u, &r->caches->scratch, &r->arena,
                                               &f->abbrev_budget);
    return (struct dwarf_abbrevs *)(uintptr_t)*known;
}

struct dwarf_unit_state *dwarf_unit_state_at(struct dwarf_reader *r,
                                             struct dwarf_file_state *file, size_t index)
{
    struct dwarf_unit_state *s = &file->units[index];
    if (!s->unit) {
        s->abbrevs = abbrevs_of(r, file, &file->file->units[index]);
        if (!s->abbrevs)
            return NULL;
        s->file = file;
        s->unit = &file->file->units[index];
    }
    return s;
}

/* --- Where functions are ------------------------------------------------------------ */

/* Returns true if the unit's language puts functions into types. In C and related
 * languages, types contain only declarations, and the function itself is outside (DWARF
 * 5, 7.12). */
static bool has_functions_in_types(const struct dwarf_unit *u)
{
    switch (u->language) {
    case 0x01: /* C89 */
    case 0x02: /* C */
    case 0x04: /* C++ */
    case 0x0c: /* C99 */
    case 0x10: /* Objective-C */
    case 0x11: /* Objective-C++ */
    case 0x19: /* C++03 */
    case 0x1a: /* C++11 */
    case 0x1d: /* C11 */
    case 0x21: /* C++14 */
    case 0x2a: /* C++17 */
    case 0x2b: /* C++20 */
    case 0x2c: /* C17 */
        return false;
    default:
        return true;
    }
}

/* Returns true if the children of an entry may be functions. */
static bool is_scope(struct dwarf_unit_state *s, const struct dwarf_abbrev *abbrev,
                     enum dwarf_depth depth, bool in_types)
{
    if (abbrev->role == DWARF_SCOPE) {
        bool closed = depth == DWARF_OUTER && abbrev->has_sibling;
        s->has_closed_scopes |= closed;
        return !closed;
    }
    if (abbrev->role == DWARF_TYPE)
        return depth == DWARF_ALL || in_types;
    return depth == DWARF_ALL && abbrev->role != DWARF_SKIP &&
           abbrev->role != DWARF_OTHER;
}

static bool add_function(struct dwarf_reader *r, struct dwarf_unit_state *s,
                         struct bytes b, const struct dwarf_abbrev *abbrev,
                         uint64_t entry, struct dwarf_table *out)
{
    struct dwarf_die die;
    dwarf_die_read(&b, s->unit, s->abbrevs, abbrev, &die);
    return entry - s->unit->offset > UINT32_MAX ||
           dwarf_code_ranges(s->unit, &r->dwarf->input, &die,
                             (uint32_t)(entry - s->unit->offset), &r->arena, out,
                             &r->caches->range_budget);
}

/* One pass over the unit's entries. The first one is entered if it is a scope. */
static bool collect_functions(struct dwarf_reader *r, struct dwarf_unit_state *s,
                              enum dwarf_depth depth)
{
    const struct dwarf_unit *u = s->unit;
    struct dwarf_table *out = &s->functions[depth];
    struct bytes b = dwarf_unit_bytes(u, u->first);
    bool in_types = has_functions_in_types(u), ignored = false, notes = !s->scope.count;
    size_t level = 0, noted = 0;
    out->count = 0;
    while (b.at < b.end && !b.failed && dwarf_spend(r, 1)) {
        uint64_t entry = bytes_offset(&b);
        const struct dwarf_abbrev *abbrev = dwarf_next_entry(&b, s);
        if (b.failed || (!abbrev && level <= 1))
            break;
        if (!abbrev) {
            level--;
            continue;
        }
        if (notes && level == 1 && noted++ % DWARF_SCOPE_MARK == 0 &&
            !dwarf_scope_note(r, s, entry))
            return false;
        if (abbrev->role == DWARF_FUNCTION && !add_function(r, s, b, abbrev, entry, out))
            return false;
        if (abbrev->has_children &&
            is_scope(s, abbrev, level ? depth : DWARF_ALL, in_types)) {
            dwarf_skip(&b, u, s->abbrevs, abbrev, false, &ignored);
            level++;
        } else if (!dwarf_leap(&b, u, abbrev)) {
            dwarf_spend(r, dwarf_skip_tree(&b, u, s->abbrevs, abbrev));
        }
        if (!level)
            break;
    }
    return dwarf_table_sort(out, false);
}

/* Most functions are found without entering namespaces, bodies and types; those are
 * searched only for code that is not in a function found so far. */
bool dwarf_function_at(struct dwarf_reader *r, struct dwarf_unit_state *s,
                       uint64_t address, uint64_t *entry)
{
    const struct dwarf_range *found = NULL;
    for (enum dwarf_depth depth = DWARF_OUTER; depth < DWARF_DEPTHS && !found; depth++) {
        if (depth == DWARF_SCOPES && !s->has_closed_scopes)
            continue;
        if (!s->has_functions[depth] && !collect_functions(r, s, depth))
            return false;
        s->has_functions[depth] = true;
        found = dwarf_table_find(&s->functions[depth], address);
    }
    *entry = found ? s->unit->offset + found->value : DWARF_NONE;
    return true;
}

/* --- Bodies ------------------------------------------------------------------------- */

/* A walk through a body. */
struct walk {
    struct dwarf_reader *reader;
    struct dwarf_unit_state *state;
    struct dwarf_query *queries;
    size_t count;
    uint32_t inside[DEPTH_MAX]; /* by depth: the enclosing inlined call */
    size_t depth;
};

static size_t first_from(const struct walk *w, uint64_t address)
{
    size_t low = 0, high = w->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (w->queries[middle].address < address)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Returns true if the query is in the code of that inlined call, as far as known so
 * far. The part of a call's code outside its enclosing call is ignored, because that
 * code may or may not be walked, depending on the other queries. */
static bool is_inside(const struct walk *w, const struct dwarf_query *q, uint32_t inside)
{
    size_t at = q->count;
    while (at > inside)
        at = w->reader->inlined[at].parent;
    return at == inside;
}

/* Returns true if a query is in the entry's code. If `inner` is not 0, sets it as the
 * innermost call of these queries. */
static bool has_query(struct walk *w, const struct dwarf_die *die, uint32_t inner,
                      bool *failed)
{
    struct dwarf_reader *r = w->reader;
    bool found = false;
    r->spare.count = 0;
    if (!dwarf_code_ranges(w->state->unit, &r->dwarf->input, die, 0, &r->arena, &r->spare,
                           &r->budget)) {
        *failed = true;
        return false;
    }
    for (size_t i = 0; i < r->spare.count; i++) {
        const struct dwarf_range *range = &r->spare.items[i];
        size_t at = first_from(w, range->low), from = at;
        for (; at < w->count && w->queries[at].address < range->high; at++) {
            if (!is_inside(w, &w->queries[at], w->inside[w->depth]))
                continue;
            found = true;
            if (inner)
                w->queries[at].count = inner;
        }
        if (!dwarf_spend(r, 1 + at - from))
            break;
    }
    return found;
}

static bool add_inlined(struct dwarf_reader *r, const struct dwarf_die *die,
                        uint64_t entry, uint32_t parent)
{
    struct dwarf_inlined *added =
        ARRAY_APPEND(&r->arena, r->inlined, r->inlined_count, r->inlined_cap);
    if (!added)
        return false;
    bool has_name = die->name.form || die->linkage_name.form;
    *added = (struct dwarf_inlined){
        .entry = entry,
        .origin = has_name ? (struct dwarf_value){0, 0} : die->origin,
        .file = die->call_file,
        .line = (uint32_t)die->call_line,
        .column = (uint32_t)die->call_column,
        .parent = parent,
    };
    return true;
}

/* Moves from the end of the entry's attributes to its next sibling. */
static void skip_entry(struct walk *w, struct bytes *b, struct bytes attributes,
                       const struct dwarf_abbrev *abbrev, const struct dwarf_die *die)
{
    if (!abbrev->has_children)
        return;
    if (die->sibling > bytes_offset(b) && die->sibling <= w->state->unit->end) {
        b->at = b->begin + die->sibling;
        return;
    }
    *b = attributes;
    dwarf_spend(w->reader, dwarf_skip_tree(b, w->state->unit, w->state->abbrevs, abbrev));
}

static void enter_entry(struct walk *w, uint32_t inside)
{
    w->depth++;
    w->inside[w->depth] = inside;
}

/* A block without ranges: it restricts nothing. */
static bool is_everywhere(const struct dwarf_die *die)
{
    return !die->ranges.form && !die->high.form;
}

/* Handles an inlined call or a block: enters it if it covers a query, otherwise skips
 * it. */
static bool walk_entry(struct walk *w, struct bytes *b, const struct dwarf_abbrev *abbrev,
                       uint64_t entry)
{
    struct dwarf_reader *r = w->reader;
    struct bytes attributes = *b;
    struct dwarf_die die;
    bool is_inlined = abbrev->role == DWARF_INLINED, failed = false;
    uint32_t inside = w->inside[w->depth], inner = 0;
    dwarf_die_read(b, w->state->unit, w->state->abbrevs, abbrev, &die);
    if (b->failed)
        return true;
    if (is_inlined) {
        inner = (uint32_t)r->inlined_count;
        failed = !add_inlined(r, &die, entry, inside);
    }
    bool found = !failed && has_query(w, &die, inner, &failed);
    if (is_inlined && !found)
        r->inlined_count = inner;
    found |= !is_inlined && is_everywhere(&die);
    if (found && abbrev->has_children && w->depth + 1 < DEPTH_MAX)
        enter_entry(w, is_inlined ? inner : inside);
    else
        skip_entry(w, b, attributes, abbrev, &die);
    return !failed;
}

/* Handles the next entry of the body. */
static bool walk_next(struct walk *w, struct bytes *b)
{
    struct dwarf_unit_state *s = w->state;
    uint64_t entry = bytes_offset(b);
    const struct dwarf_abbrev *abbrev = dwarf_next_entry(b, s);
    bool ignored = false;
    if (!abbrev) {
        w->depth--;
        return true;
    }
    if (abbrev->role == DWARF_INLINED ||
        (abbrev->role == DWARF_BLOCK && abbrev->has_code && abbrev->has_sibling))
        return walk_entry(w, b, abbrev, entry);
    if (abbrev->role == DWARF_BLOCK && abbrev->has_children && w->depth + 1 < DEPTH_MAX) {
        dwarf_skip(b, s->unit, s->abbrevs, abbrev, false, &ignored);
        enter_entry(w, w->inside[w->depth]);
    } else {
        dwarf_spend(w->reader, dwarf_skip_tree(b, s->unit, s->abbrevs, abbrev));
    }
    return true;
}

bool dwarf_walk_body(struct dwarf_reader *r, struct dwarf_unit_state *s, uint64_t entry,
                     struct dwarf_query *queries, size_t count)
{
    struct walk w = {.reader = r, .state = s, .queries = queries, .count = count};
    struct bytes b = dwarf_unit_bytes(s->unit, entry);
    const struct dwarf_abbrev *abbrev = dwarf_next_entry(&b, s);
    bool ignored = false;
    for (size_t i = 0; i < count; i++)
        queries[i].count = 0;
    r->inlined_count = 0;
    if (!add_inlined(r, &(struct dwarf_die){0}, entry, 0))
        return false;
    if (!abbrev || !abbrev->has_children)
        return true;
    dwarf_skip(&b, s->unit, s->abbrevs, abbrev, false, &ignored);
    w.depth = 1;
    w.inside[1] = 0;
    while (w.depth && b.at < b.end && !b.failed && dwarf_spend(r, 1))
        if (!walk_next(&w, &b))
            return false;
    return true;
}
