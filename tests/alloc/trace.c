#include "export/exporter.h"
#include "fail.h"
#include "sweep.h"
#include "symbol/dwarf_elf.h"
#include "symbol/symtab.h"
#include "trace/reader.h"
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>

#define TRACE_MAX ((size_t)64 << 10)

struct trace_work {
    struct str elf, trace;
    bool in_order;
};

static struct str read_file(const char *path)
{
    FILE *file = fopen(path, "rb");
    char *bytes = malloc(TRACE_MAX);
    size_t length = file && bytes ? fread(bytes, 1, TRACE_MAX, file) : 0;
    if (file)
        fclose(file);
    return (struct str){bytes ? bytes : "", length};
}

static bool read_trace(const struct trace_work *w, const struct trace_binary *binary,
                       struct builder *b, struct error *err)
{
    struct trace_reader_options options = {
        .binaries = binary, .binary_count = 1, .keeps = w->in_order};
    struct source in = source_of(w->trace, STR("trace"));
    struct trace_reader *r = malloc(sizeof *r);
    if (!r)
        return error_memory(err);
    trace_reader_init(r, &in, &options);
    bool ok = trace_read(r, NULL, err) && trace_reader_finish(r, b, DEMANGLE_SIMPLE, err);
    trace_reader_deinit(r);
    free(r);
    return ok;
}

static bool make_binary(const struct trace_work *w, struct trace_binary *binary,
                        struct arena *arena, struct error *err)
{
    struct elf *e = arena_alloc(arena, sizeof *e);
    struct symbol_table *symbols = arena_alloc(arena, sizeof *symbols);
    struct dwarf *dwarf = arena_alloc(arena, sizeof *dwarf);
    if (!e || !symbols || !dwarf)
        return error_memory(err);
    if (!elf_init(e, w->elf, arena, err) || !symtab_init(symbols, e, NULL, arena, err))
        return false;
    struct dwarf_input input = dwarf_elf_input(e, NULL);
    if (!dwarf_init(dwarf, &input, arena, err))
        return false;
    *binary = (struct trace_binary){
        .name = STR("small"), .elf = e, .symbols = symbols, .dwarf = dwarf};
    return trace_binary_init(binary, arena, err);
}

static bool run_trace(const void *context, struct output *text, struct error *err)
{
    const struct trace_work *w = context;
    const struct export_options options = {0};
    struct arena arena = ARENA_INIT;
    struct trace_binary binary;
    struct builder b;
    bool ok =
        builder_init(&b, w->in_order ? BUILD_KEEP : BUILD_COUNT) || error_memory(err);
    ok = ok && make_binary(w, &binary, &arena, err) && read_trace(w, &binary, &b, err);
    struct profile *p = ok ? builder_finish(&b, err) : NULL;
    bool failed_once = fail_count() > 0;
    if (p && failed_once)
        /* it succeeded despite a failure: the result must be complete */
        fail_at(0, false);
    ok = p && exporter_named(STR("folded"))->write(p, &options, text, err);
    profile_destroy(p);
    builder_deinit(&b);
    arena_deinit(&arena);
    return ok;
}

static void sweep_trace(const char *tests, const char *path, bool in_order)
{
    char whole[4096], name[600];
    snprintf(whole, sizeof whole, "%s/man/small-bin-dwarf", tests);
    struct trace_work w = {.elf = read_file(whole), .in_order = in_order};
    snprintf(whole, sizeof whole, "%s/%s", tests, path);
    snprintf(name, sizeof name, "%s%s", path, in_order ? ", in order" : "");
    w.trace = read_file(whole);
    sweep(&(struct work){name, run_trace, &w});
    free((void *)(uintptr_t)w.elf.ptr);
    free((void *)(uintptr_t)w.trace.ptr);
}

void sweep_traces(const char *tests)
{
    char folder[4096], path[600];
    sweep_trace(tests, "man/TRACEFILE-C0", true);
    sweep_trace(tests, "man/small.qemu", false);
    for (size_t i = 0; trace_formats[i]; i++) {
        snprintf(folder, sizeof folder, "%s/trace/inputs/%s", tests,
                 trace_formats[i]->name);
        DIR *dir = opendir(folder);
        for (const struct dirent *entry; dir && (entry = readdir(dir));) {
            snprintf(path, sizeof path, "trace/inputs/%s/%s", trace_formats[i]->name,
                     entry->d_name);
            if (entry->d_name[0] != '.')
                sweep_trace(tests, path, false);
        }
        if (dir)
            closedir(dir);
    }
}
