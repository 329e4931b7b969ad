/* SPDX-License-Identifier: Apache-2.0 */
#include "symbol/dwarf_unit.h"
#include "base/array.h"
#include "symbol/dwarf_line.h"
#include "symbol/dwarf_table.h"

/* --- Heads -------------------------------------------------------------------------- */

/* Reads a unit's header (DWARF 5, 7.5.1). False if there is no further unit. An
 * unreadable header gets version 0. */
static bool read_head(struct bytes *b, const struct dwarf_file *f, struct dwarf_unit *u)
{
    *u = (struct dwarf_unit){.file = f, .offset = bytes_offset(b), .offset_size = 4};
    uint64_t length = bytes_u32(b);
    if (length == UINT32_MAX) {
        u->offset_size = 8;
        length = bytes_u64(b);
    }
    if (b->failed || length < 2)
        return false;
    size_t left = bytes_left(b);
    u->end = bytes_offset(b) + (length < left ? (size_t)length : left);
    uint16_t version = bytes_u16(b);
    u->type = version >= 5 ? bytes_u8(b) : DW_UT_compile;
    if (version >= 5)
        u->address_size = bytes_u8(b);
    u->abbrev = bytes_number(b, u->offset_size);
    if (version < 5)
        u->address_size = bytes_u8(b);
    if (u->type == DW_UT_skeleton || u->type == DW_UT_split_compile)
        u->split_id = bytes_u64(b);
    bool has_code = u->type == DW_UT_compile || u->type == DW_UT_partial ||
                    u->type == DW_UT_skeleton || u->type == DW_UT_split_compile;
    bool sizes = u->address_size == 4 || u->address_size == 8 || u->address_size == 2;
    u->first = bytes_offset(b);
    if (version >= 2 && version <= 5 && has_code && sizes && u->first < u->end)
        u->version = version;
    b->failed = false;
    bytes_seek(b, u->end);
    return true;
}

/* --- First entries ------------------------------------------------------------------ */

/* Maximum number of attributes of a first entry that are read. */
#define FIRST_SPECS_MAX 64

/* Reads first entries. Their abbreviations are usually the first of their tables. */
struct first_reader {
    struct bytes abbrevs;
    uint64_t last_table, last_code, last_at; /* the last one found */
    uint64_t budget;                         /* bytes of .debug_abbrev */
};

/* Moves to the end of the code of that abbreviation. */
static bool find_abbrev(struct first_reader *r, uint64_t table, uint64_t code)
{
    struct bytes *b = &r->abbrevs;
    b->failed = false;
    if (table == r->last_table && code == r->last_code) {
        bytes_seek(b, r->last_at);
        return true;
    }
    bytes_seek(b, table);
    for (uint64_t from = bytes_offset(b); !b->failed;) {
        uint64_t here = dwarf_uleb(b), form;
        if (bytes_offset(b) - from > r->budget || !here) {
            r->budget -=
                bytes_offset(b) - from < r->budget ? bytes_offset(b) - from : r->budget;
            return false;
        }
        if (here == code)
            break;
        (void)dwarf_uleb(b);
        (void)bytes_u8(b);
        do {
            uint64_t name = dwarf_uleb(b);
            form = dwarf_uleb(b);
            if (form == DW_FORM_implicit_const)
                (void)bytes_sleb(b);
            form |= name;
        } while (form && !b->failed);
    }
    if (b->failed)
        return false;
    r->last_table = table;
    r->last_code = code;
    r->last_at = bytes_offset(b);
    r->budget -= r->last_at - table;
    return true;
}

/* Values that are resolved after the whole entry is read: texts and addresses may be
 * indexes into tables whose base comes later. */
struct first_entry {
    struct dwarf_die die;
    struct dwarf_value name, directory, split_name;
    bool has_str_base;
};

static void store_base(struct dwarf_unit *u, struct first_entry *e, uint64_t name,
                       struct dwarf_value v)
{
    switch (name) {
    case DW_AT_str_offsets_base:
        u->str_offsets_base = v.number;
        e->has_str_base = true;
        break;
    case DW_AT_addr_base:
    case DW_AT_GNU_addr_base:
        u->addr_base = v.number;
        break;
    case DW_AT_rnglists_base:
        u->rnglists_base = v.number;
        break;
    case DW_AT_GNU_ranges_base:
        u->split_ranges_base = v.number;
        break;
    case DW_AT_GNU_dwo_id:
        u->split_id = v.number;
        break;
    default:
        break;
    }
}

