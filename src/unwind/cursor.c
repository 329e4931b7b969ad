/* SPDX-License-Identifier: Apache-2.0 */
#include "unwind/expression.h"
#include "unwind/unwind.h"

#define WORD 8

bool unwind_cursor_init(struct unwind_cursor *c, enum architecture machine,
                        const uint64_t *registers, uint64_t recorded)
{
    const struct register_roles *roles = register_roles_of(machine);
    if (!roles || !(recorded >> roles->perf_pc & 1))
        return false;
    c->machine = machine;
    c->pc = registers[roles->perf_pc];
    c->is_call = c->is_signal = c->is_entry = false;
    c->known = 0;
    c->instructions = 0;
    memset(c->registers, 0, sizeof c->registers);
    for (unsigned i = 0; i < roles->count; i++) {
        if (!(recorded >> roles->perf[i] & 1))
            continue;
        c->registers[i] = registers[roles->perf[i]];
        c->known |= (uint64_t)1 << i;
    }
    return c->known >> roles->sp & 1;
}

/* --- One step ----------------------------------------------------------------------- */

/* The caller's frame while it is computed. */
struct step {
    struct unwind_cursor *c;
    const struct unwind_access *access;
    const struct register_roles *roles;
    const struct cfi_section *section; /* section of the expressions; NULL: none */
    uint64_t bias;
    uint64_t registers[CFI_REGISTERS];
    uint64_t known;
    uint64_t pc;
    bool is_signal;
    enum unwind_end end; /* why there is no caller */
};

static bool step_ends(struct step *s, enum unwind_end why)
{
    s->end = why;
    return false;
}

static void set(struct step *s, unsigned number, uint64_t value)
{
    s->registers[number] = value;
    s->known |= (uint64_t)1 << number;
}

static bool current(const struct step *s, uint64_t number, uint64_t *value)
{
    if (number >= CFI_REGISTERS || !(s->c->known >> number & 1))
        return false;
    *value = s->c->registers[number];
    return true;
}

/* value is unchanged if the address is unreadable. */
static bool read_word(const struct step *s, uint64_t address, uint64_t *value)
{
    uint64_t word;
    if (!s->access->read(s->access->context, address, WORD, &word))
        return false;
    *value = word;
    return true;
}

static uint64_t stack_pointer(const struct step *s)
{
    return s->c->registers[s->roles->sp];
}

/* The reason for an unreadable stack address: memory above the stack pointer was not
 * recorded, memory below it cannot belong to a caller. */
static enum unwind_end unreadable(const struct step *s, uint64_t address)
{
    return address < stack_pointer(s) ? UNWIND_BAD_RULE : UNWIND_CUT;
}

static bool expression_register(void *context, uint64_t number, uint64_t *value)
{
    const struct step *s = context;
    if (number == s->roles->return_to && s->roles->link != s->roles->return_to) {
        *value = s->c->pc; /* x86-64's column 16 is the program counter */
        return true;
    }
    return current(s, number, value);
}

static bool expression_memory(void *context, uint64_t address, unsigned size,
                              uint64_t *value)
{
    const struct step *s = context;
    return s->access->read(s->access->context, address, size, value);
}

static bool evaluate(struct step *s, int64_t where, const uint64_t *first,
                     uint64_t *value)
{
    struct expression_access access = {.context = s,
                                       .memory = expression_memory,
                                       .reg = expression_register,
                                       .bias = s->bias,
                                       .big_endian = s->section->big_endian};
    return expression_evaluate(cfi_expression(s->section, where), &access, first, value);
}

/* --- By a row of the interpreter ---------------------------------------------------- */

static bool find_cfa(struct step *s, const struct cfi_row *row, uint64_t *cfa)
{
    uint64_t base;
    switch (row->cfa) {
    case CFI_CFA_REGISTER:
        if (!current(s, row->cfa_register, &base))
            return step_ends(s, UNWIND_BAD_RULE);
        *cfa = base + (uint64_t)row->cfa_value;
        return true;
    case CFI_CFA_EXPRESSION:
        return evaluate(s, row->cfa_value, NULL, cfa) || step_ends(s, UNWIND_CUT);
    default:
        return step_ends(s, UNWIND_BAD_RULE);
    }
}

