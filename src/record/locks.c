/* SPDX-License-Identifier: Apache-2.0 */
#include "record/locks.h"
#include "base/array.h"
#include "base/hash.h"
#include "resolve/variables.h"

/* Names are searched in files: that is too slow for a program with a lock for each object. */
#define NAMED_MOST 4096
#define NAME_MOST 200

#define CODE_MOST 1024 /* mappings of a process */

/* Code of a file that a process has mapped. */
struct record_lock_code {
    struct record_lock_code *next;
    uint64_t start, offset;
    unsigned count; /* of it and those after it */
    size_t length;
    char path[];
};

/* Operations of futex(2): include/uapi/linux/futex.h of Linux. */
enum futex_operation {
    FUTEX_WAIT = 0,
    FUTEX_WAKE = 1,
    FUTEX_REQUEUE = 3,
    FUTEX_CMP_REQUEUE = 4,
    FUTEX_WAKE_OP = 5,
    FUTEX_LOCK_PI = 6,
    FUTEX_UNLOCK_PI = 7,
    FUTEX_WAIT_BITSET = 9,
    FUTEX_WAKE_BITSET = 10,
    FUTEX_WAIT_REQUEUE_PI = 11,
    FUTEX_CMP_REQUEUE_PI = 12,
    FUTEX_LOCK_PI2 = 13,
    FUTEX_OPERATION_BITS = 127, /* without flags */
};

enum call_kind { CALL_OTHER, CALL_WAITS, CALL_WAKES };

static enum call_kind kind_of(uint32_t operation)
{
    switch (operation & FUTEX_OPERATION_BITS) {
    case FUTEX_WAIT:
    case FUTEX_WAIT_BITSET:
    case FUTEX_LOCK_PI:
    case FUTEX_LOCK_PI2:
    case FUTEX_WAIT_REQUEUE_PI:
        return CALL_WAITS;
    case FUTEX_WAKE:
    case FUTEX_WAKE_BITSET:
    case FUTEX_WAKE_OP:
    case FUTEX_UNLOCK_PI:
    case FUTEX_REQUEUE:
    case FUTEX_CMP_REQUEUE:
    case FUTEX_CMP_REQUEUE_PI:
        return CALL_WAKES;
    default:
        return CALL_OTHER;
    }
}

bool record_locks_init(struct record_locks *l, uint32_t limit)
{
    *l = (struct record_locks){.limit = limit};
    l->calls = calloc(limit, sizeof *l->calls);
    return l->calls && ARRAY_RESERVE_ZEROED(&l->arena, l->items, l->cap, 1);
}

static void drop_code(struct record_lock_call *c)
{
    while (c->code) {
        struct record_lock_code *code = c->code;
        c->code = code->next;
        free(code);
    }
}

void record_locks_deinit(struct record_locks *l)
{
    for (uint32_t tid = 1; l->calls && tid <= l->highest; tid++)
        drop_code(&l->calls[tid]);
    free(l->calls);
    arena_deinit(&l->arena);
    *l = (struct record_locks){0};
}

static struct record_lock_call *call_of(struct record_locks *l, uint32_t tid)
{
    return tid && tid < l->limit ? &l->calls[tid] : NULL;
}

void record_locks_call(struct record_locks *l, uint32_t tid, uint64_t address,
                       uint32_t operation)
{
    struct record_lock_call *c = call_of(l, tid);
    enum call_kind kind = kind_of(operation);
    if (!c)
        return;
    c->address = kind == CALL_OTHER ? 0 : address;
    c->wakes = kind == CALL_WAKES;
}

void record_locks_return(struct record_locks *l, uint32_t tid)
{
    struct record_lock_call *c = call_of(l, tid);
    if (c)
        c->address = 0;
}

void record_locks_map(struct record_locks *l, uint32_t pid, uint64_t start,
                      uint64_t offset, struct str path)
{
    struct record_lock_call *c = call_of(l, pid);
    unsigned count = c && c->code ? c->code->count : 0;
    if (!c || !str_starts(path, STR("/")) || str_starts(path, STR("//")) ||
        count == CODE_MOST)
        return;
    struct record_lock_code *code = malloc(sizeof *code + path.len);
    if (!code) {
        l->failed = true;
        return;
    }
    *code = (struct record_lock_code){.next = c->code,
                                      .start = start,
                                      .offset = offset,
                                      .count = count + 1,
                                      .length = path.len};
    memcpy(code->path, path.ptr, path.len);
    c->code = code;
    l->highest = pid > l->highest ? pid : l->highest;
}

void record_locks_exec(struct record_locks *l, uint32_t pid)
{
    struct record_lock_call *c = call_of(l, pid);
    if (c)
        drop_code(c);
}

/* --- Locks ------------------------------------------------------------------------- */

