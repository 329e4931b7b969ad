/* SPDX-License-Identifier: Apache-2.0 */
/* pprof's protocol buffer, as Go, gperftools and most continuous profilers write it (its
 * gzip is unpacked before it comes here). The messages, by field number:
 *
 *   Profile   1 sample_type  2 sample  3 mapping  4 location  5 function  6 string_table
 *             7 drop_frames  8 keep_frames  9 time_nanos  10 duration_nanos
 *             11 period_type  12 period  13 comment  14 default_sample_type
 *   ValueType 1 type  2 unit                      Label 1 key  2 str  3 num
 *   Sample    1 location_id (leaf first)  2 value (one a sample type)  3 label
 *   Mapping   1 id  5 filename  6 build_id        Function 1 id  2 name  3 system_name
 *   Location  1 id  2 mapping_id  3 address       4 filename
 *             4 line (innermost first)            Line 1 function_id  2 line
 *
 * Strings are numbers in the string table, which mostly comes last, and messages point at
 * each other by id, in any order; so the file is read whole and gone over several times.
 * Every sample type becomes an event, the one that pprof shows by default first. */
#include "base/idmap.h"
#include "base/number.h"
#include "base/regex.h"
#include "codec/protobuf.h"
#include "import/importer.h"

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
#define SAMPLES_MAX ((uint64_t)1 << 40) /* of one row: so that their sum is a number */
#define DROP_NAME_MAX 4096 /* longer ones are not compared with the pattern */
#define LINES_MAX 256      /* functions inlined into each other at one address */

/* A message that others point at. */
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
            uint32_t first, count; /* its frames, leaf first */
        } location;
    };
};

struct entries {
    struct entry *items; /* [0] is none */
    size_t count, cap;
    struct idmap numbers; /* of the items, by their id */
};

struct value_type {
    struct str name, unit;
    event_id event; /* 0: its values are left out */
    double scale;
};

/* What the labels of a sample say of its thread. */
struct labels {
    int64_t pid, tid;
    struct str name;
};

struct pprof {
    struct builder *b;
    const struct import_options *options;
    struct arena arena;
    struct str file;
    struct str *strings;
    size_t string_count, string_cap;
    struct entries mappings, functions, locations;
    frame_id *frames; /* of the locations */
    size_t frame_count, frame_cap;
    struct value_type types[TYPES_MAX];
    size_t type_count;
    size_t order[TYPES_MAX]; /* of the types: the default one first */
    size_t counting;         /* the type that counts samples, or TYPES_MAX */
    uint64_t values[TYPES_MAX];
    int64_t time, duration, period;
    double period_scale;               /* nanoseconds; 0 where the period is no time */
    uint64_t default_type, drop, keep; /* strings */
    bool prunes;                       /* frames are dropped: */
    bool *drop_function;               /* by place among the functions */
    bool *drop_frame;                  /* by frame */
    size_t drop_frame_cap;
    bool damaged;
};

/* --- Tables ------------------------------------------------------------------------- */

static struct str string_at(struct pprof *r, uint64_t number)
{
    if (number < r->string_count)
        return r->strings[number];
    builder_warn(r->b, "a string number that is not in the table", 0, 0, STR(""));
    return STR("");
}

/* The entry of that id; NULL where there is none. */
static const struct entry *find_entry(const struct entries *t, uint64_t id)
{
    const uint64_t *at = idmap_find(&t->numbers, id);
    return at ? &t->items[*at] : NULL;
}

/* Adds an entry; of two with the same id the first counts. */
static void add_entry(struct pprof *r, struct entries *t, struct entry entry)
{
    struct entry *items =
        arena_grow(&r->arena, t->items, &t->cap, t->count + 2, sizeof *items);
    if (!items)
        return;
    t->items = items;
    uint64_t *at = idmap_put(&t->numbers, &r->arena, entry.id);
    if (!at)
        return;
    if (*at) {
        builder_warn(r->b, "two entries with the same id", 0, 0, STR(""));
        return;
    }
    items[++t->count] = entry;
    *at = t->count;
}

/* --- Sample types ------------------------------------------------------------------- */

