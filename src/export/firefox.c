/* SPDX-License-Identifier: Apache-2.0 */
/* The processed profile format of profiler.firefox.com, version 62: tables of columns
 * that all threads share, and one thread for each thread and event of the profile.
 *
 * Frames are the profile's frames, functions are its labels, so a function with
 * several lines is one function. Times are milliseconds from the first sample. In a
 * profile without times, samples are one interval apart, in their order. */
#include "analysis/paths.h"
#include "base/format.h"
#include "base/number.h"
#include "codec/json.h"
#include "export/exporter.h"
#include "export/parts.h"

#define PROFILE_VERSION 62
#define GECKO_VERSION 24 /* the version of the tables in "meta" */
#define NS_PER_MS 1e6
#define EPOCH_LEAST \
    ((uint64_t)1000000000 * 1000000000) /* 2001: larger times count from 1970 */

struct firefox_writer {
    struct arena arena;
    const struct profile *p;
    const struct export_options *options;
    struct paths paths;
    struct strings strings; /* of the file: first the labels, with the same indices */
    frame_id *frame_of;     /* by label: one of its frames, or 0 */
    string_id *files;       /* by row: the source's name in the file */
    uint32_t *source_rows;  /* by string of the profile: its row + 1 */
    size_t source_count;
    struct sample_parts parts;
    struct json_writer json;
};

/* By enum frame_kind. */
static const struct {
    const char *name, *color;
} categories[] = {
    [FRAME_USER] = {"User", "yellow"},     [FRAME_KERNEL] = {"Kernel", "orange"},
    [FRAME_GUEST] = {"Guest", "purple"},   [FRAME_JIT] = {"JIT", "green"},
    [FRAME_INLINED] = {"Inlined", "blue"}, [FRAME_IDLE] = {"Idle", "transparent"},
    [FRAME_MARKER] = {"Other", "grey"},    [FRAME_WAKER] = {"Waker", "magenta"},
};
#define CATEGORY_COUNT (sizeof categories / sizeof *categories)

/* --- Preparing -------------------- */

static string_id add_string(struct firefox_writer *w, string_id of_profile)
{
    return strings_add(&w->strings, profile_string(w->p, of_profile));
}

/* Collects the strings of the file, and the properties that each label's frames have
 * in common. */
static bool make_tables(struct firefox_writer *w)
{
    const struct profile *p = w->p;
    w->frame_of = arena_zalloc(&w->arena, w->paths.labels.count, sizeof *w->frame_of);
    w->files = arena_zalloc(&w->arena, p->frame_count + 1, sizeof *w->files);
    w->source_rows = arena_zalloc(&w->arena, p->strings.count, sizeof *w->source_rows);
    if (!w->frame_of || !w->files || !w->source_rows ||
        !strings_init(&w->strings, &w->arena))
        return false;
    for (string_id i = 1; i < w->paths.labels.count; i++)
        strings_add(&w->strings, strings_get(&w->paths.labels, i));
    for (frame_id f = 1; f < p->frame_count; f++) {
        string_id label = w->paths.label_of_frame[f], file = p->frames[f].file;
        if (!w->frame_of[label])
            w->frame_of[label] = f;
        if (file && !w->source_rows[file]) {
            w->files[w->source_count] = add_string(w, file);
            w->source_rows[file] = (uint32_t)++w->source_count;
        }
    }
    for (module_id m = 1; m < p->module_count; m++)
        strings_add(&w->strings, str_basename(profile_string(p, p->modules[m].path)));
    return !w->arena.failed;
}

/* --- Columns -------------------- */

static void put_number(struct json_writer *j, const char *key, double v)
{
    json_member_double(j, key, v);
}

static void put_flag(struct json_writer *j, const char *key, bool v)
{
    json_put_key(j, key);
    json_put_bool(j, v);
}

static void put_empty(struct json_writer *j, const char *key)
{
    json_put_key(j, key);
    json_begin(j, JSON_ARRAY);
    json_end(j, JSON_ARRAY);
}

/* A column with the same value in every row; null if `none`. */
static void put_same(struct json_writer *j, const char *key, size_t rows, bool none,
                     double v)
{
    json_put_key(j, key);
    json_begin(j, JSON_ARRAY);
    for (size_t i = 0; i < rows; i++) {
        if (none)
            json_put_null(j);
        else
            json_put_double(j, v);
    }
    json_end(j, JSON_ARRAY);
}

