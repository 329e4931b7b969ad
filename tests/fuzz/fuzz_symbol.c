/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzzes the readers of names: an object file, a jitdump file, mangled names, and any
 * other text as kallsyms and as a perf map. The beginning of the input selects one. */
#include "fuzz.h"
#include "symbol/demangle.h"
#include "symbol/go_frames.h"
#include "symbol/go_lines.h"
#include "symbol/jitdump.h"
#include "symbol/kallsyms.h"
#include "symbol/perf_map.h"
#include "symbol/symtab.h"

FUZZ_ONE_WAY("symbol")

/* Reads every byte, so that a sanitizer detects invalid memory. */
static void touch(struct str s)
{
    volatile char sum = 0;
    for (size_t i = 0; i < s.len; i++)
        sum = (char)(sum ^ s.ptr[i]);
    CHECK(s.ptr);
}

static void check_table(const struct symbol_table *t)
{
    struct symbol found;
    for (size_t i = 0; i < t->count; i++) {
        struct symbol s = symbol_table_get(t, i);
        touch(s.name);
        touch(s.module);
        CHECK(s.name.len <= SYMBOL_NAME_MAX && s.end >= s.address);
        CHECK(i == 0 || s.address >= t->entries[i - 1].address);
    }
    for (size_t i = 0; i < t->ranges.count; i++) {
        uint64_t at = t->ranges.starts[i];
        CHECK(i == 0 || at > t->ranges.starts[i - 1]);
        if (symbol_table_find(t, at, &found))
            CHECK(found.address <= at && at < found.end);
    }
    CHECK(t->ranges.count == 0 || !symbol_table_find(t, t->ranges.starts[0] - 1, &found));
}

static void check_frames(const struct dwarf_query *q)
{
    for (size_t i = 0; i < q->count; i++) {
        touch(q->frames[i].name);
        touch(q->frames[i].file);
        CHECK(q->frames[i].is_inlined == (i + 1 < q->count));
    }
}

static void read_go(struct elf *e, struct arena *arena)
{
    struct go_table t;
    struct go_reader r;
    struct go_function f;
    struct dwarf_row *rows;
    size_t count;
    if (!go_table_init(&t, e))
        return;
    touch(go_frames(&t, arena));
    go_reader_init(&r, &t);
    for (size_t i = 0; i < t.count && i < 64; i++) {
        if (!go_table_get(&t, i, &f))
            continue;
        touch(f.name);
        CHECK(f.start < f.end);
        for (uint64_t at = f.start; at < f.end && at - f.start < 64; at++) {
            struct dwarf_query q = {.address = at};
            go_find(&r, &q);
            check_frames(&q);
        }
        CHECK(go_rows(&r, f.start, f.end, &rows, &count));
        for (size_t k = 0; k < count; k++) {
            touch(rows[k].file);
            CHECK(rows[k].address >= f.start && rows[k].address < f.end);
        }
    }
    go_reader_deinit(&r);
}

static void read_elf(struct str file, struct arena *arena)
{
    struct elf e;
    struct symbol_table t;
    struct error err = {.message = ""};
    struct str name, other;
    uint32_t crc;
    uint64_t address, offset;
    if (!elf_init(&e, file, arena, &err)) {
        CHECK(err.message[0]);
        return;
    }
    for (size_t i = 0; i < e.section_count; i++) {
        touch(e.sections[i].name);
        touch(elf_section_bytes(&e, &e.sections[i]));
        touch(elf_bytes_at(&e, e.sections[i].address, e.sections[i].size));
    }
    CHECK(elf_build_id(&e).len <= 64);
    if (elf_debug_link(&e, &name, &crc))
        CHECK(name.len && str_find(name, '/') == name.len);
    if (elf_alt_link(&e, &name, &other))
        touch(name);
    for (size_t i = 0; i < e.segment_count; i++)
        if (elf_address_of_offset(&e, e.segments[i].offset, &address))
            elf_offset_of_address(&e, address, &offset);
    if (symtab_init(&t, &e, NULL, arena, &err))
        check_table(&t);
    read_go(&e, arena);
}

static void read_jitdump(struct str file, struct arena *arena)
{
    struct jitdump j;
    struct error err = {.message = ""};
    if (!jitdump_init(&j, file, arena, &err)) {
        CHECK(err.message[0]);
        return;
    }
    for (size_t i = 0; i < j.code_count; i++) {
        const struct jit_code *c = &j.codes[i], *found;
        touch(c->name);
        touch(c->bytes);
        touch(c->frames);
        CHECK(i == 0 || c->time >= c[-1].time);
        found = jitdump_find(&j, c->address, c->time);
        CHECK(!c->size || c->address == UINT64_MAX || (found && found->time == c->time));
        const struct jit_line *line = jitdump_line(&j, c, c->address + c->size / 2);
        if (line)
            touch(line->file);
    }
}

static void read_names(struct str text)
{
    struct output scratch = OUTPUT_BUFFER;
    while (text.len) {
        struct str name = str_cut(&text, '\n');
        touch(demangle(name, DEMANGLE_SIMPLE, &scratch));
        touch(demangle(name, DEMANGLE_FULL, &scratch));
        CHECK(!scratch.failed && scratch.used < (size_t)64 << 20);
    }
    output_deinit(&scratch);
}

int fuzz_one(const uint8_t *data, size_t size)
{
    struct str input = {(const char *)data, size};
    struct arena arena = ARENA_INIT;
    struct symbol_table t;
    struct kallsyms_facts facts;
    struct error err;
    uint64_t bad;
    if (str_starts(input, STR("\177ELF"))) {
        read_elf(input, &arena);
    } else if (str_starts(input, STR("JiTD")) || str_starts(input, STR("DTiJ"))) {
        read_jitdump(input, &arena);
    } else if (str_starts(input, STR("_"))) {
        read_names(input);
    } else {
        CHECK(kallsyms_init(&t, input, &arena, &facts, &err));
        check_table(&t);
        CHECK(perf_map_init(&t, input, &arena, &bad, &err));
        check_table(&t);
    }
    CHECK(arena.total < (size_t)64 << 20);
    arena_deinit(&arena);
    return 0;
}
