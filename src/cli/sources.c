#include "cli/sources.h"
#include "base/utf8.h"
#include "os/mapping.h"

#define FILE_MOST ((size_t)4 << 20)
#define ALL_MOST ((size_t)64 << 20)
#define COUNT_MOST 4000

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
    if (dot == name.len || dot == 0)
        return false;
    struct str suffix = str_skip(name, dot + 1);
    for (size_t i = 0; i < sizeof suffixes / sizeof *suffixes; i++)
        if (str_equal(suffix, str_of(suffixes[i])))
            return true;
    return false;
}

static bool is_text(struct str bytes)
{
    return str_find(bytes, 0) == bytes.len && utf8_valid(bytes) == bytes.len;
}

/* A copy, the arena's; false where it cannot be shown. */
static bool read_text(struct sources *s, struct str name, struct str *text)
{
    char path[4096];
    struct os_mapping m = OS_MAPPING_NONE;
    struct error ignored;
    if (name.len >= sizeof path || str_find(name, 0) < name.len)
        return false;
    format_text(path, sizeof path, "%.*s", STR_ARG(name));
    if (!os_mapping_open(&m, path, &ignored))
        return false;
    bool ok =
        m.bytes.len <= FILE_MOST && m.bytes.len <= ALL_MOST - s->size && is_text(m.bytes);
    if (ok)
        *text = arena_str(&s->arena, m.bytes);
    os_mapping_close(&m);
    return ok;
}

static bool add_source(struct sources *s, struct str name)
{
    struct source_text source = {.name = name};
    if (!is_source_name(name) || s->count == COUNT_MOST ||
        !read_text(s, name, &source.text)) {
        s->skipped++;
        return true;
    }
    struct source_text *items =
        arena_grow(&s->arena, s->items, &s->cap, s->count + 1, sizeof *items);
    if (!items)
        return false;
    s->items = items;
    items[s->count++] = source;
    s->size += source.text.len;
    return true;
}

bool sources_read(struct sources *s, const struct profile *p, struct error *err)
{
    *s = (struct sources){0};
    bool *met = arena_zalloc(&s->arena, p->strings.count, sizeof *met);
    bool ok = met != NULL;
    for (frame_id f = 1; ok && f < p->frame_count; f++) {
        string_id file = p->frames[f].file;
        if (file && !met[file])
            ok = add_source(s, profile_string(p, file));
        met[file] = true;
    }
    return (ok && !s->arena.failed) || error_memory(err);
}

void sources_deinit(struct sources *s)
{
    arena_deinit(&s->arena);
    *s = (struct sources){0};
}
