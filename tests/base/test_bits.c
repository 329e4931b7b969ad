/* SPDX-License-Identifier: Apache-2.0 */
#include "base/bits.h"
#include "unit.h"

static void bits_are_counted(void **state)
{
    uint64_t random = 1;
    (void)state;
    assert_int_equal(bits_count(0), 0);
    assert_int_equal(bits_count(UINT64_MAX), 64);
    for (int i = 0; i < 10000; i++) {
        random = random * 6364136223846793005u + 1442695040888963407u;
        uint64_t v = i % 2 ? random : random & random << 13;
        unsigned expected = 0;
        for (unsigned k = 0; k < 64; k++)
            expected += v >> k & 1;
        assert_int_equal(bits_count(v), expected);
    }
}

int main(void)
{
    const struct CMUnitTest units[] = {UNIT(bits_are_counted)};
    return UNITS_RUN(units);
}
