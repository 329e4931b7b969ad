/* SPDX-License-Identifier: Apache-2.0 */
/* CPython's stacks from memory images in the layouts of all versions, and from hostile ones. */
#include "unit.h"

#include "interpreter/merge.h"
#include "interpreter/python.h"
#include "interpreter/python_lines.h"
#include "interpreter/walk.h"
#include "python_image.h"

/* The result of the tested code for an image. */
struct result {
    struct arena arena;
    struct interpreter_access access;
    struct interpreter_runtime runtime;
    struct interpreter_thread thread;
    struct interpreter_stack stack;
    struct error err;
    enum interpreter_found found;
};

static struct image image;

static void examine(struct result *r)
{
    *r = (struct result){.access = image_access(&image)};
    r->found =
        interpreter_find(interpreters[0], &r->access, &r->arena, &r->runtime, &r->err);
    struct interpreter_thread_ids ids = {IMAGE_TID, IMAGE_POINTER};
    if (r->found == INTERPRETER_FOUND &&
        interpreters[0]->thread(&r->runtime, &ids, &r->thread))
        assert_true(
            interpreters[0]->stack(&r->runtime, &r->thread, &r->stack, &r->arena));
}

static const char *path_of(unsigned minor, char path[64])
{
    snprintf(path, 64, "/usr/bin/python3.%u", minor);
    return path;
}

static void make(unsigned minor)
{
    char path[64];
    image_init(&image, minor, path_of(minor, path));
    image.modules[0] = minor == 8   ? STR("/usr/bin/python3.8")
                       : minor == 9 ? STR("/usr/lib/libpython3.9.so.1.0")
                                    : STR("/usr/bin/python3.10");
    image_stack(&image);
}

static void check_frame(const struct interpreter_frame *f, const char *name,
                        uint32_t line)
{
    assert_str(f->function, name);
    assert_str(f->file, "/app/main.py");
    assert_int_equal(f->line, line);
}

static void test_versions(void **state)
{
    (void)state;
    for (unsigned minor = PYTHON_MINOR_MIN; minor <= PYTHON_MINOR_MAX; minor++) {
        struct result r;
        make(minor);
        examine(&r);
        assert_string_equal(r.err.message, "");
        assert_int_equal(r.found, INTERPRETER_FOUND);
        assert_true(r.thread.holds_lock);
        assert_int_equal(r.stack.end, INTERPRETER_WHOLE);
        assert_int_equal(r.stack.count, 3);
        check_frame(&r.stack.frames[0], "f", 11);
        check_frame(&r.stack.frames[1], "\u8ba1\u7b97", 20);
        check_frame(&r.stack.frames[2], "<module>", 2);
        assert_int_equal(r.stack.frames[0].is_entry, minor <= 10);
        assert_true(r.stack.frames[1].is_entry && r.stack.frames[2].is_entry);
        arena_deinit(&r.arena);
    }
}

static void test_unknown_thread(void **state)
{
    (void)state;
    struct result r;
    make(12);
    examine(&r);
    struct interpreter_thread_ids other = {IMAGE_TID + 1, IMAGE_POINTER};
    assert_false(interpreters[0]->thread(&r.runtime, &other, &r.thread));
    arena_deinit(&r.arena);
}

static void check_refused(const char *message)
{
    struct result r;
    examine(&r);
    assert_int_equal(r.found, INTERPRETER_REFUSED);
    assert_string_equal(r.err.message, message);
    arena_deinit(&r.arena);
}

