/* SPDX-License-Identifier: Apache-2.0 */
/* Captures of sysprof 3 to 48 (.syscap): a header of 256 bytes, then frames, each with its
 * length, CPU, process, time and type. They have what a perf.data has (maps, processes, call
 * chains with perf's markers), so they are read as one: each frame becomes a record of perf's
 * pipe format. Functions that the capture names itself become mappings of that name
 * (perf/interpreted.h). Counters, marks and logs are not read.
 *
 * Source: libsysprof-capture, sysprof-capture-types.h. */
#include "import/sysprof.h"
#include "base/bytes.h"
#include "import/importer.h"
#include "import/perf_data/recording.h"
#include "perf/format.h"
#include "perf/interpreted.h"

#define MAGIC "\x5e\x97\xca\xfd"
#define ADDRESSES_MOST 8000 /* of a record; sysprof writes at most 1024 */
#define ATTR_SIZE 64
#define PATH_MOST 4096
#define KERNEL_START ((uint64_t)0xffff800000000000)

enum sysprof_event { EVENT_SAMPLES = 1, EVENT_ALLOCATED };

struct sysprof {
    struct sysprof_names names;
    struct idmap functions; /* of a process: number of its mapping + 1 */
    struct idmap threads;   /* those with samples */
    struct arena arena;
    uint64_t function_count;
    struct str frames; /* not yet read */
    struct output out; /* records */
    size_t taken;      /* bytes of them */
    bool big_endian, damaged, allocates;
};

/* --- Frames --------------------------------------------------------------------------- */

bool sysprof_next(struct str *rest, bool big_endian, struct sysprof_frame *f,
                  bool *damaged)
{
    struct bytes b = bytes_of(*rest, big_endian);
    size_t size = bytes_u16(&b);
    *damaged = rest->len > 0 && (size < SYSPROF_FRAME_HEADER || size > rest->len);
    if (rest->len == 0 || *damaged)
        return false;
    f->bytes = str_head(*rest, size);
    f->cpu = (int16_t)bytes_u16(&b);
    f->pid = (int32_t)bytes_u32(&b);
    f->time = bytes_u64(&b);
    f->type = bytes_u8(&b);
    *rest = str_skip(*rest, size);
    return true;
}

/* --- Records -------------------------------------------------------------------------- */

static void put(struct output *out, uint64_t value, size_t size)
{
    char bytes[8];
    for (size_t i = 0; i < size; i++)
        bytes[i] = (char)(value >> 8 * i);
    output_bytes(out, bytes, size);
}

static void put_padded(struct output *out, struct str text)
{
    output_str(out, text);
    put(out, 0, 8 - text.len % 8);
}

/* Adds a record, the fields of which are in `body`. */
static void put_record(struct sysprof *s, enum perf_type type, unsigned misc,
                       const struct output *body)
{
    struct str fields = output_contents(body);
    if (body->failed || fields.len + 8 > UINT16_MAX) {
        s->out.failed |= body->failed;
        return;
    }
    put(&s->out, (uint64_t)type, 4);
    put(&s->out, misc, 2);
    put(&s->out, fields.len + 8, 2);
    output_str(&s->out, fields);
}

/* The fields at the end of each record that is not a sample: they depend on sample_type. */
static void put_id(struct output *body, const struct sysprof_frame *f)
{
    put(body, (uint32_t)f->pid, 4);
    put(body, (uint32_t)f->pid, 4);
    put(body, f->time, 8);
    put(body, (uint32_t)f->cpu, 8);
    put(body, EVENT_SAMPLES, 8);
}

