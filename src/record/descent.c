/* SPDX-License-Identifier: Apache-2.0 */
#include "record/descent.h"
#include "base/array.h"
#include <stdlib.h>

/* PID_MAX_LIMIT of Linux on 64-bit machines. */
#define TIDS_MAX ((uint32_t)1 << 22)
#define WORD_BITS 64

/* Offsets in the bodies of FORK and EXIT (pid, ppid, tid, ptid) and COMM (pid, tid). */
enum { FORK_TID = 16, FORK_END = 32, COMM_TID = 12, COMM_END = 16 };

static bool has(const uint64_t *set, uint32_t tid)
{
    return tid < TIDS_MAX && set[tid / WORD_BITS] >> (tid % WORD_BITS) & 1;
}

static void add(uint64_t *set, uint32_t tid)
{
    if (tid < TIDS_MAX)
        set[tid / WORD_BITS] |= (uint64_t)1 << (tid % WORD_BITS);
}

static void clear(uint64_t *set, uint32_t tid)
{
    if (tid < TIDS_MAX)
        set[tid / WORD_BITS] &= ~((uint64_t)1 << (tid % WORD_BITS));
}

static void begin(struct record_descent *d, uint32_t tid)
{
    add(d->is_target, tid);
    clear(d->has_exited, tid);
}

static void end(struct record_descent *d, uint32_t tid)
{
    if (!ARRAY_RESERVE_HEAP(d->exited, d->exited_cap, d->exited_count + 1)) {
        clear(d->is_target, tid);
        return;
    }
    add(d->has_exited, tid);
    d->exited[d->exited_count++] = tid;
}

static int by_id(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* Whether the sample is of an event that all threads have, such as wake-ups. */
static bool is_of_all(const struct record_descent *d, const struct record *r)
{
    if (d->id_count == 0)
        return false;
    uint64_t id = record_u64(r->bytes, d->layout->id);
    return bsearch(&id, d->ids, d->id_count, sizeof id, by_id) != NULL;
}

static void take(void *context, const struct record *r)
{
    struct record_descent *d = context;
    if (r->type == PERF_SAMPLE && !has(d->is_target, record_tid(d->layout, r)) &&
        !is_of_all(d, r)) {
        d->removed++;
        return;
    }
    if (r->type == PERF_FORK && r->bytes.len >= FORK_END)
        begin(d, record_u32(r->bytes, FORK_TID));
    else if (r->type == PERF_EXIT && r->bytes.len >= FORK_END)
        end(d, record_u32(r->bytes, FORK_TID));
    else if (r->type == PERF_COMM && r->bytes.len >= COMM_END)
        begin(d, record_u32(r->bytes, COMM_TID)); /* a program was executed */
    record_pass(&d->next, r);
}

static void end_round(void *context)
{
    struct record_descent *d = context;
    for (size_t i = 0; i < d->exited_count; i++) {
        uint32_t tid = d->exited[i];
        if (has(d->has_exited, tid)) /* otherwise a new thread got the id */
            clear(d->is_target, tid);
        clear(d->has_exited, tid);
    }
    d->exited_count = 0;
    d->next.round(d->next.context);
}

/* Stores the IDs of the counters that count all threads of the machine (of_everyone). This
 * stage does not filter their samples. */
static bool find_ids(struct record_descent *d, const struct perf_sampler *sampler)
{
    const struct record_events *events = &sampler->settings->events;
    d->ids = calloc(sampler->counter_count + 1, sizeof *d->ids);
    if (!d->ids || events->count < 2) /* records of one event have no id */
        return d->ids != NULL;
    for (size_t i = 0; i < events->count; i++)
        if (events->items[i].of_everyone)
            d->id_count += perf_sampler_ids(sampler, i, d->ids + d->id_count,
                                            sampler->counter_count - d->id_count);
    qsort(d->ids, d->id_count, sizeof *d->ids, by_id);
    return true;
}

bool record_descent_init(struct record_descent *d, const struct perf_sampler *sampler,
                         struct record_sink next, struct error *err)
{
    const struct record_targets *t = &sampler->settings->targets;
    *d = (struct record_descent){.layout = &sampler->layout, .next = next};
    d->is_target = calloc(TIDS_MAX / WORD_BITS, sizeof *d->is_target);
    d->has_exited = calloc(TIDS_MAX / WORD_BITS, sizeof *d->has_exited);
    if (!d->is_target || !d->has_exited || !find_ids(d, sampler)) {
        record_descent_deinit(d);
        return error_memory(err);
    }
    /* a command is a target from its exec on, which a COMM record reports */
    for (size_t i = 0; !t->from_exec && i < t->tid_count; i++)
        begin(d, t->tids[i]);
    return true;
}

void record_descent_deinit(struct record_descent *d)
{
    free(d->is_target);
    free(d->has_exited);
    free(d->exited);
    free(d->ids);
    *d = (struct record_descent){0};
}

struct record_sink record_descent_sink(struct record_descent *d)
{
    return (struct record_sink){d, take, end_round};
}
