/* SPDX-License-Identifier: Apache-2.0 */
/* Stacks of CPython that the kernel walks at a sample: the layout for the walk, and the names
 * of the frames that it found. */
#include "interpreter/python.h"
#include "interpreter/python_lines.h"

/* The end of the fields of a frame. */
static uint32_t frame_size(const struct python_layout *l)
{
    uint32_t fields[] = {l->frame_code, l->frame_previous, l->frame_instruction,
                         l->frame_owner, l->frame_is_entry};
    uint32_t last = 0;
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
        if (fields[i] != PYTHON_ABSENT && fields[i] > last)
            last = fields[i];
    return (last + 8) & ~7u;
}

bool python_walk_layout(const struct interpreter_runtime *r,
                        struct interpreter_walk *walk)
{
    const struct python *p = r->data;
    const struct python_layout *l = &p->layout;
    *walk = (struct interpreter_walk){
        .runtime = p->runtime,
        .runtime_interpreters = l->runtime_interpreters,
        .interpreter_next = l->interpreter_next,
        .interpreter_threads = l->interpreter_threads,
        .thread_next = l->thread_next,
        .thread_frame = l->thread_frame,
        .thread_pointer = l->thread_pointer,
        .thread_tid = l->thread_tid,
        .cframe_frame = l->cframe_frame,
        .frame_size = frame_size(l),
        .frame_code = l->frame_code,
        .frame_previous = l->frame_previous,
        .frame_instruction = l->frame_instruction,
        .frame_owner = l->frame_owner,
        .frame_is_entry = l->frame_is_entry,
        .owner_native = PYTHON_OWNER_NATIVE,
        .code_start = l->minor <= 10 ? INTERPRETER_WALK_ABSENT : l->code_start,
        .code_lines = l->code_lines,
        .code_first_line = l->code_first_line,
    };
    /* the last field is read as 8 bytes */
    return walk->frame_size <= INTERPRETER_WALK_FRAME_BYTES;
}

bool python_walk_describe(struct interpreter_runtime *r,
                          const struct interpreter_walk_frame *walked,
                          struct interpreter_frame *frame)
{
    const struct python *p = r->data;
    struct python_code code;
    int64_t offset = walked->instruction;
    bool is_known = walked->instruction != INTERPRETER_WALK_NOWHERE;
    if (!python_read_code(r, walked->code & ~INTERPRETER_WALK_BITS, &code) ||
        interpreter_walk_check(code.lines_at, code.first_line) != walked->check)
        return false;
    if (p->layout.minor == 10)
        offset *= 2; /* an index of instructions of two bytes */
    *frame = (struct interpreter_frame){
        .function = code.name,
        .file = code.file,
        .line = is_known
                    ? python_line(p->layout.minor, code.lines, code.first_line, offset)
                    : code.first_line,
        .is_entry = walked->code & INTERPRETER_WALK_ENTRY,
    };
    return true;
}
