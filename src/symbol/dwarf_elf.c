/* SPDX-License-Identifier: Apache-2.0 */
#include "symbol/dwarf_elf.h"

static struct str section(struct elf *e, bool split, struct str name, struct str dwo_name)
{
    return elf_section_bytes(e, elf_section_named(e, split ? dwo_name : name));
}

/* The bytes of a section, by its name in the main file, or in a split file. */
#define SECTION(name) section(e, split, STR(name), STR(name ".dwo"))

struct dwarf_sections dwarf_elf_sections(struct elf *e, bool split)
{
    return (struct dwarf_sections){
        .info = SECTION(".debug_info"),
        .abbrev = SECTION(".debug_abbrev"),
        .line = SECTION(".debug_line"),
        .line_str = SECTION(".debug_line_str"),
        .str = SECTION(".debug_str"),
        .str_offsets = SECTION(".debug_str_offsets"),
        .addr = SECTION(".debug_addr"),
        .ranges = SECTION(".debug_ranges"),
        .rnglists = SECTION(".debug_rnglists"),
        .big_endian = e->big_endian,
    };
}

/* Sets the range of addresses that contains all code. */
static void set_code(const struct elf *e, struct dwarf_input *input)
{
    uint64_t code_flags = ELF_ALLOC | ELF_EXECINSTR, low = UINT64_MAX, high = 0;
    input->code_low = 0;
    input->code_high = UINT64_MAX;
    for (size_t i = 0; i < e->section_count; i++) {
        const struct elf_section *s = &e->sections[i];
        if ((s->flags & code_flags) != code_flags || !s->size)
            continue;
        uint64_t end =
            s->size < UINT64_MAX - s->address ? s->address + s->size : UINT64_MAX;
        low = s->address < low ? s->address : low;
        high = end > high ? end : high;
    }
    if (low >= high || e->type == ELF_RELOCATABLE)
        return;
    input->code_low = low;
    input->code_high = high;
}

struct dwarf_input dwarf_elf_input(struct elf *e, struct elf *alternate)
{
    struct dwarf_input input = {.sections = dwarf_elf_sections(e, false),
                                .alternate = DWARF_NO_SECTIONS};
    if (alternate)
        input.alternate = dwarf_elf_sections(alternate, false);
    set_code(e, &input);
    return input;
}
