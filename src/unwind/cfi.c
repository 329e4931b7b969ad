/* SPDX-License-Identifier: Apache-2.0 */
#include "unwind/cfi.h"

/* Pointer encodings (LSB 10.5.1). */
enum {
    PE_FORMAT = 0x0f,
    PE_ABSOLUTE = 0x00,
    PE_ULEB = 0x01,
    PE_U16 = 0x02,
    PE_U32 = 0x03,
    PE_U64 = 0x04,
    PE_SIGNED = 0x08,
    PE_SLEB = 0x09,
    PE_S16 = 0x0a,
    PE_S32 = 0x0b,
    PE_S64 = 0x0c,
    PE_BASE = 0x70,
    PE_PC = 0x10,
    PE_TEXT = 0x20,
    PE_DATA = 0x30,
    PE_FUNCTION = 0x40,
    PE_ALIGNED = 0x50,
    PE_INDIRECT = 0x80,
    PE_OMIT = 0xff,
};

#define WIDE_LENGTH 0xffffffffu /* a 64-bit length follows */

/* An augmentation has one to five letters, and the instructions of a CIE have about ten
 * bytes. Both are limited, because they are read again for every FDE whose CIE differs
 * from that of the previous FDE. */
#define AUGMENTATION_MAX 16
#define INITIAL_MAX 1024

/* Rules refer to expressions by 32-bit offsets. */
#define SECTION_MAX UINT32_MAX

static unsigned machine_address_size(enum architecture machine)
{
    return machine == ARCH_X86 || machine == ARCH_ARM ? 4 : 8;
}

/* --- Pointers ----------------------------------------------------------------------- */

static int64_t sign_extended(uint64_t value, unsigned size)
{
    unsigned shift = 64 - 8 * size;
    return (int64_t)(value << shift) >> shift;
}

/* Reads the bytes of a pointer, without adding its base. */
static uint64_t pointer_bytes(struct bytes *in, uint8_t encoding, unsigned address_size)
{
    switch (encoding & PE_FORMAT) {
    case PE_ABSOLUTE:
        return bytes_number(in, address_size);
    case PE_SIGNED:
        return (uint64_t)sign_extended(bytes_number(in, address_size), address_size);
    case PE_ULEB:
        return bytes_uleb(in);
    case PE_SLEB:
        return (uint64_t)bytes_sleb(in);
    case PE_U16:
        return bytes_u16(in);
    case PE_S16:
        return (uint64_t)sign_extended(bytes_u16(in), 2);
    case PE_U32:
        return bytes_u32(in);
    case PE_S32:
        return (uint64_t)sign_extended(bytes_u32(in), 4);
    case PE_U64:
    case PE_S64:
        return bytes_u64(in);
    default:
        in->failed = true;
        return 0;
    }
}

static bool skip_to_alignment(const struct cfi_section *s, struct bytes *in,
                              unsigned address_size)
{
    uint64_t at = s->address + bytes_offset(in);
    bytes_skip(in, (0 - at) & (address_size - 1));
    return !in->failed;
}

bool cfi_pointer(const struct cfi_section *s, struct bytes *in, uint8_t encoding,
                 unsigned address_size, uint64_t function, uint64_t *value)
{
    uint64_t base = 0;
    if (encoding == PE_OMIT)
        return false;
    switch (encoding & PE_BASE) {
    case 0:
        break;
    case PE_PC:
        base = s->address + bytes_offset(in);
        break;
    case PE_TEXT:
        base = s->text;
        break;
    case PE_DATA:
        base = s->data;
        break;
    case PE_FUNCTION:
        base = function;
        break;
    case PE_ALIGNED:
        if (!skip_to_alignment(s, in, address_size))
            return false;
        break;
    default:
        in->failed = true;
        return false;
    }
    *value = base + pointer_bytes(in, encoding, address_size);
    if (address_size < 8)
        *value &= ((uint64_t)1 << (8 * address_size)) - 1;
    return !in->failed && !(encoding & PE_INDIRECT);
}

/* --- Entries ------------------------------------------------------------------------ */

struct entry {
    uint64_t id_at; /* offset of the id */
    uint64_t id;
    uint64_t next; /* offset of the next entry */
    bool is_wide;
    /* after the id; its beginning is that of the section, its end that of the entry */
    struct bytes in;
};

