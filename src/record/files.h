/* SPDX-License-Identifier: Apache-2.0 */
/* Where a recording goes: the last stage's files.
 *
 *   one file            FILE, from the beginning to the end
 *   one after another   FILE.1, FILE.2, ...: each is whole, and the oldest go (rotate)
 *   memory              what led up to now, in parts of which the oldest goes; a file is
 *                       written when it is asked for, and one at the end (snapshot)
 *
 * A file, or part, that begins later than the recording must be told of the tasks that
 * are there: record_files_switch says when. */
#ifndef STOKE_RECORD_FILES_H
#define STOKE_RECORD_FILES_H

#include "record/perf_data_write.h"

#define RECORD_PARTS 8 /* in memory: what is kept is between 7/8 and all of it */
#define RECORD_FILES_KEPT 10

/* What is in the files that stay. */
struct record_kept {
    uint64_t samples, bytes;
};

struct record_files_settings {
    const char *path; /* NULL: a file without a name */
    uint64_t most;    /* bytes: of the file, of all that are kept, of memory; 0: any */
    uint64_t rotate;  /* ns: a new file each time; in memory: what is kept; 0: never */
    uint32_t kept;    /* files, with rotate; 0: RECORD_FILES_KEPT */
    bool snapshot;    /* to memory */
    struct os_person owner;
};

struct record_part {
    struct os_data_file file;
    struct perf_data_writer writer;
    uint64_t began; /* ns */
};

struct record_files {
    const struct record_files_settings *settings;
    const struct perf_file_head *head;
    struct record_part parts[RECORD_PARTS]; /* those in memory; else the first alone */
    size_t count, now;                      /* of them; the one that is written */
    uint32_t number;                        /* of the last file that has one */
    uint64_t bytes_before;                  /* in files that are ended */
    struct record_kept *ended; /* of those that stay: by number, modulo how many */
    struct record_kept last;   /* of the last file with a name, once it is ended */
    size_t retired;            /* files of an earlier recording that are FILE.N.old now */
    bool named;                /* since record_files_name */
    char path[4128];           /* of the last file with a name */
};

/* Both outlive the files, which are not to be moved. Deinit them in any case. Nothing that
 * was there is touched before record_files_name. False where no file can be made there. */
bool record_files_open(struct record_files *f,
                       const struct record_files_settings *settings,
                       const struct perf_file_head *head, uint64_t now,
                       struct error *err);
bool record_files_close(struct record_files *f, struct error *err); /* also all zeros */

/* The recording begins: the first file takes its name, and what was there another one. */
bool record_files_name(struct record_files *f, struct error *err);

/* The writer that records go to now: another one after each switch. */
static inline struct perf_data_writer *record_files_writer(struct record_files *f)
{
    return &f->parts[f->now].writer;
}

/* Whether the one file has all that it may have: the recording is over. */
bool record_files_full(const struct record_files *f);

/* Whether it is time for the next file, or part. */
bool record_files_due(const struct record_files *f, uint64_t now);

/* When it is by the clock alone, ns; 0: never. */
uint64_t record_files_due_at(const struct record_files *f);

/* Begins it. It knows no task yet. Where that fails, the writer has failed, too. */
bool record_files_switch(struct record_files *f, uint64_t now, struct error *err);

/* Writes all that is in memory to a file of its own, f->path: FILE.N. */
bool record_files_snapshot(struct record_files *f, struct error *err);

/* Ends what is written; of what is in memory, writes it to FILE. */
bool record_files_finish(struct record_files *f, struct error *err);

/* What was written, or is in memory. */
uint64_t record_files_bytes(const struct record_files *f);

/* What is in all files that stay; of snapshots, in the last one. */
struct record_kept record_files_kept(const struct record_files *f);

/* The number of the first file that stays. */
uint32_t record_files_first(const struct record_files *f);

#endif
