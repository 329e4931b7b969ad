/* SPDX-License-Identifier: Apache-2.0 */
/* The environment of a program that loads libstoke_heap.so, for a child of this process. */
#ifndef STOKE_RECORD_HEAP_ENVIRONMENT_H
#define STOKE_RECORD_HEAP_ENVIRONMENT_H

#include "base/error.h"

struct heap_environment {
    char *preload; /* LD_PRELOAD as it was; or NULL */
};

/* Adds the library before what LD_PRELOAD has, and the path of the shared memory. False,
 * with nothing changed, if that is too long. */
bool heap_environment_set(struct heap_environment *e, const char *library,
                          const char *memory, struct error *err);

/* Once the child is started. */
void heap_environment_restore(struct heap_environment *e);

#endif
