/* SPDX-License-Identifier: Apache-2.0 */
/* Stacks made by hand, unwound by the batch and by the cursor. */
#include "section.h"
#include "unit.h"
#include "unwind/unwind.h"

#define BIAS 0x7f0000000000u
#define STACK 0x7ffd00000000u
#define ROOM 40
#define HEAP 0x7c0000000000u

/* Mappings: the file at BIAS, and code without a table at JIT. */
#define JIT 0x7e0000000000u

static struct arena arena;
static struct spaces spaces;
static space_id space;
static struct unwind_table table;

static const struct unwind_table *table_of(void *context, object_id object)
{
    (void)context;
    return object == 1 ? &table : NULL;
}

static struct unwind_objects objects = {.table = table_of};
static struct unwind_cache *cache;

static struct unwind_switch made_switches[2];
static uint64_t stack[64];
static uint64_t registers[UNWIND_REGISTERS_MAX];
static uint64_t addresses[ROOM];
static uint32_t signals[2];
static struct unwind_job job;

static int tear_down(void **state)
{
    (void)state;
    spaces_deinit(&spaces);
    arena_deinit(&arena);
    space = 0;
    return 0;
}

static void set_up(struct maker *m, enum architecture machine)
{
    struct unwind_source source = {
        .machine = machine, .section_count = 1, .code = STR("")};
    struct error err;
    struct address_map file = {BIAS, BIAS + 0x10000, 0, 1, 0, false};
    struct address_map jit = {JIT, JIT + 0x1000, 0, 0, 0, false};
    source.sections[0] = made_section(m, machine);
    source.segments[0] = (struct unwind_segment){0, 0x10000, 0};
    source.segment_count = 1;
    memcpy(source.switches, made_switches, sizeof made_switches);
    source.switch_count = made_switches[0].end ? 2 : 0;
    assert_true(unwind_table_build(&table, &source, &arena, &err));
    space = space_add(&spaces, 0, &file);
    space = space_add(&spaces, space, &jit);
    cache = unwind_cache_create(&arena);
    memset(stack, 0, sizeof stack);
    memset(registers, 0, sizeof registers);
    job = (struct unwind_job){.machine = machine,
                              .spaces = &spaces,
                              .space = space,
                              .registers = registers,
                              .recorded = UINT64_MAX,
                              .stack = {(const char *)stack, sizeof stack},
                              .addresses = addresses,
                              .signals = signals,
                              .room = ROOM};
    registers[machine == ARCH_ARM64 ? 31 : 7] = STACK;
}

/* x86-64: 0x1000 pushes 16 more bytes at +4, 0x2000 has a frame pointer from +4 on,
 * 0x3000 is the outermost function, 0x4000 a signal trampoline. */
static void set_up_x86_64(struct maker *m)
{
    make_x86_64_cie(m);
    make_fde(m, 0x1000, 0x100, STR("\x44\x0e\x18"));
    make_fde(m, 0x2000, 0x100, STR("\x41\x0e\x10\x86\x02\x43\x0d\x06"));
    make_fde(m, 0x3000, 0x100, STR("\x07\x10"));
    make_fde(m, 0x5000, 0x100, STR("\x0c\x03\x08"));     /* CFA is rbx+8 */
    make_fde(m, 0x6000, 0x100, STR("\x0e\x18\x83\x02")); /* saves rbx at CFA-16 */
    make_cie(m, "zRS", 1, 0x78, 16, X86_64_PROGRAM);
    make_fde(
        m, 0x3fff, 0x0a,
        STR("\x0f\x04\x77\xa0\x01\x06\x10\x06\x03\x77\xf8\x00\x10\x07\x03\x77\xa0\x01"
            "\x10\x10\x03\x77\xa8\x01\x10\x03\x03\x77\x80\x01"));
    set_up(m, ARCH_X86_64);
}

