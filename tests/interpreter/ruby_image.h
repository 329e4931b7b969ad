/* SPDX-License-Identifier: Apache-2.0 */
/* Memory images of Ruby 3.1 processes, for tests: a VM with one ractor, one thread and its
 * control frames. Offsets are those of vm_core.h and ractor_core.h of 3.1, as numbers. */
#ifndef STOKE_TESTS_RUBY_IMAGE_H
#define STOKE_TESTS_RUBY_IMAGE_H

#include "interpreter/ruby.h"
#include <string.h>

#define IMAGE_SIZE ((size_t)256 << 10)
#define IMAGE_TID 4242
#define IMAGE_POINTER 0x7f0000001740

/* Flags of control frames. */
#define IMAGE_METHOD 0x11110001
#define IMAGE_BLOCK 0x22220001
#define IMAGE_NATIVE 0x55550081
#define IMAGE_BLOCK_OF_NATIVE 0x66660081
#define IMAGE_DUMMY 0x79990021
#define IMAGE_FINISH 0x20

/* Fields of the image: see memory_image.h. */
#define IMAGE_FIELDS                                                 \
    uint64_t vm_at, version_at; /* symbols; 0: not defined */        \
    uint64_t vm, ractor, thread, context, names_part;                \
    uint64_t method; /* of the frames of code that are made; or 0 */ \
    uint64_t frames; /* the innermost one; others are after it */

#include "memory_image.h"

/* A String: short ones are inside. */
static inline uint64_t image_string(struct image *m, const char *text, size_t length)
{
    uint64_t at = image_new(m, 40), data = at + 16;
    image_put(m, at, 5 | (length < 24 ? length << 14 : (uint64_t)1 << 13), 8);
    if (length >= 24) {
        data = image_new(m, length);
        image_put(m, at + 16, length, 8);
        image_put(m, at + 24, data, 8);
    }
    memcpy(m->bytes + (data - IMAGE_BASE), text, length);
    return at;
}

static inline uint64_t image_text(struct image *m, const char *text)
{
    return image_string(m, text, strlen(text));
}

/* An Array whose elements are at `data`. */
static inline uint64_t image_array(struct image *m, uint64_t data, size_t count)
{
    uint64_t at = image_new(m, 40);
    image_put(m, at, 7, 8);
    image_put(m, at + 16, count, 8);
    image_put(m, at + 32, data, 8);
    return at;
}

static inline uint64_t image_pair(struct image *m, uint64_t a, uint64_t b)
{
    uint64_t data = image_new(m, 16);
    image_put(m, data, a, 8);
    image_put(m, data + 8, b, 8);
    return image_array(m, data, 2);
}

/* The table of names, with + among them, among the objects that are never freed. */
static inline void image_names(struct image *m)
{
    m->names_part = image_new(m, 200 * 8);
    uint64_t part = image_array(m, m->names_part, 200), parts = image_new(m, 8);
    image_put(m, parts, part, 8);
    image_put(m, m->names_part + (uint64_t)2 * 43 * 8, image_text(m, "+"), 8);
    uint64_t other = image_text(m, "other"), table = image_array(m, parts, 1);
    uint64_t list = image_new(m, 8);
    image_put(m, list, image_pair(m, other, table), 8);
    image_put(m, m->vm + 328, image_array(m, list, 1), 8);
}

/* Names the number, and returns the id. */
static inline uint64_t image_name(struct image *m, unsigned number, const char *text)
{
    image_put(m, m->names_part + (uint64_t)2 * number * 8, image_text(m, text), 8);
    return number > 10 ? (uint64_t)number << 4 | 1 : number;
}

/* A method of native code, of a class with that name. */
static inline uint64_t image_method(struct image *m, const char *of, uint64_t id,
                                    uint64_t class_id)
{
    uint64_t class = image_new(m, 40), fields = image_new(m, 120);
    uint64_t table = image_new(m, 56), entries = image_new(m, 24);
    uint64_t method = image_new(m, 40);
    image_put(m, class, 2, 8);
    image_put(m, class + 24, fields, 8);
    image_put(m, fields + 8, table, 8);
    image_put(m, table + 40, 1, 8);
    image_put(m, table + 48, entries, 8);
    image_put(m, entries + 8, class_id, 8);
    image_put(m, entries + 16, image_text(m, of), 8);
    image_put(m, method, 0x601a, 8);
    image_put(m, method + 24, id, 8);
    image_put(m, method + 32, class, 8);
    return method;
}

/* Code of 600 instructions on two lines: `first` for those before `change`, and the next one. */
static inline uint64_t image_code(struct image *m, const char *label, uint64_t file,
                                  uint32_t first, unsigned change)
{
    uint64_t code = image_new(m, 40), body = image_new(m, 320);
    uint64_t start = image_new(m, 600 * 8), lines = image_new(m, 24);
    uint64_t index = image_new(m, 48 + 2 * 80);
    image_put(m, code + 16, body, 8);
    image_put(m, body + 8, start, 8);
    image_put(m, body + 64, file, 8);
    image_put(m, body + 80, image_text(m, label), 8);
    image_put(m, body + 88, first << 1 | 1, 8);
    image_put(m, body + 120, lines, 8);
    image_put(m, body + 136, 2, 4);
    image_put(m, body + 144, index, 8);
    image_put(m, lines, first, 4);
    image_put(m, lines + 12, first + 1, 4);
    for (unsigned i = 0; i < 6; i++) {
        uint64_t word = 0;
        for (unsigned j = 0; j < 9; j++)
            word |= (uint64_t)(i * 9 + j < change ? 1 : 2) << (7 * j);
        image_put(m, index + (uint64_t)8 * i, word, 8);
    }
    for (unsigned block = 0; block < 2; block++) {
        unsigned begin = 54 + block * 512;
        uint64_t at = index + 48 + (uint64_t)80 * block, ranks = 0;
        image_put(m, at, change < begin ? 2 : 1, 4);
        for (unsigned i = 1; i < 8; i++)
            ranks |= (uint64_t)(change >= begin && change < begin + i * 64)
                     << (9 * (i - 1));
        image_put(m, at + 8, ranks, 8);
        if (change >= begin && change < begin + 512)
            image_put(m, at + 16 + (uint64_t)8 * ((change - begin) / 64),
                      (uint64_t)1 << ((change - begin) % 64), 8);
    }
    return code;
}

