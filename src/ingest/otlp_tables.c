/* SPDX-License-Identifier: Apache-2.0 */
/* The dictionary, by field number (since version 1.8):
 *
 *   ProfilesDictionary  1 mappings  2 locations  3 functions  4 links  5 strings  6 attributes
 *                       7 stacks
 *   Mapping   1 start  2 limit  3 file_offset  4 filename  5 attributes (packed)
 *   Location  1 mapping  2 address  3 lines  4 attributes (packed)    Line 1 function  2 line
 *   Function  1 name  2 system_name  3 filename  4 start_line         Stack 1 locations (packed)
 *   KeyValueAndUnit  1 key  2 value  3 unit          KeyValue 1 key (text)  2 value  3 key
 *   AnyValue  1 string_value  2 bool  3 int  ...  8 string_value_strindex
 *
 * Tables refer to those before them in this order: strings, attributes, mappings and functions,
 * locations, stacks. They are read in as many passes. */
#include "ingest/otlp_tables.h"
#include "base/array.h"

#define LINES_MAX 256 /* inlined functions at one address */

enum table { MAPPINGS = 1, LOCATIONS, FUNCTIONS, LINKS, STRINGS, ATTRIBUTES, STACKS };

bool otlp_damaged(const char *what, struct error *err)
{
    return error_set(err, "the OTLP request is damaged: %s", what);
}

struct str otlp_string(const struct otlp_tables *t, uint64_t index)
{
    return index < t->string_count ? t->strings[index] : STR("");
}

/* --- Attributes ------------------------------------------------------------------------- */

static struct str read_value(const struct otlp_tables *t, struct proto_reader in)
{
    struct proto_field f;
    struct str text = STR("");
    while (proto_next(&in, &f)) {
        if (f.number == 1 && f.wire == PROTO_BYTES)
            text = f.bytes;
        else if (f.number == 8 && f.wire == PROTO_VARINT)
            text = otlp_string(t, f.value);
    }
    return text;
}

/* The key is a text in a resource, and the index of a string in the dictionary. */
bool otlp_attribute_read(const struct otlp_tables *t, struct proto_reader in,
                         struct otlp_attribute *a)
{
    struct proto_field f;
    *a = (struct otlp_attribute){STR(""), STR("")};
    while (proto_next(&in, &f)) {
        if (f.number == 1 && f.wire == PROTO_BYTES)
            a->key = f.bytes;
        else if ((f.number == 1 || f.number == 3) && f.wire == PROTO_VARINT &&
                 !a->key.len)
            a->key = otlp_string(t, f.value);
        else if (f.number == 2 && f.wire == PROTO_BYTES)
            a->text = read_value(t, proto_inside(&in, &f));
    }
    return !in.failed;
}

/* The text of the attribute of that name among the packed indices of a field. */
static void find_text(const struct otlp_tables *t, struct proto_field f, struct str key,
                      struct str *text)
{
    uint64_t index;
    while (proto_number(&f, &index))
        if (index < t->attribute_count && str_equal(t->attributes[index].key, key))
            *text = t->attributes[index].text;
}

/* --- Entries ---------------------------------------------------------------------------- */

static bool add_string(struct otlp_tables *t, const struct proto_field *f)
{
    struct str *s =
        ARRAY_APPEND(&t->in->arena, t->strings, t->string_count, t->string_cap);
    if (s)
        *s = f->bytes;
    return s != NULL;
}

static bool add_attribute(struct otlp_tables *t, struct proto_reader in)
{
    struct otlp_attribute *a =
        ARRAY_APPEND(&t->in->arena, t->attributes, t->attribute_count, t->attribute_cap);
    return a && otlp_attribute_read(t, in, a);
}

