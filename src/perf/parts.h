/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of the perf.data reader share among themselves; see perf_data.h. */
#ifndef STOKE_PERF_PARTS_H
#define STOKE_PERF_PARTS_H

#include "perf/perf_data.h"

struct perf_header {
    uint32_t type;
    uint16_t misc, size;
};

static inline struct perf_header perf_header_at(const struct perf_data *d, const char *at)
{
    struct bytes b = bytes_of((struct str){at, PERF_RECORD_HEADER}, d->big_endian);
    return (struct perf_header){bytes_u32(&b), bytes_u16(&b), bytes_u16(&b)};
}

/* Counts a flaw, found at that offset. */
void perf_flaw(struct perf_data *d, enum perf_flaw flaw, uint64_t offset);

/* perf_data_header.c: the file or pipe header, up to the first record: sets d->source and
 * d->cursor. */
bool perf_read_header(struct perf_data *d, struct error *err);

/* Goes on to the next of a folder's files, which d->section then ends with: where its
 * records begin. False where there are no more. */
bool perf_next_file(struct perf_data *d, uint64_t *begin);

/* A file's features, once the input holds them: `file` is the file from `from` on. */
void perf_read_features(struct perf_data *d, struct str file, uint64_t from);

/* The records of a pipe that stand for parts of a file's header. */
void perf_read_header_record(struct perf_data *d, const struct perf_record *r);

/* Gives the events that are tracepoints their formats. */
void perf_read_formats(struct perf_data *d, struct str tracing);

/* perf_data_names.c: the name perf makes for an event that has none of its own. */
struct str perf_event_name(struct arena *a, const struct perf_event *e);

/* perf_data_record.c: the time of a record, TIME_NONE for none. */
uint64_t perf_time_of(const struct perf_data *d, const struct perf_record *r);

/* Whether a record may begin with these bytes (8 at least): a known type, and as long as
 * that must be. */
bool perf_header_sound(const struct perf_data *d, struct str bytes);

/* How long the record at these bytes is by its content, its header included: as long as
 * all its parts, wherever its header says that it ends. 0 where it is not known. */
size_t perf_record_length(const struct perf_data *d, struct str bytes);

/* perf_data_unpack.c: a source of the records of `from`, those that are compressed
 * unpacked. From the record at from->begin on, which is a compressed one. NULL when
 * memory is short. */
struct perf_unpacker *perf_unpacker_create(struct perf_data *d, struct source *from);
struct source *perf_unpacker_source(struct perf_unpacker *u);
const struct source *perf_unpacker_source_of(const struct perf_unpacker *u);

/* Where in the file that is which the source has at an offset: the record that was packed. */
uint64_t perf_unpacker_origin(const struct perf_unpacker *u, uint64_t offset);
void perf_unpacker_destroy(struct perf_unpacker *u); /* NULL is allowed */

#endif