/* False if the entry is truncated; the next entry cannot be found then. */
static bool read_entry(const struct cfi_section *s, uint64_t offset, struct entry *e)
{
    struct bytes in = bytes_of(s->bytes, s->big_endian);
    bytes_seek(&in, offset);
    uint64_t length = bytes_u32(&in);
    e->is_wide = length == WIDE_LENGTH;
    if (e->is_wide)
        length = bytes_u64(&in);
    e->id_at = bytes_offset(&in);
    if (in.failed || length > bytes_left(&in))
        return false;
    e->next = e->id_at + length;
    in.end = in.at + length;
    e->id = s->is_debug_frame && e->is_wide ? bytes_u64(&in) : bytes_u32(&in);
    e->in = in;
    return true;
}

static bool is_cie(const struct cfi_section *s, const struct entry *e)
{
    if (!s->is_debug_frame)
        return e->id == 0;
    return e->id == (e->is_wide ? UINT64_MAX : UINT32_MAX);
}

/* The id of a 64-bit entry of .eh_frame has four bytes in the standard, and eight from
 * some writers. The version that follows is never 0. */
static uint8_t skip_wide_id(const struct cfi_section *s, struct entry *e)
{
    if (s->is_debug_frame)
        return e->is_wide ? 8 : 4;
    if (!e->is_wide || bytes_left(&e->in) < 5 || e->in.at[0])
        return 4;
    bytes_skip(&e->in, 4);
    return 8;
}

/* Reads the letters of a 'z' augmentation, and their data. */
static bool read_augmentation(const struct cfi_section *s, struct str letters,
                              struct bytes *in, struct cfi_cie *cie)
{
    uint64_t ignored;
    for (size_t i = 0; i < letters.len && !in->failed; i++) {
        uint8_t encoding;
        switch (letters.ptr[i]) {
        case 'R':
            cie->pointer_encoding = bytes_u8(in);
            break;
        case 'P': /* the personality routine: usually indirect, and not needed */
            encoding = bytes_u8(in);
            cfi_pointer(s, in, encoding, cie->address_size, 0, &ignored);
            break;
        case 'L':
            bytes_u8(in);
            break;
        case 'S':
            cie->is_signal = true;
            break;
        case 'B':
            cie->signs_with_b = true;
            break;
        case 'G': /* AArch64: memory tagging of the stack */
            break;
        default: /* the size still locates the instructions */
            return true;
        }
    }
    return !in->failed;
}

static bool is_address_size(unsigned size)
{
    return size == 2 || size == 4 || size == 8;
}

static bool read_cie_head(struct bytes *in, struct cfi_cie *cie, struct str *augmentation)
{
    uint8_t version = bytes_u8(in);
    *augmentation = bytes_string(in);
    if (in->failed || augmentation->len > AUGMENTATION_MAX)
        return false;
    if (version != 1 && version != 3 && version != 4)
        return false;
    if (str_equal(*augmentation, STR("eh"))) /* GCC 2: a pointer to exception data */
        bytes_skip(in, cie->address_size);
    if (version == 4) {
        cie->address_size = bytes_u8(in);
        cie->segment_size = bytes_u8(in);
    }
    cie->code_align = bytes_uleb(in);
    cie->data_align = bytes_sleb(in);
    cie->return_register = version == 1 ? bytes_u8(in) : bytes_uleb(in);
    return !in->failed && is_address_size(cie->address_size) && cie->segment_size <= 8;
}

static bool read_cie(const struct cfi_section *s, uint64_t offset, struct cfi_cie *cie)
{
    struct entry e;
    struct str augmentation;
    if (!read_entry(s, offset, &e) || !is_cie(s, &e))
        return false;
    *cie = (struct cfi_cie){.offset = offset};
    cie->id_size = skip_wide_id(s, &e);
    cie->address_size = (uint8_t)machine_address_size(s->machine);
    if (!read_cie_head(&e.in, cie, &augmentation))
        return false;
    cie->has_size = str_starts(augmentation, STR("z"));
    if (cie->has_size) {
        uint64_t size = bytes_uleb(&e.in);
        struct bytes data = e.in;
        bytes_skip(&e.in, size);
        data.end = e.in.at;
        if (e.in.failed || !read_augmentation(s, str_skip(augmentation, 1), &data, cie))
            return false;
    } else if (augmentation.len && !str_equal(augmentation, STR("eh"))) {
        return false; /* the start of the instructions is unknown */
    }
    cie->instructions = bytes_take(&e.in, bytes_left(&e.in));
    return cie->instructions.len <= INITIAL_MAX;
}

/* Offset of the CIE of an FDE: .eh_frame stores the distance from the id. */
static bool cie_offset(const struct cfi_section *s, const struct entry *e,
                       uint64_t *offset)
{
    *offset = s->is_debug_frame ? e->id : e->id_at - e->id;
    return s->is_debug_frame || e->id <= e->id_at;
}

