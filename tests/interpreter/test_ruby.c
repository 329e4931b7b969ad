/* SPDX-License-Identifier: Apache-2.0 */
/* Ruby's stacks from memory images, and from hostile ones. */
#include "unit.h"

#include "interpreter/merge.h"
#include "interpreter/walk.h"
#include "ruby_image.h"

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

static void examine(struct result *r)
{
    const struct interpreter *ruby = &interpreter_ruby;
    *r = (struct result){.access = image_access(&image)};
    image.reads = image.read_bytes = 0;
    r->found = interpreter_find(ruby, &r->access, &r->arena, &r->runtime, &r->err);
    struct interpreter_thread_ids ids = {IMAGE_TID, IMAGE_POINTER};
    r->has_thread =
        r->found == INTERPRETER_FOUND && ruby->thread(&r->runtime, &ids, &r->thread);
    if (r->has_thread)
        assert_true(ruby->stack(&r->runtime, &r->thread, &r->stack, &r->arena));
}

static void make(void)
{
    image_init(&image, "3.1.2", 6);
    image_stack(&image);
}

static void check_frame(const struct interpreter_frame *f, const char *name,
                        const char *file, uint32_t line, bool is_entry)
{
    assert_str(f->function, name);
    assert_str(f->file, file);
    assert_int_equal(f->line, line);
    assert_int_equal(f->is_entry, is_entry);
}

static void check_whole(const struct interpreter_frame *f)
{
    check_frame(&f[0], "block in work", "/home/user/app.rb", 11, true);
    check_frame(&f[1], "Integer#times", "", 0, false);
    check_frame(&f[2], "Counter#work", "/home/user/app.rb", 20, true);
    assert_true(f[3].is_hidden);
    check_frame(&f[4], "<main>", "app.rb", 31, true);
}

static void test_stack(void **state)
{
    (void)state;
    struct result r;
    make();
    examine(&r);
    assert_int_equal(r.found, INTERPRETER_FOUND);
    assert_string_equal(r.runtime.version, "3.1.2");
    assert_string_equal(r.runtime.offsets, "table for 3.1");
    assert_true(r.thread.holds_lock);
    assert_int_equal(r.stack.end, INTERPRETER_WHOLE);
    assert_int_equal(r.stack.count, 5);
    check_whole(r.stack.frames);
    arena_deinit(&r.arena);
}

/* A walk from outside finds the same, and a thread is found by its tid alone. */
static void test_walk(void **state)
{
    (void)state;
    static struct interpreter_walk_frame walked[INTERPRETER_WALK_MAX];
    struct interpreter_frame frames[8] = {0};
    struct interpreter_walk layout;
    struct result r;
    size_t count;
    make();
    examine(&r);
    struct interpreter_thread_ids ids = {.tid = IMAGE_TID};
    assert_true(interpreter_ruby.thread(&r.runtime, &ids, &r.thread));
    assert_true(interpreter_ruby.layout(&r.runtime, &layout));
    assert_int_equal(
        interpreter_walk_thread(&r.access, &layout, r.thread.state, walked, &count),
        INTERPRETER_WHOLE);
    assert_int_equal(count, 5);
    for (size_t i = 0; i < count; i++) {
        frames[i].is_hidden = walked[i].code & INTERPRETER_WALK_MARK;
        if (!frames[i].is_hidden)
            assert_true(interpreter_ruby.describe(&r.runtime, &walked[i], &frames[i]));
    }
    check_whole(frames);
    walked[0].check++; /* other code has the address now */
    assert_false(interpreter_ruby.describe(&r.runtime, &walked[0], &frames[0]));
    arena_deinit(&r.arena);
}

/* Each frame with the flag FINISH belongs to one native frame of the loop; a function without
 * a name that the loop calls is a part of it. */
static void test_merge(void **state)
{
    (void)state;
    enum interpreter_native roles[] = {
        NATIVE_WORK, NATIVE_UNNAMED, NATIVE_UNNAMED, NATIVE_LOOP, NATIVE_UNNAMED,
        NATIVE_WORK, NATIVE_UNNAMED, NATIVE_LOOP,    NATIVE_LOOP, NATIVE_WORK};
    size_t n = sizeof roles / sizeof *roles, count;
    struct merged_frame merged[32];
    struct result r;
    make();
    examine(&r);
    interpreter_settle(&interpreter_ruby, roles, n);
    assert_int_equal(
        interpreter_merge(&interpreter_ruby, roles, n, true, &r.stack, merged, &count),
        MERGE_EXACT);
    static const struct merged_frame expected[] = {{false, 0}, {false, 1}, {true, 0},
                                                   {false, 5}, {true, 1},  {true, 2},
                                                   {true, 4},  {false, 9}};
    assert_int_equal(count, sizeof expected / sizeof *expected);
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(merged[i].is_interpreted, expected[i].is_interpreted);
        assert_int_equal(merged[i].index, expected[i].index);
    }
    arena_deinit(&r.arena);
}

