/* SPDX-License-Identifier: Apache-2.0 */
/* DHAT's heap profiles: dhat.out.PID of valgrind, dhat-heap.json of Rust's dhat crate.
 *
 *   {"dhatFileVersion": 2, "mode": "heap", "verb": "Allocated", "bklt": true, ...,
 *    "cmd": "./prog", "pps": [{"tb": 120000, "tbk": 3, "gb": 40000, "gbk": 1, "eb": 0,
 *    "rb": 1020668, "wb": 1020668, "fs": [1, 3, 4]}, ...],
 *    "ftbl": ["[root]", "0x48417B4: malloc (in /usr/lib/...)", ...]}
 *
 * A program point ("pps") has the bytes and blocks in total (t), at the moment when the
 * heap was largest (g) and at the end (e), and the bytes read (r) and written (w); "fs" is
 * its stack, leaf first. The modes "copy" and "ad-hoc" have totals only, and the latter
 * counts units of the program. The frames may follow the program points.
 * Source: "DHAT: a dynamic heap analysis tool" in valgrind's manual, and dh_main.c. */
#include "base/array.h"
#include "import/importer.h"
#include "import/json_input.h"
#include "import/quantity.h"
#include "import/valgrind_frame.h"

enum { PEAK, LEAKED, TOTAL, BLOCKS, READ, WRITTEN, VALUES };

static const char *const keys[VALUES] = {"gb", "eb", "tb", "tbk", "rb", "wb"};

/* The events of a mode, in the order of the values; NULL: the mode does not have it. */
struct mode {
    const char *name;
    enum unit unit; /* of a byte count */
    const char *events[VALUES];
};

static const struct mode modes[] = {
    {"heap",
     UNIT_BYTES,
     {"peak", "leaked", "allocated", "allocations", "read", "written"}},
    {"copy", UNIT_BYTES, {NULL, NULL, "copied", "copies", NULL, NULL}},
    {"ad-hoc", UNIT_COUNT, {NULL, NULL, "units", "events", NULL, NULL}},
};

struct point {
    double values[VALUES];
    size_t first, count; /* of its stack, in `frames` */
};

struct dhat {
    struct json json;
    struct builder *b;
    const struct import_options *options;
    struct arena arena;
    const struct mode *mode;
    struct point *points;
    uint32_t *frames;  /* indexes of `names`, leaf first */
    string_id *names;  /* the frame table's texts */
    frame_id *made[2]; /* of the names, + 1: not inlined, inlined; 0: not yet */
    size_t point_count, point_cap, frame_count, frame_cap, name_count, name_cap;
};

static void read_stack(struct dhat *d, struct point *p)
{
    uint32_t index;
    p->first = d->frame_count;
    if (!json_enter(&d->json, JSON_ARRAY))
        return;
    while (json_item(&d->json)) {
        if (!json_index(&d->json, &index)) {
            json_warn(&d->json, d->b, "a frame that is not a number");
            continue;
        }
        uint32_t *added =
            ARRAY_APPEND(&d->arena, d->frames, d->frame_count, d->frame_cap);
        if (added)
            *added = index;
    }
    p->count = d->frame_count - p->first;
}

static void read_value(struct dhat *d, struct str key, struct point *p)
{
    double value;
    for (int i = 0; i < VALUES; i++) {
        if (!str_equal(key, str_of(keys[i])))
            continue;
        if (!json_number(&d->json, &value) || !(value >= 0 && value <= QUANTITY_MAX))
            json_warn(&d->json, d->b, "a value that is not a valid number");
        else
            p->values[i] = value;
        return;
    }
    json_skip(&d->json);
}

static void read_point(struct dhat *d)
{
    struct str key;
    struct point *p = NULL;
    if (json_enter(&d->json, JSON_OBJECT))
        p = ARRAY_APPEND(&d->arena, d->points, d->point_count, d->point_cap);
    if (!p)
        return;
    *p = (struct point){0};
    while (json_key(&d->json, &key)) {
        if (str_equal(key, STR("fs")))
            read_stack(d, p);
        else
            read_value(d, key, p);
    }
}

static void read_name(struct dhat *d)
{
    string_id name = json_name(&d->json, d->b);
    string_id *added = ARRAY_APPEND(&d->arena, d->names, d->name_count, d->name_cap);
    if (added)
        *added = name;
}

