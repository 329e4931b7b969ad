/* SPDX-License-Identifier: Apache-2.0 */
#include "import/v8_profile.h"
#include "base/array.h"
#include "base/format.h"
#include "base/idmap.h"
#include "import/json_input.h"
#include "import/stated.h"

#define NS 1000.0 /* in a microsecond */

enum node_kind { NODE_CODE, NODE_ROOT, NODE_IDLE, NODE_ON_TOP };
enum node_state { NODE_NEW, NODE_VISITING, NODE_DONE };

void v8_init(struct v8_profile *v, struct builder *b,
             const struct import_options *options)
{
    *v = (struct v8_profile){.b = b, .options = options, .start = -1, .end = -1};
    v->nodes = arena_grow(&v->arena, NULL, &v->node_cap, 64, sizeof *v->nodes);
    if (v->nodes)
        v->nodes[0] = (struct v8_node){0};
    v->node_count = 1;
}

void v8_deinit(struct v8_profile *v)
{
    if (v->b)
        builder_end_scratch(v->b, &v->arena);
}

void v8_clear(struct v8_profile *v)
{
    v->node_count = 1;
    v->link_count = v->sample_count = v->time_count = 0;
    v->start = v->end = -1;
    v->until = 0;
    v->deltas = v->sized = v->seconds = false;
}

static bool room_for_node(struct v8_profile *v, size_t more)
{
    return ARRAY_RESERVE(&v->arena, v->nodes, v->node_cap, v->node_count + more) &&
           v->node_count + more < UINT32_MAX;
}

static bool room_for_links(struct v8_profile *v, size_t more)
{
    return ARRAY_RESERVE(&v->arena, v->links, v->link_cap, v->link_count + more);
}

static bool room_for_samples(struct v8_profile *v, size_t more)
{
    return ARRAY_RESERVE(&v->arena, v->samples, v->sample_cap, v->sample_count + more);
}

static bool room_for_times(struct v8_profile *v, size_t more)
{
    return ARRAY_RESERVE(&v->arena, v->times, v->time_cap, v->time_count + more);
}

/* --- Reading -------------------- */

static uint32_t add_node(struct v8_profile *v, uint32_t parent)
{
    if (!room_for_node(v, 1))
        return 0;
    v->nodes[v->node_count] =
        (struct v8_node){.parent = parent, .line = -1, .column = -1};
    return (uint32_t)v->node_count++;
}

/* A line or a column, from 0; -1 for none. */
static int64_t take_position(struct json *j)
{
    double v;
    return json_number(j, &v) && v >= 0 && v < UINT32_MAX ? (int64_t)v : -1;
}

/* A member of a call frame; false if it is not one, and then nothing is read. */
static bool frame_member(struct v8_profile *v, struct json *j, struct str key,
                         struct v8_node *n)
{
    if (str_equal(key, STR("functionName")))
        n->name = json_name(j, v->b);
    else if (str_equal(key, STR("url")))
        n->file = json_name(j, v->b);
    else if (str_equal(key, STR("lineNumber")))
        n->line = take_position(j);
    else if (str_equal(key, STR("columnNumber")))
        n->column = take_position(j);
    else
        return false;
    return true;
}

static void read_call_frame(struct v8_profile *v, struct json *j, struct v8_node *n)
{
    struct str key;
    if (!json_enter(j, JSON_OBJECT))
        return;
    while (json_key(j, &key))
        if (!frame_member(v, j, key, n))
            json_skip(j);
}

/* Any member of a node except its children. */
static void node_member(struct v8_profile *v, struct json *j, struct str key,
                        struct v8_node *n)
{
    if (str_equal(key, STR("callFrame")))
        read_call_frame(v, j, n);
    else if (str_equal(key, STR("id")))
        json_u64(j, &n->id);
    else if (str_equal(key, STR("parent")))
        json_u64(j, &n->parent_id);
    else if (str_equal(key, STR("selfSize")))
        v->sized |= json_number(j, &n->size);
    else if (str_equal(key, STR("hitCount")))
        json_number(j, &n->hits);
    else if (!frame_member(v, j, key, n))
        json_skip(j);
}

/* The children of a node as a list of IDs; the parent's ID is set once it is known. */
static void read_links(struct v8_profile *v, struct json *j)
{
    uint64_t child;
    if (!json_enter(j, JSON_ARRAY))
        return;
    while (json_item(j))
        if (json_u64(j, &child) && room_for_links(v, 1))
            v->links[v->link_count++] = (struct v8_link){0, child};
}