/* A control frame at a slot: `code` is code whose instruction executes, or a method. */
static inline void image_frame(struct image *m, unsigned slot, uint64_t flags,
                               uint64_t code, unsigned instruction)
{
    uint64_t frame = m->frames + (uint64_t)slot * 64, environment = image_new(m, 24) + 16;
    bool is_native = flags & 0x80;
    image_put(m, environment, flags, 8);
    image_put(m, frame + 32, environment, 8);
    if (is_native) {
        image_put(m, environment - 16, code, 8);
        return;
    }
    image_put(m, environment - 16, m->method, 8);
    uint64_t start = 0;
    for (unsigned i = 0; code && i < 8; i++) {
        uint64_t body = 0;
        memcpy(&body, m->bytes + (code + 16 - IMAGE_BASE), 8);
        start |= (uint64_t)m->bytes[body + 8 + i - IMAGE_BASE] << (8 * i);
    }
    image_put(m, frame, code ? start + ((uint64_t)instruction + 1) * 8 : 0, 8);
    image_put(m, frame + 16, code, 8);
}

static inline bool image_symbol(void *context, size_t module, struct str name,
                                uint64_t *address)
{
    struct image *m = context;
    if (module != 1)
        return false;
    *address = str_equal(name, STR("ruby_current_vm_ptr")) ? m->vm_at
               : str_equal(name, STR("ruby_version"))      ? m->version_at
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

/* An image with one thread whose stack has room for `slots` frames, all unused. */
static inline void image_init(struct image *m, const char *version, unsigned slots)
{
    memset(m, 0, sizeof *m);
    m->modules[0] = STR("/usr/bin/app");
    m->modules[1] = STR("/usr/lib/libruby-3.1.so.3.1.2");
    m->version_at = image_new(m, 16);
    memcpy(m->bytes + (m->version_at - IMAGE_BASE), version, strlen(version));
    m->vm_at = image_new(m, 8);
    m->vm = image_new(m, 512);
    m->ractor = image_new(m, 768);
    m->thread = image_new(m, 512);
    m->context = image_new(m, 64);
    uint64_t size = 1024 + (uint64_t)slots * 64, stack = image_new(m, size);
    m->frames = stack + 1024;
    image_put(m, m->vm_at, m->vm, 8);
    image_put(m, m->vm + 8, m->ractor + 568, 8);
    image_put(m, m->ractor + 568, m->vm + 8, 8);
    image_put(m, m->ractor + 304, m->thread, 8);
    image_put(m, m->ractor + 336, m->thread, 8);
    image_put(m, m->thread, m->ractor + 304, 8);
    image_put(m, m->thread + 40, m->context, 8);
    image_put(m, m->thread + 80, IMAGE_POINTER, 8);
    image_put(m, m->thread + 88, IMAGE_TID, 4);
    image_put(m, m->context, stack, 8);
    image_put(m, m->context + 8, size / 8, 8);
    image_put(m, m->context + 16, m->frames, 8);
    image_names(m);
}

/* Leaf first: a block, which the method Integer#times called, in work, which native code called
 * through a block of its own, and the main program. */
static inline void image_stack(struct image *m)
{
    uint64_t path = image_text(m, "app.rb"),
             absolute = image_text(m, "/home/user/app.rb");
    uint64_t file = image_pair(m, path, absolute), nil = image_pair(m, path, 8);
    uint64_t class_id = image_name(m, 60, "__classpath__");
    uint64_t times = image_method(m, "Integer", image_name(m, 61, "times"), class_id);
    image_frame(m, 0, IMAGE_BLOCK | IMAGE_FINISH,
                image_code(m, "block in work", file, 10, 20), 20);
    image_frame(m, 1, IMAGE_NATIVE, times, 0);
    uint64_t work = image_code(m, "work", file, 20, 300);
    uint64_t variables = image_new(m, 40), definition = image_new(m, 40);
    uint64_t method = image_method(m, "Counter", image_name(m, 62, "called"), class_id);
    image_put(m, method + 16, definition, 8);
    image_put(m, definition + 8, work, 8);
    image_put(m, variables, 0x201a, 8);
    image_put(m, variables + 8, method, 8);
    m->method = variables;
    image_frame(m, 2, IMAGE_METHOD | IMAGE_FINISH, work, 299);
    m->method = 0;
    image_frame(m, 3, IMAGE_BLOCK_OF_NATIVE, 0, 0);
    image_frame(m, 4, IMAGE_METHOD | IMAGE_FINISH, image_code(m, "<main>", nil, 30, 580),
                590);
    image_frame(m, 5, IMAGE_DUMMY, 0, 0);
}

#endif
