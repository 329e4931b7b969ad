/* SPDX-License-Identifier: Apache-2.0 */
/* Memory images of node 20 processes (V8 11.3), for tests: functions, scripts, strings, and a stack
 * whose frames are connected by the frame pointer. Offsets and types are those of the variables
 * v8dbg_* of node 20.20.2, as numbers. */
#ifndef STOKE_TESTS_NODE_IMAGE_H
#define STOKE_TESTS_NODE_IMAGE_H

#include "interpreter/node.h"
#include <string.h>

#define IMAGE_SIZE ((size_t)128 << 10)
#define IMAGE_FRAMES 8
#define IMAGE_FRAME_SIZE 96
#define IMAGE_PC 0x18cfd1c /* of the innermost frame; each caller's is 16 higher */

/* Types of objects. */
#define IMAGE_ONE_BYTE 40
#define IMAGE_TWO_BYTE 32
#define IMAGE_CONS 41
#define IMAGE_EXTERNAL 42
#define IMAGE_SLICED 43
#define IMAGE_THIN 45
#define IMAGE_ODDBALL 131
#define IMAGE_SCRIPT 167
#define IMAGE_ARRAY 175
#define IMAGE_BYTES 190
#define IMAGE_BYTECODE 191
#define IMAGE_CODE 245
#define IMAGE_SCOPE 261
#define IMAGE_SHARED 262
#define IMAGE_FUNCTION 2066
#define IMAGE_CONTEXT 248

struct image_variable {
    const char *name;
    uint32_t value;
};

static const struct image_variable image_variables[] = {
    {"_ZN2v88internal7Version6major_E", 11},
    {"_ZN2v88internal7Version6minor_E", 3},
    {"_ZN2v88internal7Version6build_E", 244},
    {"v8dbg_TaggedSize", 8},
    {"v8dbg_SmiShiftSize", 31},
    {"v8dbg_class_Map__instance_type__uint16_t", 12},
    {"v8dbg_class_JSFunction__shared__SharedFunctionInfo", 24},
    {"v8dbg_class_SharedFunctionInfo__function_data__Object", 8},
    {"v8dbg_class_SharedFunctionInfo__name_or_scope_info__Object", 16},
    {"v8dbg_class_SharedFunctionInfo__script_or_debug_info__HeapObject", 32},
    {"v8dbg_class_SharedFunctionInfo__flags__int", 48},
    {"v8dbg_class_Script__name__Object", 16},
    {"v8dbg_class_Script__line_ends__Object", 56},
    {"v8dbg_class_String__length__int32_t", 12},
    {"v8dbg_class_SeqOneByteString__chars__char", 16},
    {"v8dbg_class_SeqTwoByteString__chars__char", 16},
    {"v8dbg_class_ConsString__first__String", 16},
    {"v8dbg_class_ConsString__second__String", 24},
    {"v8dbg_class_SlicedString__parent__String", 16},
    {"v8dbg_class_SlicedString__offset__SMI", 24},
    {"v8dbg_class_ThinString__actual__String", 16},
    {"v8dbg_class_ExternalString__resource__Object", 16},
    {"v8dbg_class_FixedArrayBase__length__SMI", 8},
    {"v8dbg_class_FixedArray__data__uintptr_t", 16},
    {"v8dbg_scopeinfo_idx_ncontextlocals", 2},
    {"v8dbg_scopeinfo_idx_first_vars", 3},
    {"v8dbg_type_SharedFunctionInfo__SHARED_FUNCTION_INFO_TYPE", IMAGE_SHARED},
    {"v8dbg_type_Script__SCRIPT_TYPE", IMAGE_SCRIPT},
    {"v8dbg_type_BytecodeArray__BYTECODE_ARRAY_TYPE", IMAGE_BYTECODE},
    {"v8dbg_type_ScopeInfo__SCOPE_INFO_TYPE", IMAGE_SCOPE},
    {"v8dbg_type_ByteArray__BYTE_ARRAY_TYPE", IMAGE_BYTES},
    {"v8dbg_type_InterpreterData__INTERPRETER_DATA_TYPE", 159},
    {"v8dbg_FirstNonstringType", 128},
    {"v8dbg_off_fp_context", (uint32_t)-8},
    {"v8dbg_off_fp_function", (uint32_t)-16},
    {"v8dbg_off_fp_bytecode_array", (uint32_t)-32},
    {"v8dbg_off_fp_bytecode_offset", (uint32_t)-40},
};

#define IMAGE_VARIABLES (sizeof image_variables / sizeof *image_variables)

