/* SPDX-License-Identifier: Apache-2.0 */
/* The executable mappings of this process, from /proc/self/maps. */
#ifndef STOKE_AGENTS_HEAP_CODE_MAPS_H
#define STOKE_AGENTS_HEAP_CODE_MAPS_H

#include <stdbool.h>
#include <stdint.h>

/* The number of the space that unwind rules belong to (base/heap_format.h): a new one at
 * the start, and when a library was unloaded. */
void code_maps_start(void);
uint64_t code_maps_space(void);

/* Puts a record for each executable mapping. */
void code_maps_put(void);

/* Puts records for all executable mappings again if the address of code is in none of
 * those of the last list: a library was loaded since. Reads no memory of the dynamic
 * linker. */
void code_maps_need(uint64_t address);

/* After dlclose: other code may follow at the same addresses. */
void code_maps_unloaded(void);

/* In the child of a fork, whose parent may have been putting a list. */
void code_maps_forked(void);

/* Reads a line of /proc/self/maps after the other with system calls only. Calls `each`
 * until it returns false. */
struct map_line {
    uint64_t start, end, offset, inode;
    uint32_t major, minor;
    bool is_executable;
    const char *path;
    uint32_t path_size;
};
bool code_maps_each(bool (*each)(void *context, const struct map_line *line),
                    void *context);

#endif