static const struct value_unit {
    const char *name;
    enum unit unit;
    double scale;
} value_units[] = {
    {"nanoseconds", UNIT_NANOSECONDS, 1},
    {"ns", UNIT_NANOSECONDS, 1},
    {"microseconds", UNIT_NANOSECONDS, 1e3},
    {"us", UNIT_NANOSECONDS, 1e3},
    {"milliseconds", UNIT_NANOSECONDS, 1e6},
    {"ms", UNIT_NANOSECONDS, 1e6},
    {"seconds", UNIT_NANOSECONDS, 1e9},
    {"s", UNIT_NANOSECONDS, 1e9},
    {"bytes", UNIT_BYTES, 1},
    {"kilobytes", UNIT_BYTES, 1024},
    {"megabytes", UNIT_BYTES, 1048576},
    {"cycles", UNIT_CYCLES, 1},
    {"count", UNIT_COUNT, 1},
};

static const struct value_unit *unit_named(struct str name)
{
    for (size_t i = 0; i < sizeof value_units / sizeof *value_units; i++)
        if (str_equal(name, str_of(value_units[i].name)))
            return &value_units[i];
    return &value_units[sizeof value_units / sizeof *value_units - 1];
}

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

/* Makes the event of a type. One of the same name gets its unit behind it; of two that
 * are wholly alike the second is left out. */
static void make_event(struct pprof *r, struct value_type *type)
{
    const struct value_unit *unit = unit_named(type->unit);
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
    type->scale = unit->scale;
}

/* Makes the events, beginning with the type that pprof shows unless it is told else: the
 * one named in the file, or the last. */
static void make_events(struct pprof *r)
{
    struct str name = r->default_type ? string_at(r, r->default_type) : STR("");
    size_t first = r->type_count ? r->type_count - 1 : 0, n = 0;
    r->counting = TYPES_MAX;
    for (size_t i = 0; i < r->type_count; i++) {
        if (name.len && str_equal(r->types[i].name, name))
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
        builder_warn(r->b, "more sample types than are read", 0, 0, STR(""));
    else
        take_value_type(r, in, &r->types[r->type_count++]);
}

/* --- Mappings, functions, locations ------------------------------------------------- */

static void add_mapping(struct pprof *r, struct proto_reader in)
{
    struct proto_field f;
    struct entry e = {0};
    struct str path = STR(""), build_id = STR("");
    while (proto_next(&in, &f)) {
        if (f.number == 1)
            e.id = f.value;
        else if (f.number == 5)
            path = string_at(r, f.value);
        else if (f.number == 6)
            build_id = string_at(r, f.value);
    }
    struct facts *facts = &r->b->profile->facts;
    if (r->mappings.count == 0 && !facts->command) /* the first is the main binary */
        facts->command = builder_string(r->b, path);
    e.mapping.module = builder_module(r->b, path, build_id);
    e.mapping.kind = module_kind(path);
    add_entry(r, &r->mappings, e);
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
    e.function.name = builder_string(r->b, string_at(r, name ? name : system_name));
    if (r->options->lines)
        e.function.file = builder_string(r->b, string_at(r, file));
    add_entry(r, &r->functions, e);
}

static void push_frame(struct pprof *r, const struct frame *frame)
{
    frame_id *frames = arena_grow(&r->arena, r->frames, &r->frame_cap, r->frame_count + 1,
                                  sizeof *frames);
    if (!frames)
        return;
    r->frames = frames;
    frames[r->frame_count++] = builder_frame(r->b, frame);
}

/* --- Frames to drop ------------------------------------------------------------ */

/* The name that the patterns are made for: without arguments. */
static struct str bare_name(struct str name)
{
    name = str_skip(name, str_starts(name, STR(".")));
    size_t open = str_find(name, '(');
    if (open && !str_starts(str_skip(name, open), STR("(anonymous namespace)")))
        name = str_head(name, open);
    return name;
}

/* Finds the functions that the file's patterns drop: malloc's own callees, say. */
static void find_dropped(struct pprof *r)
{
    struct regex drop, keep;
    if (!r->drop || r->arena.failed || string_at(r, r->drop).len == 0)
        return;
    struct str kept = r->keep ? string_at(r, r->keep) : STR("");
    r->drop_function = arena_zalloc(&r->arena, r->functions.count + 1, sizeof(bool));
    if (!regex_init(&drop, &r->arena, string_at(r, r->drop)) ||
        !regex_init(&keep, &r->arena, kept) || !r->drop_function) {
        builder_warn(r->b, "the pattern of frames to drop is not understood, none is", 0,
                     0, STR(""));
        return;
    }
    r->prunes = true;
    for (size_t i = 1; i <= r->functions.count; i++) {
        string_id id = r->functions.items[i].function.name;
        struct str name = bare_name(profile_string(r->b->profile, id));
        r->drop_function[i] = name.len && name.len <= DROP_NAME_MAX &&
                              regex_matches(&drop, name) &&
                              !(kept.len && regex_matches(&keep, name));
    }
}

static void note_dropped(struct pprof *r, frame_id frame, bool dropped)
{
    size_t before = r->drop_frame_cap;
    bool *frames = arena_grow(&r->arena, r->drop_frame, &r->drop_frame_cap,
                              (size_t)frame + 1, sizeof *frames);
    if (!frames)
        return;
    if (r->drop_frame_cap > before)
        memset(frames + before, 0, (r->drop_frame_cap - before) * sizeof *frames);
    r->drop_frame = frames;
    frames[frame] = dropped;
}

/* Cuts the path, leaf first, at the outermost frame to drop: it goes, and all it called.
 * Those with nothing but such frames outside them stay, so that something is left. */
static void prune_path(struct pprof *r)
{
    struct frame_path *path = &r->b->path;
    bool other = false;
    for (size_t i = path->count; i-- > 0;) {
        frame_id frame = path->items[i];
        if (frame >= r->drop_frame_cap || !r->drop_frame[frame]) {
            other = true;
        } else if (other) {
            path->count -= i + 1;
            memmove(path->items, path->items + i + 1, path->count * sizeof *path->items);
            return;
        }
    }
}

/* One Line: the function and its place are put into a copy of the location's frame. */
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
        builder_warn(r->b, "a function id that is not in the file", 0, 0, STR(""));
    if (e) {
        frame.name = e->function.name;
        frame.file = e->function.file;
    }
    if (r->options->lines && line <= UINT32_MAX)
        frame.line = (uint32_t)line;
    if (r->options->every_address || (!frame.name && r->options->addresses))
        frame.address = address;
    push_frame(r, &frame);
    if (r->prunes && e && r->frame_count)
        note_dropped(r, r->frames[r->frame_count - 1],
                     r->drop_function[e - r->functions.items]);
}

