/* SPDX-License-Identifier: Apache-2.0 */
#include "record/perf_sampler.h"
#include "base/array.h"
#include "os/machine.h"
#include "record/perf_sampler_attributes.h"
#include "record/refusal.h"
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

/* Bytes of a dump of events without a rate, if whole ones are too many for the rings. */
#define DUMP_LIMIT 4096

/* A round ends after this number of bytes, so that the queues get their space back. */
#define ROUND_BYTES ((size_t)1 << 20)

/* Copies of records that wait for the stages: five eighths of all rings, and at least that. Copies
 * have only the part of a dump that has content. With this size the whole recorder usually needs
 * less than 64 MB on a small machine. */
#define QUEUES_LEAST ((size_t)28 << 20)

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
    size_t leader = perf_sampler_leader(s, event);
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
    return perf_sampler_is_unrated(e) && !e->group &&
           s->attrs[event].stack_size > DUMP_LIMIT;
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
        attr.flags &= ~(PERF_FLAG_FREQUENCY | PERF_SAMPLER_PRECISION);
        attr.period = 1;
    } else if (of_cpus) {
        attr.flags &=
            ~(PERF_SAMPLER_TRACKING | PERF_FLAG_INHERIT | PERF_FLAG_ENABLE_ON_EXEC);
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
        s->refused = perf_sampler_leader(s, event) != event && fd == -EINVAL
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
    attr.flags &=
        ~(PERF_SAMPLER_TRACKING | PERF_FLAG_WATERMARK | PERF_FLAG_SAMPLE_ID_ALL);
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
 * further until the process runs. With smaller parts, it would wake up more often. */
#define WAKE_PARTS 4

static void set_attrs(struct perf_sampler *s)
{
    for (size_t i = 0; i < s->settings->events.count; i++) {
        s->attrs[i] = perf_sampler_attr(s, i);
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
    if (!s->locked_too_much || s->ring_size <= PERF_SAMPLER_RING_LEAST)
        return false;
    s->locked_too_much = false;
    s->ring_size /= 2;
    return true;
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
        perf_sampler_fills_rings(s, os_context_switches() - switches,
                                 os_clock_monotonic() - began + 1))
        limit_dumps(s, false);
    return true;
}

bool perf_sampler_open(struct perf_sampler *s,
                       const struct perf_sampler_settings *settings, struct os_wait *wait,
                       struct error *err)
{
    *s = (struct perf_sampler){.settings = settings, .wait = wait};
    s->layout =
        record_layout_of(settings->events.count > 1, perf_sampler_fields(settings));
    s->layout.registers = perf_sampler_registers();
    s->ring_size = perf_sampler_ring_size(settings);
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
        members += perf_sampler_leader(s, i) == event;
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
