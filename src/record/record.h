/* SPDX-License-Identifier: Apache-2.0 */
/* Records on their way: from a sampler, through stages that add to them or change them,
 * to a file or a screen.
 *
 * A record has the form that perf.data gives it (perf/format.h): a header of 8 bytes
 * and a body, in this machine's byte order. All events of a recording put the fields of
 * fixed length at the same places, which struct record_layout tells; records that are no
 * samples end with whose they are and when they were written (sample_id_all).
 *
 * To add a stage (something that counts, unwinds, shows):
 *   1. a struct with the next stage's sink in it, and a function that gives its own sink
 *   2. its take: looks at records that it knows by type, hands on all others as they are
 *   3. its round: does what it put off, then calls the next one's
 *   4. its place in the chain that record_session_create builds (session.c) */
#ifndef STOKE_RECORD_RECORD_H
#define STOKE_RECORD_RECORD_H

#include "base/error.h"
#include "base/perf_attr.h"
#include "perf/format.h"
#include <string.h>

struct record {
    struct str bytes; /* header and body; good until the round is over */
    uint32_t type;    /* enum perf_type */
    uint16_t misc;
    uint64_t time; /* ns of CLOCK_MONOTONIC; 0: before all others */
};

/* Who takes records. They come in the order of time, but for those of one moment on two
 * processors. What cannot be taken (a full disk) is remembered by the last stage. */
struct record_sink {
    void *context;
    void (*take)(void *context, const struct record *r);

    /* All that was recorded up to now was given. Bytes of records given go now. */
    void (*round)(void *context);
};

static inline void record_pass(const struct record_sink *to, const struct record *r)
{
    to->take(to->context, r);
}

/* Where in a record's bytes the fields are. */
struct record_layout {
    uint64_t sample_type;
    size_t id, ip, tid, time, cpu, period; /* of samples, from the front; 0: not there */
    size_t behind;                         /* of samples: where what varies begins */
    size_t trailer;                        /* of others: the length of their end, */
    size_t trailer_time;                   /* and the time's place in it */
};

/* What all events have: with `several`, which one a record belongs to. */
struct record_layout record_layout_of(bool several, uint64_t more_fields);

static inline uint32_t record_u32(struct str bytes, size_t at)
{
    uint32_t value;
    memcpy(&value, bytes.ptr + at, sizeof value);
    return value;
}

static inline uint64_t record_u64(struct str bytes, size_t at)
{
    uint64_t value;
    memcpy(&value, bytes.ptr + at, sizeof value);
    return value;
}

/* The record that the bytes are; false where they are too short for what they say. */
bool record_of(const struct record_layout *layout, struct str bytes, struct record *r);

/* The process and the thread of a sample. */
static inline uint32_t record_pid(const struct record_layout *l, const struct record *r)
{
    return record_u32(r->bytes, l->tid);
}

static inline uint32_t record_tid(const struct record_layout *l, const struct record *r)
{
    return record_u32(r->bytes, l->tid + 4);
}

/* --- Making records ---------------------------------------------------------------- */

/* A record in the making: begin, put, end. What does not fit is cut off. */
struct record_maker {
    const struct record_layout *layout;
    size_t used;
    char bytes[PERF_RECORD_MAX + 1];
};

void record_begin(struct record_maker *m, uint32_t type, uint16_t misc);
void record_put(struct record_maker *m, const void *bytes, size_t size);
void record_put_u32(struct record_maker *m, uint32_t value);
void record_put_u64(struct record_maker *m, uint64_t value);
void record_put_text(struct record_maker *m, struct str text); /* padded with zeros */

/* Adds the end that says whose and when, and gives the record: good until the next one
 * begins. */
struct record record_end(struct record_maker *m, uint32_t pid, uint32_t tid,
                         uint64_t time);

/* The same without that end: for records of perf.data's own, and samples. */
struct record record_end_bare(struct record_maker *m, uint64_t time);

/* "comm is called name". */
struct record record_make_name(struct record_maker *m, uint32_t pid, uint32_t tid,
                               struct str name, uint64_t time);

#endif
