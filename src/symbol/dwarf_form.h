/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the entries of .debug_info with their abbreviations (DWARF 5, 7.5).
 *
 * A table of abbreviations is compiled once: skipping an entry becomes a few steps,
 * each a fixed size and then one value of variable size. So entries that are not needed
 * cost very little. */
#ifndef STOKE_SYMBOL_DWARF_FORM_H
#define STOKE_SYMBOL_DWARF_FORM_H

#include "base/bytes.h"
#include "symbol/dwarf.h"
#include "symbol/dwarf_constants.h"

#define DWARF_NONE UINT64_MAX /* a missing attribute */

/* The value of an attribute, before references into other sections are resolved. form
 * 0: missing. */
struct dwarf_value {
    uint64_t number; /* the constant, index or offset; for inline strings, their offset */
    uint32_t form;
};

/* A unit's header and the attributes of its first entry (DWARF 5, 7.5.1, 3.1). */
struct dwarf_unit {
    const struct dwarf_file *file;
    /* in .debug_info: the header, the first entry, the end */
    uint64_t offset, first, end;
    uint64_t abbrev; /* offset of its abbreviation table */
    uint64_t split_id;
    uint64_t low;  /* base of range lists */
    uint64_t line; /* offset of its line program, or DWARF_NONE */
    uint64_t str_offsets_base, addr_base, rnglists_base;
    uint64_t ranges_base;       /* of GNU's split units of DWARF 4; 0 for others */
    uint64_t split_ranges_base; /* ranges_base of the split unit of this unit */
    struct str addr;            /* sections that split units share with the main file */
    struct str ranges;
    struct str name, directory, split_name;
    uint16_t version, tag, language;
    uint8_t type, address_size, offset_size;
};

/* How an entry is used. */
enum dwarf_role {
    DWARF_SKIP,     /* it contains no code */
    DWARF_FUNCTION, /* a subprogram with code */
    DWARF_INLINED,
    DWARF_BLOCK,    /* a part of a body */
    DWARF_SCOPE,    /* a namespace */
    DWARF_TYPE,     /* may contain functions in some languages */
    DWARF_ABSTRACT, /* a subprogram without code */
    DWARF_OTHER,    /* nothing in it leads to code, but names may use it */
};

/* An attribute that is read. */
struct dwarf_spec {
    uint16_t form;
    uint8_t slot;      /* which field of struct dwarf_die it sets */
    uint8_t before;    /* bytes of other attributes to skip first */
    uint32_t implicit; /* of DW_FORM_implicit_const: index of the value */
};

/* Skip `fixed` bytes, then one value of this kind. */
struct dwarf_step {
    uint16_t fixed;
    uint8_t kind;
};

struct dwarf_abbrev {
    /* index of the first; stored only for entries that lead to code or names */
    uint32_t specs;
    uint32_t spec_count;
    uint32_t steps;
    uint16_t tag;
    uint16_t fixed; /* bytes up to the data of `leap`; those of the first step */
    uint8_t role, leap;
    bool exists, has_children, has_sibling, has_code;
};

/* How to skip an entry; this covers most entries. */
enum dwarf_leap {
    DWARF_LEAP_NONE,
    DWARF_LEAP_END,     /* the fixed bytes are the whole entry */
    DWARF_LEAP_SIBLING, /* a sibling offset of four bytes follows them */
};

struct dwarf_abbrevs {
    struct dwarf_abbrev *items; /* by code, if codes are small */
    size_t count, cap;
    struct dwarf_spec *specs;
    size_t spec_count, spec_cap;
    struct dwarf_step *steps;
    size_t step_count, step_cap;
    int64_t *implicit;
    size_t implicit_count, implicit_cap;
};

/* A buffer in which tables are compiled before they are copied to their exact size; it
 * is reused. Zeroed at first; its arena owns the memory. */
struct dwarf_abbrev_scratch {
    struct dwarf_abbrevs table;
    struct arena arena;
};

/* Compiles the table for units like u. Unreadable abbreviations are left out. Subtracts
 * the bytes read from *budget and reads nothing beyond it. NULL when out of memory. */
struct dwarf_abbrevs *dwarf_abbrevs_make(const struct dwarf_unit *u,
                                         struct dwarf_abbrev_scratch *scratch,
                                         struct arena *a, uint64_t *budget);

