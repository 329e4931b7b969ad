/* SPDX-License-Identifier: Apache-2.0 */
/* Decoding samples: the fields in their order (perf_event.h, PERF_RECORD_SAMPLE). */
#include "perf/parts.h"

static uint64_t count_bits(uint64_t v)
{
    uint64_t count = 0;
    for (; v; v &= v - 1)
        count++;
    return count;
}

/* Reads `count` words; fails if the record has fewer. */
static struct perf_words take_words(struct bytes *b, uint64_t count)
{
    if (count > bytes_left(b) / 8) {
        b->failed = true;
        count = 0;
    }
    return (struct perf_words){bytes_take(b, count * 8), b->big_endian};
}

/* --- Counters ---------------------------------------------------------------------- */

/* The size of one counter of a group, in words. */
static uint64_t group_words(uint64_t format)
{
    return 1 + count_bits(format & (PERF_READ_ID | PERF_READ_LOST));
}

static uint64_t time_words(uint64_t format)
{
    return count_bits(format & (PERF_READ_ENABLED | PERF_READ_RUNNING));
}

static struct str take_read(struct bytes *b, uint64_t format)
{
    struct bytes start = *b;
    if (format & PERF_READ_GROUP) {
        uint64_t count = bytes_u64(b);
        bytes_skip(b, time_words(format) * 8);
        if (count > bytes_left(b) / 8)
            b->failed = true;
        else
            bytes_skip(b, count * group_words(format) * 8);
    } else {
        bytes_skip(b, (group_words(format) + time_words(format)) * 8);
    }
    return b->failed ? STR("") : str_span(start.at, b->at);
}

bool perf_counter_at(const struct perf_data *d, const struct perf_event *event,
                     struct str read, size_t i, struct perf_counter *c)
{
    struct bytes b = bytes_of(read, d->big_endian);
    uint64_t format = event->read_format;
    bool group = format & PERF_READ_GROUP;
    *c = (struct perf_counter){0};
    uint64_t count = group ? bytes_u64(&b) : 1;
    if (i >= count || b.failed)
        return false;
    if (!group)
        c->value = bytes_u64(&b);
    if (format & PERF_READ_ENABLED)
        c->enabled = bytes_u64(&b);
    if (format & PERF_READ_RUNNING)
        c->running = bytes_u64(&b);
    if (group) {
        bytes_skip(&b, i <= read.len ? i * group_words(format) * 8 : UINT64_MAX);
        c->value = bytes_u64(&b);
    }
    if (format & PERF_READ_ID)
        c->id = bytes_u64(&b);
    if (format & PERF_READ_LOST)
        c->lost = bytes_u64(&b);
    return !b.failed;
}

/* --- The parts of a sample --------------------------------------------------------- */

static void take_fixed(struct bytes *b, uint64_t type, struct perf_sample *s)
{
    if (type & PERF_SAMPLE_IDENTIFIER)
        s->id = bytes_u64(b);
    s->has_ip = type & PERF_SAMPLE_IP;
    if (s->has_ip)
        s->ip = bytes_u64(b);
    if (type & PERF_SAMPLE_TID) {
        s->pid = bytes_u32(b);
        s->tid = bytes_u32(b);
    }
    if (type & PERF_SAMPLE_TIME)
        s->time = bytes_u64(b);
    if (type & PERF_SAMPLE_ADDR)
        s->address = bytes_u64(b);
    if (type & PERF_SAMPLE_ID)
        s->id = bytes_u64(b);
    if (type & PERF_SAMPLE_STREAM_ID)
        s->stream_id = bytes_u64(b);
    if (type & PERF_SAMPLE_CPU) {
        s->cpu = bytes_u32(b);
        bytes_skip(b, 4);
    }
    if (type & PERF_SAMPLE_PERIOD)
        s->period = bytes_u64(b);
}

static void take_branches(struct bytes *b, const struct perf_event *e,
                          struct perf_sample *s)
{
    uint64_t count = bytes_u64(b);
    if (e->branch_type & PERF_BRANCH_HW_INDEX)
        s->branch_index = bytes_u64(b);
    if (count > bytes_left(b) / 8) {
        b->failed = true;
        return;
    }
    s->branches = take_words(b, count * PERF_BRANCH_WORDS);
    if (e->branch_type & PERF_BRANCH_COUNTERS)
        bytes_skip(b, count * 8);
}

static struct perf_registers take_registers(struct bytes *b, uint64_t mask)
{
    struct perf_registers r = {.abi = bytes_u64(b)};
    r.mask = r.abi ? mask : 0;
    r.values = take_words(b, count_bits(r.mask));
    return r;
}

