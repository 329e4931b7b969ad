/* SPDX-License-Identifier: Apache-2.0 */
/* The header of a recording and the features at its end: attributes of the events, facts
 * about the machine. */
#include "base/array.h"
#include "perf/parts.h"

#define ATTR_SIZE_FIRST 64
#define GROUPS_MOST 1024 /* later ones are not read */

/* The attributes of a file that comes through a pipe are read if they are in front of its
 * records and within this size. */
#define PIPED_FILE_HEAD ((uint64_t)64 << 20)

void perf_flaw(struct perf_data *d, enum perf_flaw flaw, uint64_t offset)
{
    if (flaw == PERF_FLAW_TRUNCATED && d->flaws[flaw])
        return; /* one of the two */
    if (d->flaws[flaw]++ == 0)
        d->flaw_offset[flaw] = offset;
}

/* --- Events ------------------------------------------------------------------------ */

uint64_t perf_take_flags(struct bytes *b)
{
    uint64_t bits = bytes_u64(b), reversed = 0;
    for (unsigned i = 0; i < 64; i++)
        reversed |= (bits >> i & 1) << (63 - i);
    return b->big_endian ? reversed : bits;
}

struct str perf_take_string(struct bytes *b)
{
    struct str s = bytes_take(b, bytes_u32(b));
    return str_head(s, str_find(s, 0));
}

/* What all events have in common. */
static void note_event(struct perf_data *d, const struct perf_event *e)
{
    const struct perf_event *first = &d->events[0];
    d->one_layout = (d->one_layout || d->event_count == 1) &&
                    e->sample_type == first->sample_type &&
                    e->read_format == first->read_format;
    d->asks_build_ids |= (e->flags & PERF_FLAG_BUILD_ID) != 0;
    if (e->type != PERF_TYPE_TRACEPOINT)
        return;
    uint64_t *at = idmap_put(&d->tracepoints, &d->arena, e->config);
    if (at && *at == 0)
        *at = d->event_count;
}

/* A perf_event_attr, which contains its size; missing fields are 0. */
static struct perf_event event_of_attr(const struct perf_data *d, struct str attr)
{
    struct bytes b = bytes_of(attr, d->big_endian);
    struct perf_event e = {.type = bytes_u32(&b)};
    uint32_t size = bytes_u32(&b);
    b = bytes_of(str_head(attr, size ? size : ATTR_SIZE_FIRST), d->big_endian);
    bytes_skip(&b, 8);
    e.config = bytes_u64(&b);
    e.period = bytes_u64(&b);
    e.sample_type = bytes_u64(&b);
    e.read_format = bytes_u64(&b);
    e.flags = perf_take_flags(&b);
    bytes_skip(&b, 24); /* wakeup, breakpoint */
    e.branch_type = bytes_u64(&b);
    e.user_registers = bytes_u64(&b);
    e.stack_size = bytes_u32(&b);
    e.clock = bytes_u32(&b);
    e.interrupt_registers = bytes_u64(&b);
    return e;
}

/* Adds an event and its ids. */
static void add_event(struct perf_data *d, struct str attr, struct str ids)
{
    struct perf_event e = event_of_attr(d, attr);
    struct perf_event *added =
        ARRAY_APPEND(&d->arena, d->events, d->event_count, d->event_cap);
    if (!added)
        return;
    e.name = perf_event_name(&d->arena, &e);
    *added = e;
    note_event(d, &e);
    struct bytes b = bytes_of(ids, d->big_endian);
    while (bytes_left(&b) >= 8) {
        uint64_t *at = idmap_put(&d->ids, &d->arena, bytes_u64(&b));
        if (at)
            *at = d->event_count;
    }
}

static void name_event(struct perf_data *d, struct perf_event *e, struct str name)
{
    if (name.len == 0 || e->named)
        return;
    e->name = arena_str(&d->arena, name);
    e->named = true;
}

/* --- Features ---------------------------------------------------------------------- */

static struct str keep_string(struct perf_data *d, struct bytes b)
{
    return arena_str(&d->arena, perf_take_string(&b));
}

