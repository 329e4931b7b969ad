/* SPDX-License-Identifier: Apache-2.0 */
#include "web/core/tracks.h"
#include "base/sort.h"
#include "web/core/label_process.h"
#include <math.h>

#define CPUS_MAX 4096              /* larger numbers of CPUs are invalid */
#define GAPS_MAX ((size_t)1 << 16) /* gaps between samples of which the median is taken */
#define CPU_CELLS ((size_t)1 << 20) /* the most, of all CPUs */
#define CELLS_A_SAMPLE 16           /* more are not useful */
#define PUNCTUAL 1.2 /* a gap up to this part of a sample's length is no gap */

/* State of making the tracks. */
struct maker {
    struct tracks *tracks;
    const struct profile *p;
    struct arena scratch;
    event_id running, waiting; /* or 0 */
    double scale;              /* of running (slice_scale); waiting is in ns */
    double typical;            /* ns of a sample whose weight is not a time */
    double period;             /* ns that a sample of running stands for */
    uint32_t *track_of_thread;
    uint32_t *shown_of_thread; /* samples of both events with a time */
    uint32_t *first;           /* by track: its slices; one more at the end */
    size_t *cpu_first;         /* the same by CPU, of the samples of running */
    struct slice *slices;      /* by track and start, later by CPU and start; the ids are
                                  samples, later processes */
    size_t count;
    uint8_t *reasons; /* by stack: activity + 1, or 0 if not known yet */
    size_t used[ACTIVITY_COUNT], cap[ACTIVITY_COUNT];
    double sums[ACTIVITY_COUNT];
};

/* --- Samples ---------------------------------------------------------------------------- */

/* The kernel's idle task has the ID 0, and so does the first task of a core in an instruction
 * trace: the names differ. */
static bool is_idle_task(const struct profile *p, const struct thread *t)
{
    struct str name = t->tid == 0 ? profile_string(p, t->name) : STR("");
    return t->tid == 0 &&
           (name.len == 0 || name.ptr[0] == ':' || str_starts(name, STR("swapper")));
}

static bool is_shown(const struct maker *m, const struct sample *s)
{
    return s->time != TIME_NONE && s->time >= m->p->facts.time_first &&
           ((m->running && s->event == m->running) ||
            (m->waiting && s->event == m->waiting)) &&
           !is_idle_task(m->p, &m->p->threads[s->thread]);
}

/* NAN: the weight is not a time. */
static double length_of(const struct maker *m, const struct sample *s)
{
    double length = s->weight * (s->event == m->waiting ? 1 : m->scale);
    return length < 0 ? 0 : length;
}

/* A sample of a wait has the time of its end. */
static double begin_of(const struct maker *m, const struct sample *s)
{
    double at = (double)(s->time - m->p->facts.time_first);
    if (s->event != m->waiting)
        return at;
    double length = length_of(m, s);
    return length < at ? at - length : 0;
}

static bool ran_on_cpu(const struct maker *m, const struct sample *s)
{
    return m->running && s->event == m->running && s->cpu < CPUS_MAX;
}

/* Counts the samples of each thread, and those that are shown, by thread and by CPU. */
static void count_samples(struct maker *m, uint64_t *of_thread)
{
    const struct profile *p = m->p;
    for (size_t i = 0; i < p->sample_count; i++) {
        const struct sample *s = &p->samples[i];
        of_thread[s->thread] += s->count;
        if (!is_shown(m, s))
            continue;
        m->shown_of_thread[s->thread]++;
        if (ran_on_cpu(m, s))
            m->cpu_first[s->cpu + 2]++;
        m->count++;
    }
}

/* --- Threads and processes ------------------------------------------------------------ */

static bool before_by_id(const void *context, uint32_t a, uint32_t b)
{
    const struct profile *p = context;
    const struct thread *left = &p->threads[a], *right = &p->threads[b];
    if (left->pid != right->pid)
        return left->pid < right->pid;
    if (left->tid != right->tid)
        return left->tid < right->tid;
    return left->tid == ID_NONE && left->name < right->name;
}

