/* SPDX-License-Identifier: Apache-2.0 */
/* Firefox profiles: as the profiler records them (Gecko), as the developer tools save
 * them
 * ({"profile": ...}), and as profiler.firefox.com, samply and others write them
 * (processed).
 *
 *   {"meta": {"interval": 1, ...}, "threads": [{"name": "GeckoMain", "pid": 1, "tid": 2,
 *    "samples": T, "stackTable": T, "frameTable": T, "funcTable": T, "stringTable": [...]
 *    }, ...], "shared": {...}, "processes": [...]}
 *
 * A table T is rows whose fields a schema names, or columns:
 *   {"schema": {"prefix": 0, "frame": 1}, "data": [[null, 0], [0, 1]]}
 *   {"prefix": [null, 0], "frame": [0, 1]}
 * A stack is {prefix, frame}; a frame is a location ("f (a.js:1:2)") or a function.
 * Tables that a thread does not have are in "shared". Times are milliseconds.
 *
 * In Gecko profiles, a sample lasts until the thread's next sample. In processed
 * profiles, its weight is given, or is the interval. */
#include "base/array.h"
#include "base/idmap.h"
#include "base/number.h"
#include "import/importer.h"
#include "import/json_input.h"
#include <math.h>

#define COLUMNS_MAX 5
#define SCHEMA_MAX 32
#define NESTED_MAX 16      /* nested processes */
#define FRAMES_FEW 4096    /* a table of at most this size is cached for each thread */
#define INTERVAL_MOST 1e12 /* milliseconds */

enum table_number { SAMPLES, STACKS, FRAMES, FUNCTIONS, SOURCES, TABLES };
enum { SAMPLE_STACK, SAMPLE_TIME, SAMPLE_DELTA, SAMPLE_WEIGHT };
enum { STACK_PREFIX, STACK_FRAME };
enum { FRAME_LOCATION, FRAME_FUNCTION, FRAME_LINE };
enum { FUNCTION_NAME, FUNCTION_FILE, FUNCTION_SOURCE };
enum { SOURCE_FILE };

static const struct {
    const char *name;
    const char *columns[COLUMNS_MAX];
} table_names[TABLES] = {
    [SAMPLES] = {"samples", {"stack", "time", "timeDeltas", "weight"}},
    [STACKS] = {"stackTable", {"prefix", "frame"}},
    [FRAMES] = {"frameTable", {"location", "func", "line"}},
    [FUNCTIONS] = {"funcTable", {"name", "fileName", "source"}},
    [SOURCES] = {"sources", {"filename"}},
};

/* Numbers by row; NAN if there is none. */
struct column {
    double *items;
    size_t count, cap;
};

struct table {
    struct column columns[COLUMNS_MAX];
    size_t rows;
};

struct gecko_thread {
    struct table tables[TABLES];
    struct column strings; /* string_ids */
    string_id name, process, weight_type;
    string_id event; /* in our own files: the event that the thread stands for */
    int64_t pid, tid;
    stack_id *stacks; /* by row of its stack table, after they are made */
    frame_id *frames; /* by row of the frame table; 0: not made yet. NULL: the table is
                         shared and much longer than the thread's stacks */
};

/* The parts of a location. */
struct location_parts {
    string_id name, file;
    uint32_t line;
};

struct gecko {
    struct json json;
    struct builder *b;
    const struct import_options *options;
    struct arena arena;
    struct gecko_thread *threads; /* [0] holds the shared tables */
    size_t count, cap;
    struct location_parts *locations; /* [0] is none */
    size_t location_count, location_cap;
    struct idmap location_numbers; /* by string */
    double interval;               /* milliseconds */
    bool processed;
};

/* --- Tables -------------------- */

static void append(struct gecko *g, struct column *c, double value)
{
    double *item = ARRAY_APPEND(&g->arena, c->items, c->count, c->cap);
    if (!item)
        return;
    *item = value;
}

static double cell(const struct column *c, size_t row)
{
    return row < c->count ? c->items[row] : NAN;
}

/* The row number in a cell; SIZE_MAX if it is not below `rows`. */
static size_t row_of(double value, size_t rows)
{
    return value >= 0 && value < (double)rows ? (size_t)value : SIZE_MAX;
}

static double take_number(struct json *j)
{
    double v;
    return json_number(j, &v) ? v : NAN;
}

