/* SPDX-License-Identifier: Apache-2.0 */
/* Functions of the kernel in which a CPU has nothing to do: what is sampled in them is no
 * work, though perf counts it. */
#ifndef STOKE_ANALYSIS_IDLE_H
#define STOKE_ANALYSIS_IDLE_H

#include "model/profile.h"

/* Whether the frame idles: it says so itself (FRAME_IDLE), or is such a function. */
bool frame_is_idle(const struct profile *p, frame_id frame);

#endif
