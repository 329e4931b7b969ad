/* SPDX-License-Identifier: Apache-2.0 */
#include "model/name.h"
#include "unit.h"

static void arguments_are_cut(void **state)
{
    (void)state;
    static const struct {
        const char *name, *expected;
    } cases[] = {
        {"main", "main"},
        {"v8::Call(v8::Isolate*, int) const", "v8::Call"},
        {"foo<void (*)(int)>(char)", "foo<void (*)(int)>"},
        {"A::operator()(int)", "A::operator()"},
        {"A::operator<(A const&)", "A::operator<"},
        {"(anonymous namespace)::f(int)", "(anonymous namespace)::f"},
        {"a::(anonymous namespace)::B::operator()(int) const",
         "a::(anonymous namespace)::B::operator()"},
        {"net/http.(*Client).Do", "net/http.(*Client).Do"},
        {"main::{lambda(int)#1}::operator()(int) const",
         "main::{lambda(int)#1}::operator()"},
        {"A::f(int) const::{lambda()#2}::operator()() const",
         "A::f(int) const::{lambda()#2}::operator()"},
        {"main()::<lambda(int)>::operator()(int)", "main()::<lambda(int)>::operator()"},
        {"cut<int(short", "cut<int"},
        {"f({lambda(int)#1", "f"},
        {"closure #1 (Int) -> () in closure #2 () -> Int in A.f(x:) -> ()",
         "closure #1 (Int) -> () in closure #2 () -> Int in A.f"},
        {"(extension in Foundation):Swift.Array.f(x: Int) -> ()",
         "(extension in Foundation):Swift.Array.f"},
        {"static A.main() -> ()", "static A.main"},
        {"(garbage collector)", "(garbage collector)"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_str(name_without_arguments(str_of(cases[i].name)), cases[i].expected);
}

static void offsets_are_cut(void **state)
{
    (void)state;
    assert_str(name_without_offset(STR("read+0x1f")), "read");
    assert_str(name_without_offset(STR("read+0x1f/0x20")), "read");
    assert_str(name_without_offset(STR("operator++0x1f")), "operator+");
    assert_str(name_without_offset(STR("read+12")), "read+12");
    assert_str(name_without_offset(STR("+0x12")), "+0x12");
}

int main(void)
{
    static const struct CMUnitTest units[] = {
        UNIT(arguments_are_cut),
        UNIT(offsets_are_cut),
    };
    return UNITS_RUN(units);
}
