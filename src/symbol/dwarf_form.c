/* SPDX-License-Identifier: Apache-2.0 */
#include "symbol/dwarf_form.h"
#include "base/array.h"

enum {
    STEP_END,
    STEP_MORE, /* nothing; the fixed size was too large for one step */
    STEP_LEB,
    STEP_TEXT,
    STEP_BLOCK, /* a length as LEB128, then that many bytes */
    STEP_BLOCK1,
    STEP_BLOCK2,
    STEP_BLOCK4,
    STEP_INDIRECT,
    STEP_SIBLING1,
    STEP_SIBLING2,
    STEP_SIBLING4,
    STEP_SIBLING8,
    STEP_SIBLING_LEB,
    STEP_BROKEN, /* an unknown form */
};

/* Codes begin at 1; compilers do not write larger ones than this. */
#define CODE_MAX ((uint64_t)1 << 20)
#define STEP_FIXED_MAX 60000

/* Maximum nesting of DW_FORM_indirect. */
#define INDIRECT_MAX 4

/* --- Forms -------------------------------------------------------------------------- */

struct shape {
    uint8_t fixed, kind;
};

static unsigned reference_size(const struct dwarf_unit *u)
{
    return u->version <= 2 ? u->address_size : u->offset_size;
}

static struct shape fixed(unsigned size)
{
    return (struct shape){(uint8_t)size, STEP_MORE};
}

static struct shape varying(uint8_t kind)
{
    return (struct shape){0, kind};
}

/* Forms of DWARF 2 to 4. */
static struct shape old_form_shape(const struct dwarf_unit *u, uint64_t form)
{
    switch (form) {
    case DW_FORM_addr:
        return fixed(u->address_size);
    case DW_FORM_data1:
    case DW_FORM_ref1:
    case DW_FORM_flag:
        return fixed(1);
    case DW_FORM_data2:
    case DW_FORM_ref2:
        return fixed(2);
    case DW_FORM_data4:
    case DW_FORM_ref4:
        return fixed(4);
    case DW_FORM_data8:
    case DW_FORM_ref8:
    case DW_FORM_ref_sig8:
        return fixed(8);
    case DW_FORM_strp:
    case DW_FORM_sec_offset:
    case DW_FORM_GNU_ref_alt:
    case DW_FORM_GNU_strp_alt:
        return fixed(u->offset_size);
    case DW_FORM_ref_addr:
        return fixed(reference_size(u));
    case DW_FORM_flag_present:
        return fixed(0);
    case DW_FORM_string:
        return varying(STEP_TEXT);
    case DW_FORM_block:
    case DW_FORM_exprloc:
        return varying(STEP_BLOCK);
    case DW_FORM_block1:
        return varying(STEP_BLOCK1);
    case DW_FORM_block2:
        return varying(STEP_BLOCK2);
    case DW_FORM_block4:
        return varying(STEP_BLOCK4);
    case DW_FORM_sdata:
    case DW_FORM_udata:
    case DW_FORM_ref_udata:
    case DW_FORM_GNU_addr_index:
    case DW_FORM_GNU_str_index:
        return varying(STEP_LEB);
    case DW_FORM_indirect:
        return varying(STEP_INDIRECT);
    default:
        return varying(STEP_BROKEN);
    }
}

static struct shape form_shape(const struct dwarf_unit *u, uint64_t form)
{
    switch (form) {
    case DW_FORM_implicit_const:
        return fixed(0);
    case DW_FORM_strx1:
    case DW_FORM_addrx1:
        return fixed(1);
    case DW_FORM_strx2:
    case DW_FORM_addrx2:
        return fixed(2);
    case DW_FORM_strx3:
    case DW_FORM_addrx3:
        return fixed(3);
    case DW_FORM_strx4:
    case DW_FORM_addrx4:
    case DW_FORM_ref_sup4:
        return fixed(4);
    case DW_FORM_ref_sup8:
        return fixed(8);
    case DW_FORM_data16:
        return fixed(16);
    case DW_FORM_strp_sup:
    case DW_FORM_line_strp:
        return fixed(u->offset_size);
    case DW_FORM_strx:
    case DW_FORM_addrx:
    case DW_FORM_loclistx:
    case DW_FORM_rnglistx:
        return varying(STEP_LEB);
    default:
        return old_form_shape(u, form);
    }
}

