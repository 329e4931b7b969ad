/* SPDX-License-Identifier: Apache-2.0 */
/* Locks of bytes of a file, by which the process that writes it shows that it is alive. */
#ifndef STOKE_OS_FILE_LOCK_H
#define STOKE_OS_FILE_LOCK_H

#include <stdbool.h>
#include <stdint.h>

/* Whether another process holds a lock (fcntl, F_SETLK) of the byte at an offset. False
 * where the file cannot be asked. */
bool os_file_is_locked(const char *path, int64_t offset);

/* Waits while another process has `writer` locked and none has `owner`: until it ends, or
 * the file has not grown for a while. */
void os_file_wait_for_writer(const char *path, int64_t writer, int64_t owner);

#endif
