/* SPDX-License-Identifier: Apache-2.0 */
#include "symbol/landing.h"
#include "base/array.h"
#include "base/sort.h"

/* Pointer encodings (LSB, "DWARF Exception Header Encoding"). */
enum {
    ENCODED_ABSOLUTE = 0x00,
    ENCODED_ULEB = 0x01,
    ENCODED_U2 = 0x02,
    ENCODED_U4 = 0x03,
    ENCODED_U8 = 0x04,
    ENCODED_SLEB = 0x09,
    ENCODED_S2 = 0x0a,
    ENCODED_S4 = 0x0b,
    ENCODED_S8 = 0x0c,
    ENCODED_FORM = 0x0f,
    ENCODED_PCREL = 0x10,
    ENCODED_BASE = 0x70,
    ENCODED_OMIT = 0xff,
};

/* A cursor together with its address. */
struct cursor {
    struct bytes bytes;
    uint64_t address;
    bool is_64;
};

static uint64_t read_form(struct cursor *p, unsigned form)
{
    struct bytes *b = &p->bytes;
    switch (form) {
    case ENCODED_ABSOLUTE:
        return p->is_64 ? bytes_u64(b) : bytes_u32(b);
    case ENCODED_ULEB:
        return bytes_uleb(b);
    case ENCODED_SLEB:
        return (uint64_t)bytes_sleb(b);
    case ENCODED_U2:
        return bytes_u16(b);
    case ENCODED_S2:
        return (uint64_t)(int64_t)(int16_t)bytes_u16(b);
    case ENCODED_U4:
        return bytes_u32(b);
    case ENCODED_S4:
        return (uint64_t)(int64_t)(int32_t)bytes_u32(b);
    case ENCODED_U8:
    case ENCODED_S8:
        return bytes_u64(b);
    default:
        b->failed = true;
        return 0;
    }
}

/* Reads a pointer; 0 if there is none. */
static uint64_t read_encoded(struct cursor *p, unsigned encoding)
{
    uint64_t here = p->address + bytes_offset(&p->bytes);
    if (encoding == ENCODED_OMIT)
        return 0;
    uint64_t value = read_form(p, encoding & ENCODED_FORM);
    return value && (encoding & ENCODED_BASE) == ENCODED_PCREL ? value + here : value;
}

/* --- .eh_frame --------------------------------------------------------------------- */

/* The fields of a common information entry (CIE) that function entries need. */
struct common {
    unsigned pointer, language; /* encodings */
    bool augmented;
};

static struct common read_common(struct cursor *p)
{
    struct bytes *b = &p->bytes;
    struct common c = {.pointer = ENCODED_ABSOLUTE, .language = ENCODED_OMIT};
    unsigned version = bytes_u8(b);
    struct str augmentation = bytes_string(b);
    bytes_uleb(b); /* code and data alignment factors */
    bytes_sleb(b);
    if (version == 1)
        bytes_u8(b);
    else
        bytes_uleb(b);
    c.augmented = str_starts(augmentation, STR("z"));
    if (c.augmented)
        bytes_uleb(b);
    for (size_t i = 1; c.augmented && i < augmentation.len && !b->failed; i++) {
        if (augmentation.ptr[i] == 'R')
            c.pointer = bytes_u8(b);
        else if (augmentation.ptr[i] == 'L')
            c.language = bytes_u8(b);
        else if (augmentation.ptr[i] == 'P')
            read_encoded(p, bytes_u8(b));
    }
    return c;
}

/* An entry of the section: its bytes, and the position of its id. */
struct entry {
    struct str body; /* after the id */
    uint64_t number, number_at;
};

/* False at the end, and if the rest is invalid. */
static bool next_entry(struct bytes *b, struct entry *e)
{
    uint64_t length = bytes_u32(b);
    if (length == UINT32_MAX)
        length = bytes_u64(b);
    if (b->failed || length < 4)
        return false;
    e->number_at = bytes_offset(b);
    struct str all = bytes_take(b, length);
    struct bytes head = bytes_of(all, b->big_endian);
    e->number = bytes_u32(&head);
    e->body = str_skip(all, 4);
    return !b->failed;
}

static struct cursor entry_cursor(const struct bytes *section, uint64_t address,
                                  const struct entry *e, bool is_64)
{
    return (struct cursor){bytes_of(e->body, section->big_endian),
                           address + e->number_at + 4, is_64};
}

static bool add_function(struct landing_table *t, struct arena *a, size_t *cap,
                         struct landing_function f)
{
    struct landing_function *added = ARRAY_APPEND(a, t->functions, t->count, *cap);
    if (added)
        *added = f;
    return added != NULL;
}

