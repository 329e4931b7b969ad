/* SPDX-License-Identifier: Apache-2.0 */
#include "base/output.h"
#include "symbol/elf.h"
#include "unit.h"

static struct arena arena;
static struct error err;

/* A small file of a given class and byte order: the null section, one named .x with
 * `raw` as content, and .shstrtab. */
struct writer {
    struct output out;
    bool is_64, big;
};

static void put(struct writer *w, uint64_t value, unsigned size)
{
    for (unsigned i = 0; i < size; i++)
        output_char(&w->out, (char)(value >> 8 * (w->big ? size - 1 - i : i)));
}

static void put_section(struct writer *w, uint32_t name, uint32_t type, uint64_t flags,
                        uint64_t offset, uint64_t size, uint32_t link)
{
    unsigned word = w->is_64 ? 8 : 4;
    put(w, name, 4);
    put(w, type, 4);
    put(w, flags, word);
    put(w, 0, word);
    put(w, offset, word);
    put(w, size, word);
    put(w, link, 4);
    put(w, 0, 4);
    put(w, 1, word);
    put(w, 0, word);
}

static struct str make(struct writer *w, const char *name, uint32_t type, uint64_t flags,
                       struct str raw, bool escapes)
{
    unsigned word = w->is_64 ? 8 : 4, header = w->is_64 ? 64 : 52;
    size_t length = strlen(name) + 1;
    uint64_t names = header + raw.len, sections = names + 1 + length + 10;
    w->out.used = 0;
    output_bytes(&w->out, "\177ELF", 4);
    put(w, w->is_64 ? 2 : 1, 1);
    put(w, w->big ? 2 : 1, 1);
    put(w, 1, 1);
    put(w, 0, 8), put(w, 0, 1);
    put(w, ELF_SHARED, 2);
    put(w, ELF_X86_64, 2);
    put(w, 1, 4);
    put(w, 0x1234, word);
    put(w, 0, word);
    put(w, sections, word);
    put(w, 0, 4);
    put(w, header, 2);
    put(w, w->is_64 ? 56 : 32, 2);
    put(w, 0, 2);
    put(w, w->is_64 ? 64 : 40, 2);
    put(w, escapes ? 0 : 3, 2);
    put(w, escapes ? 0xffff : 2, 2);
    output_str(&w->out, raw);
    output_char(&w->out, 0);
    output_bytes(&w->out, name, length);
    output_bytes(&w->out, ".shstrtab", 10);
    put_section(w, 0, 0, 0, 0, escapes ? 3 : 0, escapes ? 2 : 0);
    put_section(w, 1, type, flags, header, raw.len, 0);
    put_section(w, (uint32_t)length + 1, ELF_STRTAB, 0, names, length + 11, 0);
    return output_contents(&w->out);
}

static void reads_every_class_and_order(void **state)
{
    (void)state;
    for (unsigned kind = 0; kind < 8; kind++) {
        struct writer w = {.is_64 = kind & 1, .big = kind & 2};
        struct elf e;
        struct str file = make(&w, ".x", ELF_PROGBITS, ELF_ALLOC, STR("hello"), kind & 4);
        assert_true(elf_init(&e, file, &arena, &err));
        assert_int_equal(e.is_64, kind & 1);
        assert_int_equal(e.big_endian, (kind & 2) != 0);
        assert_int_equal(e.section_count, 3);
        assert_int_equal(e.entry, 0x1234);
        assert_int_equal(e.machine, ELF_X86_64);
        assert_str(elf_section_bytes(&e, elf_section_named(&e, STR(".x"))), "hello");
        assert_null(elf_section_named(&e, STR(".y")));
        assert_str(elf_section_bytes(&e, NULL), "");
        output_deinit(&w.out);
    }
    arena_deinit(&arena);
}

