/* SPDX-License-Identifier: Apache-2.0 */
/* A running process whose heap is to be recorded: where its C library has the functions
 * that load a library, and when one of its threads may call them.
 *
 * A thread may if it is in no function of the C library or of the dynamic linker, whose
 * locks and lists it would find in the middle of a change. It may also be asleep in a
 * system call that these functions do not make. */
#ifndef STOKE_RECORD_HEAP_TARGET_H
#define STOKE_RECORD_HEAP_TARGET_H

#include "os/inject.h"

struct heap_range {
    uint64_t start, end;
};

#define HEAP_GUARDED_MAX 16

struct heap_target {
    uint32_t pid;
    struct os_inject_code code;
    uint64_t open, error_text; /* dlopen, dlerror */
    /* Code of the C library, of the dynamic linker and of libstoke_heap_attach.so: */
    struct heap_range guarded[HEAP_GUARDED_MAX];
    size_t guarded_count;
    struct heap_range libc, linker, library; /* of them; library: 0 if not loaded */
};

/* Examines the process. False, with err set, if its heap cannot be recorded. */
bool heap_target_examine(struct heap_target *t, uint32_t pid, struct error *err);

/* Stops a thread that may call functions. It tries for some seconds. If the process
 * executes another program since it was examined, it is examined again. */
bool heap_target_stop(struct heap_target *t, struct os_stopped *stopped,
                      struct error *err);

/* Where libstoke_heap_attach.so has its functions. */
struct heap_library {
    uint64_t attach, detach;
};

bool heap_library_read(struct heap_library *l, const char *path, struct error *err);

#endif
