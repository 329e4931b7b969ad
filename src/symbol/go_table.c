/* SPDX-License-Identifier: Apache-2.0 */
#include "symbol/go_table.h"

#define MAGIC_1_2 0xfffffffb
#define MAGIC_1_16 0xfffffffa
#define MAGIC_1_18 0xfffffff0
#define MAGIC_1_20 0xfffffff1

/* Alignment of the header. */
#define ALIGN 16

/* Maximum number of functions, more than in any executable. */
#define FUNCTIONS_MAX ((uint64_t)1 << 24)

/* Indexes of the tables in the data of a function. */
#define PCDATA_TREE 2
#define FUNCDATA_TREE 3
#define FUNCDATA_NONE UINT32_MAX

#define FLAG_TOP 1

#define GO_OWNER STR("Go\0\0")

/* --- Numbers ------------------------------------------------------------------------ */

static struct bytes cursor(const struct go_table *t, struct str s, uint64_t offset)
{
    struct bytes b = bytes_of(s, t->big_endian);
    bytes_seek(&b, offset);
    return b;
}

static uint64_t pointer(const struct go_table *t, struct bytes *b)
{
    return t->pointer == 8 ? bytes_u64(b) : bytes_u32(b);
}

static uint64_t header_word(const struct go_table *t, unsigned i)
{
    struct bytes b = cursor(t, t->all, 8 + (uint64_t)i * t->pointer);
    return pointer(t, &b);
}

static struct str header_part(const struct go_table *t, unsigned i)
{
    return str_part(t->all, header_word(t, i), t->all.len);
}

/* Size of one column of the function list. */
static unsigned list_field(const struct go_table *t)
{
    return t->version >= GO_1_18 ? 4 : t->pointer;
}

struct str go_table_text(struct str texts, uint64_t offset)
{
    struct str text = str_part(texts, offset, SYMBOL_NAME_MAX);
    return str_head(text, str_find(text, '\0'));
}

/* --- The header --------------------------------------------------------------------- */

static bool read_magic(struct go_table *t, uint32_t magic)
{
    switch (magic) {
    case MAGIC_1_2:
        t->version = GO_1_2;
        return true;
    case MAGIC_1_16:
        t->version = GO_1_16;
        return true;
    case MAGIC_1_18:
        t->version = GO_1_18;
        return true;
    case MAGIC_1_20:
        t->version = GO_1_20;
        return true;
    default:
        return false;
    }
}

/* Finds the parts of the table; false if the function list is truncated. */
static bool read_parts(struct go_table *t)
{
    unsigned field = list_field(t), first = t->version >= GO_1_18 ? 3 : 2;
    uint64_t count = header_word(t, 0);
    if (count == 0 || count > FUNCTIONS_MAX)
        return false;
    uint64_t size = (2 * count + 1) * field;
    t->count = (size_t)count;
    if (t->version == GO_1_2) {
        t->names = t->values = t->functions = t->all;
        t->list = str_part(t->all, 8 + t->pointer, size);
        struct bytes b = cursor(t, t->all, 8 + t->pointer + size);
        t->files = str_part(t->all, bytes_u32(&b), t->all.len);
    } else {
        t->names = header_part(t, first);
        t->units = header_part(t, first + 1);
        t->files = header_part(t, first + 2);
        t->values = header_part(t, first + 3);
        t->functions = header_part(t, first + 4);
        t->list = str_part(t->functions, 0, size);
    }
    return t->list.len == size;
}

static bool read_header(struct go_table *t, struct str bytes, uint64_t address)
{
    struct elf *e = t->elf;
    struct bytes b = bytes_of(bytes, e->big_endian);
    *t = (struct go_table){
        .elf = e, .all = bytes, .address = address, .big_endian = e->big_endian};
    if (!read_magic(t, bytes_u32(&b)) || bytes_u16(&b) != 0)
        return false;
    t->quantum = bytes_u8(&b);
    t->pointer = bytes_u8(&b);
    bool quantum = t->quantum == 1 || t->quantum == 2 || t->quantum == 4;
    return quantum && t->pointer == (e->is_64 ? 8 : 4) && read_parts(t);
}