static void the_beginning_of_a_truncated_file_is_read(void **state)
{
    struct writer w = {.is_64 = true};
    struct str file = make(&w, ".x", ELF_PROGBITS, ELF_ALLOC, STR("hello"), false);
    struct elf e;
    (void)state;
    for (size_t cut = 0; cut < file.len; cut++) {
        bool ok = elf_init(&e, str_head(file, cut), &arena, &err);
        assert_int_equal(ok, cut >= 64);
        assert_true(ok || err.message[0]);
    }
    /* Without the last section header the names are lost, but not the section. */
    assert_true(elf_init(&e, str_head(file, file.len - 1), &arena, &err));
    assert_int_equal(e.section_count, 2);
    assert_str(e.sections[1].raw, "hello");
    assert_str(e.sections[1].name, "");
    arena_deinit(&arena);
    output_deinit(&w.out);
}

static void rejects_other_files(void **state)
{
    struct elf e;
    char odd[64] = "\177ELF\3\1";
    (void)state;
    assert_false(elf_init(&e, STR(""), &arena, &err));
    assert_false(elf_init(&e, STR("#!/bin/sh"), &arena, &err));
    assert_string_equal(err.message, "not an ELF file");
    assert_false(elf_init(&e, (struct str){odd, 64}, &arena, &err));
    assert_string_equal(err.message, "ELF file with an unknown class or byte order");
}

static bool debug_link(struct str content)
{
    struct writer w = {.is_64 = true};
    struct elf e;
    struct str name;
    uint32_t crc;
    assert_true(elf_init(&e, make(&w, ".gnu_debuglink", ELF_PROGBITS, 0, content, false),
                         &arena, &err));
    bool ok = elf_debug_link(&e, &name, &crc);
    assert_true(!ok || (str_equal(name, STR("x.debug")) && crc == 0x04030201));
    output_deinit(&w.out);
    return ok;
}

static void accepts_only_base_names_as_links(void **state)
{
    (void)state;
    assert_true(debug_link(STR("x.debug\0\1\2\3\4")));
    assert_false(debug_link(STR("x.debug\0\1\2\3")));
    assert_false(debug_link(STR("../../x\0\1\2\3\4")));
    assert_false(debug_link(STR("/etc/pw\0\1\2\3\4")));
    assert_false(debug_link(STR("..\0\0\1\2\3\4")));
    assert_false(debug_link(STR("\0\0\0\0\1\2\3\4")));
    assert_false(debug_link(STR("no zero")));
    arena_deinit(&arena);
}

static void finds_build_ids_in_notes(void **state)
{
    (void)state;
    struct str other = STR("\4\0\0\0\4\0\0\0\1\0\0\0GNU\0abcd"),
               id = STR("\4\0\0\0\5\0\0\0\3\0\0\0GNU\0hello\0\0\0"), found;
    char both[80];
    memcpy(both, other.ptr, other.len);
    memcpy(both + other.len, id.ptr, id.len);
    found = elf_notes_build_id((struct str){both, other.len + id.len}, false, 4);
    assert_str(found, "hello");
    assert_str(elf_notes_build_id(other, false, 4), "");
    for (size_t cut = 0; cut < id.len - 3; cut++)
        assert_str(elf_notes_build_id(str_head(id, cut), false, 4), "");
    assert_str(elf_notes_build_id(STR("\0\0\0\4\0\0\0\2\0\0\0\3GNU\0ab\0\0"), true, 4),
               "ab");
    /* Within the bounds of the file, but longer than a build ID. */
    assert_str(elf_notes_build_id(STR("\4\0\0\0\0\0\0\0\3\0\0\0GNU\0"), false, 4), "");
    assert_str(elf_notes_build_id(STR("\xff\xff\xff\xff\4\0\0\0\3\0\0\0GNU\0"), false, 4),
               "");
}

