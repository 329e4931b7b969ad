/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzzes the reader of JavaScript's stacks with images of a process. Each 10 bytes are an offset in
 * units of 8 and a number written there. Any image ends within the limits. */
#include "fuzz.h"
#include "interpreter/node_image.h"

FUZZ_ONE_WAY("node")

extern const struct interpreter interpreter_node;

static struct image image;

static void check_stack(const struct interpreter_stack *stack)
{
    CHECK(stack->count <= INTERPRETER_FRAMES_MAX);
    for (size_t i = 0; i < stack->count; i++) {
        CHECK(stack->frames[i].function.len <= INTERPRETER_NAME_MAX);
        CHECK(stack->frames[i].file.len <= INTERPRETER_NAME_MAX);
    }
}

int fuzz_one(const uint8_t *data, size_t size)
{
    struct arena arena = ARENA_INIT;
    struct interpreter_runtime runtime;
    struct interpreter_thread thread;
    struct interpreter_stack stack = {0};
    struct error err;
    image_init(&image);
    image_stack(&image);
    image_corrupt(&image, data, size);
    struct interpreter_thread_ids ids = {
        .pc = IMAGE_PC, .frame = size % 2 ? image.frame : 1, .stack = image.stack};
    struct interpreter_access access = image_access(&image);
    if (interpreter_find(&interpreter_node, &access, &arena, &runtime, &err) ==
            INTERPRETER_FOUND &&
        interpreter_node.thread(&runtime, &ids, &thread)) {
        CHECK(interpreter_node.stack(&runtime, &thread, &stack, &arena));
        check_stack(&stack);
        CHECK(image.read_bytes <= (IMAGE_FRAMES + 1) * MEMORY_WORK_MAX);
    }
    arena_deinit(&arena);
    return 0;
}
