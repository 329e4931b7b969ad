/* SPDX-License-Identifier: Apache-2.0 */
/* The files that contain the code of a user-mode guest. QEMU maps the guest's files
 * into its own memory, so /proc/self/maps lists them. One thread at a time. */
#ifndef STOKE_AGENTS_QEMU_MAPS_H
#define STOKE_AGENTS_QEMU_MAPS_H

#include <stdint.h>

/* The guest changed its mappings: they are read again at the next translation. Any
 * thread. */
void maps_forget(void);

/* The id of the map with the guest's `address`, which is at `host` in QEMU. A new map
 * is described in the trace. 0 if the memory belongs to no file. */
uint32_t map_of(uint64_t address, uint64_t host);

/* Describes all maps again: a forked guest begins its own trace. */
void maps_describe_again(void);

#endif
