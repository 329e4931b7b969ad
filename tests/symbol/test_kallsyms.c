/* SPDX-License-Identifier: Apache-2.0 */
#include "symbol/kallsyms.h"
#include "unit.h"

static struct arena arena;
static struct kallsyms_facts facts;

static struct symbol_table table_of(const char *text)
{
    struct symbol_table t;
    struct error err;
    assert_true(kallsyms_init(&t, str_of(text), &arena, &facts, &err));
    return t;
}

static struct symbol at(const struct symbol_table *t, uint64_t address)
{
    struct symbol s = {.name = STR("-"), .module = STR("-")};
    symbol_table_find(t, address, &s);
    return s;
}

static const char text[] = "ffffffff81000000 T _stext\n"
                           "ffffffff81000000 T _text\n"
                           "ffffffff81001000 t do_it\n"
                           "ffffffff81001000 W __do_it\n"
                           "ffffffff81002000 D some_data\n"
                           "ffffffff81002100 r left_out\n"
                           "ffffffff81003000 t $x\n"
                           "ffffffffc0000000 t nf_hook\t[nf]\n"
                           "ffffffffc0000100 t bpf_prog_6deef7357e7b4530\t[bpf]\n"
                           "ffffffffc0000200 t spaced [other]\n";

static void reads_kernel_and_modules(void **state)
{
    struct symbol_table t = table_of(text);
    (void)state;
    assert_int_equal(facts.bad_lines, 0);
    assert_false(facts.hidden);
    assert_str(at(&t, 0xffffffff80ffffff).name, "-");
    /* As in perf: the last of several symbols without sizes at an address. */
    assert_str(at(&t, 0xffffffff81000fff).name, "_text");
    assert_str(at(&t, 0xffffffff81001fff).name, "__do_it");
    assert_str(at(&t, 0xffffffff81002100).name, "some_data");
    /* The gap before the modules belongs to no symbol. */
    assert_str(at(&t, 0xffffffff81003fff).name, "-");
    assert_str(at(&t, 0xffffffffc00000ff).name, "nf_hook");
    assert_str(at(&t, 0xffffffffc00000ff).module, "nf");
    assert_str(at(&t, 0xffffffffc0000100).module, "bpf");
    assert_str(at(&t, 0xffffffffc0000200).name, "spaced");
    assert_str(at(&t, 0xffffffffc0000200).module, "other");
    arena_deinit(&arena);
}

static void reports_hidden_addresses(void **state)
{
    struct symbol_table t = table_of("0000000000000000 T _stext\n0000000000000000 t x\n");
    (void)state;
    assert_true(facts.hidden);
    assert_int_equal(t.count, 0);
    table_of("");
    assert_false(facts.hidden);
    arena_deinit(&arena);
}

static void counts_invalid_lines(void **state)
{
    struct symbol_table t = table_of("what\nffffffff81000000 T\nxyz T name\n\n"
                                     "11112222333344445 T too_long\n"
                                     "ffffffff81000000 TT name\n10 T good\n20 T cut");
    (void)state;
    assert_int_equal(facts.bad_lines, 5);
    assert_str(at(&t, 0x10).name, "good");
    assert_str(at(&t, 0x20).name, "cut");
    arena_deinit(&arena);
}

static void finds_addresses_by_name(void **state)
{
    uint64_t address = 0;
    (void)state;
    assert_true(kallsyms_address(str_of(text), STR("_text"), &address));
    assert_true(address == 0xffffffff81000000);
    assert_true(kallsyms_address(str_of(text), STR("__do_it"), &address));
    assert_true(address == 0xffffffff81001000);
    assert_false(kallsyms_address(str_of(text), STR("nf_hook"), &address));
    assert_false(kallsyms_address(str_of(text), STR("ext"), &address));
}

int main(void)
{
    const struct CMUnitTest units[] = {
        UNIT(reads_kernel_and_modules),
        UNIT(reports_hidden_addresses),
        UNIT(counts_invalid_lines),
        UNIT(finds_addresses_by_name),
    };
    return UNITS_RUN(units);
}