static int column_of(enum table_number table, struct str name)
{
    for (int i = 0; i < COLUMNS_MAX && table_names[table].columns[i]; i++)
        if (str_equal(str_of(table_names[table].columns[i]), name))
            return i;
    return -1;
}

static bool read_schema(struct gecko *g, enum table_number table, int *positions)
{
    struct str key;
    uint32_t position;
    if (!json_enter(&g->json, JSON_OBJECT))
        return false;
    while (json_key(&g->json, &key)) {
        int column = column_of(table, key);
        if (json_index(&g->json, &position) && column >= 0 && position < SCHEMA_MAX)
            positions[position] = column;
    }
    return true;
}

/* The numbers of the rows, by position in the row: only those that the schema names,
 * or all if the schema comes after the rows. */
static void read_rows(struct gecko *g, struct column *raw, const int *positions,
                      bool known)
{
    struct json *j = &g->json;
    if (!json_enter(j, JSON_ARRAY))
        return;
    while (json_item(j) && !g->arena.failed) {
        double row[SCHEMA_MAX];
        for (size_t i = 0; i < SCHEMA_MAX; i++)
            row[i] = NAN;
        if (json_enter(j, JSON_ARRAY))
            for (size_t i = 0; json_item(j); i++) {
                double v = take_number(j);
                if (i < SCHEMA_MAX)
                    row[i] = v;
            }
        for (size_t i = 0; i < SCHEMA_MAX; i++)
            if (!known || positions[i] >= 0)
                append(g, &raw[i], row[i]);
    }
}

static void read_column(struct gecko *g, struct column *c)
{
    if (!json_enter(&g->json, JSON_ARRAY))
        return;
    c->count = 0;
    while (json_item(&g->json) && !g->arena.failed)
        append(g, c, take_number(&g->json));
}

static void read_table(struct gecko *g, struct gecko_thread *thread,
                       enum table_number number)
{
    struct json *j = &g->json;
    struct table *t = &thread->tables[number];
    struct str key;
    int positions[SCHEMA_MAX];
    struct column raw[SCHEMA_MAX] = {{0}};
    bool known = false;
    memset(positions, -1, sizeof positions);
    if (!json_enter(j, JSON_OBJECT))
        return;
    while (json_key(j, &key) && !g->arena.failed) {
        int column = column_of(number, key);
        if (column >= 0)
            read_column(g, &t->columns[column]);
        else if (str_equal(key, STR("schema")))
            known |= read_schema(g, number, positions);
        else if (str_equal(key, STR("data")))
            read_rows(g, raw, positions, known);
        else if (str_equal(key, STR("weightType")))
            thread->weight_type = json_name(j, g->b);
        else
            json_skip(j);
    }
    for (int i = 0; i < SCHEMA_MAX; i++)
        if (positions[i] >= 0 && raw[i].count)
            t->columns[positions[i]] = raw[i];
    for (int i = 0; i < COLUMNS_MAX; i++)
        if (t->columns[i].count > t->rows)
            t->rows = t->columns[i].count;
}

static void read_strings(struct gecko *g, struct column *strings)
{
    if (!json_enter(&g->json, JSON_ARRAY))
        return;
    while (json_item(&g->json) && !g->arena.failed)
        append(g, strings, (double)json_name(&g->json, g->b));
}

/* --- Threads -------------------- */

/* A PID or TID: a number, or text since 2023. A suffix (samply: "12.1") distinguishes
 * threads that had the same number. */
static int64_t take_id(struct json *j)
{
    double v;
    uint64_t id;
    struct str text;
    if (json_peek(j) != JSON_STRING)
        return json_number(j, &v) && v >= 0 && v < 1e15 ? (int64_t)v : ID_NONE;
    if (!json_string(j, &text) ||
        !number_parse_u64(str_head(text, str_find(text, '.')), &id) ||
        id >= (uint64_t)1e15)
        return ID_NONE;
    return (int64_t)id;
}

/* A member of a thread or of the shared tables; false if it is not a table, and then
 * nothing is read. */
static bool table_member(struct gecko *g, struct gecko_thread *t, struct str key)
{
    for (int i = 0; i < TABLES; i++)
        if (str_equal(key, str_of(table_names[i].name))) {
            read_table(g, t, (enum table_number)i);
            return true;
        }
    if (!str_equal(key, STR("stringTable")) && !str_equal(key, STR("stringArray")))
        return false;
    read_strings(g, &t->strings);
    return true;
}

