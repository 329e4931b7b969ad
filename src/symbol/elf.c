/* SPDX-License-Identifier: Apache-2.0 */
#include "symbol/elf.h"
#include "base/sort.h"

#define NAME_MAX_LENGTH 256 /* of a section */
#define BUILD_ID_MAX 64
#define TABLE_MAX ((size_t)1 << 20) /* sections; segments: linkers make fewer */
#define NOTES_MAX ((size_t)4 << 20) /* sections may overlap */
#define PATH_MAX_LENGTH 4096

#define INDEX_ESCAPE 0xffffu /* SHN_XINDEX, PN_XNUM: the number is in section 0 */

#define NOTE_BUILD_ID 3 /* NT_GNU_BUILD_ID */

enum { COMPRESS_ZLIB = 1, COMPRESS_ZSTD = 2 };

struct elf_opened {
    bool done;
    struct str bytes;
};

/* The fields of the file header that locate other tables. */
struct header {
    uint64_t segments_at, sections_at;
    uint32_t segment_size, segment_count, section_size, section_count, names;
};

struct bytes elf_cursor(const struct elf *e, struct str part)
{
    return bytes_of(part, e->big_endian);
}

uint64_t elf_word(const struct elf *e, struct bytes *b)
{
    return e->is_64 ? bytes_u64(b) : bytes_u32(b);
}

/* The string at an offset of a string table, without its zero byte. */
static struct str text_at(struct str table, uint64_t offset, size_t longest)
{
    struct str text = str_part(table, offset, longest);
    return str_head(text, str_find(text, '\0'));
}

/* --- Headers ---------------------------------------------------------------------- */

static void read_section(const struct elf *e, struct str header, struct elf_section *s,
                         uint32_t *name)
{
    struct bytes b = elf_cursor(e, header);
    *name = bytes_u32(&b);
    s->type = bytes_u32(&b);
    s->flags = elf_word(e, &b);
    s->address = elf_word(e, &b);
    s->offset = elf_word(e, &b);
    s->size = elf_word(e, &b);
    s->link = bytes_u32(&b);
    s->info = bytes_u32(&b);
    elf_word(e, &b); /* alignment */
    s->entry_size = elf_word(e, &b);
    s->name = STR("");
    s->raw = s->type == ELF_NOBITS || s->type == 0
                 ? STR("")
                 : str_part(e->file, s->offset, s->size);
}

static void read_segment(const struct elf *e, struct str header, struct elf_segment *s)
{
    struct bytes b = elf_cursor(e, header);
    s->type = bytes_u32(&b);
    if (e->is_64)
        s->flags = bytes_u32(&b);
    s->offset = elf_word(e, &b);
    s->address = elf_word(e, &b);
    elf_word(e, &b); /* physical address */
    s->file_size = elf_word(e, &b);
    s->memory_size = elf_word(e, &b);
    if (!e->is_64)
        s->flags = bytes_u32(&b);
    s->align = elf_word(e, &b);
}

/* The number of records of `size` bytes, at most `count` and TABLE_MAX, that the file
 * contains from `offset` on; 0 if records are smaller than allowed. */
static size_t table_count(const struct elf *e, uint64_t offset, uint32_t size,
                          uint64_t count, uint32_t smallest)
{
    if (offset == 0 || offset >= e->file.len || size < smallest)
        return 0;
    size_t most = (e->file.len - (size_t)offset) / size;
    most = most < TABLE_MAX ? most : TABLE_MAX;
    return count < most ? (size_t)count : most;
}

/* Counts that do not fit into the header are in the null section. */
static void read_escapes(const struct elf *e, struct header *h)
{
    uint32_t name, smallest = e->is_64 ? 64 : 40;
    struct elf_section null;
    if (!table_count(e, h->sections_at, h->section_size, 1, smallest))
        return;
    read_section(e, str_part(e->file, h->sections_at, smallest), &null, &name);
    if (h->section_count == 0)
        h->section_count = (uint32_t)(null.size < UINT32_MAX ? null.size : UINT32_MAX);
    if (h->names == INDEX_ESCAPE)
        h->names = null.link;
    if (h->segment_count == INDEX_ESCAPE && null.info)
        h->segment_count = null.info;
}

