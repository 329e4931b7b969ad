/* SPDX-License-Identifier: Apache-2.0 */
#include "symbol/demangle.h"
#include "base/number.h"
#include "model/rust_name.h"
#include "symbol/mangled.h"
#include "symbol/rust_v0.h"
#include <stdlib.h>

/* From the C++ runtime (Itanium C++ ABI, 3.4). Returns memory from malloc, or NULL. */
char *__cxa_demangle(const char *mangled, char *into, size_t *length, int *status);

/* Rust's legacy mangling: _ZN, names with their lengths, the last of them a hash, E. */
static bool write_legacy_rust(struct str name, struct str *joined, char *room)
{
    struct str rest = str_skip(name, 3), last = STR("");
    size_t used = 0;
    if (!str_starts(name, STR("_ZN")) || name.len > MANGLED_LENGTH_MAX)
        return false;
    while (rest.len && byte_is_digit(rest.ptr[0])) {
        size_t length = 0;
        for (; rest.len && byte_is_digit(rest.ptr[0]); rest = str_skip(rest, 1))
            if (length <= name.len)
                length = length * 10 + (size_t)(rest.ptr[0] - '0');
        if (length > rest.len || length == 0)
            return false;
        last = str_head(rest, length);
        rest = str_skip(rest, length);
        for (unsigned i = 0; used && i < 2; i++)
            room[used++] = ':';
        /* A name must begin with a letter or '_', so '_' is put before an escape. */
        struct str plain = str_skip(last, str_starts(last, STR("_$")) ? 1 : 0);
        memcpy(room + used, plain.ptr, plain.len);
        used += plain.len;
    }
    *joined = (struct str){room, used};
    bool at_end = str_equal(rest, STR("E")) || str_starts(rest, STR("E."));
    return at_end && last.len == 17 && last.ptr[0] == 'h' && used > last.len;
}

/* Copies the part of a mangled name that the runtime demangles, and adds a zero byte. */
static void copy_mangled(struct str name, enum demangle how, const struct mangled *m,
                         char *copy)
{
    size_t end = how == DEMANGLE_SIMPLE && !m->is_special ? m->name_end : m->end;
    size_t cut = how == DEMANGLE_SIMPLE ? m->quals_end - m->quals : 0;
    if (how == DEMANGLE_FULL && m->end < name.len && name.ptr[m->end] == '.')
        end = name.len;
    memcpy(copy, name.ptr, m->quals);
    memcpy(copy + m->quals, name.ptr + m->quals + cut, end - m->quals - cut);
    copy[end - cut] = '\0';
}

static bool write_cpp(struct str name, enum demangle how, struct output *out)
{
    char copy[MANGLED_LENGTH_MAX + 1];
    struct mangled m;
    int status;
    if (!mangled_scan(name, how == DEMANGLE_FULL, &m) || m.end < 3)
        return false;
    /* The scan must reach the end of the name, or a suffix. Parameters that are not
     * scanned may be anything. */
    if (m.end < name.len && name.ptr[m.end] != '.' &&
        (m.is_special || how == DEMANGLE_FULL))
        return false;
    copy_mangled(name, how, &m, copy);
    char *made = __cxa_demangle(copy, NULL, NULL, &status);
    if (!made)
        return false;
    output_text(out, made);
    free(made);
    return !out->failed;
}

/* OCaml: "caml", the module, and names after "__"; operators are written as "$" and two
 * hexadecimal digits. */
static bool write_ocaml(struct str name, struct output *out)
{
    struct str rest = str_skip(name, 4);
    if (rest.len == 0 || rest.ptr[0] < 'A' || rest.ptr[0] > 'Z')
        return false;
    while (rest.len) {
        uint64_t byte;
        bool is_dot = str_starts(rest, STR("__"));
        bool is_byte = rest.ptr[0] == '$' && rest.len > 2 &&
                       number_parse_hex(str_head(str_skip(rest, 1), 2), &byte) &&
                       byte > ' ' && byte < 127;
        output_char(out, is_dot ? '.' : is_byte ? (char)byte : rest.ptr[0]);
        rest = str_skip(rest, is_dot ? 2 : is_byte ? 3 : 1);
    }
    return !out->failed;
}

static bool write_name(struct str name, enum demangle how, struct output *out)
{
    char
        /* a name takes two bytes, and "::" comes before it */
        room[2 * MANGLED_LENGTH_MAX];
    struct str joined;
    if (str_starts(name, STR("caml")))
        return write_ocaml(name, out);
    if (name.len < 3 || name.ptr[0] != '_')
        return false;
    if (name.ptr[1] == 'R')
        return rust_v0_write(out, name);
    if (name.ptr[1] != 'Z')
        return false;
    if (!write_legacy_rust(name, &joined, room))
        return write_cpp(name, how, out);
    struct str plain = rust_name(joined, out);
    if (plain.ptr != out->bytes) {
        out->used = 0;
        output_str(out, plain);
    }
    return !out->failed;
}

struct str demangle(struct str name, enum demangle how, struct output *scratch)
{
    bool is_stub = str_ends(name, STR("@plt"));
    struct str mangled = str_head(name, str_find(name, '@'));
    if (how == DEMANGLE_NO || scratch->failed)
        return name;
    scratch->used = 0;
    if (!write_name(mangled, how, scratch))
        return name;
    if (is_stub)
        output_text(scratch, "@plt");
    return scratch->failed ? name : output_contents(scratch);
}