static struct gecko_thread *add_thread(struct gecko *g)
{
    if (!ARRAY_RESERVE(&g->arena, g->threads, g->cap, g->count + 1))
        return NULL;
    g->threads[g->count] = (struct gecko_thread){.pid = ID_NONE, .tid = ID_NONE};
    return &g->threads[g->count++];
}

static void read_thread(struct gecko *g)
{
    struct json *j = &g->json;
    struct gecko_thread *t = add_thread(g);
    struct str key;
    if (!t || !json_enter(j, JSON_OBJECT))
        return;
    while (json_key(j, &key) && !g->arena.failed) {
        if (str_equal(key, STR("name")))
            t->name = json_name(j, g->b);
        else if (str_equal(key, STR("processName")))
            t->process = json_name(j, g->b);
        else if (str_equal(key, STR("eventName")))
            t->event = json_name(j, g->b);
        else if (str_equal(key, STR("pid")))
            t->pid = take_id(j);
        else if (str_equal(key, STR("tid")))
            t->tid = take_id(j);
        else if (!table_member(g, t, key))
            json_skip(j);
    }
}

static void read_meta(struct gecko *g)
{
    struct json *j = &g->json;
    struct str key, s;
    if (!json_enter(j, JSON_OBJECT))
        return;
    while (json_key(j, &key)) {
        if (str_equal(key, STR("interval")))
            json_number(j, &g->interval);
        else if (str_equal(key, STR("preprocessedProfileVersion"))) {
            g->processed = true;
            json_skip(j);
        } else if (str_equal(key, STR("product")) && json_string(j, &s))
            g->b->profile->facts.command = builder_string(g->b, s);
        else
            json_skip(j);
    }
}

/* Enters the next object of the current list; false at its end. */
static bool next_object(struct json *j)
{
    while (json_item(j))
        if (json_enter(j, JSON_OBJECT))
            return true;
    return false;
}

/* A member of a profile, other than nested profiles. */
static void profile_member(struct gecko *g, struct str key)
{
    struct json *j = &g->json;
    bool threads = str_equal(key, STR("threads")), shared = str_equal(key, STR("shared"));
    if (str_equal(key, STR("meta"))) {
        read_meta(g);
    } else if (threads && json_enter(j, JSON_ARRAY)) {
        while (json_item(j) && !g->arena.failed)
            read_thread(g);
    } else if (shared && json_enter(j, JSON_OBJECT)) {
        while (json_key(j, &key))
            if (!table_member(g, &g->threads[0], key))
                json_skip(j);
    } else if (!threads && !shared) {
        json_skip(j);
    }
}

/* Processes are profiles nested in the profile, and may be nested again. */
static void read_profile(struct gecko *g)
{
    struct json *j = &g->json;
    struct str key;
    bool listed[NESTED_MAX + 1] = {
        false}; /* the open value on that level is an item of a list */
    size_t depth = json_enter(j, JSON_OBJECT);
    while (depth && !g->arena.failed) {
        bool member = json_key(j, &key);
        bool one = member && str_equal(key, STR("profile"));
        bool several = member && str_equal(key, STR("processes"));
        if (!member) {
            depth -= !(listed[depth] && next_object(j));
        } else if ((one || several) && depth < NESTED_MAX) {
            if (one ? json_enter(j, JSON_OBJECT)
                    : json_enter(j, JSON_ARRAY) && next_object(j))
                listed[++depth] = several;
        } else {
            profile_member(g, key);
        }
    }
}

/* --- Stacks -------------------- */

static const struct table *table_at(const struct gecko *g, const struct gecko_thread *t,
                                    enum table_number number)
{
    return t->tables[number].rows ? &t->tables[number] : &g->threads[0].tables[number];
}

static string_id string_at(const struct gecko *g, const struct gecko_thread *t,
                           double number)
{
    const struct column *c = t->strings.count ? &t->strings : &g->threads[0].strings;
    size_t row = row_of(number, c->count);
    return row == SIZE_MAX ? 0 : (string_id)c->items[row];
}

/* "f (a.js:12:3)": a function and its location; other locations are only a name. */
static struct location_parts split_location(struct gecko *g, string_id location)
{
    struct str text = profile_string(g->b->profile, location);
    struct location_parts parts = {.name = location};
    size_t open = str_search(text, STR(" ("));
    uint64_t line = 0;
    if (open == text.len || !str_ends(text, STR(")")))
        return parts;
    struct str position = str_skip(text, open + 2);
    position.len--;
    for (int i = 0; i < 2; i++) { /* line and column */
        size_t colon = str_rfind(position, ':');
        uint64_t number;
        if (colon == position.len ||
            !number_parse_u64(str_skip(position, colon + 1), &number))
            break;
        line = number;
        position.len = colon;
    }
    if (g->options->lines) {
        parts.file = builder_string(g->b, position);
        parts.line = line < UINT32_MAX ? (uint32_t)line : 0;
    }
    parts.name = builder_string(g->b, str_head(text, open));
    return parts;
}

