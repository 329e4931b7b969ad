/* SPDX-License-Identifier: Apache-2.0 */
#include "interpreter/python_string.h"
#include "base/utf8.h"

/* A character takes at most 4 bytes. */
#define CHARACTERS_MAX (INTERPRETER_NAME_MAX / 4)

/* The form of a string, from the bits of its state. */
struct form {
    unsigned kind; /* bytes per character; 0: not valid */
    bool ascii;
};

/* The bits: interned, then kind (3), compact, ascii. `interned` has 2 bits, but is a byte or
 * two in free-threaded versions. */
static struct form form_of(uint32_t state, const struct python_layout *l)
{
    static const unsigned shifts[] = {2, 8, 16};
    size_t count = l->free_threaded ? sizeof shifts / sizeof *shifts : 1;
    for (size_t i = 0; i < count; i++) {
        uint32_t bits = state >> shifts[i];
        unsigned kind = bits & 7;
        bool compact = bits >> 3 & 1, ascii = bits >> 4 & 1;
        if (compact && (kind == 1 || kind == 2 || kind == 4))
            return (struct form){kind, ascii && kind == 1};
    }
    return (struct form){0};
}

static unsigned character(const unsigned char *bytes, unsigned kind)
{
    return kind == 1   ? bytes[0]
           : kind == 2 ? (unsigned)bytes[0] | (unsigned)bytes[1] << 8
                       : memory_get_u32(bytes);
}

static struct str to_utf8(const unsigned char *bytes, size_t length, unsigned kind,
                          struct arena *arena)
{
    char text[CHARACTERS_MAX * 4];
    size_t used = 0;
    for (size_t i = 0; i < length; i++) {
        unsigned c = character(bytes + i * kind, kind);
        if (c > 0x10ffff || (c >= 0xd800 && c < 0xe000))
            c = UTF8_REPLACEMENT;
        used += utf8_write(c, text + used);
    }
    return arena_str(arena, (struct str){text, used});
}

struct str python_string(struct memory *m, const struct python_layout *l,
                         uint64_t address, struct arena *arena)
{
    unsigned char bytes[CHARACTERS_MAX * 4];
    struct form form = form_of(memory_u32(m, address + l->string_state), l);
    uint64_t length = memory_u64(m, address + l->string_length);
    uint64_t most = form.ascii ? INTERPRETER_NAME_MAX : CHARACTERS_MAX;
    /* a length is signed in CPython */
    if (m->failed || form.kind == 0 || length > INT64_MAX) {
        m->failed = true;
        return STR("");
    }
    if (length > most)
        length = most;
    uint64_t data = address + (form.ascii ? l->string_ascii : l->string_compact);
    if (!memory_read(m, data, bytes, (size_t)length * form.kind))
        return STR("");
    /* a byte above 127 in an ASCII string is not valid: to_utf8 has room for it only in
     * shorter strings */
    if (form.ascii && utf8_valid((struct str){(char *)bytes, (size_t)length}) == length)
        return arena_str(arena, (struct str){(char *)bytes, (size_t)length});
    if (length > CHARACTERS_MAX)
        length = CHARACTERS_MAX;
    return to_utf8(bytes, (size_t)length, form.kind, arena);
}

struct str python_bytes(struct memory *m, const struct python_layout *l, uint64_t address,
                        struct arena *arena)
{
    uint64_t size = memory_u64(m, address + l->bytes_size);
    if (m->failed || size > PYTHON_LINES_MAX) {
        m->failed = true;
        return STR("");
    }
    char *bytes = size ? arena_alloc(arena, (size_t)size) : NULL;
    if (!bytes || !memory_read(m, address + l->bytes_data, bytes, (size_t)size))
        return STR("");
    return (struct str){bytes, (size_t)size};
}