static void store_first(struct dwarf_unit *u, struct first_entry *e, uint64_t name,
                        struct dwarf_value v)
{
    switch (name) {
    case DW_AT_name:
        e->name = v;
        break;
    case DW_AT_comp_dir:
        e->directory = v;
        break;
    case DW_AT_dwo_name:
    case DW_AT_GNU_dwo_name:
        e->split_name = v;
        break;
    case DW_AT_low_pc:
        e->die.low = v;
        break;
    case DW_AT_high_pc:
        e->die.high = v;
        break;
    case DW_AT_ranges:
        e->die.ranges = v;
        break;
    case DW_AT_stmt_list:
        u->line = v.number;
        break;
    case DW_AT_language:
        u->language = (uint16_t)v.number;
        break;
    default:
        store_base(u, e, name, v);
        break;
    }
}

/* Reads the first entry with the abbreviation at the cursor. */
static void read_attributes(struct bytes *abbrevs, struct bytes *b, struct dwarf_unit *u,
                            struct first_entry *e)
{
    uint64_t tag = dwarf_uleb(abbrevs);
    u->tag = tag <= UINT16_MAX ? (uint16_t)tag : 0;
    (void)bytes_u8(abbrevs);
    for (int i = 0; i < FIRST_SPECS_MAX; i++) {
        uint64_t name = dwarf_uleb(abbrevs), form = dwarf_uleb(abbrevs);
        int64_t implicit = form == DW_FORM_implicit_const ? bytes_sleb(abbrevs) : 0;
        if ((!name && !form) || abbrevs->failed)
            return;
        struct dwarf_value v = dwarf_value_read(b, u, form, implicit);
        if (b->failed || !v.form)
            return;
        store_first(u, e, name, v);
    }
}

/* Sets the bases of the index tables if the unit does not specify them (DWARF 5,
 * 7.3.2.2): after the header of the only contribution in a split file. */
static void set_bases(struct dwarf_unit *u, const struct first_entry *e,
                      const struct dwarf_unit *share)
{
    const struct dwarf_sections *s = &u->file->sections;
    u->addr = share ? share->addr : s->addr;
    u->ranges = share ? share->ranges : s->ranges;
    if (share) {
        u->addr_base = share->addr_base;
        u->ranges_base = share->split_ranges_base;
        u->low = share->low;
    }
    if (u->version >= 5 && !e->has_str_base)
        u->str_offsets_base = u->offset_size == 8 ? 16 : 8;
    if (u->version >= 5 && !u->rnglists_base)
        u->rnglists_base = u->offset_size == 8 ? 20 : 12;
}

static void read_first(struct first_reader *r, struct dwarf_unit *u,
                       const struct dwarf_unit *share, struct dwarf_die *die)
{
    struct first_entry e = {0};
    struct bytes b = dwarf_unit_bytes(u, u->first);
    uint64_t code = dwarf_uleb(&b);
    u->line = DWARF_NONE;
    u->name = u->directory = u->split_name = STR("");
    if (code && find_abbrev(r, u->abbrev, code))
        read_attributes(&r->abbrevs, &b, u, &e);
    set_bases(u, &e, share);
    u->name = dwarf_value_text(u, e.name);
    u->directory = dwarf_value_text(u, e.directory);
    u->split_name = dwarf_value_text(u, e.split_name);
    uint64_t low;
    if (dwarf_value_address(u, e.die.low, &low))
        u->low = low;
    *die = e.die;
}

static struct dwarf_unit *add_unit(struct dwarf_file *f, size_t *cap, struct arena *a)
{
    return ARRAY_RESERVE(a, f->units, *cap, f->count + 1) ? &f->units[f->count] : NULL;
}

/* Truncates the section after its last zero byte, so every string in it ends, and
 * finding the end is cheap. */
static void end_texts(struct str *section)
{
    while (section->len && section->ptr[section->len - 1])
        section->len--;
}

/* --- Where code is ------------------------------------------------------------------ */

