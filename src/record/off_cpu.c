/* SPDX-License-Identifier: Apache-2.0 */
#include "record/off_cpu.h"
#include "os/machine.h"
#include "os/task.h"
#include "perf/off_cpu.h"
#include <stdlib.h>

enum happening { HAS_STACK, LEAVES, IS_BACK, IS_WOKEN, ENDS, BEGINS };

/* In place of a thread that has ended: it leaves its CPU once more, for ever. */
static struct off_cpu_away gone;

/* --- What comes -------------------------------------------------------------------- */

/* Where a sample's chain is at its end. */
static size_t chain_end(const struct record_layout *l, struct str bytes)
{
    size_t at = l->behind;
    if (!(l->sample_type & PERF_SAMPLE_CALLCHAIN) || bytes.len < at + 8)
        return at;
    uint64_t count = record_u64(bytes, at), most = (bytes.len - at - 8) / 8;
    return at + 8 + 8 * (size_t)(count < most ? count : most);
}

static struct off_cpu_happening *happens(struct record_off_cpu *o, enum happening what,
                                         uint64_t time)
{
    if (o->count == o->cap) {
        size_t cap = o->cap ? o->cap * 2 : 256;
        struct off_cpu_happening *more = realloc(o->happened, cap * sizeof *more);
        if (more)
            o->happened = more;
        struct sort_key *order = more ? realloc(o->order, 2 * cap * sizeof *order) : NULL;
        if (!order) {
            o->failed = true;
            return NULL;
        }
        o->order = order;
        o->cap = cap;
    }
    o->order[o->count] = (struct sort_key){time, (uint32_t)o->count};
    o->happened[o->count] = (struct off_cpu_happening){.what = (uint8_t)what};
    return &o->happened[o->count++];
}

/* Notes a sample: its fixed part and its chain. */
static void note_sample(struct record_off_cpu *o, const struct record *r,
                        enum happening what, uint32_t tid)
{
    struct off_cpu_happening *h = happens(o, what, r->time);
    if (!h)
        return;
    h->pid = record_pid(o->layout, r);
    h->tid = tid;
    h->at = o->samples.used;
    h->size = chain_end(o->layout, r->bytes);
    output_str(&o->samples, str_head(r->bytes, h->size));
    o->failed |= o->samples.failed;
}

/* Whom a tracepoint's sample says to be woken up; 0 where that cannot be told. */
static uint32_t woken_by(const struct record_off_cpu *o, const struct record *r)
{
    size_t raw = chain_end(o->layout, r->bytes) + 4; /* behind its length */
    if (!o->woken_at || r->bytes.len < raw + o->woken_at + 4)
        return 0;
    return record_u32(r->bytes, raw + o->woken_at);
}

/* Samples of other events have no use for the room of a tracepoint's bytes. */
static void pass_other(struct record_off_cpu *o, const struct record *r)
{
    struct record_maker *m = &o->maker;
    if (!(o->layout->sample_type & PERF_SAMPLE_RAW)) {
        record_pass(&o->next, r);
        return;
    }
    size_t end = chain_end(o->layout, r->bytes);
    uint64_t raw = end + 4 <= r->bytes.len ? record_u32(r->bytes, end) : 0;
    m->used = 0;
    record_put(m, r->bytes.ptr, end);
    if (raw + 4 < r->bytes.len - end)
        record_put(m, r->bytes.ptr + end + 4 + raw, r->bytes.len - end - 4 - (size_t)raw);
    struct record out = record_end_bare(m, r->time);
    record_pass(&o->next, &out);
}

static void take_sample(struct record_off_cpu *o, const struct record *r)
{
    const uint64_t *event = idmap_find(&o->ids, record_u64(r->bytes, o->layout->id));
    if (!event)
        pass_other(o, r);
    else if (*event == OFF_CPU_SWITCHES)
        note_sample(o, r, HAS_STACK, record_tid(o->layout, r));
    else
        note_sample(o, r, IS_WOKEN, woken_by(o, r));
}

/* A record whose end says who it is that leaves or is back. */
static void take_switch(struct record_off_cpu *o, const struct record *r)
{
    enum happening what = r->misc & PERF_MISC_SWITCH_OUT ? LEAVES : IS_BACK;
    struct off_cpu_happening *h = happens(o, what, r->time);
    if (!h)
        return;
    h->preempted = r->misc & PERF_MISC_SWITCH_OUT_PREEMPT;
    h->pid = record_u32(r->bytes, r->bytes.len - o->layout->trailer);
    h->tid = record_u32(r->bytes, r->bytes.len - o->layout->trailer + 4);
}