static bool read_sections(struct elf *e, const struct header *h, struct error *err)
{
    uint32_t smallest = e->is_64 ? 64 : 40;
    size_t count =
        table_count(e, h->sections_at, h->section_size, h->section_count, smallest);
    if (count == 0)
        return true;
    e->sections = arena_zalloc(e->arena, count, sizeof *e->sections);
    uint32_t *names = arena_zalloc(e->arena, count, sizeof *names);
    if (!e->sections || !names)
        return error_memory(err);
    e->section_count = count;
    for (size_t i = 0; i < count; i++) {
        uint64_t at = h->sections_at + i * (uint64_t)h->section_size;
        read_section(e, str_part(e->file, at, smallest), &e->sections[i], &names[i]);
    }
    struct str table = h->names < count ? e->sections[h->names].raw : STR("");
    for (size_t i = 0; i < count; i++)
        e->sections[i].name = text_at(table, names[i], NAME_MAX_LENGTH);
    arena_release(e->arena, names, count * sizeof *names);
    return true;
}

static bool read_segments(struct elf *e, const struct header *h, struct error *err)
{
    uint32_t smallest = e->is_64 ? 56 : 32;
    size_t count =
        table_count(e, h->segments_at, h->segment_size, h->segment_count, smallest);
    if (count == 0)
        return true;
    e->segments = arena_zalloc(e->arena, count, sizeof *e->segments);
    if (!e->segments)
        return error_memory(err);
    e->segment_count = count;
    for (size_t i = 0; i < count; i++) {
        uint64_t at = h->segments_at + i * (uint64_t)h->segment_size;
        read_segment(e, str_part(e->file, at, smallest), &e->segments[i]);
    }
    return true;
}

static bool read_header(struct elf *e, struct header *h, struct error *err)
{
    struct str file = e->file;
    if (!str_starts(file, STR("\177ELF")))
        return error_set(err, "not an ELF file");
    if (file.len < 52)
        return error_set(err, "the header of the ELF file is truncated");
    if ((file.ptr[4] != 1 && file.ptr[4] != 2) || (file.ptr[5] != 1 && file.ptr[5] != 2))
        return error_set(err, "ELF file with an unknown class or byte order");
    e->is_64 = file.ptr[4] == 2;
    e->big_endian = file.ptr[5] == 2;
    struct bytes b = elf_cursor(e, file);
    bytes_skip(&b, 16);
    e->type = bytes_u16(&b);
    e->machine = bytes_u16(&b);
    bytes_u32(&b); /* version */
    e->entry = elf_word(e, &b);
    h->segments_at = elf_word(e, &b);
    h->sections_at = elf_word(e, &b);
    bytes_u32(&b); /* flags */
    bytes_u16(&b); /* the size of this header */
    h->segment_size = bytes_u16(&b);
    h->segment_count = bytes_u16(&b);
    h->section_size = bytes_u16(&b);
    h->section_count = bytes_u16(&b);
    h->names = bytes_u16(&b);
    if (b.failed)
        return error_set(err, "the header of the ELF file is truncated");
    return true;
}

/* --- Offsets and addresses -------------------------------------------------------- */

static bool offset_before(const void *context, uint32_t a, uint32_t b)
{
    const struct elf_segment *s = context;
    return s[a].offset < s[b].offset;
}

static bool address_before(const void *context, uint32_t a, uint32_t b)
{
    const struct elf_segment *s = context;
    return s[a].address < s[b].address;
}

