/* SPDX-License-Identifier: Apache-2.0 */
#include "symbol/symtab.h"
#include "base/array.h"
#include "symbol/go_table.h"
#include "symbol/plt.h"

enum symbol_type { STT_NOTYPE = 0, STT_OBJECT = 1, STT_FUNC = 2, STT_GNU_IFUNC = 10 };
enum { STB_GLOBAL = 1, STB_WEAK = 2, STB_GNU_UNIQUE = 10 };
enum { STV_INTERNAL = 1, STV_HIDDEN = 2 };
enum { SHN_UNDEF = 0, SHN_RESERVED = 0xff00, SHN_XINDEX = 0xffff };

#define SECTION_SYMTAB_SHNDX 18

/* A symbol as stored in the file (gABI, "Symbol Table"). */
struct raw_symbol {
    uint32_t name;
    uint8_t info, other;
    uint16_t section;
    uint64_t value, size;
};

/* A symbol table that is being read. */
struct reading {
    struct symbol_table *table;
    struct elf *elf;
    struct str names;
    struct str far_sections; /* .symtab_shndx: section indexes that do not fit */
    unsigned text;
};

static struct raw_symbol read_symbol(const struct elf *e, struct bytes *b)
{
    struct raw_symbol s;
    s.name = bytes_u32(b);
    if (!e->is_64) {
        s.value = bytes_u32(b);
        s.size = bytes_u32(b);
    }
    s.info = bytes_u8(b);
    s.other = bytes_u8(b);
    s.section = bytes_u16(b);
    if (e->is_64) {
        s.value = bytes_u64(b);
        s.size = bytes_u64(b);
    }
    return s;
}

/* Marks of ARM, AArch64 and RISC-V for code and data. */
static bool is_mapping_symbol(const struct elf *e, struct str name)
{
    if (name.len < 2 || name.ptr[0] != '$' || !strchr("adtx", name.ptr[1]))
        return false;
    if (e->machine == ELF_RISCV)
        return true;
    return (e->machine == ELF_ARM || e->machine == ELF_AARCH64) &&
           (name.len == 2 || name.ptr[2] == '.');
}

/* The section that defines a symbol, or NULL: absolute, or an invalid index. */
static const struct elf_section *section_of(const struct reading *r, size_t index,
                                            const struct raw_symbol *s)
{
    size_t section = s->section;
    if (section == SHN_XINDEX) {
        struct bytes b = elf_cursor(r->elf, r->far_sections);
        bytes_skip(&b, (uint64_t)index * 4);
        section = bytes_u32(&b);
    } else if (section >= SHN_RESERVED) {
        return NULL;
    }
    return section < r->elf->section_count ? &r->elf->sections[section] : NULL;
}

/* Returns true if a sample can be in it; sets its kind. */
static bool is_code_symbol(const struct raw_symbol *s, const struct elf_section *section,
                           struct str name, enum symbol_kind *kind)
{
    bool in_code = section && (section->flags & ELF_EXECINSTR);
    unsigned visibility = s->other & 3;
    switch (s->info & 15) {
    case STT_FUNC:
        *kind = SYMBOL_FUNCTION;
        return true;
    case STT_GNU_IFUNC:
        *kind = SYMBOL_IFUNC;
        return true;
    case STT_OBJECT:
        *kind = SYMBOL_OBJECT;
        return in_code;
    case STT_NOTYPE: /* labels: included, as in perf */
        *kind = SYMBOL_LABEL;
        return in_code && visibility != STV_HIDDEN && visibility != STV_INTERNAL &&
               str_has(section->name, STR("text")) && !str_starts(name, STR(".L"));
    default:
        return false;
    }
}

static enum symbol_binding binding_of(const struct raw_symbol *s)
{
    unsigned binding = s->info >> 4;
    return binding == STB_WEAK                                  ? SYMBOL_WEAK
           : binding == STB_GLOBAL || binding == STB_GNU_UNIQUE ? SYMBOL_GLOBAL
                                                                : SYMBOL_LOCAL;
}

