/* SPDX-License-Identifier: Apache-2.0 */
#include "base/format.h"
#include "unit.h"

/* The output must equal that of printf. */
#define assert_like_printf(...)                                 \
    do {                                                        \
        char ours[200], theirs[200];                            \
        size_t n = format_text(ours, sizeof ours, __VA_ARGS__); \
        snprintf(theirs, sizeof theirs, __VA_ARGS__);           \
        assert_string_equal(ours, theirs);                      \
        assert_int_equal(n, strlen(theirs));                    \
    } while (0)

static void strings_and_characters(void **state)
{
    (void)state;
    assert_like_printf("plain");
    assert_like_printf("%s", "");
    assert_like_printf("[%5s|%-5s|%.2s|%.*s]", "abc", "abc", "abc", 1, "abc");
    assert_like_printf("[%*s|%-*s]", 6, "ab", 6, "ab");
    assert_like_printf("%c%c%%", 'a', 'b');
}

static void integers(void **state)
{
    (void)state;
    assert_like_printf("%d %i %u %x", -5, 5, 5u, 255u);
    assert_like_printf("%lld %llu %llx", (long long)INT64_MIN, 18446744073709551615ull,
                       0xffffffff81000000ull);
    assert_like_printf("%zu %ld %lu", (size_t)7, -7L, 7UL);
    assert_like_printf("[%5d|%-5d|%05d|%05d]", 42, 42, 42, -42);
}

static void fractions(void **state)
{
    (void)state;
    assert_like_printf("%.1f %.2f %.0f %f", 12.34, 5.0, 2.6, 0.25);
    assert_like_printf("[%8.2f|%-8.2f|%08.2f]", 3.14159, 3.14159, -3.14159);
}

static void text_that_does_not_fit_is_truncated(void **state)
{
    (void)state;
    char out[5] = "????";
    assert_int_equal(format_text(out, sizeof out, "%s", "abcdefgh"), 4);
    assert_string_equal(out, "abcd");
    assert_int_equal(format_text(out, 1, "%d", 12345), 0);
    assert_string_equal(out, "");
}

static void unsupported_conversions_are_printed(void **state)
{
    (void)state;
    char out[20];
    const char *odd = "%q|%";
    format_text(out, sizeof out, odd, 0);
    assert_string_equal(out, "q|");
}

int main(void)
{
    const struct CMUnitTest units[] = {
        UNIT(strings_and_characters),
        UNIT(integers),
        UNIT(fractions),
        UNIT(text_that_does_not_fit_is_truncated),
        UNIT(unsupported_conversions_are_printed),
    };
    return UNITS_RUN(units);
}
