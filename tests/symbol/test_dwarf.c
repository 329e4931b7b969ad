/* SPDX-License-Identifier: Apache-2.0 */
#include "dwarf_input.h"
#include "symbol/dwarf.h"
#include "symbol/dwarf_line.h"
#include "symbol/dwarf_table.h"
#include "unit.h"

/* --- Tables ------------------------------------------------------------------------- */

static uint32_t value_at(const struct dwarf_table *t, uint64_t address)
{
    const struct dwarf_range *range = dwarf_table_find(t, address);
    return range ? range->value : 0;
}

static void test_table(void **state)
{
    struct arena a = ARENA_INIT;
    struct dwarf_table t = {0};
    (void)state;
    assert_null(dwarf_table_find(&t, 7));
    assert_true(dwarf_table_add(&t, &a, 300, 400, 1));
    assert_true(dwarf_table_add(&t, &a, 100, 200, 2));
    assert_true(dwarf_table_add(&t, &a, 100, 110, 3));
    assert_true(dwarf_table_add(&t, &a, 120, 130, 4));
    assert_true(dwarf_table_add(&t, &a, 50, 50, 5)); /* empty */
    assert_true(dwarf_table_sort(&t, false));
    assert_int_equal(t.count, 4);
    assert_int_equal(value_at(&t, 50), 0);
    assert_int_equal(value_at(&t, 99), 0);
    assert_int_equal(value_at(&t, 100), 3);
    assert_int_equal(value_at(&t, 110), 2);
    assert_int_equal(value_at(&t, 125), 4);
    assert_int_equal(value_at(&t, 199), 2);
    assert_int_equal(value_at(&t, 200), 0);
    assert_int_equal(value_at(&t, 399), 1);
    assert_int_equal(value_at(&t, UINT64_MAX), 0);
    arena_deinit(&a);
}

static void test_table_ties(void **state)
{
    (void)state;
    for (int first = 0; first < 2; first++) {
        struct arena a = ARENA_INIT;
        struct dwarf_table t = {0};
        for (uint32_t i = 1; i <= 3; i++)
            assert_true(dwarf_table_add(&t, &a, 10, 20, i));
        assert_true(dwarf_table_add(&t, &a, 5, 30, 9));
        assert_true(dwarf_table_sort(&t, first));
        assert_int_equal(value_at(&t, 12), first ? 1 : 3);
        assert_int_equal(value_at(&t, 25), 9);
        arena_deinit(&a);
    }
}

/* --- Line programs ------------------------------------------------------------------ */

/* A program of version 4 with the files a.c and dir/b.c; the operations follow. */
#define LINE_HEAD(min_length, max_ops)                      \
    "\0\0\0\0" /* length: set below */                      \
    "\4\0"                                                  \
    "\43\0\0\0" min_length max_ops                          \
    "\1\375\14\12" /* base -3, range 12, opcodes from 10 */ \
    "\0\1\1\1\1\0\0\0\1"                                    \
    "dir\0\0"                                               \
    "a.c\0\0\0\0"                                           \
    "b.c\0\1\0\0\0"
#define SET_ADDRESS(low, high) "\0\11\2" low high "\0\0\0\0\0\0"
#define END "\0\1\1"

struct lines {
    struct arena arena;
    struct dwarf_file file;
    struct dwarf_unit unit;
    struct dwarf d;
    struct dwarf_lines *lines;
    char bytes[400];
};

static void make_lines(struct lines *l, const char *program, size_t size)
{
    uint64_t budget = 10000;
    memset(l, 0, sizeof *l);
    memcpy(l->bytes, program, size);
    l->bytes[0] = (char)(size - 4);
    l->file.sections = DWARF_NO_SECTIONS;
    l->file.sections.line = (struct str){l->bytes, size};
    l->unit = (struct dwarf_unit){.file = &l->file, .address_size = 8, .offset_size = 4};
    l->d.input.code_low = 0x10;
    l->d.input.code_high = UINT64_MAX;
    l->lines = dwarf_lines_make(&l->unit, &l->d, &l->arena, &budget, NULL);
    assert_non_null(l->lines);
}

