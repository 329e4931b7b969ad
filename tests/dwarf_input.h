/* SPDX-License-Identifier: Apache-2.0 */
/* The sections of an object in one file, for tests of the DWARF reader: "DW", flags,
 * the sizes of nine sections (two bytes each, little-endian), the sections; and for
 * split units once more sizes and sections. tests/fuzz/dwarf_seed.py makes such a file
 * from ELF files. */
#ifndef STOKE_TESTS_DWARF_INPUT_H
#define STOKE_TESTS_DWARF_INPUT_H

#include "symbol/dwarf.h"

#define DWARF_INPUT_SECTIONS 9

enum { DWARF_INPUT_BIG_ENDIAN = 1, DWARF_INPUT_SPLIT = 2, DWARF_INPUT_ALTERNATE = 4 };

static inline bool dwarf_input_split(void *context, const struct dwarf_split *expected,
                                     struct dwarf_sections *out)
{
    (void)expected;
    *out = *(const struct dwarf_sections *)context;
    return true;
}

/* Reads a set of sections from *rest. */
static inline struct dwarf_sections dwarf_input_cut(struct str *rest, bool big_endian)
{
    const unsigned char *sizes = (const unsigned char *)rest->ptr;
    struct str parts[DWARF_INPUT_SECTIONS];
    if (rest->len < 2 * DWARF_INPUT_SECTIONS)
        return DWARF_NO_SECTIONS;
    *rest = str_skip(*rest, 2 * DWARF_INPUT_SECTIONS);
    for (int i = 0; i < DWARF_INPUT_SECTIONS; i++) {
        parts[i] = str_head(*rest, sizes[2 * i] | (size_t)sizes[2 * i + 1] << 8);
        *rest = str_skip(*rest, parts[i].len);
    }
    return (struct dwarf_sections){parts[0], parts[1], parts[2], parts[3], parts[4],
                                   parts[5], parts[6], parts[7], parts[8], big_endian};
}

/* False where the bytes are nothing like it. *split outlives *input. */
static inline bool dwarf_input_read(struct str bytes, struct dwarf_input *input,
                                    struct dwarf_sections *split)
{
    if (bytes.len < 3 || !str_starts(bytes, STR("DW")))
        return false;
    int flags = bytes.ptr[2];
    bool big_endian = (flags & DWARF_INPUT_BIG_ENDIAN) != 0;
    struct str rest = str_skip(bytes, 3);
    *input = (struct dwarf_input){dwarf_input_cut(&rest, big_endian),
                                  DWARF_NO_SECTIONS,
                                  0,
                                  UINT64_MAX,
                                  NULL,
                                  split};
    *split = dwarf_input_cut(&rest, big_endian);
    if (flags & DWARF_INPUT_SPLIT)
        input->split = dwarf_input_split;
    if (flags & DWARF_INPUT_ALTERNATE)
        input->alternate = input->sections;
    return true;
}

#endif