/* Names a variable of a process that has ended. */
static void write_from_code(struct record_locks *l, uint32_t pid, uint64_t address,
                            struct output *out)
{
    const struct record_lock_call *c = call_of(l, pid);
    const struct record_lock_code *below = NULL;
    for (const struct record_lock_code *at = c ? c->code : NULL; at; at = at->next)
        if (at->start <= address && (!below || at->start > below->start))
            below = at;
    if (!below)
        return;
    struct variable_code code = {
        {below->path, below->length}, below->start, below->offset};
    variable_write_name_in(pid, &code, address, out);
}

static struct str name_of(struct record_locks *l, uint32_t pid, uint64_t address)
{
    struct output text = OUTPUT_BUFFER;
    struct str name = STR("");
    if (l->named++ < NAMED_MOST) {
        if (!variable_write_name(pid, address, &text))
            write_from_code(l, pid, address, &text);
        name = arena_str(&l->arena, str_head(output_contents(&text), NAME_MOST));
        output_deinit(&text);
    }
    return name;
}

/* The index of the lock; 0 if there are too many. A process id that is used again has other
 * locks. */
static uint32_t lock_at(struct record_locks *l, uint32_t pid, uint64_t address)
{
    const struct record_lock_call *process = call_of(l, pid);
    uint64_t generation = process ? process->generation : 0;
    uint64_t key = hash_mix((generation << 32 | pid) ^ HASH_A, address ^ HASH_B);
    const uint64_t *known = idmap_find(&l->ids, key);
    if (known || l->count == LOCKS_MOST)
        return known ? (uint32_t)*known : 0;
    uint64_t *index = idmap_put(&l->ids, &l->arena, key);
    struct record_lock *lock =
        index ? ARRAY_APPEND_FROM_1(&l->arena, l->items, l->count, l->cap) : NULL;
    if (!lock) {
        l->failed = true;
        return 0;
    }
    *index = l->count;
    *lock = (struct record_lock){
        .pid = pid, .address = address, .name = name_of(l, pid, address)};
    return (uint32_t)l->count;
}

static void advance(struct record_lock *lock, uint64_t time)
{
    if (time > lock->since)
        lock->blocked += lock->waiting * (time - lock->since);
    lock->since = time;
}

static void stop_waiting(struct record_locks *l, struct record_lock_call *c,
                         uint64_t time)
{
    struct record_lock *lock = &l->items[c->lock];
    if (!c->is_waiting)
        return;
    c->is_waiting = false;
    if (c->lock == 0)
        return;
    advance(lock, time);
    lock->waiting--;
}

/* --- Waits ------------------------------------------------------------------------- */

void record_locks_wait(struct record_locks *l, uint32_t pid, uint32_t tid, uint64_t time)
{
    struct record_lock_call *c = call_of(l, tid);
    if (!c || !c->address || c->wakes)
        return;
    stop_waiting(l, c, time); /* its return was lost */
    c->lock = lock_at(l, pid, c->address);
    c->is_waiting = true;
    if (c->lock == 0)
        return;
    struct record_lock *lock = &l->items[c->lock];
    advance(lock, time);
    if (lock->waiting++ == 0)
        lock->blocked = 0;
}

static struct record_lock_wait wait_for(const struct record_locks *l,
                                        const struct record_lock_call *c)
{
    const struct record_lock *lock = &l->items[c->lock];
    return c->lock ? (struct record_lock_wait){lock->address, lock->name}
                   : (struct record_lock_wait){c->address, STR("")};
}

uint64_t record_locks_wake(struct record_locks *l, uint32_t waker, uint32_t woken,
                           uint64_t time, struct record_lock_wait *wait)
{
    const struct record_lock_call *by = call_of(l, waker);
    struct record_lock_call *c = call_of(l, woken);
    if (!c || !c->is_waiting)
        return 0;
    stop_waiting(l, c, time);
    /* a timeout, a signal, or an exit */
    if (c->lock == 0 || !by || !by->address || !by->wakes)
        return 0;
    struct record_lock *lock = &l->items[c->lock];
    uint64_t blocked = lock->blocked;
    lock->blocked = 0;
    lock->handed_to = woken;
    *wait = wait_for(l, c);
    return blocked;
}

struct record_lock_wait record_locks_resume(struct record_locks *l, uint32_t tid,
                                            uint64_t time)
{
    struct record_lock_wait none = {0, STR("")};
    struct record_lock_call *c = call_of(l, tid);
    if (!c || (c->lock == 0 && !c->is_waiting))
        return none;
    struct record_lock_wait wait = wait_for(l, c);
    struct record_lock *lock = &l->items[c->lock];
    stop_waiting(l, c, time);
    if (c->lock && lock->handed_to == tid) {
        advance(lock, time);
        lock->handed_to = 0;
        lock->blocked = 0;
    }
    c->lock = 0;
    return wait;
}

void record_locks_forget(struct record_locks *l, uint32_t tid, uint64_t time)
{
    struct record_lock_call *c = call_of(l, tid);
    if (!c)
        return;
    stop_waiting(l, c, time);
    drop_code(c);
    *c = (struct record_lock_call){.generation = c->generation + 1};
}
