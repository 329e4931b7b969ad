/* SPDX-License-Identifier: Apache-2.0 */
#include "interpreter/walk.h"
#include "base/array.h"
#include "interpreter/walk_array.h"
#include "interpreter/walk_contexts.h"

#define ATTEMPTS 4
#define CALLS_MAX 8 /* that the thread may have begun while it was read */

/* From 3.11 on the frames of a thread are in one stack, callers below: this many bytes
 * are read in one step. */
#define WINDOW ((size_t)8192)
#define PAGE ((uint64_t)4096)

struct walk {
    struct memory memory;
    const struct interpreter_walk *layout;
    struct interpreter_walk_frame *frames;
    uint64_t addresses[INTERPRETER_WALK_MAX]; /* of the frames */
    size_t count;
    unsigned char window[WINDOW + INTERPRETER_WALK_FRAME_BYTES];
    uint64_t start, end; /* of the memory in the window */
};

static bool has(const struct interpreter_walk *l, uint32_t field)
{
    return field != INTERPRETER_WALK_ABSENT && field <= l->frame_size;
}

static uint64_t innermost(struct walk *w, uint64_t state)
{
    const struct interpreter_walk *l = w->layout;
    uint64_t frame = memory_u64(&w->memory, state + l->thread_frame);
    if (l->cframe_frame == INTERPRETER_WALK_ABSENT || frame == 0)
        return frame;
    return memory_u64(&w->memory, frame + l->cframe_frame);
}

/* Reads from an address up to the end of a frame. Failure is no failure of the walk. */
static bool load(struct walk *w, uint64_t start, uint64_t frame)
{
    const struct interpreter_access *a = w->memory.access;
    uint64_t end = frame + w->layout->frame_size;
    bool ok = start >= PAGE && start <= frame && end > frame &&
              memory_work(&w->memory, end - start) &&
              a->read(a->context, start, w->window, (size_t)(end - start));
    w->start = ok ? start : 0;
    w->end = ok ? end : 0;
    return ok;
}

/* The bytes of a frame; NULL if they are not readable. */
static const unsigned char *frame_bytes(struct walk *w, uint64_t frame)
{
    const struct interpreter_walk *l = w->layout;
    bool inside = frame >= w->start && frame < w->end && w->end - frame >= l->frame_size;
    bool is_stack = l->code_start != INTERPRETER_WALK_ABSENT;
    if (!inside && !(is_stack && load(w, (frame & ~(PAGE - 1)) - PAGE, frame)) &&
        !(is_stack && load(w, frame & ~(PAGE - 1), frame)) && !load(w, frame, frame)) {
        w->memory.failed = true;
        return NULL;
    }
    return w->window + (frame - w->start);
}

/* Adds a frame of a runtime with one thread. A frame without code is only a mark. */
static void add_single(struct walk *w, const unsigned char *bytes,
                       struct interpreter_walk_frame *f)
{
    const struct interpreter_walk *l = w->layout;
    struct memory *m = &w->memory;
    uint64_t code = memory_get_u64(bytes + l->frame_code) & ~INTERPRETER_WALK_BITS;
    *f = (struct interpreter_walk_frame){.code = INTERPRETER_WALK_MARK,
                                         .instruction = INTERPRETER_WALK_NOWHERE};
    if (code == 0)
        return;
    f->code = code;
    if (memory_u8(m, code) == l->type_native) {
        f->code |= INTERPRETER_WALK_CALLEE;
        return;
    }
    if (memory_get_u32(bytes + l->frame_flags) & l->flag_entry)
        f->code |= INTERPRETER_WALK_ENTRY;
    if (m->failed)
        return;
    uint64_t instruction = memory_get_u64(bytes + l->frame_instruction);
    uint32_t line = memory_u32(m, instruction + l->instruction_line);
    if (!m->failed)
        f->instruction = (int32_t)line;
    m->failed = m->exhausted; /* only the line is unknown */
}

static void add_frame(struct walk *w, uint64_t address, const unsigned char *bytes)
{
    const struct interpreter_walk *l = w->layout;
    struct interpreter_walk_frame *f = &w->frames[w->count];
    uint64_t code = memory_get_u64(bytes + l->frame_code) & ~INTERPRETER_WALK_BITS;
    uint64_t offset = memory_get_u64(bytes + l->frame_instruction) - code - l->code_start;
    w->addresses[w->count++] = address;
    if (l->form == INTERPRETER_WALK_SINGLE) {
        add_single(w, bytes, f);
        return;
    }
    if (has(l, l->frame_owner) && bytes[l->frame_owner] >= l->owner_native) {
        *f = (struct interpreter_walk_frame){.code = INTERPRETER_WALK_ENTRY |
                                                     INTERPRETER_WALK_MARK};
        return;
    }
    *f = (struct interpreter_walk_frame){.code = code | INTERPRETER_WALK_ENTRY};
    if (l->code_start == INTERPRETER_WALK_ABSENT) {
        f->instruction = (int32_t)memory_get_u32(bytes + l->frame_instruction);
        return;
    }
    /* a copy of the code, or before the first instruction */
    f->instruction =
        offset + 64 < ((uint64_t)1 << 30) ? (int32_t)offset : INTERPRETER_WALK_NOWHERE;
    if (!has(l, l->frame_is_entry) || !bytes[l->frame_is_entry])
        f->code = code;
}

