/* SPDX-License-Identifier: Apache-2.0 */
/* RISC-V instructions (rv64gc and rv32gc), as far as they say where the next one is.
 *
 * Source of the rules: The RISC-V Instruction Set Manual, volume I: "Base
 * Instruction-Length Encoding", the chapters of RV32I and of the C extension, and the
 * table of return-address-stack hints in the section on unconditional jumps: x1 and x5
 * are link registers. */
#ifndef STOKE_TRACE_INSTRUCTION_H
#define STOKE_TRACE_INSTRUCTION_H

#include <stdbool.h>
#include <stdint.h>

enum instruction_kind {
    INSTRUCTION_UNKNOWN, /* its bytes are not at hand */
    INSTRUCTION_PLAIN,   /* the next one follows */
    INSTRUCTION_BRANCH,  /* follows, or is at the target */
    INSTRUCTION_JUMP,    /* at the target */
    INSTRUCTION_CALL,    /* at the target, and returns behind this one */
    INSTRUCTION_JUMP_REGISTER,
    INSTRUCTION_CALL_REGISTER,
    INSTRUCTION_RETURN,
    INSTRUCTION_SWAP,        /* returns, and is called back behind this one */
    INSTRUCTION_ENVIRONMENT, /* ecall, ebreak: a trap, or follows */
    INSTRUCTION_TRAP_RETURN, /* sret, mret, mnret, uret */
};

struct instruction {
    enum instruction_kind kind;
    uint8_t length; /* bytes: 2, 4, 6 or 8 */
    int32_t
        displacement; /* of the target of branch, jump and call from the instruction */
};

/* The bytes of an instruction by the low 16 bits of it. */
static inline unsigned instruction_length(uint16_t low)
{
    if ((low & 3) != 3)
        return 2;
    if ((low & 0x1c) != 0x1c)
        return 4;
    return (low & 0x3f) == 0x1f ? 6 : 8;
}

/* Decodes an instruction by its first 32 bits, of which one of 2 bytes has 16. A machine
 * of 32 bits has c.jal where one of 64 bits has c.addiw. */
struct instruction instruction_decode(uint32_t bits, bool is_32);

/* How an instruction stores or loads the whole stack pointer: where a stack is switched
 * away from, or to, that is a word of its context. */
enum instruction_stack { STACK_NEITHER, STACK_STORED, STACK_LOADED };

enum instruction_stack instruction_stack(uint32_t bits, bool is_32);

/* Whether an instruction uses a register as a number: most do by the same bits. Loads
 * count, stores and jumps do not. */
bool instruction_reads(uint32_t bits, uint32_t reg);

/* The instruction may be followed by the one behind it. */
static inline bool instruction_falls_through(enum instruction_kind kind)
{
    return kind == INSTRUCTION_PLAIN || kind == INSTRUCTION_BRANCH ||
           kind == INSTRUCTION_ENVIRONMENT;
}

enum { REGISTER_T0 = 5 };

/* The register that a jump by register leads to. */
static inline unsigned instruction_base(uint32_t bits)
{
    return (bits & 3) == 3 ? bits >> 15 & 31 : bits >> 7 & 31;
}

static inline bool instruction_is_call(enum instruction_kind kind)
{
    return kind == INSTRUCTION_CALL || kind == INSTRUCTION_CALL_REGISTER ||
           kind == INSTRUCTION_SWAP;
}

#endif
