/* SPDX-License-Identifier: Apache-2.0 */
/* pyinstrument's profiles of Python programs, as JSON: a tree of functions with their callees, by
 * `pyinstrument -r json`, or a session with all samples, by `-r session` or `--save`.
 *
 *   {"duration": 0.5, "sample_count": 40, "root_frame": {"function": "main", "line_no": 12,
 *    "file_path": "/srv/shop.py", "time": 0.5, "class_name": "Shop", "children": [{...}]}}
 *
 *   {"start_time": 1.7e9, "frame_records": [[["main\0/srv/shop.py\012\1cShop\1l14",
 *    "[self]"], 0.001], ...]}
 *
 * Times are in seconds, with callees in the tree. The parts of a frame of a session are the
 * function, the file, and the line where the function begins; attributes follow: c is the class, l
 * the current line. "[self]" is the time of its caller. */
#include "base/array.h"
#include "base/number.h"
#include "import/importer.h"
#include "import/json_input.h"
#include "import/python_name.h"
#include <math.h>

#define DEPTH_MAX 1000000
#define SECONDS_MOST 1e9
#define ROUNDING 1e-6 /* of a time in the tree, which has six digits */

struct node {
    string_id function, file, class;
    uint32_t line, parent; /* parent: an index, or 0 */
    double time, callees;
    uint32_t callee_count;
    stack_id stack;
};

struct pyinstrument {
    struct json json;
    struct builder *b;
    const struct import_options *options;
    struct arena arena;
    struct node *nodes; /* [0] is unused, [1] is the root; parents come first */
    size_t count, cap;
    struct output text;
    event_id event;
    double elapsed; /* of a session, until the current sample */
};

/* --- Frames ------------------------------------------------------------------------- */

static bool is_self(struct str function)
{
    return str_equal(function, STR("[self]"));
}

static frame_id frame_of(struct pyinstrument *r, struct str class, struct str function,
                         struct str file, uint32_t line)
{
    if (str_starts(file, STR("<")) && line == 0) /* "<built-in>" */
        file = STR("");
    r->text.used = 0;
    if (class.len) {
        output_str(&r->text, class);
        output_char(&r->text, '.');
    }
    python_write_label(&r->text, function, file, line);
    struct frame f = {.name = builder_string(r->b, output_contents(&r->text))};
    if (r->options->lines && file.len) {
        f.file = builder_string(r->b, file);
        f.line = line;
    }
    return builder_frame(r->b, &f);
}

static double read_seconds(struct pyinstrument *r)
{
    double seconds = 0;
    if (json_number(&r->json, &seconds) && seconds >= 0 && seconds < SECONDS_MOST)
        return seconds;
    json_warn(&r->json, r->b, "a time that is not a number of seconds");
    return 0;
}

static void add_time(struct pyinstrument *r, stack_id stack, double seconds, uint64_t at)
{
    double weight = floor(seconds * 1e9 + 0.5);
    if (weight > 0)
        builder_add(r->b, &(struct sample){.time = at,
                                           .cpu = CPU_NONE,
                                           .event = r->event,
                                           .stack = stack,
                                           .count = 1,
                                           .weight = r->options->samples ? 1 : weight});
}

/* --- The tree ----------------------------------------------------------------------- */

static uint32_t add_node(struct pyinstrument *r, uint32_t parent)
{
    if (!ARRAY_RESERVE(&r->arena, r->nodes, r->cap, r->count + 1) ||
        r->count >= UINT32_MAX)
        return 0;
    r->nodes[r->count] = (struct node){.parent = parent};
    return (uint32_t)r->count++;
}

static void node_member(struct pyinstrument *r, struct str key, struct node *n)
{
    struct json *j = &r->json;
    if (str_equal(key, STR("function")))
        n->function = json_name(j, r->b);
    else if (str_equal(key, STR("file_path")))
        n->file = json_name(j, r->b);
    else if (str_equal(key, STR("class_name")))
        n->class = json_name(j, r->b);
    else if (str_equal(key, STR("time")))
        n->time = read_seconds(r);
    else if (str_equal(key, STR("line_no")))
        json_index(j, &n->line);
    else
        json_skip(j);
}

/* The nodes are nested; their parents give the position of the reader. */
static void read_tree(struct pyinstrument *r)
{
    struct json *j = &r->json;
    struct str key;
    uint32_t at = json_enter(j, JSON_OBJECT) ? add_node(r, 0) : 0;
    while (at && !r->arena.failed && !builder_failed(r->b)) {
        bool down = false, member = json_key(j, &key);
        if (member && str_equal(key, STR("children")))
            down = json_enter(j, JSON_ARRAY) && json_next_object(j);
        else if (member)
            node_member(r, key, &r->nodes[at]);
        else if (r->nodes[at].parent && json_next_object(j))
            at = add_node(r, r->nodes[at].parent);
        else
            at = r->nodes[at].parent;
        if (down)
            at = add_node(r, at);
    }
}

