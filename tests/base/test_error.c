/* SPDX-License-Identifier: Apache-2.0 */
#include "base/error.h"
#include "unit.h"

static void an_error_has_message_and_location(void **state)
{
    (void)state;
    struct error err;
    assert_false(error_set(&err, "no count in %s", "line"));
    assert_string_equal(err.message, "no count in line");
    assert_string_equal(err.hint, "");
    assert_true(err.location.line == 0 && err.location.offset == UINT64_MAX);
    assert_false(error_hint(&err, "try %d", 2));
    assert_false(error_at_line(&err, 12, 3, STR("a;b x")));
    assert_string_equal(err.hint, "try 2");
    assert_int_equal(err.location.line, 12);
    assert_int_equal(err.location.caret, 3);
    assert_string_equal(err.location.text, "a;b x");
    assert_false(error_at_offset(&err, 77));
    assert_int_equal(err.location.line, 0);
    assert_int_equal(err.location.offset, 77);
}

static void a_null_error_is_allowed(void **state)
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
    struct input_location location;
    input_location_set_line(&location, 1, 1, STR("a\tb\x1b[31m\x7f\xc3\xa4\n"));
    assert_string_equal(location.text, "a b?[31m????");
}

static void a_long_line_is_shortened_around_the_column(void **state)
{
    (void)state;
    char line[1000];
    struct input_location location;
    memset(line, '.', sizeof line);
    line[699] = 'X'; /* column 700 */
    input_location_set_line(&location, 1, 700, (struct str){line, sizeof line});
    assert_true(strlen(location.text) < sizeof location.text);
    assert_int_equal(location.text[location.caret - 1], 'X');
    assert_int_equal(location.column, 700);
    input_location_set_line(&location, 1, 5000, (struct str){line, sizeof line});
    assert_int_equal(location.column, 5000);
    assert_true(strlen(location.text) < sizeof location.text);
    input_location_set_line(&location, 1, 0, STR(""));
    assert_int_equal(location.caret, 0);
}

static void a_long_message_is_truncated(void **state)
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
        UNIT(an_error_has_message_and_location),
        UNIT(a_null_error_is_allowed),
        UNIT(control_characters_are_made_visible),
        UNIT(a_long_line_is_shortened_around_the_column),
        UNIT(a_long_message_is_truncated),
    };
    return UNITS_RUN(units);
}
