/* SPDX-License-Identifier: Apache-2.0 */
#include "profiles.h"

static void test_reverse(void **state)
{
    static const struct row rows[] = {
        {"main;run;parse", 5}, {"main;emit;parse", 3}, {"main", 2}, {"main;run", 1}};
    struct transform_options o = {.reverse = true};
    (void)state;
    assert_transformed(rows, o,
                       "main 2\nparse;emit;main 3\nparse;run;main 5\nrun;main 1\n");
}

/* Threads become the last frames. */
static void test_threads_come_last(void **state)
{
    static const struct row rows[] = {
        {"main;run", 5, "web/1"}, {"main;run", 3, "db/2"}, {"", 1, "db/2"}};
    struct transform_options comm = {.reverse = true};
    struct transform_options pid = {.reverse = true, .threads = THREAD_PID};
    struct transform_options none = {.reverse = true, .threads = THREAD_NONE};
    (void)state;
    assert_transformed(rows, comm, "db 1\nrun;main;db 3\nrun;main;web 5\n");
    assert_transformed(rows, pid, "db-2 1\nrun;main;db-2 3\nrun;main;web-1 5\n");
    assert_transformed(rows, none, "run;main 8\n");
}

static void test_thread_frames(void **state)
{
    static const struct row rows[] = {{"main;run", 5, "web/1"},
                                      {"main;run", 3, "db/2"},
                                      {"main", 1, "web/3"},
                                      {"x", 9}};
    struct transform_options o = {.thread_frames = true};
    (void)state;
    struct profile *p = transformed(PROFILE(rows), &o);
    assert_folded(p, "db;main;run 3\nweb;main 1\nweb;main;run 5\nx 9\n");
    assert_int_equal(p->thread_count, 1);
    profile_destroy(p);
}

static void test_process_frames(void **state)
{
    static const struct row rows[] = {
        {"main", 5, "web/1"}, {"main", 3, "db/2"}, {"main", 1, "web/1"}, {"x", 9}};
    struct transform_options o = {
        .thread_frames = true, .threads = THREAD_TID, .process_frames = true};
    (void)state;
    struct profile *p = transformed(PROFILE(rows), &o);
    assert_folded(p, "x 9\ndb-2/?;db-2;main 3\nweb-1/?;web-1;main 6\n");
    assert_int_equal(p->thread_count, 3);
    profile_destroy(p);
}

static void test_deep(void **state)
{
    struct builder b;
    struct error err;
    struct transform_options o = {
        .reverse = true, .collapse = COLLAPSE_CYCLES, .hide = {{"^f2$"}, 1}};
    const size_t depth = 500000;
    stack_id stack = 0;
    (void)state;
    assert_true(builder_init(&b, BUILD_COUNT));
    for (size_t i = 0; i < depth; i++) {
        char name[24];
        size_t length = format_text(name, sizeof name, "f%zu", i);
        stack =
            builder_push(&b, stack, builder_named_frame(&b, (struct str){name, length}));
    }
    builder_add_stack(&b, builder_event(&b, STR("samples"), UNIT_COUNT), stack, 1);
    struct profile *p = builder_finish(&b, &err);
    builder_deinit(&b);
    p = transformed(p, &o);
    assert_int_equal(p->stack_count, depth); /* less one hidden, and the root */
    assert_str(profile_string(p, p->frames[p->stacks[1].frame].name), "f499999");
    profile_destroy(p);
}

int main(void)
{
    const struct CMUnitTest units[] = {
        UNIT(test_reverse),       UNIT(test_threads_come_last),
        UNIT(test_thread_frames), UNIT(test_process_frames),
        UNIT(test_deep),
    };
    return UNITS_RUN(units);
}