/* Go's build ID is a note of its own owner. */
static bool has_go_note(const struct elf *e)
{
    for (size_t i = 0; i < e->segment_count; i++) {
        const struct elf_segment *s = &e->segments[i];
        struct bytes b = elf_cursor(e, str_part(e->file, s->offset, s->file_size));
        if (s->type != ELF_PT_NOTE || bytes_u32(&b) != GO_OWNER.len)
            continue;
        bytes_skip(&b, 8); /* size, type */
        if (str_equal(bytes_take(&b, GO_OWNER.len), GO_OWNER))
            return true;
    }
    return false;
}

bool go_table_is_go(const struct elf *e)
{
    return elf_section_named(e, STR(".gopclntab")) ||
           elf_section_named(e, STR(".go.buildinfo")) ||
           elf_section_named(e, STR(".note.go.buildid")) || has_go_note(e);
}

/* Searches for the table among other data. */
static bool search_bytes(struct go_table *t, struct str bytes, uint64_t address)
{
    uint64_t skipped = -address & (ALIGN - 1);
    for (size_t at = (size_t)skipped; at + 8 <= bytes.len; at += ALIGN)
        if (read_header(t, str_skip(bytes, at), address + at))
            return true;
    return false;
}

/* Searches for the table in a file whose sections have no names or wrong names: llvm-strip
 * overwrites the table of names. */
static bool search_segments(struct go_table *t)
{
    const struct elf *e = t->elf;
    size_t left = e->file.len; /* hostile segments overlap: search each byte only once */
    for (size_t i = 0; i < e->segment_count && left; i++) {
        const struct elf_segment *s = &e->segments[i];
        struct str bytes = str_head(str_part(e->file, s->offset, s->file_size), left);
        if (s->type != ELF_PT_LOAD || s->flags & ELF_PF_X)
            continue;
        if (search_bytes(t, bytes, s->address))
            return true;
        left -= bytes.len;
    }
    return false;
}

static bool search(struct go_table *t)
{
    struct elf *e = t->elf;
    for (size_t i = 0; i < e->section_count; i++)
        if (str_ends(e->sections[i].name, STR(".gopclntab")) &&
            read_header(t, e->sections[i].raw, e->sections[i].address))
            return true;
    if (!go_table_is_go(e))
        return false;
    /* The C linker's sections of position independent executables contain other data, too. */
    const char *names[] = {".data.rel.ro", ".rodata"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const struct elf_section *s = elf_section_named(e, str_of(names[i]));
        if (s && search_bytes(t, s->raw, s->address))
            return true;
    }
    return search_segments(t);
}

/* --- The module data ---------------------------------------------------------------- */

/* The fields of runtime.moduledata that stoke reads, as word indexes. */
enum module_word {
    MODULE_HEADER = 0,
    MODULE_NAMES = 1,
    MODULE_FUNCTIONS = 13,
    MODULE_MIN = 20, /* address of the first function */
    MODULE_TEXT = 22,
    MODULE_TREES_1_18 = 38,
    MODULE_TREES_1_20 = 40,
    MODULE_WORDS = 48,
};

struct module {
    uint64_t address;
    uint64_t words[MODULE_WORDS];
};

#define RELA_SIZE 24

static const struct elf_section *relocations(const struct elf *e)
{
    const struct elf_section *s = elf_section_named(e, STR(".rela.dyn"));
    if (!s)
        s = elf_section_named(e, STR(".rela"));
    return s ? s : elf_section_typed(e, ELF_RELA);
}

/* Applies relocations of position independent code to the words. Linkers leave 0 in
 * location of a relocated address. */
static void relocate(const struct elf *e, struct module *m)
{
    const struct elf_section *rela = relocations(e);
    if (!rela)
        return;
    struct bytes b = elf_cursor(e, rela->raw);
    while (bytes_left(&b) >= RELA_SIZE) {
        uint64_t address = bytes_u64(&b) - m->address;
        bytes_skip(&b, 8);
        uint64_t value = bytes_u64(&b);
        if (address % 8 == 0 && address / 8 < MODULE_WORDS)
            m->words[address / 8] = value;
    }
}

static bool read_module(const struct go_table *t, uint64_t address, struct module *m)
{
    struct elf *e = t->elf;
    struct bytes b =
        elf_cursor(e, elf_bytes_at(e, address, (uint64_t)MODULE_WORDS * t->pointer));
    m->address = address;
    for (size_t i = 0; i < MODULE_WORDS; i++)
        m->words[i] = pointer(t, &b);
    if (e->is_64)
        relocate(e, m);
    struct bytes first = cursor(t, t->list, 0);
    return m->words[MODULE_HEADER] == t->address &&
           m->words[MODULE_NAMES] == t->address + (uint64_t)(t->names.ptr - t->all.ptr) &&
           m->words[MODULE_FUNCTIONS] ==
               t->address + (uint64_t)(t->functions.ptr - t->all.ptr) &&
           m->words[MODULE_MIN] == m->words[MODULE_TEXT] + bytes_u32(&first);
}

