/* SPDX-License-Identifier: Apache-2.0 */
/* Perfetto traces: a message Trace, whose packets are read one by one. Stacks are in samples of
 * the CPU (PerfSample, of traced_perf; StackSample, also of Python's sampling profiler), in
 * samples of Chrome (StreamingProfilePacket), and in dumps of the heap (ProfilePacket, of
 * heapprofd). Names may be in symbols at the end of the trace (ModuleSymbols). Other data,
 * such as events of tracks, are left out.
 *
 * The numbers of names, frames and stacks belong to the writer of a packet, its sequence. */
#include "import/perfetto.h"
#include "base/array.h"
#include "codec/unpack.h"

#define PACKET_TAG ((char)0x0a) /* Trace.packet */
#define LENGTH_BYTES 5          /* of a packet's length at most */
#define CLEARED 1               /* SequenceFlags */
#define MICROSECONDS 1000
#define FIELD_LAST 2000   /* of a packet */
#define PROBED 20         /* packets */
#define RATE_MOST 1000000 /* Hz */

enum packet_kind {
    PROCESS_TREE = 2,
    PROFILE_PACKET = 37,
    PROCESS_DESCRIPTOR = 43,
    THREAD_DESCRIPTOR = 44,
    COMPRESSED = 50,
    STREAMING_PROFILE = 54,
    TRACK_DESCRIPTOR = 60,
    MODULE_SYMBOLS = 61,
    PERF_SAMPLE = 66,
    ZSTD_COMPRESSED = 133,
    STACK_SAMPLE = 135,
};

struct packet {
    uint64_t time; /* or TIME_NONE */
    uint32_t sequence;
    bool cleared, dropped;
    struct str interned, defaults, data;
    uint32_t kind; /* the field of `data`; 0: none that is read */
};

/* --- Events -------------------- */

static const struct {
    const char *name;
    enum unit unit;
} counters[] = {
    {"cpu-clock", UNIT_NANOSECONDS},
    {"cpu-clock", UNIT_NANOSECONDS},
    {"page-faults", UNIT_EVENTS},
    {"task-clock", UNIT_NANOSECONDS},
    {"context-switches", UNIT_EVENTS},
    {"cpu-migrations", UNIT_EVENTS},
    {"minor-faults", UNIT_EVENTS},
    {"major-faults", UNIT_EVENTS},
    {"alignment-faults", UNIT_EVENTS},
    {"emulation-faults", UNIT_EVENTS},
    {"cycles", UNIT_CYCLES},
    {"instructions", UNIT_EVENTS},
    {"cache-references", UNIT_EVENTS},
    {"cache-misses", UNIT_EVENTS},
    {"branches", UNIT_EVENTS},
    {"branch-misses", UNIT_EVENTS},
    {"bus-cycles", UNIT_CYCLES},
    {"stalled-cycles-frontend", UNIT_CYCLES},
    {"stalled-cycles-backend", UNIT_CYCLES},
    {"ref-cycles", UNIT_CYCLES},
};

static event_id make_event(struct perfetto *p, struct str name, enum unit unit)
{
    return builder_event(&p->raw, name, p->options->samples ? UNIT_COUNT : unit);
}

/* A message PerfEvents.Timebase. Without a period, a sample of a clock is the time between
 * two samples, and others count as one. */
static void read_timebase(struct perfetto *p, struct perfetto_sequence *s,
                          struct str message)
{
    struct proto_reader r = proto_of(message), inner;
    struct proto_field f, of;
    struct str name = STR(""), given = STR("");
    enum unit unit = counters[0].unit;
    uint64_t period = 0, rate = 0;
    while (proto_next(&r, &f))
        if (f.number == 1)
            period = f.value;
        else if (f.number == 2)
            rate = f.value;
        else if (f.number == 10)
            given = f.bytes;
        else if (f.number == 4 && f.value < sizeof counters / sizeof *counters) {
            name = str_of(counters[f.value].name);
            unit = counters[f.value].unit;
        } else if (f.number == 3 || f.number == 5) {
            unit = UNIT_EVENTS;
            name = STR("events");
            for (inner = proto_inside(&r, &f); proto_next(&inner, &of);)
                if (f.number == 3 && of.number == 1)
                    name = of.bytes;
        }
    if (unit == UNIT_NANOSECONDS && !period && rate > 0 && rate <= RATE_MOST)
        period = 1000000000 / rate;
    s->weight = period ? (double)period : 1;
    name = given.len ? given : name.len ? name : str_of(counters[0].name);
    s->event = make_event(p, name, period ? unit : UNIT_COUNT);
}