/* Where the symbol begins, and its end; if its size is unknown, the end of its section. */
static void find_range(const struct elf *e, const struct raw_symbol *s,
                       const struct elf_section *section, struct symbol_entry *out)
{
    uint64_t limit = UINT64_MAX;
    out->address = s->value;
    if (e->machine == ELF_ARM && (s->info & 15) == STT_FUNC)
        out->address &= ~(uint64_t)1; /* bit 0 marks Thumb code */
    if (section && e->type == ELF_RELOCATABLE)
        out->address += section->offset;
    if (section) {
        uint64_t start = e->type == ELF_RELOCATABLE ? section->offset : section->address;
        bool inside = out->address >= start && out->address - start < section->size;
        limit =
            inside && section->size < UINT64_MAX - start ? start + section->size : limit;
    }
    uint64_t end =
        s->size < UINT64_MAX - out->address ? out->address + s->size : UINT64_MAX;
    out->end = s->size ? end : limit;
    out->open = s->size == 0;
}

static void add_symbol(struct reading *r, size_t index, const struct raw_symbol *s)
{
    struct elf *e = r->elf;
    enum symbol_kind kind;
    struct symbol_entry entry = {.length = SYMBOL_MEASURE, .text = (uint8_t)r->text};
    const struct elf_section *section = section_of(r, index, s);
    find_range(e, s, section, &entry);
    if (!symbol_table_needs(r->table, entry.address, entry.open ? 0 : entry.end))
        return;
    struct str name = str_part(r->names, s->name, 4);
    name = str_head(name, str_find(name, '\0'));
    if (s->section == SHN_UNDEF || name.len == 0 || is_mapping_symbol(e, name) ||
        !is_code_symbol(s, section, name, &kind))
        return;
    entry.name = name.ptr;
    entry.kind = kind;
    entry.binding = binding_of(s);
    symbol_table_add(r->table, entry);
}

/* The .symtab_shndx of a symbol table. */
static struct str far_sections(struct elf *e, const struct elf_section *table)
{
    for (size_t i = 0; i < e->section_count; i++) {
        const struct elf_section *s = &e->sections[i];
        if (s->type == SECTION_SYMTAB_SHNDX && s->link == (size_t)(table - e->sections))
            return elf_section_bytes(e, s);
    }
    return STR("");
}

static void add_table(struct symbol_table *t, struct elf *e, uint32_t type)
{
    const struct elf_section *s = elf_section_typed(e, type);
    if (!s || s->link >= e->section_count)
        return;
    size_t size = e->is_64 ? 24 : 16;
    struct reading r = {.table = t,
                        .elf = e,
                        .names = elf_section_bytes(e, &e->sections[s->link]),
                        .far_sections = far_sections(e, s)};
    struct bytes b = elf_cursor(e, elf_section_bytes(e, s));
    r.text = symbol_table_text(t, r.names);
    for (size_t i = 0; r.text < SYMBOL_TEXTS_MAX && bytes_left(&b) >= size; i++) {
        struct raw_symbol symbol = read_symbol(e, &b);
        if (i)
            add_symbol(&r, i, &symbol);
    }
}

static bool has_symtab(const struct elf *e)
{
    const struct elf_section *s = e ? elf_section_typed(e, ELF_SYMTAB) : NULL;
    return s && s->raw.len;
}

/* "MiniDebugInfo": an ELF file with the symbols that are not in .dynsym, compressed
 * with xz. */
static bool add_mini(struct symbol_table *t, struct elf *file, struct arena *arena,
                     struct error *err)
{
    const struct elf_section *s = elf_section_named(file, STR(".gnu_debugdata"));
    struct elf *mini = s ? arena_zalloc(arena, 1, sizeof *mini) : NULL;
    struct str opened;
    if (mini && elf_unpack(file, PACK_XZ, s->raw, UNPACK_SIZE_UNKNOWN, &opened) &&
        elf_init(mini, opened, arena, NULL)) {
        mini->unpacked = file->unpacked;
        add_table(t, mini, ELF_SYMTAB);
        file->rejected += mini->rejected;
    }
    return !arena->failed || error_memory(err);
}

/* Go's function table, for a stripped executable. */
static void add_go(struct symbol_table *t, struct elf *file)
{
    struct go_table go;
    if (go_table_init(&go, file))
        go_table_symbols(&go, t);
}

