/* SPDX-License-Identifier: Apache-2.0 */
/* A flame graph as Pyroscope's clients read it: levels of bars, each of four numbers:
 * the distance from the end of the bar before, total, self, index of the name. */
#ifndef STOKE_DAEMON_FLAME_LEVELS_H
#define STOKE_DAEMON_FLAME_LEVELS_H

#include "base/error.h"
#include "model/profile.h"

struct flame_level {
    int64_t *values;
    size_t count, cap;
    int64_t end; /* of the last bar */
};

struct flame_levels {
    struct arena arena;
    struct str *names; /* [0] is "total", [1] is "other" */
    size_t name_count, name_cap;
    struct flame_level *levels;
    size_t level_count;
    int64_t total, self_max;
};

/* At most `nodes` nodes (0: all): those with the largest totals; the rest of each is
 * called "other". False with err set when out of memory. Call flame_levels_deinit in
 * any case. */
bool flame_levels_init(struct flame_levels *f, const struct profile *p, size_t nodes,
                       struct error *err);
void flame_levels_deinit(struct flame_levels *f);

#endif
