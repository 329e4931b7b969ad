/* SPDX-License-Identifier: Apache-2.0 */
#include "symbol/dwarf_package.h"

/* Columns of the index that are equal in both versions (DWARF 5, 7.3.5.3). */
enum {
    COLUMN_INFO = 1,
    COLUMN_ABBREV = 3,
    COLUMN_LINE = 4,
    COLUMN_STR_OFFSETS = 6,
    COLUMN_RNGLISTS = 8, /* of version 5; macros before */
};

#define COLUMNS_MAX 16

/* Maximum number of slots probed per unit: the table is at most two thirds full. */
#define PROBES_MAX 1024

struct dwarf_package dwarf_elf_package(struct elf *e)
{
    struct str name = STR(".debug_cu_index");
    return (struct dwarf_package){
        dwarf_elf_sections(e, true),
        elf_section_bytes(e, elf_section_named(e, name)),
    };
}

/* The index: a hash table of ids, then for each unit a row of offsets and sizes. */
struct index {
    struct bytes bytes;
    uint16_t version;
    uint64_t columns, units, slots;
};

static uint32_t u32_at(const struct index *ix, uint64_t offset)
{
    struct bytes b = ix->bytes;
    bytes_seek(&b, offset);
    return bytes_u32(&b);
}

static bool read_head(struct index *ix, const struct dwarf_package *p)
{
    struct bytes *b = &ix->bytes;
    *b = bytes_of(p->index, p->sections.big_endian);
    uint32_t version = bytes_u32(b); /* from version 5 on, half of it and padding */
    ix->version = (uint16_t)(version == 2 ? 2 : b->big_endian ? version >> 16 : version);
    ix->columns = bytes_u32(b);
    ix->units = bytes_u32(b);
    ix->slots = bytes_u32(b);
    uint64_t room = bytes_left(b) / 4;
    return (ix->version == 2 || ix->version == 5) && ix->columns <= COLUMNS_MAX &&
           ix->slots && !(ix->slots & (ix->slots - 1)) && ix->slots <= room / 3 &&
           ix->units <= room / 2;
}

/* The row of the unit, from 1 on; 0: not found. */
static uint64_t find_row(const struct index *ix, uint64_t id)
{
    uint64_t mask = ix->slots - 1, at = id & mask, stride = (id >> 32 & mask) | 1;
    for (uint64_t i = 0; i < ix->slots && i < PROBES_MAX;
         i++, at = (at + stride) & mask) {
        struct bytes b = ix->bytes;
        bytes_seek(&b, 16 + 8 * at);
        uint64_t found = bytes_u64(&b), row = u32_at(ix, 16 + 8 * ix->slots + 4 * at);
        if (!row || found == id)
            return row <= ix->units ? row : 0;
    }
    return 0;
}

static struct str *part_of(const struct index *ix, uint32_t column,
                           struct dwarf_sections *out)
{
    switch (column) {
    case COLUMN_INFO:
        return &out->info;
    case COLUMN_ABBREV:
        return &out->abbrev;
    case COLUMN_LINE:
        return &out->line;
    case COLUMN_STR_OFFSETS:
        return &out->str_offsets;
    case COLUMN_RNGLISTS:
        return ix->version == 5 ? &out->rnglists : NULL;
    default:
        return NULL;
    }
}

bool dwarf_package_find(const struct dwarf_package *p, uint64_t id,
                        struct dwarf_sections *out)
{
    struct index ix;
    uint64_t row = read_head(&ix, p) ? find_row(&ix, id) : 0;
    uint64_t names = 16 + 12 * ix.slots, width = 4 * ix.columns;
    *out = p->sections;
    for (uint64_t i = 0; row && i < ix.columns; i++) {
        struct str *part = part_of(&ix, u32_at(&ix, names + 4 * i), out);
        uint64_t offset = names + row * width + 4 * i;
        uint64_t size = offset + ix.units * width;
        if (part)
            *part = str_part(*part, u32_at(&ix, offset), u32_at(&ix, size));
    }
    return row != 0;
}