/* The same, with each string split only once. */
static void take_location(struct gecko *g, string_id location, struct frame *f)
{
    uint64_t *number = idmap_put(&g->location_numbers, &g->arena, location);
    if (!number ||
        !ARRAY_RESERVE(&g->arena, g->locations, g->location_cap, g->location_count + 2))
        return;
    if (!*number) {
        *number = ++g->location_count;
        g->locations[*number] = split_location(g, location);
    }
    f->name = g->locations[*number].name;
    f->file = g->locations[*number].file;
    f->line = g->locations[*number].line;
}

/* The file of a function: a string, or since 2025 an index of the sources. */
static string_id file_of(const struct gecko *g, const struct gecko_thread *t,
                         size_t function)
{
    const struct table *functions = table_at(g, t, FUNCTIONS);
    const struct table *sources = table_at(g, t, SOURCES);
    double file = cell(&functions->columns[FUNCTION_FILE], function);
    size_t source =
        row_of(cell(&functions->columns[FUNCTION_SOURCE], function), sources->rows);
    if (source != SIZE_MAX)
        file = cell(&sources->columns[SOURCE_FILE], source);
    return string_at(g, t, file);
}

static frame_id frame_of(struct gecko *g, const struct gecko_thread *t, size_t row)
{
    const struct table *frames = table_at(g, t, FRAMES);
    const struct table *functions = table_at(g, t, FUNCTIONS);
    struct frame f = {0};
    double line = cell(&frames->columns[FRAME_LINE], row);
    size_t function =
        row_of(cell(&frames->columns[FRAME_FUNCTION], row), functions->rows);
    if (function == SIZE_MAX) {
        take_location(g, string_at(g, t, cell(&frames->columns[FRAME_LOCATION], row)),
                      &f);
        return builder_frame(g->b, &f);
    }
    f.name = import_label(
        g->b, string_at(g, t, cell(&functions->columns[FUNCTION_NAME], function)));
    if (g->options->lines) {
        f.file = file_of(g, t, function);
        f.line = line > 0 && line < UINT32_MAX ? (uint32_t)line : 0;
    }
    return builder_frame(g->b, &f);
}

/* The thread whose stack table the samples of `t` refer to. */
static struct gecko_thread *owner_of(struct gecko *g, struct gecko_thread *t)
{
    return t->tables[STACKS].rows ? t : &g->threads[0];
}

static stack_id push_frame(struct gecko *g, struct gecko_thread *t, stack_id parent,
                           size_t frame)
{
    frame_id known = t->frames ? t->frames[frame] : 0;
    if (!known)
        known = frame_of(g, t, frame);
    if (t->frames)
        t->frames[frame] = known;
    return builder_push(g->b, parent, known);
}

/* Stacks come after their prefixes; one that does not has no prefix. */
static bool make_stacks(struct gecko *g, struct gecko_thread *t)
{
    const struct table *table = table_at(g, t, STACKS);
    size_t frames = table_at(g, t, FRAMES)->rows;
    if (t->stacks)
        return true;
    t->stacks = arena_zalloc(&g->arena, table->rows + 1, sizeof *t->stacks);
    if (frames <= FRAMES_FEW || frames / 4 <= table->rows)
        t->frames = arena_zalloc(&g->arena, frames + 1, sizeof *t->frames);
    if (!t->stacks || g->arena.failed)
        return false;
    for (size_t i = 0; i < table->rows; i++) {
        double prefix = cell(&table->columns[STACK_PREFIX], i);
        size_t before = row_of(prefix, i);
        size_t frame = row_of(cell(&table->columns[STACK_FRAME], i), frames);
        if (before == SIZE_MAX && !isnan(prefix))
            builder_warn(g->b, "a stack that comes before its prefix", 0, 0, STR(""));
        stack_id parent = before == SIZE_MAX ? 0 : t->stacks[before];
        t->stacks[i] = frame == SIZE_MAX ? parent : push_frame(g, t, parent, frame);
    }
    return true;
}

