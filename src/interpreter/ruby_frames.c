/* SPDX-License-Identifier: Apache-2.0 */
/* Stacks of CRuby. The control frames of a thread, or of a fiber that it runs, are an array. Methods
 * of native code have frames, too; one native frame of the loop executes all frames up to one
 * with the flag FINISH. */
#include "base/array.h"
#include "interpreter/ruby.h"
#include "interpreter/walk_array.h"

/* Names of more bytes are not cached: a hostile process reuses addresses. */
#define CACHED_MAX ((uint64_t)256 << 20)

/* Control frames that are read at once. */
#define PIECE ((size_t)4096)

/* --- Lines -------------------------------------------------------------------------- */

/* The lines are a table of entries; a succinct index has the number of entries up to an
 * instruction: for the first instructions 7 bits each, 9 of them in a word; then blocks of 512
 * instructions, each with the number of entries before it (u32), those before the words of
 * the block (7 times 9 bits), and the words with a bit for each instruction. */
#define IMMEDIATE 54
#define IMMEDIATE_WORD 9
#define BLOCK 512
#define BLOCK_SIZE 80

static unsigned bits_of(uint64_t word)
{
    unsigned count = 0;
    for (; word; word &= word - 1)
        count++;
    return count;
}

static uint64_t entries_up_to(struct memory *m, uint64_t index, uint32_t instruction)
{
    if (instruction < IMMEDIATE)
        return memory_u64(m, index + (uint64_t)(instruction / IMMEDIATE_WORD) * 8) >>
                   (instruction % IMMEDIATE_WORD * 7) &
               0x7f;
    unsigned char block[BLOCK_SIZE];
    uint32_t in_block = (instruction - IMMEDIATE) % BLOCK, word = in_block / 64;
    uint64_t number = (instruction - IMMEDIATE) / BLOCK;
    if (!memory_read(
            m, index + (uint64_t)IMMEDIATE / IMMEDIATE_WORD * 8 + number * BLOCK_SIZE,
            block, sizeof block))
        return 0;
    uint64_t ranks = memory_get_u64(block + 8);
    uint64_t before = word ? ranks >> ((word - 1) * 9) & 0x1ff : 0;
    uint64_t bits = memory_get_u64(block + 16 + (size_t)word * 8) << (63 - in_block % 64);
    return memory_get_u32(block) + before + bits_of(bits);
}

/* The line of an instruction; 0 if it is unknown. */
static uint32_t line_of(struct memory *m, const struct ruby_layout *l, uint64_t body,
                        uint32_t instruction)
{
    uint64_t lines = memory_u64(m, body + l->body_lines);
    uint32_t count = memory_u32(m, body + l->body_line_count);
    uint64_t number = count == 1 ? 1 : 0;
    if (count > 1)
        number = entries_up_to(m, memory_u64(m, body + l->body_line_index), instruction);
    uint32_t line = 0;
    if (number > 0 && number <= count)
        line = memory_u32(m, lines + (number - 1) * l->line_size);
    line = m->failed || line > INT32_MAX ? 0 : line;
    m->failed = m->exhausted;
    return line;
}

/* --- Functions ---------------------------------------------------------------------- */

/* The file of a function: its path as the program gave it, or an array of that and the
 * absolute one. */
static struct str read_file(struct memory *m, uint64_t file, struct arena *arena)
{
    uint64_t absolute = ruby_element(m, file, 1), given = ruby_element(m, file, 0);
    m->failed = m->exhausted;
    struct str path = absolute ? ruby_string(m, absolute, arena) : STR("");
    m->failed = m->exhausted;
    if (path.len == 0)
        path = ruby_string(m, given ? given : file, arena);
    m->failed = m->exhausted;
    return path;
}

static bool is_method(struct memory *m, uint64_t object)
{
    return (memory_u64(m, object) & INTERPRETER_WALK_OBJECT) ==
           INTERPRETER_WALK_OBJECT_METHOD;
}

static struct ruby_code read_code(struct ruby *ruby, struct memory *m,
                                  const struct interpreter_walk_frame *walked,
                                  uint64_t body, struct arena *arena)
{
    const struct ruby_layout *l = ruby->layout;
    uint64_t at = walked->code & ~INTERPRETER_WALK_BITS;
    struct ruby_code code = {.check = walked->check, .name = STR(""), .file = STR("")};
    if (walked->code & INTERPRETER_WALK_CALLEE) {
        code.name = ruby_method_name(ruby, m, at, 0, arena);
        return code;
    }
    uint64_t file = memory_u64(m, body + l->body_file);
    uint64_t label = memory_u64(m, body + l->body_label);
    code.name = is_method(m, at) ? ruby_method_name(ruby, m, at, label, arena)
                                 : ruby_string(m, label, arena);
    m->failed = m->exhausted;
    code.file = read_file(m, file, arena);
    return code;
}

/* Whether the function is still the one that was walked. */
static bool is_there(const struct ruby *ruby, struct memory *m,
                     const struct interpreter_walk_frame *walked, uint64_t *body)
{
    const struct ruby_layout *l = ruby->layout;
    uint64_t at = walked->code & ~INTERPRETER_WALK_BITS;
    uint32_t check;
    *body = 0;
    if (walked->code & INTERPRETER_WALK_CALLEE) {
        check = interpreter_walk_check(memory_u64(m, at + RUBY_METHOD_OWNER),
                                       memory_u32(m, at + RUBY_METHOD_NAME));
    } else {
        if (is_method(m, at))
            at = interpreter_array_code(m, at);
        *body = memory_u64(m, at + RUBY_CODE_BODY);
        check = interpreter_walk_check(memory_u64(m, *body + l->body_start),
                                       memory_u32(m, *body + l->body_first));
    }
    return !m->failed && check == walked->check;
}

