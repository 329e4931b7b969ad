#include "fail.h"
#include "sweep.h"
#include "symbol/demangle.h"
#include "symbol/go_frames.h"
#include "symbol/go_lines.h"
#include "symbol/jitdump.h"
#include "symbol/kallsyms.h"
#include "symbol/perf_map.h"
#include "symbol/symtab.h"
#include <stdio.h>
#include <stdlib.h>

static struct str read_file(const char *folder, const char *name)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/fuzz/corpus/%s", folder, name);
    FILE *file = fopen(path, "rb");
    char *bytes = malloc(1 << 16);
    size_t length = file && bytes ? fread(bytes, 1, 1 << 16, file) : 0;
    if (file)
        fclose(file);
    return (struct str){bytes ? bytes : "", length};
}

static void print_table(const struct symbol_table *t, struct output *text)
{
    for (size_t i = 0; i < t->count; i++) {
        struct symbol s = symbol_table_get(t, i);
        output_format(text, "%.*s %zu\n", STR_ARG(s.name), (size_t)s.address);
    }
}

/* False when out of memory. */
static bool print_go(struct elf *e, struct output *text)
{
    struct go_table t;
    struct go_reader r;
    struct dwarf_query q = {.address = 0x401030};
    if (!go_table_init(&t, e))
        return true;
    go_reader_init(&r, &t);
    go_find(&r, &q);
    for (size_t i = 0; i < q.count; i++)
        output_format(text, "%.*s:%u\n", STR_ARG(q.frames[i].file), q.frames[i].line);
    struct str frames = go_frames(&t, e->arena);
    output_format(text, "%zu\n", frames.len);
    bool ok = frames.len && !r.arena.failed && !r.results.failed;
    go_reader_deinit(&r);
    return ok;
}

static bool run_elf(const void *context, struct output *text, struct error *err)
{
    struct arena arena = ARENA_INIT;
    struct symbol_table t;
    struct elf e;
    bool ok = elf_init(&e, *(const struct str *)context, &arena, err) &&
              symtab_init(&t, &e, NULL, &arena, err);
    if (ok)
        print_table(&t, text);
    if (ok)
        ok = print_go(&e, text) || error_memory(err);
    arena_deinit(&arena);
    return ok;
}

static bool run_text(const void *context, struct output *text, struct error *err)
{
    struct arena arena = ARENA_INIT;
    struct symbol_table kernel, map;
    struct kallsyms_facts facts;
    uint64_t bad;
    struct str input = *(const struct str *)context;
    bool ok = kallsyms_init(&kernel, input, &arena, &facts, err) &&
              perf_map_init(&map, input, &arena, &bad, err);
    if (ok) {
        print_table(&kernel, text);
        print_table(&map, text);
    }
    arena_deinit(&arena);
    return ok;
}

static bool run_jitdump(const void *context, struct output *text, struct error *err)
{
    struct arena arena = ARENA_INIT;
    struct jitdump j;
    bool ok = jitdump_init(&j, *(const struct str *)context, &arena, err);
    for (size_t i = 0; ok && i < j.code_count; i++)
        output_format(text, "%.*s\n", STR_ARG(j.codes[i].name));
    arena_deinit(&arena);
    return ok;
}

/* Names are unchanged when out of memory: only leaks are tested. */
static bool run_names(const void *context, struct output *text, struct error *err)
{
    struct output scratch = OUTPUT_BUFFER;
    struct str names = *(const struct str *)context;
    (void)err;
    while (names.len)
        demangle(str_cut(&names, '\n'), DEMANGLE_FULL, &scratch);
    output_deinit(&scratch);
    output_text(text, "done");
    return true;
}

void sweep_symbols(const char *tests)
{
    static const struct {
        const char *file;
        bool (*run)(const void *context, struct output *text, struct error *err);
    } works[] = {{"symtab.elf", run_elf},      {"plt-x86.elf", run_elf},
                 {"plt-aarch64.elf", run_elf}, {"mini.elf", run_elf},
                 {"no-sections.elf", run_elf}, {"go-1.16.elf", run_elf},
                 {"go-1.20.elf", run_elf},     {"names.kallsyms", run_text},
                 {"perf.map", run_text},       {"jit.dump", run_jitdump},
                 {"mangled.names", run_names}};
    for (size_t i = 0; i < sizeof works / sizeof *works; i++) {
        char name[100];
        struct str bytes = read_file(tests, works[i].file);
        snprintf(name, sizeof name, "symbol/%s", works[i].file);
        sweep(&(struct work){name, works[i].run, &bytes});
        free((void *)(uintptr_t)bytes.ptr);
    }
}