/* Maximum number of candidates: words that equal the table's address. */
#define CANDIDATES_MAX 64

/* Searches a section for the module, in a file whose data needs no relocation. */
static bool find_module_in(const struct go_table *t, const struct elf_section *s,
                           struct module *m, unsigned *candidates)
{
    struct bytes b = elf_cursor(t->elf, s->raw);
    while (bytes_left(&b) >= t->pointer) {
        uint64_t address = s->address + bytes_offset(&b);
        if (pointer(t, &b) != t->address)
            continue;
        if (++*candidates > CANDIDATES_MAX)
            return false;
        if (read_module(t, address, m))
            return true;
    }
    return false;
}

static bool find_module_relocated(const struct go_table *t, struct module *m,
                                  unsigned *candidates)
{
    const struct elf_section *rela = relocations(t->elf);
    if (!t->elf->is_64 || !rela)
        return false;
    struct bytes b = elf_cursor(t->elf, rela->raw);
    while (bytes_left(&b) >= RELA_SIZE) {
        uint64_t address = bytes_u64(&b);
        bytes_skip(&b, 8);
        if (bytes_u64(&b) != t->address)
            continue;
        if (++*candidates > CANDIDATES_MAX)
            return false;
        if (read_module(t, address, m))
            return true;
    }
    return false;
}

static bool find_module(const struct go_table *t, struct module *m)
{
    const struct elf *e = t->elf;
    unsigned candidates = 0;
    for (size_t i = 0; i < e->section_count; i++) {
        const struct elf_section *s = &e->sections[i];
        bool data = s->type == ELF_PROGBITS && s->flags & ELF_WRITE &&
                    !(s->flags & ELF_EXECINSTR);
        if (data && find_module_in(t, s, m, &candidates))
            return true;
    }
    return find_module_relocated(t, m, &candidates);
}

/* Since Go 1.26 the inlining trees are before the end of the table, which is the next
 * word. */
static uint64_t trees_of(const struct go_table *t, const struct module *m)
{
    const struct elf_section *s = elf_section_at(t->elf, t->address);
    uint64_t end = s ? s->address + s->size : 0;
    for (size_t i = MODULE_TREES_1_20; t->version == GO_1_20 && i + 1 < MODULE_WORDS; i++)
        if (m->words[i + 1] == end && m->words[i] < end && m->words[i] > t->address)
            return m->words[i];
    return m->words[t->version == GO_1_20 ? MODULE_TREES_1_20 : MODULE_TREES_1_18];
}

static bool find_text(struct go_table *t)
{
    struct module m;
    if (t->version < GO_1_18)
        return true;
    if (find_module(t, &m)) {
        t->text = m.words[MODULE_TEXT];
        t->trees = trees_of(t, &m);
        return true;
    }
    t->text = header_word(t, 2);
    const struct elf_section *s = elf_section_named(t->elf, STR(".text"));
    if (t->text == 0 && s)
        t->text = s->address;
    return t->text != 0;
}

bool go_table_init(struct go_table *t, struct elf *e)
{
    *t = (struct go_table){.elf = e};
    return search(t) && find_text(t);
}

/* --- Functions ---------------------------------------------------------------------- */

static uint64_t start_of(const struct go_table *t, size_t i)
{
    struct bytes b = cursor(t, t->list, (uint64_t)i * 2 * list_field(t));
    return t->version >= GO_1_18 ? t->text + bytes_u32(&b) : pointer(t, &b);
}

/* The bytes of the tree of inlined calls: given by an offset since 1.18, before that by
 * a pointer. */
static struct str tree_of(const struct go_table *t, struct bytes *b)
{
    if (t->version >= GO_1_18) {
        bytes_skip(b, (uint64_t)4 * FUNCDATA_TREE);
        uint32_t offset = bytes_u32(b);
        bool has = !b->failed && offset != FUNCDATA_NONE && t->trees;
        return has ? elf_bytes_at(t->elf, t->trees + offset, UINT64_MAX) : STR("");
    }
    size_t at = (size_t)(b->at - t->all.ptr);
    bytes_skip(b, (0 - at) & (t->pointer - 1));
    bytes_skip(b, (uint64_t)t->pointer * FUNCDATA_TREE);
    uint64_t address = pointer(t, b);
    return address && !b->failed ? elf_bytes_at(t->elf, address, UINT64_MAX) : STR("");
}