static void take_task(struct record_off_cpu *o, const struct record *r)
{
    struct off_cpu_happening *h =
        happens(o, r->type == PERF_EXIT ? ENDS : BEGINS, r->time);
    if (h)
        h->tid = record_u32(r->bytes, 16);
}

static void take(void *context, const struct record *r)
{
    struct record_off_cpu *o = context;
    bool whole = r->bytes.len >= 24 + o->layout->trailer;
    if (r->type == PERF_SAMPLE) {
        take_sample(o, r);
        return;
    }
    if (r->type == PERF_SWITCH || r->type == PERF_SWITCH_CPU_WIDE) {
        take_switch(o, r);
        return;
    }
    if ((r->type == PERF_EXIT || r->type == PERF_FORK) && whole)
        take_task(o, r);
    record_pass(&o->next, r);
}

/* --- What is made of it ------------------------------------------------------------ */

/* The thread's, with room for a sample; NULL where there can be none. */
static struct off_cpu_away *away_of(struct record_off_cpu *o, uint32_t tid, size_t size)
{
    struct off_cpu_away *a = tid < o->limit ? o->away[tid] : NULL;
    if (tid == 0 || tid >= o->limit || a == &gone)
        return NULL;
    if (a && a->room >= size)
        return a;
    struct off_cpu_away *more = realloc(a, sizeof *a + size);
    if (!more) {
        o->failed = true;
        return NULL;
    }
    if (!a)
        *more = (struct off_cpu_away){0};
    more->room = size;
    o->highest = tid > o->highest ? tid : o->highest;
    return o->away[tid] = more;
}

static void forget(struct record_off_cpu *o, uint32_t tid, struct off_cpu_away *then)
{
    if (tid == 0 || tid >= o->limit)
        return;
    if (o->away[tid] != &gone)
        free(o->away[tid]);
    o->highest = tid > o->highest ? tid : o->highest;
    o->away[tid] = then;
}

static void keep_stack(struct record_off_cpu *o, const struct off_cpu_happening *h,
                       uint64_t time)
{
    struct off_cpu_away *a = away_of(o, h->tid, h->size);
    if (!a)
        return;
    a->left = time;
    a->preempted = false;
    a->size = h->size;
    memcpy(a->bytes, o->samples.bytes + h->at, h->size);
}

/* A sample without a stack, where the kernel gives none: it is not to be looked into. */
static void keep_without_stack(struct record_off_cpu *o,
                               const struct off_cpu_happening *h)
{
    const struct record_layout *l = o->layout;
    bool chain = l->sample_type & PERF_SAMPLE_CALLCHAIN;
    struct off_cpu_away *a = away_of(o, h->tid, l->behind + 8);
    uint32_t type = PERF_SAMPLE;
    uint16_t mode = PERF_MODE_USER;
    if (!a)
        return;
    a->size = l->behind + (chain ? 8 : 0);
    memset(a->bytes, 0, a->size);
    memcpy(a->bytes, &type, sizeof type);
    memcpy(a->bytes + 4, &mode, sizeof mode);
    memcpy(a->bytes + l->tid, &h->pid, sizeof h->pid);
    memcpy(a->bytes + l->tid + 4, &h->tid, sizeof h->tid);
    o->counts.without_stack++;
}

static void leaves(struct record_off_cpu *o, const struct off_cpu_happening *h,
                   uint64_t time)
{
    struct off_cpu_away *a = h->tid < o->limit ? o->away[h->tid] : NULL;
    if (!a)
        keep_without_stack(o, h);
    a = away_of(o, h->tid, 0);
    if (!a)
        return;
    a->left = time;
    a->preempted = h->preempted;
}

/* Ends the sample under way with one word of its own, and hands it on. */
static void pass_made(struct record_off_cpu *o, uint64_t id, uint64_t time,
                      uint64_t period, uint32_t word)
{
    struct record_maker *m = &o->maker;
    const struct record_layout *l = o->layout;
    memcpy(m->bytes + l->id, &id, sizeof id);
    memcpy(m->bytes + l->time, &time, sizeof time);
    memcpy(m->bytes + l->period, &period, sizeof period);
    record_put_u32(m, sizeof word);
    record_put_u32(m, word);
    struct record r = record_end_bare(m, time);
    record_pass(&o->next, &r);
}

