/* SPDX-License-Identifier: Apache-2.0 */
#include "base/visible.h"
#include "unit.h"

static void assert_visible(struct str text, const char *expected, size_t columns)
{
    struct output o = OUTPUT_BUFFER;
    visible_print(&o, text);
    assert_str(output_contents(&o), expected);
    assert_int_equal(visible_columns(text), columns);
    output_deinit(&o);
}

static void test_unchanged(void **state)
{
    (void)state;
    assert_visible(STR(""), "", 0);
    assert_visible(STR("std::f<int>(\"a\\b\")"), "std::f<int>(\"a\\b\")", 18);
    assert_visible(STR("caf\xc3\xa9"), "caf\xc3\xa9", 4);
    assert_visible(STR("\xe5\x87\xbd\xe6\x95\xb0"), "\xe5\x87\xbd\xe6\x95\xb0", 4);
    assert_visible(STR("e\xcc\x81x"), "e\xcc\x81x", 2);
    assert_visible(STR("\xf0\x9f\x94\xa5"), "\xf0\x9f\x94\xa5", 2);
}

static void test_escaped(void **state)
{
    (void)state;
    assert_visible(STR("a\x1b[31mb"), "a\\x1b[31mb", 10);
    assert_visible(STR("a\nb\tc\r"), "a\\nb\\tc\\r", 9);
    assert_visible(STR("a\0b\x7f"), "a\\x00b\\x7f", 10);
    assert_visible(STR("\xc2\x9b"
                       "31m"),
                   "\\u009b31m", 9);
    assert_visible(STR("x\xe2\x80\xaey"), "x\\u202ey", 8);
    assert_visible(STR("x\xe2\x81\xa6y\xef\xbb\xbf"), "x\\u2066y\\ufeff", 14);
    assert_visible(STR("\xff\xc3(\xe2\x82"), "\\xff\\xc3(\\xe2\\x82", 17);
    assert_visible(STR("\xf3\xa0\x81\x81"), "\\ue0041", 7);
}

static void assert_cut(struct str text, size_t columns, const char *expected,
                       size_t taken)
{
    struct output o = OUTPUT_BUFFER;
    assert_int_equal(visible_print_cut(&o, text, columns), taken);
    assert_str(output_contents(&o), expected);
    assert_int_equal(visible_columns(output_contents(&o)), taken);
    output_deinit(&o);
}

static void test_cut(void **state)
{
    (void)state;
    assert_cut(STR("abcdefgh"), 8, "abcdefgh", 8);
    assert_cut(STR("abcdefgh"), 7, "abc…fgh", 7);
    assert_cut(STR("abcdefgh"), 2, "a…", 2);
    assert_cut(STR("abcdefgh"), 1, "…", 1);
    assert_cut(STR("abcdefgh"), 0, "", 0);
    assert_cut(STR("ab\x1b\x1b\x1b\x1bgh"), 9, "ab…\\x1bgh", 9);
    /* A wide character that would be cut in half is omitted. */
    assert_cut(STR("\xe5\x87\xbd\xe6\x95\xb0\xe5\x90\x8d"), 5,
               "\xe5\x87\xbd…\xe5\x90\x8d", 5);
    assert_cut(STR("\xe5\x87\xbd\xe6\x95\xb0\xe5\x90\x8d"), 4, "\xe5\x87\xbd…", 3);
    assert_cut(STR("abcdee\xcc\x81\xcc\x81"), 3, "a…e\xcc\x81\xcc\x81", 3);
    assert_cut(STR("abcde\xcc\x81"), 2, "a…", 2);
}

/* The output is never wider than requested, for any bytes. */
static void test_any_bytes(void **state)
{
    uint64_t seed = 7;
    (void)state;
    for (size_t n = 0; n < 3000; n++) {
        char bytes[40];
        struct output o = OUTPUT_BUFFER;
        for (size_t i = 0; i < sizeof bytes; i++) {
            seed = seed * 6364136223846793005u + 1442695040888963407u;
            bytes[i] = (char)(seed >> (n % 2 ? 33 : 57));
        }
        size_t taken = visible_print_cut(&o, (struct str){bytes, n % 41}, n % 23);
        assert_true(taken <= n % 23);
        for (size_t i = 0; i < o.used; i++)
            assert_true((unsigned char)o.bytes[i] >= ' ' && o.bytes[i] != 0x7f);
        output_deinit(&o);
    }
}

/* The result does not depend on how the text is split. */
static void test_filter(void **state)
{
    const struct str text = STR("a;\x1b[2Jb\t1\n\xe2\x80\xae\xc3\xa4\n\nend\x07");
    (void)state;
    for (size_t size = 1; size <= text.len; size++) {
        struct output o = OUTPUT_BUFFER;
        struct visible_filter f;
        visible_filter_init(&f, &o);
        for (struct str rest = text; rest.len; rest = str_skip(rest, size)) {
            output_str(&f.output, str_head(rest, size));
            assert_true(output_finish(&f.output)); /* flushes */
        }
        assert_true(visible_filter_finish(&f));
        assert_str(output_contents(&o), "a;\\x1b[2Jb\t1\n\\u202e\xc3\xa4\n\nend\\x07");
        visible_filter_deinit(&f);
        output_deinit(&o);
    }
}

int main(void)
{
    const struct CMUnitTest units[] = {
        UNIT(test_unchanged), UNIT(test_escaped), UNIT(test_cut),
        UNIT(test_any_bytes), UNIT(test_filter),
    };
    return UNITS_RUN(units);
}
