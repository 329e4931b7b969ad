/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of the perf.data reader share. perf_data.h is the public header. */
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

/* Counts a flaw at that offset. */
void perf_flaw(struct perf_data *d, enum perf_flaw flaw, uint64_t offset);

/* header.c: reads the file or pipe header, up to the first record. Sets d->source and
 * d->cursor. */
bool perf_read_header(struct perf_data *d, struct error *err);

/* The bits of a perf_event_attr, the first one lowest; in a big-endian file it is the highest. */
uint64_t perf_take_flags(struct bytes *b);

/* A string: its length, then the bytes, padded with zeros. */
struct str perf_take_string(struct bytes *b);

/* Appends the next file of a folder to d->section. Returns false if there are no more. */
bool perf_next_file(struct perf_data *d, uint64_t *begin);

/* Reads a file's features from the input: `file` is the file from `from` on. */
void perf_read_features(struct perf_data *d, struct str file, uint64_t from);

/* Reads the records of a pipe that replace parts of a file's header. */
void perf_read_header_record(struct perf_data *d, const struct perf_record *r);

/* Assigns formats to the tracepoints. */
void perf_read_formats(struct perf_data *d, struct str tracing);

/* names.c: the name that perf makes for an event without a name. */
struct str perf_event_name(struct arena *a, const struct perf_event *e);

/* record.c: the time of a record, TIME_NONE if it has none. */
uint64_t perf_time_of(const struct perf_data *d, const struct perf_record *r);

/* Whether these bytes, at least 8, can be the head of a record: a known type with a valid
 * size. */
bool perf_header_sound(const struct perf_data *d, struct str bytes);

/* The size of the record at these bytes, header included, computed from its fields and
 * not from its header; 0 if unknown. */
size_t perf_record_length(const struct perf_data *d, struct str bytes);

/* unpack.c: a source of the records of `from`, with compressed ones decompressed. Starts
 * at the record at from->begin, a compressed one. NULL if out of memory. */
struct perf_unpacker *perf_unpacker_create(struct perf_data *d, struct source *from);
struct source *perf_unpacker_source(struct perf_unpacker *u);
const struct source *perf_unpacker_source_of(const struct perf_unpacker *u);

/* The offset in the file of the source's offset: that of the compressed record. */
uint64_t perf_unpacker_origin(const struct perf_unpacker *u, uint64_t offset);
void perf_unpacker_destroy(struct perf_unpacker *u); /* NULL is allowed */

#endif
