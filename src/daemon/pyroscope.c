/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/pyroscope.h"
#include "codec/json.h"
#include "codec/protobuf.h"

enum member { NO_MEMBER, TYPE, NAME, SELECTOR, GROUP, START, END, NODES, LIMIT, STEP };

#define FIELDS_MAX 16

/* By field number of the message: which member it is. */
static const struct {
    const char *name;
    unsigned char members[FIELDS_MAX];
} methods[PYROSCOPE_METHODS] = {
    [PYROSCOPE_PROFILE_TYPES] = {"ProfileTypes", {0, START, END}},
    [PYROSCOPE_LABEL_NAMES] = {"LabelNames", {0, SELECTOR, START, END}},
    [PYROSCOPE_LABEL_VALUES] = {"LabelValues", {0, NAME, SELECTOR, START, END}},
    [PYROSCOPE_SERIES] = {"Series", {0, SELECTOR, GROUP, START, END}},
    [PYROSCOPE_SELECT_SERIES] = {"SelectSeries",
                                 {0, TYPE, SELECTOR, START, END, GROUP, STEP, 0, 0,
                                  LIMIT}},
    [PYROSCOPE_SELECT_MERGE_STACKTRACES] = {"SelectMergeStacktraces",
                                            {0, TYPE, SELECTOR, START, END, NODES}},
    [PYROSCOPE_SELECT_MERGE_PROFILE] = {"SelectMergeProfile",
                                        {0, TYPE, SELECTOR, START, END, NODES}},
    [PYROSCOPE_GET_PROFILE_STATS] = {"GetProfileStats", {0}},
};

enum pyroscope_method pyroscope_method(struct str name)
{
    unsigned i = 0;
    while (i < PYROSCOPE_METHODS && !str_equal(name, str_of(methods[i].name)))
        i++;
    return (enum pyroscope_method)i;
}

static void set_text(struct pyroscope_request *r, enum member member, struct str text)
{
    if (member == TYPE)
        r->type = text;
    else if (member == NAME)
        r->name = text;
    else if (member == SELECTOR && r->selector_count < PYROSCOPE_LIST_MAX)
        r->selectors[r->selector_count++] = text;
    else if (member == GROUP && r->group_count < PYROSCOPE_LIST_MAX)
        r->groups[r->group_count++] = text;
}

static void set_number(struct pyroscope_request *r, enum member member, uint64_t value)
{
    uint64_t *numbers[] = {
        [START] = &r->start, [END] = &r->end, [NODES] = &r->nodes, [LIMIT] = &r->limit};
    if (member >= START && member <= LIMIT)
        *numbers[member] = value;
}

static double double_of(uint64_t bits)
{
    double v;
    memcpy(&v, &bits, sizeof v);
    return v;
}

/* --- Protocol buffers --------------------------------------------------------------- */

static bool read_proto(struct pyroscope_request *r, enum pyroscope_method method,
                       struct str body, struct error *err)
{
    struct proto_reader reader = proto_of(body);
    struct proto_field f;
    while (proto_next(&reader, &f)) {
        enum member member =
            f.number < FIELDS_MAX ? methods[method].members[f.number] : NO_MEMBER;
        if (f.wire == PROTO_BYTES)
            set_text(r, member, f.bytes);
        else if (f.wire == PROTO_FIXED64 && member == STEP)
            r->step = double_of(f.value);
        else if (f.wire == PROTO_VARINT)
            set_number(r, member, f.value);
    }
    return !reader.failed || error_set(err, "the request is damaged");
}

/* --- JSON --------------------------------------------------------------------------- */

/* Both forms of a name are allowed: labelSelector and label_selector. */
static bool is_name(struct str key, const char *name)
{
    struct str rest = str_of(name);
    while (key.len && rest.len) {
        char a = key.ptr[0], b = rest.ptr[0];
        if (a != '_' && b != '_' && (a | 32) != (b | 32))
            return false;
        key = str_skip(key, a == '_' || b != '_');
        rest = str_skip(rest, b == '_' || a != '_');
    }
    return key.len == 0 && rest.len == 0;
}

static enum member member_of(struct str key)
{
    static const struct {
        const char *name;
        enum member member;
    } names[] = {{"profile_typeid", TYPE},
                 {"label_selector", SELECTOR},
                 {"matchers", SELECTOR},
                 {"name", NAME},
                 {"group_by", GROUP},
                 {"label_names", GROUP},
                 {"start", START},
                 {"end", END},
                 {"max_nodes", NODES},
                 {"limit", LIMIT},
                 {"step", STEP}};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (is_name(key, names[i].name))
            return names[i].member;
    return NO_MEMBER;
}

static void read_text(struct pyroscope_request *r, struct json *j, enum member member)
{
    struct str text;
    if (json_string(j, &text))
        set_text(r, member, arena_str(&r->arena, text));
}

static void read_member(struct pyroscope_request *r, struct json *j, enum member member)
{
    uint64_t number;
    if (json_peek(j) == JSON_ARRAY && json_enter(j, JSON_ARRAY)) {
        while (json_item(j))
            read_text(r, j, member);
    } else if (member == STEP) {
        json_number(j, &r->step);
    } else if (member >= START && member <= LIMIT) {
        if (json_u64(j, &number))
            set_number(r, member, number);
    } else {
        read_text(r, j, member);
    }
}

static bool read_json(struct pyroscope_request *r, struct str body, struct error *err)
{
    struct source source = source_of(body, STR("request"));
    struct json j;
    struct str key;
    json_init(&j, &source, false, err);
    if (json_enter(&j, JSON_OBJECT))
        while (json_key(&j, &key)) {
            enum member member = member_of(key);
            if (member == NO_MEMBER)
                json_skip(&j);
            else
                read_member(r, &j, member);
        }
    bool ok = json_finish(&j) && !j.failed && !j.broken;
    json_deinit(&j);
    source_deinit(&source);
    return ok || error_set(err, "the request is not valid JSON");
}

bool pyroscope_request_read(struct pyroscope_request *r, enum pyroscope_method method,
                            struct str body, bool json, struct error *err)
{
    *r = (struct pyroscope_request){0};
    bool ok = json ? read_json(r, body, err) : read_proto(r, method, body, err);
    return ok && (!r->arena.failed || error_memory(err));
}

void pyroscope_request_deinit(struct pyroscope_request *r)
{
    arena_deinit(&r->arena);
}