/* Batch and cursor must both give these frames and this end. */
static void assert_frames(enum unwind_end end, size_t count, const uint64_t *expected)
{
    for (int way = 0; way < 2; way++) {
        memset(addresses, 0xee, sizeof addresses);
        if (way == 0)
            unwind_batch(cache, &objects, &job, 1);
        else
            unwind_by_cursor(&objects, &job, 1);
        if (job.count != count)
            fail_msg("%zu frames, expected %zu", job.count, count);
        for (size_t i = 0; i < count; i++)
            assert_int_equal(addresses[i], expected[i]);
        assert_int_equal(job.end, end);
        assert_true(signals[0] & 1 || count == 0);
    }
}

#define assert_stack(end, ...)                                               \
    do {                                                                     \
        const uint64_t expected_[] = {__VA_ARGS__};                          \
        assert_frames(end, sizeof expected_ / sizeof *expected_, expected_); \
    } while (0)

static void x86_64_by_stack_and_frame_pointer(void **state)
{
    struct maker m = {.used = 0};
    (void)state;
    set_up_x86_64(&m);
    registers[8] = BIAS + 0x1010;
    registers[6] = STACK + 8 * 10;
    stack[2] = BIAS + 0x2020; /* CFA of the leaf is at 3 */
    stack[10] = 0;            /* the saved frame pointer of 0x2000 */
    stack[11] = BIAS + 0x3008;
    assert_stack(UNWIND_WHOLE, BIAS + 0x1010, BIAS + 0x2020, BIAS + 0x3008);
    assert_int_equal(signals[0], 1);
    /* in the prologue */
    registers[8] = BIAS + 0x2001;
    stack[0] = STACK + 8 * 30;
    stack[1] = BIAS + 0x1010;
    stack[4] = BIAS + 0x3008;
    assert_stack(UNWIND_WHOLE, BIAS + 0x2001, BIAS + 0x1010, BIAS + 0x3008);
}

static void a_call_at_the_end_of_a_function(void **state)
{
    struct maker m = {.used = 0};
    (void)state;
    set_up_x86_64(&m);
    registers[8] = BIAS + 0x1000;
    stack[0] = BIAS + 0x1100; /* after the last byte of 0x1000's code */
    stack[3] = BIAS + 0x3008;
    assert_stack(UNWIND_WHOLE, BIAS + 0x1000, BIAS + 0x1100, BIAS + 0x3008);
}

static void dumps_that_are_too_short(void **state)
{
    struct maker m = {.used = 0};
    (void)state;
    set_up_x86_64(&m);
    registers[8] = BIAS + 0x1010;
    stack[2] = BIAS + 0x1010;
    stack[5] = BIAS + 0x3008;
    for (size_t len = 0; len < 24; len++) {
        job.stack.len = len;
        assert_stack(UNWIND_CUT, BIAS + 0x1010);
    }
    for (size_t len = 24; len < 48; len++) {
        job.stack.len = len;
        assert_stack(UNWIND_CUT, BIAS + 0x1010, BIAS + 0x1010);
    }
    job.stack.len = 48;
    assert_stack(UNWIND_WHOLE, BIAS + 0x1010, BIAS + 0x1010, BIAS + 0x3008);
}

static void no_frame_is_invented(void **state)
{
    struct maker m = {.used = 0};
    (void)state;
    set_up_x86_64(&m);
    registers[8] = BIAS + 0x1010;
    stack[2] = 0;
    assert_stack(UNWIND_WHOLE, BIAS + 0x1010);
    stack[2] = 0x4141414141414141;
    assert_stack(UNWIND_BAD_RULE, BIAS + 0x1010);
    stack[2] = 17;
    assert_stack(UNWIND_BAD_RULE, BIAS + 0x1010);
    stack[2] = BIAS + 0x9000; /* mapped, but without a rule */
    registers[6] = 3;
    assert_stack(UNWIND_NO_TABLE, BIAS + 0x1010, BIAS + 0x9000);
    registers[6] = 0; /* the ABI's mark of the outermost frame */
    assert_stack(UNWIND_WHOLE, BIAS + 0x1010, BIAS + 0x9000);
    /* a frame pointer below the stack pointer */
    registers[8] = BIAS + 0x2010;
    registers[6] = STACK - 64;
    assert_stack(UNWIND_BAD_RULE, BIAS + 0x2010);
}