/* One track per thread ID, also if the thread's name changes; threads without an ID have
 * one per name. */
static bool group_threads(struct maker *m)
{
    const struct profile *p = m->p;
    struct tracks *t = m->tracks;
    uint32_t *order = arena_alloc(&m->scratch, 2 * (p->thread_count + 1) * sizeof *order);
    uint64_t *most = arena_zalloc(&m->scratch, p->thread_count + 1, sizeof *most);
    uint64_t *samples = arena_zalloc(&m->scratch, p->thread_count + 1, sizeof *samples);
    m->track_of_thread =
        arena_zalloc(&m->scratch, p->thread_count + 1, sizeof *m->track_of_thread);
    t->threads = arena_zalloc(&t->arena, p->thread_count + 1, sizeof *t->threads);
    m->shown_of_thread =
        arena_zalloc(&m->scratch, p->thread_count + 1, sizeof *m->shown_of_thread);
    m->cpu_first = arena_zalloc(&m->scratch, CPUS_MAX + 2, sizeof *m->cpu_first);
    if (m->scratch.failed || !t->threads)
        return false;
    count_samples(m, samples);
    for (uint32_t i = 0; i < p->thread_count; i++)
        order[i] = i;
    sort_u32(order, p->thread_count, order + p->thread_count, before_by_id, p);
    for (size_t i = 0, last = 0; i < p->thread_count; i++) {
        const struct thread *thread = &p->threads[order[i]];
        if (!samples[order[i]])
            continue;
        if (t->thread_count == 0 || before_by_id(p, order[last], order[i]))
            t->threads[t->thread_count++] =
                (struct thread_track){.pid = thread->pid, .tid = thread->tid};
        last = i;
        struct thread_track *track = &t->threads[t->thread_count - 1];
        m->track_of_thread[order[i]] = (uint32_t)t->thread_count - 1;
        track->samples += samples[order[i]];
        if (samples[order[i]] > most[t->thread_count - 1]) {
            most[t->thread_count - 1] = samples[order[i]];
            track->name = thread->name;
        }
    }
    return true;
}

/* --- Slices ------------------------------------------------------------------------------ */

static bool choose_events(struct maker *m)
{
    const struct profile *p = m->p;
    event_id off = profile_find_kind(p, EVENT_WAITING);
    if (off && p->events[off].unit == UNIT_NANOSECONDS)
        m->waiting = off;
    m->running = profile_find_kind(p, EVENT_ON_CPU);
    bool is_heap = profile_find_kind(p, EVENT_LIVE) != 0; /* it shows no CPU time */
    if (is_heap && !m->running && !m->waiting)
        return false;
    for (event_id e = 1; !m->running && !is_heap && e < p->event_count; e++)
        if (p->events[e].kind != EVENT_WAITING)
            m->running = e;
    m->scale = slice_scale(p, m->running);
    return p->facts.time_first != TIME_NONE && !p->facts.differential;
}

/* The slices by track and start. */
static bool slice_tracks(struct maker *m)
{
    const struct profile *p = m->p;
    size_t tracks = m->tracks->thread_count;
    uint32_t *next = arena_zalloc(&m->scratch, tracks + 2, sizeof *next);
    m->slices = arena_alloc(&m->scratch, (m->count + 1) * sizeof *m->slices);
    if (!next || !m->slices)
        return false;
    for (size_t i = 0; i < p->thread_count; i++)
        if (m->shown_of_thread[i])
            next[m->track_of_thread[i] + 2] += m->shown_of_thread[i];
    for (size_t t = 2; t < tracks + 2; t++)
        next[t] += next[t - 1];
    for (size_t i = 0; i < p->sample_count; i++) {
        const struct sample *s = &p->samples[i];
        if (is_shown(m, s))
            m->slices[next[m->track_of_thread[s->thread] + 1]++] = (struct slice){
                begin_of(m, s), length_of(m, s), (uint32_t)i, s->event == m->waiting};
    }
    m->first = next;
    for (size_t t = 0; t < tracks; t++)
        if (!slices_sort(m->slices + next[t], next[t + 1] - next[t]))
            return false;
    return true;
}

