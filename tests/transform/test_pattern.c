/* SPDX-License-Identifier: Apache-2.0 */
#include "profiles.h"
#include "transform/pattern.h"

static bool matches_as(const char *word, bool exact, const char *name)
{
    const struct row row = {name, 1};
    struct transform_words words = {{word}, 1, exact};
    struct profile *p = profile_of(&row, 1, BUILD_COUNT);
    struct arena a = ARENA_INIT;
    struct error err = {.location = LOCATION_NONE};
    uint32_t *masks = pattern_match_frames(&a, p, &words, &err);
    if (!masks)
        fail_msg("%s", err.message);
    bool yes = masks[1] == 1;
    arena_deinit(&a);
    profile_destroy(p);
    return yes;
}

/* Whether the pattern matches a frame of that name. */
static bool matches(const char *pattern, const char *name)
{
    return matches_as(pattern, false, name);
}

static void test_whole_names(void **state)
{
    (void)state;
    assert_true(matches_as("a+(*)", true, "a+(*)"));
    assert_false(matches_as("a", true, "aa"));
    assert_false(matches_as("a.", true, "ab"));
    assert_true(matches_as("f", true, "f_[k]"));
    assert_true(matches_as("f_[k]", true, "f_[k]"));
    assert_false(matches_as("(", true, "["));
}

static void test_matches(void **state)
{
    (void)state;
    assert_true(matches("lloc", "malloc"));
    assert_false(matches("^lloc", "malloc"));
    assert_true(matches("^(malloc|free)$", "free"));
    assert_true(matches("(?i)MALLOC", "xmalloc"));
    assert_false(matches("MALLOC", "xmalloc"));
    assert_true(matches("^(?:a|b)\\d+$", "b17"));
    assert_false(matches("^\\d$", "d"));
    assert_true(matches("^\\D$", "d"));
    assert_true(matches("[[:digit:]\\d]x", "\\x")); /* within a class a \ is a \ */
    assert_true(matches("[]x]$", "a]"));
    assert_true(matches("operator\\(\\)", "A::operator()"));
    assert_true(matches("^f$", "f_[k]"));
    assert_true(matches("_\\[k\\]$", "f_[k]"));
    assert_true(matches("\xc3\xa9", "caf\xc3\xa9"));
}

static void test_kinds_are_marked(void **state)
{
    struct builder b;
    struct error err;
    struct arena a = ARENA_INIT;
    struct transform_words words = {{"_\\[k\\]$", "^\\[libc\\.so\\]$", "^f$"}, 3};
    (void)state;
    assert_true(builder_init(&b, BUILD_COUNT));
    struct frame f = {.name = builder_string(&b, STR("f")), .kind = FRAME_KERNEL};
    struct frame g = {.module = builder_module(&b, STR("/lib/libc.so"), STR(""))};
    frame_id kernel = builder_frame(&b, &f), unknown = builder_frame(&b, &g);
    uint32_t *masks = pattern_match_frames(&a, b.profile, &words, &err);
    assert_non_null(masks);
    assert_int_equal(masks[kernel], 1 | 4);
    assert_int_equal(masks[unknown], 2);
    arena_deinit(&a);
    builder_deinit(&b);
}

static void test_complaints(void **state)
{
    static const struct {
        const char *pattern, *part;
    } bad[] = {
        {"a(b", "round brackets are not balanced, at the '(' in column 2"},
        {"ab)", "at the ')' in column 3"},
        {"a[b", "a '[' is not closed, at the '[' in column 2"},
        {"a|*b", "nothing to repeat, at the '*' in column 3"},
        {"(\\()\\", "the last '\\' escapes nothing"},
        {"[[:no:]]", "unknown class"},
        {"[b-a]", "a range ends before it begins"},
        {"x(?=y)", "'(?' in column 2"},
        {"", "empty pattern"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct error err;
        assert_false(pattern_check(bad[i].pattern, &err));
        if (!str_has(str_of(err.message), str_of(bad[i].part)))
            fail_msg("%s", err.message);
    }
    assert_true(pattern_check("[(]\\)[[:alpha:])]", NULL));
}

static void test_glob(void **state)
{
    (void)state;
    assert_true(glob_match(STR("web"), STR("web")));
    assert_false(glob_match(STR("web"), STR("web2")));
    assert_true(glob_match(STR("kworker*"), STR("kworker/0:1")));
    assert_true(glob_match(STR("*/?:*"), STR("kworker/0:1")));
    assert_true(glob_match(STR("*"), STR("")));
    assert_false(glob_match(STR("?"), STR("")));
    assert_true(glob_match(STR("a_b"), STR("a b")));
    assert_false(glob_match(STR("a b"), STR("a_b")));
    assert_true(glob_match(STR("*ab*ab*"), STR("xababx")));
    assert_false(glob_match(STR("*ab*ab*ab"), STR("xababx")));
}

int main(void)
{
    const struct CMUnitTest units[] = {
        UNIT(test_matches),    UNIT(test_whole_names), UNIT(test_kinds_are_marked),
        UNIT(test_complaints), UNIT(test_glob),
    };
    return UNITS_RUN(units);
}