static void put_false(struct json_writer *j, const char *key, size_t rows)
{
    json_put_key(j, key);
    json_begin(j, JSON_ARRAY);
    for (size_t i = 0; i < rows; i++)
        json_put_bool(j, false);
    json_end(j, JSON_ARRAY);
}

/* A column of numbers by row; negative numbers are null. */
static void put_column(struct firefox_writer *w, const char *key, size_t rows,
                       int64_t (*value)(const struct firefox_writer *, size_t))
{
    struct json_writer *j = &w->json;
    json_put_key(j, key);
    json_begin(j, JSON_ARRAY);
    for (size_t i = 0; i < rows; i++) {
        int64_t v = value(w, i);
        if (v < 0)
            json_put_null(j);
        else
            json_put_u64(j, (uint64_t)v);
    }
    json_end(j, JSON_ARRAY);
}

static int64_t frame_function(const struct firefox_writer *w, size_t row)
{
    return w->paths.label_of_frame[row + 1];
}

static int64_t frame_line(const struct firefox_writer *w, size_t row)
{
    uint32_t line = w->p->frames[row + 1].line;
    return line ? (int64_t)line : -1;
}

static int64_t frame_category(const struct firefox_writer *w, size_t row)
{
    return w->p->frames[row + 1].kind;
}

static int64_t function_name(const struct firefox_writer *w, size_t row)
{
    (void)w;
    return (int64_t)row; /* labels have the same indices in the file */
}

static int64_t function_source(const struct firefox_writer *w, size_t row)
{
    string_id file = w->p->frames[w->frame_of[row]].file;
    return file ? (int64_t)w->source_rows[file] - 1 : -1;
}

static int64_t stack_prefix(const struct firefox_writer *w, size_t row)
{
    return (int64_t)w->p->stacks[row + 1].parent - 1;
}

static int64_t stack_frame(const struct firefox_writer *w, size_t row)
{
    return (int64_t)w->p->stacks[row + 1].frame - 1;
}

static int64_t source_name(const struct firefox_writer *w, size_t row)
{
    return w->files[row];
}

static int64_t module_name(const struct firefox_writer *w, size_t row)
{
    const struct module *m = &w->p->modules[row + 1];
    return strings_find(&w->strings, str_basename(profile_string(w->p, m->path)));
}

static int64_t row_itself(const struct firefox_writer *w, size_t row)
{
    (void)w;
    return (int64_t)row;
}

static void begin_table(struct json_writer *j, const char *key, size_t rows)
{
    json_put_line(j);
    json_put_key(j, key);
    json_begin(j, JSON_OBJECT);
    put_number(j, "length", (double)rows);
}

/* --- Tables -------------------- */

static void put_frames(struct firefox_writer *w)
{
    struct json_writer *j = &w->json;
    size_t rows = w->p->frame_count - 1;
    begin_table(j, "frameTable", rows);
    put_same(j, "address", rows, false, -1);
    put_same(j, "inlineDepth", rows, false, 0);
    put_column(w, "category", rows, frame_category);
    put_same(j, "subcategory", rows, false, 0);
    put_column(w, "func", rows, frame_function);
    put_same(j, "nativeSymbol", rows, true, 0);
    put_same(j, "innerWindowID", rows, false, 0);
    put_column(w, "line", rows, frame_line);
    put_same(j, "column", rows, true, 0);
    json_end(j, JSON_OBJECT);
}

/* The library of a function without one is -1. */
static void put_resources_of_functions(struct firefox_writer *w)
{
    struct json_writer *j = &w->json;
    json_put_key(j, "resource");
    json_begin(j, JSON_ARRAY);
    for (size_t i = 0; i < w->paths.labels.count; i++)
        json_put_double(j, (double)w->p->frames[w->frame_of[i]].module - 1);
    json_end(j, JSON_ARRAY);
}