#define MAKE_LINES(l, program) make_lines(l, program, sizeof(program) - 1)

static uint32_t line_at(const struct lines *l, uint64_t address)
{
    struct dwarf_line_state s;
    return dwarf_lines_find(l->lines, address, &s) ? s.line : 0;
}

static void test_lines(void **state)
{
    struct lines l;
    struct dwarf_line_state s;
    (void)state;
    MAKE_LINES(
        &l, LINE_HEAD("\1", "\1") SET_ADDRESS(
                "\0", "\1") "\1"                    /* 100: line 1 */
                            "\3\4\2\3\1"            /* 103: line 5 */
                            "\16\4\2\5\7\0\2\4\5\1" /* special: +0, +1: line 6 of b.c */
                            "\31"                   /* special: +1, +0 */
                            "\10\1\11\4\0\1" /* const_add_pc (20), fixed_advance_pc (4) */
                            "\2\1" END);
    assert_int_equal(line_at(&l, 0xff), 0);
    assert_int_equal(line_at(&l, 0x100), 1);
    assert_int_equal(line_at(&l, 0x102), 1);
    assert_true(dwarf_lines_find(l.lines, 0x103, &s));
    assert_int_equal(s.line, 6);
    assert_int_equal(s.file, 2);
    assert_int_equal(s.column, 7);
    assert_int_equal(line_at(&l, 0x104), 6);
    assert_int_equal(line_at(&l, 0x11c), 6);
    assert_int_equal(line_at(&l, 0x11d), 0);
    for (unsigned i = 0; i < 35 * 35; i++) { /* each combination of two */
        uint64_t one = 0xfe + i % 35, two = 0xfe + i / 35;
        (void)line_at(&l, one);
        assert_int_equal(line_at(&l, two), two < 0x100   ? 0
                                           : two < 0x103 ? 1
                                           : two < 0x11d ? 6
                                                         : 0);
    }
    struct dwarf_line_file *file = dwarf_lines_file(l.lines, 2);
    assert_str(dwarf_lines_name(l.lines, file), "b.c");
    assert_str(dwarf_lines_dir(l.lines, file), "dir");
    file = dwarf_lines_file(l.lines, 1);
    assert_str(dwarf_lines_dir(l.lines, file), "");
    assert_null(dwarf_lines_file(l.lines, 0));
    assert_null(dwarf_lines_file(l.lines, 3));
    arena_deinit(&l.arena);
}

/* Instructions of 4 bytes with three operations each (DWARF 4, 6.2.5.1). */
static void test_lines_vliw(void **state)
{
    struct lines l;
    (void)state;
    MAKE_LINES(&l, LINE_HEAD("\4", "\3") SET_ADDRESS(
                       "\0", "\1") "\1"
                                   "\2\2\3\1\1" /* operation 2 of the same instruction */
                                   "\2\2\3\1\1" /* 4 operations further: 104 */
                                   "\2\5" END); /* 9: 10c */
    assert_int_equal(line_at(&l, 0x100), 2);
    assert_int_equal(line_at(&l, 0x103), 2);
    assert_int_equal(line_at(&l, 0x104), 3);
    assert_int_equal(line_at(&l, 0x10b), 3);
    assert_int_equal(line_at(&l, 0x10c), 0);
    arena_deinit(&l.arena);
}