/* The frames of a location's lines: all but the last are inlined into the one behind. */
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
    } else if (mapping) {
        builder_warn(r->b, "a mapping id that is not in the file", 0, 0, STR(""));
    }
    e.location.first = (uint32_t)r->frame_count;
    if (lines > LINES_MAX) {
        builder_warn(r->b, "more inlined functions at an address than are read", 0, 0,
                     STR(""));
        lines = LINES_MAX;
    }
    if (lines) {
        add_lines(r, again, lines, frame, address);
    } else {
        frame.address = r->options->addresses ? address : 0;
        push_frame(r, &frame);
    }
    e.location.count = (uint32_t)r->frame_count - e.location.first;
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

/* The names that profilers give to labels of threads. */
static const char *const pid_labels[] = {"pid", "process_id", "process id", NULL};
static const char *const tid_labels[] = {"tid", "thread_id", "thread id",
                                         "thread native id", NULL};
static const char *const name_labels[] = {"thread",      "thread_name", "thread name",
                                          "thread-name", "comm",        NULL};

static void take_label(struct pprof *r, struct proto_reader in, struct labels *labels)
{
    struct proto_field f;
    uint64_t key = 0, str = 0, num = 0;
    while (proto_next(&in, &f)) {
        if (f.number == 1)
            key = f.value;
        else if (f.number == 2)
            str = f.value;
        else if (f.number == 3)
            num = f.value;
    }
    struct str name = string_at(r, key), text = str ? string_at(r, str) : STR("");
    bool is_pid = is_one_of(name, pid_labels), is_name = is_one_of(name, name_labels);
    if (!is_pid && !is_name && !is_one_of(name, tid_labels))
        return;
    if (is_name && text.len) {
        labels->name = text;
        return;
    }
    if (text.len && !number_parse_u64(text, &num))
        return;
    if (num <= INT64_MAX)
        *(is_pid ? &labels->pid : &labels->tid) = (int64_t)num;
}

