/* SPDX-License-Identifier: Apache-2.0 */
/* GHC's time and allocation report as JSON, PROGRAM.prof of a program run with +RTS
 * -pj:
 *
 *   {"tick_interval": 1000, "cost_centres": [{"id": 144, "label": "MAIN",
 *    "module": "MAIN", "src_loc": "Main.hs:31:9-29"}, ...],
 *    "profile": {"id": 144, "ticks": 0, "alloc": 648, "children": [...]}}
 *
 * A tick is tick_interval microseconds. */
#include "base/array.h"
#include "base/idmap.h"
#include "base/number.h"
#include "import/importer.h"
#include "import/json_input.h"

#define DEPTH_MAX 1000000

struct node {
    uint64_t centre;
    uint32_t parent; /* index, or 0 */
    double ticks, bytes;
    stack_id stack;
};

struct ghc_json {
    struct json json;
    struct builder *b;
    const struct import_options *options;
    struct arena arena;
    struct idmap centres; /* ID to frame */
    struct node *nodes;   /* [0] is unused; parents come first */
    size_t count, cap;
    struct output name;
    double interval; /* of a tick, in microseconds */
};

/* "src/Main.hs:(21,1)-(38,42)", "src/Main.hs:31:9-29", "<built-in>". */
static void set_location(struct ghc_json *g, struct str location, struct frame *f)
{
    struct str rest = location, file = str_cut(&rest, ':');
    uint64_t line;
    size_t digits = 0;
    if (!g->options->lines || file.len == location.len)
        return;
    rest = str_skip(rest, str_starts(rest, STR("(")));
    while (digits < rest.len && byte_is_digit(rest.ptr[digits]))
        digits++;
    f->file = builder_string(g->b, file);
    if (number_parse_u64(str_head(rest, digits), &line) && line < UINT32_MAX)
        f->line = (uint32_t)line;
}

static void read_centre(struct ghc_json *g)
{
    struct json *j = &g->json;
    struct frame f = {0};
    string_id label = 0, module = 0;
    uint64_t id = 0;
    struct str key, s;
    if (!json_enter(j, JSON_OBJECT))
        return;
    while (json_key(j, &key)) {
        if (str_equal(key, STR("id")))
            json_u64(j, &id);
        else if (str_equal(key, STR("label")))
            label = json_name(j, g->b);
        else if (str_equal(key, STR("module")))
            module = json_name(j, g->b);
        else if (!str_equal(key, STR("src_loc")))
            json_skip(j);
        else if (json_string(j, &s))
            set_location(g, s, &f);
    }
    g->name.used = 0;
    output_str(&g->name, profile_string(g->b->profile, module));
    if (module && label)
        output_char(&g->name, '.');
    output_str(&g->name, profile_string(g->b->profile, label));
    f.name = builder_string(g->b, output_contents(&g->name));
    uint64_t *frame = idmap_put(&g->centres, &g->arena, id);
    if (frame)
        *frame = builder_frame(g->b, &f);
}

static uint32_t add_node(struct ghc_json *g, uint32_t parent)
{
    if (!ARRAY_RESERVE(&g->arena, g->nodes, g->cap, g->count + 1) ||
        g->count >= UINT32_MAX)
        return 0;
    g->nodes[g->count] = (struct node){.parent = parent};
    return (uint32_t)g->count++;
}

static void node_member(struct ghc_json *g, struct str key, struct node *n)
{
    struct json *j = &g->json;
    if (str_equal(key, STR("id")))
        json_u64(j, &n->centre);
    else if (str_equal(key, STR("ticks")))
        json_number(j, &n->ticks);
    else if (str_equal(key, STR("alloc")))
        json_number(j, &n->bytes);
    else
        json_skip(j);
}

/* The nodes are nested; their parents give the position of the reader. */
static void read_tree(struct ghc_json *g)
{
    struct json *j = &g->json;
    struct str key;
    uint32_t at = json_enter(j, JSON_OBJECT) ? add_node(g, 0) : 0;
    while (at && !g->arena.failed) {
        bool down = false, member = json_key(j, &key);
        if (member && str_equal(key, STR("children")))
            down = json_enter(j, JSON_ARRAY) && json_next_object(j);
        else if (member)
            node_member(g, key, &g->nodes[at]);
        else if (g->nodes[at].parent && json_next_object(j))
            at = add_node(g, g->nodes[at].parent);
        else
            at = g->nodes[at].parent;
        if (down)
            at = add_node(g, at);
    }
}

static void read_file(struct ghc_json *g)
{
    struct json *j = &g->json;
    struct str key;
    if (!json_enter(j, JSON_OBJECT))
        return;
    while (json_key(j, &key) && !g->arena.failed) {
        if (str_equal(key, STR("profile"))) {
            read_tree(g);
        } else if (str_equal(key, STR("cost_centres"))) {
            if (json_enter(j, JSON_ARRAY))
                while (json_item(j) && !g->arena.failed)
                    read_centre(g);
        } else if (str_equal(key, STR("tick_interval"))) {
            json_number(j, &g->interval);
        } else if (str_equal(key, STR("program"))) {
            g->b->profile->facts.command = json_name(j, g->b);
        } else {
            json_skip(j);
        }
    }
}

static void add_value(struct ghc_json *g, event_id event, stack_id stack, double value)
{
    if (value > 0)
        builder_add_stack(g->b, event, stack, g->options->samples ? 1 : value);
}

static void add_nodes(struct ghc_json *g)
{
    bool counted = g->options->samples;
    event_id time =
        builder_event(g->b, STR("time"), counted ? UNIT_COUNT : UNIT_NANOSECONDS);
    event_id bytes =
        builder_event(g->b, STR("allocated"), counted ? UNIT_COUNT : UNIT_BYTES);
    for (uint32_t i = 1; i < g->count; i++) {
        struct node *n = &g->nodes[i];
        const uint64_t *frame = idmap_find(&g->centres, n->centre);
        stack_id parent = g->nodes[n->parent].stack;
        if (!frame)
            builder_warn(g->b, "a cost centre that is not in the file", 0, 0, STR(""));
        n->stack = builder_push(g->b, parent, frame ? (frame_id)*frame : 0);
        add_value(g, time, n->stack, n->ticks * g->interval * 1e3);
        add_value(g, bytes, n->stack, n->bytes);
    }
}

static bool ghcjson_read(struct source *in, const struct import_options *options,
                         struct builder *b, struct error *err)
{
    struct ghc_json g = {.b = b, .options = options, .interval = 1000};
    uint64_t before = b->profile->facts.samples;
    json_init(&g.json, in, true, err);
    g.json.depth_max = DEPTH_MAX;
    g.nodes = arena_grow(&g.arena, NULL, &g.cap, 64, sizeof *g.nodes);
    if (g.nodes) {
        g.nodes[0] = (struct node){0};
        g.count = 1;
        read_file(&g);
        if (!g.arena.failed)
            add_nodes(&g);
    }
    b->profile->arena.failed |= g.arena.failed || g.name.failed;
    arena_deinit(&g.arena);
    output_deinit(&g.name);
    return json_input_end(&g.json, b, before);
}

static int ghcjson_probe(struct str head)
{
    static const struct json_rule rules[] = {{90, '{', {"\"cost_centres\""}}, {0}};
    return json_probe(head, rules);
}

const struct importer import_ghcjson = {
    .name = "ghcjson",
    .suffixes = "prof,json",
    .summary = "GHC's time and allocation report as JSON, +RTS -pj",
    .probe = ghcjson_probe,
    .shape = SHAPE_JSON,
    .read = ghcjson_read,
};
