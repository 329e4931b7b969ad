/* Lines of instruction logs, and other lines. */
#include "model/profile.h"
#include "trace/log.h"
#include "unit.h"

static struct log_line parsed(log_parser parse, const char *line, enum log_kind kind)
{
    struct log_line out;
    assert_int_equal(parse(str_of(line), &out), kind);
    return out;
}

static void is(struct log_line l, uint64_t pc, uint32_t bits)
{
    assert_int_equal(l.pc, pc);
    assert_int_equal(l.bits, bits);
}

static void test_spike(void **state)
{
    log_parser p = log_parse_spike;
    struct log_line l;
    (void)state;
    l = parsed(p, "core   1: 3 0x0000000080000000 (0x00000297) x5  0x0000000080000000",
               LOG_INSTRUCTION);
    is(l, 0x80000000, 0x297);
    assert_int_equal(l.core, 1);
    assert_false(l.is_32);
    l = parsed(p, "core   0: 0x80000004 (0x4501) c.li    a0, 0", LOG_DISASSEMBLY);
    is(l, 0x80000004, 0x4501);
    assert_true(l.is_32);
    l = parsed(p, "3 0x0080000000 (0x00000297) x 5 0x0000000080000000", LOG_INSTRUCTION);
    assert_true(l.core == ID_NONE);
    l = parsed(p, "core   INTERRUPT 0: 0x0000000080000000 (0x00000297) DASM(00000297)",
               LOG_DISASSEMBLY);
    is(l, 0x80000000, 0x297);
    l = parsed(p, "core   0: Executed 3e8 times", LOG_REPEAT);
    assert_int_equal(l.times, 0x3e8);
    parsed(p, "core   0: >>>>  main", LOG_NOTE);
    parsed(p, "core   0: exception trap_user_ecall, epc 0x0000000000010174", LOG_NOTE);
    parsed(p, "core   0:           tval 0x0000000000000000", LOG_NOTE);
    parsed(p, "core   0: 3 0xzz (0x00000297)", LOG_NOTE);
    parsed(p, "core dumped", LOG_OTHER);
    parsed(p, "core   99999: 3 0x80000000 (0x00000297)", LOG_OTHER);
    parsed(p, "3 apples (0x00000297)", LOG_OTHER);
    parsed(p, "7 0x80000000 (0x00000297)", LOG_OTHER);
    parsed(p, "", LOG_OTHER);
}

static void test_columns(void **state)
{
    log_parser p = log_parse_columns;
    struct log_line l;
    (void)state;
    l = parsed(p, "           1520\t        73\t00000080\t0000007f\tjal\tx0,8",
               LOG_INSTRUCTION);
    is(l, 0x80, 0x7f);
    assert_int_equal(l.cycle, 73);
    /* A cycle that looks like an address. */
    l = parsed(p, " 305419896 12345678 00000080 4501 c.li x10, 0", LOG_INSTRUCTION);
    is(l, 0x80, 0x4501);
    assert_int_equal(l.cycle, 12345678);
    l = parsed(p, "     120ns       11 M 0000000080000000 0 00000297 auipc",
               LOG_INSTRUCTION);
    is(l, 0x80000000, 0x297);
    assert_int_equal(l.cycle, 11);
    l = parsed(p, "73 0x10000 M (0x00000297) DASM(00000297)", LOG_INSTRUCTION);
    is(l, 0x10000, 0x297);
    l = parsed(p, "52168 256630 0x24f6 0xc00026f3 U csrrs x13", LOG_INSTRUCTION);
    is(l, 0x24f6, 0xc00026f3);
    assert_int_equal(l.cycle, 256630);
    l = parsed(p, "        20 |         1 | 00000080 | 0000", LOG_INSTRUCTION);
    assert_true(l.is_open);
    l = parsed(p, "        20 |         1 | 00000080 | 00000297", LOG_INSTRUCTION);
    assert_false(l.is_open); /* no digit can be missing */
    parsed(p, "Time\tCycle\tPC\tInsn\tDecoded instruction", LOG_NOTE);
    parsed(p, "--------------", LOG_NOTE);
    parsed(p, "main;work;leaf 12", LOG_OTHER);
    parsed(p, "12 13 14 15 16", LOG_OTHER);
    parsed(p, "20 1 00000080 123456789", LOG_OTHER);
    parsed(p, "", LOG_OTHER);
}

static void test_rocket(void **state)
{
    log_parser p = log_parse_rocket;
    struct log_line l;
    (void)state;
    l = parsed(p,
               "C0:      16413 [1] pc=[00800007b0] W[r10=1b][1] R[r 2=0] R[r 0=0] "
               "inst=[00013503] DASM(00013503)",
               LOG_INSTRUCTION);
    is(l, 0x800007b0, 0x13503);
    assert_int_equal(l.cycle, 16413);
    l = parsed(p, "C                   3: 1 [0] pc=[0] W[r 0=0][0] inst=[0] DASM(0)",
               LOG_NOTE);
    assert_int_equal(l.core, 3);
    parsed(p, "C0: 1 [1] pc=[] inst=[00013503]", LOG_OTHER);
    parsed(p, "C0: 1 [1] nothing", LOG_OTHER);
    parsed(p, "Cycle: 0000000000000337 I1: 0000000000010014", LOG_OTHER);
}

static void test_execlog(void **state)
{
    log_parser p = log_parse_execlog;
    struct log_line l;
    (void)state;
    l = parsed(p, "1, 0x80000000, 0x297, \"auipc t0,0\", load, 0x1000, RAM",
               LOG_INSTRUCTION);
    is(l, 0x80000000, 0x297);
    assert_int_equal(l.core, 1);
    parsed(p, "1, 2, 3", LOG_OTHER);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_spike), cmocka_unit_test(test_columns),
        cmocka_unit_test(test_rocket), cmocka_unit_test(test_execlog)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
