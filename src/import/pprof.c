/* SPDX-License-Identifier: Apache-2.0 */
/* pprof's protocol buffer format, which Go, gperftools and most continuous profilers
 * write (its gzip is decompressed by the caller). The messages, by field number:
 *
 *   Profile   1 sample_type  2 sample  3 mapping  4 location  5 function  6 string_table
 *             7 drop_frames  8 keep_frames  9 time_nanos  10 duration_nanos
 *             11 period_type  12 period  13 comment  14 default_sample_type
 *   ValueType 1 type  2 unit                      Label 1 key  2 str  3 num  4 num_unit
 *   Sample    1 location_id (leaf first)  2 value (one per sample type)  3 label
 *   Mapping   1 id  2 memory_start  3 memory_limit  4 file_offset  5 filename
 *             6 build_id                            Function 1 id  2 name  3 system_name
 *   Location  1 id  2 mapping_id  3 address       4 filename
 *             4 line (innermost first)            Line 1 function_id  2 line
 *
 * Strings are indices of the string table, which usually comes last, and messages
 * refer to each other by ID, in any order. So the file is read into memory and
 * processed in several passes. Every sample type becomes an event; pprof's default
 * type is the first. */
#include "base/array.h"
#include "base/idmap.h"
#include "base/limits.h"
#include "base/number.h"
#include "base/regex.h"
#include "codec/protobuf.h"
#include "import/importer.h"
#include "import/runs.h"
#include "model/sample_labels.h"
#include "model/value_unit.h"

enum profile_field {
    SAMPLE_TYPE = 1,
    SAMPLE,
    MAPPING,
    LOCATION,
    FUNCTION,
    STRING_TABLE,
    DROP_FRAMES,
    KEEP_FRAMES,
    TIME_NANOS,
    DURATION_NANOS,
    PERIOD_TYPE,
    PERIOD,
    COMMENT,
    DEFAULT_SAMPLE_TYPE,
};

#define TYPES_MAX 64
#define SAMPLES_MAX ((uint64_t)1 << 40) /* per row, so that sums stay exact */
#define DROP_NAME_MAX 4096 /* longer ones are not compared with the pattern */
#define LINES_MAX 256      /* inlined functions at one address */

/* A message that others refer to. */
struct entry {
    uint64_t id;
    union {
        struct {
            string_id name, file;
        } function;
        struct {
            module_id module;
            uint32_t kind; /* of its frames */
        } mapping;
        struct {
            uint32_t first, count; /* its frames, outermost first */
            uint32_t run;          /* the number of their run */
        } location;
    };
};

/* Where a mapping was in memory, and where in its file it begins. */
struct mapping_range {
    uint64_t start, end, offset;
};

struct entries {
    struct entry *items; /* [0] is unused */
    size_t count, cap;
    struct idmap numbers; /* ID to index of the item */
};

struct value_type {
    struct str name, unit;
    event_id event; /* 0: its values are skipped */
    double scale;
};

/* The index of the first frame to drop among a location's frames. The number of its frames:
 * none is dropped. */
struct cut {
    uint32_t after_others; /* if a caller is not dropped */
    uint32_t alone;        /* if all callers would be dropped */
    uint32_t others;       /* frames of the location that are not dropped */
};

/* The labels of a sample, and what they say about its thread. */
struct labels {
    int64_t pid, tid;
    string_id name;
    size_t count;
};

struct pprof {
    struct builder *b;
    const struct import_options *options;
    struct arena arena;
    struct str file;
    struct str *strings;
    string_id *ids; /* of the strings, in the profile; 0: not requested yet */
    size_t string_count, string_cap;
    struct entries mappings, functions, locations;
    struct mapping_range *ranges; /* indexed like the mappings */
    size_t range_cap;
    frame_id *frames; /* of the locations */
    size_t frame_count, frame_cap;
    struct trie sequences; /* of frames: a node numbers a run */
    struct runs runs;
    uint32_t *path; /* locations of the current sample, leaf first */
    size_t path_count, path_cap;
    uint64_t path_frames;
    struct value_type types[TYPES_MAX];
    size_t type_count;
    size_t order[TYPES_MAX]; /* of the types, default first */
    size_t counting;         /* the type that counts samples, or TYPES_MAX */
    uint64_t values[TYPES_MAX];
    struct sample_label labels[LABELS_MAX]; /* of the current sample */
    int64_t time, duration, period;
    double period_scale; /* nanoseconds; 0 if the period is not a time */
    double period_bytes; /* the same for bytes */
    uint64_t default_type, drop_number, keep_number; /* strings */
    bool prunes;                                     /* frames are dropped: */
    bool keeps; /* there is a pattern of names that are not dropped */
    struct regex drop, keep;
    uint8_t *drop_name; /* by the number of the name: enum drop */
    struct cut *cuts;   /* by location */
    size_t cut_cap;
    bool has_command;
    bool damaged;
};

