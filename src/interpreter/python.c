/* SPDX-License-Identifier: Apache-2.0 */
/* CPython 3.8 to 3.14. */
#include "interpreter/python.h"
#include "base/format.h"

/* Limits of the lists of a hostile process. */
#define INTERPRETERS_MAX 1024
#define THREADS_MAX 65536

/* Bits 4 to 7 of a version: 10 alpha, 11 beta, 12 release candidate, 15 final. */
#define LEVEL_CANDIDATE 12

/* --- The version -------------------------------------------------------------------- */

/* Finds the number that follows `before` in a path: in "libpython3.11.so", 11 follows
 * "python3.". */
static bool number_behind(struct str path, struct str before, uint32_t *number)
{
    struct str rest = str_skip(path, str_search(path, before) + before.len);
    uint32_t value = 0;
    size_t digits = 0;
    for (; digits < rest.len && digits < 3 && byte_is_digit(rest.ptr[digits]); digits++)
        value = value * 10 + (uint32_t)(rest.ptr[digits] - '0');
    if (digits)
        *number = value;
    return digits > 0;
}

/* The minor version according to paths: that of the module, or of an extension. */
static bool version_of_paths(const struct interpreter_runtime *r, uint32_t *minor)
{
    const struct interpreter_access *a = r->access;
    if (number_behind(str_basename(a->modules[r->module]), STR("python3."), minor))
        return true;
    for (size_t i = 0; i < a->module_count; i++)
        if (number_behind(str_basename(a->modules[i]), STR(".cpython-3"), minor) ||
            number_behind(a->modules[i], STR("/python3."), minor))
            return true;
    return false;
}

/* Sets the version; from 3.11 on it is a variable, and 3.13 has it in the runtime too. */
static bool find_version(struct interpreter_runtime *r, struct memory *m,
                         uint64_t runtime, uint32_t *minor, struct error *err)
{
    uint64_t at;
    uint32_t hex = 0;
    unsigned char begin[16];
    if (r->access->symbol(r->access->context, r->module, STR("Py_Version"), &at))
        hex = memory_u32(m, at);
    else if (memory_read(m, runtime, begin, sizeof begin) &&
             memcmp(begin, "xdebugpy", 8) == 0)
        hex = memory_get_u32(begin + 8);
    m->failed = false;
    if (hex >> 24 == 3) {
        unsigned level = hex >> 4 & 15;
        *minor = hex >> 16 & 255;
        format_text(r->version, sizeof r->version, "3.%u.%u%s", *minor, hex >> 8 & 255,
                    level < LEVEL_CANDIDATE ? " before release" : "");
        if (level < LEVEL_CANDIDATE)
            return error_set(err, "Python %s is not supported: only releases are",
                             r->version);
    } else if (version_of_paths(r, minor)) {
        format_text(r->version, sizeof r->version, "3.%u", *minor);
    } else {
        return error_set(err, "the version of Python in %.*s is unknown",
                         STR_ARG(r->access->modules[r->module]));
    }
    if (*minor < PYTHON_MINOR_MIN || *minor > PYTHON_MINOR_MAX)
        return error_set(err, "Python %s is not supported: 3.%d to 3.%d are", r->version,
                         PYTHON_MINOR_MIN, PYTHON_MINOR_MAX);
    return true;
}

/* --- The runtime -------------------------------------------------------------------- */

static bool find_layout(struct interpreter_runtime *r, struct memory *m, uint32_t minor,
                        struct python *p, struct error *err)
{
    if (minor >= 13) {
        format_text(r->offsets, sizeof r->offsets, "debug offsets of the process");
        return python_layout_debug_offsets(m, p->runtime, minor, &p->layout, err);
    }
    if (!python_layout_table(minor, &p->layout))
        return error_set(err, "Python 3.%u has no table of offsets", minor);
    size_t confirmed = python_layout_members(m, p->code_type, &p->layout);
    format_text(r->offsets, sizeof r->offsets, "table for 3.%u%s", minor,
                confirmed ? ", code objects by their type" : "");
    /* the offset in the table is that of x86-64 */
    if (r->access->machine != ARCH_X86_64)
        p->layout.runtime_holder = PYTHON_ABSENT;
    return true;
}

/* Finds the module that defines the type of code objects: the executable or a library. */
static bool find_module(struct interpreter_runtime *r, struct python *p)
{
    const struct interpreter_access *a = r->access;
    for (size_t i = 0; i < a->module_count; i++) {
        r->module = i;
        if ((i == 0 || str_has(str_basename(a->modules[i]), STR("python"))) &&
            a->symbol(a->context, i, STR("PyCode_Type"), &p->code_type))
            return true;
    }
    return false;
}

