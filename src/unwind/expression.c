/* SPDX-License-Identifier: Apache-2.0 */
#include "unwind/expression.h"

#define ADDRESS_SIZE 8

/* DW_OP_* (DWARF 5, 7.7.1). */
enum {
    OP_ADDR = 0x03,
    OP_DEREF = 0x06,
    OP_CONST1U = 0x08,
    OP_CONST1S,
    OP_CONST2U,
    OP_CONST2S,
    OP_CONST4U,
    OP_CONST4S,
    OP_CONST8U,
    OP_CONST8S,
    OP_CONSTU,
    OP_CONSTS,
    OP_DUP,
    OP_DROP,
    OP_OVER,
    OP_PICK,
    OP_SWAP,
    OP_ROT,
    OP_ABS = 0x19,
    OP_AND,
    OP_DIV,
    OP_MINUS,
    OP_MOD,
    OP_MUL,
    OP_NEG,
    OP_NOT,
    OP_OR,
    OP_PLUS,
    OP_PLUS_UCONST,
    OP_SHL,
    OP_SHR,
    OP_SHRA,
    OP_XOR,
    OP_BRA,
    OP_EQ,
    OP_GE,
    OP_GT,
    OP_LE,
    OP_LT,
    OP_NE,
    OP_SKIP,
    OP_LIT0 = 0x30,
    OP_LIT31 = 0x4f,
    OP_BREG0 = 0x70,
    OP_BREG31 = 0x8f,
    OP_BREGX = 0x92,
    OP_DEREF_SIZE = 0x94,
    OP_NOP = 0x96,
    OP_STACK_VALUE = 0x9f,
};

struct evaluation {
    const struct expression_access *access;
    struct bytes in;
    uint64_t stack[EXPRESSION_STACK_MAX];
    size_t depth;
    bool failed;
};

static void push(struct evaluation *e, uint64_t value)
{
    if (e->depth == EXPRESSION_STACK_MAX)
        e->failed = true;
    else
        e->stack[e->depth++] = value;
}

static uint64_t pop(struct evaluation *e)
{
    if (e->depth == 0) {
        e->failed = true;
        return 0;
    }
    return e->stack[--e->depth];
}

/* The item `index` below the top. */
static uint64_t peek(struct evaluation *e, size_t index)
{
    if (index >= e->depth) {
        e->failed = true;
        return 0;
    }
    return e->stack[e->depth - 1 - index];
}

static void push_register(struct evaluation *e, uint64_t number)
{
    int64_t offset = bytes_sleb(&e->in);
    uint64_t value = 0;
    if (!e->access->reg || !e->access->reg(e->access->context, number, &value))
        e->failed = true;
    push(e, value + (uint64_t)offset);
}

static void dereference(struct evaluation *e, unsigned size)
{
    uint64_t address = pop(e), value = 0;
    bool sized = size == 1 || size == 2 || size == 4 || size == 8;
    if (e->failed || !sized || !e->access->memory ||
        !e->access->memory(e->access->context, address, size, &value))
        e->failed = true;
    push(e, value);
}

/* Constants; false if it is another operation. */
static bool run_constant(struct evaluation *e, uint8_t op)
{
    struct bytes *in = &e->in;
    if (op >= OP_LIT0 && op <= OP_LIT31) {
        push(e, op - (uint64_t)OP_LIT0);
        return true;
    }
    switch (op) {
    case OP_ADDR:
        push(e, bytes_number(in, ADDRESS_SIZE) + e->access->bias);
        return true;
    case OP_CONST1U:
        push(e, bytes_u8(in));
        return true;
    case OP_CONST1S:
        push(e, (uint64_t)(int8_t)bytes_u8(in));
        return true;
    case OP_CONST2U:
        push(e, bytes_u16(in));
        return true;
    case OP_CONST2S:
        push(e, (uint64_t)(int16_t)bytes_u16(in));
        return true;
    case OP_CONST4U:
        push(e, bytes_u32(in));
        return true;
    case OP_CONST4S:
        push(e, (uint64_t)(int32_t)bytes_u32(in));
        return true;
    case OP_CONST8U:
    case OP_CONST8S:
        push(e, bytes_u64(in));
        return true;
    case OP_CONSTU:
        push(e, bytes_uleb(in));
        return true;
    case OP_CONSTS:
        push(e, (uint64_t)bytes_sleb(in));
        return true;
    default:
        return false;
    }
}

/* Stack operations; false if it is another operation. */
static bool run_stack(struct evaluation *e, uint8_t op)
{
    uint64_t top, second, third;
    switch (op) {
    case OP_DUP:
        push(e, peek(e, 0));
        return true;
    case OP_DROP:
        pop(e);
        return true;
    case OP_OVER:
        push(e, peek(e, 1));
        return true;
    case OP_PICK:
        push(e, peek(e, bytes_u8(&e->in)));
        return true;
    case OP_SWAP:
        top = pop(e);
        second = pop(e);
        push(e, top);
        push(e, second);
        return true;
    case OP_ROT:
        top = pop(e);
        second = pop(e);
        third = pop(e);
        push(e, top);
        push(e, third);
        push(e, second);
        return true;
    default:
        return false;
    }
}

