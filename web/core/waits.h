/* SPDX-License-Identifier: Apache-2.0 */
/* The waits of the shown profile by thread, reason, function, waker, and lock or file. They are
 * grouped once; the page has them row by row, in the order of a column. */
#ifndef STOKE_WEB_WAITS_H
#define STOKE_WEB_WAITS_H

#include "web/core/core.h"

#define WAITS_A_REPLY 200

/* The order of the rows: usual is by the time waited, sleep last, because idle threads sleep all of
 * the time. */
enum wait_sort {
    WAITS_USUAL,
    WAITS_TOTAL,
    WAITS_LONGEST,
    WAITS_TIMES,
    WAITS_THREAD,
    WAITS_REASON,
    WAITS_FUNCTION,
    WAITS_WAKER,
};

/* The waits of a thread with the same reason, function, waker, and lock or file. */
struct wait_group {
    thread_id thread;
    uint8_t reason; /* enum activity */
    string_id function;
    frame_id waker;      /* the frame with the waker's name, or 0 */
    label_id lock, file; /* that the thread waited for, or 0 */
    const char *kind;    /* of the lock: "mutex", "GIL"; "": unknown. It is static. */
    uint64_t count;
    double total, longest, begin; /* ns; begin: of the longest one */
};

struct waits {
    struct arena arena;
    bool made;
    struct wait_group *groups;
    size_t count, cap;
    double most;     /* the largest total */
    bool woken;      /* a waker is known */
    uint32_t *usual; /* groups in the usual order, */
    uint32_t *order; /* and as last sorted; */
    uint32_t *scratch;
    enum wait_sort by;
};

/* Of the shown profile's samples. If its rows are condensed, c is what they are made of, and *range
 * are the samples; otherwise c is NULL. */
bool waits_init(struct waits *w, const struct shown *s, const struct condensed *c,
                const struct sample_range *range, struct error *err);
void waits_deinit(struct waits *w);

/* Sorts the order; after waits_init, or when out of memory, it is the usual one. */
bool waits_sort(struct waits *w, const struct shown *s, enum wait_sort by,
                struct error *err);

/* The number of rows, and those from `from` on, at most WAITS_A_REPLY. JSON. */
void reply_waits(struct json_writer *w, const struct waits *waits, const struct shown *s,
                 uint32_t from);

#endif