enum drop { DROP_UNKNOWN, DROP_NO, DROP_YES };

/* --- Tables ------------------------------------------------------------------------- */

static struct str string_at(struct pprof *r, uint64_t number)
{
    if (number < r->string_count)
        return r->strings[number];
    builder_warn(r->b, "a string index that is not in the table", 0, 0, STR(""));
    return STR("");
}

/* The string's ID in the profile. A long string is hashed once for all its references. */
static string_id id_at(struct pprof *r, uint64_t number)
{
    struct str s = string_at(r, number);
    if (s.len == 0 || !r->ids)
        return 0;
    if (!r->ids[number])
        r->ids[number] = builder_string(r->b, s);
    return r->ids[number];
}

static struct str text_at(struct pprof *r, uint64_t number)
{
    return profile_string(r->b->profile, id_at(r, number));
}

/* The entry with that ID; NULL if there is none. */
static const struct entry *find_entry(const struct entries *t, uint64_t id)
{
    const uint64_t *at = idmap_find(&t->numbers, id);
    return at ? &t->items[*at] : NULL;
}

/* Adds an entry; if two have the same ID, the first is used. */
static void add_entry(struct pprof *r, struct entries *t, struct entry entry)
{
    if (!ARRAY_RESERVE(&r->arena, t->items, t->cap, t->count + 2))
        return;
    uint64_t *at = idmap_put(&t->numbers, &r->arena, entry.id);
    if (!at)
        return;
    if (*at) {
        builder_warn(r->b, "two entries with the same ID", 0, 0, STR(""));
        return;
    }
    t->items[++t->count] = entry;
    *at = t->count;
}

/* --- Sample types ------------------------------------------------------------------- */

static void take_value_type(struct pprof *r, struct proto_reader in,
                            struct value_type *type)
{
    struct proto_field f;
    uint64_t name = 0, unit = 0;
    while (proto_next(&in, &f)) {
        if (f.number == 1)
            name = f.value;
        else if (f.number == 2)
            unit = f.value;
    }
    *type = (struct value_type){.name = string_at(r, name), .unit = string_at(r, unit)};
}

static bool event_taken(const struct pprof *r, event_id event)
{
    for (size_t i = 0; i < r->type_count; i++)
        if (r->types[i].event == event)
            return true;
    return false;
}

/* Makes the event of a type. If two have the same name, the unit is added to the name
 * of the second. If they are identical, the second is skipped. */
static void make_event(struct pprof *r, struct value_type *type)
{
    const struct value_unit *unit = value_unit_of(type->unit);
    enum unit weighed = r->options->samples ? UNIT_COUNT : unit->unit;
    event_id event = builder_event(r->b, type->name, weighed);
    if (event_taken(r, event)) {
        char text[256];
        size_t length = format_text(text, sizeof text, "%.*s (%.*s)", STR_ARG(type->name),
                                    STR_ARG(type->unit));
        event = builder_event(r->b, (struct str){text, length}, weighed);
    }
    if (event_taken(r, event)) {
        builder_warn(r->b, "two sample types with the same name", 0, 0, STR(""));
        return;
    }
    type->event = event;
    type->scale = unit->factor;
}

/* Makes the events. The first is pprof's default type: the one the file names, or what is
 * in use of a heap, or the last. */
