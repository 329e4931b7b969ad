/* SPDX-License-Identifier: Apache-2.0 */
/* A perf.data in the making: the last stage, which writes records to a file that can be
 * read at any moment.
 *
 * The file: header; attributes of the events and their counters' ids; bodies of the
 * features; records; the table of features, which must stand behind the records. So with
 * each flush the table moves. To be good whenever this process ends, a flush writes what
 * lies behind the old table first, and the new table with it; then says that there are no
 * features, puts the first few bytes over the old table, and tells the new size and the
 * features again. A reader that comes in between finds the records of the flush before.
 *
 * Records are packed (COMPRESSED records, zstd) unless that is not wanted: chains repeat
 * themselves, and packing takes less time than writing what it saves. */
#ifndef STOKE_RECORD_PERF_DATA_WRITE_H
#define STOKE_RECORD_PERF_DATA_WRITE_H

#include "codec/encode.h"
#include "os/data_file.h"
#include "record/perf_features.h"
#include "record/record.h"

struct perf_data_writer {
    struct os_data_file *file;
    const struct perf_file_head *head;
    struct perf_features features;
    struct packer packer;
    bool packed;
    char *pending; /* records to be packed, or to be put behind the others */
    size_t pending_used;
    struct output out;                /* what goes to the file next */
    uint64_t features_at, records_at; /* in the file */
    uint64_t size;                    /* of the records there */
    uint64_t first, last;             /* times of samples */
    uint64_t samples, in_file;        /* given; of them, those that are in the file */
    bool failed;                      /* and then nothing more is written; why: */
    struct error why;
};

/* Writes the file's head. The writer is not to be moved. Deinit it in any case. */
bool perf_data_writer_init(struct perf_data_writer *w, struct os_data_file *file,
                           const struct perf_file_head *head, struct error *err);
void perf_data_writer_deinit(struct perf_data_writer *w); /* also of one that is all 0 */

struct record_sink perf_data_writer_sink(struct perf_data_writer *w);

/* Tells the file of counters' ids that came to those of the head's events, before records
 * that have them are given. */
bool perf_data_writer_tell_ids(struct perf_data_writer *w, struct error *err);

/* Puts all that was given into the file. */
bool perf_data_writer_flush(struct perf_data_writer *w, struct error *err);

/* The same, and ends the stream of packed records: what comes next can be read without
 * what came before. */
bool perf_data_writer_part(struct perf_data_writer *w, struct error *err);

/* Puts the records of another file of the same head behind those that are there: all that
 * its writer had flushed, and then ended by perf_data_writer_part. That one may have been
 * deinited; its file is still open. */
bool perf_data_writer_join(struct perf_data_writer *w,
                           const struct perf_data_writer *other, struct error *err);

/* Flushes, and ends the file. */
bool perf_data_writer_finish(struct perf_data_writer *w, struct error *err);

/* How large the file is by now. */
uint64_t perf_data_writer_bytes(const struct perf_data_writer *w);

#endif
