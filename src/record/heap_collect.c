/* SPDX-License-Identifier: Apache-2.0 */
#include "record/heap_collect.h"
#include "base/format.h"
#include "os/child.h"
#include "os/proc.h"
#include "os/shared_memory.h"
#include "os/wait.h"
#include <stdlib.h>

/* How long to wait when there are no records: a short time, and a longer one after some
 * passes without any. */
#define BUSY_MS 1
#define IDLE_MS 10
#define IDLE_PASSES 20

/* A record whose number is missing is awaited for so many passes without progress: its
 * thread is writing it, or was killed. */
#define GAP_PASSES 200

/* After so many passes without records, lanes of ended threads are freed; if more lanes
 * than that are used, in each pass. */
#define CLEAN_PASSES 32
#define CLEAN_USED (HEAP_LANES / 2)

struct lane {
    char *ring; /* mapped twice; NULL: not mapped yet */
    struct heap_origin origin;
    uint64_t claimed, head, tail; /* as of this pass; tail: what was applied */
    uint64_t next;                /* sequence number of the record at the tail */
    bool is_used;
};

struct collector {
    const struct heap_collect_settings *settings;
    struct heap_events *events;
    struct os_shared_memory memory;
    struct heap_shared *shared;
    struct os_child child;
    struct lane lanes[HEAP_LANES];
    uint32_t used[HEAP_LANES]; /* lanes with records, in this pass */
    size_t used_count;
    size_t open_count; /* lanes that threads have claimed */
    uint64_t expected; /* the next record's number */
    uint64_t lost;
};

/* --- Lanes -------------------------------------------------------------------------- */

static struct str lane_bytes(const struct lane *l)
{
    return (struct str){l->ring + (l->tail & (HEAP_LANE_SIZE - 1)),
                        (size_t)(l->head - l->tail)};
}

/* Reads the number of the lane's next record; a damaged lane is skipped up to its head. */
static bool lane_has_record(struct collector *c, struct lane *l)
{
    struct heap_record head;
    if (l->head == l->tail)
        return false;
    struct str bytes = lane_bytes(l);
    if (!heap_record_length(bytes)) {
        l->tail = l->head;
        c->events->damaged++;
        return false;
    }
    memcpy(&head, bytes.ptr, sizeof head);
    l->next = head.sequence;
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
    *l = (struct lane){.ring = l->ring,
                       .origin.pid = shared->pid,
                       .claimed = shared->claimed,
                       .is_used = true};
    return true;
}

static void find_records(struct collector *c)
{
    c->used_count = c->open_count = 0;
    for (uint32_t i = 0; i < HEAP_LANES; i++) {
        struct lane *l = &c->lanes[i];
        if (!lane_open(c, i))
            continue;
        c->open_count++;
        uint64_t head = __atomic_load_n(&c->shared->lanes[i].head, __ATOMIC_ACQUIRE);
        if (head - l->tail <= HEAP_LANE_SIZE)
            l->head = head;
        if (lane_has_record(c, l))
            c->used[c->used_count++] = i;
    }
}

