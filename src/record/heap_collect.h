/* SPDX-License-Identifier: Apache-2.0 */
/* Runs a program with libstoke_heap.so loaded and applies the records that it and its
 * children write to shared memory (base/heap_format.h), until the program ends. */
#ifndef STOKE_RECORD_HEAP_COLLECT_H
#define STOKE_RECORD_HEAP_COLLECT_H

#include "record/heap_events.h"

struct heap_collect_settings {
    char *const *command;  /* ends with NULL */
    const char *library;   /* the path of libstoke_heap.so */
    uint64_t sample_bytes; /* mean distance of samples; 0: every event */
    uint64_t seed;         /* of the samples; 0: random */
};

struct heap_collect_result {
    int status;    /* the program's exit status, as shells report it */
    uint64_t lost; /* records that did not fit */
    /* The clock of the records: time 0 on the monotonic clock, and the length of a unit.
     * The recording ended at `end` units. */
    uint64_t start_ns, end;
    double unit_ns;
};

/* Records the program's events in `events`. Returns false, with err set, if the program
 * cannot be started. */
bool heap_collect(const struct heap_collect_settings *settings,
                  struct heap_events *events, struct heap_collect_result *result,
                  struct error *err);

#endif
