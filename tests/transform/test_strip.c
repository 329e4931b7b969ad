/* SPDX-License-Identifier: Apache-2.0 */
#include "model/name.h"
#include "profiles.h"

static void test_strip(void **state)
{
    static const struct row rows[] = {
        {"main+0x1f;std::map<int, A<x>>::at(int)_[i];f_0x7F00a", 5, "t/1"},
        {"main+0x2f/0x40;std::map<char, B>::at(char)_[i];f_0x12", 7, "t/1"},
    };
    struct transform_options all = {.strip = {true, true, true, true}};
    struct transform_options hex = {.strip = {.hex = true}};
    (void)state;
    assert_transformed(rows, all, "t-1/?;main;std::map::at_[i];f_0x... 12\n");
    assert_transformed(
        rows, hex,
        "t-1/?;main+0x.../0x...;std::map<char, B>::at(char)_[i];f_0x... 7\n"
        "t-1/?;main+0x...;std::map<int, A<x>>::at(int)_[i];f_0x... 5\n");
}

static void test_packages(void **state)
{
    static const struct row rows[] = {
        {"java.lang.Thread.run;a.b.C$D.f(int, java.util.Map)_[j];Main.main", 1, "t/1"},
        {"java.base/java.lang.Thread.run;com/shop/Till.sell;std::a;<a.b>.c", 1, "t/1"},
        {"S$$Lambda$5/0x7f00.run;a.S$$Lambda/0x7f00.run;.f;f.;a..b;", 1, "t/1"},
    };
    struct transform_options initials = {.strip = {.initials = true}};
    struct transform_options packages = {.strip = {.packages = true}};
    (void)state;
    assert_transformed(
        rows, initials,
        "t-1/?;S$$Lambda$5/0x7f00.run;a.S$$Lambda/0x7f00.run;.f;f.;a..b 1\n"
        "t-1/?;j.b/j.l.Thread.run;c/s/Till.sell;std::a;<a.b>.c 1\n"
        "t-1/?;j.l.Thread.run;a.b.C$D.f(int, java.util.Map)_[j];Main.main 1\n");
    assert_transformed(rows, packages,
                       "t-1/?;S$$Lambda$5/0x7f00.run;S$$Lambda/0x7f00.run;.f;f.;.b 1\n"
                       "t-1/?;Thread.run;C$D.f(int, java.util.Map)_[j];Main.main 1\n"
                       "t-1/?;Thread.run;Till.sell;std::a;<a.b>.c 1\n");
}

static void test_templates(void **state)
{
    static const char *const names[][2] = {
        {"std::vector<int, A<int>>::at", "std::vector::at"},
        {"core::ptr::drop_in_place::<Vec<u8>>", "core::ptr::drop_in_place"},
        {"<Vec<T> as Iterator>::next", "<Vec as Iterator>::next"},
        {"java.util.HashMap.<init>", "java.util.HashMap.<init>"},
        {"main::<lambda(int)>::operator()", "main::<lambda(int)>::operator()"},
        {"A<b>::operator<", "A::operator<"},
        {"operator<< <int>", "operator<<"},
        {"std::operator<< <std::char_traits<char>>", "std::operator<<"},
        {"A::operator-><int>", "A::operator->"},
        {"f<void (*)(int)>(g<int>)", "f(g)"},
        {"f<int", "f<int"},
        {"<unknown>", "<unknown>"},
        {"x<y<z>", "x<y<z>"},
        {"", ""},
    };
    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        struct output o = OUTPUT_BUFFER;
        name_write_without_templates(&o, str_of(names[i][0]));
        assert_str(output_contents(&o), names[i][1]);
        output_deinit(&o);
    }
}

/* Unknown functions have no name to strip and stay apart by module. */
static void test_unknown(void **state)
{
    struct builder b;
    struct error err;
    struct transform_options o = {.strip = {true, true, true, true}};
    (void)state;
    assert_true(builder_init(&b, BUILD_COUNT));
    for (size_t i = 0; i < 2; i++) {
        struct frame f = {
            .module = builder_module(&b, i ? STR("/a.so") : STR("/b.so"), STR(""))};
        builder_add_stack(&b, builder_event(&b, STR("e"), UNIT_COUNT),
                          builder_push(&b, 0, builder_frame(&b, &f)), 1);
    }
    struct profile *p = transformed(builder_finish(&b, &err), &o);
    builder_deinit(&b);
    assert_folded(p, "[a.so] 1\n[b.so] 1\n");
    profile_destroy(p);
}

int main(void)
{
    const struct CMUnitTest units[] = {
        UNIT(test_strip),
        UNIT(test_packages),
        UNIT(test_templates),
        UNIT(test_unknown),
    };
    return UNITS_RUN(units);
}
