/* SPDX-License-Identifier: Apache-2.0 */
/* The output of `node --prof-process --preprocess` for V8's log:
 *
 *   {"code": [{"name": "T start", "type": "CPP"}, {"name": "f a.js:1:2", "type": "JS",
 *              "func": 3}, ...],
 *    "functions": [{"name": "f a.js:1:2", ...}, ...],
 *    "ticks": [{"tm": 29385, "s": [29953, 425, 33157, 0]}, ...]}
 *
 * tm: microseconds; s: pairs of code and position in it, innermost first. The weight
 * of a tick is the time since the preceding one. */
#include "base/array.h"
#include "base/format.h"
#include "base/number.h"
#include "import/importer.h"
#include "import/json_input.h"
#include "model/name.h"

struct v8log {
    struct json json;
    struct builder *b;
    const struct import_options *options;
    struct arena arena;
    struct code *codes;
    size_t code_count, code_cap;
    uint64_t last;
    event_id event;
    bool code_read;
    struct tick *ticks; /* those that came before the code */
    double *numbers;    /* of all stored ticks, or of the current one */
    size_t tick_count, tick_cap, number_count, number_cap;
};

struct tick {
    uint64_t time;
    size_t first, count; /* indices of numbers */
};

/* A piece of code. Its frame is made on first use, because most code is in no stack. */
struct code {
    string_id name, type;
    frame_id frame;
};

static void read_code(struct v8log *v)
{
    struct json *j = &v->json;
    struct str key;
    struct code code = {0};
    if (!ARRAY_RESERVE(&v->arena, v->codes, v->code_cap, v->code_count + 1))
        return;
    if (json_enter(j, JSON_OBJECT))
        while (json_key(j, &key)) {
            if (str_equal(key, STR("name")))
                code.name = json_name(j, v->b);
            else if (str_equal(key, STR("type")))
                code.type = json_name(j, v->b);
            else
                json_skip(j);
        }
    v->codes[v->code_count++] = code;
}

/* "f a.js:12:3": the function, if it has a name, its file, line and column. */
static void name_script(struct v8log *v, struct str text, struct frame *f)
{
    size_t space = str_rfind(text, ' ');
    struct str name = str_head(text, space < text.len ? space : 0);
    struct str location = str_skip(text, space < text.len ? space + 1 : 0);
    size_t column = str_rfind(location, ':');
    struct str file = str_head(location, column < location.len ? column : 0);
    size_t colon = str_rfind(file, ':');
    uint64_t line = 0;
    char room[512];
    if (colon == file.len || !number_parse_u64(str_skip(file, colon + 1), &line) ||
        line >= UINT32_MAX) {
        f->name = builder_string(v->b, text);
        return;
    }
    file = str_head(file, colon);
    struct str base = str_basename(file);
    size_t length = base.len ? format_text(room, sizeof room, "(anonymous %.*s:%llu)",
                                           STR_ARG(base), (unsigned long long)line)
                             : format_text(room, sizeof room, "(anonymous)");
    f->name = builder_string(v->b, name.len ? name : (struct str){room, length});
    if (v->options->lines && file.len) {
        f->file = builder_string(v->b, file);
        f->line = (uint32_t)line;
    }
}

static frame_id frame_of(struct v8log *v, struct code *code)
{
    char room[4096]; /* the string may move when others are added */
    struct str name = profile_string(v->b->profile, code->name);
    struct str type = profile_string(v->b->profile, code->type);
    struct frame f = {0};
    if (code->frame)
        return code->frame;
    name = str_head(name, sizeof room);
    memcpy(room, name.ptr, name.len);
    name.ptr = room;
    if (str_equal(type, STR("JS"))) {
        name_script(v, name, &f);
        f.kind = FRAME_JIT;
    } else if (str_equal(type, STR("SHARED_LIB"))) {
        f.module = builder_module(v->b, name, STR(""));
    } else {
        if (str_starts(name, STR("T ")) || str_starts(name, STR("t ")))
            name = str_skip(name, 2);
        if (!v->options->signatures)
            name = name_without_arguments(name);
        f.name = builder_string(v->b, name);
        f.kind = str_equal(type, STR("CPP")) ? FRAME_USER : FRAME_JIT;
    }
    code->frame = builder_frame(v->b, &f);
    return code->frame;
}

