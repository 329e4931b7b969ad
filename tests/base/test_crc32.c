/* SPDX-License-Identifier: Apache-2.0 */
#include "base/crc32.h"
#include "unit.h"
#include <zlib.h>

/* The check value of the algorithm's definition. */
static void the_check_value_is_right(void **state)
{
    (void)state;
    struct crc32 c;
    crc32_init(&c);
    assert_int_equal(crc32_sum(&c, STR("123456789")), 0xcbf43926);
    assert_int_equal(crc32_sum(&c, STR("")), 0);
}

static void every_length_matches_zlib(void **state)
{
    (void)state;
    struct crc32 c;
    unsigned char bytes[100];
    crc32_init(&c);
    for (unsigned i = 0; i < sizeof bytes; i++) {
        bytes[i] = (unsigned char)(i * 37 + 11);
        assert_int_equal(crc32_sum(&c, (struct str){(char *)bytes, i}),
                         crc32_z(0, bytes, i));
    }
}

int main(void)
{
    const struct CMUnitTest units[] = {UNIT(the_check_value_is_right),
                                       UNIT(every_length_matches_zlib)};
    return UNITS_RUN(units);
}
