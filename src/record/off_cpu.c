/* SPDX-License-Identifier: Apache-2.0 */
#include "record/off_cpu.h"
#include "base/array.h"
#include "base/number.h"
#include "os/machine.h"
#include "os/proc.h"
#include "perf/off_cpu.h"
#include "record/event_source.h"
#include <stdlib.h>

enum change {
    CHANGE_STACK,
    CHANGE_OUT,
    CHANGE_IN,
    CHANGE_WAKING,
    CHANGE_EXIT,
    CHANGE_FORK
};

/* The change of a thread that has ended: it leaves its CPU for the last time. */
static struct off_cpu_wait ended;

/* --- Input ------------------------------------------------------------------------- */

/* The offset of the fields after a sample's call chain. */
static size_t chain_end(const struct record_layout *l, struct str bytes)
{
    size_t at = l->fixed_size;
    if (!(l->sample_type & PERF_SAMPLE_CALLCHAIN) || bytes.len < at + 8)
        return at;
    uint64_t count = record_u64(bytes, at), most = (bytes.len - at - 8) / 8;
    return at + 8 + 8 * (size_t)(count < most ? count : most);
}

static struct off_cpu_change *add_change(struct record_off_cpu *o, enum change kind,
                                         uint64_t time)
{
    if (!ARRAY_RESERVE_HEAP(o->changes, o->cap, o->count + 1) ||
        !ARRAY_RESERVE_HEAP(o->order, o->order_cap, 2 * (o->count + 1))) {
        o->failed = true;
        return NULL;
    }
    o->order[o->count] = (struct sort_key){time, (uint32_t)o->count};
    o->changes[o->count] = (struct off_cpu_change){.kind = (uint8_t)kind};
    return &o->changes[o->count++];
}

/* Stores the fixed part of a sample, and its call chain. */
static void add_sample(struct record_off_cpu *o, const struct record *r, enum change kind,
                       uint32_t tid)
{
    struct off_cpu_change *c = add_change(o, kind, r->time);
    if (!c)
        return;
    c->pid = record_pid(o->layout, r);
    c->tid = tid;
    c->offset = o->samples.used;
    c->size = chain_end(o->layout, r->bytes);
    output_str(&o->samples, str_head(r->bytes, c->size));
    o->failed |= o->samples.failed;
}

/* The thread that a sample of sched_waking wakes up; 0 if that is not known. */
static uint32_t woken_thread(const struct record_off_cpu *o, const struct record *r)
{
    size_t raw = chain_end(o->layout, r->bytes) + 4; /* after its length */
    if (r->bytes.len < raw + o->woken_offset + 4)
        return 0;
    return record_u32(r->bytes, raw + o->woken_offset);
}

/* Samples of other events are passed on, without the data of tracepoints. */
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
        add_sample(o, r, CHANGE_STACK, record_tid(o->layout, r));
    else
        add_sample(o, r, CHANGE_WAKING, woken_thread(o, r));
}

/* A SWITCH record, whose trailer names the thread. */
static void take_switch(struct record_off_cpu *o, const struct record *r)
{
    enum change kind = r->misc & PERF_MISC_SWITCH_OUT ? CHANGE_OUT : CHANGE_IN;
    struct off_cpu_change *c = add_change(o, kind, r->time);
    if (!c)
        return;
    c->preempted = r->misc & PERF_MISC_SWITCH_OUT_PREEMPT;
    c->pid = record_u32(r->bytes, r->bytes.len - o->layout->trailer);
    c->tid = record_u32(r->bytes, r->bytes.len - o->layout->trailer + 4);
}