static uint8_t sibling_kind(uint64_t form)
{
    switch (form) {
    case DW_FORM_ref1:
        return STEP_SIBLING1;
    case DW_FORM_ref2:
        return STEP_SIBLING2;
    case DW_FORM_ref4:
        return STEP_SIBLING4;
    case DW_FORM_ref8:
        return STEP_SIBLING8;
    case DW_FORM_ref_udata:
        return STEP_SIBLING_LEB;
    default:
        return STEP_END;
    }
}

/* --- Abbreviations ------------------------------------------------------------------ */

struct compiler {
    struct dwarf_abbrevs *table;
    const struct dwarf_unit *unit;
    struct arena *arena;
    struct dwarf_step step; /* the step that is being built */
    uint8_t before;         /* bytes since the last attribute that is read */
    bool failed;            /* out of memory */
};

enum slot {
    SLOT_NONE,
    SLOT_SIBLING,
    SLOT_LOW,
    SLOT_HIGH,
    SLOT_RANGES,
    SLOT_ORIGIN,
    SLOT_SPECIFICATION,
    SLOT_NAME,
    SLOT_LINKAGE_NAME,
    SLOT_CALL_FILE,
    SLOT_CALL_LINE,
    SLOT_CALL_COLUMN,
    SLOT_TYPE,
    SLOT_ARTIFICIAL,
};

/* Attributes of types and parameters only, which are needed to build names. */
static enum slot slot_of_type(uint64_t name)
{
    switch (name) {
    case DW_AT_type:
        return SLOT_TYPE;
    case DW_AT_artificial:
        return SLOT_ARTIFICIAL;
    case DW_AT_decl_line:
        return SLOT_CALL_LINE;
    case DW_AT_decl_column:
        return SLOT_CALL_COLUMN;
    default:
        return SLOT_NONE;
    }
}

static enum slot slot_of(uint64_t name)
{
    switch (name) {
    case DW_AT_sibling:
        return SLOT_SIBLING;
    case DW_AT_low_pc:
        return SLOT_LOW;
    case DW_AT_high_pc:
        return SLOT_HIGH;
    case DW_AT_ranges:
        return SLOT_RANGES;
    case DW_AT_abstract_origin:
        return SLOT_ORIGIN;
    case DW_AT_specification:
        return SLOT_SPECIFICATION;
    case DW_AT_name:
        return SLOT_NAME;
    case DW_AT_linkage_name:
    case DW_AT_MIPS_linkage_name:
        return SLOT_LINKAGE_NAME;
    case DW_AT_call_file:
        return SLOT_CALL_FILE;
    case DW_AT_call_line:
        return SLOT_CALL_LINE;
    case DW_AT_call_column:
        return SLOT_CALL_COLUMN;
    default:
        return SLOT_NONE;
    }
}

static void end_step(struct compiler *c, uint8_t kind)
{
    struct dwarf_abbrevs *t = c->table;
    if (!ARRAY_RESERVE(c->arena, t->steps, t->step_cap, t->step_count + 1)) {
        c->failed = true;
        return;
    }
    c->step.kind = kind;
    t->steps[t->step_count++] = c->step;
    c->step = (struct dwarf_step){0, 0};
}

static void add_step(struct compiler *c, struct dwarf_abbrev *abbrev, uint64_t name,
                     uint64_t form, struct shape shape)
{
    uint8_t sibling = name == DW_AT_sibling ? sibling_kind(form) : STEP_END;
    if (sibling != STEP_END) {
        abbrev->has_sibling = true;
        end_step(c, sibling);
        return;
    }
    c->step.fixed = (uint16_t)(c->step.fixed + shape.fixed);
    if (shape.kind != STEP_MORE || c->step.fixed > STEP_FIXED_MAX)
        end_step(c, shape.kind);
}

