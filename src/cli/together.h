/* SPDX-License-Identifier: Apache-2.0 */
/* Several files as one profile.
 *
 * Who names several files wants one picture of them. Events of one name become one event
 * by themselves; where each file has one event only, and they have different names (the
 * "samples" of folded stacks, the "cycles" of perf), they are counted together under the
 * first one's name, and together_note says so. */
#ifndef STOKE_CLI_TOGETHER_H
#define STOKE_CLI_TOGETHER_H

#include "model/builder.h"

#define TOGETHER_MAX 8 /* events that are named in the note */

struct together {
    bool apart;       /* set by the caller: events of different names stay different */
    const char *file; /* the first */
    string_id
        events[TOGETHER_MAX]; /* of the whole's strings: what was counted together */
    unsigned event_count;
    char list[600]; /* "samples (a.folded), cycles (b.perf)" */
    size_t used;
    bool units_differ;
    enum unit units[2]; /* the first one's, and one that differs */
};

/* Adds what was read from a file of that name to the whole; `part` is used up. False when
 * memory is short. */
bool together_add(struct together *t, struct builder *whole, struct builder *part,
                  const char *file);

/* Says what was counted together, if anything was. */
void together_note(const struct together *t);

#endif
