/* SPDX-License-Identifier: Apache-2.0 */
#include "base/utf8.h"
#include "unit.h"

static void assert_cleaned(const char *text, const char *expected)
{
    struct output o = OUTPUT_BUFFER;
    utf8_print(&o, str_of(text));
    assert_str(output_contents(&o), expected);
    size_t valid = utf8_valid(str_of(text));
    assert_int_equal(valid == strlen(text), strcmp(text, expected) == 0);
    output_deinit(&o);
}

#define BAD "\xef\xbf\xbd"

static void well_formed_text_is_unchanged(void **state)
{
    (void)state;
    assert_cleaned("", "");
    assert_cleaned("plain text, longer than eight bytes",
                   "plain text, longer than eight bytes");
    assert_cleaned("\x7f\xc2\x80\xdf\xbf", "\x7f\xc2\x80\xdf\xbf");
    assert_cleaned("\xe0\xa0\x80\xed\x9f\xbf\xee\x80\x80\xef\xbf\xbf",
                   "\xe0\xa0\x80\xed\x9f\xbf\xee\x80\x80\xef\xbf\xbf");
    assert_cleaned("12345678\xf0\x90\x80\x80\xf4\x8f\xbf\xbf",
                   "12345678\xf0\x90\x80\x80\xf4\x8f\xbf\xbf");
}

/* One replacement for the longest valid beginning of a character, or for a byte. */
static void ill_formed_text_is_replaced(void **state)
{
    (void)state;
    assert_cleaned("a\x80z", "a" BAD "z");
    assert_cleaned("\xc0\xaf", BAD BAD);         /* overlong */
    assert_cleaned("\xe0\x9f\xbf", BAD BAD BAD); /* overlong */
    assert_cleaned("\xed\xa0\x80", BAD BAD BAD); /* a surrogate */
    assert_cleaned("\xf4\x90\x80\x80", BAD BAD BAD BAD);
    assert_cleaned("\xf5\xff", BAD BAD);
    assert_cleaned("\xe2\x82", BAD);
    assert_cleaned("\xe2\x82z", BAD "z");
    assert_cleaned("\xf0\x9f\x98|\xf0\x9f|\xf0", BAD "|" BAD "|" BAD);
    assert_cleaned("\xe2\xe2\x82\xac", BAD "\xe2\x82\xac");
}

/* All code points are written and read back; surrogates are rejected. */
static void all_characters_are_written(void **state)
{
    (void)state;
    for (unsigned c = 0; c <= 0x10ffff; c++) {
        char bytes[4];
        size_t bad, length = utf8_write(c, bytes);
        bool surrogate = c >= 0xd800 && c <= 0xdfff;
        assert_int_equal(utf8_length((struct str){bytes, length}, &bad),
                         surrogate ? 0 : length);
    }
}

int main(void)
{
    const struct CMUnitTest units[] = {
        UNIT(well_formed_text_is_unchanged),
        UNIT(ill_formed_text_is_replaced),
        UNIT(all_characters_are_written),
    };
    return UNITS_RUN(units);
}