static uint32_t add_implicit(struct compiler *c, int64_t implicit)
{
    struct dwarf_abbrevs *t = c->table;
    if (!ARRAY_RESERVE(c->arena, t->implicit, t->implicit_cap, t->implicit_count + 1)) {
        c->failed = true;
        return 0;
    }
    t->implicit[t->implicit_count] = implicit;
    return (uint32_t)t->implicit_count++;
}

static void add_spec(struct compiler *c, struct dwarf_abbrev *abbrev, enum slot slot,
                     uint64_t form, int64_t implicit)
{
    struct dwarf_abbrevs *t = c->table;
    struct dwarf_spec spec = {form <= UINT16_MAX ? (uint16_t)form : 0, (uint8_t)slot,
                              c->before, 0};
    if (form == DW_FORM_implicit_const)
        spec.implicit = add_implicit(c, implicit);
    c->before = 0;
    c->failed |= !ARRAY_RESERVE(c->arena, t->specs, t->spec_cap, t->spec_count + 1);
    if (c->failed)
        return;
    t->specs[t->spec_count++] = spec;
    abbrev->spec_count++;
}

/* Attributes that are not read and have a fixed size are added to the bytes to skip
 * before the next attribute. */
static void add_attribute(struct compiler *c, struct dwarf_abbrev *abbrev, uint64_t name,
                          uint64_t form, int64_t implicit)
{
    struct shape shape = form_shape(c->unit, form);
    enum slot slot = slot_of(name);
    if (slot == SLOT_NONE && (abbrev->role == DWARF_TYPE || abbrev->role == DWARF_OTHER))
        slot = slot_of_type(name);
    abbrev->has_code |= slot == SLOT_LOW || slot == SLOT_RANGES;
    if (slot == SLOT_NONE && shape.kind == STEP_MORE &&
        c->before + shape.fixed <= UINT8_MAX)
        c->before = (uint8_t)(c->before + shape.fixed);
    else
        add_spec(c, abbrev, slot, form, implicit);
    add_step(c, abbrev, name, form, shape);
}

static enum dwarf_role role_of(const struct dwarf_abbrev *abbrev)
{
    switch (abbrev->tag) {
    case DW_TAG_subprogram:
        return abbrev->has_code ? DWARF_FUNCTION : DWARF_ABSTRACT;
    case DW_TAG_inlined_subroutine:
        return DWARF_INLINED;
    case DW_TAG_lexical_block:
    case DW_TAG_with_stmt:
    case DW_TAG_try_block:
    case DW_TAG_catch_block:
        return DWARF_BLOCK;
    case DW_TAG_compile_unit:
    case DW_TAG_partial_unit:
    case DW_TAG_skeleton_unit:
    case DW_TAG_namespace:
    case DW_TAG_module:
        return DWARF_SCOPE;
    case DW_TAG_class_type:
    case DW_TAG_structure_type:
    case DW_TAG_union_type:
    case DW_TAG_interface_type:
        return DWARF_TYPE;
    case DW_TAG_enumeration_type:
    case DW_TAG_formal_parameter:
    case DW_TAG_pointer_type:
    case DW_TAG_reference_type:
    case DW_TAG_rvalue_reference_type:
    case DW_TAG_typedef:
    case DW_TAG_base_type:
    case DW_TAG_const_type:
    case DW_TAG_volatile_type:
    case DW_TAG_restrict_type:
    case DW_TAG_unspecified_type:
    case DW_TAG_template_type_parameter:
        return DWARF_OTHER;
    default:
        return DWARF_SKIP;
    }
}

static void set_leap(const struct compiler *c, struct dwarf_abbrev *abbrev)
{
    const struct dwarf_step *first = &c->table->steps[abbrev->steps];
    abbrev->fixed = first->fixed;
    if (first->kind == STEP_SIBLING4)
        abbrev->leap = DWARF_LEAP_SIBLING;
    else if (first->kind == STEP_END && !abbrev->has_children)
        abbrev->leap = DWARF_LEAP_END;
}

