/* SPDX-License-Identifier: Apache-2.0 */
/* Names of the files, sockets and devices that threads wait for (stoke record --io).
 *
 * The kernel writes which open file it is (os/wait_files_format.h). A file is named when it is
 * seen first: by /proc, while the process has it open; otherwise by the names of its directories, or,
 * if these are too long, only by its own name. Sockets are named by their addresses, which the record
 * has. The port of a client is left out, so that all connections to one service have one name. */
#ifndef STOKE_RECORD_WAIT_FILES_H
#define STOKE_RECORD_WAIT_FILES_H

#include "base/arena.h"
#include "base/idmap.h"
#include "base/str.h"
#include "os/wait_files_format.h"

#define WAIT_FILES_MOST 65536 /* further ones have a common name */

struct record_wait_file {
    struct str file, device; /* "/var/log/x", "sda1"; "tcp to 10.0.0.1:5432", "tcp" */
    bool has_path;           /* or it has none */
};

struct record_wait_files {
    struct arena arena;
    struct idmap ids;               /* of files: their index */
    struct idmap systems;           /* of file systems and devices: the index of a name */
    struct record_wait_file *items; /* [0]: all that are too many */
    size_t count, cap;              /* without [0] */
    struct str *names;              /* of `systems` */
    size_t name_count, name_cap;
    bool failed; /* out of memory */
};

/* A zeroed struct has no files yet. */
void record_wait_files_deinit(struct record_wait_files *w);

/* The index of the file that a thread waits for, + 1; 0 when out of memory. */
uint32_t record_wait_files_add(struct record_wait_files *w, uint32_t tid,
                               const struct wait_file *f);

/* The names of that file; empty for 0. */
struct record_wait_file record_wait_files_get(const struct record_wait_files *w,
                                              uint32_t index);

/* Writes the name of a socket to `room`. */
struct str record_wait_files_socket(const struct wait_file *f, char *room, size_t size);

#endif
