/* SPDX-License-Identifier: Apache-2.0 */
/* Stops a thread and reads what its stack is made of. */
#include "base/array.h"
#include "engine/stacks_parts.h"
#include "os/machine.h"
#include "os/mapping.h"
#include "os/proc.h"

/* Largest part of a stack that is read: what the system allows by default. */
#define STACK_MAX ((uint64_t)8 << 20)

/* The number of bytes from an address to the end of its mapping; 0 if it is not mapped. */
static uint64_t mapped_behind(const struct stacks_reader *r, uint64_t address)
{
    size_t low = 0, high = r->range_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (r->ranges[middle].end <= address)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == r->range_count || r->ranges[low].start > address)
        return 0;
    return r->ranges[low].end - address;
}

/* Reads the stack from the stack pointer to the end of its mapping. */
static void read_stack(struct stacks_reader *r, struct stacks_capture *c)
{
    uint64_t from = c->registers.stack_pointer, size = mapped_behind(r, from);
    size = size < STACK_MAX ? size : STACK_MAX;
    char *bytes = size ? arena_alloc(&r->arena, (size_t)size) : NULL;
    if (bytes && r->read(r, from, bytes, (size_t)size))
        c->stack = (struct str){bytes, (size_t)size};
}

/* Reads the interpreted frames of a stopped thread. */
bool stacks_read_interpreted(struct stacks_reader *r, struct stacks_thread *t,
                             struct stacks_capture *c)
{
    struct interpreter_runtime *runtime = &r->out->runtime;
    struct interpreter_thread known;
    struct interpreter_thread_ids ids = {.tid = c->own_tid,
                                         .pointer = c->registers.thread_pointer};
    const struct register_roles *roles = register_roles_of(c->registers.machine);
    if (roles) {
        ids.frame = c->registers.values[roles->perf[roles->fp]];
        ids.stack = c->registers.stack_pointer;
        ids.pc = c->registers.values[roles->perf_pc];
    }
    if (!runtime->interpreter || !runtime->interpreter->thread(runtime, &ids, &known))
        return true;
    t->is_interpreted = true;
    t->holds_lock = known.holds_lock;
    bool ok = runtime->interpreter->stack(runtime, &known, &c->interpreted, &r->arena);
    t->end = c->interpreted.end;
    return ok;
}

static bool read_stopped(struct stacks_reader *r, const struct os_stopped *stopped,
                         struct stacks_thread *t, struct stacks_capture *c)
{
    if (!os_stopped_registers(stopped, &c->registers)) {
        t->result = STACKS_FAILED;
        return true;
    }
    if (!r->request->interpreted)
        read_stack(r, c);
    return stacks_read_interpreted(r, t, c);
}

bool stacks_capture_thread(struct stacks_reader *r, int64_t tid, struct error *err)
{
    struct stacks *s = r->out;
    struct os_stopped stopped;
    char name[64];
    struct stacks_thread t = {.tid = tid, .state = os_thread_state(s->pid, tid)};
    struct stacks_capture c = {.own_tid = (uint64_t)os_process_own_pid(tid),
                               .stack = STR("")};
    t.name = arena_str(
        &s->arena, os_thread_name((uint32_t)s->pid, (uint32_t)tid, name, sizeof name));
    uint64_t before = os_clock_monotonic();
    enum os_stop result = os_stop_thread(&stopped, tid, err);
    bool ok = true;
    if (result == OS_STOP_GONE)
        return true;
    if (result == OS_STOP_REFUSED)
        return false;
    if (result == OS_STOP_BUSY) {
        t.result = STACKS_BUSY;
    } else {
        ok = read_stopped(r, &stopped, &t, &c);
        os_resume(&stopped);
        t.paused = os_clock_monotonic() - before;
    }
    size_t count = s->count;
    if (!ok || !ARRAY_RESERVE(&r->arena, r->captures, r->capture_cap, count + 1) ||
        !ARRAY_RESERVE(&s->arena, s->threads, s->cap, count + 1))
        return error_memory(err);
    r->captures[count] = c;
    s->threads[count] = t;
    s->count++;
    return true;
}