/* Reads an abbreviation after its code. False at the end of the readable data. */
static bool compile_abbrev(struct compiler *c, struct bytes *b,
                           struct dwarf_abbrev *abbrev)
{
    uint64_t tag = dwarf_uleb(b), name, form;
    *abbrev = (struct dwarf_abbrev){
        .specs = (uint32_t)c->table->spec_count,
        .steps = (uint32_t)c->table->step_count,
        .tag = tag <= UINT16_MAX ? (uint16_t)tag : 0,
    };
    abbrev->has_children = bytes_u8(b) != 0;
    abbrev->role = (uint8_t)role_of(abbrev);
    for (;;) {
        name = dwarf_uleb(b);
        form = dwarf_uleb(b);
        int64_t implicit = form == DW_FORM_implicit_const ? bytes_sleb(b) : 0;
        if (b->failed || c->failed || (!name && !form))
            break;
        add_attribute(c, abbrev, name, form, implicit);
    }
    if (c->before)
        add_spec(c, abbrev, SLOT_NONE, DW_FORM_flag_present, 0);
    end_step(c, STEP_END);
    abbrev->role = (uint8_t)role_of(abbrev); /* now that has_code is known */
    abbrev->exists = !b->failed && !c->failed;
    if (abbrev->exists)
        set_leap(c, abbrev);
    if (abbrev->role == DWARF_SKIP) { /* the entry is skipped and never read */
        c->table->spec_count = abbrev->specs;
        abbrev->spec_count = 0;
    }
    return abbrev->exists;
}

static struct dwarf_abbrev *abbrev_for(struct compiler *c, uint64_t code)
{
    struct dwarf_abbrevs *t = c->table;
    if (!ARRAY_RESERVE(c->arena, t->items, t->cap, code + 1)) {
        c->failed = true;
        return NULL;
    }
    if (code >= t->count) {
        memset(t->items + t->count, 0, (code + 1 - t->count) * sizeof *t->items);
        t->count = code + 1;
    }
    return &t->items[code];
}

static void *copy_out(struct arena *a, const void *items, size_t count, size_t size)
{
    void *copy = arena_alloc(a, count * size + 1);
    if (copy && count)
        memcpy(copy, items, count * size);
    return copy;
}

/* Copies the table to memory of its exact size. */
static struct dwarf_abbrevs *shrink(const struct dwarf_abbrevs *t, struct arena *a)
{
    struct dwarf_abbrevs *made = arena_zalloc(a, 1, sizeof *made);
    if (!made)
        return NULL;
    made->items = copy_out(a, t->items, t->count, sizeof *t->items);
    made->specs = copy_out(a, t->specs, t->spec_count, sizeof *t->specs);
    made->steps = copy_out(a, t->steps, t->step_count, sizeof *t->steps);
    made->implicit = copy_out(a, t->implicit, t->implicit_count, sizeof *t->implicit);
    made->count = t->count;
    return a->failed ? NULL : made;
}

struct dwarf_abbrevs *dwarf_abbrevs_make(const struct dwarf_unit *u,
                                         struct dwarf_abbrev_scratch *scratch,
                                         struct arena *a, uint64_t *budget)
{
    struct compiler c = {&scratch->table, u, &scratch->arena, {0, 0}, 0, false};
    struct bytes b = bytes_of(str_part(u->file->sections.abbrev, u->abbrev, *budget),
                              u->file->sections.big_endian);
    uint64_t code;
    c.table->count = c.table->spec_count = c.table->step_count = 0;
    c.table->implicit_count = 0;
    while (!c.failed && (code = dwarf_uleb(&b)) != 0) {
        struct dwarf_abbrev abbrev;
        /* Codes far above the number that the bytes so far can define would only waste
         * memory. */
        if (code > CODE_MAX || code > 64 + bytes_offset(&b) ||
            !compile_abbrev(&c, &b, &abbrev))
            break;
        struct dwarf_abbrev *item = abbrev_for(&c, code);
        if (item && !item->exists)
            *item = abbrev;
    }
    *budget -= bytes_offset(&b);
    return c.failed ? NULL : shrink(c.table, a);
}

/* --- Stepping over ------------------------------------------------------------------ */

