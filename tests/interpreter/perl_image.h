/* SPDX-License-Identifier: Apache-2.0 */
/* Memory images of Perl processes, for tests: the interpreter, arrays of contexts, code objects.
 * Offsets are those of the headers of 5.36 as numbers, and of older versions where they differ. */
#ifndef STOKE_TESTS_PERL_IMAGE_H
#define STOKE_TESTS_PERL_IMAGE_H

#include "interpreter/perl.h"
#include <string.h>

#define IMAGE_SIZE ((size_t)64 << 10)
#define IMAGE_TID 4242
#define IMAGE_CONTEXTS 16 /* of an array */

/* Fields of the image: see memory_image.h. */
#define IMAGE_FIELDS                                                    \
    uint64_t state;            /* the interpreter */                    \
    uint64_t version, pointer; /* of symbols: three bytes; to `state`*/ \
    unsigned minor;                                                     \
    bool is_single; /* a build without threads */                       \
    uint64_t array; /* the innermost one */

#include "memory_image.h"

static inline uint64_t image_text(struct image *m, const char *text)
{
    uint64_t at = image_new(m, strlen(text) + 1);
    memcpy(m->bytes + (at - IMAGE_BASE), text, strlen(text) + 1);
    return at;
}

/* A shared name. */
static inline uint64_t image_name(struct image *m, const char *text, bool is_utf8)
{
    uint64_t at = image_new(m, 8 + strlen(text) + 2);
    image_put(m, at + 4, strlen(text), 4);
    memcpy(m->bytes + (at + 8 - IMAGE_BASE), text, strlen(text));
    image_put(m, at + 8 + strlen(text) + 1, is_utf8, 1);
    return at;
}

/* A package: a hash with names behind its array, or in its body from 5.36 on. */
static inline uint64_t image_package(struct image *m, const char *name)
{
    uint64_t hash = image_new(m, 24), body = image_new(m, 96), array = image_new(m, 128);
    image_put(m, hash, body, 8);
    image_put(m, hash + 12, 12 | 0x02000000, 4);
    image_put(m, hash + 16, array, 8);
    image_put(m, body + 24, 7, 8);
    image_put(m, m->minor >= 36 ? body + 32 : array + 64, image_name(m, name, false), 8);
    return hash;
}

static inline uint64_t image_glob(struct image *m, uint64_t name, uint64_t package)
{
    uint64_t glob = image_new(m, 24), body = image_new(m, 64);
    image_put(m, glob, body, 8);
    image_put(m, glob + 12, 9, 4);
    image_put(m, body + 32, name, 8);
    image_put(m, body + 40, package, 8);
    return glob;
}

/* A function; of a package that is NULL: it has a name instead of a glob. */
static inline uint64_t image_code(struct image *m, const char *package, uint64_t name,
                                  const char *file)
{
    uint64_t code = image_new(m, 24), body = image_new(m, 128);
    image_put(m, code, body, 8);
    image_put(m, code + 12, 13, 4);
    image_put(m, body + 48, image_new(m, 64), 8);
    image_put(m, body + 64, image_text(m, file), 8);
    image_put(m, body + 92, package ? 0 : 0x8000, 4);
    image_put(m, body + 56,
              package ? image_glob(m, name, image_package(m, package)) : name, 8);
    if (!package)
        image_put(m, body + 32, image_package(m, "Named"), 8);
    return code;
}

static inline uint64_t image_statement(struct image *m, const char *file, uint32_t line)
{
    uint64_t at = image_new(m, 88);
    char glob[64] = "_<";
    strcat(glob, file);
    image_put(m, at + 36, line, 4);
    image_put(m, at + 48,
              m->is_single ? image_glob(m, image_name(m, glob, false), 0)
                           : image_text(m, file),
              8);
    return at;
}

static inline uint64_t image_contexts_at(const struct image *m)
{
    return m->state + (m->minor >= 34 ? 224 : 240);
}

static inline void image_statement_now(struct image *m, uint64_t statement)
{
    image_put(m, m->state + (m->minor >= 34 ? 208 : 224), statement, 8);
}

/* Begins an array of contexts, which native code of the one before does. */
static inline void image_array(struct image *m)
{
    uint64_t array = image_new(m, 56);
    image_put(m, array + 8, image_new(m, (size_t)IMAGE_CONTEXTS * 104), 8);
    image_put(m, array + 16, m->array, 8);
    image_put(m, array + 32, UINT32_MAX, 4);
    image_put(m, image_contexts_at(m), array, 8);
    m->array = array;
}

