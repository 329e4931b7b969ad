/* SPDX-License-Identifier: Apache-2.0 */
#include "symbol/perf_map.h"
#include "base/number.h"

static bool parse_line(struct str line, struct symbol_entry *entry)
{
    uint64_t start, size;
    struct str first = str_word(&line), second = str_word(&line), name = str_trim(line);
    if (!number_parse_hex(first, &start) || !number_parse_hex(second, &size) ||
        name.len == 0)
        return false;
    *entry = (struct symbol_entry){
        .address = start,
        .end = size < UINT64_MAX - start && size ? start + size : UINT64_MAX,
        .open = size == 0,
        .name = name.ptr,
        .length = (uint32_t)str_head(name, SYMBOL_NAME_MAX).len};
    return true;
}

bool perf_map_init(struct symbol_table *t, struct str text, struct arena *arena,
                   uint64_t *bad_lines, struct error *err)
{
    *bad_lines = 0;
    symbol_table_init(t, arena);
    while (text.len) {
        struct symbol_entry entry;
        bool whole = str_find(text, '\n') < text.len;
        struct str line = str_cut(&text, '\n');
        if (str_trim(line).len == 0)
            continue;
        if (whole && parse_line(line, &entry))
            symbol_table_add(t, entry);
        else
            *bad_lines += 1;
    }
    return symbol_table_finish(t, SYMBOLS_NEWEST, err);
}