static void add_tree(struct pyinstrument *r)
{
    const struct profile *p = r->b->profile;
    for (uint32_t i = 2; i < r->count; i++) {
        r->nodes[r->nodes[i].parent].callees += r->nodes[i].time;
        r->nodes[r->nodes[i].parent].callee_count++;
    }
    for (uint32_t i = 1; i < r->count && !builder_failed(r->b); i++) {
        struct node *n = &r->nodes[i];
        struct str function = profile_string(p, n->function);
        double rest = n->time - n->callees;
        n->stack = r->nodes[n->parent].stack;
        if (!is_self(function) || !n->parent)
            n->stack = builder_push(r->b, n->stack,
                                    frame_of(r, profile_string(p, n->class), function,
                                             profile_string(p, n->file), n->line));
        if (n->callee_count == 0 || rest > ROUNDING * (n->callee_count + 1))
            add_time(r, n->stack, rest, TIME_NONE);
    }
}

/* --- The session -------------------------------------------------------------------- */

/* "main\0/srv/shop.py\012\1cShop\1l14" */
static void add_frame(struct pyinstrument *r, struct str text)
{
    uint64_t line = 0;
    struct str attributes = text, class = STR("");
    struct str rest = str_cut(&attributes, '\1');
    struct str function = str_cut(&rest, '\0'), file = str_cut(&rest, '\0');
    number_parse_u64(rest, &line);
    while (attributes.len) {
        struct str attribute = str_cut(&attributes, '\1');
        if (str_starts(attribute, STR("c")))
            class = str_skip(attribute, 1);
    }
    if (!is_self(function))
        builder_path_add(r->b, frame_of(r, class, function, file,
                                        line <= INT32_MAX ? (uint32_t)line : 0));
}

/* [["main\0...", ...], 0.001] */
static void read_record(struct pyinstrument *r)
{
    struct json *j = &r->json;
    struct str text;
    double seconds = 0;
    builder_path_clear(r->b);
    if (!json_enter(j, JSON_ARRAY))
        return;
    for (size_t i = 0; json_item(j); i++) {
        if (i == 0 && json_peek(j) == JSON_ARRAY && json_enter(j, JSON_ARRAY)) {
            while (json_item(j))
                if (json_string(j, &text))
                    add_frame(r, text);
        } else if (i == 1) {
            seconds = read_seconds(r);
        } else {
            json_skip(j);
        }
    }
    if (r->b->path.count)
        add_time(r, builder_path_from_root(r->b), seconds, (uint64_t)(r->elapsed * 1e9));
    if (r->elapsed < SECONDS_MOST)
        r->elapsed += seconds;
}

/* --- The file ----------------------------------------------------------------------- */

static void read_file(struct pyinstrument *r)
{
    struct json *j = &r->json;
    struct str key;
    if (!json_enter(j, JSON_OBJECT))
        return;
    while (json_key(j, &key) && !builder_failed(r->b)) {
        if (str_equal(key, STR("root_frame")) && r->count == 1)
            read_tree(r);
        else if (str_equal(key, STR("program")) ||
                 str_equal(key, STR("target_description")))
            r->b->profile->facts.command = json_name(j, r->b);
        else if (!str_equal(key, STR("frame_records")) || !json_enter(j, JSON_ARRAY))
            json_skip(j);
        else
            while (json_item(j) && !builder_failed(r->b))
                read_record(r);
    }
}

static bool pyinstrument_read(struct source *in, const struct import_options *options,
                              struct builder *b, struct error *err)
{
    struct pyinstrument r = {.b = b, .options = options};
    uint64_t before = b->profile->facts.samples;
    r.event =
        builder_event(b, STR("time"), options->samples ? UNIT_COUNT : UNIT_NANOSECONDS);
    json_init(&r.json, in, true, err);
    r.json.depth_max = DEPTH_MAX;
    if (add_node(&r, 0) == 0 && r.count == 1) {
        read_file(&r);
        add_tree(&r);
    }
    b->profile->arena.failed |= r.text.failed;
    output_deinit(&r.text);
    builder_end_scratch(b, &r.arena);
    return json_input_end(&r.json, b, before);
}

static int pyinstrument_probe(struct str head)
{
    static const struct json_rule rules[] = {
        {92, '{', {"\"root_frame\"", "\"function\"", "\"file_path_short\""}},
        {92, '{', {"\"frame_records\"", "\"start_call_stack\""}},
        {0}};
    return json_probe(head, rules);
}

const struct importer import_pyinstrument = {
    .name = "pyinstrument",
    .suffixes = "pyisession",
    .summary = "pyinstrument's JSON and sessions",
    .probe = pyinstrument_probe,
    .shape = SHAPE_JSON,
    .read = pyinstrument_read,
};
