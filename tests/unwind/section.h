/* SPDX-License-Identifier: Apache-2.0 */
/* Builds small .eh_frame sections for the unit tests of src/unwind. */
#ifndef STOKE_TESTS_UNWIND_SECTION_H
#define STOKE_TESTS_UNWIND_SECTION_H

#include "unwind/unwind_table.h"

#define SECTION_ADDRESS 0x100000u

struct maker {
    char bytes[4096];
    size_t used;
    size_t cie;  /* offset of the last CIE */
    size_t from; /* start of the current entry */
};

static inline void make_number(struct maker *m, uint64_t value, size_t size)
{
    for (size_t i = 0; i < size; i++)
        m->bytes[m->used++] = (char)(value >> (8 * i));
}

static inline void make_bytes(struct maker *m, struct str bytes)
{
    memcpy(m->bytes + m->used, bytes.ptr, bytes.len);
    m->used += bytes.len;
}

static inline void make_begin(struct maker *m)
{
    m->from = m->used;
    m->used += 4;
}

static inline void make_end(struct maker *m)
{
    size_t end = m->used;
    m->used = m->from;
    make_number(m, end - m->from - 4, 4);
    m->used = end;
}

/* A CIE "zR", possibly with more letters that have no data, and with pc-relative
 * addresses. The numbers are LEB128 of one byte. */
static inline void make_cie(struct maker *m, const char *letters, uint8_t code_align,
                            uint8_t data_align, uint8_t return_register,
                            struct str program)
{
    m->cie = m->used;
    make_begin(m);
    make_number(m, 0, 4);
    make_number(m, 1, 1);
    make_bytes(m, str_of(letters));
    make_number(m, 0, 1);
    make_number(m, code_align, 1);
    make_number(m, data_align, 1);
    make_number(m, return_register, 1);
    make_number(m, 1, 1);
    make_number(m, 0x1b, 1);
    make_bytes(m, program);
    make_end(m);
}

static inline void make_fde(struct maker *m, uint64_t start, uint64_t size,
                            struct str program)
{
    make_begin(m);
    make_number(m, m->used - m->cie, 4);
    make_number(m, start - (SECTION_ADDRESS + m->used), 4);
    make_number(m, size, 4);
    make_number(m, 0, 1);
    make_bytes(m, program);
    make_end(m);
}

static inline struct cfi_section made_section(const struct maker *m,
                                              enum architecture machine)
{
    return (struct cfi_section){
        .bytes = {m->bytes, m->used}, .address = SECTION_ADDRESS, .machine = machine};
}

/* The CFA is the stack pointer plus 8, with the return address below it. */
#define X86_64_PROGRAM STR("\x0c\x07\x08\x90\x01")

/* The CFA is the stack pointer. */
#define ARM64_PROGRAM STR("\x0c\x1f\x00")

static inline void make_x86_64_cie(struct maker *m)
{
    make_cie(m, "zR", 1, 0x78, 16, X86_64_PROGRAM);
}

static inline void make_arm64_cie(struct maker *m)
{
    make_cie(m, "zR", 4, 0x78, 30, (struct str){"\x0c\x1f\x00", 3});
}

#endif