static void make_events(struct pprof *r)
{
    struct str name = r->default_type ? string_at(r, r->default_type) : STR("");
    size_t first = r->type_count ? r->type_count - 1 : 0, n = 0;
    r->counting = TYPES_MAX;
    for (size_t i = 0; i < r->type_count; i++) {
        if (str_equal(r->types[i].name, name.len ? name : STR("inuse_space")))
            first = i;
        if (str_equal(r->types[i].name, STR("samples")) &&
            str_equal(r->types[i].unit, STR("count")))
            r->counting = i;
    }
    for (size_t i = 0; i < r->type_count; i++)
        if (i != first)
            r->order[++n] = i;
    r->order[0] = first;
    for (size_t i = 0; i < r->type_count; i++)
        make_event(r, &r->types[r->order[i]]);
}

static void add_type(struct pprof *r, struct proto_reader in)
{
    if (r->type_count == TYPES_MAX)
        builder_warn(r->b, "more sample types than stoke reads", 0, 0, STR(""));
    else
        take_value_type(r, in, &r->types[r->type_count++]);
}

/* --- Mappings, functions, locations ------------------------------------------------- */

static void add_range(struct pprof *r, const struct mapping_range *range)
{
    if (!ARRAY_RESERVE(&r->arena, r->ranges, r->range_cap, r->mappings.count + 1))
        return;
    r->ranges[r->mappings.count] = *range;
}

/* Where the address is in the file of its mapping; 0 where that is not known. */
static uint64_t file_offset(const struct pprof *r, const struct entry *mapping,
                            uint64_t address)
{
    size_t index = (size_t)(mapping - r->mappings.items);
    if (index >= r->range_cap)
        return 0; /* out of memory */
    const struct mapping_range *at = &r->ranges[index];
    bool inside = address >= at->start && address < at->end;
    bool is_user = mapping->mapping.kind == FRAME_USER;
    return inside && is_user ? address - at->start + at->offset : 0;
}

static void add_mapping(struct pprof *r, struct proto_reader in)
{
    struct proto_field f;
    struct entry e = {0};
    struct mapping_range range = {0};
    struct str path = STR(""), build_id = STR("");
    while (proto_next(&in, &f)) {
        if (f.number == 1)
            e.id = f.value;
        else if (f.number == 2)
            range.start = f.value;
        else if (f.number == 3)
            range.end = f.value;
        else if (f.number == 4)
            range.offset = f.value;
        else if (f.number == 5)
            path = text_at(r, f.value);
        else if (f.number == 6)
            build_id = text_at(r, f.value);
    }
    struct facts *facts = &r->b->profile->facts;
    if (r->mappings.count == 0 && !facts->command) /* the first is the main binary */
        facts->command = builder_string(r->b, path);
    e.mapping.module = builder_module(r->b, path, build_id);
    e.mapping.kind = module_kind(path);
    size_t before = r->mappings.count;
    add_entry(r, &r->mappings, e);
    if (r->mappings.count > before)
        add_range(r, &range);
}

static void add_function(struct pprof *r, struct proto_reader in)
{
    struct proto_field f;
    struct entry e = {0};
    uint64_t name = 0, system_name = 0, file = 0;
    while (proto_next(&in, &f)) {
        if (f.number == 1)
            e.id = f.value;
        else if (f.number == 2)
            name = f.value;
        else if (f.number == 3)
            system_name = f.value;
        else if (f.number == 4)
            file = f.value;
    }
    e.function.name = id_at(r, name ? name : system_name);
    if (r->options->lines)
        e.function.file = id_at(r, file);
    add_entry(r, &r->functions, e);
}

static void push_frame(struct pprof *r, const struct frame *frame)
{
    frame_id *added = ARRAY_APPEND(&r->arena, r->frames, r->frame_count, r->frame_cap);
    if (!added)
        return;
    *added = builder_frame(r->b, frame);
}

/* --- Frames to drop ------------------------------------------------------------ */

/* The name that the patterns match: without arguments. */
static struct str bare_name(struct str name)
{
    name = str_skip(name, str_starts(name, STR(".")));
    size_t open = str_find(name, '(');
    if (open && !str_starts(str_skip(name, open), STR("(anonymous namespace)")))
        name = str_head(name, open);
    return name;
}

/* Whether a name is dropped. Each name is compared once. Hostile patterns and names are
 * not compared beyond the limits. */
