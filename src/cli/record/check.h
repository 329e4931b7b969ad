/* SPDX-License-Identifier: Apache-2.0 */
/* The settings of stoke record, and their valid combinations. */
#ifndef STOKE_CLI_RECORD_CHECK_H
#define STOKE_CLI_RECORD_CHECK_H

#include "cli/options/sampling.h"
#include "engine/record_draw.h"

struct record_command_settings {
    struct sampling_targets targets;
    struct sampling_settings sampling;
    struct event_source_request sources;
    double duration;
    uint64_t max_size, rotate;
    int64_t keep, compression_level, delay;
    int interpreters; /* index in interpreter_choices */
    const char *output;
    bool uncompressed, keep_dumps, snapshot, bundle, quiet, strict, heap;
    bool heap_full; /* every allocation, not samples */
};

/* For --interpreters: auto, none, and each interpreter. */
enum {
    INTERPRETERS_AUTO,
    INTERPRETERS_NONE,
    INTERPRETERS_PYTHON,
    INTERPRETERS_RUBY,
    INTERPRETERS_NODE,
    INTERPRETERS_PHP,
    INTERPRETERS_PERL,
    INTERPRETERS_JAVA
};

/* False, with a hint, if two settings cannot be combined. `command`: one is to be run. */
bool record_check(const struct record_command_settings *s,
                  const struct record_drawing *drawing, bool command, struct error *err);

#endif