/* A range list while it is read. */
struct list {
    const struct dwarf_unit *unit;
    const struct dwarf_input *input;
    struct dwarf_table *out;
    struct arena *arena;
    uint32_t value;
    uint64_t base, last; /* the largest address */
};

/* The linker writes the largest address, or the one before it, for dropped code. */
static bool is_dropped(const struct list *l, uint64_t address)
{
    return address >= l->last - 1;
}

static bool add_code(const struct list *l, uint64_t low, uint64_t high)
{
    if (low < l->input->code_low || low >= l->input->code_high || is_dropped(l, low))
        return true;
    return dwarf_table_add(l->out, l->arena, low, high, l->value);
}

static bool add_relative(const struct list *l, uint64_t low, uint64_t high)
{
    return is_dropped(l, l->base) || add_code(l, l->base + low, l->base + high);
}

/* .debug_ranges (DWARF 4, 2.17.3). */
static bool read_ranges(struct list *l, uint64_t offset, uint64_t *budget)
{
    unsigned size = l->unit->address_size;
    struct bytes b = bytes_of(l->unit->ranges, l->unit->file->sections.big_endian);
    bytes_seek(&b, offset);
    for (; *budget; --*budget) {
        uint64_t low = bytes_number(&b, size), high = bytes_number(&b, size);
        if (b.failed || (!low && !high))
            return true;
        if (low == l->last)
            l->base = high;
        else if (!add_relative(l, low, high))
            return false;
    }
    return true;
}

/* Reads an entry with two operands that are not offsets; returns what it covers. */
static bool read_absolute(struct list *l, struct bytes *b, unsigned kind, uint64_t *low,
                          uint64_t *high)
{
    unsigned size = l->unit->address_size;
    bool known = true;
    if (kind == DW_RLE_startx_endx || kind == DW_RLE_startx_length)
        known = dwarf_address_at(l->unit, dwarf_uleb(b), low);
    else
        *low = bytes_number(b, size);
    if (kind == DW_RLE_startx_endx)
        known &= dwarf_address_at(l->unit, dwarf_uleb(b), high);
    else if (kind == DW_RLE_start_end)
        *high = bytes_number(b, size);
    else
        *high = (known ? *low : 0) + dwarf_uleb(b);
    return known && !b->failed;
}

/* Reads one entry of .debug_rnglists. *more: it is not the last one. False
 * when out of memory. */
static bool read_list_entry(struct list *l, struct bytes *b, bool *more)
{
    unsigned kind = bytes_u8(b);
    uint64_t low = 0, high = 0;
    *more = !b->failed && kind != DW_RLE_end_of_list && kind <= DW_RLE_start_length;
    switch (kind) {
    case DW_RLE_base_addressx:
        if (!dwarf_address_at(l->unit, dwarf_uleb(b), &l->base))
            l->base = l->last;
        return true;
    case DW_RLE_base_address:
        l->base = bytes_number(b, l->unit->address_size);
        return true;
    case DW_RLE_offset_pair:
        low = dwarf_uleb(b);
        high = dwarf_uleb(b);
        return b->failed || add_relative(l, low, high);
    default:
        return !*more || !read_absolute(l, b, kind, &low, &high) ||
               add_code(l, low, high);
    }
}

/* .debug_rnglists (DWARF 5, 2.17.3, 7.25). */
static bool read_rnglist(struct list *l, uint64_t offset, uint64_t *budget)
{
    const struct dwarf_sections *s = &l->unit->file->sections;
    struct bytes b = bytes_of(s->rnglists, s->big_endian);
    bool more = true;
    bytes_seek(&b, offset);
    for (; *budget && more; --*budget)
        if (!read_list_entry(l, &b, &more))
            return false;
    return true;
}

/* Offset of the list with that index. */
static uint64_t rnglist_offset(const struct dwarf_unit *u, uint64_t index)
{
    const struct dwarf_sections *s = &u->file->sections;
    struct bytes b = bytes_of(s->rnglists, s->big_endian);
    if (index > s->rnglists.len)
        return DWARF_NONE;
    bytes_seek(&b, u->rnglists_base);
    bytes_skip(&b, index * u->offset_size);
    uint64_t offset = bytes_number(&b, u->offset_size);
    return b.failed ? DWARF_NONE : u->rnglists_base + offset;
}

