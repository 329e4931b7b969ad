/* SPDX-License-Identifier: Apache-2.0 */
/* Register numbers in two schemes: DWARF's, which call frame information uses, and
 * perf's (PERF_REG_X86_*, PERF_REG_ARM64_* in the kernel's perf_regs.h), which
 * recordings use. */
#ifndef STOKE_UNWIND_REGISTERS_H
#define STOKE_UNWIND_REGISTERS_H

#include "model/resolver.h"
#include "unwind/cfi.h"

#define REGISTER_NONE 0xff

/* Offset of the saved registers from the stack pointer in the code that a signal
 * handler returns to: x86-64's r8..r15, di, si, bp, bx, dx, ax, cx, sp, ip; AArch64's
 * x0..x30, sp, pc. */
#define SIGNAL_X86_64 40
#define SIGNAL_ARM64 312

/* The roles of registers in unwinding. */
struct register_roles {
    uint8_t sp, fp; /* DWARF numbers */
    uint8_t link;   /* holds the return address after a call, or REGISTER_NONE */
    uint8_t
        return_to;   /* the column of the return address: a number of its own, or link */
    uint8_t count;   /* DWARF numbers below this are tracked */
    uint8_t perf_pc; /* perf's number of the program counter */
    uint64_t address_max; /* upper limit of code addresses in user space */
    /* the address bits of a return address: the others may hold a signature */
    uint64_t code_mask;
    const uint8_t *perf; /* perf's number, by DWARF number; or REGISTER_NONE */
};

/* The roles on an architecture; NULL if unwinding is not supported for it. */
const struct register_roles *register_roles_of(enum architecture machine);

#endif
