/* SPDX-License-Identifier: Apache-2.0 */
#include "base/lines.h"
#include "unit.h"

/* Reads all lines in bites of the given size, and appends '|' to each. */
static void assert_lines(const char *text, size_t length, size_t bite,
                         const char *expected)
{
    struct bites bites = {.text = text, .length = length, .bite = bite};
    struct source s = source_reading(bites_read, &bites, STR("x"));
    struct error err;
    struct lines lines = lines_of(&s, &err);
    struct str line;
    char got[4096];
    size_t used = 0;
    uint64_t number = 0;
    while (lines_next(&lines, &line)) {
        assert_int_equal(lines.number, ++number);
        assert_true(used + line.len + 1 < sizeof got);
        memcpy(got + used, line.ptr, line.len);
        used += line.len;
        got[used++] = '|';
    }
    assert_false(lines.failed);
    assert_int_equal(s.offset, length);
    assert_str(((struct str){got, used}), expected);
    source_deinit(&s);
}

static void lines_end_with_lf_crlf_or_the_end(void **state)
{
    (void)state;
    for (size_t bite = 1; bite < 8; bite++) {
        assert_lines("", 0, bite, "");
        assert_lines("a", 1, bite, "a|");
        assert_lines("a\n", 2, bite, "a|");
        assert_lines("a\r\nb\r\n", 6, bite, "a|b|");
        assert_lines("\n\n", 2, bite, "||");
        assert_lines("\r\n\n", 3, bite, "||");
        assert_lines("a\rb\n", 4, bite, "a\rb|");
        assert_lines("end\r", 4, bite, "end|");
    }
}

static void a_line_longer_than_the_window(void **state)
{
    (void)state;
    size_t length = 3u << 20;
    char *text = malloc(length);
    memset(text, 'y', length);
    text[1] = text[length - 2] = '\n';
    struct bites bites = {.text = text, .length = length, .bite = 65536};
    struct source s = source_reading(bites_read, &bites, STR("x"));
    struct error err;
    struct lines lines = lines_of(&s, &err);
    struct str line;
    assert_true(lines_next(&lines, &line) && line.len == 1);
    assert_true(lines_next(&lines, &line));
    assert_int_equal(line.len, length - 4);
    assert_true(lines_next(&lines, &line) && line.len == 1);
    assert_false(lines_next(&lines, &line));
    source_deinit(&s);
    free(text);
}

/* An endless input: the window slides and does not grow. */
static bool endless_read(void *context, char *into, size_t room, size_t *got,
                         struct error *err)
{
    uint64_t *at = context;
    (void)err;
    for (size_t i = 0; i < room; i++)
        into[i] = (*at + i) % 40 == 39 ? '\n' : 'z';
    *at += room;
    *got = room;
    return true;
}

static void an_endless_input_needs_constant_memory(void **state)
{
    (void)state;
    uint64_t at = 0;
    struct source s = source_reading(endless_read, &at, STR("x"));
    struct error err;
    struct lines lines = lines_of(&s, &err);
    struct str line;
    for (int i = 0; i < 1000000; i++) {
        assert_true(lines_next(&lines, &line));
        assert_int_equal(line.len, 39);
    }
    assert_true(s.size <= 1u << 20);
    assert_int_equal(s.offset, 40000000);
    source_deinit(&s);
}

static void known_bytes_are_not_searched(void **state)
{
    (void)state;
    struct bites pipe = {.text = "abcdef\nabcxyz\nab", .length = 16, .bite = 3};
    struct source s = source_reading(bites_read, &pipe, STR("pipe"));
    struct error err;
    struct lines lines = lines_of(&s, &err);
    struct str line;
    assert_true(source_peek(&s, 3, &err));
    assert_true(lines_next_after(&lines, 3, &line));
    assert_str(line, "abcdef");
    assert_true(lines_next_after(&lines, 0, &line));
    assert_str(line, "abcxyz");
    assert_int_equal(lines.number, 2);
    assert_true(source_peek(&s, 2, &err));
    assert_true(lines_next_after(&lines, 2, &line));
    assert_str(line, "ab");
    assert_true(lines.cut);
    assert_false(lines_next_after(&lines, 0, &line));
    source_deinit(&s);
}