static bool is_dropped(struct pprof *r, string_id id)
{
    uint8_t *drop = &r->drop_name[id];
    struct str name = bare_name(profile_string(r->b->profile, id));
    if (*drop != DROP_UNKNOWN)
        return *drop == DROP_YES;
    *drop = DROP_NO;
    uint64_t steps = r->drop.steps + r->keep.steps;
    if (limits_expansion_exceeded(r->b->limits, r->file.len, steps))
        builder_warn(r->b, "a name that was not compared with the frames to drop", 0, 0,
                     STR(""));
    else if (name.len && name.len <= DROP_NAME_MAX && regex_matches(&r->drop, name) &&
             !(r->keeps && regex_matches(&r->keep, name)))
        *drop = DROP_YES;
    return *drop == DROP_YES;
}

/* Reads the file's patterns of frames to drop, for example malloc's callees. */
static void find_dropped(struct pprof *r)
{
    if (!r->drop_number || r->arena.failed || string_at(r, r->drop_number).len == 0)
        return;
    struct str keep_pattern = r->keep_number ? string_at(r, r->keep_number) : STR("");
    size_t names = r->b->profile->strings.count;
    r->keeps = keep_pattern.len > 0;
    r->drop_name = arena_zalloc(&r->arena, names, sizeof *r->drop_name);
    if (!regex_init(&r->drop, &r->arena, string_at(r, r->drop_number)) ||
        !regex_init(&r->keep, &r->arena, keep_pattern) || !r->drop_name) {
        builder_warn(r->b,
                     "the pattern of frames to drop is not supported and is ignored", 0,
                     0, STR(""));
        return;
    }
    r->prunes = true;
}

/* Finds the cut of the location that is added next. */
static void find_cut(struct pprof *r, const struct entry *e)
{
    size_t number = r->locations.count + 1;
    if (!ARRAY_RESERVE(&r->arena, r->cuts, r->cut_cap, number + 1))
        return;
    uint32_t count = e->location.count;
    struct cut cut = {count, count, 0};
    for (uint32_t i = 0; i < count; i++) {
        frame_id frame = r->frames[e->location.first + i];
        if (!is_dropped(r, r->b->profile->frames[frame].name)) {
            cut.others++;
            continue;
        }
        if (cut.after_others == count)
            cut.after_others = i;
        if (cut.alone == count && cut.others)
            cut.alone = i;
    }
    r->cuts[number] = cut;
}

/* One Line: sets function and source line in a copy of the location's frame. */
static void add_line(struct pprof *r, struct proto_reader in, struct frame frame,
                     uint64_t address)
{
    struct proto_field f;
    uint64_t function = 0, line = 0;
    while (proto_next(&in, &f)) {
        if (f.number == 1)
            function = f.value;
        else if (f.number == 2)
            line = f.value;
    }
    const struct entry *e = find_entry(&r->functions, function);
    if (!e && function)
        builder_warn(r->b, "a function ID that is not in the file", 0, 0, STR(""));
    if (e) {
        frame.name = e->function.name;
        frame.file = e->function.file;
    }
    if (r->options->lines && line <= UINT32_MAX)
        frame.line = (uint32_t)line;
    if (r->options->every_address || (!frame.name && r->options->addresses))
        frame.address = address;
    push_frame(r, &frame);
}

/* Reverses the frames of the location, to outermost first, and numbers their run. */
static void end_location(struct pprof *r, struct entry *e)
{
    frame_id *frames = r->frames + e->location.first;
    e->location.count = (uint32_t)r->frame_count - e->location.first;
    for (size_t i = 0, j = e->location.count; i + 1 < j; i++) {
        frame_id swap = frames[i];
        frames[i] = frames[--j];
        frames[j] = swap;
    }
    if (e->location.count)
        e->location.run = trie_descend(&r->sequences, 0, frames, e->location.count, NULL);
    if (r->prunes)
        find_cut(r, e);
}

/* The frames of a location's lines: all except the last are inlined into the next one. */
static void add_lines(struct pprof *r, struct proto_reader in, uint32_t count,
                      struct frame frame, uint64_t address)
{
    struct proto_field f;
    uint32_t at = 0;
    enum frame_kind kind = (enum frame_kind)frame.kind;
    while (at < count && proto_next(&in, &f)) {
        if (f.number != 4 || f.wire != PROTO_BYTES)
            continue;
        frame.kind = ++at < count ? FRAME_INLINED : kind;
        add_line(r, proto_inside(&in, &f), frame, address);
    }
}

