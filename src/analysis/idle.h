/* SPDX-License-Identifier: Apache-2.0 */
/* Kernel functions in which a CPU is idle: their samples are not work, although perf
 * counts them. */
#ifndef STOKE_ANALYSIS_IDLE_H
#define STOKE_ANALYSIS_IDLE_H

#include "model/profile.h"

/* True if the frame is idle (FRAME_IDLE) or is one of these functions. */
bool frame_is_idle(const struct profile *p, frame_id frame);

#endif
