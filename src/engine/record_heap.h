/* SPDX-License-Identifier: Apache-2.0 */
/* Records the heap of a command beside a recording of its CPU time: a process of its own
 * collects the records, as stoke heap does, and writes a profile at the end, which the
 * drawing merges with the recording. Both have the times of the monotonic clock. */
#ifndef STOKE_ENGINE_RECORD_HEAP_H
#define STOKE_ENGINE_RECORD_HEAP_H

#include "engine/symbols.h"
#include "os/child.h"
#include "os/shared_memory.h"
#include "record/heap_environment.h"

struct record_heap_settings {
    uint64_t sample_bytes; /* mean distance of samples; 0: every allocation */
    struct symbol_settings symbols;
    const char *output; /* of the drawing: the profile is written beside it */
};

struct record_heap {
    struct os_shared_memory memory, control_memory;
    struct record_heap_control *control; /* shared with the collector */
    struct os_child collector;
    struct heap_environment before;
    bool is_set;        /* the environment is that of the command */
    bool is_made;       /* the profile is the caller's */
    bool python_arenas; /* of the finished one, as in struct engine_heap_result */
    char path[4200];
};

/* Starts the collector, and changes the environment for the command. Call
 * record_heap_close in any case. */
bool record_heap_start(struct record_heap *h, const struct record_heap_settings *settings,
                       struct error *err);

/* Once the command was created. */
void record_heap_restore(struct record_heap *h);

/* Once it has ended: the profile is in h->path, and the caller removes it. False, with err set, if
 * there is none. */
bool record_heap_finish(struct record_heap *h, struct error *err);

/* Ends the collector. */
void record_heap_close(struct record_heap *h);

#endif