static void read_nodes(struct v8_profile *v, struct json *j)
{
    struct str key;
    if (!json_enter(j, JSON_ARRAY))
        return;
    while (json_item(j) && !v->arena.failed) {
        size_t first = v->link_count;
        if (!json_enter(j, JSON_OBJECT))
            continue;
        uint32_t n = add_node(v, 0);
        while (json_key(j, &key)) {
            if (str_equal(key, STR("children")))
                read_links(v, j);
            else
                node_member(v, j, key, &v->nodes[n]);
        }
        for (size_t i = first; i < v->link_count; i++)
            v->links[i].parent = v->nodes[n].id;
    }
}

/* Enters the next child of the current list; false at its end. */
static bool next_child(struct json *j)
{
    while (json_item(j))
        if (json_enter(j, JSON_OBJECT))
            return true;
    return false;
}

/* Reads nested nodes; the nodes' parents give the position of the reader. */
static void read_tree(struct v8_profile *v, struct json *j)
{
    struct str key;
    uint32_t at = json_enter(j, JSON_OBJECT) ? add_node(v, 0) : 0;
    v->seconds = true;
    while (at && !v->arena.failed) {
        bool down = false, member = json_key(j, &key);
        if (member && str_equal(key, STR("children")))
            down = json_enter(j, JSON_ARRAY) && next_child(j);
        else if (member)
            node_member(v, j, key, &v->nodes[at]);
        else if (v->nodes[at].parent && next_child(j))
            at = add_node(v, v->nodes[at].parent);
        else
            at = v->nodes[at].parent;
        if (down)
            at = add_node(v, at);
    }
}

static void read_samples(struct v8_profile *v, struct json *j)
{
    uint64_t id;
    if (!json_enter(j, JSON_ARRAY))
        return;
    while (json_item(j))
        if (json_u64(j, &id) && room_for_samples(v, 1))
            v->samples[v->sample_count++] = id;
}

static void read_times(struct v8_profile *v, struct json *j, bool deltas)
{
    double time;
    v->deltas = deltas;
    if (!json_enter(j, JSON_ARRAY))
        return;
    while (json_item(j))
        if (json_number(j, &time) && time > -1e16 && time < 1e16 && room_for_times(v, 1))
            v->times[v->time_count++] = time;
}

static void take_moment(struct json *j, double *time)
{
    double v;
    if (json_number(j, &v) && v >= 0 && v < 1e16)
        *time = v;
}

bool v8_member(struct v8_profile *v, struct json *j, struct str key)
{
    if (str_equal(key, STR("nodes")))
        read_nodes(v, j);
    else if (str_equal(key, STR("head")))
        read_tree(v, j);
    else if (str_equal(key, STR("samples")))
        read_samples(v, j);
    else if (str_equal(key, STR("timeDeltas")) || str_equal(key, STR("timestamps")))
        read_times(v, j, str_equal(key, STR("timeDeltas")));
    else if (str_equal(key, STR("startTime")))
        take_moment(j, &v->start);
    else if (str_equal(key, STR("endTime")))
        take_moment(j, &v->end);
    else
        return false;
    return true;
}

void v8_append(struct v8_profile *v, const struct v8_profile *more)
{
    size_t nodes = more->node_count - 1;
    if (!room_for_node(v, nodes + 1) || !room_for_links(v, more->link_count + 1) ||
        !room_for_samples(v, more->sample_count + 1) ||
        !room_for_times(v, more->time_count + 1))
        return;
    for (size_t i = 1; i < more->node_count; i++) {
        struct v8_node n = more->nodes[i];
        n.parent += n.parent ? (uint32_t)v->node_count - 1 : 0;
        v->nodes[v->node_count - 1 + i] = n;
    }
    memcpy(v->links + v->link_count, more->links ? more->links : v->links,
           more->link_count * sizeof *v->links);
    memcpy(v->samples + v->sample_count, more->samples ? more->samples : v->samples,
           more->sample_count * sizeof *v->samples);
    memcpy(v->times + v->time_count, more->times ? more->times : v->times,
           more->time_count * sizeof *v->times);
    v->node_count += nodes;
    v->link_count += more->link_count;
    v->sample_count += more->sample_count;
    v->time_count += more->time_count;
    v->deltas |= more->deltas;
    v->start = more->start >= 0 ? more->start : v->start;
    v->end = more->end >= 0 ? more->end : v->end;
}

/* --- The tree -------------------- */

static enum node_kind kind_of(struct str name)
{
    if (str_equal(name, STR("(root)")))
        return NODE_ROOT;
    if (str_equal(name, STR("(idle)")))
        return NODE_IDLE;
    if (str_equal(name, STR("(program)")) || str_equal(name, STR("(garbage collector)")))
        return NODE_ON_TOP;
    return NODE_CODE;
}

