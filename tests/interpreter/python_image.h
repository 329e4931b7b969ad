/* SPDX-License-Identifier: Apache-2.0 */
/* Memory images of CPython processes, for tests: a runtime with one interpreter, threads and
 * stacks, in the layout of a version. */
#ifndef STOKE_TESTS_PYTHON_IMAGE_H
#define STOKE_TESTS_PYTHON_IMAGE_H

#include "interpreter/python_layout.h"
#include <string.h>

#define IMAGE_SIZE ((size_t)256 << 10)

/* Fields of the image: see memory_image.h. */
#define IMAGE_FIELDS                                                       \
    uint64_t runtime, code_type, version_at; /* symbols; 0: not defined */ \
    uint64_t interpreter, thread, first_frame;                             \
    struct python_layout layout;

#include "memory_image.h"

/* A str object; `kind` 1 with `ascii`, or 1, 2, 4. */
static inline uint64_t image_string(struct image *m, const uint32_t *characters,
                                    size_t count, unsigned kind, bool ascii)
{
    const struct python_layout *l = &m->layout;
    uint64_t at = image_new(m, 80 + count * kind);
    uint64_t data = at + (ascii ? l->string_ascii : l->string_compact);
    image_put(m, at + l->string_length, count, 8);
    image_put(m, at + l->string_state, 1 | kind << 2 | 1 << 5 | (unsigned)ascii << 6, 4);
    for (size_t i = 0; i < count; i++)
        image_put(m, data + i * kind, characters[i], kind);
    return at;
}

static inline uint64_t image_text(struct image *m, const char *text)
{
    uint32_t characters[64] = {0};
    size_t count = strlen(text);
    for (size_t i = 0; i < count; i++)
        characters[i] = (unsigned char)text[i];
    return image_string(m, characters, count, 1, true);
}

/* A code object of 8 instructions, 16 bytes, on lines first_line and the next one: each has
 * half of them. */
static inline uint64_t image_code(struct image *m, uint64_t name, uint64_t file,
                                  uint32_t first_line)
{
    static const unsigned char lines_8[] = {8, 1}, lines_10[] = {8, 0, 8, 1},
                               lines_11[] = {0x80 | 13 << 3 | 3, 0, 0x80 | 13 << 3 | 3,
                                             2};
    const struct python_layout *l = &m->layout;
    const unsigned char *table = l->minor < 10    ? lines_8
                                 : l->minor == 10 ? lines_10
                                                  : lines_11;
    size_t size = l->minor < 10 ? sizeof lines_8 : 4;
    uint64_t lines = image_new(m, l->bytes_data + size);
    image_put(m, lines + l->bytes_size, size, 8);
    for (size_t i = 0; i < size; i++)
        image_put(m, lines + l->bytes_data + i, table[i], 1);
    uint64_t code = image_new(m, 256);
    image_put(m, code + l->object_type, m->code_type, 8);
    image_put(m, code + l->code_first_line, first_line, 4);
    image_put(m, code + l->code_file, file, 8);
    image_put(m, code + l->code_name, name, 8);
    if (l->code_qualified != PYTHON_ABSENT)
        image_put(m, code + l->code_qualified, name, 8);
    image_put(m, code + l->code_lines, lines, 8);
    return code;
}

/* A frame at an instruction (0 to 7); `owner` is that of 3.12, of 3.11 whether it is an
 * entry. */
static inline uint64_t image_frame(struct image *m, uint64_t code, uint64_t previous,
                                   unsigned instruction, unsigned owner)
{
    const struct python_layout *l = &m->layout;
    uint64_t frame = image_new(m, 160), at = (uint64_t)instruction * 2;
    image_put(m, frame + l->frame_code, code | (l->minor >= 14), 8);
    image_put(m, frame + l->frame_previous, previous, 8);
    if (l->minor <= 10)
        image_put(m, frame + l->frame_instruction, l->minor == 10 ? at / 2 : at, 4);
    else
        image_put(m, frame + l->frame_instruction, code + l->code_start + at, 8);
    if (l->frame_owner != PYTHON_ABSENT)
        image_put(m, frame + l->frame_owner, owner, 1);
    if (l->frame_is_entry != PYTHON_ABSENT)
        image_put(m, frame + l->frame_is_entry, owner, 1);
    return frame;
}

/* Makes `frame` the innermost of the thread. */
static inline void image_run(struct image *m, uint64_t frame)
{
    const struct python_layout *l = &m->layout;
    uint64_t at = frame;
    if (l->cframe_frame != PYTHON_ABSENT) {
        at = image_new(m, 16);
        image_put(m, at + l->cframe_frame, frame, 8);
    }
    m->first_frame = frame;
    image_put(m, m->thread + l->thread_frame, at, 8);
}

