/* SPDX-License-Identifier: Apache-2.0 */
/* A file that grows while this process runs and can be read at any time.
 *
 * Writes go to a given offset, so that the header can be updated. Written data is in
 * the page cache: it survives this process, however it ends. */
#ifndef STOKE_OS_DATA_FILE_H
#define STOKE_OS_DATA_FILE_H

#include "base/error.h"
#include "os/child.h"

struct os_data_file {
    int fd;          /* -1: not open */
    char path[4096]; /* the final name */
    /* the current name until then; empty: `path` is the current name */
    char temporary[4128];
    bool is_unnamed; /* no name at all yet (O_TMPFILE) */
    bool is_stream;  /* a pipe: what was written stays, offsets do not matter */
    struct write_behind *behind; /* NULL: writes go to the file directly */
    uint64_t mark;               /* os_data_file_marked */
};

/* Creates the file, readable by its owner only, under a temporary name. Follows a
 * symbolic link only if its creator is trusted (os/link.h). The file belongs to `owner`
 * if that is another user than the one who runs this process. Returns false if
 * permission is missing, or if `path` exists and is not a regular file. */
bool os_data_file_create(struct os_data_file *f, const char *path,
                         const struct os_user_ids *owner, struct error *err);

/* Renames the file to `path`; an existing file there becomes PATH.old. A file that is
 * closed before this is deleted. */
bool os_data_file_name(struct os_data_file *f, struct error *err);

/* Renames PATH.1, PATH.2, ... of an earlier recording to PATH.N.old, replacing existing
 * ones. Touches perf.data files only. Returns their number. */
size_t os_data_file_retire(const char *path);

/* Creates a file without a name in $TMPDIR, or else in /tmp, which is deleted when it
 * is closed. `path` refers to it while it is open. */
bool os_data_file_create_hidden(struct os_data_file *f, struct error *err);

/* The same, in memory. */
bool os_data_file_create_in_memory(struct os_data_file *f, struct error *err);

/* Takes over standard output for a stream of records: what this process and its children print
 * goes to standard error from then on. -1 if standard output is a terminal or closed. */
int os_data_stream_take(struct error *err);

/* Makes a file of that descriptor. */
void os_data_file_of_stream(struct os_data_file *f, int stream);

/* From now on, a thread writes (write_behind.h), and a failure is returned by a later call: a write,
 * or close. Without a thread, writes go on as before. The file must not be moved until it is
 * closed. */
void os_data_file_write_behind(struct os_data_file *f);

/* Waits until all is written that was passed to os_data_file_write and so on. */
bool os_data_file_wait(struct os_data_file *f, struct error *err);

/* The same, and ends the thread: later writes go to the file directly. */
bool os_data_file_end_behind(struct os_data_file *f, struct error *err);

/* Writes all bytes at an offset. Returns false with the reason if not all could be
 * written; some may have been. */
bool os_data_file_write(struct os_data_file *f, uint64_t offset, struct str bytes,
                        struct error *err);

/* The same; if not all could be written, the file is truncated at the offset. */
bool os_data_file_extend(struct os_data_file *f, uint64_t offset, struct str bytes,
                         struct error *err);

/* When all that was passed before is in the file, its mark is `mark`, which is not 0. */
bool os_data_file_set_mark(struct os_data_file *f, uint64_t mark, struct error *err);

/* The last mark that was reached, 0 at first; waits until all is written. */
uint64_t os_data_file_marked(const struct os_data_file *f);

/* Copies `size` bytes of another file, starting at `from`, to an offset. */
bool os_data_file_copy(struct os_data_file *f, uint64_t offset,
                       const struct os_data_file *other, uint64_t from, uint64_t size,
                       struct error *err);

/* Removes the file if it is a regular file. */
void os_data_file_remove(const char *path);

/* Closes the file. Returns false with the reason if a write failed late. */
bool os_data_file_close(struct os_data_file *f, struct error *err);

#endif
