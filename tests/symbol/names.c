/* Prints what src/symbol reads as text, for comparison with other tools:
 *
 *    names sections FILE          sections: name, address, size, checksum of the bytes
 *    names symtab FILE [DEBUG]    symbols: first address, end, name
 *    names ranges FILE [DEBUG]    the parts of the address space: first address, name
 *    names links FILE             build ID, debug link, alt link
 *    names kallsyms|perf-map|jitdump FILE   the symbols in such a file, like symtab
 *    names demangle simple|full   demangles the names on standard input, one per line */
#include "symbol/demangle.h"
#include "symbol/jitdump.h"
#include "symbol/kallsyms.h"
#include "symbol/perf_map.h"
#include "symbol/symtab.h"
#include <stdio.h>
#include <stdlib.h>
#include <zlib.h>

static struct arena arena; /* of everything that is read */

static struct str read_file(const char *path)
{
    FILE *file = fopen(path, "rb");
    size_t room = 0, used = 0, got = 0;
    char *bytes = NULL;
    do {
        used += got;
        bytes = arena_grow(&arena, bytes, &room, used + (1 << 20), 1);
        got = file && bytes ? fread(bytes + used, 1, room - used, file) : 0;
    } while (got);
    if (!file || !bytes) {
        fprintf(stderr, "names: %s cannot be read\n", path);
        exit(2);
    }
    fclose(file);
    return (struct str){bytes, used};
}

static void check(bool ok, const struct error *err)
{
    if (ok)
        return;
    fprintf(stderr, "names: %s\n", err->message);
    exit(1);
}

static void print_sections(struct elf *e)
{
    for (size_t i = 0; i < e->section_count; i++) {
        struct str bytes = elf_section_bytes(e, &e->sections[i]);
        printf("%.*s %llx %zx %08lx\n", STR_ARG(e->sections[i].name),
               (unsigned long long)e->sections[i].address, bytes.len,
               crc32(0, (const unsigned char *)bytes.ptr, (uInt)bytes.len));
    }
}

static void print_links(const struct elf *e)
{
    struct str id = elf_build_id(e), name, other;
    uint32_t crc;
    printf("build-id ");
    for (size_t i = 0; i < id.len; i++)
        printf("%02x", (unsigned char)id.ptr[i]);
    if (elf_debug_link(e, &name, &crc))
        printf("\ndebuglink %.*s %08x", STR_ARG(name), crc);
    if (elf_alt_link(e, &name, &other))
        printf("\naltlink %.*s", STR_ARG(name));
    printf("\n");
}

static void print_table(const struct symbol_table *t)
{
    for (size_t i = 0; i < t->count; i++) {
        struct symbol s = symbol_table_get(t, i);
        printf("%llx %llx %.*s\n", (unsigned long long)s.address,
               (unsigned long long)s.end, STR_ARG(s.name));
    }
}

static void print_ranges(const struct symbol_table *t)
{
    for (size_t i = 0; i < t->ranges.count; i++) {
        struct symbol s = {.name = STR("-")};
        symbol_table_find(t, t->ranges.starts[i], &s);
        printf("%llx %.*s\n", (unsigned long long)t->ranges.starts[i], STR_ARG(s.name));
    }
}

static bool print_text(struct str what, const char *path)
{
    struct symbol_table table;
    struct kallsyms_facts facts;
    struct jitdump j;
    struct error err;
    uint64_t bad;
    if (str_equal(what, STR("kallsyms")))
        check(kallsyms_init(&table, read_file(path), &arena, &facts, &err), &err);
    else if (str_equal(what, STR("perf-map")))
        check(perf_map_init(&table, read_file(path), &arena, &bad, &err), &err);
    else if (str_equal(what, STR("jitdump")))
        check(jitdump_init(&j, read_file(path), &arena, &err), &err);
    else
        return false;
    if (!str_equal(what, STR("jitdump")))
        print_table(&table);
    else
        for (size_t i = 0; i < j.code_count; i++)
            printf("%llx %llx %.*s\n", (unsigned long long)j.codes[i].address,
                   (unsigned long long)(j.codes[i].address + j.codes[i].size),
                   STR_ARG(j.codes[i].name));
    return true;
}

static int demangle_lines(enum demangle how)
{
    static char line[1 << 20];
    struct output scratch = OUTPUT_BUFFER;
    while (fgets(line, sizeof line, stdin)) {
        struct str name =
            demangle(str_head(str_of(line), strcspn(line, "\n")), how, &scratch);
        fwrite(name.ptr, 1, name.len, stdout);
        putchar('\n');
    }
    output_deinit(&scratch);
    return fflush(stdout);
}

static void print_object(struct str what, char **files)
{
    struct error err = {.message = ""};
    struct elf elf, debug;
    struct symbol_table table;
    check(elf_init(&elf, read_file(files[0]), &arena, &err), &err);
    if (files[1])
        check(elf_init(&debug, read_file(files[1]), &arena, &err), &err);
    if (str_equal(what, STR("sections"))) {
        print_sections(&elf);
    } else if (str_equal(what, STR("links"))) {
        print_links(&elf);
    } else {
        check(symtab_init(&table, &elf, files[1] ? &debug : NULL, &arena, &err), &err);
        (str_equal(what, STR("ranges")) ? print_ranges : print_table)(&table);
    }
}

int main(int argc, char **argv)
{
    if (argc < 3)
        return 2;
    struct str what = str_of(argv[1]);
    if (str_equal(what, STR("demangle")))
        return demangle_lines(argv[2][0] == 's' ? DEMANGLE_SIMPLE : DEMANGLE_FULL);
    if (!print_text(what, argv[2]))
        print_object(what, argv + 2);
    arena_deinit(&arena);
    return fflush(stdout);
}
