/* SPDX-License-Identifier: Apache-2.0 */
/* The last stage: all samples have ids that the output's head has.
 *
 * Counters of CPUs that come online are opened after the head was written, and a stream cannot be
 * changed. Their samples get the id of a counter that the head has, of the same event. */
#ifndef STOKE_RECORD_EVENT_IDS_H
#define STOKE_RECORD_EVENT_IDS_H

#include "base/idmap.h"
#include "record/record.h"

struct record_event_ids {
    const struct record_layout *layout;
    struct record_sink next;
    struct arena arena;
    struct idmap known; /* the id in the head by that of a later counter */
    struct record_maker maker;
};

/* Sets the next stage, also for another output: ids remain. All zeros is a valid start. */
void record_event_ids_start(struct record_event_ids *e,
                            const struct record_layout *layout, struct record_sink next);
void record_event_ids_deinit(struct record_event_ids *e); /* also if it is all zeros */

/* Samples with the id `later` get `known`. */
void record_event_ids_add(struct record_event_ids *e, uint64_t later, uint64_t known);

struct record_sink record_event_ids_sink(struct record_event_ids *e);

#endif