/* The caller's value of a register. Returns 1 if it is known, 0 if it is lost, -1 if it
 * is in unreadable memory (its address is in *value). */
static int caller_value(struct step *s, const struct cfi_row *row, unsigned number,
                        uint64_t cfa, uint64_t *value)
{
    uint64_t v = (uint64_t)row->value[number];
    /* a return address is never popped before the return */
    bool popped = number != s->roles->return_to && cfi_is_popped(&s->c->program, number);
    switch (popped ? CFI_SAME : row->how[number]) {
    case CFI_UNSPECIFIED:
    case CFI_SAME:
        return current(s, number, value);
    case CFI_OFFSET:
        *value = cfa + v;
        return read_word(s, *value, value) ? 1 : -1;
    case CFI_VALUE_OFFSET:
        *value = cfa + v;
        return 1;
    case CFI_REGISTER:
        return current(s, v, value);
    case CFI_EXPRESSION:
        if (!evaluate(s, row->value[number], &cfa, value))
            return 0;
        return read_word(s, *value, value) ? 1 : -1;
    case CFI_VALUE_EXPRESSION:
        return evaluate(s, row->value[number], &cfa, value);
    default:
        return 0;
    }
}

static bool set_return(struct step *s, const struct cfi_row *row, uint64_t column,
                       uint64_t cfa)
{
    uint64_t value = 0;
    if (column >= CFI_REGISTERS)
        return step_ends(s, UNWIND_BAD_RULE);
    unsigned number = (unsigned)column;
    bool stays = row->how[number] == CFI_UNSPECIFIED || row->how[number] == CFI_SAME;
    if (row->how[number] == CFI_UNDEFINED)
        return step_ends(s, UNWIND_WHOLE);
    /* The link register has the return address only until this code calls a function. */
    if (stays && (number != s->roles->link || s->c->is_call))
        return step_ends(s, UNWIND_BAD_RULE);
    int got = caller_value(s, row, number, cfa, &value);
    if (got != 1)
        return step_ends(s, got < 0 ? unreadable(s, value) : UNWIND_BAD_RULE);
    s->pc = value;
    return true;
}

/* Returns true if the CFA is valid. If it was computed without reading memory, it must
 * be above the stack pointer, unless the return address is in a register: in code that
 * has not called a function yet, and on x86-64 in functions such as vfork, which pops
 * it during the system call. */
static bool grows(const struct step *s, const struct cfi_row *row, uint64_t cfa)
{
    bool in_link =
        s->roles->link == s->roles->return_to && row->how[s->roles->link] != CFI_OFFSET;
    bool in_register =
        !s->c->is_call && (in_link || row->how[s->roles->return_to] == CFI_REGISTER);
    uint64_t sp = stack_pointer(s);
    return row->cfa == CFI_CFA_EXPRESSION || cfa > sp || (in_register && cfa == sp);
}

static bool step_by_row(struct step *s, const struct cfi_row *row,
                        const struct cfi_cie *cie)
{
    uint64_t cfa, value;
    /* the outermost frame may have an invalid CFA */
    if (cie->return_register < CFI_REGISTERS &&
        row->how[cie->return_register] == CFI_UNDEFINED)
        return step_ends(s, UNWIND_WHOLE);
    if (!find_cfa(s, row, &cfa))
        return false;
    if (!cie->is_signal && !grows(s, row, cfa))
        return step_ends(s, UNWIND_BAD_RULE);
    if (!set_return(s, row, cie->return_register, cfa))
        return false;
    for (unsigned i = 0; i < s->roles->count; i++)
        if (i != s->roles->sp && caller_value(s, row, i, cfa, &value) == 1)
            set(s, i, value);
    if (row->how[s->roles->sp] == CFI_UNSPECIFIED)
        set(s, s->roles->sp, cfa);
    else if (caller_value(s, row, s->roles->sp, cfa, &value) == 1)
        set(s, s->roles->sp, value);
    else
        return step_ends(s, UNWIND_BAD_RULE);
    s->is_signal = cie->is_signal;
    return true;
}

