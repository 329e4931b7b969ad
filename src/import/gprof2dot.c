/* SPDX-License-Identifier: Apache-2.0 */
/* gprof2dot's own JSON, which memtrail and other tools write:
 *
 *   {"version": 0, "costs": [{"description": "Memory", "unit": "bytes"}],
 *    "functions": [{"name": "f", "module": "a.so"}, {"name": "main", "module": "a"}],
 *    "events": [{"callchain": [0, 1], "cost": [1024]}]}
 *
 * A call chain has indices of functions, the leaf first. Each entry of "costs" is an event,
 * and each "cost" has its values. A function may also have the name of a process. The keys
 * have any order, so the events are stored until all functions are known. */
#include "base/array.h"
#include "import/importer.h"
#include "import/json_input.h"

#define EVENTS_MAX 32
#define COST_MOST 1e18

struct cost {
    event_id event;
    double scale;
};

/* An entry of "events": its indices and costs are after those of the one before it. */
struct chain {
    uint32_t length, costs;
};

struct function {
    frame_id frame;
    string_id process;
};

struct gprof2dot {
    struct json json;
    struct builder *b;
    const struct import_options *options;
    struct arena arena;
    struct cost costs[EVENTS_MAX];
    struct function *functions;
    struct chain *chains;
    uint32_t *indices;
    double *values;
    size_t cost_count, function_count, function_cap, chain_count, chain_cap;
    size_t index_count, index_cap, value_count, value_cap;
};

/* --- Tables -------------------- */

static const struct {
    const char *name;
    enum unit unit;
    double scale;
} units[] = {{"bytes", UNIT_BYTES, 1},          {"B", UNIT_BYTES, 1},
             {"cycles", UNIT_CYCLES, 1},        {"samples", UNIT_COUNT, 1},
             {"ns", UNIT_NANOSECONDS, 1},       {"us", UNIT_NANOSECONDS, 1e3},
             {"ms", UNIT_NANOSECONDS, 1e6},     {"s", UNIT_NANOSECONDS, 1e9},
             {"seconds", UNIT_NANOSECONDS, 1e9}};

static void read_cost(struct gprof2dot *g)
{
    struct json *j = &g->json;
    string_id name = 0, unit_name = 0;
    enum unit unit = UNIT_EVENTS;
    struct str key;
    double scale = 1;
    if (!json_enter(j, JSON_OBJECT))
        return;
    while (json_key(j, &key)) {
        if (str_equal(key, STR("description")))
            name = json_name(j, g->b);
        else if (str_equal(key, STR("unit")))
            unit_name = json_name(j, g->b);
        else
            json_skip(j);
    }
    if (g->cost_count == EVENTS_MAX) {
        json_warn(j, g->b, "more costs than stoke reads");
        return;
    }
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (str_equal(profile_string(g->b->profile, unit_name), str_of(units[i].name))) {
            unit = units[i].unit;
            scale = units[i].scale;
        }
    struct str text = name ? profile_string(g->b->profile, name) : STR("cost");
    g->costs[g->cost_count++] = (struct cost){
        builder_event(g->b, text, g->options->samples ? UNIT_COUNT : unit), scale};
}

static void read_function(struct gprof2dot *g)
{
    struct json *j = &g->json;
    struct frame f = {0};
    string_id process = 0;
    struct str key, s;
    if (json_enter(j, JSON_OBJECT)) {
        while (json_key(j, &key)) {
            if (str_equal(key, STR("name")))
                f.name = import_label(g->b, json_name(j, g->b));
            else if (str_equal(key, STR("process")))
                process = json_name(j, g->b);
            else if (!str_equal(key, STR("module")))
                json_skip(j);
            else if (json_string(j, &s))
                f.module = builder_module(g->b, s, STR(""));
        }
    }
    struct function *added = /* also if it is damaged: the index counts */
        ARRAY_APPEND(&g->arena, g->functions, g->function_count, g->function_cap);
    if (added)
        *added = (struct function){builder_frame(g->b, &f), process};
}

/* --- Events -------------------- */

static void read_chain(struct gprof2dot *g, struct chain *chain)
{
    struct json *j = &g->json;
    uint32_t index;
    if (!json_enter(j, JSON_ARRAY))
        return;
    while (json_item(j) && !g->arena.failed) {
        if (!json_index(j, &index))
            index = UINT32_MAX;
        uint32_t *added =
            ARRAY_APPEND(&g->arena, g->indices, g->index_count, g->index_cap);
        if (added) {
            *added = index;
            chain->length++;
        }
    }
}