static void test_refused(void **state)
{
    (void)state;
    make(8);
    image.modules[0] = STR("/usr/bin/python3.7");
    check_refused("Python 3.7 is not supported: 3.8 to 3.14 are");
    image.modules[0] = STR("/opt/app");
    check_refused("the version of Python in /opt/app is unknown");
    make(12);
    image_put(&image, image.version_at, 0x030f00f0, 4);
    check_refused("Python 3.15.0 is not supported: 3.8 to 3.14 are");
    image_put(&image, image.version_at, 0x030c00a7, 4);
    check_refused("Python 3.12.0 before release is not supported: only releases are");
    make(8);
    image.runtime = 0;
    check_refused("Python before 3.7 is not supported: 3.8 to 3.14 are");
    make(13);
    image_put(&image, image.runtime, 0, 8);
    check_refused("the runtime of Python 3.13 has no debug offsets");
    make(13);
    image_put(&image, image.runtime + 24 + 16, UINT64_MAX, 8);
    check_refused("the debug offsets of Python 3.13 are not valid");
}

static void test_absent(void **state)
{
    (void)state;
    struct result r;
    make(11);
    image.code_type = 0;
    examine(&r);
    assert_int_equal(r.found, INTERPRETER_ABSENT);
    arena_deinit(&r.arena);
}

/* The type's own list corrects a table. */
static void test_members(void **state)
{
    (void)state;
    struct result r;
    make(11);
    uint64_t list = image_new(&image, 120), name = image_new(&image, 16);
    memcpy(image.bytes + (name - IMAGE_BASE), "co_name", 8);
    uint64_t qualified = image_new(&image, 16);
    memcpy(image.bytes + (qualified - IMAGE_BASE), "co_qualname", 12);
    image_put(&image, image.code_type + 240, list, 8);
    image_put(&image, list, name, 8);
    image_put(&image, list + 16, 120, 8);
    image_put(&image, list + 40, qualified, 8);
    image_put(&image, list + 40 + 16, 112, 8); /* the field of the file */
    examine(&r);
    assert_string_equal(r.runtime.offsets, "table for 3.11, code objects by their type");
    assert_str(r.stack.frames[0].function, "/app/main.py");
    arena_deinit(&r.arena);
}

static void check_end(enum interpreter_end end, size_t least, size_t most)
{
    struct result r;
    examine(&r);
    assert_int_equal(r.found, INTERPRETER_FOUND);
    assert_int_equal(r.stack.end, end);
    assert_in_range(r.stack.count, least, most);
    assert_true(image.read_bytes <= MEMORY_WORK_MAX * 2);
    arena_deinit(&r.arena);
}

static void test_hostile(void **state)
{
    (void)state;
    for (unsigned minor = PYTHON_MINOR_MIN; minor <= PYTHON_MINOR_MAX; minor++) {
        const struct python_layout *l = &image.layout;
        make(minor); /* a cycle */
        image_put(&image, image.first_frame + l->frame_previous, image.first_frame, 8);
        check_end(INTERPRETER_TORN, 1, 8);
        make(minor); /* wild pointers */
        image_put(&image, image.first_frame + l->frame_previous, UINT64_MAX - 3, 8);
        check_end(INTERPRETER_TORN, 1, 1);
        make(minor);
        image_put(&image, image.first_frame + l->frame_code, 8, 8);
        check_end(INTERPRETER_TORN, 0, 0);
        make(minor); /* not a code object */
        image_put(&image, image.first_frame + l->frame_code, image.thread, 8);
        check_end(INTERPRETER_TORN, 0, 0);
        make(minor); /* threads in a cycle */
        image_put(&image, image.thread + l->thread_next, image.thread, 8);
        image_put(&image, image.thread + l->thread_pointer, 1, 8);
        if (l->thread_tid != PYTHON_ABSENT)
            image_put(&image, image.thread + l->thread_tid, 1, 8);
        check_end(INTERPRETER_WHOLE, 0, 0);
    }
}