/* The stack: code indices and positions, alternating; negative indices are not code. */
static void read_stack(struct v8log *v)
{
    struct json *j = &v->json;
    double number;
    if (!json_enter(j, JSON_ARRAY))
        return;
    for (bool location = false; json_item(j); location = !location) {
        if (!json_number(j, &number) || location || number < 0)
            continue;
        if (v->code_read && number >= (double)v->code_count) {
            json_warn(j, v->b, "code that is not in the file");
            continue;
        }
        double *added =
            ARRAY_APPEND(&v->arena, v->numbers, v->number_count, v->number_cap);
        if (!added)
            return;
        *added = number;
    }
}

static void add_tick(struct v8log *v, const struct tick *tick)
{
    if (tick->time < v->last || tick->time > (uint64_t)1 << 53) {
        json_warn(&v->json, v->b, "a time before that of the preceding tick");
        return;
    }
    builder_path_clear(v->b);
    for (size_t i = 0; i < tick->count; i++) {
        double number = v->numbers[tick->first + i];
        if (number < (double)v->code_count)
            builder_path_add(v->b, frame_of(v, &v->codes[(size_t)number]));
        else
            json_warn(&v->json, v->b, "code that is not in the file");
    }
    if (v->b->path.count == 0 && tick->time == v->last)
        return;
    if (v->b->path.count == 0) /* its time is part of the total */
        builder_path_add(v->b, builder_frame(v->b, &(struct frame){0}));
    builder_add(v->b,
                &(struct sample){.time = v->last * 1000,
                                 .cpu = CPU_NONE,
                                 .event = v->event,
                                 .stack = builder_path_from_leaf(v->b),
                                 .count = 1,
                                 .weight = v->options->samples
                                               ? 1
                                               : (double)(tick->time - v->last) * 1e3});
    v->last = tick->time;
}

static void store_tick(struct v8log *v, const struct tick *tick)
{
    struct tick *added = ARRAY_APPEND(&v->arena, v->ticks, v->tick_count, v->tick_cap);
    if (!added)
        return;
    *added = *tick;
}

static void read_tick(struct v8log *v)
{
    struct json *j = &v->json;
    struct str key;
    if (v->code_read)
        v->number_count = 0;
    struct tick tick = {.time = v->last, .first = v->number_count};
    if (!json_enter(j, JSON_OBJECT))
        return;
    while (json_key(j, &key)) {
        if (str_equal(key, STR("tm")))
            json_u64(j, &tick.time);
        else if (str_equal(key, STR("s")))
            read_stack(v);
        else
            json_skip(j);
    }
    tick.count = v->number_count - tick.first;
    if (v->code_read)
        add_tick(v, &tick);
    else
        store_tick(v, &tick);
}

static void read_items(struct v8log *v, void (*read)(struct v8log *))
{
    if (json_enter(&v->json, JSON_ARRAY))
        while (json_item(&v->json) && !v->arena.failed)
            read(v);
}

static bool v8log_read(struct source *in, const struct import_options *options,
                       struct builder *b, struct error *err)
{
    struct v8log v = {.b = b, .options = options};
    uint64_t before = b->profile->facts.samples;
    struct str key;
    json_init(&v.json, in, true, err);
    v.event =
        builder_event(b, STR("time"), options->samples ? UNIT_COUNT : UNIT_NANOSECONDS);
    if (json_enter(&v.json, JSON_OBJECT))
        while (json_key(&v.json, &key) && !v.arena.failed) {
            if (str_equal(key, STR("code"))) {
                read_items(&v, read_code);
                v.code_read = v.tick_count == 0;
            } else if (str_equal(key, STR("ticks"))) {
                read_items(&v, read_tick);
            } else {
                json_skip(&v.json);
            }
        }
    for (size_t i = 0; i < v.tick_count && !v.arena.failed; i++)
        add_tick(&v, &v.ticks[i]);
    builder_end_scratch(b, &v.arena);
    return json_input_end(&v.json, b, before);
}

static int v8log_probe(struct str head)
{
    static const struct json_rule rules[] = {
        {80, '{', {"\"code\"", "\"ticks\"", "\"type\""}}, {0}};
    return json_probe(head, rules);
}

const struct importer import_v8log = {
    .name = "v8log",
    .suffixes = "v8log.json,json",
    .summary = "V8's log, by node --prof-process --preprocess",
    .probe = v8log_probe,
    .shape = SHAPE_JSON,
    .read = v8log_read,
};
