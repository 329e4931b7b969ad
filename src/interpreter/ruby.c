/* SPDX-License-Identifier: Apache-2.0 */
/* CRuby 3.1. */
#include "interpreter/ruby.h"
#include "base/format.h"

/* Limits of the lists of a hostile process. */
#define RACTORS_MAX 1024
#define THREADS_MAX 65536

static const struct ruby_layout layouts[] = {
    {.major = 3,
     .minor = 1,
     .vm_ractors = 8,
     .vm_marked = 328,
     .ractor_node = 568,
     .ractor_threads = 304,
     .ractor_owner = 336,
     .thread_context = 40,
     .thread_pointer = 80,
     .thread_tid = 88,
     .frame_stride = 64,
     .body_start = 8,
     .body_file = 64,
     .body_label = 80,
     .body_first = 88,
     .body_lines = 120,
     .body_line_count = 136,
     .body_line_index = 144,
     .line_size = 12,
     .class_fields = 24,
     .fields_variables = 8,
     .name_last = 169},
};

/* --- The runtime -------------------------------------------------------------------- */

/* Reads digits, and skips the byte after them; false if there are none. */
static bool take_number(struct str *text, uint32_t *value)
{
    size_t digits = 0;
    *value = 0;
    while (digits < text->len && digits < 3 && byte_is_digit(text->ptr[digits]))
        *value = *value * 10 + (uint32_t)(text->ptr[digits++] - '0');
    *text = str_skip(*text, digits < text->len ? digits + 1 : digits);
    return digits > 0;
}

/* Reads the version, "3.1.2". */
static bool find_version(struct interpreter_runtime *r, struct memory *m, uint64_t at,
                         struct error *err)
{
    struct ruby *ruby = r->data;
    char text[16] = {0};
    uint32_t major, minor;
    struct str rest = {text, 0};
    memory_read(m, at, text, sizeof text - 1);
    while (rest.len < sizeof text &&
           (byte_is_digit(text[rest.len]) || text[rest.len] == '.'))
        rest.len++;
    format_text(r->version, sizeof r->version, "%.*s", STR_ARG(rest));
    if (m->failed || !take_number(&rest, &major) || !take_number(&rest, &minor))
        return error_set(err, "the version of Ruby in %.*s is unknown",
                         STR_ARG(r->access->modules[r->module]));
    for (size_t i = 0; i < sizeof layouts / sizeof *layouts; i++)
        if (layouts[i].major == major && layouts[i].minor == minor)
            ruby->layout = &layouts[i];
    if (!ruby->layout)
        return error_set(err, "Ruby %s is not supported: 3.1 is", r->version);
    if (r->access->machine != ARCH_X86_64)
        return error_set(err, "Ruby %s is supported on x86-64 only", r->version);
    format_text(r->offsets, sizeof r->offsets, "table for %u.%u", major, minor);
    return true;
}

/* Finds the module that defines the runtime: the executable or a library. */
static bool find_module(struct interpreter_runtime *r, uint64_t *version)
{
    const struct interpreter_access *a = r->access;
    struct ruby *ruby = r->data;
    for (size_t i = 0; i < a->module_count; i++) {
        r->module = i;
        if ((i == 0 || str_has(str_basename(a->modules[i]), STR("ruby"))) &&
            a->symbol(a->context, i, STR("ruby_version"), version)) {
            a->symbol(a->context, i, STR("ruby_current_vm_ptr"), &ruby->vm);
            return true;
        }
    }
    return false;
}

static void make_walk(struct ruby *ruby)
{
    const struct ruby_layout *l = ruby->layout;
    ruby->walk = (struct interpreter_walk){
        .runtime = ruby->vm,
        .form = INTERPRETER_WALK_ARRAY,
        .runtime_interpreters = l->vm_ractors,
        .interpreter_next = l->ractor_node,
        .interpreter_threads = l->ractor_threads,
        .thread_frame = l->thread_context,
        .thread_pointer = l->thread_pointer,
        .thread_tid = l->thread_tid,
        .cframe_frame = RUBY_CONTEXT_FRAME,
        .frame_size = RUBY_FRAME_SIZE,
        .frame_stride = l->frame_stride,
        .frame_code = RUBY_FRAME_CODE,
        .frame_instruction = RUBY_FRAME_INSTRUCTION,
        .frame_environment = RUBY_FRAME_ENVIRONMENT,
        .frame_owner = INTERPRETER_WALK_ABSENT,
        .frame_is_entry = INTERPRETER_WALK_ABSENT,
        .code_body = RUBY_CODE_BODY,
        .code_start = l->body_start,
        .code_first_line = l->body_first,
        .method_owner = RUBY_METHOD_OWNER,
        .method_name = RUBY_METHOD_NAME,
    };
}

