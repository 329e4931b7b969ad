/* SPDX-License-Identifier: Apache-2.0 */
#include "base/bytes.h"
#include "unit.h"

static void numbers_of_both_orders(void **state)
{
    struct str text = STR("\x01\x02\x03\x04\x05\x06\x07\x08\x09\x0a\x0b\x0c\x0d\x0e\x0f");
    struct bytes little = bytes_of(text, false), big = bytes_of(text, true);
    (void)state;
    assert_int_equal(bytes_u8(&little), 1);
    assert_int_equal(bytes_u16(&little), 0x0302);
    assert_int_equal(bytes_u32(&little), 0x07060504);
    assert_true(bytes_u64(&little) == 0x0f0e0d0c0b0a0908u);
    assert_false(little.failed);
    assert_int_equal(bytes_number(&big, 1), 1);
    assert_int_equal(bytes_number(&big, 2), 0x0203);
    assert_int_equal(bytes_number(&big, 4), 0x04050607);
    assert_true(bytes_number(&big, 8) == 0x08090a0b0c0d0e0fu);
    assert_false(big.failed);
    assert_int_equal(bytes_left(&big), 0);
}

/* The examples of DWARF 5, figures 22 and 23. */
static void leb128(void **state)
{
    struct bytes u = bytes_of(STR("\x02\x7f\x80\x01\x81\x01\x82\x01\xb9\x64"), false);
    struct bytes s =
        bytes_of(STR("\x02\x7e\xff\x00\x81\x7f\x80\x01\x80\x7f\x81\x01\xff\x7e"), false);
    static const uint64_t unsigned_expected[] = {2, 127, 128, 129, 130, 12857};
    static const int64_t signed_expected[] = {2, -2, 127, -127, 128, -128, 129, -129};
    (void)state;
    for (size_t i = 0; i < 6; i++)
        assert_true(bytes_uleb(&u) == unsigned_expected[i]);
    for (size_t i = 0; i < 8; i++)
        assert_true(bytes_sleb(&s) == signed_expected[i]);
    assert_false(u.failed || s.failed);
}

static void leb128_of_64_bits_and_padded(void **state)
{
    struct bytes most = bytes_of(STR("\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"), false);
    struct bytes least = bytes_of(STR("\x80\x80\x80\x80\x80\x80\x80\x80\x80\x7f"), false);
    struct bytes padded = bytes_of(STR("\x81\x80\x80\x00\x05"), false);
    struct bytes endless = bytes_of(
        STR("\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01"),
        false);
    (void)state;
    assert_true(bytes_uleb(&most) == UINT64_MAX);
    assert_true(bytes_sleb(&least) == INT64_MIN);
    assert_int_equal(bytes_uleb(&padded), 1);
    assert_int_equal(bytes_uleb(&padded), 5);
    assert_false(padded.failed);
    bytes_uleb(&endless);
    assert_true(endless.failed);
}

static void failure_is_sticky(void **state)
{
    struct bytes b = bytes_of(STR("\x01\x02\x03"), false);
    (void)state;
    assert_int_equal(bytes_u32(&b), 0);
    assert_true(b.failed);
    assert_int_equal(bytes_offset(&b), 0);
    assert_int_equal(bytes_u8(&b), 0);
    assert_int_equal(bytes_take(&b, 1).len, 0);
    bytes_seek(&b, 2);
    assert_int_equal(bytes_offset(&b), 0);
    b = bytes_of(STR("abc"), false);
    bytes_seek(&b, 4);
    assert_true(b.failed);
    b = bytes_of(STR("abc"), false);
    bytes_number(&b, 3);
    assert_true(b.failed);
}

static void strings_and_parts(void **state)
{
    struct bytes b = bytes_of((struct str){"ab\0\0c", 5}, false);
    (void)state;
    assert_true(str_equal(bytes_string(&b), STR("ab")));
    assert_int_equal(bytes_string(&b).len, 0);
    assert_false(b.failed);
    assert_int_equal(bytes_string(&b).len, 0);
    assert_true(b.failed);
    assert_true(str_equal(str_part(STR("section"), 3, 2), STR("ti")));
    assert_true(str_equal(str_part(STR("section"), 3, UINT64_MAX), STR("tion")));
    assert_int_equal(str_part(STR("section"), UINT64_MAX, 1).len, 0);
}

int main(void)
{
    const struct CMUnitTest units[] = {
        UNIT(numbers_of_both_orders),
        UNIT(leb128),
        UNIT(leb128_of_64_bits_and_padded),
        UNIT(failure_is_sticky),
        UNIT(strings_and_parts),
    };
    return UNITS_RUN(units);
}
