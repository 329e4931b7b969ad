/* SPDX-License-Identifier: Apache-2.0 */
/* Stacks of CPython. Up to 3.10 a frame is an object. From 3.11 it is a structure in a stack
 * of the thread, and one native frame of the loop executes several of them: up to one with
 * is_entry (3.11), or up to a frame of native code (3.12). */
#include "base/array.h"
#include "interpreter/python.h"
#include "interpreter/python_lines.h"
#include "interpreter/python_string.h"

/* Pointers to executables have tags in the low bits (3.14). */
#define TAGS ((uint64_t)7)

/* Names and line tables of more bytes are not cached: a hostile process reuses addresses. */
#define CACHED_MAX ((uint64_t)256 << 20)

/* Maximum number of copies of a function's instructions: one for each thread. */
#define COPIES_MAX 65536

/* A stack that is being read. */
struct walk {
    struct python *python;
    struct memory memory;
    struct arena *arena; /* for names */
};

/* --- Code objects ------------------------------------------------------------------- */

static uint64_t field_u64(const unsigned char *code, uint32_t offset)
{
    return offset == PYTHON_ABSENT ? 0 : memory_get_u64(code + offset);
}

/* The number of bytes of a code object that contain all fields. */
static size_t code_size(const struct python_layout *l)
{
    uint32_t fields[] = {l->code_file,  l->code_name,       l->code_qualified,
                         l->code_lines, l->code_first_line, l->object_type};
    uint32_t last = 0;
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
        if (fields[i] != PYTHON_ABSENT && fields[i] > last)
            last = fields[i];
    return last + 8;
}

/* Reads the header; false if there is no code object at that address. */
static bool read_header(struct walk *w, uint64_t address, struct python_code *code)
{
    const struct python_layout *l = &w->python->layout;
    unsigned char bytes[PYTHON_CODE_MAX + 8];
    if (!memory_read(&w->memory, address, bytes, code_size(l)) ||
        memory_get_u64(bytes + l->object_type) != w->python->code_type)
        return false;
    *code = (struct python_code){
        .name_at = field_u64(
            bytes, l->code_qualified == PYTHON_ABSENT ? l->code_name : l->code_qualified),
        .file_at = field_u64(bytes, l->code_file),
        .lines_at = field_u64(bytes, l->code_lines),
        .first_line = memory_get_u32(bytes + l->code_first_line),
        .name = STR(""),
        .file = STR(""),
        .lines = STR(""),
    };
    return true;
}

static bool is_same(const struct python_code *a, const struct python_code *b)
{
    return a->name_at == b->name_at && a->file_at == b->file_at &&
           a->lines_at == b->lines_at && a->first_line == b->first_line;
}

/* Reads the texts. A text that is not readable is empty; the frame is still known. */
static void read_texts(struct walk *w, struct python_code *code)
{
    const struct python_layout *l = &w->python->layout;
    struct memory *m = &w->memory;
    code->name = python_string(m, l, code->name_at, w->arena);
    m->failed = m->exhausted;
    code->file = python_string(m, l, code->file_at, w->arena);
    m->failed = m->exhausted;
    code->lines = python_bytes(m, l, code->lines_at, w->arena);
    m->failed = m->exhausted;
    w->python->cached += code->name.len + code->file.len + code->lines.len;
}

/* The code object at an address, from the cache if it is unchanged; NULL if there is none. */
static const struct python_code *read_code(struct walk *w, uint64_t address)
{
    struct python *p = w->python;
    struct python_code code;
    if (!read_header(w, address, &code))
        return NULL;
    uint64_t *index = idmap_put(&p->by_address, w->arena, address);
    if (!index)
        return NULL;
    if (*index && is_same(&p->codes[*index - 1], &code))
        return &p->codes[*index - 1];
    if (p->cached > CACHED_MAX) {
        w->memory.failed = w->memory.exhausted = true;
        return NULL;
    }
    read_texts(w, &code);
    struct python_code *cached = *index ? &p->codes[*index - 1] : NULL;
    if (!cached) {
        cached = ARRAY_APPEND(w->arena, p->codes, p->code_count, p->code_cap);
        *index = p->code_count;
    }
    if (cached)
        *cached = code;
    return cached;
}

bool python_read_code(struct interpreter_runtime *r, uint64_t address,
                      struct python_code *code)
{
    struct walk w = {
        .python = r->data, .memory = memory_of(r->access), .arena = r->arena};
    const struct python_code *read = read_code(&w, address);
    if (read)
        *code = *read;
    return read != NULL;
}

/* --- Lines -------------------------------------------------------------------------- */