/* Reads what follows the fields that every version has. */
static void read_tree(const struct go_table *t, struct bytes *b, uint32_t value_tables,
                      struct go_function *f)
{
    f->unit = bytes_u32(b);
    if (t->version == GO_1_20)
        bytes_skip(b, 4); /* its first line */
    bytes_skip(b, 1);     /* function id of the runtime */
    f->is_top = bytes_u8(b) & FLAG_TOP;
    bytes_skip(b, 1);
    uint8_t tables = bytes_u8(b);
    if (value_tables <= PCDATA_TREE || tables <= FUNCDATA_TREE)
        return;
    bytes_skip(b, (uint64_t)4 * PCDATA_TREE);
    f->tree_values = bytes_u32(b);
    bytes_skip(b, (uint64_t)4 * (value_tables - PCDATA_TREE - 1));
    f->tree = tree_of(t, b);
    if (b->failed || f->tree.len == 0)
        f->tree_values = 0;
}

bool go_table_get(const struct go_table *t, size_t i, struct go_function *f)
{
    unsigned field = list_field(t);
    struct bytes b = cursor(t, t->list, ((uint64_t)i * 2 + 1) * field);
    uint64_t offset = field == 4 ? bytes_u32(&b) : pointer(t, &b);
    *f = (struct go_function){.start = start_of(t, i), .end = start_of(t, i + 1)};
    b = cursor(t, t->functions, offset);
    bytes_skip(&b, field); /* the address again */
    f->name = go_table_text(t->names, bytes_u32(&b));
    bytes_skip(&b, 8); /* arguments, deferred calls */
    f->stack_values = bytes_u32(&b);
    f->file_values = bytes_u32(&b);
    f->line_values = bytes_u32(&b);
    uint32_t value_tables = bytes_u32(&b);
    if (b.failed || f->end <= f->start)
        return false;
    if (t->version >= GO_1_16)
        read_tree(t, &b, value_tables, f);
    return true;
}

bool go_table_find(const struct go_table *t, uint64_t address, size_t *i)
{
    size_t from = 0, to = t->count;
    while (from < to) {
        size_t middle = from + (to - from) / 2;
        if (start_of(t, middle) <= address)
            from = middle + 1;
        else
            to = middle;
    }
    if (from == 0 || address >= start_of(t, from))
        return false;
    *i = from - 1;
    return true;
}

struct go_values go_values_of(const struct go_table *t, const struct go_function *f,
                              uint32_t offset)
{
    struct go_values v = {.bytes = cursor(t, t->values, offset),
                          .end = f->start,
                          .limit = f->end,
                          .value = -1,
                          .quantum = t->quantum};
    v.bytes.failed |= offset == 0;
    return v;
}

/* Decodes pairs of deltas: of the value, and of the address. A value delta of 0 ends
 * the table, unless it is the first. */
bool go_values_next(struct go_values *v)
{
    bool first = v->start == 0;
    uint32_t change = (uint32_t)bytes_uleb(&v->bytes);
    uint64_t step = (uint32_t)bytes_uleb(&v->bytes) * (uint64_t)v->quantum;
    if (v->bytes.failed || v->end >= v->limit || step == 0 || (change == 0 && !first))
        return false;
    v->start = v->end;
    v->end = step < v->limit - v->end ? v->end + step : v->limit;
    v->value = (int32_t)((uint32_t)v->value + ((change >> 1) ^ (0 - (change & 1))));
    return true;
}

void go_table_symbols(const struct go_table *t, struct symbol_table *symbols)
{
    unsigned text = symbol_table_text(symbols, t->names);
    struct go_function f;
    if (text >= SYMBOL_TEXTS_MAX)
        return;
    symbol_table_reserve(symbols, t->count);
    for (size_t i = 0; i < t->count; i++)
        if (go_table_get(t, i, &f) && f.name.len)
            symbol_table_add(symbols, (struct symbol_entry){.address = f.start,
                                                            .end = f.end,
                                                            .name = f.name.ptr,
                                                            .length = SYMBOL_MEASURE,
                                                            .text = (uint8_t)text,
                                                            .kind = SYMBOL_FUNCTION,
                                                            .binding = SYMBOL_GLOBAL});
}