static void add_location(struct pprof *r, struct proto_reader in)
{
    struct proto_reader again = in;
    struct proto_field f;
    struct entry e = {0};
    uint64_t mapping = 0, address = 0;
    uint32_t lines = 0;
    while (proto_next(&in, &f)) {
        if (f.number == 1)
            e.id = f.value;
        else if (f.number == 2)
            mapping = f.value;
        else if (f.number == 3)
            address = f.value;
        else if (f.number == 4)
            lines += f.wire == PROTO_BYTES;
    }
    struct frame frame = {0};
    const struct entry *m = find_entry(&r->mappings, mapping);
    if (m) {
        frame.module = m->mapping.module;
        frame.kind = m->mapping.kind;
        if (!lines && r->options->addresses)
            frame.offset = file_offset(r, m, address);
    } else if (mapping) {
        builder_warn(r->b, "a mapping ID that is not in the file", 0, 0, STR(""));
    }
    e.location.first = (uint32_t)r->frame_count;
    if (lines > LINES_MAX) {
        builder_warn(r->b, "more inlined functions at an address than stoke reads", 0, 0,
                     STR(""));
        lines = LINES_MAX;
    }
    if (lines) {
        add_lines(r, again, lines, frame, address);
    } else {
        frame.address = r->options->addresses ? address : 0;
        push_frame(r, &frame);
    }
    end_location(r, &e);
    add_entry(r, &r->locations, e);
}

/* --- Samples ------------------------------------------------------------------------ */

static bool is_one_of(struct str s, const char *const *names)
{
    for (; *names; names++)
        if (str_equal(s, str_of(*names)))
            return true;
    return false;
}

/* The names that profilers use for thread labels. */
static const char *const pid_labels[] = {"pid", "process_id", "process id", NULL};
static const char *const tid_labels[] = {"tid", "thread_id", "thread id",
                                         "thread native id", NULL};
static const char *const name_labels[] = {"thread",      "thread_name", "thread name",
                                          "thread-name", "comm",        NULL};

static struct sample_label read_label(struct pprof *r, struct proto_reader in)
{
    struct proto_field f;
    struct sample_label label = {0};
    while (proto_next(&in, &f)) {
        if (f.number == 1) {
            label.key = id_at(r, f.value);
        } else if (f.number == 2) {
            label.text = id_at(r, f.value);
        } else if (f.number == 3) {
            label.number = (int64_t)f.value;
            label.is_number = true;
        } else if (f.number == 4) {
            label.unit = id_at(r, f.value);
            label.is_number = true;
        }
    }
    if (label.text)
        label = (struct sample_label){.key = label.key, .text = label.text};
    return label;
}

/* Records what the label says about the thread. */
static void note_thread(struct pprof *r, struct labels *labels,
                        const struct sample_label *label)
{
    struct str key = profile_string(r->b->profile, label->key);
    struct str text = profile_string(r->b->profile, label->text);
    bool is_pid = is_one_of(key, pid_labels), is_name = is_one_of(key, name_labels);
    uint64_t number = (uint64_t)label->number;
    if (!is_pid && !is_name && !is_one_of(key, tid_labels))
        return;
    if (is_name && label->text) {
        labels->name = label->text;
        return;
    }
    if (text.len && (text.len > NUMBER_TEXT_MAX || !number_parse_u64(text, &number)))
        return;
    if (number <= INT64_MAX)
        *(is_pid ? &labels->pid : &labels->tid) = (int64_t)number;
}

static void take_label(struct pprof *r, struct proto_reader in, struct labels *labels)
{
    struct sample_label label = read_label(r, in);
    note_thread(r, labels, &label);
    if (labels->count < LABELS_MAX)
        r->labels[labels->count] = label;
    else
        builder_warn(r->b, TOO_MANY_LABELS, 0, 0, STR(""));
    labels->count += labels->count < LABELS_MAX;
}

/* True if the label says what the thread says, in the form in which export/pprof.c writes
 * it: such a label is redundant. */