static void put_functions(struct firefox_writer *w)
{
    struct json_writer *j = &w->json;
    size_t rows = w->paths.labels.count;
    begin_table(j, "funcTable", rows);
    put_column(w, "name", rows, function_name);
    put_false(j, "isJS", rows);
    put_false(j, "relevantForJS", rows);
    put_resources_of_functions(w);
    put_column(w, "source", rows, function_source);
    put_same(j, "lineNumber", rows, true, 0);
    put_same(j, "columnNumber", rows, true, 0);
    json_end(j, JSON_OBJECT);
}

static void put_stacks(struct firefox_writer *w)
{
    struct json_writer *j = &w->json;
    size_t rows = w->p->stack_count - 1;
    begin_table(j, "stackTable", rows);
    put_column(w, "prefix", rows, stack_prefix);
    put_column(w, "frame", rows, stack_frame);
    json_end(j, JSON_OBJECT);
}

static void put_shared(struct firefox_writer *w)
{
    struct json_writer *j = &w->json;
    size_t modules = w->p->module_count - 1;
    json_put_key(j, "shared");
    json_begin(j, JSON_OBJECT);
    put_stacks(w);
    put_frames(w);
    put_functions(w);
    begin_table(j, "resourceTable", modules);
    put_column(w, "lib", modules, row_itself);
    put_column(w, "name", modules, module_name);
    put_same(j, "host", modules, true, 0);
    put_same(j, "type", modules, false, 1); /* a library */
    json_end(j, JSON_OBJECT);
    begin_table(j, "nativeSymbols", 0);
    put_empty(j, "libIndex");
    put_empty(j, "address");
    put_empty(j, "name");
    put_empty(j, "functionSize");
    json_end(j, JSON_OBJECT);
    begin_table(j, "sources", w->source_count);
    put_same(j, "id", w->source_count, true, 0);
    put_column(w, "filename", w->source_count, source_name);
    put_same(j, "startLine", w->source_count, false, 1);
    put_same(j, "startColumn", w->source_count, false, 1);
    put_same(j, "sourceMapURL", w->source_count, true, 0);
    json_end(j, JSON_OBJECT);
    json_put_line(j);
    json_put_key(j, "stringArray");
    json_begin(j, JSON_ARRAY);
    for (string_id i = 0; i < w->strings.count; i++)
        json_put_str(j, strings_get(&w->strings, i));
    json_end(j, JSON_ARRAY);
    json_end(j, JSON_OBJECT);
}

static void put_libraries(struct firefox_writer *w)
{
    struct json_writer *j = &w->json;
    json_put_key(j, "libs");
    json_begin(j, JSON_ARRAY);
    for (module_id m = 1; m < w->p->module_count; m++) {
        struct str path = profile_string(w->p, w->p->modules[m].path);
        struct str build_id = profile_string(w->p, w->p->modules[m].build_id);
        json_put_line(j);
        json_begin(j, JSON_OBJECT);
        json_member_str(j, "name", str_basename(path));
        json_member_str(j, "path", path);
        json_member_str(j, "debugName", str_basename(path));
        json_member_str(j, "debugPath", path);
        json_member_str(j, "breakpadId", STR(""));
        json_put_key(j, "codeId");
        if (build_id.len)
            json_put_str(j, build_id);
        else
            json_put_null(j);
        json_put_key(j, "arch");
        json_put_null(j);
        json_end(j, JSON_OBJECT);
    }
    json_end(j, JSON_ARRAY);
}

/* --- Meta -------------------- */

static void put_categories(struct json_writer *j)
{
    json_put_key(j, "categories");
    json_begin(j, JSON_ARRAY);
    for (size_t i = 0; i < CATEGORY_COUNT; i++) {
        json_begin(j, JSON_OBJECT);
        json_member_str(j, "name", str_of(categories[i].name));
        json_member_str(j, "color", str_of(categories[i].color));
        json_put_key(j, "subcategories");
        json_begin(j, JSON_ARRAY);
        json_put_str(j, STR("Other"));
        json_end(j, JSON_ARRAY);
        json_end(j, JSON_OBJECT);
    }
    json_end(j, JSON_ARRAY);
}

static double interval_of(const struct profile *p)
{
    return p->facts.rate > 0 ? 1000 / p->facts.rate : 1;
}