static void take_command(struct perf_data *d, struct bytes b)
{
    struct output words = OUTPUT_BUFFER;
    for (uint32_t left = bytes_u32(&b); left && bytes_left(&b); left--) {
        if (words.used)
            output_str(&words, STR(" "));
        output_str(&words, perf_take_string(&b));
    }
    d->arena.failed |= words.failed;
    d->facts.command = arena_str(&d->arena, output_contents(&words));
    output_deinit(&words);
}

/* The event with one of the ids, else the one with that index. */
static struct perf_event *described_event(struct perf_data *d, struct str ids,
                                          uint32_t index)
{
    struct bytes b = bytes_of(ids, d->big_endian);
    const uint64_t *at = ids.len >= 8 ? idmap_find(&d->ids, bytes_u64(&b)) : NULL;
    if (at)
        return &d->events[*at - 1];
    return index < d->event_count ? &d->events[index] : NULL;
}

static void take_event_names(struct perf_data *d, struct bytes b)
{
    uint32_t count = bytes_u32(&b), attr_size = bytes_u32(&b);
    for (uint32_t i = 0; i < count && bytes_left(&b); i++) {
        bytes_skip(&b, attr_size);
        uint32_t ids = bytes_u32(&b);
        struct str name = perf_take_string(&b);
        struct str numbers = bytes_take(&b, (uint64_t)ids * 8);
        struct perf_event *e = described_event(d, numbers, i);
        if (e && !b.failed)
            name_event(d, e, name);
    }
}

bool perf_next_group(const struct perf_data *d, struct perf_group *group)
{
    struct str contents = d->contents[PERF_FEATURE_GROUP_DESC];
    if (contents.len == 0)
        return false;
    struct bytes b = bytes_of(contents, d->big_endian);
    size_t count = bytes_u32(&b);
    if (group->number >= count || group->number >= GROUPS_MOST)
        return false;
    struct perf_group next = {.number = group->number + 1};
    for (size_t i = 0; i < next.number; i++) {
        next.name = perf_take_string(&b);
        next.first = bytes_u32(&b);
        next.count = bytes_u32(&b);
    }
    if (b.failed || next.first >= d->event_count)
        return false;
    if (next.count > d->event_count - next.first)
        next.count = d->event_count - next.first;
    if (str_equal(next.name, STR("{anon_group}")))
        next.name = STR("");
    *group = next;
    return true;
}

static struct str hexadecimal(struct perf_data *d, struct str raw)
{
    static const char digits[] = "0123456789abcdef";
    char *text = arena_alloc(&d->arena, raw.len * 2 + 1);
    for (size_t i = 0; text && i < raw.len; i++) {
        text[i * 2] = digits[(unsigned char)raw.ptr[i] >> 4];
        text[i * 2 + 1] = digits[raw.ptr[i] & 15];
    }
    return (struct str){text ? text : "", text ? raw.len * 2 : 0};
}

/* A build ID record: pid, 20 bytes of build ID and their count, the path. Without a
 * count, a shorter ID is padded with zeros. */
static void take_build_id(struct perf_data *d, uint16_t misc, struct bytes b)
{
    bytes_skip(&b, 4);
    struct str raw = bytes_take(&b, 20);
    uint8_t size = bytes_u8(&b);
    bytes_skip(&b, 3);
    struct str rest = bytes_take(&b, bytes_left(&b));
    struct str path = str_head(rest, str_find(rest, 0));
    if (misc & PERF_MISC_BUILD_ID_SIZE)
        raw = str_head(raw, size);
    else
        while (raw.len >= 4 && memcmp(raw.ptr + raw.len - 4, "\0\0\0\0", 4) == 0)
            raw.len -= 4;
    string_id id = raw.len ? strings_add(&d->paths, path) : 0;
    if (id == 0)
        return;
    size_t cap = d->build_id_cap;
    if (!ARRAY_RESERVE(&d->arena, d->build_ids, d->build_id_cap, id + 1))
        return;
    for (size_t i = cap; i < d->build_id_cap; i++)
        d->build_ids[i] = STR("");
    d->build_ids[id] = hexadecimal(d, raw);
}

struct str perf_data_build_id(const struct perf_data *d, struct str path)
{
    string_id id = strings_find(&d->paths, path);
    return id && id < d->build_id_cap ? d->build_ids[id] : STR("");
}

