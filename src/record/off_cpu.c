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
    CHANGE_CALL,
    CHANGE_RETURN,
    CHANGE_FILE,
    CHANGE_EXIT,
    CHANGE_FORK
};

/* ns between the record of a file and that of the switch in the same function of the kernel. An older
 * file is of a wait that is not recorded: before the exec, or its records were lost. */
#define FILE_AGE_MOST 10000000u

/* The change of a thread that has ended: it leaves its CPU for the last time. */
static struct off_cpu_wait ended;

/* Whether locks are requested, and there is memory for them. */
static bool follows_locks(const struct record_off_cpu *o)
{
    return o->first_ids[OFF_CPU_CALLS] && o->locks.calls;
}

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

/* A field in the data of a tracepoint, of 4 bytes; 0 if the sample does not have it. */
static uint32_t field32(const struct record_off_cpu *o, const struct record *r, size_t at)
{
    at += chain_end(o->layout, r->bytes) + 4; /* after the length of the data */
    return r->bytes.len < at + 4 ? 0 : record_u32(r->bytes, at);
}

static uint64_t field64(const struct record_off_cpu *o, const struct record *r, size_t at)
{
    at += chain_end(o->layout, r->bytes) + 4;
    return r->bytes.len < at + 8 ? 0 : record_u64(r->bytes, at);
}

/* A call of futex, or the return from it. */
static void add_call(struct record_off_cpu *o, const struct record *r, enum change kind)
{
    struct off_cpu_change *c = add_change(o, kind, r->time);
    if (!c)
        return;
    c->tid = record_tid(o->layout, r);
    c->address = field64(o, r, o->fields.address);
    c->operation = field32(o, r, o->fields.operation);
}

/* The file that a thread will wait for: the next record is that of its switch. It is named at once,
 * while it is open. */