static void damaged_compressed_sections_are_empty(void **state)
{
    struct writer w = {.is_64 = true};
    struct elf e;
    struct str bad =
        STR("\1\0\0\0\0\0\0\0\xff\xff\xff\xff\xff\xff\0\0\1\0\0\0\0\0\0\0xx");
    (void)state;
    assert_true(
        elf_init(&e, make(&w, ".debug_x", 1, ELF_COMPRESSED, bad, false), &arena, &err));
    assert_str(elf_section_bytes(&e, elf_section_named(&e, STR(".debug_x"))), "");
    assert_true(
        elf_init(&e, make(&w, ".zdebug_x", 1, 0, STR("ZLIB\0\0\0\0\0\0\0\5xx"), false),
                 &arena, &err));
    assert_non_null(elf_section_named(&e, STR(".debug_x")));
    assert_str(elf_section_bytes(&e, elf_section_named(&e, STR(".debug_x"))), "");
    assert_false(arena.failed);
    arena_deinit(&arena);
    output_deinit(&w.out);
}

static void addresses_are_converted_with_segments(void **state)
{
    struct elf_segment segments[] = {
        {.type = ELF_PT_LOAD, .offset = 0x1000, .address = 0x401000, .file_size = 0x500},
        {.type = ELF_PT_LOAD, .offset = 0x1500, .address = 0x402500, .file_size = 0x100}};
    uint32_t order[] = {0, 1};
    struct elf e = {.file = STR(""),
                    .segments = segments,
                    .by_offset = order,
                    .by_address = order,
                    .load_count = 2,
                    .type = ELF_SHARED};
    uint64_t got;
    (void)state;
    assert_false(elf_address_of_offset(&e, 0xfff, &got));
    assert_true(elf_address_of_offset(&e, 0x14ff, &got) && got == 0x4014ff);
    assert_true(elf_address_of_offset(&e, 0x1500, &got) && got == 0x402500);
    assert_false(elf_address_of_offset(&e, 0x1600, &got));
    assert_true(elf_offset_of_address(&e, 0x402501, &got) && got == 0x1501);
    assert_false(elf_offset_of_address(&e, 0x401500, &got));
}

/* lld and mold pack the PT_LOADs in the file: the first page of code also has the end of what
 * precedes it. */
static void the_load_bias_is_that_of_the_code(void **state)
{
    struct elf_segment segments[] = {
        {.type = ELF_PT_LOAD, .flags = ELF_PF_R, .file_size = 0x5eb0, .align = 0x1000},
        {.type = ELF_PT_LOAD,
         .flags = ELF_PF_R | ELF_PF_X,
         .offset = 0x5eb0,
         .address = 0x6eb0,
         .file_size = 0x14000,
         .align = 0x1000},
        {.type = ELF_PT_LOAD,
         .flags = ELF_PF_R | ELF_PF_X,
         .offset = 0x30000,
         .address = 0x40000,
         .file_size = 0x1000,
         .align = 0x200000}};
    uint32_t order[] = {0, 1, 2};
    struct elf e = {.file = STR(""),
                    .segments = segments,
                    .by_offset = order,
                    .by_address = order,
                    .load_count = 3,
                    .type = ELF_SHARED};
    uint64_t got;
    (void)state;
    assert_true(elf_load_bias(&e, 0x10006000, 0x5000, &got) && got == 0x10000000);
    assert_true(elf_load_bias(&e, 0x10010000, 0xf000, &got) && got == 0x10000000);
    assert_true(elf_load_bias(&e, 0x10040000, 0x30000, &got) && got == 0x10000000);
    assert_false(elf_load_bias(&e, 0x10000000, 0, &got));
    assert_false(elf_load_bias(&e, 0x10040000, 0x31000, &got));
    segments[1].align = segments[2].align = UINT64_MAX;
    assert_false(elf_load_bias(&e, 0, UINT64_MAX, &got));
}

int main(void)
{
    const struct CMUnitTest units[] = {
        UNIT(reads_every_class_and_order),
        UNIT(the_beginning_of_a_truncated_file_is_read),
        UNIT(rejects_other_files),
        UNIT(accepts_only_base_names_as_links),
        UNIT(finds_build_ids_in_notes),
        UNIT(damaged_compressed_sections_are_empty),
        UNIT(addresses_are_converted_with_segments),
        UNIT(the_load_bias_is_that_of_the_code),
    };
    return UNITS_RUN(units);
}
