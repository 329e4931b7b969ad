/* SPDX-License-Identifier: Apache-2.0 */
#include "symbol/dwarf_scope.h"
#include "base/array.h"

/* --- Children ----------------------------------------------------------------------- */

void dwarf_children_init(struct dwarf_children *c, struct dwarf_reader *r,
                         struct dwarf_unit_state *s, uint64_t offset)
{
    *c = (struct dwarf_children){.reader = r, .state = s, .entry = offset};
    c->at = dwarf_unit_bytes(s->unit, offset);
    c->abbrev = dwarf_next_entry(&c->at, s);
    if (c->abbrev)
        dwarf_children_enter(c);
}

void dwarf_children_enter(struct dwarf_children *c)
{
    const struct dwarf_unit_state *s = c->state;
    bool ignored = false;
    if (!c->abbrev->has_children)
        return;
    dwarf_skip(&c->at, s->unit, s->abbrevs, c->abbrev, false, &ignored);
    c->abbrev = NULL;
    c->level++;
}

bool dwarf_children_next(struct dwarf_children *c)
{
    const struct dwarf_unit_state *s = c->state;
    if (c->level && c->abbrev && !dwarf_leap(&c->at, s->unit, c->abbrev))
        dwarf_spend(c->reader, dwarf_skip_tree(&c->at, s->unit, s->abbrevs, c->abbrev));
    while (c->level && dwarf_spend(c->reader, 1)) {
        c->entry = bytes_offset(&c->at);
        c->abbrev = dwarf_next_entry(&c->at, s);
        if (c->abbrev)
            return true;
        if (c->at.failed)
            break;
        c->level--;
    }
    c->level = 0;
    return false;
}

void dwarf_children_read(const struct dwarf_children *c, struct dwarf_die *die)
{
    struct bytes b = c->at;
    dwarf_die_read(&b, c->state->unit, c->state->abbrevs, c->abbrev, die);
}

/* --- Scopes ------------------------------------------------------------------------- */

static bool add_mark(struct dwarf_scope *in, struct arena *a, uint32_t offset)
{
    uint32_t *added = ARRAY_APPEND(a, in->marks, in->count, in->cap);
    if (added)
        *added = offset;
    return added != NULL;
}

/* Records the offset of the first child of the entry at `begin`. */
static bool begin_scope(struct dwarf_reader *r, const struct dwarf_unit_state *s,
                        uint64_t begin, struct dwarf_scope *in)
{
    struct bytes b = dwarf_unit_bytes(s->unit, begin);
    const struct dwarf_abbrev *abbrev = dwarf_next_entry(&b, s);
    bool ignored = false;
    if (!abbrev || !abbrev->has_children)
        return false;
    dwarf_skip(&b, s->unit, s->abbrevs, abbrev, false, &ignored);
    return !b.failed &&
           add_mark(in, &r->arena, (uint32_t)(bytes_offset(&b) - s->unit->offset));
}

/* The last mark at or before that offset of the unit. */
static size_t mark_before(const struct dwarf_scope *in, uint64_t offset)
{
    size_t low = 0, high = in->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (in->marks[middle] <= offset)
            low = middle + 1;
        else
            high = middle;
    }
    return low ? low - 1 : 0;
}

/* Returns the end of an entry and its children, if its abbreviation determines that;
 * otherwise NULL. `at`: after the entry's code; [unit, end): the unit. Most entries of
 * a unit are skipped here. */
static inline const char *end_of(const struct dwarf_abbrev *abbrev, const char *unit,
                                 const char *end, const char *at, bool big_endian)
{
    uint32_t sibling;
    size_t left = (size_t)(end - at);
    if (abbrev->leap == DWARF_LEAP_SIBLING && left > abbrev->fixed + sizeof sibling) {
        memcpy(&sibling, at + abbrev->fixed, sizeof sibling);
        at += abbrev->fixed + sizeof sibling;
        if (big_endian)
            sibling = __builtin_bswap32(sibling);
        return sibling > at - unit && sibling <= end - unit ? unit + sibling : NULL;
    }
    return abbrev->leap == DWARF_LEAP_END && left >= abbrev->fixed ? at + abbrev->fixed
                                                                   : NULL;
}