/* A name of 2^62 characters, and one that is not readable: the frame is still known. */
static void test_huge_string(void **state)
{
    (void)state;
    static const uint64_t lengths[] = {(uint64_t)1 << 62, UINT64_MAX, 200000};
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        struct result r;
        make(12);
        const struct python_layout *l = &image.layout;
        uint64_t name = image_text(&image, "long");
        image_put(&image, name + l->string_length, lengths[i], 8);
        uint64_t code = image_code(&image, name, image_text(&image, "/app/main.py"), 7);
        image_run(&image, image_frame(&image, code, 0, 0, 0));
        examine(&r);
        assert_int_equal(r.stack.count, 1);
        assert_true(r.stack.frames[0].function.len <= INTERPRETER_NAME_MAX);
        assert_str(r.stack.frames[0].file, "/app/main.py");
        assert_int_equal(r.stack.frames[0].line, 7);
        arena_deinit(&r.arena);
    }
}

/* Every single byte of an image set to each of some values: bounded, no crash. */
static void test_corruptions(void **state)
{
    (void)state;
    static const unsigned char values[] = {0, 1, 0x7f, 0xff};
    for (unsigned minor = PYTHON_MINOR_MIN; minor <= PYTHON_MINOR_MAX; minor++) {
        make(minor);
        for (size_t i = 0; i < image.used; i++) {
            unsigned char before = image.bytes[i];
            for (size_t v = 0; before && v < sizeof values; v++) {
                struct result r;
                image.bytes[i] = values[v];
                image.read_bytes = 0;
                examine(&r);
                assert_true(image.read_bytes <= MEMORY_WORK_MAX * 2);
                arena_deinit(&r.arena);
            }
            image.bytes[i] = before;
        }
    }
}

#define LINES(minor, first, offset, ...)                                         \
    python_line((minor),                                                         \
                (struct str){(const char *)(const unsigned char[]){__VA_ARGS__}, \
                             sizeof((const unsigned char[]){__VA_ARGS__})},      \
                (first), (offset))

static void test_lines(void **state)
{
    (void)state;
    /* 3.8: 6 bytes on line 1, 50 on line 2, then back to line 1 */
    assert_int_equal(LINES(8, 1, 5, 6, 1, 50, 255), 1);
    assert_int_equal(LINES(8, 1, 6, 6, 1, 50, 255), 2);
    assert_int_equal(LINES(9, 1, 100, 6, 1, 50, 255), 1);
    assert_int_equal(python_line(9, STR(""), 7, 2), 7);
    /* 3.10: a range without a line does not change the lines that follow */
    assert_int_equal(LINES(10, 5, 0, 2, 0, 2, 128, 4, 3), 5);
    assert_int_equal(LINES(10, 5, 2, 2, 0, 2, 128, 4, 3), 0);
    assert_int_equal(LINES(10, 5, 4, 2, 0, 2, 128, 4, 3), 8);
    assert_int_equal(LINES(10, 5, 8, 2, 0, 2, 128, 4, 3), 0);
    /* 3.11: short form, +1, no location, +1 line in the long form, -2 lines alone */
    assert_int_equal(LINES(11, 9, 0, 0x80, 1, 0xd8, 1, 2, 0xf8, 0xf0, 2, 0, 1, 1), 9);
    assert_int_equal(LINES(11, 9, 2, 0x80, 1, 0xd8, 1, 2, 0xf8, 0xf0, 2, 0, 1, 1), 10);
    assert_int_equal(LINES(12, 9, 4, 0x80, 1, 0xd8, 1, 2, 0xf8, 0xf0, 2, 0, 1, 1), 0);
    assert_int_equal(LINES(13, 9, 6, 0x80, 1, 0xd8, 1, 2, 0xf8, 0xf0, 2, 0, 1, 1), 11);
    assert_int_equal(LINES(14, 9, 0, 0xe8, 5), 7);
    assert_int_equal(LINES(14, 9, -2, 0xe8, 5), 9);
    /* a number of two bytes: 64 lines */
    assert_int_equal(LINES(11, 1, 0, 0xe8, 0x40, 2), 65);
    /* truncated */
    assert_int_equal(LINES(11, 1, 0, 0xe8, 0x7f, 0x7f, 0x7f, 0x7f, 0x7f), 0);
}

