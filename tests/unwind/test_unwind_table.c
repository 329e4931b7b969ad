/* SPDX-License-Identifier: Apache-2.0 */
#include "section.h"
#include "unit.h"

static struct arena arena;
static struct unwind_table table;

static int tear_down(void **state)
{
    (void)state;
    arena_deinit(&arena);
    return 0;
}

static struct unwind_source source_of_maker(const struct maker *m,
                                            enum architecture machine)
{
    struct unwind_source source = {
        .machine = machine, .section_count = 1, .code = STR("")};
    source.sections[0] = made_section(m, machine);
    return source;
}

static void build(const struct unwind_source *source)
{
    struct error err = {.message = ""};
    assert_true(unwind_table_build(&table, source, &arena, &err));
}

static void assert_rule(uint64_t address, enum rule_cfa cfa, int32_t offset)
{
    const struct unwind_rule *rule = unwind_table_find(&table, address);
    assert_int_equal(rule->cfa, cfa);
    if (cfa < CFA_GENERAL)
        assert_int_equal(rule->cfa_offset, offset);
}

static void rows_by_address(void **state)
{
    struct maker m = {.used = 0};
    (void)state;
    make_x86_64_cie(&m);
    make_fde(&m, 0x5000, 0x100, STR("\x41\x0e\x10\x86\x02\x43\x0d\x06"));
    make_fde(&m, 0x1000, 0x10, STR("\x44\x0e\x20"));
    make_fde(&m, 0x1010, 0x10, STR("\x0e\x20")); /* continues with the same rule */
    make_fde(&m, 0x1018, 0x10, STR("\x0e\x30")); /* overlaps */
    struct unwind_source source = source_of_maker(&m, ARCH_X86_64);
    build(&source);
    assert_rule(0, CFA_NONE, 0);
    assert_rule(0xfff, CFA_NONE, 0);
    assert_rule(0x1000, CFA_SP, 8);
    assert_rule(0x1003, CFA_SP, 8);
    assert_rule(0x1004, CFA_SP, 32);
    assert_rule(0x101f, CFA_SP, 32);
    assert_rule(0x1020, CFA_SP, 48);
    assert_rule(0x1027, CFA_SP, 48);
    assert_rule(0x1028, CFA_NONE, 0);
    assert_rule(0x4fff, CFA_NONE, 0);
    assert_rule(0x5000, CFA_SP, 8);
    assert_rule(0x5001, CFA_SP, 16);
    assert_rule(0x5004, CFA_FP, 16);
    assert_int_equal(unwind_table_find(&table, 0x5004)->fp, FP_AT_CFA);
    assert_int_equal(unwind_table_find(&table, 0x5004)->fp_offset, -2);
    assert_int_equal(unwind_table_find(&table, 0x5004)->return_offset, -1);
    assert_rule(0x50ff, CFA_FP, 16);
    assert_rule(0x5100, CFA_NONE, 0);
    assert_rule(UINT64_MAX, CFA_NONE, 0);
    assert_int_equal(table.row_count, 8);
    assert_int_equal(table.fde_count, 4);
}

static void fdes_by_address(void **state)
{
    struct maker m = {.used = 0};
    const struct cfi_section *section;
    struct cfi_fde fde;
    (void)state;
    make_x86_64_cie(&m);
    make_fde(&m, 0x5000, 0x100, STR("\x41\x0e\x10"));
    make_fde(&m, 0x1000, 0x10, STR("\x44\x0e\x20"));
    struct unwind_source source = source_of_maker(&m, ARCH_X86_64);
    build(&source);
    assert_true(unwind_table_fde(&table, 0x5000, &section, &fde));
    assert_int_equal(fde.end, 0x5100);
    assert_true(unwind_table_fde(&table, 0x100f, &section, &fde));
    assert_int_equal(fde.start, 0x1000);
    assert_false(unwind_table_fde(&table, 0x1010, &section, &fde));
    assert_false(unwind_table_fde(&table, 0xfff, &section, &fde));
}