static void lane_free(struct collector *c, uint32_t number)
{
    struct heap_lane *shared = &c->shared->lanes[number];
    c->lost += __atomic_load_n(&shared->lost, __ATOMIC_RELAXED);
    c->lanes[number].is_used = false;
    os_shared_memory_discard(&c->memory, HEAP_LANES_AT + number * HEAP_LANE_SIZE,
                             HEAP_LANE_SIZE);
    shared->head = shared->tail = shared->lost = 0;
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

/* Frees the lanes of threads that have ended. */
static void free_lanes(struct collector *c)
{
    for (uint32_t i = 0; i < HEAP_LANES; i++) {
        const struct heap_lane *shared = &c->shared->lanes[i];
        struct lane *l = &c->lanes[i];
        if (!l->is_used ||
            (os_thread_exists(shared->pid, shared->tid) && !is_superseded(c, i)))
            continue;
        if (__atomic_load_n(&shared->head, __ATOMIC_ACQUIRE) == l->tail)
            lane_free(c, i);
    }
}

/* --- Order -------------------------------------------------------------------------- */

static void apply_next(struct collector *c, uint32_t number)
{
    struct lane *l = &c->lanes[number];
    struct str bytes = lane_bytes(l);
    size_t length = heap_record_length(bytes);
    if (length)
        heap_events_apply(c->events, &l->origin, str_head(bytes, length));
    l->tail += length ? length : bytes.len;
    __atomic_store_n(&c->shared->lanes[number].tail, l->tail, __ATOMIC_RELEASE);
    if (c->expected <= l->next)
        c->expected = l->next + 1;
}

/* The index in `used` of the lane with the smallest number. */
static size_t first_lane(const struct collector *c)
{
    size_t first = 0;
    for (size_t i = 1; i < c->used_count; i++)
        if (c->lanes[c->used[i]].next < c->lanes[c->used[first]].next)
            first = i;
    return first;
}

/* Applies the records of this pass in their order, up to the first missing one, or all if
 * nothing is awaited. Returns their number. */
static size_t apply_records(struct collector *c, bool awaits)
{
    size_t applied = 0;
    while (c->used_count) {
        size_t at = first_lane(c);
        struct lane *l = &c->lanes[c->used[at]];
        if (awaits && l->next > c->expected)
            break;
        do {
            apply_next(c, c->used[at]);
            applied++;
        } while (lane_has_record(c, l) && l->next <= c->expected);
        if (l->head == l->tail)
            c->used[at] = c->used[--c->used_count];
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

static void collect_until_end(struct collector *c, struct os_wait *wait)
{
    unsigned idle = 0, gap = 0;
    bool is_terminated = false;
    while (!os_child_ended(&c->child)) {
        find_records(c);
        bool is_gap = c->used_count && gap >= GAP_PASSES;
        size_t applied = apply_records(c, !is_gap);
        gap = applied || !c->used_count ? 0 : gap + 1;
        idle = applied ? 0 : idle + 1;
        if (idle % CLEAN_PASSES == CLEAN_PASSES - 1 || c->open_count > CLEAN_USED)
            free_lanes(c);
        int idle_ms = idle < IDLE_PASSES ? BUSY_MS : IDLE_MS;
        unsigned what = os_wait_for(wait, applied ? 0 : idle_ms);
        if (!(what & OS_WAIT_STOP))
            continue;
        if (is_terminated)
            os_child_kill(&c->child);
        else
            os_child_terminate(&c->child);
        is_terminated = true;
    }
}

/* --- Start and end ------------------------------------------------------------------ */

/* Adds the library before what LD_PRELOAD has, for the child only. */
static bool prepare_child(struct collector *c, struct error *err)
{
    char preload[8192];
    const char *before = getenv("LD_PRELOAD");
    bool is_set = before && before[0];
    char *old = before ? strdup(before) : NULL;
    size_t length = format_text(preload, sizeof preload, "%s%s%s", c->settings->library,
                                is_set ? ":" : "", is_set ? before : "");
    if (length + 1 >= sizeof preload) {
        free(old);
        return error_set(err, "LD_PRELOAD is too long");
    }
    setenv("LD_PRELOAD", preload, 1);
    setenv(HEAP_VARIABLE, c->memory.path, 1);
    struct os_user_ids same = {.other = false};
    bool ok = os_child_prepare(&c->child, c->settings->command, &same, err);
    unsetenv(HEAP_VARIABLE);
    if (old)
        setenv("LD_PRELOAD", old, 1);
    else
        unsetenv("LD_PRELOAD");
    free(old);
    return ok;
}

static bool open_memory(struct collector *c, struct error *err)
{
    if (!os_shared_memory_create(&c->memory, HEAP_SHARED_SIZE, err))
        return false;
    c->shared = os_shared_memory_map(&c->memory, 0, HEAP_LANES_AT, 1, err);
    if (!c->shared)
        return false;
    c->shared->size = sizeof *c->shared;
    c->shared->sample_bytes = c->settings->sample_bytes;
    c->shared->seed = c->settings->seed;
    c->shared->collector = os_own_pid();
    c->shared->magic = HEAP_MAGIC;
    return true;
}

static bool run(struct collector *c, struct error *err)
{
    struct os_wait wait;
    if (!open_memory(c, err) || !prepare_child(c, err))
        return false;
    bool ok = os_wait_init(&wait, err) &&
              os_child_start(&c->child, c->settings->command[0], err);
    if (ok)
        collect_until_end(c, &wait);
    else
        os_child_terminate(&c->child);
    os_wait_deinit(&wait);
    if (!ok)
        return false;
    __atomic_store_n(&c->shared->is_closed, 1, __ATOMIC_RELEASE);
    drain(c);
    heap_events_finish(c->events);
    return true;
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
    *result = (struct heap_collect_result){.status = c->child.status, .lost = c->lost};
    for (uint32_t i = 0; i < HEAP_LANES; i++) {
        if (c->shared)
            result->lost += c->lanes[i].is_used ? c->shared->lanes[i].lost : 0;
        os_shared_memory_unmap(c->lanes[i].ring, HEAP_LANE_SIZE, 2);
    }
    if (c->shared)
        result->lost += c->shared->lost;
    os_shared_memory_unmap(c->shared, HEAP_LANES_AT, 1);
    os_shared_memory_close(&c->memory);
    free(c);
    return ok;
}
