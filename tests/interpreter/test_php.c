/* SPDX-License-Identifier: Apache-2.0 */
/* PHP's stacks from memory images, and from hostile ones. */
#include "unit.h"

#include "interpreter/merge.h"
#include "interpreter/walk.h"
#include "php_image.h"

/* The result of the tested code for an image. */
struct result {
    struct arena arena;
    struct interpreter_access access;
    struct interpreter_runtime runtime;
    struct interpreter_thread thread;
    struct interpreter_stack stack;
    struct error err;
    enum interpreter_found found;
    bool has_thread;
};

static struct image image;

static void examine(struct result *r, uint64_t tid)
{
    const struct interpreter *php = &interpreter_php;
    struct interpreter_thread_ids ids = {.tid = tid};
    *r = (struct result){.access = image_access(&image)};
    r->found = interpreter_find(php, &r->access, &r->arena, &r->runtime, &r->err);
    r->has_thread =
        r->found == INTERPRETER_FOUND && php->thread(&r->runtime, &ids, &r->thread);
    if (r->has_thread)
        assert_true(php->stack(&r->runtime, &r->thread, &r->stack, &r->arena));
}

static void make(const char *version)
{
    image_init(&image, version);
    image_stack(&image);
}

static void check_frame(const struct interpreter_frame *f, const char *name,
                        const char *file, uint32_t line, bool is_entry)
{
    assert_str(f->function, name);
    assert_str(f->file, file);
    assert_int_equal(f->line, line);
    assert_int_equal(f->is_entry, is_entry);
    assert_int_equal(f->is_native, file[0] == 0);
}

static void test_stack(void **state)
{
    (void)state;
    struct result r;
    make("8.2.7");
    examine(&r, IMAGE_TID);
    assert_int_equal(r.found, INTERPRETER_FOUND);
    assert_string_equal(r.runtime.version, "8.2.7");
    assert_string_equal(r.runtime.offsets, "table for 8.2");
    assert_int_equal(r.stack.end, INTERPRETER_WHOLE);
    assert_int_equal(r.stack.count, 8);
    const struct interpreter_frame *f = r.stack.frames;
    check_frame(&f[0], "strlen", "", 0, false);
    check_frame(&f[1], "{closure}", "/srv/app.php", 12, true);
    check_frame(&f[2], "array_map", "", 0, false);
    check_frame(&f[3], "Counter::add", "/srv/app.php", 20, false);
    check_frame(&f[4], "{eval}", "/srv/inc.php(3) : eval()'d code", 1, false);
    assert_true(f[5].is_hidden);
    check_frame(&f[6], "{include inc.php}", "/srv/inc.php", 3, false);
    check_frame(&f[7], "{main}", "/srv/index.php", 7, true);
    assert_false(r.thread.holds_lock);
    arena_deinit(&r.arena);
}

static void test_other_thread(void **state)
{
    (void)state;
    struct result r;
    make("8.2.7");
    examine(&r, IMAGE_TID + 1);
    assert_int_equal(r.found, INTERPRETER_FOUND);
    assert_false(r.has_thread);
    arena_deinit(&r.arena);
}

static void check_refused(const char *part)
{
    struct result r;
    examine(&r, IMAGE_TID);
    assert_int_equal(r.found, INTERPRETER_REFUSED);
    assert_non_null(strstr(r.err.message, part));
    arena_deinit(&r.arena);
}

static void test_versions(void **state)
{
    (void)state;
    struct result r;
    make("7.2.34");
    check_refused("PHP 7.2.34 is not supported");
    make("8");
    check_refused("the version of PHP in /usr/lib/libphp8.2.so is unknown");
    make("8.2.7");
    image.has_threads = true;
    check_refused("built with threads");
    make("8.2.7");
    image_put(&image, image.modules_at + 24, 1, 4);
    examine(&r, IMAGE_TID);
    assert_int_equal(r.found, INTERPRETER_STARTING);
    arena_deinit(&r.arena);
}

/* A function that was freed, or whose memory another one has now, is not named. */
static void test_reused(void **state)
{
    (void)state;
    struct result r;
    struct interpreter_frame frame;
    make("8.2.7");
    examine(&r, IMAGE_TID);
    struct interpreter_walk walk;
    static struct interpreter_walk_frame walked[INTERPRETER_WALK_MAX];
    size_t count;
    assert_true(interpreter_php.layout(&r.runtime, &walk));
    assert_int_equal(
        interpreter_walk_thread(&r.access, &walk, r.thread.state, walked, &count),
        INTERPRETER_WHOLE);
    assert_int_equal(count, 8);
    assert_true(interpreter_php.describe(&r.runtime, &walked[3], &frame));
    uint64_t code = walked[3].code & ~INTERPRETER_WALK_BITS;
    image_put(&image, code + 8, image_string(&image, "other"), 8);
    assert_false(interpreter_php.describe(&r.runtime, &walked[3], &frame));
    image_put(&image, code, PHP_TYPE_NATIVE, 1);
    assert_false(interpreter_php.describe(&r.runtime, &walked[3], &frame));
    arena_deinit(&r.arena);
}

/* Frames that are a circle end. */
static void test_circle(void **state)
{
    (void)state;
    struct result r;
    make("8.2.7");
    image_put(&image, image.last + 48, image.last, 8);
    examine(&r, IMAGE_TID);
    assert_true(r.stack.count <= INTERPRETER_FRAMES_MAX);
    assert_int_not_equal(r.stack.end, INTERPRETER_WHOLE);
    arena_deinit(&r.arena);
}

static void test_roles(void **state)
{
    (void)state;
    assert_int_equal(interpreter_php.native(STR("execute_ex")), NATIVE_LOOP);
    assert_int_equal(interpreter_php.native(STR("execute_ex.cold")), NATIVE_LOOP);
    assert_int_equal(interpreter_php.native(STR("zif_strlen")), NATIVE_INTERNAL);
    assert_int_equal(interpreter_php.native(STR("ZEND_ECHO_SPEC_CONST_HANDLER")),
                     NATIVE_INTERNAL);
    assert_int_equal(interpreter_php.native(STR("zend_sort")), NATIVE_WORK);
    /* a part of the loop that the compiler split off has no name in a stripped program */
    enum interpreter_native roles[] = {NATIVE_UNNAMED, NATIVE_UNNAMED, NATIVE_LOOP,
                                       NATIVE_UNNAMED, NATIVE_ENTERS};
    assert_int_equal(interpreter_php.native(STR("zend_execute")), NATIVE_ENTERS);
    interpreter_settle(&interpreter_php, roles, 5);
    assert_int_equal(roles[0], NATIVE_WORK);
    assert_int_equal(roles[1], NATIVE_INTERNAL); /* an instruction */
    assert_int_equal(roles[3], NATIVE_LOOP);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_stack),    cmocka_unit_test(test_other_thread),
        cmocka_unit_test(test_versions), cmocka_unit_test(test_reused),
        cmocka_unit_test(test_circle),   cmocka_unit_test(test_roles),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
