/* SPDX-License-Identifier: Apache-2.0 */
/* An ELF file in memory with the code of one function, for objdump: an executable with the
 * code as its .text, and one symbol where it begins.
 *
 *   the header | the code | .symtab | .strtab | .shstrtab | the section headers */
#include "engine/annotate_parts.h"

enum { IMAGE_TEXT = 1, IMAGE_SYMTAB, IMAGE_STRTAB, IMAGE_NAMES, IMAGE_SECTIONS };
enum { STT_FUNC = 2 };

/* Symbols: the function and mapping symbols. Their names, with offsets. */
static const char symbol_names[] = "\0f\0$a\0$t\0$x\0$d";
static const char section_names[] = "\0.text\0.symtab\0.strtab\0.shstrtab";

struct image {
    struct output *out;
    const struct annotated_machine *machine;
};

static void put(const struct image *i, uint64_t value, unsigned bytes)
{
    for (unsigned k = 0; k < bytes; k++) {
        unsigned at = i->machine->big_endian ? bytes - 1 - k : k;
        output_char(i->out, (char)(value >> (8 * at) & 0xff));
    }
}

/* An address or an offset. */
static void put_word(const struct image *i, uint64_t value)
{
    put(i, value, i->machine->is_64 ? 8 : 4);
}

static void put_header(const struct image *i, uint64_t sections)
{
    const struct annotated_machine *m = i->machine;
    output_bytes(i->out, "\177ELF", 4);
    put(i, m->is_64 ? 2 : 1, 1);
    put(i, m->big_endian ? 2 : 1, 1);
    put(i, 1, 1); /* version */
    output_bytes(i->out, "\0\0\0\0\0\0\0\0\0", 9);
    put(i, ELF_EXECUTABLE, 2);
    put(i, m->machine, 2);
    put(i, 1, 4);
    put_word(i, 0); /* no entry, no segments */
    put_word(i, 0);
    put_word(i, sections);
    put(i, m->flags, 4);
    put(i, m->is_64 ? 64 : 52, 2);
    put(i, 0, 4);
    put(i, m->is_64 ? 64 : 40, 2);
    put(i, IMAGE_SECTIONS, 2);
    put(i, IMAGE_NAMES, 2);
}

static void put_symbol(const struct image *i, uint32_t name, uint64_t address,
                       uint64_t size, unsigned type)
{
    put(i, name, 4);
    if (!i->machine->is_64) {
        put_word(i, address);
        put_word(i, size);
    }
    put(i, type, 1);
    put(i, 0, 1);
    put(i, IMAGE_TEXT, 2);
    if (i->machine->is_64) {
        put_word(i, address);
        put_word(i, size);
    }
}

static uint32_t name_of_mark(char kind)
{
    return kind == 'a' ? 3 : kind == 't' ? 6 : kind == 'x' ? 9 : 12;
}

static void put_symbols(const struct image *i, const struct annotation *f)
{
    output_bytes(i->out, "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0",
                 i->machine->is_64 ? 24 : 16);
    put_symbol(i, 1, f->low, f->bytes.len, STT_FUNC);
    for (size_t k = 0; k < f->mark_count; k++)
        put_symbol(i, name_of_mark(f->marks[k].kind), f->marks[k].address, 0, 0);
}

static void put_section(const struct image *i, const struct elf_section *s, uint32_t name,
                        uint32_t info)
{
    put(i, name, 4);
    put(i, s->type, 4);
    put_word(i, s->flags);
    put_word(i, s->address);
    put_word(i, s->offset);
    put_word(i, s->size);
    put(i, s->link, 4);
    put(i, info, 4);
    put_word(i, 1);
    put_word(i, s->entry_size);
}

/* `at`: where the sections are, by their numbers. */
static void put_sections(const struct image *i, const struct annotation *f,
                         const uint64_t *at)
{
    uint32_t symbols = (uint32_t)f->mark_count + 2;
    struct elf_section none = {.type = 0};
    struct elf_section text = {.type = ELF_PROGBITS,
                               .flags = ELF_ALLOC | ELF_EXECINSTR,
                               .address = f->low,
                               .offset = at[IMAGE_TEXT],
                               .size = f->bytes.len};
    struct elf_section table = {.type = ELF_SYMTAB,
                                .offset = at[IMAGE_SYMTAB],
                                .size = at[IMAGE_STRTAB] - at[IMAGE_SYMTAB],
                                .link = IMAGE_STRTAB,
                                .entry_size = i->machine->is_64 ? 24 : 16};
    struct elf_section strings = {
        .type = ELF_STRTAB, .offset = at[IMAGE_STRTAB], .size = sizeof symbol_names};
    struct elf_section names = {
        .type = ELF_STRTAB, .offset = at[IMAGE_NAMES], .size = sizeof section_names};
    put_section(i, &none, 0, 0);
    put_section(i, &text, 1, 0);
    put_section(i, &table, 7, symbols);
    put_section(i, &strings, 15, 0);
    put_section(i, &names, 23, 0);
}

void annotation_write_image(const struct annotation *f, struct output *out)
{
    struct image i = {out, &f->machine};
    uint64_t at[IMAGE_SECTIONS + 1], entry = f->machine.is_64 ? 24 : 16;
    at[IMAGE_TEXT] = f->machine.is_64 ? 64 : 52;
    at[IMAGE_SYMTAB] = at[IMAGE_TEXT] + f->bytes.len;
    at[IMAGE_STRTAB] = at[IMAGE_SYMTAB] + (f->mark_count + 2) * entry;
    at[IMAGE_NAMES] = at[IMAGE_STRTAB] + sizeof symbol_names;
    at[IMAGE_SECTIONS] = at[IMAGE_NAMES] + sizeof section_names;
    put_header(&i, at[IMAGE_SECTIONS]);
    output_str(out, f->bytes);
    put_symbols(&i, f);
    output_bytes(out, symbol_names, sizeof symbol_names);
    output_bytes(out, section_names, sizeof section_names);
    put_sections(&i, f, at);
}