/* Adds a context: its flags, the statement of its caller, the code, whether it returns to an
 * operation. */
static inline void image_context(struct image *m, uint8_t flags, uint64_t statement,
                                 uint64_t code, bool returns)
{
    uint64_t first = memory_get_u64(m->bytes + (m->array + 8 - IMAGE_BASE));
    uint32_t last = memory_get_u32(m->bytes + (m->array + 32 - IMAGE_BASE)) + 1;
    uint64_t at = first + (uint64_t)last * (m->minor >= 32 ? 104 : 96);
    image_put(m, m->array + 32, last, 4);
    image_put(m, at, flags, 1);
    image_put(m, at + 16, statement, 8);
    image_put(m, at + 48, returns ? IMAGE_BASE : 0, 8);
    image_put(m, at + (m->minor >= 32 ? 72 : 64), code, 8);
}

static inline bool image_symbol(void *context, size_t module, struct str name,
                                uint64_t *address)
{
    struct image *m = context;
    if (module != 1)
        return false;
    *address = 0;
    for (unsigned i = 0; i < 3; i++)
        if (str_equal(name, str_of(i == 0   ? "PL_revision"
                                   : i == 1 ? "PL_version"
                                            : "PL_subversion")))
            *address = m->version + i;
    if (str_equal(name, STR("PL_curinterp")) && !m->is_single)
        *address = m->pointer;
    if (str_equal(name, STR("PL_curcop")) && m->is_single)
        *address = m->state + (m->minor >= 34 ? 208 : 224);
    if (str_equal(name, STR("PL_curstackinfo")) && m->is_single)
        *address = image_contexts_at(m);
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

/* An image without contexts. */
static inline void image_init(struct image *m, unsigned minor, bool is_single)
{
    memset(m, 0, sizeof *m);
    m->modules[0] = STR("/usr/sbin/server");
    m->modules[1] = STR("/usr/lib/libperl.so.5");
    m->minor = minor;
    m->is_single = is_single;
    m->version = image_new(m, 3);
    image_put(m, m->version, 5 | minor << 8 | 3 << 16, 3);
    m->state = image_new(m, 2048);
    m->pointer = image_new(m, 8);
    image_put(m, m->pointer, m->state, 8);
    image_array(m);
}

#define IMAGE_RETURNS true

/* A program that requires a file; its function sorts with a block, which calls a function in a
 * loop and a try; that executes a text, which calls a method. */
static inline void image_stack(struct image *m)
{
    uint64_t sorts = image_code(m, "main", image_name(m, "sorts", false), "/srv/lib.pl");
    uint64_t compare = image_code(m, "main",
                                  image_name(m,
                                             "vergr\xc3\xb6\xc3\x9f"
                                             "ern",
                                             true),
                                  "/srv/lib.pl");
    uint64_t add = image_code(m, "Counter",
                              image_name(m,
                                         "gr\xf6\xdf"
                                         "er",
                                         false),
                              "/srv/Counter.pm");
    uint64_t named = image_code(m, NULL, image_name(m, "inner", false), "(eval 12)");
    image_context(m, 11, image_statement(m, "/srv/app.pl", 7), 0, IMAGE_RETURNS);
    image_context(m, 9, image_statement(m, "/srv/lib.pl", 3), sorts, IMAGE_RETURNS);
    image_array(m);
    image_context(m, 0, image_statement(m, "/srv/lib.pl", 20), 0, false);
    image_context(m, 9, image_statement(m, "/srv/lib.pl", 21), compare, IMAGE_RETURNS);
    image_context(m, 4, image_statement(m, "/srv/lib.pl", 98), 0, IMAGE_RETURNS);
    image_context(m, 11 | 0x40, image_statement(m, "/srv/lib.pl", 99), 0, IMAGE_RETURNS);
    image_context(m, 11, image_statement(m, "/srv/lib.pl", 31), 0, IMAGE_RETURNS);
    image_context(m, 9, image_statement(m, "(eval 12)", 2), named, IMAGE_RETURNS);
    image_context(m, 9, image_statement(m, "(eval 12)", 4), add, false);
    image_context(m, 9 | 0x80, image_statement(m, "/srv/Counter.pm", 97), add, false);
    image_statement_now(m, image_statement(m, "/srv/Counter.pm", 12));
}

#endif
