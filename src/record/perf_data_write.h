/* SPDX-License-Identifier: Apache-2.0 */
/* The writer of a perf.data: the last stage. The file can be read at any moment.
 * The file: header; attributes of the events and ids of their counters; bodies of the features;
 * records; the table of features, which must follow the records. So the table moves with each
 * flush. To be valid whenever this process ends, a flush writes what comes after the old table
 * first, with the new table; then it removes the feature bits from the header, overwrites the old
 * table, and writes the new size and the feature bits. A reader in between finds the records of
 * the flush before.
 * A stream cannot be changed later: it begins with records of the attributes and the features
 * (perf_stream.h), and what is known at the end is not in it.
 * Records are compressed (COMPRESSED records, zstd) by default: chains repeat, and compression
 * takes less time than writing what it saves. */
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
    bool packed, is_stream;
    char *pending; /* records to compress, or to append */
    size_t pending_used;
    struct output out;                /* next to write to the file */
    uint64_t features_at, records_at; /* in the file */
    uint64_t size;                    /* of the records there */
    uint64_t first, last;             /* times of samples */
    uint64_t samples;                 /* taken */
    bool failed;                      /* nothing more is written, for this reason: */
    struct error why;
};

/* Writes the file's head. The writer must not be moved. Deinit it in any case. */
bool perf_data_writer_init(struct perf_data_writer *w, struct os_data_file *file,
                           const struct perf_file_head *head, struct error *err);
void perf_data_writer_deinit(struct perf_data_writer *w); /* also if it is all zeros */

struct record_sink perf_data_writer_sink(struct perf_data_writer *w);

/* Writes everything that was given to the file. */
bool perf_data_writer_flush(struct perf_data_writer *w, struct error *err);

/* The same, and ends the compressed stream: what follows can be read without what came before. */
bool perf_data_writer_part(struct perf_data_writer *w, struct error *err);

/* Appends the records of another file with the same head, whose writer was ended by
 * perf_data_writer_part. That writer may have been deinited; its file is still open. */
bool perf_data_writer_join(struct perf_data_writer *w,
                           const struct perf_data_writer *other, struct error *err);

/* Flushes, and completes the file. */
bool perf_data_writer_finish(struct perf_data_writer *w, struct error *err);

/* How many of the samples are in the file; waits for writes that are pending. */
uint64_t perf_data_writer_in_file(const struct perf_data_writer *w);

/* The current size of the file. */
uint64_t perf_data_writer_bytes(const struct perf_data_writer *w);

#endif