static void skip_leb(struct bytes *b)
{
    if (b->failed)
        return;
    while (b->at < b->end)
        if (!(*b->at++ & 0x80))
            return;
    b->failed = true;
}

static void skip_text(struct bytes *b)
{
    if (b->failed)
        return;
    while (b->at < b->end)
        if (!*b->at++)
            return;
    b->failed = true;
}

static void skip_kind(struct bytes *b, uint8_t kind)
{
    switch (kind) {
    case STEP_LEB:
        skip_leb(b);
        break;
    case STEP_TEXT:
        skip_text(b);
        break;
    case STEP_BLOCK:
        bytes_skip(b, dwarf_uleb(b));
        break;
    case STEP_BLOCK1:
        bytes_skip(b, bytes_u8(b));
        break;
    case STEP_BLOCK2:
        bytes_skip(b, bytes_u16(b));
        break;
    case STEP_BLOCK4:
        bytes_skip(b, bytes_u32(b));
        break;
    case STEP_BROKEN:
        b->failed = true;
        break;
    default:
        break;
    }
}

static uint64_t read_sibling(struct bytes *b, uint8_t kind)
{
    switch (kind) {
    case STEP_SIBLING1:
        return bytes_u8(b);
    case STEP_SIBLING2:
        return bytes_u16(b);
    case STEP_SIBLING4:
        return bytes_u32(b);
    case STEP_SIBLING8:
        return bytes_u64(b);
    default:
        return dwarf_uleb(b);
    }
}

/* Moves to that offset of the unit if it is ahead. */
static bool jump(struct bytes *b, const struct dwarf_unit *u, uint64_t offset)
{
    if (b->failed || offset > u->end - u->offset || u->offset + offset <= bytes_offset(b))
        return false;
    b->at = b->begin + u->offset + offset;
    return true;
}

void dwarf_skip(struct bytes *b, const struct dwarf_unit *u,
                const struct dwarf_abbrevs *t, const struct dwarf_abbrev *abbrev,
                bool follow, bool *jumped)
{
    const struct dwarf_step *step = &t->steps[abbrev->steps];
    for (;; step++) {
        bytes_skip(b, step->fixed);
        if (step->kind == STEP_END || b->failed)
            return;
        if (step->kind >= STEP_SIBLING1 && step->kind <= STEP_SIBLING_LEB) {
            uint64_t sibling = read_sibling(b, step->kind);
            if (follow && jump(b, u, sibling)) {
                *jumped = true;
                return;
            }
        } else if (step->kind == STEP_INDIRECT) {
            (void)dwarf_value_read(b, u, DW_FORM_indirect, 0);
        } else {
            skip_kind(b, step->kind);
        }
    }
}

uint64_t dwarf_skip_tree(struct bytes *b, const struct dwarf_unit *u,
                         const struct dwarf_abbrevs *t, const struct dwarf_abbrev *abbrev)
{
    uint64_t depth = 0, count = 0;
    for (;;) {
        count++;
        if (!dwarf_leap(b, u, abbrev)) {
            bool jumped = false;
            dwarf_skip(b, u, t, abbrev, true, &jumped);
            if (abbrev->has_children && !jumped)
                depth++;
        }
        uint64_t code = 0;
        while (depth && !b->failed && !(code = dwarf_uleb(b)))
            depth--;
        if (!depth || b->failed)
            return count;
        abbrev = dwarf_abbrev_of(t, code);
        if (!abbrev) {
            b->failed = true;
            return count;
        }
    }
}

/* --- Values ------------------------------------------------------------------------- */

static uint64_t read_u24(struct bytes *b)
{
    uint64_t one = bytes_u8(b), two = bytes_u8(b), three = bytes_u8(b);
    return b->big_endian ? one << 16 | two << 8 | three : three << 16 | two << 8 | one;
}

static uint64_t read_fixed(struct bytes *b, unsigned size)
{
    if (size == 3)
        return read_u24(b);
    if (size == 16) {
        bytes_skip(b, 16);
        return 0;
    }
    return size ? bytes_number(b, size) : 1;
}

