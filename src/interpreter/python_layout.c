/* SPDX-License-Identifier: Apache-2.0 */
#include "interpreter/python_layout.h"

#define NO PYTHON_ABSENT

/* Common to 3.8 to 3.11: strings with a wchar_t form; and to 3.12. */
#define OBJECTS .object_type = 8, .bytes_size = 16, .bytes_data = 32, .string_length = 16
#define STRINGS_3_8 .string_state = 32, .string_ascii = 48, .string_compact = 72
#define STRINGS_3_12 .string_state = 32, .string_ascii = 40, .string_compact = 56

/* 3.8 to 3.10: frames are objects; the line table counts in bytes. */
#define FRAMES_3_8                                                                    \
    .runtime_interpreters = 32, .interpreter_next = 0, .interpreter_threads = 8,      \
    .interpreter_gil = NO, .thread_next = 8, .thread_frame = 24, .cframe_frame = NO,  \
    .thread_pointer = 176, .thread_tid = NO, .frame_code = 32, .frame_previous = 24,  \
    .frame_owner = NO, .frame_is_entry = NO, .frame_copy = NO, .code_first_line = 40, \
    .code_file = 104, .code_name = 112, .code_qualified = NO, .code_lines = 120,      \
    .code_start = NO, .code_copies = NO, OBJECTS, STRINGS_3_8

static const struct python_layout tables[] = {
    {.minor = 8, FRAMES_3_8, .runtime_holder = 1368, .frame_instruction = 104},
    {.minor = 9, FRAMES_3_8, .runtime_holder = 568, .frame_instruction = 104},
    {.minor = 10, FRAMES_3_8, .runtime_holder = 568, .frame_instruction = 96},
    {.minor = 11,
     .runtime_interpreters = 40,
     .runtime_holder = 576,
     .interpreter_next = 0,
     .interpreter_threads = 16,
     .interpreter_gil = NO,
     .thread_next = 8,
     .thread_frame = 56,
     .cframe_frame = 8,
     .thread_pointer = 152,
     .thread_tid = 160,
     .frame_code = 32,
     .frame_previous = 48,
     .frame_instruction = 56,
     .frame_owner = NO,
     .frame_is_entry = 68,
     .frame_copy = NO,
     .code_first_line = 72,
     .code_file = 112,
     .code_name = 120,
     .code_qualified = 128,
     .code_lines = 136,
     .code_start = 184,
     .code_copies = NO,
     OBJECTS,
     STRINGS_3_8},
    {.minor = 12,
     .runtime_interpreters = 40,
     .runtime_holder = NO,
     .interpreter_next = 0,
     .interpreter_threads = 72,
     .interpreter_gil = 384,
     .thread_next = 8,
     .thread_frame = 56,
     .cframe_frame = 0,
     .thread_pointer = 136,
     .thread_tid = 144,
     .frame_code = 0,
     .frame_previous = 8,
     .frame_instruction = 56,
     .frame_owner = 70,
     .frame_is_entry = NO,
     .frame_copy = NO,
     .code_first_line = 68,
     .code_file = 112,
     .code_name = 120,
     .code_qualified = 128,
     .code_lines = 136,
     .code_start = 192,
     .code_copies = NO,
     OBJECTS,
     STRINGS_3_12},
};

bool python_layout_table(uint32_t minor, struct python_layout *layout)
{
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++) {
        if (tables[i].minor == minor) {
            *layout = tables[i];
            return true;
        }
    }
    return false;
}

/* --- Debug offsets ------------------------------------------------------------------ */

/* The groups of _Py_DebugOffsets up to the last that is needed. Each begins with the size of
 * its structure. */
enum group {
    GROUP_RUNTIME,
    GROUP_INTERPRETER,
    GROUP_THREAD,
    GROUP_FRAME,
    GROUP_CODE,
    GROUP_OBJECT,
    GROUP_TYPE,
    GROUP_TUPLE,
    GROUP_LIST,
    GROUP_SET, /* from 3.14 */
    GROUP_DICT,
    GROUP_FLOAT,
    GROUP_LONG,
    GROUP_BYTES,
    GROUP_STRING,
    GROUPS,
};

/* Cookie, version, free_threaded: 8 bytes each. */
#define HEADER 24
#define OFFSETS_MAX 128

/* A number of the description: a field of the layout. */
struct described {
    enum group group;
    unsigned number; /* in the group; 0 is the size */
    size_t field;    /* offset in struct python_layout */
};

struct description {
    unsigned sizes[GROUPS]; /* numbers in each group */
    const struct described *more;
    size_t more_count;
};

#define FIELD(group, number, name)                                  \
    {                                                               \
        GROUP_##group, number, offsetof(struct python_layout, name) \
    }

static const struct described described[] = {
    FIELD(RUNTIME, 2, runtime_interpreters),
    FIELD(INTERPRETER, 2, interpreter_next),
    FIELD(INTERPRETER, 3, interpreter_threads),
    FIELD(THREAD, 2, thread_next),
    FIELD(THREAD, 4, thread_frame),
    FIELD(THREAD, 5, thread_pointer),
    FIELD(THREAD, 6, thread_tid),
    FIELD(FRAME, 1, frame_previous),
    FIELD(FRAME, 2, frame_code),
    FIELD(FRAME, 3, frame_instruction),
    FIELD(FRAME, 5, frame_owner),
    FIELD(CODE, 1, code_file),
    FIELD(CODE, 2, code_name),
    FIELD(CODE, 3, code_qualified),
    FIELD(CODE, 4, code_lines),
    FIELD(CODE, 5, code_first_line),
    FIELD(CODE, 9, code_start),
    FIELD(OBJECT, 1, object_type),
    FIELD(BYTES, 1, bytes_size),
    FIELD(BYTES, 2, bytes_data),
    FIELD(STRING, 1, string_state),
    FIELD(STRING, 2, string_length),
    FIELD(STRING, 3, string_ascii),
};
static const struct described described_13[] = {FIELD(INTERPRETER, 8, interpreter_gil)};
static const struct described described_14[] = {FIELD(INTERPRETER, 9, interpreter_gil),
                                                FIELD(FRAME, 7, frame_copy),
                                                FIELD(CODE, 10, code_copies)};

