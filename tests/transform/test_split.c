/* SPDX-License-Identifier: Apache-2.0 */
#include "profiles.h"

static void test_each(void **state)
{
    static const struct row rows[] = {
        {"main;std::vector<a::b>::at", 1},
        {"java.util.HashMap.get;java/util/List;::add", 2},
        {"net/http.(*Client).Do;foo.isra.0;libc.so.6", 4},
        {"/usr/bin/x;[unknown];(anonymous namespace)::f(a::b)_[i]", 8},
        {"A::operator/;::x;LazyCompile:*f /home/u/a.js:1", 16},
    };
    struct transform_options o = {.split = SPLIT_EACH};
    (void)state;
    assert_transformed(rows, o,
                       "/usr/bin/x;[unknown];(anonymous namespace);f(a::b)_[i] 8\n"
                       "A;operator/;x;LazyCompile:*f /home/u/a.js:1 16\n"
                       "java;util;HashMap;get;java;util;List;add 2\n"
                       "main;std;vector<a::b>;at 1\n"
                       "net;http.(*Client).Do;foo.isra.0;libc.so.6 4\n");
}

static void test_leaf(void **state)
{
    static const struct row rows[] = {{"main;a::f", 1, "t/1"},
                                      {"other;a::f", 2, "t/1"},
                                      {"a::g", 4, "u/2"},
                                      {"", 8, "u/2"}};
    struct transform_options o = {.split = SPLIT_LEAF};
    (void)state;
    assert_transformed(rows, o, "t-1/?;a;f 3\nu-2/? 8\nu-2/?;a;g 4\n");
}

/* Unusual names stay whole, or are split into parts that are not empty. */
static void test_odd(void **state)
{
    static const struct row rows[] = {{"::", 1}, {"a::", 2},   {".a.b", 4}, {"a..b.c", 8},
                                      {"/", 16}, {"a//b", 32}, {"<<(", 64}};
    struct transform_options o = {.split = SPLIT_EACH};
    (void)state;
    assert_transformed(rows, o, ".a.b 4\n/ 16\n:: 1\n<<( 64\na 2\na..b.c 8\na;b 32\n");
}

int main(void)
{
    const struct CMUnitTest units[] = {UNIT(test_each), UNIT(test_leaf), UNIT(test_odd)};
    return UNITS_RUN(units);
}
