/* SPDX-License-Identifier: Apache-2.0 */
#include "record/perf_sampler_attributes.h"
#include "os/machine.h"
#include <errno.h>
#include <unistd.h>

/* --- Fields of samples ------------------------------------------------------------- */

/* All registers that unwinding may need, by perf's numbers of the general registers. */
#if defined(__x86_64__)
#define USER_REGISTERS 0xff0fffu
#elif defined(__aarch64__)
#define USER_REGISTERS 0x1ffffffffu
#else
#define USER_REGISTERS 0
#endif

static uint64_t stack_fields(enum record_stacks stacks)
{
    switch (stacks) {
    case RECORD_STACKS_FP:
        return PERF_SAMPLE_CALLCHAIN;
    case RECORD_STACKS_DWARF:
    case RECORD_STACKS_AUTO:
        return PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER;
    case RECORD_STACKS_LBR:
        return PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_BRANCH_STACK;
    default:
        return 0;
    }
}

/* The raw data of tracepoints. */
static uint64_t event_fields(const struct perf_sampler_settings *settings)
{
    for (size_t i = 0; i < settings->events.count; i++)
        if (settings->events.items[i].type == PERF_TYPE_TRACEPOINT)
            return PERF_SAMPLE_RAW;
    return 0;
}

uint64_t perf_sampler_fields(const struct perf_sampler_settings *settings)
{
    return stack_fields(settings->stacks) | settings->more_fields |
           event_fields(settings);
}

size_t perf_sampler_registers(void)
{
    return (size_t)__builtin_popcountll(USER_REGISTERS);
}

/* --- What the machine has ----------------------------------------------------------- */

/* Opens a counter of this thread, which every user may do, and closes it. 0, or errno. */
static int try_event(const struct record_event *event, uint64_t exclude)
{
    struct perf_attr attr = record_event_attr(event);
    attr.period = 1000000;
    attr.flags |= exclude;
    int fd = os_perf_open(&attr, 0, OS_ANY_CPU);
    if (fd < 0)
        return -fd;
    close(fd);
    return 0;
}

/* The highest precision that this machine has: 3 is best. */
static uint64_t best_precision(const struct record_event *event)
{
    struct record_event e = *event;
    for (e.precise = 3; e.precise; e.precise--)
        if (try_event(&e, PERF_FLAG_EXCLUDE_KERNEL | PERF_FLAG_EXCLUDE_HV) == 0)
            break;
    return e.precise;
}

bool perf_sampler_has(const struct record_event *event)
{
    int why = try_event(event, PERF_FLAG_EXCLUDE_KERNEL | PERF_FLAG_EXCLUDE_HV);
    return why != ENOENT && why != ENODEV && why != EOPNOTSUPP;
}

bool perf_sampler_sees_kernel(const struct record_event *event)
{
    int why = try_event(event, 0);
    return why != EACCES && why != EPERM;
}

/* --- Counters of CPUs or of threads -------------------------------------------------- */

bool perf_sampler_counts_time(const struct record_event *e)
{
    if (e->type == PERF_TYPE_SOFTWARE)
        return e->config == PERF_SOFTWARE_CPU_CLOCK ||
               e->config == PERF_SOFTWARE_TASK_CLOCK;
    return e->type == PERF_TYPE_HARDWARE && e->config == PERF_HARDWARE_CYCLES;
}

static bool event_can_be_of_cpus(const struct perf_sampler_settings *set,
                                 const struct record_event *e)
{
    uint32_t rate = e->rate || e->period ? e->rate : set->rate;
    return rate && rate <= PERF_SAMPLER_OF_CPUS_RATE && !e->of_everyone && !e->group &&
           perf_sampler_counts_time(e);
}

bool perf_sampler_is_of_cpus(const struct perf_sampler *s, size_t event)
{
    return s->of_cpus &&
           event_can_be_of_cpus(s->settings, &s->settings->events.items[event]);
}

