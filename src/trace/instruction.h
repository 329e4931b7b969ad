/* SPDX-License-Identifier: Apache-2.0 */
/* RISC-V instructions (rv64gc and rv32gc): kind, length and target, which determine
 * the next instruction.
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
    INSTRUCTION_UNKNOWN, /* its bytes are not available */
    INSTRUCTION_PLAIN,   /* the next one follows */
    INSTRUCTION_BRANCH,  /* the next one follows, or the target */
    INSTRUCTION_JUMP,    /* continues at the target */
    INSTRUCTION_CALL,    /* continues at the target, which returns after this one */
    INSTRUCTION_JUMP_REGISTER,
    INSTRUCTION_CALL_REGISTER,
    INSTRUCTION_RETURN,
    INSTRUCTION_SWAP,        /* returns, and is called back after this one */
    INSTRUCTION_ENVIRONMENT, /* ecall, ebreak: a trap, or the next one follows */
    INSTRUCTION_TRAP_RETURN, /* sret, mret, mnret, uret */
};

struct instruction {
    enum instruction_kind kind;
    uint8_t length; /* bytes: 2, 4, 6 or 8 */
    int32_t
        displacement; /* from the instruction to the target of a branch, jump or call */
};

/* The length of an instruction in bytes, by its low 16 bits. */
static inline unsigned instruction_length(uint16_t low)
{
    if ((low & 3) != 3)
        return 2;
    if ((low & 0x1c) != 0x1c)
        return 4;
    return (low & 0x3f) == 0x1f ? 6 : 8;
}

/* Decodes an instruction from its first 32 bits; one of 2 bytes uses 16 of them.
 * 32-bit machines have c.jal where 64-bit machines have c.addiw. */
struct instruction instruction_decode(uint32_t bits, bool is_32);

/* Whether an instruction stores or loads the whole stack pointer. Code that switches
 * stacks does this: the word in memory is part of a saved context. */
enum instruction_stack { STACK_NEITHER, STACK_STORED, STACK_LOADED };

enum instruction_stack instruction_stack(uint32_t bits, bool is_32);

/* Whether an instruction reads a register as a value: most do, encoded in the same
 * bits. Loads count; stores and jumps do not. */
bool instruction_reads(uint32_t bits, uint32_t reg);

/* The next instruction in memory can follow this one. */
static inline bool instruction_falls_through(enum instruction_kind kind)
{
    return kind == INSTRUCTION_PLAIN || kind == INSTRUCTION_BRANCH ||
           kind == INSTRUCTION_ENVIRONMENT;
}

enum { REGISTER_T0 = 5 };

/* The register with the target of a jump by register. */
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
