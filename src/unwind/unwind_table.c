/* SPDX-License-Identifier: Apache-2.0 */
#include "unwind/unwind_table.h"
#include "unwind/registers.h"

/* --- Looking up --------------------------------------------------------------------- */

static const struct unwind_rule no_rule = {.cfa = CFA_NONE};

/* The last row at or before pc; the first row begins at 0. */
static size_t find_row(const struct unwind_table *t, uint32_t pc)
{
    size_t page = pc >> t->page_shift;
    size_t low = t->pages[page], high = t->pages[page + 1];
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (t->pcs[middle] <= pc)
            low = middle + 1;
        else
            high = middle;
    }
    return low - 1;
}

const struct unwind_rule *unwind_table_find(const struct unwind_table *t,
                                            uint64_t address)
{
    uint64_t pc = address - t->base;
    if (t->row_count == 0 || pc >> t->page_shift >= t->page_count)
        return &no_rule;
    return &t->rules[t->rule_of[find_row(t, (uint32_t)pc)]];
}

bool unwind_table_fde(const struct unwind_table *t, uint64_t address,
                      const struct cfi_section **section, struct cfi_fde *fde)
{
    uint64_t pc = address - t->base;
    size_t low = 0, high = t->fde_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (t->fdes[middle].pc <= pc)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == 0 || pc >= t->fdes[low - 1].end)
        return false;
    uint64_t entry = t->fdes[low - 1].entry;
    if ((entry & 1) >= t->section_count)
        return false;
    *section = &t->sections[entry & 1];
    return cfi_at(*section, entry >> 1, fde);
}

/* --- The page index ----------------------------------------------------------------- */

#define PAGE_SHIFT 8

bool unwind_table_index(struct unwind_table *t, struct arena *arena)
{
    uint32_t last = t->row_count ? t->pcs[t->row_count - 1] : 0;
    t->page_shift = PAGE_SHIFT;
    /* For sparse code, use larger pages, so that the index is not much larger than the
     * rows. */
    while (last >> t->page_shift > t->row_count * 2 + 1024)
        t->page_shift++;
    t->page_count = (size_t)(last >> t->page_shift) + 1;
    uint32_t *pages = arena_alloc(arena, (t->page_count + 1) * sizeof *pages);
    if (!pages)
        return false;
    size_t row = 0;
    for (size_t page = 0; page < t->page_count; page++) {
        pages[page] = (uint32_t)row;
        while (row < t->row_count && t->pcs[row] >> t->page_shift == page)
            row++;
    }
    pages[t->page_count] = (uint32_t)t->row_count;
    t->pages = pages;
    return true;
}

/* --- Rules -------------------------------------------------------------------------- */

#define WORD 8

/* DW_OP_* in the expressions that compilers and linkers write. */
enum {
    OP_DEREF = 0x06,
    OP_AND = 0x1a,
    OP_PLUS = 0x22,
    OP_PLUS_UCONST = 0x23,
    OP_SHL = 0x24,
    OP_GE = 0x2a,
    OP_LIT0 = 0x30,
    OP_BREG0 = 0x70,
};

static bool words_of(int64_t offset, int16_t *words)
{
    *words = (int16_t)(offset / WORD);
    return offset % WORD == 0 && offset / WORD >= INT16_MIN && offset / WORD <= INT16_MAX;
}

static bool fits_32(int64_t offset)
{
    return offset >= INT32_MIN && offset <= INT32_MAX;
}

/* Reads "register + offset" from an expression. */
static bool read_base(struct bytes *in, unsigned number, int64_t *offset)
{
    if (number > 31 || bytes_u8(in) != OP_BREG0 + number)
        return false;
    *offset = bytes_sleb(in);
    return !in->failed && fits_32(*offset);
}

/* Returns true if the expression is only "register + offset". */
static bool is_base(struct str code, unsigned number, int64_t *offset)
{
    struct bytes in = bytes_of(code, false);
    return read_base(&in, number, offset) && bytes_left(&in) == 0;
}

/* The linker's expression for its PLT. The last bytes of a slot run after a push, so the
 * CFA is SP + o + ((((PC + 0) & 15) >= extra) << 3). */
