/* SPDX-License-Identifier: Apache-2.0 */
#include "import/source_map.h"
#include "base/array.h"
#include "base/sort.h"
#include "codec/json.h"

#define NUMBER_MOST ((int64_t)1 << 40) /* larger sums of differences are invalid */

/* The map being read: sources and names may come after the mappings. */
struct reading {
    struct source_map *m;
    struct json json;
    string_id *sources, *names;
    size_t source_count, source_cap, name_count, name_cap;
    string_id root;
    bool sections, found;
    struct output text; /* the mappings */
};

static struct str file_part(struct str url)
{
    size_t query = str_find(url, '?'), hash = str_find(url, '#');
    return str_basename(str_head(url, query < hash ? query : hash));
}

/* A list of texts; an item that is not a text becomes an empty one, to keep the
 * indices. */
static void read_list(struct reading *r, string_id **items, size_t *count, size_t *cap)
{
    struct str s;
    if (!json_enter(&r->json, JSON_ARRAY))
        return;
    while (json_item(&r->json)) {
        string_id *added = ARRAY_APPEND(&r->m->arena, *items, *count, *cap);
        if (!added)
            return;
        *added = json_string(&r->json, &s) ? strings_add(&r->m->strings, s) : 0;
    }
}

static void read_member(struct reading *r, struct str key)
{
    struct json *j = &r->json;
    struct str s;
    if (str_equal(key, STR("sources"))) {
        read_list(r, &r->sources, &r->source_count, &r->source_cap);
    } else if (str_equal(key, STR("names"))) {
        read_list(r, &r->names, &r->name_count, &r->name_cap);
    } else if (str_equal(key, STR("mappings"))) {
        r->found = json_string(j, &s);
        if (r->found)
            output_str(&r->text, s);
    } else if (str_equal(key, STR("file"))) {
        if (json_string(j, &s))
            r->m->file = strings_add(&r->m->strings, file_part(s));
    } else if (str_equal(key, STR("sourceRoot"))) {
        if (json_string(j, &s))
            r->root = strings_add(&r->m->strings, s);
    } else {
        r->sections |= str_equal(key, STR("sections"));
        json_skip(j);
    }
}

/* joins "webpack/" and "src/app.ts". */
static void join_root(struct reading *r)
{
    struct str root = strings_get(&r->m->strings, r->root);
    for (size_t i = 0; root.len && i < r->source_count; i++) {
        struct output path = OUTPUT_BUFFER;
        output_str(&path, root);
        if (!str_ends(root, STR("/")))
            output_char(&path, '/');
        output_str(&path, strings_get(&r->m->strings, r->sources[i]));
        r->m->arena.failed |= path.failed;
        r->sources[i] = strings_add(&r->m->strings, output_contents(&path));
        root = strings_get(&r->m->strings, r->root);
        output_deinit(&path);
    }
}

