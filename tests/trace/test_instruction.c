/* Decoded instructions, compared with the output of an assembler. */
#include "trace/instruction.h"
#include "unit.h"

static void check(uint32_t bits, enum instruction_kind kind, unsigned length, int32_t by)
{
    struct instruction in = instruction_decode(bits, false);
    assert_int_equal(in.kind, kind);
    assert_int_equal(in.length, length);
    assert_int_equal(in.displacement, by);
}

static void test_plain(void **state)
{
    (void)state;
    check(0x00150513, INSTRUCTION_PLAIN, 4, 0); /* addi a0, a0, 1 */
    check(0x0505, INSTRUCTION_PLAIN, 2, 0);     /* c.addi a0, 1 */
    check(0x852e, INSTRUCTION_PLAIN, 2, 0);     /* c.mv a0, a1 */
    check(0x952e, INSTRUCTION_PLAIN, 2, 0);     /* c.add a0, a1 */
    check(0x2505, INSTRUCTION_PLAIN, 2, 0);     /* c.addiw a0, 1: c.jal of RV32 */
    check(0x10500073, INSTRUCTION_PLAIN, 4, 0); /* wfi */
    check(0x30529073, INSTRUCTION_PLAIN, 4, 0); /* csrw mtvec, t0 */
    check(0x0000001f, INSTRUCTION_PLAIN, 6, 0);
    check(0x0000003f, INSTRUCTION_PLAIN, 8, 0);
    check(0x8002, INSTRUCTION_PLAIN, 2, 0); /* reserved: c.jr zero */
    check(0, INSTRUCTION_PLAIN, 2, 0);
}

static void test_32_bits(void **state)
{
    struct instruction in = instruction_decode(0x2505, true); /* c.jal .+1568 */
    (void)state;
    assert_int_equal(in.kind, INSTRUCTION_CALL);
    assert_int_equal(in.length, 2);
    assert_int_equal(in.displacement, 1568);
    in = instruction_decode(0x3fc5, true); /* c.jal .-16 */
    assert_int_equal(in.displacement, -16);
    assert_int_equal(instruction_decode(0x0505, true).kind, INSTRUCTION_PLAIN);
}

static void test_stack(void **state)
{
    (void)state;
    assert_int_equal(instruction_stack(0x00253023, false),
                     STACK_STORED); /* sd sp, 0(a0) */
    assert_int_equal(instruction_stack(0x0005b103, false),
                     STACK_LOADED);                                   /* ld sp, 0(a1) */
    assert_int_equal(instruction_stack(0x6122, false), STACK_LOADED); /* c.ldsp sp, 8 */
    assert_int_equal(instruction_stack(0xe40a, false), STACK_STORED); /* c.sdsp sp, 8 */
    assert_int_equal(instruction_stack(0x00252023, true),
                     STACK_STORED); /* sw sp, 0(a0) */
    assert_int_equal(instruction_stack(0x00252023, false), STACK_NEITHER);
    assert_int_equal(instruction_stack(0x4122, true), STACK_LOADED);   /* c.lwsp sp, 8 */
    assert_int_equal(instruction_stack(0xe406, false), STACK_NEITHER); /* c.sdsp ra, 8 */
    assert_int_equal(instruction_stack(0x0015b083, false), STACK_NEITHER);
}

static void test_branches(void **state)
{
    (void)state;
    check(0x00b50563, INSTRUCTION_BRANCH, 4, 10);  /* beq a0, a1, .+10 */
    check(0xfeb503e3, INSTRUCTION_BRANCH, 4, -26); /* beq a0, a1, .-26 */
    check(0x80b51063, INSTRUCTION_BRANCH, 4, -4096);
    check(0x7eb57fe3, INSTRUCTION_BRANCH, 4, 4094);
    check(0xc501, INSTRUCTION_BRANCH, 2, 8);    /* c.beqz a0, .+8 */
    check(0xfd6d, INSTRUCTION_BRANCH, 2, -6);   /* c.bnez a0, .-6 */
    check(0xd101, INSTRUCTION_BRANCH, 2, -256); /* c.beqz a0, .-256 */
}

