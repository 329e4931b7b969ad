/* SPDX-License-Identifier: Apache-2.0 */
/* Runs the programs of FDEs (DWARF 5, 6.4.2), which produce the rows one by one. */
#include "unwind/cfi.h"

/* DW_CFA_*. The first three have an operand in their low six bits. */
enum {
    OP_ADVANCE = 0x40,
    OP_OFFSET = 0x80,
    OP_RESTORE = 0xc0,
    OP_NOP = 0x00,
    OP_SET_LOC = 0x01,
    OP_ADVANCE_1 = 0x02,
    OP_ADVANCE_2 = 0x03,
    OP_ADVANCE_4 = 0x04,
    OP_OFFSET_EXTENDED = 0x05,
    OP_RESTORE_EXTENDED = 0x06,
    OP_UNDEFINED = 0x07,
    OP_SAME_VALUE = 0x08,
    OP_REGISTER = 0x09,
    OP_REMEMBER = 0x0a,
    OP_RESTORE_STATE = 0x0b,
    OP_DEF_CFA = 0x0c,
    OP_DEF_CFA_REGISTER = 0x0d,
    OP_DEF_CFA_OFFSET = 0x0e,
    OP_DEF_CFA_EXPRESSION = 0x0f,
    OP_EXPRESSION = 0x10,
    OP_OFFSET_EXTENDED_SF = 0x11,
    OP_DEF_CFA_SF = 0x12,
    OP_DEF_CFA_OFFSET_SF = 0x13,
    OP_VAL_OFFSET = 0x14,
    OP_VAL_OFFSET_SF = 0x15,
    OP_VAL_EXPRESSION = 0x16,
    OP_ADVANCE_8 = 0x1d,                /* MIPS */
    OP_NEGATE_RA_STATE_WITH_PC = 0x2c,  /* AArch64 */
    OP_NEGATE_RA_STATE = 0x2d,          /* AArch64; elsewhere GNU_window_save */
    OP_ARGS_SIZE = 0x2e,                /* GNU */
    OP_NEGATIVE_OFFSET_EXTENDED = 0x2f, /* GNU */
};

struct str cfi_expression(const struct cfi_section *section, int64_t value)
{
    uint64_t v = (uint64_t)value;
    return str_part(section->bytes, v >> 32, v & UINT32_MAX);
}

/* Reads an expression; returns its offset, as the value of a rule. */
static int64_t read_expression(struct cfi_program *p)
{
    uint64_t size = bytes_uleb(&p->in);
    struct str code = bytes_take(&p->in, size);
    uint64_t offset = (uint64_t)(code.ptr - p->section->bytes.ptr);
    return (int64_t)(offset << 32 | code.len);
}

static void set_rule(struct cfi_program *p, uint64_t number, enum cfi_how how,
                     int64_t value)
{
    if (number < CFI_REGISTERS) {
        p->row.how[number] = (uint8_t)how;
        p->row.value[number] = value;
        if (how == CFI_OFFSET)
            p->fresh |= (uint64_t)1 << number;
    }
}

/* A factored offset; wraps instead of overflowing. */
static int64_t factored(const struct cfi_program *p, uint64_t operand)
{
    return (int64_t)(operand * (uint64_t)p->fde.cie.data_align);
}

static void restore(struct cfi_program *p, uint64_t number)
{
    if (number < CFI_REGISTERS)
        set_rule(p, number, p->has_initial ? p->initial.how[number] : CFI_UNSPECIFIED,
                 p->has_initial ? p->initial.value[number] : 0);
}

static bool remember(struct cfi_program *p)
{
    if (p->depth == CFI_REMEMBERED_MAX)
        return false;
    p->remembered[p->depth++] = p->row;
    return true;
}

static bool restore_state(struct cfi_program *p)
{
    uint64_t start = p->row.start;
    if (p->depth == 0)
        return false;
    p->row = p->remembered[--p->depth];
    p->row.start = start;
    return true;
}

static void set_cfa(struct cfi_program *p, uint64_t number, int64_t offset)
{
    p->row.cfa = CFI_CFA_REGISTER;
    p->row.cfa_register = number;
    p->row.cfa_value = offset;
}

