/* SPDX-License-Identifier: Apache-2.0 */
/* Lines that report what is missing from a profile. All outputs use the same lines. */
#ifndef STOKE_ANALYSIS_LOSSES_H
#define STOKE_ANALYSIS_LOSSES_H

#include "model/profile.h"

#define LOSS_LINES 4  /* lost samples, truncated stacks, no unwind information, grafts */
#define LOSS_GRAFTS 3 /* the last line */
#define LOSS_LINE_MAX 192 /* room for a line */

/* Writes line i, such as "the profiler lost 1,204 samples". Returns its length, 0 if
 * there is nothing to report. */
size_t losses_line(const struct facts *facts, unsigned i, char room[LOSS_LINE_MAX]);

/* Why stacks end in code without unwind information: "no unwind information in libfoo.so
 * and 2 more". Returns the length, 0 if there are none. */
size_t losses_unwind_gaps(const struct unwind_gaps *gaps, char room[LOSS_LINE_MAX]);

#endif
