#include "resolve/find.h"
#include "base/format.h"
#include "resolve/debuginfod.h"
#include <stdlib.h>
#include <unistd.h>

#define PATH_SIZE 4096
#define BUILD_ID_MIN 8 /* digits: shorter ones are not told apart */
#define BUILD_ID_MAX 128

static const char *const default_debug_dirs[] = {"/usr/lib/debug", NULL};

static const char *const *debug_dirs(const struct find_settings *s)
{
    return s->debug_dirs && s->debug_dirs[0] ? s->debug_dirs : default_debug_dirs;
}

static bool is_build_id(struct str id)
{
    for (size_t i = 0; i < id.len; i++)
        if (!byte_is_hex(id.ptr[i]))
            return false;
    return id.len >= BUILD_ID_MIN && id.len <= BUILD_ID_MAX;
}

struct str find_hexadecimal(struct str raw, struct arena *arena)
{
    static const char digits[] = "0123456789abcdef";
    char *out = arena_alloc(arena, raw.len * 2 + 1);
    for (size_t i = 0; out && i < raw.len; i++) {
        out[i * 2] = digits[(unsigned char)raw.ptr[i] >> 4];
        out[i * 2 + 1] = digits[raw.ptr[i] & 15];
    }
    return out ? (struct str){out, raw.len * 2} : STR("");
}

bool find_same_build_id(struct str wanted, struct str has)
{
    size_t shorter = wanted.len < has.len ? wanted.len : has.len;
    struct str rest = str_skip(wanted.len > has.len ? wanted : has, shorter);
    if (shorter < BUILD_ID_MIN ||
        !str_equal(str_head(wanted, shorter), str_head(has, shorter)))
        return false;
    for (size_t i = 0; i < rest.len; i++)
        if (rest.ptr[i] != '0')
            return wanted.len == 40; /* recorded in 20 bytes, whatever its length */
    return true;
}

/* A cheap look before the file is opened and taken apart. */
static bool open_object(const char *path, struct found *f, struct arena *arena)
{
    struct error ignored;
    if (!os_mapping_open(&f->mapping, path, &ignored))
        return false;
    if (elf_init(&f->elf, f->mapping.bytes, arena, &ignored)) {
        f->path = arena_str(arena, str_of(path));
        return true;
    }
    os_mapping_close(&f->mapping);
    return false;
}

/* Opens the file at a path, where it is the one with that build id (empty: any). */
static enum find_result try_object(const char *path, struct str build_id, struct found *f,
                                   struct arena *arena)
{
    if (!open_object(path, f, arena))
        return FIND_NONE;
    struct str has = find_hexadecimal(elf_build_id(&f->elf), arena);
    if (build_id.len == 0 || has.len == 0 || find_same_build_id(build_id, has))
        return FIND_FOUND;
    os_mapping_close(&f->mapping);
    return FIND_OTHER;
}

static bool fits(size_t written, size_t size)
{
    return written + 1 < size;
}

static bool home_path(char *path, size_t size, const char *rest)
{
    const char *home = getenv("HOME");
    return home && home[0] == '/' &&
           fits(format_text(path, size, "%s/%s", home, rest), size);
}

bool find_cached(struct str build_id, const char *name, char *path, size_t size)
{
    char folder[PATH_SIZE];
    if (!is_build_id(build_id) || !home_path(folder, sizeof folder, ".debug"))
        return false;
    size_t used =
        format_text(path, size, "%s/.build-id/%.*s/%.*s/%s", folder,
                    STR_ARG(str_head(build_id, 2)), STR_ARG(str_skip(build_id, 2)), name);
    return fits(used, size) && access(path, R_OK) == 0;
}

/* --- Programs -------------------------------------------------------------------------
 */

/* The path as it is to be looked for: a deleted file's mark is taken off. */
static struct str bare_path(struct str path)
{
    struct str deleted = STR(" (deleted)");
    return str_ends(path, deleted) ? str_head(path, path.len - deleted.len) : path;
}

/* The kernel tells paths from the root, without "..": what has one was made up, perhaps
 * to lead out of the folder that stands for the root. */
static bool is_kernel_path(struct str path)
{
    if (path.len == 0 || path.ptr[0] != '/' || memchr(path.ptr, 0, path.len))
        return false;
    for (struct str rest = path; rest.len;)
        if (str_equal(str_cut(&rest, '/'), STR("..")))
            return false;
    return true;
}

/* What may be tried, one after the other: below the folder that stands for the root, the
 * process's own root, as it may be in a container, and the path as it is. */
static enum find_result try_paths(const struct find_settings *s,
                                  const struct object_wanted *w, struct found *f,
                                  struct str *other, struct arena *arena)
{
    char path[PATH_SIZE], process[64] = "";
    struct str bare = bare_path(w->path);
    if (w->pid != ID_NONE && w->pid > 0 && !s->symfs)
        format_text(process, sizeof process, "/proc/%lld/root", (long long)w->pid);
    const char *roots[] = {s->symfs ? s->symfs : "", process, NULL};
    enum find_result best = FIND_NONE;
    for (size_t i = 0; i < 3 && is_kernel_path(bare); i++) {
        const char *root = roots[i] ? roots[i] : "";
        bool last = i == 2;
        if ((!last && !root[0]) || (last && s->symfs))
            continue;
        /* another program may have the process's number by now: only with a build id */
        if (root == process && w->build_id.len == 0)
            continue;
        if (!fits(format_text(path, sizeof path, "%s%.*s", root, STR_ARG(bare)),
                  sizeof path))
            continue;
        enum find_result now = try_object(path, w->build_id, f, arena);
        if (now == FIND_FOUND)
            return now;
        if (now == FIND_OTHER && other->len == 0) {
            *other = arena_str(arena, str_of(path));
            best = now;
        }
    }
    return best;
}

