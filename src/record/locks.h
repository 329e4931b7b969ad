/* SPDX-License-Identifier: Apache-2.0 */
/* Who makes threads wait for locks: follows the futexes of all threads, in the order of time.
 *
 * A thread that calls futex(2) to wait and leaves its CPU waits for the lock at that address. A
 * thread that wakes it up in a call of futex is the one that released the lock: it is the holder
 * of all the time since the lock was taken, for all threads that waited meanwhile. The lock is
 * taken when the woken thread runs again: until then, no thread holds it, and the waits are
 * those for a CPU. So the time of a wait is divided among all threads that held the lock during
 * it, and not charged to the last of them.
 *
 * A release that wakes no thread makes no system call: a lock without contention is not seen, and
 * costs nothing. Memory grows with the locks that threads wait for, up to LOCKS_MOST. */
#ifndef STOKE_RECORD_LOCKS_H
#define STOKE_RECORD_LOCKS_H

#include "base/idmap.h"
#include "base/str.h"

#define LOCKS_MOST 65536 /* further ones have waits, but no name and no holder */

/* A lock that a thread has waited for. */
struct record_lock {
    uint32_t pid;
    uint32_t waiting;   /* threads that wait for it now */
    uint32_t handed_to; /* the thread that was woken last, until it runs; or 0 */
    uint64_t address;
    uint64_t since;   /* ns: `blocked` is up to date */
    uint64_t blocked; /* ns that threads have waited since the lock was taken */
    struct str name;  /* of the variable (resolve/variables.h); or empty */
};

/* What a thread does with futexes. */
struct record_lock_call {
    uint64_t address;    /* of its call; 0: it is in none */
    uint32_t lock;       /* index of the lock that it waits or waited for; or 0 */
    uint32_t generation; /* how many tasks had this id before */
    bool wakes;          /* the call wakes others up; otherwise it waits */
    bool is_waiting;     /* it is counted in `waiting` */
    struct record_lock_code *code; /* of the process with this id: its files; or NULL */
};

struct record_locks {
    struct arena arena;
    struct idmap ids;               /* of a process and an address: index of the lock */
    struct record_lock *items;      /* [0]: all that are too many */
    size_t count, cap, named;       /* without [0] */
    struct record_lock_call *calls; /* by thread id */
    uint32_t limit;                 /* thread ids are below it */
    uint32_t highest;               /* and at most this, of those with `code` */
    bool failed;                    /* out of memory */
};

/* What a wait was for. */
struct record_lock_wait {
    uint64_t address; /* 0: it was not for a lock */
    struct str name;  /* or empty */
};

/* False when out of memory. Deinit it in any case; a zeroed struct is allowed. */
bool record_locks_init(struct record_locks *l, uint32_t limit);
void record_locks_deinit(struct record_locks *l);

/* The thread begins a call of futex, with these arguments; it returns from it. */
void record_locks_call(struct record_locks *l, uint32_t tid, uint64_t address,
                       uint32_t operation);
void record_locks_return(struct record_locks *l, uint32_t tid);

/* The thread leaves its CPU, and is not runnable. */
void record_locks_wait(struct record_locks *l, uint32_t pid, uint32_t tid, uint64_t time);

/* A thread wakes another one up. Returns for how long it made threads wait, in ns, and sets
 * *lock; 0 if it is not the holder of the lock, or no thread waited. */
uint64_t record_locks_wake(struct record_locks *l, uint32_t waker, uint32_t woken,
                           uint64_t time, struct record_lock_wait *lock);

/* The thread is back on a CPU: what it waited for. */
struct record_lock_wait record_locks_resume(struct record_locks *l, uint32_t tid,
                                            uint64_t time);

/* The process maps code of a file: locks of processes that have ended are named by that. */
void record_locks_map(struct record_locks *l, uint32_t pid, uint64_t start,
                      uint64_t offset, struct str path);

/* The process executes another program. */
void record_locks_exec(struct record_locks *l, uint32_t pid);

/* The id belongs to another task from now on, or to none. */
void record_locks_forget(struct record_locks *l, uint32_t tid, uint64_t time);

#endif
