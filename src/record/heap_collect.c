/* SPDX-License-Identifier: Apache-2.0 */
#include "record/heap_collect.h"
#include "os/child.h"
#include "os/machine.h"
#include "os/proc.h"
#include "os/shared_memory.h"
#include "os/wait.h"
#include "record/heap_attach.h"
#include "record/heap_environment.h"
#include <stdlib.h>

/* How long to wait when there are few records: a short time, and a longer one after some
 * passes with as few. */
#define BUSY_MS 1
#define IDLE_MS 10
#define IDLE_PASSES 20
#define FEW_RECORDS 64

/* A record that a thread is writing is awaited for this number of passes without progress: the
 * thread may have been killed. */
#define GAP_PASSES 200

/* Records that are read at once. */
#define BATCH 16

/* What a thread has written is visible after this time, in ticks or nanoseconds. */
#define VISIBLE_AFTER 3000000

/* Lanes of ended threads are freed after CLEAN_PASSES passes without records, and in each pass
 * if more than CLEAN_USED lanes are used. */
#define CLEAN_PASSES 32
#define CLEAN_USED (HEAP_LANES / 2)

struct lane {
    char *ring; /* mapped twice; NULL: not mapped yet */
    struct heap_origin origin;
    uint64_t claimed, head, tail; /* as of this pass; tail: what was applied */
    uint64_t next;                /* time of the record at the tail, not before `last` */
    uint64_t last;                /* time of the last record that was applied */
    bool is_used;
    bool is_busy; /* a record was being written when this pass began */
};

struct collector {
    const struct heap_collect_settings *settings;
    struct heap_events *events;
    struct os_shared_memory memory;
    struct heap_shared *shared;
    struct os_child child;             /* of a command */
    struct heap_attachment attachment; /* of a process */
    size_t added;                      /* processes that were added to it */
    struct error left;                 /* why it could not be restored */
    struct lane lanes[HEAP_LANES];
    /* Lanes with records in this pass: a binary heap, the smallest time first. */
    uint32_t used[HEAP_LANES];
    size_t used_count;
    size_t open_count; /* lanes that threads have claimed */
    uint64_t limit;    /* all records of before this time are known */
    uint64_t latest;   /* no record of this pass can have a later time */
    uint64_t lost;
    uint64_t start_ns; /* when the time of the records is 0 */
    uint64_t end;      /* of the recording, in units of unit_ns */
    double unit_ns;
};

/* --- Lanes -------------------------------------------------------------------------- */

static struct str lane_bytes(const struct lane *l)
{
    return (struct str){l->ring + (l->tail & (HEAP_LANE_SIZE - 1)),
                        (size_t)(l->head - l->tail)};
}

/* A damaged lane is skipped up to its head. */
static void lane_skip(struct collector *c, struct lane *l)
{
    c->events->damaged++;
    l->tail = l->head;
    __atomic_store_n(&c->shared->lanes[l - c->lanes].tail, l->tail, __ATOMIC_RELEASE);
}

/* Reads the time of the lane's next record. A time that has not come yet is damaged: all
 * later records of the lane would get it. */
static bool lane_has_record(struct collector *c, struct lane *l)
{
    if (l->head == l->tail)
        return false;
    uint64_t time = heap_event_time(lane_bytes(l));
    if (time > c->latest) {
        lane_skip(c, l);
        return false;
    }
    l->next = time > l->last ? time : l->last;
    return true;
}

/* Maps the ring of a lane that a thread has claimed. */
static bool lane_open(struct collector *c, uint32_t number)
{
    const struct heap_lane *shared = &c->shared->lanes[number];
    struct lane *l = &c->lanes[number];
    struct error err;
    if (__atomic_load_n(&shared->state, __ATOMIC_ACQUIRE) != HEAP_LANE_USED)
        return false;
    if (l->is_used)
        return true;
    if (!l->ring)
        l->ring = os_shared_memory_map(
            &c->memory, HEAP_LANES_AT + number * HEAP_LANE_SIZE, HEAP_LANE_SIZE, 2, &err);
    if (!l->ring)
        return false;
    heap_origin_reset(&l->origin, shared->pid);
    *l = (struct lane){.ring = l->ring,
                       .origin = l->origin,
                       .claimed = shared->claimed,
                       .is_used = true};
    return true;
}