/* Operations on the CFA; false if it is another operation. */
static bool run_cfa(struct cfi_program *p, uint8_t op)
{
    struct bytes *in = &p->in;
    uint64_t number;
    switch (op) {
    case OP_DEF_CFA:
        number = bytes_uleb(in);
        set_cfa(p, number, (int64_t)bytes_uleb(in));
        return true;
    case OP_DEF_CFA_SF:
        number = bytes_uleb(in);
        set_cfa(p, number, factored(p, (uint64_t)bytes_sleb(in)));
        return true;
    case OP_DEF_CFA_REGISTER:
        number = bytes_uleb(in);
        set_cfa(p, number, p->row.cfa == CFI_CFA_REGISTER ? p->row.cfa_value : 0);
        return true;
    case OP_DEF_CFA_OFFSET:
        number = bytes_uleb(in);
        p->row.cfa_value =
            p->row.cfa == CFI_CFA_REGISTER ? (int64_t)number : p->row.cfa_value;
        return true;
    case OP_DEF_CFA_OFFSET_SF:
        number = (uint64_t)bytes_sleb(in);
        p->row.cfa_value =
            p->row.cfa == CFI_CFA_REGISTER ? factored(p, number) : p->row.cfa_value;
        return true;
    case OP_DEF_CFA_EXPRESSION:
        p->row.cfa = CFI_CFA_EXPRESSION;
        p->row.cfa_value = read_expression(p);
        return true;
    default:
        return false;
    }
}

/* Operations on one register; false if it is another operation. */
static bool run_register(struct cfi_program *p, uint8_t op)
{
    struct bytes *in = &p->in;
    bool known = (op >= OP_OFFSET_EXTENDED && op <= OP_REGISTER) || op == OP_EXPRESSION ||
                 op == OP_OFFSET_EXTENDED_SF ||
                 (op >= OP_VAL_OFFSET && op <= OP_VAL_EXPRESSION) ||
                 op == OP_NEGATIVE_OFFSET_EXTENDED;
    if (!known)
        return false;
    uint64_t number = bytes_uleb(in);
    switch (op) {
    case OP_OFFSET_EXTENDED:
        set_rule(p, number, CFI_OFFSET, factored(p, bytes_uleb(in)));
        break;
    case OP_OFFSET_EXTENDED_SF:
        set_rule(p, number, CFI_OFFSET, factored(p, (uint64_t)bytes_sleb(in)));
        break;
    case OP_NEGATIVE_OFFSET_EXTENDED:
        set_rule(p, number, CFI_OFFSET, factored(p, 0 - bytes_uleb(in)));
        break;
    case OP_RESTORE_EXTENDED:
        restore(p, number);
        break;
    case OP_UNDEFINED:
        set_rule(p, number, CFI_UNDEFINED, 0);
        break;
    case OP_SAME_VALUE:
        set_rule(p, number, CFI_SAME, 0);
        break;
    case OP_REGISTER:
        set_rule(p, number, CFI_REGISTER, (int64_t)bytes_uleb(in));
        break;
    case OP_VAL_OFFSET:
        set_rule(p, number, CFI_VALUE_OFFSET, factored(p, bytes_uleb(in)));
        break;
    case OP_VAL_OFFSET_SF:
        set_rule(p, number, CFI_VALUE_OFFSET, factored(p, (uint64_t)bytes_sleb(in)));
        break;
    default:
        set_rule(p, number, op == OP_EXPRESSION ? CFI_EXPRESSION : CFI_VALUE_EXPRESSION,
                 read_expression(p));
        break;
    }
    return true;
}

/* Operations within a row. False if the operation is unknown or not allowed here. */
static bool run(struct cfi_program *p, uint8_t op)
{
    uint64_t low = op & 0x3f;
    switch (op & 0xc0) {
    case OP_OFFSET:
        set_rule(p, low, CFI_OFFSET, factored(p, bytes_uleb(&p->in)));
        return true;
    case OP_RESTORE:
        restore(p, low);
        return true;
    default:
        break;
    }
    switch (op) {
    case OP_NOP:
        return true;
    case OP_REMEMBER:
        return remember(p);
    case OP_RESTORE_STATE:
        return restore_state(p);
    case OP_ARGS_SIZE: /* the stack space that a landing pad pops: not needed here */
        bytes_uleb(&p->in);
        return true;
    case OP_NEGATE_RA_STATE:
    case OP_NEGATE_RA_STATE_WITH_PC:
        p->row.return_signed ^= p->section->machine == ARCH_ARM64;
        return true;
    default:
        return run_cfa(p, op) || run_register(p, op);
    }
}

