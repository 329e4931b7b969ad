/* SPDX-License-Identifier: Apache-2.0 */
#include "base/scan.h"
#include "unit.h"

/* scan_empty_line, byte by byte. */
static size_t empty_line_slowly(struct str s)
{
    for (size_t i = 1; i < s.len; i++)
        if (s.ptr[i] == '\n' && s.ptr[i - 1] == '\n')
            return i;
    return s.len;
}

static void an_empty_line_is_found_anywhere(void **state)
{
    char text[300];
    (void)state;
    for (size_t len = 0; len < sizeof text; len++) {
        struct str s = {text, len};
        memset(text, 'x', sizeof text);
        assert_int_equal(scan_empty_line(s), len);
        for (size_t at = 1; at < len; at += 7) {
            text[at - 1] = text[at] = '\n';
            assert_int_equal(scan_empty_line(s), empty_line_slowly(s));
            text[at - 1] = text[at] = 'x';
        }
    }
}

static void single_line_ends_are_no_empty_line(void **state)
{
    struct str s = STR("\na\nb\nc\n");
    (void)state;
    assert_int_equal(scan_empty_line(s), s.len);
    assert_int_equal(scan_empty_line(STR("\n\n")), 1);
}

static void lines_are_found_up_to_the_empty_one(void **state)
{
    char text[700];
    uint32_t starts[101], random = 7;
    size_t count;
    (void)state;
    for (int round = 0; round < 2000; round++) {
        size_t len = (random >> 7) % sizeof text, expected = 0, from = 0;
        for (size_t i = 0; i < len; i++) {
            random = random * 1664525 + 1013904223;
            text[i] = random >> 24 < 25 ? '\n' : 'x';
        }
        struct str s = {text, len};
        size_t end = empty_line_slowly(s);
        assert_int_equal(scan_lines(s, starts, 100, &count), end);
        for (size_t i = 0; i < end; i++) {
            if (text[i] != '\n')
                continue;
            if (expected++ < 100)
                assert_int_equal(starts[expected - 1], from);
            from = i + 1;
        }
        assert_int_equal(count, expected);
        assert_int_equal(starts[count < 100 ? count : 100] <= end, 1);
    }
    assert_int_equal(scan_lines(STR("a\nb\nc\n\n"), starts, 2, &count), 6);
    assert_int_equal(count, 3);
    assert_int_equal(starts[2], 4);
}

static void bytes_are_counted(void **state)
{
    (void)state;
    assert_int_equal(scan_count(STR(""), 'a'), 0);
    assert_int_equal(scan_count(STR("banana"), 'a'), 3);
}

static void common_prefixes_are_measured(void **state)
{
    char a[260], b[260];
    (void)state;
    memset(a, 'x', sizeof a);
    for (size_t differ = 0; differ < sizeof a; differ++) {
        memcpy(b, a, sizeof a);
        b[differ] = 'y';
        assert_int_equal(scan_common(a, b, sizeof a), differ);
        assert_int_equal(scan_common(a, b, differ), differ);
    }
    assert_int_equal(scan_common(a, a, sizeof a), sizeof a);
}

int main(void)
{
    const struct CMUnitTest units[] = {
        UNIT(an_empty_line_is_found_anywhere),
        UNIT(single_line_ends_are_no_empty_line),
        UNIT(lines_are_found_up_to_the_empty_one),
        UNIT(bytes_are_counted),
        UNIT(common_prefixes_are_measured),
    };
    return UNITS_RUN(units);
}
