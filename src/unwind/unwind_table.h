/* SPDX-License-Identifier: Apache-2.0 */
/* The call frame information of a module, compiled for fast lookups: sorted rows
 * {address, rule}, with equal rules stored once. Rules that the compact form cannot
 * express are left to the interpreter (cfi.h); the table also finds the FDE of an
 * address for it.
 *
 * A finished table is read-only, so threads may share it. */
#ifndef STOKE_UNWIND_UNWIND_TABLE_H
#define STOKE_UNWIND_UNWIND_TABLE_H

#include "base/arena.h"
#include "base/error.h"
#include "base/unwind_rule.h"
#include "unwind/cfi.h"

#define UNWIND_SECTIONS_MAX 2
#define UNWIND_SEGMENTS_MAX 16
#define UNWIND_SWITCHES_MAX 16

/* Maps file offsets to addresses. */
struct unwind_segment {
    uint64_t offset, size, address;
};

/* Code that runs on another stack than the one it was called on: its call frame
 * information does not apply in [start, end). */
struct unwind_switch {
    uint64_t start, end;
    bool returns; /* to the other stack; otherwise this is the outermost frame */
};

/* The input of a table. The caller owns all bytes. */
struct unwind_source {
    enum architecture machine;
    /* .eh_frame, then .debug_frame; if both cover an address, the first counts. */
    struct cfi_section sections[UNWIND_SECTIONS_MAX];
    size_t section_count;
    struct unwind_segment segments[UNWIND_SEGMENTS_MAX]; /* PT_LOAD, executable */
    size_t segment_count;
    /* The code to search for signal trampolines without an FDE (the vDSO of AArch64,
     * musl's libc), or empty; it is read completely. */
    struct str code;
    uint64_t code_address;
    bool is_go; /* compiled by Go, whose code uses frame pointers */
    struct unwind_switch switches[UNWIND_SWITCHES_MAX]; /* sorted */
    size_t switch_count;
};

/* Start address of an FDE, and its entry: offset << 1 | section. */
struct unwind_fde {
    uint32_t pc; /* relative to the table's base */
    uint32_t end;
    uint64_t entry;
};

struct unwind_table {
    enum architecture machine;
    uint64_t base;           /* the lowest address; rows are relative to it */
    const uint32_t *pcs;     /* sorted; the first is 0, and the last row is CFA_NONE */
    const uint16_t *rule_of; /* per row */
    size_t row_count;
    const struct unwind_rule *rules;
    size_t rule_count;
    /* Number of rows before page i, for pages of 1 << page_shift bytes, plus one
     * entry. */
    const uint32_t *pages;
    size_t page_count;
    unsigned page_shift;
    const struct unwind_fde *fdes; /* sorted, without overlaps */
    size_t fde_count;
    struct unwind_segment segments[UNWIND_SEGMENTS_MAX];
    size_t segment_count;
    /* The sections for the interpreter; section_count is 0 if they are not available. */
    struct cfi_section sections[UNWIND_SECTIONS_MAX];
    size_t section_count;
    size_t broken; /* entries skipped, and programs that became invalid */
};

/* Builds a table. The arena owns its memory; the sections' bytes must outlive the
 * table, which reads them for general rules. Fails when out of memory, or if the
 * architecture is not supported; invalid parts of the sections are skipped and counted.
 * A module without rules gives a table without rows. */
bool unwind_table_build(struct unwind_table *t, const struct unwind_source *source,
                        struct arena *arena, struct error *err);

/* The same for a single function: the FDE at an offset of the first section. */
bool unwind_table_build_function(struct unwind_table *t,
                                 const struct unwind_source *source, uint64_t fde,
                                 struct arena *arena, struct error *err);

/* Serialises the table, to be cached under the build ID of the file; empty when out of memory.
 * The sections are not included. */
struct str unwind_table_bytes(const struct unwind_table *t, struct arena *arena);

/* Loads a table that unwind_table_bytes of this version wrote, for a source with
 * sections of the same sizes and the same segments. Checks everything: returns false
 * with the reason on any difference; the caller then builds the table. */
bool unwind_table_load(struct unwind_table *t, struct str bytes,
                       const struct unwind_source *source, struct arena *arena,
                       struct error *err);

/* The rule for a file address; never NULL: a rule with CFA_NONE if there is none. */
const struct unwind_rule *unwind_table_find(const struct unwind_table *t,
                                            uint64_t address);

/* Reads the FDE for a file address, and returns its section; false if there is none or
 * the sections are not available. */
bool unwind_table_fde(const struct unwind_table *t, uint64_t address,
                      const struct cfi_section **section, struct cfi_fde *fde);

/* Converts an offset in the file to an address; false if no segment contains it. */
static inline bool unwind_table_address(const struct unwind_table *t, uint64_t offset,
                                        uint64_t *address)
{
    for (size_t i = 0; i < t->segment_count; i++) {
        const struct unwind_segment *s = &t->segments[i];
        if (offset - s->offset < s->size) {
            *address = s->address + (offset - s->offset);
            return true;
        }
    }
    return false;
}

/* --- For those who make tables ------------------------------------------------------ */

/* Builds the page index over sorted rows: sets pages, page_count, page_shift. */
bool unwind_table_index(struct unwind_table *t, struct arena *arena);

/* The compact form of the program's current row; CFA_GENERAL if it has none. */
struct unwind_rule unwind_rule_of(const struct cfi_program *program);

/* The rule for the trampoline that a signal handler returns to, from the layout of the
 * kernel's signal frame. */
struct unwind_rule unwind_signal_rule(enum architecture machine);

#endif
