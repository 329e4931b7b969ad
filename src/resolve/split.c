#include "resolve/split.h"
#include "base/format.h"

struct split_file {
    struct split_file *next;
    struct os_mapping mapping;
    struct elf elf;
};

/* Opens an ELF file that stays open as long as the object. NULL where it is none. */
static struct elf *open_file(struct split_files *s, const char *path)
{
    struct error ignored;
    struct split_file *file = arena_zalloc(s->arena, 1, sizeof *file);
    if (!file || !os_mapping_open(&file->mapping, path, &ignored))
        return NULL;
    file->next = s->files;
    s->files = file;
    return elf_init(&file->elf, file->mapping.bytes, s->arena, &ignored) ? &file->elf
                                                                         : NULL;
}

static void find_package(struct split_files *s)
{
    char path[4096];
    if (s->searched)
        return;
    s->searched = true;
    format_text(path, sizeof path, "%.*s.dwp", STR_ARG(s->path));
    struct elf *elf = open_file(s, path);
    if (elf)
        s->package = dwarf_elf_package(elf);
}

static bool find_file(struct split_files *s, const struct dwarf_split *wanted,
                      struct dwarf_sections *out)
{
    char path[4096];
    bool absolute = wanted->name.len && wanted->name.ptr[0] == '/';
    struct str folder = str_head(s->path, s->path.len - str_basename(s->path).len);
    if (absolute || wanted->directory.len == 0)
        format_text(path, sizeof path, "%.*s", STR_ARG(wanted->name));
    else
        format_text(path, sizeof path, "%.*s/%.*s", STR_ARG(wanted->directory),
                    STR_ARG(wanted->name));
    struct elf *elf = path[0] == '/' ? open_file(s, path) : NULL;
    if (!elf) {
        format_text(path, sizeof path, "%.*s%.*s", STR_ARG(folder),
                    STR_ARG(str_basename(wanted->name)));
        elf = open_file(s, path);
    }
    if (elf)
        *out = dwarf_elf_sections(elf, true);
    return elf != NULL;
}

bool split_find(void *split, const struct dwarf_split *wanted, struct dwarf_sections *out)
{
    struct split_files *s = split;
    os_lock_take(s->lock);
    find_package(s);
    bool found =
        (s->package.index.len && dwarf_package_find(&s->package, wanted->id, out)) ||
        find_file(s, wanted, out);
    os_lock_give(s->lock);
    return found;
}

void split_deinit(struct split_files *s)
{
    for (struct split_file *f = s->files; f; f = f->next)
        os_mapping_close(&f->mapping);
}