static void read_mode(struct dhat *d)
{
    struct str name;
    if (!json_string(&d->json, &name))
        return;
    if (str_starts(name, STR("rust-"))) /* the crate's own modes have the same values */
        name = str_skip(name, 5);
    for (size_t i = 0; i < sizeof modes / sizeof *modes; i++)
        if (str_equal(name, str_of(modes[i].name)))
            d->mode = &modes[i];
}

static void read_all(struct dhat *d, void (*read_item)(struct dhat *d))
{
    if (json_enter(&d->json, JSON_ARRAY))
        while (json_item(&d->json) && !d->arena.failed)
            read_item(d);
}

static void read_file(struct dhat *d)
{
    struct str key;
    if (!json_enter(&d->json, JSON_OBJECT))
        return;
    while (json_key(&d->json, &key) && !d->arena.failed) {
        if (str_equal(key, STR("pps")))
            read_all(d, read_point);
        else if (str_equal(key, STR("ftbl")))
            read_all(d, read_name);
        else if (str_equal(key, STR("mode")))
            read_mode(d);
        else if (str_equal(key, STR("cmd")))
            d->b->profile->facts.command = json_name(&d->json, d->b);
        else
            json_skip(&d->json);
    }
}

static struct str text_of(const struct dhat *d, uint32_t index)
{
    return index < d->name_count ? profile_string(d->b->profile, d->names[index])
                                 : STR("");
}

/* The frame of that index; `caller` is the index of its caller's, or the same. */
static frame_id frame_of(struct dhat *d, uint32_t index, uint32_t caller)
{
    struct str text = text_of(d, index);
    if (index >= d->name_count) {
        builder_warn(d->b, "a frame that is not in the file", 0, 0, STR(""));
        return 0;
    }
    bool inlined = valgrind_is_inlined(text, text_of(d, caller));
    frame_id *made = &d->made[inlined][index];
    if (*made == 0)
        *made = 1 + (str_starts(text, STR("0x"))
                         ? valgrind_frame(d->b, d->options, text, inlined)
                         : builder_named_frame(d->b, text));
    return *made - 1;
}

static void add_point(struct dhat *d, const event_id *events, const struct point *p)
{
    bool counted = d->options->samples, is_first = true;
    builder_path_clear(d->b);
    for (size_t i = 0; i < p->count; i++) {
        const uint32_t *at = &d->frames[p->first + i];
        builder_path_add(d->b, frame_of(d, *at, at[i + 1 < p->count]));
    }
    struct sample s = {.stack = builder_path_from_leaf(d->b),
                       .count = 1,
                       .time = TIME_NONE,
                       .cpu = CPU_NONE};
    for (int i = 0; i < VALUES; i++) {
        if (!d->mode->events[i] || p->values[i] <= 0)
            continue;
        s.event = events[i];
        s.weight = counted ? 1 : p->values[i];
        if (is_first)
            builder_add(d->b, &s);
        else
            builder_add_mapped(d->b, &s);
        is_first = false;
    }
}

static void add_points(struct dhat *d)
{
    event_id events[VALUES] = {0};
    for (int i = 0; i < 2; i++) {
        size_t cap = 0;
        ARRAY_RESERVE_ZEROED(&d->arena, d->made[i], cap, d->name_count + 1);
    }
    if (d->arena.failed)
        return;
    for (int i = 0; i < VALUES; i++)
        if (d->mode->events[i])
            events[i] = builder_event(d->b, str_of(d->mode->events[i]),
                                      i == BLOCKS || d->options->samples ? UNIT_COUNT
                                                                         : d->mode->unit);
    for (size_t i = 0; i < d->point_count; i++)
        add_point(d, events, &d->points[i]);
}

static bool dhat_read(struct source *in, const struct import_options *options,
                      struct builder *b, struct error *err)
{
    struct dhat d = {.b = b, .options = options, .mode = modes};
    uint64_t before = b->profile->facts.samples;
    json_init(&d.json, in, true, err);
    read_file(&d);
    if (!d.arena.failed)
        add_points(&d);
    builder_end_scratch(b, &d.arena);
    return json_input_end(&d.json, b, before);
}

static int dhat_probe(struct str head)
{
    static const struct json_rule rules[] = {
        {95, '{', {"\"dhatFileVersion\""}}, {80, '{', {"\"pps\"", "\"ftbl\""}}, {0}};
    return json_probe(head, rules);
}

const struct importer import_dhat = {
    .name = "dhat",
    .suffixes = "json",
    .summary = "DHAT: heap profiles of valgrind and of Rust's dhat crate",
    .counts_all = true,
    .probe = dhat_probe,
    .shape = SHAPE_JSON,
    .read = dhat_read,
};