/* --- Samples -------------------- */

/* How samples of a thread are weighted. */
struct weighing {
    event_id event;
    double scale; /* of the weights in the file; 0: the file has none */
    bool until_next;
};

static struct weighing weighing_of(struct gecko *g, const struct gecko_thread *t)
{
    struct str type = profile_string(g->b->profile, t->weight_type);
    const struct column *weights = &t->tables[SAMPLES].columns[SAMPLE_WEIGHT];
    struct weighing w = {.until_next = !g->processed};
    bool any = g->processed && weights->count && !isnan(weights->items[0]);
    enum unit unit = UNIT_NANOSECONDS;
    const char *name = "time";
    if (any && str_equal(type, STR("bytes"))) {
        name = "bytes";
        unit = UNIT_BYTES;
        w.scale = 1;
    } else if (any && str_equal(type, STR("tracing-ms"))) {
        w.scale = 1e6;
    } else if (any) {
        name = "samples";
        unit = UNIT_COUNT;
        w.scale = 1;
    }
    struct str shown = t->event ? profile_string(g->b->profile, t->event) : str_of(name);
    w.event = builder_event(g->b, shown, g->options->samples ? UNIT_COUNT : unit);
    return w;
}

static void add_samples(struct gecko *g, struct gecko_thread *t)
{
    const stack_id *made = owner_of(g, t)->stacks;
    const struct table *s = &t->tables[SAMPLES];
    struct weighing w = weighing_of(g, t);
    string_id named = t->name && !t->event ? t->name : t->process;
    struct str name = profile_string(g->b->profile, named);
    thread_id thread = builder_thread(g->b, t->pid, t->tid, name);
    size_t stacks = table_at(g, t, STACKS)->rows;
    double elapsed = 0;
    for (size_t i = 0; i < s->rows && !builder_failed(g->b); i++) {
        double delta = cell(&s->columns[SAMPLE_DELTA], i);
        elapsed += isnan(delta) ? 0 : delta;
        double time =
            s->columns[SAMPLE_TIME].count ? cell(&s->columns[SAMPLE_TIME], i) : elapsed;
        double next = cell(&s->columns[SAMPLE_TIME], i + 1);
        size_t row = row_of(cell(&s->columns[SAMPLE_STACK], i), stacks);
        double weight = w.scale > 0    ? cell(&s->columns[SAMPLE_WEIGHT], i) * w.scale
                        : w.until_next ? floor((next - time) * 1e6 + 0.5)
                                       : g->interval * 1e6;
        stack_id stack = row == SIZE_MAX ? 0 : made[row];
        if (!(stack || t->event) || !(weight > 0 || w.scale > 0) || !isfinite(weight))
            continue;
        builder_add(g->b, &(struct sample){.time = time_of_ns(time * 1e6),
                                           .thread = thread,
                                           .cpu = CPU_NONE,
                                           .event = w.event,
                                           .stack = stack,
                                           .count = 1,
                                           .weight = g->options->samples ? 1 : weight});
    }
}

static bool firefox_read(struct source *in, const struct import_options *options,
                         struct builder *b, struct error *err)
{
    struct gecko g = {.b = b, .options = options, .interval = 1};
    uint64_t before = b->profile->facts.samples;
    json_init(&g.json, in, true, err);
    if (add_thread(&g))
        read_profile(&g);
    if (!(g.interval > 0 && g.interval < INTERVAL_MOST))
        g.interval = 1;
    for (size_t i = 1; i < g.count && !g.arena.failed; i++)
        if (make_stacks(&g, owner_of(&g, &g.threads[i])))
            add_samples(&g, &g.threads[i]);
    builder_end_scratch(b, &g.arena);
    return json_input_end(&g.json, b, before);
}

static int firefox_probe(struct str head)
{
    static const struct json_rule rules[] = {
        {75,
         '{',
         {0},
         {"\"preprocessedProfileVersion\"", "\"stackTable\"", "\"frameTable\""}},
        {75, '{', {"\"profile\"", "\"libs\"", "\"breakpadId\""}},
        {75, '{', {"\"meta\""}, {"\"libs\"", "\"oscpu\"", "\"categories\""}},
        {0}};
    return json_probe(head, rules);
}

const struct importer import_firefox = {
    .name = "firefox",
    .suffixes = "json",
    .summary = "Firefox profiles: Gecko and processed (samply)",
    .probe = firefox_probe,
    .shape = SHAPE_JSON,
    .read = firefox_read,
};