bool symtab_init(struct symbol_table *t, struct elf *file, struct elf *debug,
                 struct arena *arena, struct error *err)
{
    return symtab_init_filtered(t, file, debug, NULL, arena, err);
}

bool symtab_init_filtered(struct symbol_table *t, struct elf *file, struct elf *debug,
                          struct symbol_filter *filter, struct arena *arena,
                          struct error *err)
{
    struct elf *main = has_symtab(debug) ? debug : has_symtab(file) ? file : NULL;
    symbol_table_init(t, arena);
    if (filter)
        symbol_table_filter(t, filter);
    if (main)
        add_table(t, main, ELF_SYMTAB);
    else if (!add_mini(t, file, arena, err))
        return false;
    if (!main)
        add_go(t, file);
    add_table(t, file, ELF_DYNSYM);
    if (!plt_add(t, file, err) || !symbol_table_finish(t, SYMBOLS_BEST, err))
        return false;
    /* If decompressing a section failed for lack of memory, the section is empty. */
    bool no_memory =
        arena->failed || file->arena->failed || (main && main->arena->failed);
    return !no_memory || error_memory(err);
}

/* The symbols of a table, in their order. */
struct symbols {
    const struct elf *elf;
    struct bytes next;
    struct str names;
};

/* An empty table if the file has none of that type. */
static struct symbols symbols_of(struct elf *e, enum elf_section_type type)
{
    const struct elf_section *s = elf_section_typed(e, type);
    if (!s || s->link >= e->section_count)
        return (struct symbols){.elf = e};
    return (struct symbols){e, elf_cursor(e, elf_section_bytes(e, s)),
                            elf_section_bytes(e, &e->sections[s->link])};
}

/* The next defined symbol; false at the end. */
static bool next_symbol(struct symbols *s, struct raw_symbol *symbol)
{
    size_t size = s->elf->is_64 ? 24 : 16;
    while (bytes_left(&s->next) >= size) {
        *symbol = read_symbol(s->elf, &s->next);
        if (symbol->section != SHN_UNDEF)
            return true;
    }
    return false;
}

static bool has_name(const struct symbols *s, const struct raw_symbol *symbol,
                     struct str name)
{
    struct str text = str_part(s->names, symbol->name, name.len + 1);
    return text.len == name.len + 1 && text.ptr[name.len] == 0 && str_starts(text, name);
}

static bool find_in_table(struct elf *e, enum elf_section_type type, struct str name,
                          uint64_t *address)
{
    struct symbols symbols = symbols_of(e, type);
    struct raw_symbol symbol;
    while (next_symbol(&symbols, &symbol)) {
        if (!has_name(&symbols, &symbol, name))
            continue;
        *address = symbol.value;
        return true;
    }
    return false;
}

static uint32_t gnu_hash(struct str name)
{
    uint32_t hash = 5381;
    for (size_t i = 0; i < name.len; i++)
        hash = hash * 33 + (unsigned char)name.ptr[i];
    return hash;
}

/* The number of the first symbol in the bucket of the hash; 0: none. *chain
 * is at its hash. The table: numbers of its buckets, of the first symbol and of the words of a
 * filter, a shift; the filter; the buckets; a hash for each symbol. */
static uint32_t first_in_bucket(const struct elf *e, struct str table, uint32_t hash,
                                struct bytes *chain)
{
    struct bytes b = elf_cursor(e, table);
    uint32_t buckets = bytes_u32(&b), first = bytes_u32(&b), words = bytes_u32(&b);
    uint64_t start = 16 + (uint64_t)words * (e->is_64 ? 8 : 4);
    if (b.failed || buckets == 0)
        return 0;
    bytes_seek(&b, start + (uint64_t)(hash % buckets) * 4);
    uint32_t number = bytes_u32(&b);
    if (b.failed || number < first)
        return 0;
    bytes_seek(&b, start + (uint64_t)buckets * 4 + (uint64_t)(number - first) * 4);
    *chain = b;
    return number;
}