/* A message StackSample.CounterDescriptor. */
static event_id read_counter(struct perfetto *p, struct str message, double *multiplier)
{
    static const enum unit units[] = {UNIT_EVENTS, UNIT_NANOSECONDS, UNIT_CYCLES,
                                      UNIT_EVENTS, UNIT_BYTES};
    struct proto_reader r = proto_of(message);
    struct proto_field f;
    struct str name = STR("samples");
    enum unit unit = UNIT_EVENTS;
    *multiplier = 1;
    while (proto_next(&r, &f))
        if (f.number == 2 && f.bytes.len)
            name = f.bytes;
        else if (f.number == 3 && f.value < sizeof units / sizeof *units)
            unit = units[f.value];
        else if (f.number == 5 && f.value)
            *multiplier = (double)f.value;
    return make_event(p, name, unit);
}

/* A message TracePacketDefaults. */
static void read_defaults(struct perfetto *p, struct perfetto_sequence *s,
                          struct str message)
{
    struct proto_reader r = proto_of(message), inner;
    struct proto_field f, of;
    while (proto_next(&r, &f)) {
        if (f.wire != PROTO_BYTES || (f.number != 12 && f.number != 100))
            continue;
        for (inner = proto_inside(&r, &f); proto_next(&inner, &of);)
            if (f.number == 12 && of.number == 1)
                read_timebase(p, s, of.bytes);
            else if (f.number == 100 && of.number == 2)
                s->counter = read_counter(p, of.bytes, &s->multiplier);
    }
}

/* --- Threads -------------------- */

static void set_name(struct perfetto *p, struct idmap *names, uint64_t id, string_id name)
{
    uint64_t *slot = name ? idmap_put(names, &p->arena, id) : NULL;
    if (slot)
        *slot = name;
}

/* Reads the name of a process or thread from a message. Without a name, it is the file name of the
 * first word of the command line. */
static void read_named(struct perfetto *p, struct idmap *names, struct str message,
                       uint32_t id_field, uint32_t name_field, uint32_t command_field)
{
    struct proto_reader r = proto_of(message);
    struct proto_field f;
    uint64_t id = 0;
    string_id name = 0, command = 0;
    while (proto_next(&r, &f))
        if (f.number == id_field)
            id = (uint64_t)(int64_t)(int32_t)f.value;
        else if (f.number == name_field && !name)
            name = perfetto_string(p, &f);
        else if (f.number == command_field && !command)
            command = builder_string(&p->raw, str_basename(f.bytes));
    set_name(p, names, id, name ? name : command);
}

static void read_process_tree(struct perfetto *p, struct str message)
{
    struct proto_reader r = proto_of(message);
    struct proto_field f;
    while (proto_next(&r, &f) && !builder_failed(&p->raw))
        if (f.number == 1)
            read_named(p, &p->process_names, f.bytes, 1, 0, 3);
        else if (f.number == 2)
            read_named(p, &p->thread_names, f.bytes, 1, 2, 0);
}

static void read_process(struct perfetto *p, struct str message)
{
    read_named(p, &p->process_names, message, 1, 6, 2);
}

/* A message ThreadDescriptor. Its time is the base of streaming profiles of the sequence. */
static void read_thread(struct perfetto *p, struct perfetto_sequence *s,
                        struct str message)
{
    struct proto_reader r = proto_of(message);
    struct proto_field f;
    read_named(p, &p->thread_names, message, 2, 5, 0);
    while (s && proto_next(&r, &f))
        if (f.number == 1)
            s->pid = (int32_t)f.value;
        else if (f.number == 2)
            s->tid = (int32_t)f.value;
        else if (f.number == 6)
            s->time = f.value * MICROSECONDS;
}

static void read_track(struct perfetto *p, struct str message)
{
    struct proto_reader r = proto_of(message);
    struct proto_field f;
    while (proto_next(&r, &f))
        if (f.number == 3)
            read_process(p, f.bytes);
        else if (f.number == 4)
            read_thread(p, NULL, f.bytes);
}

/* --- Samples -------------------- */

static int64_t id_of(uint64_t value)
{
    return value <= INT32_MAX ? (int64_t)value : ID_NONE;
}

