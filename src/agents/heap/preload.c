/* SPDX-License-Identifier: Apache-2.0 */
/* The start of the library that the program loads before all others: its functions have
 * the names of the C library's, and so replace them. */
#include "agents/heap/hooks.h"
#include "agents/heap/lane.h"
#include "agents/heap/sample.h"
#include <dlfcn.h>

void *hooks_find(const char *name)
{
    return dlsym(RTLD_NEXT, name);
}

void hooks_ready(void)
{
    lane_start();
    if (heap_shared && !sample_start(heap_shared->sample_bytes, heap_shared->seed))
        heap_shared = NULL;
}

__attribute__((constructor)) static void load(void)
{
    hooks_start();
}