/* Reads a value of any form. */
static struct dwarf_value read_value(struct bytes *b, const struct dwarf_unit *u,
                                     uint64_t form, int64_t implicit)
{
    for (int i = 0; form == DW_FORM_indirect && i < INDIRECT_MAX; i++) {
        form = dwarf_uleb(b);
        implicit = form == DW_FORM_implicit_const ? bytes_sleb(b) : 0;
    }
    struct shape shape = form_shape(u, form);
    struct dwarf_value v = {0, form <= UINT16_MAX ? (uint32_t)form : 0};
    if (form == DW_FORM_implicit_const) {
        v.number = (uint64_t)implicit;
    } else if (form == DW_FORM_sdata) {
        v.number = (uint64_t)bytes_sleb(b);
    } else if (shape.kind == STEP_MORE) {
        v.number = read_fixed(b, shape.fixed);
    } else if (shape.kind == STEP_LEB) {
        v.number = dwarf_uleb(b);
    } else if (shape.kind == STEP_INDIRECT) {
        b->failed = true;
    } else {
        v.number = bytes_offset(b);
        skip_kind(b, shape.kind);
    }
    return v;
}

/* Fast path for the most common forms. */
static inline struct dwarf_value read_common(struct bytes *b, const struct dwarf_unit *u,
                                             uint64_t form, int64_t implicit)
{
    switch (form) {
    case DW_FORM_data1:
        return (struct dwarf_value){bytes_u8(b), DW_FORM_data1};
    case DW_FORM_data2:
        return (struct dwarf_value){bytes_u16(b), DW_FORM_data2};
    case DW_FORM_ref4:
    case DW_FORM_data4:
        return (struct dwarf_value){bytes_u32(b), (uint32_t)form};
    case DW_FORM_data8:
        return (struct dwarf_value){bytes_u64(b), DW_FORM_data8};
    case DW_FORM_udata:
        return (struct dwarf_value){dwarf_uleb(b), DW_FORM_udata};
    case DW_FORM_implicit_const:
        return (struct dwarf_value){(uint64_t)implicit, DW_FORM_implicit_const};
    case DW_FORM_flag_present:
        return (struct dwarf_value){1, DW_FORM_flag_present};
    case DW_FORM_strp:
    case DW_FORM_sec_offset:
        if (u->offset_size == 4)
            return (struct dwarf_value){bytes_u32(b), (uint32_t)form};
        break;
    case DW_FORM_addr:
        if (u->address_size == 8)
            return (struct dwarf_value){bytes_u64(b), DW_FORM_addr};
        break;
    default:
        break;
    }
    return read_value(b, u, form, implicit);
}

struct dwarf_value dwarf_value_read(struct bytes *b, const struct dwarf_unit *u,
                                    uint64_t form, int64_t implicit)
{
    return read_common(b, u, form, implicit);
}

static inline void store_attribute(struct dwarf_die *die, const struct dwarf_unit *u,
                                   enum slot slot, struct dwarf_value v)
{
    switch (slot) {
    case SLOT_NONE:
        break;
    case SLOT_SIBLING:
        die->sibling = u->offset + v.number;
        break;
    case SLOT_LOW:
        die->low = v;
        break;
    case SLOT_HIGH:
        die->high = v;
        break;
    case SLOT_RANGES:
        die->ranges = v;
        break;
    case SLOT_ORIGIN:
        die->origin = v;
        break;
    case SLOT_SPECIFICATION:
        die->specification = v;
        break;
    case SLOT_NAME:
        die->name = v;
        break;
    case SLOT_LINKAGE_NAME:
        die->linkage_name = v;
        break;
    case SLOT_CALL_FILE:
        die->call_file = v.number;
        break;
    case SLOT_CALL_LINE:
        die->call_line = v.number;
        break;
    case SLOT_CALL_COLUMN:
        die->call_column = v.number;
        break;
    case SLOT_TYPE:
        die->type = v;
        break;
    case SLOT_ARTIFICIAL:
        die->is_artificial = v.number != 0;
        break;
    }
}