static void test_lines(void **state)
{
    (void)state;
    static const unsigned at[] = {0, 1, 8, 9, 53, 54, 117, 118, 200, 565, 566, 599};
    for (size_t c = 0; c < sizeof at / sizeof *at; c++)
        for (size_t i = 0; i < sizeof at / sizeof *at; i++) {
            struct result r;
            if (at[c] == 0)
                continue; /* the first instruction has the first line */
            image_init(&image, "3.1.2", 2);
            uint64_t file = image_text(&image, "a.rb");
            image_frame(&image, 0, IMAGE_METHOD,
                        image_code(&image, "f", file, 100, at[c]), at[i]);
            image_frame(&image, 1, IMAGE_DUMMY, 0, 0);
            examine(&r);
            assert_int_equal(r.stack.count, 1);
            assert_int_equal(r.stack.frames[0].line, at[i] < at[c] ? 100 : 101);
            arena_deinit(&r.arena);
        }
}

static void refuse(const char *version, const char *message)
{
    struct result r;
    image_init(&image, version, 6);
    image_stack(&image);
    examine(&r);
    assert_int_equal(r.found, INTERPRETER_REFUSED);
    assert_string_equal(r.err.message, message);
    arena_deinit(&r.arena);
}

static void test_versions(void **state)
{
    (void)state;
    struct result r;
    refuse("3.4.1", "Ruby 3.4.1 is not supported: 3.1 is");
    refuse("2.3.0", "Ruby 2.3.0 is not supported: 3.1 is");
    refuse("", "the version of Ruby in /usr/lib/libruby-3.1.so.3.1.2 is unknown");
    refuse("x.1.2", "the version of Ruby in /usr/lib/libruby-3.1.so.3.1.2 is unknown");
    make();
    image.modules[1] = STR("/usr/lib/libother.so");
    examine(&r);
    assert_int_equal(r.found, INTERPRETER_ABSENT);
    arena_deinit(&r.arena);
    make();
    image.vm_at = 0;
    examine(&r);
    assert_string_equal(r.err.message, "Ruby 3.1.2 does not define ruby_current_vm_ptr");
    arena_deinit(&r.arena);
}

static void test_names(void **state)
{
    (void)state;
    struct result r;
    char longer[5000];
    memset(longer, 'n', sizeof longer);
    image_init(&image, "3.1.2", 4);
    uint64_t file = image_string(&image, longer, sizeof longer);
    uint64_t code = image_code(&image, "\xe8\xae\xa1\xff", file, 1, 1);
    image_frame(&image, 0, IMAGE_NATIVE,
                image_method(&image, "A", image_name(&image, 5, "*"), 99 << 4), 0);
    image_frame(&image, 1, IMAGE_METHOD, code, 0);
    image_frame(&image, 2, IMAGE_DUMMY, 0, 0);
    examine(&r);
    assert_int_equal(r.stack.count, 2);
    assert_str(r.stack.frames[0].function, "*"); /* the name of the class is missing */
    assert_str(r.stack.frames[1].function, "\xe8\xae\xa1\xef\xbf\xbd");
    assert_int_equal(r.stack.frames[1].file.len, INTERPRETER_NAME_MAX);
    arena_deinit(&r.arena);
}

/* Threads, ractors and the stack of a hostile process. */
static void test_hostile(void **state)
{
    (void)state;
    struct result r;
    make();
    image_put(&image, image.thread, image.thread, 8); /* a cycle without the head */
    image_put(&image, image.thread + 80, 1, 8);
    examine(&r);
    assert_false(r.has_thread);
    arena_deinit(&r.arena);
    make();
    image_put(&image, image.context + 8, UINT64_MAX / 8, 8); /* an endless stack */
    examine(&r);
    assert_int_equal(r.stack.end, INTERPRETER_TORN);
    arena_deinit(&r.arena);
    make();
    image_put(&image, image.frames + 2 * 64 + 16, 0x10, 8); /* a wild pointer */
    examine(&r);
    assert_int_equal(r.stack.end, INTERPRETER_TORN);
    assert_int_equal(r.stack.count, 2);
    arena_deinit(&r.arena);
    make();
    image_put(&image, image.vm_at, 0, 8); /* the VM begins or ends */
    examine(&r);
    assert_false(r.has_thread);
    arena_deinit(&r.arena);
}

/* Any image ends within the limits, also where it is walked from outside. */
static void test_corrupt(void **state)
{
    (void)state;
    static struct interpreter_walk_frame walked[INTERPRETER_WALK_MAX];
    uint64_t seed = 1;
    for (unsigned round = 0; round < 10000; round++) {
        struct result r;
        struct interpreter_walk layout;
        size_t count;
        make();
        for (unsigned i = 0; i < 1 + round % 4; i++) {
            seed = seed * 6364136223846793005u + 1442695040888963407u;
            uint64_t at = IMAGE_BASE + (seed >> 20) % (image.used - 8);
            uint64_t value =
                seed >> 8 & 1 ? seed : IMAGE_BASE + (seed >> 33) % image.used;
            image_put(&image, at, value, 8);
        }
        examine(&r);
        if (r.has_thread && interpreter_ruby.layout(&r.runtime, &layout))
            interpreter_walk_thread(&r.access, &layout, r.thread.state, walked, &count);
        assert_true(r.stack.count <= INTERPRETER_FRAMES_MAX);
        assert_true(image.read_bytes <= 4 * MEMORY_WORK_MAX);
        arena_deinit(&r.arena);
    }
}

int main(void)
{
    static const struct CMUnitTest units[] = {
        UNIT(test_stack),    UNIT(test_walk),  UNIT(test_merge),   UNIT(test_lines),
        UNIT(test_versions), UNIT(test_names), UNIT(test_hostile), UNIT(test_corrupt),
    };
    return UNITS_RUN(units);
}