/* A FORK or EXIT record. */
static void take_task(struct record_off_cpu *o, const struct record *r)
{
    struct off_cpu_change *c =
        add_change(o, r->type == PERF_EXIT ? CHANGE_EXIT : CHANGE_FORK, r->time);
    if (c)
        c->tid = record_u32(r->bytes, 16);
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

/* --- From changes to samples ------------------------------------------------------- */

/* The wait of a thread, with room for a sample of that size; NULL if memory is short
 * or the thread id is invalid. */
static struct off_cpu_wait *wait_of(struct record_off_cpu *o, uint32_t tid, size_t size)
{
    struct off_cpu_wait *w = tid < o->limit ? o->waiting[tid] : NULL;
    if (tid == 0 || tid >= o->limit || w == &ended)
        return NULL;
    if (w && w->room >= size)
        return w;
    struct off_cpu_wait *more = realloc(w, sizeof *w + size);
    if (!more) {
        o->failed = true;
        return NULL;
    }
    if (!w)
        *more = (struct off_cpu_wait){0};
    more->room = size;
    o->highest = tid > o->highest ? tid : o->highest;
    return o->waiting[tid] = more;
}

static void replace_wait(struct record_off_cpu *o, uint32_t tid, struct off_cpu_wait *by)
{
    if (tid == 0 || tid >= o->limit)
        return;
    if (o->waiting[tid] != &ended)
        free(o->waiting[tid]);
    o->highest = tid > o->highest ? tid : o->highest;
    o->waiting[tid] = by;
}

static void store_stack(struct record_off_cpu *o, const struct off_cpu_change *c,
                        uint64_t time)
{
    struct off_cpu_wait *w = wait_of(o, c->tid, c->size);
    if (!w)
        return;
    w->since = time;
    w->preempted = false;
    w->size = c->size;
    memcpy(w->bytes, o->samples.bytes + c->offset, c->size);
}

/* A sample without a stack, for users who get none from the kernel. */
static void store_without_stack(struct record_off_cpu *o, const struct off_cpu_change *c)
{
    const struct record_layout *l = o->layout;
    bool chain = l->sample_type & PERF_SAMPLE_CALLCHAIN;
    struct off_cpu_wait *w = wait_of(o, c->tid, l->fixed_size + 8);
    uint32_t type = PERF_SAMPLE;
    uint16_t mode = PERF_MODE_USER;
    if (!w)
        return;
    w->size = l->fixed_size + (chain ? 8 : 0);
    memset(w->bytes, 0, w->size);
    memcpy(w->bytes, &type, sizeof type);
    memcpy(w->bytes + 4, &mode, sizeof mode);
    memcpy(w->bytes + l->tid, &c->pid, sizeof c->pid);
    memcpy(w->bytes + l->tid + 4, &c->tid, sizeof c->tid);
    o->counts.without_stack++;
}

static void switch_out(struct record_off_cpu *o, const struct off_cpu_change *c,
                       uint64_t time)
{
    struct off_cpu_wait *w = c->tid < o->limit ? o->waiting[c->tid] : NULL;
    if (!w)
        store_without_stack(o, c);
    w = wait_of(o, c->tid, 0);
    if (!w)
        return;
    w->since = time;
    w->preempted = c->preempted;
}

/* Ends the current sample with 32 bits of raw data, and passes it on. */
static void pass_sample(struct record_off_cpu *o, uint64_t id, uint64_t time,
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

static void pass_wait(struct record_off_cpu *o, const struct off_cpu_wait *w,
                      uint64_t until, uint32_t flags)
{
    uint64_t length = until > w->since ? until - w->since : 0;
    o->maker.used = 0;
    record_put(&o->maker, w->bytes, w->size);
    pass_sample(o, o->off_cpu_id, until, length,
                flags | (w->preempted ? PERF_OFF_CPU_PREEMPTED : 0));
    o->counts.waits++;
    o->counts.nanoseconds += length;
}

static void switch_in(struct record_off_cpu *o, uint32_t tid, uint64_t time)
{
    struct off_cpu_wait *w = tid < o->limit ? o->waiting[tid] : NULL;
    if (!w || w == &ended) /* a thread that ends still runs for a moment */
        return;
    pass_wait(o, w, time, 0);
    replace_wait(o, tid, NULL);
}

static void waking(struct record_off_cpu *o, const struct off_cpu_change *c,
                   uint64_t time)
{
    const struct off_cpu_wait *w = c->tid < o->limit ? o->waiting[c->tid] : NULL;
    if (!w || w == &ended || w->preempted || c->size < o->layout->fixed_size)
        return;
    o->maker.used = 0;
    record_put(&o->maker, o->samples.bytes + c->offset, c->size);
    pass_sample(o, o->waker_id, time, 1, c->tid);
    o->counts.wakers++;
}

static void apply(struct record_off_cpu *o, const struct off_cpu_change *c, uint64_t time)
{
    switch ((enum change)c->kind) {
    case CHANGE_STACK:
        store_stack(o, c, time);
        break;
    case CHANGE_OUT:
        switch_out(o, c, time);
        break;
    case CHANGE_IN:
        switch_in(o, c->tid, time);
        break;
    case CHANGE_WAKING:
        waking(o, c, time);
        break;
    case CHANGE_EXIT:
        replace_wait(o, c->tid, &ended);
        break;
    case CHANGE_FORK:
        replace_wait(o, c->tid, NULL);
        break;
    }
}

static void round_over(void *context)
{
    struct record_off_cpu *o = context;
    if (o->count && !o->samples.failed) {
        sort_keys(o->order, o->count, o->order + o->count);
        for (size_t i = 0; i < o->count; i++)
            apply(o, &o->changes[o->order[i].id], o->order[i].key);
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
    for (uint32_t tid = 1; o->waiting && tid <= o->highest; tid++) {
        const struct off_cpu_wait *w = o->waiting[tid];
        /* its end may not have been reported yet */
        if (w && w != &ended && os_thread_process(tid))
            pass_wait(o, w, now, PERF_OFF_CPU_STILL);
        replace_wait(o, tid, NULL);
    }
    o->next.round(o->next.context);
}

/* --- The stage --------------------------------------------------------------------- */

bool record_off_cpu_init(struct record_off_cpu *o, const struct record_layout *layout,
                         struct record_sink next, struct error *err)
{
    *o = (struct record_off_cpu){
        .layout = layout, .next = next, .limit = os_pid_max(), .maker.layout = layout};
    o->waiting = calloc(o->limit, sizeof(*o->waiting));
    return o->waiting || error_memory(err);
}

void record_off_cpu_deinit(struct record_off_cpu *o)
{
    for (uint32_t tid = 1; o->waiting && tid <= o->highest; tid++)
        replace_wait(o, tid, NULL);
    free(o->waiting);
    free(o->changes);
    free(o->order);
    output_deinit(&o->samples);
    arena_deinit(&o->arena);
    o->waiting = NULL;
    o->changes = NULL;
    o->order = NULL;
    o->count = o->cap = o->order_cap = 0;
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

/* --- The event source -------------------------------------------------------------- */

struct off_cpu_source {
    struct record_off_cpu stage;
    const struct perf_sampler *sampler; /* once it is open */
    size_t switches, wakings;           /* indexes of its events; 0: none */
    size_t woken_offset;
    bool no_stacks;
};

/* The stack of a wait is stored until the wait ends: dumps are too large for that. */
static bool check(const struct event_source_setup *setup, struct error *err)
{
    if (!setup->keeps_dumps)
        return true;
    error_set(err, "--off-cpu and --keep-stacks cannot be combined: waits are recorded "
                   "with call chains, not with stack dumps");
    return error_hint(err, "leave out --keep-stacks");
}

static bool check_wakers(const struct event_source_setup *setup, struct error *err)
{
    if (!check(setup, err))
        return false;
    if (setup->sampler->stacks != RECORD_STACKS_LBR)
        return true;
    error_set(err, "--wakers cannot be combined with -g lbr");
    return error_hint(err, "-g fp or -g dwarf");
}

/* The offset of the field `pid` in the tracepoint's data, from its format:
 * "field:pid_t pid;\toffset:24;". */
static size_t pid_offset(struct str format)
{
    uint64_t at = 0;
    struct str rest = str_skip(format, str_search(format, STR("pid_t pid;")));
    rest = str_skip(rest, str_search(rest, STR("offset:")) + 7);
    return number_parse_u64(str_head(rest, str_find(rest, ';')), &at) ? (size_t)at : 0;
}

static bool add_wakings(struct off_cpu_source *s, struct event_source_setup *setup,
                        struct error *err)
{
    struct record_events *events = &setup->sampler->events;
    struct record_event *wakings = &events->items[events->count];
    char format[4096];
    if (setup->sampler->filter) {
        *wakings = record_event_filtered_wakings();
        s->woken_offset = 0;
    } else if (record_event_tracepoint("sched:sched_waking", wakings, format,
                                       sizeof format, err)) {
        wakings->of_everyone = true;
        s->woken_offset = pid_offset(str_of(format));
    } else {
        return false;
    }
    if (!setup->sampler->filter && s->woken_offset == 0)
        return error_set(err, "the tracepoint sched:sched_waking has no field 'pid'");
    s->wakings = events->count++;
    setup->sampler->more_fields |= PERF_SAMPLE_RAW;
    return true;
}

static bool prepare(void *state, struct event_source_setup *setup, struct error *err)
{
    struct off_cpu_source *s = state;
    struct record_events *events = &setup->sampler->events;
    if (events->count + 2 > RECORD_EVENTS_MAX)
        return error_set(err, "there are more than %d events", RECORD_EVENTS_MAX);
    struct record_event switches = record_event_switches();
    s->no_stacks = !perf_sampler_sees_kernel(&switches);
    if (s->no_stacks)
        switches.exclude |= PERF_FLAG_EXCLUDE_KERNEL | PERF_FLAG_EXCLUDE_HV;
    s->switches = events->count;
    events->items[events->count++] = switches;
    return !setup->request->on[EVENT_SOURCE_wakers] || add_wakings(s, setup, err);
}

static void add_ids(struct off_cpu_source *s, size_t index, enum off_cpu_event event)
{
    size_t room = s->sampler->counter_count;
    uint64_t *ids = malloc((room + 1) * sizeof *ids);
    if (index && ids)
        record_off_cpu_ids(&s->stage, event, ids,
                           perf_sampler_ids(s->sampler, index, ids, room));
    free(ids);
}

static void opened(void *state, const struct perf_sampler *sampler)
{
    struct off_cpu_source *s = state;
    s->sampler = sampler;
    if (!s->stage.waiting)
        return;
    add_ids(s, s->switches, OFF_CPU_SWITCHES);
    add_ids(s, s->wakings, OFF_CPU_WAKINGS);
}

/* The stage makes the samples of these events: they have one id and no counter. */
static void describe(const void *state, size_t index, struct perf_file_event *e)
{
    const struct off_cpu_source *s = state;
    e->attr.sample_type &= ~(uint64_t)PERF_SAMPLE_RAW;
    e->tracepoint = NULL;
    if (index == 0 || (index != s->switches && index != s->wakings))
        return;
    e->attr.type = PERF_TYPE_SOFTWARE;
    e->attr.config = PERF_SOFTWARE_DUMMY;
    e->attr.sample_type |= PERF_SAMPLE_RAW;
    e->attr.flags &= ~(PERF_FLAG_CONTEXT_SWITCH | PERF_FLAG_FREQUENCY);
    e->attr.period = 1;
    e->name = index == s->switches ? PERF_OFF_CPU_EVENT : PERF_WAKER_EVENT;
    e->id_count = e->id_count ? 1 : 0;
    e->id_room = e->id_count;
}

static bool put_stage(void *state, const struct record_layout *layout,
                      struct record_sink *next, struct error *err)
{
    struct off_cpu_source *s = state;
    record_off_cpu_deinit(&s->stage);
    if (!record_off_cpu_init(&s->stage, layout, *next, err))
        return false;
    s->stage.woken_offset = s->woken_offset;
    opened(s, s->sampler);
    *next = record_off_cpu_sink(&s->stage);
    return true;
}

static void finish(void *state, uint64_t now)
{
    struct off_cpu_source *s = state;
    record_off_cpu_end(&s->stage, now);
}

static void report(const void *state, struct event_source_report *r)
{
    const struct off_cpu_source *s = state;
    r->items = s->stage.counts.waits;
    r->samples = r->items + s->stage.counts.wakers;
    r->sum = s->stage.counts.nanoseconds;
    r->no_stacks = s->no_stacks;
    r->incomplete = s->stage.failed;
}

static void close_source(void *state)
{
    struct off_cpu_source *s = state;
    record_off_cpu_deinit(&s->stage);
}

const struct event_source event_source_off_cpu = {
    .name = "off-cpu",
    .event = PERF_OFF_CPU_EVENT,
    .items = "waits",
    .timed = true,
    .size = sizeof(struct off_cpu_source),
    .check = check,
    .prepare = prepare,
    .opened = opened,
    .describe = describe,
    .stage = put_stage,
    .finish = finish,
    .report = report,
    .close = close_source,
};

const struct event_source event_source_wakers = {
    .name = "wakers",
    .part_of = &event_source_off_cpu,
    .check = check_wakers,
};
