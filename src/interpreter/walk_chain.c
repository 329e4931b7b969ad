/* SPDX-License-Identifier: Apache-2.0 */
#include "interpreter/walk_chain.h"

/* Native frames of one stack. */
#define STEPS_MAX 65536

#define OBJECT INTERPRETER_WALK_OBJECT_TAG

/* Memory that may be anything; 0 if it is not readable. */
static uint64_t peek_u64(struct memory *m, uint64_t address)
{
    uint64_t value = memory_u64(m, address);
    m->failed = m->exhausted;
    return value;
}

static bool is_of_type(struct memory *m, const struct interpreter_walk *l,
                       uint64_t object, uint32_t type)
{
    if (!(object & OBJECT))
        return false;
    uint64_t map = peek_u64(m, object - OBJECT);
    return map & OBJECT && (peek_u64(m, map + l->map_type) & 0xffff) == type;
}

/* Whether the bytecode of an interpreted frame is that of the function: otherwise the function
 * was moved, and another one has its memory. */
static bool fits(struct memory *m, const struct interpreter_walk *l, uint64_t code,
                 uint64_t bytecode)
{
    uint64_t data = peek_u64(m, code + l->code_data);
    return data == bytecode || !is_of_type(m, l, bytecode, l->type_bytecode) ||
           !is_of_type(m, l, data, l->type_bytecode);
}

/* The code object of a frame; 0 if the frame is not that of a function. */
static uint64_t function_of(struct memory *m, const struct interpreter_walk *l,
                            const unsigned char *bytes)
{
    uint64_t function = memory_get_u64(bytes + l->frame_code);
    uint64_t context = memory_get_u64(bytes + l->frame_environment);
    if (!(function & context & OBJECT))
        return 0;
    uint64_t code = peek_u64(m, function + l->code_body);
    return is_of_type(m, l, code, l->type_code) &&
                   fits(m, l, code, memory_get_u64(bytes + l->frame_bytecode))
               ? code
               : 0;
}

static void make_frame(const struct interpreter_chain *c, const unsigned char *bytes,
                       uint64_t code, struct interpreter_walk_frame *f)
{
    struct memory *m = c->memory;
    const struct interpreter_walk *l = c->layout;
    uint64_t instruction = memory_get_u64(bytes + l->frame_instruction);
    bool is_interpreted =
        !(uint32_t)instruction &&
        is_of_type(m, l, memory_get_u64(bytes + l->frame_bytecode), l->type_bytecode);
    uint64_t lines = peek_u64(m, code + l->code_lines);
    f->code = code & ~INTERPRETER_WALK_BITS;
    f->check =
        interpreter_walk_check(lines, (uint32_t)peek_u64(m, code + l->code_first_line));
    f->instruction = is_interpreted ? (int32_t)(instruction >> 32)
                                    : (int32_t)(c->pc & INTERPRETER_WALK_PC_MASK);
    if (!is_interpreted)
        f->code |= INTERPRETER_WALK_COMPILED;
    if (!(peek_u64(m, code + l->code_data) & OBJECT))
        f->code |= INTERPRETER_WALK_CALLEE;
}

static bool read_frame(struct interpreter_chain *c, uint64_t frame, unsigned char *bytes)
{
    const struct interpreter_walk *l = c->layout;
    bool ok = memory_read(c->stack, frame - l->frame_before, bytes, l->frame_size);
    c->stack->failed = c->stack->exhausted;
    return ok;
}

bool interpreter_chain_next(struct interpreter_chain *c,
                            struct interpreter_walk_frame *frame, uint64_t *pc)
{
    const struct interpreter_walk *l = c->layout;
    unsigned char bytes[INTERPRETER_WALK_FRAME_BYTES];
    while (c->frame && l->frame_size <= sizeof bytes && c->steps++ < STEPS_MAX) {
        if (!read_frame(c, c->frame, bytes)) {
            c->is_cut = true;
            break;
        }
        uint64_t code = function_of(c->memory, l, bytes);
        *pc = c->pc;
        if (code)
            make_frame(c, bytes, code, frame);
        uint64_t caller = memory_get_u64(bytes + l->frame_previous);
        c->pc = memory_get_u64(bytes + l->frame_previous + 8);
        c->frame = interpreter_walk_is_caller(c->frame, caller) ? caller : 0;
        if (code)
            return !c->memory->failed;
    }
    c->frame = 0;
    return false;
}

/* Whether there is a function's frame. */
static bool is_function(struct interpreter_chain *c, uint64_t frame)
{
    unsigned char bytes[INTERPRETER_WALK_FRAME_BYTES];
    const struct interpreter_walk *l = c->layout;
    bool is = l->frame_size <= sizeof bytes && read_frame(c, frame, bytes) &&
              function_of(c->memory, l, bytes);
    return is;
}

bool interpreter_chain_search(struct interpreter_chain *c, uint64_t stack)
{
    unsigned char bytes[512 + 8];
    for (uint64_t done = 0; done < INTERPRETER_WALK_SEARCH; done += sizeof bytes - 8) {
        uint64_t start = stack + done;
        if (!memory_read(c->stack, start, bytes, sizeof bytes))
            break;
        for (size_t i = 0; i + 16 <= sizeof bytes; i += 8) {
            uint64_t frame = memory_get_u64(bytes + i);
            if (!interpreter_walk_is_caller(start + i, frame) || !is_function(c, frame))
                continue;
            c->frame = frame;
            c->pc = memory_get_u64(bytes + i + 8);
            return true;
        }
    }
    c->stack->failed = c->stack->exhausted;
    return false;
}