/* --- By a compact rule, the frame pointer, or a signal's frame ---------------------- */

/* Restores the registers that the kernel stored when it called the signal handler. */
static bool step_by_signal_frame(struct step *s)
{
    static const uint8_t x86_64[] = {8, 9, 10, 11, 12, 13, 14, 15, 5,
                                     4, 6, 3,  1,  0,  2,  7,  16};
    bool is_arm = s->c->machine == ARCH_ARM64;
    uint64_t at = stack_pointer(s) + (is_arm ? SIGNAL_ARM64 : SIGNAL_X86_64), value;
    unsigned count = is_arm ? 33 : sizeof x86_64;
    for (unsigned i = 0; i < count; i++, at += WORD) {
        if (!read_word(s, at, &value))
            return step_ends(s, unreadable(s, at));
        if (i == count - 1)
            s->pc = value;
        else
            set(s, is_arm ? i : x86_64[i], value);
    }
    s->is_signal = true;
    return true;
}

/* Without the sections: only the three registers of the rule. */
static bool step_by_rule(struct step *s, const struct unwind_rule *rule)
{
    uint64_t cfa, fp;
    bool simple = rule->cfa <= CFA_FP && rule->from == RETURN_AT_CFA &&
                  (rule->fp <= FP_AT_CFA || rule->fp == FP_LOST);
    unsigned base = rule->cfa == CFA_SP ? s->roles->sp : s->roles->fp;
    if (!simple)
        return step_ends(s, UNWIND_NO_TABLE);
    if (!current(s, base, &cfa))
        return step_ends(s, UNWIND_BAD_RULE);
    cfa += (uint64_t)(int64_t)rule->cfa_offset;
    if (cfa <= stack_pointer(s))
        return step_ends(s, UNWIND_BAD_RULE);
    uint64_t at = cfa + (uint64_t)(int64_t)rule->return_offset * WORD;
    if (!read_word(s, at, &s->pc))
        return step_ends(s, unreadable(s, at));
    set(s, s->roles->sp, cfa);
    if (rule->fp == FP_SAME && current(s, s->roles->fp, &fp))
        set(s, s->roles->fp, fp);
    if (rule->fp == FP_AT_CFA &&
        read_word(s, cfa + (uint64_t)(int64_t)rule->fp_offset * WORD, &fp))
        set(s, s->roles->fp, fp);
    return true;
}

/* Code without information: the frame pointer is used if it leads up the stack to a
 * return address in mapped code. */
static bool step_by_frame_pointer(struct step *s)
{
    struct unwind_location location;
    uint64_t fp, caller_fp, pc;
    bool known = current(s, s->roles->fp, &fp);
    if (known && fp == 0 && s->c->is_call) /* the ABI's mark of the outermost frame */
        return step_ends(s, UNWIND_WHOLE);
    if (!known || fp < stack_pointer(s) || fp % WORD || !read_word(s, fp, &caller_fp) ||
        !read_word(s, fp + WORD, &pc))
        return step_ends(s, UNWIND_NO_TABLE);
    pc &= s->roles->code_mask;
    if (pc < UNWIND_ADDRESS_MIN ||
        !s->access->find(s->access->context, pc - 1, &location))
        return step_ends(s, UNWIND_NO_TABLE);
    s->pc = pc;
    set(s, s->roles->sp, fp + 2 * (uint64_t)WORD);
    set(s, s->roles->fp, caller_fp);
    return true;
}

/* Code that has switched stacks (from a goroutine to the thread's system stack in Go):
 * the frame pointer belongs to the other stack, which is usually not in the dump. */
static bool step_by_switch(struct step *s)
{
    return step_by_frame_pointer(s) || step_ends(s, UNWIND_SWITCHED);
}

/* --- Choosing ----------------------------------------------------------------------- */