/* Reads all frames from one on; returns the next one if there is no room for it, else 0. */
static uint64_t read_frames(struct walk *w, uint64_t frame)
{
    w->count = 0;
    w->start = w->end = 0;
    while (frame && !w->memory.failed && w->count < INTERPRETER_WALK_MAX) {
        const unsigned char *bytes = frame_bytes(w, frame);
        if (!bytes)
            break;
        add_frame(w, frame, bytes);
        frame = memory_get_u64(bytes + w->layout->frame_previous);
    }
    return frame;
}

/* Whether a frame that is innermost now fits the frames that were read. */
static bool fits(struct walk *w, uint64_t now)
{
    for (size_t i = 0; i < w->count; i++)
        if (w->addresses[i] == now)
            return true;
    for (size_t i = 0; i < CALLS_MAX && now && !w->memory.failed; i++) {
        now = memory_u64(&w->memory, now + w->layout->frame_previous);
        if (now == w->addresses[0])
            return true;
    }
    return false;
}

/* Fills in what identifies the code objects. */
static void check_codes(struct walk *w)
{
    const struct interpreter_walk *l = w->layout;
    for (size_t i = 0; i < w->count && !w->memory.failed; i++) {
        struct interpreter_walk_frame *f = &w->frames[i];
        uint64_t code = f->code & ~INTERPRETER_WALK_BITS;
        if (!(f->code & INTERPRETER_WALK_MARK))
            f->check =
                interpreter_walk_check(memory_u64(&w->memory, code + l->code_lines),
                                       memory_u32(&w->memory, code + l->code_first_line));
    }
}

enum interpreter_end interpreter_walk_thread(const struct interpreter_access *access,
                                             const struct interpreter_walk *layout,
                                             uint64_t state,
                                             struct interpreter_walk_frame *frames,
                                             size_t *count)
{
    struct walk w = {.memory = memory_of(access), .layout = layout, .frames = frames};
    *count = 0;
    if (layout->form == INTERPRETER_WALK_CHAIN)
        return INTERPRETER_TORN; /* only registers lead to its frames */
    if (layout->form == INTERPRETER_WALK_ARRAY)
        return interpreter_array_walk(access, layout, state, frames, count);
    if (layout->form == INTERPRETER_WALK_CONTEXTS)
        return interpreter_contexts_walk(access, layout, state, frames, count);
    for (unsigned i = 0; i < ATTEMPTS; i++) {
        w.memory.failed = w.memory.exhausted;
        uint64_t rest = read_frames(&w, innermost(&w, state));
        uint64_t now = innermost(&w, state);
        if (w.count == 0 || w.memory.failed || !fits(&w, now))
            continue;
        check_codes(&w);
        if (w.memory.failed)
            continue;
        *count = w.count;
        return rest ? INTERPRETER_TRUNCATED : INTERPRETER_WHOLE;
    }
    return INTERPRETER_TORN;
}

bool interpreter_walk_stack(struct interpreter_runtime *r,
                            const struct interpreter_walk *layout, uint64_t state,
                            struct interpreter_stack *stack, struct arena *scratch)
{
    struct interpreter_walk_frame *walked =
        arena_alloc(scratch, INTERPRETER_WALK_MAX * sizeof *walked);
    size_t count;
    stack->count = 0;
    if (!walked)
        return false;
    stack->end = interpreter_walk_thread(r->access, layout, state, walked, &count);
    for (size_t i = 0; i < count; i++) {
        struct interpreter_frame *f =
            ARRAY_APPEND(scratch, stack->frames, stack->count, stack->cap);
        if (!f)
            return false;
        *f = (struct interpreter_frame){.function = STR(""), .file = STR("")};
        if (walked[i].code & INTERPRETER_WALK_MARK) {
            f->is_hidden = true;
            f->is_entry = walked[i].code & INTERPRETER_WALK_ENTRY;
            f->is_native = !f->is_entry;
        } else if (!r->interpreter->describe(r, &walked[i], f)) {
            stack->count--;
            stack->end = INTERPRETER_TORN;
            return !r->arena->failed;
        }
    }
    return true;
}