static void test_jumps(void **state)
{
    (void)state;
    check(0x0000006f, INSTRUCTION_JUMP, 4, 0); /* j . */
    check(0xffdff06f, INSTRUCTION_JUMP, 4, -4);
    check(0x8000006f, INSTRUCTION_JUMP, 4, -1048576);
    check(0x008000ef, INSTRUCTION_CALL, 4, 8); /* jal ra, .+8 */
    check(0x008002ef, INSTRUCTION_CALL, 4, 8); /* jal t0, .+8 */
    check(0x0080036f, INSTRUCTION_JUMP, 4, 8); /* jal t1, .+8 */
    check(0xa001, INSTRUCTION_JUMP, 2, 0);     /* c.j . */
    check(0xbffd, INSTRUCTION_JUMP, 2, -2);    /* c.j .-2 */
    check(0xb001, INSTRUCTION_JUMP, 2, -2048);
}

/* The table of hints by rd and rs1: which of them are link registers. */
static void test_registers(void **state)
{
    (void)state;
    check(0x00050067, INSTRUCTION_JUMP_REGISTER, 4, 0); /* jalr zero, 0(a0) */
    check(0x00008067, INSTRUCTION_RETURN, 4, 0);        /* jalr zero, 0(ra) */
    check(0x00028067, INSTRUCTION_RETURN, 4, 0);        /* jalr zero, 0(t0) */
    check(0x00008567, INSTRUCTION_RETURN, 4, 0);        /* jalr a0, 0(ra) */
    check(0x000500e7, INSTRUCTION_CALL_REGISTER, 4, 0); /* jalr ra, 0(a0) */
    check(0x000080e7, INSTRUCTION_CALL_REGISTER, 4, 0); /* jalr ra, 0(ra) */
    check(0x000282e7, INSTRUCTION_CALL_REGISTER, 4, 0); /* jalr t0, 0(t0) */
    check(0x000280e7, INSTRUCTION_SWAP, 4, 0);          /* jalr ra, 0(t0) */
    check(0x000082e7, INSTRUCTION_SWAP, 4, 0);          /* jalr t0, 0(ra) */
    check(0x8082, INSTRUCTION_RETURN, 2, 0);            /* c.jr ra */
    check(0x8282, INSTRUCTION_RETURN, 2, 0);            /* c.jr t0 */
    check(0x8502, INSTRUCTION_JUMP_REGISTER, 2, 0);     /* c.jr a0 */
    check(0x9502, INSTRUCTION_CALL_REGISTER, 2, 0);     /* c.jalr a0 */
    check(0x9082, INSTRUCTION_CALL_REGISTER, 2, 0);     /* c.jalr ra */
    check(0x9282, INSTRUCTION_SWAP, 2, 0);              /* c.jalr t0 */
}

static void test_traps(void **state)
{
    (void)state;
    check(0x00000073, INSTRUCTION_ENVIRONMENT, 4, 0); /* ecall */
    check(0x00100073, INSTRUCTION_ENVIRONMENT, 4, 0); /* ebreak */
    check(0x9002, INSTRUCTION_ENVIRONMENT, 2, 0);     /* c.ebreak */
    check(0x10200073, INSTRUCTION_TRAP_RETURN, 4, 0); /* sret */
    check(0x30200073, INSTRUCTION_TRAP_RETURN, 4, 0); /* mret */
    check(0x70200073, INSTRUCTION_TRAP_RETURN, 4, 0); /* mnret */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_plain), cmocka_unit_test(test_32_bits),
        cmocka_unit_test(test_stack), cmocka_unit_test(test_branches),
        cmocka_unit_test(test_jumps), cmocka_unit_test(test_registers),
        cmocka_unit_test(test_traps),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
