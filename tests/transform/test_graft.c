/* SPDX-License-Identifier: Apache-2.0 */
#include "profiles.h"

/* A stack "main;run;leaf" of a thread, as often as `count`; "[...]" is a mark. */
struct stack_row {
    const char *stack, *thread;
    unsigned count;
};

static stack_id stack_of(struct builder *b, const char *text)
{
    stack_id stack = 0;
    for (struct str rest = str_of(text); rest.len;) {
        struct str name = str_cut(&rest, ';');
        struct frame f = {.name = builder_string(b, name),
                          .kind = name.ptr[0] == '[' ? FRAME_MARKER
                                                     : label_suffix_kind(name)};
        stack = builder_push(b, stack, builder_frame(b, &f));
    }
    return stack;
}

static struct profile *profile_of_rows(const struct stack_row *rows, size_t count)
{
    struct builder b;
    struct error err;
    assert_true(builder_init(&b, BUILD_KEEP));
    event_id event = builder_event(&b, STR("samples"), UNIT_COUNT);
    for (size_t i = 0; i < count; i++) {
        struct sample s = {.time = TIME_NONE,
                           .cpu = CPU_NONE,
                           .event = event,
                           .thread = thread_of(&b, rows[i].thread),
                           .stack = stack_of(&b, rows[i].stack),
                           .count = rows[i].count,
                           .weight = rows[i].count};
        builder_add(&b, &s);
    }
    struct profile *p = builder_finish(&b, &err);
    assert_non_null(p);
    builder_deinit(&b);
    return p;
}

static void assert_grafted(const struct stack_row *rows, size_t count,
                           const char *expected)
{
    static const struct transform_options graft = {.graft = true,
                                                   .marks_truncated = true};
    struct profile *p = transformed(profile_of_rows(rows, count), &graft);
    assert_folded(p, expected);
    profile_destroy(p);
}

#define GRAFTED(expected, ...)                                      \
    do {                                                            \
        const struct stack_row rows[] = {__VA_ARGS__};              \
        assert_grafted(rows, sizeof rows / sizeof *rows, expected); \
    } while (0)

static void the_usual_callers_continue_a_stack(void **state)
{
    (void)state;
    GRAFTED("t;main;run;[inferred callers];parse;lex 5\n"
            "t;main;run;parse;lex 3\n"
            "t;main;test;parse 2\n",
            {"main;test;parse", "t", 2}, {"[truncated];parse;lex", "t", 5},
            {"main;run;parse;lex", "t", 3});
}

static void stacks_of_other_threads_do_not_count(void **state)
{
    (void)state;
    GRAFTED("t;[truncated];parse 1\n"
            "u;main;parse 9\n",
            {"[truncated];parse", "t", 1}, {"main;parse", "u", 9});
}

static void functions_of_the_kernel_have_any_caller(void **state)
{
    (void)state;
    GRAFTED("t;[truncated];do_syscall_64_[k] 1\n"
            "t;main;read;do_syscall_64_[k] 2\n",
            {"[truncated];do_syscall_64_[k]", "t", 1},
            {"main;read;do_syscall_64_[k]", "t", 2});
}

/* Nothing is missing above a function that is outermost in whole stacks. */
static void an_outermost_function_needs_no_callers(void **state)
{
    (void)state;
    GRAFTED("t;main;a 3\n", {"[truncated];main;a", "t", 1}, {"main;a", "t", 2});
}

/* Other truncated stacks are no evidence. */
static void truncated_stacks_are_not_read(void **state)
{
    (void)state;
    GRAFTED("t;[truncated];a;b 4\n"
            "t;[truncated];b 1\n",
            {"[truncated];a;b", "t", 4}, {"[truncated];b", "t", 1});
}

static void recursion_gets_its_callers(void **state)
{
    (void)state;
    GRAFTED("t;main;f;[inferred callers];f;g 1\n"
            "t;main;f;f;g 2\n",
            {"main;f;f;g", "t", 2}, {"[truncated];f;g", "t", 1});
}

static void without_truncated_stacks_nothing_changes(void **state)
{
    (void)state;
    GRAFTED("t;a;b 1\nt;a;c 2\n", {"a;b", "t", 1}, {"a;c", "t", 2});
}

/* Without the option, the mark is there only to find these stacks; and they are counted. */
static void stacks_without_callers_have_no_mark(void **state)
{
    static const struct transform_options graft = {.graft = true};
    static const struct stack_row rows[] = {{"[truncated];f;g", "t", 3},
                                            {"main;f", "t", 1},
                                            {"[truncated];alone", "t", 2},
                                            {"[truncated];read_[k]", "t", 4}};
    (void)state;
    struct profile *p =
        transformed(profile_of_rows(rows, sizeof rows / sizeof *rows), &graft);
    assert_folded(
        p, "t;alone 2\nt;main;[inferred callers];f;g 3\nt;main;f 1\nt;read_[k] 4\n");
    assert_int_equal(p->facts.grafted, 3);
    profile_destroy(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_usual_callers_continue_a_stack),
        cmocka_unit_test(stacks_of_other_threads_do_not_count),
        cmocka_unit_test(functions_of_the_kernel_have_any_caller),
        cmocka_unit_test(an_outermost_function_needs_no_callers),
        cmocka_unit_test(truncated_stacks_are_not_read),
        cmocka_unit_test(recursion_gets_its_callers),
        cmocka_unit_test(without_truncated_stacks_nothing_changes),
        cmocka_unit_test(stacks_without_callers_have_no_mark),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
