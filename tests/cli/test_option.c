/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/options/option.h"
#include "unit.h"

struct load {
    bool quiet;
};

struct settings {
    bool inverted, count, flag;
    const char *title;
    struct name_list names;
    int64_t threads;
    double factor;
    int order, mode, level;
    const char *parsed;
    struct load load;
};

#define OFF(field) offsetof(struct settings, field)

static bool parse_even(const char *text, void *value, struct error *err)
{
    if (strlen(text) % 2)
        return error_set(err, "odd");
    *(const char **)value = text;
    return true;
}

static const char *const orders[] = {"name", "size", "time", NULL};

static const struct option table[] = {
    {"inverted", 'i', NULL, "upside down", OPTION_FLAG, OFF(inverted)},
    {"no-count", 0, NULL, "do not count", OPTION_CLEAR, OFF(count)},
    {"title", 't', "TEXT", "the title", OPTION_STRING, OFF(title)},
    {"name,ignore-name", 'n', "NAME", "a name", OPTION_LIST, OFF(names)},
    {"threads", 'j', "N", "threads", OPTION_INT, OFF(threads)},
    {"factor", 0, "X", "factor", OPTION_NUMBER, OFF(factor)},
    {"size", 0, "X", "size", OPTION_NUMBER, OFF(factor), .least = 0.5, .most = 2},
    {"limit", 0, "N", "limit", OPTION_INT, OFF(threads), .most = UINT32_MAX},
    {"order", 0, "ORDER", "order", OPTION_CHOICE, OFF(order), orders},
    {"fast", 0, NULL, "mode 3", OPTION_SET, OFF(mode), NULL, 3},
    {"detailed", 'd', NULL, "more", OPTION_COUNT, OFF(level)},
    {"old", 0, "X", NULL, OPTION_IGNORED, 0},
    {"even", 0, "X", "of even length", OPTION_PARSED, OFF(parsed), NULL, 0, parse_even},
    {"graph", 'g', "HOW", "of even length, or none", OPTION_PARSED, OFF(parsed), NULL,
     .parse = parse_even, .fallback = "none"},
    {0}};

static const struct option load_table[] = {
    {"quiet", 'q', NULL, "hush", OPTION_FLAG, offsetof(struct load, quiet)},
    {"hush", 't', NULL, "hush", OPTION_FLAG, offsetof(struct load, quiet)},
    {0}};

static const struct option_group groups[] = {
    {"options", table, 0}, {"input", load_table, OFF(load), .taken = "t"}, {0}};

/* A command line under test. */
struct parsed {
    struct settings s;
    struct error err;
    char words[20][40];
    char *argv[20];
    int rest;
    bool ok;
};

/* Parses the words, which are split at spaces. */
static struct parsed *parse(const char *line)
{
    static struct parsed p;
    struct str rest = str_of(line);
    int argc = 1;
    p = (struct parsed){.s = {.count = true}};
    p.argv[0] = p.words[0];
    while (rest.len) {
        struct str word = str_cut(&rest, ' ');
        snprintf(p.words[argc], sizeof p.words[0], "%.*s", STR_ARG(word));
        p.argv[argc] = p.words[argc];
        argc++;
    }
    p.ok = options_parse(groups, &p.s, argc, p.argv, &p.rest, &p.err);
    return &p;
}

static void assert_refused(const char *line, const char *message, const char *hint)
{
    struct parsed *p = parse(line);
    assert_false(p->ok);
    if (!strstr(p->err.message, message) || !strstr(p->err.hint, hint))
        fail_msg("'%s' said '%s', try '%s'", line, p->err.message, p->err.hint);
    options_free(groups, &p->s);
}

static void values_stand_behind_or_next(void **state)
{
    (void)state;
    struct parsed *p = parse("--title=one --threads 4 --factor=-1.5 --order size");
    assert_true(p->ok);
    assert_string_equal(p->s.title, "one");
    assert_int_equal(p->s.threads, 4);
    assert_double(p->s.factor, -1.5);
    assert_int_equal(p->s.order, 1);
    assert_int_equal(p->rest, 0);
    assert_string_equal(parse("--title=")->s.title, "");
    assert_string_equal(parse("--title --quiet")->s.title, "--quiet");
}

static void flags_are_set_and_taken_back(void **state)
{
    (void)state;
    assert_true(parse("--inverted")->s.inverted);
    assert_false(parse("--inverted --no-inverted")->s.inverted);
    assert_false(parse("--no-count")->s.count);
    assert_int_equal(parse("--fast")->s.mode, 3);
    assert_int_equal(parse("-d")->s.level, 1);
    assert_int_equal(parse("-ddd")->s.level, 3);
    assert_true(parse("--quiet")->s.load.quiet); /* the group's own base */
}

static void letters_can_be_joined(void **state)
{
    (void)state;
    struct parsed *p = parse("-iq -j8");
    assert_true(p->ok && p->s.inverted && p->s.load.quiet);
    assert_int_equal(p->s.threads, 8);
    assert_string_equal(parse("-it title")->s.title, "title");
    assert_string_equal(parse("-ttext")->s.title, "text");
}