static enum interpreter_found ruby_find(struct interpreter_runtime *r, struct error *err)
{
    struct memory m = memory_of(r->access);
    struct ruby *ruby = arena_zalloc(r->arena, 1, sizeof *ruby);
    uint64_t version;
    if (!ruby) {
        error_memory(err);
        return INTERPRETER_REFUSED;
    }
    r->data = ruby;
    if (!find_module(r, &version))
        return INTERPRETER_ABSENT;
    if (!find_version(r, &m, version, err))
        return INTERPRETER_REFUSED;
    if (!ruby->vm) {
        error_set(err, "Ruby %s does not define ruby_current_vm_ptr", r->version);
        return INTERPRETER_REFUSED;
    }
    make_walk(ruby);
    return INTERPRETER_FOUND;
}

/* --- Threads ------------------------------------------------------------------------ */

/* Which number of a thread is compared. */
enum identity {
    BY_POINTER,
    BY_TID,
    BY_STRUCTURE, /* of the C library: a process that was forked has an old tid */
};

static bool is_thread(struct memory *m, const struct ruby_layout *l, uint64_t state,
                      const struct interpreter_thread_ids *ids, enum identity identity)
{
    if (identity == BY_TID)
        return ids->tid && memory_u32(m, state + l->thread_tid) == ids->tid;
    uint64_t pointer = memory_u64(m, state + l->thread_pointer);
    return identity == BY_POINTER ? pointer == ids->pointer
                                  : memory_is_thread(m, pointer, ids->tid);
}

static bool find_thread(struct memory *m, const struct ruby_layout *l, uint64_t ractor,
                        const struct interpreter_thread_ids *ids, enum identity identity,
                        struct interpreter_thread *thread)
{
    uint64_t head = ractor + l->ractor_threads, state = memory_u64(m, head);
    for (size_t i = 0; i < THREADS_MAX && state != head && !m->failed; i++) {
        if (is_thread(m, l, state, ids, identity) && !m->failed) {
            thread->state = state;
            thread->holds_lock = memory_u64(m, ractor + l->ractor_owner) == state;
            m->failed = false; /* only the lock is unknown */
            return true;
        }
        state = memory_u64(m, state); /* begins with its node of the list */
    }
    return false;
}

static bool find_in_ractors(const struct interpreter_runtime *r, struct memory *m,
                            const struct interpreter_thread_ids *ids,
                            enum identity identity, struct interpreter_thread *thread)
{
    const struct ruby *ruby = r->data;
    const struct ruby_layout *l = ruby->layout;
    uint64_t head = memory_u64(m, ruby->vm) + l->vm_ractors, node = memory_u64(m, head);
    for (size_t i = 0; i < RACTORS_MAX && node != head && !m->failed; i++) {
        if (find_thread(m, l, node - l->ractor_node, ids, identity, thread))
            return true;
        m->failed = m->exhausted;
        node = memory_u64(m, node);
    }
    m->failed = m->exhausted;
    return false;
}

static bool ruby_thread(const struct interpreter_runtime *r,
                        const struct interpreter_thread_ids *ids,
                        struct interpreter_thread *thread)
{
    struct memory m = memory_of(r->access);
    if (ids->pointer)
        return find_in_ractors(r, &m, ids, BY_POINTER, thread);
    return find_in_ractors(r, &m, ids, BY_TID, thread) ||
           find_in_ractors(r, &m, ids, BY_STRUCTURE, thread);
}

/* --- The descriptor ----------------------------------------------------------------- */

static bool ruby_walk_layout(const struct interpreter_runtime *r,
                             struct interpreter_walk *walk)
{
    const struct ruby *ruby = r->data;
    *walk = ruby->walk;
    return true;
}

/* Prefixes of functions between a call in Ruby and the called function or loop. */
static const char *const internal[] = {
    "call_cfunc",
    "eval_",
    "invoke_",
    "jit_exec",
    "rb_call",
    "rb_class_new_instance",
    "rb_ec_",
    "rb_ensure",
    "rb_eval",
    "rb_funcall",
    "rb_iseq_eval",
    "rb_iterate",
    "rb_block_call",
    "rb_load",
    "rb_obj_call_init",
    "rb_obj_instance_e",
    "rb_protect",
    "rb_rescue",
    "rb_vm_",
    "rb_vrescue",
    "rb_yield",
    "ruby_exec_node",
    "ruby_run_node",
    "thread_do_start",
    "thread_start_func",
    "thread_create_core",
    "vm_",
};

static enum interpreter_native ruby_native(struct str function)
{
    struct str name = function;
    if (str_starts(name, STR("rb_")))
        name = str_skip(name, 3);
    if (str_starts(name, STR("vm_exec")) &&
        (name.len == 7 || name.ptr[7] == '.' || name.ptr[7] == ' '))
        return NATIVE_LOOP;
    for (size_t i = 0; i < sizeof internal / sizeof *internal; i++)
        if (str_starts(function, str_of(internal[i])))
            return NATIVE_INTERNAL;
    return NATIVE_WORK;
}

const struct interpreter interpreter_ruby = {
    .name = "ruby",
    .title = "Ruby",
    .file = "ruby",
    .splits_loop = true,
    .find = ruby_find,
    .thread = ruby_thread,
    .stack = ruby_stack,
    .native = ruby_native,
    .layout = ruby_walk_layout,
    .describe = ruby_describe,
};