/* Whether counters of all threads can replace those of the targets. The processor's record of
 * calls is only complete in counters of a thread; a program that collects the samples needs the
 * filter before it, because no stage filters them. */
static bool can_be_of_cpus(const struct perf_sampler_settings *set)
{
    const struct record_targets *t = &set->targets;
    return !t->everyone && !t->alone && (!set->program || set->filter) &&
           !set->of_threads && set->stacks != RECORD_STACKS_LBR && set->events.count &&
           !set->events.items[0].of_everyone;
}

bool perf_sampler_prefers_cpus(const struct perf_sampler_settings *settings)
{
    for (size_t i = 0; i < settings->events.count; i++)
        if (event_can_be_of_cpus(settings, &settings->events.items[i]))
            return can_be_of_cpus(settings);
    return false;
}

bool perf_sampler_requests_build_ids(const struct perf_sampler_settings *set)
{
    return !set->no_build_ids && !set->targets.everyone &&
           !(set->events.count && set->events.items[0].of_everyone);
}

/* --- Attributes ---------------------------------------------------------------------- */

/* LBR of calls in user code, without the fields that stacks do not need (perf_event.h). */
#define BRANCHES_OF_USER ((uint64_t)1 << 0)
#define BRANCHES_NO_FLAGS ((uint64_t)1 << 14)
#define BRANCHES_NO_CYCLES ((uint64_t)1 << 15)

size_t perf_sampler_leader(const struct perf_sampler *s, size_t event)
{
    const struct record_events *events = &s->settings->events;
    uint32_t group = events->items[event].group;
    bool split = group && s->split >> (group - 1) & 1;
    return split ? event : record_events_leader(events, event);
}

bool perf_sampler_is_unrated(const struct record_event *e)
{
    return e->period && !e->rate && e->maker == EVENT_MAKER_KERNEL;
}

static uint32_t dump_size_of(const struct perf_sampler_settings *set,
                             const struct record_event *e)
{
    bool own = perf_sampler_is_unrated(e) && set->unrated_dump_size;
    uint32_t size = own ? set->unrated_dump_size : set->dump_size;
    return e->dump_most && e->dump_most < size ? e->dump_most : size;
}

uint32_t perf_sampler_least_dump(const struct perf_sampler_settings *set)
{
    uint32_t least = set->dump_size;
    for (size_t i = 0; i < set->events.count; i++) {
        const struct record_event *e = &set->events.items[i];
        if (!e->no_stacks && !e->dump_most && dump_size_of(set, e) < least)
            least = dump_size_of(set, e);
    }
    return least;
}

struct perf_attr perf_sampler_attr(const struct perf_sampler *s, size_t i)
{
    const struct perf_sampler_settings *set = s->settings;
    const struct record_event *e = &set->events.items[i];
    struct perf_attr attr = record_event_attr(e);
    bool own = e->period || e->rate;
    uint32_t rate = own ? e->rate : set->rate;
    attr.period = rate ? rate : own ? e->period : set->period;
    attr.sample_type = s->layout.sample_type;
    attr.read_format = PERF_READ_ENABLED | PERF_READ_LOST;
    attr.flags |= PERF_FLAG_SAMPLE_ID_ALL | PERF_FLAG_WATERMARK | PERF_FLAG_CLOCK |
                  (rate ? PERF_FLAG_FREQUENCY : 0);
    attr.clock = os_clock_number();
    if (e->most_precise)
        attr.flags |= best_precision(e) << PERF_FLAG_PRECISE_SHIFT;
    if (i == 0)
        attr.flags |= perf_sampler_requests_build_ids(set)
                          ? PERF_SAMPLER_TRACKING
                          : PERF_SAMPLER_TRACKING & ~PERF_FLAG_BUILD_ID;
    if (!set->targets.everyone && !e->of_everyone && !set->targets.alone)
        attr.flags |= PERF_FLAG_INHERIT;
    if (set->targets.from_exec && !e->of_everyone)
        attr.flags |= PERF_FLAG_ENABLE_ON_EXEC;
    if (perf_sampler_leader(s, i) != i) /* it counts while the leader does */
        attr.flags &= ~(PERF_FLAG_DISABLED | PERF_FLAG_ENABLE_ON_EXEC);
    if (set->stacks == RECORD_STACKS_DWARF)
        attr.flags |= PERF_FLAG_EXCLUDE_CHAIN_USER;
    if (record_stacks_dumped(set->stacks)) {
        attr.user_registers = USER_REGISTERS;
        attr.stack_size = e->no_stacks ? 0 : dump_size_of(set, e);
    }
    if (e->no_stacks)
        attr.flags |= PERF_FLAG_EXCLUDE_CHAIN_KERNEL | PERF_FLAG_EXCLUDE_CHAIN_USER;
    if (set->stacks == RECORD_STACKS_LBR)
        attr.branch_type = BRANCHES_OF_USER | PERF_BRANCH_CALL_STACK | BRANCHES_NO_FLAGS |
                           BRANCHES_NO_CYCLES;
    return attr;
}

