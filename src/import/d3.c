/* SPDX-License-Identifier: Apache-2.0 */
/* The tree that d3-flame-graph draws, as `stoke convert --to d3`, stackcollapse scripts for it and
 * `perf script report flamegraph -f json` write it:
 *
 *   {"name": "all", "value": 6, "children": [{"name": "main", "value": 6}]}
 *   {"n": "root", "l": "", "v": 0, "c": [{"n": "main", "l": "user", "v": 6, "c": []}]}
 *
 * The value is the weight of a function with its callees, or without them: then some function has
 * less than its callees have. "delta" is the change of a value that a comparison found. The root
 * is the sum of all stacks, not a frame. */
#include "base/array.h"
#include "import/importer.h"
#include "import/json_input.h"
#include "import/quantity.h"
#include "model/frame_label.h"

#define DEPTH_MAX 1000000
#define ROUNDING 1e-6 /* of a sum of numbers with few digits */

struct node {
    string_id name;
    uint32_t parent; /* index, or 0 */
    bool is_kernel;
    double value, before, callees, callees_before;
    stack_id stack;
};

struct d3 {
    struct json json;
    struct builder *b;
    const struct import_options *options;
    struct arena arena;
    struct node *nodes; /* [0] is unused, [1] is the root; parents come first */
    size_t count, cap;
    bool is_comparison;
};

/* --- Reading ------------------------------------------------------------------------ */

static uint32_t add_node(struct d3 *d, uint32_t parent)
{
    if (!ARRAY_RESERVE(&d->arena, d->nodes, d->cap, d->count + 1) ||
        d->count >= UINT32_MAX)
        return 0;
    d->nodes[d->count] = (struct node){.parent = parent};
    return (uint32_t)d->count++;
}

static double read_value(struct d3 *d, double least)
{
    double value = 0;
    if (json_number(&d->json, &value) && value >= least && value <= QUANTITY_MAX)
        return value;
    json_warn(&d->json, d->b, "a value that is not a valid weight");
    return 0;
}

static bool is_key(struct str key, const char *name, const char *letter)
{
    return str_equal(key, str_of(name)) || str_equal(key, str_of(letter));
}

/* `before` is the change until all of the node is read. */
static void node_member(struct d3 *d, struct str key, struct node *n)
{
    struct json *j = &d->json;
    struct str library;
    if (is_key(key, "name", "n")) {
        n->name = json_name(j, d->b);
    } else if (is_key(key, "value", "v")) {
        n->value = read_value(d, 0);
    } else if (is_key(key, "libtype", "l")) {
        n->is_kernel = json_string(j, &library) && str_equal(library, STR("kernel"));
    } else if (str_equal(key, STR("delta"))) {
        d->is_comparison = true;
        n->before = read_value(d, -QUANTITY_MAX);
    } else {
        json_skip(j);
    }
}

/* The nodes are nested; their parents give the position of the reader. */
static void read_tree(struct d3 *d)
{
    struct json *j = &d->json;
    struct str key;
    uint32_t at = json_enter(j, JSON_OBJECT) ? add_node(d, 0) : 0;
    while (at && !d->arena.failed && !builder_failed(d->b)) {
        bool down = false, member = json_key(j, &key);
        if (member && is_key(key, "children", "c"))
            down = json_enter(j, JSON_ARRAY) && json_next_object(j);
        else if (member)
            node_member(d, key, &d->nodes[at]);
        else if (d->nodes[at].parent && json_next_object(j))
            at = add_node(d, d->nodes[at].parent);
        else
            at = d->nodes[at].parent;
        if (down)
            at = add_node(d, at);
    }
}

/* --- Weights ------------------------------------------------------------------------ */

static void sum_callees(struct d3 *d)
{
    for (uint32_t i = 1; i < d->count; i++) {
        struct node *n = &d->nodes[i], *parent = &d->nodes[n->parent];
        double before = n->value - n->before;
        n->before = before > 0 ? before : 0;
        parent->callees += n->value;
        parent->callees_before += n->before;
    }
}

static bool is_less(double value, double callees)
{
    return value < callees * (1 - ROUNDING);
}

