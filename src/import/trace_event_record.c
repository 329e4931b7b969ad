/* SPDX-License-Identifier: Apache-2.0 */
/* Reads one event of a trace, member by member. */
#include "base/number.h"
#include "import/trace_event_parts.h"

/* Microseconds; as nanoseconds, the sum of a time and a duration is below 2^63. */
#define TIME_MAX 4000000000000000u

/* Converts microseconds as text to nanoseconds; exact for digits and a point. */
static bool to_ns(struct str s, int64_t *out)
{
    struct str digits = str_trim(s);
    bool negative = digits.len && digits.ptr[0] == '-';
    uint64_t whole, part = 0;
    double v;
    digits = str_skip(digits, negative);
    struct str fraction = digits, integer = str_cut(&fraction, '.');
    char three[3] = {'0', '0', '0'};
    memcpy(three, fraction.ptr, fraction.len < 3 ? fraction.len : 3);
    if (number_parse_u64(integer, &whole) && whole < TIME_MAX &&
        number_parse_u64((struct str){three, 3}, &part)) {
        *out = (int64_t)(whole * 1000 + part);
    } else if (number_parse_double(digits, &v) && v < TIME_MAX) {
        *out = (int64_t)(v * 1000 + 0.5);
    } else {
        return false;
    }
    if (negative)
        *out = -*out;
    return true;
}

static bool take_time(struct trace *t, int64_t *out)
{
    struct str s;
    return json_text(&t->json, &s) && to_ns(s, out);
}

static void take_text(struct trace *t, struct output *into)
{
    struct str s;
    into->used = 0;
    if (json_text(&t->json, &s))
        output_str(into, s);
    t->arena.failed |= into->failed;
}

/* Reads an ID: a number or any text. */
static void take_id(struct trace *t, int64_t *id, string_id *text)
{
    struct str s;
    double v;
    if (!json_text(&t->json, &s))
        return;
    if (number_parse_double(s, &v) && v >= -1e15 && v <= 1e15)
        *id = (int64_t)v;
    else
        *text = builder_string(t->b, s);
}

/* Reads the ID of a stack frame, and allocates the node. */
uint32_t trace_event_take_node(struct trace *t)
{
    struct str s;
    return json_text(&t->json, &s) ? strings_add(&t->ids, s) : 0;
}

/* {"startTime": ..., "timeDeltas": [...], "cpuProfile": {"nodes": ..., "samples": ...}}
 */
static void read_data(struct trace *t)
{
    struct json *j = &t->json;
    struct str key;
    bool *any = &t->record.has_profile;
    if (!json_enter(j, JSON_OBJECT))
        return;
    while (json_key(j, &key)) {
        if (!str_equal(key, STR("cpuProfile"))) {
            if (v8_member(&t->chunk, j, key))
                *any = true;
            else
                json_skip(j);
        } else if (json_enter(j, JSON_OBJECT)) {
            *any = true;
            while (json_key(j, &key))
                if (!v8_member(&t->chunk, j, key))
                    json_skip(j);
        }
    }
}

static void read_args(struct trace *t)
{
    struct json *j = &t->json;
    struct record *e = &t->record;
    struct str key;
    if (!json_enter(j, JSON_OBJECT))
        return;
    while (json_key(j, &key)) {
        if (str_equal(key, STR("name")))
            take_text(t, &e->args_name);
        else if (str_equal(key, STR("detail")))
            take_text(t, &e->detail);
        else if (str_equal(key, STR("data")))
            read_data(t);
        else if (t->options->lines && str_equal(key, STR("url")))
            take_text(t, &e->file);
        else if (t->options->lines && str_equal(key, STR("line")))
            json_index(j, &e->line);
        else {
            e->is_average |= str_equal(key, STR("avg ms"));
            json_skip(j);
        }
    }
}

static void read_member(struct trace *t, struct str key)
{
    struct json *j = &t->json;
    struct record *e = &t->record;
    struct str s;
    if (str_equal(key, STR("ph")))
        e->phase = json_string(j, &s) && s.len == 1 ? s.ptr[0] : 0;
    else if (str_equal(key, STR("ts")))
        e->has_time = take_time(t, &e->time);
    else if (str_equal(key, STR("dur")))
        e->has_duration = take_time(t, &e->duration);
    else if (str_equal(key, STR("tdur")))
        e->has_thread_duration = take_time(t, &e->thread_duration);
    else if (str_equal(key, STR("name")))
        take_text(t, &e->name);
    else if (str_equal(key, STR("pid")))
        take_id(t, &e->pid, &e->pid_text);
    else if (str_equal(key, STR("tid")))
        take_id(t, &e->tid, &e->tid_text);
    else if (str_equal(key, STR("id")))
        e->id = json_text(j, &s) ? builder_string(t->b, s) : 0;
    else if (str_equal(key, STR("args")))
        read_args(t);
    else if (str_equal(key, STR("sf")))
        e->node = trace_event_take_node(t);
    else if (str_equal(key, STR("weight")))
        json_number(j, &e->weight);
    else
        json_skip(j);
}

/* Reads the current object into t->record. False if it is not an object or is
 * truncated. */
bool trace_event_record(struct trace *t)
{
    struct record *e = &t->record;
    struct str key;
    *e = (struct record){.name = e->name,
                         .args_name = e->args_name,
                         .detail = e->detail,
                         .file = e->file,
                         .weight = 1,
                         .pid = ID_NONE,
                         .tid = ID_NONE};
    e->name.used = e->args_name.used = e->detail.used = e->file.used = 0;
    v8_clear(&t->chunk);
    if (!json_enter(&t->json, JSON_OBJECT))
        return false;
    while (json_key(&t->json, &key))
        read_member(t, key);
    return !t->json.cut && !t->json.failed;
}
