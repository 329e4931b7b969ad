/* SPDX-License-Identifier: Apache-2.0 */
#include "record/sampled.h"
#include "base/array.h"
#include "os/machine.h"
#include <stdlib.h>

/* Rounds for which records of a process are held, and after which ended ones are removed. */
#define ROUNDS_MAX 30
#define ROUNDS_CLEANED 8
#define BYTES_MAX ((size_t)1 << 20) /* of held records */
#define ANCESTORS_MAX 16
#define WORD_BITS 64

/* Offsets in the bodies of FORK and EXIT (pid, parent's pid, tid), COMM and mappings (pid). */
enum { TASK_PID = 8, TASK_PARENT = 12, TASK_TID = 16, TASK_END = 24, PID_END = 16 };

struct held {
    struct held *next;
    struct record record;
};

struct record_sampled_process {
    uint32_t pid, parent; /* 0: it executed another program since */
    struct held *first, *last;
    uint64_t round; /* in which it started */
    bool ended;
};

static bool passes(const struct record_sampled *s, uint32_t pid)
{
    return pid >= s->limit || s->passes[pid / WORD_BITS] >> (pid % WORD_BITS) & 1;
}

static void set_passes(struct record_sampled *s, uint32_t pid, bool value)
{
    uint64_t bit = (uint64_t)1 << (pid % WORD_BITS);
    if (pid >= s->limit)
        return;
    s->passes[pid / WORD_BITS] &= ~bit;
    s->passes[pid / WORD_BITS] |= value ? bit : 0;
}

/* --- Held records ------------------------------------------------------------------- */

static struct record_sampled_process *find(const struct record_sampled *s, uint32_t pid)
{
    const uint64_t *at = idmap_find(&s->index, pid);
    return at ? &s->processes[*at - 1] : NULL;
}

/* The process starts: what was held of another one with its id is removed. */
static struct record_sampled_process *begin(struct record_sampled *s, uint32_t pid,
                                            uint32_t parent)
{
    uint64_t *at = idmap_put(&s->index, &s->arena, pid);
    if (!at)
        return NULL;
    if (!*at) {
        struct record_sampled_process *added =
            ARRAY_APPEND(&s->arena, s->processes, s->count, s->cap);
        if (!added)
            return NULL;
        *at = s->count;
    }
    struct record_sampled_process *p = &s->processes[*at - 1];
    *p = (struct record_sampled_process){.pid = pid, .parent = parent, .round = s->round};
    return p;
}

static void hold(struct record_sampled *s, struct record_sampled_process *p,
                 const struct record *r)
{
    struct held *h = arena_alloc(&s->arena, sizeof *h);
    if (!h)
        return;
    *h = (struct held){.record = *r};
    h->record.bytes = arena_str(&s->arena, r->bytes);
    if (s->arena.failed)
        return;
    if (p->last)
        p->last->next = h;
    else
        p->first = h;
    p->last = h;
}

/* What the next stage knows about the task is not valid any more. */
static void forget(struct record_sampled *s, const struct record *r)
{
    record_tasks_forget(s->tasks, record_u32(r->bytes, TASK_PID));
    if (r->type == PERF_FORK)
        record_tasks_forget(s->tasks, record_u32(r->bytes, TASK_TID));
}

static void remove_process(struct record_sampled *s, struct record_sampled_process *p)
{
    for (struct held *h = p->first; h; h = h->next) {
        s->removed++;
        if (!p->ended)
            forget(s, &h->record);
    }
    p->first = p->last = NULL;
}

/* Retains the processes that started lately: in a new arena, since one frees all at once. */
static void clean(struct record_sampled *s)
{
    struct record_sampled old = *s;
    bool full = s->arena.failed || s->arena.total > BYTES_MAX;
    s->arena = ARENA_INIT;
    s->index = (struct idmap){0};
    s->processes = NULL;
    s->count = s->cap = 0;
    for (size_t i = 0; i < old.count; i++) {
        struct record_sampled_process *p = &old.processes[i], *copy = NULL;
        bool stays = p->first && !p->ended && !full && s->round < p->round + ROUNDS_MAX;
        if (stays)
            copy = begin(s, p->pid, p->parent);
        if (!copy) {
            remove_process(s, p);
            continue;
        }
        copy->round = p->round;
        for (const struct held *h = p->first; h; h = h->next)
            hold(s, copy, &h->record);
    }
    arena_deinit(&old.arena);
}

