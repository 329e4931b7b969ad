/* SPDX-License-Identifier: Apache-2.0 */
#include "model/allocator.h"
#include "unit.h"

static void functions_that_allocate(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        bool is_allocator, is_allocating;
    } cases[] = {
        {"malloc", true, true},
        {"operator new", true, true},
        {"operator new[](unsigned long, std::align_val_t)", true, true},
        {"_Znwm", true, true},
        {"mmap", false, true},
        {"std::allocator<int>::allocate(unsigned long)", false, true},
        {"malloc_info", false, false},
        {"operator newer()", false, false},
        {"std::vector<int>::push_back(int&&)", false, true},
        {"std::_Vector_base<int, std::allocator<int> >::_M_allocate", false, true},
        {"alloc::raw_vec::RawVec<T,A>::grow_one", false, true},
        {"stdx::vector::push_back", false, false},
        {"HashIndex::insert", false, false},
        {"free", false, false},
        {"", false, false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct str name = str_of(cases[i].name);
        assert_int_equal(is_allocator(name), cases[i].is_allocator);
        assert_int_equal(is_allocating(name), cases[i].is_allocating);
    }
}

int main(void)
{
    static const struct CMUnitTest units[] = {
        UNIT(functions_that_allocate),
    };
    return UNITS_RUN(units);
}
