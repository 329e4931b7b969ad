/* SPDX-License-Identifier: Apache-2.0 */
/* Files mapped to be read, whatever becomes of them.
 *
 * A page of a mapped file that is no longer there, because the file was cut short in the
 * meantime, ends the program (SIGBUS, mmap(2)). Here such a page reads as zeros, and that
 * it happened can be asked. */
#ifndef STOKE_OS_GUARD_H
#define STOKE_OS_GUARD_H

#include <stdbool.h>
#include <stddef.h>

/* The first `size` bytes of the file, private and read-only; NULL with errno set. munmap
 * gives them back. */
void *os_guard_map(int fd, size_t size);

/* The same at an address of memory that is the caller's to be mapped over. */
void *os_guard_map_at(void *at, int fd, size_t size);

/* Tells that a file which is read without being mapped had less than it had when it was
 * opened. */
void os_guard_note_cut(void);

/* Whether, since the program began, bytes were looked for that a file no longer had. */
bool os_guard_was_cut(void);

#endif