static void put_event(struct sysprof *s, enum sysprof_event event, const char *name)
{
    struct output attr = OUTPUT_BUFFER, update = OUTPUT_BUFFER;
    put(&attr, PERF_TYPE_RAW, 4);
    put(&attr, ATTR_SIZE, 4);
    put(&attr, event, 8); /* config */
    put(&attr, 1, 8);     /* period */
    put(&attr,
        PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME |
            PERF_SAMPLE_CPU | PERF_SAMPLE_PERIOD | PERF_SAMPLE_CALLCHAIN,
        8);
    put(&attr, 0, 8);
    put(&attr, PERF_FLAG_SAMPLE_ID_ALL | PERF_FLAG_MMAP | PERF_FLAG_COMM | PERF_FLAG_TASK,
        8);
    for (size_t i = 0; i < 2; i++)
        put(&attr, 0, 8);
    put(&attr, event, 8); /* id */
    put_record(s, PERF_HEADER_ATTR, 0, &attr);
    put(&update, 2, 8); /* a name */
    put(&update, event, 8);
    put_padded(&update, str_of(name));
    put_record(s, PERF_EVENT_UPDATE, 0, &update);
    output_deinit(&attr);
    output_deinit(&update);
}

static void put_map(struct sysprof *s, const struct sysprof_frame *f, uint64_t start,
                    uint64_t size, uint64_t offset, struct str path)
{
    struct output body = OUTPUT_BUFFER;
    put(&body, (uint32_t)f->pid, 4);
    put(&body, (uint32_t)f->pid, 4);
    put(&body, start, 8);
    put(&body, size, 8);
    put(&body, offset, 8);
    put_padded(&body, str_head(path, path.len < PATH_MOST ? path.len : PATH_MOST));
    put_id(&body, f);
    put_record(s, PERF_MMAP, start >= KERNEL_START ? PERF_MODE_KERNEL : PERF_MODE_USER,
               &body);
    output_deinit(&body);
}

static void put_start(struct sysprof *s)
{
    const struct sysprof_frame kernel = {.pid = -1, .cpu = -1};
    output_bytes(&s->out, "PERFILE2", 8);
    put(&s->out, 16, 8);
    put_event(s, EVENT_SAMPLES, "samples");
    if (s->allocates)
        put_event(s, EVENT_ALLOCATED, "allocated bytes");
    put_map(s, &kernel, KERNEL_START, UINT64_MAX - KERNEL_START, 0,
            STR("[kernel.kallsyms]_text"));
}

/* --- From frames to records ------------------------------------------------------------ */

/* The bytes of a frame after its header. */
static struct bytes body_of(const struct sysprof *s, const struct sysprof_frame *f)
{
    struct bytes b = bytes_of(f->bytes, s->big_endian);
    bytes_skip(&b, SYSPROF_FRAME_HEADER);
    return b;
}

static struct str text_of(struct bytes *b)
{
    struct str rest = bytes_take(b, bytes_left(b));
    return str_head(rest, str_find(rest, 0));
}

static void read_map(struct sysprof *s, const struct sysprof_frame *f)
{
    struct bytes b = body_of(s, f);
    uint64_t start = bytes_u64(&b), end = bytes_u64(&b), offset = bytes_u64(&b);
    bytes_skip(&b, 8); /* inode */
    struct str path = text_of(&b);
    if (!b.failed && end > start && path.len)
        put_map(s, f, start, end - start, offset, path);
}

/* The name is the last component of the command. */
static void read_process(struct sysprof *s, const struct sysprof_frame *f)
{
    struct output body = OUTPUT_BUFFER;
    struct bytes b = body_of(s, f);
    struct str command = text_of(&b), program = str_cut(&command, ' ');
    size_t slash = str_rfind(program, '/');
    if (slash + 1 < program.len)
        program = str_skip(program, slash + 1);
    if (!program.len)
        return;
    put(&body, (uint32_t)f->pid, 4);
    put(&body, (uint32_t)f->pid, 4);
    put_padded(&body, str_head(program, program.len < 64 ? program.len : 64));
    put_id(&body, f);
    put_record(s, PERF_COMM, 0, &body);
    output_deinit(&body);
}

/* The start of a process or thread, by the process of the frame, or its end. */
static void put_task(struct sysprof *s, const struct sysprof_frame *f,
                     enum perf_type type, uint32_t process, uint32_t thread)
{
    struct output body = OUTPUT_BUFFER;
    put(&body, process, 4);
    put(&body, (uint32_t)f->pid, 4);
    put(&body, thread, 4);
    put(&body, (uint32_t)f->pid, 4);
    put(&body, f->time, 8);
    put_id(&body, f);
    put_record(s, type, 0, &body);
    output_deinit(&body);
}