static void read_values(struct gprof2dot *g, struct chain *chain)
{
    struct json *j = &g->json;
    if (!json_enter(j, JSON_ARRAY))
        return;
    while (json_item(j) && !g->arena.failed) {
        double value = 0;
        if (!json_number(j, &value) || !(value >= 0 && value < COST_MOST)) {
            json_warn(j, g->b, "a cost that is negative or not a number, skipped");
            value = 0;
        }
        double *added = ARRAY_APPEND(&g->arena, g->values, g->value_count, g->value_cap);
        if (added) {
            *added = value;
            chain->costs++;
        }
    }
}

static void read_event(struct gprof2dot *g)
{
    struct json *j = &g->json;
    struct chain chain = {0};
    struct str key;
    if (!json_enter(j, JSON_OBJECT))
        return;
    while (json_key(j, &key) && !g->arena.failed) {
        if (str_equal(key, STR("callchain")) && !chain.length)
            read_chain(g, &chain);
        else if (str_equal(key, STR("cost")) && !chain.costs)
            read_values(g, &chain);
        else
            json_skip(j);
    }
    struct chain *added =
        ARRAY_APPEND(&g->arena, g->chains, g->chain_count, g->chain_cap);
    if (added)
        *added = chain;
}

static void read_list(struct gprof2dot *g, void (*read)(struct gprof2dot *))
{
    if (json_enter(&g->json, JSON_ARRAY))
        while (json_item(&g->json) && !g->arena.failed)
            read(g);
}

static void read_file(struct gprof2dot *g)
{
    struct json *j = &g->json;
    struct str key;
    if (!json_enter(j, JSON_OBJECT))
        return;
    while (json_key(j, &key) && !g->arena.failed) {
        if (str_equal(key, STR("costs")))
            read_list(g, read_cost);
        else if (str_equal(key, STR("functions")))
            read_list(g, read_function);
        else if (str_equal(key, STR("events")))
            read_list(g, read_event);
        else
            json_skip(j);
    }
}

/* --- Samples -------------------- */

/* The stack of a call chain; its leaf names the process, as the thread. */
static stack_id stack_of(struct gprof2dot *g, const uint32_t *indices, size_t count,
                         thread_id *thread)
{
    string_id process = 0;
    builder_path_clear(g->b);
    for (size_t i = 0; i < count; i++) {
        if (indices[i] >= g->function_count) {
            builder_warn(g->b, "a function that is not in the file", 0, 0, STR(""));
            continue;
        }
        const struct function *f = &g->functions[indices[i]];
        process = process ? process : f->process;
        builder_path_add(g->b, f->frame);
    }
    *thread = process ? builder_thread(g->b, ID_NONE, ID_NONE,
                                       profile_string(g->b->profile, process))
                      : 0;
    return builder_path_from_leaf(g->b);
}

static void add_costs(struct gprof2dot *g, struct sample sample, const double *values,
                      uint32_t count)
{
    bool first = true;
    for (uint32_t i = 0; i < count && i < g->cost_count; i++) {
        sample.event = g->costs[i].event;
        sample.weight = values[i] * g->costs[i].scale;
        if (!(sample.weight > 0))
            continue;
        if (g->options->samples)
            sample.weight = 1;
        (first ? builder_add : builder_add_mapped)(g->b, &sample);
        first = false;
    }
}

static void add_samples(struct gprof2dot *g)
{
    size_t index = 0, value = 0;
    for (size_t i = 0; i < g->chain_count && !builder_failed(g->b); i++) {
        const struct chain *c = &g->chains[i];
        struct sample sample = {.time = TIME_NONE, .cpu = CPU_NONE, .count = 1};
        if (c->length && c->costs) { /* otherwise there may be no arrays */
            sample.stack = stack_of(g, g->indices + index, c->length, &sample.thread);
            if (sample.stack)
                add_costs(g, sample, g->values + value, c->costs);
        }
        index += c->length;
        value += c->costs;
    }
}

static bool gprof2dot_read(struct source *in, const struct import_options *options,
                           struct builder *b, struct error *err)
{
    struct gprof2dot g = {.b = b, .options = options};
    uint64_t before = b->profile->facts.samples;
    json_init(&g.json, in, true, err);
    read_file(&g);
    if (!g.arena.failed && g.chain_count)
        add_samples(&g);
    builder_end_scratch(b, &g.arena);
    return json_input_end(&g.json, b, before);
}

static int gprof2dot_probe(struct str head)
{
    static const struct json_rule rules[] = {
        {88, '{', {"\"costs\"", "\"functions\"", "\"events\"", "\"callchain\""}}, {0}};
    return json_probe(head, rules);
}

const struct importer import_gprof2dot = {
    .name = "gprof2dot",
    .suffixes = "json",
    .summary = "gprof2dot's JSON (memtrail)",
    .probe = gprof2dot_probe,
    .shape = SHAPE_JSON,
    .read = gprof2dot_read,
};
