/* SPDX-License-Identifier: Apache-2.0 */
#include "unwind/source.h"
#include "symbol/go_frames.h"

/* Maximum size of code in which trampolines without an FDE are searched: the size of a
 * C library. */
#define CODE_MAX ((uint64_t)8 << 20)

enum architecture unwind_machine_of(const struct elf *e)
{
    switch (e->machine) {
    case ELF_X86:
        return ARCH_X86;
    case ELF_X86_64:
        return e->is_64 ? ARCH_X86_64 : ARCH_UNKNOWN; /* else x32 */
    case ELF_ARM:
        return ARCH_ARM;
    case ELF_AARCH64:
        return e->is_64 ? ARCH_ARM64 : ARCH_UNKNOWN;
    default:
        return ARCH_UNKNOWN;
    }
}

static uint64_t section_address(const struct elf *e, struct str name)
{
    const struct elf_section *s = elf_section_named(e, name);
    return s ? s->address : 0;
}

/* `loaded` is the file that contains the code. */
static bool add_section(struct unwind_source *source, struct elf *e,
                        const struct elf *loaded, struct str name, bool is_debug_frame)
{
    const struct elf_section *found = elf_section_named(e, name);
    struct str bytes = elf_section_bytes(e, found);
    if (!found || bytes.len == 0)
        return false;
    source->sections[source->section_count++] =
        (struct cfi_section){.bytes = bytes,
                             .address = found->address,
                             .machine = source->machine,
                             .is_debug_frame = is_debug_frame,
                             .big_endian = e->big_endian,
                             .text = section_address(loaded, STR(".text")),
                             .data = section_address(loaded, STR(".got"))};
    return true;
}

/* Generates sections from Go's function table, if there is no DWARF. */
static void add_go_frames(struct unwind_source *source, const struct go_table *go)
{
    struct str bytes = go_frames(go, go->elf->arena);
    if (bytes.len)
        source->sections[source->section_count++] = (struct cfi_section){
            .bytes = bytes, .machine = source->machine, .is_debug_frame = true};
}

static bool has_symbols(const struct elf *e, const struct elf *debug)
{
    return elf_section_typed(e, ELF_SYMTAB) ||
           (debug && elf_section_typed(debug, ELF_SYMTAB));
}

static void add_segments(struct unwind_source *source, const struct elf *e)
{
    for (size_t i = 0; i < e->segment_count; i++) {
        const struct elf_segment *s = &e->segments[i];
        bool is_code = s->type == ELF_PT_LOAD && s->flags & ELF_PF_X;
        if (is_code && source->segment_count < UNWIND_SEGMENTS_MAX)
            source->segments[source->segment_count++] =
                (struct unwind_segment){s->offset, s->file_size, s->address};
    }
}

static void add_code(struct unwind_source *source, const struct elf *e)
{
    uint64_t size = 0;
    if (source->segment_count != 1 || source->segments[0].size > CODE_MAX)
        return;
    size = source->segments[0].size;
    source->code_address = source->segments[0].address;
    source->code = elf_bytes_at(e, source->code_address, size);
}

void unwind_source_of(struct unwind_source *source, struct elf *e, struct elf *debug)
{
    *source = (struct unwind_source){.machine = unwind_machine_of(e), .code = STR("")};
    add_segments(source, e);
    add_code(source, e);
    add_section(source, e, e, STR(".eh_frame"), false);
    bool framed = add_section(source, e, e, STR(".debug_frame"), true) ||
                  (debug && add_section(source, debug, e, STR(".debug_frame"), true));
    struct go_table go;
    bool is_go = (!framed || !has_symbols(e, debug)) && go_table_init(&go, e);
    if (is_go && !framed)
        add_go_frames(source, &go);
    unwind_source_switches(source, e, debug, is_go ? &go : NULL);
}