/* The address of the instructions that a frame executes. */
static uint64_t code_start(struct walk *w, uint64_t frame, uint64_t code)
{
    const struct python_layout *l = &w->python->layout;
    if (l->code_copies == PYTHON_ABSENT)
        return code + l->code_start;
    uint32_t copy = memory_u32(&w->memory, frame + l->frame_copy);
    uint64_t array = memory_u64(&w->memory, code + l->code_copies);
    if (copy == 0 || copy >= COPIES_MAX || array == 0)
        return code + l->code_start;
    return memory_u64(&w->memory, array + 8 + (uint64_t)copy * 8);
}

/* The line that a frame executes, or 0. */
static uint32_t frame_line(struct walk *w, uint64_t frame, uint64_t address,
                           const struct python_code *code)
{
    const struct python_layout *l = &w->python->layout;
    int64_t offset;
    if (l->minor <= 10) {
        int64_t index = (int32_t)memory_u32(&w->memory, frame + l->frame_instruction);
        offset = l->minor == 10 ? index * 2 : index;
    } else {
        uint64_t instruction = memory_u64(&w->memory, frame + l->frame_instruction);
        offset = (int64_t)(instruction - code_start(w, frame, address));
    }
    if (w->memory.failed || !memory_work(&w->memory, code->lines.len / 4))
        return 0;
    return python_line(l->minor, code->lines, code->first_line, offset);
}

/* --- Frames ------------------------------------------------------------------------- */

static uint64_t innermost_frame(struct walk *w, uint64_t state)
{
    const struct python_layout *l = &w->python->layout;
    uint64_t frame = memory_u64(&w->memory, state + l->thread_frame);
    if (l->cframe_frame == PYTHON_ABSENT || frame == 0)
        return frame;
    return memory_u64(&w->memory, frame + l->cframe_frame);
}

/* Adds the mark of an entry to the last frame, or alone if there is none that called. */
static bool add_entry(struct interpreter_stack *stack, struct arena *scratch)
{
    struct interpreter_frame *last =
        stack->count ? &stack->frames[stack->count - 1] : NULL;
    if (last && !last->is_entry) {
        last->is_entry = true;
        return true;
    }
    struct interpreter_frame *added =
        ARRAY_APPEND(scratch, stack->frames, stack->count, stack->cap);
    if (added)
        *added = (struct interpreter_frame){
            .function = STR(""), .file = STR(""), .is_entry = true, .is_hidden = true};
    return added != NULL;
}

/* Adds the frame at an address; sets w->memory.failed if it is not one. */
static bool add_frame(struct walk *w, uint64_t frame, struct interpreter_stack *stack,
                      struct arena *scratch)
{
    const struct python_layout *l = &w->python->layout;
    struct memory *m = &w->memory;
    if (l->frame_owner != PYTHON_ABSENT &&
        memory_u8(m, frame + l->frame_owner) >= PYTHON_OWNER_NATIVE)
        return m->failed || add_entry(stack, scratch);
    uint64_t address = memory_u64(m, frame + l->frame_code);
    if (l->minor >= 14)
        address &= ~TAGS;
    const struct python_code *code = m->failed ? NULL : read_code(w, address);
    if (!code) {
        m->failed = true;
        return !w->arena->failed;
    }
    struct interpreter_frame *added =
        ARRAY_APPEND(scratch, stack->frames, stack->count, stack->cap);
    if (!added)
        return false;
    *added = (struct interpreter_frame){
        .function = code->name,
        .file = code->file,
        .line = frame_line(w, frame, address, code),
        .is_entry = l->minor <= 10 || (l->frame_is_entry != PYTHON_ABSENT &&
                                       memory_u8(m, frame + l->frame_is_entry) != 0),
    };
    return true;
}

bool python_stack(struct interpreter_runtime *r, const struct interpreter_thread *thread,
                  struct interpreter_stack *stack, struct arena *scratch)
{
    struct python *p = r->data;
    struct walk w = {.python = p, .memory = memory_of(r->access), .arena = r->arena};
    uint64_t frame = innermost_frame(&w, thread->state);
    uint64_t before = 0; /* an earlier frame, to detect cycles (Brent) */
    size_t limit = 1;
    stack->count = 0;
    stack->end = INTERPRETER_WHOLE;
    for (size_t i = 0; frame && !w.memory.failed; i++) {
        if (i == INTERPRETER_FRAMES_MAX) {
            stack->end = INTERPRETER_TRUNCATED;
            return true;
        }
        if (!add_frame(&w, frame, stack, scratch))
            return false;
        if (i == limit) {
            before = frame;
            limit *= 2;
        }
        frame = memory_u64(&w.memory, frame + p->layout.frame_previous);
        if (frame && frame == before)
            w.memory.failed = true;
    }
    if (w.memory.failed)
        stack->end = w.memory.exhausted ? INTERPRETER_TRUNCATED : INTERPRETER_TORN;
    return true;
}
