/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzzes the reader of Ruby's stacks with images of a process. Each 10 bytes are an offset in
 * units of 8 and a number written there. Any image ends within the limits. */
#include "fuzz.h"
#include "interpreter/ruby_image.h"
#include "interpreter/walk.h"

FUZZ_ONE_WAY("ruby")

static struct image image;
static struct interpreter_walk_frame walked[INTERPRETER_WALK_MAX];

static void check_stack(const struct interpreter_stack *stack)
{
    CHECK(stack->count <= INTERPRETER_FRAMES_MAX);
    CHECK(image.read_bytes <= 2 * MEMORY_WORK_MAX);
    for (size_t i = 0; i < stack->count; i++) {
        CHECK(stack->frames[i].function.len <= INTERPRETER_NAME_MAX);
        CHECK(stack->frames[i].file.len <= INTERPRETER_NAME_MAX);
    }
}

/* As a recording without eBPF does. */
static void walk(struct interpreter_runtime *r, uint64_t state)
{
    struct interpreter_walk layout;
    struct interpreter_frame frame;
    size_t count;
    CHECK(interpreter_ruby.layout(r, &layout));
    image.read_bytes = 0;
    interpreter_walk_thread(r->access, &layout, state, walked, &count);
    CHECK(count <= INTERPRETER_WALK_MAX && image.read_bytes <= 2 * MEMORY_WORK_MAX);
    for (size_t i = 0; i < count; i++)
        if (!(walked[i].code & INTERPRETER_WALK_MARK))
            interpreter_ruby.describe(r, &walked[i], &frame);
}

int fuzz_one(const uint8_t *data, size_t size)
{
    struct arena arena = ARENA_INIT;
    struct interpreter_runtime runtime;
    struct interpreter_thread thread;
    struct interpreter_stack stack = {0};
    struct interpreter_thread_ids ids = {IMAGE_TID, IMAGE_POINTER};
    struct error err;
    image_init(&image, "3.1.2", 6);
    image_stack(&image);
    image_corrupt(&image, data, size);
    struct interpreter_access access = image_access(&image);
    if (interpreter_find(&interpreter_ruby, &access, &arena, &runtime, &err) ==
            INTERPRETER_FOUND &&
        interpreter_ruby.thread(&runtime, &ids, &thread)) {
        image.read_bytes = 0;
        CHECK(interpreter_ruby.stack(&runtime, &thread, &stack, &arena));
        check_stack(&stack);
        walk(&runtime, thread.state);
    }
    arena_deinit(&arena);
    return 0;
}
