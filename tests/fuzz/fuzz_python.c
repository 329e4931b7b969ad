/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzzes the reader of CPython's stacks with images of a process. The first byte selects the
 * version; then each 10 bytes are an offset in units of 8 and a number written there. Any
 * image ends within the limits. */
#include "fuzz.h"
#include "interpreter/merge.h"
#include "interpreter/python_image.h"

FUZZ_ONE_WAY("python")

static struct image image;

static void check_stack(const struct interpreter_stack *stack)
{
    CHECK(stack->count <= INTERPRETER_FRAMES_MAX);
    CHECK(image.read_bytes <= 2 * MEMORY_WORK_MAX);
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
    struct interpreter_thread_ids ids = {IMAGE_TID, IMAGE_POINTER};
    struct error err;
    if (size == 0)
        return 0;
    unsigned minor =
        PYTHON_MINOR_MIN + data[0] % (PYTHON_MINOR_MAX - PYTHON_MINOR_MIN + 1);
    image_init(&image, minor, "/usr/bin/python3.8");
    if (minor == 9)
        image.modules[0] = STR("/usr/bin/python3.9");
    if (minor == 10)
        image.modules[0] = STR("/usr/bin/python3.10");
    image_stack(&image);
    image_corrupt(&image, data + 1, size - 1);
    struct interpreter_access access = image_access(&image);
    if (interpreter_find(interpreters[0], &access, &arena, &runtime, &err) ==
            INTERPRETER_FOUND &&
        interpreters[0]->thread(&runtime, &ids, &thread))
        for (int again = 0; again < 2; again++) {
            image.read_bytes = 0;
            CHECK(interpreters[0]->stack(&runtime, &thread, &stack, &arena));
            check_stack(&stack);
        }
    arena_deinit(&arena);
    return 0;
}
