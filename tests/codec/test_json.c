/* SPDX-License-Identifier: Apache-2.0 */
#include "codec/json.h"
#include "unit.h"

/* Reads a value with the functions for its kind and writes it again. */
static void copy_value(struct json *j, struct json_writer *w)
{
    struct str s;
    double v;
    bool b;
    switch (json_peek(j)) {
    case JSON_STRING:
        if (json_string(j, &s))
            json_put_str(w, s);
        break;
    case JSON_NUMBER:
        if (json_number(j, &v))
            json_put_double(w, v);
        else if (!j->cut)
            json_put_null(w);
        break;
    case JSON_BOOL:
        if (json_bool(j, &b))
            json_put_bool(w, b);
        break;
    case JSON_NULL:
        json_skip(j);
        json_put_null(w);
        break;
    case JSON_ARRAY:
        json_enter(j, JSON_ARRAY);
        json_begin(w, JSON_ARRAY);
        while (json_item(j))
            copy_value(j, w);
        json_end(w, JSON_ARRAY);
        break;
    case JSON_OBJECT:
        json_enter(j, JSON_OBJECT);
        json_begin(w, JSON_OBJECT);
        while (json_key(j, &s)) {
            char key[64];
            format_text(key, sizeof key, "%.*s", STR_ARG(s));
            json_put_key(w, key);
            copy_value(j, w);
        }
        json_end(w, JSON_OBJECT);
        break;
    case JSON_NONE:
        break;
    }
}

struct outcome {
    bool ok, cut, broken;
    struct error err;
};

/* Copies the text, read in bites of the given size. */
static struct outcome copy(struct str text, size_t bite, bool lenient, struct output *out)
{
    struct bites bites = {.text = text.ptr, .length = text.len, .bite = bite};
    struct source s = source_reading(bites_read, &bites, STR("x"));
    struct outcome o = {0};
    struct json j;
    struct json_writer w = {.out = out};
    out->used = 0;
    json_init(&j, &s, lenient, &o.err);
    copy_value(&j, &w);
    o.ok = json_finish(&j) && !j.cut;
    o.cut = j.cut;
    o.broken = j.broken;
    assert_true(!j.broken || j.failed);
    json_deinit(&j);
    source_deinit(&s);
    return o;
}

static void assert_copies(const char *text, bool lenient, const char *expected)
{
    struct output out = OUTPUT_BUFFER;
    for (size_t bite = 1; bite < 9; bite++) {
        struct outcome o = copy(str_of(text), bite, lenient, &out);
        if (!o.ok)
            fail_msg("%s: %s (cut %d)", text, o.err.message, o.cut);
        assert_str(output_contents(&out), expected);
    }
    output_deinit(&out);
}

static void assert_broken(const char *text, bool lenient, uint64_t line, uint64_t column)
{
    struct output out = OUTPUT_BUFFER;
    for (size_t bite = 1; bite < 9; bite++) {
        struct outcome o = copy(str_of(text), bite, lenient, &out);
        if (!o.broken || o.ok)
            fail_msg("%s is read as %.*s", text, STR_ARG(output_contents(&out)));
        assert_int_equal(o.err.location.line, line);
        assert_int_equal(o.err.location.column, column);
    }
    output_deinit(&out);
}

static void assert_cut(const char *text, const char *expected)
{
    struct output out = OUTPUT_BUFFER;
    for (size_t bite = 1; bite < 9; bite++) {
        struct outcome o = copy(str_of(text), bite, true, &out);
        assert_true(o.cut && !o.broken);
        assert_str(output_contents(&out), expected);
        assert_true(copy(str_of(text), bite, false, &out).broken);
    }
    output_deinit(&out);
}

static void values_are_copied(void **state)
{
    (void)state;
    assert_copies("1", false, "1");
    assert_copies(" \t\r\n-0.5e1 ", false, "-5");
    assert_copies("[]", false, "[]");
    assert_copies("{ }", false, "{}");
    assert_copies("[1 , [ ] ,{},\"\"]", false, "[1,[],{},\"\"]");
    assert_copies("{\"a\" : [true,false,null], \"b\":{\"c\":1}}", false,
                  "{\"a\":[true,false,null],\"b\":{\"c\":1}}");
    assert_copies("[123456789012345678901, 1E400]", false, "[1.23456789012346e+20,null]");
}