/* Sequences in any order, dropped ones at 0, and one that was merged with another. */
static void test_lines_sequences(void **state)
{
    struct lines l;
    (void)state;
    MAKE_LINES(&l,
               LINE_HEAD("\1", "\1")
                   SET_ADDRESS("\0", "\2") "\3\11\1\2\4" END         /* 200: line 10 */
                       SET_ADDRESS("\0", "\0") "\3\23\1\2\177" END   /* 0: dropped */
                           SET_ADDRESS("\0", "\1") "\3\35\1\2\4" END /* 100: line 30 */
                               SET_ADDRESS("\0", "\2") "\3\47\1\2\4" END); /* 200 again */
    assert_int_equal(line_at(&l, 0x200), 10);
    assert_int_equal(line_at(&l, 0x203), 10);
    assert_int_equal(line_at(&l, 0x204), 0);
    assert_int_equal(line_at(&l, 0x103), 30);
    assert_int_equal(line_at(&l, 0x20), 0);
    arena_deinit(&l.arena);
}

/* A truncated program: the rows before the end are known. */
static void test_lines_truncated(void **state)
{
    static const char program[] =
        LINE_HEAD("\1", "\1") SET_ADDRESS("\0", "\1") "\3\11\1\2\4\1\2\4\1" END;
    (void)state;
    for (size_t size = 0; size < sizeof program; size++) {
        struct lines l;
        make_lines(&l, program, size);
        uint32_t line = line_at(&l, 0x100);
        assert_true(line == 0 || line == 10);
        if (size >= sizeof program - 4)
            assert_int_equal(line, 10);
        arena_deinit(&l.arena);
    }
}

/* --- Units -------------------------------------------------------------------------- */

/* A unit without a code range, whose lines provide it, in a table whose codes have
 * gaps; and a function that is declared in one entry and defined in another. */
static const char info[] = "\54\0\0\0\4\0\0\0\0\0\10"
                           "\11"                                  /* 0b: unit */
                           "\0\0\0\0"                             /* stmt_list */
                           "\7short\0"                            /* 10: declaration */
                           "\3\20\0\0\0\0\1\0\0\0\0\0\0\20\0\0\0" /* 17: function */
                           "\5\0\0\0\0"
                           "\0\0\0";
static const char abbrev[] = "\11\21\1\20\27\0\0"
                             "\7\56\0\3\10\0\0"
                             "\3\56\0\107\23\21\1\22\6\0\0"
                             "\5\12\0\111\23\0\0";

static void test_unit(void **state)
{
    static const char program[] =
        LINE_HEAD("\1", "\1") SET_ADDRESS("\0", "\1") "\3\11\1\2\40" END;
    struct lines l;
    struct arena arena = ARENA_INIT;
    struct dwarf_input input = {
        DWARF_NO_SECTIONS, DWARF_NO_SECTIONS, 0, UINT64_MAX, NULL, NULL};
    struct dwarf d;
    struct dwarf_reader r;
    struct dwarf_frame frames[4];
    (void)state;
    MAKE_LINES(&l, program);
    input.sections.info = (struct str){info, sizeof info - 1};
    input.sections.abbrev = (struct str){abbrev, sizeof abbrev - 1};
    input.sections.line = l.file.sections.line;
    assert_true(dwarf_init(&d, &input, &arena, NULL));
    assert_int_equal(dwarf_unit_at(&d, 0x100), 0);
    assert_int_equal(dwarf_unit_at(&d, 0x120), DWARF_NO_UNIT);
    assert_true(dwarf_reader_init(&r, &d, NULL));
    assert_int_equal(dwarf_find_one(&r, 0x10f, frames, 4), 1);
    assert_str(frames[0].name, "short");
    assert_false(frames[0].is_linkage_name || frames[0].is_inlined);
    assert_str(frames[0].file, "a.c");
    assert_int_equal(frames[0].line, 10);
    assert_int_equal(dwarf_find_one(&r, 0x110, frames, 4), 1); /* a line, no function */
    assert_str(frames[0].name, "");
    assert_int_equal(frames[0].line, 10);
    assert_int_equal(dwarf_find_one(&r, 0x120, frames, 4), 0);
    dwarf_reader_deinit(&r);
    arena_deinit(&arena);
    arena_deinit(&l.arena);
}

/* 16 bytes long. */
#define FUNCTION(name, low) "\3" name "\0\0" low "\0\0\0\0\0\0\20\0\0\0"

