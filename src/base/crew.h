/* SPDX-License-Identifier: Apache-2.0 */
/* Who may do pieces of work beside the caller.
 *
 * Pure code knows no thread. Where its work falls into pieces that need nothing of each
 * other it says so, through the crew that it was handed: each piece is an errand, which
 * is started, and finished when its result is needed. Without a crew, or with one of a
 * single hand, errands are done when they are finished.
 *
 * An errand may read what nobody changes before it is finished, and change what is its
 * own or its hand's. Only one thread starts and finishes errands: it is hand 0, and no
 * errand of its own starts others. */
#ifndef STOKE_BASE_CREW_H
#define STOKE_BASE_CREW_H

#include <stdbool.h>
#include <stddef.h>

struct errand {
    /* Does the work; `hand` is below the crew's count, and no two errands are done by the
     * same hand at a time. */
    void (*work)(struct errand *e, unsigned hand);
    bool can_wait; /* nobody waits for it soon: others go first */

    enum {
        ERRAND_IDLE,
        ERRAND_STARTED,
        ERRAND_TAKEN,
        ERRAND_DONE
    } state; /* the crew's */
    struct errand *next;
};

struct crew {
    void *context;
    unsigned hands; /* at least 1, the caller's own included */

    /* Sees to it that the errand is done some time. It stays where it is until it is
     * finished. */
    void (*start)(void *context, struct errand *e);

    /* Comes back once the errand is done, having done it itself where nobody had begun;
     * while another hand is at it, the caller's does others. */
    void (*finish)(void *context, struct errand *e);
};

static inline unsigned crew_hands(const struct crew *c)
{
    return c ? c->hands : 1;
}

static inline void crew_start(const struct crew *c, struct errand *e)
{
    e->state = ERRAND_STARTED;
    if (c)
        c->start(c->context, e);
}

static inline void crew_finish(const struct crew *c, struct errand *e)
{
    if (c)
        c->finish(c->context, e);
    else
        e->work(e, 0);
    e->state = ERRAND_IDLE;
}

#endif
