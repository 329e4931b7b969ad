/* SPDX-License-Identifier: Apache-2.0 */
#include "symbol/kallsyms.h"
#include "base/number.h"

/* Minimum length of a line of the kernel: "ffffffff81000000 T _text". */
#define LINE_MIN 22
#define RESERVE_MAX ((size_t)1 << 20)

struct line {
    uint64_t address;
    char type;
    struct str name, module;
};

/* Copies may have spaces instead of the kernel's tab. */
static void cut_module(struct line *line, struct str rest)
{
    line->name = str_cut(&rest, '\t');
    line->module = str_trim(rest);
    line->name = str_trim_right(line->name);
    size_t bracket = str_find(line->name, '[');
    if (line->module.len == 0 && bracket < line->name.len && bracket &&
        line->name.ptr[bracket - 1] == ' ') {
        line->module = str_skip(line->name, bracket);
        line->name = str_trim_right(str_head(line->name, bracket));
    }
    if (line->module.len >= 2 && line->module.ptr[0] == '[' &&
        str_ends(line->module, STR("]")))
        line->module = str_head(str_skip(line->module, 1), line->module.len - 2);
}

/* False if it is not a line of kallsyms. */
static bool parse_line(struct str text, struct line *line)
{
    struct str address = str_cut(&text, ' '), type = str_cut(&text, ' ');
    bool is_plain = text.len && text.ptr[text.len - 1] > ' ' &&
                    str_find(text, '[') == text.len && str_find(text, '\t') == text.len;
    *line = (struct line){.name = text, .module = STR("")};
    if (!is_plain)
        cut_module(line, text);
    line->type = type.len == 1 ? type.ptr[0] : 0;
    return line->type && line->name.len && address.len <= 16 &&
           number_parse_hex(address, &line->address);
}

static void add_line(struct symbol_table *t, const struct line *line)
{
    bool is_upper = line->type >= 'A' && line->type <= 'Z';
    char type = is_upper ? (char)(line->type + ('a' - 'A')) : line->type;
    bool is_code = type == 't' || type == 'w';
    if ((!is_code && type != 'd' && type != 'b') || line->name.ptr[0] == '$')
        return;
    symbol_table_add(t, (struct symbol_entry){
                            .address = line->address,
                            .end = UINT64_MAX,
                            .open = true,
                            .name = line->name.ptr,
                            .length = (uint32_t)str_head(line->name, SYMBOL_NAME_MAX).len,
                            .module = symbol_table_module(t, line->module),
                            .kind = is_code ? SYMBOL_FUNCTION : SYMBOL_OBJECT,
                            .binding = type == 'w' ? SYMBOL_WEAK
                                       : is_upper  ? SYMBOL_GLOBAL
                                                   : SYMBOL_LOCAL});
}

bool kallsyms_init(struct symbol_table *t, struct str text, struct arena *arena,
                   struct kallsyms_facts *facts, struct error *err)
{
    uint64_t lines = 0, seen = 0;
    *facts = (struct kallsyms_facts){0};
    symbol_table_init(t, arena);
    size_t lines_most = text.len / LINE_MIN;
    symbol_table_reserve(t, lines_most < RESERVE_MAX ? lines_most : RESERVE_MAX);
    while (text.len) {
        struct line line;
        struct str s = str_cut(&text, '\n');
        if (s.len == 0)
            continue;
        if (!parse_line(s, &line)) {
            facts->bad_lines++;
            continue;
        }
        lines++;
        seen |= line.address;
        if (line.address)
            add_line(t, &line);
    }
    facts->hidden = lines && seen == 0;
    return symbol_table_finish(t, SYMBOLS_BEST, err);
}

bool kallsyms_address(struct str text, struct str name, uint64_t *address)
{
    while (text.len) {
        struct line line;
        struct str s = str_cut(&text, '\n');
        if (!str_ends(s, name) || !parse_line(s, &line) || !str_equal(line.name, name) ||
            line.module.len)
            continue;
        *address = line.address;
        return true;
    }
    return false;
}
