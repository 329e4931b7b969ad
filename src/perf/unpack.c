/* SPDX-License-Identifier: Apache-2.0 */
/* Compressed records (perf record -z): one zstd stream, cut into records. A record in the
 * stream may continue in the next piece. Records that are not compressed are in between.
 */
#include "base/array.h"
#include "codec/decode.h"
#include "perf/parts.h"
#include <stdlib.h>

/* The stage holds decompressed bytes: complete records, and the beginning of the next
 * one. */
#define STAGE_SIZE (((size_t)256 << 10) + PERF_RECORD_MAX)

/* From an offset of the source on, bytes are from the record at that offset of the file.
 */
struct origin {
    uint64_t offset, in_file;
};

struct perf_unpacker {
    struct perf_data *d;
    struct source *from;
    struct source source;
    struct unpacker zstd;
    struct str packed; /* the rest of the compressed record at from->begin */
    uint64_t pass;     /* bytes of `from` to copy unchanged */
    size_t record;     /* bytes of the compressed record before from->begin */
    char *stage;
    size_t at, ready,
        used; /* bytes: delivered; up to the end of the last complete record; in all */
    bool damaged, ended;
    uint64_t given; /* bytes that the source has delivered */
    struct origin *origins;
    size_t origin_count, origin_cap;
    uint64_t packed_at; /* the current compressed record */
};

struct perf_unpacker *perf_unpacker_create(struct perf_data *d, struct source *from)
{
    struct perf_unpacker *u = calloc(1, sizeof *u);
    struct error ignored;
    if (!u)
        return NULL;
    *u = (struct perf_unpacker){.d = d, .from = from, .packed = STR("")};
    u->stage = malloc(STAGE_SIZE);
    if (!u->stage || !unpacker_init(&u->zstd, from->limits, &ignored)) {
        perf_unpacker_destroy(u);
        return NULL;
    }
    return u;
}

void perf_unpacker_destroy(struct perf_unpacker *u)
{
    if (!u)
        return;
    source_deinit(&u->source);
    unpacker_deinit(&u->zstd);
    free(u->stage);
    free(u);
}

static void note_origin(struct perf_unpacker *u, uint64_t offset, uint64_t in_file)
{
    struct origin *added =
        ARRAY_APPEND(&u->d->arena, u->origins, u->origin_count, u->origin_cap);
    if (!added)
        return;
    *added = (struct origin){offset, in_file};
}

uint64_t perf_unpacker_origin(const struct perf_unpacker *u, uint64_t offset)
{
    size_t low = 0, high = u->origin_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (u->origins[middle].offset <= offset)
            low = middle + 1;
        else
            high = middle;
    }
    return low ? u->origins[low - 1].in_file : 0;
}

const struct source *perf_unpacker_source_of(const struct perf_unpacker *u)
{
    return &u->source;
}

static size_t window(const struct source *s)
{
    return (size_t)(s->end - s->begin);
}

static void drop(struct source *s, size_t size)
{
    s->begin += size;
    s->offset += size;
}

/* Finds the end of the last complete record in the stage. Invalid bytes are passed on
 * unchanged: the reader skips them. */
static void find_ready(struct perf_unpacker *u)
{
    while (u->used - u->ready >= PERF_RECORD_HEADER) {
        size_t size = perf_header_at(u->d, u->stage + u->ready).size;
        if (size < PERF_RECORD_HEADER)
            size = u->used - u->ready;
        if (size > u->used - u->ready)
            return;
        u->ready += size;
    }
}

static void unpack_some(struct perf_unpacker *u)
{
    size_t carried = u->used - u->ready, got;
    memmove(u->stage, u->stage + u->ready, carried);
    bool ok = unpacker_unpack(&u->zstd, &u->packed, u->stage + carried,
                              STAGE_SIZE - carried, &got);
    u->at = u->ready = 0;
    u->used = carried + got;
    if (!ok) {
        perf_flaw(u->d, PERF_FLAW_PACKED, u->from->offset);
        u->damaged = true;
        u->packed = STR("");
    }
    find_ready(u);
    /* What does not fit into the stage is decompressed next. */
    if (u->packed.len == 0 && u->used < STAGE_SIZE) {
        drop(u->from, u->record);
        u->record = 0;
    }
}

