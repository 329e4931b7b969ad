/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/script/dump.h"
#include "base/visible.h"
#include "cli/script/text.h"

#define LINE 16
#define ENTRIES_MOST 4096 /* of a list in a record */
#define CPUS_MOST 4096u

/* --- Bytes -------------------------------------------------------------------------- */

/* The header before the body, in the byte order of the recording. */
static void make_header(const struct perf_data *d, const struct perf_record *r,
                        unsigned char *header)
{
    uint64_t size = r->body.len + PERF_RECORD_HEADER;
    uint64_t fields[] = {r->type, r->misc, size};
    unsigned widths[] = {4, 2, 2};
    for (unsigned i = 0, at = 0; i < 3; at += widths[i++])
        for (unsigned k = 0; k < widths[i]; k++) {
            unsigned shift = 8 * (d->big_endian ? widths[i] - 1 - k : k);
            header[at + k] = (unsigned char)(fields[i] >> shift);
        }
}

static void dump_line(struct output *o, const unsigned char *bytes, size_t count,
                      size_t offset)
{
    output_format(o, ".  %04x: ", (unsigned)offset);
    for (size_t i = 0; i < LINE; i++) {
        if (i < count)
            output_format(o, " %02x", bytes[i]);
        else
            output_text(o, "   ");
    }
    output_text(o, "  ");
    for (size_t i = 0; i < LINE; i++) {
        bool printable = i < count && bytes[i] >= ' ' && bytes[i] < 0x7f;
        output_char(o, i >= count ? ' ' : printable ? (char)bytes[i] : '.');
    }
    output_char(o, '\n');
}

static void dump_bytes(struct output *o, const struct perf_data *d,
                       const struct perf_record *r)
{
    unsigned char line[LINE];
    size_t size = r->body.len + PERF_RECORD_HEADER, used = PERF_RECORD_HEADER;
    make_header(d, r, line);
    output_format(o, ".\n. ... raw event: size %zu bytes\n", size);
    for (size_t at = 0; at < size; at += used, used = 0) {
        size_t next = at + used - PERF_RECORD_HEADER;
        size_t more = r->body.len - next < LINE - used ? r->body.len - next : LINE - used;
        if (more)
            memcpy(line + used, r->body.ptr + next, more);
        used += more;
        dump_line(o, line, used, at);
    }
    output_char(o, '\n');
}

/* --- Samples ------------------------------------------------------------------------ */

static void dump_chain(struct output *o, const struct perf_sample *s)
{
    size_t count = perf_word_count(s->chain);
    output_format(o, "... FP chain: nr:%zu\n", count);
    for (size_t i = 0; i < count; i++)
        output_format(o, "..... %2zu: %016llx\n", i,
                      (unsigned long long)perf_word(s->chain, i));
}

static void dump_branches(struct output *o, const struct perf_sample *s)
{
    size_t count = perf_branch_count(s->branches);
    output_format(o, "... branch stack: nr:%zu\n", count);
    for (size_t i = 0; i < count; i++) {
        struct perf_branch b = perf_branch_at(s->branches, i);
        output_format(o, "..... %2zu: %016llx -> %016llx %u cycles %c%c%c%c 0 %s\n", i,
                      (unsigned long long)b.from, (unsigned long long)b.to, b.cycles,
                      b.missed ? 'M' : ' ', b.predicted ? 'P' : ' ',
                      b.aborted ? 'A' : ' ', b.in_transaction ? 'T' : ' ', b.type);
    }
}

static void dump_registers(struct output *o, const struct perf_data *d, const char *which,
                           const struct perf_registers *registers)
{
    static const char *const abis[] = {"none", "32-bit", "64-bit"};
    enum architecture machine = perf_machine(d, registers);
    char text[16];
    size_t at = 0;
    if (registers->abi == 0)
        return;
    output_format(o, "... %s regs: mask 0x%llx ABI %s\n", which,
                  (unsigned long long)registers->mask,
                  registers->abi < 3 ? abis[registers->abi] : "unknown");
    for (unsigned i = 0; i < 64; i++)
        if (registers->mask >> i & 1 && at < perf_word_count(registers->values))
            output_format(o, ".... %-5s 0x%016llx\n",
                          script_register_name(machine, i, text, sizeof text),
                          (unsigned long long)perf_word(registers->values, at++));
}