/* Returns true if the operation advances to a new row, and sets *to to its address. */
static bool advances(struct cfi_program *p, uint8_t op, uint64_t *to)
{
    uint64_t units;
    if ((op & 0xc0) == OP_ADVANCE) {
        units = op & 0x3f;
    } else {
        switch (op) {
        case OP_SET_LOC:
            if (!cfi_pointer(p->section, &p->in, p->fde.cie.pointer_encoding,
                             p->fde.cie.address_size, p->fde.start, to))
                p->in.failed = true;
            return true;
        case OP_ADVANCE_1:
            units = bytes_u8(&p->in);
            break;
        case OP_ADVANCE_2:
            units = bytes_u16(&p->in);
            break;
        case OP_ADVANCE_4:
            units = bytes_u32(&p->in);
            break;
        case OP_ADVANCE_8:
            units = bytes_u64(&p->in);
            break;
        default:
            return false;
        }
    }
    *to = p->row.start + units * p->fde.cie.code_align;
    return true;
}

/* A cursor over instructions; it begins at the section. */
static struct bytes cursor_over(const struct cfi_section *s, struct str code)
{
    struct bytes in = bytes_of(s->bytes, s->big_endian);
    in.at = code.ptr;
    in.end = code.ptr + code.len;
    return in;
}

/* Runs up to the next row and sets *to to its address; false at the end of the
 * program. */
static bool run_row(struct cfi_program *p, uint64_t *to)
{
    while (bytes_left(&p->in)) {
        uint8_t op = bytes_u8(&p->in);
        bool moves = advances(p, op, to);
        if ((!moves && !run(p, op)) || p->in.failed || (moves && *to < p->row.start)) {
            p->broken = true;
            return false;
        }
        if (moves && *to > p->row.start)
            return true;
    }
    return false;
}

void cfi_program_init(struct cfi_program *p, const struct cfi_section *section)
{
    p->section = section;
    p->has_initial = false;
    p->done = true;
}

static void run_initial(struct cfi_program *p)
{
    uint64_t to;
    p->has_initial = false;
    memset(&p->row, 0, sizeof p->row);
    p->in = cursor_over(p->section, p->fde.cie.instructions);
    while (run_row(p, &to)) /* the location is meaningless here */
        p->row.start = to;
    p->initial = p->row;
    p->has_initial = !p->broken;
}

/* Returns true if the slot of a register is below the stack pointer, as far as the row
 * knows the stack pointer. */
static bool is_below_stack(const struct cfi_program *p, unsigned number)
{
    uint64_t stack_pointer = p->section->machine == ARCH_ARM64 ? 31 : 7;
    const struct cfi_row *row = &p->row;
    return row->cfa == CFI_CFA_REGISTER && row->cfa_register == stack_pointer &&
           row->how[number] == CFI_OFFSET &&
           (int64_t)((uint64_t)row->cfa_value + (uint64_t)row->value[number]) < 0;
}

static void note_pushed(struct cfi_program *p)
{
    for (uint64_t left = p->fresh; left; left &= left - 1) {
        unsigned number = (unsigned)__builtin_ctzll(left);
        if (!is_below_stack(p, number))
            p->pushed |= (uint64_t)1 << number;
    }
    p->fresh = 0;
}

bool cfi_is_popped(const struct cfi_program *p, unsigned number)
{
    return p->pushed >> number & 1 && is_below_stack(p, number);
}

void cfi_rows_begin(struct cfi_program *p, const struct cfi_fde *fde)
{
    bool same = p->has_initial && p->fde.cie.offset == fde->cie.offset;
    p->fde = *fde;
    p->broken = false;
    p->depth = 0;
    if (!same)
        run_initial(p);
    p->depth = 0;
    p->fresh = p->pushed = 0;
    p->row = p->initial;
    p->row.start = p->next = fde->start;
    p->done = !p->has_initial;
    p->in = cursor_over(p->section, fde->instructions);
}

bool cfi_rows_next(struct cfi_program *p)
{
    uint64_t to = 0;
    if (p->done)
        return false;
    p->row.start = p->next;
    p->done = !run_row(p, &to);
    if (p->broken)
        return false;
    note_pushed(p);
    p->row.end = p->done || to > p->fde.end ? p->fde.end : to;
    p->next = p->row.end;
    p->done |= p->next >= p->fde.end;
    return p->row.end > p->row.start;
}

bool cfi_row_at(struct cfi_program *p, const struct cfi_fde *fde, uint64_t address)
{
    cfi_rows_begin(p, fde);
    while (address >= fde->start && cfi_rows_next(p))
        if (address < p->row.end)
            return true;
    return false;
}