/* The median time between running samples of a thread: the length of samples whose weight is
 * not a time. */
static bool find_typical(struct maker *m)
{
    struct sort_key *gaps = arena_alloc(&m->scratch, 2 * (GAPS_MAX + 1) * sizeof *gaps);
    size_t count = 0;
    if (!gaps)
        return false;
    for (size_t t = 0; t < m->tracks->thread_count; t++)
        for (uint32_t i = m->first[t]; i + 1 < m->first[t + 1] && count < GAPS_MAX; i++) {
            const struct slice *a = &m->slices[i], *b = a + 1;
            if (!a->waits && !b->waits && b->begin > a->begin)
                gaps[count++] = (struct sort_key){(uint64_t)(b->begin - a->begin), 0};
        }
    sort_keys(gaps, count, gaps + count);
    m->typical = count ? (double)gaps[count / 2].key : m->typical;
    m->period = m->typical;
    for (size_t i = m->count; i-- > 0;) {
        struct slice *slice = &m->slices[i];
        if (isnan(slice->length))
            slice->length = m->typical;
        if (!slice->waits)
            m->period = slice->length;
    }
    return true;
}

/* --- Reasons of waits ------------------------------------------------------------------- */

static bool starts_with_any(struct str name, const char *const *beginnings)
{
    for (; *beginnings; beginnings++)
        if (str_starts(name, str_of(*beginnings)))
            return true;
    return false;
}

enum activity activity_of_name(struct str name)
{
    static const char *const idle[] = {
        "do_poll",    "do_sys_poll", "ep_poll",   "do_epoll", "do_select", "core_sys_sel",
        "inotify_re", "eventfd_re",  "io_cqring", "n_tty_",   "poll",      "ppoll",
        "epoll_",     "select",      "pselect",   "__poll",   "__select",  NULL};
    static const char *const network[] = {
        "sk_wait_data", "tcp_",      "inet_",      "unix_",         "__skb_wait",
        "recv",         "send",      "accept",     "connect",       "udp_",
        "pipe_",        "anon_pipe", "wait_woken", "__libc_accept", NULL};
    return starts_with_any(name, idle)      ? ACTIVITY_SLEEP
           : starts_with_any(name, network) ? ACTIVITY_NETWORK
                                            : ACTIVITY_RUNNING;
}

enum activity activity_of_marker(struct str name)
{
    return str_equal(name, STR("[lock]"))        ? ACTIVITY_LOCK
           : str_equal(name, STR("[preempted]")) ? ACTIVITY_CPU
           : str_equal(name, STR("[io]"))        ? ACTIVITY_DISK
                                                 : ACTIVITY_SLEEP;
}

/* Input and output: of a disk, of a network, or of anything that a poll waits for. */
static enum activity input_or_output(const struct profile *p, stack_id at)
{
    for (int i = 0; at && i < REASON_FRAMES; i++, at = p->stacks[at].parent) {
        struct str name = profile_string(p, p->frames[p->stacks[at].frame].name);
        enum activity known = activity_of_name(name);
        if (known != ACTIVITY_RUNNING)
            return known;
    }
    return ACTIVITY_DISK;
}

enum activity wait_activity(const struct profile *p, stack_id stack)
{
    stack_id at = stack;
    while (at && p->frames[p->stacks[at].frame].kind == FRAME_WAKER)
        at = p->stacks[at].parent;
    for (int i = 0; at && i < REASON_FRAMES; i++, at = p->stacks[at].parent) {
        const struct frame *f = &p->frames[p->stacks[at].frame];
        if (f->kind != FRAME_MARKER)
            continue;
        enum activity known = activity_of_marker(profile_string(p, f->name));
        if (known == ACTIVITY_DISK)
            return input_or_output(p, p->stacks[at].parent);
        if (known != ACTIVITY_SLEEP)
            return known;
    }
    return ACTIVITY_SLEEP;
}

static enum activity activity_of(struct maker *m, const struct sample *s)
{
    if (s->event == m->running)
        return ACTIVITY_RUNNING;
    if (!m->reasons[s->stack])
        m->reasons[s->stack] = (uint8_t)(wait_activity(m->p, s->stack) + 1);
    return (enum activity)(m->reasons[s->stack] - 1);
}

