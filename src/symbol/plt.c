/* SPDX-License-Identifier: Apache-2.0 */
#include "symbol/plt.h"
#include "base/number.h"
#include "base/sort.h"
#include <stdlib.h>

/* The slot with the target address of a stub, which a relocation fills. */
struct slot {
    struct str name;   /* of the symbol; empty: an indirect function of this object */
    uint64_t resolver; /* of the indirect function */
};

struct plt {
    struct symbol_table *table;
    struct elf *elf;
    struct slot *slots;
    struct sort_key *order; /* slots by address */
    /* those of .rela.plt come first: stubs refer to them by number */
    size_t count, lazy_count;
    struct sort_key *resolvers; /* slots of indirect functions by resolver */
    size_t resolver_count;
};

enum kind_of_slot { SLOT_NONE, SLOT_SYMBOL, SLOT_INDIRECT };

static enum kind_of_slot slot_kind(uint16_t machine, uint64_t info)
{
    switch (info & 0xffffffff) {
    case 6: /* R_X86_64_GLOB_DAT */
    case 7: /* R_X86_64_JUMP_SLOT */
        return machine == ELF_X86_64 ? SLOT_SYMBOL : SLOT_NONE;
    case 37: /* R_X86_64_IRELATIVE */
        return machine == ELF_X86_64 ? SLOT_INDIRECT : SLOT_NONE;
    case 1025: /* R_AARCH64_GLOB_DAT */
    case 1026: /* R_AARCH64_JUMP_SLOT */
        return machine == ELF_AARCH64 ? SLOT_SYMBOL : SLOT_NONE;
    case 1032: /* R_AARCH64_IRELATIVE */
        return machine == ELF_AARCH64 ? SLOT_INDIRECT : SLOT_NONE;
    default:
        return SLOT_NONE;
    }
}

/* --- Relocations ------------------------------------------------------------------ */

#define RELA_SIZE 24
#define SYMBOL_SIZE 24

/* The name of a symbol in the symbol table of a relocation section. */
static struct str symbol_name(struct plt *p, const struct elf_section *relocations,
                              uint64_t index)
{
    struct elf *e = p->elf;
    if (relocations->link >= e->section_count)
        return STR("");
    const struct elf_section *symbols = &e->sections[relocations->link];
    struct bytes b = elf_cursor(e, symbols->raw);
    bytes_skip(&b, index * SYMBOL_SIZE);
    uint32_t at = bytes_u32(&b);
    if (b.failed || symbols->link >= e->section_count)
        return STR("");
    struct str name = str_part(e->sections[symbols->link].raw, at, SYMBOL_COMPARED);
    return str_head(name, str_find(name, '\0'));
}

/* Adds the slot of a relocation, if it fills one. All relocations of .rela.plt are
 * added, because stubs refer to them by number. */
static void add_slot(struct plt *p, const struct elf_section *s, bool all,
                     struct bytes *b)
{
    uint64_t at = bytes_u64(b), info = bytes_u64(b), addend = bytes_u64(b);
    enum kind_of_slot kind = slot_kind(p->elf->machine, info);
    if (kind == SLOT_NONE && !all)
        return;
    if (p->slots) {
        p->order[p->count] = (struct sort_key){at, (uint32_t)p->count};
        p->slots[p->count] = (struct slot){.name = STR(""), .resolver = addend};
    }
    if (p->slots && kind == SLOT_SYMBOL)
        p->slots[p->count].name = symbol_name(p, s, info >> 32);
    if (p->slots && kind == SLOT_INDIRECT)
        p->resolvers[p->resolver_count++] = (struct sort_key){addend, (uint32_t)p->count};
    p->count++;
}

static void add_slots(struct plt *p, const struct elf_section *s, bool all)
{
    struct bytes b = elf_cursor(p->elf, s->raw);
    while (bytes_left(&b) >= RELA_SIZE)
        add_slot(p, s, all, &b);
}

/* Counts the slots, or stores them if memory was allocated. */
static void read_slots(struct plt *p)
{
    const struct elf_section *lazy = elf_section_named(p->elf, STR(".rela.plt"));
    const struct elf_section *other = elf_section_named(p->elf, STR(".rela.dyn"));
    p->count = 0;
    if (lazy)
        add_slots(p, lazy, true);
    p->lazy_count = p->count;
    if (other)
        add_slots(p, other, false);
}

