/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/sources.h"
#include "base/array.h"
#include "base/utf8.h"
#include "model/code.h"
#include "os/mapping.h"
#include "os/regular_file.h"

#define FILE_MOST ((size_t)4 << 20)
#define ALL_MOST ((size_t)64 << 20)
#define COUNT_MOST 4000

/* The files that may be read. */
struct source_dirs {
    const struct name_list *folders; /* or NULL */
    bool by_line_table;              /* any file that a line table names */
    bool any_encoding;               /* not only UTF-8 */
    uint64_t most;                   /* bytes of all */
};

static bool is_source_name(struct str path)
{
    static const char *const suffixes[] = {
        "c",   "h",   "cc",    "cpp", "cxx", "c++", "hh",   "hpp", "hxx",   "inc", "inl",
        "ipp", "tcc", "s",     "S",   "asm", "m",   "mm",   "rs",  "go",    "py",  "pyx",
        "js",  "mjs", "cjs",   "ts",  "tsx", "jsx", "java", "kt",  "scala", "clj", "rb",
        "php", "pl",  "pm",    "lua", "jl",  "R",   "f",    "f90", "f95",   "for", "d",
        "zig", "nim", "swift", "hs",  "ml",  "mli", "ex",   "exs", "erl",   "cs",  "fs",
        "vb",  "pas", "adb",   "ads", "v",   "cu",  "cuh",  "cl",  "y",     "l",   "def"};
    struct str name = str_basename(path);
    size_t dot = str_rfind(name, '.');
    if (dot == name.len) /* "/usr/include/c++/12/functional" */
        return str_has(path, STR("/include/"));
    if (dot == 0)
        return false;
    struct str suffix = str_skip(name, dot + 1);
    for (size_t i = 0; i < sizeof suffixes / sizeof *suffixes; i++)
        if (str_equal(suffix, str_of(suffixes[i])))
            return true;
    return false;
}

static bool is_text(struct str bytes, bool any_encoding)
{
    return str_find(bytes, 0) == bytes.len &&
           (any_encoding || utf8_valid(bytes) == bytes.len);
}

/* Opens DIR/NAME; tries shorter and shorter ends of the name. */
static bool open_below(struct os_mapping *m, const char *folder, struct str name)
{
    char path[4096];
    struct error ignored;
    for (;;) {
        name = str_skip(name, name.len && name.ptr[0] == '/');
        if (name.len == 0)
            return false;
        size_t length = format_text(path, sizeof path, "%s/%.*s", folder, STR_ARG(name));
        if (length + 1 < sizeof path && os_mapping_open_below(m, path, folder, &ignored))
            return true;
        size_t slash = str_find(name, '/');
        if (slash == name.len)
            return false;
        name = str_skip(name, slash);
    }
}

/* Opens the file in an allowed directory. */
static bool open_source(const struct source_dirs *dirs, struct str name,
                        struct os_mapping *m)
{
    char path[4096];
    struct error ignored;
    if (name.len >= sizeof path || str_find(name, 0) < name.len)
        return false;
    format_text(path, sizeof path, "%.*s", STR_ARG(name));
    for (size_t i = 0; dirs->folders && i < dirs->folders->count; i++) {
        const char *folder = dirs->folders->items[i];
        if ((path[0] == '/' && os_mapping_open_below(m, path, folder, &ignored)) ||
            open_below(m, folder, name))
            return true;
    }
    return dirs->by_line_table && os_mapping_open_below(m, path, NULL, &ignored);
}

/* A copy in the arena; false if it cannot be shown. */
static bool read_text(struct sources *s, const struct source_dirs *dirs, struct str name,
                      struct str *text)
{
    struct os_mapping m = OS_MAPPING_NONE;
    if (!is_source_name(name) || !open_source(dirs, name, &m)) {
        s->skipped++;
        return false;
    }
    bool is_large = m.bytes.len > FILE_MOST || m.bytes.len > dirs->most - s->size ||
                    s->count == COUNT_MOST;
    bool ok = !is_large && is_text(m.bytes, dirs->any_encoding);
    s->too_large += is_large;
    s->skipped += !ok && !is_large;
    if (ok)
        *text = arena_str(&s->arena, m.bytes);
    os_mapping_close(&m);
    return ok;
}