/* A return address must be in code, whichever rule found it. */
static void a_return_address_outside_of_code(void **state)
{
    struct maker m = {.used = 0};
    struct address_map heap = {HEAP, HEAP + 0x1000, 0, 0, 0, true};
    const uint64_t targets[] = {HEAP + 0x10, HEAP + 0x1000, HEAP - 0x1000,
                                BIAS + 0x70000};
    (void)state;
    set_up_x86_64(&m);
    job.space = space = space_add(&spaces, space, &heap);
    for (size_t i = 0; i < sizeof targets / sizeof *targets; i++) {
        registers[8] = BIAS + 0x1010;
        stack[2] = targets[i];
        assert_stack(UNWIND_BAD_RULE, BIAS + 0x1010);
        stack[2] = JIT + 0x10; /* by frame pointers */
        registers[6] = STACK + 8 * 4;
        stack[4] = STACK + 8 * 8;
        stack[5] = targets[i];
        assert_stack(UNWIND_NO_TABLE, BIAS + 0x1010, JIT + 0x10);
        registers[8] = JIT + 0x10; /* from JIT code to known code and back */
        stack[5] = BIAS + 0x1010;
        stack[8] = targets[i];
        assert_stack(UNWIND_BAD_RULE, JIT + 0x10, BIAS + 0x1010);
    }
    /* the first frame always remains */
    registers[8] = HEAP + 0x10;
    registers[6] = 1;
    assert_stack(UNWIND_NO_TABLE, HEAP + 0x10);
}

/* No function ends where 0x7000 begins. */
static void a_return_to_where_a_function_begins(void **state)
{
    struct maker m = {.used = 0};
    (void)state;
    make_x86_64_cie(&m);
    make_fde(&m, 0x1000, 0x100, STR("\x44\x0e\x18"));
    make_fde(&m, 0x3000, 0x100, STR("\x07\x10"));
    make_fde(&m, 0x7000, 0x100, STR("\x44\x0e\x18"));
    set_up(&m, ARCH_X86_64);
    registers[8] = BIAS + 0x1010;
    stack[2] = BIAS + 0x7000;
    stack[3] = BIAS + 0x3008;
    assert_stack(UNWIND_WHOLE, BIAS + 0x1010, BIAS + 0x7000, BIAS + 0x3008);
    assert_int_equal(signals[0], 3);
    stack[2] = BIAS + 0x7001; /* inside the function, as usual */
    assert_stack(UNWIND_WHOLE, BIAS + 0x1010, BIAS + 0x7001, BIAS + 0x3008);
    assert_int_equal(signals[0], 1);
    stack[2] = BIAS + 0x1100; /* a function ends there */
    stack[5] = BIAS + 0x3008;
    assert_stack(UNWIND_WHOLE, BIAS + 0x1010, BIAS + 0x1100, BIAS + 0x3008);
    assert_int_equal(signals[0], 1);
}

