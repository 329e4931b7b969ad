/* SPDX-License-Identifier: Apache-2.0 */
#include "resolve/find.h"
#include "base/format.h"
#include "resolve/debuginfod.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#define PATH_SIZE 4096
#define BUILD_ID_MIN 8 /* digits: shorter build IDs are not unique */
#define BUILD_ID_MAX 128

static const char *const default_debug_dirs[] = {"/usr/lib/debug", NULL};

static const char *const *debug_dirs(const struct find_settings *s)
{
    return s->debug_dirs && s->debug_dirs[0] ? s->debug_dirs : default_debug_dirs;
}

static bool check_folder(const char *option, const char *path, struct error *err)
{
    char inside[PATH_SIZE];
    format_text(inside, sizeof inside, "%s/.", path);
    if (access(inside, X_OK) == 0)
        return true;
    return error_set(err, "%s %s: %s", option, path, strerror(errno));
}

bool find_check(const struct find_settings *s, struct error *err)
{
    for (const char *const *dir = s->debug_dirs; dir && *dir; dir++)
        if (!check_folder("--debug-dir", *dir, err))
            return false;
    return !s->symfs || check_folder("--symfs", s->symfs, err);
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

bool find_same_build_id(struct str request, struct str has)
{
    size_t shorter = request.len < has.len ? request.len : has.len;
    struct str rest = str_skip(request.len > has.len ? request : has, shorter);
    if (shorter < BUILD_ID_MIN ||
        !str_equal(str_head(request, shorter), str_head(has, shorter)))
        return false;
    for (size_t i = 0; i < rest.len; i++)
        if (rest.ptr[i] != '0')
            return request.len == 40; /* recordings pad build IDs to 20 bytes */
    return true;
}

/* Parses a mapped file. */
static bool parse_object(const char *path, struct found *f, struct arena *arena)
{
    struct error ignored;
    if (elf_init(&f->elf, f->mapping.bytes, arena, &ignored)) {
        f->path = arena_str(arena, str_of(path));
        return true;
    }
    os_mapping_close(&f->mapping);
    return false;
}

/* Opens the file at a path if it has that build ID (empty: any). A file without a build
 * ID does not match one. */
static enum find_result try_object(const char *path, struct str build_id, struct found *f,
                                   struct arena *arena)
{
    struct error ignored;
    if (!os_mapping_open(&f->mapping, path, &ignored) || !parse_object(path, f, arena))
        return FIND_NONE;
    struct str has = find_hexadecimal(elf_build_id(&f->elf), arena);
    if (build_id.len == 0 || find_same_build_id(build_id, has))
        return FIND_FOUND;
    os_mapping_close(&f->mapping);
    return FIND_OTHER;
}

static bool path_fits(size_t written, size_t size)
{
    return written + 1 < size;
}

static bool home_path(char *path, size_t size, const char *rest)
{
    const char *home = getenv("HOME");
    return home && home[0] == '/' &&
           path_fits(format_text(path, size, "%s/%s", home, rest), size);
}

bool find_cached(struct str build_id, const char *name, char *path, size_t size)
{
    char folder[PATH_SIZE];
    if (!is_build_id(build_id) || !home_path(folder, sizeof folder, ".debug"))
        return false;
    size_t used =
        format_text(path, size, "%s/.build-id/%.*s/%.*s/%s", folder,
                    STR_ARG(str_head(build_id, 2)), STR_ARG(str_skip(build_id, 2)), name);
    return path_fits(used, size) && access(path, R_OK) == 0;
}

/* --- Programs ---------------------------------------------------------------------- */

#define DELETED STR(" (deleted)")

/* The path without the mark of a deleted file. */
static struct str bare_path(struct str path)
{
    return str_ends(path, DELETED) ? str_head(path, path.len - DELETED.len) : path;
}

/* Returns true if the path has no "..", so it cannot leave its root. */
static bool is_straight(struct str path)
{
    for (struct str rest = path; rest.len;)
        if (str_equal(str_cut(&rest, '/'), STR("..")))
            return false;
    return path.len && !memchr(path.ptr, 0, path.len);
}

bool find_is_path(struct str path)
{
    return path.len && path.ptr[0] == '/' && is_straight(path);
}

/* The roots to search, in order: --symfs if given; otherwise the system's root, and the root of the
 * process, which may be in a container. The process id may have been reused, so the root of a
 * process is only searched with a build ID. It is searched last, because that waits while the process
 * is in exec, which takes seconds if many threads wait for a CPU. */
struct roots {
    char process[64];
    const char *paths[2];
    size_t count;
};

static void find_roots(const struct find_settings *s, const struct object_request *w,
                       struct roots *r)
{
    r->count = 0;
    if (s->symfs) {
        r->paths[r->count++] = s->symfs;
        return;
    }
    r->paths[r->count++] = "";
    if (w->pid != ID_NONE && w->pid > 0 && w->build_id.len) {
        format_text(r->process, sizeof r->process, "/proc/%lld/root", (long long)w->pid);
        r->paths[r->count++] = r->process;
    }
}

static enum find_result try_paths(const struct find_settings *s,
                                  const struct object_request *w, struct found *f,
                                  struct str *other, struct arena *arena)
{
    char path[PATH_SIZE];
    struct roots roots;
    struct str bare = bare_path(w->path);
    enum find_result best = FIND_NONE;
    find_roots(s, w, &roots);
    /* the file that replaced a deleted one can only be identified by a build ID */
    if (bare.len < w->path.len && w->build_id.len == 0 && !s->symfs)
        return FIND_NONE;
    for (size_t i = 0; i < roots.count && find_is_path(bare); i++) {
        if (!path_fits(
                format_text(path, sizeof path, "%s%.*s", roots.paths[i], STR_ARG(bare)),
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

/* Searches the mapped files of the process, deleted or not, while it runs. The process
 * id may have been reused, so the file must match by build ID, or else by inode. */
static bool try_process(const struct object_request *w, struct found *f,
                        struct arena *arena)
{
    char paths[2][128];
    struct error ignored;
    long long pid = (long long)w->pid;
    if (w->pid == ID_NONE || w->pid <= 0)
        return false;
    format_text(paths[0], sizeof paths[0], "/proc/%lld/exe", pid);
    format_text(paths[1], sizeof paths[1], "/proc/%lld/map_files/%llx-%llx", pid,
                (unsigned long long)w->start, (unsigned long long)w->end);
    for (size_t i = 0; i < 2; i++) {
        if (w->build_id.len) {
            if (try_object(paths[i], w->build_id, f, arena) == FIND_FOUND)
                return true;
        } else if (w->inode && os_mapping_open_inode(&f->mapping, paths[i], w->major,
                                                     w->minor, w->inode, &ignored)) {
            if (parse_object(paths[i], f, arena))
                return true;
        }
    }
    return false;
}

enum find_result find_object(const struct find_settings *s,
                             const struct object_request *w, struct found *f,
                             struct str *other, struct arena *arena)
{
    char path[PATH_SIZE];
    *f = (struct found){.mapping = OS_MAPPING_NONE};
    *other = STR("");
    enum find_result result = try_paths(s, w, f, other, arena);
    if (result == FIND_FOUND || (!s->symfs && try_process(w, f, arena)))
        return FIND_FOUND;
    if (s->only_mapped || !is_build_id(w->build_id))
        return result;
    if (find_cached(w->build_id, "elf", path, sizeof path) &&
        try_object(path, w->build_id, f, arena) == FIND_FOUND)
        return FIND_FOUND;
    if (!s->no_debuginfod && debuginfod_program(w->build_id, path, sizeof path) &&
        try_object(path, w->build_id, f, arena) == FIND_FOUND)
        return FIND_FOUND;
    return result;
}

/* --- What lies beside -------------------------------------------------------------- */

static struct str folder_of(struct str path)
{
    return str_head(path, path.len - str_basename(path).len);
}

static void add_folder(struct find_beside *b, struct str folder)
{
    for (size_t i = 0; i < b->count; i++)
        if (str_equal(b->folders[i], folder))
            return;
    if (folder.len && b->count < FIND_FOLDERS)
        b->folders[b->count++] = folder;
}

struct find_beside find_beside(const struct find_settings *s,
                               const struct object_request *w, struct str found,
                               struct arena *arena)
{
    char path[PATH_SIZE];
    struct roots roots;
    struct find_beside b = {
        .folder = STR(""), .name = str_basename(found), .found = found, .count = 0};
    struct str bare = bare_path(w->path);
    if (find_is_path(bare)) {
        b.folder = folder_of(bare);
        b.name = str_basename(bare);
    }
    find_roots(s, w, &roots);
    for (size_t i = 0; i < roots.count && b.folder.len; i++)
        if (path_fits(format_text(path, sizeof path, "%s%.*s", roots.paths[i],
                                  STR_ARG(b.folder)),
                      sizeof path))
            add_folder(&b, arena_str(arena, str_of(path)));
    add_folder(&b, folder_of(found));
    return b;
}

/* --- Debug files ------------------------------------------------------------------- */

static bool has_debug(const struct elf *e)
{
    const struct elf_section *s = elf_section_named(e, STR(".debug_info"));
    return s && s->type != ELF_NOBITS && s->raw.len;
}

/* A search that continues until a file with debug information is found; a file that
 * only has symbols is the fallback. */
struct debug_search {
    const struct find_settings *settings;
    const struct find_beside *beside;
    const struct elf *object;
    struct str id;
    bool by_sum; /* there is no build ID: the checksum of the debug link must match */
    uint32_t sum;
    struct found *best;
    struct arena *arena;
};

/* Checks the checksum of a debug link: CRC-32 of the whole file. */
static bool has_sum(struct str file, uint32_t sum)
{
    return crc32_z(0, (const unsigned char *)file.ptr, file.len) == sum;
}

/* Tries a file. Returns true if the search is complete. */
static bool try_debug(struct debug_search *d, const char *path)
{
    struct found f;
    if (str_equal(str_of(path), d->beside->found) ||
        try_object(path, d->id, &f, d->arena) != FIND_FOUND)
        return false;
    bool object_has_symbols = d->object && elf_section_typed(d->object, ELF_SYMTAB);
    bool sound = !d->by_sum || has_sum(f.mapping.bytes, d->sum);
    bool whole = sound && has_debug(&f.elf);
    bool symbols = sound && !d->best->mapping.map && !object_has_symbols &&
                   elf_section_typed(&f.elf, ELF_SYMTAB);
    if (!whole && !symbols) {
        os_mapping_close(&f.mapping);
        return false;
    }
    os_mapping_close(&d->best->mapping);
    *d->best = f;
    return whole;
}

/* Tries the files with that build ID below the debug folders, until one is accepted. */
static bool each_by_build_id(const struct find_settings *s, struct str id,
                             bool (*try)(void *context, const char *path), void *context)
{
    char path[PATH_SIZE];
    const char *roots[] = {s->symfs ? s->symfs : "", ""};
    for (size_t i = s->symfs ? 0 : 1; i < 2 && is_build_id(id); i++)
        for (const char *const *dir = debug_dirs(s); *dir; dir++) {
            size_t used =
                format_text(path, sizeof path, "%s%s/.build-id/%.*s/%.*s.debug", roots[i],
                            *dir, STR_ARG(str_head(id, 2)), STR_ARG(str_skip(id, 2)));
            if (path_fits(used, sizeof path) && try(context, path))
                return true;
        }
    return false;
}

static bool try_debug_path(void *context, const char *path)
{
    return try_debug(context, path);
}

static bool try_joined(struct debug_search *d, const char *root, struct str folder,
                       const char *below, struct str name)
{
    char path[PATH_SIZE];
    size_t used = format_text(path, sizeof path, "%s%.*s%s%.*s", root, STR_ARG(folder),
                              below, STR_ARG(name));
    return path_fits(used, sizeof path) && try_debug(d, path);
}

/* Searches like gdb: beside the object, in .debug beside it, and below the debug
 * folders. */
static bool debug_by_link(struct debug_search *d)
{
    const struct find_settings *s = d->settings;
    const struct find_beside *b = d->beside;
    struct str name;
    if (!d->object || !elf_debug_link(d->object, &name, &d->sum))
        return false;
    d->by_sum = d->id.len == 0;
    for (size_t i = 0; i < b->count; i++)
        if (try_joined(d, "", b->folders[i], "", name) ||
            try_joined(d, "", b->folders[i], ".debug/", name))
            return true;
    for (const char *const *dir = debug_dirs(s); *dir; dir++) {
        char root[PATH_SIZE];
        format_text(root, sizeof root, "%s%s", s->symfs ? s->symfs : "", *dir);
        if (try_joined(d, *dir, b->folder, "", name) ||
            (s->symfs && try_joined(d, root, b->folder, "", name)))
            return true;
    }
    return false;
}

bool find_debug(const struct find_settings *s, struct elf *object, struct str build_id,
                const struct find_beside *beside, struct found *debug,
                struct arena *arena)
{
    char path[PATH_SIZE];
    struct debug_search d = {.settings = s,
                             .beside = beside,
                             .object = object,
                             .id = build_id,
                             .best = debug,
                             .arena = arena};
    *debug = (struct found){.mapping = OS_MAPPING_NONE};
    if (s->only_mapped || (object ? has_debug(object) : !is_build_id(build_id)))
        return false;
    if (object)
        d.id = find_hexadecimal(elf_build_id(object), arena);
    bool whole = each_by_build_id(s, d.id, try_debug_path, &d) || debug_by_link(&d) ||
                 (find_cached(d.id, "debug", path, sizeof path) && try_debug(&d, path)) ||
                 (find_cached(d.id, "elf", path, sizeof path) && try_debug(&d, path)) ||
                 (!s->no_debuginfod && is_build_id(d.id) &&
                  debuginfod_debug(d.id, path, sizeof path) && try_debug(&d, path));
    return whole || debug->mapping.map;
}

/* --- dwz's files ------------------------------------------------------------------- */

struct alternate_search {
    struct str id;
    struct found *found;
    struct arena *arena;
};

static bool try_alternate(void *context, const char *path)
{
    struct alternate_search *a = context;
    return try_object(path, a->id, a->found, a->arena) == FIND_FOUND;
}

static bool try_alternate_at(struct alternate_search *a, const char *root,
                             struct str folder, const char *below, struct str name)
{
    char path[PATH_SIZE];
    size_t used = format_text(path, sizeof path, "%s%.*s%s%.*s", root, STR_ARG(folder),
                              below, STR_ARG(name));
    return is_straight(name) && path_fits(used, sizeof path) && try_alternate(a, path);
}

/* Follows the link: from the root, or relative to the file. Distributions refer to .dwz
 * in the debug folder, with varying numbers of folders. */
static bool alternate_by_link(const struct find_settings *s, struct str link,
                              const struct find_beside *b, struct str at,
                              struct alternate_search *a)
{
    bool absolute = link.len && link.ptr[0] == '/';
    struct str name = str_basename(link), folder = folder_of(at), mark = STR("/.dwz/");
    struct str tail = str_skip(link, str_search(link, mark) + mark.len);
    const char *root = s->symfs ? s->symfs : "";
    if (absolute && try_alternate_at(a, root, STR(""), "", link))
        return true;
    for (const char *const *dir = debug_dirs(s); *dir; dir++)
        if (try_alternate_at(a, root, str_of(*dir), "/.dwz/", tail) ||
            try_alternate_at(a, root, str_of(*dir), "/.dwz/", name) ||
            (s->symfs && try_alternate_at(a, "", str_of(*dir), "/.dwz/", tail)))
            return true;
    for (size_t i = 0; i <= b->count; i++) {
        struct str beside = i ? b->folders[i - 1] : folder;
        if ((!absolute && try_alternate_at(a, "", beside, "", link)) ||
            try_alternate_at(a, "", beside, "", name))
            return true;
    }
    return false;
}

bool find_alternate(const struct find_settings *s, struct elf *debug,
                    const struct find_beside *beside, struct str at,
                    struct found *alternate, struct arena *arena)
{
    char path[PATH_SIZE];
    struct str link, raw;
    struct alternate_search a = {STR(""), alternate, arena};
    *alternate = (struct found){.mapping = OS_MAPPING_NONE};
    if (!elf_alt_link(debug, &link, &raw))
        return false;
    a.id = find_hexadecimal(raw, arena);
    if (!is_build_id(a.id))
        return false;
    return each_by_build_id(s, a.id, try_alternate, &a) ||
           alternate_by_link(s, link, beside, at, &a) ||
           (find_cached(a.id, "debug", path, sizeof path) && try_alternate(&a, path)) ||
           (!s->no_debuginfod && debuginfod_debug(a.id, path, sizeof path) &&
            try_alternate(&a, path));
}
