/* SPDX-License-Identifier: Apache-2.0 */
#include "resolve/kernel.h"
#include "base/format.h"
#include "symbol/kallsyms.h"
#include "symbol/symtab.h"
#include <string.h>

#define KALLSYMS_MAX ((size_t)256 << 20)
#define NOTES_MAX ((size_t)64 << 10)

/* "[kernel.kallsyms]_stext": the symbol whose address is in the recording. */
static struct str reference_name(const struct object *o)
{
    struct str path = o->request.path;
    return str_skip(path, str_find(path, ']') + 1);
}

static bool is_kernel_itself(const struct object *o)
{
    return str_starts(o->request.path, STR("[kernel.kallsyms]"));
}

/* Returns true if the running kernel is the recorded one: by its build ID, or, if there
 * is none, by its release. False if both are unknown. */
static bool is_running_kernel(struct object *o)
{
    struct os_mapping notes;
    struct error ignored;
    char room[256];
    struct str release = os_kernel_release(room, sizeof room), has = STR("");
    bool same_release = str_equal(o->request.release, release);
    if (o->request.release.len && !same_release)
        return false;
    if (o->request.build_id.len == 0 || !is_kernel_itself(o))
        return same_release;
    if (os_mapping_read(&notes, "/sys/kernel/notes", NOTES_MAX, &ignored)) {
        has = find_hexadecimal(elf_notes_build_id(notes.bytes, false, 4), &o->arena);
        os_mapping_close(&notes);
    }
    return has.len ? find_same_build_id(o->request.build_id, has) : same_release;
}

/* A copy is mapped; the kernel's own file, whose size is 0, is read. */
static bool open_kallsyms(struct os_mapping *m, const char *path)
{
    struct error ignored;
    return (os_mapping_open(m, path, &ignored) && m->bytes.len) ||
           os_mapping_read(m, path, KALLSYMS_MAX, &ignored);
}

static bool read_kallsyms(struct object *o, const char *path)
{
    struct kallsyms_facts facts;
    struct error ignored;
    uint64_t now;
    os_mapping_close(&o->text); /* a file without symbols */
    if (!open_kallsyms(&o->text, path))
        return false;
    if (!kallsyms_init(&o->symbols, o->text.bytes, &o->arena, &facts, &ignored))
        return false;
    o->is_hidden = facts.hidden;
    o->has_symbols = !facts.hidden;
    struct str name = reference_name(o);
    if (o->request.reference && name.len && kallsyms_address(o->text.bytes, name, &now))
        o->moved = o->request.reference - now;
    return o->has_symbols;
}

/* The address of a symbol, by a linear search for its name. */
static bool symbol_address(const struct symbol_table *t, struct str name,
                           uint64_t *address)
{
    for (size_t i = 0; i < t->count; i++) {
        struct symbol s = symbol_table_get(t, i);
        *address = s.address;
        if (str_equal(s.name, name))
            return true;
    }
    return false;
}

static bool read_vmlinux(struct object *o, const struct resolve_settings *s,
                         const char *path)
{
    struct error ignored;
    uint64_t linked;
    if (!os_mapping_open(&o->file.mapping, path, &ignored))
        return false;
    bool is_elf = elf_init(&o->file.elf, o->file.mapping.bytes, &o->arena, &ignored);
    o->file.elf.unpacked = o->unpacked;
    if (!is_elf || !symtab_init(&o->symbols, &o->file.elf, NULL, &o->arena, &ignored)) {
        os_mapping_close(&o->file.mapping);
        return false;
    }
    o->has_symbols = true;
    o->file.path = arena_str(&o->arena, str_of(path));
    if (o->request.reference && symbol_address(&o->symbols, reference_name(o), &linked))
        o->moved = o->request.reference - linked;
    if (!(s->no_inline && s->no_lines)) {
        struct dwarf_input input = dwarf_elf_input(&o->file.elf, NULL);
        o->has_dwarf =
            dwarf_init(&o->dwarf, &input, &o->arena, &ignored) && o->dwarf.main.count > 0;
    }
    return true;
}

/* A module of another kernel: its code addresses are relative to its mapping. */
static bool read_module(struct object *o, const struct resolve_settings *s)
{
    struct error ignored;
    if (o->request.path.len == 0 || o->request.path.ptr[0] != '/' ||
        find_object(&s->find, &o->request, &o->file, &o->other, &o->arena) != FIND_FOUND)
        return false;
    o->file.elf.unpacked = o->unpacked;
    const struct elf_section *text = elf_section_named(&o->file.elf, STR(".text"));
    o->moved = o->request.start - (text ? text->offset : 0);
    o->has_symbols = symtab_init(&o->symbols, &o->file.elf, NULL, &o->arena, &ignored);
    return o->has_symbols;
}

/* The first lines are sufficient. */
#define KALLSYMS_HEAD ((size_t)64 << 10)

static bool check_kallsyms(const char *path, struct error *err)
{
    struct os_mapping m;
    struct arena arena = ARENA_INIT;
    struct symbol_table table;
    struct kallsyms_facts facts;
    struct error why;
    if (strcmp(path, "/dev/null") == 0) /* means: no file */
        return true;
    if (!os_mapping_read(&m, path, KALLSYMS_HEAD, &why))
        return error_set(err, "--kallsyms %s", why.message);
    bool ok = kallsyms_init(&table, m.bytes, &arena, &facts, err);
    if (ok && table.count == 0 && !facts.hidden) {
        ok = error_set(err, "--kallsyms %s: no symbols found", path);
        error_hint(err, "use a copy of /proc/kallsyms from the recorded machine");
    }
    arena_deinit(&arena);
    os_mapping_close(&m);
    return ok;
}

static bool check_vmlinux(const char *path, struct error *err)
{
    struct os_mapping m;
    struct arena arena = ARENA_INIT;
    struct error why;
    struct elf elf;
    if (!os_mapping_open(&m, path, &why))
        return error_set(err, "--vmlinux %s", why.message);
    bool ok = elf_init(&elf, m.bytes, &arena, &why);
    if (!ok)
        error_set(err, "--vmlinux %s: %s", path, why.message);
    else if (!elf_section_typed(&elf, ELF_SYMTAB))
        ok = error_set(err, "--vmlinux %s: no symbol table", path);
    arena_deinit(&arena);
    os_mapping_close(&m);
    return ok;
}

bool kernel_check(const struct resolve_settings *s, struct error *err)
{
    return (!s->kallsyms || check_kallsyms(s->kallsyms, err)) &&
           (!s->vmlinux || check_vmlinux(s->vmlinux, err));
}

void kernel_names(struct object *o, const struct resolve_settings *s)
{
    char path[4096];
    o->addressing = BY_ADDRESS;
    if (is_kernel_itself(o) && s->vmlinux && read_vmlinux(o, s, s->vmlinux))
        return;
    if (s->kallsyms) {
        read_kallsyms(o, s->kallsyms);
        return;
    }
    if (find_cached(o->request.build_id, "kallsyms", path, sizeof path) &&
        read_kallsyms(o, path))
        return;
    if (is_running_kernel(o) && read_kallsyms(o, "/proc/kallsyms"))
        return;
    if (!is_kernel_itself(o))
        read_module(o, s);
}
