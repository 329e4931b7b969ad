/* SPDX-License-Identifier: Apache-2.0 */
/* A module's call frame information, compiled once for looking up many addresses: sorted
 * rows {address, rule}, where equal rules are one. What the rules cannot say is left to
 * the interpreter (cfi.h), which finds the FDE of any address through the table too.
 *
 * A table is read-only once made, so threads may share it. */
#ifndef STOKE_UNWIND_TABLE_H
#define STOKE_UNWIND_TABLE_H

#include "base/arena.h"
#include "base/error.h"
#include "unwind/cfi.h"

#define UNWIND_SECTIONS_MAX 2
#define UNWIND_SEGMENTS_MAX 16
#define UNWIND_SWITCHES_MAX 16

/* Where the frame's CFA, the caller's stack pointer, is. The first two are most. */
enum rule_cfa {
    CFA_SP,       /* SP + offset */
    CFA_FP,       /* FP + offset */
    CFA_REGISTER, /* register `extra` + offset */
    CFA_SP_DEREF, /* *(SP + offset) + extra words */
    CFA_FP_DEREF, /* *(FP + offset) + extra words */
    CFA_PLT,      /* SP + offset, and a word more from byte `extra` of a slot of 16 on */
    CFA_GENERAL,  /* what the interpreter makes of it */
    CFA_NONE,     /* there is no rule for these addresses */
    CFA_NO_CODE,  /* no code is mapped there; never in a table */
};

/* Where the return address is. */
enum rule_return {
    RETURN_AT_CFA,   /* *(CFA + return_offset words) */
    RETURN_IN_LINK,  /* still in the link register */
    RETURN_AT_SP,    /* *(SP + return_offset words); the link register two words before */
    RETURN_NONE,     /* this is the outermost frame */
    RETURN_SWITCHED, /* on another stack than this frame's */
};

/* Flag beside it: the caller was interrupted, and did not call, this code: the trampoline
 * to which a signal handler returns. */
#define RETURN_SIGNAL 0x80

/* Where the caller's frame pointer is. */
enum rule_fp {
    FP_SAME,   /* still in its register */
    FP_AT_CFA, /* *(CFA + fp_offset words) */
    FP_AT_SP,  /* *(SP + fp_offset words) */
    FP_AT_FP,  /* *(FP + fp_offset words) */
    FP_LOST,
};

struct unwind_rule {
    uint8_t cfa;  /* enum rule_cfa */
    uint8_t from; /* enum rule_return, RETURN_SIGNAL */
    uint8_t fp;   /* enum rule_fp */
    uint8_t extra;
    int32_t cfa_offset; /* bytes */
    int16_t return_offset, fp_offset;
};

_Static_assert(sizeof(struct unwind_rule) == 12, "a rule is small");

/* Which part of the file lies where: addresses in a file are not offsets in it. */
struct unwind_segment {
    uint64_t offset, size, address;
};

/* Code that runs on another stack than it was called on: what its call frame information
 * says of the stack does not hold at [start, end). */
struct unwind_switch {
    uint64_t start, end;
    bool returns; /* to the other stack; else this is the outermost frame */
};

/* What a table is made of. All bytes stay the caller's. */
struct unwind_source {
    enum architecture machine;
    /* .eh_frame, then .debug_frame: where both tell of an address, the first counts. */
    struct cfi_section sections[UNWIND_SECTIONS_MAX];
    size_t section_count;
    struct unwind_segment segments[UNWIND_SEGMENTS_MAX]; /* PT_LOAD, executable */
    size_t segment_count;
    /* The code in which signal trampolines without an FDE are looked for (the vdso of
     * AArch64, musl's libc), or empty; it is read from end to end. */
    struct str code;
    uint64_t code_address;
    bool is_go; /* made by Go, whose own code keeps frame pointers */
    struct unwind_switch switches[UNWIND_SWITCHES_MAX]; /* in order */
    size_t switch_count;
};

/* Where an FDE begins, and its entry: offset << 1 | section. */
struct unwind_fde {
    uint32_t pc; /* less the table's base */
    uint32_t end;
    uint64_t entry;
};

struct unwind_table {
    enum architecture machine;
    uint64_t base;           /* the lowest address; rows count from it */
    const uint32_t *pcs;     /* sorted; the first is 0, and the last row is CFA_NONE */
    const uint16_t *rule_of; /* per row */
    size_t row_count;
    const struct unwind_rule *rules;
    size_t rule_count;
    /* The rows before page i, for the pages of 1 << page_shift bytes, and one more. */
    const uint32_t *pages;
    size_t page_count;
    unsigned page_shift;
    const struct unwind_fde *fdes; /* sorted, without overlaps */
    size_t fde_count;
    struct unwind_segment segments[UNWIND_SEGMENTS_MAX];
    size_t segment_count;
    /* Where the interpreter reads; section_count 0 where the sections are not at hand. */
    struct cfi_section sections[UNWIND_SECTIONS_MAX];
    size_t section_count;
    size_t broken; /* entries that were left out, and programs that broke off */
};

/* Compiles. The table's memory is the arena's; the sections' bytes must outlive the
 * table, which goes back to them for general rules. Fails for want of memory, or of a
 * machine that can be unwound; what is broken in the sections is left out and counted. A
 * module without any rule gives a table without rows. */
bool unwind_table_build(struct unwind_table *t, const struct unwind_source *source,
                        struct arena *arena, struct error *err);

/* The same of a single function: that of the FDE at an offset of the first section. */
bool unwind_table_build_function(struct unwind_table *t,
                                 const struct unwind_source *source, uint64_t fde,
                                 struct arena *arena, struct error *err);

/* The table as bytes, to be kept under the build id of the file; empty when memory is
 * short. The sections are not in it. */
struct str unwind_table_bytes(const struct unwind_table *t, struct arena *arena);

/* Makes a table of bytes that unwind_table_bytes gave, by this version, for a source with
 * sections of the same sizes and the same segments. Everything is checked: false, with
 * why, where anything is not as it was written, and the table is to be built. */
bool unwind_table_load(struct unwind_table *t, struct str bytes,
                       const struct unwind_source *source, struct arena *arena,
                       struct error *err);

/* The rule for an address of the file; never NULL: that of CFA_NONE where there is none.
 */
const struct unwind_rule *unwind_table_find(const struct unwind_table *t,
                                            uint64_t address);

/* The FDE for an address of the file, read anew, with its section; false where there is
 * none or the sections are not at hand. */
bool unwind_table_fde(const struct unwind_table *t, uint64_t address,
                      const struct cfi_section **section, struct cfi_fde *fde);

/* The address of an offset in the file; false where no segment holds it. */
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

/* The page index over rows in order: sets pages, page_count, page_shift. */
bool unwind_table_index(struct unwind_table *t, struct arena *arena);

/* The compact form of the program's current row; CFA_GENERAL where it has none. */
struct unwind_rule unwind_rule_of(const struct cfi_program *program);

/* The rule for the code to which a signal handler returns, by the layout of the frame
 * that the kernel makes. */
struct unwind_rule unwind_signal_rule(enum architecture machine);

#endif
