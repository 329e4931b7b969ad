/* SPDX-License-Identifier: Apache-2.0 */
#include "profiles.h"
#include "transform/suppressions.h"

static const struct row rows[] = {
    {"main;read_all;grow", 5, NULL, "leaked"},
    {"main;read_all;grow", 9, NULL, "live"},
    {"main;init;table", 7, NULL, "leaked"},
    {"main;init;malloc", 3, NULL, "leaked"},
    {"main;init;names;operator new", 2, NULL, "leaked"},
};

/* The leaks that remain, as folded lines. */
static void assert_remain(const char *text, const char *leaked)
{
    struct suppressions s = {.count = 0};
    struct error err;
    assert_true(suppressions_add(&s, str_of(text), &err));
    struct transform_options o = {.suppressions = &s,
                                  .filter = {.events = {{"leaked"}, 1}}};
    assert_transformed(rows, o, leaked);
    suppressions_deinit(&s);
}

#define ALL                                                                   \
    "main;init;malloc 3\nmain;init;names;operator new 2\nmain;init;table 7\n" \
    "main;read_all;grow 5\n"

static void test_templates(void **state)
{
    (void)state;
    assert_remain("", ALL);
    assert_remain("# a comment\n\nthread:main\n", ALL);
    assert_remain("leak:absent\n", ALL);
    assert_remain("leak:main", "");
    assert_remain("  leak:read_  \n",
                  "main;init;malloc 3\nmain;init;names;operator new 2\n"
                  "main;init;table 7\n");
    assert_remain("leak:^init$\n", "main;read_all;grow 5\n");
    assert_remain("leak:^nit\nleak:ini$\n", ALL);
    assert_remain("leak:g*ow\n", "main;init;malloc 3\nmain;init;names;operator new 2\n"
                                 "main;init;table 7\n");
    assert_remain("leak:^g*w$\nleak:^n*s$\n", "main;init;malloc 3\nmain;init;table 7\n");
}

#define BLOCK(lines) "{\n name\n Memcheck:Leak\n" lines "}\n"

static void test_stacks(void **state)
{
    (void)state;
    assert_remain(BLOCK("fun:grow\n"),
                  "main;init;malloc 3\nmain;init;names;operator new 2\n"
                  "main;init;table 7\n");
    assert_remain(BLOCK("fun:read_all\n"), ALL); /* not the leaf */
    assert_remain(
        BLOCK("fun:malloc\n fun:grow\n fun:read_*\n fun:main\n"),
        "main;init;malloc 3\nmain;init;names;operator new 2\nmain;init;table 7\n");
    assert_remain(
        BLOCK("match-leak-kinds: reachable\nfun:malloc\nfun:init\n"),
        "main;init;names;operator new 2\nmain;init;table 7\nmain;read_all;grow 5\n");
    assert_remain(BLOCK("fun:_Znwm\nfun:names\n"),
                  "main;init;malloc 3\nmain;init;table 7\nmain;read_all;grow 5\n");
    assert_remain(BLOCK("...\nfun:init\n...\nfun:main\n"), "main;read_all;grow 5\n");
    assert_remain(BLOCK("...\nfun:main\nfun:main\n"), ALL);
    assert_remain(BLOCK("fun:grow\nfun:read_all\nfun:main\nfun:start\n"), ALL);
    assert_remain(BLOCK("obj:*/libc.so*\n"), ALL);
    assert_remain("{\n name\n Memcheck:Cond\n fun:grow\n unknown\n}\n", ALL);
    assert_remain(BLOCK("...\n"), "");
}

static void test_counts(void **state)
{
    struct suppressions s = {.count = 0};
    struct error err;
    struct str text = STR("leak:grow\nleak:main\nleak:init\n" BLOCK("fun:table\n"));
    (void)state;
    assert_true(suppressions_add(&s, text, &err));
    struct transform_options o = {.suppressions = &s};
    struct profile *p = transformed(PROFILE(rows), &o); /* of the first event */
    assert_folded_event(p, 1, THREAD_TID, "");
    profile_destroy(p);
    assert_int_equal(s.count, 4);
    assert_str(s.items[0].name, "grow");
    assert_double(s.items[0].weight, 5); /* not the event live */
    assert_int_equal(s.items[0].stacks, 1);
    assert_double(s.items[1].weight, 0);
    assert_double(s.items[2].weight, 12); /* the frame nearest to the leaf decides */
    assert_int_equal(s.items[2].stacks, 3);
    assert_str(s.items[3].name, "name");
    suppressions_deinit(&s);
}

static void test_sources_and_modules(void **state)
{
    struct builder b;
    struct error err;
    struct suppressions s = {.count = 0};
    (void)state;
    assert_true(builder_init(&b, BUILD_COUNT));
    event_id leaked = builder_event(&b, STR("leaked"), UNIT_BYTES);
    const char *files[] = {"src/a.c", "src/b.c", "src/b.c"};
    for (uint32_t i = 0; i < 3; i++) {
        struct frame f = {.name = builder_string(&b, STR("f")),
                          .file = builder_string(&b, str_of(files[i])),
                          .line = i + 1,
                          .module = builder_module(&b, STR("/lib/libx.so.1"), STR(""))};
        builder_add_stack(&b, leaked, builder_push(&b, 0, builder_frame(&b, &f)), 1);
    }
    struct profile *p = builder_finish(&b, &err);
    builder_deinit(&b);
    assert_true(suppressions_add(&s,
                                 STR("{\na\nMemcheck:Leak\nsrc:b.c:3\n}\nleak:src/a.c\n"
                                     "{\nb\nMemcheck:Leak\nobj:*/libx.so*\n}\n"),
                                 &err));
    struct transform_options o = {.suppressions = &s};
    const struct transform *emptied;
    p = transform_apply(&o, p, &emptied, &err);
    assert_non_null(p);
    for (size_t i = 0; i < s.count; i++)
        assert_double(s.items[i].weight, 1);
    profile_destroy(p);
    suppressions_deinit(&s);
}

static void test_invalid(void **state)
{
    static const struct {
        const char *text;
        uint64_t line;
    } invalid[] = {{"leak", 1},
                   {"leak:a\nleak:\n", 2},
                   {"{\n", 1},
                   {"{\nname\n", 2},
                   {"{\nname\nMemcheck:Leak\nfun:a\n", 4},
                   {"{\nname\nMemcheck:Leak\nfun:\n}\n", 4},
                   {"{\nname\nMemcheck:Leak\nfon:a\n}\n", 4}};
    (void)state;
    for (size_t i = 0; i < sizeof invalid / sizeof *invalid; i++) {
        struct suppressions s = {.count = 0};
        struct error err;
        assert_false(suppressions_add(&s, str_of(invalid[i].text), &err));
        assert_int_equal(err.location.line, invalid[i].line);
        suppressions_deinit(&s);
    }
}

int main(void)
{
    const struct CMUnitTest units[] = {
        UNIT(test_templates),           UNIT(test_stacks),  UNIT(test_counts),
        UNIT(test_sources_and_modules), UNIT(test_invalid),
    };
    return UNITS_RUN(units);
}