static void take_build_ids(struct perf_data *d, struct bytes b)
{
    while (bytes_left(&b) > PERF_RECORD_HEADER) {
        struct perf_header h = perf_header_at(d, b.at);
        bytes_skip(&b, PERF_RECORD_HEADER);
        if (h.size < PERF_RECORD_HEADER)
            return;
        struct str body = bytes_take(&b, h.size - PERF_RECORD_HEADER);
        take_build_id(d, h.misc, bytes_of(body, d->big_endian));
    }
}

static enum architecture machine_named(struct str arch)
{
    if (str_equal(arch, STR("x86_64")))
        return ARCH_X86_64;
    if (str_equal(arch, STR("aarch64")) || str_equal(arch, STR("arm64")))
        return ARCH_ARM64;
    if (str_starts(arch, STR("arm")))
        return ARCH_ARM;
    bool x86 = arch.len == 4 && arch.ptr[0] == 'i' && str_ends(arch, STR("86"));
    return x86 ? ARCH_X86 : ARCH_UNKNOWN;
}

/* Assigns a format to its events. */
static void take_format(struct perf_data *d, struct str text)
{
    uint64_t id = tracepoint_format_id(text);
    const uint64_t *first = idmap_find(&d->tracepoints, id);
    if (!first || *first == 0 || d->events[*first - 1].format)
        return;
    struct tracepoint_format *format = arena_alloc(&d->arena, sizeof *format);
    if (!format || !tracepoint_format_read(format, arena_str(&d->arena, text), &d->arena))
        return;
    for (size_t i = *first - 1; i < d->event_count; i++)
        if (d->events[i].type == PERF_TYPE_TRACEPOINT && d->events[i].config == id)
            d->events[i].format = format;
}

/* The head of a trace.dat (trace-cmd.dat.v6(5)), as perf writes it: formats of the common
 * fields, of ftrace's own events, of the tracepoints by system. */
void perf_read_formats(struct perf_data *d, struct str tracing)
{
    struct bytes b = bytes_of(tracing, d->big_endian);
    struct str magic = bytes_take(&b, 10);
    if (!str_equal(magic, STR("\x17\x08\x44"
                              "tracing")))
        return;
    bytes_string(&b); /* version */
    b.big_endian = bytes_u8(&b);
    bytes_skip(&b, 5); /* the size of a long (1 byte) and of a page (4) */
    for (int i = 0; i < 2; i++) {
        bytes_string(&b);
        bytes_skip(&b, bytes_u64(&b));
    }
    for (uint32_t left = bytes_u32(&b); left && !b.failed; left--)
        bytes_skip(&b, bytes_u64(&b));
    for (uint32_t systems = bytes_u32(&b); systems && !b.failed; systems--) {
        bytes_string(&b);
        for (uint32_t left = bytes_u32(&b); left && !b.failed; left--) {
            struct str text = bytes_take(&b, bytes_u64(&b));
            if (!b.failed)
                take_format(d, text);
        }
    }
}

static void take_jit_maps(struct perf_data *d, struct bytes b)
{
    while (bytes_left(&b) >= 16) {
        uint64_t *at = idmap_put(&d->jit_map_of, &d->arena, bytes_u64(&b));
        struct str text = bytes_take(&b, bytes_u64(&b));
        if (b.failed || !at ||
            !ARRAY_RESERVE(&d->arena, d->jit_maps, d->jit_map_cap, d->jit_map_count + 1))
            return;
        d->jit_maps[d->jit_map_count++] = arena_str(&d->arena, text);
        *at = d->jit_map_count;
    }
}

struct str perf_data_jit_map(const struct perf_data *d, uint64_t pid)
{
    const uint64_t *at = idmap_find(&d->jit_map_of, pid);
    return at && *at ? d->jit_maps[*at - 1] : STR("");
}

#define CONTENT_MOST ((size_t)256 << 10)

