/* SPDX-License-Identifier: Apache-2.0 */
/* Records of a recording: their form, their layout, the sinks that stages pass them to.
 * A record has perf.data's form (perf/format.h): a header of 8 bytes and a body, in this
 * machine's byte order. All events of a recording have their fixed fields at the same offsets,
 * which struct record_layout contains. Records other than samples end with a trailer: the thread
 * and the time (sample_id_all).
 * To add a stage (something that counts, unwinds, converts):
 *   1. a struct with the next stage's sink in it, and a function that returns its own sink
 *   2. its take: processes the record types that it knows, passes on all others unchanged
 *   3. its round: does what it has put off, then calls the next one's
 *   4. its position in the chain: record_chain_start (chain.c), or the `stage` of an event
 *      source (event_source.h) */
#ifndef STOKE_RECORD_RECORD_H
#define STOKE_RECORD_RECORD_H

#include "base/error.h"
#include "base/perf_attr.h"
#include "perf/format.h"
#include <string.h>

struct unwind_job; /* model/resolver.h */

struct record {
    struct str bytes; /* header and body; valid until the end of the round */
    uint32_t type;    /* enum perf_type */
    uint16_t misc;
    uint64_t time; /* ns of CLOCK_MONOTONIC; 0: before all others */
    const struct unwind_job
        *job; /* of a sample whose chain was made from registers and a part of
                                     the stack: both, valid during the call; or NULL */
};

/* Receives records, in the order of time except for records of the same moment on two
 * CPUs. The last stage remembers errors (a full disk). */
struct record_sink {
    void *context;
    void (*take)(void *context, const struct record *r);

    /* All records up to now have been given. Their bytes become invalid. */
    void (*round)(void *context);
};

static inline void record_pass(const struct record_sink *to, const struct record *r)
{
    to->take(to->context, r);
}

/* Offsets of fields in a record. */
struct record_layout {
    uint64_t sample_type;
    size_t id, ip, tid, time, cpu, period; /* of samples; 0: not present */
    size_t fixed_size; /* of samples: the size of the fields of fixed length */
    size_t
        registers; /* of samples with a stack dump: how many user registers they contain */
    size_t trailer;      /* of others: the length of the trailer, */
    size_t trailer_time; /* and the offset of the time in it */
};

/* The layout that all events have. `several`: there are several events, and records contain
 * the id of theirs. */
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

/* The length of a record, from its content. For a symbol of the kernel (KSYMBOL), it can be less
 * than the stated size: Linux (seen with 6.18) lets the size grow by a trailer for each counter
 * that gets the record, and what follows the first trailer is undefined. */
size_t record_length(const struct record_layout *layout, struct str bytes);

/* The stack dump of a sample: its length as a field of 8 bytes, the bytes, and how many of them
 * have content (perf_event.h, PERF_SAMPLE_STACK_USER). */
struct record_dump {
    size_t at; /* offset of the first field in the record */
    size_t size, content;
};

/* False if the record is not a sample, or if its dump is empty. */
bool record_dump_of(const struct record_layout *layout, struct str bytes,
                    struct record_dump *dump);

/* Makes *r from the bytes; false if they are too short. */
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

/* Offsets of fields of a record. */
enum { RECORD_MISC = 4, RECORD_SIZE = 6, RECORD_SYMBOL_NAME = 24 };

/* Offsets of fields of a MMAP2 record. The file is identified by device, inode and generation,
 * or, with PERF_MISC_MMAP_BUILD_ID, by its build ID. */
enum record_mmap {
    RECORD_MMAP_PID = 8,
    RECORD_MMAP_START = 16,
    RECORD_MMAP_SIZE = 24,
    RECORD_MMAP_OFFSET = 32,
    RECORD_MMAP_MAJOR = 40,
    RECORD_MMAP_MINOR = 44,
    RECORD_MMAP_INODE = 48,
    RECORD_MMAP_BUILD_ID_SIZE = 40,
    RECORD_MMAP_BUILD_ID = 44,
    RECORD_MMAP_PATH = 72,
};

#define RECORD_MMAP_FILE_SIZE 24 /* of the fields that identify the file */

/* The path of a MMAP2 record that has one. */
struct str record_mmap_path(const struct record_layout *layout, const struct record *r);

/* --- Making records ---------------------------------------------------------------- */

/* A record being made: begin, put, end. What does not fit is cut off. */
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

/* A call chain with its length: of frames of the program, then of the kernel. */
void record_put_chain(struct record_maker *m, const uint64_t *frames, size_t user,
                      size_t kernel);

/* Adds the trailer with the thread and the time, and returns the record, which is valid until
 * the next begin. */
struct record record_end(struct record_maker *m, uint32_t pid, uint32_t tid,
                         uint64_t time);

/* The same without a trailer: for perf.data's own records, and for samples. */
struct record record_end_bare(struct record_maker *m, uint64_t time);

/* A COMM record. */
struct record record_make_name(struct record_maker *m, uint32_t pid, uint32_t tid,
                               struct str name, uint64_t time);

#endif