static bool is_plt(struct str code, struct unwind_rule *rule)
{
    static const unsigned char head[] = {0x80, 0x00, OP_LIT0 + 15, OP_AND};
    static const unsigned char tail[] = {OP_GE, OP_LIT0 + 3, OP_SHL, OP_PLUS};
    struct bytes in = bytes_of(code, false);
    int64_t offset;
    if (!read_base(&in, 7, &offset) || bytes_left(&in) != 9 ||
        memcmp(in.at, head, sizeof head) != 0 || memcmp(in.at + 5, tail, 4) != 0)
        return false;
    uint8_t from = (uint8_t)in.at[4];
    if (from < OP_LIT0 || from > OP_LIT0 + 15)
        return false;
    rule->cfa = CFA_PLT;
    rule->cfa_offset = (int32_t)offset;
    rule->extra = (uint8_t)(from - OP_LIT0);
    return true;
}

/* (register + offset), plus an optional constant. */
static bool is_deref(struct str code, unsigned number, enum rule_cfa kind,
                     struct unwind_rule *rule)
{
    struct bytes in = bytes_of(code, false);
    int64_t offset;
    uint64_t added = 0;
    if (!read_base(&in, number, &offset) || bytes_u8(&in) != OP_DEREF)
        return false;
    if (bytes_left(&in)) {
        if (bytes_u8(&in) != OP_PLUS_UCONST)
            return false;
        added = bytes_uleb(&in);
    }
    if (in.failed || bytes_left(&in) || added % WORD || added / WORD > UINT8_MAX)
        return false;
    rule->cfa = (uint8_t)kind;
    rule->cfa_offset = (int32_t)offset;
    rule->extra = (uint8_t)(added / WORD);
    return true;
}

static bool set_cfa_expression(const struct cfi_row *row, const struct cfi_section *s,
                               const struct register_roles *roles,
                               struct unwind_rule *rule)
{
    struct str code = cfi_expression(s, row->cfa_value);
    int64_t offset;
    if (is_base(code, roles->sp, &offset)) {
        rule->cfa = CFA_SP;
        rule->cfa_offset = (int32_t)offset;
        return true;
    }
    return (s->machine == ARCH_X86_64 && is_plt(code, rule)) ||
           is_deref(code, roles->sp, CFA_SP_DEREF, rule) ||
           is_deref(code, roles->fp, CFA_FP_DEREF, rule);
}

static bool set_cfa(const struct cfi_row *row, const struct cfi_section *s,
                    const struct register_roles *roles, struct unwind_rule *rule)
{
    if (row->cfa == CFI_CFA_EXPRESSION)
        return set_cfa_expression(row, s, roles, rule);
    if (row->cfa == CFI_CFA_NONE || !fits_32(row->cfa_value) ||
        row->cfa_register >= roles->count)
        return false;
    rule->cfa = row->cfa_register == roles->sp   ? CFA_SP
                : row->cfa_register == roles->fp ? CFA_FP
                                                 : CFA_REGISTER;
    rule->cfa_offset = (int32_t)row->cfa_value;
    if (rule->cfa == CFA_REGISTER)
        rule->extra = (uint8_t)row->cfa_register;
    return true;
}

static bool set_return(const struct cfi_row *row, const struct cfi_section *s,
                       const struct register_roles *roles, struct unwind_rule *rule)
{
    unsigned column = roles->return_to;
    int64_t offset;
    switch (row->how[column]) {
    case CFI_UNDEFINED:
        *rule = (struct unwind_rule){.cfa = CFA_SP, .from = RETURN_NONE};
        return true;
    case CFI_UNSPECIFIED:
    case CFI_SAME:
        rule->from = RETURN_IN_LINK;
        return roles->link == column;
    case CFI_OFFSET:
        rule->from = RETURN_AT_CFA;
        return words_of(row->value[column], &rule->return_offset);
    case CFI_EXPRESSION:
        rule->from = RETURN_AT_SP;
        return is_base(cfi_expression(s, row->value[column]), roles->sp, &offset) &&
               words_of(offset, &rule->return_offset);
    default:
        return false;
    }
}

