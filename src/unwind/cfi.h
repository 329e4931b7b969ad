/* SPDX-License-Identifier: Apache-2.0 */
/* Call frame information: how to get from a frame to its caller, by address.
 *
 * Reads `.eh_frame` (Linux Standard Base, 10.6) and `.debug_frame` (DWARF 5, 6.4): the
 * entries (CIE, FDE), and the program of an FDE, which gives a row of rules for each
 * range of addresses. Everything is read from the bytes of a section and bounded by them;
 * an entry that makes no sense is left out and counted. No memory is allocated.
 *
 * Addresses are the file's, as in its symbol table. */
#ifndef STOKE_UNWIND_CFI_H
#define STOKE_UNWIND_CFI_H

#include "base/bytes.h"
#include "model/resolver.h"

/* Registers by DWARF's numbers, those that may matter to a caller: x86-64's 0 to 16,
 * AArch64's 0 to 31 and 34, whether the return address is signed. Rules for the others
 * (vectors) are read and forgotten. */
#define CFI_REGISTERS 35

/* Rows remembered by a program at one time; compilers need two or three. */
#define CFI_REMEMBERED_MAX 16

struct cfi_section {
    struct str bytes;
    uint64_t address; /* where it is loaded, in the file's addresses */
    enum architecture machine;
    bool is_debug_frame; /* else .eh_frame */
    bool big_endian;
    uint64_t text, data; /* what pointers relative to text and data are relative to */
};

/* Common information entry: what the FDEs that refer to it share. */
struct cfi_cie {
    uint64_t offset; /* in the section */
    uint64_t code_align;
    int64_t data_align;
    uint64_t return_register;
    uint8_t id_size;          /* of the entry's id, and of those that refer to it */
    uint8_t address_size;     /* 2, 4 or 8 */
    uint8_t segment_size;     /* of the selector before an address (version 4) */
    uint8_t pointer_encoding; /* of the FDE's addresses: DW_EH_PE_* */
    bool has_size;            /* of augmentation data in the FDEs ('z') */
    bool is_signal;           /* a signal handler returns to this code ('S') */
    bool signs_with_b;        /* AArch64: return addresses are signed with key B */
    struct str instructions;
};

/* Frame description entry: the addresses [start, end) of a function. */
struct cfi_fde {
    struct cfi_cie cie;
    uint64_t offset; /* in the section */
    uint64_t start, end;
    struct str instructions;
};

/* --- Entries ------------------------------------------------------------------------ */

struct cfi_reader {
    const struct cfi_section *section;
    uint64_t at;
    struct cfi_cie cie; /* the last that was read: most FDEs share one */
    bool has_cie;
    size_t broken; /* entries left out */
};

/* Begins with the section's first entry. The section stays the caller's and outlives the
 * reader. */
struct cfi_reader cfi_reader_of(const struct cfi_section *section);

/* The next FDE; false behind the last. Takes time in proportion to the bytes passed. */
bool cfi_next(struct cfi_reader *r, struct cfi_fde *fde);

/* The FDE at an offset, as cfi_next gave it; false where there is none. */
bool cfi_at(const struct cfi_section *section, uint64_t offset, struct cfi_fde *fde);

/* --- .eh_frame_hdr ------------------------------------------------------------------ */

/* The sorted table that the linker makes for the unwinder (LSB 10.6.2). */
struct cfi_header {
    uint64_t eh_frame; /* address of .eh_frame */
    uint64_t count;    /* of rows in the table */
    uint64_t address;  /* of the header itself */
    struct str table;  /* rows of two signed 32-bit numbers, relative to the header */
    bool big_endian;
};

/* False where the header is not of the one form that linkers write. */
bool cfi_header_read(struct str bytes, uint64_t address, enum architecture machine,
                     bool big_endian, struct cfi_header *h);

/* The address of the last FDE that begins at or before `address`; false before the first.
 * A binary search: a table that is not sorted gives a wrong FDE, which covers another
 * range, and that is the caller's to see. */
bool cfi_header_find(const struct cfi_header *h, uint64_t address, uint64_t *fde);

/* --- Rows --------------------------------------------------------------------------- */

enum cfi_how {
    CFI_UNSPECIFIED,      /* nothing is said: the caller's is the same, by custom */
    CFI_UNDEFINED,        /* lost; of the return address: there is no caller */
    CFI_SAME,             /* the caller's value is still in the register */
    CFI_OFFSET,           /* at *(CFA + value) */
    CFI_VALUE_OFFSET,     /* is CFA + value */
    CFI_REGISTER,         /* is in register number value */
    CFI_EXPRESSION,       /* at *(result of an expression) */
    CFI_VALUE_EXPRESSION, /* is the result of an expression */
};

/* How the canonical frame address, the stack pointer before the call, is found. */
enum cfi_cfa {
    CFI_CFA_NONE,
    CFI_CFA_REGISTER,   /* register + offset */
    CFI_CFA_EXPRESSION, /* cfi_expression(section, cfa_value) */
};

/* The rules that hold at the addresses [start, end). */
struct cfi_row {
    uint64_t start, end;
    enum cfi_cfa cfa;
    uint64_t cfa_register;
    int64_t cfa_value;
    bool return_signed;         /* AArch64: the return address is signed here */
    uint8_t how[CFI_REGISTERS]; /* enum cfi_how */
    int64_t value[CFI_REGISTERS];
};

/* The bytes of an expression of which a rule's value tells. */
struct str cfi_expression(const struct cfi_section *section, int64_t value);

struct cfi_program {
    const struct cfi_section *section;
    struct cfi_fde fde;
    struct bytes in;
    uint64_t next; /* where the row behind this one begins */
    bool done;
    bool broken; /* the program stopped making sense; rows given before it stand */
    size_t depth;
    uint64_t fresh; /* bit per register: its rule became CFI_OFFSET in this row */
    uint64_t
        pushed; /* bit per register: then, its place was not below the stack pointer */
    struct cfi_row row;     /* the current one */
    struct cfi_row initial; /* what the CIE says */
    bool has_initial;
    struct cfi_row remembered[CFI_REMEMBERED_MAX];
};

/* Makes a program ready; nothing else has to be set in it before. */
void cfi_program_init(struct cfi_program *p, const struct cfi_section *section);

/* Begins with an FDE of the section. What the last FDE's CIE said is used again where it
 * is the same one. */
void cfi_rows_begin(struct cfi_program *p, const struct cfi_fde *fde);

/* Puts the next row, in order of addresses and never an empty one, into p->row. False
 * behind the last, or where the program breaks. */
bool cfi_rows_next(struct cfi_program *p);

/* Whether a register of the current row has been popped although its rule still tells
 * where it was saved: compilers do not say that an epilogue restores a register, and what
 * lies below the stack pointer is no longer memory. Its value is then the same again.
 * False for leaf code that saves below the stack pointer to begin with. */
bool cfi_is_popped(const struct cfi_program *p, unsigned number);

/* Puts the row for an address into p->row. False where the FDE has none. */
bool cfi_row_at(struct cfi_program *p, const struct cfi_fde *fde, uint64_t address);

/* Reads a pointer of one of the encodings DW_EH_PE_*; `function` is what it may be
 * relative to. False where it cannot be read, is indirect, or is left out. The cursor's
 * begin is the section's. */
bool cfi_pointer(const struct cfi_section *section, struct bytes *in, uint8_t encoding,
                 unsigned address_size, uint64_t function, uint64_t *value);

#endif
