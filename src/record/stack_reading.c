/* SPDX-License-Identifier: Apache-2.0 */
#include "record/stack_reading.h"
#include "interpreter/walk_chain.h"
#include "os/mapping.h"
#include "os/timer.h"
#include "unwind/registers.h"

#define INTERVAL ((uint64_t)1000000) /* ns */
#define STATES_MAX ((size_t)1 << 16)

bool record_stack_reading_open(struct record_stack_reading *s, struct error *err)
{
    s->timer = os_timer_open(err);
    return s->timer >= 0;
}

void record_stack_reading_close(struct record_stack_reading *s)
{
    os_timer_close(s->timer);
    s->timer = -1;
    arena_deinit(&s->arena);
    s->states = (struct idmap){0};
}

void record_stack_reading_activate(struct record_stack_reading *s, bool active)
{
    if (active != s->active)
        os_timer_set(s->timer, active ? INTERVAL : 0);
    s->active = active;
}

/* Whether the structure still belongs to the thread: its memory may be used again. */
static bool is_state_of(const struct interpreter_runtime *r,
                        const struct interpreter_walk *l, uint64_t state, uint64_t own)
{
    uint32_t found;
    return l->thread_tid != INTERPRETER_WALK_ABSENT && state &&
           r->access->read(r->access->context, state + l->thread_tid, &found,
                           sizeof found) &&
           found == own;
}

/* What is cached of a thread. */
struct cached_thread {
    uint64_t own; /* its id in the innermost namespace */
    uint64_t state;
};

static struct cached_thread *thread_of(struct record_stack_reading *s, uint32_t tid)
{
    if (s->states.count > STATES_MAX) {
        arena_deinit(&s->arena);
        s->states = (struct idmap){0};
    }
    uint64_t *known = idmap_put(&s->states, &s->arena, tid);
    if (!known)
        return NULL;
    if (!*known) {
        struct cached_thread *added = arena_zalloc(&s->arena, 1, sizeof *added);
        if (added)
            added->own = (uint64_t)os_process_own_pid(tid);
        *known = (uint64_t)(uintptr_t)added;
    }
    return (struct cached_thread *)(uintptr_t)*known;
}

bool record_stack_reading_read(struct record_stack_reading *s,
                               const struct interpreter_runtime *r,
                               const struct interpreter_walk *layout, uint32_t tid,
                               enum interpreter_end *end)
{
    struct cached_thread *t = thread_of(s, tid);
    s->count = 0;
    if (!t)
        return false;
    if (!is_state_of(r, layout, t->state, t->own)) {
        struct interpreter_thread_ids ids = {.tid = t->own};
        struct interpreter_thread found;
        if (!r->interpreter->thread(r, &ids, &found))
            return false;
        t->state = found.state;
    }
    *end = interpreter_walk_thread(r->access, layout, t->state, s->frames, &s->count);
    return true;
}

/* The recorded part of a stack. */
struct recorded {
    uint64_t start;
    struct str bytes;
};

static bool read_recorded(void *context, uint64_t address, void *into, size_t size)
{
    const struct recorded *r = context;
    uint64_t offset = address - r->start;
    if (address < r->start || offset > r->bytes.len || size > r->bytes.len - offset)
        return false;
    memcpy(into, r->bytes.ptr + offset, size);
    return true;
}

/* Adds the frames of the chain. */
static void add_chain(struct record_stack_reading *s, struct interpreter_chain *chain)
{
    uint64_t pc;
    while (s->count + 1 < INTERPRETER_WALK_MAX &&
           interpreter_chain_next(chain, &s->frames[s->count], &pc)) {
        s->frames[s->count + 1] = (struct interpreter_walk_frame){.code = pc};
        s->count += 2;
    }
}

void record_stack_reading_chain(struct record_stack_reading *s,
                                const struct interpreter_runtime *r,
                                const struct interpreter_walk *layout,
                                const struct unwind_job *job, enum interpreter_end *end)
{
    const struct register_roles *roles = register_roles_of(job->machine);
    s->count = 0;
    *end = INTERPRETER_WHOLE;
    if (!roles)
        return;
    struct recorded recorded = {job->registers[roles->perf[roles->sp]], job->stack};
    struct interpreter_access access = {.context = &recorded, .read = read_recorded};
    struct memory objects = memory_of(r->access), stack = memory_of(&access);
    struct interpreter_chain chain = {.memory = &objects,
                                      .stack = &stack,
                                      .layout = layout,
                                      .frame = job->registers[roles->perf[roles->fp]],
                                      .pc = job->registers[roles->perf_pc]};
    add_chain(s, &chain);
    if (s->count == 0 && interpreter_chain_search(&chain, recorded.start))
        add_chain(s, &chain);
    if (s->count && (chain.is_cut || chain.frame))
        *end = INTERPRETER_TRUNCATED;
}