static void read_perf_sample(struct perfetto *p, struct perfetto_sequence *s,
                             const struct packet *packet)
{
    struct proto_reader r = proto_of(packet->data);
    struct sample sample = {.time = packet->time, .cpu = CPU_NONE, .count = 1};
    struct proto_field f;
    int64_t pid = ID_NONE, tid = ID_NONE;
    uint64_t stack = 0, lost = 0;
    while (proto_next(&r, &f))
        switch (f.number) {
        case 1:
            sample.cpu = f.value < CPU_NONE ? (uint32_t)f.value : CPU_NONE;
            break;
        case 2:
            pid = id_of(f.value);
            break;
        case 3:
            tid = id_of(f.value);
            break;
        case 4:
            stack = f.value;
            break;
        case 17:
            lost = f.value;
            break;
        case 18:
            lost = 1;
            break; /* not unwound */
        default:
            break;
        }
    if (lost) {
        builder_lost(&p->raw, packet->time, lost);
        return;
    }
    if (!s->event) {
        s->event = make_event(p, str_of(counters[0].name), UNIT_COUNT);
        s->weight = 1;
    }
    sample.event = s->event;
    sample.weight = p->options->samples ? 1 : s->weight;
    sample.stack = stack ? perfetto_stack(p, s, stack) : 0;
    sample.thread = builder_thread(&p->raw, pid, tid, STR(""));
    builder_add(&p->raw, &sample);
}

/* A message TaskContext or ExecutionContext. */
static void read_context(const struct proto_reader *outer, const struct proto_field *f,
                         struct sample *sample, int64_t *pid, int64_t *tid)
{
    struct proto_reader r = proto_inside(outer, f);
    struct proto_field of;
    while (proto_next(&r, &of))
        if (f->number == 1 && of.number == 2)
            *pid = id_of(of.value);
        else if (f->number == 1 && of.number == 3)
            *tid = id_of(of.value);
        else if (f->number == 3 && of.number == 2 && of.value < CPU_NONE)
            sample->cpu = (uint32_t)of.value;
}

static void read_stack_sample(struct perfetto *p, struct perfetto_sequence *s,
                              const struct packet *packet)
{
    struct proto_reader r = proto_of(packet->data);
    struct sample sample = {
        .time = packet->time, .cpu = CPU_NONE, .count = 1, .event = s->counter};
    struct proto_field f;
    int64_t pid = ID_NONE, tid = ID_NONE;
    double multiplier = s->multiplier;
    uint64_t weight = 1;
    while (proto_next(&r, &f))
        switch (f.number) {
        case 1:
        case 3:
            read_context(&r, &f, &sample, &pid, &tid);
            break;
        case 5:
            sample.stack = perfetto_callstack(p, s, f.bytes);
            break;
        case 6:
            sample.stack = perfetto_stack(p, s, f.value);
            break;
        case 9:
            sample.event = read_counter(p, f.bytes, &multiplier);
            break;
        case 11:
            weight = f.value;
            break;
        default:
            break;
        }
    if (!sample.event) {
        sample.event = make_event(p, STR("samples"), UNIT_COUNT);
        multiplier = 1;
    }
    sample.weight = p->options->samples ? 1 : (double)weight * multiplier;
    sample.thread = builder_thread(&p->raw, pid, tid, STR(""));
    builder_add(&p->raw, &sample);
}

/* A message StreamingProfilePacket: stacks, and the microseconds between them. */
static void read_streaming(struct perfetto *p, struct perfetto_sequence *s,
                           struct str message)
{
    struct proto_reader r = proto_of(message), times = r;
    struct proto_field f, at = {0};
    struct sample sample = {.cpu = CPU_NONE, .count = 1, .weight = 1};
    uint64_t stack, delta;
    sample.thread = builder_thread(&p->raw, s->pid, s->tid, STR(""));
    sample.event = make_event(p, STR("samples"), UNIT_COUNT);
    while (proto_next(&r, &f)) {
        if (f.number != 1)
            continue;
        while (proto_number(&f, &stack) && !builder_failed(&p->raw)) {
            bool known = at.number == 2 && proto_number(&at, &delta);
            while (!known && proto_next(&times, &at))
                known = at.number == 2 && proto_number(&at, &delta);
            if (known)
                s->time += delta * MICROSECONDS; /* a negative delta wraps around */
            sample.time = s->time ? s->time : TIME_NONE;
            sample.stack = perfetto_stack(p, s, stack);
            builder_add(&p->raw, &sample);
        }
    }
}

/* --- Packets -------------------- */

