/* SPDX-License-Identifier: Apache-2.0 */
/* The event of running, and how long a sample of it ran: for the transforms that weigh by
 * time. */
#ifndef STOKE_TRANSFORM_RUNNING_H
#define STOKE_TRANSFORM_RUNNING_H

#include "transform/rewrite.h"

struct running {
    event_id event; /* 0: none */
    double period;  /* ns per sample if its weight is not a time */
};

/* Finds the event of that name (NULL: the first one) other than `waits`, and the time of its
 * samples: their weight, or else one period of the sampling, from the rate of the recording or
 * the median time between two samples of a thread. False, with err set, if it is unknown. */
bool running_find(struct running *x, struct rewrite *r, const char *requested,
                  event_id waits, struct error *err);

/* Changes the weight of a sample of an event with that unit to ns. */
void running_weigh(const struct running *x, enum unit unit, struct sample *s);

#endif
