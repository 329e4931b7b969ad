/* SPDX-License-Identifier: Apache-2.0 */
/* The files of a recording: its last stage.
 *   one file            FILE, from the start to the end
 *   stream              a pipe, from the start to the end
 *   rotation            FILE.1, FILE.2, ...: each is complete; the oldest are removed
 *   snapshots           in memory, in parts of which the oldest is freed; a file is written on
 *                       request, and one at the end
 * A file, or part, that starts later than the recording must contain the processes that exist:
 * the caller adds them after record_files_switch. */
#ifndef STOKE_RECORD_FILES_H
#define STOKE_RECORD_FILES_H

#include "record/perf_data_write.h"

#define RECORD_PARTS 8 /* of a snapshot: between 7/8 and all of the limit is in memory */
#define RECORD_FILES_DEFAULT 10

/* What the files that exist contain. */
struct record_retained {
    uint64_t samples, bytes;
};

struct record_files_settings {
    const char *path; /* NULL: a file without a name */
    uint64_t most;    /* bytes: of the file, of all files, of memory; 0: no limit */
    uint64_t rotate;  /* ns: of a file; of what is in memory; 0: no limit */
    uint32_t limit;   /* of files, with rotate; 0: RECORD_FILES_DEFAULT */
    bool snapshot;    /* record to memory */
    int stream; /* a descriptor that gets the pipe form, instead of `path`; 0: none */
    struct os_user_ids owner;
};

struct record_part {
    struct os_data_file file;
    struct perf_data_writer writer;
    uint64_t began; /* ns */
};

struct record_files {
    const struct record_files_settings *settings;
    const struct perf_file_head *head;
    struct record_part parts[RECORD_PARTS]; /* in memory; otherwise only the first */
    size_t count, now;                      /* of the parts; the one that is written */
    uint32_t number;                        /* of the last file with a number */
    uint64_t bytes_before;                  /* of the files before this one */
    struct record_retained
        *ended; /* of the files that exist: index is the number modulo their count */
    struct record_retained last; /* of the last file with a name, once it is complete */
    size_t retired;  /* files of an earlier recording that were renamed to FILE.N.old */
    bool named;      /* after record_files_name */
    char path[4128]; /* of the last file with a name */
};

/* Settings and head outlive the files, which must not be moved. Close them in any case. Nothing
 * that exists is changed before record_files_name. False if no file can be created there. */
bool record_files_open(struct record_files *f,
                       const struct record_files_settings *settings,
                       const struct perf_file_head *head, uint64_t now,
                       struct error *err);
bool record_files_close(struct record_files *f,
                        struct error *err); /* also if it is all zeros */

/* The recording starts: the first file gets its name; what had that name is renamed. */
bool record_files_name(struct record_files *f, struct error *err);

/* The writer of the current file, which changes with each switch. */
static inline struct perf_data_writer *record_files_writer(struct record_files *f)
{
    return &f->parts[f->now].writer;
}

/* Whether the only file has reached its limit: the recording is over. */
bool record_files_full(const struct record_files *f);

/* Whether the next file, or part, is due. */
bool record_files_due(const struct record_files *f, uint64_t now);

/* When it is due by time, ns; 0: never. */
uint64_t record_files_due_at(const struct record_files *f);

/* Starts it; it contains no processes yet. If that fails, the writer has failed, too. */
bool record_files_switch(struct record_files *f, uint64_t now, struct error *err);

/* Writes what is in memory to a file of its own, f->path: FILE.N. */
bool record_files_snapshot(struct record_files *f, struct error *err);

/* Completes the current file; writes what is in memory to FILE. */
bool record_files_finish(struct record_files *f, struct error *err);

/* Bytes written, or in memory. */
uint64_t record_files_bytes(const struct record_files *f);

/* Totals of all files that exist; of snapshots, of the last one. */
struct record_retained record_files_retained(const struct record_files *f);

/* The number of the oldest file that exists. */
uint32_t record_files_first(const struct record_files *f);

#endif