/* The description of 3.13.0 as its process has it; 3.14's adds fields that are zero. */
static inline void image_describe(struct image *m, unsigned minor)
{
    /* clang-format off */
    static const uint32_t numbers[] = {
        /* runtime */ 283320, 608, 632,
        /* interpreter */ 194968, 7272, 7264, 7344, 0, 7400, 7656, 7640, 7648, 16, 7752, 0,
        7768, 7760, 0, 0,
        /* thread */ 304, 0, 8, 16, 72, 152, 160, 232, 32,
        /* frame */ 80, 8, 0, 56, 72, 70, 64, 0,
        /* code */ 208, 112, 120, 128, 136, 68, 52, 96, 104, 200, 0,
        /* object, type, tuple, list */ 16, 8, 416, 24, 88, 168, 32, 24, 16, 40, 24, 16,
        /* set */ 200, 24, 40, 32,
        /* dict, float, long */ 48, 32, 40, 24, 16, 32, 16, 24,
        /* bytes, string */ 40, 16, 32, 64, 32, 16, 40};
    /* clang-format on */
    static const unsigned char only_14[] = {7, 17, 18, 34, 35, 46, 59, 60, 61, 62};
    uint64_t at = m->runtime + 24;
    memcpy(m->bytes + (m->runtime - IMAGE_BASE), "xdebugpy", 8);
    image_put(m, m->runtime + 8, 0x03000000 | minor << 16 | 0x00f0, 8);
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        if (minor == 13 && memchr(only_14, (int)i, sizeof only_14))
            continue;
        image_put(m, at, numbers[i], 8);
        at += 8;
    }
    if (minor > 13) /* after the description, which is longer */
        image_put(m, m->runtime + 24 + 16, 1000, 8);
}

static inline bool image_symbol(void *context, size_t module, struct str name,
                                uint64_t *address)
{
    struct image *m = context;
    if (module != 0)
        return false;
    *address = str_equal(name, STR("_PyRuntime"))    ? m->runtime
               : str_equal(name, STR("PyCode_Type")) ? m->code_type
               : str_equal(name, STR("Py_Version"))  ? m->version_at
                                                     : 0;
    return *address != 0;
}

static inline struct interpreter_access image_access(struct image *m)
{
    return (struct interpreter_access){.context = m,
                                       .machine = ARCH_X86_64,
                                       .modules = m->modules,
                                       .module_count = 2,
                                       .read = image_read,
                                       .symbol = image_symbol};
}

#define IMAGE_TID 4242
#define IMAGE_POINTER 0x7f0000001740

/* An image of a version with one thread, which has no frames yet. `path` is that of the
 * executable. */
static inline void image_init(struct image *m, unsigned minor, const char *path)
{
    struct error err;
    memset(m, 0, sizeof *m);
    m->modules[0] = str_of(path);
    m->modules[1] = STR("/lib/libc.so.6");
    m->runtime = image_new(m, 4096);
    m->code_type = image_new(m, 512);
    if (minor >= 13) {
        struct interpreter_access access = image_access(m);
        struct memory memory = memory_of(&access);
        image_describe(m, minor);
        if (!python_layout_debug_offsets(&memory, m->runtime, minor, &m->layout, &err))
            return;
    } else {
        python_layout_table(minor, &m->layout);
    }
    if (minor >= 11) {
        m->version_at = image_new(m, 16);
        image_put(m, m->version_at, 0x030002f0 | minor << 16, 4);
    }
    const struct python_layout *l = &m->layout;
    m->interpreter = image_new(m, 8192);
    m->thread = image_new(m, 512);
    image_put(m, m->runtime + l->runtime_interpreters, m->interpreter, 8);
    image_put(m, m->interpreter + l->interpreter_threads, m->thread, 8);
    image_put(m, m->thread + l->thread_pointer, IMAGE_POINTER, 8);
    if (l->thread_tid != PYTHON_ABSENT)
        image_put(m, m->thread + l->thread_tid, IMAGE_TID, 8);
    if (l->runtime_holder != PYTHON_ABSENT)
        image_put(m, m->runtime + l->runtime_holder, m->thread, 8);
    if (l->interpreter_gil != PYTHON_ABSENT) {
        uint64_t gil = image_new(m, 32);
        image_put(m, m->interpreter + l->interpreter_gil, gil, 8);
        image_put(m, gil + PYTHON_GIL_HOLDER, m->thread, 8);
        image_put(m, gil + PYTHON_GIL_LOCKED, 1, 4);
    }
}

/* Adds a stack: leaf in "f", called by "g" (with a Chinese name), which native code called,
 * and the module. */
static inline void image_stack(struct image *m)
{
    static const uint32_t chinese[] = {0x8ba1, 0x7b97};
    uint64_t file = image_text(m, "/app/main.py");
    uint64_t f = image_code(m, image_text(m, "f"), file, 10);
    uint64_t g = image_code(m, image_string(m, chinese, 2, 2, false), file, 20);
    uint64_t module = image_code(m, image_text(m, "<module>"), file, 1);
    bool shims = m->layout.frame_owner != PYTHON_ABSENT;
    bool marks = m->layout.frame_is_entry != PYTHON_ABSENT;
    uint64_t at = shims ? image_frame(m, 0, 0, 0, 3) : 0;
    at = image_frame(m, module, at, 6, marks);
    at = shims ? image_frame(m, 0, at, 0, 3) : at;
    at = image_frame(m, g, at, 0, marks);
    image_run(m, image_frame(m, f, at, 7, 0));
}

#endif