/* Code that runs on another stack than the one it was called on. */
static void switched_stacks(void **state)
{
    struct maker m = {.used = 0};
    (void)state;
    made_switches[0] = (struct unwind_switch){0x1040, 0x1080, true};
    made_switches[1] = (struct unwind_switch){0x2040, 0x2100, false};
    set_up_x86_64(&m);
    registers[8] = BIAS + 0x1010;
    stack[2] = BIAS + 0x1041; /* looked up at 0x1040 */
    stack[5] = BIAS + 0x3008; /* what its rule would find */
    registers[6] = HEAP;
    assert_stack(UNWIND_SWITCHED, BIAS + 0x1010, BIAS + 0x1041);
    stack[2] = BIAS + 0x1040; /* before the switch */
    assert_stack(UNWIND_WHOLE, BIAS + 0x1010, BIAS + 0x1040, BIAS + 0x3008);
    stack[2] = BIAS + 0x1081; /* after the switch back */
    assert_stack(UNWIND_WHOLE, BIAS + 0x1010, BIAS + 0x1081, BIAS + 0x3008);
    stack[2] = BIAS + 0x1080;
    registers[6] = STACK + 8 * 20; /* the other stack is in the dump */
    stack[20] = 0;
    stack[21] = BIAS + 0x3010;
    assert_stack(UNWIND_WHOLE, BIAS + 0x1010, BIAS + 0x1080, BIAS + 0x3010);
    stack[2] = BIAS + 0x2050;
    assert_stack(UNWIND_WHOLE, BIAS + 0x1010, BIAS + 0x2050);
    memset(made_switches, 0, sizeof made_switches);
}

static void code_without_a_table(void **state)
{
    struct maker m = {.used = 0};
    (void)state;
    set_up_x86_64(&m);
    registers[8] = JIT + 0x10;
    registers[6] = STACK + 8 * 4;
    stack[4] = STACK + 8 * 8;
    stack[5] = JIT + 0x20;
    stack[8] = 1;
    stack[9] = BIAS + 0x1010;
    stack[12] = BIAS + 0x3008;
    assert_stack(UNWIND_WHOLE, JIT + 0x10, JIT + 0x20, BIAS + 0x1010, BIAS + 0x3008);
    stack[9] = BIAS + 0x70000; /* not mapped */
    assert_stack(UNWIND_NO_TABLE, JIT + 0x10, JIT + 0x20);
    registers[6]++;
    assert_stack(UNWIND_NO_TABLE, JIT + 0x10);
}

static void signal_frames(void **state)
{
    struct maker m = {.used = 0};
    (void)state;
    set_up_x86_64(&m);
    registers[8] = BIAS + 0x1000;   /* the handler, at its beginning */
    stack[0] = BIAS + 0x4000;       /* the trampoline; its stack pointer is at 1 */
    stack[1 + 15] = 0x77;           /* rbp */
    stack[1 + 16] = STACK + 8 * 33; /* rbx */
    stack[1 + 20] = STACK + 8 * 30; /* rsp */
    stack[1 + 21] = BIAS + 0x2000;  /* rip: at the first byte of a function */
    stack[30] = BIAS + 0x6010;
    stack[31] = STACK + 8 * 40; /* the saved rbx of 0x6000's caller */
    stack[33] = BIAS + 0x3008;
    assert_stack(UNWIND_WHOLE, BIAS + 0x1000, BIAS + 0x4000, BIAS + 0x2000, BIAS + 0x6010,
                 BIAS + 0x3008);
    /* the leaf, the trampoline, and the interrupted code */
    assert_int_equal(signals[0], 7);
    /* and with a register that only the signal frame contains */
    stack[1 + 21] = BIAS + 0x5000;
    stack[33] = BIAS + 0x3008;
    assert_stack(UNWIND_WHOLE, BIAS + 0x1000, BIAS + 0x4000, BIAS + 0x5000,
                 BIAS + 0x3008);
    /* during the sigreturn system call */
    registers[8] = BIAS + 0x4009;
    registers[7] = STACK + 8;
    job.stack = str_skip(job.stack, 8);
    assert_stack(UNWIND_WHOLE, BIAS + 0x4009, BIAS + 0x5000, BIAS + 0x3008);
}