static bool order_loads(struct elf *e, struct error *err)
{
    size_t count = 0;
    for (size_t i = 0; i < e->segment_count; i++)
        count += e->segments[i].type == ELF_PT_LOAD && e->segments[i].file_size;
    if (count == 0)
        return true;
    uint32_t *scratch = arena_zalloc(e->arena, count, sizeof *scratch);
    e->by_offset = arena_zalloc(e->arena, count, sizeof *e->by_offset);
    e->by_address = arena_zalloc(e->arena, count, sizeof *e->by_address);
    if (!scratch || !e->by_offset || !e->by_address)
        return error_memory(err);
    for (size_t i = 0; i < e->segment_count; i++)
        if (e->segments[i].type == ELF_PT_LOAD && e->segments[i].file_size)
            e->by_offset[e->load_count++] = (uint32_t)i;
    memcpy(e->by_address, e->by_offset, count * sizeof *scratch);
    sort_u32(e->by_offset, count, scratch, offset_before, e->segments);
    sort_u32(e->by_address, count, scratch, address_before, e->segments);
    return true;
}

/* The last PT_LOAD that begins at or before `at`, by offset or by address. */
static const struct elf_segment *load_before(const struct elf *e, uint64_t at,
                                             bool by_address)
{
    const uint32_t *order = by_address ? e->by_address : e->by_offset;
    size_t low = 0, high = e->load_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const struct elf_segment *s = &e->segments[order[middle]];
        if ((by_address ? s->address : s->offset) <= at)
            low = middle + 1;
        else
            high = middle;
    }
    return low ? &e->segments[order[low - 1]] : NULL;
}

bool elf_address_of_offset(const struct elf *e, uint64_t offset, uint64_t *address)
{
    const struct elf_segment *s = load_before(e, offset, false);
    if (e->type == ELF_RELOCATABLE) {
        *address = offset;
        return true;
    }
    if (!s || offset - s->offset >= s->file_size)
        return false;
    *address = s->address + (offset - s->offset);
    return true;
}

#define PAGE_LARGEST ((uint64_t)1 << 16) /* of the kernels that stoke runs on */

bool elf_load_bias(const struct elf *e, uint64_t start, uint64_t offset, uint64_t *bias)
{
    const struct elf_segment *best = NULL;
    for (size_t i = 0; i < e->load_count; i++) {
        const struct elf_segment *s = &e->segments[e->by_offset[i]];
        uint64_t page = s->align < PAGE_LARGEST ? s->align : PAGE_LARGEST;
        bool begins = s->offset <= offset || s->offset - offset < page;
        bool ends = s->offset <= offset && offset - s->offset >= s->file_size;
        if (s->flags & ELF_PF_X && begins && !ends)
            best = s;
    }
    if (best)
        *bias = start - offset + best->offset - best->address;
    return best;
}

bool elf_offset_of_address(const struct elf *e, uint64_t address, uint64_t *offset)
{
    const struct elf_segment *s = load_before(e, address, true);
    if (e->type == ELF_RELOCATABLE) {
        *offset = address;
        return true;
    }
    if (!s || address - s->address >= s->file_size)
        return false;
    *offset = s->offset + (address - s->address);
    return true;
}

struct str elf_bytes_at(const struct elf *e, uint64_t address, uint64_t size)
{
    const struct elf_segment *s = load_before(e, address, true);
    if (e->type == ELF_RELOCATABLE)
        return str_part(e->file, address, size);
    if (!s || address - s->address >= s->file_size)
        return STR("");
    uint64_t into = address - s->address, left = s->file_size - into;
    return str_part(str_part(e->file, s->offset, s->file_size), into,
                    size < left ? size : left);
}

const struct elf_section *elf_section_at(const struct elf *e, uint64_t address)
{
    for (size_t i = 0; i < e->section_count; i++) {
        const struct elf_section *s = &e->sections[i];
        uint64_t start = e->type == ELF_RELOCATABLE ? s->offset : s->address;
        if ((s->flags & ELF_ALLOC) && address >= start && address - start < s->size)
            return s;
    }
    return NULL;
}