/* --- Intervals ---------------------------------------------------------------------------- */

/* Appends a time to the thread's track, or extends its last interval. */
static bool add(struct maker *m, struct thread_track *track, enum activity kind,
                double begin, double end)
{
    struct tracks *t = m->tracks;
    struct interval *items = t->intervals[kind];
    size_t used = m->used[kind];
    double length = end - begin;
    bool extends = used > track->first[kind] &&
                   begin <= items[used - 1].begin + (m->sums[kind] - items[used - 1].sum);
    if (!extends) {
        items = arena_grow(&t->arena, items, &m->cap[kind], used + 2, sizeof *items);
        if (!items)
            return false;
        items[used] = (struct interval){begin, m->sums[kind]};
        t->intervals[kind] = items;
        m->used[kind]++;
    }
    m->sums[kind] += length;
    track->time[kind] += length;
    if (end > t->to)
        t->to = end;
    return true;
}

/* The running samples from `first` to `stop`, each for as long as its weight, but at most
 * until the next one or `end`. */
static bool add_samples(struct maker *m, struct thread_track *track, uint32_t first,
                        uint32_t stop, double end)
{
    for (uint32_t i = first; i < stop; i++) {
        const struct slice *s = &m->slices[i];
        double begin = s->begin, length = s->length, to = begin + length;
        double next = i + 1 < stop ? s[1].begin : end;
        if (to > next || (i + 1 < stop && next - begin < PUNCTUAL * length))
            to = next;
        if (to > begin && !add(m, track, ACTIVITY_RUNNING, begin, to))
            return false;
    }
    return true;
}

/* Adds the interval between two waits; `begin` is -1 before the first one. The thread ran
 * during all of it. If it has too few samples for that, switches were lost. */
static bool add_running(struct maker *m, struct thread_track *track, uint32_t first,
                        uint32_t stop, double begin, double end)
{
    double most = (stop - first + 1) * 2 * m->period;
    if (begin >= 0 && end > begin && end - begin <= most)
        return add(m, track, ACTIVITY_RUNNING, begin, end);
    return add_samples(m, track, first, stop, end);
}

/* A wait lasts at most until the next one begins. */
static double wait_end(const struct maker *m, uint32_t i, uint32_t stop)
{
    double end = m->slices[i].begin + m->slices[i].length;
    for (uint32_t j = i + 1; j < stop; j++) {
        const struct slice *next = &m->slices[j];
        if (next->begin >= end)
            break;
        if (next->waits)
            return next->begin;
    }
    return end;
}

/* Its samples one after the other: waits, and in between the time in which it ran. */
static bool fill_track(struct maker *m, uint32_t index)
{
    struct thread_track *track = &m->tracks->threads[index];
    uint32_t stop = m->first[index + 1], first = m->first[index];
    double woken = -1;
    for (unsigned k = 0; k < ACTIVITY_COUNT; k++)
        track->first[k] = (uint32_t)m->used[k];
    for (uint32_t i = first; i < stop; i++) {
        const struct slice *s = &m->slices[i];
        if (!s->waits)
            continue;
        double begin = s->begin, end = wait_end(m, i, stop);
        if (!add_running(m, track, first, i, woken, begin) ||
            (end > begin &&
             !add(m, track, activity_of(m, &m->p->samples[s->id]), begin, end)))
            return false;
        woken = end;
        first = i + 1;
    }
    if (!add_samples(m, track, first, stop, INFINITY))
        return false;
    for (unsigned k = 0; k < ACTIVITY_COUNT; k++)
        track->stop[k] = (uint32_t)m->used[k];
    return true;
}