static bool is_of_thread(const struct pprof *r, const struct labels *labels,
                         const struct sample_label *l)
{
    struct str key = profile_string(r->b->profile, l->key);
    if (str_equal(key, STR("thread")))
        return l->text && l->text == labels->name;
    bool is_pid = str_equal(key, STR("pid"));
    return (is_pid || str_equal(key, STR("tid"))) && l->is_number && !l->unit &&
           l->number == (is_pid ? labels->pid : labels->tid);
}

/* The labels that are not redundant. */
static label_set_id make_labels(struct pprof *r, const struct labels *labels)
{
    label_id ids[LABELS_MAX];
    size_t count = 0;
    for (size_t i = 0; i < labels->count; i++)
        if (!is_of_thread(r, labels, &r->labels[i]))
            ids[count++] = builder_label(r->b, &r->labels[i]);
    return builder_label_set(r->b, ids, count);
}

/* Adds a location to the path. Locations beyond limits.depth frames are left out. */
static void push_location(struct pprof *r, uint64_t id)
{
    const struct entry *e = find_entry(&r->locations, id);
    if (!e) {
        builder_warn(r->b, "a location ID that is not in the file", 0, 0, STR(""));
        return;
    }
    r->path_frames += e->location.count;
    if (r->path_frames > r->b->limits->depth || !e->location.count)
        return;
    uint32_t *added = ARRAY_APPEND(&r->arena, r->path, r->path_count, r->path_cap);
    if (!added)
        return;
    *added = (uint32_t)(e - r->locations.items);
}

/* The stack of the path. It is truncated at the outermost frame to drop: removes it and its
 * callees. If all its callers would be dropped, too, it stays, so that the stack is not
 * empty. */
static stack_id stack_of_path(struct pprof *r)
{
    uint32_t node = 0;
    bool others = false;
    runs_forget_many(&r->runs);
    for (size_t i = r->path_count; i-- > 0;) {
        const struct entry *e = &r->locations.items[r->path[i]];
        const frame_id *frames = r->frames + e->location.first;
        uint32_t count = e->location.count, run = e->location.run;
        if (r->prunes) {
            const struct cut *cut = &r->cuts[r->path[i]];
            count = others ? cut->after_others : cut->alone;
            others |= cut->others > 0;
        }
        if (count < e->location.count)
            run = trie_descend(&r->sequences, 0, frames, count, NULL);
        if (count)
            node = runs_push(&r->runs, node, run, frames, count);
        if (count < e->location.count)
            break;
    }
    if (r->path_frames > r->b->limits->depth)
        builder_cut(r->b);
    return runs_stack(&r->runs, node);
}

/* Adds one row per value that is not zero. If all are zero, the first event gets a
 * row, so that the stack is known. The samples are counted once. */
static void add_rows(struct pprof *r, struct sample *s, label_set_id labels)
{
    bool counted = false;
    uint64_t count = r->counting < TYPES_MAX ? r->values[r->counting] : 1;
    if (count > SAMPLES_MAX && count <= INT64_MAX)
        builder_warn(r->b, "a number of samples that is too large", 0, 0, STR(""));
    s->count = count && count <= SAMPLES_MAX ? count : 1;
    for (size_t i = 0; i < r->type_count; i++) {
        const struct value_type *type = &r->types[r->order[i]];
        uint64_t value = r->values[r->order[i]];
        if (value > INT64_MAX) {
            builder_warn(r->b, "a negative value", 0, 0, STR(""));
            continue;
        }
        if (!value || !type->event)
            continue;
        s->event = type->event;
        s->weight = r->options->samples ? (double)s->count : (double)value * type->scale;
        if (counted)
            builder_add_mapped_labelled(r->b, s, labels);
        else
            builder_add_labelled(r->b, s, labels);
        counted = true;
    }
    if (!counted && r->type_count) {
        s->event = r->types[r->order[0]].event;
        s->weight = 0;
        builder_add_labelled(r->b, s, labels);
    }
}