static void strings_are_decoded_and_encoded(void **state)
{
    (void)state;
    assert_copies("\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"", false,
                  "\"\\\"\\\\/\\b\\f\\n\\r\\t\"");
    assert_copies("\"\\u00e9\\u20ac\"", false, "\"\xc3\xa9\xe2\x82\xac\"");
    assert_copies("\"\\ud83d\\ude00!\"", false, "\"\xf0\x9f\x98\x80!\"");
    assert_copies("\"\\\\\\\\\"", false, "\"\\\\\\\\\"");
    assert_copies("\"0123456789\\\"0123456789\"", false, "\"0123456789\\\"0123456789\"");
    /* lone surrogates, and invalid escapes */
    assert_copies("\"\\ud83dx\"", false, "\"\xef\xbf\xbdx\"");
    assert_copies("\"\\ude00\\ud83d\"", false, "\"\xef\xbf\xbd\xef\xbf\xbd\"");
    assert_copies("\"\\ud83d\\u0041\"", false,
                  "\"\xef\xbf\xbd"
                  "A\"");
    assert_copies("\"\\x41\\u12g4\"", false,
                  "\"\xef\xbf\xbd"
                  "41\xef\xbf\xbd"
                  "12g4\"");
    /* invalid UTF-8: overlong, a surrogate, truncated, a lone byte */
    assert_copies("\"\xc0\x80|\xed\xa0\x80|\xe2\x82|\xff\"", false,
                  "\"\xef\xbf\xbd\xef\xbf\xbd|\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd|"
                  "\xef\xbf\xbd|\xef\xbf\xbd\"");
    /* characters that a terminal interprets are escaped, text is not */
    assert_copies("\"\\u001b[1m\\u007f\\u0085\\u00a0\"", false,
                  "\"\\u001b[1m\\u007f\\u0085\xc2\xa0\"");
}

static void the_strict_reader_is_strict(void **state)
{
    (void)state;
    assert_broken("[1,]", false, 1, 4);
    assert_broken("{\"a\":1,}", false, 1, 8);
    assert_broken("[NaN]", false, 1, 2);
    assert_broken("[1 2]", false, 1, 4);
    assert_broken("[,1]", false, 1, 2);
    assert_broken("{\"a\" 1}", false, 1, 6);
    assert_broken("{a:1}", false, 1, 2);
    assert_broken("[01]", false, 1, 2);
    assert_broken("[1}", false, 1, 3);
    assert_broken("1 2", false, 1, 3);
    assert_broken("[1,\n 2,\n  tru]", false, 3, 3);
    assert_broken("[+1]", false, 1, 2);
    assert_broken("[.5]", false, 1, 2);
    assert_broken("[1.]", false, 1, 2);
    assert_broken("[1e]", false, 1, 2);
    assert_broken("[--1]", false, 1, 2);
}

static void the_lenient_reader_accepts_profiler_output(void **state)
{
    (void)state;
    assert_copies("[1,]", true, "[1]");
    assert_copies("{\"a\":[1,],}", true, "{\"a\":[1]}");
    assert_copies("[NaN,Infinity,-Infinity]", true, "[null,null,null]");
    assert_broken("[1,,2]", true, 1, 4);
    assert_broken("[1 2]", true, 1, 4);
    assert_broken("[1}", true, 1, 3);
    assert_cut("[1,[2,", "[1,[2]]");
    assert_cut("[1,2", "[1]");
    assert_cut("[1,{\"a\":1", "[1,{\"a\":}]");
    assert_cut("[1,{\"a\":1,\"b", "[1,{\"a\":1}]");
    assert_cut("[1,{\"a\"", "[1,{}]");
    assert_cut("[\"abc\\", "[]");
    assert_cut("[\"abc", "[]");
    assert_cut("", "");
}

static void other_values_are_skipped(void **state)
{
    (void)state;
    struct source s =
        source_of(STR("{\"deep\":[[{\"x\":[1,\"]}\"]}]],\"n\":\"12\",\"s\":5,"
                      "\"o\":1,\"t\":12.50,\"a\":[1,2]}7"),
                  STR("x"));
    struct error err;
    struct json j;
    struct str key, text;
    double v = 0;
    unsigned seen = 0;
    json_init(&j, &s, false, &err);
    assert_true(json_enter(&j, JSON_OBJECT));
    while (json_key(&j, &key)) {
        seen++;
        if (str_equal(key, STR("n")))
            assert_true(json_number(&j, &v));
        else if (str_equal(key, STR("s")))
            assert_false(json_string(&j, &text));
        else if (str_equal(key, STR("o")))
            assert_false(json_enter(&j, JSON_OBJECT));
        else if (str_equal(key, STR("t")))
            assert_true(json_text(&j, &text) && str_equal(text, STR("12.50")));
        else
            json_skip(&j);
    }
    assert_int_equal(seen, 6);
    assert_double(v, 12);
    assert_int_equal(json_peek(&j), JSON_NUMBER);
    assert_false(json_finish(&j));
    json_deinit(&j);
}