/* The next file of a folder starts a stream of its own. */
static bool start_file(struct perf_unpacker *u, uint64_t begin, struct error *err)
{
    struct source *from = u->from;
    from->begin = u->d->input->begin - u->d->input->offset + begin;
    from->offset = begin;
    u->used = u->ready; /* a record without an end is dropped */
    u->damaged = false;
    unpacker_deinit(&u->zstd);
    return unpacker_init(&u->zstd, u->from->limits, err);
}

/* The file ends, perhaps within a record that is not compressed. Such a record would be
 * put before the rest of the record that is being decompressed. */
static bool end_within(struct perf_unpacker *u, struct error *err)
{
    struct source *from = u->from;
    uint64_t next;
    if (window(from))
        perf_flaw(u->d, PERF_FLAW_TRUNCATED, from->offset);
    drop(from, window(from));
    if (from == &u->d->section && perf_next_file(u->d, &next))
        return start_file(u, next, err);
    u->ended = true;
    return true;
}

/* Determines the kind of the next record of `from`. */
static bool next_record(struct perf_unpacker *u, struct error *err)
{
    struct source *from = u->from;
    if (!source_peek(from, PERF_RECORD_HEADER + 8, err))
        return false;
    struct str bytes = str_span(from->begin, from->end);
    if (bytes.len < PERF_RECORD_HEADER)
        return end_within(u, err);
    struct perf_header h = perf_header_at(u->d, bytes.ptr);
    bool sound = perf_header_sound(u->d, bytes);
    bool second = sound && h.type == PERF_COMPRESSED2;
    if (sound && !source_peek(from, h.size, err))
        return false;
    bytes = str_head(str_span(from->begin, from->end), h.size);
    struct bytes body = bytes_of(str_skip(bytes, PERF_RECORD_HEADER), u->d->big_endian);
    if (!second && !(sound && h.type == PERF_COMPRESSED)) {
        if (sound && bytes.len < h.size)
            return end_within(u, err);
        u->pass = sound ? h.size : PERF_RECORD_HEADER;
        uint64_t payload = sound && h.type == PERF_AUXTRACE ? bytes_u64(&body)
                           : sound && h.type == PERF_HEADER_TRACING_DATA
                               ? bytes_u32(&body)
                               : 0;
        u->pass = payload > UINT64_MAX - u->pass ? UINT64_MAX : u->pass + payload;
        note_origin(u, u->given, from->offset);
        if (u->used > u->ready) /* the beginning of a record that continues */
            note_origin(u,
                        u->pass > UINT64_MAX - u->given ? UINT64_MAX : u->given + u->pass,
                        u->packed_at);
        return true;
    }
    u->record = bytes.len;
    u->packed_at = from->offset;
    note_origin(u, u->given + (u->used - u->ready), from->offset);
    uint64_t size = second ? bytes_u64(&body) : UINT64_MAX;
    u->packed = str_head((struct str){body.at, bytes_left(&body)},
                         size < SIZE_MAX ? (size_t)size : SIZE_MAX);
    if (u->damaged)
        u->packed = STR("");
    return true;
}

static bool copy_through(struct perf_unpacker *u, char *into, size_t room, size_t *got,
                         struct error *err)
{
    struct source *from = u->from;
    if (window(from) == 0 && !source_peek(from, 1, err))
        return false;
    size_t size = window(from) < room ? window(from) : room;
    size = size < u->pass ? size : (size_t)u->pass;
    memcpy(into, from->begin, size);
    drop(from, size);
    u->pass = size ? u->pass - size : 0;
    *got = size;
    return true;
}

static bool unpacker_read(void *context, char *into, size_t room, size_t *got,
                          struct error *err)
{
    struct perf_unpacker *u = context;
    *got = 0;
    while (*got == 0) {
        if (u->at < u->ready) {
            *got = u->ready - u->at < room ? u->ready - u->at : room;
            memcpy(into, u->stage + u->at, *got);
            u->at += *got;
            u->given += *got;
        } else if (u->record) {
            unpack_some(u);
        } else if (u->pass) {
            if (!copy_through(u, into, room, got, err))
                return false;
            u->given += *got;
        } else if (u->ended) {
            if (u->ready == u->used)
                return true;
            u->ready = u->used; /* the beginning of a record without an end */
        } else if (!next_record(u, err)) {
            return false;
        }
    }
    return true;
}

struct source *perf_unpacker_source(struct perf_unpacker *u)
{
    u->source = source_reading(unpacker_read, u, u->from->name);
    u->source.limits = u->from->limits;
    return &u->source;
}