/* --- Passing ------------------------------------------------------------------------ */

/* Readers sort the records of two rounds: an older record gets the time at which these rounds
 * begin. */
static void flush(struct record_sampled *s, struct record_sampled_process *p)
{
    for (struct held *h = p->first; h; h = h->next) {
        struct record *r = &h->record;
        uint64_t time = r->time > s->newest[2] ? r->time : s->newest[2];
        size_t at = r->bytes.len - s->layout->trailer + s->layout->trailer_time;
        memcpy((char *)(uintptr_t)r->bytes.ptr + at, &time, sizeof time);
        r->time = time;
        record_pass(&s->next, r);
    }
    p->first = p->last = NULL;
}

/* A process is sampled: the mappings of a fork are those of its parent. */
static void show(struct record_sampled *s, uint32_t pid)
{
    struct record_sampled_process *line[ANCESTORS_MAX];
    size_t count = 0;
    while (pid && count < ANCESTORS_MAX && !passes(s, pid)) {
        struct record_sampled_process *p = find(s, pid);
        set_passes(s, pid, true);
        pid = p ? p->parent : 0;
        if (p)
            line[count++] = p;
    }
    while (count--)
        flush(s, line[count]);
}

static void take_task(struct record_sampled *s, const struct record *r)
{
    uint32_t pid = record_u32(r->bytes, TASK_PID);
    uint32_t parent = record_u32(r->bytes, TASK_PARENT);
    uint32_t tid = record_u32(r->bytes, TASK_TID);
    struct record_sampled_process *p = NULL;
    if (r->type == PERF_FORK && pid != parent) {
        set_passes(s, pid, false);
        p = begin(s, pid, parent);
    } else if (passes(s, pid)) {
        record_pass(&s->next, r);
        return;
    } else {
        p = find(s, pid);
    }
    if (!p)
        forget(s, r);
    else
        hold(s, p, r);
    if (p && r->type == PERF_EXIT && pid == tid)
        p->ended = true;
}

/* A name or a mapping. When a program is executed, what was mapped before does not matter. */
static void take_other(struct record_sampled *s, const struct record *r)
{
    uint32_t pid = record_u32(r->bytes, TASK_PID);
    bool executed = r->type == PERF_COMM && r->misc & PERF_MISC_COMM_EXEC;
    if (passes(s, pid)) {
        record_pass(&s->next, r);
        return;
    }
    struct record_sampled_process *p = executed ? begin(s, pid, 0) : find(s, pid);
    if (p)
        hold(s, p, r);
    else
        s->removed++;
}

static void take(void *context, const struct record *r)
{
    struct record_sampled *s = context;
    size_t least = s->layout->trailer;
    bool kernel = (r->misc & PERF_CPU_MODE) == PERF_MODE_KERNEL;
    bool maps = (r->type == PERF_MMAP || r->type == PERF_MMAP2) && !kernel;
    if (r->type == PERF_SAMPLE)
        show(s, record_pid(s->layout, r));
    if (r->time > s->newest[0])
        s->newest[0] = r->time;
    if ((r->type == PERF_FORK || r->type == PERF_EXIT) &&
        r->bytes.len >= TASK_END + least)
        take_task(s, r);
    else if ((r->type == PERF_COMM || maps) && r->bytes.len >= PID_END + least)
        take_other(s, r);
    else
        record_pass(&s->next, r);
}

static void end_round(void *context)
{
    struct record_sampled *s = context;
    s->round++;
    s->newest[2] = s->newest[1];
    s->newest[1] = s->newest[0];
    s->tasks->earliest = s->newest[2];
    if (s->round % ROUNDS_CLEANED == 0 || s->arena.failed || s->arena.total > BYTES_MAX)
        clean(s);
    s->next.round(s->next.context);
}

struct record_sink record_sampled_sink(struct record_sampled *s)
{
    return (struct record_sink){s, take, end_round};
}

bool record_sampled_init(struct record_sampled *s, const struct record_layout *layout,
                         struct record_tasks *tasks, struct record_sink next,
                         struct error *err)
{
    *s = (struct record_sampled){
        .layout = layout, .tasks = tasks, .next = next, .limit = os_pid_max()};
    s->passes = calloc(s->limit / WORD_BITS + 1, sizeof *s->passes);
    return s->passes || error_memory(err);
}

void record_sampled_deinit(struct record_sampled *s)
{
    arena_deinit(&s->arena);
    free(s->passes);
    *s = (struct record_sampled){0};
}