static void take_feature(struct perf_data *d, uint64_t number, struct str content)
{
    if (number < PERF_FEATURES_OF_PERF && number > PERF_FEATURE_BUILD_ID &&
        content.len <= CONTENT_MOST)
        d->contents[number] = arena_str(&d->arena, content);
    struct bytes b = bytes_of(content, d->big_endian);
    struct perf_facts *f = &d->facts;
    switch (number) {
    case PERF_FEATURE_TRACING_DATA:
        perf_read_formats(d, content);
        break;
    case PERF_FEATURE_BUILD_ID:
        take_build_ids(d, b);
        break;
    case PERF_FEATURE_HOSTNAME:
        f->host = keep_string(d, b);
        break;
    case PERF_FEATURE_OSRELEASE:
        f->release = keep_string(d, b);
        break;
    case PERF_FEATURE_VERSION:
        f->version = keep_string(d, b);
        break;
    case PERF_FEATURE_ARCH:
        f->arch = keep_string(d, b);
        f->machine = machine_named(f->arch);
        break;
    case PERF_FEATURE_NRCPUS:
        f->cpus_available = bytes_u32(&b);
        f->cpus_online = bytes_u32(&b);
        break;
    case PERF_FEATURE_CPUDESC:
        f->cpu = keep_string(d, b);
        break;
    case PERF_FEATURE_CMDLINE:
        take_command(d, b);
        break;
    case PERF_FEATURE_EVENT_DESC:
        take_event_names(d, b);
        break;
    case PERF_FEATURE_SAMPLE_TIME:
        f->time_first = bytes_u64(&b);
        f->time_last = bytes_u64(&b);
        break;
    case PERF_FEATURE_CPU_TIME:
        f->time_sampled = bytes_u64(&b);
        f->time_used = bytes_u64(&b);
        break;
    case PERF_FEATURE_INTERPRETERS:
        f->interpreters = arena_str(&d->arena, content);
        break;
    case PERF_FEATURE_JIT_MAPS:
        take_jit_maps(d, b);
        break;
    default:
        break;
    }
}

void perf_read_features(struct perf_data *d, struct str file, uint64_t from)
{
    if (d->features_at < from)
        return;
    struct bytes table =
        bytes_of(str_part(file, d->features_at - from, UINT64_MAX), d->big_endian);
    for (unsigned i = 0; i < PERF_FEATURES && bytes_left(&table) >= 16; i++) {
        if (!(d->features[i / 64] >> i % 64 & 1))
            continue;
        uint64_t offset = bytes_u64(&table), size = bytes_u64(&table);
        if (offset >= from)
            take_feature(d, i, str_part(file, offset - from, size));
        else
            perf_flaw(d, PERF_FLAW_HEADER, offset);
    }
}

/* --- A pipe's records -------------------------------------------------------------- */

/* The type of EVENT_UPDATE that gives a name. */
#define UPDATE_NAME 2

static void update_event(struct perf_data *d, struct bytes b)
{
    uint64_t type = bytes_u64(&b);
    const uint64_t *at = idmap_find(&d->ids, bytes_u64(&b));
    struct str rest = bytes_take(&b, bytes_left(&b));
    if (at && type == UPDATE_NAME)
        name_event(d, &d->events[*at - 1], str_head(rest, str_find(rest, 0)));
}

/* Old versions of perf write tracepoints by their id. */
static void name_tracepoint(struct perf_data *d, struct bytes b)
{
    const uint64_t *at = idmap_find(&d->tracepoints, bytes_u64(&b));
    struct str rest = bytes_take(&b, bytes_left(&b));
    if (at && *at)
        name_event(d, &d->events[*at - 1], str_head(rest, str_find(rest, 0)));
}

void perf_read_header_record(struct perf_data *d, const struct perf_record *r)
{
    struct bytes b = perf_body(d, r);
    uint64_t number;
    switch (r->type) {
    case PERF_HEADER_ATTR:
        bytes_skip(&b, 4);
        number = bytes_u32(&b);
        number = number ? number : ATTR_SIZE_FIRST;
        if (!d->piped || number > r->body.len)
            perf_flaw(d, PERF_FLAW_HEADER, r->offset);
        else
            add_event(d, str_head(r->body, number), str_skip(r->body, number));
        break;
    case PERF_HEADER_EVENT_TYPE:
        name_tracepoint(d, b);
        break;
    case PERF_HEADER_BUILD_ID:
        take_build_id(d, r->misc, b);
        break;
    case PERF_EVENT_UPDATE:
        update_event(d, b);
        break;
    case PERF_HEADER_FEATURE:
        number = bytes_u64(&b);
        take_feature(d, number, str_skip(r->body, 8));
        break;
    default:
        break;
    }
}

/* --- The header ----------------------------------------------------------------- */

struct section {
    uint64_t offset, size;
};