static void test_native(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        enum interpreter_native role;
    } cases[] = {
        {"_PyEval_EvalFrameDefault", NATIVE_LOOP},
        {"_PyEval_EvalFrameDefault.cold", NATIVE_LOOP},
        {"_PyEval_EvalFrameDefaultX", NATIVE_INTERNAL},
        {"_PyFunction_Vectorcall", NATIVE_INTERNAL},
        {"Py_BytesMain", NATIVE_INTERNAL},
        {"PyThread_acquire_lock_timed", NATIVE_WORK},
        {"_PyGC_Collect", NATIVE_WORK},
        {"sre_ucs1_match", NATIVE_WORK},
        {"main", NATIVE_WORK},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_int_equal(python_native(str_of(cases[i].name)), cases[i].role);
}

/* The frames that the kernel finds have the names and lines of those that are read here; a
 * code object whose address was reused has none. */
static void test_walk(void **state)
{
    (void)state;
    for (unsigned minor = PYTHON_MINOR_MIN; minor <= PYTHON_MINOR_MAX; minor++) {
        struct result r;
        struct interpreter_walk l;
        static struct interpreter_walk_frame frames[INTERPRETER_WALK_MAX];
        struct interpreter_frame f;
        size_t count, next = 0;
        make(minor);
        examine(&r);
        assert_true(interpreters[0]->layout(&r.runtime, &l));
        assert_true(l.frame_size <= INTERPRETER_WALK_FRAME_BYTES);
        assert_int_equal(
            interpreter_walk_thread(&r.access, &l, r.thread.state, frames, &count),
            INTERPRETER_WHOLE);
        assert_true(count > 1);
        for (size_t i = 0; i < count; i++) {
            if (frames[i].code & INTERPRETER_WALK_MARK)
                continue;
            while (r.stack.frames[next].is_hidden)
                next++;
            assert_true(interpreters[0]->describe(&r.runtime, &frames[i], &f));
            assert_true(str_equal(f.function, r.stack.frames[next].function));
            assert_true(str_equal(f.file, r.stack.frames[next].file));
            assert_int_equal(f.line, r.stack.frames[next++].line);
        }
        frames[0].check++;
        assert_false(interpreters[0]->describe(&r.runtime, &frames[0], &f));
        frames[1].code += 4096;
        assert_false(interpreters[0]->describe(&r.runtime, &frames[1], &f));
        arena_deinit(&r.arena);
    }
}

/* "w" work, "l" loop, "i" internal; frames: "f", "e" an entry, "h" a hidden entry. The result
 * is native indexes as digits, interpreted ones as letters. */
static enum merge_result merge(const char *native, bool is_whole, const char *frames,
                               enum interpreter_end end, char text[32])
{
    enum interpreter_native roles[16];
    struct interpreter_frame items[16];
    struct merged_frame out[32];
    struct interpreter_stack stack = {items, strlen(frames), 16, end};
    size_t count;
    for (size_t i = 0; native[i]; i++)
        roles[i] = native[i] == 'w'   ? NATIVE_WORK
                   : native[i] == 'l' ? NATIVE_LOOP
                                      : NATIVE_INTERNAL;
    for (size_t i = 0; frames[i]; i++)
        items[i] = (struct interpreter_frame){.is_entry = frames[i] != 'f',
                                              .is_hidden = frames[i] == 'h'};
    enum merge_result result =
        interpreter_merge(NULL, roles, strlen(native), is_whole, &stack, out, &count);
    for (size_t i = 0; i < count; i++)
        text[i] = (char)((out[i].is_interpreted ? 'a' : '0') + (int)out[i].index);
    text[count] = 0;
    return result;
}

/* A thread that continues while it is read: its stack is read again, or not used. */
struct restless {
    struct image *image;
    uint64_t changes; /* of the innermost frame, that are left; then it is frames[1] */
    uint64_t frames[2];
};

static bool read_restless(void *context, uint64_t address, void *into, size_t size)
{
    struct restless *t = context;
    struct interpreter_access access = image_access(t->image);
    bool is_state = address == t->image->thread + t->image->layout.thread_frame;
    if (is_state && t->changes)
        image_run(t->image, t->frames[t->changes-- & 1]);
    return access.read(access.context, address, into, size);
}

