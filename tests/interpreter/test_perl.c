/* SPDX-License-Identifier: Apache-2.0 */
/* Perl's stacks from memory images, and from hostile ones. */
#include "unit.h"

#include "interpreter/merge.h"
#include "interpreter/walk.h"
#include "perl_image.h"

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
    const struct interpreter *perl = &interpreter_perl;
    struct interpreter_thread_ids ids = {.tid = tid};
    *r = (struct result){.access = image_access(&image)};
    r->found = interpreter_find(perl, &r->access, &r->arena, &r->runtime, &r->err);
    r->has_thread =
        r->found == INTERPRETER_FOUND && perl->thread(&r->runtime, &ids, &r->thread);
    if (r->has_thread)
        assert_true(perl->stack(&r->runtime, &r->thread, &r->stack, &r->arena));
}

static void make(unsigned minor, bool is_single)
{
    image_init(&image, minor, is_single);
    image_stack(&image);
}

static void check_frame(const struct interpreter_frame *f, const char *name,
                        const char *file, uint32_t line, bool is_entry)
{
    assert_str(f->function, name);
    assert_str(f->file, file);
    assert_int_equal(f->line, line);
    assert_int_equal(f->is_entry, is_entry);
    assert_false(f->is_native);
    assert_false(f->is_hidden);
}

static void check_stack(unsigned minor, bool is_single)
{
    struct result r;
    char version[16];
    make(minor, is_single);
    examine(&r, IMAGE_TID);
    assert_int_equal(r.found, INTERPRETER_FOUND);
    snprintf(version, sizeof version, "5.%u.3", minor);
    assert_string_equal(r.runtime.version, version);
    assert_int_equal(r.stack.end, INTERPRETER_WHOLE);
    assert_int_equal(r.stack.count, 9);
    const struct interpreter_frame *f = r.stack.frames;
    assert_true(f[0].is_hidden && f[0].is_entry); /* code in a pattern */
    check_frame(&f[1],
                "Counter::gr\xc3\xb6\xc3\x9f"
                "er",
                "/srv/Counter.pm", 12, true);
    check_frame(&f[2], "Named::inner", "", 4, false);
    check_frame(&f[3], "{eval}", "", 2, false);
    check_frame(&f[4],
                "main::vergr\xc3\xb6\xc3\x9f"
                "ern",
                "/srv/lib.pl", 31, false);
    assert_true(f[5].is_hidden && f[5].is_entry); /* the block of sort */
    check_frame(&f[6], "main::sorts", "/srv/lib.pl", 21, false);
    check_frame(&f[7], "{require lib.pl}", "/srv/lib.pl", 3, false);
    check_frame(&f[8], "{main}", "/srv/app.pl", 7, true);
    arena_deinit(&r.arena);
}

static void test_stack(void **state)
{
    (void)state;
    for (unsigned minor = 28; minor <= 40; minor += 2) {
        check_stack(minor, false);
        check_stack(minor, true);
    }
}

static void test_other_thread(void **state)
{
    (void)state;
    struct result r;
    make(36, false);
    examine(&r, IMAGE_TID + 1);
    assert_int_equal(r.found, INTERPRETER_FOUND);
    assert_false(r.has_thread);
    arena_deinit(&r.arena);
}

static void test_versions(void **state)
{
    (void)state;
    static const unsigned unknown[] = {26, 35, 41, 200};
    struct result r;
    for (size_t i = 0; i < sizeof unknown / sizeof *unknown; i++) {
        make(unknown[i], false);
        examine(&r, IMAGE_TID);
        assert_int_equal(r.found, INTERPRETER_REFUSED);
        assert_non_null(strstr(r.err.message, "is not supported: 5.28 to 5.40 are"));
        arena_deinit(&r.arena);
    }
    make(36, false);
    image_put(&image, image.pointer, 0, 8);
    examine(&r, IMAGE_TID);
    assert_int_equal(r.found, INTERPRETER_STARTING);
    arena_deinit(&r.arena);
}

static void walk(struct result *r, struct interpreter_walk_frame *walked, size_t *count)
{
    struct interpreter_walk layout;
    assert_true(interpreter_perl.layout(&r->runtime, &layout));
    assert_int_equal(
        interpreter_walk_thread(&r->access, &layout, r->thread.state, walked, count),
        INTERPRETER_WHOLE);
}

