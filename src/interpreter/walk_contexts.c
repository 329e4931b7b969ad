/* SPDX-License-Identifier: Apache-2.0 */
#include "interpreter/walk_contexts.h"
#include "interpreter/walk.h"

#define ATTEMPTS 4
#define STEPS_MAX ((size_t)16 * INTERPRETER_WALK_MAX) /* blocks, too */
#define WINDOW ((size_t)4096)

/* A walk over contexts that the thread may change meanwhile. */
struct walk {
    struct memory memory;
    const struct interpreter_walk *layout;
    uint64_t state;
    uint64_t array, first, instruction;
    uint64_t left; /* contexts of the array */
    struct interpreter_walk_frame *frames;
    size_t count;
    unsigned char window[WINDOW];
    uint64_t start, end;                 /* of the memory in the window */
    uint64_t seen[INTERPRETER_WALK_MAX]; /* the code of the frames, in a second walk */
};

static void enter(struct walk *w, uint64_t array)
{
    int32_t last =
        (int32_t)memory_u32(&w->memory, array + INTERPRETER_WALK_CONTEXTS_LAST);
    w->array = array;
    w->first = memory_u64(&w->memory, array + INTERPRETER_WALK_CONTEXTS_FIRST);
    w->left = last < 0 ? 0 : (uint64_t)last + 1;
}

/* The bytes of a context, read with those of its callers; NULL if they are not readable. */
static const unsigned char *context_bytes(struct walk *w, uint64_t index)
{
    const struct interpreter_walk *l = w->layout;
    uint64_t at = w->first + index * l->frame_stride;
    if (at < w->start || at >= w->end || w->end - at < l->frame_size) {
        uint64_t fitting = (WINDOW - l->frame_size) / l->frame_stride;
        w->start = w->first + (index > fitting ? index - fitting : 0) * l->frame_stride;
        w->end = at + l->frame_size;
        if (!memory_read(&w->memory, w->start, w->window, (size_t)(w->end - w->start)))
            return NULL;
    }
    return w->window + (at - w->start);
}

/* Code without a code object: of the program, a text or a file. */
static struct interpreter_walk_frame file_frame(struct walk *w, uint32_t kind)
{
    uint64_t file = memory_u64(&w->memory, w->instruction + w->layout->instruction_file);
    return (struct interpreter_walk_frame){.code = file & ~INTERPRETER_WALK_BITS,
                                           .instruction = (int32_t)kind};
}

static struct interpreter_walk_frame function_frame(struct walk *w, uint64_t code)
{
    struct memory *m = &w->memory;
    uint64_t body = memory_u64(m, code);
    uint64_t lines = memory_u64(m, body + w->layout->code_lines);
    uint32_t first_line = memory_u32(m, body + w->layout->code_first_line);
    return (struct interpreter_walk_frame){.code = code & ~INTERPRETER_WALK_BITS,
                                           .check =
                                               interpreter_walk_check(lines, first_line)};
}

static void add(struct walk *w, struct interpreter_walk_frame frame)
{
    uint32_t line = memory_u32(&w->memory, w->instruction + w->layout->instruction_line);
    frame.instruction |= (int32_t)(line & INTERPRETER_WALK_LINES);
    w->frames[w->count++] = frame;
}

/* Adds the frame of a context, unless it is only a block. */
static void add_context(struct walk *w, const unsigned char *bytes)
{
    const struct interpreter_walk *l = w->layout;
    struct interpreter_walk_frame frame;
    int type = interpreter_walk_context(bytes[0]);
    if (type < 0)
        return;
    if (type == INTERPRETER_WALK_CONTEXT_SORT) {
        w->frames[w->count++] = (struct interpreter_walk_frame){
            .code = INTERPRETER_WALK_MARK | INTERPRETER_WALK_ENTRY};
        return;
    }
    frame = type == INTERPRETER_WALK_CONTEXT_EVAL
                ? file_frame(w, INTERPRETER_WALK_EVAL)
                : function_frame(w, memory_get_u64(bytes + l->frame_code));
    /* an innermost context that is being made has a former function, which may be freed */
    if (w->memory.failed && w->count == 0) {
        w->memory.failed = w->memory.exhausted;
        return;
    }
    if (memory_get_u64(bytes + INTERPRETER_WALK_CONTEXT_RETURN) == 0)
        frame.code |= INTERPRETER_WALK_ENTRY;
    add(w, frame);
    w->instruction = memory_get_u64(bytes + l->frame_instruction);
}

/* Adds the frame of the program, which has no context. */
static void add_program(struct walk *w)
{
    struct interpreter_walk_frame program = file_frame(w, INTERPRETER_WALK_MAIN);
    program.code |= INTERPRETER_WALK_ENTRY;
    add(w, program);
}

/* Reads all frames; false if there are more than fit. */
static bool read_frames(struct walk *w)
{
    struct memory *m = &w->memory;
    w->count = 0;
    w->start = w->end = 0;
    w->instruction = memory_u64(m, w->state + w->layout->thread_instruction);
    enter(w, memory_u64(m, w->state + w->layout->thread_frame));
    for (size_t steps = 0; steps < STEPS_MAX && w->count < INTERPRETER_WALK_MAX;
         steps++) {
        uint64_t caller = 0;
        if (w->left == 0)
            caller = memory_u64(m, w->array + INTERPRETER_WALK_CONTEXTS_CALLER);
        if (m->failed)
            return true;
        if (w->left) {
            const unsigned char *bytes = context_bytes(w, --w->left);
            if (bytes)
                add_context(w, bytes);
        } else if (caller) {
            enter(w, caller);
            w->start = w->end = 0;
        } else {
            add_program(w);
            return true;
        }
    }
    return false;
}

/* Whether the thread still has the frames, except that it may have called functions since, or
 * returned from some. */
static bool are_same(struct walk *w, size_t count)
{
    size_t now = w->count, both = now < count ? now : count;
    for (size_t i = 1; i <= both; i++)
        if (w->seen[count - i] != w->frames[now - i].code)
            return false;
    return both > 0;
}

enum interpreter_end interpreter_contexts_walk(const struct interpreter_access *access,
                                               const struct interpreter_walk *layout,
                                               uint64_t state,
                                               struct interpreter_walk_frame *frames,
                                               size_t *count)
{
    struct walk w = {
        .memory = memory_of(access), .layout = layout, .state = state, .frames = frames};
    *count = 0;
    for (unsigned i = 0; i < ATTEMPTS; i++) {
        w.memory.failed = w.memory.exhausted;
        read_frames(&w);
        size_t before = w.count;
        for (size_t k = 0; k < before; k++)
            w.seen[k] = frames[k].code;
        bool is_whole = read_frames(&w);
        /* a truncated list has no outermost frames to compare */
        if (w.memory.failed || (is_whole && !are_same(&w, before)))
            continue;
        *count = w.count;
        return is_whole ? INTERPRETER_WHOLE : INTERPRETER_TRUNCATED;
    }
    return INTERPRETER_TORN;
}