static uint64_t now(const struct collector *c)
{
    uint64_t time = c->shared->has_ticks ? heap_ticks() : os_clock_local();
    return time - c->shared->started;
}

/* Reads how far the lane has been written. */
static void lane_read(struct collector *c, uint32_t number)
{
    struct heap_lane *shared = &c->shared->lanes[number];
    struct lane *l = &c->lanes[number];
    l->is_busy = __atomic_load_n(&shared->is_busy, __ATOMIC_ACQUIRE);
    uint64_t head = __atomic_load_n(&shared->head, __ATOMIC_ACQUIRE);
    if (head - l->tail <= HEAP_LANE_SIZE)
        l->head = head;
}

/* Moves the lane at `at` down to where it belongs in the heap. */
static void sift(struct collector *c, size_t at)
{
    uint32_t moved = c->used[at];
    for (;;) {
        size_t child = 2 * at + 1;
        if (child + 1 < c->used_count &&
            c->lanes[c->used[child + 1]].next < c->lanes[c->used[child]].next)
            child++;
        if (child >= c->used_count ||
            c->lanes[c->used[child]].next >= c->lanes[moved].next)
            break;
        c->used[at] = c->used[child];
        at = child;
    }
    c->used[at] = moved;
}

/* Begins a pass. A thread that is writing a record has its time already; that of a thread
 * that begins later is later than the limit. */
static void find_records(struct collector *c)
{
    uint64_t time = now(c);
    if (time)
        c->events->unit_ns = (double)(os_clock_monotonic() - c->start_ns) / (double)time;
    c->limit = time > VISIBLE_AFTER ? time - VISIBLE_AFTER : 0;
    c->used_count = c->open_count = 0;
    for (uint32_t i = 0; i < HEAP_LANES; i++)
        if (lane_open(c, i)) {
            c->open_count++;
            lane_read(c, i);
        }
    c->latest = now(c) + VISIBLE_AFTER;
    for (uint32_t i = 0; i < HEAP_LANES; i++) {
        struct lane *l = &c->lanes[i];
        if (!l->is_used)
            continue;
        if (lane_has_record(c, l))
            c->used[c->used_count++] = i;
        else if (l->is_busy && l->last < c->limit)
            c->limit = l->last;
    }
    for (size_t i = c->used_count / 2; i-- > 0;)
        sift(c, i);
}

static void lane_free(struct collector *c, uint32_t number)
{
    struct heap_lane *shared = &c->shared->lanes[number];
    c->lost += __atomic_load_n(&shared->lost, __ATOMIC_RELAXED);
    c->lanes[number].is_used = false;
    os_shared_memory_discard(&c->memory, HEAP_LANES_AT + number * HEAP_LANE_SIZE,
                             HEAP_LANE_SIZE);
    shared->head = shared->tail = shared->lost = shared->is_busy = 0;
    __atomic_store_n(&shared->state, HEAP_LANE_FREE, __ATOMIC_RELEASE);
}

/* Ids are reused: of two lanes of one thread, the one that was claimed first belongs to
 * a thread that has ended, or to the image before an exec. */
static bool is_superseded(const struct collector *c, uint32_t number)
{
    const struct heap_lane *shared = &c->shared->lanes[number];
    for (uint32_t i = 0; i < HEAP_LANES; i++)
        if (i != number && c->lanes[i].is_used &&
            c->shared->lanes[i].pid == shared->pid &&
            c->shared->lanes[i].tid == shared->tid &&
            c->lanes[i].claimed > c->lanes[number].claimed)
            return true;
    return false;
}