static int digit_of(char c)
{
    static const char digits[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const char *at = c ? memchr(digits, c, sizeof digits - 1) : NULL;
    return at ? (int)(at - digits) : -1;
}

/* The next number: base-64 digits of five bits, the lowest first; the sixth bit is set
 * if more digits follow; the lowest bit of the number is its sign. False if there is
 * none. */
static bool take_number(struct str *text, int64_t *value)
{
    uint64_t v = 0;
    unsigned shift = 0;
    int digit = 32;
    for (; digit & 32; shift += 5) {
        digit = text->len ? digit_of(text->ptr[0]) : -1;
        if (digit < 0 || shift > 40)
            return false;
        *text = str_skip(*text, 1);
        v |= (uint64_t)(digit & 31) << shift;
    }
    *value = v & 1 ? -(int64_t)(v >> 1) : (int64_t)(v >> 1);
    return true;
}

static bool in_range(int64_t v)
{
    return v >= 0 && v < UINT32_MAX;
}

/* The sums of the numbers of the mappings so far: column, source, line, source column,
 * name. */
enum { COLUMN, SOURCE, SOURCE_LINE, SOURCE_COLUMN, NAME, NUMBERS };

static bool add_mapping(struct reading *r, uint32_t line, const int64_t *sums,
                        int numbers)
{
    struct source_map *m = r->m;
    if (!ARRAY_RESERVE(&m->arena, m->mappings, m->cap, m->count + 1))
        return false;
    struct source_mapping at = {.line = line, .column = (uint32_t)sums[COLUMN]};
    if (numbers > SOURCE && in_range(sums[SOURCE]) && in_range(sums[SOURCE_LINE]) &&
        (size_t)sums[SOURCE] < r->source_count) {
        at.source = r->sources[sums[SOURCE]];
        at.source_line = (uint32_t)sums[SOURCE_LINE];
    }
    if (numbers == NUMBERS && in_range(sums[NAME]) && (size_t)sums[NAME] < r->name_count)
        at.name = r->names[sums[NAME]];
    if (in_range(sums[COLUMN]))
        m->mappings[m->count++] = at;
    return true;
}

/* Lines end with ';', the mappings of a line with ','. All sums except the column
 * continue over lines. False at the first invalid byte. */
static bool decode(struct reading *r, struct str text, struct error *err)
{
    int64_t sums[NUMBERS] = {0};
    size_t length = text.len;
    for (uint32_t line = 0; text.len && !r->m->arena.failed;) {
        char c = text.ptr[0];
        int numbers = 0;
        int64_t v;
        if (c == ';' || c == ',') {
            line += c == ';';
            sums[COLUMN] = c == ';' ? 0 : sums[COLUMN];
            text = str_skip(text, 1);
            continue;
        }
        for (; numbers < NUMBERS && take_number(&text, &v); numbers++)
            if (sums[numbers] + v < NUMBER_MOST && sums[numbers] + v > -NUMBER_MOST)
                sums[numbers] += v;
        bool ends = !text.len || text.ptr[0] == ',' || text.ptr[0] == ';';
        if (!numbers || !ends)
            return error_set(err,
                             "the mappings of this source map are damaged at byte %zu",
                             length - text.len);
        add_mapping(r, line, sums, numbers);
    }
    return !r->m->arena.failed || error_memory(err);
}

static bool mapping_before(const void *context, uint32_t a, uint32_t b)
{
    const struct source_mapping *x = (const struct source_mapping *)context + a;
    const struct source_mapping *y = (const struct source_mapping *)context + b;
    return x->line != y->line ? x->line < y->line : x->column < y->column;
}

/* They are almost always sorted. */
static bool put_in_order(struct source_map *m)
{
    struct arena *a = &m->arena;
    struct source_mapping *sorted = arena_zalloc(a, m->count + 1, sizeof *sorted);
    uint32_t *order = arena_zalloc(a, m->count + 1, sizeof *order);
    uint32_t *scratch = arena_zalloc(a, m->count + 1, sizeof *scratch);
    if (!sorted || !order || !scratch || m->count >= UINT32_MAX)
        return false;
    for (uint32_t i = 0; i < m->count; i++)
        order[i] = i;
    sort_u32(order, m->count, scratch, mapping_before, m->mappings);
    for (size_t i = 0; i < m->count; i++)
        sorted[i] = m->mappings[order[i]];
    arena_release(a, m->mappings, m->cap * sizeof *m->mappings);
    arena_release(a, order, (m->count + 1) * sizeof *order);
    arena_release(a, scratch, (m->count + 1) * sizeof *scratch);
    m->mappings = sorted;
    return true;
}

static bool finish(struct reading *r, struct error *err)
{
    if (r->json.failed)
        return false; /* err is set */
    if (r->sections)
        return error_set(err, "a source map with sections, which stoke does not read");
    if (!r->found) {
        error_set(err, "not a source map: there are no mappings in it");
        return error_hint(err, "a source map is next to the built file: app.js.map");
    }
    if (r->m->arena.failed || r->text.failed)
        return error_memory(err);
    join_root(r);
    return decode(r, output_contents(&r->text), err) &&
           (put_in_order(r->m) || error_memory(err));
}

bool source_map_read(struct source_map *m, struct source *in, struct str path,
                     struct error *err)
{
    struct reading r = {.m = m};
    struct str key, name = str_basename(path);
    *m = (struct source_map){0};
    if (!strings_init(&m->strings, &m->arena))
        return error_memory(err);
    if (str_ends(name, STR(".map")))
        name.len -= STR(".map").len;
    m->named_after = strings_add(&m->strings, name);
    json_init(&r.json, in, false, err);
    if (json_enter(&r.json, JSON_OBJECT))
        while (json_key(&r.json, &key))
            read_member(&r, key);
    bool ok = finish(&r, err);
    json_deinit(&r.json);
    output_deinit(&r.text);
    return ok;
}

void source_map_deinit(struct source_map *m)
{
    arena_deinit(&m->arena);
}

static struct source_map *map_of(struct source_maps *maps, struct str url)
{
    struct str file = file_part(url);
    for (size_t i = 0; file.len && i < maps->count; i++) {
        struct source_map *m = &maps->items[i];
        if (str_equal(strings_get(&m->strings, m->file), file) ||
            str_equal(strings_get(&m->strings, m->named_after), file))
            return m;
    }
    return NULL;
}

bool source_maps_find(struct source_maps *maps, struct str url, int64_t line,
                      int64_t column, struct source_location *found)
{
    struct source_map *m = maps ? map_of(maps, url) : NULL;
    if (!m || line < 0 || column < 0)
        return false;
    size_t low = 0, high = m->count; /* the last one that is not after the position */
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const struct source_mapping *at = &m->mappings[middle];
        if (at->line < line || (at->line == line && at->column <= column))
            low = middle + 1;
        else
            high = middle;
    }
    const struct source_mapping *at = low ? &m->mappings[low - 1] : NULL;
    if (!at || at->line != line || !at->source)
        return false;
    *found = (struct source_location){.name = strings_get(&m->strings, at->name),
                                      .file = strings_get(&m->strings, at->source),
                                      .line = at->source_line + 1};
    m->used++;
    return true;
}
