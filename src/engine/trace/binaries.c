/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/trace/binaries.h"
#include "base/array.h"
#include "base/format.h"
#include "symbol/kallsyms.h"
#include <stdlib.h>

static bool is_riscv(const struct elf *e, const char *path, struct error *err)
{
    if (e->machine == ELF_RISCV)
        return true;
    error_set(err, "this is not a RISC-V binary");
    error_hint(err, "the file that ran, or its copy with debug information (-dwarf)");
    format_text(err->file, sizeof err->file, "%s", path);
    return false;
}

/* Reports why the file cannot be used. */
static bool not_found(const char *path, struct error *err)
{
    struct os_mapping m;
    struct arena scratch = ARENA_INIT;
    struct elf e;
    bool ok = os_mapping_open(&m, path, err);
    if (ok) {
        ok = elf_init(&e, m.bytes, &scratch, err);
        os_mapping_close(&m);
    }
    if (ok)
        error_set(err, "the file cannot be used");
    arena_deinit(&scratch);
    format_text(err->file, sizeof err->file, "%s", path);
    return false;
}

static struct object *open_object(const char *path,
                                  const struct resolve_settings *settings,
                                  struct error *err)
{
    char *whole = realpath(path, NULL);
    struct object_request request = {.path = str_of(whole ? whole : path),
                                     .build_id = STR(""),
                                     .release = STR(""),
                                     .pid = ID_NONE,
                                     .kind = FRAME_USER};
    struct object *o = object_create(&request);
    free(whole);
    if (!o) {
        error_memory(err);
        return NULL;
    }
    object_load_names(o, settings);
    bool ok = o->result == FIND_FOUND ? is_riscv(&o->file.elf, path, err)
                                      : not_found(path, err);
    if (ok)
        return o;
    object_destroy(o);
    return NULL;
}

static void set_binary(struct trace_binary *b, struct object *o, struct str path,
                       bool is_user)
{
    *b = (struct trace_binary){.name = str_basename(path),
                               .elf = &o->file.elf,
                               .symbols = o->has_symbols ? &o->symbols : NULL,
                               .dwarf = o->has_dwarf ? &o->dwarf : NULL,
                               .is_user = is_user};
}

static bool add_file(struct trace_files *f, const char *path, bool is_user,
                     const struct resolve_settings *settings, struct error *err)
{
    struct object *o = open_object(path, settings, err);
    if (!o)
        return false;
    f->objects[f->count] = o;
    struct trace_binary *b = &f->binaries[f->count++];
    set_binary(b, o, str_of(path), is_user);
    return trace_binary_init(b, &f->arena, err);
}

static bool add_kallsyms(struct trace_files *f, const char *path, struct error *err)
{
    struct kallsyms_facts facts;
    struct symbol_table *table = arena_alloc(&f->arena, sizeof *table);
    if (!os_mapping_open(&f->kallsyms, path, err))
        return false;
    if (!table || !kallsyms_init(table, f->kallsyms.bytes, &f->arena, &facts, err))
        return error_memory(err);
    if (table->count == 0) {
        error_set(err, "the file has no symbols");
        error_hint(err, "a copy of the guest's /proc/kallsyms, read as root");
        format_text(err->file, sizeof err->file, "%s", path);
        return false;
    }
    struct trace_binary *b = &f->binaries[f->count++];
    *b = (struct trace_binary){.name = STR("[kernel.kallsyms]"), .symbols = table};
    return trace_binary_init(b, &f->arena, err);
}

/* --- Files named in traces --------------------------------------------------------- */

struct trace_named {
    struct str path;
    struct object *object;
    struct trace_binary *binary; /* NULL: it cannot be used */
};

static struct trace_named *open_named(struct trace_files *f, struct str path)
{
    struct error ignored;
    char text[4096];
    struct trace_binary *b = arena_zalloc(&f->arena, 1, sizeof *b);
    if (!b || path.len >= sizeof text ||
        !ARRAY_RESERVE(&f->arena, f->named, f->named_cap, f->named_count + 1))
        return NULL;
    struct trace_named *named = &f->named[f->named_count++];
    *named = (struct trace_named){.path = arena_str(&f->arena, path)};
    format_text(text, sizeof text, "%.*s", STR_ARG(path));
    if (path.len && path.ptr[0] == '/')
        named->object = open_object(text, f->settings, &ignored);
    if (named->object) {
        set_binary(b, named->object, named->path, true);
        if (trace_binary_init(b, &f->arena, &ignored))
            named->binary = b;
    }
    return named;
}

const struct trace_binary *trace_files_find(void *files, struct str path)
{
    struct trace_files *f = files;
    for (size_t i = 0; i < f->count; i++)
        if (f->binaries[i].elf && str_equal(f->binaries[i].name, str_basename(path)))
            return &f->binaries[i];
    os_lock_acquire(&f->lock);
    struct trace_named *named = NULL;
    for (size_t i = 0; i < f->named_count && !named; i++)
        if (str_equal(f->named[i].path, path))
            named = &f->named[i];
    if (!named)
        named = open_named(f, path);
    os_lock_release(&f->lock);
    return named ? named->binary : NULL;
}

/* --- All binaries ------------------------------------------------------------------ */

bool trace_files_open(struct trace_files *f, const struct name_list *binaries,
                      const struct name_list *users, const char *kallsyms,
                      const struct resolve_settings *settings, struct error *err)
{
    size_t most = binaries->count + users->count + 1;
    *f = (struct trace_files){.kallsyms = OS_MAPPING_NONE, .settings = settings};
    if (!os_lock_init(&f->lock))
        return error_memory(err);
    f->binaries = arena_zalloc(&f->arena, most, sizeof *f->binaries);
    f->objects = arena_zalloc(&f->arena, most, sizeof(struct object *));
    if (!f->binaries || !f->objects)
        return error_memory(err);
    for (size_t i = 0; i < binaries->count; i++)
        if (!add_file(f, binaries->items[i], false, settings, err))
            return false;
    if (kallsyms && !add_kallsyms(f, kallsyms, err))
        return false;
    for (size_t i = 0; i < users->count; i++)
        if (!add_file(f, users->items[i], true, settings, err))
            return false;
    return true;
}

static void report_object(const struct object *o, const struct engine_report *report)
{
    char why[INCOMPLETE_MAX];
    if (o && object_incomplete(o, why))
        engine_note(report, "%s", why);
}

void trace_files_report(const struct trace_files *f, const struct engine_report *report)
{
    for (size_t i = 0; i < f->count; i++)
        report_object(f->objects[i], report);
    for (size_t i = 0; i < f->named_count; i++)
        report_object(f->named[i].object, report);
}

bool trace_files_truncated(const struct trace_files *f)
{
    bool truncated = os_mapping_was_truncated(&f->kallsyms);
    for (size_t i = 0; i < f->count; i++)
        truncated |= f->objects[i] && object_was_truncated(f->objects[i]);
    for (size_t i = 0; i < f->named_count; i++)
        truncated |= f->named[i].object && object_was_truncated(f->named[i].object);
    return truncated;
}

void trace_files_close(struct trace_files *f)
{
    for (size_t i = 0; f->objects && i < f->count; i++)
        object_destroy(f->objects[i]);
    for (size_t i = 0; i < f->named_count; i++)
        object_destroy(f->named[i].object);
    os_mapping_close(&f->kallsyms);
    os_lock_deinit(&f->lock);
    arena_deinit(&f->arena);
}
