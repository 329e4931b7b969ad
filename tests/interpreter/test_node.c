/* SPDX-License-Identifier: Apache-2.0 */
/* Stacks of JavaScript from memory images, and from hostile ones. */
#include "unit.h"

#include "interpreter/merge.h"
#include "node_image.h"

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

extern const struct interpreter interpreter_node;

static struct image image;

static void examine_from(struct result *r, uint64_t frame)
{
    const struct interpreter *node = &interpreter_node;
    struct interpreter_thread_ids ids = {
        .pc = IMAGE_PC, .frame = frame, .stack = image.stack};
    *r = (struct result){.access = image_access(&image)};
    image.reads = image.read_bytes = 0;
    r->found = interpreter_find(node, &r->access, &r->arena, &r->runtime, &r->err);
    if (r->found == INTERPRETER_FOUND) {
        assert_true(node->thread(&r->runtime, &ids, &r->thread));
        assert_true(node->stack(&r->runtime, &r->thread, &r->stack, &r->arena));
    }
}

static void examine(struct result *r)
{
    examine_from(r, image.frame);
}

static void make(void)
{
    image_init(&image);
    image_stack(&image);
}

static void check_frame(const struct interpreter_frame *f, const char *name,
                        const char *file, uint32_t line, uint64_t pc)
{
    assert_str(f->function, name);
    assert_str(f->file, file);
    assert_int_equal(f->line, line);
    assert_int_equal(f->pc, pc);
}

static void check_whole(const struct interpreter_stack *s)
{
    assert_int_equal(s->end, INTERPRETER_WHOLE);
    assert_int_equal(s->count, 4);
    check_frame(&s->frames[0], "取五", "/home/user/app.js", 3, IMAGE_PC);
    check_frame(&s->frames[1], "Counter.run", "/home/user/app.js", 4, IMAGE_PC + 32);
    check_frame(&s->frames[2], "map", "", 0, IMAGE_PC + 48);
    assert_true(s->frames[2].is_native);
    check_frame(&s->frames[3], "(script)", "/home/user/app.js", 5, IMAGE_PC + 64);
}

static void test_stack(void **state)
{
    (void)state;
    struct result r;
    make();
    examine(&r);
    assert_int_equal(r.found, INTERPRETER_FOUND);
    assert_string_equal(r.runtime.version, "11.3.244");
    assert_string_equal(r.runtime.offsets, "symbols v8dbg_*");
    check_whole(&r.stack);
    arena_deinit(&r.arena);
}

/* Native code without a frame pointer: the stack has a saved one. */
static void test_search(void **state)
{
    (void)state;
    struct result r;
    make();
    image_put(&image, image.stack + 64, image.frame, 8);
    image_put(&image, image.stack + 72, IMAGE_PC, 8);
    image_put(&image, image.stack + 32, image.frame + 5 * 96, 8); /* no function */
    examine_from(&r, 3);
    check_whole(&r.stack);
    arena_deinit(&r.arena);
    image_put(&image, image.stack + 64, 0, 8); /* only that of a caller is there */
    examine_from(&r, 3);
    assert_int_equal(r.stack.count, 3);
    assert_int_equal(r.stack.end, INTERPRETER_WHOLE);
    arena_deinit(&r.arena);
}

/* A function that was moved or freed has no name. */
static void test_moved(void **state)
{
    (void)state;
    struct result r;
    struct interpreter_frame frame;
    make();
    examine(&r);
    struct interpreter_walk layout;
    assert_true(interpreter_node.layout(&r.runtime, &layout));
    uint64_t shared = image.shared[0], address = shared - 1;
    uint32_t literal;
    uint64_t script;
    memcpy(&literal, image.bytes + (address + 52 - IMAGE_BASE), 4);
    memcpy(&script, image.bytes + (address + 32 - IMAGE_BASE), 8);
    struct interpreter_walk_frame walked = {.code = address,
                                            .instruction = 53,
                                            .check =
                                                interpreter_walk_check(script, literal)};
    assert_true(interpreter_node.describe(&r.runtime, &walked, &frame));
    assert_int_equal(frame.line, 2);
    walked.check++;
    assert_false(interpreter_node.describe(&r.runtime, &walked, &frame));
    walked.check--;
    image_set(&image, shared, 0, image.shared[2] - 1); /* where it is now */
    assert_false(interpreter_node.describe(&r.runtime, &walked, &frame));
    arena_deinit(&r.arena);
}