static void registers_that_only_the_cursor_tracks(void **state)
{
    struct maker m = {.used = 0};
    (void)state;
    set_up_x86_64(&m);
    registers[8] = BIAS + 0x6000; /* has saved rbx */
    registers[1] = 0x1234;        /* perf's number of rbx */
    stack[1] = STACK + 8 * 9;
    stack[2] = BIAS + 0x5010; /* its CFA is rbx + 8 */
    stack[9] = BIAS + 0x3008;
    assert_stack(UNWIND_WHOLE, BIAS + 0x6000, BIAS + 0x5010, BIAS + 0x3008);
    registers[8] = BIAS + 0x5010;
    registers[1] = STACK + 8 * 9;
    assert_stack(UNWIND_WHOLE, BIAS + 0x5010, BIAS + 0x3008);
    job.recorded = ~(uint64_t)2;
    assert_stack(UNWIND_BAD_RULE, BIAS + 0x5010);
}

static void the_maximum_frame_count_is_respected(void **state)
{
    struct maker m = {.used = 0};
    (void)state;
    set_up_x86_64(&m);
    registers[8] = BIAS + 0x1000;
    for (size_t i = 0; i < 64; i++)
        stack[i] = BIAS + 0x1002;
    job.room = 3;
    assert_stack(UNWIND_TOO_DEEP, BIAS + 0x1000, BIAS + 0x1002, BIAS + 0x1002);
    job.room = 0;
    assert_frames(UNWIND_TOO_DEEP, 0, NULL);
}

static void jobs_that_cannot_be_unwound(void **state)
{
    struct maker m = {.used = 0};
    (void)state;
    set_up_x86_64(&m);
    registers[8] = BIAS + 0x1000;
    job.recorded = 1 << 7;
    assert_frames(UNWIND_NO_TABLE, 0, NULL);
    job.recorded = UINT64_MAX;
    job.machine = ARCH_X86;
    assert_frames(UNWIND_NO_TABLE, 0, NULL);
    job.machine = ARCH_ARM64; /* the file's table is for another architecture */
    registers[32] = BIAS + 0x1000;
    registers[31] = STACK;
    registers[29] = 3;
    assert_stack(UNWIND_NO_TABLE, BIAS + 0x1000);
}

static void arm64_leaf_frames_and_signed_addresses(void **state)
{
    struct maker m = {.used = 0};
    (void)state;
    make_arm64_cie(&m);
    /* keeps its return address in x30 */
    make_fde(&m, 0x1000, 0x100, STR("\x42\x0e\x20"));
    make_fde(&m, 0x2000, 0x100, STR("\x41\x0e\x10\x9d\x02\x9e\x01\x41\x0d\x1d"));
    make_fde(&m, 0x3000, 0x100, STR("\x07\x1e"));
    set_up(&m, ARCH_ARM64);
    registers[32] = BIAS + 0x1010;
    registers[30] = BIAS + 0x2020;
    registers[29] = STACK + 8 * 6;
    stack[6] = STACK + 8 * 12;
    stack[7] = (BIAS + 0x2040) | (uint64_t)0x23 << 48; /* signed */
    stack[12] = 0;
    stack[13] = BIAS + 0x3010;
    assert_stack(UNWIND_WHOLE, BIAS + 0x1010, BIAS + 0x2020, BIAS + 0x2040,
                 BIAS + 0x3010);
    registers[32] = BIAS + 0x1000; /* before the stack pointer has moved */
    assert_stack(UNWIND_WHOLE, BIAS + 0x1000, BIAS + 0x2020, BIAS + 0x2040,
                 BIAS + 0x3010);
    /* after a call, the link register does not contain the return address */
    stack[7] = BIAS + 0x1010;
    assert_stack(UNWIND_BAD_RULE, BIAS + 0x1000, BIAS + 0x2020, BIAS + 0x1010);
}