/* Frees the lanes of threads that have ended; the memory of their processes is gone, too. */
static void free_lanes(struct collector *c)
{
    bool freed = false;
    for (uint32_t i = 0; i < HEAP_LANES; i++) {
        const struct heap_lane *shared = &c->shared->lanes[i];
        struct lane *l = &c->lanes[i];
        if (!l->is_used ||
            (os_thread_exists(shared->pid, shared->tid) && !is_superseded(c, i)))
            continue;
        if (__atomic_load_n(&shared->head, __ATOMIC_ACQUIRE) == l->tail) {
            lane_free(c, i);
            freed = true;
        }
    }
    if (freed)
        heap_events_end_dead(c->events);
}

/* --- Order -------------------------------------------------------------------------- */

/* The lane's next records up to a time, of which the memory is read in advance. */
struct batch {
    struct heap_entry entries[BATCH];
    size_t count;
};

/* Reads records up to a time. */
static void read_batch(struct collector *c, struct lane *l, uint64_t until,
                       struct batch *b)
{
    b->count = 0;
    do {
        struct heap_entry *entry = &b->entries[b->count];
        size_t length = heap_event_read(entry, lane_bytes(l));
        if (!length) {
            lane_skip(c, l);
            break;
        }
        entry->time = l->last = l->next;
        l->tail += length;
        heap_events_prefetch(c->events, &l->origin, entry);
        b->count++;
    } while (b->count < BATCH && lane_has_record(c, l) && l->next <= until);
}

/* Applies the lane's records up to a time. Returns their number. */
static size_t apply_lane(struct collector *c, uint32_t number, uint64_t until)
{
    struct lane *l = &c->lanes[number];
    struct batch b;
    size_t applied = 0;
    do {
        read_batch(c, l, until, &b);
        for (size_t i = 0; i < b.count; i++)
            heap_events_apply(c->events, &l->origin, &b.entries[i]);
        applied += b.count;
        __atomic_store_n(&c->shared->lanes[number].tail, l->tail, __ATOMIC_RELEASE);
    } while (lane_has_record(c, l) && l->next <= until);
    return applied;
}

/* The time of the first record of the other lanes. */
static uint64_t second_time(const struct collector *c)
{
    uint64_t second = UINT64_MAX;
    for (size_t i = 1; i < 3 && i < c->used_count; i++)
        if (c->lanes[c->used[i]].next < second)
            second = c->lanes[c->used[i]].next;
    return second;
}

/* Applies the records of this pass in their order: up to the first one that may be
 * missing, or all if nothing is awaited. Returns their number. */
static size_t apply_records(struct collector *c, bool awaits)
{
    size_t applied = 0;
    while (c->used_count) {
        uint32_t first = c->used[0];
        struct lane *l = &c->lanes[first];
        uint64_t until = second_time(c);
        if (awaits && l->next > c->limit)
            break;
        if (awaits && until > c->limit)
            until = c->limit;
        applied += apply_lane(c, first, until);
        if (l->head == l->tail) {
            c->used[0] = c->used[--c->used_count];
            if (l->is_busy && l->last < c->limit)
                c->limit = l->last;
        }
        sift(c, 0);
    }
    return applied;
}

/* A process that has ended may have records that were not read yet. */
static bool process_runs(void *context, uint32_t pid)
{
    const struct collector *c = context;
    if (os_process_runs(pid))
        return true;
    for (uint32_t i = 0; i < HEAP_LANES; i++) {
        const struct heap_lane *shared = &c->shared->lanes[i];
        bool is_used =
            __atomic_load_n(&shared->state, __ATOMIC_ACQUIRE) == HEAP_LANE_USED;
        uint64_t tail = c->lanes[i].is_used ? c->lanes[i].tail : 0;
        if (is_used && shared->pid == pid &&
            __atomic_load_n(&shared->head, __ATOMIC_ACQUIRE) != tail)
            return true;
    }
    return false;
}