/* C++: a function in a namespace with a sibling offset, one beside it, one in a type. */
static const char depths_info[] = "\121\0\0\0\4\0\0\0\0\0\10"
                                  "\1\4\0\1\0\0\0\0\0\0\0\3\0\0" /* 0b: unit */
                                  "\2\57\0\0\0"                  /* 19: namespace */
    FUNCTION("in", "\1") "\0" FUNCTION("out", "\2") "\4" FUNCTION(
        "deep", "\3") "\0\0"; /* 40: type */
static const char depths_abbrev[] = "\1\21\1\23\13\21\1\22\6\0\0"
                                    "\2\71\1\1\23\0\0"
                                    "\3\56\0\3\10\21\1\22\6\0\0"
                                    "\4\23\1\0\0\0";

/* Queries the three functions, one of them first. */
static void find_in_depths(const struct dwarf *d, unsigned first)
{
    static const char *const names[] = {"(anonymous namespace)::in", "out",
                                        "{unnamed type#1}::deep"};
    struct dwarf_reader r;
    struct dwarf_frame frames[4];
    assert_true(dwarf_reader_init(&r, d, NULL));
    for (unsigned i = 0; i < 3; i++) {
        unsigned at = (first + i) % 3;
        uint64_t address = 0x100 * ((uint64_t)at + 1);
        assert_int_equal(dwarf_find_one(&r, address + 15, frames, 4), 1);
        assert_str(frames[0].name, names[at]);
        assert_int_equal(dwarf_find_one(&r, address + 16, frames, 4), 0);
    }
    dwarf_reader_deinit(&r);
}

static void test_depths(void **state)
{
    struct arena arena = ARENA_INIT;
    struct dwarf_input input = {
        DWARF_NO_SECTIONS, DWARF_NO_SECTIONS, 0, UINT64_MAX, NULL, NULL};
    struct dwarf d;
    (void)state;
    input.sections.info = (struct str){depths_info, sizeof depths_info - 1};
    input.sections.abbrev = (struct str){depths_abbrev, sizeof depths_abbrev - 1};
    assert_true(dwarf_init(&d, &input, &arena, NULL));
    for (unsigned first = 0; first < 3; first++)
        find_in_depths(&d, first);
    arena_deinit(&arena);
}

static void test_order(void **state)
{
    struct arena arena = ARENA_INIT;
    struct dwarf d = {.arena = &arena};
    struct dwarf_query queries[] = {{.address = 35},
                                    {.address = 5},
                                    {.address = 12},
                                    {.address = 31},
                                    {.address = 11}};
    static const uint64_t expected[] = {31, 35, 11, 12, 5};
    (void)state;
    assert_true(dwarf_table_add(&d.ranges, &arena, 30, 40, 1));
    assert_true(dwarf_table_add(&d.ranges, &arena, 10, 20, 2));
    assert_true(dwarf_table_sort(&d.ranges, true));
    assert_true(dwarf_order(&d, queries, 5));
    for (size_t i = 0; i < 5; i++)
        assert_int_equal(queries[i].address, expected[i]);
    assert_int_equal(queries[4].unit, DWARF_NO_UNIT);
    assert_int_equal(dwarf_cut(queries, 5, 1), 2);
    assert_int_equal(dwarf_cut(queries, 5, 2), 2);
    assert_int_equal(dwarf_cut(queries, 5, 3), 4);
    assert_int_equal(dwarf_cut(queries, 5, 9), 5);
    assert_int_equal(dwarf_cut(queries, 0, 9), 0);
    arena_deinit(&arena);
}

int main(void)
{
    const struct CMUnitTest units[] = {
        UNIT(test_table),      UNIT(test_table_ties),      UNIT(test_lines),
        UNIT(test_lines_vliw), UNIT(test_lines_sequences), UNIT(test_lines_truncated),
        UNIT(test_unit),       UNIT(test_depths),          UNIT(test_order),
    };
    return UNITS_RUN(units);
}
