/* SPDX-License-Identifier: Apache-2.0 */
#include "symbol/perf_map.h"
#include "unit.h"

static struct arena arena;
static uint64_t bad;

static struct symbol_table table_of(struct str text)
{
    struct symbol_table t;
    struct error err;
    assert_true(perf_map_init(&t, text, &arena, &bad, &err));
    return t;
}

static struct str name_at(const struct symbol_table *t, uint64_t address)
{
    struct symbol s = {.name = STR("-")};
    symbol_table_find(t, address, &s);
    return s.name;
}

static void reads_names_with_spaces(void **state)
{
    struct symbol_table t = table_of(STR("7f0000001000 20 Lexample;::run(int, int) x\r\n"
                                         "0x7f0000002000 0x10 py::f:/a b.py\n"));
    (void)state;
    assert_int_equal(bad, 0);
    assert_str(name_at(&t, 0x7f000000101f), "Lexample;::run(int, int) x");
    assert_str(name_at(&t, 0x7f0000001020), "-");
    assert_str(name_at(&t, 0x7f0000002000), "py::f:/a b.py");
    arena_deinit(&arena);
}

static void later_lines_win(void **state)
{
    struct symbol_table t = table_of(STR("1000 100 old\n1050 100 new\n0ff0 20 newest\n"));
    (void)state;
    assert_str(name_at(&t, 0x1000), "newest");
    assert_str(name_at(&t, 0x1010), "old");
    assert_str(name_at(&t, 0x104f), "old");
    assert_str(name_at(&t, 0x1050), "new");
    assert_str(name_at(&t, 0x114f), "new");
    arena_deinit(&arena);
}

static void skips_invalid_lines(void **state)
{
    struct symbol_table t =
        table_of(STR("x 10 a\n10 y b\n10 10\n10 10  \n\n 2000 10 good\n"
                     "11112222333344445 1 big\n"
                     "ffffffffffffff00 ffffffffffffffff wide\n"
                     "3000 0 open\n4000 10 still being wri"));
    (void)state;
    assert_int_equal(bad, 6);
    assert_str(name_at(&t, 0x2000), "good");
    assert_str(name_at(&t, 0xfffffffffffffff0), "wide");
    assert_str(name_at(&t, 0x3fff), "open");
    assert_str(name_at(&t, 0x4008), "-"); /* the next symbol is far away */
    arena_deinit(&arena);
}

int main(void)
{
    const struct CMUnitTest units[] = {
        UNIT(reads_names_with_spaces),
        UNIT(later_lines_win),
        UNIT(skips_invalid_lines),
    };
    return UNITS_RUN(units);
}