static struct unwind_rule rule_of(struct str program, enum architecture machine)
{
    struct maker m = {.used = 0};
    if (machine == ARCH_X86_64)
        make_x86_64_cie(&m);
    else
        make_arm64_cie(&m);
    make_fde(&m, 0x1000, 0x10, program);
    struct unwind_source source = source_of_maker(&m, machine);
    build(&source);
    return *unwind_table_find(&table, 0x1000);
}

static void special_rules(void **state)
{
    struct unwind_rule rule;
    (void)state;
    rule =
        rule_of(STR("\x0f\x0b\x77\x08\x80\0\x3f\x1a\x3b\x2a\x33\x24\x22"), ARCH_X86_64);
    assert_int_equal(rule.cfa, CFA_PLT);
    assert_int_equal(rule.extra, 11);
    assert_int_equal(rule.cfa_offset, 8);
    rule = rule_of(STR("\x0f\x03\x76\x78\x06\x10\x06\x02\x76\x00"), ARCH_X86_64);
    assert_int_equal(rule.cfa, CFA_FP_DEREF);
    assert_int_equal(rule.cfa_offset, -8);
    assert_int_equal(rule.fp, FP_AT_FP);
    rule = rule_of(STR("\x0f\x05\x77\x20\x06\x23\x08"), ARCH_X86_64);
    assert_int_equal(rule.cfa, CFA_SP_DEREF);
    assert_int_equal(rule.extra, 1);
    rule = rule_of(STR("\x0f\x04\x77\x20\x06\x06"), ARCH_X86_64);
    assert_int_equal(rule.cfa, CFA_GENERAL);
    rule = rule_of(STR("\x0c\x0a\x00"), ARCH_X86_64);
    assert_int_equal(rule.cfa, CFA_REGISTER);
    assert_int_equal(rule.extra, 10);
    rule = rule_of(STR("\x07\x10"), ARCH_X86_64);
    assert_int_equal(rule.from, RETURN_NONE);
    rule = rule_of(STR("\x09\x10\x01"), ARCH_X86_64);
    assert_int_equal(rule.cfa, CFA_GENERAL);
    rule = rule_of(STR("\x08\x07"), ARCH_X86_64); /* the stack pointer is unchanged */
    assert_int_equal(rule.cfa, CFA_GENERAL);
    rule = rule_of(STR("\x0e\x20"), ARCH_ARM64);
    assert_int_equal(rule.from, RETURN_IN_LINK);
}

/* A frame too large for a compact rule. */
static void large_offsets_need_the_interpreter(void **state)
{
    struct unwind_rule rule;
    (void)state;
    rule =
        rule_of((struct str){"\x0e\x80\x80\x10\x9d\x80\x80\x10\x9e\x02", 10}, ARCH_ARM64);
    assert_int_equal(rule.cfa, CFA_GENERAL);
    rule =
        rule_of((struct str){"\x0e\x80\x80\x10\x9d\xff\xff\x01\x9e\x02", 10}, ARCH_ARM64);
    assert_int_equal(rule.cfa, CFA_SP);
    assert_int_equal(rule.fp_offset, -32767);
}

static void trampolines_without_fdes(void **state)
{
    static const char code[] = "\x90\x90\x90\x48\xc7\xc0\x0f\0\0\0\x0f\x05\x90";
    struct maker m = {.used = 0};
    (void)state;
    make_x86_64_cie(&m);
    make_fde(&m, 0x1000, 0x10, STR("\x44\x0e\x20"));
    struct unwind_source source = source_of_maker(&m, ARCH_X86_64);
    source.code = (struct str){code, sizeof code - 1};
    source.code_address = 0x2000;
    build(&source);
    assert_rule(0x2001, CFA_NONE, 0);
    assert_rule(0x2002, CFA_SP_DEREF, 160);
    assert_rule(0x200b, CFA_SP_DEREF, 160);
    assert_rule(0x200c, CFA_NONE, 0);
    assert_int_equal(unwind_table_find(&table, 0x2003)->from,
                     RETURN_AT_SP | RETURN_SIGNAL);
    assert_rule(0x1004, CFA_SP, 32);
}