/* --- Strings ------------------------------------------------------------------------ */

static void check_string(uint64_t string, const char *expected)
{
    struct result r;
    examine(&r);
    struct memory m = memory_of(&r.access);
    struct node *node = r.runtime.data;
    assert_str(node_string(&m, &node->layout, string, &r.arena), expected);
    assert_false(m.failed);
    arena_deinit(&r.arena);
}

static void test_strings(void **state)
{
    (void)state;
    static const uint16_t wide[] = {'a', 0xd83d, 0xde00, 0xde00, 0xd83d};
    make();
    uint64_t one = image_text(&image, "caf\xe9"), two = image_wide(&image, wide, 3);
    uint64_t both = image_string_of(&image, IMAGE_CONS, 7, one, two);
    uint64_t outside = image_new(&image, 16);
    memcpy(image.bytes + (outside - IMAGE_BASE), "outside", 7);
    check_string(one, "café");
    check_string(two, "a😀");
    check_string(image_wide(&image, wide, 5), "a😀\xef\xbf\xbd\xef\xbf\xbd");
    check_string(both, "caféa😀");
    check_string(image_string_of(&image, IMAGE_SLICED, 3, both, image_number(2)), "féa");
    check_string(image_string_of(&image, IMAGE_SLICED, 1, both, image_number(4)), "a");
    check_string(image_string_of(&image, IMAGE_THIN, 7, both, 0), "caféa😀");
    check_string(image_string_of(&image, IMAGE_EXTERNAL, 7, 0, outside), "outside");
    check_string(image_string_of(&image, IMAGE_EXTERNAL | 16, 7, 0, outside), "");
    check_string(image_object(&image, IMAGE_ODDBALL, 16), "");
    check_string(image_number(3), "");
}

/* Strings without an end take bounded work. */
static void test_endless_strings(void **state)
{
    (void)state;
    make();
    uint64_t itself = image_string_of(&image, IMAGE_CONS, 1000, 0, 0);
    image_set(&image, itself, 16, itself);
    image_set(&image, itself, 24, itself);
    check_string(itself, "");
    uint64_t thin = image_string_of(&image, IMAGE_THIN, 5, 0, 0);
    image_set(&image, thin, 16, thin);
    check_string(thin, "");
    uint64_t name = image_text(&image, "x");
    for (unsigned i = 0; i < 200; i++) /* deep on the left */
        name = image_string_of(&image, IMAGE_CONS, 2 + i, name, image_text(&image, "y"));
    check_string(name, "");
}

/* --- Versions ----------------------------------------------------------------------- */

static void check_refused(const char *message)
{
    struct result r;
    examine(&r);
    assert_int_equal(r.found, INTERPRETER_REFUSED);
    assert_string_equal(r.err.message, message);
    arena_deinit(&r.arena);
}

static void test_versions(void **state)
{
    (void)state;
    struct result r;
    make();
    image_variable(&image, "major_", 14);
    check_refused(
        "V8 14.3.244 is not supported: those of node 16, 18, 20, 22 and 24 are");
    make();
    image_variable(&image, "TaggedSize", 4);
    check_refused("V8 11.3.244 with compressed pointers is not supported");
    make();
    image_variable(&image, "off_fp_function", 16);
    check_refused("the variables v8dbg_* of V8 11.3.244 in /usr/bin/node are corrupt");
    make();
    image.absent = "v8dbg_FirstNonstringType";
    check_refused(
        "V8 11.3.244 in /usr/bin/node does not define v8dbg_FirstNonstringType");
    make();
    image.absent = "_ZN2v88internal7Version6major_E";
    examine(&r);
    assert_int_equal(r.found, INTERPRETER_ABSENT);
    arena_deinit(&r.arena);
    make(); /* those of node 16 do not have it */
    image.absent = "v8dbg_off_fp_bytecode_array";
    examine(&r);
    check_whole(&r.stack);
    arena_deinit(&r.arena);
}

