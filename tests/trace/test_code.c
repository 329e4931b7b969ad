/* The binary at an address, if several are possible. */
#include "trace/code.h"
#include "unit.h"

#define AT 0x10000u
#define SIZE 8192u

struct fixture {
    struct arena arena;
    char bytes[3][SIZE];
    struct elf moving;
    struct trace_binary binaries[3];
    struct trace_code code;
};

/* Two programs with the same addresses, and a position-independent library. */
static struct fixture *begin(void)
{
    struct fixture *f = calloc(1, sizeof *f);
    struct error err;
    f->moving.type = ELF_SHARED;
    for (unsigned i = 0; i < 3; i++) {
        struct trace_binary *b = &f->binaries[i];
        for (unsigned k = 0; k < SIZE; k++)
            f->bytes[i][k] = (char)(k * 7 + k / 256 * 3 + i * 101);
        memcpy(f->bytes[i] + 64, "the same in all", sizeof "the same in all");
        *b = (struct trace_binary){.name = STR("one"), .is_user = true};
        if (i == 2)
            b->elf = &f->moving;
        assert_true(trace_binary_init(b, &f->arena, &err));
        b->segments = arena_alloc(&f->arena, sizeof *b->segments);
        b->segment_count = 1;
        b->segments[0] =
            (struct trace_segment){AT, AT + SIZE, (struct str){f->bytes[i], SIZE}};
    }
    assert_true(trace_code_init(&f->code, &f->arena, f->binaries, 3));
    return f;
}

static void end(struct fixture *f)
{
    trace_code_deinit(&f->code);
    arena_deinit(&f->arena);
    free(f);
}

static struct trace_where match(struct fixture *f, uint64_t pc, unsigned binary,
                                unsigned at, unsigned size)
{
    return trace_code_match(&f->code, pc, (struct str){f->bytes[binary] + at, size});
}

static void test_same_address(void **state)
{
    (void)state;
    struct fixture *f = begin();
    assert_int_equal(match(f, AT + 16, 0, 16, 8).binary, 1);
    assert_int_equal(match(f, AT + 16, 1, 16, 8).binary, 2);
    /* Of two programs with the same bytes, the one seen last is selected. */
    assert_int_equal(match(f, AT + 64, 1, 64, 12).binary, 2);
    match(f, AT + 16, 0, 16, 8);
    assert_int_equal(match(f, AT + 64, 1, 64, 12).binary, 1);
    /* No match: a program is not mistaken for another one. */
    assert_int_equal(match(f, AT + 16, 0, 24, 8).binary, 0);
    end(f);
}

static void test_moved(void **state)
{
    (void)state;
    struct fixture *f = begin();
    uint64_t base = 0x7f1234000000;
    /* Too few bytes, and then enough: after that, few are enough. */
    assert_int_equal(match(f, base + 4096 + 20, 2, 4096 + 20, 6).binary, 0);
    struct trace_where where = match(f, base + 4096 + 32, 2, 4096 + 32, 24);
    assert_int_equal(where.binary, 3);
    assert_int_equal(where.bias, base - AT);
    assert_int_equal(match(f, base + 4096 + 20, 2, 4096 + 20, 6).binary, 3);
    assert_int_equal(trace_code_where_in(&f->code, base + 8, 3).bias, base - AT);
    /* Not at that offset in a page. */
    assert_int_equal(match(f, base + 9000, 2, 4096 + 32, 24).binary, 0);
    end(f);
}

/* Pages without a match are searched a limited number of times. */
static void test_searches(void **state)
{
    (void)state;
    struct fixture *f = begin();
    uint64_t base = 0x7f1234000000;
    for (unsigned i = 0; i < 20; i++)
        assert_int_equal(match(f, base + 9, 0, 64, 15).binary, 0);
    assert_int_equal(match(f, base + 32, 2, 32, 24).binary, 0);
    assert_int_equal(match(f, base + 4096 + 32, 2, 4096 + 32, 24).binary, 3);
    end(f);
}

static void put(struct fixture *f, unsigned binary, unsigned at, uint32_t bits)
{
    memcpy(f->bytes[binary] + at, &bits, sizeof bits);
}

/* Addresses only: the program is the one whose code connects the addresses. */
static void test_choice(void **state)
{
    (void)state;
    struct fixture *f = begin();
    const uint64_t jumps[] = {AT, AT + 8, AT + 12, AT + 16};
    const uint64_t falls[] = {AT, AT + 4, AT + 8, AT + 12};
    const uint64_t either[] = {AT + 8, AT + 12, AT + 16, 0xffffffff80000000};
    for (unsigned i = 0; i < 2; i++)
        for (unsigned at = 0; at < 32; at += 4)
            put(f, i, at, 0x00000013); /* nop */
    put(f, 0, 0, 0x0080006f);          /* j 8 */
    assert_true(trace_code_is_shared(&f->code, AT));
    assert_true(trace_code_is_shared(&f->code, AT + SIZE - 2));
    assert_false(trace_code_is_shared(&f->code, AT + SIZE));
    assert_false(trace_code_is_shared(&f->code, AT - 2));
    trace_code_choose(&f->code, jumps, 4, 0);
    assert_int_equal(f->code.program, 1);
    assert_int_equal(trace_code_find(&f->code, AT)->kind, INSTRUCTION_JUMP);
    trace_code_choose(&f->code, falls, 4, 1);
    assert_int_equal(f->code.program, 2);
    assert_int_equal(trace_code_find(&f->code, AT)->kind, INSTRUCTION_PLAIN);
    for (uint32_t before = 1; before <= 2; before++) {
        trace_code_choose(&f->code, either, 4, before);
        assert_int_equal(f->code.program, before);
    }
    end(f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {UNIT(test_same_address), UNIT(test_moved),
                                       UNIT(test_searches), UNIT(test_choice)};
    return UNITS_RUN(tests);
}
