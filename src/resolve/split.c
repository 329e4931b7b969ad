/* SPDX-License-Identifier: Apache-2.0 */
#include "resolve/split.h"
#include "base/format.h"
#include "base/hash.h"

struct split_file {
    struct split_file *next, *next_package;
    struct str path;
    struct os_mapping mapping;
    bool is_elf;
    struct elf elf;
    struct dwarf_package package; /* if the file is a package */
};

/* A file that is open; many units may name one file. */
static struct split_file *find_open(const struct split_files *s, struct str path)
{
    const uint64_t *at = idmap_find(&s->by_path, hash_bytes(path.ptr, path.len));
    struct split_file *file = at ? (struct split_file *)(uintptr_t)*at : NULL;
    return file && str_equal(file->path, path) ? file : NULL;
}

/* Opens an ELF file, which stays open as long as the object. NULL if it is not one. */
static struct split_file *open_file(struct split_files *s, const char *path)
{
    struct error ignored;
    struct str name = str_of(path);
    struct split_file *known = find_open(s, name);
    if (known)
        return known->is_elf ? known : NULL;
    struct split_file *file = arena_zalloc(s->arena, 1, sizeof *file);
    if (!file || !os_mapping_open(&file->mapping, path, &ignored))
        return NULL;
    file->next = s->files;
    s->files = file;
    file->path = arena_str(s->arena, name);
    file->is_elf = elf_init(&file->elf, file->mapping.bytes, s->arena, &ignored);
    file->elf.unpacked = s->unpacked;
    uint64_t *at = idmap_put(&s->by_path, s->arena, hash_bytes(name.ptr, name.len));
    if (at)
        *at = (uint64_t)(uintptr_t)file;
    return file->is_elf ? file : NULL;
}

static void open_package(struct split_files *s, struct str folder, struct str name)
{
    char path[4096];
    format_text(path, sizeof path, "%.*s%.*s.dwp", STR_ARG(folder), STR_ARG(name));
    struct split_file *file = open_file(s, path);
    if (!file)
        return;
    file->package = dwarf_elf_package(&file->elf);
    file->next_package = s->packages;
    s->packages = file;
}

/* Opens packages beside the executable and beside the file with debug information,
 * named after either. One of them may be left over from another build, so all are
 * searched. */
static void find_packages(struct split_files *s)
{
    const struct find_beside *b = s->beside;
    struct str name = str_basename(s->path);
    struct str folder = str_head(s->path, s->path.len - name.len);
    if (s->searched)
        return;
    s->searched = true;
    for (size_t i = 0; i < b->count; i++)
        open_package(s, b->folders[i], b->name);
    if (!str_equal(name, b->name))
        open_package(s, folder, name);
}

static bool find_packed(struct split_files *s, const struct dwarf_split *unit,
                        struct dwarf_sections *out)
{
    find_packages(s);
    for (struct split_file *f = s->packages; f; f = f->next_package)
        if (f->package.index.len && dwarf_package_find(&f->package, unit->id, out))
            return true;
    return false;
}

/* Opens the file at the path where the compiler wrote it. */
static struct split_file *open_compiled(struct split_files *s,
                                        const struct dwarf_split *unit)
{
    char path[4096];
    bool absolute = unit->name.len && unit->name.ptr[0] == '/';
    struct str folder = absolute ? STR("") : unit->directory;
    if (!absolute && (folder.len == 0 || folder.ptr[0] != '/'))
        return NULL;
    format_text(path, sizeof path, "%s%.*s%s%.*s", s->symfs ? s->symfs : "",
                STR_ARG(folder), absolute ? "" : "/", STR_ARG(unit->name));
    return open_file(s, path);
}

static bool find_file(struct split_files *s, const struct dwarf_split *unit,
                      struct dwarf_sections *out)
{
    char path[4096];
    struct split_file *file = open_compiled(s, unit);
    for (size_t i = 0; !file && i < s->beside->count; i++) {
        format_text(path, sizeof path, "%.*s%.*s", STR_ARG(s->beside->folders[i]),
                    STR_ARG(str_basename(unit->name)));
        file = open_file(s, path);
    }
    if (file)
        *out = dwarf_elf_sections(&file->elf, true);
    return file != NULL;
}

bool split_find(void *split, const struct dwarf_split *unit, struct dwarf_sections *out)
{
    struct split_files *s = split;
    os_lock_acquire(s->lock);
    bool found = find_packed(s, unit, out) || find_file(s, unit, out);
    if (!found && s->missing.len == 0)
        s->missing = arena_str(s->arena, unit->name);
    os_lock_release(s->lock);
    return found;
}

unsigned split_rejected(const struct split_files *s)
{
    unsigned rejected = 0;
    for (const struct split_file *f = s->files; f; f = f->next)
        rejected += f->elf.rejected;
    return rejected;
}

void split_deinit(struct split_files *s)
{
    for (struct split_file *f = s->files; f; f = f->next)
        os_mapping_close(&f->mapping);
}
