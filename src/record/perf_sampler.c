/* SPDX-License-Identifier: Apache-2.0 */
#include "record/perf_sampler.h"
#include "base/array.h"
#include "os/machine.h"
#include "record/refusal.h"
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#define KB ((size_t)1 << 10)
#define MB ((size_t)1 << 20)

/* Ring sizes: the amount that users may lock without rights, or the size of the
 * samples that arrive while this process waits for a busy CPU. */
#define RING_LEAST (32 * KB)
#define RING_USUAL (512 * KB)
#define RING_MOST (16 * MB)
#define RINGS_MOST (256 * MB)  /* of all CPUs */
#define CHAIN_SAMPLE_BYTES 400 /* of a sample with a stack, approximately */
#define DUMP_SAMPLE_BYTES \
    600 /* the registers and the other fields of a sample with a dump */
#define DRAINS_PER_SECOND 4 /* a ring holds the samples of 1 s divided by this number */

/* Samples per second of a busy CPU, of events that are not sampled at a rate, such as context
 * switches. */
#define UNRATED_PER_SECOND ((size_t)40000)
#define DUMPED_PER_SECOND ((size_t)2000)

/* Bytes of a dump of events without a rate, if whole ones are too many for the rings. */
#define DUMP_LIMIT 4096

/* A ring that lasts for less time than that, ns, is too small: the copying thread may have to wait
 * for a CPU as long as that. The rate is known after some switches of threads. */
#define RING_LASTS ((uint64_t)100000000)
#define SWITCHES_LEAST 1000

/* A round ends after this number of bytes, so that the queues get their space back. */
#define ROUND_BYTES MB

/* Copies of records that wait for the stages: five eighths of all rings, and at least that. Copies
 * have only the part of a dump that has content. With this size the whole recorder usually needs
 * less than 64 MB on a small machine. */
#define QUEUES_LEAST (28 * MB)

/* --- Attributes -------------------------------------------------------------------- */

#define TRACKING                                                               \
    (PERF_FLAG_MMAP | PERF_FLAG_MMAP2 | PERF_FLAG_COMM | PERF_FLAG_COMM_EXEC | \
     PERF_FLAG_TASK | PERF_FLAG_KSYMBOL | PERF_FLAG_BUILD_ID)

#define PRECISION ((uint64_t)3 << PERF_FLAG_PRECISE_SHIFT)

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

/* LBR of calls in user code, without the fields that stacks do not need (perf_event.h). */
#define BRANCHES_OF_USER ((uint64_t)1 << 0)
#define BRANCHES_NO_FLAGS ((uint64_t)1 << 14)
#define BRANCHES_NO_CYCLES ((uint64_t)1 << 15)

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

/* The leader of the event's group; the event itself if it is the leader, or in no
 * group. */
static size_t leader_of(const struct perf_sampler *s, size_t event)
{
    const struct record_events *events = &s->settings->events;
    uint32_t group = events->items[event].group;
    bool split = group && s->split >> (group - 1) & 1;
    return split ? event : record_events_leader(events, event);
}

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

/* Whether the kernel samples each occurrence of the event, however many there are. */
static bool is_unrated(const struct record_event *e)
{
    return e->period && !e->rate && e->maker == EVENT_MAKER_KERNEL;
}

