/* SPDX-License-Identifier: Apache-2.0 */
/* Object files: ELF of 32 and 64 bits, of both byte orders, read in place.
 *
 * Source: the ELF chapters of the System V gABI, its supplement for compressed
 * sections, and elf(5). No field is trusted: tables are limited to the bytes of the
 * file, and invalid values are treated as missing, so the readable parts of a truncated
 * or corrupt file are still available.
 *
 * Addresses inside an object are file virtual addresses, as in its symbol table and
 * DWARF. A relocatable file (.o, .ko) has none: there they are offsets in the file. */
#ifndef STOKE_SYMBOL_ELF_H
#define STOKE_SYMBOL_ELF_H

#include "base/arena.h"
#include "base/bytes.h"
#include "base/error.h"
#include "codec/unpack.h"

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
    ELF_GNU_HASH = 0x6ffffff6, /* finds the symbols of ELF_DYNSYM that are defined */
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
    /* the bytes in the file, possibly compressed, truncated at the end of the file */
    struct str raw;
};

struct elf_segment {
    uint32_t type, flags;
    uint64_t offset, address, file_size, memory_size, align;
};

struct elf_opened; /* results of elf_section_bytes */

/* What compressed sections took so far, of all files that share this: many small files
 * can request as much memory as a large one. Threads may share it too. */
struct elf_unpacked {
    const struct limits *limits; /* NULL: limits_default */
    uint64_t in, out;            /* bytes, compressed and decompressed */
};

struct elf {
    struct str file;
    bool is_64, big_endian;
    uint16_t machine, type; /* enum elf_machine, enum elf_type, or others */
    uint64_t entry;
    struct elf_section *sections; /* [0] is the null section, if there are any */
    size_t section_count;
    struct elf_segment *segments;
    size_t segment_count;
    struct elf_opened *opened;
    struct elf_unpacked *unpacked; /* may be set; NULL: each section is limited alone */
    unsigned rejected;             /* compressed sections that exceed the limits */
    uint32_t *by_offset, *by_address; /* the PT_LOADs with bytes, sorted */
    size_t load_count;
    struct arena *arena; /* owned by the caller */
};

/* Reads the headers. `file` must outlive e; memory comes from the arena. False if it is
 * not an ELF file, or when out of memory.
 *
 * If the section headers were stripped, .dynamic, .dynsym, .dynstr, .eh_frame_hdr and
 * .eh_frame are found through the segments and added to e->sections. The ends of
 * .dynsym and .eh_frame are then estimates, never before the real ends. */
bool elf_init(struct elf *e, struct str file, struct arena *arena, struct error *err);

/* A cursor over bytes of the file, in its byte order; and a read of an address, which
 * has 4 or 8 bytes. */
struct bytes elf_cursor(const struct elf *e, struct str part);
uint64_t elf_word(const struct elf *e, struct bytes *b);

/* The first section of this name, or NULL. For a name with ".debug_", the old
 * compressed ".zdebug_" is accepted too. */
const struct elf_section *elf_section_named(const struct elf *e, struct str name);

/* The first section of this type, or NULL. */
const struct elf_section *elf_section_typed(const struct elf *e, uint32_t type);

/* The content of a section of e->sections (of NULL: empty), decompressed on first use
 * (SHF_COMPRESSED with zlib or zstd, .zdebug_*) into the arena. Empty if that fails.
 * Not thread-safe. */
struct str elf_section_bytes(struct elf *e, const struct elf_section *s);

/* Decompresses bytes of the file to *out, within the limits; `size` is as for unpack
 * (codec/unpack.h). Returns false, with *out empty, if that fails; if the limits are
 * the reason, counts it in e->rejected. */
bool elf_unpack(struct elf *e, enum pack kind, struct str packed, uint64_t size,
                struct str *out);

/* The build ID as raw bytes, from a PT_NOTE or a note section; empty if there is none. */
struct str elf_build_id(const struct elf *e);

/* The same from the bytes of notes: /sys/kernel/notes, the notes of a module. `align`
 * is 4 or 8. */
struct str elf_notes_build_id(struct str notes, bool big_endian, unsigned align);

/* .gnu_debuglink: the name of the debug file and its checksum. A name that contains a
 * path is rejected. */
bool elf_debug_link(const struct elf *e, struct str *name, uint32_t *crc);

/* .gnu_debugaltlink (dwz): the path of a file that several debug files share, unchanged
 * (absolute, or relative to the folder of the debug file; do not trust it, only its
 * base name is safe), and its build ID, raw. */
bool elf_alt_link(const struct elf *e, struct str *path, struct str *build_id);

/* Convert an offset in the file to its address with the PT_LOADs, and back. False if no
 * PT_LOAD contains it. The PT_LOADs of a debug file contain the offsets of another
 * file. */
bool elf_address_of_offset(const struct elf *e, uint64_t offset, uint64_t *address);
bool elf_offset_of_address(const struct elf *e, uint64_t address, uint64_t *offset);

/* What a process adds to the addresses of the file that it has mapped, if it has mapped code from
 * this offset at `start`. A mapping begins with the page of its PT_LOAD, which may contain
 * the end of another one (lld, mold). False if no PT_LOAD of code is there. */
bool elf_load_bias(const struct elf *e, uint64_t start, uint64_t offset, uint64_t *bias);

/* The file's bytes from an address on, at most `size`, up to the end of the PT_LOAD. */
struct str elf_bytes_at(const struct elf *e, uint64_t address, uint64_t size);

/* The section that contains an address at run time, or NULL. Linear time. */
const struct elf_section *elf_section_at(const struct elf *e, uint64_t address);

#endif
