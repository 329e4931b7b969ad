/* SPDX-License-Identifier: Apache-2.0 */
#include "profiles.h"

static void test_by_thread(void **state)
{
    static const struct row rows[] = {{"main;f", 1, "web/10/10"},
                                      {"main;g", 2, "web/10/11"},
                                      {"loop", 4, "web/12/12"},
                                      {"sh;x;y", 8}};
    struct transform_options comm = {.group = GROUP_COMM};
    struct transform_options process = {.group = GROUP_PROCESS};
    struct transform_options thread = {.group = GROUP_THREAD};
    (void)state;
    assert_transformed(rows, comm, "sh 8\nweb 7\n");
    assert_transformed(rows, process, "sh 8\nweb-10 3\nweb-12 4\n");
    assert_transformed(rows, thread, "sh 8\nweb-10/10 1\nweb-10/11 2\nweb-12/12 4\n");
}

static frame_id frame_in(struct builder *b, const char *name, const char *module,
                         const char *file)
{
    struct frame f = {.name = builder_string(b, str_of(name)),
                      .module = builder_module(b, str_of(module), STR("")),
                      .file = builder_string(b, str_of(file)),
                      .line = 7,
                      .kind = FRAME_INLINED};
    return builder_frame(b, &f);
}

static struct profile *with_modules(void)
{
    struct builder b;
    struct error err;
    assert_true(builder_init(&b, BUILD_COUNT));
    event_id event = builder_event(&b, STR("samples"), UNIT_COUNT);
    stack_id main = builder_push(&b, 0, frame_in(&b, "main", "/bin/app", "app.c"));
    stack_id at = builder_push(&b, main, frame_in(&b, "malloc", "/lib/libc.so.6", ""));
    builder_add_stack(&b, event, at, 3);
    builder_add_stack(&b, event, builder_push(&b, main, frame_in(&b, "x", "", "")), 5);
    struct profile *p = builder_finish(&b, &err);
    builder_deinit(&b);
    return p;
}

static void test_by_module_and_file(void **state)
{
    struct transform_options module = {.group = GROUP_MODULE},
                             file = {.group = GROUP_FILE};
    (void)state;
    struct profile *p = transformed(with_modules(), &module);
    assert_folded(p, "app;[unknown] 5\napp;libc.so.6 3\n");
    profile_destroy(p);
    p = transformed(with_modules(), &file);
    assert_folded(p, "app.c;[unknown] 8\n");
    profile_destroy(p);
}

static void test_nothing_to_group_by(void **state)
{
    static const struct row rows[] = {{"main;f", 1}};
    struct transform_options module = {.group = GROUP_MODULE},
                             file = {.group = GROUP_FILE};
    (void)state;
    assert_refused(rows, module, "no modules");
    assert_refused(rows, file, "no source files");
}

int main(void)
{
    const struct CMUnitTest units[] = {
        UNIT(test_by_thread),
        UNIT(test_by_module_and_file),
        UNIT(test_nothing_to_group_by),
    };
    return UNITS_RUN(units);
}