/* Finds the CIE that begins `back` bytes before the id of another entry. */
static bool find_common(const struct bytes *section, uint64_t address,
                        const struct entry *e, bool is_64, struct common *c)
{
    struct bytes b =
        bytes_of(str_span(section->begin, section->end), section->big_endian);
    struct entry common;
    if (e->number > e->number_at)
        return false;
    bytes_seek(&b, e->number_at - e->number);
    if (!next_entry(&b, &common) || common.number != 0)
        return false;
    struct cursor p = entry_cursor(section, address, &common, is_64);
    *c = read_common(&p);
    return !p.bytes.failed;
}

static bool read_frames(struct landing_table *t, struct bytes section, uint64_t address,
                        struct arena *a)
{
    struct entry e;
    struct common c = {0};
    uint64_t common_at = UINT64_MAX; /* offset of the CIE in c */
    size_t cap = 0;
    while (next_entry(&section, &e)) {
        if (e.number == 0)
            continue;
        if (e.number_at - e.number != common_at) {
            common_at = e.number_at - e.number;
            if (!find_common(&section, address, &e, t->is_64, &c))
                c = (struct common){.language = ENCODED_OMIT};
        }
        if (!c.augmented || c.language == ENCODED_OMIT)
            continue;
        struct cursor p = entry_cursor(&section, address, &e, t->is_64);
        struct landing_function f = {.start = read_encoded(&p, c.pointer)};
        f.end = f.start + read_form(&p, c.pointer & ENCODED_FORM);
        bytes_uleb(&p.bytes); /* size of the augmentation data */
        f.table = read_encoded(&p, c.language);
        if (!p.bytes.failed && f.table && f.end > f.start && !add_function(t, a, &cap, f))
            return false;
    }
    return true;
}

static bool before(const void *context, uint32_t a, uint32_t b)
{
    const struct landing_function *functions = context;
    return functions[a].start < functions[b].start;
}

static bool sort_functions(struct landing_table *t, struct arena *a)
{
    uint32_t *order = arena_alloc(a, (t->count + 1) * sizeof *order);
    uint32_t *scratch = arena_alloc(a, (t->count + 1) * sizeof *scratch);
    struct landing_function *sorted = arena_alloc(a, (t->count + 1) * sizeof *sorted);
    if (!order || !scratch || !sorted)
        return false;
    for (uint32_t i = 0; i < t->count; i++)
        order[i] = i;
    sort_u32(order, t->count, scratch, before, t->functions);
    for (size_t i = 0; i < t->count; i++)
        sorted[i] = t->functions[order[i]];
    t->functions = sorted;
    return true;
}

bool landing_init(struct landing_table *t, struct elf *e, struct arena *arena)
{
    const struct elf_section *frames = elf_section_named(e, STR(".eh_frame"));
    const struct elf_section *except = elf_section_named(e, STR(".gcc_except_table"));
    *t = (struct landing_table){
        .except = STR(""), .big_endian = e->big_endian, .is_64 = e->is_64};
    if (!frames || !except)
        return true;
    t->except = elf_section_bytes(e, except);
    t->except_address = except->address;
    struct bytes section = elf_cursor(e, elf_section_bytes(e, frames));
    return read_frames(t, section, frames->address, arena) && sort_functions(t, arena);
}

/* --- .gcc_except_table ------------------------------------------------------------- */

static const struct landing_function *function_at(const struct landing_table *t,
                                                  uint64_t address)
{
    size_t low = 0, high = t->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (t->functions[middle].start <= address)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == 0 || address >= t->functions[low - 1].end)
        return NULL;
    return &t->functions[low - 1];
}

uint64_t landing_find(const struct landing_table *t, uint64_t address)
{
    const struct landing_function *f = function_at(t, address);
    if (!f || f->table < t->except_address)
        return 0;
    struct str rest = str_part(t->except, f->table - t->except_address, UINT64_MAX);
    struct cursor p = {bytes_of(rest, t->big_endian), f->table, t->is_64};
    unsigned pads = bytes_u8(&p.bytes);
    uint64_t base = pads == ENCODED_OMIT ? f->start : read_encoded(&p, pads);
    if (bytes_u8(&p.bytes) != ENCODED_OMIT)
        bytes_uleb(&p.bytes); /* address of the type table */
    unsigned form = bytes_u8(&p.bytes) & ENCODED_FORM;
    uint64_t size = bytes_uleb(&p.bytes);
    struct cursor sites = {bytes_of(bytes_take(&p.bytes, size), t->big_endian), 0,
                           t->is_64};
    while (bytes_left(&sites.bytes) > 0 && !p.bytes.failed) {
        uint64_t start = read_form(&sites, form), length = read_form(&sites, form);
        uint64_t pad = read_form(&sites, form);
        bytes_uleb(&sites.bytes); /* action */
        if (!sites.bytes.failed && address - f->start - start < length)
            return pad ? base + pad : 0;
    }
    return 0;
}