/* By track, the time of each running sample and the sum of the weights before it. */
static bool add_up_weights(struct maker *m)
{
    struct tracks *t = m->tracks;
    double sum = 0;
    uint32_t used = 0;
    t->weights = arena_alloc(&t->arena, (m->count + 1) * sizeof *t->weights);
    if (!t->weights)
        return false;
    for (uint32_t i = 0; i < t->thread_count; i++) {
        struct thread_track *track = &t->threads[i];
        track->first_weight = used;
        for (uint32_t at = m->first[i]; at < m->first[i + 1]; at++) {
            const struct slice *s = &m->slices[at];
            if (s->waits)
                continue;
            t->weights[used++] = (struct interval){s->begin, sum};
            sum += s->length;
            track->cpu_time += s->length;
        }
        track->stop_weight = used;
    }
    t->weights[used] = (struct interval){0, sum};
    return true;
}

/* Each activity's intervals end with one that has only the sum. */
static bool fill_tracks(struct maker *m)
{
    struct tracks *t = m->tracks;
    m->reasons = arena_zalloc(&m->scratch, m->p->stack_count + 1, 1);
    if (!m->reasons || !add_up_weights(m))
        return false;
    for (uint32_t i = 0; i < t->thread_count; i++)
        if (!fill_track(m, i))
            return false;
    for (unsigned k = 0; k < ACTIVITY_COUNT; k++) {
        t->intervals[k] = arena_grow(&t->arena, t->intervals[k], &m->cap[k],
                                     m->used[k] + 1, sizeof *t->intervals[k]);
        if (!t->intervals[k])
            return false;
        t->intervals[k][m->used[k]] = (struct interval){0, m->sums[k]};
    }
    return true;
}

/* --- Processes ------------------------------------------------------------------------- */

static double waits_in(const double *time)
{
    double sum = 0;
    for (unsigned k = ACTIVITY_LOCK; k < ACTIVITY_SLEEP; k++)
        sum += time[k];
    return sum;
}

/* By CPU time, then by time of waiting, then of sleep. */
static bool busier(double cpu_a, const double *a, double cpu_b, const double *b)
{
    double left = waits_in(a), right = waits_in(b);
    if (cpu_a != cpu_b)
        return cpu_a > cpu_b;
    if (left != right)
        return left > right;
    return a[ACTIVITY_SLEEP] > b[ACTIVITY_SLEEP];
}

static bool before_by_process(const void *context, uint32_t a, uint32_t b)
{
    const struct process_track *left = (const struct process_track *)context + a;
    const struct process_track *right = (const struct process_track *)context + b;
    return busier(left->cpu_time, left->time, right->cpu_time, right->time);
}

static bool before_by_activity(const void *context, uint32_t a, uint32_t b)
{
    const struct tracks *t = context;
    const struct thread_track *left = &t->threads[a], *right = &t->threads[b];
    if (left->process != right->process)
        return left->process < right->process;
    return busier(left->cpu_time, left->time, right->cpu_time, right->time);
}

static void add_process(struct process_track *to, const struct process_track *from)
{
    to->processes += from->processes;
    to->ran += from->ran;
    to->count += from->count;
    to->cpu_time += from->cpu_time;
    for (unsigned k = 0; k < ACTIVITY_COUNT; k++)
        to->time[k] += from->time[k];
}

/* Makes one of the processes with the same name. */
static bool merge_processes(struct maker *m)
{
    struct tracks *t = m->tracks;
    struct idmap by_name = {0};
    uint32_t *merged = arena_alloc(&m->scratch, (t->process_count + 1) * sizeof *merged);
    size_t count = 0;
    for (uint32_t i = 0; merged && i < t->process_count; i++) {
        t->processes[i].ran = t->processes[i].cpu_time > 0;
        const struct process_track process = t->processes[i];
        uint64_t *known = process.pid == ID_NONE
                              ? NULL
                              : idmap_put(&by_name, &m->scratch, process.name);
        if (process.pid != ID_NONE && !known)
            return false;
        merged[i] = known && *known ? (uint32_t)*known - 1 : (uint32_t)count;
        if (merged[i] < count)
            add_process(&t->processes[merged[i]], &process);
        else
            t->processes[count++] = process;
        if (known)
            *known = merged[i] + 1U;
    }
    if (!merged)
        return false;
    t->process_count = count;
    for (size_t i = 0; i < t->thread_count; i++)
        t->threads[i].process = merged[t->threads[i].process];
    return true;
}

