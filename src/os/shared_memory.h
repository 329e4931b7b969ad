/* SPDX-License-Identifier: Apache-2.0 */
/* Memory that other processes map by a path. It exists as long as this process or a
 * mapping of it. */
#ifndef STOKE_OS_SHARED_MEMORY_H
#define STOKE_OS_SHARED_MEMORY_H

#include "base/error.h"
#include <stddef.h>
#include <stdint.h>

struct os_shared_memory {
    int fd;
    char path[64]; /* for other processes of this user */
};

/* Zeroed memory of that size, which is allocated when it is used. */
bool os_shared_memory_create(struct os_shared_memory *m, uint64_t size,
                             struct error *err);

/* The same with a file in memory that another process has open. Afterwards, that process
 * cannot change the size of the file. */
bool os_shared_memory_open(struct os_shared_memory *m, int64_t pid, int64_t fd,
                           uint64_t size, struct error *err);
void os_shared_memory_close(struct os_shared_memory *m);

/* Maps a part of it `times` times, one after the other. NULL, with err set, on failure.
 * `offset` and `size` are multiples of the page size. */
void *os_shared_memory_map(const struct os_shared_memory *m, uint64_t offset, size_t size,
                           unsigned times, struct error *err);
void os_shared_memory_unmap(void *mapping, size_t size, unsigned times);

/* Releases the pages of a part, which then reads as zeros. */
void os_shared_memory_discard(const struct os_shared_memory *m, uint64_t offset,
                              size_t size);

#endif
