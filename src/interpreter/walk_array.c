/* SPDX-License-Identifier: Apache-2.0 */
#include "interpreter/walk_array.h"
#include "interpreter/ruby.h"
#include "interpreter/walk.h"

#define ATTEMPTS 4
#define WINDOW ((size_t)4096)

/* A walk over an array that the thread may change meanwhile. */
struct walk {
    struct memory memory;
    const struct interpreter_walk *layout;
    uint64_t first, end;
    bool is_stale; /* a frame was replaced between the reads of its code and its method */
    uint64_t seen[INTERPRETER_WALK_MAX]; /* what the frames contained */
    unsigned char window[WINDOW];
    uint64_t start, stop; /* of the memory in the window */
};

bool interpreter_array_bounds(struct memory *m, const struct interpreter_walk *l,
                              uint64_t state, uint64_t *first, uint64_t *end)
{
    unsigned char bytes[64];
    uint64_t context = memory_u64(m, state + l->thread_frame);
    if (l->cframe_frame > sizeof bytes - 8 ||
        !memory_read(m, context, bytes, l->cframe_frame + 8))
        return false;
    uint64_t stack = memory_get_u64(bytes), words = memory_get_u64(bytes + 8);
    *first = memory_get_u64(bytes + l->cframe_frame);
    *end = stack + words * 8;
    return words < (uint64_t)1 << 40 && *first >= stack && *first <= *end &&
           *first % 8 == 0;
}

/* The method of a frame that executes one; 0 if it is not known. */
static uint64_t method_of(struct memory *m, uint64_t environment)
{
    uint64_t method = memory_u64(m, environment - INTERPRETER_WALK_METHOD);
    if (method == 0 || method & INTERPRETER_WALK_BITS)
        return 0;
    uint64_t object = memory_u64(m, method) & INTERPRETER_WALK_OBJECT;
    if (object == INTERPRETER_WALK_OBJECT_VARIABLES) {
        method = memory_u64(m, method + INTERPRETER_WALK_VARIABLES_METHOD);
        object = memory_u64(m, method) & INTERPRETER_WALK_OBJECT;
    }
    return object == INTERPRETER_WALK_OBJECT_METHOD ? method & ~INTERPRETER_WALK_BITS : 0;
}

uint64_t interpreter_array_code(struct memory *m, uint64_t method)
{
    uint64_t definition = memory_u64(m, method + RUBY_METHOD_DEFINITION);
    return memory_u64(m, definition + RUBY_DEFINITION_CODE);
}

bool interpreter_array_frame(struct memory *m, const struct interpreter_walk *l,
                             const unsigned char *bytes,
                             struct interpreter_walk_frame *frame, bool *is_stale)
{
    uint64_t environment = memory_get_u64(bytes + l->frame_environment);
    uint64_t flags = memory_u64(m, environment), type = flags & INTERPRETER_WALK_TYPE;
    uint64_t code = memory_get_u64(bytes + l->frame_code) & ~INTERPRETER_WALK_BITS;
    *frame = (struct interpreter_walk_frame){.code = INTERPRETER_WALK_MARK,
                                             .instruction = INTERPRETER_WALK_NOWHERE};
    if (type == INTERPRETER_WALK_TYPE_NONE || m->failed)
        return false;
    if (flags & INTERPRETER_WALK_NATIVE && type != INTERPRETER_WALK_TYPE_METHOD)
        return true;
    if (flags & INTERPRETER_WALK_NATIVE) {
        code =
            memory_u64(m, environment - INTERPRETER_WALK_METHOD) & ~INTERPRETER_WALK_BITS;
        frame->check = interpreter_walk_check(memory_u64(m, code + l->method_owner),
                                              memory_u32(m, code + l->method_name));
        frame->code = code | INTERPRETER_WALK_CALLEE;
        return !m->failed;
    }
    uint64_t body = memory_u64(m, code + l->code_body);
    uint64_t start = memory_u64(m, body + l->code_start);
    frame->check =
        interpreter_walk_check(start, memory_u32(m, body + l->code_first_line));
    frame->instruction =
        interpreter_walk_index(memory_get_u64(bytes + l->frame_instruction), start);
    uint64_t method = type == INTERPRETER_WALK_TYPE_CODE ? method_of(m, environment) : 0;
    if (method && interpreter_array_code(m, method) != code) {
        *is_stale = true;
        method = 0;
    }
    frame->code = (method ? method : code) |
                  (flags & INTERPRETER_WALK_FINISH ? INTERPRETER_WALK_ENTRY : 0);
    return !m->failed;
}