static void read_fork(struct sysprof *s, const struct sysprof_frame *f)
{
    struct bytes b = body_of(s, f);
    uint32_t child = bytes_u32(&b);
    if (!b.failed)
        put_task(s, f, PERF_FORK, child, child);
}

/* The address that stands for a function which the capture names; its first use adds the
 * mapping. Other addresses are returned unchanged. */
static uint64_t named_address(struct sysprof *s, const struct sysprof_frame *f,
                              uint64_t address)
{
    struct str tag;
    uint64_t number;
    struct str name = sysprof_name(&s->names, f->pid, address, &tag, &number);
    if (!name.len)
        return address;
    uint64_t *id = idmap_put(&s->functions, &s->arena, number << 24 ^ (uint32_t)f->pid);
    if (!id || s->function_count >= PERF_INTERPRETED_MAX)
        return address;
    if (!*id) {
        struct output path = OUTPUT_BUFFER;
        *id = ++s->function_count;
        if (perf_interpreted_path(&path, "sysprof", tag, name))
            put_map(s, f, perf_interpreted_start(*id), PERF_INTERPRETED_SIZE, 0,
                    output_contents(&path));
        s->out.failed |= path.failed;
        output_deinit(&path);
    }
    return perf_interpreted_address(*id, 0);
}

/* Adds the addresses to `chain`. Named functions of the kernel are in mappings of the process,
 * so the marker before them says user code. Returns the mode of the innermost address. */
static enum perf_misc put_chain(struct sysprof *s, const struct sysprof_frame *f,
                                struct bytes *b, size_t count, struct output *chain)
{
    uint64_t mode = PERF_CONTEXT_USER, put_mode = 0, first = 0;
    for (size_t i = 0; i < count && bytes_left(b) >= 8; i++) {
        uint64_t address = bytes_u64(b);
        if (address >= PERF_CONTEXT_MAX) {
            mode = address;
            continue;
        }
        uint64_t named = named_address(s, f, address);
        uint64_t marker = named != address ? PERF_CONTEXT_USER : mode;
        if (marker != put_mode)
            put(chain, put_mode = marker, 8);
        put(chain, named, 8);
        first = first ? first : marker;
    }
    return first == PERF_CONTEXT_KERNEL ? PERF_MODE_KERNEL : PERF_MODE_USER;
}

static void put_sample(struct sysprof *s, const struct sysprof_frame *f,
                       enum sysprof_event event, uint32_t thread, uint64_t period,
                       struct bytes *b, size_t count)
{
    struct output body = OUTPUT_BUFFER, chain = OUTPUT_BUFFER;
    if (count > ADDRESSES_MOST / 2)
        count = ADDRESSES_MOST / 2; /* each may need a marker */
    enum perf_misc mode = put_chain(s, f, b, count, &chain);
    struct str addresses = output_contents(&chain);
    put(&body, event, 8);
    output_str(&body, str_part(addresses, 8, 8)); /* after the marker */
    if (addresses.len < 16)
        put(&body, 0, 8);
    put(&body, (uint32_t)f->pid, 4);
    put(&body, thread, 4);
    put(&body, f->time, 8);
    put(&body, (uint32_t)f->cpu, 8);
    put(&body, period, 8);
    put(&body, addresses.len / 8, 8);
    output_str(&body, addresses);
    s->out.failed |= chain.failed;
    put_record(s, PERF_SAMPLE, mode, &body);
    output_deinit(&body);
    output_deinit(&chain);
}

/* Threads have the name of their process, as after a fork. */
static void meet_thread(struct sysprof *s, const struct sysprof_frame *f, uint32_t thread)
{
    uint64_t key = (uint64_t)(uint32_t)f->pid << 32 | thread;
    uint64_t *known = idmap_put(&s->threads, &s->arena, key);
    if (!known || *known)
        return;
    *known = 1;
    if (thread != (uint32_t)f->pid)
        put_task(s, f, PERF_FORK, (uint32_t)f->pid, thread);
}

static void read_sample(struct sysprof *s, const struct sysprof_frame *f)
{
    struct bytes b = body_of(s, f);
    size_t count = bytes_u16(&b);
    bytes_skip(&b, 2);
    uint32_t thread = bytes_u32(&b);
    thread = thread ? thread : (uint32_t)f->pid; /* old versions do not write it */
    meet_thread(s, f, thread);
    put_sample(s, f, EVENT_SAMPLES, thread, 1, &b, count);
}

