/* SPDX-License-Identifier: Apache-2.0 */
/* Registers under their two numberings: DWARF's, which call frame information speaks, and
 * perf's (PERF_REG_X86_*, PERF_REG_ARM64_* of the kernel's perf_regs.h), which recordings
 * hold. */
#ifndef STOKE_UNWIND_REGISTERS_H
#define STOKE_UNWIND_REGISTERS_H

#include "model/resolver.h"
#include "unwind/cfi.h"

#define REGISTER_NONE 0xff

/* Where the registers of the interrupted code begin, counted from the stack pointer of
 * the code to which a signal handler returns: x86-64's r8..r15, di, si, bp, bx, dx, ax,
 * cx, sp, ip; AArch64's x0..x30, sp, pc. */
#define SIGNAL_X86_64 40
#define SIGNAL_ARM64 312

/* The part that registers play for an unwinder. */
struct register_roles {
    uint8_t sp, fp; /* DWARF's numbers */
    uint8_t link;   /* where a call leaves the return address, or REGISTER_NONE */
    uint8_t
        return_to;   /* the column of the return address: a number of its own, or link */
    uint8_t count;   /* DWARF's numbers below it are of interest */
    uint8_t perf_pc; /* perf's number of the program counter */
    uint64_t address_max; /* of code that a user's program runs */
    uint64_t code_mask;   /* what of a return address is an address: the rest signs it */
    const uint8_t *perf;  /* perf's number by DWARF's, or REGISTER_NONE */
};

/* The roles on a machine; NULL where it is none that can be unwound. */
const struct register_roles *register_roles_of(enum architecture machine);

#endif
