/* SPDX-License-Identifier: Apache-2.0 */
#include "trace/instruction.h"

enum opcode {
    OPCODE_LOAD = 0x03,
    OPCODE_STORE = 0x23,
    OPCODE_BRANCH = 0x63,
    OPCODE_JALR = 0x67,
    OPCODE_JAL = 0x6f,
    OPCODE_SYSTEM = 0x73
};

enum { ECALL = 0x00000073, EBREAK = 0x00100073, C_EBREAK = 0x9002 };
enum { URET = 0x00200073, SRET = 0x10200073, MRET = 0x30200073, MNRET = 0x70200073 };

/* Bits [low, low + count) of x, moved to the bit `to`. */
static uint32_t take(uint32_t x, unsigned low, unsigned count, unsigned to)
{
    return (x >> low & ((1u << count) - 1)) << to;
}

/* Sign-extends a number of `bits` bits. */
static int32_t extend(uint32_t x, unsigned bits)
{
    uint32_t sign = 1u << (bits - 1);
    return (int32_t)((x ^ sign) - sign);
}

static bool is_link(uint32_t reg)
{
    return reg == 1 || reg == 5;
}

/* The hints of jalr. */
static enum instruction_kind kind_by_registers(uint32_t to, uint32_t from)
{
    if (is_link(to) && is_link(from) && to != from)
        return INSTRUCTION_SWAP;
    if (is_link(to))
        return INSTRUCTION_CALL_REGISTER;
    return is_link(from) ? INSTRUCTION_RETURN : INSTRUCTION_JUMP_REGISTER;
}

static int32_t branch_displacement(uint32_t x)
{
    return extend(take(x, 31, 1, 12) | take(x, 7, 1, 11) | take(x, 25, 6, 5) |
                      take(x, 8, 4, 1),
                  13);
}

static int32_t jump_displacement(uint32_t x)
{
    return extend(take(x, 31, 1, 20) | take(x, 12, 8, 12) | take(x, 20, 1, 11) |
                      take(x, 21, 10, 1),
                  21);
}

static enum instruction_kind system_kind(uint32_t x)
{
    if (x == ECALL || x == EBREAK)
        return INSTRUCTION_ENVIRONMENT;
    bool back = x == URET || x == SRET || x == MRET || x == MNRET;
    return back ? INSTRUCTION_TRAP_RETURN : INSTRUCTION_PLAIN;
}

static struct instruction decode_long(uint32_t x)
{
    struct instruction in = {INSTRUCTION_PLAIN, 4, 0};
    uint32_t to = take(x, 7, 5, 0), from = take(x, 15, 5, 0);
    switch (x & 0x7f) {
    case OPCODE_BRANCH:
        in.kind = INSTRUCTION_BRANCH;
        in.displacement = branch_displacement(x);
        break;
    case OPCODE_JAL:
        in.kind = is_link(to) ? INSTRUCTION_CALL : INSTRUCTION_JUMP;
        in.displacement = jump_displacement(x);
        break;
    case OPCODE_JALR:
        if ((x & 0x7000) == 0)
            in.kind = kind_by_registers(to, from);
        break;
    case OPCODE_SYSTEM:
        in.kind = system_kind(x);
        break;
    default:
        break;
    }
    return in;
}

/* c.jr, c.jalr and c.ebreak have the opcode of c.mv and c.add. */
static enum instruction_kind short_register_kind(uint32_t x)
{
    uint32_t from = take(x, 7, 5, 0);
    bool links = x & 0x1000;
    if (x == C_EBREAK)
        return INSTRUCTION_ENVIRONMENT;
    if (take(x, 2, 5, 0) != 0 || from == 0)
        return INSTRUCTION_PLAIN;
    return kind_by_registers(links ? 1 : 0, from);
}

/* For c.j and c.jal. */
static int32_t short_jump_displacement(uint32_t x)
{
    return extend(take(x, 12, 1, 11) | take(x, 8, 1, 10) | take(x, 9, 2, 8) |
                      take(x, 6, 1, 7) | take(x, 7, 1, 6) | take(x, 2, 1, 5) |
                      take(x, 11, 1, 4) | take(x, 3, 3, 1),
                  12);
}

static struct instruction decode_short(uint32_t x)
{
    struct instruction in = {INSTRUCTION_PLAIN, 2, 0};
    switch (x & 0xe003) {
    case 0xa001: /* c.j */
        in.kind = INSTRUCTION_JUMP;
        in.displacement = short_jump_displacement(x);
        break;
    case 0xc001: /* c.beqz, c.bnez */
    case 0xe001:
        in.kind = INSTRUCTION_BRANCH;
        in.displacement = extend(take(x, 12, 1, 8) | take(x, 5, 2, 6) | take(x, 2, 1, 5) |
                                     take(x, 10, 2, 3) | take(x, 3, 2, 1),
                                 9);
        break;
    case 0x8002:
        in.kind = short_register_kind(x);
        break;
    default:
        break;
    }
    return in;
}

/* c.addiw of RV64. */
#define C_JAL 0x2001

struct instruction instruction_decode(uint32_t bits, bool is_32)
{
    unsigned length = instruction_length((uint16_t)bits);
    if (length == 2 && is_32 && (bits & 0xe003) == C_JAL)
        return (struct instruction){INSTRUCTION_CALL, 2, short_jump_displacement(bits)};
    if (length == 2)
        return decode_short(bits & 0xffff);
    if (length == 4)
        return decode_long(bits);
    return (struct instruction){INSTRUCTION_PLAIN, (uint8_t)length, 0};
}

#define REGISTER_SP 2

enum instruction_stack instruction_stack(uint32_t bits, bool is_32)
{
    uint32_t width = is_32 ? 2 : 3, to = bits >> 7 & 31;
    if (instruction_length((uint16_t)bits) == 2) {
        uint32_t function = bits >> 13 & 7;
        if ((bits & 3) != 2)
            return STACK_NEITHER;
        if (function == width && to == REGISTER_SP) /* c.ldsp, c.lwsp */
            return STACK_LOADED;
        bool stores = function == width + 4 && (bits >> 2 & 31) == REGISTER_SP;
        return stores ? STACK_STORED : STACK_NEITHER;
    }
    if ((bits >> 12 & 7) != width)
        return STACK_NEITHER;
    if ((bits & 0x7f) == OPCODE_LOAD && to == REGISTER_SP)
        return STACK_LOADED;
    bool stores = (bits & 0x7f) == OPCODE_STORE && (bits >> 20 & 31) == REGISTER_SP;
    return stores ? STACK_STORED : STACK_NEITHER;
}

bool instruction_reads(uint32_t bits, uint32_t reg)
{
    if (instruction_length((uint16_t)bits) == 2) {
        bool moves = (bits & 0xe003) == 0x8002; /* c.mv, c.add */
        bool adds = (bits & 0xe003) == 0x0001;  /* c.addi */
        return (moves && (bits >> 2 & 31) == reg) || (adds && (bits >> 7 & 31) == reg);
    }
    uint32_t opcode = bits & 0x7f;
    bool is_read = opcode == 0x13 || opcode == 0x1b || opcode == 0x03 || opcode == 0x33;
    return is_read && (bits >> 15 & 31) == reg;
}