static inline const struct dwarf_abbrev *dwarf_abbrev_of(const struct dwarf_abbrevs *t,
                                                         uint64_t code)
{
    return code < t->count && t->items[code].exists ? &t->items[code] : NULL;
}

/* A cursor over the unit's entries; offsets are relative to .debug_info. */
static inline struct bytes dwarf_unit_bytes(const struct dwarf_unit *u, uint64_t offset)
{
    struct bytes b = bytes_of(str_head(u->file->sections.info, (size_t)u->end),
                              u->file->sections.big_endian);
    bytes_seek(&b, offset);
    return b;
}

static inline uint64_t dwarf_uleb(struct bytes *b)
{
    if (!b->failed && b->at < b->end && !(*b->at & 0x80))
        return (unsigned char)*b->at++;
    return bytes_uleb(b);
}

static inline int64_t dwarf_sleb(struct bytes *b)
{
    if (!b->failed && b->at < b->end && !(*b->at & 0x80)) {
        int value = (unsigned char)*b->at++;
        return value < 0x40 ? value : value - 0x80;
    }
    return bytes_sleb(b);
}

/* Skips an entry's attributes. With `follow`, if they contain a sibling offset, moves
 * to the sibling instead and sets *jumped. */
void dwarf_skip(struct bytes *b, const struct dwarf_unit *u,
                const struct dwarf_abbrevs *t, const struct dwarf_abbrev *abbrev,
                bool follow, bool *jumped);

/* Skips an entry and its children, if its abbreviation allows that in one step.
 * Otherwise returns false and does nothing. */
static inline bool dwarf_leap(struct bytes *b, const struct dwarf_unit *u,
                              const struct dwarf_abbrev *abbrev)
{
    struct bytes ahead = *b;
    if (abbrev->leap == DWARF_LEAP_NONE)
        return false;
    bytes_skip(&ahead, abbrev->fixed);
    if (abbrev->leap == DWARF_LEAP_SIBLING) {
        uint64_t sibling = u->offset + bytes_u32(&ahead);
        if (sibling <= bytes_offset(&ahead) || sibling > u->end)
            return false;
        ahead.at = ahead.begin + sibling;
    }
    if (ahead.failed)
        return false;
    b->at = ahead.at;
    return true;
}

/* Skips an entry's attributes and all its children. Returns the number of entries
 * visited. */
uint64_t dwarf_skip_tree(struct bytes *b, const struct dwarf_unit *u,
                         const struct dwarf_abbrevs *t,
                         const struct dwarf_abbrev *abbrev);

/* Reads a value of a given form. */
struct dwarf_value dwarf_value_read(struct bytes *b, const struct dwarf_unit *u,
                                    uint64_t form, int64_t implicit);

/* The attributes of an entry that stoke uses. */
struct dwarf_die {
    struct dwarf_value low, high, ranges, origin, specification, linkage_name, name;
    struct dwarf_value type; /* not of functions */
    uint64_t call_file;
    uint64_t call_line,
        call_column;    /* for a type, the line and column of its declaration */
    uint64_t sibling;   /* offset, or 0 */
    bool is_artificial; /* a parameter that is not in the source */
};

void dwarf_die_read(struct bytes *b, const struct dwarf_unit *u,
                    const struct dwarf_abbrevs *t, const struct dwarf_abbrev *abbrev,
                    struct dwarf_die *die);

/* The text of a value; empty if it is not a text. */
struct str dwarf_value_text(const struct dwarf_unit *u, struct dwarf_value v);

/* The address of a value; false if it is not an address. */
bool dwarf_value_address(const struct dwarf_unit *u, struct dwarf_value v, uint64_t *out);

/* The entry that a value refers to: its file and its offset there. */
bool dwarf_value_reference(const struct dwarf_unit *u, struct dwarf_value v,
                           const struct dwarf_file **file, uint64_t *offset);

static inline bool dwarf_form_is_address(uint32_t form)
{
    return form == DW_FORM_addr || form == DW_FORM_addrx ||
           (form >= DW_FORM_addrx1 && form <= DW_FORM_addrx4) ||
           form == DW_FORM_GNU_addr_index;
}

/* Entry `index` of .debug_addr, relative to that unit's base. */
bool dwarf_address_at(const struct dwarf_unit *u, uint64_t index, uint64_t *out);

#endif