/* Operations on the top item; false if it is another operation. */
static bool run_unary(struct evaluation *e, uint8_t op)
{
    uint64_t value;
    switch (op) {
    case OP_ABS:
        value = pop(e);
        push(e, value >> 63 ? 0 - value : value);
        return true;
    case OP_NEG:
        push(e, 0 - pop(e));
        return true;
    case OP_NOT:
        push(e, ~pop(e));
        return true;
    case OP_PLUS_UCONST:
        value = pop(e);
        push(e, value + bytes_uleb(&e->in));
        return true;
    case OP_DEREF:
        dereference(e, ADDRESS_SIZE);
        return true;
    case OP_DEREF_SIZE:
        dereference(e, bytes_u8(&e->in));
        return true;
    default:
        return false;
    }
}

/* Signed (DWARF 5, 2.5.1.4). The only quotient that does not fit wraps. */
static uint64_t divide(struct evaluation *e, uint64_t a, uint64_t b)
{
    if (b == 0) {
        e->failed = true;
        return 0;
    }
    if (b == UINT64_MAX)
        return 0 - a;
    return (uint64_t)((int64_t)a / (int64_t)b);
}

static uint64_t modulo(struct evaluation *e, uint64_t a, uint64_t b)
{
    if (b == 0) {
        e->failed = true;
        return 0;
    }
    return a % b;
}

static uint64_t shift(uint8_t op, uint64_t a, uint64_t by)
{
    if (op == OP_SHRA)
        return (uint64_t)((int64_t)a >> (by < 63 ? by : 63));
    if (by > 63)
        return 0;
    return op == OP_SHL ? a << by : a >> by;
}

static bool compare(uint8_t op, int64_t a, int64_t b)
{
    switch (op) {
    case OP_EQ:
        return a == b;
    case OP_GE:
        return a >= b;
    case OP_GT:
        return a > b;
    case OP_LE:
        return a <= b;
    case OP_LT:
        return a < b;
    default:
        return a != b;
    }
}

/* Operations on the top two items; false if it is another operation. */
static bool run_binary(struct evaluation *e, uint8_t op)
{
    bool known = op == OP_AND || (op >= OP_DIV && op <= OP_MUL) || op == OP_OR ||
                 op == OP_PLUS || (op >= OP_SHL && op <= OP_XOR) ||
                 (op >= OP_EQ && op <= OP_NE);
    if (!known)
        return false;
    uint64_t b = pop(e), a = pop(e);
    switch (op) {
    case OP_AND:
        push(e, a & b);
        break;
    case OP_DIV:
        push(e, divide(e, a, b));
        break;
    case OP_MINUS:
        push(e, a - b);
        break;
    case OP_MOD:
        push(e, modulo(e, a, b));
        break;
    case OP_MUL:
        push(e, a * b);
        break;
    case OP_OR:
        push(e, a | b);
        break;
    case OP_PLUS:
        push(e, a + b);
        break;
    case OP_SHL:
    case OP_SHR:
    case OP_SHRA:
        push(e, shift(op, a, b));
        break;
    case OP_XOR:
        push(e, a ^ b);
        break;
    default:
        push(e, compare(op, (int64_t)a, (int64_t)b));
        break;
    }
    return true;
}

/* Moves `by` bytes forward or back. */
static void jump(struct evaluation *e, int16_t by)
{
    int64_t at = (int64_t)bytes_offset(&e->in) + by;
    if (at < 0)
        e->failed = true;
    else
        bytes_seek(&e->in, (uint64_t)at);
}

static bool run_jump(struct evaluation *e, uint8_t op)
{
    if (op != OP_SKIP && op != OP_BRA)
        return false;
    int16_t by = (int16_t)bytes_u16(&e->in);
    if (op == OP_SKIP || pop(e))
        jump(e, by);
    return true;
}

static bool run(struct evaluation *e, uint8_t op)
{
    if (op >= OP_BREG0 && op <= OP_BREG31) {
        push_register(e, op - (uint64_t)OP_BREG0);
        return true;
    }
    if (op == OP_BREGX) {
        push_register(e, bytes_uleb(&e->in));
        return true;
    }
    return op == OP_NOP || run_constant(e, op) || run_stack(e, op) || run_unary(e, op) ||
           run_binary(e, op) || run_jump(e, op);
}

bool expression_evaluate(struct str code, const struct expression_access *access,
                         const uint64_t *first, uint64_t *value)
{
    struct evaluation e;
    e.access = access;
    e.in = bytes_of(code, access->big_endian);
    e.depth = 0;
    e.failed = false;
    if (first)
        push(&e, *first);
    for (unsigned step = 0; bytes_left(&e.in); step++) {
        uint8_t op = bytes_u8(&e.in);
        if (op == OP_STACK_VALUE)
            break;
        if (step == EXPRESSION_STEPS_MAX || !run(&e, op) || e.failed || e.in.failed)
            return false;
    }
    if (e.depth == 0)
        return false;
    *value = e.stack[e.depth - 1];
    return true;
}