static struct section take_section(struct bytes *b)
{
    struct section s = {bytes_u64(b), 0};
    s.size = bytes_u64(b);
    return s;
}

static uint64_t section_end(struct section s)
{
    return s.offset > UINT64_MAX - s.size ? UINT64_MAX : s.offset + s.size;
}

/* Bits from a 32-bit machine of the other byte order are swapped within words of 64 bits.
 * Every recorder writes the host's name, which shows it. */
static void take_feature_bits(struct perf_data *d, struct bytes *b)
{
    for (unsigned i = 0; i < 4; i++)
        d->features[i] = bytes_u64(b);
    uint64_t first = d->features[0] << 32 | d->features[0] >> 32;
    bool other = !(d->features[0] >> PERF_FEATURE_HOSTNAME & 1) &&
                 (first >> PERF_FEATURE_HOSTNAME & 1);
    for (unsigned i = 0; other && i < 4; i++)
        d->features[i] = d->features[i] << 32 | d->features[i] >> 32;
}

static void read_attrs(struct perf_data *d, struct str file, struct section attrs,
                       uint64_t attr_size)
{
    struct str table = str_part(file, attrs.offset, attrs.size);
    uint64_t ids_total = 0;
    while (table.len >= attr_size && !d->arena.failed) {
        struct str attr = str_head(table, attr_size - PERF_FILE_ATTR_IDS);
        struct bytes b =
            bytes_of(str_part(table, attr.len, PERF_FILE_ATTR_IDS), d->big_endian);
        struct section ids = take_section(&b);
        struct str numbers = str_part(file, ids.offset, ids.size);
        ids_total += numbers.len;
        if (ids_total > file.len) { /* the same ids for several events */
            perf_flaw(d, PERF_FLAW_HEADER, ids.offset);
            return;
        }
        add_event(d, attr, numbers);
        table = str_skip(table, attr_size);
    }
}

/* Whether everything that the header refers to, except records and features, is in front
 * of the records. */
static bool lies_ahead(const struct perf_data *d, struct str file, struct section attrs,
                       uint64_t attr_size, struct section types, uint64_t data)
{
    struct str table = str_part(file, attrs.offset, attrs.size);
    bool ahead =
        section_end(attrs) <= data && (!types.size || section_end(types) <= data);
    for (; ahead && table.len >= attr_size; table = str_skip(table, attr_size)) {
        struct str location =
            str_part(table, attr_size - PERF_FILE_ATTR_IDS, PERF_FILE_ATTR_IDS);
        struct bytes b = bytes_of(location, d->big_endian);
        struct section ids = take_section(&b);
        ahead = !ids.size || section_end(ids) <= data;
    }
    return ahead;
}

/* Old versions of perf write the names of tracepoints into a table. */
#define EVENT_TYPE_SIZE 72

static void read_event_types(struct perf_data *d, struct str file, struct section types)
{
    struct str table = str_part(file, types.offset, types.size);
    for (; table.len >= EVENT_TYPE_SIZE; table = str_skip(table, EVENT_TYPE_SIZE))
        name_tracepoint(d, bytes_of(str_head(table, EVENT_TYPE_SIZE), d->big_endian));
}

/* The records of a file that comes through a pipe. */
static bool section_read(void *context, char *into, size_t room, size_t *got,
                         struct error *err)
{
    struct perf_data *d = context;
    struct source *in = d->input;
    *got = 0;
    if (d->section_left == 0)
        return true;
    if (in->begin == in->end && !in->last && !source_more(in, in->end, err))
        return false;
    size_t size = (size_t)(in->end - in->begin);
    size = size < room ? size : room;
    size = size < d->section_left ? size : (size_t)d->section_left;
    memcpy(into, in->begin, size);
    in->begin += size;
    in->offset += size;
    d->section_left -= size;
    *got = size;
    return true;
}

static void skip_input(struct source *in, uint64_t size)
{
    in->begin += size;
    in->offset += size;
}

static bool refuse(struct error *err, const char *what)
{
    error_set(err, "%s", what);
    return error_hint(err, "record it again with a newer perf");
}

/* The bytes of the first file of a folder, at the beginning of the input. */
static struct str first_file(const struct source *in, struct str all)
{
    return in->file_count ? str_head(all, in->files[0].size) : all;
}