/* Returns the entry after the one at `at`, if its abbreviation determines that;
 * otherwise NULL. */
static inline const char *leap(const struct dwarf_abbrevs *t, const char *unit,
                               const char *end, const char *at, bool big_endian)
{
    uint32_t code = (uint8_t)*at++;
    if (code & 0x80 && at < end)
        code = (code & 0x7f) | (uint32_t)(uint8_t)*at++ << 7;
    return code < t->count ? end_of(&t->items[code], unit, end, at, big_endian) : NULL;
}

/* Skips the entry at `at`; NULL at the end of the scope. */
static const char *step(const struct dwarf_unit_state *s, struct bytes b, const char *at,
                        uint64_t *steps)
{
    b.at = at;
    const struct dwarf_abbrev *abbrev = dwarf_next_entry(&b, s);
    if (!abbrev)
        return NULL;
    if (!dwarf_leap(&b, s->unit, abbrev))
        *steps += dwarf_skip_tree(&b, s->unit, s->abbrevs, abbrev);
    return b.failed || b.at == b.end ? NULL : b.at;
}

/* Returns the offset in the unit of the scope's child that contains the entry at `offset`.
 * 0: the entry is a child of the scope, or is not in it. */
static uint64_t child_around(struct dwarf_reader *r, const struct dwarf_unit_state *s,
                             struct dwarf_scope *in, uint64_t offset)
{
    size_t mark = mark_before(in, offset), since = 0;
    const struct bytes b = dwarf_unit_bytes(s->unit, s->unit->offset + in->marks[mark]);
    const char *unit = b.begin + s->unit->offset, *end = b.end, *at = b.at;
    const char *last = at, *target = unit + offset;
    uint64_t steps = 0, budget = r->budget;
    while (at && at < target && steps++ < budget) {
        if (since++ == DWARF_SCOPE_MARK) {
            since = 1;
            if (++mark == in->count && !add_mark(in, &r->arena, (uint32_t)(at - unit)))
                break;
        }
        last = at;
        at = leap(s->abbrevs, unit, end, last, b.big_endian);
        if (!at)
            at = step(s, b, last, &steps);
    }
    dwarf_spend(r, steps);
    return at && at > target ? (uint64_t)(last - unit) : 0;
}

/* The recorded marks of the entry at `begin`. NULL: not a scope, or if out of memory. */
static struct dwarf_scope *scope_of(struct dwarf_reader *r, struct dwarf_unit_state *s,
                                    uint64_t begin)
{
    struct dwarf_scope *scope = &s->scope;
    if (begin != s->unit->first) {
        uint64_t *known = idmap_put(&s->file->scopes, &r->arena, begin);
        if (known && !*known)
            *known = (uintptr_t)arena_zalloc(&r->arena, 1, sizeof *scope);
        scope = known ? (struct dwarf_scope *)(uintptr_t)*known : NULL;
    }
    if (!scope || (!scope->count && !begin_scope(r, s, begin, scope)))
        return NULL;
    return scope;
}

bool dwarf_scope_note(struct dwarf_reader *r, struct dwarf_unit_state *s, uint64_t entry)
{
    uint64_t offset = entry - s->unit->offset;
    return offset > UINT32_MAX || add_mark(&s->scope, &r->arena, (uint32_t)offset);
}

size_t dwarf_scopes_around(struct dwarf_reader *r, struct dwarf_unit_state *s,
                           uint64_t offset, uint64_t around[DWARF_SCOPES_MAX])
{
    const struct dwarf_unit *u = s->unit;
    uint64_t at = u->first;
    size_t count = 0;
    if (offset <= u->first || offset >= u->end || offset - u->offset > UINT32_MAX)
        return 0;
    for (;;) {
        struct dwarf_scope *in = scope_of(r, s, at);
        uint64_t next = in ? child_around(r, s, in, offset - u->offset) : 0;
        if (!next)
            return count;
        if (count == DWARF_SCOPES_MAX)
            return 0;
        around[count++] = at = u->offset + next;
    }
}