static struct perfetto_sequence *sequence_of(struct perfetto *p, uint32_t number)
{
    uint64_t *slot = idmap_put(&p->sequence_of, &p->arena, number);
    if (!slot)
        return NULL;
    if (*slot)
        return &p->sequences[*slot - 1];
    struct perfetto_sequence *added =
        ARRAY_APPEND(&p->arena, p->sequences, p->sequence_count, p->sequence_cap);
    if (!added)
        return NULL;
    *added = (struct perfetto_sequence){
        .pid = ID_NONE, .tid = ID_NONE, .weight = 1, .multiplier = 1};
    *slot = p->sequence_count;
    return added;
}

static struct packet split_packet(struct str message, bool *damaged)
{
    struct packet packet = {.time = TIME_NONE};
    struct proto_reader r = proto_of(message);
    struct proto_field f;
    while (proto_next(&r, &f))
        switch (f.number) {
        case 8:
            packet.time = f.value;
            break;
        case 10:
            packet.sequence = (uint32_t)f.value;
            break;
        case 12:
            packet.interned = f.bytes;
            break;
        case 13:
            packet.cleared |= (f.value & CLEARED) != 0;
            break;
        case 41:
            packet.cleared |= f.value != 0;
            break;
        case 42:
            packet.dropped = f.value != 0;
            break;
        case 59:
            packet.defaults = f.bytes;
            break;
        case PROCESS_TREE:
        case PROFILE_PACKET:
        case PROCESS_DESCRIPTOR:
        case THREAD_DESCRIPTOR:
        case COMPRESSED:
        case STREAMING_PROFILE:
        case TRACK_DESCRIPTOR:
        case MODULE_SYMBOLS:
        case PERF_SAMPLE:
        case ZSTD_COMPRESSED:
        case STACK_SAMPLE:
            if (f.wire == PROTO_BYTES) {
                packet.kind = f.number;
                packet.data = f.bytes;
            }
            break;
        default:
            break;
        }
    *damaged = r.failed;
    return packet;
}

static void read_data(struct perfetto *p, struct perfetto_sequence *s,
                      const struct packet *packet)
{
    switch (packet->kind) {
    case PROCESS_TREE:
        read_process_tree(p, packet->data);
        break;
    case PROFILE_PACKET:
        perfetto_heap_dump(p, s, packet->data);
        break;
    case PROCESS_DESCRIPTOR:
        read_process(p, packet->data);
        break;
    case THREAD_DESCRIPTOR:
        read_thread(p, s, packet->data);
        break;
    case STREAMING_PROFILE:
        read_streaming(p, s, packet->data);
        break;
    case TRACK_DESCRIPTOR:
        read_track(p, packet->data);
        break;
    case MODULE_SYMBOLS:
        perfetto_symbols(p, packet->data);
        break;
    case PERF_SAMPLE:
        read_perf_sample(p, s, packet);
        break;
    case STACK_SAMPLE:
        read_stack_sample(p, s, packet);
        break;
    default:
        break;
    }
}

/* What a writer sent before lost packets may have been replaced in them. */
static void forget_tables(struct perfetto_sequence *s)
{
    for (int i = 0; i < TABLES; i++)
        s->tables[i] = (struct idmap){0};
}

static void read_packet(struct perfetto *p, const struct packet *packet)
{
    struct perfetto_sequence *s = sequence_of(p, packet->sequence);
    if (!s)
        return;
    if (packet->dropped && !packet->cleared)
        forget_tables(s);
    if (packet->interned.len)
        perfetto_intern(p, s, packet->interned);
    if (packet->defaults.len)
        read_defaults(p, s, packet->defaults);
    read_data(p, s, packet);
}

/* A compressed block of packets, each with its tag. Those inside are not compressed again. */
static void read_packed(struct perfetto *p, const struct packet *outer,
                        const struct limits *limits)
{
    struct arena arena = ARENA_INIT;
    struct error ignored = {0};
    struct proto_field f;
    struct str all;
    bool damaged = false;
    enum pack kind = outer->kind == COMPRESSED ? PACK_ZLIB : PACK_ZSTD;
    if (!unpack(kind, outer->data, UNPACK_SIZE_UNKNOWN, limits, &arena, &all, &ignored)) {
        builder_warn_offset(&p->raw, "compressed packets that are damaged", p->offset);
    } else {
        struct proto_reader r = proto_of(all);
        while (proto_next(&r, &f) && !builder_failed(&p->raw)) {
            struct packet packet = split_packet(f.bytes, &damaged);
            if (f.number == 1 && packet.kind != COMPRESSED &&
                packet.kind != ZSTD_COMPRESSED)
                read_packet(p, &packet);
            if (damaged)
                builder_warn_offset(&p->raw, "a damaged packet", p->offset);
        }
    }
    p->arena.failed |= arena.failed;
    arena_deinit(&arena);
}