static bool add_mapping(struct otlp_tables *t, struct proto_reader in)
{
    struct otlp_mapping *m =
        ARRAY_APPEND(&t->in->arena, t->mappings, t->mapping_count, t->mapping_cap);
    struct str path = STR(""), gnu = STR(""), other = STR("");
    struct proto_field f;
    if (!m)
        return false;
    *m = (struct otlp_mapping){0};
    while (proto_next(&in, &f)) {
        if (f.number == 1)
            m->start = f.value;
        else if (f.number == 2)
            m->end = f.value;
        else if (f.number == 3)
            m->offset = f.value;
        else if (f.number == 4)
            path = otlp_string(t, f.value);
        else if (f.number == 5) {
            find_text(t, f, STR("process.executable.build_id.gnu"), &gnu);
            find_text(t, f, STR("process.executable.build_id.htlhash"), &other);
        }
    }
    m->kind = module_kind(path);
    m->module = builder_module(&t->in->builder, path, gnu.len ? gnu : other);
    return !in.failed;
}

static bool add_function(struct otlp_tables *t, struct proto_reader in)
{
    string_id *name =
        ARRAY_APPEND(&t->in->arena, t->functions, t->function_count, t->function_cap);
    struct str text = STR(""), system = STR("");
    struct proto_field f;
    if (!name)
        return false;
    while (proto_next(&in, &f)) {
        if (f.number == 1)
            text = otlp_string(t, f.value);
        else if (f.number == 2)
            system = otlp_string(t, f.value);
    }
    *name = builder_string(&t->in->builder, text.len ? text : system);
    return !in.failed;
}

/* --- Locations -------------------------------------------------------------------------- */

static bool push_frame(struct otlp_tables *t, const struct frame *frame)
{
    frame_id *f = ARRAY_APPEND(&t->in->arena, t->frames, t->frame_count, t->frame_cap);
    if (f)
        *f = builder_frame(&t->in->builder, frame);
    return f != NULL;
}

/* Each line but the last is inlined into the next one. */
static bool push_line(struct otlp_tables *t, struct proto_reader in, struct frame frame,
                      bool is_inlined)
{
    struct proto_field f;
    uint64_t function = 0;
    while (proto_next(&in, &f))
        if (f.number == 1)
            function = f.value;
    if (function >= t->function_count && function)
        return false;
    frame.name = function < t->function_count ? t->functions[function] : 0;
    frame.kind = is_inlined ? FRAME_INLINED : frame.kind;
    return !in.failed && push_frame(t, &frame);
}

/* An address is that of the module's file if the mapping does not say where it was. */
static uint64_t offset_of(const struct otlp_mapping *m, uint64_t address)
{
    if (m->kind != FRAME_USER)
        return 0;
    bool is_inside = address >= m->start && address < m->end;
    return is_inside ? address - m->start + m->offset : m->end ? 0 : address;
}

static void end_location(struct otlp_tables *t, struct otlp_location *l)
{
    l->count = (uint32_t)t->frame_count - l->first;
    if (l->count == 0)
        return;
    frame_id *frames = t->frames + l->first;
    for (size_t i = 0, j = l->count; i + 1 < j; i++) {
        frame_id swap = frames[i];
        frames[i] = frames[--j];
        frames[j] = swap;
    }
    l->run = trie_descend(&t->sequences, 0, frames, l->count, NULL);
}

/* What a location has besides its lines. */
static uint32_t read_location(struct otlp_tables *t, struct proto_reader in,
                              struct frame *frame, uint64_t *mapping)
{
    struct proto_field f;
    struct str type = STR("");
    uint64_t address = 0;
    uint32_t lines = 0;
    *mapping = 0;
    while (proto_next(&in, &f)) {
        if (f.number == 1)
            *mapping = f.value;
        else if (f.number == 2)
            address = f.value;
        else if (f.number == 3)
            lines += f.wire == PROTO_BYTES;
        else if (f.number == 4)
            find_text(t, f, STR("profile.frame.type"), &type);
    }
    if (*mapping < t->mapping_count) {
        const struct otlp_mapping *m = &t->mappings[*mapping];
        frame->module = m->module;
        frame->kind = m->kind;
        frame->offset = lines ? 0 : offset_of(m, address);
    }
    if (str_equal(type, STR("kernel")))
        frame->kind = FRAME_KERNEL;
    return lines;
}