/* --- Files without section headers ------------------------------------------------ */

enum { DT_STRTAB = 5, DT_SYMTAB = 6, DT_STRSZ = 10, DT_SYMENT = 11 };

/* The sections that are reconstructed, in their order. */
enum { MADE_NULL, MADE_DYNAMIC, MADE_DYNSTR, MADE_DYNSYM, MADE_HDR, MADE_FRAMES, MADE };

static const struct elf_segment *segment_typed(const struct elf *e, uint32_t type)
{
    for (size_t i = 0; i < e->segment_count; i++)
        if (e->segments[i].type == type)
            return &e->segments[i];
    return NULL;
}

static void make_section(struct elf *e, unsigned which, struct str name, uint32_t type,
                         uint64_t address, uint64_t size)
{
    struct str raw = elf_bytes_at(e, address, size);
    if (raw.len == 0)
        return;
    e->sections[which] = (struct elf_section){.name = name,
                                              .type = type,
                                              .flags = ELF_ALLOC,
                                              .address = address,
                                              .offset = (uint64_t)(raw.ptr - e->file.ptr),
                                              .size = raw.len,
                                              .raw = raw};
}

static void make_dynamic(struct elf *e, const struct elf_segment *s)
{
    uint64_t strings = 0, symbols = 0, strings_size = 0, entry = 0, tag;
    make_section(e, MADE_DYNAMIC, STR(".dynamic"), 6, s->address, s->file_size);
    struct bytes b = elf_cursor(e, e->sections[MADE_DYNAMIC].raw);
    while (bytes_left(&b) && (tag = elf_word(e, &b)) != 0) {
        uint64_t value = elf_word(e, &b);
        strings = tag == DT_STRTAB ? value : strings;
        symbols = tag == DT_SYMTAB ? value : symbols;
        strings_size = tag == DT_STRSZ ? value : strings_size;
        entry = tag == DT_SYMENT ? value : entry;
    }
    /* Its size is not stored. Linkers put .dynstr right after it. */
    uint64_t symbols_size = strings > symbols ? strings - symbols : UINT64_MAX;
    make_section(e, MADE_DYNSTR, STR(".dynstr"), ELF_STRTAB, strings, strings_size);
    make_section(e, MADE_DYNSYM, STR(".dynsym"), ELF_DYNSYM, symbols, symbols_size);
    e->sections[MADE_DYNSYM].link = MADE_DYNSTR;
    e->sections[MADE_DYNSYM].entry_size = entry;
}

/* .eh_frame_hdr refers to .eh_frame; all linkers write that as 4 bytes relative to the
 * field. */
static void make_frames(struct elf *e, const struct elf_segment *s)
{
    make_section(e, MADE_HDR, STR(".eh_frame_hdr"), ELF_PROGBITS, s->address,
                 s->file_size);
    struct bytes b = elf_cursor(e, e->sections[MADE_HDR].raw);
    uint8_t version = bytes_u8(&b), encoding = bytes_u8(&b);
    bytes_skip(&b, 2);
    int32_t distance = (int32_t)bytes_u32(&b);
    if (!b.failed && version == 1 && encoding == 0x1b)
        make_section(e, MADE_FRAMES, STR(".eh_frame"), ELF_PROGBITS,
                     s->address + 4 + (uint64_t)(int64_t)distance, UINT64_MAX);
}

static bool make_sections(struct elf *e, struct error *err)
{
    const struct elf_segment *dynamic = segment_typed(e, ELF_PT_DYNAMIC);
    const struct elf_segment *frames = segment_typed(e, ELF_PT_EH_FRAME);
    if (!dynamic && !frames)
        return true;
    e->sections = arena_zalloc(e->arena, MADE, sizeof *e->sections);
    if (!e->sections)
        return error_memory(err);
    e->section_count = MADE;
    for (unsigned i = 0; i < MADE; i++)
        e->sections[i].name = e->sections[i].raw = STR("");
    if (dynamic)
        make_dynamic(e, dynamic);
    if (frames)
        make_frames(e, frames);
    return true;
}