static void dropped_functions_are_skipped(void **state)
{
    struct maker m = {.used = 0};
    (void)state;
    make_x86_64_cie(&m);
    make_fde(&m, 0, 0x10, STR("\x44\x0e\x20"));
    make_fde(&m, 0x1000, 0x10, STR("\x44\x0e\x20"));
    struct unwind_source source = source_of_maker(&m, ARCH_X86_64);
    source.segments[0] = (struct unwind_segment){0x800, 0x1000, 0x1000};
    source.segment_count = 1;
    uint64_t address = 0;
    build(&source);
    assert_int_equal(table.base, 0x1000);
    assert_int_equal(table.fde_count, 1);
    assert_true(unwind_table_address(&table, 0x810, &address));
    assert_int_equal(address, 0x1010);
    assert_false(unwind_table_address(&table, 0x7ff, &address));
    assert_false(unwind_table_address(&table, 0x1800, &address));
}

static void no_sections_no_rows(void **state)
{
    struct unwind_source source = {.machine = ARCH_X86_64, .code = STR("")};
    struct error err;
    struct unwind_table again;
    (void)state;
    build(&source);
    assert_int_equal(table.row_count, 0);
    assert_rule(0x1000, CFA_NONE, 0);
    struct str bytes = unwind_table_bytes(&table, &arena);
    assert_true(unwind_table_load(&again, bytes, &source, &arena, &err));
    source.machine = ARCH_ARM;
    assert_false(unwind_table_build(&table, &source, &arena, &err));
    assert_true(err.message[0]);
}

static void bytes_are_checked(void **state)
{
    struct maker m = {.used = 0};
    struct unwind_table again;
    struct error err;
    (void)state;
    make_x86_64_cie(&m);
    make_fde(&m, 0x5000, 0x100, STR("\x41\x0e\x10\x86\x02\x43\x0d\x06"));
    make_fde(&m, 0x1000, 0x10, STR("\x44\x0e\x20"));
    struct unwind_source source = source_of_maker(&m, ARCH_X86_64), other = source;
    build(&source);
    struct str bytes = unwind_table_bytes(&table, &arena);
    assert_true(unwind_table_load(&again, bytes, &source, &arena, &err));
    assert_int_equal(again.row_count, table.row_count);
    for (uint64_t at = 0xff0; at < 0x5200; at++)
        assert_memory_equal(unwind_table_find(&again, at), unwind_table_find(&table, at),
                            sizeof(struct unwind_rule));
    other.sections[0].bytes.len--;
    assert_false(unwind_table_load(&again, bytes, &other, &arena, &err));
    assert_int_equal(again.row_count, 0);
    other = source;
    other.machine = ARCH_ARM64;
    assert_false(unwind_table_load(&again, bytes, &other, &arena, &err));
    for (size_t cut = 0; cut < bytes.len; cut++)
        assert_false(
            unwind_table_load(&again, str_head(bytes, cut), &source, &arena, &err));
    char *changed = arena_alloc(&arena, bytes.len);
    memcpy(changed, bytes.ptr, bytes.len);
    for (size_t at = 0; at < bytes.len; at++) {
        changed[at] ^= 0x10;
        assert_false(unwind_table_load(&again, (struct str){changed, bytes.len}, &source,
                                       &arena, &err));
        changed[at] ^= 0x10;
    }
}

int main(void)
{
    const struct CMUnitTest units[] = {
        cmocka_unit_test_teardown(rows_by_address, tear_down),
        cmocka_unit_test_teardown(fdes_by_address, tear_down),
        cmocka_unit_test_teardown(special_rules, tear_down),
        cmocka_unit_test_teardown(large_offsets_need_the_interpreter, tear_down),
        cmocka_unit_test_teardown(trampolines_without_fdes, tear_down),
        cmocka_unit_test_teardown(dropped_functions_are_skipped, tear_down),
        cmocka_unit_test_teardown(no_sections_no_rows, tear_down),
        cmocka_unit_test_teardown(bytes_are_checked, tear_down),
    };
    return UNITS_RUN(units);
}