static enum interpreter_found python_find(struct interpreter_runtime *r,
                                          struct error *err)
{
    struct memory m = memory_of(r->access);
    struct python *p = arena_zalloc(r->arena, 1, sizeof *p);
    uint32_t minor = 0;
    if (!p) {
        error_memory(err);
        return INTERPRETER_REFUSED;
    }
    r->data = p;
    if (!find_module(r, p))
        return INTERPRETER_ABSENT;
    if (!r->access->symbol(r->access->context, r->module, STR("_PyRuntime"),
                           &p->runtime)) {
        error_set(err, "Python before 3.7 is not supported: 3.%d to 3.%d are",
                  PYTHON_MINOR_MIN, PYTHON_MINOR_MAX);
        return INTERPRETER_REFUSED;
    }
    return find_version(r, &m, p->runtime, &minor, err) &&
                   find_layout(r, &m, minor, p, err)
               ? INTERPRETER_FOUND
               : INTERPRETER_REFUSED;
}

/* --- Threads ------------------------------------------------------------------------ */

static bool is_thread(struct memory *m, const struct python_layout *l, uint64_t state,
                      const struct interpreter_thread_ids *ids)
{
    if (l->thread_tid != PYTHON_ABSENT && ids->tid)
        return memory_u64(m, state + l->thread_tid) == ids->tid;
    uint64_t pointer = memory_u64(m, state + l->thread_pointer);
    if (ids->pointer)
        return pointer == ids->pointer;
    return memory_is_thread(m, pointer, ids->tid);
}

static bool holds_gil(struct memory *m, const struct python *p, uint64_t interpreter,
                      uint64_t state)
{
    const struct python_layout *l = &p->layout;
    if (l->runtime_holder != PYTHON_ABSENT)
        return memory_u64(m, p->runtime + l->runtime_holder) == state;
    if (l->interpreter_gil == PYTHON_ABSENT)
        return false;
    uint64_t gil = memory_u64(m, interpreter + l->interpreter_gil);
    return memory_u64(m, gil + PYTHON_GIL_HOLDER) == state &&
           memory_u32(m, gil + PYTHON_GIL_LOCKED) == 1 && !m->failed;
}

/* Searches for a thread among those of one interpreter. A thread of several
 * interpreters has a state in each: one that executes frames is preferred. */
static bool find_thread(struct memory *m, const struct python *p, uint64_t interpreter,
                        const struct interpreter_thread_ids *ids,
                        struct interpreter_thread *thread)
{
    const struct python_layout *l = &p->layout;
    uint64_t state = memory_u64(m, interpreter + l->interpreter_threads);
    for (size_t i = 0; i < THREADS_MAX && state && !m->failed; i++) {
        if (is_thread(m, l, state, ids) && !m->failed) {
            thread->state = state;
            thread->holds_lock = holds_gil(m, p, interpreter, state);
            m->failed = false; /* only the lock is unknown */
            return true;
        }
        state = memory_u64(m, state + l->thread_next);
    }
    return false;
}

static bool python_thread(const struct interpreter_runtime *r,
                          const struct interpreter_thread_ids *ids,
                          struct interpreter_thread *thread)
{
    const struct python *p = r->data;
    struct memory m = memory_of(r->access);
    bool found = false;
    uint64_t at = memory_u64(&m, p->runtime + p->layout.runtime_interpreters);
    for (size_t i = 0; i < INTERPRETERS_MAX && at && !m.exhausted; i++) {
        struct interpreter_thread candidate = {0};
        if (find_thread(&m, p, at, ids, &candidate)) {
            bool runs = memory_u64(&m, candidate.state + p->layout.thread_frame) != 0;
            if (!found || runs)
                *thread = candidate;
            found = true;
            if (runs && p->layout.cframe_frame == PYTHON_ABSENT)
                break;
        }
        m.failed = m.exhausted;
        at = memory_u64(&m, at + p->layout.interpreter_next);
    }
    return found;
}

const struct interpreter interpreter_python = {
    .name = "python",
    .title = "CPython",
    .file = "python",
    .find = python_find,
    .thread = python_thread,
    .stack = python_stack,
    .native = python_native,
    .layout = python_walk_layout,
    .describe = python_walk_describe,
};
