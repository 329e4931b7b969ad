/* SPDX-License-Identifier: Apache-2.0 */
/* Object files: ELF of 32 and 64 bits, of both byte orders, read where they lie.
 *
 * Source of the rules: the ELF chapters of the System V gABI, its supplement for
 * compressed sections, and elf(5). Nothing is trusted: tables are cut to what the file
 * holds, and what makes no sense is as if it were not there, so a truncated or broken
 * file gives what can still be read of it.
 *
 * Addresses inside an object are file virtual addresses, as in its symbol table and
 * DWARF. In a relocatable file (.o, .ko), which has none, they are offsets in the file.
 */
#ifndef STOKE_SYMBOL_ELF_H
#define STOKE_SYMBOL_ELF_H

#include "base/arena.h"
#include "base/bytes.h"
#include "base/error.h"

enum elf_type { ELF_RELOCATABLE = 1, ELF_EXECUTABLE = 2, ELF_SHARED = 3, ELF_CORE = 4 };

enum elf_machine {
    ELF_X86 = 3,
    ELF_ARM = 40,
    ELF_X86_64 = 62,
    ELF_AARCH64 = 183,
    ELF_RISCV = 243
};

enum elf_section_type {
    ELF_PROGBITS = 1,
    ELF_SYMTAB = 2,
    ELF_STRTAB = 3,
    ELF_RELA = 4,
    ELF_NOTE = 7,
    ELF_NOBITS = 8, /* no bytes in the file: .bss, and what a debug file leaves out */
    ELF_REL = 9,
    ELF_DYNSYM = 11,
};

#define ELF_WRITE ((uint64_t)1) /* flags of sections */
#define ELF_ALLOC ((uint64_t)2)
#define ELF_EXECINSTR ((uint64_t)4)
#define ELF_COMPRESSED ((uint64_t)0x800)

enum elf_segment_type {
    ELF_PT_LOAD = 1,
    ELF_PT_DYNAMIC = 2,
    ELF_PT_NOTE = 4,
    ELF_PT_EH_FRAME = 0x6474e550, /* PT_GNU_EH_FRAME: .eh_frame_hdr */
};

enum elf_segment_flag { ELF_PF_X = 1, ELF_PF_W = 2, ELF_PF_R = 4 };

struct elf_section {
    struct str name;
    uint32_t type; /* enum elf_section_type, or another */
    uint64_t flags, address, offset, size;
    uint32_t link, info;
    uint64_t entry_size;
    struct str raw; /* the bytes in the file, maybe compressed, cut where the file ends */
};

struct elf_segment {
    uint32_t type, flags;
    uint64_t offset, address, file_size, memory_size, align;
};

struct elf_opened; /* what elf_section_bytes has unpacked */

struct elf {
    struct str file;
    bool is_64, big_endian;
    uint16_t machine, type; /* enum elf_machine, enum elf_type, or others */
    uint64_t entry;
    struct elf_section *sections; /* [0] is the null section, where there are any */
    size_t section_count;
    struct elf_segment *segments;
    size_t segment_count;
    struct elf_opened *opened;
    uint32_t *by_offset, *by_address; /* the PT_LOADs with bytes, in order */
    size_t load_count;
    struct arena *arena; /* the caller's */
};

/* Reads the headers. `file` outlives e; memory comes from the arena. False where this is
 * no ELF file, and when memory is short.
 *
 * Where a file was stripped of its section headers, .dynamic, .dynsym, .dynstr,
 * .eh_frame_hdr and .eh_frame are found through its segments, and stand in e->sections as
 * if it had them (the ends of .dynsym and .eh_frame are then guesses that lie behind the
 * real ones). */
bool elf_init(struct elf *e, struct str file, struct arena *arena, struct error *err);

/* A cursor over bytes of the file, in its byte order; and an address as it is written in
 * it, of 4 or 8 bytes. */
struct bytes elf_cursor(const struct elf *e, struct str part);
uint64_t elf_word(const struct elf *e, struct bytes *b);

/* The first section of this name, or NULL. For a name with ".debug_" the old compressed
 * ".zdebug_" will do. */
const struct elf_section *elf_section_named(const struct elf *e, struct str name);

/* The first section of this type, or NULL. */
const struct elf_section *elf_section_typed(const struct elf *e, uint32_t type);

/* What is in a section of e->sections (or of NULL: nothing): unpacked (SHF_COMPRESSED
 * with zlib or zstd, .zdebug_*) on first use, into the arena. Empty where that fails. Not
 * for several threads at once. */
struct str elf_section_bytes(struct elf *e, const struct elf_section *s);

/* The build id as raw bytes, from a PT_NOTE or a note section; empty where there is none.
 */
struct str elf_build_id(const struct elf *e);

/* The same from the bytes of notes: /sys/kernel/notes, the notes of a module. `align` is
 * 4 or 8. */
struct str elf_notes_build_id(struct str notes, bool big_endian, unsigned align);

/* .gnu_debuglink: the name of the debug file and its checksum. A name that is not a bare
 * file name is refused. */
bool elf_debug_link(const struct elf *e, struct str *name, uint32_t *crc);

/* .gnu_debugaltlink (dwz): the path of the file that is shared by several debug files, as
 * it stands there (absolute, or from the folder of the debug file: not to be trusted; the
 * base name is sound), and its build id, raw. */
bool elf_alt_link(const struct elf *e, struct str *path, struct str *build_id);

/* From an offset in the file to its address by the PT_LOADs, and back. False where no
 * PT_LOAD has it. A debug file's PT_LOADs tell of another file's offsets. */
bool elf_address_of_offset(const struct elf *e, uint64_t offset, uint64_t *address);
bool elf_offset_of_address(const struct elf *e, uint64_t address, uint64_t *offset);

/* The file's bytes from an address on, at most `size`, to the end of the PT_LOAD. */
struct str elf_bytes_at(const struct elf *e, uint64_t address, uint64_t size);

/* The section in which an address lies while the program runs, or NULL: linear. */
const struct elf_section *elf_section_at(const struct elf *e, uint64_t address);

#endif