static void add_sample(struct pprof *r, struct proto_reader in)
{
    struct labels labels = {.pid = ID_NONE, .tid = ID_NONE};
    struct proto_field f;
    uint64_t v;
    size_t values = 0;
    r->path_count = r->path_frames = 0;
    memset(r->values, 0, sizeof r->values);
    while (proto_next(&in, &f)) {
        if (f.number == 1)
            while (proto_number(&f, &v))
                push_location(r, v);
        else if (f.number == 2)
            while (proto_number(&f, &v)) {
                if (values < r->type_count)
                    r->values[values] = v;
                values++;
            }
        else if (f.number == 3)
            take_label(r, proto_inside(&in, &f), &labels);
    }
    if (in.failed || values != r->type_count)
        builder_warn(r->b,
                     "a sample whose number of values differs from the number of types",
                     0, 0, STR(""));
    struct sample s = {.time = TIME_NONE, .cpu = CPU_NONE};
    s.thread = builder_thread(r->b, labels.pid, labels.tid,
                              profile_string(r->b->profile, labels.name));
    s.stack = stack_of_path(r);
    if (s.stack == 0 && s.thread == 0) /* a sample without a stack and a thread */
        s.stack = builder_push(r->b, 0, builder_frame(r->b, &(struct frame){0}));
    add_rows(r, &s, labels.count ? make_labels(r, &labels) : 0);
}

/* --- The file ------------------------------------------------------------------ */

static void add_string(struct pprof *r, const struct proto_field *f)
{
    struct str *string =
        ARRAY_APPEND(&r->arena, r->strings, r->string_count, r->string_cap);
    if (!string)
        return;
    *string = f->bytes;
}

/* stoke writes facts as comments: "host: box". */
static void take_comments(struct pprof *r, struct proto_field *f)
{
    struct facts *facts = &r->b->profile->facts;
    uint64_t number;
    while (proto_number(f, &number)) {
        struct str text = string_at(r, number), host = STR("host: "),
                   command = STR("command: ");
        if (str_starts(text, host) && !facts->host)
            facts->host = builder_string(r->b, str_skip(text, host.len));
        else if (str_starts(text, command) && !r->has_command)
            facts->command = builder_string(r->b, str_skip(text, command.len));
        r->has_command |= str_starts(text, command);
    }
}

static void take_facts(struct pprof *r, struct proto_reader inside, struct proto_field *f)
{
    struct value_type type;
    switch (f->number) {
    case DROP_FRAMES:
        r->drop_number = f->value;
        break;
    case KEEP_FRAMES:
        r->keep_number = f->value;
        break;
    case TIME_NANOS:
        r->time = (int64_t)f->value;
        break;
    case DURATION_NANOS:
        r->duration = (int64_t)f->value;
        break;
    case PERIOD:
        r->period = (int64_t)f->value;
        break;
    case PERIOD_TYPE:
        take_value_type(r, inside, &type);
        if (value_unit_of(type.unit)->unit == UNIT_NANOSECONDS)
            r->period_scale = value_unit_of(type.unit)->factor;
        if (value_unit_of(type.unit)->unit == UNIT_BYTES)
            r->period_bytes = value_unit_of(type.unit)->factor;
        break;
    case DEFAULT_SAMPLE_TYPE:
        r->default_type = f->value;
        break;
    case COMMENT:
        take_comments(r, f);
        break;
    default:
        break;
    }
}

/* Each pass reads the fields of the whole file. */
enum pass { PASS_STRINGS, PASS_TABLES, PASS_LOCATIONS, PASS_SAMPLES };

static void take_field(struct pprof *r, enum pass pass, const struct proto_reader *in,
                       struct proto_field *f)
{
    struct proto_reader inside = proto_inside(in, f);
    bool message = f->wire == PROTO_BYTES;
    if (pass == PASS_STRINGS && f->number == STRING_TABLE && message)
        add_string(r, f);
    else if (pass == PASS_LOCATIONS && f->number == LOCATION && message)
        add_location(r, inside);
    else if (pass == PASS_SAMPLES && f->number == SAMPLE && message)
        add_sample(r, inside);
    if (pass != PASS_TABLES)
        return;
    if (f->number == SAMPLE_TYPE && message)
        add_type(r, inside);
    else if (f->number == MAPPING && message)
        add_mapping(r, inside);
    else if (f->number == FUNCTION && message)
        add_function(r, inside);
    else if (f->number >= DROP_FRAMES)
        take_facts(r, inside, f);
}