static void test_walk_of_running(void **state)
{
    (void)state;
    for (unsigned minor = PYTHON_MINOR_MIN; minor <= PYTHON_MINOR_MAX; minor++) {
        static struct interpreter_walk_frame frames[INTERPRETER_WALK_MAX];
        struct result r;
        struct interpreter_walk l;
        size_t count;
        make(minor);
        examine(&r);
        assert_true(interpreters[0]->layout(&r.runtime, &l));
        uint64_t name = image_text(&image, "other"), file = image_text(&image, "o.py");
        uint64_t code = image_code(&image, name, file, 1), used = image.used;
        struct restless t = {
            .image = &image,
            .frames = {image_frame(&image, code, 0, 0, 0), image.first_frame}};
        struct interpreter_access access = r.access;
        access.context = &t;
        access.read = read_restless;
        t.changes = 4;
        assert_int_equal(
            interpreter_walk_thread(&access, &l, r.thread.state, frames, &count),
            INTERPRETER_WHOLE);
        assert_true(count > 1);
        t.changes = 100;
        assert_int_equal(
            interpreter_walk_thread(&access, &l, r.thread.state, frames, &count),
            INTERPRETER_TORN);
        assert_int_equal(count, 0);
        /* a call that began meanwhile */
        image.used = used;
        t.frames[0] = image_frame(&image, code, t.frames[1], 0, 0);
        for (t.changes = 100; t.changes > 80;)
            assert_int_equal(
                interpreter_walk_thread(&access, &l, r.thread.state, frames, &count),
                INTERPRETER_WHOLE);
        arena_deinit(&r.arena);
    }
}

static void test_merge(void **state)
{
    (void)state;
    char text[32];
    assert_int_equal(merge("wilwliw", true, "feee", INTERPRETER_WHOLE, text),
                     MERGE_DOUBTFUL);
    assert_string_equal(text, "0123456abcd");
    assert_int_equal(merge("wilwliw", true, "ffefe", INTERPRETER_WHOLE, text),
                     MERGE_EXACT);
    assert_string_equal(text, "0abc3de6");
    assert_int_equal(merge("lwl", true, "hfe", INTERPRETER_WHOLE, text), MERGE_EXACT);
    assert_string_equal(text, "1bc");
    assert_int_equal(merge("wlw", false, "efe", INTERPRETER_WHOLE, text), MERGE_PARTIAL);
    assert_string_equal(text, "0a2bc");
    assert_int_equal(merge("wlwlw", true, "f", INTERPRETER_TORN, text), MERGE_PARTIAL);
    assert_string_equal(text, "0a234");
    assert_int_equal(merge("wlwlwlw", true, "e", INTERPRETER_WHOLE, text),
                     MERGE_DOUBTFUL);
    /* the innermost loop has no frame yet */
    assert_int_equal(merge("wlilwlw", true, "efe", INTERPRETER_WHOLE, text), MERGE_EXACT);
    assert_string_equal(text, "0a4bc6");
    assert_int_equal(merge("lil", false, "fe", INTERPRETER_WHOLE, text), MERGE_PARTIAL);
    assert_string_equal(text, "ab");
    assert_int_equal(merge("", true, "", INTERPRETER_WHOLE, text), MERGE_EXACT);
    assert_string_equal(text, "");
}

int main(void)
{
    static const struct CMUnitTest units[] = {
        UNIT(test_versions),        UNIT(test_unknown_thread), UNIT(test_refused),
        UNIT(test_absent),          UNIT(test_members),        UNIT(test_hostile),
        UNIT(test_huge_string),     UNIT(test_corruptions),    UNIT(test_lines),
        UNIT(test_native),          UNIT(test_merge),          UNIT(test_walk),
        UNIT(test_walk_of_running),
    };
    return UNITS_RUN(units);
}
