/* SPDX-License-Identifier: Apache-2.0 */
#include "resolve/split.h"
#include "base/format.h"

struct split_file {
    struct split_file *next, *next_package;
    struct os_mapping mapping;
    struct elf elf;
    struct dwarf_package package; /* where it is one */
};

/* Opens an ELF file that stays open as long as the object. NULL where it is none. */
static struct split_file *open_file(struct split_files *s, const char *path)
{
    struct error ignored;
    struct split_file *file = arena_zalloc(s->arena, 1, sizeof *file);
    if (!file || !os_mapping_open(&file->mapping, path, &ignored))
        return NULL;
    file->next = s->files;
    s->files = file;
    return elf_init(&file->elf, file->mapping.bytes, s->arena, &ignored) ? file : NULL;
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

/* Beside the program and beside the file with debug information, called after either: one
 * may be left over from another build, so all of them are asked. */
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

static bool find_packed(struct split_files *s, const struct dwarf_split *wanted,
                        struct dwarf_sections *out)
{
    find_packages(s);
    for (struct split_file *f = s->packages; f; f = f->next_package)
        if (f->package.index.len && dwarf_package_find(&f->package, wanted->id, out))
            return true;
    return false;
}

/* Where the compiler put it. */
static struct split_file *open_compiled(struct split_files *s,
                                        const struct dwarf_split *wanted)
{
    char path[4096];
    bool absolute = wanted->name.len && wanted->name.ptr[0] == '/';
    struct str folder = absolute ? STR("") : wanted->directory;
    if (!absolute && (folder.len == 0 || folder.ptr[0] != '/'))
        return NULL;
    format_text(path, sizeof path, "%s%.*s%s%.*s", s->symfs ? s->symfs : "",
                STR_ARG(folder), absolute ? "" : "/", STR_ARG(wanted->name));
    return open_file(s, path);
}

static bool find_file(struct split_files *s, const struct dwarf_split *wanted,
                      struct dwarf_sections *out)
{
    char path[4096];
    struct split_file *file = open_compiled(s, wanted);
    for (size_t i = 0; !file && i < s->beside->count; i++) {
        format_text(path, sizeof path, "%.*s%.*s", STR_ARG(s->beside->folders[i]),
                    STR_ARG(str_basename(wanted->name)));
        file = open_file(s, path);
    }
    if (file)
        *out = dwarf_elf_sections(&file->elf, true);
    return file != NULL;
}

bool split_find(void *split, const struct dwarf_split *wanted, struct dwarf_sections *out)
{
    struct split_files *s = split;
    os_lock_take(s->lock);
    bool found = find_packed(s, wanted, out) || find_file(s, wanted, out);
    if (!found && s->missing.len == 0)
        s->missing = arena_str(s->arena, wanted->name);
    os_lock_give(s->lock);
    return found;
}

void split_deinit(struct split_files *s)
{
    for (struct split_file *f = s->files; f; f = f->next)
        os_mapping_close(&f->mapping);
}