/* A function without a name is identified by its location. */
static string_id anonymous(struct v8_profile *v, const struct v8_node *n)
{
    char name[512];
    struct str file = str_basename(profile_string(v->b->profile, n->file));
    size_t length = format_text(name, sizeof name, "(anonymous");
    if (file.len)
        length +=
            format_text(name + length, sizeof name - length, " %.*s", STR_ARG(file));
    if (file.len && n->line >= 0)
        length += format_text(name + length, sizeof name - length, ":%llu",
                              (unsigned long long)n->line + 1);
    length += format_text(name + length, sizeof name - length, ")");
    return builder_string(v->b, (struct str){name, length});
}

/* The node in the sources, if a source map has it. */
static struct v8_node in_sources(struct v8_profile *v, const struct v8_node *built)
{
    struct v8_node n = *built;
    struct source_location source;
    if (!source_maps_find(v->options->source_maps, profile_string(v->b->profile, n.file),
                          n.line, n.column, &source))
        return n;
    if (source.name.len)
        n.name = builder_string(v->b, source.name);
    n.file = builder_string(v->b, source.file);
    n.line = (int64_t)source.line - 1;
    return n;
}

static frame_id frame_of(struct v8_profile *v, const struct v8_node *built)
{
    struct v8_node mapped = in_sources(v, built);
    const struct v8_node *n = &mapped;
    struct frame f = {.name = n->name ? n->name : anonymous(v, n),
                      .kind = n->kind == NODE_IDLE ? FRAME_IDLE : FRAME_USER};
    if (v->options->lines) {
        f.file = n->file;
        f.line = n->line >= 0 && n->file ? (uint32_t)n->line + 1 : 0;
    }
    return builder_frame(v->b, &f);
}

/* Sets the parents of nodes that are given by ID. */
static bool link_nodes(struct v8_profile *v, struct idmap *ids)
{
    for (uint32_t i = 1; i < v->node_count; i++) {
        uint64_t *value = idmap_put(ids, &v->arena, v->nodes[i].id);
        if (!value)
            return false;
        if (*value == 0)
            *value = i;
        v->nodes[i].kind =
            (uint8_t)kind_of(profile_string(v->b->profile, v->nodes[i].name));
    }
    for (uint32_t i = 1; i < v->node_count; i++) {
        const uint64_t *parent =
            v->nodes[i].parent_id ? idmap_find(ids, v->nodes[i].parent_id) : NULL;
        if (parent)
            v->nodes[i].parent = (uint32_t)*parent;
    }
    for (size_t i = 0; i < v->link_count; i++) {
        const uint64_t *parent = idmap_find(ids, v->links[i].parent);
        const uint64_t *child = idmap_find(ids, v->links[i].child);
        if (parent && child && v->nodes[*child].parent == 0)
            v->nodes[*child].parent = (uint32_t)*parent;
    }
    return true;
}

/* The stack of a node: walks up its callers to the first with a known stack. */
static stack_id stack_of(struct v8_profile *v, uint32_t node)
{
    stack_id stack = 0;
    uint32_t at = node;
    builder_path_clear(v->b);
    for (; at; at = v->nodes[at].parent) {
        struct v8_node *n = &v->nodes[at];
        if (n->state == NODE_DONE) {
            stack = n->stack;
            break;
        }
        if (n->state == NODE_VISITING) {
            builder_warn(v->b, "a node that calls itself", 0, 0, STR(""));
            break;
        }
        n->state = NODE_VISITING;
        builder_path_add(v->b, at);
    }
    for (size_t i = v->b->path.count; i-- > 0;) {
        struct v8_node *n = &v->nodes[v->b->path.items[i]];
        if (n->kind != NODE_ROOT)
            stack = builder_push(v->b, stack, frame_of(v, n));
        n->stack = stack;
        n->state = NODE_DONE;
    }
    return stack;
}

/* --- Samples -------------------- */

/* Consecutive samples of one node. */
struct run {
    uint64_t id;
    double from; /* microseconds */
    uint64_t count;
};

struct samples {
    struct v8_profile *v;
    const struct idmap *ids;
    thread_id thread;
    event_id event;
    stack_id code; /* of the last node that is code: the collector interrupts it */
    double placed; /* microseconds, of all samples with a node */
};

static void add_run(struct samples *s, const struct run *run, double to)
{
    struct v8_profile *v = s->v;
    const uint64_t *found = idmap_find(s->ids, run->id);
    double weight = (double)(int64_t)((to - run->from) * NS + 0.5);
    if (!found) {
        builder_warn(v->b, "a sample of a node that is not in the file", 0, 0, STR(""));
        return;
    }
    const struct v8_node *n = &v->nodes[*found];
    s->placed += to - run->from;
    stack_id stack = n->kind == NODE_ON_TOP ? builder_push(v->b, s->code, frame_of(v, n))
                                            : stack_of(v, (uint32_t)*found);
    if (n->kind != NODE_ON_TOP)
        s->code = n->kind == NODE_IDLE ? 0 : stack;
    if (weight > 0 && stack)
        builder_add(v->b,
                    &(struct sample){
                        .time = run->from >= 0 ? (uint64_t)(run->from * NS) : TIME_NONE,
                        .thread = s->thread,
                        .cpu = CPU_NONE,
                        .event = s->event,
                        .stack = stack,
                        .count = run->count,
                        .weight = v->options->samples ? (double)run->count : weight});
}