static void dump_counters(struct output *o, const struct perf_data *d,
                          const struct perf_sample *s)
{
    uint64_t format = s->event->read_format;
    struct perf_counter c;
    size_t count = 0;
    output_text(o, "... sample_read:\n");
    while (perf_counter_at(d, s->event, s->read, count, &c)) {
        if (count == 0 && format & PERF_READ_ENABLED)
            output_format(o, "...... time enabled %016llx\n",
                          (unsigned long long)c.enabled);
        if (count == 0 && format & PERF_READ_RUNNING)
            output_format(o, "...... time running %016llx\n",
                          (unsigned long long)c.running);
        count++;
    }
    if (format & PERF_READ_GROUP)
        output_format(o, ".... group nr %zu\n", count);
    for (size_t i = 0; perf_counter_at(d, s->event, s->read, i, &c); i++) {
        output_format(o, "..... id %016llx, value %016llx", (unsigned long long)c.id,
                      (unsigned long long)c.value);
        if (format & PERF_READ_LOST)
            output_format(o, ", lost %llu", (unsigned long long)c.lost);
        output_char(o, '\n');
    }
}

static void dump_page_size(struct output *o, const char *what, uint64_t size)
{
    output_format(o, " .. %s page size:", what);
    script_write_page_size(o, size);
    output_char(o, '\n');
}

/* What the hardware measured. */
static void dump_access(struct output *o, const struct perf_sample *s)
{
    uint64_t type = s->event->sample_type;
    if (type & PERF_SAMPLE_WEIGHT_STRUCT)
        output_format(o, "... weight: %llu,0x%x,0x%x\n",
                      (unsigned long long)(s->weight & UINT32_MAX),
                      (unsigned)(s->weight >> 32 & 0xffff), (unsigned)(s->weight >> 48));
    else if (type & PERF_SAMPLE_WEIGHT)
        output_format(o, "... weight: %llu\n", (unsigned long long)s->weight);
    if (type & PERF_SAMPLE_DATA_SRC)
        output_format(o, " . data_src: 0x%llx\n", (unsigned long long)s->data_source);
    if (type & PERF_SAMPLE_PHYS_ADDR)
        output_format(o, " .. phys_addr: 0x%llx\n",
                      (unsigned long long)s->physical_address);
    if (type & PERF_SAMPLE_DATA_PAGE_SIZE)
        dump_page_size(o, "data", s->data_page_size);
    if (type & PERF_SAMPLE_CODE_PAGE_SIZE)
        dump_page_size(o, "code", s->code_page_size);
    if (type & PERF_SAMPLE_TRANSACTION)
        output_format(o, "... transaction: %llx\n", (unsigned long long)s->transaction);
}

static void dump_sample(struct output *o, const struct perf_data *d,
                        const struct perf_record *r)
{
    struct perf_sample s;
    if (!perf_sample_of(d, r, &s)) {
        output_text(o, " (truncated, or of an unknown event)\n");
        return;
    }
    uint64_t type = s.event->sample_type;
    output_format(o, "(IP, 0x%x): %d/%d: ", r->misc, (int)s.pid, (int)s.tid);
    script_write_hex_marked(o, s.ip);
    output_format(o, " period: %llu addr: ", (unsigned long long)s.period);
    script_write_hex_marked(o, s.address);
    output_char(o, '\n');
    if (s.has_chain)
        dump_chain(o, &s);
    if (type & PERF_SAMPLE_BRANCH_STACK)
        dump_branches(o, &s);
    dump_registers(o, d, "user", &s.user);
    dump_registers(o, d, "intr", &s.interrupt);
    if (s.stack.len)
        output_format(o, "... ustack: size %zu, offset 0x%zx\n", s.stack.len,
                      (size_t)(s.stack.ptr - r->body.ptr));
    dump_access(o, &s);
    if (type & PERF_SAMPLE_READ)
        dump_counters(o, d, &s);
}

/* --- Records of perf ---------------------------------------------------------------- */

static void dump_index(struct output *o, struct bytes b)
{
    uint64_t count = bytes_u64(&b);
    output_format(o, " nr: %llu\n", (unsigned long long)count);
    for (uint64_t i = 0; i < count && i < ENTRIES_MOST && bytes_left(&b); i++) {
        uint64_t id = bytes_u64(&b), number = bytes_u64(&b);
        int64_t cpu = (int64_t)bytes_u64(&b), tid = (int64_t)bytes_u64(&b);
        output_format(o, " ... id: %llu  idx: %llu  cpu: %lld  tid: %lld\n",
                      (unsigned long long)id, (unsigned long long)number, (long long)cpu,
                      (long long)tid);
    }
}