static uint32_t dump_size_of(const struct perf_sampler_settings *set,
                             const struct record_event *e)
{
    bool own = is_unrated(e) && set->unrated_dump_size;
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

static struct perf_attr attr_of(const struct perf_sampler *s, size_t i)
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
                          ? TRACKING
                          : TRACKING & ~PERF_FLAG_BUILD_ID;
    if (!set->targets.everyone && !e->of_everyone && !set->targets.alone)
        attr.flags |= PERF_FLAG_INHERIT;
    if (set->targets.from_exec && !e->of_everyone)
        attr.flags |= PERF_FLAG_ENABLE_ON_EXEC;
    if (leader_of(s, i) != i) /* it counts while the leader does */
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

static size_t choose_ring_size(const struct perf_sampler_settings *set)
{
    size_t needed = expected_bytes(set) / DRAINS_PER_SECOND;
    size_t most = RINGS_MOST / os_cpus_possible(), size = RING_USUAL;
    if (set->ring_size)
        return set->ring_size;
    while (size < needed && size < most && size < RING_MOST)
        size *= 2;
    return size;
}

/* --- Opening ----------------------------------------------------------------------- */

/* Removes flags that older kernels do not know and reject, newest first. */
static bool drop_newest(struct perf_sampler *s)
{
    static const uint64_t newer[] = {PERF_FLAG_BUILD_ID, PERF_FLAG_KSYMBOL};
    if (s->attrs[0].read_format & PERF_READ_LOST) { /* Linux 6.0 */
        for (size_t i = 0; i < s->settings->events.count; i++)
            s->attrs[i].read_format = PERF_READ_ENABLED;
        return true;
    }
    for (size_t k = 0; k < sizeof newer / sizeof *newer; k++) {
        if (!(s->attrs[0].flags & newer[k]))
            continue;
        s->attrs[0].flags &= ~newer[k];
        return true;
    }
    return false;
}

static int open_attr(const struct perf_sampler *s, const struct perf_attr *attr,
                     int64_t tid, uint32_t cpu, int leader)
{
    int cgroup = s->settings->targets.cgroup;
    return cgroup ? os_perf_open_cgroup(attr, cgroup, (int)cpu, leader)
                  : os_perf_open_in(attr, tid, (int)cpu, leader);
}

/* The counter of the event that leads this one's group, -1 if the event leads itself. False
 * if there is none: the thread had ended. The counters of this CPU are the last. */
static bool find_leader(const struct perf_sampler *s, size_t event, int64_t tid,
                        uint32_t cpu, int *fd)
{
    size_t leader = leader_of(s, event);
    *fd = -1;
    if (leader == event)
        return true;
    for (size_t i = s->counter_count; *fd < 0 && i-- > 0;) {
        const struct perf_counter_open *c = &s->counters[i];
        if (c->tid != tid || c->cpu != cpu)
            break;
        if (c->event == leader)
            *fd = c->fd;
    }
    return *fd >= 0;
}

/* A counter in a group cannot be replaced alone. */
static bool can_be_shortened(const struct perf_sampler *s, size_t event)
{
    const struct record_event *e = &s->settings->events.items[event];
    return is_unrated(e) && !e->group && s->attrs[event].stack_size > DUMP_LIMIT;
}

/* If a program or counters of all threads collect the samples, the counter of the targets counts
 * nothing. */
static struct perf_attr attr_to_open(const struct perf_sampler *s, size_t event,
                                     int64_t tid)
{
    struct perf_attr attr = s->attrs[event];
    bool of_cpus = perf_sampler_is_of_cpus(s, event);
    if (s->settings->program || (of_cpus && tid != OS_ANY_THREAD)) {
        attr.type = PERF_TYPE_SOFTWARE;
        attr.config = PERF_SOFTWARE_DUMMY;
        attr.flags &= ~(PERF_FLAG_FREQUENCY | PRECISION);
        attr.period = 1;
    } else if (of_cpus) {
        attr.flags &= ~(TRACKING | PERF_FLAG_INHERIT | PERF_FLAG_ENABLE_ON_EXEC);
        attr.flags |= PERF_FLAG_EXCLUDE_IDLE;
    }
    if (s->dump_limit && tid == OS_ANY_THREAD && can_be_shortened(s, event))
        attr.stack_size = s->dump_limit;
    return attr;
}

static int open_one(struct perf_sampler *s, size_t event, int64_t tid, uint32_t cpu)
{
    int leader;
    if (!find_leader(s, event, tid, cpu, &leader))
        return -ESRCH;
    for (;;) {
        struct perf_attr attr = attr_to_open(s, event, tid);
        int fd = open_attr(s, &attr, tid, cpu, leader);
        if (fd != -EINVAL || !drop_newest(s))
            return fd;
    }
}

static struct perf_sampler_ring *ring_of(struct perf_sampler *s, uint32_t cpu)
{
    for (size_t i = 0; i < s->ring_count; i++)
        if (s->rings[i].cpu == cpu)
            return &s->rings[i];
    return NULL;
}

/* A counter of this thread that counts nothing owns a CPU's ring, and only the copier polls it. If
 * the reader polled the ring, too, it could take the state of the ring from the copier, or hold the
 * kernel's lock of the ring while other threads use its CPU: the copier would sleep meanwhile. */
static int open_owner(const struct perf_sampler *s, uint32_t cpu)
{
    struct perf_attr attr = {
        .size = s->attrs[0].size,
        .type = PERF_TYPE_SOFTWARE,
        .config = PERF_SOFTWARE_DUMMY,
        .flags = PERF_FLAG_DISABLED | PERF_FLAG_EXCLUDE_KERNEL | PERF_FLAG_EXCLUDE_HV |
                 PERF_FLAG_WATERMARK | PERF_FLAG_CLOCK,
        .wakeup = s->attrs[0].wakeup,
        .clock = s->attrs[0].clock,
    };
    return os_perf_open(&attr, 0, (int)cpu);
}

static void close_ring(struct perf_sampler *s, const struct perf_sampler_ring *r)
{
    ring_copier_unwatch(&s->copier, r->owner);
    ring_copier_remove(&s->copier, r->ring);
    close(r->owner);
}

/* Adds the ring of a CPU, before its first counter. */
static bool add_ring(struct perf_sampler *s, uint32_t cpu, struct error *err)
{
    int why = 0;
    if (!ARRAY_RESERVE_HEAP(s->rings, s->ring_cap, s->ring_count + 1) ||
        !ARRAY_RESERVE_HEAP(s->heap, s->heap_cap, s->ring_count + 1))
        return error_memory(err);
    struct perf_sampler_ring *r = &s->rings[s->ring_count];
    *r = (struct perf_sampler_ring){
        .cpu = cpu, .owner = open_owner(s, cpu), .counter = -1};
    if (r->owner < 0)
        return record_refusal(s->settings, 0, -r->owner, err);
    r->ring = ring_copier_add(&s->copier, r->owner, s->ring_size, &why);
    if (!r->ring) {
        close(r->owner);
        s->locked_too_much = why == EPERM;
        return record_refusal_ring(s->ring_size, why, err);
    }
    s->ring_count++;
    return ring_copier_watch(&s->copier, r->owner, err);
}

/* A tracepoint would need a program of another kind: its samples go without, like those of
 * other events that the kernel runs no program at. Only the first event must have it. */
static bool attach_observer(const struct perf_sampler *s, size_t event, int64_t tid,
                            int fd)
{
    const struct record_event *e = &s->settings->events.items[event];
    const struct os_task_filter *filter = s->settings->filter;
    if (filter && tid == OS_ANY_THREAD && perf_sampler_is_of_cpus(s, event) &&
        os_perf_attach(fd, filter->handle))
        return true;
    if (!s->settings->observer || s->settings->program || e->type == PERF_TYPE_TRACEPOINT)
        return true;
    return os_perf_attach(fd, s->settings->observer) || event > 0;
}

/* If an eBPF program makes the event's samples: it writes them to this counter. */
static bool connect_maker(const struct perf_sampler *s, size_t event, uint32_t cpu,
                          int fd, struct error *err)
{
    const struct perf_sampler_settings *set = s->settings;
    enum event_maker maker = set->events.items[event].maker;
    bool brief = maker == EVENT_MAKER_FILTER_BRIEF;
    if ((maker == EVENT_MAKER_FILTER || brief) && set->filter)
        return os_task_filter_output(set->filter, cpu, brief, fd, err);
    if (maker == EVENT_MAKER_WAIT_FILES && set->files)
        return os_wait_files_output(set->files, cpu, fd, err);
    return true;
}

/* Whether a thread has ended meanwhile, which is an error only for the first counter of the
 * only thread: a later counter finds that it has ended between two of them. */
static bool has_ended(const struct perf_sampler *s, int fd)
{
    return fd == -ESRCH && (s->settings->targets.tid_count > 1 || s->counter_count > 0);
}

/* Connects an open counter to programs, its filter, and the ring of its CPU. */
static bool connect_counter(struct perf_sampler *s, const struct perf_counter_open *c,
                            struct error *err)
{
    if (!connect_maker(s, c->event, c->cpu, c->fd, err))
        return false;
    if (!attach_observer(s, c->event, c->tid, c->fd))
        return error_set(err, "the kernel cannot run a program at this event: %s",
                         strerror(errno));
    const char *filter = s->settings->events.items[c->event].filter;
    if (filter && !os_perf_filter(c->fd, filter))
        return record_refusal_filter(s->settings, c->event, errno, err);
    struct perf_sampler_ring *ring = ring_of(s, c->cpu);
    if (!os_perf_redirect(c->fd, ring->owner))
        return error_set(err, "a counter cannot share its CPU's ring: %s",
                         strerror(errno));
    if (ring->counter < 0)
        ring->counter = c->fd;
    return true;
}

/* Opens a counter, whose records go to the ring of its CPU. */
static bool add_counter(struct perf_sampler *s, size_t event, int64_t tid, uint32_t cpu,
                        struct error *err)
{
    if (!ARRAY_RESERVE_HEAP(s->counters, s->counter_cap, s->counter_count + 1))
        return error_memory(err);
    int fd = open_one(s, event, tid, cpu);
    if (has_ended(s, fd))
        return true;
    if (fd < 0) {
        s->refused = leader_of(s, event) != event && fd == -EINVAL
                         ? s->settings->events.items[event].group
                         : 0;
        return record_refusal(s->settings, event, -fd, err);
    }
    struct perf_counter_open *c = &s->counters[s->counter_count++];
    *c = (struct perf_counter_open){fd, (uint32_t)event, cpu, tid};
    if (!connect_counter(s, c, err))
        return false;
    /* to learn that the target has ended: a counter of all threads never hangs up */
    return tid == OS_ANY_THREAD || os_wait_add(s->wait, fd, err);
}

/* The counter whose samples the program collects. It has no ring and causes no wake-up. */
static bool add_program(struct perf_sampler *s, int64_t tid, uint32_t cpu,
                        struct error *err)
{
    struct perf_attr attr = s->attrs[0];
    const struct perf_sampler_settings *set = s->settings;
    if (!ARRAY_RESERVE_HEAP(s->counters, s->counter_cap, s->counter_count + 1))
        return error_memory(err);
    attr.flags &= ~(TRACKING | PERF_FLAG_WATERMARK | PERF_FLAG_SAMPLE_ID_ALL);
    if (s->of_cpus) {
        attr.flags &= ~(PERF_FLAG_INHERIT | PERF_FLAG_ENABLE_ON_EXEC);
        attr.flags |= PERF_FLAG_EXCLUDE_IDLE;
    }
    attr.sample_type = attr.wakeup = 0;
    attr.read_format = PERF_READ_ENABLED;
    int fd = open_attr(s, &attr, tid, cpu, -1);
    if (has_ended(s, fd))
        return true;
    if (fd < 0)
        return record_refusal(set, 0, -fd, err);
    s->counters[s->counter_count++] = (struct perf_counter_open){fd, 0, cpu, tid};
    /* the filter is followed by the program */
    return os_perf_attach(fd, s->of_cpus ? set->filter->handle : set->program) ||
           error_set(err, "the kernel cannot count stacks of this event: %s",
                     strerror(errno));
}

static bool is_of_all(const struct perf_sampler *s, size_t event)
{
    return s->settings->targets.everyone ||
           s->settings->events.items[event].of_everyone ||
           perf_sampler_is_of_cpus(s, event);
}

/* The counter of the first event reports the forks, names and mappings of the targets. */
static bool is_of_targets(const struct perf_sampler *s, size_t event)
{
    return event == 0 ? !s->settings->events.items[0].of_everyone : !is_of_all(s, event);
}

static bool open_on_cpu(struct perf_sampler *s, uint32_t cpu, struct error *err)
{
    const struct record_targets *t = &s->settings->targets;
    const struct record_events *events = &s->settings->events;
    bool program = s->settings->program;
    if (!add_ring(s, cpu, err))
        return false;
    for (size_t i = 0; !t->everyone && i < t->tid_count; i++)
        for (size_t event = 0; event < events->count; event++)
            if (is_of_targets(s, event) && !add_counter(s, event, t->tids[i], cpu, err))
                return false;
    for (size_t event = 0; event < events->count; event++)
        if (is_of_all(s, event) && (t->everyone || !program) &&
            !add_counter(s, event, OS_ANY_THREAD, cpu, err))
            return false;
    if (!program)
        return true;
    if (t->everyone || s->of_cpus)
        return add_program(s, OS_ANY_THREAD, cpu, err);
    for (size_t i = 0; i < t->tid_count; i++)
        if (!add_program(s, t->tids[i], cpu, err))
            return false;
    return true;
}

static bool open_all(struct perf_sampler *s, struct error *err)
{
    const struct record_targets *t = &s->settings->targets;
    uint32_t *online = malloc(OS_CPUS_MAX * sizeof *online);
    if (!online)
        return error_memory(err);
    size_t count = t->cpus ? t->cpu_count : os_cpus_online(online);
    bool ok = true;
    for (size_t i = 0; ok && i < count; i++)
        ok = open_on_cpu(s, t->cpus ? t->cpus[i] : online[i], err);
    free(online);
    if (ok && s->counter_count == 0)
        return record_refusal(s->settings, 0, ESRCH, err);
    return ok;
}

/* A ring wakes this process up when that part of it is full: on a busy machine, it fills up
 * further until the process runs. Each wake-up costs as much as the samples of some milliseconds. */
#define WAKE_PARTS 4

static void set_attrs(struct perf_sampler *s)
{
    for (size_t i = 0; i < s->settings->events.count; i++) {
        s->attrs[i] = attr_of(s, i);
        s->attrs[i].wakeup = (uint32_t)(s->ring_size / WAKE_PARTS);
    }
}

/* Retries with lower requirements after the kernel rejected the counters: counters of the
 * targets only, smaller rings, or the events of a weak group as single events. */
static bool reduce_request(struct perf_sampler *s)
{
    uint32_t group = s->refused;
    if (s->of_cpus) {
        s->of_cpus = s->locked_too_much = false;
        s->refused = 0;
        return true;
    }
    s->refused = 0;
    if (group && s->settings->events.groups[group - 1].weak) {
        s->split |= 1u << (group - 1);
        return true;
    }
    if (!s->locked_too_much || s->ring_size <= RING_LEAST)
        return false;
    s->locked_too_much = false;
    s->ring_size /= 2;
    return true;
}

/* The raw data of tracepoints. */
static uint64_t event_fields(const struct perf_sampler_settings *settings)
{
    for (size_t i = 0; i < settings->events.count; i++)
        if (settings->events.items[i].type == PERF_TYPE_TRACEPOINT)
            return PERF_SAMPLE_RAW;
    return 0;
}

static void close_counter(struct perf_sampler *s, size_t i)
{
    os_wait_remove(s->wait, s->counters[i].fd);
    close(s->counters[i].fd);
}

static void close_all(struct perf_sampler *s)
{
    for (size_t i = 0; i < s->ring_count; i++)
        close_ring(s, &s->rings[i]);
    for (size_t i = 0; i < s->counter_count; i++)
        close_counter(s, i);
    s->ring_count = s->counter_count = 0;
}

/* --- More records than expected ----------------------------------------------------- */

static uint64_t lost_by(int counter)
{
    struct os_perf_state state;
    return os_perf_read(counter, &state) ? state.lost : 0;
}

/* Replaces a counter by one with shorter dumps. The new one starts before the old one ends: an
 * occurrence between them is in the recording twice, at the same time, and none is missing.
 * `counts`: the counters are enabled. */
static bool replace_counter(struct perf_sampler *s, size_t i, bool counts)
{
    struct error ignored;
    struct perf_counter_open *c = &s->counters[i], old = *c;
    struct perf_sampler_ring *ring = ring_of(s, c->cpu);
    int fd = open_one(s, c->event, c->tid, c->cpu);
    if (fd < 0)
        return false;
    c->fd = fd;
    if (!connect_counter(s, c, &ignored) || (counts && !os_perf_enable(fd))) {
        c->fd = old.fd;
        close(fd);
        return false;
    }
    if (ring->counter == old.fd)
        ring->counter = fd;
    s->lost_by_closed += lost_by(old.fd);
    close(old.fd);
    return true;
}

static bool limit_dumps(struct perf_sampler *s, bool counts)
{
    bool any = false;
    s->dump_limit = DUMP_LIMIT;
    for (size_t i = 0; i < s->counter_count; i++)
        if (s->counters[i].tid == OS_ANY_THREAD &&
            can_be_shortened(s, s->counters[i].event))
            any |= replace_counter(s, i, counts);
    s->dumps_limited = any;
    return any;
}

/* Whether rings with whole dumps of each switch of threads would soon be full. */
static bool expects_full_rings(const struct perf_sampler *s, uint64_t switches,
                               uint64_t time)
{
    uint32_t own = s->settings->unrated_dump_size;
    double bytes = (double)switches * (own ? own : s->settings->dump_size);
    double rings = (double)s->ring_size * (double)s->ring_count;
    return switches >= SWITCHES_LEAST && bytes / (double)time > rings / RING_LASTS;
}

/* --- Opening and closing ------------------------------------------------------------ */

static bool open_counters(struct perf_sampler *s, struct error *err)
{
    uint64_t switches = os_context_switches(), began = os_clock_monotonic();
    s->of_cpus = perf_sampler_prefers_cpus(s->settings);
    os_raise_file_limit();
    set_attrs(s);
    while (!open_all(s, err)) {
        if (!reduce_request(s))
            return false;
        close_all(s);
        set_attrs(s);
    }
    if (record_stacks_dumped(s->settings->stacks) &&
        expects_full_rings(s, os_context_switches() - switches,
                           os_clock_monotonic() - began + 1))
        limit_dumps(s, false);
    return true;
}

bool perf_sampler_open(struct perf_sampler *s,
                       const struct perf_sampler_settings *settings, struct os_wait *wait,
                       struct error *err)
{
    *s = (struct perf_sampler){.settings = settings, .wait = wait};
    s->layout = record_layout_of(settings->events.count > 1,
                                 stack_fields(settings->stacks) | settings->more_fields |
                                     event_fields(settings));
    s->layout.registers = (size_t)__builtin_popcountll(USER_REGISTERS);
    s->ring_size = choose_ring_size(settings);
    size_t rings = s->ring_size * os_cpus_possible() / 8 * 5;
    if (!ring_copier_init(&s->copier, &s->layout,
                          rings > QUEUES_LEAST ? rings : QUEUES_LEAST, err) ||
        !os_wait_watch(wait, ring_copier_fd(&s->copier), err))
        return false;
    if (!open_counters(s, err))
        return false;
    s->enabled = true;
    /* without the thread, records are copied when they are drained */
    return ring_copier_start(&s->copier, err) ||
           os_wait_watch(wait, ring_copier_rings_fd(&s->copier), err);
}

void perf_sampler_close(struct perf_sampler *s)
{
    close_all(s);
    if (s->wait)
        os_wait_unwatch(s->wait, ring_copier_fd(&s->copier));
    ring_copier_deinit(&s->copier);
    free(s->rings);
    free(s->heap);
    free(s->counters);
    *s = (struct perf_sampler){.of_cpus = s->of_cpus, /* reports come later */
                               .dump_limit = s->dump_limit,
                               .dumps_limited = s->dumps_limited};
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

void perf_sampler_enable(struct perf_sampler *s)
{
    for (size_t i = 0; i < s->counter_count; i++) {
        if (!s->settings->targets.from_exec || s->counters[i].tid == OS_ANY_THREAD)
            os_perf_enable(s->counters[i].fd);
    }
}

void perf_sampler_disable(struct perf_sampler *s)
{
    for (size_t i = 0; i < s->counter_count; i++)
        os_perf_disable(s->counters[i].fd);
    ring_copier_counters_ended(&s->copier);
    s->enabled = false;
}

/* --- Draining ---------------------------------------------------------------------- */

#define CLOCK_ERROR ((uint64_t)1000000000) /* ns; a later record has no valid time */

/* Reads the next record of the ring; false at its end. Skips invalid records, and those that are
 * later than `latest`: such a record would hold back its ring until that time. */
static bool fetch(const struct perf_sampler *s, struct perf_sampler_ring *r,
                  uint64_t latest)
{
    struct str bytes;
    while (ring_copier_peek(r->ring, &bytes)) {
        if (record_of(&s->layout, bytes, &r->next) && r->next.time <= latest)
            return true;
        ring_copier_consume(r->ring, bytes);
    }
    return false;
}

/* Moves the element at `at` down to its position in the heap of `count` elements. */
static void sift(struct perf_sampler *s, size_t at, size_t count)
{
    uint32_t *heap = s->heap, moved = heap[at];
    uint64_t time = s->rings[moved].next.time;
    for (;;) {
        size_t child = 2 * at + 1;
        if (child >= count)
            break;
        if (child + 1 < count &&
            s->rings[heap[child + 1]].next.time < s->rings[heap[child]].next.time)
            child++;
        if (s->rings[heap[child]].next.time >= time)
            break;
        heap[at] = heap[child];
        at = child;
    }
    heap[at] = moved;
}

static void end_round(struct perf_sampler *s, const struct record_sink *to)
{
    to->round(to->context);
    ring_copier_release(&s->copier);
}

void perf_sampler_drain(struct perf_sampler *s, const struct record_sink *to)
{
    uint64_t until = os_clock_monotonic();
    size_t count = 0, given = 0;
    bool any = false;
    ring_copier_begin(&s->copier);
    uint64_t latest = os_clock_monotonic() + CLOCK_ERROR;
    for (uint32_t i = 0; i < s->ring_count; i++)
        if (fetch(s, &s->rings[i], latest))
            s->heap[count++] = i;
    for (size_t i = count / 2; i-- > 0;)
        sift(s, i, count);
    while (count) {
        struct perf_sampler_ring *r = &s->rings[s->heap[0]];
        if (r->next.time > until && s->enabled)
            break; /* another CPU may still write an earlier record */
        any = true;
        given += r->next.bytes.len;
        if (!s->end || r->next.time <= s->end)
            record_pass(to, &r->next);
        ring_copier_consume(r->ring, r->next.bytes);
        if (!fetch(s, r, latest))
            s->heap[0] = s->heap[--count];
        if (count)
            sift(s, 0, count);
        if (given < ROUND_BYTES)
            continue;
        end_round(s, to);
        given = 0;
    }
    if (any && (given || count == 0))
        end_round(s, to);
}

uint64_t perf_sampler_lost(const struct perf_sampler *s)
{
    uint64_t all = s->lost_by_closed;
    for (size_t i = 0; i < s->counter_count; i++)
        all += lost_by(s->counters[i].fd);
    return all;
}

/* --- CPUs that come and go --------------------------------------------------------- */

static bool is_among(const uint32_t *cpus, size_t count, uint32_t cpu)
{
    for (size_t i = 0; i < count; i++)
        if (cpus[i] == cpu)
            return true;
    return false;
}

/* Closes the counters and the ring of a CPU; all its records have been read. */
static void close_cpu(struct perf_sampler *s, uint32_t cpu)
{
    struct perf_sampler_ring *ring = ring_of(s, cpu);
    size_t remaining = 0;
    if (ring) {
        close_ring(s, ring);
        *ring = s->rings[--s->ring_count];
    }
    for (size_t i = 0; i < s->counter_count; i++) {
        if (s->counters[i].cpu != cpu) {
            s->counters[remaining++] = s->counters[i];
            continue;
        }
        s->lost_by_closed += lost_by(s->counters[i].fd);
        close_counter(s, i);
    }
    s->counter_count = remaining;
}

/* Whether the counters of the CPU have stopped: the CPU went offline and came back
 * since the last check. Counters of a control group stop whenever no process of the
 * group runs. */
static bool has_stopped(const struct perf_sampler *s, struct perf_sampler_ring *ring)
{
    struct os_perf_state state;
    uint64_t before = ring->enabled;
    if (s->settings->targets.cgroup)
        return false;
    if (!os_perf_read(ring->counter, &state))
        return true;
    ring->enabled = state.enabled;
    return before && before == state.enabled;
}

/* Opens and enables the counters of a CPU; if that fails, the next check tries again. */
static bool follow_cpu(struct perf_sampler *s, uint32_t cpu)
{
    struct error ignored;
    size_t first = s->counter_count;
    if (!open_on_cpu(s, cpu, &ignored)) {
        close_cpu(s, cpu);
        return false;
    }
    for (size_t i = first; i < s->counter_count; i++)
        os_perf_enable(s->counters[i].fd);
    return true;
}

unsigned perf_sampler_follow_cpus(struct perf_sampler *s)
{
    const struct record_targets *t = &s->settings->targets;
    unsigned changed = 0;
    uint32_t *online = malloc(OS_CPUS_MAX * sizeof *online);
    size_t count = online ? os_cpus_online(online) : 0;
    for (size_t i = s->ring_count; count && t->everyone && i-- > 0;) {
        if (is_among(online, count, s->rings[i].cpu) && !has_stopped(s, &s->rings[i]))
            continue;
        close_cpu(s, s->rings[i].cpu);
        changed++;
    }
    for (size_t i = 0; t->everyone && i < count; i++) {
        bool needed = !t->cpus || is_among(t->cpus, t->cpu_count, online[i]);
        if (needed && !ring_of(s, online[i]))
            changed += follow_cpu(s, online[i]);
    }
    free(online);
    return changed;
}

bool perf_sampler_limit_dumps(struct perf_sampler *s)
{
    return !s->dump_limit && s->enabled && record_stacks_dumped(s->settings->stacks) &&
           ring_copier_was_late(&s->copier) && limit_dumps(s, true);
}

size_t perf_sampler_members(const struct perf_sampler *s, size_t event)
{
    size_t members = 0;
    for (size_t i = event + 1; i < s->settings->events.count; i++)
        members += leader_of(s, i) == event;
    return members;
}

size_t perf_sampler_ids(const struct perf_sampler *s, size_t event, uint64_t *ids,
                        size_t room)
{
    size_t count = 0;
    for (size_t i = 0; i < s->counter_count && count < room; i++)
        if (s->counters[i].event == event && os_perf_id(s->counters[i].fd, &ids[count]))
            count++;
    return count;
}
