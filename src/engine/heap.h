/* SPDX-License-Identifier: Apache-2.0 */
/* Records the heap of a program (record/heap_collect.h), as a profile with names. */
#ifndef STOKE_ENGINE_HEAP_H
#define STOKE_ENGINE_HEAP_H

#include "engine/symbols.h"
#include "record/heap_collect.h"

#define ENGINE_HEAP_SAMPLE_BYTES ((uint64_t)512 << 10) /* by default */

#define ENGINE_HEAP_PYTHON_NOTE                                                       \
    "Python's small objects are missing, because Python allocates them in arenas of " \
    "its own; run it with PYTHONMALLOC=malloc to record them"

struct engine_heap_settings {
    struct heap_collect_settings collect; /* `library` may be NULL: engine_heap_library */
    struct symbol_settings symbols;
    bool lines; /* source lines in frames */
};

struct engine_heap_result {
    int status; /* the program's exit status */
    uint64_t lost, truncated, allocations, untracked, unknown;
    size_t processes;
    double most;        /* live bytes at the peak */
    bool python_arenas; /* small objects of Python are missing: ENGINE_HEAP_PYTHON_NOTE */
    struct error left;  /* why a running process could not be restored; or no message */
};

/* The path of a library (base/heap_format.h) beside this program: where the build or the
 * installation has it. False with err set if there is none. */
bool engine_heap_library(const char *name, char *path, size_t size, struct error *err);

/* Runs the command until it ends, or records a running process. Returns the profile,
 * which the caller owns; NULL with err set if the command did not run, the process
 * cannot be recorded, or if out of memory. Its events: peak, leaked and allocated
 * (bytes), allocations and, where every event is recorded, temporary (counts). */
struct profile *engine_heap(const struct engine_heap_settings *settings,
                            struct engine_heap_result *result,
                            const struct engine_report *report, struct error *err);

#endif
