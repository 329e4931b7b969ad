/* SPDX-License-Identifier: Apache-2.0 */
/* Call frame information (CFI): how to get from a frame to its caller, by address.
 *
 * Reads `.eh_frame` (Linux Standard Base, 10.6) and `.debug_frame` (DWARF 5, 6.4): the
 * entries (CIE, FDE), and the program of an FDE, which produces a row of rules for each
 * range of addresses. All reads are bounded by the section; an invalid entry is skipped
 * and counted. No memory is allocated.
 *
 * Addresses are file addresses, as in the symbol table. */
#ifndef STOKE_UNWIND_CFI_H
#define STOKE_UNWIND_CFI_H

#include "base/bytes.h"
#include "model/resolver.h"

/* The registers that may matter to a caller, by DWARF number: x86-64's 0 to 16,
 * AArch64's 0 to 31 and 34 (whether the return address is signed). Rules for others
 * (vector registers) are read and ignored. */
#define CFI_REGISTERS 35

/* Maximum number of remembered rows; compilers need two or three. */
#define CFI_REMEMBERED_MAX 16

struct cfi_section {
    struct str bytes;
    uint64_t address; /* its address when loaded, as a file address */
    enum architecture machine;
    bool is_debug_frame; /* otherwise .eh_frame */
    bool big_endian;
    uint64_t text, data; /* bases of text- and data-relative pointers */
};

/* Common information entry: data shared by the FDEs that refer to it. */
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
    bool is_signal;           /* signal handlers return to this code ('S') */
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
    struct cfi_cie cie; /* the last one read: most FDEs share one */
    bool has_cie;
    size_t broken; /* entries skipped */
};

/* Starts at the section's first entry. The section must outlive the reader. */
struct cfi_reader cfi_reader_of(const struct cfi_section *section);

/* Reads the next FDE; false after the last. Takes time proportional to the bytes
 * passed. */
bool cfi_next(struct cfi_reader *r, struct cfi_fde *fde);

/* Reads the FDE at an offset that cfi_next returned; false if there is none. */
bool cfi_at(const struct cfi_section *section, uint64_t offset, struct cfi_fde *fde);

/* --- .eh_frame_hdr ------------------------------------------------------------------ */

/* The sorted table that the linker creates for unwinders (LSB 10.6.2). */
struct cfi_header {
    uint64_t eh_frame; /* address of .eh_frame */
    uint64_t count;    /* number of rows in the table */
    uint64_t address;  /* address of the header itself */
    struct str table;  /* rows of two signed 32-bit numbers, relative to the header */
    bool big_endian;
};

/* False if the header does not have the one form that linkers write. */
bool cfi_header_read(struct str bytes, uint64_t address, enum architecture machine,
                     bool big_endian, struct cfi_header *h);

/* The address of the last FDE that begins at or before `address`; false before the
 * first. A binary search: in an unsorted table it may return a wrong FDE; the caller
 * must check that its range contains the address. */
bool cfi_header_find(const struct cfi_header *h, uint64_t address, uint64_t *fde);

/* --- Rows --------------------------------------------------------------------------- */

enum cfi_how {
    CFI_UNSPECIFIED,      /* no rule: by convention, the caller has the same value */
    CFI_UNDEFINED,        /* lost; for the return address: there is no caller */
    CFI_SAME,             /* the register still has the caller's value */
    CFI_OFFSET,           /* at *(CFA + value) */
    CFI_VALUE_OFFSET,     /* is CFA + value */
    CFI_REGISTER,         /* is in register number value */
    CFI_EXPRESSION,       /* at *(result of an expression) */
    CFI_VALUE_EXPRESSION, /* is the result of an expression */
};

/* How to compute the canonical frame address (CFA), the stack pointer before the call. */
enum cfi_cfa {
    CFI_CFA_NONE,
    CFI_CFA_REGISTER,   /* register + offset */
    CFI_CFA_EXPRESSION, /* cfi_expression(section, cfa_value) */
};

/* The rules for the addresses [start, end). */
struct cfi_row {
    uint64_t start, end;
    enum cfi_cfa cfa;
    uint64_t cfa_register;
    int64_t cfa_value;
    bool return_signed;         /* AArch64: the return address is signed here */
    uint8_t how[CFI_REGISTERS]; /* enum cfi_how */
    int64_t value[CFI_REGISTERS];
};

/* The bytes of the expression that a rule's value refers to. */
struct str cfi_expression(const struct cfi_section *section, int64_t value);

struct cfi_program {
    const struct cfi_section *section;
    struct cfi_fde fde;
    struct bytes in;
    uint64_t next; /* start of the row after this one */
    bool done;
    bool broken; /* the program became invalid; rows before that point are valid */
    size_t depth;
    uint64_t fresh; /* bit per register: its rule became CFI_OFFSET in this row */
    uint64_t
        /* bit per register: at that time its slot was not below the stack pointer */
        pushed;
    struct cfi_row row;     /* the current one */
    struct cfi_row initial; /* the rules of the CIE */
    bool has_initial;
    struct cfi_row remembered[CFI_REMEMBERED_MAX];
};

/* Initialises a program; no other field needs a value before. */
void cfi_program_init(struct cfi_program *p, const struct cfi_section *section);

/* Starts with an FDE of the section. The rules of the previous FDE's CIE are reused if
 * it is the same CIE. */
void cfi_rows_begin(struct cfi_program *p, const struct cfi_fde *fde);

/* Puts the next row, in order of address and never empty, into p->row. False after the
 * last, or if the program is invalid. */
bool cfi_rows_next(struct cfi_program *p);

/* Returns true if a register of the current row was popped although its rule still says
 * where it was saved. Compilers do not write that an epilogue restores a register, and
 * memory below the stack pointer is invalid; the register then has the caller's value
 * again. False for leaf functions that save registers below the stack pointer. */
bool cfi_is_popped(const struct cfi_program *p, unsigned number);

/* Puts the row for an address into p->row. False if the FDE has none. */
bool cfi_row_at(struct cfi_program *p, const struct cfi_fde *fde, uint64_t address);

/* Reads a pointer in one of the encodings DW_EH_PE_*; `function` is the base of
 * function-relative ones. False if it is unreadable, indirect, or omitted. The cursor
 * must begin at the section. */
bool cfi_pointer(const struct cfi_section *section, struct bytes *in, uint8_t encoding,
                 unsigned address_size, uint64_t function, uint64_t *value);

#endif
