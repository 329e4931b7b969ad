/* SPDX-License-Identifier: Apache-2.0 */
/* Merges several files into one profile.
 *
 * Events of the same name become one event. If each file has a single event, and their
 * names differ (the "samples" of folded stacks, the "cycles" of perf), they are
 * counted as one event under the first name, and merge_note reports it. */
#ifndef STOKE_ENGINE_MERGE_H
#define STOKE_ENGINE_MERGE_H

#include "engine/report.h"
#include "model/builder.h"

#define MERGE_EVENTS_MAX 8 /* events listed in the note */

struct merge {
    bool separate;    /* set by the caller: events of different names remain separate */
    const char *file; /* the first file */
    string_id events[MERGE_EVENTS_MAX]; /* strings of the whole: the events that were
                                           counted as one */
    unsigned event_count;
    char list[600]; /* "samples (a.folded), cycles (b.perf)" */
    size_t used;
    bool units_differ;
    enum unit units[2]; /* the first unit, and a different one */
};

/* Adds the profile of the file with that name to the whole; `part` is consumed. False
 * if out of memory. */
bool merge_add(struct merge *m, struct builder *whole, struct builder *part,
               const char *file);

/* Reports which events were counted as one, if any were. */
void merge_note(const struct merge *m, const struct engine_report *report);

#endif
