/* SPDX-License-Identifier: Apache-2.0 */
#include "record/stack_reading.h"
#include "os/mapping.h"
#include "os/timer.h"

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
struct thread {
    uint64_t own; /* its id in the innermost namespace */
    uint64_t state;
};

static struct thread *thread_of(struct record_stack_reading *s, uint32_t tid)
{
    if (s->states.count > STATES_MAX) {
        arena_deinit(&s->arena);
        s->states = (struct idmap){0};
    }
    uint64_t *known = idmap_put(&s->states, &s->arena, tid);
    if (!known)
        return NULL;
    if (!*known) {
        struct thread *added = arena_zalloc(&s->arena, 1, sizeof *added);
        if (added)
            added->own = (uint64_t)os_process_own_pid(tid);
        *known = (uint64_t)(uintptr_t)added;
    }
    return (struct thread *)(uintptr_t)*known;
}

bool record_stack_reading_read(struct record_stack_reading *s,
                               const struct interpreter_runtime *r,
                               const struct interpreter_walk *layout, uint32_t tid,
                               enum interpreter_end *end)
{
    struct thread *t = thread_of(s, tid);
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