/* Fields of the image: see memory_image.h. */
#define IMAGE_FIELDS                                                             \
    uint64_t variables;            /* where their values are */                  \
    const char *absent;            /* a variable that is not defined; or NULL */ \
    uint64_t stack, frame;         /* lowest address; the innermost frame */     \
    size_t frames;                 /* that were made */                          \
    uint64_t shared[IMAGE_FRAMES]; /* of the functions */

#include "memory_image.h"

static inline uint64_t image_number(uint32_t value)
{
    return (uint64_t)value << 32;
}

/* An object with a map of its own; a tagged pointer. */
static inline uint64_t image_object(struct image *m, uint32_t type, size_t size)
{
    uint64_t object = image_new(m, size), map = image_new(m, 16);
    image_put(m, map + 12, type, 2);
    image_put(m, object, map | 1, 8);
    return object | 1;
}

static inline void image_set(struct image *m, uint64_t object, uint32_t offset,
                             uint64_t value)
{
    image_put(m, object - 1 + offset, value, 8);
}

static inline uint64_t image_string(struct image *m, uint32_t type, size_t length)
{
    uint64_t s = image_object(m, type, 32);
    image_put(m, s - 1 + 12, length, 4);
    return s;
}

/* A string of Latin-1. */
static inline uint64_t image_text(struct image *m, const char *text)
{
    size_t length = strlen(text);
    uint64_t s = image_object(m, IMAGE_ONE_BYTE, 16 + length);
    image_put(m, s - 1 + 12, length, 4);
    memcpy(m->bytes + (s - 1 + 16 - IMAGE_BASE), text, length);
    return s;
}

/* A string of two bytes per character. */
static inline uint64_t image_wide(struct image *m, const uint16_t *text, size_t length)
{
    uint64_t s = image_object(m, IMAGE_TWO_BYTE, 16 + 2 * length);
    image_put(m, s - 1 + 12, length, 4);
    for (size_t i = 0; i < length; i++)
        image_put(m, s - 1 + 16 + 2 * i, text[i], 2);
    return s;
}

/* A string that is another one, or two. */
static inline uint64_t image_string_of(struct image *m, uint32_t type, size_t length,
                                       uint64_t first, uint64_t second)
{
    uint64_t s = image_string(m, type, length);
    image_set(m, s, 16, first);
    image_set(m, s, 24, second);
    return s;
}

static inline uint64_t image_script(struct image *m, uint32_t id, uint64_t name,
                                    uint64_t source)
{
    uint64_t script = image_object(m, IMAGE_SCRIPT, 104);
    image_set(m, script, 8, source);
    image_set(m, script, 16, name);
    image_set(m, script, 24, image_number(0));
    image_set(m, script, 64, image_number(id));
    return script;
}

/* Bytecode with a table of positions: pairs of an offset and a position. */
static inline uint64_t image_bytecode(struct image *m, const int (*positions)[2],
                                      size_t count)
{
    uint64_t bytecode = image_object(m, IMAGE_BYTECODE, 128);
    uint64_t table = image_object(m, IMAGE_BYTES, 16 + count * 8);
    uint64_t at = table - 1 + 16;
    int64_t code = -1, position = 0;
    for (size_t i = 0; i < count; i++) {
        int64_t moved = (int64_t)(positions[i][1] + 1) * 2, steps[2];
        steps[0] = positions[i][0] - code;
        steps[1] = moved - position;
        if (i % 2) /* an expression */
            steps[0] = -steps[0] - 1;
        for (unsigned k = 0; k < 2; k++) {
            uint64_t bits = (uint64_t)steps[k] * 2 ^ (uint64_t)(steps[k] >> 63);
            for (; bits > 127; bits >>= 7)
                image_put(m, at++, bits | 128, 1);
            image_put(m, at++, bits, 1);
        }
        code = positions[i][0];
        position = moved;
    }
    image_set(m, table, 8, image_number((uint32_t)(at - (table - 1 + 16))));
    image_set(m, bytecode, 32, table);
    return bytecode;
}

/* What functions have in common; `name` is a string, or 0 with the inferred name. */
static inline uint64_t image_shared(struct image *m, uint64_t name, uint64_t inferred,
                                    uint64_t script, uint64_t data, uint32_t start)
{
    uint64_t shared = image_object(m, IMAGE_SHARED, 64);
    uint64_t scope = image_object(m, IMAGE_SCOPE, 128);
    image_set(m, scope, 24, image_number(1)); /* a variable: its name and a number */
    image_set(m, scope, 32, image_text(m, "variable"));
    image_set(m, scope, 40, image_number(77));
    image_set(m, scope, 48, name ? name : image_text(m, ""));
    image_set(m, scope, 56, image_number(UINT32_MAX));
    image_set(m, scope, 64, inferred ? inferred : image_object(m, IMAGE_ODDBALL, 16));
    image_set(m, scope, 72, image_number(start));
    image_set(m, scope, 80, image_number(start + 10));
    image_set(m, shared, 8, data);
    image_set(m, shared, 16, scope);
    image_set(m, shared, 32, script);
    image_put(m, shared - 1 + 52, (uint32_t)m->used, 4);
    return shared;
}

