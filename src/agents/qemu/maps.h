/* SPDX-License-Identifier: Apache-2.0 */
/* Which file the code of a user-mode guest is from: QEMU maps the guest's files into its
 * own memory, so the system tells of them in /proc/self/maps. One thread at a time. */
#ifndef STOKE_AGENTS_QEMU_MAPS_H
#define STOKE_AGENTS_QEMU_MAPS_H

#include <stdint.h>

/* The guest changed its mappings: look anew at the next translation. Any thread. */
void maps_forget(void);

/* The id of the map that has the guest's `address`, which is at `host` in QEMU; described
 * in the trace when it is new. 0 where the memory is of no file. */
uint32_t map_of(uint64_t address, uint64_t host);

/* Describes them all again: a forked guest begins a trace of its own. */
void maps_describe_again(void);

#endif
