/* SPDX-License-Identifier: Apache-2.0 */
/* Files, pipes and standard streams as sources and outputs.
 *
 * Every handle is opened close-on-exec. A name "-" is a standard stream. */
#ifndef STOKE_OS_FILE_H
#define STOKE_OS_FILE_H

#include "base/output.h"
#include "base/source.h"
#include "os/child.h"

/* An input under way; give its address as the source's context. */
struct os_input {
    int fd;
    uint64_t size; /* of a regular file; 0 for what has no size */
    bool regular;
    uint64_t written;          /* when a regular file was, ns since the epoch; or 0 */
    bool at_begin;             /* nothing of it was read before it was handed to us */
    void *map;                 /* the whole file, once it was asked for; or NULL */
    struct source_file *files; /* of a folder, which is mapped as it is opened; or NULL */
    size_t file_count;
    const char *name;
    /* Told of every read, for progress; may be NULL. */
    void (*progress)(void *context, uint64_t bytes);
    void *progress_context;
};

/* Opens a file for reading, or standard input for "-". A folder can be read where it has
 * a file "data", as perf record --threads and --kcore write it: that file is the input,
 * and with it come "data.0", "data.1" and so on (source->files); and where it is an
 * archive of Instruments (.trace): then it is the files that a profile is read from. False
 * with the system's reason. */
bool os_input_open(struct os_input *in, const char *name, struct error *err);
void os_input_close(struct os_input *in);

/* Whether standard input is something to be read where no input is named: a pipe or a
 * file; not a terminal, /dev/null, as under cron, or closed. A socket counts as a pipe:
 * Node.js, for one, makes its pipes of sockets. */
bool os_input_is_given(void);

/* A source over the input. source_deinit it before the input is closed. */
struct source os_input_source(struct os_input *in);

/* Reads up to `size` bytes at an offset of a regular file. False on an error. */
bool os_input_read_at(const struct os_input *in, uint64_t offset, char *into, size_t size,
                      size_t *got, struct error *err);

/* What tells a file at a path from another that was there before. */
struct os_file_facts {
    uint64_t inode, size;
    uint64_t changed; /* its content, in ns since the epoch */
};

/* False where there is no such regular file. */
bool os_file_facts(struct os_file_facts *facts, struct str path);

/* An output file. Written beside the target under a temporary name and renamed over it at
 * the end, so that a failure leaves no half a file. A link is followed first (os/link.h):
 * what it leads to is written. What is no plain file is written as it is.
 *
 * A file that is there keeps its owner, group and mode. One that may not be written is
 * refused; where the owner cannot be kept the bytes are copied into it at the end. */
struct os_output {
    int fd;
    bool replaces;        /* a file that is there */
    bool copies;          /* into it, at the end */
    int error;            /* errno of the first failed write; 0 for none */
    char path[4096];      /* behind the links */
    char temporary[4128]; /* empty for a standard stream or a device */
    bool keeps_old;       /* what is there becomes PATH.old at the end */
    bool is_durable;      /* on the disk before it takes its target's place */
};

/* How a file is made otherwise than for any of this user's. */
struct os_output_manner {
    bool is_private; /* for its owner's eyes */
    bool keeps_old;
    bool
        is_durable; /* replaces a file of the user's: a crash leaves the old or the new */
    struct os_person owner;
};

/* Opens for writing; "-" is standard output. */
bool os_output_open(struct os_output *out, const char *path, struct error *err);

/* Makes a new file in that manner; of one that is there only keeps_old counts. To a
 * standard stream or a device it is nothing. */
void os_output_set(struct os_output *out, const struct os_output_manner *manner);

/* Whether a file of that name could be written; nothing is. What is no plain file, nor a
 * folder, is believed to be good. */
bool os_output_check(const char *path, struct error *err);

/* What is there is kept as PATH.old; but for a file without anything in it. */
void os_output_keep_old(const char *path);

/* Whether there is something of that name, a link that leads nowhere included. */
bool os_output_is_there(const char *path);

/* Whether it is, or will be, a file or a pipe in a folder of files: not a device. */
bool os_output_is_placed(const char *path);

/* Removes what a process that was killed left of an output under way. */
void os_output_clean(const char *path, int64_t pid);

/* How large a plain file is, or 0. */
uint64_t os_output_size(const char *path);

/* Finishes: flushes what `o` holds, closes, renames. False, with the reason, when
 * anything failed; the target is then as it was. */
bool os_output_close(struct os_output *out, struct output *o, struct error *err);

/* Closes and removes what was written. */
void os_output_abandon(struct os_output *out);

/* An output that writes through `out`. output_deinit it. */
struct output os_output_stream(struct os_output *out);

#endif