/* A function that was freed, or whose memory another one has now, is not named. */
static void test_reused(void **state)
{
    (void)state;
    static struct interpreter_walk_frame walked[INTERPRETER_WALK_MAX];
    struct result r;
    struct interpreter_frame frame;
    size_t count;
    make(36, false);
    examine(&r, IMAGE_TID);
    walk(&r, walked, &count);
    assert_int_equal(count, 9);
    assert_true(interpreter_perl.describe(&r.runtime, &walked[1], &frame));
    uint64_t code = walked[1].code & ~INTERPRETER_WALK_BITS;
    uint64_t body = memory_get_u64(image.bytes + (code - IMAGE_BASE));
    image_put(&image, body + 48, image_new(&image, 64), 8);
    assert_false(interpreter_perl.describe(&r.runtime, &walked[1], &frame));
    make(36, false);
    image_put(&image, code + 12, 5, 4);
    assert_false(interpreter_perl.describe(&r.runtime, &walked[1], &frame));
    arena_deinit(&r.arena);
}

/* A context that is being made has no function yet: its caller is the innermost one. */
static void test_being_made(void **state)
{
    (void)state;
    struct result r;
    make(36, false);
    uint64_t now = image_statement(&image, "/srv/Counter.pm", 13);
    image_context(&image, 9, 0, 8, IMAGE_RETURNS);
    image_statement_now(&image, now);
    examine(&r, IMAGE_TID);
    assert_int_equal(r.stack.end, INTERPRETER_WHOLE);
    assert_int_equal(r.stack.count, 9);
    assert_int_equal(r.stack.frames[1].line, 13);
    arena_deinit(&r.arena);
}

/* Arrays that are a circle, or too many contexts, end. */
static void test_endless(void **state)
{
    (void)state;
    struct result r;
    make(36, false);
    image_put(&image, image.array + 16, image.array, 8);
    examine(&r, IMAGE_TID);
    assert_int_equal(r.stack.end, INTERPRETER_TRUNCATED);
    assert_int_equal(r.stack.count, INTERPRETER_WALK_MAX);
    arena_deinit(&r.arena);
    make(36, false);
    image_put(&image, image.array + 32, INT32_MAX, 4);
    examine(&r, IMAGE_TID);
    assert_int_equal(r.stack.end, INTERPRETER_TORN);
    assert_true(image.reads < 100);
    arena_deinit(&r.arena);
}

static void test_roles(void **state)
{
    (void)state;
    assert_int_equal(interpreter_perl.native(STR("Perl_runops_standard")), NATIVE_LOOP);
    assert_int_equal(interpreter_perl.native(STR("Perl_pp_add")), NATIVE_INTERNAL);
    assert_int_equal(interpreter_perl.native(STR("Perl_call_sv")), NATIVE_INTERNAL);
    assert_int_equal(interpreter_perl.native(STR("Perl_regexec_flags")), NATIVE_WORK);
    /* a try in a function that native code called: its loop continues the function */
    enum interpreter_native roles[] = {
        NATIVE_WORK, NATIVE_INTERNAL, NATIVE_LOOP, NATIVE_UNNAMED,   NATIVE_CONTINUES,
        NATIVE_LOOP, NATIVE_INTERNAL, NATIVE_WORK, NATIVE_CONTINUES, NATIVE_LOOP};
    interpreter_settle(&interpreter_perl, roles, 10);
    assert_int_equal(roles[2], NATIVE_INTERNAL);
    assert_int_equal(roles[4], NATIVE_INTERNAL);
    assert_int_equal(roles[5], NATIVE_LOOP);
    assert_int_equal(roles[8], NATIVE_INTERNAL); /* it calls no loop itself */
    assert_int_equal(roles[9], NATIVE_LOOP);
}

/* While sort itself works, no loop executes its block. */
static void test_prepared(void **state)
{
    (void)state;
    enum interpreter_native roles[] = {NATIVE_WORK, NATIVE_INTERNAL, NATIVE_LOOP};
    struct interpreter_frame frames[] = {{.is_hidden = true, .is_entry = true},
                                         {.line = 1},
                                         {.line = 2, .is_entry = true}};
    struct interpreter_stack stack = {frames, 3, 3, INTERPRETER_WHOLE};
    struct merged_frame out[8];
    size_t count;
    assert_int_equal(
        interpreter_merge(&interpreter_perl, roles, 3, true, &stack, out, &count),
        MERGE_EXACT);
    assert_int_equal(count, 3);
    assert_false(out[0].is_interpreted);
    assert_true(out[1].is_interpreted && out[1].index == 1);
    assert_true(out[2].is_interpreted && out[2].index == 2);
    assert_int_equal(interpreter_merge(NULL, roles, 3, true, &stack, out, &count),
                     MERGE_DOUBTFUL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_stack),      cmocka_unit_test(test_other_thread),
        cmocka_unit_test(test_versions),   cmocka_unit_test(test_reused),
        cmocka_unit_test(test_being_made), cmocka_unit_test(test_endless),
        cmocka_unit_test(test_roles),      cmocka_unit_test(test_prepared),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