/* Makes processes of the threads, which are in the order of their process IDs. A process
 * has the name of its main thread, otherwise of the first one. */
static bool make_processes(struct maker *m)
{
    struct tracks *t = m->tracks;
    t->processes = arena_zalloc(&t->arena, t->thread_count + 1, sizeof *t->processes);
    if (!t->processes)
        return false;
    for (size_t i = 0; i < t->thread_count; i++) {
        struct thread_track *thread = &t->threads[i];
        if (i == 0 || thread->pid != thread[-1].pid || thread->pid == ID_NONE)
            t->processes[t->process_count++] = (struct process_track){
                .pid = thread->pid, .name = thread->name, .processes = 1};
        struct process_track *process = &t->processes[t->process_count - 1];
        thread->process = (uint32_t)t->process_count - 1;
        if (is_label_process(thread->pid))
            process->name = label_process_name(m->p, thread->pid);
        process->count++;
        process->cpu_time += thread->cpu_time;
        if (thread->tid == thread->pid)
            process->name = thread->name;
        for (unsigned k = 0; k < ACTIVITY_COUNT; k++)
            process->time[k] += thread->time[k];
    }
    return merge_processes(m);
}

static bool index_processes(struct tracks *t)
{
    for (size_t i = 0; i < t->thread_count; i++) {
        const struct thread_track *thread = &t->threads[i];
        uint64_t *process =
            idmap_put(&t->process_of_pid, &t->arena, (uint64_t)thread->pid);
        if (!process)
            return false;
        *process = thread->process + 1U;
    }
    return true;
}

/* Sorts processes and threads by activity. */
static bool sort_tracks(struct maker *m)
{
    struct tracks *t = m->tracks;
    size_t most = t->thread_count + 1;
    uint32_t *order = arena_alloc(&m->scratch, 2 * most * sizeof *order);
    uint32_t *rank = arena_alloc(&m->scratch, most * sizeof *rank);
    struct process_track *processes = arena_zalloc(&t->arena, most, sizeof *processes);
    struct thread_track *threads = arena_zalloc(&t->arena, most, sizeof *threads);
    if (!order || !rank || !processes || !threads)
        return false;
    for (uint32_t i = 0; i < t->process_count; i++)
        order[i] = i;
    sort_u32(order, t->process_count, order + most, before_by_process, t->processes);
    for (uint32_t i = 0; i < t->process_count; i++) {
        processes[i] = t->processes[order[i]];
        rank[order[i]] = i;
    }
    t->processes = processes;
    for (uint32_t i = 0; i < t->thread_count; i++) {
        t->threads[i].process = rank[t->threads[i].process];
        order[i] = i;
    }
    sort_u32(order, t->thread_count, order + most, before_by_activity, t);
    for (uint32_t i = 0; i < t->thread_count; i++) {
        threads[i] = t->threads[order[i]];
        if (i == 0 || threads[i].process != threads[i - 1].process)
            processes[threads[i].process].first = i;
        rank[order[i]] = i;
    }
    for (size_t i = 0; i < m->p->thread_count; i++)
        m->track_of_thread[i] = rank[m->track_of_thread[i]];
    t->threads = threads;
    return true;
}

/* --- CPUs ------------------------------------------------------------------------------ */

/* The turns of one CPU. Slices of one process in a row are one turn. */
static void fill_cpu(struct maker *m, struct cpu_track *cpu, const struct slice *slices,
                     size_t count)
{
    struct tracks *t = m->tracks;
    for (size_t i = 0; i < count; i++) {
        const struct slice *s = &slices[i];
        double begin = s->begin, end = begin + s->length;
        if (i + 1 < count) {
            double next = s[1].begin;
            if (end > next || next - begin < PUNCTUAL * s->length)
                end = next;
        }
        if (end <= begin)
            continue;
        struct turn *last = cpu->stop > cpu->first ? &t->turns[cpu->stop - 1] : NULL;
        if (last && last->process == s->id && last->end >= begin)
            last->end = end;
        else
            t->turns[cpu->stop++] = (struct turn){begin, end, s->id};
    }
}