static void go_over(struct pprof *r, enum pass pass)
{
    struct proto_reader in = proto_of(r->file);
    struct proto_field f;
    while (!builder_failed(r->b) && !r->arena.failed && proto_next(&in, &f))
        take_field(r, pass, &in, &f);
    if (in.failed && !r->damaged)
        builder_warn_offset(r->b, "the file is truncated or damaged; the rest is skipped",
                            proto_offset(&in));
    r->damaged |= in.failed;
    r->b->profile->facts.incomplete |= in.failed;
}

/* The time range is given as start and duration. */
static void set_times(const struct pprof *r)
{
    struct facts *facts = &r->b->profile->facts;
    if (r->period > 0 && r->period_scale > 0)
        facts->rate = 1e9 / ((double)r->period * r->period_scale);
    double bytes = (double)r->period * r->period_bytes;
    if (bytes > 1 && bytes < 0x1p53)
        facts->sample_bytes = (uint64_t)bytes;
    if (r->time <= 0)
        return;
    uint64_t first = (uint64_t)r->time, last = first;
    if (r->duration > 0)
        last += (uint64_t)r->duration;
    if (facts->time_first == TIME_NONE || first < facts->time_first)
        facts->time_first = first;
    if (facts->time_last == TIME_NONE || last > facts->time_last)
        facts->time_last = last;
}

static bool pprof_read(struct source *in, const struct import_options *options,
                       struct builder *b, struct error *err)
{
    struct pprof r = {.b = b, .options = options};
    if (!source_all(in, &r.file, err))
        return false;
    go_over(&r, PASS_STRINGS);
    r.ids = arena_zalloc(&r.arena, r.string_count + 1, sizeof *r.ids);
    if (trie_init(&r.sequences, &r.arena) && runs_init(&r.runs, b, &r.arena)) {
        r.runs.in = r.file.len;
        go_over(&r, PASS_TABLES);
        make_events(&r);
        find_dropped(&r);
        go_over(&r, PASS_LOCATIONS);
        go_over(&r, PASS_SAMPLES);
        r.runs.tree.refused += r.sequences.refused;
        runs_end(&r.runs);
    }
    set_times(&r);
    builder_end_scratch(b, &r.arena);
    return true;
}

/* --- Whether a file is one ----------------------------------------------------- */

#define KNOWN_FIELDS 14
#define FIELDS_TO_COME 40

/* The wire type of each field of a Profile; lists of numbers may also be packed.
 * Fields added to the format later will also have small numbers. */
static bool fits_profile(const struct proto_field *f)
{
    bool bytes = f->wire == PROTO_BYTES, number = f->wire == PROTO_VARINT;
    if (f->number >= SAMPLE_TYPE && f->number <= STRING_TABLE)
        return bytes;
    if (f->number == PERIOD_TYPE)
        return bytes;
    if (f->number == COMMENT)
        return bytes || number;
    return f->number <= KNOWN_FIELDS ? number : f->number <= FIELDS_TO_COME;
}

/* Whether the message contains only the two numbers of a ValueType. */
static bool is_value_type(struct proto_reader in)
{
    struct proto_field f;
    while (proto_next(&in, &f))
        if ((f.number != 1 && f.number != 2) || f.wire != PROTO_VARINT)
            return false;
    return !in.failed;
}

/* Text often parses as protobuf: a line feed is a field 1. So the contents are
 * checked, too. The last field of the head may be incomplete. */
static int pprof_probe(struct str head)
{
    struct proto_reader in = proto_of(head);
    struct proto_field f;
    size_t types = 0, others = 0;
    while (proto_next(&in, &f)) {
        if (!fits_profile(&f))
            return 0;
        if (f.number == SAMPLE_TYPE && !is_value_type(proto_inside(&in, &f)))
            return 0;
        types += f.number == SAMPLE_TYPE;
        others += f.number != SAMPLE_TYPE;
    }
    if (in.failed && head.len < IMPORT_HEAD_SIZE && others == 0)
        return 0;
    return types && others ? 90 : others > 2 ? 40 : 0;
}

const struct importer import_pprof = {
    .name = "pprof",
    .suffixes = "pb.gz,pb,prof,pprof",
    .summary = "pprof protocol buffers (Go, gperftools, continuous profilers)",
    .probe = pprof_probe,
    .shape = SHAPE_BINARY,
    .read = pprof_read,
};