bool elf_init(struct elf *e, struct str file, struct arena *arena, struct error *err)
{
    struct header h = {0};
    *e = (struct elf){.file = file, .arena = arena};
    if (!read_header(e, &h, err))
        return false;
    read_escapes(e, &h);
    if (!read_segments(e, &h, err) || !order_loads(e, err) || !read_sections(e, &h, err))
        return false;
    if (e->section_count == 0 && !make_sections(e, err))
        return false;
    e->opened = arena_zalloc(arena, e->section_count + 1, sizeof *e->opened);
    return e->opened || error_memory(err);
}

/* --- Sections --------------------------------------------------------------------- */

const struct elf_section *elf_section_named(const struct elf *e, struct str name)
{
    for (size_t i = 0; i < e->section_count; i++)
        if (str_equal(e->sections[i].name, name))
            return &e->sections[i];
    if (!str_starts(name, STR(".debug_")))
        return NULL;
    for (size_t i = 0; i < e->section_count; i++) {
        struct str found = e->sections[i].name;
        if (str_starts(found, STR(".z")) &&
            str_equal(str_skip(found, 2), str_skip(name, 1)))
            return &e->sections[i];
    }
    return NULL;
}

const struct elf_section *elf_section_typed(const struct elf *e, uint32_t type)
{
    for (size_t i = 0; i < e->section_count; i++)
        if (e->sections[i].type == type)
            return &e->sections[i];
    return NULL;
}

/* How many bytes sections of `in` bytes may still decompress to. */
static uint64_t room_for(const struct elf_unpacked *u, const struct limits *l, size_t in)
{
    uint64_t all = __atomic_load_n(&u->in, __ATOMIC_RELAXED) + in;
    uint64_t out = __atomic_load_n(&u->out, __ATOMIC_RELAXED);
    uint64_t most = all < UINT64_MAX / l->file_ratio ? all * l->file_ratio : UINT64_MAX;
    if (most < l->unpacked)
        most = l->unpacked;
    return most > out ? most - out : 0;
}

bool elf_unpack(struct elf *e, enum pack kind, struct str packed, uint64_t size,
                struct str *out)
{
    struct elf_unpacked alone = {0}, *u = e->unpacked ? e->unpacked : &alone;
    struct limits limits = u->limits ? *u->limits : limits_default;
    uint64_t room = room_for(u, &limits, packed.len);
    struct error why = {.hint = ""};
    if (e->unpacked && room / (packed.len + 1) < limits.block_ratio)
        limits.block_ratio = room / (packed.len + 1) + 1;
    if (unpack(kind, packed, size, &limits, e->arena, out, &why)) {
        __atomic_add_fetch(&u->in, packed.len, __ATOMIC_RELAXED);
        __atomic_add_fetch(&u->out, out->len, __ATOMIC_RELAXED);
        return true;
    }
    e->rejected += why.hint[0] != 0;
    return false;
}

/* SHF_COMPRESSED: a header gives the method and the size (gABI, "Section
 * Compression"). */
static struct str open_compressed(struct elf *e, struct str raw)
{
    struct str opened = STR("");
    struct bytes b = elf_cursor(e, raw);
    uint32_t type = bytes_u32(&b);
    if (e->is_64)
        bytes_u32(&b);
    uint64_t size = elf_word(e, &b);
    elf_word(e, &b); /* alignment */
    if (b.failed || (type != COMPRESS_ZLIB && type != COMPRESS_ZSTD))
        return opened;
    elf_unpack(e, type == COMPRESS_ZLIB ? PACK_ZLIB : PACK_ZSTD,
               str_skip(raw, bytes_offset(&b)), size, &opened);
    return opened;
}