/* --- Merging ------------------------------------------------------------------------ */

static void merge(const enum interpreter_native *roles, const uint64_t *addresses,
                  size_t count, bool is_whole, const struct interpreter_stack *stack,
                  enum merge_result result, const char *expected)
{
    struct merged_frame out[16];
    char text[64];
    size_t merged, used = 0;
    assert_int_equal(
        interpreter_merge_chain(roles, addresses, count, is_whole, stack, out, &merged),
        result);
    for (size_t i = 0; i < merged; i++) {
        text[used++] = out[i].is_interpreted ? 'i' : 'n';
        text[used++] = (char)('0' + out[i].index);
    }
    text[used] = 0;
    assert_string_equal(text, expected);
}

static void test_merge(void **state)
{
    (void)state;
    enum interpreter_native roles[] = {NATIVE_WORK, NATIVE_LOOP,     NATIVE_INTERNAL,
                                       NATIVE_WORK, NATIVE_INTERNAL, NATIVE_WORK};
    uint64_t addresses[] = {10, 20, 30, 40, 50, 60};
    struct interpreter_frame frames[] = {{.is_entry = true, .pc = 20},
                                         {.is_entry = true, .is_native = true, .pc = 40}};
    struct interpreter_stack stack = {.frames = frames, .count = 2};
    merge(roles, addresses, 6, true, &stack, MERGE_EXACT, "n0i0n3n5");
    roles[3] = NATIVE_UNNAMED; /* the builtin has a name only in JavaScript */
    merge(roles, addresses, 6, true, &stack, MERGE_EXACT, "n0i0i1n5");
    merge(roles, addresses, 3, false, &stack, MERGE_PARTIAL, "n0i0i1");
    frames[1].pc = 99; /* not in the native stack */
    merge(roles, addresses, 6, true, &stack, MERGE_DOUBTFUL, "n0i0i1n3n5");
    frames[1].pc = 20;
    frames[0].pc = 99; /* memory of a former frame */
    frames[1].is_native = false;
    merge(roles, addresses, 6, true, &stack, MERGE_EXACT, "n0i1n3n5");
    stack.count = 0;
    merge(roles, addresses, 6, true, &stack, MERGE_DOUBTFUL, "n0n1n3n5");
}

/* --- Hostile images ----------------------------------------------------------------- */

static void test_circle(void **state)
{
    (void)state;
    struct result r;
    make();
    image_put(&image, image.frame + 96, image.frame, 8); /* back */
    examine(&r);
    assert_int_equal(r.stack.count, 1);
    arena_deinit(&r.arena);
}

/* Any image ends within the limits. */
static void test_corrupt(void **state)
{
    (void)state;
    uint64_t seed = 1;
    for (unsigned round = 0; round < 10000; round++) {
        struct result r;
        make();
        for (unsigned i = 0; i < 1 + round % 4; i++) {
            seed = seed * 6364136223846793005u + 1442695040888963407u;
            uint64_t at = IMAGE_BASE + (seed >> 20) % (image.used - 8);
            uint64_t value =
                seed >> 8 & 1 ? seed : (IMAGE_BASE + (seed >> 33) % image.used) | 1;
            image_put(&image, at, value, 8);
        }
        examine(&r);
        assert_true(r.stack.count <= INTERPRETER_FRAMES_MAX);
        assert_true(image.read_bytes <= 8 * MEMORY_WORK_MAX);
        arena_deinit(&r.arena);
    }
}

int main(void)
{
    static const struct CMUnitTest units[] = {
        UNIT(test_stack),   UNIT(test_search),          UNIT(test_moved),
        UNIT(test_strings), UNIT(test_endless_strings), UNIT(test_versions),
        UNIT(test_merge),   UNIT(test_circle),          UNIT(test_corrupt),
    };
    return UNITS_RUN(units);
}
