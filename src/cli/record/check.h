/* SPDX-License-Identifier: Apache-2.0 */
/* The settings of stoke record, and what of them goes together. */
#ifndef STOKE_CLI_RECORD_CHECK_H
#define STOKE_CLI_RECORD_CHECK_H

#include "cli/options/sampling.h"
#include "cli/record/draw.h"

struct record_command_settings {
    struct sampling_targets targets;
    struct sampling_settings sampling;
    double duration;
    uint64_t max_size, rotate;
    int64_t keep, pack_level, delay;
    const char *output;
    bool unpacked, keep_dumps, snapshot, bundle, counted, quiet, off_cpu, wakers, strict;
};

/* False, with what to ask for instead, where two things that are asked for cannot be had
 * together. `command`: one is to be run. */
bool record_check(const struct record_command_settings *s,
                  const struct record_drawing *drawing, bool command, struct error *err);

#endif
