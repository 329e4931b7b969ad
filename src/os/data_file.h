/* SPDX-License-Identifier: Apache-2.0 */
/* A file that grows for as long as this program runs, and is good to read all the while.
 *
 * Writes go to a place in it, so that its beginning can be told anew. What was written is
 * in the system's hands: it survives this process, however that ends. */
#ifndef STOKE_OS_DATA_FILE_H
#define STOKE_OS_DATA_FILE_H

#include "base/error.h"
#include "os/child.h"

struct os_data_file {
    int fd;               /* -1: not open */
    char path[4096];      /* leads to it once it has its name */
    char temporary[4128]; /* the name that it has until then; empty: it has its own */
    bool is_unnamed;      /* it has not even that, where the file system has such files */
};

/* Makes the file anew, for its owner's eyes, under a name that is not yet `path`. A link
 * is followed, where who made it may be trusted with what it leads to. It belongs to
 * `owner` where that is another person than who runs this. False where there is no right
 * to, or what is there already is no plain file. */
bool os_data_file_create(struct os_data_file *f, const char *path,
                         const struct os_person *owner, struct error *err);

/* Gives it its name; what was there is kept beside it, as PATH.old. A file that is closed
 * before is gone. */
bool os_data_file_name(struct os_data_file *f, struct error *err);

/* Moves what an earlier recording left as PATH.1, PATH.2, ... to PATH.N.old, in place of
 * what an earlier one yet left there. Only perf.data files are touched. Gives how many. */
size_t os_data_file_retire(const char *path);

/* A file without a name in $TMPDIR, else /tmp, which goes with the handle. Its path leads
 * to it for as long as it is open. */
bool os_data_file_create_hidden(struct os_data_file *f, struct error *err);

/* The same, in memory. */
bool os_data_file_create_in_memory(struct os_data_file *f, struct error *err);

/* Writes all of the bytes at an offset. False, with the system's reason, where they could
 * not all be written: some may have been. */
bool os_data_file_write(struct os_data_file *f, uint64_t offset, struct str bytes,
                        struct error *err);

/* Writes `size` bytes of another file, from `from` on, at an offset. */
bool os_data_file_copy(struct os_data_file *f, uint64_t offset,
                       const struct os_data_file *other, uint64_t from, uint64_t size,
                       struct error *err);

/* Removes a file by its name, where it is one of this program's kind: a plain file. */
void os_data_file_remove(const char *path);

/* The file ends there from now on. */
void os_data_file_cut(struct os_data_file *f, uint64_t size);

/* False, with the reason, where something that was written did not come through. */
bool os_data_file_close(struct os_data_file *f, struct error *err);

#endif
