/* SPDX-License-Identifier: Apache-2.0 */
/* Waits for locks, and who held the locks meanwhile: the samples with the label "lock" of
 * waits and of the event "lock-holder" (stoke record --locks), by lock, thread and stack.
 *
 * The stack of a row ends in the function that uses the lock: frames of the kernel and of the
 * library that implements locks are left out. Time and memory are proportional to the samples
 * and the depth of their stacks. */
#ifndef STOKE_ANALYSIS_LOCKS_H
#define STOKE_ANALYSIS_LOCKS_H

#include "base/trie.h"
#include "model/profile.h"

enum locks_side { LOCKS_WAITED, LOCKS_HELD, LOCKS_SIDES };

/* The threads of one name that wait for a lock with one stack, or hold it and release it there. */
struct locks_row {
    string_id thread;
    stack_id stack; /* up to the function that uses the lock; 0: unknown */
    double weight;  /* ns; held: what others waited */
    uint64_t count; /* waits; held: releases for which others waited */
    uint32_t next;  /* the lock's next row, the largest first; 0: none */
};

struct locks_lock {
    label_id label;
    const char *kind; /* "mutex"; empty: unknown */
    double weight[LOCKS_SIDES];
    uint64_t count[LOCKS_SIDES];
    uint32_t rows[LOCKS_SIDES]; /* the first one; 0: none */
};

/* [0] of the tables is "none". */
struct locks {
    struct arena arena;
    const struct profile *p;
    struct locks_lock *items;
    struct locks_row *rows;
    uint32_t *order; /* of the locks: the one with the longest waits first */
    size_t count, row_count, row_cap;
    double weight[LOCKS_SIDES];
    uint64_t waits;
};

/* False when out of memory. Deinit it in any case; the profile must outlive it. */
bool locks_init(struct locks *l, const struct profile *p, struct error *err);
void locks_deinit(struct locks *l);

#endif