/* The weights of the CPU's samples: the CPUs have as much CPU time as the machine, although turns
 * include the gaps between samples that are late. */
static bool add_up_cpu(struct maker *m, struct cpu_track *cpu, const struct slice *slices,
                       size_t count)
{
    struct tracks *t = m->tracks;
    size_t most = CPU_CELLS / t->cpu_count, useful = count * CELLS_A_SAMPLE;
    size_t cells = useful < most ? useful : most;
    double *weights = arena_zalloc(&t->arena, cells + 1, sizeof *weights);
    for (size_t i = 0; weights && i < count; i++) {
        double at = t->to > 0 ? slices[i].begin / t->to * (double)cells : 0;
        weights[1 + (at < (double)cells ? (size_t)at : cells - 1)] += slices[i].length;
    }
    for (size_t c = 0; weights && c < cells; c++)
        weights[c + 1] += weights[c];
    cpu->weights = weights;
    cpu->weight_cells = (uint32_t)cells;
    return weights != NULL;
}

/* The slices by CPU, in the order of the samples. The order by track is not needed any
 * more. */
static void slice_cpus(struct maker *m)
{
    const struct profile *p = m->p;
    size_t *next = m->cpu_first;
    for (size_t c = 2; c < CPUS_MAX + 2; c++)
        next[c] += next[c - 1];
    for (size_t i = 0; i < p->sample_count; i++) {
        const struct sample *s = &p->samples[i];
        if (!is_shown(m, s) || !ran_on_cpu(m, s))
            continue;
        double length = length_of(m, s);
        uint32_t track = m->track_of_thread[s->thread];
        m->slices[next[s->cpu + 1]++] =
            (struct slice){begin_of(m, s), isnan(length) ? m->typical : length,
                           m->tracks->threads[track].process, false};
    }
}

static bool make_cpus(struct maker *m)
{
    struct tracks *t = m->tracks;
    const size_t *first = m->cpu_first;
    t->cpus = arena_zalloc(&t->arena, CPUS_MAX, sizeof *t->cpus);
    t->turns = arena_alloc(&t->arena, (m->count + 1) * sizeof *t->turns);
    if (!t->cpus || !t->turns)
        return false;
    slice_cpus(m);
    for (uint32_t c = 0; c < CPUS_MAX; c++)
        if (first[c + 1] > first[c])
            t->cpus[t->cpu_count++].cpu = c;
    for (size_t i = 0; i < t->cpu_count; i++) {
        struct cpu_track *cpu = &t->cpus[i];
        size_t begin = first[cpu->cpu], count = first[cpu->cpu + 1] - begin;
        cpu->first = cpu->stop = (uint32_t)begin;
        if (!slices_sort(m->slices + begin, count) ||
            !add_up_cpu(m, cpu, m->slices + begin, count))
            return false;
        fill_cpu(m, cpu, m->slices + begin, count);
    }
    return true;
}

bool tracks_init(struct tracks *t, const struct profile *p, struct error *err)
{
    struct maker m = {.tracks = t, .p = p, .typical = 1e6};
    *t = (struct tracks){.p = p};
    bool ok = true;
    if (choose_events(&m)) {
        ok = group_threads(&m);
        if (ok && m.count)
            ok = slice_tracks(&m) && find_typical(&m) && fill_tracks(&m) &&
                 make_processes(&m) && sort_tracks(&m) && index_processes(t) &&
                 make_cpus(&m);
    }
    ok = ok && memory_init(&t->memory, p, MEMORY_FUNCTION, err);
    if (ok && t->memory.count) {
        double last = (double)(p->facts.time_last - p->facts.time_first);
        t->to = last > t->to ? last : t->to;
    }
    ok = ok && tracks_make_cells(t);
    t->timed = ok && t->to > 0;
    arena_deinit(&m.scratch);
    t->made = ok;
    return ok || error_memory(err);
}

void tracks_deinit(struct tracks *t)
{
    memory_deinit(&t->memory);
    arena_deinit(&t->arena);
    *t = (struct tracks){0};
}
