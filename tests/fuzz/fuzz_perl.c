/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzzes the reader of Perl's stacks with images of a process. Each 10 bytes are an offset in
 * units of 8 and a number written there. Any image ends within the limits. */
#include "fuzz.h"
#include "interpreter/perl_image.h"
#include "interpreter/walk.h"

FUZZ_ONE_WAY("perl")

static struct image image;

static void check_stack(struct interpreter_runtime *r,
                        const struct interpreter_thread *thread)
{
    struct interpreter_stack stack = {0};
    image.read_bytes = 0;
    CHECK(interpreter_perl.stack(r, thread, &stack, r->arena));
    CHECK(stack.count <= INTERPRETER_FRAMES_MAX);
    CHECK(image.read_bytes <= 2 * MEMORY_WORK_MAX);
    for (size_t i = 0; i < stack.count; i++) {
        CHECK(stack.frames[i].function.len <= INTERPRETER_NAME_MAX);
        CHECK(stack.frames[i].file.len <= INTERPRETER_NAME_MAX);
    }
}

int fuzz_one(const uint8_t *data, size_t size)
{
    struct arena arena = ARENA_INIT;
    struct interpreter_runtime runtime;
    struct interpreter_thread thread;
    struct interpreter_thread_ids ids = {.tid = IMAGE_TID};
    struct error err;
    image_init(&image, 28 + (size % 7) * 2, size % 3 == 0);
    image_stack(&image);
    image_corrupt(&image, data, size);
    struct interpreter_access access = image_access(&image);
    if (interpreter_find(&interpreter_perl, &access, &arena, &runtime, &err) ==
            INTERPRETER_FOUND &&
        interpreter_perl.thread(&runtime, &ids, &thread))
        check_stack(&runtime, &thread);
    arena_deinit(&arena);
    return 0;
}