static bool add_text(struct sources *s, struct str name, struct str text)
{
    struct source_text *item = ARRAY_APPEND(&s->arena, s->items, s->count, s->cap);
    string_id id = strings_add(&s->names, name);
    if (!item || !id)
        return false;
    *item = (struct source_text){strings_get(&s->names, id), text};
    s->size += text.len;
    return true;
}

static bool add_source(struct sources *s, const struct source_dirs *dirs, struct str name)
{
    struct str text;
    return strings_find(&s->names, name) || !read_text(s, dirs, name, &text) ||
           add_text(s, name, text);
}

bool sources_init(struct sources *s)
{
    *s = (struct sources){.arena = ARENA_INIT};
    return strings_init(&s->names, &s->arena);
}

static void take_code(void *context, struct code *code, const struct resolver *resolver)
{
    struct sources *s = context;
    (void)resolver;
    s->code_count++;
    for (size_t i = 1; i < code->source_count; i++) {
        struct str name = code_string(code, code->sources[i].name);
        struct str text = code_string(code, code->sources[i].text);
        bool fits = text.len <= FILE_MOST && text.len <= ALL_MOST - s->size &&
                    s->count < COUNT_MOST;
        if (name.len && fits && is_text(text, false) && !strings_find(&s->names, name))
            add_text(s, name, arena_str(&s->arena, text));
    }
}

struct code_consumer sources_consumer(struct sources *s)
{
    return (struct code_consumer){s, take_code};
}

static bool check_folders(const struct name_list *folders, struct error *err)
{
    for (size_t i = 0; folders && i < folders->count; i++) {
        if (os_is_folder(folders->items[i]))
            continue;
        error_set(err, "invalid --source-dir '%s': not a directory", folders->items[i]);
        return error_hint(err, "give the directory that contains the sources");
    }
    return true;
}

bool sources_read(struct sources *s, const struct profile *p,
                  const struct name_list *folders, struct error *err)
{
    struct source_dirs dirs = {folders, !p->facts.foreign_lines, false, ALL_MOST};
    if (!check_folders(folders, err))
        return false;
    bool *met = arena_zalloc(&s->arena, p->strings.count, sizeof *met);
    bool ok = met != NULL;
    for (frame_id f = 1; ok && f < p->frame_count; f++) {
        string_id file = p->frames[f].file;
        if (p->frames[f].kind == FRAME_JIT) /* its lines are not from a binary */
            continue;
        if (file && !met[file])
            ok = add_source(s, &dirs, profile_string(p, file));
        met[file] = true;
    }
    return (ok && !s->arena.failed) || error_memory(err);
}

bool sources_read_named(struct sources *s, const struct strings *names,
                        const struct name_list *folders, uint64_t most, struct error *err)
{
    struct source_dirs dirs = {folders, true, true, most};
    bool ok = true;
    if (!check_folders(folders, err))
        return false;
    for (string_id i = 1; ok && i < names->count; i++)
        ok = add_source(s, &dirs, strings_get(names, i));
    return (ok && !s->arena.failed) || error_memory(err);
}

void sources_list(const struct sources *s, const struct engine_report *report)
{
    for (size_t i = 0; i < s->count; i++)
        engine_note(report, "the page has the source file %.*s",
                    STR_ARG(s->items[i].name));
    if (s->skipped + s->too_large)
        engine_note(report,
                    "%zu source files of the profile are not in the page; --source-dir "
                    "DIR sets their folder",
                    s->skipped + s->too_large);
}

void sources_deinit(struct sources *s)
{
    arena_deinit(&s->arena);
    *s = (struct sources){0};
}