/* The sum of the samples' times, and of the times before the first and after the last,
 * must be the time between the profile's start and end. */
static void check_time(struct v8_profile *v, const struct samples *s, double first,
                       double last)
{
    double stated = v->end - v->start, around = first - v->start + v->end - last;
    if (v->start >= 0 && v->end >= last && first >= v->start)
        stated_check_about(v->b, STR("microseconds"), s->placed + around, stated, 1);
}

/* A sample lasts until the next one. V8 writes some of them late, with a negative
 * difference: none is taken as earlier than the preceding run. */
static void add_samples(struct v8_profile *v, struct samples *s)
{
    struct run run = {0};
    double first = 0;
    double at = v->deltas ? (v->start >= 0 ? v->start : 0) : 0;
    size_t count = v->sample_count < v->time_count ? v->sample_count : v->time_count;
    if (v->sample_count > v->time_count)
        builder_warn_times(v->b, "a sample without a time",
                           v->sample_count - v->time_count);
    for (size_t i = 0; i < count; i++) {
        at = v->deltas ? at + v->times[i] : v->times[i];
        if (run.count && v->samples[i] == run.id) {
            run.count++;
            continue;
        }
        double from = run.count && at < run.from ? run.from : at;
        first = run.count ? first : from;
        if (run.count)
            add_run(s, &run, from);
        run = (struct run){v->samples[i], from, 1};
    }
    double last = at > run.from ? at : run.from;
    last = last < v->until ? v->until : last;
    if (run.count) {
        add_run(s, &run, last);
        check_time(v, s, first, last);
    }
}

/* --- Profiles without times --------------------------------------------------------- */

/* The time of the profile in microseconds; 0 if it is unknown. */
static double length_of(const struct v8_profile *v)
{
    bool known = v->start >= 0 && v->end > v->start;
    return known ? (v->end - v->start) * (v->seconds ? 1e6 : 1) : 0;
}

/* Without times, the samples are at equal distances, as DevTools draws them. */
static void spread_samples(struct v8_profile *v)
{
    double length = length_of(v), start = v->start * (v->seconds ? 1e6 : 1);
    if (v->time_count || length <= 0 || !room_for_times(v, v->sample_count))
        return;
    for (size_t i = 0; i < v->sample_count; i++)
        v->times[i] = start + length * (double)i / (double)v->sample_count;
    v->time_count = v->sample_count;
    v->until = start + length;
    v->deltas = false;
}

/* Without samples, each node has the number of its own. */
static void add_hits(struct v8_profile *v, thread_id thread)
{
    double hits = 0, length = v->options->samples ? 0 : length_of(v) * NS;
    for (uint32_t i = 1; i < v->node_count; i++)
        hits += v->nodes[i].hits > 0 ? v->nodes[i].hits : 0;
    if (hits < 1 || hits > 1e15)
        return;
    event_id event = builder_event(v->b, length > 0 ? STR("time") : STR("samples"),
                                   length > 0 ? UNIT_NANOSECONDS : UNIT_COUNT);
    for (uint32_t i = 1; i < v->node_count; i++) {
        double own = v->nodes[i].hits;
        if (own >= 1 && v->nodes[i].kind != NODE_ROOT)
            builder_add(
                v->b, &(struct sample){.time = TIME_NONE,
                                       .thread = thread,
                                       .cpu = CPU_NONE,
                                       .event = event,
                                       .stack = stack_of(v, i),
                                       .count = (uint64_t)own,
                                       .weight = length > 0 ? length * own / hits : own});
    }
}

static void add_sizes(struct v8_profile *v)
{
    event_id event = builder_event(v->b, STR("live"), UNIT_BYTES);
    for (uint32_t i = 1; i < v->node_count; i++)
        if (v->nodes[i].size > 0)
            builder_add_stack(v->b, event, stack_of(v, i),
                              v->options->samples ? 1 : v->nodes[i].size);
}

void v8_finish(struct v8_profile *v, thread_id thread)
{
    struct idmap ids = {0};
    if (v->arena.failed || !link_nodes(v, &ids))
        return;
    if (v->sized) {
        add_sizes(v);
        return;
    }
    if (!v->sample_count) {
        add_hits(v, thread);
        return;
    }
    spread_samples(v);
    struct samples s = {.v = v, .ids = &ids, .thread = thread};
    s.event = builder_event(v->b, STR("time"),
                            v->options->samples ? UNIT_COUNT : UNIT_NANOSECONDS);
    add_samples(v, &s);
}