static const struct description descriptions[] = {
    {{3, 13, 9, 6, 10, 2, 4, 3, 3, 0, 3, 2, 3, 3, 4}, described_13, 1},
    {{3, 16, 9, 8, 11, 2, 4, 3, 3, 4, 3, 2, 3, 3, 4}, described_14, 3},
};

/* Copies the numbers to the layout; false if one is not in its structure. */
static bool take(const struct description *d, const struct described *fields,
                 size_t count, const uint64_t *numbers, struct python_layout *layout)
{
    size_t starts[GROUPS + 1] = {0};
    for (size_t i = 0; i < GROUPS; i++)
        starts[i + 1] = starts[i] + d->sizes[i];
    for (size_t i = 0; i < count; i++) {
        size_t start = starts[fields[i].group];
        uint64_t value = numbers[start + fields[i].number], size = numbers[start];
        /* asciiobject_size is at most the size of the structure */
        if (value > size || size > PYTHON_OFFSET_MAX)
            return false;
        uint32_t offset = (uint32_t)value;
        memcpy((char *)layout + fields[i].field, &offset, sizeof offset);
    }
    return numbers[starts[GROUP_CODE]] <= PYTHON_CODE_MAX;
}

bool python_layout_debug_offsets(struct memory *m, uint64_t runtime, uint32_t minor,
                                 struct python_layout *layout, struct error *err)
{
    const struct description *d = &descriptions[minor - 13];
    unsigned char bytes[HEADER + OFFSETS_MAX * 8];
    uint64_t numbers[OFFSETS_MAX];
    size_t count = 0;
    for (size_t i = 0; i < GROUPS; i++)
        count += d->sizes[i];
    if (!memory_read(m, runtime, bytes, HEADER + count * 8))
        return error_set(err, "the runtime of Python 3.%u is not readable", minor);
    if (memcmp(bytes, "xdebugpy", 8) != 0 ||
        memory_get_u64(bytes + 8) >> 16 != (0x300 | minor))
        return error_set(err, "the runtime of Python 3.%u has no debug offsets", minor);
    for (size_t i = 0; i < count; i++)
        numbers[i] = memory_get_u64(bytes + HEADER + i * 8);
    *layout = (struct python_layout){.minor = minor,
                                     .free_threaded = memory_get_u64(bytes + 16) != 0,
                                     .runtime_holder = NO,
                                     .cframe_frame = NO,
                                     .frame_is_entry = NO,
                                     .frame_copy = NO,
                                     .code_copies = NO};
    if (!take(d, described, sizeof described / sizeof *described, numbers, layout) ||
        !take(d, d->more, d->more_count, numbers, layout))
        return error_set(err, "the debug offsets of Python 3.%u are not valid", minor);
    /* PyCompactUnicodeObject adds the length and address of the UTF-8 form */
    layout->string_compact = layout->string_ascii + 16;
    if (!layout->free_threaded || layout->code_copies == 0)
        layout->frame_copy = layout->code_copies = NO;
    if (layout->free_threaded)
        layout->interpreter_gil = NO;
    return true;
}

/* --- The type's own list ------------------------------------------------------------ */

/* PyTypeObject.tp_members; PyMemberDef: name, type, offset, flags, doc. */
#define TYPE_MEMBERS 240
#define MEMBER_SIZE 40
#define MEMBER_OFFSET 16
#define MEMBERS_MAX 64

static const struct {
    const char *name;
    size_t field;
} members[] = {
    {"co_firstlineno", offsetof(struct python_layout, code_first_line)},
    {"co_filename", offsetof(struct python_layout, code_file)},
    {"co_name", offsetof(struct python_layout, code_name)},
    {"co_qualname", offsetof(struct python_layout, code_qualified)},
    {"co_linetable", offsetof(struct python_layout, code_lines)},
    {"co_lnotab", offsetof(struct python_layout, code_lines)},
};

static size_t take_member(const char *name, uint64_t offset, struct python_layout *layout)
{
    for (size_t i = 0; i < sizeof members / sizeof *members; i++) {
        if (strcmp(name, members[i].name) != 0 || offset > PYTHON_CODE_MAX - 8)
            continue;
        uint32_t value = (uint32_t)offset;
        memcpy((char *)layout + members[i].field, &value, sizeof value);
        return 1;
    }
    return 0;
}

size_t python_layout_members(struct memory *m, uint64_t code_type,
                             struct python_layout *layout)
{
    size_t count = 0;
    struct memory quiet = *m; /* a type without the list is not an error */
    uint64_t at = memory_u64(&quiet, code_type + TYPE_MEMBERS);
    for (size_t i = 0; i < MEMBERS_MAX && !quiet.failed; i++, at += MEMBER_SIZE) {
        unsigned char member[MEMBER_SIZE];
        char name[16] = {0}; /* "co_firstlineno" is the longest */
        memory_read(&quiet, at, member, sizeof member);
        uint64_t text = memory_get_u64(member);
        if (quiet.failed || text == 0)
            break;
        if (memory_read(&quiet, text, name, sizeof name) &&
            memchr(name, 0, sizeof name) != NULL)
            count += take_member(name, memory_get_u64(member + MEMBER_OFFSET), layout);
    }
    return count;
}