/* The function, from the cache if it is unchanged; NULL if out of memory or too much was
 * cached. */
static const struct ruby_code *find_code(struct ruby *ruby, struct memory *m,
                                         const struct interpreter_walk_frame *walked,
                                         uint64_t body, struct arena *arena)
{
    uint64_t key = walked->code & ~INTERPRETER_WALK_ENTRY;
    uint64_t *index = idmap_put(&ruby->by_address, arena, key);
    if (!index || ruby->cached > CACHED_MAX)
        return NULL;
    if (*index && ruby->codes[*index - 1].check == walked->check)
        return &ruby->codes[*index - 1];
    struct ruby_code code = read_code(ruby, m, walked, body, arena);
    ruby->cached += code.name.len + code.file.len + 64;
    struct ruby_code *cached = *index ? &ruby->codes[*index - 1] : NULL;
    if (!cached) {
        cached = ARRAY_APPEND(arena, ruby->codes, ruby->code_count, ruby->code_cap);
        if (!cached)
            return NULL;
        *index = ruby->code_count;
    }
    *cached = code;
    return cached;
}

static bool describe(struct ruby *ruby, struct memory *m,
                     const struct interpreter_walk_frame *walked,
                     struct interpreter_frame *frame, struct arena *arena)
{
    uint64_t body;
    if (!is_there(ruby, m, walked, &body))
        return false;
    const struct ruby_code *code = find_code(ruby, m, walked, body, arena);
    if (!code)
        return false;
    uint32_t line = 0;
    if (body && walked->instruction >= 0 &&
        walked->instruction != INTERPRETER_WALK_NOWHERE)
        line = line_of(m, ruby->layout, body, (uint32_t)walked->instruction);
    else if (body) /* a small integer: its lowest bit is a mark */
        line = memory_u32(m, body + ruby->layout->body_first) >> 1;
    *frame = (struct interpreter_frame){
        .function = code->name,
        .file = code->file,
        .line = line,
        .is_entry = walked->code & INTERPRETER_WALK_ENTRY,
        .is_native = walked->code & INTERPRETER_WALK_CALLEE,
    };
    return true;
}

bool ruby_describe(struct interpreter_runtime *r,
                   const struct interpreter_walk_frame *walked,
                   struct interpreter_frame *frame)
{
    struct memory m = memory_of(r->access);
    return describe(r->data, &m, walked, frame, r->arena);
}

/* --- Stacks ------------------------------------------------------------------------- */

/* Adds a frame; false when out of memory. */
static bool add_frame(struct interpreter_runtime *r, struct memory *m,
                      const struct interpreter_walk_frame *walked,
                      struct interpreter_stack *stack, struct arena *scratch)
{
    struct interpreter_frame frame = {
        .function = STR(""), .file = STR(""), .is_native = true, .is_hidden = true};
    if (!(walked->code & INTERPRETER_WALK_MARK) &&
        !describe(r->data, m, walked, &frame, r->arena)) {
        m->failed = true;
        return !r->arena->failed;
    }
    struct interpreter_frame *added =
        ARRAY_APPEND(scratch, stack->frames, stack->count, stack->cap);
    if (added)
        *added = frame;
    return added != NULL;
}

/* Adds frames up to `end`; false when out of memory. *is_last: the outermost one was
 * reached. */
static bool add_piece(struct interpreter_runtime *r, struct memory *m, uint64_t at,
                      uint64_t size, bool *is_last, struct interpreter_stack *stack,
                      struct arena *scratch)
{
    const struct ruby *ruby = r->data;
    unsigned char bytes[PIECE];
    struct interpreter_walk_frame walked;
    if (!memory_read(m, at, bytes, (size_t)size))
        return true;
    for (uint64_t i = 0; size - i >= ruby->walk.frame_stride && !m->failed;
         i += ruby->walk.frame_stride) {
        bool is_stale; /* the thread is stopped */
        *is_last =
            !interpreter_array_frame(m, &ruby->walk, bytes + i, &walked, &is_stale);
        if (*is_last || m->failed)
            return true;
        if (!add_frame(r, m, &walked, stack, scratch))
            return false;
    }
    return true;
}

bool ruby_stack(struct interpreter_runtime *r, const struct interpreter_thread *thread,
                struct interpreter_stack *stack, struct arena *scratch)
{
    const struct ruby *ruby = r->data;
    struct memory m = memory_of(r->access);
    uint64_t at, end, piece = PIECE / ruby->walk.frame_stride * ruby->walk.frame_stride;
    bool is_last = false;
    stack->count = 0;
    stack->end = INTERPRETER_TORN;
    if (!interpreter_array_bounds(&m, &ruby->walk, thread->state, &at, &end))
        return true;
    uint64_t count = 0;
    for (; at < end && !is_last && !m.failed && count < INTERPRETER_FRAMES_MAX;
         at += piece, count = stack->count) {
        uint64_t size = end - at < piece ? end - at : piece;
        if (!add_piece(r, &m, at, size, &is_last, stack, scratch))
            return false;
    }
    if (!m.failed)
        stack->end = is_last || at >= end ? INTERPRETER_WHOLE : INTERPRETER_TRUNCATED;
    else if (m.exhausted)
        stack->end = INTERPRETER_TRUNCATED;
    return true;
}
