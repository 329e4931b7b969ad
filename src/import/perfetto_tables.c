/* SPDX-License-Identifier: Apache-2.0 */
#include "base/output.h"
#include "import/perfetto.h"

string_id perfetto_string(struct perfetto *p, const struct proto_field *f)
{
    return f->wire == PROTO_BYTES && f->bytes.len ? builder_string(&p->raw, f->bytes) : 0;
}

static void put(struct perfetto *p, struct perfetto_sequence *s,
                enum perfetto_table table, uint64_t number, uint64_t value)
{
    uint64_t *slot = number ? idmap_put(&s->tables[table], &p->arena, number) : NULL;
    if (slot)
        *slot = value;
}

static uint64_t get(const struct perfetto_sequence *s, enum perfetto_table table,
                    uint64_t number)
{
    const uint64_t *value = number ? idmap_find(&s->tables[table], number) : NULL;
    return value ? *value : 0;
}

/* A message InternedString. */
static void add_string(struct perfetto *p, struct perfetto_sequence *s,
                       enum perfetto_table table, struct str message)
{
    struct proto_reader r = proto_of(message);
    struct proto_field f;
    uint64_t number = 0;
    string_id string = 0;
    while (proto_next(&r, &f))
        if (f.number == 1)
            number = f.value;
        else if (f.number == 2)
            string = perfetto_string(p, &f);
    put(p, s, table, number, string);
}

/* The parts of a path. Some writers have one part, the whole path. */
static void add_part(struct perfetto *p, struct output *path, string_id part)
{
    struct str text = profile_string(p->raw.profile, part);
    if (path->used || !(str_starts(text, STR("/")) || str_starts(text, STR("["))))
        output_char(path, '/');
    output_str(path, text);
}

/* Writers have the bytes of a build ID, or their hexadecimal digits. */
static void write_build_id(struct output *out, struct str id)
{
    static const char digits[] = "0123456789abcdef";
    bool is_text = id.len >= 32;
    for (size_t i = 0; i < id.len; i++)
        is_text &= byte_is_hex(id.ptr[i]);
    for (size_t i = 0; i < id.len; i++) {
        unsigned char c = (unsigned char)id.ptr[i];
        if (is_text) {
            output_char(out, (char)(c >= 'A' && c <= 'F' ? c - 'A' + 'a' : c));
        } else {
            output_char(out, digits[c >> 4]);
            output_char(out, digits[c & 15]);
        }
    }
}

static void add_mapping(struct perfetto *p, struct perfetto_sequence *s,
                        struct str message)
{
    struct proto_reader r = proto_of(message);
    struct output path = OUTPUT_BUFFER, build_id = OUTPUT_BUFFER;
    struct proto_field f;
    uint64_t number = 0, part;
    while (proto_next(&r, &f))
        if (f.number == 1)
            number = f.value;
        else if (f.number == 2)
            write_build_id(&build_id,
                           profile_string(p->raw.profile,
                                          (string_id)get(s, TABLE_BUILD_IDS, f.value)));
        else if (f.number == 7)
            while (proto_number(&f, &part))
                add_part(p, &path, (string_id)get(s, TABLE_PATHS, part));
    module_id module = 0;
    p->arena.failed |= path.failed || build_id.failed;
    if (path.used && !p->arena.failed)
        module =
            builder_module(&p->raw, output_contents(&path), output_contents(&build_id));
    output_deinit(&path);
    output_deinit(&build_id);
    put(p, s, TABLE_MAPPINGS, number, module);
}