bool dwarf_code_ranges(const struct dwarf_unit *u, const struct dwarf_input *input,
                       const struct dwarf_die *die, uint32_t value, struct arena *a,
                       struct dwarf_table *out, uint64_t *budget)
{
    struct list l = {u, input, out, a, value, u->low, UINT64_MAX};
    if (u->address_size < 8)
        l.last = ((uint64_t)1 << (8 * u->address_size)) - 1;
    uint64_t low, high;
    if (die->ranges.form == DW_FORM_rnglistx)
        return read_rnglist(&l, rnglist_offset(u, die->ranges.number), budget);
    if (die->ranges.form && u->version >= 5)
        return read_rnglist(&l, die->ranges.number, budget);
    if (die->ranges.form)
        return read_ranges(&l, u->ranges_base + die->ranges.number, budget);
    if (!die->high.form || !dwarf_value_address(u, die->low, &low))
        return true;
    if (!dwarf_form_is_address(die->high.form))
        high = low + die->high.number;
    else if (!dwarf_value_address(u, die->high, &high))
        return true;
    return add_code(&l, low, high);
}

/* A unit without ranges may have a line program with addresses. */
static bool ranges_of_lines(const struct dwarf_unit *u, struct dwarf *d, uint32_t index,
                            uint64_t *budget)
{
    struct arena scratch = ARENA_INIT;
    struct dwarf_table ranges = {0};
    bool ok = dwarf_lines_make(u, d, &scratch, budget, &ranges) != NULL;
    for (size_t i = 0; ok && i < ranges.count; i++)
        ok = dwarf_table_add(&d->ranges, d->arena, ranges.items[i].low,
                             ranges.items[i].high, index);
    arena_deinit(&scratch);
    return ok;
}

/* --- Files -------------------------------------------------------------------------- */

/* Maximum amount of data to read to find the ranges of all units. */
struct budgets {
    uint64_t ranges, lines;
};

static bool add_unit_ranges(struct dwarf *d, const struct dwarf_unit *u,
                            const struct dwarf_die *die, uint32_t index,
                            struct budgets *budgets)
{
    if (die->ranges.form || (die->low.form && die->high.form))
        return dwarf_code_ranges(u, &d->input, die, index, d->arena, &d->ranges,
                                 &budgets->ranges);
    if (u->line == DWARF_NONE || u->tag == DW_TAG_partial_unit)
        return true;
    return ranges_of_lines(u, d, index, &budgets->lines);
}

bool dwarf_file_init(struct dwarf_file *f, const struct dwarf_sections *sections,
                     const struct dwarf_unit *share, struct dwarf *d, struct arena *a)
{
    f->sections = *sections;
    end_texts(&f->sections.str);
    end_texts(&f->sections.line_str);
    struct bytes b = bytes_of(f->sections.info, sections->big_endian);
    struct first_reader r = {
        .abbrevs = bytes_of(sections->abbrev, sections->big_endian),
        .last_table = DWARF_NONE,
        .budget = 4 * (uint64_t)sections->abbrev.len + ((uint64_t)1 << 20),
    };
    struct budgets budgets = {
        4 * ((uint64_t)sections->ranges.len + sections->rnglists.len),
        4 * (uint64_t)sections->line.len,
    };
    size_t cap = 0;
    while (bytes_left(&b) && f->count < DWARF_NO_UNIT - 1) {
        struct dwarf_unit *u = add_unit(f, &cap, a);
        struct dwarf_die die;
        if (!u)
            return false;
        if (!read_head(&b, f, u))
            break;
        if (u->version) {
            read_first(&r, u, share, &die);
            if (d && !add_unit_ranges(d, u, &die, (uint32_t)f->count, &budgets))
                return false;
        }
        f->count++;
    }
    return true;
}

const struct dwarf_unit *dwarf_file_unit_at(const struct dwarf_file *f, uint64_t offset)
{
    size_t low = 0, high = f->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (f->units[middle].offset <= offset)
            low = middle + 1;
        else
            high = middle;
    }
    const struct dwarf_unit *u = low ? &f->units[low - 1] : NULL;
    return u && u->version && offset >= u->first && offset < u->end ? u : NULL;
}