/* The length after a packet's tag, and the number of bytes of both; 0 if there is none. */
static size_t read_length(struct str bytes, uint64_t *length)
{
    *length = 0;
    if (bytes.len == 0 || bytes.ptr[0] != PACKET_TAG)
        return 0;
    for (size_t i = 1; i <= LENGTH_BYTES && i < bytes.len; i++) {
        unsigned char c = (unsigned char)bytes.ptr[i];
        *length |= (uint64_t)(c & 0x7f) << (7 * (i - 1));
        if (c < 0x80)
            return i + 1;
    }
    return 0;
}

/* Makes the window hold the next packet, and finds its bytes; NULL at the end and where no
 * packet begins. False if the source failed. */
static bool next_packet(struct source *in, struct str *message, struct error *err)
{
    uint64_t length;
    *message = (struct str){NULL, 0};
    if (!source_peek(in, 1 + LENGTH_BYTES, err))
        return false;
    size_t size =
        read_length((struct str){in->begin, (size_t)(in->end - in->begin)}, &length);
    if (!size)
        return true;
    if (!source_peek(in, size + (size_t)length, err))
        return false;
    if ((uint64_t)(in->end - in->begin) >= size + length)
        *message = (struct str){in->begin + size, (size_t)length};
    return true;
}

static bool read_packets(struct perfetto *p, struct source *in, struct error *err)
{
    struct str message;
    while (!p->arena.failed && !builder_failed(&p->raw)) {
        bool damaged = false;
        if (!next_packet(in, &message, err))
            return false;
        if (!message.ptr)
            return true;
        p->offset = in->offset;
        struct packet packet = split_packet(message, &damaged);
        if (packet.kind == COMPRESSED || packet.kind == ZSTD_COMPRESSED)
            read_packed(p, &packet, in->limits);
        else
            read_packet(p, &packet);
        if (damaged)
            builder_warn_offset(&p->raw, "a damaged packet", p->offset);
        in->offset += (uint64_t)(message.ptr + message.len - in->begin);
        in->begin = message.ptr + message.len;
    }
    return true;
}

static bool perfetto_read(struct source *in, const struct import_options *options,
                          struct builder *b, struct error *err)
{
    struct perfetto p = {.b = b, .options = options};
    if (!builder_init(&p.raw, b->mode)) {
        builder_deinit(&p.raw);
        return error_memory(err);
    }
    builder_set_limits(&p.raw, b->limits);
    bool ok = read_packets(&p, in, err);
    if (ok && in->begin < in->end) {
        builder_warn_offset(&p.raw, "the trace is truncated or damaged here", in->offset);
        p.raw.profile->facts.incomplete = true;
    }
    if (ok) {
        perfetto_heap_finish(&p);
        perfetto_finish(&p);
    }
    builder_deinit(&p.raw);
    builder_end_scratch(b, &p.arena);
    return ok;
}

/* Whether a packet, which may be cut, has a field that all or only packets have: the writer, its
 * user, the configuration. */
static bool is_packet(struct str message, bool *valid)
{
    struct proto_reader r = proto_of(message);
    struct proto_field f;
    bool is = false;
    *valid = true;
    while (proto_next(&r, &f) && *valid) {
        bool number = f.number == 3 || f.number == 10, bytes = f.number == 33;
        is |= (number && f.wire == PROTO_VARINT) || (bytes && f.wire == PROTO_BYTES) ||
              ((f.number == 36 || f.number == 89) && f.wire == PROTO_BYTES);
        *valid = f.number <= FIELD_LAST;
    }
    return is;
}

static int perfetto_probe(struct str head)
{
    int packets = 0, known = 0;
    while (packets < PROBED) {
        uint64_t length;
        bool valid;
        size_t size = read_length(head, &length);
        if (!size)
            break;
        struct str message = str_head(str_skip(head, size), (size_t)length);
        known += is_packet(message, &valid);
        if (!valid)
            return 0;
        packets++;
        head = str_skip(head, size + message.len);
    }
    return packets && known * 2 > packets ? 80 : 0;
}

const struct importer import_perfetto = {
    .name = "perfetto",
    .suffixes = "pftrace,perfetto-trace,perfetto",
    .summary = "Perfetto traces: samples of stacks, dumps of heaps",
    .empty = "the Perfetto trace has no samples with stacks and no heap dumps",
    .probe = perfetto_probe,
    .shape = SHAPE_BINARY,
    .read = perfetto_read,
};