void dwarf_die_read(struct bytes *b, const struct dwarf_unit *u,
                    const struct dwarf_abbrevs *t, const struct dwarf_abbrev *abbrev,
                    struct dwarf_die *die)
{
    struct bytes at = *b; /* a copy that stays in registers */
    *die = (struct dwarf_die){0};
    for (uint32_t i = 0; i < abbrev->spec_count && !at.failed; i++) {
        const struct dwarf_spec *spec = &t->specs[abbrev->specs + i];
        int64_t implicit =
            spec->form == DW_FORM_implicit_const ? t->implicit[spec->implicit] : 0;
        bytes_skip(&at, spec->before);
        struct dwarf_value v = read_common(&at, u, spec->form, implicit);
        if (!at.failed)
            store_attribute(die, u, (enum slot)spec->slot, v);
    }
    *b = at;
}

static struct str text_at(struct str section, uint64_t offset)
{
    struct bytes b = bytes_of(section, false);
    bytes_seek(&b, offset);
    struct str text = bytes_string(&b);
    return b.failed ? STR("") : text;
}

/* Entry `index` of a table of numbers of a given size. */
static bool number_at(struct str section, bool big_endian, uint64_t base, uint64_t index,
                      unsigned size, uint64_t *out)
{
    struct bytes b = bytes_of(section, big_endian);
    if (base > section.len || index > (section.len - base) / size)
        return false;
    bytes_seek(&b, base + index * size);
    *out = bytes_number(&b, size);
    return !b.failed;
}

static struct str indexed_text(const struct dwarf_unit *u, uint64_t index)
{
    const struct dwarf_sections *s = &u->file->sections;
    uint64_t offset;
    if (!number_at(s->str_offsets, s->big_endian, u->str_offsets_base, index,
                   u->offset_size, &offset))
        return STR("");
    return text_at(s->str, offset);
}

struct str dwarf_value_text(const struct dwarf_unit *u, struct dwarf_value v)
{
    const struct dwarf_sections *s = &u->file->sections;
    const struct dwarf_file *alternate = u->file->alternate;
    switch (v.form) {
    case DW_FORM_string:
        return text_at(s->info, v.number);
    case DW_FORM_strp:
        return text_at(s->str, v.number);
    case DW_FORM_line_strp:
        return text_at(s->line_str, v.number);
    case DW_FORM_strp_sup:
    case DW_FORM_GNU_strp_alt:
        return alternate ? text_at(alternate->sections.str, v.number) : STR("");
    case DW_FORM_strx:
    case DW_FORM_strx1:
    case DW_FORM_strx2:
    case DW_FORM_strx3:
    case DW_FORM_strx4:
    case DW_FORM_GNU_str_index:
        return indexed_text(u, v.number);
    default:
        return STR("");
    }
}

bool dwarf_address_at(const struct dwarf_unit *u, uint64_t index, uint64_t *out)
{
    return number_at(u->addr, u->file->sections.big_endian, u->addr_base, index,
                     u->address_size, out);
}

bool dwarf_value_address(const struct dwarf_unit *u, struct dwarf_value v, uint64_t *out)
{
    if (!dwarf_form_is_address(v.form))
        return false;
    if (v.form != DW_FORM_addr)
        return dwarf_address_at(u, v.number, out);
    *out = v.number;
    return true;
}

bool dwarf_value_reference(const struct dwarf_unit *u, struct dwarf_value v,
                           const struct dwarf_file **file, uint64_t *offset)
{
    *file = u->file;
    *offset = v.number;
    switch (v.form) {
    case DW_FORM_ref1:
    case DW_FORM_ref2:
    case DW_FORM_ref4:
    case DW_FORM_ref8:
    case DW_FORM_ref_udata:
        *offset = u->offset + v.number;
        return v.number < u->end - u->offset;
    case DW_FORM_ref_addr:
        return true;
    case DW_FORM_ref_sup4:
    case DW_FORM_ref_sup8:
    case DW_FORM_GNU_ref_alt:
        *file = u->file->alternate;
        return *file != NULL;
    default:
        return false;
    }
}