static void whole_numbers_are_exact(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        bool ok;
        uint64_t value;
    } cases[] = {{"[0]", true, 0},
                 {"[7 ]", true, 7},
                 {"[123456789012345678]", true, 123456789012345678u},
                 {"[\"42\"]", true, 42},
                 {"[1e3]", true, 1000},
                 {"[18446744073709551615]", true, UINT64_MAX},
                 {"[18446744073709551616]", false, 0},
                 {"[-1]", false, 0},
                 {"[1.5]", false, 0},
                 {"[01]", false, 0},
                 {"[1x]", false, 0},
                 {"[true]", false, 0},
                 {"[[1]]", false, 0}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        for (size_t bite = 1; bite < 9; bite++) {
            struct bites bites = {
                .text = cases[i].text, .length = strlen(cases[i].text), .bite = bite};
            struct source s = source_reading(bites_read, &bites, STR("x"));
            struct error err;
            struct json j;
            uint64_t v = 0;
            json_init(&j, &s, false, &err);
            assert_true(json_enter(&j, JSON_ARRAY) && json_item(&j));
            assert_int_equal(json_u64(&j, &v), cases[i].ok);
            assert_true(v == cases[i].value);
            json_deinit(&j);
            source_deinit(&s);
        }
    }
}

/* A million brackets give an error, not a stack overflow, when read or skipped. */
static void depth_is_limited(void **state)
{
    (void)state;
    size_t count = 1000000;
    char *text = malloc(count);
    memset(text, '[', count);
    struct source s = source_of((struct str){text, count}, STR("x"));
    struct error err;
    struct json j;
    json_init(&j, &s, true, &err);
    json_skip(&j);
    assert_true(j.broken);
    assert_int_equal(err.location.column, JSON_DEPTH_MAX + 1);
    json_deinit(&j);
    json_init(&j, &s, true, &err);
    j.depth_max = count;
    json_skip(&j);
    assert_true(j.cut && !j.failed);
    assert_int_equal(j.depth, 0);
    json_deinit(&j);
    free(text);
}

static void a_failing_source_fails_the_reader(void **state)
{
    (void)state;
    struct bites bites = {.text = "[1,2,3,4]", .length = 9, .bite = 3, .fail_after = 6};
    struct source s = source_reading(bites_read, &bites, STR("x"));
    struct error err;
    struct json j;
    double v, sum = 0;
    json_init(&j, &s, true, &err);
    assert_true(json_enter(&j, JSON_ARRAY));
    while (json_item(&j))
        if (json_number(&j, &v))
            sum += v;
    assert_true(j.failed && !j.broken && !j.cut);
    assert_str(str_of(err.message), "the disk is on fire");
    assert_double(sum, 3);
    json_deinit(&j);
    source_deinit(&s);
}

static void locations_are_reported(void **state)
{
    (void)state;
    struct source s = source_of(STR("[\n  1,\n  2]"), STR("x"));
    struct error err;
    struct json j;
    json_init(&j, &s, false, &err);
    json_enter(&j, JSON_ARRAY);
    assert_true(json_item(&j));
    json_skip(&j);
    assert_true(json_item(&j));
    struct json_location location = json_location(&j);
    assert_int_equal(location.line, 3);
    assert_int_equal(location.column, 3);
    assert_str(location.text, "  2]");
    json_deinit(&j);
}

static void lines_break_between_values(void **state)
{
    (void)state;
    struct output out = OUTPUT_BUFFER;
    struct json_writer w = {.out = &out};
    json_begin(&w, JSON_ARRAY);
    json_put_line(&w);
    json_put_u64(&w, UINT64_MAX);
    json_put_line(&w);
    json_put_double(&w, 0.1);
    json_put_line(&w);
    json_end(&w, JSON_ARRAY);
    assert_str(output_contents(&out), "[\n18446744073709551615,\n0.1\n]");
    output_deinit(&out);
}

int main(void)
{
    const struct CMUnitTest units[] = {
        UNIT(values_are_copied),
        UNIT(strings_are_decoded_and_encoded),
        UNIT(the_strict_reader_is_strict),
        UNIT(the_lenient_reader_accepts_profiler_output),
        UNIT(other_values_are_skipped),
        UNIT(whole_numbers_are_exact),
        UNIT(depth_is_limited),
        UNIT(a_failing_source_fails_the_reader),
        UNIT(locations_are_reported),
        UNIT(lines_break_between_values),
    };
    return UNITS_RUN(units);
}