/* --- The program -------------------------------------------------------------------- */

static void drain(struct collector *c)
{
    do
        find_records(c);
    while (apply_records(c, false));
}

/* What the waiting depends on: passes with few records, and without the awaited one. */
struct pace {
    unsigned idle, gap;
};

/* Applies the records that there are, and waits for more. Returns what arrived. */
static unsigned collect_once(struct collector *c, struct os_wait *wait, struct pace *p)
{
    find_records(c);
    bool is_gap = c->used_count && p->gap >= GAP_PASSES;
    size_t applied = apply_records(c, !is_gap);
    p->gap = applied || !c->used_count ? 0 : p->gap + 1;
    p->idle = applied < FEW_RECORDS ? p->idle + 1 : 0;
    if (p->idle % CLEAN_PASSES == CLEAN_PASSES - 1 || c->open_count > CLEAN_USED)
        free_lanes(c);
    int idle_ms = p->idle < IDLE_PASSES ? BUSY_MS : IDLE_MS;
    return os_wait_for(wait, applied < FEW_RECORDS ? idle_ms : 0);
}

static void collect_until_end(struct collector *c, struct os_wait *wait)
{
    struct pace pace = {0};
    bool is_terminated = false;
    while (!os_child_ended(&c->child)) {
        unsigned what = collect_once(c, wait, &pace);
        if (!(what & OS_WAIT_STOP))
            continue;
        if (is_terminated)
            os_child_kill(&c->child);
        else
            os_child_terminate(&c->child);
        is_terminated = true;
    }
}

/* The recording of a process has begun. Returns when it ends. */
static uint64_t begin_attached(const struct heap_collect_settings *s)
{
    if (s->attached)
        s->attached(s->pid);
    return s->duration ? os_clock_monotonic() + s->duration : UINT64_MAX;
}

/* Processes that have started to record since; they were forked. */
static void add_processes(struct collector *c)
{
    const struct heap_events *e = c->events;
    while (c->added < e->process_count)
        if (!heap_attach_add(&c->attachment, e->processes[c->added++].pid))
            c->added = SIZE_MAX;
}

/* False, with err set, if the process cannot be recorded. */
static bool collect_attached(struct collector *c, struct os_wait *wait, struct error *err)
{
    struct pace pace = {0};
    uint64_t end = 0; /* 0: not attached yet */
    unsigned what = 0;
    while (!(what & OS_WAIT_STOP) && (!end || os_clock_monotonic() < end)) {
        enum heap_attach_state state = heap_attach_state(&c->attachment, err);
        if (state == HEAP_STATE_FAILED || state == HEAP_STATE_LEFT)
            return false;
        if (state == HEAP_STATE_RECORDING && !end)
            end = begin_attached(c->settings);
        if (end && !os_process_runs(c->settings->pid))
            break;
        what = collect_once(c, wait, &pace);
        add_processes(c);
    }
    return true;
}

/* --- Start and end ------------------------------------------------------------------ */

static bool prepare_child(struct collector *c, struct error *err)
{
    struct heap_environment before;
    struct os_user_ids same = {.other = false};
    if (!heap_environment_set(&before, c->settings->library, c->memory.path, err))
        return false;
    bool ok = os_child_prepare(&c->child, c->settings->command, &same, err);
    heap_environment_restore(&before);
    return ok;
}

static bool prepare_memory(struct collector *c, struct error *err)
{
    c->shared = os_shared_memory_map(&c->memory, 0, HEAP_LANES_AT, 1, err);
    if (!c->shared)
        return false;
    c->shared->size = sizeof *c->shared;
    c->shared->sample_bytes = c->settings->sample_bytes;
    c->shared->seed = c->settings->seed;
    c->shared->has_ticks = os_clock_is_ticks();
    c->start_ns = os_clock_monotonic();
    c->shared->started = c->shared->has_ticks ? heap_ticks() : os_clock_local();
    c->events->rules = (struct heap_rule *)(void *)((char *)c->shared + HEAP_RULES_AT);
    c->shared->collector = os_own_pid();
    c->shared->magic = HEAP_MAGIC;
    return true;
}