/* The dump has `size` bytes, followed by the number of bytes that are valid. */
static void take_stack(struct bytes *b, struct perf_sample *s)
{
    s->stack_asked = bytes_u64(b);
    if (s->stack_asked == 0)
        return;
    struct str room = bytes_take(b, s->stack_asked);
    s->stack = str_part(room, 0, bytes_u64(b));
}

static void take_memory(struct bytes *b, uint64_t type, struct perf_sample *s)
{
    if (type & (PERF_SAMPLE_WEIGHT | PERF_SAMPLE_WEIGHT_STRUCT))
        s->weight = bytes_u64(b);
    if (type & PERF_SAMPLE_DATA_SRC)
        s->data_source = bytes_u64(b);
    if (type & PERF_SAMPLE_TRANSACTION)
        s->transaction = bytes_u64(b);
    if (type & PERF_SAMPLE_REGS_INTR)
        s->interrupt = take_registers(b, s->event->interrupt_registers);
    if (type & PERF_SAMPLE_PHYS_ADDR)
        s->physical_address = bytes_u64(b);
    if (type & PERF_SAMPLE_CGROUP)
        s->cgroup = bytes_u64(b);
    if (type & PERF_SAMPLE_DATA_PAGE_SIZE)
        s->data_page_size = bytes_u64(b);
    if (type & PERF_SAMPLE_CODE_PAGE_SIZE)
        s->code_page_size = bytes_u64(b);
    if (type & PERF_SAMPLE_AUX)
        s->aux = bytes_take(b, bytes_u64(b));
}

/* The event of the sample; NULL if its id is unknown and its fields cannot be guessed. */
static const struct perf_event *sample_event(const struct perf_data *d,
                                             const struct perf_record *r)
{
    int64_t index = perf_event_of(d, r);
    if (index >= 0)
        return &d->events[index];
    return d->event_count && d->one_layout ? &d->events[0] : NULL;
}

bool perf_sample_of(const struct perf_data *d, const struct perf_record *r,
                    struct perf_sample *s)
{
    struct bytes b = perf_body(d, r);
    const struct perf_event *e = sample_event(d, r);
    const struct perf_words none = {STR(""), false};
    *s = (struct perf_sample){.event = e,
                              .mode = r->misc & PERF_CPU_MODE,
                              .pid = PERF_ID_NONE,
                              .tid = PERF_ID_NONE,
                              .cpu = CPU_NONE,
                              .time = TIME_NONE,
                              .read = STR(""),
                              .raw = STR(""),
                              .stack = STR(""),
                              .aux = STR(""),
                              .chain = none,
                              .branches = none,
                              .branch_index = UINT64_MAX,
                              .user.values = none,
                              .interrupt.values = none};
    if (!e)
        return false;
    uint64_t type = e->sample_type;
    s->period = e->flags & PERF_FLAG_FREQUENCY ? 0 : e->period;
    take_fixed(&b, type, s);
    if (type & PERF_SAMPLE_READ)
        s->read = take_read(&b, e->read_format);
    s->has_chain = type & PERF_SAMPLE_CALLCHAIN;
    if (s->has_chain)
        s->chain = take_words(&b, bytes_u64(&b));
    if (type & PERF_SAMPLE_RAW)
        s->raw = bytes_take(&b, bytes_u32(&b));
    if (type & PERF_SAMPLE_BRANCH_STACK)
        take_branches(&b, e, s);
    if (type & PERF_SAMPLE_REGS_USER)
        s->user = take_registers(&b, e->user_registers);
    if (type & PERF_SAMPLE_STACK_USER)
        take_stack(&b, s);
    take_memory(&b, type, s);
    s->rest = type < PERF_SAMPLE_UNKNOWN ? bytes_left(&b) : 0;
    return !b.failed;
}

/* The register masks that perf uses for unwinding: x86-64 has none beyond 23 except
 * vectors, AArch64 has 33, 32-bit ARM 16. */
enum architecture perf_machine(const struct perf_data *d,
                               const struct perf_registers *user)
{
    enum architecture machine = d->facts.machine;
    if (machine == ARCH_UNKNOWN && user->mask >> 24 & 0x1ff)
        machine = ARCH_ARM64;
    else if (machine == ARCH_UNKNOWN)
        machine = user->mask == 0xffff && user->abi == 1 ? ARCH_ARM : ARCH_X86_64;
    if (user->abi != 1)
        return machine;
    if (machine == ARCH_X86_64)
        return ARCH_X86;
    return machine == ARCH_ARM64 ? ARCH_ARM : machine;
}
