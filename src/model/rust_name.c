/* SPDX-License-Identifier: Apache-2.0 */
#include "model/rust_name.h"
#include "base/number.h"

#define HASH_LENGTH 17 /* h0123456789abcdef */

static bool ends_with_hash(struct str name)
{
    struct str hash = str_skip(name, name.len - HASH_LENGTH);
    if (name.len < HASH_LENGTH || hash.ptr[0] != 'h')
        return false;
    for (size_t i = 1; i < hash.len; i++)
        if (!byte_is_hex(hash.ptr[i]))
            return false;
    return true;
}

/* " (.llvm.7886)", a suffix of the linker. */
static struct str without_llvm(struct str name)
{
    size_t at = str_search(name, STR(".llvm."));
    while (at < name.len && at && (name.ptr[at - 1] == ' ' || name.ptr[at - 1] == '('))
        at--;
    return str_head(name, at);
}

static const struct escape {
    const char *name, *text;
} escapes[] = {{"SP", "@"}, {"BP", "*"}, {"RF", "&"}, {"LT", "<"},
               {"GT", ">"}, {"LP", "("}, {"RP", ")"}, {"C", ","}};

/* Writes the text for "$name$"; false if it is unknown. */
static bool write_escape(struct output *out, struct str name)
{
    uint64_t code;
    for (size_t i = 0; i < sizeof escapes / sizeof *escapes; i++) {
        if (str_equal(name, str_of(escapes[i].name))) {
            output_text(out, escapes[i].text);
            return true;
        }
    }
    if (name.len < 2 || name.ptr[0] != 'u' ||
        !number_parse_hex(str_skip(name, 1), &code) || code < ' ' || code > '~')
        return false;
    output_char(out, (char)code);
    return true;
}

static void write_name(struct output *out, struct str name)
{
    while (name.len) {
        struct str escape = STR("");
        if (name.ptr[0] == '$')
            escape = str_head(str_skip(name, 1), str_find(str_skip(name, 1), '$'));
        if (str_starts(name, STR(".."))) {
            output_text(out, "::");
            name = str_skip(name, 2);
        } else if (escape.len && write_escape(out, escape)) {
            name = str_skip(name, escape.len + 2);
        } else {
            output_char(out, name.ptr[0]);
            name = str_skip(name, 1);
        }
    }
}

struct str rust_name(struct str name, struct output *scratch)
{
    struct str plain = without_llvm(name);
    if (!ends_with_hash(plain))
        return name;
    plain.len -= HASH_LENGTH;
    if (str_ends(plain, STR("::")))
        plain.len -= 2;
    if (str_starts(plain, STR("_$")))
        plain = str_skip(plain, 1);
    if (str_find(plain, '$') == plain.len && !str_has(plain, STR("..")))
        return plain;
    scratch->used = 0;
    write_name(scratch, plain);
    return output_contents(scratch);
}