/* The rule for the current address, and the file address that it was found for. */
static const struct unwind_rule *find_rule(struct unwind_cursor *c,
                                           const struct unwind_location *location,
                                           uint64_t *address)
{
    const struct cfi_section *section;
    struct cfi_fde fde;
    uint64_t pc = c->pc - location->bias;
    *address = pc - c->is_call;
    const struct unwind_rule *rule = unwind_table_find(location->table, *address);
    if (rule->cfa != CFA_NONE)
        return rule;
    /* A signal trampoline is never called: the address is its start, or, during its
     * system call, its end. */
    uint64_t beside = c->is_call ? pc : pc - 1;
    const struct unwind_rule *other = unwind_table_find(location->table, beside);
    c->is_entry = c->is_call && unwind_table_fde(location->table, pc, &section, &fde) &&
                  fde.start == pc;
    if (!(other->from & RETURN_SIGNAL) && !c->is_entry)
        return rule;
    *address = beside;
    return other;
}

static bool step_by_table(struct step *s, const struct unwind_location *location)
{
    struct unwind_cursor *c = s->c;
    uint64_t address;
    struct cfi_fde fde;
    const struct unwind_rule *rule = find_rule(c, location, &address);
    if (rule->cfa == CFA_NONE)
        return step_by_frame_pointer(s);
    if ((rule->from & ~RETURN_SIGNAL) == RETURN_NONE)
        return step_ends(s, UNWIND_WHOLE);
    if (rule->from == RETURN_SWITCHED)
        return step_by_switch(s);
    bool has_fde = unwind_table_fde(location->table, address, &s->section, &fde);
    if (rule->from & RETURN_SIGNAL && (!has_fde || c->machine == ARCH_ARM64))
        return step_by_signal_frame(s);
    if (!has_fde)
        return step_by_rule(s, rule);
    c->instructions += fde.instructions.len + fde.cie.instructions.len;
    if (c->instructions > UNWIND_INSTRUCTIONS_MAX)
        return step_ends(s, UNWIND_BAD_RULE);
    s->bias = location->bias;
    cfi_program_init(&c->program, s->section);
    if (!cfi_row_at(&c->program, &fde, address))
        return step_ends(s, UNWIND_BAD_RULE);
    return step_by_row(s, &c->program.row, &fde.cie);
}

/* A return address is after a call, or at the start of a function. */
static bool is_code(const struct step *s, uint64_t pc)
{
    struct unwind_location location;
    return s->access->find(s->access->context, pc - 1, &location) ||
           s->access->find(s->access->context, pc, &location);
}

static bool accept(struct step *s)
{
    struct unwind_cursor *c = s->c;
    s->pc &= s->roles->code_mask;
    if (s->pc == 0)
        return step_ends(s, UNWIND_WHOLE);
    if (s->pc < UNWIND_ADDRESS_MIN || s->pc >= s->roles->address_max)
        return step_ends(s, UNWIND_BAD_RULE);
    if (!s->is_signal && !is_code(s, s->pc))
        return step_ends(s, UNWIND_BAD_RULE);
    if (s->pc == c->pc && s->registers[s->roles->sp] == stack_pointer(s))
        return step_ends(s, UNWIND_BAD_RULE);
    memcpy(c->registers, s->registers, sizeof c->registers);
    c->known = s->known;
    c->pc = s->pc;
    c->is_call = !s->is_signal;
    c->is_signal = s->is_signal;
    return true;
}

bool unwind_step(struct unwind_cursor *c, const struct unwind_access *access,
                 enum unwind_end *end)
{
    struct step s;
    struct unwind_location location;
    s.c = c;
    s.access = access;
    s.roles = register_roles_of(c->machine);
    s.section = NULL;
    s.known = 0;
    s.is_signal = false;
    memset(s.registers, 0, sizeof s.registers);
    c->is_entry = false;
    bool mapped = access->find(access->context, c->pc - c->is_call, &location) ||
                  access->find(access->context, c->pc, &location);
    bool stepped = mapped && location.table ? step_by_table(&s, &location)
                                            : step_by_frame_pointer(&s);
    if (stepped && accept(&s))
        return true;
    *end = s.end;
    return false;
}