/* Finds a symbol of ELF_DYNSYM by the table of hashes. */
static bool find_by_hash(struct elf *e, struct str table, struct str name,
                         uint64_t *address)
{
    struct symbols symbols = symbols_of(e, ELF_DYNSYM);
    uint32_t hash = gnu_hash(name), found;
    struct bytes chain;
    uint64_t size = e->is_64 ? 24 : 16, number = first_in_bucket(e, table, hash, &chain);
    for (; number; number++) {
        found = bytes_u32(&chain);
        if (chain.failed)
            return false;
        bytes_seek(&symbols.next, number * size);
        if ((found | 1) == (hash | 1) && bytes_left(&symbols.next) >= size) {
            struct raw_symbol symbol = read_symbol(e, &symbols.next);
            *address = symbol.value;
            if (symbol.section != SHN_UNDEF && has_name(&symbols, &symbol, name))
                return true;
        }
        if (found & 1) /* the last one */
            return false;
    }
    return false;
}

bool symtab_find(struct elf *e, struct str name, uint64_t *address)
{
    const struct elf_section *s = elf_section_typed(e, ELF_GNU_HASH);
    struct str hashes = s ? elf_section_bytes(e, s) : STR("");
    bool found = hashes.len ? find_by_hash(e, hashes, name, address)
                            : find_in_table(e, ELF_DYNSYM, name, address);
    return found || find_in_table(e, ELF_SYMTAB, name, address);
}

/* Up to the end of the name; empty if it has no end. */
static struct str name_of(const struct symbols *s, const struct raw_symbol *symbol)
{
    struct str text = str_skip(s->names, symbol->name);
    size_t end = str_find(text, 0);
    return end == text.len ? STR("") : str_head(text, end);
}

static bool variable_in_table(struct elf *e, enum elf_section_type type, uint64_t address,
                              struct symtab_variable *v)
{
    struct symbols symbols = symbols_of(e, type);
    struct raw_symbol symbol;
    while (next_symbol(&symbols, &symbol)) {
        if ((symbol.info & 15) != STT_OBJECT || address < symbol.value ||
            address - symbol.value >= symbol.size)
            continue;
        struct str name = name_of(&symbols, &symbol);
        if (name.len == 0)
            continue;
        *v = (struct symtab_variable){name, symbol.value, symbol.size};
        return true;
    }
    return false;
}

bool symtab_find_variable(struct elf *e, uint64_t address, struct symtab_variable *v)
{
    return variable_in_table(e, ELF_SYMTAB, address, v) ||
           variable_in_table(e, ELF_DYNSYM, address, v);
}

struct symtab_variable *symtab_variable_at(struct symtab_variable *v, size_t count,
                                           uint64_t address)
{
    size_t from = 0, to = count;
    while (from < to) {
        size_t middle = from + (to - from) / 2;
        if (v[middle].address == address)
            return &v[middle];
        if (v[middle].address < address)
            from = middle + 1;
        else
            to = middle;
    }
    return NULL;
}

void symtab_name_variables(struct elf *e, struct symtab_variable *v, size_t count)
{
    static const enum elf_section_type types[] = {ELF_SYMTAB, ELF_DYNSYM};
    for (size_t i = 0; count && i < sizeof types / sizeof *types; i++) {
        struct symbols symbols = symbols_of(e, types[i]);
        struct raw_symbol symbol;
        while (next_symbol(&symbols, &symbol)) {
            struct symtab_variable *found =
                (symbol.info & 15) == STT_OBJECT
                    ? symtab_variable_at(v, count, symbol.value)
                    : NULL;
            if (found && found->name.len == 0)
                *found = (struct symtab_variable){name_of(&symbols, &symbol),
                                                  symbol.value, symbol.size};
        }
    }
    plt_name_slots(e, v, count);
}

size_t symtab_marks(struct elf *e, uint64_t low, uint64_t high,
                    struct symtab_mark **marks, struct arena *arena)
{
    struct symbols symbols = symbols_of(e, ELF_SYMTAB);
    struct raw_symbol symbol;
    size_t count = 0, cap = 0;
    *marks = NULL;
    while (next_symbol(&symbols, &symbol)) {
        if (symbol.value < low || symbol.value >= high || (symbol.info & 15))
            continue;
        struct str name = name_of(&symbols, &symbol);
        struct symtab_mark *mark =
            is_mapping_symbol(e, name) ? ARRAY_APPEND(arena, *marks, count, cap) : NULL;
        if (mark)
            *mark = (struct symtab_mark){symbol.value, name.ptr[1]};
    }
    return count;
}
