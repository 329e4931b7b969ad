/* SPDX-License-Identifier: Apache-2.0 */
/* Stacks that end in code without unwind information, counted by file. */
#ifndef STOKE_MODEL_UNWIND_GAPS_H
#define STOKE_MODEL_UNWIND_GAPS_H

#include "base/str.h"
#include <stdint.h>

#define UNWIND_GAPS_MAX 64 /* files; the stacks of later ones are counted in `stacks` */
#define UNWIND_GAP_NAME_MAX 47 /* bytes of a file's name that are shown */

struct unwind_gap {
    uint64_t stacks;
    char file[UNWIND_GAP_NAME_MAX + 1]; /* name without its folder */
};

struct unwind_gaps {
    uint64_t stacks; /* in all files */
    unsigned count;
    struct unwind_gap files[UNWIND_GAPS_MAX];
};

/* Counts stacks that end in the file. `path` is empty if the code is in no file. */
void unwind_gaps_add(struct unwind_gaps *g, struct str path, uint64_t stacks);

/* Adds all of `from`. */
void unwind_gaps_merge(struct unwind_gaps *g, const struct unwind_gaps *from);

/* The file with the most stacks; NULL if no stack was counted. */
const struct unwind_gap *unwind_gaps_most(const struct unwind_gaps *g);

#endif