enum find_result find_object(const struct find_settings *s, const struct object_wanted *w,
                             struct found *f, struct str *other, struct arena *arena)
{
    char path[PATH_SIZE];
    *f = (struct found){.mapping = OS_MAPPING_NONE};
    *other = STR("");
    if (find_cached(w->build_id, "elf", path, sizeof path) &&
        try_object(path, w->build_id, f, arena) == FIND_FOUND)
        return FIND_FOUND;
    enum find_result result = try_paths(s, w, f, other, arena);
    if (result == FIND_FOUND || s->no_debuginfod || !is_build_id(w->build_id))
        return result;
    if (debuginfod_program(w->build_id, path, sizeof path) &&
        try_object(path, w->build_id, f, arena) == FIND_FOUND)
        return FIND_FOUND;
    return result;
}

/* --- Debug files -----------------------------------------------------------------------
 */

static bool has_debug(const struct elf *e)
{
    const struct elf_section *s = elf_section_named(e, STR(".debug_info"));
    return s && s->type != ELF_NOBITS && s->raw.len;
}

/* A file is taken for a debug file where it is not the object itself. */
static bool try_debug(const char *path, struct str build_id, struct found *f,
                      struct arena *arena)
{
    if (try_object(path, build_id, f, arena) != FIND_FOUND)
        return false;
    if (has_debug(&f->elf) || elf_section_typed(&f->elf, ELF_SYMTAB))
        return true;
    os_mapping_close(&f->mapping);
    return false;
}

static bool debug_by_build_id(const struct find_settings *s, struct str id,
                              struct found *f, struct arena *arena)
{
    char path[PATH_SIZE];
    if (!is_build_id(id))
        return false;
    for (const char *const *dir = debug_dirs(s); *dir; dir++) {
        size_t used = format_text(path, sizeof path, "%s%s/.build-id/%.*s/%.*s.debug",
                                  s->symfs ? s->symfs : "", *dir,
                                  STR_ARG(str_head(id, 2)), STR_ARG(str_skip(id, 2)));
        if (fits(used, sizeof path) && try_debug(path, id, f, arena))
            return true;
    }
    if (find_cached(id, "debug", path, sizeof path) && try_debug(path, id, f, arena))
        return true;
    return !s->no_debuginfod && debuginfod_debug(id, path, sizeof path) &&
           try_debug(path, id, f, arena);
}

/* As gdb looks: beside the object, in .debug beside it, and below the debug folders. */
static bool debug_by_link(const struct find_settings *s, const struct elf *object,
                          struct str at, struct str id, struct found *f,
                          struct arena *arena)
{
    char path[PATH_SIZE];
    struct str name;
    uint32_t crc;
    if (!elf_debug_link(object, &name, &crc))
        return false;
    struct str folder = str_head(at, at.len - str_basename(at).len);
    format_text(path, sizeof path, "%.*s%.*s", STR_ARG(folder), STR_ARG(name));
    if (!str_equal(str_of(path), at) && try_debug(path, id, f, arena))
        return true;
    format_text(path, sizeof path, "%.*s.debug/%.*s", STR_ARG(folder), STR_ARG(name));
    if (try_debug(path, id, f, arena))
        return true;
    for (const char *const *dir = debug_dirs(s); *dir; dir++) {
        format_text(path, sizeof path, "%s%.*s%.*s", *dir, STR_ARG(folder),
                    STR_ARG(name));
        if (try_debug(path, id, f, arena))
            return true;
    }
    return false;
}

bool find_debug(const struct find_settings *s, struct elf *object, struct str path,
                struct found *debug, struct arena *arena)
{
    *debug = (struct found){.mapping = OS_MAPPING_NONE};
    struct str id = find_hexadecimal(elf_build_id(object), arena);
    if (has_debug(object))
        return false;
    return debug_by_build_id(s, id, debug, arena) ||
           debug_by_link(s, object, path, id, debug, arena);
}

bool find_alternate(const struct find_settings *s, struct elf *debug, struct str at,
                    struct found *alternate, struct arena *arena)
{
    char path[PATH_SIZE];
    struct str link, raw;
    *alternate = (struct found){.mapping = OS_MAPPING_NONE};
    if (!elf_alt_link(debug, &link, &raw))
        return false;
    struct str id = find_hexadecimal(raw, arena), name = str_basename(link);
    if (debug_by_build_id(s, id, alternate, arena))
        return true;
    for (const char *const *dir = debug_dirs(s); *dir; dir++) {
        format_text(path, sizeof path, "%s/.dwz/%.*s", *dir, STR_ARG(name));
        if (try_object(path, id, alternate, arena) == FIND_FOUND)
            return true;
        format_text(path, sizeof path, "%s/.dwz/x86_64-linux-gnu/%.*s", *dir,
                    STR_ARG(name));
        if (try_object(path, id, alternate, arena) == FIND_FOUND)
            return true;
    }
    struct str folder = str_head(at, at.len - str_basename(at).len);
    format_text(path, sizeof path, "%.*s%.*s", STR_ARG(folder), STR_ARG(name));
    return try_object(path, id, alternate, arena) == FIND_FOUND;
}