/* The bytes of a frame, read with those after it; NULL if they are not readable. */
static const unsigned char *frame_bytes(struct walk *w, uint64_t frame)
{
    uint32_t size = w->layout->frame_size;
    if (frame < w->start || frame >= w->stop || w->stop - frame < size) {
        uint64_t length = w->end - frame < WINDOW ? w->end - frame : WINDOW;
        w->start = frame;
        w->stop = frame + length;
        if (length < size || !memory_read(&w->memory, frame, w->window, (size_t)length)) {
            w->memory.failed = true;
            return NULL;
        }
    }
    return w->window + (frame - w->start);
}

/* What a frame contains, except the instruction. */
static uint64_t contents(const struct interpreter_walk *l, const unsigned char *bytes)
{
    return memory_get_u64(bytes + l->frame_code) * 3 ^
           memory_get_u64(bytes + l->frame_environment);
}

/* Reads all frames. */
static size_t read_frames(struct walk *w, struct interpreter_walk_frame *frames)
{
    size_t count = 0;
    w->start = w->stop = 0;
    for (uint64_t at = w->first; at < w->end && count < INTERPRETER_WALK_MAX;
         at += w->layout->frame_stride) {
        const unsigned char *bytes = frame_bytes(w, at);
        if (!bytes || !interpreter_array_frame(&w->memory, w->layout, bytes,
                                               &frames[count], &w->is_stale))
            break;
        w->seen[count++] = contents(w->layout, bytes);
    }
    return count;
}

/* Whether the frames that the thread still has are those that were read. */
static bool are_same(struct walk *w, uint64_t state, size_t count)
{
    uint64_t first, end, stride = w->layout->frame_stride;
    if (!interpreter_array_bounds(&w->memory, w->layout, state, &first, &end) ||
        end != w->end || (first > w->first && (first - w->first) % stride))
        return false;
    uint64_t from = first > w->first ? first : w->first;
    w->start = w->stop = 0;
    for (uint64_t i = (from - w->first) / stride; i < count; i++) {
        const unsigned char *bytes = frame_bytes(w, w->first + i * stride);
        if (!bytes || contents(w->layout, bytes) != w->seen[i])
            return false;
    }
    return true;
}

enum interpreter_end interpreter_array_walk(const struct interpreter_access *access,
                                            const struct interpreter_walk *layout,
                                            uint64_t state,
                                            struct interpreter_walk_frame *frames,
                                            size_t *count)
{
    struct walk w = {.memory = memory_of(access), .layout = layout};
    *count = 0;
    for (unsigned i = 0; i < ATTEMPTS; i++) {
        w.memory.failed = w.memory.exhausted;
        w.is_stale = false;
        if (!interpreter_array_bounds(&w.memory, layout, state, &w.first, &w.end))
            continue;
        size_t found = read_frames(&w, frames);
        if (found == 0 || w.memory.failed || !are_same(&w, state, found) ||
            (w.is_stale && i + 1 < ATTEMPTS))
            continue;
        *count = found;
        return found == INTERPRETER_WALK_MAX ? INTERPRETER_TRUNCATED : INTERPRETER_WHOLE;
    }
    return INTERPRETER_TORN;
}