static void add_file(struct record_off_cpu *o, const struct record *r)
{
    size_t at = chain_end(o->layout, r->bytes) + 4;
    struct wait_file f = {0};
    uint32_t tid = record_tid(o->layout, r);
    if (r->bytes.len < at + WAIT_FILES_HEAD)
        return;
    struct off_cpu_change *c = add_change(o, CHANGE_FILE, r->time);
    if (!c)
        return;
    struct str raw = str_head(str_skip(r->bytes, at), sizeof f);
    memcpy(&f, raw.ptr, raw.len);
    if (f.path_length > raw.len - WAIT_FILES_HEAD)
        f.path_length = 0;
    c->tid = tid;
    c->file = record_wait_files_add(&o->files, tid, &f);
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
    switch (event ? (enum off_cpu_event) * event : OFF_CPU_OTHER) {
    case OFF_CPU_SWITCHES:
        add_sample(o, r, CHANGE_STACK, record_tid(o->layout, r));
        break;
    case OFF_CPU_WAKINGS:
    case OFF_CPU_BRIEF_WAKINGS:
        add_sample(o, r, CHANGE_WAKING, field32(o, r, o->fields.woken));
        break;
    case OFF_CPU_CALLS:
        add_call(o, r, CHANGE_CALL);
        break;
    case OFF_CPU_RETURNS:
        add_call(o, r, CHANGE_RETURN);
        break;
    case OFF_CPU_FILES:
        add_file(o, r);
        break;
    default:
        pass_other(o, r);
    }
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

/* A record that says what a process executes. */
static void take_code(struct record_off_cpu *o, const struct record *r)
{
    if (r->type == PERF_MMAP2 && r->bytes.len > RECORD_MMAP_PATH)
        record_locks_map(&o->locks, record_u32(r->bytes, RECORD_MMAP_PID),
                         record_u64(r->bytes, RECORD_MMAP_START),
                         record_u64(r->bytes, RECORD_MMAP_OFFSET),
                         record_mmap_path(o->layout, r));
    else if (r->type == PERF_COMM && r->misc & PERF_MISC_COMM_EXEC)
        record_locks_exec(&o->locks, record_u32(r->bytes, RECORD_MMAP_PID));
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
    else if (whole && follows_locks(o))
        take_code(o, r);
    record_pass(&o->next, r);
}

/* --- From changes to samples ------------------------------------------------------- */

/* The wait of a thread, with room for a sample of that size; NULL if out of memory
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

static void store_file(struct record_off_cpu *o, const struct off_cpu_change *c,
                       uint64_t time)
{
    struct off_cpu_wait *w = wait_of(o, c->tid, 0);
    if (!w)
        return;
    w->file = c->file;
    w->file_time = time;
}

static void switch_out(struct record_off_cpu *o, const struct off_cpu_change *c,
                       uint64_t time)
{
    struct off_cpu_wait *w = c->tid < o->limit ? o->waiting[c->tid] : NULL;
    if (!w || !w->size)
        store_without_stack(o, c);
    w = wait_of(o, c->tid, 0);
    if (!w)
        return;
    if (c->preempted || time > w->file_time + FILE_AGE_MOST)
        w->file = 0;
    w->since = time;
    w->preempted = c->preempted;
    if (follows_locks(o) && !c->preempted)
        record_locks_wait(&o->locks, c->pid, c->tid, time);
}

/* A sample that the stage makes. */
struct made_sample {
    enum off_cpu_event event; /* whose first id it gets */
    uint64_t time, period;
    uint32_t word;
    struct record_lock_wait lock;
    struct record_wait_file file;
};

static void put_file(struct record_maker *m, const struct record_wait_file *f)
{
    static const char zeros[sizeof(uint64_t)];
    record_put(m, f->file.ptr, f->file.len);
    record_put(m, zeros, 1);
    record_put(m, f->device.ptr, f->device.len);
    record_put(m, zeros, sizeof zeros - (f->file.len + 1 + f->device.len) % sizeof zeros);
}

/* The raw data: see perf/off_cpu.h. */
static void put_raw(struct record_maker *m, const struct made_sample *s)
{
    size_t at = m->used;
    record_put_u32(m, 0);
    record_put_u32(m, s->word);
    if (s->lock.address || s->file.file.len)
        record_put_u64(m, s->lock.address);
    if (s->lock.address && s->lock.name.len)
        record_put_text(m, s->lock.name);
    if (s->file.file.len)
        put_file(m, &s->file);
    uint32_t size = (uint32_t)(m->used - at - sizeof size);
    memcpy(m->bytes + at, &size, sizeof size);
}

/* Ends the current sample with its raw data, and passes it on. */
static void pass_sample(struct record_off_cpu *o, const struct made_sample *s)
{
    struct record_maker *m = &o->maker;
    const struct record_layout *l = o->layout;
    memcpy(m->bytes + l->id, &o->first_ids[s->event], sizeof(uint64_t));
    memcpy(m->bytes + l->time, &s->time, sizeof s->time);
    memcpy(m->bytes + l->period, &s->period, sizeof s->period);
    put_raw(m, s);
    struct record r = record_end_bare(m, s->time);
    record_pass(&o->next, &r);
}

/* What the thread waited for, up to now. */
static struct record_lock_wait lock_of_wait(struct record_off_cpu *o, uint32_t tid,
                                            uint64_t time)
{
    struct record_lock_wait none = {0, STR("")};
    return follows_locks(o) ? record_locks_resume(&o->locks, tid, time) : none;
}

static void pass_wait(struct record_off_cpu *o, const struct off_cpu_wait *w,
                      uint64_t until, uint32_t flags, struct record_lock_wait lock)
{
    uint64_t length = until > w->since ? until - w->since : 0;
    struct made_sample s = {
        .event = OFF_CPU_SWITCHES,
        .time = until,
        .period = length,
        .word = flags | (w->preempted ? PERF_OFF_CPU_PREEMPTED : 0),
        .lock = lock,
        .file = record_wait_files_get(&o->files, lock.address ? 0 : w->file),
    };
    if (s.file.file.len)
        s.word |= PERF_OFF_CPU_FILE;
    o->maker.used = 0;
    record_put(&o->maker, w->bytes, w->size);
    pass_sample(o, &s);
    o->counts.waits++;
    o->counts.files += s.file.file.len != 0;
    o->counts.nanoseconds += length;
}

static void switch_in(struct record_off_cpu *o, uint32_t tid, uint64_t time)
{
    struct off_cpu_wait *w = tid < o->limit ? o->waiting[tid] : NULL;
    if (!w || w == &ended) /* a thread that ends still runs for a moment */
        return;
    if (w->size) /* not only its file is known */
        pass_wait(o, w, time, 0, lock_of_wait(o, tid, time));
    replace_wait(o, tid, NULL);
}

/* A thread that wakes another thread up may have held the lock that this thread waited for. */
static void pass_holder(struct record_off_cpu *o, const struct off_cpu_change *c,
                        uint64_t time)
{
    struct made_sample s = {.event = OFF_CPU_CALLS, .time = time};
    uint32_t holder =
        record_u32(str_skip(output_contents(&o->samples), c->offset + o->layout->tid), 4);
    s.period = record_locks_wake(&o->locks, holder, c->tid, time, &s.lock);
    if (s.period == 0)
        return;
    o->maker.used = 0;
    record_put(&o->maker, o->samples.bytes + c->offset, c->size);
    pass_sample(o, &s);
    o->counts.holders++;
}

static void waking(struct record_off_cpu *o, const struct off_cpu_change *c,
                   uint64_t time)
{
    const struct off_cpu_wait *w = c->tid < o->limit ? o->waiting[c->tid] : NULL;
    struct made_sample s = {
        .event = OFF_CPU_WAKINGS, .time = time, .period = 1, .word = c->tid};
    if (!w || w == &ended || !w->size || w->preempted || c->size < o->layout->fixed_size)
        return;
    o->maker.used = 0;
    record_put(&o->maker, o->samples.bytes + c->offset, c->size);
    pass_sample(o, &s);
    o->counts.wakers++;
    if (follows_locks(o))
        pass_holder(o, c, time);
}

/* The thread id belongs to another task, or to none. */
static void change_task(struct record_off_cpu *o, uint32_t tid, uint64_t time,
                        struct off_cpu_wait *by)
{
    replace_wait(o, tid, by);
    if (follows_locks(o))
        record_locks_forget(&o->locks, tid, time);
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
    case CHANGE_CALL:
        record_locks_call(&o->locks, c->tid, c->address, c->operation);
        break;
    case CHANGE_RETURN:
        record_locks_return(&o->locks, c->tid);
        break;
    case CHANGE_FILE:
        store_file(o, c, time);
        break;
    case CHANGE_EXIT:
        change_task(o, c->tid, time, &ended);
        break;
    case CHANGE_FORK:
        change_task(o, c->tid, time, NULL);
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
        if (w && w != &ended && w->size && os_thread_process(tid))
            pass_wait(o, w, now, PERF_OFF_CPU_STILL, lock_of_wait(o, tid, now));
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
    return (o->waiting && record_locks_init(&o->locks, o->limit)) || error_memory(err);
}

void record_off_cpu_deinit(struct record_off_cpu *o)
{
    for (uint32_t tid = 1; o->waiting && tid <= o->highest; tid++)
        replace_wait(o, tid, NULL);
    free(o->waiting);
    free(o->changes);
    free(o->order);
    output_deinit(&o->samples);
    record_locks_deinit(&o->locks);
    record_wait_files_deinit(&o->files);
    arena_deinit(&o->arena);
    o->waiting = NULL;
    o->changes = NULL;
    o->order = NULL;
    o->count = o->cap = o->order_cap = 0;
}

void record_off_cpu_ids(struct record_off_cpu *o, enum off_cpu_event event,
                        const uint64_t *ids, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        uint64_t *at = idmap_put(&o->ids, &o->arena, ids[i]);
        if (at)
            *at = event;
        o->failed |= !at;
    }
    if (o->first_ids[event] == 0 && count)
        o->first_ids[event] = ids[0];
}

