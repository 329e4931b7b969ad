/* SPDX-License-Identifier: Apache-2.0 */
/* What is missing from a profile, in words: every output that tells it has these lines. */
#ifndef STOKE_ANALYSIS_LOSSES_H
#define STOKE_ANALYSIS_LOSSES_H

#include "model/profile.h"

#define LOSS_LINES 2      /* samples lost, stacks cut short */
#define LOSS_LINE_MAX 128 /* room for a line */

/* Writes the i-th line into `room`, as "the profiler lost 1,204 samples"; its length, 0
 * where there is nothing to say. */
size_t losses_line(const struct facts *facts, unsigned i, char room[LOSS_LINE_MAX]);

#endif