static void pass_wait(struct record_off_cpu *o, const struct off_cpu_away *a,
                      uint64_t until, uint32_t flags)
{
    uint64_t length = until > a->left ? until - a->left : 0;
    o->maker.used = 0;
    record_put(&o->maker, a->bytes, a->size);
    pass_made(o, o->off_cpu_id, until, length,
              flags | (a->preempted ? PERF_OFF_CPU_PREEMPTED : 0));
    o->counts.waits++;
    o->counts.nanoseconds += length;
}

static void is_back(struct record_off_cpu *o, uint32_t tid, uint64_t time)
{
    struct off_cpu_away *a = tid < o->limit ? o->away[tid] : NULL;
    if (!a || a == &gone) /* which it still is, while it ends */
        return;
    pass_wait(o, a, time, 0);
    forget(o, tid, NULL);
}

static void is_woken(struct record_off_cpu *o, const struct off_cpu_happening *h,
                     uint64_t time)
{
    const struct off_cpu_away *a = h->tid < o->limit ? o->away[h->tid] : NULL;
    if (!a || a == &gone || a->preempted || h->size < o->layout->behind)
        return;
    o->maker.used = 0;
    record_put(&o->maker, o->samples.bytes + h->at, h->size);
    pass_made(o, o->waker_id, time, 1, h->tid);
    o->counts.wakers++;
}

static void look_at(struct record_off_cpu *o, const struct off_cpu_happening *h,
                    uint64_t time)
{
    switch ((enum happening)h->what) {
    case HAS_STACK:
        keep_stack(o, h, time);
        break;
    case LEAVES:
        leaves(o, h, time);
        break;
    case IS_BACK:
        is_back(o, h->tid, time);
        break;
    case IS_WOKEN:
        is_woken(o, h, time);
        break;
    case ENDS:
        forget(o, h->tid, &gone);
        break;
    case BEGINS:
        forget(o, h->tid, NULL);
        break;
    }
}

static void round_over(void *context)
{
    struct record_off_cpu *o = context;
    if (o->count && !o->samples.failed) {
        sort_keys(o->order, o->count, o->order + o->cap);
        for (size_t i = 0; i < o->count; i++)
            look_at(o, &o->happened[o->order[i].id], o->order[i].key);
    }
    o->count = 0;
    o->samples.used = 0;
    o->next.round(o->next.context);
}

struct record_sink record_off_cpu_sink(struct record_off_cpu *o)
{
    return (struct record_sink){o, take, round_over};
}

void record_off_cpu_end(struct record_off_cpu *o, uint64_t now)
{
    for (uint32_t tid = 1; o->away && tid <= o->highest; tid++) {
        const struct off_cpu_away *a = o->away[tid];
        if (a && a != &gone && os_task_process(tid)) /* it may have ended unseen */
            pass_wait(o, a, now, PERF_OFF_CPU_STILL);
        forget(o, tid, NULL);
    }
    o->next.round(o->next.context);
}

/* --- The stage --------------------------------------------------------------------- */

bool record_off_cpu_init(struct record_off_cpu *o, const struct record_layout *layout,
                         struct record_sink next, struct error *err)
{
    *o = (struct record_off_cpu){
        .layout = layout, .next = next, .limit = os_pid_max(), .maker.layout = layout};
    o->away = calloc(o->limit, sizeof(*o->away));
    return o->away || error_memory(err);
}

void record_off_cpu_deinit(struct record_off_cpu *o)
{
    for (uint32_t tid = 1; o->away && tid <= o->highest; tid++)
        forget(o, tid, NULL);
    free(o->away);
    free(o->happened);
    free(o->order);
    output_deinit(&o->samples);
    arena_deinit(&o->arena);
    o->away = NULL;
    o->happened = NULL;
    o->order = NULL;
    o->count = o->cap = 0;
}

void record_off_cpu_ids(struct record_off_cpu *o, enum off_cpu_event event,
                        const uint64_t *ids, size_t count)
{
    uint64_t *first = event == OFF_CPU_SWITCHES ? &o->off_cpu_id : &o->waker_id;
    for (size_t i = 0; i < count; i++) {
        uint64_t *at = idmap_put(&o->ids, &o->arena, ids[i]);
        if (at)
            *at = event;
        o->failed |= !at;
    }
    if (*first == 0 && count)
        *first = ids[0];
}

void record_off_cpu_attr(struct perf_attr *attr)
{
    attr->type = PERF_TYPE_SOFTWARE;
    attr->config = PERF_SOFTWARE_DUMMY;
    attr->sample_type |= PERF_SAMPLE_RAW;
    attr->flags &= ~(PERF_FLAG_CONTEXT_SWITCH | PERF_FLAG_FREQUENCY);
    attr->period = 1;
}
