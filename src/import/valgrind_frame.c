/* SPDX-License-Identifier: Apache-2.0 */
#include "import/valgrind_frame.h"
#include "base/number.h"
#include "import/stacktext.h"
#include "model/name.h"

/* Removes "(in /usr/lib/libc.so.6)" or "(main.c:12)" after a name; returns the name. */
static struct str take_location(struct builder *b, const struct import_options *options,
                                struct str name, struct frame *f)
{
    size_t at = str_rfind(name, '(');
    uint64_t line;
    if (!str_ends(name, STR(")")) || at < 2 || name.ptr[at - 1] != ' ')
        return name;
    struct str location = str_head(str_skip(name, at + 1), name.len - at - 2);
    struct str file = stacktext_split_location(location, &line);
    if (str_starts(location, STR("in "))) {
        f->module = builder_module(b, str_skip(location, 3), STR(""));
    } else if (file.len < location.len && line <= UINT32_MAX) {
        if (options->lines) {
            f->file = builder_string(b, file);
            f->line = (uint32_t)line;
        }
    } else {
        return name;
    }
    return str_trim_right(str_head(name, at));
}

frame_id valgrind_frame(struct builder *b, const struct import_options *options,
                        struct str text, bool inlined)
{
    uint64_t address = 0;
    struct frame f = {.kind = inlined ? FRAME_INLINED : FRAME_USER};
    struct str number = str_cut(&text, ':');
    number_parse_hex(str_skip(number, 2), &address);
    struct str name = take_location(b, options, str_trim(text), &f);
    bool unknown = name.len == 0 || str_equal(name, STR("???"));
    if (options->every_address || (unknown && options->addresses))
        f.address = address;
    struct str plain = name_without_arguments(name);
    if (plain.len && !options->signatures) /* keeps "(below main)" */
        name = plain;
    if (!unknown)
        f.name = builder_string(b, name);
    return builder_frame(b, &f);
}

bool valgrind_is_inlined(struct str text, struct str caller)
{
    struct str rest = text, outer = caller;
    struct str address = str_cut(&rest, ':'), same = str_cut(&outer, ':');
    return str_starts(address, STR("0x")) && str_equal(address, same) &&
           !str_equal(rest, outer);
}