static void a_read_error_ends_the_lines(void **state)
{
    (void)state;
    struct bites bites = {
        .text = "one\ntwo\nthree\n", .length = 14, .bite = 5, .fail_after = 5};
    struct source s = source_reading(bites_read, &bites, STR("x"));
    struct error err;
    struct lines lines = lines_of(&s, &err);
    struct str line;
    assert_true(lines_next(&lines, &line));
    assert_false(lines_next(&lines, &line));
    assert_true(lines.failed);
    assert_string_equal(err.message, "the disk is on fire");
    source_deinit(&s);
}

static void a_source_in_memory_is_read_in_place(void **state)
{
    (void)state;
    const char *text = "a\nb";
    struct source s = source_of(str_of(text), STR("x"));
    struct error err;
    struct str all;
    assert_true(source_peek(&s, 100, &err));
    assert_true(source_all(&s, &all, &err));
    assert_ptr_equal(all.ptr, text);
    assert_int_equal(all.len, 3);
    assert_true(source_more(&s, s.begin + 2, &err));
    assert_int_equal(s.offset, 2);
    assert_int_equal(s.end - s.begin, 1);
    source_deinit(&s);
}

static void source_all_reads_a_whole_pipe(void **state)
{
    (void)state;
    size_t length = 1u << 20;
    char *text = malloc(length);
    for (size_t i = 0; i < length; i++)
        text[i] = (char)(i * 31 >> 3);
    struct bites bites = {.text = text, .length = length, .bite = 999};
    struct source s = source_reading(bites_read, &bites, STR("x"));
    struct error err;
    struct str all;
    assert_true(source_peek(&s, 5000, &err));
    assert_true(s.end - s.begin >= 5000);
    assert_true(source_all(&s, &all, &err));
    assert_true(str_equal(all, (struct str){text, length}));
    source_deinit(&s);
    free(text);
}

static bool bites_map(void *context, struct str *all)
{
    struct bites *b = context;
    *all = (struct str){b->text, b->length};
    return b->fail_after == 0;
}

/* After some bytes were read: the window becomes the whole rest. */
static void a_mappable_input_is_mapped(void **state)
{
    (void)state;
    struct bites bites = {.text = "abcdefgh", .length = 8, .bite = 3};
    struct source s = source_reading(bites_read, &bites, STR("x"));
    struct error err;
    struct str all;
    s.map = bites_map;
    assert_true(source_peek(&s, 2, &err));
    s.begin += 2;
    s.offset += 2;
    assert_true(source_map(&s, &all));
    assert_str(all, "cdefgh");
    assert_true(s.last && s.begin == bites.text + 2 && s.offset == 2);
    source_deinit(&s);
    bites.fail_after = 1;
    s = source_reading(bites_read, &bites, STR("x"));
    s.map = bites_map;
    assert_false(source_map(&s, &all));
    assert_false(s.last);
    s = source_of(STR("abc"), STR("x"));
    assert_true(source_map(&s, &all));
    assert_str(all, "abc");
}

int main(void)
{
    const struct CMUnitTest units[] = {
        UNIT(lines_end_with_lf_crlf_or_the_end),
        UNIT(a_line_longer_than_the_window),
        UNIT(an_endless_input_needs_constant_memory),
        UNIT(known_bytes_are_not_searched),
        UNIT(a_read_error_ends_the_lines),
        UNIT(a_source_in_memory_is_read_in_place),
        UNIT(source_all_reads_a_whole_pipe),
        UNIT(a_mappable_input_is_mapped),
    };
    return UNITS_RUN(units);
}