static void add_frame(struct perfetto *p, struct perfetto_sequence *s, struct str message)
{
    struct proto_reader r = proto_of(message);
    struct frame frame = {.kind = FRAME_USER};
    struct proto_field f;
    uint64_t number = 0;
    while (proto_next(&r, &f))
        switch (f.number) {
        case 1:
            number = f.value;
            break;
        case 2:
            frame.name = (string_id)get(s, TABLE_NAMES, f.value);
            break;
        case 3:
            frame.module = (module_id)get(s, TABLE_MAPPINGS, f.value);
            break;
        case 4:
            frame.address = f.value;
            break;
        case 5:
            frame.file = (string_id)get(s, TABLE_SOURCES, f.value);
            break;
        case 6:
            frame.line = f.value < UINT32_MAX ? (uint32_t)f.value : 0;
            break;
        default:
            break;
        }
    if (frame.module) {
        const struct profile *raw = p->raw.profile;
        frame.kind = module_kind(profile_string(raw, raw->modules[frame.module].path));
    } else {
        frame.address = 0; /* it has no meaning then */
    }
    put(p, s, TABLE_FRAMES, number, builder_frame(&p->raw, &frame));
}

static frame_id unknown_frame(struct perfetto *p)
{
    struct frame frame = {.kind = FRAME_USER};
    return builder_frame(&p->raw, &frame);
}

stack_id perfetto_callstack(struct perfetto *p, const struct perfetto_sequence *s,
                            struct str message)
{
    struct proto_reader r = proto_of(message);
    struct proto_field f;
    uint64_t number;
    builder_path_clear(&p->raw);
    while (proto_next(&r, &f))
        if (f.number == 2)
            while (proto_number(&f, &number)) {
                frame_id frame = (frame_id)get(s, TABLE_FRAMES, number);
                builder_path_add(&p->raw, frame ? frame : unknown_frame(p));
            }
    return builder_path_from_root(&p->raw);
}

static void add_callstack(struct perfetto *p, struct perfetto_sequence *s,
                          struct str message)
{
    struct proto_reader r = proto_of(message);
    struct proto_field f;
    uint64_t number = 0;
    while (proto_next(&r, &f))
        if (f.number == 1)
            number = f.value;
    put(p, s, TABLE_STACKS, number, perfetto_callstack(p, s, message));
}

stack_id perfetto_stack(struct perfetto *p, const struct perfetto_sequence *s,
                        uint64_t number)
{
    stack_id stack = (stack_id)get(s, TABLE_STACKS, number);
    if (stack)
        return stack;
    builder_warn_offset(&p->raw, "a stack that is not in the trace", p->offset);
    return builder_push(&p->raw, 0, unknown_frame(p));
}

/* Adds the entries of that field, in the order in which they refer to each other. */
static void add_entries(struct perfetto *p, struct perfetto_sequence *s,
                        struct str message, uint32_t field, enum perfetto_table table)
{
    struct proto_reader r = proto_of(message);
    struct proto_field f;
    while (proto_next(&r, &f) && !p->arena.failed && !builder_failed(&p->raw)) {
        if (f.number != field || f.wire != PROTO_BYTES)
            continue;
        if (table == TABLE_MAPPINGS)
            add_mapping(p, s, f.bytes);
        else if (table == TABLE_FRAMES)
            add_frame(p, s, f.bytes);
        else if (table == TABLE_STACKS)
            add_callstack(p, s, f.bytes);
        else
            add_string(p, s, table, f.bytes);
    }
}

void perfetto_intern(struct perfetto *p, struct perfetto_sequence *s, struct str message)
{
    static const uint32_t fields[TABLES] = {
        [TABLE_NAMES] = 5,      [TABLE_PATHS] = 17,    [TABLE_SOURCES] = 18,
        [TABLE_BUILD_IDS] = 16, [TABLE_MAPPINGS] = 19, [TABLE_FRAMES] = 6,
        [TABLE_STACKS] = 7};
    for (int table = 0; table < TABLES; table++)
        add_entries(p, s, message, fields[table], (enum perfetto_table)table);
}

void perfetto_intern_profile(struct perfetto *p, struct perfetto_sequence *s,
                             struct str message)
{
    for (int table = TABLE_NAMES; table <= TABLE_BUILD_IDS; table++)
        add_entries(p, s, message, 1, (enum perfetto_table)table);
    add_entries(p, s, message, 4, TABLE_MAPPINGS);
    add_entries(p, s, message, 2, TABLE_FRAMES);
    add_entries(p, s, message, 3, TABLE_STACKS);
}