/* --- The event source -------------------------------------------------------------- */

struct off_cpu_source {
    struct record_off_cpu stage;
    struct perf_sampler *sampler;  /* once it is open */
    size_t events[OFF_CPU_EVENTS]; /* their indexes; 0: none */
    struct off_cpu_fields fields;
    struct os_wait_files files;
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

/* The sources that need the stacks of wakers. */
static bool check_wakers(const struct event_source_setup *setup, struct error *err)
{
    const char *name = setup->request->on[EVENT_SOURCE_locks] ? "--locks" : "--wakers";
    if (!check(setup, err))
        return false;
    if (setup->sampler->stacks != RECORD_STACKS_LBR)
        return true;
    error_set(err, "%s cannot be combined with -g lbr", name);
    return error_hint(err, "-g fp or -g dwarf");
}

/* Sets the offset of a field in a tracepoint's data, from the text of its format:
 * "field:pid_t pid;\toffset:24;". */
static bool find_field(struct str format, const char *event, const char *field,
                       size_t *offset, struct error *err)
{
    uint64_t at = 0;
    struct str rest = str_skip(format, str_search(format, str_of(field)));
    rest = str_skip(rest, str_search(rest, STR("offset:")) + 7);
    if (!number_parse_u64(str_head(rest, str_find(rest, ';')), &at) || at == 0)
        return error_set(err, "the tracepoint %s has no field '%s'", event, field);
    *offset = (size_t)at;
    return true;
}

static bool add_tracepoint(struct off_cpu_source *s, struct event_source_setup *setup,
                           enum off_cpu_event event, const char *name, char *format,
                           size_t room, struct error *err)
{
    struct record_events *events = &setup->sampler->events;
    if (!record_event_tracepoint(name, &events->items[events->count], format, room, err))
        return false;
    s->events[event] = events->count++;
    setup->sampler->more_fields |= PERF_SAMPLE_RAW;
    return true;
}

/* Without the filter, which limits the number of whole stacks. */
#define WAKER_DUMP 4096

static bool add_wakings(struct off_cpu_source *s, struct event_source_setup *setup,
                        struct error *err)
{
    static const char name[] = "sched:sched_waking";
    struct record_events *events = &setup->sampler->events;
    char format[4096];
    if (setup->sampler->filter) {
        s->events[OFF_CPU_WAKINGS] = events->count;
        events->items[events->count++] = record_event_filtered_wakings(false);
        s->events[OFF_CPU_BRIEF_WAKINGS] = events->count;
        events->items[events->count++] = record_event_filtered_wakings(true);
        setup->sampler->more_fields |= PERF_SAMPLE_RAW;
        return true;
    }
    if (!add_tracepoint(s, setup, OFF_CPU_WAKINGS, name, format, sizeof format, err))
        return false;
    events->items[s->events[OFF_CPU_WAKINGS]].of_everyone = true;
    events->items[s->events[OFF_CPU_WAKINGS]].dump_most = WAKER_DUMP;
    return find_field(str_of(format), name, "pid_t pid;", &s->fields.woken, err);
}

/* Calls of futex, and returns from it. */
static bool add_calls(struct off_cpu_source *s, struct event_source_setup *setup,
                      struct error *err)
{
    static const char call[] = "syscalls:sys_enter_futex",
                      back[] = "syscalls:sys_exit_futex";
    struct record_events *events = &setup->sampler->events;
    char format[4096], ignored[4096];
    if (!add_tracepoint(s, setup, OFF_CPU_CALLS, call, format, sizeof format, err) ||
        !add_tracepoint(s, setup, OFF_CPU_RETURNS, back, ignored, sizeof ignored, err))
        return false;
    events->items[s->events[OFF_CPU_CALLS]].no_stacks = true;
    events->items[s->events[OFF_CPU_RETURNS]].no_stacks = true;
    return find_field(str_of(format), call, "uaddr;", &s->fields.address, err) &&
           find_field(str_of(format), call, "int op;", &s->fields.operation, err);
}

/* Files that threads wait for. Without a filter, the program cannot select the targets. */
static bool add_files(struct off_cpu_source *s, struct event_source_setup *setup,
                      struct error *err)
{
    struct perf_sampler_settings *sampler = setup->sampler;
    struct os_task_filter why = {.program = NULL};
    if (!sampler->targets.everyone && !sampler->filter) {
        if (os_task_filter_open(&why, false, err))
            error_set(err, "--io needs the eBPF program that selects the targets");
        os_task_filter_close(&why);
        return false;
    }
    if (!os_wait_files_open(&s->files, sampler->targets.everyone ? NULL : sampler->filter,
                            err))
        return false;
    s->events[OFF_CPU_FILES] = sampler->events.count;
    sampler->events.items[sampler->events.count++] = record_event_wait_files();
    sampler->more_fields |= PERF_SAMPLE_RAW;
    sampler->files = &s->files;
    return true;
}

static bool prepare(void *state, struct event_source_setup *setup, struct error *err)
{
    struct off_cpu_source *s = state;
    struct record_events *events = &setup->sampler->events;
    const bool *on = setup->request->on;
    if (events->count + OFF_CPU_EVENTS > RECORD_EVENTS_MAX)
        return error_set(err, "there are more than %d events", RECORD_EVENTS_MAX);
    struct record_event switches = record_event_switches();
    s->no_stacks = !perf_sampler_sees_kernel(&switches);
    if (s->no_stacks)
        switches.exclude |= PERF_FLAG_EXCLUDE_KERNEL | PERF_FLAG_EXCLUDE_HV;
    s->events[OFF_CPU_SWITCHES] = events->count;
    events->items[events->count++] = switches;
    if ((on[EVENT_SOURCE_wakers] || on[EVENT_SOURCE_locks]) &&
        !add_wakings(s, setup, err))
        return false;
    return (!on[EVENT_SOURCE_locks] || add_calls(s, setup, err)) &&
           (!on[EVENT_SOURCE_io] || add_files(s, setup, err));
}

static void add_ids(struct off_cpu_source *s, enum off_cpu_event event)
{
    size_t room = s->sampler->counter_count, index = s->events[event];
    uint64_t *ids = malloc((room + 1) * sizeof *ids);
    if (index && ids)
        record_off_cpu_ids(&s->stage, event, ids,
                           perf_sampler_ids(s->sampler, index, ids, room));
    free(ids);
}

static void opened(void *state, struct perf_sampler *sampler)
{
    struct off_cpu_source *s = state;
    s->sampler = sampler;
    if (!s->stage.waiting)
        return;
    for (size_t i = OFF_CPU_OTHER + 1; i < OFF_CPU_EVENTS; i++)
        add_ids(s, (enum off_cpu_event)i);
}

void record_off_cpu_describe(struct perf_file_event *e, const char *name)
{
    e->attr.type = PERF_TYPE_SOFTWARE;
    e->attr.config = PERF_SOFTWARE_DUMMY;
    e->attr.sample_type |= PERF_SAMPLE_RAW;
    e->attr.flags &= ~(PERF_FLAG_CONTEXT_SWITCH | PERF_FLAG_FREQUENCY |
                       PERF_FLAG_EXCLUDE_CHAIN_KERNEL | PERF_FLAG_EXCLUDE_CHAIN_USER);
    e->attr.period = 1;
    e->name = name;
}

/* The stage makes the samples of these events. */
static void describe(const void *state, size_t index, struct perf_file_event *e)
{
    static const char *const names[OFF_CPU_EVENTS] = {
        [OFF_CPU_SWITCHES] = PERF_OFF_CPU_EVENT,
        [OFF_CPU_WAKINGS] = PERF_WAKER_EVENT,
        [OFF_CPU_BRIEF_WAKINGS] = "brief-wakers", /* its samples are those of wakers */
        [OFF_CPU_CALLS] = PERF_LOCK_HOLDER_EVENT,
        [OFF_CPU_RETURNS] = "futex-returns", /* has no samples */
        [OFF_CPU_FILES] = "wait-files",      /* the same */
    };
    const struct off_cpu_source *s = state;
    size_t event = OFF_CPU_OTHER + 1;
    e->attr.sample_type &= ~(uint64_t)PERF_SAMPLE_RAW;
    e->tracepoint = NULL;
    while (event < OFF_CPU_EVENTS && s->events[event] != index)
        event++;
    if (index == 0 || event == OFF_CPU_EVENTS)
        return;
    record_off_cpu_describe(e, names[event]);
}

static bool put_stage(void *state, const struct record_layout *layout,
                      struct record_sink *next, struct error *err)
{
    struct off_cpu_source *s = state;
    record_off_cpu_deinit(&s->stage);
    if (!record_off_cpu_init(&s->stage, layout, *next, err))
        return false;
    s->stage.fields = s->fields;
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
    r->samples = r->items + s->stage.counts.wakers + s->stage.counts.holders;
    r->sum = s->stage.counts.nanoseconds;
    r->no_stacks = s->no_stacks;
    r->incomplete = s->stage.failed || s->stage.locks.failed || s->stage.files.failed;
}

static void close_source(void *state)
{
    struct off_cpu_source *s = state;
    record_off_cpu_deinit(&s->stage);
    os_wait_files_close(&s->files);
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

const struct event_source event_source_locks = {
    .name = "locks",
    .part_of = &event_source_off_cpu,
    .check = check_wakers,
};

const struct event_source event_source_io = {
    .name = "io",
    .part_of = &event_source_off_cpu,
    .check = check,
};
