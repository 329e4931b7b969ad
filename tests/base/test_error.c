/* SPDX-License-Identifier: Apache-2.0 */
#include "base/error.h"
#include "unit.h"

static void an_error_tells_what_and_where(void **state)
{
    (void)state;
    struct error err;
    assert_false(error_set(&err, "no count in %s", "line"));
    assert_string_equal(err.message, "no count in line");
    assert_string_equal(err.hint, "");
    assert_true(err.place.line == 0 && err.place.offset == UINT64_MAX);
    assert_false(error_hint(&err, "try %d", 2));
    assert_false(error_at_line(&err, 12, 3, STR("a;b x")));
    assert_string_equal(err.hint, "try 2");
    assert_int_equal(err.place.line, 12);
    assert_int_equal(err.place.caret, 3);
    assert_string_equal(err.place.text, "a;b x");
    assert_false(error_at_offset(&err, 77));
    assert_int_equal(err.place.line, 0);
    assert_int_equal(err.place.offset, 77);
}

static void no_error_is_wanted(void **state)
{
    (void)state;
    assert_false(error_set(NULL, "x"));
    assert_false(error_hint(NULL, "x"));
    assert_false(error_at_line(NULL, 1, 1, STR("")));
    assert_false(error_at_offset(NULL, 1));
    assert_false(error_memory(NULL));
}

static void control_characters_are_made_visible(void **state)
{
    (void)state;
    struct place place;
    place_set_line(&place, 1, 1, STR("a\tb\x1b[31m\x7f\xc3\xa4\n"));
    assert_string_equal(place.text, "a b?[31m????");
}

static void a_long_line_is_cut_around_the_column(void **state)
{
    (void)state;
    char line[1000];
    struct place place;
    memset(line, '.', sizeof line);
    line[699] = 'X'; /* column 700 */
    place_set_line(&place, 1, 700, (struct str){line, sizeof line});
    assert_true(strlen(place.text) < sizeof place.text);
    assert_int_equal(place.text[place.caret - 1], 'X');
    assert_int_equal(place.column, 700);
    place_set_line(&place, 1, 5000, (struct str){line, sizeof line});
    assert_int_equal(place.column, 5000);
    assert_true(strlen(place.text) < sizeof place.text);
    place_set_line(&place, 1, 0, STR(""));
    assert_int_equal(place.caret, 0);
}

static void a_long_message_is_cut(void **state)
{
    (void)state;
    struct error err;
    char text[2000];
    memset(text, 'm', sizeof text - 1);
    text[sizeof text - 1] = 0;
    error_set(&err, "%s", text);
    assert_int_equal(strlen(err.message), sizeof err.message - 1);
}

int main(void)
{
    const struct CMUnitTest units[] = {
        UNIT(an_error_tells_what_and_where),
        UNIT(no_error_is_wanted),
        UNIT(control_characters_are_made_visible),
        UNIT(a_long_line_is_cut_around_the_column),
        UNIT(a_long_message_is_cut),
    };
    return UNITS_RUN(units);
}
