/* SPDX-License-Identifier: Apache-2.0 */
/* Records this machine for some time, and makes a profile of the recording. */
#ifndef STOKE_ENGINE_RECORD_H
#define STOKE_ENGINE_RECORD_H

#include "engine/load.h"
#include "engine/sampling.h"
#include "record/event_source.h"

struct engine_record_settings {
    struct sampling_targets targets;
    struct sampling_settings sampling;
    struct event_source_request sources;
    uint64_t duration; /* ns; 0: until the targets end, or a signal requests the end */
    const char *path;  /* the recording's file; NULL: it is not stored */
    bool hosted;       /* signals, priority and rights of the process do not change */
};

/* Records, and reads the recording as `load` says. NULL with err set if nothing can be
 * recorded or read. The caller owns the profile. */
struct profile *engine_record(const struct engine_record_settings *settings,
                              const struct load_settings *load,
                              const struct engine_report *report, struct error *err);

#endif