/* The index of the first key that is not less than `key`. */
static size_t key_find(const struct sort_key *keys, size_t count, uint64_t key)
{
    size_t low = 0, high = count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (keys[middle].key < key)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static const struct slot *slot_at(const struct plt *p, uint64_t address)
{
    size_t at = key_find(p->order, p->count, address);
    return at < p->count && p->order[at].key == address ? &p->slots[p->order[at].id]
                                                        : NULL;
}

/* Names slots of indirect functions after their resolvers, which have the symbol; among
 * several symbols, prefers one without an underscore. The loop names one slot per
 * resolver; the other slots of the same resolver follow. */
static void name_indirect(struct plt *p)
{
    struct symbol_table *t = p->table;
    for (size_t i = 0; p->resolver_count && i < t->count; i++) {
        struct symbol_entry *e = &t->entries[i];
        size_t at = key_find(p->resolvers, p->resolver_count, e->address);
        if (e->kind != SYMBOL_IFUNC || at == p->resolver_count ||
            p->resolvers[at].key != e->address)
            continue;
        struct slot *slot = &p->slots[p->resolvers[at].id];
        if (slot->name.len == 0 || slot->name.ptr[0] == '_')
            slot->name = symbol_table_name(t, e, SYMBOL_COMPARED);
    }
    for (size_t i = 1; i < p->resolver_count; i++)
        if (p->resolvers[i].key == p->resolvers[i - 1].key)
            p->slots[p->resolvers[i].id].name = p->slots[p->resolvers[i - 1].id].name;
}

/* --- Stubs ------------------------------------------------------------------------ */

static bool add_named(struct plt *p, uint64_t address, uint64_t size, struct str name)
{
    symbol_table_add(p->table, (struct symbol_entry){.address = address,
                                                     .end = address + size,
                                                     .name = name.ptr,
                                                     .length = (uint32_t)name.len});
    return true;
}

/* Adds a stub for a slot: "printf@plt", or "*ABS*+0x9f3f0@plt" without a name. */
static bool add_stub(struct plt *p, uint64_t address, uint64_t size,
                     const struct slot *slot)
{
    struct str head = slot->name.len ? slot->name : STR("*ABS*+0x");
    char *made = arena_alloc(p->table->arena, head.len + NUMBER_TEXT_MAX + 4);
    if (!made)
        return false;
    size_t n = head.len;
    memcpy(made, head.ptr, n);
    if (slot->name.len == 0)
        n += number_write_hex(slot->resolver, made + n);
    for (const char *tail = "@plt"; *tail; tail++)
        made[n++] = *tail;
    return add_named(p, address, size, (struct str){made, n});
}

/* The slot of an x86-64 stub, or NULL. A stub is `jmp *slot`, or pushes its number and
 * jumps to the first stub; it may begin with endbr64, and the jump may have a bnd
 * prefix. */
static const struct slot *decode_x86(const struct plt *p, uint64_t address,
                                     struct str code)
{
    struct bytes b = bytes_of(code, false);
    if (str_starts(code, STR("\xf3\x0f\x1e\xfa")))
        bytes_skip(&b, 4);
    if (bytes_left(&b) && *b.at == '\xf2')
        bytes_skip(&b, 1);
    uint8_t first = bytes_u8(&b);
    if (first == 0x68) {
        uint32_t number = bytes_u32(&b);
        return !b.failed && number < p->lazy_count ? &p->slots[number] : NULL;
    }
    uint8_t second = bytes_u8(&b);
    int32_t distance = (int32_t)bytes_u32(&b);
    if (b.failed || first != 0xff || second != 0x25)
        return NULL;
    return slot_at(p, address + bytes_offset(&b) + (uint64_t)(int64_t)distance);
}

static bool add_stubs_x86(struct plt *p, const struct elf_section *s)
{
    uint64_t size = s->entry_size == 8 ? 8 : 16;
    for (uint64_t at = 0; at + size <= s->raw.len; at += size) {
        struct str code = str_part(s->raw, at, size);
        const struct slot *slot = decode_x86(p, s->address + at, code);
        if (slot && !add_stub(p, s->address + at, size, slot))
            return false;
        if (!slot && at == 0)
            add_named(p, s->address, size, s->name);
    }
    return true;
}

#define BTI_C 0xd503245fu

/* Decodes adrp x16, PAGE at `at` followed by ldr x17, [x16, OFFSET], and computes the
 * address that they load from (Arm ARM, C6.2); false for other instructions. */
static bool decode_aarch64(uint64_t at, uint32_t adrp, uint32_t ldr, uint64_t *from)
{
    if ((adrp & 0x9f00001f) != 0x90000010 || (ldr & 0xffc003ff) != 0xf9400211)
        return false;
    uint64_t high = adrp >> 5 & 0x7ffff, low = adrp >> 29 & 3, offset = ldr >> 10 & 0xfff;
    int64_t distance = (int64_t)(high << 45 | low << 43) >> 31;
    *from = (at & ~(uint64_t)0xfff) + (uint64_t)distance + offset * 8;
    return true;
}

static bool add_stubs_aarch64(struct plt *p, const struct elf_section *s)
{
    struct bytes b = bytes_of(s->raw, false); /* code is little-endian in all files */
    uint32_t before = 0, last = 0;
    bool any = false;
    while (bytes_left(&b) >= 4) {
        uint64_t start = s->address + bytes_offset(&b) - 4, from;
        uint32_t code = bytes_u32(&b);
        if (decode_aarch64(start, last, code, &from)) {
            const struct slot *slot = slot_at(p, from);
            bool bti = before == BTI_C;
            if (slot && !add_stub(p, start - (bti ? 4 : 0), bti ? 24 : 16, slot))
                return false;
            if (!slot && !any)
                add_named(p, s->address, 32, s->name);
            any = true;
        }
        before = last;
        last = code;
    }
    return true;
}

static const char *const sections[] = {".plt", ".plt.sec", ".plt.got"};

static bool add_stubs(struct plt *p)
{
    for (size_t i = 0; i < sizeof sections / sizeof *sections; i++) {
        const struct elf_section *s = elf_section_named(p->elf, str_of(sections[i]));
        bool x86 = p->elf->machine == ELF_X86_64;
        if (s && !(x86 ? add_stubs_x86(p, s) : add_stubs_aarch64(p, s)))
            return false;
    }
    return true;
}

static bool name_stubs(struct plt *p)
{
    struct sort_key *scratch = malloc((p->count + 1) * sizeof *scratch);
    if (!scratch)
        return false;
    sort_keys(p->order, p->count, scratch);
    sort_keys(p->resolvers, p->resolver_count, scratch);
    free(scratch);
    name_indirect(p);
    return add_stubs(p);
}

/* Stubs are named after relocations, of which large files have millions. */
static bool is_needed(const struct symbol_table *t, struct elf *file)
{
    if (!t->filter)
        return true;
    for (size_t i = 0; i < sizeof sections / sizeof *sections; i++) {
        const struct elf_section *s = elf_section_named(file, str_of(sections[i]));
        for (size_t k = 0; s && k < t->filter->count; k++)
            if (t->filter->addresses[k] - s->address < s->size)
                return true;
    }
    return false;
}

bool plt_add(struct symbol_table *t, struct elf *file, struct error *err)
{
    struct plt p = {.table = t, .elf = file};
    if (!file->is_64 || (file->machine != ELF_X86_64 && file->machine != ELF_AARCH64))
        return true;
    if (!is_needed(t, file))
        return true;
    read_slots(&p);
    if (p.count == 0)
        return true;
    p.order = malloc(p.count * sizeof *p.order);
    p.resolvers = malloc(p.count * sizeof *p.resolvers);
    p.slots = malloc(p.count * sizeof *p.slots);
    bool ok = p.order && p.resolvers && p.slots;
    if (ok) {
        read_slots(&p);
        ok = name_stubs(&p);
    }
    free(p.order);
    free(p.resolvers);
    free(p.slots);
    return ok || error_memory(err);
}

void plt_name_slots(struct elf *file, struct symtab_variable *v, size_t count)
{
    static const char *const tables[] = {".rela.plt", ".rela.dyn"};
    struct plt p = {.elf = file};
    for (size_t i = 0; file->is_64 && i < sizeof tables / sizeof *tables; i++) {
        const struct elf_section *s = elf_section_named(file, str_of(tables[i]));
        struct bytes b = s ? elf_cursor(file, s->raw) : bytes_of(STR(""), false);
        while (bytes_left(&b) >= RELA_SIZE) {
            uint64_t at = bytes_u64(&b), info = bytes_u64(&b);
            bytes_skip(&b, 8);
            struct symtab_variable *slot = slot_kind(file->machine, info) == SLOT_SYMBOL
                                               ? symtab_variable_at(v, count, at)
                                               : NULL;
            if (slot && slot->name.len == 0)
                slot->name = symbol_name(&p, s, info >> 32);
        }
    }
}
