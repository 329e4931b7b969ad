/* SPDX-License-Identifier: Apache-2.0 */
#include "profiles.h"

/* "module!function;...": as profiles.h, with modules. */
static struct profile *profile_with(const char *const *stacks)
{
    struct builder b;
    struct error err;
    assert_true(builder_init(&b, BUILD_KEEP));
    event_id event = builder_event(&b, STR("samples"), UNIT_COUNT);
    for (size_t i = 0; stacks[i]; i++) {
        struct sample s = {.time = TIME_NONE, .cpu = CPU_NONE, .event = event};
        for (struct str rest = str_of(stacks[i]); rest.len;) {
            struct str name = str_cut(&rest, ';'), module = str_cut(&name, '!');
            struct frame f = {.name = builder_string(&b, name),
                              .module = builder_module(&b, module, STR("")),
                              .line = 7};
            s.stack = builder_push(&b, s.stack, builder_frame(&b, &f));
        }
        s.count = 1;
        s.weight = 1;
        builder_add(&b, &s);
    }
    struct profile *p = builder_finish(&b, &err);
    assert_non_null(p);
    builder_deinit(&b);
    return p;
}

#define STACKS(...) ((const char *const[]){__VA_ARGS__, NULL})

static void assert_becomes(const char *const *stacks, struct transform_options options,
                           const char *expected)
{
    struct profile *p = transformed(profile_with(stacks), &options);
    assert_folded(p, expected);
    profile_destroy(p);
}

static const struct transform_options libc = {.collapse_module = {{"^libc"}, 1}};

static void runs_of_a_module_are_one(void **state)
{
    (void)state;
    assert_becomes(STACKS("a!main;/lib/libc.so!malloc;/lib/libc.so!brk",
                          "a!main;/lib/libc.so!free", "a!main;a!x"),
                   libc, "main;libc.so 2\nmain;x 1\n");
}

static void what_it_calls_and_others_stay(void **state)
{
    (void)state;
    assert_becomes(STACKS("/lib/libc.so!start;/lib/libc.so!main_;a!main;"
                          "/lib/libc.so!qsort;/lib/libc.so!merge;a!less;a!less2",
                          "/lib/libc.so!start;a!other"),
                   libc, "libc.so;main;libc.so;less;less2 1\nlibc.so;other 1\n");
}

/* Two adjacent modules stay two; a frame without a module belongs to no module. */
static void modules_stay_apart(void **state)
{
    (void)state;
    struct transform_options every = {.collapse_module = {{"."}, 1}};
    assert_becomes(STACKS("x!a;x!b;y!c;y!d;!e;!f;x!g"), every, "x;y;e;f;x 1\n");
}

static void a_name_is_the_whole_name(void **state)
{
    (void)state;
    struct transform_options named = {.collapse_module = {{"libc"}, 1, true}};
    assert_becomes(STACKS("libc!a;libc!b;libcx!c;libcx!d"), named, "libc;c;d 1\n");
}

/* The time of other modules is that of their callers; a stack without frames of the module is
 * dropped. */
static void only_a_module_is_shown(void **state)
{
    struct transform_options pattern = {.show_module = {{"^a", "^b$"}, 2}};
    struct transform_options name = {.show_module = {{"a"}, 1, true}};
    const char *const *stacks =
        STACKS("/bin/a!main;libc!malloc;a!f;libc!free", "a!main;a!f;!g", "libc!start;b!x",
               "ab!main", "libc!start", "!a");
    (void)state;
    assert_becomes(stacks, pattern, "main 1\nmain;f 2\nx 1\n");
    assert_becomes(stacks, name, "main;f 2\n");
}

int main(void)
{
    const struct CMUnitTest units[] = {
        UNIT(runs_of_a_module_are_one), UNIT(what_it_calls_and_others_stay),
        UNIT(modules_stay_apart), UNIT(a_name_is_the_whole_name),
        UNIT(only_a_module_is_shown)};
    return UNITS_RUN(units);
}
