/* SPDX-License-Identifier: Apache-2.0 */
/* Kernel functions in which a CPU is idle: their samples are not work, although perf
 * counts them. */
#ifndef STOKE_ANALYSIS_IDLE_H
#define STOKE_ANALYSIS_IDLE_H

#include "model/profile.h"

/* True if the frame is idle (FRAME_IDLE) or is one of these functions. */
bool frame_is_idle(const struct profile *p, frame_id frame);

/* By frame of the profile, whether it is idle. NULL if none is, or if out of memory; the arena owns
 * it. */
const uint8_t *frames_idle(const struct profile *p, struct arena *a);

/* Whether the CPU of the sample was idle: the leaf of its stack is. */
static inline bool sample_is_idle(const struct profile *p, const struct sample *s,
                                  const uint8_t *idle)
{
    return idle && idle[p->stacks[s->stack].frame];
}

#endif