static void one_dash_before_a_name(void **state)
{
    (void)state;
    assert_string_equal(parse("-even four")->s.parsed, "four");
}

static void files_and_the_end_of_options(void **state)
{
    (void)state;
    struct parsed *p = parse("a.txt -i - b.txt -- --title -q");
    assert_true(p->ok);
    assert_int_equal(p->rest, 5);
    assert_string_equal(p->argv[0], "a.txt");
    assert_string_equal(p->argv[1], "-");
    assert_string_equal(p->argv[2], "b.txt");
    assert_string_equal(p->argv[3], "--title");
    assert_string_equal(p->argv[4], "-q");
    assert_false(p->s.load.quiet);
}

static void lists_gather_under_every_spelling(void **state)
{
    (void)state;
    struct parsed *p = parse("--name a --ignore-name=b -nc");
    assert_true(p->ok);
    assert_int_equal(p->s.names.count, 3);
    assert_string_equal(p->s.names.items[0], "a");
    assert_string_equal(p->s.names.items[1], "b");
    assert_string_equal(p->s.names.items[2], "c");
    options_free(groups, &p->s);
    assert_null(p->s.names.items);
}

static void options_of_other_tools_are_swallowed(void **state)
{
    (void)state;
    struct parsed *p = parse("--old thing file");
    assert_true(p->ok);
    assert_int_equal(p->rest, 1);
    assert_string_equal(p->argv[0], "file");
}

static void errors_name_a_way_out(void **state)
{
    (void)state;
    assert_refused("--titel x", "unknown option '--titel'", "--help");
    assert_refused("--theads 4", "unknown option '--theads'", "--threads");
    assert_refused("--th 4", "unknown option '--th'", "");
    assert_refused("-z", "unknown option '-z'", "");
    assert_refused("--title", "--title needs a value: TEXT", "");
    assert_refused("-j", "--threads needs a value", "");
    assert_refused("--threads four", "invalid value 'four' for --threads",
                   "a whole number");
    assert_refused("--threads 1.5", "for --threads", "a whole number");
    assert_refused("--threads 1e17", "for --threads", "a whole number");
    assert_refused("--factor nan", "for --factor", "a number");
    assert_refused("--size 3", "invalid value '3' for --size", "from 0.5 to 2");
    assert_refused("--limit -1", "invalid value '-1' for --limit",
                   "a whole number of at least 0");
    assert_refused("--order colour", "invalid value 'colour' for --order",
                   "name, size, time");
    assert_refused("--inverted=yes", "--inverted takes no value", "");
    assert_refused("--no-title", "unknown option", "");
    assert_refused("--even odd", "odd", "");
}

static void the_beginning_of_a_name_is_enough(void **state)
{
    (void)state;
    assert_int_equal(parse("--thr 4")->s.threads, 4);
    assert_string_equal(parse("--tit=four")->s.title, "four");
    assert_true(parse("--inv")->s.inverted);
    assert_false(parse("--inverted --no-inv")->s.inverted);
    assert_false(parse("--no-cou")->s.count);
}

static void a_value_may_be_missing(void **state)
{
    (void)state;
    assert_string_equal(parse("-g four")->s.parsed, "four");
    assert_string_equal(parse("-gfour -i")->s.parsed, "four");
    assert_string_equal(parse("-g")->s.parsed, "none");
    assert_string_equal(parse("--graph -i")->s.parsed, "none");
    struct parsed *p = parse("-ig /"); /* a file that is there */
    assert_true(p->ok && p->s.inverted && p->rest == 1);
    assert_string_equal(p->argv[0], "/");
    assert_string_equal(p->s.parsed, "none");
    assert_refused("--graph=odd", "odd", "");
    assert_refused("-g odd", "odd", "");
}

static void a_letter_may_be_taken(void **state)
{
    (void)state;
    struct parsed *p = parse("-t text");
    assert_true(p->ok && !p->s.load.quiet);
    assert_string_equal(p->s.title, "text");
    assert_int_equal(option_letter(&groups[1], &load_table[0]), 'q');
    assert_int_equal(option_letter(&groups[1], &load_table[1]), 0);
}

int main(void)
{
    const struct CMUnitTest units[] = {
        UNIT(values_stand_behind_or_next),
        UNIT(flags_are_set_and_taken_back),
        UNIT(letters_can_be_joined),
        UNIT(one_dash_before_a_name),
        UNIT(files_and_the_end_of_options),
        UNIT(a_value_may_be_missing),
        UNIT(a_letter_may_be_taken),
        UNIT(lists_gather_under_every_spelling),
        UNIT(options_of_other_tools_are_swallowed),
        UNIT(errors_name_a_way_out),
        UNIT(the_beginning_of_a_name_is_enough),
    };
    return UNITS_RUN(units);
}
