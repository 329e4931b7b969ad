/* SPDX-License-Identifier: Apache-2.0 */
/* Records this machine for some time, and makes a profile of it. */
#ifndef STOKE_ENGINE_RECORD_H
#define STOKE_ENGINE_RECORD_H

#include "engine/load.h"
#include "engine/sampling.h"

struct engine_record_settings {
    struct sampling_targets targets;
    struct sampling_settings sampling;
    uint64_t duration; /* ns; 0: until the targets end, or a signal asks for the end */
    const char *path;  /* the recording's file; NULL: it is not kept */
};

/* Records, and reads the recording as `load` says. NULL with err set if nothing can be
 * recorded or read. The profile is the caller's. */
struct profile *engine_record(const struct engine_record_settings *settings,
                              const struct load_settings *load,
                              const struct engine_report *report, struct error *err);

#endif
