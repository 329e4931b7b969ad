/* SPDX-License-Identifier: Apache-2.0 */
#include "base/output.h"
#include "interpreter/php.h"
#include "interpreter/walk.h"

/* A zend_string as UTF-8; empty, with m->failed set, if it is not readable. */
static struct str read_string(struct memory *m, uint64_t string, struct arena *arena)
{
    uint64_t size = memory_u64(m, string + PHP_STRING_LENGTH);
    size = size < INTERPRETER_NAME_MAX ? size : INTERPRETER_NAME_MAX;
    char *bytes = arena_alloc(arena, (size_t)size + 1);
    if (!string || m->failed || !bytes ||
        (size && !memory_read(m, string + PHP_STRING_BYTES, bytes, (size_t)size))) {
        m->failed = true;
        return STR("");
    }
    /* an anonymous class has a name such as "class@anonymous\0/path:3$0" */
    const char *end = memchr(bytes, 0, (size_t)size);
    return (struct str){bytes, end ? (size_t)(end - bytes) : (size_t)size};
}

static struct str join(struct arena *arena, struct str a, struct str between,
                       struct str b)
{
    struct output text = OUTPUT_BUFFER;
    output_str(&text, a);
    output_str(&text, between);
    output_str(&text, b);
    struct str joined =
        arena_str(arena, str_head(output_contents(&text), INTERPRETER_NAME_MAX));
    output_deinit(&text);
    return joined;
}

/* The name of a function with its class, "Counter::add"; that of a file's code says what
 * executes it. */
static struct str read_name(struct memory *m, uint64_t code, uint8_t type, bool is_entry,
                            struct str file, struct arena *arena)
{
    uint64_t name = memory_u64(m, code + PHP_CODE_NAME);
    uint64_t class = memory_u64(m, code + PHP_CODE_CLASS);
    if (name == 0 && !m->failed)
        return type == PHP_TYPE_EVAL ? STR("{eval}")
               : is_entry            ? STR("{main}")
                          : join(arena, STR("{include "), str_basename(file), STR("}"));
    struct str function = read_string(m, name, arena);
    if (!class || m->failed)
        return function;
    struct str of = read_string(m, memory_u64(m, class + PHP_CLASS_NAME), arena);
    m->failed = m->exhausted;
    return of.len ? join(arena, of, STR("::"), function) : function;
}

static uint32_t check_of(struct memory *m, uint64_t code)
{
    return interpreter_walk_check(memory_u64(m, code + PHP_CODE_NAME),
                                  memory_u32(m, code + PHP_CODE_CLASS));
}

bool php_describe(struct interpreter_runtime *r,
                  const struct interpreter_walk_frame *walked,
                  struct interpreter_frame *frame)
{
    const struct php *php = r->data;
    struct memory m = memory_of(r->access);
    uint64_t code = walked->code & ~INTERPRETER_WALK_BITS;
    bool is_entry = walked->code & INTERPRETER_WALK_ENTRY;
    bool is_native = walked->code & INTERPRETER_WALK_CALLEE;
    uint8_t type = memory_u8(&m, code + PHP_CODE_TYPE);
    bool fits = is_native ? type == PHP_TYPE_NATIVE
                          : type == PHP_TYPE_USER || type == PHP_TYPE_EVAL;
    if (!fits || check_of(&m, code) != walked->check || m.failed)
        return false;
    struct str file = STR("");
    if (!is_native) {
        file = read_string(&m, memory_u64(&m, code + php->layout->code_file), r->arena);
        m.failed = m.exhausted;
    }
    *frame = (struct interpreter_frame){
        .function = read_name(&m, code, type, is_entry, file, r->arena),
        .file = file,
        .line = walked->instruction > 0 && walked->instruction != INTERPRETER_WALK_NOWHERE
                    ? (uint32_t)walked->instruction
                    : 0,
        .is_entry = is_entry,
        .is_native = is_native,
    };
    return !m.failed && !r->arena->failed;
}

bool php_stack(struct interpreter_runtime *r, const struct interpreter_thread *thread,
               struct interpreter_stack *stack, struct arena *scratch)
{
    const struct php *php = r->data;
    return interpreter_walk_stack(r, &php->walk, thread->state, stack, scratch);
}