static void arm64_signal_frames(void **state)
{
    struct maker m = {.used = 0};
    static uint64_t large[128];
    (void)state;
    make_arm64_cie(&m);
    make_fde(&m, 0x1000, 0x100, STR("\x42\x0e\x20"));
    make_fde(&m, 0x3000, 0x100, STR("\x07\x1e"));
    make_cie(&m, "zRS", 4, 0x78, 30, ARM64_PROGRAM);
    make_fde(&m, 0x3ffc, 0x0c, (struct str){"\x0c\x1d\x00\x9d\x00\x9e\x7f", 7});
    set_up(&m, ARCH_ARM64);
    memset(large, 0, sizeof large);
    job.stack = (struct str){(const char *)large, sizeof large};
    registers[32] = BIAS + 0x1000;
    registers[30] = BIAS + 0x4000;
    large[39 + 30] = BIAS + 0x3008;   /* x30: 312 bytes above the stack pointer */
    large[39 + 31] = STACK + 8 * 100; /* sp */
    large[39 + 32] = BIAS + 0x1020;   /* pc, in a leaf */
    assert_stack(UNWIND_WHOLE, BIAS + 0x1000, BIAS + 0x4000, BIAS + 0x1020,
                 BIAS + 0x3008);
    assert_int_equal(signals[0], 7);
}

/* Many stacks of different depths, more than are unwound at the same time. */
static void many_jobs_at_once(void **state)
{
    enum { COUNT = 100 };
    static struct unwind_job jobs[COUNT];
    static uint64_t out[COUNT][ROOM], regs[COUNT][UNWIND_REGISTERS_MAX];
    static uint64_t stacks[COUNT][64];
    static uint32_t bits[COUNT][2];
    struct maker m = {.used = 0};
    (void)state;
    set_up_x86_64(&m);
    for (size_t i = 0; i < COUNT; i++) {
        size_t depth = i * 7 % 20;
        jobs[i] = job;
        regs[i][8] = BIAS + 0x1010;
        regs[i][7] = STACK + i * 4096;
        for (size_t j = 0; j < depth; j++)
            stacks[i][3 * j + 2] = BIAS + 0x1005 + j;
        stacks[i][3 * depth + 2] = BIAS + 0x3001 + i;
        jobs[i].registers = regs[i];
        jobs[i].stack.ptr = (const char *)stacks[i];
        jobs[i].addresses = out[i];
        jobs[i].signals = bits[i];
    }
    unwind_batch(cache, &objects, jobs, COUNT);
    for (size_t i = 0; i < COUNT; i++) {
        size_t depth = i * 7 % 20;
        assert_int_equal(jobs[i].end, UNWIND_WHOLE);
        assert_int_equal(jobs[i].count, depth + 2);
        for (size_t j = 0; j < depth; j++)
            assert_int_equal(out[i][j + 1], BIAS + 0x1005 + j);
        assert_int_equal(out[i][depth + 1], BIAS + 0x3001 + i);
    }
}

int main(void)
{
    const struct CMUnitTest units[] = {
        cmocka_unit_test_teardown(x86_64_by_stack_and_frame_pointer, tear_down),
        cmocka_unit_test_teardown(a_call_at_the_end_of_a_function, tear_down),
        cmocka_unit_test_teardown(dumps_that_are_too_short, tear_down),
        cmocka_unit_test_teardown(no_frame_is_invented, tear_down),
        cmocka_unit_test_teardown(a_return_address_outside_of_code, tear_down),
        cmocka_unit_test_teardown(a_return_to_where_a_function_begins, tear_down),
        cmocka_unit_test_teardown(switched_stacks, tear_down),
        cmocka_unit_test_teardown(code_without_a_table, tear_down),
        cmocka_unit_test_teardown(signal_frames, tear_down),
        cmocka_unit_test_teardown(registers_that_only_the_cursor_tracks, tear_down),
        cmocka_unit_test_teardown(the_maximum_frame_count_is_respected, tear_down),
        cmocka_unit_test_teardown(jobs_that_cannot_be_unwound, tear_down),
        cmocka_unit_test_teardown(arm64_leaf_frames_and_signed_addresses, tear_down),
        cmocka_unit_test_teardown(arm64_signal_frames, tear_down),
        cmocka_unit_test_teardown(many_jobs_at_once, tear_down),
    };
    return UNITS_RUN(units);
}