/* Whether the values are without those of the callees. */
static bool has_self_values(const struct d3 *d)
{
    bool less = false;
    for (uint32_t i = 1; i < d->count && !less; i++)
        less = is_less(d->nodes[i].value, d->nodes[i].callees);
    return less;
}

/* What is above the callees by more than their rounding. */
static double rest_of(double value, double callees)
{
    return is_less(callees, value) ? value - callees : 0;
}

static void add_weight(struct d3 *d, event_id event, stack_id stack, double weight)
{
    if (weight > 0)
        builder_add_stack(d->b, event, stack, d->options->samples ? 1 : weight);
}

static frame_id frame_of(struct d3 *d, const struct node *n)
{
    struct str name = profile_string(d->b->profile, n->name);
    struct frame f = {.kind = n->is_kernel ? FRAME_KERNEL : label_suffix_kind(name)};
    if (!str_equal(name, STR("[unknown]")))
        f.name = import_label(d->b, n->name);
    return builder_frame(d->b, &f);
}

/* The root has no stack, but what it has beyond its callees. */
static void add_stacks(struct d3 *d)
{
    event_id before = 0, after;
    bool are_self = has_self_values(d);
    if (d->is_comparison)
        before = builder_event(d->b, STR("before"), UNIT_COUNT);
    after =
        builder_event(d->b, d->is_comparison ? STR("after") : STR("samples"), UNIT_COUNT);
    for (uint32_t i = 1; i < d->count && !builder_failed(d->b); i++) {
        struct node *n = &d->nodes[i];
        double value = are_self ? n->value : rest_of(n->value, n->callees);
        double was = are_self ? n->before : rest_of(n->before, n->callees_before);
        if (i > 1 || value > 0 || was > 0)
            n->stack = builder_push(d->b, d->nodes[n->parent].stack, frame_of(d, n));
        if (before)
            add_weight(d, before, n->stack, was);
        add_weight(d, after, n->stack, value);
        if (i == 1)
            n->stack = 0;
    }
    d->b->profile->facts.differential = d->is_comparison;
}

static bool d3_read(struct source *in, const struct import_options *options,
                    struct builder *b, struct error *err)
{
    struct d3 d = {.b = b, .options = options};
    uint64_t before = b->profile->facts.samples;
    json_init(&d.json, in, true, err);
    d.json.depth_max = DEPTH_MAX;
    if (add_node(&d, 0) == 0 && d.count == 1) {
        read_tree(&d);
        sum_callees(&d);
        add_stacks(&d);
    }
    builder_end_scratch(b, &d.arena);
    return json_input_end(&d.json, b, before);
}

/* --- Probing ------------------------------------------------------------------------ */

static bool is_in(const char *const *names, struct str key)
{
    for (size_t i = 0; names[i]; i++)
        if (str_equal(key, str_of(names[i])))
            return true;
    return false;
}

/* Other trees have these keys, too: there may be no other key. The outline has all of them only
 * at the end of the file, so the score is not one that ends the search before it. */
static int d3_probe(struct str head)
{
    static const char *const names[] = {"name", "n",        "value", "v",     "libtype",
                                        "l",    "children", "c",     "delta", NULL};
    bool named = false, valued = false, nested = false;
    if (!str_starts(head, STR("{")))
        return 0;
    struct str rest = str_skip(head, 1), key;
    while (rest.len && rest.ptr[0] == '"') {
        rest = str_skip(rest, 1);
        key = str_cut(&rest, '"');
        if (!str_starts(rest, STR(":")) || !is_in(names, key))
            return 0;
        rest = str_skip(rest, 1);
        named |= is_key(key, "name", "n");
        valued |= is_key(key, "value", "v");
        nested |= is_key(key, "children", "c");
    }
    return named && valued && nested && !rest.len ? 55 : 0;
}

const struct importer import_d3 = {
    .name = "d3",
    .suffixes = "json",
    .summary = "d3-flame-graph JSON, also of perf script report flamegraph",
    .probe = d3_probe,
    .shape = SHAPE_JSON,
    .read = d3_read,
};
