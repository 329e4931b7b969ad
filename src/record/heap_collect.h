/* SPDX-License-Identifier: Apache-2.0 */
/* Runs a program with libstoke_heap.so loaded, or attaches it to a running process, or
 * waits for programs that another process starts with it, and applies the records that it
 * and its children write to shared memory (base/heap_format.h), until the program ends,
 * the duration is over, or a signal requests the end. */
#ifndef STOKE_RECORD_HEAP_COLLECT_H
#define STOKE_RECORD_HEAP_COLLECT_H

#include "os/shared_memory.h"
#include "record/heap_events.h"

struct heap_collect_settings {
    char *const *command; /* ends with NULL */
    uint32_t pid;         /* a running process instead of the command; or 0 */
    uint64_t duration;    /* of its recording, in ns; 0: without limit */
    /* Instead of both: the memory of programs that the process `caller` starts with
     * heap_environment.h. The recording ends when a signal requests it, or the caller
     * ends. Its size is HEAP_SHARED_SIZE; NULL: none. */
    const struct os_shared_memory *memory;
    uint32_t caller;
    const char *library; /* the path of HEAP_LIBRARY; for a process, HEAP_LATE_LIBRARY */
    uint64_t sample_bytes; /* mean distance of samples; 0: every event */
    uint64_t seed;         /* of the samples; 0: random */
    /* Called when the process is recorded; or NULL. */
    void (*attached)(uint32_t pid);
};

struct heap_collect_result {
    int status;        /* the program's exit status, as shells report it */
    uint64_t lost;     /* records that did not fit */
    struct error left; /* why a process could not be restored; or no message */
    /* The clock of the records: time 0 on the monotonic clock, and the length of a unit.
     * The recording ended at `end` units. */
    uint64_t start_ns, end;
    double unit_ns;
};

/* Records the program's events in `events`. Returns false, with err set, if the program
 * cannot be started, or the process cannot be recorded. */
bool heap_collect(const struct heap_collect_settings *settings,
                  struct heap_events *events, struct heap_collect_result *result,
                  struct error *err);

#endif