static bool read_fde(const struct cfi_section *s, struct entry *e, struct cfi_fde *fde)
{
    const struct cfi_cie *cie = &fde->cie;
    uint8_t encoding = s->is_debug_frame ? PE_ABSOLUTE : cie->pointer_encoding;
    uint64_t size;
    if (!s->is_debug_frame && e->is_wide)
        bytes_skip(&e->in, cie->id_size - 4u);
    bytes_skip(&e->in, cie->segment_size);
    if (!cfi_pointer(s, &e->in, encoding, cie->address_size, 0, &fde->start) ||
        !cfi_pointer(s, &e->in, encoding & PE_FORMAT, cie->address_size, 0, &size))
        return false;
    if (cie->has_size)
        bytes_skip(&e->in, bytes_uleb(&e->in));
    fde->end = fde->start + size;
    fde->instructions = bytes_take(&e->in, bytes_left(&e->in));
    return !e->in.failed && fde->end >= fde->start;
}

struct cfi_reader cfi_reader_of(const struct cfi_section *section)
{
    return (struct cfi_reader){.section = section};
}

/* Reads the FDE of an entry that is not a CIE. */
static bool read_described(struct cfi_reader *r, struct entry *e, struct cfi_fde *fde)
{
    uint64_t offset;
    if (!cie_offset(r->section, e, &offset))
        return false;
    if (!r->has_cie || r->cie.offset != offset)
        r->has_cie = read_cie(r->section, offset, &r->cie);
    if (!r->has_cie)
        return false;
    fde->cie = r->cie;
    return read_fde(r->section, e, fde);
}

bool cfi_next(struct cfi_reader *r, struct cfi_fde *fde)
{
    const struct cfi_section *s = r->section;
    struct entry e;
    while (s->bytes.len <= SECTION_MAX && r->at < s->bytes.len) {
        uint64_t offset = r->at;
        if (!read_entry(s, offset, &e)) {
            r->broken++;
            r->at = s->bytes.len;
            return false;
        }
        r->at = e.next;
        if (e.next == e.id_at) /* a terminator: linkers leave some in the middle */
            continue;
        if (!e.in.failed && is_cie(s, &e))
            continue;
        fde->offset = offset;
        if (!e.in.failed && read_described(r, &e, fde)) {
            if (fde->end > fde->start)
                return true;
        } else {
            r->broken++;
        }
    }
    return false;
}

bool cfi_at(const struct cfi_section *section, uint64_t offset, struct cfi_fde *fde)
{
    struct cfi_reader r = cfi_reader_of(section);
    struct entry e;
    if (section->bytes.len > SECTION_MAX || !read_entry(section, offset, &e) ||
        e.in.failed || is_cie(section, &e))
        return false;
    fde->offset = offset;
    return read_described(&r, &e, fde);
}

/* --- .eh_frame_hdr ------------------------------------------------------------------ */

#define HEADER_ROW 8

bool cfi_header_read(struct str bytes, uint64_t address, enum architecture machine,
                     bool big_endian, struct cfi_header *h)
{
    struct cfi_section s = {.bytes = bytes,
                            .address = address,
                            .machine = machine,
                            .big_endian = big_endian,
                            .data = address};
    struct bytes in = bytes_of(bytes, big_endian);
    unsigned size = machine_address_size(machine);
    uint8_t version = bytes_u8(&in), frame = bytes_u8(&in), count = bytes_u8(&in),
            table = bytes_u8(&in);
    *h = (struct cfi_header){.address = address, .big_endian = big_endian};
    if (version != 1 || !cfi_pointer(&s, &in, frame, size, 0, &h->eh_frame))
        return false;
    if (!cfi_pointer(&s, &in, count, size, 0, &h->count) || table != (PE_DATA | PE_S32)) {
        h->count = 0;
        h->table = (struct str){in.at, 0};
        return true;
    }
    h->table = bytes_take(&in, bytes_left(&in));
    if (h->count > h->table.len / HEADER_ROW)
        h->count = h->table.len / HEADER_ROW;
    return true;
}

static uint64_t header_number(const struct cfi_header *h, uint64_t row, unsigned column)
{
    struct bytes in = bytes_of(h->table, h->big_endian);
    bytes_seek(&in, row * HEADER_ROW + (uint64_t)column * 4);
    return h->address + (uint64_t)sign_extended(bytes_u32(&in), 4);
}

bool cfi_header_find(const struct cfi_header *h, uint64_t address, uint64_t *fde)
{
    uint64_t low = 0, high = h->count; /* the result is below high */
    while (low < high) {
        uint64_t middle = low + (high - low) / 2;
        if (header_number(h, middle, 0) <= address)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == 0)
        return false;
    *fde = header_number(h, low - 1, 1);
    return true;
}