/* .zdebug_*: "ZLIB" and the size, big-endian in every file. */
static struct str open_old(struct elf *e, struct str raw)
{
    struct str opened = STR("");
    struct bytes b = bytes_of(raw, true);
    bytes_skip(&b, 4);
    uint64_t size = bytes_u64(&b);
    if (str_starts(raw, STR("ZLIB")) && !b.failed)
        elf_unpack(e, PACK_ZLIB, str_skip(raw, 12), size, &opened);
    return opened;
}

struct str elf_section_bytes(struct elf *e, const struct elf_section *s)
{
    if (!s)
        return STR("");
    bool packed = s->flags & ELF_COMPRESSED, old = str_starts(s->name, STR(".zdebug"));
    if (!packed && !old)
        return s->raw;
    struct elf_opened *o = &e->opened[s - e->sections];
    if (!o->done)
        *o = (struct elf_opened){true, packed ? open_compressed(e, s->raw)
                                              : open_old(e, s->raw)};
    return o->bytes;
}

/* --- Notes and links -------------------------------------------------------------- */

struct str elf_notes_build_id(struct str notes, bool big_endian, unsigned align)
{
    struct bytes b = bytes_of(notes, big_endian);
    while (bytes_left(&b) >= 12) {
        uint64_t name_size = bytes_u32(&b), size = bytes_u32(&b);
        uint32_t type = bytes_u32(&b);
        struct str name = bytes_take(&b, name_size);
        bytes_skip(&b, -bytes_offset(&b) & (align - 1));
        struct str content = bytes_take(&b, size);
        if (!b.failed && type == NOTE_BUILD_ID && str_equal(name, STR("GNU\0")) && size &&
            size <= BUILD_ID_MAX)
            return content;
        if (bytes_left(&b))
            bytes_skip(&b, -bytes_offset(&b) & (align - 1));
    }
    return STR("");
}

struct str elf_build_id(const struct elf *e)
{
    struct str id = STR("");
    size_t seen = 0;
    for (size_t i = 0; i < e->section_count && id.len == 0 && seen < NOTES_MAX; i++) {
        const struct elf_section *s = &e->sections[i];
        if (s->type != ELF_NOTE)
            continue;
        seen += s->raw.len + 1;
        id = elf_notes_build_id(str_head(s->raw, NOTES_MAX), e->big_endian, 4);
    }
    for (size_t i = 0; i < e->segment_count && id.len == 0 && seen < 2 * NOTES_MAX; i++) {
        const struct elf_segment *s = &e->segments[i];
        if (s->type != ELF_PT_NOTE)
            continue;
        struct str notes = str_part(e->file, s->offset, s->file_size);
        seen += notes.len + 1;
        id = elf_notes_build_id(str_head(notes, NOTES_MAX), e->big_endian,
                                s->align == 8 ? 8 : 4);
    }
    return id;
}

bool elf_debug_link(const struct elf *e, struct str *name, uint32_t *crc)
{
    const struct elf_section *s = elf_section_named(e, STR(".gnu_debuglink"));
    struct bytes b = elf_cursor(e, s ? s->raw : STR(""));
    *name = bytes_string(&b);
    bytes_skip(&b, -bytes_offset(&b) & 3);
    *crc = bytes_u32(&b);
    return !b.failed && name->len && name->len < NAME_MAX_LENGTH &&
           str_find(*name, '/') == name->len && !str_equal(*name, STR(".")) &&
           !str_equal(*name, STR(".."));
}

bool elf_alt_link(const struct elf *e, struct str *path, struct str *build_id)
{
    const struct elf_section *s = elf_section_named(e, STR(".gnu_debugaltlink"));
    struct bytes b = elf_cursor(e, s ? s->raw : STR(""));
    *path = bytes_string(&b);
    *build_id = bytes_take(&b, bytes_left(&b));
    return !b.failed && path->len && path->len < PATH_MAX_LENGTH && build_id->len &&
           build_id->len <= BUILD_ID_MAX;
}
