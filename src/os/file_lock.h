/* SPDX-License-Identifier: Apache-2.0 */
/* Locks on a file, which show that the process that writes it still runs. */
#ifndef STOKE_OS_FILE_LOCK_H
#define STOKE_OS_FILE_LOCK_H

#include "base/error.h"

/* Returns true if another process holds a lock (fcntl, F_SETLK) on the byte at an
 * offset. False if the file cannot be checked. */
bool os_file_is_locked(const char *path, int64_t offset);

/* Waits while another process locks the byte `writer` and none locks `owner`, until the
 * writer ends or the file has not grown for a while. */
void os_file_wait_for_writer(const char *path, int64_t writer, int64_t owner);

/* Creates the file if it does not exist, readable by its owner only, and locks it
 * (flock(2)). Returns the file descriptor; -1 with err set if another process holds the
 * lock, or the file cannot be created. The file gets this process's id. The lock ends with the process.
 * `abandoned` (or NULL): the process that had it before did not release it: it was killed, or the
 * machine crashed. */
int os_file_lock_take(const char *path, bool *abandoned, struct error *err);
void os_file_lock_release(int lock); /* -1 is allowed */

/* Locks one byte of an existing file, which may be beyond its end: a lock of the file itself, under
 * each of its names (fcntl(2), F_OFD_SETLK). *lock becomes a descriptor, whose end releases it; -1
 * if this process may not write the file. False, with err set, if another process holds the lock.
 * Closing the descriptor also drops the process's locks of other kinds (F_SETLK) on this file. */
bool os_file_lock_byte(const char *path, int64_t offset, int *lock, struct error *err);
void os_file_unlock_byte(int lock); /* -1 is allowed */

/* Waits until this process has the lock. -1 with err set on failure. */
int os_file_lock_wait(const char *path, struct error *err);

/* Publishes a text of this process for other programs of its user: replaces the file by a new
 * one that only its owner can read. The text ends with a newline. It is valid until the process
 * ends, for any reason: a lock on the file shows that. Returns a descriptor for
 * os_file_withdraw; -1 with err set on failure. */
int os_file_announce(const char *path, struct str text, struct error *err);
void os_file_withdraw(const char *path, int fd); /* -1 is allowed */

/* Reads a published text. Returns the ID of the process that published it; 0 if this user has
 * not published the file, if the process has ended, or if the text is incomplete. */
int64_t os_file_announced(const char *path, char *room, size_t size, struct str *text);

#endif