/* Adds a frame, which is the caller of the one before. `bytecode` 0: compiled code. */
static inline void image_frame(struct image *m, uint64_t shared, uint64_t bytecode,
                               uint32_t offset)
{
    uint64_t frame = m->frame + m->frames * IMAGE_FRAME_SIZE;
    uint64_t function = shared ? image_object(m, IMAGE_FUNCTION, 64) : image_number(9);
    if (shared)
        image_set(m, function, 24, shared);
    image_put(m, frame - 8, shared ? image_object(m, IMAGE_CONTEXT, 16) : 2, 8);
    image_put(m, frame - 16, function, 8);
    image_put(m, frame - 32, bytecode, 8);
    image_put(m, frame - 40, bytecode ? image_number(offset + 53) : bytecode, 8);
    image_put(m, frame + 8, IMAGE_PC + 16 * (m->frames + 1), 8);
    if (m->frames)
        image_put(m, frame - IMAGE_FRAME_SIZE, frame, 8);
    m->shared[m->frames++] = shared;
}

static inline bool image_symbol(void *context, size_t module, struct str name,
                                uint64_t *address)
{
    const struct image *m = context;
    for (size_t i = 0; module == 0 && i < IMAGE_VARIABLES; i++) {
        if (!str_equal(name, str_of(image_variables[i].name)) ||
            (m->absent && str_equal(name, str_of(m->absent))))
            continue;
        *address = m->variables + i * 4;
        return true;
    }
    return false;
}

static inline struct interpreter_access image_access(struct image *m)
{
    return (struct interpreter_access){.context = m,
                                       .machine = ARCH_X86_64,
                                       .modules = m->modules,
                                       .module_count = 1,
                                       .read = image_read,
                                       .symbol = image_symbol};
}

/* Sets a variable, by its name without v8dbg_. */
static inline void image_variable(struct image *m, const char *name, uint32_t value)
{
    for (size_t i = 0; i < IMAGE_VARIABLES; i++)
        if (strstr(image_variables[i].name, name))
            image_put(m, m->variables + i * 4, value, 4);
}

static inline void image_init(struct image *m)
{
    memset(m, 0, sizeof *m);
    m->modules[0] = STR("/usr/bin/node");
    m->variables = image_new(m, IMAGE_VARIABLES * 4);
    for (size_t i = 0; i < IMAGE_VARIABLES; i++)
        image_put(m, m->variables + i * 4, image_variables[i].value, 4);
    m->stack = image_new(m, 256 + (size_t)IMAGE_FRAMES * IMAGE_FRAME_SIZE);
    m->frame = m->stack + 256;
}

/* Leaf first: an interpreted function with a name in Chinese, a frame of native code, a compiled
 * method, a builtin, and the script. */
static inline void image_stack(struct image *m)
{
    static const uint16_t chinese[] = {0x53d6, 0x4e94};
    static const int positions[][2] = {{0, 4}, {3, 12}, {200, 30}};
    /* CR and LF are in different parts */
    uint64_t source =
        image_string_of(m, IMAGE_CONS, 44, image_text(m, "one\ntwo\r"),
                        image_text(m, "\nthree\rfour\nfive ..................."));
    uint64_t name = image_text(m, "file:///home/user/app.js");
    uint64_t script = image_script(m, 7, name, source);
    uint64_t bytecode = image_bytecode(m, positions, 3);
    uint64_t code = image_object(m, IMAGE_CODE, 64);
    image_frame(m, image_shared(m, image_wide(m, chinese, 2), 0, script, bytecode, 4),
                bytecode, 3);
    image_frame(m, 0, 0, 0);
    image_frame(m, image_shared(m, 0, image_text(m, "Counter.run"), script, code, 16), 0,
                0);
    uint64_t builtin = image_object(m, IMAGE_SHARED, 64);
    image_set(m, builtin, 8, image_number(400));
    image_set(m, builtin, 16, image_text(m, "map"));
    image_set(m, builtin, 32, image_object(m, IMAGE_ODDBALL, 16));
    image_frame(m, builtin, 0, 0);
    image_frame(m, image_shared(m, 0, 0, script, bytecode, 0), bytecode, 250);
}

#endif
