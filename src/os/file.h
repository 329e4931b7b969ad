/* SPDX-License-Identifier: Apache-2.0 */
/* Files, pipes and standard streams as sources and outputs.
 *
 * Every descriptor is opened close-on-exec. The name "-" means a standard stream. */
#ifndef STOKE_OS_FILE_H
#define STOKE_OS_FILE_H

#include "base/output.h"
#include "base/source.h"
#include "os/child.h"
#include "os/guard.h"

/* An open input; its address is the context of the source. */
struct os_input {
    int fd;
    uint64_t size; /* of a regular file; 0 for others */
    bool regular;
    /* modification time of a regular file, ns since the epoch; or 0 */
    uint64_t written;
    bool at_begin;  /* its offset was 0 when stoke received it */
    bool was_short; /* a read found less than `size` (atomic) */
    /* the mapping of the whole file, made on demand; or NULL */
    struct os_guard *map;
    /* the files of a folder, which os_input_open maps; or NULL */
    struct source_file *files;
    size_t file_count;
    const char *name;
    /* Called after every read, for progress; may be NULL. */
    void (*progress)(void *context, uint64_t bytes);
    void *progress_context;
};

/* Opens a file for reading, or standard input for "-". Two kinds of folder can be read.
 * A folder with a file "data", as perf record --threads and --kcore write it: the input
 * is that file together with "data.0", "data.1" and so on (source->files). An archive
 * of Instruments (.trace): the input is the files that a profile is read from. Returns
 * false with the system's reason. */
bool os_input_open(struct os_input *in, const char *name, struct error *err);
void os_input_close(struct os_input *in);

/* Returns true if standard input should be read when the user names no input: it is a
 * pipe or a file, but not a terminal, /dev/null (as under cron), or closed. A socket
 * counts as a pipe, because Node.js, for example, uses sockets for pipes. */
bool os_input_is_given(void);

/* Whether the file was truncated since it was opened, and this was noticed. */
bool os_input_was_truncated(const struct os_input *in);

/* A source over the input. Call source_deinit before os_input_close. */
struct source os_input_source(struct os_input *in);

/* Reads up to `size` bytes at an offset of a regular file. False on an error. */
bool os_input_read_at(struct os_input *in, uint64_t offset, char *into, size_t size,
                      size_t *got, struct error *err);

/* Identifies a version of a file: another file at the same path differs in these. */
struct os_file_facts {
    uint64_t inode, size;
    uint64_t changed; /* modification time of its content, in ns since the epoch */
};

/* False if there is no such regular file. */
bool os_file_facts(struct os_file_facts *facts, struct str path);

/* An output file. The content is written to a temporary file in the same folder, which
 * replaces the target at the end, so a failure leaves no partial file. Symbolic links
 * are followed first (os/link.h). A target that is not a regular file is written
 * directly.
 *
 * An existing file keeps its owner, group and mode. It is rejected if it is not
 * writable; if its owner cannot be preserved, the bytes are copied into it at the end. */
struct os_output {
    int fd;
    bool replaces;        /* an existing file */
    bool copies;          /* the content is copied into the existing file at the end */
    int error;            /* errno of the first failed write; 0 for none */
    char path[4096];      /* after resolving links */
    char temporary[4128]; /* empty for a standard stream or a device */
    bool makes_backup;    /* an existing file is renamed to PATH.old at the end */
    bool is_durable;      /* sync it to disk before it replaces the target */
};

/* Options for files that are not ordinary output files of this user. */
struct os_output_options {
    bool is_private; /* readable by its owner only */
    bool makes_backup;
    bool
        /* replaces a file of the user's: after a crash, the old or the new one is
         * complete */
        is_durable;
    struct os_user_ids owner;
};

/* Opens for writing; "-" is standard output. */
bool os_output_open(struct os_output *out, const char *path, struct error *err);

/* Applies the options to a new file; for an existing one only makes_backup counts. Has
 * no effect on a standard stream or a device. */
void os_output_set(struct os_output *out, const struct os_output_options *manner);

/* Checks whether the file could be written, without writing. Anything that is neither a
 * regular file nor a folder is assumed to be writable. */
bool os_output_check(const char *path, struct error *err);

/* Renames an existing file to PATH.old, unless it is empty. */
void os_output_backup(const char *path);

/* Returns true if the name exists, even as a dangling symbolic link. */
bool os_output_exists(const char *path);

/* Returns true if the name is, or would become, a regular file or a named pipe: not a
 * device or an open descriptor. */
bool os_output_is_file(const char *path);

/* Removes the temporary file that a killed process left behind. */
void os_output_clean(const char *path, int64_t pid);

/* Size of a regular file, or 0. */
uint64_t os_output_size(const char *path);

/* Finishes: flushes `o`, closes, renames. Returns false with the reason on any failure;
 * the target is then unchanged. */
bool os_output_close(struct os_output *out, struct output *o, struct error *err);

/* Closes the file and removes what was written. */
void os_output_abandon(struct os_output *out);

/* An output that writes through `out`. The caller calls output_deinit. */
struct output os_output_stream(struct os_output *out);

/* Creates the folders of a file that do not exist, readable by their owner only. */
bool os_make_folders(const char *path, struct error *err);

/* Creates the file, readable by its owner only, if it does not exist. Failures are not
 * reported: whoever opens the file next reports them. */
void os_create_private(const char *path);

#endif