bool perf_next_file(struct perf_data *d, uint64_t *begin)
{
    const struct source *in = d->input;
    const char *all = in->begin - in->offset;
    while (d->file + 1 < in->file_count) {
        struct source_file file = in->files[++d->file];
        *begin = file.offset;
        d->section.end = all + file.offset + file.size;
        if (file.size)
            return true;
    }
    return false;
}

/* Sets up the source of a file's records. */
static bool open_section(struct perf_data *d, struct str head, struct section data,
                         struct error *err)
{
    struct source *in = d->input;
    d->data_at = data.offset;
    d->data_size = data.size;
    if (data.size == 0) { /* a killed recorder has not written it */
        data.size = UINT64_MAX - data.offset;
        perf_flaw(d, PERF_FLAW_UNFINISHED, data.offset);
    } else {
        d->features_at = section_end(data);
    }
    bool empty = in->last && data.offset == head.len && in->file_count < 2;
    if (data.offset > head.len || empty)
        return refuse(err, "the recording holds no records");
    if (in->last) {
        if (d->features_at > head.len)
            perf_flaw(d, PERF_FLAW_TRUNCATED, head.len);
        d->section = source_of(str_part(head, data.offset, data.size), in->name);
        d->section.limits = in->limits;
        d->section.offset = data.offset;
        if (d->features_at)
            perf_read_features(d, head, 0);
        d->features_at = 0;
    } else {
        skip_input(in, data.offset);
        d->section_left = data.size;
        d->section = source_reading(section_read, d, in->name);
        d->section.limits = in->limits;
        d->section.offset = data.offset;
    }
    d->source = &d->section;
    d->cursor = d->keep = data.offset;
    d->last = UINT64_MAX;
    return true;
}

static bool read_file_header(struct perf_data *d, struct error *err)
{
    struct source *in = d->input;
    if (!source_peek(in, PERF_FILE_HEADER, err))
        return false;
    struct str head = first_file(in, str_span(in->begin, in->end));
    struct bytes b = bytes_of(head, d->big_endian);
    bytes_skip(&b, 16);
    uint64_t attr_size = bytes_u64(&b);
    struct section attrs = take_section(&b), data = take_section(&b);
    struct section types = take_section(&b);
    take_feature_bits(d, &b);
    if (b.failed)
        return refuse(err, "the recording is truncated: it ends within its header");
    if (attr_size < ATTR_SIZE_FIRST + PERF_FILE_ATTR_IDS || attrs.size < attr_size)
        return refuse(err, "the recording's header has no events");
    bool near = data.offset <= PIPED_FILE_HEAD;
    if (near && !source_peek(in, (size_t)data.offset, err))
        return false;
    head = str_span(in->begin, in->end);
    bool ahead = near && lies_ahead(d, head, attrs, attr_size, types, data.offset);
    if (!ahead && !source_all(in, &head, err))
        return false;
    head = first_file(in, str_span(in->begin, in->end));
    read_attrs(d, head, attrs, attr_size);
    read_event_types(d, head, types);
    if (d->event_count == 0)
        return d->arena.failed ? error_memory(err)
                               : refuse(err, "the recording's header has no events");
    return open_section(d, head, data, err);
}

bool perf_read_header(struct perf_data *d, struct error *err)
{
    struct source *in = d->input;
    if (!source_peek(in, PERF_PIPE_HEADER, err))
        return false;
    struct str head = str_span(in->begin, in->end);
    if (str_starts(head, STR("PERFFILE")) || str_starts(head, STR("ELIFFREP")))
        return refuse(err, "this is a perf.data of version 1, which perf has not written "
                           "since Linux 2.6.36; stoke does not read it");
    d->big_endian = str_starts(head, STR("2ELIFREP"));
    if (!d->big_endian && !str_starts(head, STR("PERFILE2")))
        return refuse(err, "this is not perf.data: it does not begin with PERFILE2");
    if (head.len < PERF_PIPE_HEADER)
        return refuse(err, "the recording is truncated: it ends within its header");
    struct bytes b = bytes_of(str_skip(head, 8), d->big_endian);
    d->piped = bytes_u64(&b) == PERF_PIPE_HEADER;
    if (!d->piped)
        return read_file_header(d, err);
    d->source = in;
    d->cursor = d->keep = in->offset + PERF_PIPE_HEADER;
    d->last = UINT64_MAX;
    return true;
}
