/* SPDX-License-Identifier: Apache-2.0 */
/* How stoke record writes the frames of interpreted programs.
 *
 * A function is a mapping (MMAP2) of its process, above all memory of user code, with the path
 *   //interpreted/LANGUAGE/FILE/FUNCTION
 * and a frame is an address in it, which says the line, in the call chain between the native
 * frames. '/' and '%' in a function, and control characters, are percent-encoded; a file is
 * as the interpreter names it. Programs that do not know this form show a mapped file without
 * symbols. */
#ifndef STOKE_PERF_INTERPRETED_H
#define STOKE_PERF_INTERPRETED_H

#include "base/output.h"
#include <stdint.h>

#define PERF_INTERPRETED_PREFIX "//interpreted/"

/* Not valid as an address of any architecture's user code or kernel. */
#define PERF_INTERPRETED_BASE ((uint64_t)1 << 62)
#define PERF_INTERPRETED_END ((uint64_t)1 << 63)
#define PERF_INTERPRETED_SIZE ((uint64_t)1 << 28) /* of a function: lines below 2^24 */
#define PERF_INTERPRETED_LINES ((uint32_t)1 << 24)

/* The number of functions that have an address. */
#define PERF_INTERPRETED_MAX \
    ((PERF_INTERPRETED_END - PERF_INTERPRETED_BASE) / PERF_INTERPRETED_SIZE)

static inline uint64_t perf_interpreted_start(uint64_t function)
{
    return PERF_INTERPRETED_BASE + function * PERF_INTERPRETED_SIZE;
}

/* The address of a line (0: unknown). Readers may subtract 1 from the address of a call. */
static inline uint64_t perf_interpreted_address(uint64_t function, uint32_t line)
{
    line = line < PERF_INTERPRETED_LINES ? line : 0;
    return perf_interpreted_start(function) + ((uint64_t)line << 4) + 8;
}

static inline bool perf_is_interpreted(uint64_t address)
{
    return address >= PERF_INTERPRETED_BASE && address < PERF_INTERPRETED_END;
}

/* The line of an offset in a function's mapping. */
static inline uint32_t perf_interpreted_line(uint64_t offset)
{
    return (uint32_t)(offset >> 4) & (PERF_INTERPRETED_LINES - 1);
}

/* Adds the path of a function, shortened so that it fits into a record; an empty function is
 * written as "?". False if out of memory. */
bool perf_interpreted_path(struct output *path, const char *language, struct str file,
                           struct str function);

#endif
