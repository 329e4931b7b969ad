/* SPDX-License-Identifier: Apache-2.0 */
/* Names of open files of other processes, and of the devices of this machine. */
#ifndef STOKE_OS_OPEN_FILE_H
#define STOKE_OS_OPEN_FILE_H

#include "base/str.h"
#include <stdint.h>

#define OS_FILE_PATH_MAX 4096

/* The path of an open file of a thread, as /proc shows it ("/tmp/x", "pipe:[5]"), written to
 * `room`, and its inode number; empty if the thread or file does not exist, or without permission. */
struct str os_open_file(uint32_t tid, uint32_t fd, char *room, size_t size,
                        uint64_t *inode);

/* The name of a block or character device: "sda1", "tty1"; otherwise its numbers. */
struct str os_device_name(bool block, uint32_t major, uint32_t minor, char *room,
                          size_t size);

/* What a mounted file system is on: the name of its block device, the address of a server,
 * or else its type, "tmpfs". Numbers if it is not mounted where this process is. */
struct str os_file_system_name(uint32_t major, uint32_t minor, char *room, size_t size);

/* Where a file system is mounted as a whole; empty: nowhere where this process is. */
struct str os_mount_point(uint32_t major, uint32_t minor, char *room, size_t size);

/* Both for a line of /proc/self/mountinfo; empty if it is not of this device. */
struct str os_mount_device(struct str line, uint32_t major, uint32_t minor);
struct str os_mount_path(struct str line, uint32_t major, uint32_t minor);

#endif