static bool set_fp(const struct cfi_program *p, const struct register_roles *roles,
                   struct unwind_rule *rule)
{
    const struct cfi_row *row = &p->row;
    unsigned column = roles->fp;
    struct str code;
    int64_t offset;
    switch (cfi_is_popped(p, column) ? CFI_SAME : row->how[column]) {
    case CFI_UNSPECIFIED:
    case CFI_SAME:
        rule->fp = FP_SAME;
        return true;
    case CFI_UNDEFINED:
        rule->fp = FP_LOST;
        return true;
    case CFI_OFFSET:
        rule->fp = FP_AT_CFA;
        return words_of(row->value[column], &rule->fp_offset);
    case CFI_EXPRESSION:
        code = cfi_expression(p->section, row->value[column]);
        rule->fp = is_base(code, roles->fp, &offset) ? FP_AT_FP : FP_AT_SP;
        return (rule->fp == FP_AT_FP || is_base(code, roles->sp, &offset)) &&
               words_of(offset, &rule->fp_offset);
    default:
        return false;
    }
}

/* Returns true if the caller's stack pointer is the CFA, as it is unless a rule says
 * otherwise. */
static bool is_sp_plain(const struct cfi_row *row, const struct cfi_section *s,
                        const struct register_roles *roles,
                        const struct unwind_rule *rule)
{
    int64_t offset;
    switch (row->how[roles->sp]) {
    case CFI_UNSPECIFIED:
        return true;
    case CFI_VALUE_OFFSET:
        return row->value[roles->sp] == 0;
    case CFI_EXPRESSION: /* a signal frame: the CFA is read from the same address */
        return rule->cfa == CFA_SP_DEREF && rule->extra == 0 &&
               is_base(cfi_expression(s, row->value[roles->sp]), roles->sp, &offset) &&
               offset == rule->cfa_offset;
    default:
        return false;
    }
}

/* On x86-64 the stack pointer points to a ucontext_t, after the handler's return
 * address was popped; on AArch64 to a siginfo_t of 128 bytes, followed by the
 * ucontext_t. (The kernel's struct rt_sigframe, which contains struct sigcontext.) */
struct unwind_rule unwind_signal_rule(enum architecture machine)
{
    struct unwind_rule rule = {
        .cfa = CFA_SP_DEREF, .from = RETURN_AT_SP | RETURN_SIGNAL, .fp = FP_AT_SP};
    bool is_arm = machine == ARCH_ARM64;
    rule.cfa_offset = is_arm ? SIGNAL_ARM64 + 31 * WORD : SIGNAL_X86_64 + 15 * WORD;
    rule.return_offset = is_arm ? SIGNAL_ARM64 / WORD + 32 : SIGNAL_X86_64 / WORD + 16;
    rule.fp_offset = is_arm ? SIGNAL_ARM64 / WORD + 29 : SIGNAL_X86_64 / WORD + 10;
    return rule;
}

struct unwind_rule unwind_rule_of(const struct cfi_program *p)
{
    const struct cfi_row *row = &p->row;
    const struct cfi_section *section = p->section;
    const struct cfi_cie *cie = &p->fde.cie;
    const struct register_roles *roles = register_roles_of(section->machine);
    struct unwind_rule rule = {.cfa = CFA_NONE};
    if (!roles)
        return rule;
    /* The vDSO's CFI for AArch64 signal frames leads to the handler's link register,
     * not to the interrupted code. */
    if (cie->is_signal && section->machine == ARCH_ARM64)
        return unwind_signal_rule(section->machine);
    bool plain = cie->return_register == roles->return_to &&
                 set_cfa(row, section, roles, &rule) && set_fp(p, roles, &rule) &&
                 is_sp_plain(row, section, roles, &rule);
    bool ends = row->how[roles->return_to] == CFI_UNDEFINED;
    if (!(plain || ends) || !set_return(row, section, roles, &rule))
        rule = (struct unwind_rule){.cfa = CFA_GENERAL};
    if (cie->is_signal)
        rule.from |= RETURN_SIGNAL;
    return rule;
}
