/* SPDX-License-Identifier: Apache-2.0 */
/* The compact form of a row of call frame information: how to get from the three registers
 * of a frame that almost every row uses (program counter, stack and frame pointer) to
 * those of its caller. Tables (unwind/unwind_table.h) consist of them; stoke heap gives
 * them to the library in the program, which unwinds there. */
#ifndef STOKE_BASE_UNWIND_RULE_H
#define STOKE_BASE_UNWIND_RULE_H

#include <stdint.h>

/* How to compute the CFA, the caller's stack pointer. The first two are the most
 * frequent. */
enum rule_cfa {
    CFA_SP,       /* SP + offset */
    CFA_FP,       /* FP + offset */
    CFA_REGISTER, /* register `extra` + offset */
    CFA_SP_DEREF, /* (SP + offset) + extra words */
    CFA_FP_DEREF, /* (FP + offset) + extra words */
    CFA_PLT,      /* SP + offset, plus a word from byte `extra` of a 16-byte slot on */
    CFA_GENERAL,  /* needs the interpreter */
    CFA_NONE,     /* no rule for these addresses */
    CFA_NO_CODE,  /* no code is mapped there; never in a table */
};

/* Where the return address is. */
enum rule_return {
    RETURN_AT_CFA,  /* (CFA + return_offset words) */
    RETURN_IN_LINK, /* still in the link register */
    /* (SP + return_offset words); the link register is two words before */
    RETURN_AT_SP,
    RETURN_NONE,     /* this is the outermost frame */
    RETURN_SWITCHED, /* on another stack than this frame */
};

/* Additional flag: the caller was interrupted and did not call this code; this is the
 * trampoline that a signal handler returns to. */
#define RETURN_SIGNAL 0x80

/* Where the caller's frame pointer is. */
enum rule_fp {
    FP_SAME,   /* still in its register */
    FP_AT_CFA, /* (CFA + fp_offset words) */
    FP_AT_SP,  /* (SP + fp_offset words) */
    FP_AT_FP,  /* (FP + fp_offset words) */
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

#endif