static bool add_location(struct otlp_tables *t, struct proto_reader in)
{
    struct otlp_location *l =
        ARRAY_APPEND(&t->in->arena, t->locations, t->location_count, t->location_cap);
    struct frame frame = {0};
    struct proto_field f;
    uint64_t mapping;
    if (!l)
        return false;
    *l = (struct otlp_location){.first = (uint32_t)t->frame_count};
    uint32_t lines = read_location(t, in, &frame, &mapping), at = 0;
    if ((mapping && mapping >= t->mapping_count) || lines > LINES_MAX)
        return false;
    if (!lines && t->location_count > 1) /* the first is "none" */
        push_frame(t, &frame);
    while (at < lines && proto_next(&in, &f))
        if (f.number == 3 && f.wire == PROTO_BYTES &&
            !push_line(t, proto_inside(&in, &f), frame, ++at < lines))
            return false;
    end_location(t, l);
    return !in.failed;
}

/* --- Stacks ----------------------------------------------------------------------------- */

static bool add_stack(struct otlp_tables *t, struct proto_reader in)
{
    stack_id *stack =
        ARRAY_APPEND(&t->in->arena, t->stacks, t->stack_count, t->stack_cap);
    size_t count = 0, frames = 0, depth = (size_t)t->in->builder.limits->depth;
    struct proto_field f;
    uint64_t index;
    uint32_t node = 0;
    if (!stack)
        return false;
    while (proto_next(&in, &f))
        while (f.number == 1 && proto_number(&f, &index)) {
            if (index >= t->location_count)
                return false;
            frames += t->locations[index].count;
            uint32_t *at = frames <= depth
                               ? ARRAY_APPEND(&t->in->arena, t->path, count, t->path_cap)
                               : NULL;
            if (at)
                *at = (uint32_t)index;
        }
    runs_forget_many(&t->runs);
    while (count-- > 0) {
        const struct otlp_location *l = &t->locations[t->path[count]];
        if (l->count)
            node = runs_push(&t->runs, node, l->run, t->frames + l->first, l->count);
    }
    if (frames > depth)
        builder_cut(&t->in->builder);
    *stack = runs_stack(&t->runs, node);
    return !in.failed;
}

/* --- The dictionary --------------------------------------------------------------------- */

static bool add_entry(struct otlp_tables *t, enum table table, struct proto_field *f,
                      struct proto_reader in)
{
    switch (table) {
    case STRINGS:
        return add_string(t, f);
    case ATTRIBUTES:
        return add_attribute(t, in);
    case MAPPINGS:
        return add_mapping(t, in);
    case FUNCTIONS:
        return add_function(t, in);
    case LOCATIONS:
        return add_location(t, in);
    case STACKS:
        return add_stack(t, in);
    default:
        return true;
    }
}

bool otlp_tables_read(struct otlp_tables *t, struct ingest *in,
                      struct proto_reader dictionary, size_t size, struct error *err)
{
    static const struct {
        enum table table;
        const char *what;
    } passes[] = {{STRINGS, "a string"},     {ATTRIBUTES, "an attribute"},
                  {MAPPINGS, "a mapping"},   {FUNCTIONS, "a function"},
                  {LOCATIONS, "a location"}, {STACKS, "a stack"}};
    bool ok = true;
    *t = (struct otlp_tables){.in = in};
    if (!trie_init(&t->sequences, &in->arena) ||
        !runs_init(&t->runs, &in->builder, &in->arena))
        return error_memory(err);
    t->runs.in = size;
    for (size_t i = 0; ok && i < sizeof passes / sizeof *passes; i++) {
        struct proto_reader r = dictionary;
        struct proto_field f;
        while (ok && proto_next(&r, &f))
            if (f.number == (uint32_t)passes[i].table && f.wire == PROTO_BYTES)
                ok = add_entry(t, passes[i].table, &f, proto_inside(&r, &f));
        if (in->arena.failed || builder_failed(&in->builder))
            return error_memory(err);
        if (!ok || r.failed)
            return otlp_damaged(ok ? "its dictionary" : passes[i].what, err);
    }
    return true;
}
