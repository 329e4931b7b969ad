/* SPDX-License-Identifier: Apache-2.0 */
/* Mapping files to read them, whatever happens to them.
 *
 * If a mapped file is truncated, reading a page that it no longer has would end the
 * process (SIGBUS, mmap(2)). A guarded mapping reads as zeros there, and reports it. */
#ifndef STOKE_OS_GUARD_H
#define STOKE_OS_GUARD_H

#include <stdbool.h>
#include <stddef.h>

/* A guarded mapping. Reading it, and asking for its state, is safe in any thread. */
struct os_guard;

/* Maps the first `size` bytes of the file, private and read-only. NULL with errno set if
 * that fails. os_guard_unmap it. */
struct os_guard *os_guard_map(int fd, size_t size);

/* Guards a range in which the caller maps files, one or several. The range stays the
 * caller's until os_guard_unmap, which unmaps all of it. NULL with errno set if memory is
 * short. */
struct os_guard *os_guard_range(void *start, size_t size);

/* Guards a range in which another library maps one file, shared and writable. If a page is used
 * that the file no longer has, memory of this process replaces the whole range, and the first
 * `cleared` bytes become zeros in what is left of the file: other processes read there that
 * the rest is invalid. The range stays that library's; os_guard_end before it is unmapped. */
struct os_guard *os_guard_shared(void *start, size_t size, size_t cleared);
void os_guard_end(struct os_guard *g); /* does not unmap it */

void *os_guard_bytes(const struct os_guard *g);

/* Whether a page was read that the file no longer had. False for NULL. */
bool os_guard_was_truncated(const struct os_guard *g);

void os_guard_unmap(struct os_guard *g); /* NULL is allowed */

#endif