/* --- Rings --------------------------------------------------------------------------- */

/* Ring sizes: the amount that users may lock without rights, or the size of the
 * samples that arrive while this process waits for a busy CPU. */
#define RING_USUAL ((size_t)512 << 10)
#define RING_MOST ((size_t)16 << 20)
#define RINGS_MOST ((size_t)256 << 20) /* of all CPUs */
#define CHAIN_SAMPLE_BYTES 400         /* of a sample with a stack, approximately */
#define DUMP_SAMPLE_BYTES \
    600 /* the registers and the other fields of a sample with a dump */
#define DRAINS_PER_SECOND 4 /* a ring holds the samples of 1 s divided by this number */

/* Samples per second of a busy CPU, of events that are not sampled at a rate, such as context
 * switches. */
#define UNRATED_PER_SECOND ((size_t)40000)
#define DUMPED_PER_SECOND ((size_t)2000)

/* A ring that lasts for less time than that, ns, is too small: the copying thread may have to wait
 * for a CPU as long as that. The rate is known after some switches of threads. */
#define RING_LASTS ((uint64_t)100000000)
#define SWITCHES_LEAST 1000

/* Bytes of samples per second that a busy CPU can produce. */
static size_t expected_bytes(const struct perf_sampler_settings *set)
{
    bool dumped = record_stacks_dumped(set->stacks);
    size_t by_rate = 0, others = 0;
    for (size_t i = 0; i < set->events.count; i++) {
        const struct record_event *e = &set->events.items[i];
        size_t size =
            dumped ? DUMP_SAMPLE_BYTES + dump_size_of(set, e) : CHAIN_SAMPLE_BYTES;
        by_rate += size * (e->rate ? e->rate : e->period ? 0 : set->rate);
        size_t bytes = size * (dumped ? DUMPED_PER_SECOND : UNRATED_PER_SECOND);
        if (e->period && bytes > others)
            others = bytes;
    }
    return by_rate + others;
}

size_t perf_sampler_ring_size(const struct perf_sampler_settings *set)
{
    size_t needed = expected_bytes(set) / DRAINS_PER_SECOND;
    size_t most = RINGS_MOST / os_cpus_possible(), size = RING_USUAL;
    if (set->ring_size)
        return set->ring_size;
    while (size < needed && size < most && size < RING_MOST)
        size *= 2;
    return size;
}

bool perf_sampler_fills_rings(const struct perf_sampler *s, uint64_t switches,
                              uint64_t time)
{
    uint32_t own = s->settings->unrated_dump_size;
    double bytes = (double)switches * (own ? own : s->settings->dump_size);
    double rings = (double)s->ring_size * (double)s->ring_count;
    return switches >= SWITCHES_LEAST && bytes / (double)time > rings / RING_LASTS;
}