/* Measures the clock of the records. */
static void measure_clock(struct collector *c)
{
    uint64_t elapsed = os_clock_monotonic() - c->start_ns;
    c->end = now(c);
    c->unit_ns = c->end ? (double)elapsed / (double)c->end : 1;
}

static void finish(struct collector *c)
{
    __atomic_store_n(&c->shared->is_closed, 1, __ATOMIC_RELEASE);
    measure_clock(c);
    drain(c);
    heap_events_finish(c->events);
}

static bool run_command(struct collector *c, struct os_wait *wait, struct error *err)
{
    if (!os_shared_memory_create(&c->memory, HEAP_SHARED_SIZE, err) ||
        !prepare_memory(c, err) || !prepare_child(c, err))
        return false;
    if (!os_child_start(&c->child, c->settings->command[0], err)) {
        os_child_terminate(&c->child);
        return false;
    }
    collect_until_end(c, wait);
    finish(c);
    return true;
}

/* Programs that the caller starts, or started, with this memory. */
static bool run_beside(struct collector *c, struct os_wait *wait, struct error *err)
{
    struct pace pace = {0};
    unsigned what = 0;
    c->memory = *c->settings->memory;
    if (!prepare_memory(c, err))
        return false;
    while (!(what & OS_WAIT_STOP) && os_process_runs(c->settings->caller))
        what = collect_once(c, wait, &pace);
    finish(c);
    return true;
}

/* The threads of the process record nothing more, before it is restored: none of them
 * then waits for this one. */
static bool run_attached(struct collector *c, struct os_wait *wait, struct error *err)
{
    struct heap_attachment *a = &c->attachment;
    bool ok = heap_attach_start(a, c->settings->pid, c->settings->library, err) &&
              heap_attach_file(a, &c->memory, HEAP_SHARED_SIZE, err) &&
              prepare_memory(c, err);
    if (ok) {
        heap_attach_go(a);
        ok = collect_attached(c, wait, err);
    }
    if (ok) {
        finish(c);
        add_processes(c);
        (void)heap_attach_stop(a, &c->left);
    }
    heap_attach_close(a);
    return ok;
}

static bool run(struct collector *c, struct error *err)
{
    struct os_wait wait;
    bool (*work)(struct collector * c, struct os_wait * wait, struct error * err) =
        c->settings->memory ? run_beside
        : c->settings->pid  ? run_attached
                            : run_command;
    bool ok = os_wait_init(&wait, err) && work(c, &wait, err);
    os_wait_deinit(&wait);
    return ok;
}

bool heap_collect(const struct heap_collect_settings *settings,
                  struct heap_events *events, struct heap_collect_result *result,
                  struct error *err)
{
    struct collector *c = calloc(1, sizeof *c);
    if (!c)
        return error_memory(err);
    c->settings = settings;
    c->events = events;
    events->runs = process_runs;
    events->context = c;
    c->memory.fd = -1;
    bool ok = run(c, err);
    *result = (struct heap_collect_result){.status = c->child.status,
                                           .lost = c->lost,
                                           .left = c->left,
                                           .start_ns = c->start_ns,
                                           .end = c->end,
                                           .unit_ns = c->unit_ns};
    for (uint32_t i = 0; i < HEAP_LANES; i++) {
        if (c->shared)
            result->lost += c->lanes[i].is_used ? c->shared->lanes[i].lost : 0;
        os_shared_memory_unmap(c->lanes[i].ring, HEAP_LANE_SIZE, 2);
        heap_origin_deinit(&c->lanes[i].origin);
    }
    if (c->shared)
        result->lost += c->shared->lost;
    os_shared_memory_unmap(c->shared, HEAP_LANES_AT, 1);
    os_shared_memory_close(&c->memory);
    free(c);
    return ok;
}
