/* SPDX-License-Identifier: Apache-2.0 */
/* Memory images of PHP 8.2 processes, for tests: the globals, the table of modules, and frames.
 * Offsets are those of the headers of 8.2, as numbers. */
#ifndef STOKE_TESTS_PHP_IMAGE_H
#define STOKE_TESTS_PHP_IMAGE_H

#include "interpreter/php.h"
#include <string.h>

#define IMAGE_SIZE ((size_t)64 << 10)
#define IMAGE_TID 4242

#define IMAGE_TOP 0x20000
#define IMAGE_GLOBALS_FRAME 488

/* Fields of the image: see memory_image.h. */
#define IMAGE_FIELDS                                               \
    uint64_t globals, modules_at; /* symbols; 0: not defined */    \
    bool has_threads;             /* it is a build with threads */ \
    uint64_t last;                /* the outermost frame that was made */

#include "memory_image.h"

static inline uint64_t image_text(struct image *m, const char *text)
{
    uint64_t at = image_new(m, strlen(text) + 1);
    memcpy(m->bytes + (at - IMAGE_BASE), text, strlen(text) + 1);
    return at;
}

/* A zend_string. */
static inline uint64_t image_string(struct image *m, const char *text)
{
    uint64_t at = image_new(m, 24 + strlen(text) + 1);
    image_put(m, at + 16, strlen(text), 8);
    memcpy(m->bytes + (at + 24 - IMAGE_BASE), text, strlen(text));
    return at;
}

/* A function: of native code without a file. `name` and `of` may be NULL. */
static inline uint64_t image_code(struct image *m, const char *name, const char *of,
                                  const char *file, uint8_t type)
{
    uint64_t code = image_new(m, 248);
    image_put(m, code, type, 1);
    if (name)
        image_put(m, code + 8, image_string(m, name), 8);
    if (of) {
        uint64_t class = image_new(m, 64);
        image_put(m, class + 8, image_string(m, of), 8);
        image_put(m, code + 16, class, 8);
    }
    if (file)
        image_put(m, code + 152, image_string(m, file), 8);
    return code;
}

/* A frame that is called by the next one that is made. */
static inline void image_frame(struct image *m, uint64_t code, uint32_t line,
                               uint32_t flags)
{
    uint64_t frame = image_new(m, 96), instruction = image_new(m, 32);
    image_put(m, instruction + 24, line, 4);
    image_put(m, frame, instruction, 8);
    image_put(m, frame + 24, code, 8);
    image_put(m, frame + 40, flags | 8, 4);
    image_put(m, m->last ? m->last + 48 : m->globals + IMAGE_GLOBALS_FRAME, frame, 8);
    m->last = frame;
}

static inline bool image_symbol(void *context, size_t module, struct str name,
                                uint64_t *address)
{
    struct image *m = context;
    if (module != 1)
        return false;
    *address = str_equal(name, STR("executor_globals"))          ? m->globals
               : str_equal(name, STR("module_registry"))         ? m->modules_at
               : str_equal(name, STR("executor_globals_offset")) ? m->has_threads
                                                                 : 0;
    return *address != 0;
}

static inline struct interpreter_access image_access(struct image *m)
{
    return (struct interpreter_access){.context = m,
                                       .machine = ARCH_X86_64,
                                       .first_tid = IMAGE_TID,
                                       .modules = m->modules,
                                       .module_count = 2,
                                       .read = image_read,
                                       .symbol = image_symbol};
}

/* An image without frames. */
static inline void image_init(struct image *m, const char *version)
{
    memset(m, 0, sizeof *m);
    m->modules[0] = STR("/usr/sbin/server");
    m->modules[1] = STR("/usr/lib/libphp8.2.so");
    m->globals = image_new(m, 1800);
    m->modules_at = image_new(m, 56);
    uint64_t elements = image_new(m, 3 * 32);
    const char *const names[] = {"core", "standard"};
    image_put(m, m->modules_at + 16, elements, 8);
    image_put(m, m->modules_at + 24, 2, 4);
    for (unsigned i = 0; i < 2; i++) {
        uint64_t module = image_new(m, 168);
        image_put(m, module + 32, image_text(m, names[i]), 8);
        image_put(m, module + 88, image_text(m, i ? version : "1.0"), 8);
        image_put(m, elements + (uint64_t)32 * i, module, 8);
    }
}

/* Leaf first: strlen, called by a closure that array_map called in a method, which code of eval()
 * called; a frame without a function; an included file; the main program. */
static inline void image_stack(struct image *m)
{
    uint64_t closure = image_code(m, "{closure}", NULL, "/srv/app.php", PHP_TYPE_USER);
    image_frame(m, image_code(m, "strlen", NULL, NULL, PHP_TYPE_NATIVE), 0, 0);
    image_frame(m, closure, 12, IMAGE_TOP);
    image_frame(m, image_code(m, "array_map", NULL, NULL, PHP_TYPE_NATIVE), 0, 0);
    image_frame(m, image_code(m, "add", "Counter", "/srv/app.php", PHP_TYPE_USER), 20, 0);
    image_frame(
        m, image_code(m, NULL, NULL, "/srv/inc.php(3) : eval()'d code", PHP_TYPE_EVAL), 1,
        0);
    image_frame(m, 0, 0, 0);
    image_frame(m, image_code(m, NULL, NULL, "/srv/inc.php", PHP_TYPE_USER), 3, 0);
    image_frame(m, image_code(m, NULL, NULL, "/srv/index.php", PHP_TYPE_USER), 7,
                IMAGE_TOP);
}

#endif