static void dump_threads(struct output *o, struct bytes b)
{
    uint64_t count = bytes_u64(&b);
    output_format(o, " nr: %llu", (unsigned long long)count);
    for (uint64_t i = 0; i < count && i < ENTRIES_MOST && bytes_left(&b); i++) {
        output_format(o, " thread: %lld", (long long)bytes_u64(&b));
        bytes_skip(&b, 16); /* the name */
    }
    output_char(o, '\n');
}

/* Which property of an event a record sets: its unit, scale, name or CPUs. */
static void dump_update(struct output *o, struct bytes b)
{
    static const char *const names[] = {"unit: ", "scale:", "name: ", "cpus: "};
    uint64_t type = bytes_u64(&b), id = bytes_u64(&b);
    output_format(o, "\n... id:    %llu\n", (unsigned long long)id);
    if (type >= sizeof names / sizeof *names)
        return;
    output_format(o, "... %s ", names[type]);
    if (type == 1) {
        union {
            uint64_t bits;
            double number;
        } scale = {.bits = bytes_u64(&b)};
        output_format(o, "%.6f", scale.number);
    } else if (type != 3) {
        struct str text = bytes_take(&b, bytes_left(&b));
        visible_print(o, str_head(text, str_find(text, 0)));
    }
    output_char(o, '\n');
}

/* Sets the CPUs of a map: a list, a mask, or a range. */
static void read_cpus(struct bytes b, bool *cpus)
{
    unsigned type = bytes_u16(&b);
    if (type == 2) {
        bytes_skip(&b, 2);
        unsigned first = bytes_u16(&b), last = bytes_u16(&b);
        for (unsigned i = first; i <= last && i < CPUS_MOST; i++)
            cpus[i] = true;
        return;
    }
    unsigned count = bytes_u16(&b);
    unsigned width = type == 1 ? bytes_u16(&b) : 0; /* of a part of the mask, in bytes */
    if (type > 1 || (type == 1 && width != 4 && width != 8))
        return;
    if (width == 8)
        bytes_skip(&b, 2);
    for (unsigned i = 0; i < count && i < CPUS_MOST && bytes_left(&b); i++) {
        uint64_t word = type == 0 ? 0 : width == 8 ? bytes_u64(&b) : bytes_u32(&b);
        for (unsigned k = 0; k < 8 * width; k++)
            if (word >> k & 1 && i * 8 * width + k < CPUS_MOST)
                cpus[i * 8 * width + k] = true;
        unsigned cpu = type == 0 ? bytes_u16(&b) : CPUS_MOST;
        if (cpu < CPUS_MOST)
            cpus[cpu] = true;
    }
}

/* "0-3,8" */
static void dump_cpus(struct output *o, struct bytes b)
{
    bool cpus[CPUS_MOST + 1] = {false};
    const char *separator = ": ";
    read_cpus(b, cpus);
    for (unsigned i = 0; i < CPUS_MOST; i++) {
        unsigned first = i;
        if (!cpus[i])
            continue;
        while (cpus[i + 1])
            i++;
        output_format(o, "%s%u", separator, first);
        if (i > first)
            output_format(o, "-%u", i);
        separator = ",";
    }
    output_char(o, '\n');
}

/* A symbol of the kernel, as of an eBPF program. */
static void dump_symbol(struct output *o, struct bytes b)
{
    uint64_t address = bytes_u64(&b);
    unsigned length = bytes_u32(&b), type = bytes_u16(&b), flags = bytes_u16(&b);
    struct str name = bytes_take(&b, bytes_left(&b));
    output_format(o, " addr %llx len %u type %u flags 0x%x name ",
                  (unsigned long long)address, length, type, flags);
    visible_print(o, str_head(name, str_find(name, 0)));
    output_char(o, '\n');
}

static void dump_bpf(struct output *o, struct bytes b)
{
    unsigned type = bytes_u16(&b), flags = bytes_u16(&b), id = bytes_u32(&b);
    output_format(o, " type %u, flags %u, id %u\n", type, flags, id);
}

static void dump_clock(struct output *o, struct bytes b)
{
    output_format(o, "\n... Time Shift      %llu\n", (unsigned long long)bytes_u64(&b));
    output_format(o, "... Time Multiplier  %llu\n", (unsigned long long)bytes_u64(&b));
    output_format(o, "... Time Zero       %llu\n", (unsigned long long)bytes_u64(&b));
}

