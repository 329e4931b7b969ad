/* SPDX-License-Identifier: Apache-2.0 */
/* Several files as one profile.
 *
 * Events of one name become one event. Where each file has one event only, and their names
 * differ (the "samples" of folded stacks, the "cycles" of perf), they are counted as one
 * event under the first name, and merge_note says so. */
#ifndef STOKE_ENGINE_MERGE_H
#define STOKE_ENGINE_MERGE_H

#include "engine/report.h"
#include "model/builder.h"

#define MERGE_EVENTS_MAX 8 /* events that are named in the note */

struct merge {
    bool apart;       /* set by the caller: events of different names stay different */
    const char *file; /* the first */
    string_id
        events[MERGE_EVENTS_MAX]; /* of the whole's strings: what was counted together */
    unsigned event_count;
    char list[600]; /* "samples (a.folded), cycles (b.perf)" */
    size_t used;
    bool units_differ;
    enum unit units[2]; /* the first one's, and one that differs */
};

/* Adds what was read from a file of that name to the whole; `part` is used up. False when
 * memory is short. */
bool merge_add(struct merge *m, struct builder *whole, struct builder *part,
               const char *file);

/* Reports which events were counted as one, if any were. */
void merge_note(const struct merge *m, const struct engine_report *report);

#endif