static void push_location(struct pprof *r, uint64_t id)
{
    const struct entry *e = find_entry(&r->locations, id);
    if (!e) {
        builder_warn(r->b, "a location id that is not in the file", 0, 0, STR(""));
        return;
    }
    for (uint32_t i = 0; i < e->location.count; i++)
        builder_path_add(r->b, r->frames[e->location.first + i]);
}

/* Adds one row per value that is not zero; where all are zero the first event gets one,
 * so that the stack is known. The samples are counted once. */
static void add_rows(struct pprof *r, struct sample *s)
{
    bool counted = false;
    uint64_t count = r->counting < TYPES_MAX ? r->values[r->counting] : 1;
    if (count > SAMPLES_MAX && count <= INT64_MAX)
        builder_warn(r->b, "a number of samples that is too large to be one", 0, 0,
                     STR(""));
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
            builder_add_mapped(r->b, s);
        else
            builder_add(r->b, s);
        counted = true;
    }
    if (!counted && r->type_count) {
        s->event = r->types[r->order[0]].event;
        s->weight = 0;
        builder_add(r->b, s);
    }
}

static void add_sample(struct pprof *r, struct proto_reader in)
{
    struct labels labels = {.pid = ID_NONE, .tid = ID_NONE, .name = STR("")};
    struct proto_field f;
    uint64_t v;
    size_t values = 0;
    builder_path_clear(r->b);
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
        builder_warn(r->b, "a sample with another number of values than types", 0, 0,
                     STR(""));
    struct sample s = {.time = TIME_NONE, .cpu = CPU_NONE};
    s.thread = builder_thread(r->b, labels.pid, labels.tid, labels.name);
    if (r->prunes)
        prune_path(r);
    s.stack = builder_path_from_leaf(r->b);
    if (s.stack == 0 && s.thread == 0) /* something ran, and nobody knows what */
        s.stack = builder_push(r->b, 0, builder_frame(r->b, &(struct frame){0}));
    add_rows(r, &s);
}

/* --- The file ------------------------------------------------------------------ */

static void add_string(struct pprof *r, const struct proto_field *f)
{
    struct str *strings = arena_grow(&r->arena, r->strings, &r->string_cap,
                                     r->string_count + 1, sizeof *strings);
    if (!strings)
        return;
    r->strings = strings;
    strings[r->string_count++] = f->bytes;
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
        else if (str_starts(text, command))
            facts->command = builder_string(r->b, str_skip(text, command.len));
    }
}

static void take_facts(struct pprof *r, struct proto_reader inside, struct proto_field *f)
{
    struct value_type type;
    switch (f->number) {
    case DROP_FRAMES:
        r->drop = f->value;
        break;
    case KEEP_FRAMES:
        r->keep = f->value;
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
        if (unit_named(type.unit)->unit == UNIT_NANOSECONDS)
            r->period_scale = unit_named(type.unit)->scale;
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

/* Each goes over the fields of the whole file. */
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
        builder_warn_offset(r->b, "the file is cut or damaged, what follows is left out",
                            proto_offset(&in));
    r->damaged |= in.failed;
    r->b->profile->facts.incomplete |= in.failed;
}

/* The time range is given as a beginning and a length. */
static void note_times(const struct pprof *r)
{
    struct facts *facts = &r->b->profile->facts;
    if (r->period > 0 && r->period_scale > 0)
        facts->rate = 1e9 / ((double)r->period * r->period_scale);
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
    go_over(&r, PASS_TABLES);
    make_events(&r);
    find_dropped(&r);
    go_over(&r, PASS_LOCATIONS);
    go_over(&r, PASS_SAMPLES);
    note_times(&r);
    b->profile->arena.failed |= r.arena.failed;
    arena_deinit(&r.arena);
    return true;
}

/* --- Whether a file is one ----------------------------------------------------- */

#define KNOWN_FIELDS 14
#define FIELDS_TO_COME 40

/* The wire type of each field of a Profile; those that are lists of numbers may also be
 * packed. Fields that are added to the format will have small numbers too. */
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

/* Whether the message holds nothing but the two numbers of a ValueType. */
static bool is_value_type(struct proto_reader in)
{
    struct proto_field f;
    while (proto_next(&in, &f))
        if ((f.number != 1 && f.number != 2) || f.wire != PROTO_VARINT)
            return false;
    return !in.failed;
}

/* Text parses as protobuf more often than one would think: a line feed is a field 1. So
 * what is inside is looked at too. The last field of the head may be cut. */
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