/* --- The whole ---------------------------------------------------------------------- */

static const char *type_name(uint32_t type)
{
    static const char *const kernel[] = {NULL,
                                         "MMAP",
                                         "LOST",
                                         "COMM",
                                         "EXIT",
                                         "THROTTLE",
                                         "UNTHROTTLE",
                                         "FORK",
                                         "READ",
                                         "SAMPLE",
                                         "MMAP2",
                                         "AUX",
                                         "ITRACE_START",
                                         "LOST_SAMPLES",
                                         "SWITCH",
                                         "SWITCH_CPU_WIDE",
                                         "NAMESPACES",
                                         "KSYMBOL",
                                         "BPF_EVENT",
                                         "CGROUP",
                                         "TEXT_POKE",
                                         "AUX_OUTPUT_HW_ID",
                                         "CALLCHAIN_DEFERRED"};
    static const char *const own[] = {
        "ATTR",           "EVENT_TYPE",    "TRACING_DATA",    "BUILD_ID",
        "FINISHED_ROUND", "ID_INDEX",      "AUXTRACE_INFO",   "AUXTRACE",
        "AUXTRACE_ERROR", "THREAD_MAP",    "CPU_MAP",         "STAT_CONFIG",
        "STAT",           "STAT_ROUND",    "EVENT_UPDATE",    "TIME_CONV",
        "FEATURE",        "COMPRESSED",    "FINISHED_INIT",   "COMPRESSED2",
        "BPF_METADATA",   "SCHEDSTAT_CPU", "SCHEDSTAT_DOMAIN"};
    if (type && type < sizeof kernel / sizeof *kernel)
        return kernel[type];
    type -= PERF_HEADER_ATTR;
    return type < sizeof own / sizeof *own ? own[type] : "UNKNOWN";
}

static void dump_fields(struct output *o, const struct perf_data *d,
                        const struct perf_record *r)
{
    output_format(o, "PERF_RECORD_%s", type_name(r->type));
    switch (r->type) {
    case PERF_SAMPLE:
        dump_sample(o, d, r);
        break;
    case PERF_KSYMBOL:
        dump_symbol(o, perf_body(d, r));
        break;
    case PERF_BPF_EVENT:
        dump_bpf(o, perf_body(d, r));
        break;
    case PERF_ID_INDEX:
        dump_index(o, perf_body(d, r));
        break;
    case PERF_THREAD_MAP:
        dump_threads(o, perf_body(d, r));
        break;
    case PERF_CPU_MAP:
        dump_cpus(o, perf_body(d, r));
        break;
    case PERF_TIME_CONV:
        dump_clock(o, perf_body(d, r));
        break;
    case PERF_EVENT_UPDATE:
        dump_update(o, perf_body(d, r));
        break;
    default:
        output_char(o, '\n');
        break;
    }
}

/* The CPU if samples have it, and the time; those of records without them are 0. */
static void dump_origin(struct output *o, const struct perf_data *d,
                        const struct perf_record *r)
{
    struct perf_sample s;
    struct perf_identity id = {.cpu = 0};
    uint64_t type = d->event_count ? d->events[0].sample_type : 0;
    if (r->type == PERF_SAMPLE && perf_sample_of(d, r, &s))
        id.cpu = s.cpu;
    else if (r->type < PERF_KERNEL_END && r->type != PERF_SAMPLE)
        id = perf_identity(d, r);
    if (type & PERF_SAMPLE_CPU)
        output_format(o, "%u ", r->time == TIME_NONE ? 0 : (unsigned)id.cpu);
    output_format(o, "%llu ", r->time == TIME_NONE ? 0 : (unsigned long long)r->time);
}

void script_dump_record(struct output *o, const struct perf_data *d,
                        const struct perf_record *r)
{
    size_t size = r->body.len + PERF_RECORD_HEADER;
    uint64_t offset = r->offset - (d->piped ? PERF_PIPE_HEADER : 0);
    output_char(o, '\n');
    script_write_hex_marked(o, offset);
    output_char(o, '@');
    output_str(o, d->input->name);
    output_format(o, " [0x%zx]: event: %u\n", size, (unsigned)r->type);
    dump_bytes(o, d, r);
    dump_origin(o, d, r);
    script_write_hex_marked(o, offset);
    output_format(o, " [0x%zx]: ", size);
    if (!script_write_record(o, d, r))
        dump_fields(o, d, r);
}