static void put_meta(struct firefox_writer *w)
{
    struct json_writer *j = &w->json;
    const struct facts *facts = &w->p->facts;
    struct str product = w->options->title;
    uint64_t first = facts->time_first;
    if (!product.len)
        product = profile_string(w->p, facts->command);
    json_put_key(j, "meta");
    json_begin(j, JSON_OBJECT);
    put_number(j, "version", GECKO_VERSION);
    put_number(j, "preprocessedProfileVersion", PROFILE_VERSION);
    json_member_str(j, "product", product.len ? product : STR("stoke"));
    json_member_str(j, "importedFrom", STR("stoke " STOKE_VERSION));
    put_number(j, "interval", interval_of(w->p));
    put_number(j, "startTime",
               first != TIME_NONE && first >= EPOCH_LEAST ? (double)first / NS_PER_MS
                                                          : 0);
    put_number(j, "processType", 0);
    put_flag(j, "symbolicated", true);
    put_flag(j, "debug", false);
    put_flag(j, "sourceCodeIsNotOnSearchfox", true);
    put_flag(j, "usesOnlyOneStackType", true);
    put_categories(j);
    put_empty(j, "markerSchema");
    put_empty(j, "pausedRanges");
    begin_table(j, "extensions", 0);
    put_empty(j, "id");
    put_empty(j, "name");
    put_empty(j, "baseURL");
    json_end(j, JSON_OBJECT);
    json_put_key(j, "sampleUnits");
    json_begin(j, JSON_OBJECT);
    json_member_str(j, "time", STR("ms"));
    json_member_str(j, "eventDelay", STR("ms"));
    json_member_str(j, "threadCPUDelta", STR("ns"));
    json_end(j, JSON_OBJECT);
    json_end(j, JSON_OBJECT);
}

/* --- Threads -------------------- */

/* The type that the page shows weights as; *scale converts to its unit. */
static const char *weight_type(const struct firefox_writer *w,
                               const struct sample_part *part, double *scale)
{
    enum unit unit = (enum unit)w->p->events[part->event].unit;
    *scale = 1;
    if (w->options->tree.weight == CALLTREE_SAMPLES)
        return "samples";
    if (unit == UNIT_NANOSECONDS)
        *scale = 1 / NS_PER_MS;
    if (unit == UNIT_NANOSECONDS || unit == UNIT_MILLISECONDS)
        return "tracing-ms";
    return unit == UNIT_BYTES ? "bytes" : "samples";
}

static double time_of(const struct firefox_writer *w, const struct sample_part *part,
                      size_t i)
{
    const struct sample *s = &w->p->samples[w->parts.order[i]];
    uint64_t first = w->p->facts.time_first;
    if (s->time == TIME_NONE || first == TIME_NONE)
        return (double)(i - part->first) * interval_of(w->p);
    return s->time >= first ? (double)(s->time - first) / NS_PER_MS : 0;
}

static void put_stack_column(struct firefox_writer *w, const struct sample_part *part)
{
    struct json_writer *j = &w->json;
    json_put_key(j, "stack");
    json_begin(j, JSON_ARRAY);
    for (size_t i = part->first; i < part->end; i++) {
        stack_id stack = w->p->samples[w->parts.order[i]].stack;
        if (stack)
            json_put_u64(j, stack - 1);
        else
            json_put_null(j);
    }
    json_end(j, JSON_ARRAY);
}

static void put_samples(struct firefox_writer *w, const struct sample_part *part)
{
    struct json_writer *j = &w->json;
    bool counted = w->options->tree.weight == CALLTREE_SAMPLES;
    double scale;
    const char *type = weight_type(w, part, &scale);
    begin_table(j, "samples", part->end - part->first);
    put_stack_column(w, part);
    json_put_key(j, "time");
    json_begin(j, JSON_ARRAY);
    for (size_t i = part->first; i < part->end; i++)
        json_put_double(j, time_of(w, part, i));
    json_end(j, JSON_ARRAY);
    json_put_key(j, "weight");
    json_begin(j, JSON_ARRAY);
    for (size_t i = part->first; i < part->end; i++) {
        const struct sample *s = &w->p->samples[w->parts.order[i]];
        json_put_double(j, counted ? (double)s->count : s->weight * scale);
    }
    json_end(j, JSON_ARRAY);
    json_member_str(j, "weightType", str_of(type));
    json_end(j, JSON_OBJECT);
}

