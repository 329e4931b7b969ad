/* SPDX-License-Identifier: Apache-2.0 */
#include "base/format.h"
#include "base/hash.h"
#include "engine/home_parts.h"
#include "os/file.h"
#include "os/machine.h"
#include <stdlib.h>

#define REMEMBERED_MAX 50

/* Names that are profiles, by their end; and perf's, by their beginning. */
static const char *const suffixes[] = {
    ".stoke",  ".data",       ".folded", ".collapsed", ".perf",       ".pprof",
    ".pb.gz",  ".cpuprofile", ".jfr",    ".nettrace",  ".gecko.json", ".speedscope.json",
    ".pstats", ".prof",       ".heap",   ".hprof",     ".perf.gz",    ".folded.gz"};

static bool is_profile(struct str name)
{
    bool known = str_starts(name, STR("perf.data")) && !str_ends(name, STR(".old"));
    if (str_starts(name, STR(".")))
        return false;
    for (size_t i = 0; !known && i < sizeof suffixes / sizeof *suffixes; i++)
        known = str_ends(name, str_of(suffixes[i]));
    return known;
}

void home_file_id(char id[HOME_ID_SIZE], const char *path)
{
    format_text(id, HOME_ID_SIZE, "%016llx",
                (unsigned long long)hash_fixed(path, strlen(path)));
}

/* Stores a file; in a full list, it replaces the oldest one if that is older. */
static void store(struct home_files *f, const struct home_file *one)
{
    struct home_file *oldest = f->items;
    if (f->count < HOME_FILES_MAX) {
        f->items[f->count++] = *one;
        return;
    }
    for (size_t i = 1; i < f->count; i++)
        if (f->items[i].changed < oldest->changed)
            oldest = &f->items[i];
    if (oldest->changed < one->changed)
        *oldest = *one;
}

/* Adds a regular file, unless it is in the list. */
static void add(struct home_files *f, const char *path, bool elsewhere)
{
    struct os_file_facts facts;
    struct home_file one = {.elsewhere = elsewhere};
    if (strlen(path) >= sizeof one.path || !os_file_facts(&facts, str_of(path)) ||
        facts.size == 0)
        return;
    home_file_id(one.id, path);
    for (size_t i = 0; i < f->count; i++)
        if (strcmp(f->items[i].id, one.id) == 0)
            return;
    format_text(one.path, sizeof one.path, "%s", path);
    one.size = facts.size;
    one.changed = facts.changed;
    store(f, &one);
}

static int newest_first(const void *a, const void *b)
{
    const struct home_file *x = a, *y = b;
    return (x->changed < y->changed) - (x->changed > y->changed);
}

/* The list of opened files; empty if there is none. */
static struct str remembered_path(char *room, size_t size)
{
    const char *state = getenv("XDG_STATE_HOME"), *home = getenv("HOME");
    size_t used = 0;
    if (state && state[0] == '/')
        used = format_text(room, size, "%s/stoke/recent", state);
    else if (home && home[0] == '/')
        used = format_text(room, size, "%s/.local/state/stoke/recent", home);
    return (struct str){room, used};
}

static void add_remembered(struct home_files *f)
{
    char room[4096], path[4096];
    struct os_mapping m = OS_MAPPING_NONE;
    if (!remembered_path(room, sizeof room).len || !os_cache_open(&m, room))
        return;
    for (struct str rest = m.bytes; rest.len;) {
        struct str line = str_cut(&rest, '\n');
        if (line.len >= sizeof path || !str_starts(line, STR("/")))
            continue;
        format_text(path, sizeof path, "%.*s", STR_ARG(line));
        add(f, path, true);
    }
    os_mapping_close(&m);
}

/* A visit of the current folder. */
struct visit {
    struct home_files *files;
    const char *folder;
};

static void visit(void *context, struct str name)
{
    const struct visit *v = context;
    char path[4096];
    if (!is_profile(name) || strlen(v->folder) + name.len + 2 > sizeof path)
        return;
    format_text(path, sizeof path, "%s/%.*s", v->folder, STR_ARG(name));
    add(v->files, path, false);
}

bool home_files_read(struct home_files *f)
{
    char *folder = realpath(".", NULL);
    struct visit v = {f, folder};
    if (!f->items)
        f->items = malloc(HOME_FILES_MAX * sizeof *f->items);
    f->count = 0;
    if (f->items && folder) {
        os_folder_each(folder, visit, &v);
        add_remembered(f);
    }
    free(folder);
    if (f->count)
        qsort(f->items, f->count, sizeof *f->items, newest_first);
    return f->items != NULL;
}

/* The description is JSON, which the process that wrote it has completed (home_about.c). */
static void write_about(struct json_writer *w, struct str about)
{
    json_put_key(w, "about");
    if (about.len)
        json_put_raw(w, about);
    else
        json_put_null(w);
}

void home_files_write(const struct home_files *f, const struct home_abouts *a,
                      struct json_writer *w)
{
    json_begin(w, JSON_ARRAY);
    for (size_t i = 0; i < f->count; i++) {
        const struct home_file *one = &f->items[i];
        struct str path = str_of(one->path);
        json_begin(w, JSON_OBJECT);
        json_member_str(w, "id", str_of(one->id));
        json_member_str(w, "name", str_basename(path));
        if (one->elsewhere)
            json_member_str(w, "folder", str_head(path, str_rfind(path, '/')));
        json_member_u64(w, "size", one->size);
        json_member_u64(w, "changed", one->changed / 1000000);
        if (i < HOME_DESCRIBED)
            write_about(w, home_abouts_of(a, one));
        json_end(w, JSON_OBJECT);
    }
    json_end(w, JSON_ARRAY);
}

const struct home_file *home_files_find(struct home_files *f, struct str id)
{
    if (!home_files_read(f))
        return NULL;
    for (size_t i = 0; i < f->count; i++)
        if (str_equal(str_of(f->items[i].id), id))
            return &f->items[i];
    return NULL;
}

void home_files_deinit(struct home_files *f)
{
    free(f->items);
    *f = (struct home_files){0};
}

void home_files_remember(const char *path)
{
    char room[4096];
    struct os_mapping m = OS_MAPPING_NONE;
    struct os_file_facts facts;
    struct output text = OUTPUT_BUFFER;
    char *whole = realpath(path, NULL);
    if (whole && !strchr(whole, '\n') && os_file_facts(&facts, str_of(whole)) &&
        remembered_path(room, sizeof room).len) {
        output_format(&text, "%s\n", whole);
        struct str rest = os_cache_open(&m, room) ? m.bytes : STR("");
        for (size_t n = 1; n < REMEMBERED_MAX && rest.len;) {
            struct str line = str_cut(&rest, '\n');
            if (line.len == 0 || str_equal(line, str_of(whole)))
                continue;
            output_str(&text, line);
            output_char(&text, '\n');
            n++;
        }
        os_mapping_close(&m);
        if (!text.failed)
            os_cache_write(room, output_contents(&text));
    }
    output_deinit(&text);
    free(whole);
}