static void read_allocation(struct sysprof *s, const struct sysprof_frame *f)
{
    struct bytes b = body_of(s, f);
    bytes_skip(&b, 8); /* address */
    int64_t size = (int64_t)bytes_u64(&b);
    uint32_t thread = bytes_u32(&b);
    size_t count = bytes_u16(&b);
    bytes_skip(&b, 2);
    if (size <= 0) /* memory is freed */
        return;
    meet_thread(s, f, thread);
    put_sample(s, f, EVENT_ALLOCATED, thread, (uint64_t)size, &b, count);
}

static void read_frame(struct sysprof *s, const struct sysprof_frame *f)
{
    switch (f->type) {
    case SYSPROF_SAMPLE:
        read_sample(s, f);
        break;
    case SYSPROF_MAP:
        read_map(s, f);
        break;
    case SYSPROF_PROCESS:
        read_process(s, f);
        break;
    case SYSPROF_FORK:
        read_fork(s, f);
        break;
    case SYSPROF_EXIT:
        put_task(s, f, PERF_EXIT, (uint32_t)f->pid, (uint32_t)f->pid);
        break;
    case SYSPROF_ALLOCATION:
        read_allocation(s, f);
        break;
    default:
        break;
    }
}

/* Provides the records. */
static bool read_records(void *context, char *into, size_t room, size_t *got,
                         struct error *err)
{
    struct sysprof *s = context;
    struct sysprof_frame f;
    if (s->taken == s->out.used) {
        s->out.used = s->taken = 0;
        s->out.room = s->out.cap;
        while (s->out.used == 0 &&
               sysprof_next(&s->frames, s->big_endian, &f, &s->damaged))
            read_frame(s, &f);
    }
    if (s->out.failed || s->arena.failed)
        return error_memory(err);
    struct str ready = str_skip(output_contents(&s->out), s->taken);
    *got = ready.len < room ? ready.len : room;
    memcpy(into, ready.ptr, *got);
    s->taken += *got;
    return true;
}

/* --- The capture ------------------------------------------------------------------------ */

static bool has_allocations(struct str frames, bool big_endian)
{
    struct sysprof_frame f;
    bool damaged;
    while (sysprof_next(&frames, big_endian, &f, &damaged))
        if (f.type == SYSPROF_ALLOCATION)
            return true;
    return false;
}

static bool sysprof_read(struct source *in, const struct import_options *options,
                         struct builder *b, struct error *err)
{
    struct str all;
    if (!source_all(in, &all, err))
        return false;
    if (all.len < SYSPROF_FILE_HEADER)
        return error_set(err, "the capture ends in its header");
    struct sysprof s = {.frames = str_skip(all, SYSPROF_FILE_HEADER),
                        .out = OUTPUT_BUFFER,
                        .big_endian = !(all.ptr[5] & 1)};
    s.allocates = has_allocations(s.frames, s.big_endian);
    bool ok = sysprof_names_read(&s.names, s.frames, s.big_endian) || error_memory(err);
    put_start(&s);
    struct source records = source_reading(read_records, &s, in->name);
    records.limits = in->limits;
    ok = ok && perf_data_replay(&records, options, b, NULL, err);
    if (ok && s.damaged) {
        builder_warn_offset(b, "the frames end at a damaged one", all.len - s.frames.len);
        b->profile->facts.incomplete = true;
    }
    source_deinit(&records);
    sysprof_names_deinit(&s.names);
    output_deinit(&s.out);
    arena_deinit(&s.arena);
    return ok;
}

static int sysprof_probe(struct str head)
{
    return str_starts(head, STR(MAGIC)) ? 100 : 0;
}

const struct importer import_sysprof = {
    .name = "sysprof",
    .suffixes = "syscap",
    .summary = "sysprof captures",
    .probe = sysprof_probe,
    .shape = SHAPE_BINARY,
    .empty = "the capture has no samples",
    .resolves_lines = true,
    .read = sysprof_read,
};