static void put_markers(struct json_writer *j)
{
    static const char *const columns[] = {"category", "data",  "endTime",
                                          "name",     "phase", "startTime"};
    begin_table(j, "markers", 0);
    for (size_t i = 0; i < sizeof columns / sizeof *columns; i++)
        put_empty(j, columns[i]);
    json_end(j, JSON_OBJECT);
}

/* The page distinguishes threads by ID, so the thread of each further event has
 * another ID. */
static void put_ids(struct firefox_writer *w, const struct sample_part *part)
{
    const struct thread *t = &w->parts.threads.items[part->thread];
    struct json_writer *j = &w->json;
    char pid[NUMBER_TEXT_MAX] = "0", tid[2 * NUMBER_TEXT_MAX];
    if (t->pid != ID_NONE)
        format_text(pid, sizeof pid, "%lld", (long long)t->pid);
    format_text(tid, sizeof tid, part->event > 1 ? "%lld.%u" : "%lld",
                t->tid != ID_NONE ? (long long)t->tid : (long long)part->thread,
                part->event);
    json_member_str(j, "pid", str_of(pid));
    json_member_str(j, "tid", str_of(tid));
    put_flag(j, "isMainThread", t->pid != ID_NONE && t->pid == t->tid);
}

static void put_thread(struct firefox_writer *w, const struct sample_part *part)
{
    struct json_writer *j = &w->json;
    const struct thread *t = &w->parts.threads.items[part->thread];
    struct str event = profile_string(w->p, w->p->events[part->event].name);
    struct output name = OUTPUT_BUFFER;
    output_str(&name, profile_string(w->p, t->name));
    if (name.used && part->event > 1)
        output_text(&name, ": ");
    if (!name.used || part->event > 1)
        output_str(&name, event);
    w->json.out->failed |= name.failed;
    json_put_line(j);
    json_begin(j, JSON_OBJECT);
    json_member_str(j, "name", output_contents(&name));
    output_deinit(&name);
    json_member_str(j, "processName", profile_string(w->p, t->name));
    json_member_str(j, "eventName", event); /* ours: for reading the file back */
    json_member_str(j, "processType", STR("default"));
    put_ids(w, part);
    put_number(j, "processStartupTime", 0);
    put_number(j, "registerTime", 0);
    json_put_key(j, "processShutdownTime");
    json_put_null(j);
    json_put_key(j, "unregisterTime");
    json_put_null(j);
    put_empty(j, "pausedRanges");
    put_flag(j, "showMarkersInTimeline", false);
    put_samples(w, part);
    put_markers(j);
    json_end(j, JSON_OBJECT);
}

static void put_file(struct firefox_writer *w)
{
    struct json_writer *j = &w->json;
    json_begin(j, JSON_OBJECT);
    put_meta(w);
    put_libraries(w);
    put_empty(j, "pages");
    put_empty(j, "counters");
    put_empty(j, "profilerOverhead");
    put_shared(w);
    json_put_key(j, "threads");
    json_begin(j, JSON_ARRAY);
    for (size_t i = 0; i < w->parts.count; i++)
        put_thread(w, &w->parts.items[i]);
    json_end(j, JSON_ARRAY);
    json_end(j, JSON_OBJECT);
    output_char(j->out, '\n');
}

static bool firefox_write(const struct profile *p, const struct export_options *options,
                          struct output *out, struct error *err)
{
    struct firefox_writer w = {.p = p, .options = options, .json = {.out = out}};
    struct label_style style = options->tree.label;
    style.words = true;
    bool ok = paths_init(&w.paths, p, &style, err);
    if (ok)
        ok = (sample_parts_init(&w.parts, &w.arena, p, &options->tree) &&
              make_tables(&w)) ||
             error_memory(err);
    if (ok)
        put_file(&w);
    arena_deinit(&w.arena);
    paths_deinit(&w.paths);
    return ok;
}

const struct exporter export_firefox = {
    .name = "firefox",
    .suffixes = "firefox.json,profile.json",
    .summary = "processed profile for profiler.firefox.com",
    .needs_time = true,
    .whole = true,
    .write = firefox_write,
};
