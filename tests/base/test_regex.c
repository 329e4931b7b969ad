/* SPDX-License-Identifier: Apache-2.0 */
#include "base/format.h"
#include "base/regex.h"
#include "unit.h"
#include <regex.h>

static struct arena arena;

static bool matches(const char *pattern, const char *text)
{
    struct regex re;
    if (!regex_init(&re, &arena, str_of(pattern)))
        fail_msg("%s is not understood", pattern);
    return regex_matches(&re, str_of(text));
}

static void patterns_match_the_whole_text(void **state)
{
    (void)state;
    assert_true(matches("", ""));
    assert_false(matches("", "a"));
    assert_true(matches("abc", "abc"));
    assert_false(matches("abc", "abcd"));
    assert_false(matches("abc", "xabc"));
    assert_true(matches("^abc$", "abc"));
    assert_true(matches("malloc|free|(__)?posix_memalign", "__posix_memalign"));
    assert_true(matches("malloc|free|(__)?posix_memalign", "posix_memalign"));
    assert_true(matches("malloc|free|(__)?posix_memalign", "free"));
    assert_false(matches("malloc|free|(__)?posix_memalign", "malloced"));
    assert_true(matches("tcmalloc::.*", "tcmalloc::"));
    assert_true(matches("operator new\\[\\]", "operator new[]"));
    assert_true(matches("(a|b)*c", "abbac"));
    assert_true(matches("(a*)*", "aaa"));
    assert_true(matches("(a*)+b", "b"));
    assert_true(matches("(|a)b", "ab"));
    assert_true(matches("(|a)b", "b"));
    assert_true(matches("a??b", "b"));
    assert_true(matches("a.*?z", "abcz"));
    assert_true(matches("[a-c]+[^0-9][]x]", "abc]]"));
    assert_false(matches("[a-c]+[^0-9]", "abc1"));
    assert_true(matches("\\d+\\w\\s\\S\\D\\W", "12_ ab-"));
    assert_true(matches("[\\d_]+", "1_2"));
    assert_true(matches("a\\$", "a$"));
    assert_false(matches(".", "\n"));
}

static void unsupported_patterns_are_rejected(void **state)
{
    (void)state;
    const char *bad[] = {"(",    ")",    "(a",      "a)",    "*",        "a|*",  "[",
                         "[a",   "[^",   "\\",      "[b-a]", "(?i)a",    "a{2}", "a^b",
                         "\\pL", "\\bx", "[[:x:]]", "[\\",   "(?P<n>x)", "$a"};
    struct regex re;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        if (regex_init(&re, &arena, str_of(bad[i])))
            fail_msg("%s is understood", bad[i]);
    char deep[200];
    memset(deep, '(', sizeof deep);
    assert_false(regex_init(&re, &arena, (struct str){deep, sizeof deep}));
    char *large = malloc(100000);
    memset(large, 'a', 100000);
    assert_false(regex_init(&re, &arena, (struct str){large, 100000}));
    free(large);
}

/* Patterns that take exponential time in a backtracking matcher are fast here. */
static void no_pattern_is_slow(void **state)
{
    (void)state;
    char text[2001];
    memset(text, 'a', 2000);
    text[2000] = 0;
    assert_false(matches("(a*)*(a*)*(a*)*(a|aa)+b", text));
    assert_true(matches("((a?a?a?a?a?a?a?a?)*)*", text));
}

/* Random short patterns give the same result as the C library. */
static void the_c_library_agrees(void **state)
{
    (void)state;
    static const char letters[] = "ab.*+?|()";
    uint32_t noise = 7, compared = 0;
    for (int round = 0; round < 20000; round++) {
        char pattern[8] = "", whole[16], text[6] = "";
        for (size_t i = 0; i < 7; i++)
            pattern[i] = letters[((noise = noise * 1664525 + 1013904223) >> 16) % 9];
        for (size_t i = 0; i < 5; i++)
            text[i] = (noise = noise * 1664525 + 1013904223) >> 17 & 1 ? 'a' : 'b';
        struct regex re;
        regex_t libc;
        format_text(whole, sizeof whole, "^(%s)$", pattern);
        bool ours = regex_init(&re, &arena, str_of(pattern));
        bool mixed = strstr(pattern, "*?") || strstr(pattern, "+?") ||
                     strstr(pattern, "??") || strstr(pattern, "(?");
        if (!ours || mixed || regcomp(&libc, whole, REG_EXTENDED | REG_NOSUB) != 0)
            continue;
        bool expected = regexec(&libc, text, 0, NULL, 0) == 0;
        if (regex_matches(&re, str_of(text)) != expected)
            fail_msg("%s on %s: expected %d", pattern, text, expected);
        regfree(&libc);
        arena_deinit(&arena);
        compared++;
    }
    assert_true(compared > 1000);
}

static int drop_arena(void **state)
{
    (void)state;
    arena_deinit(&arena);
    return 0;
}

int main(void)
{
    const struct CMUnitTest units[] = {
        cmocka_unit_test_teardown(patterns_match_the_whole_text, drop_arena),
        cmocka_unit_test_teardown(unsupported_patterns_are_rejected, drop_arena),
        cmocka_unit_test_teardown(no_pattern_is_slow, drop_arena),
        cmocka_unit_test_teardown(the_c_library_agrees, drop_arena),
    };
    return UNITS_RUN(units);
}
