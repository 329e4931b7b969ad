/* SPDX-License-Identifier: Apache-2.0 */
#include "base/array.h"
#include "base/sort.h"
#include "perf/parts.h"

/* Queued records of a pipe extend the window of the source. Beyond this size they are
 * delivered, even if older records may follow. In a folder of compressed files, the first
 * records can be in the last file. */
#define WAITING_BYTES_MAX ((uint64_t)64 << 20)

bool perf_data_init(struct perf_data *d, struct source *in, struct error *err)
{
    struct str all;
    *d = (struct perf_data){.input = in, .formats = OUTPUT_BUFFER};
    d->facts = (struct perf_facts){.host = STR(""),
                                   .release = STR(""),
                                   .version = STR(""),
                                   .arch = STR(""),
                                   .cpu = STR(""),
                                   .command = STR("")};
    if (!strings_init(&d->paths, &d->arena))
        return error_memory(err);
    source_map(in, &all);
    if (!perf_read_header(d, err))
        return false;
    return !d->arena.failed || error_memory(err);
}

void perf_data_deinit(struct perf_data *d)
{
    perf_unpacker_destroy(d->unpacker);
    output_deinit(&d->formats);
    source_deinit(&d->section);
    arena_deinit(&d->arena);
}

/* --- The window -------------------------------------------------------------------- */

/* Whether the source has `size` bytes at the offset, which is at least d->keep. */
static bool have(struct perf_data *d, uint64_t offset, uint64_t size, struct error *err)
{
    struct source *s = d->source;
    while (offset - s->offset + size > (size_t)(s->end - s->begin)) {
        if (s->last || d->input_failed)
            return false;
        if (d->moving)
            d->moving(d->moving_context);
        if (!source_more(s, s->begin + (d->keep - s->offset), err))
            d->input_failed = true;
    }
    return true;
}

/* The bytes of the window at an offset. */
static struct str bytes_at(const struct perf_data *d, uint64_t offset)
{
    const struct source *s = d->source;
    return str_span(s->begin + (offset - s->offset), s->end);
}

/* The queue is empty or was shortened: bytes before the cursor are not needed, except the last
 * record, to which look_within_last may return. A stream is then read like a file. */
static void keep_last(struct perf_data *d)
{
    d->keep = d->cursor;
    if (d->last < d->cursor && d->cursor - d->last <= PERF_RECORD_MAX &&
        d->last >= d->source->offset)
        d->keep = d->last;
}

static void move_on(struct perf_data *d, uint64_t size)
{
    d->cursor += size;
    if (d->waiting_count == 0)
        keep_last(d);
}

/* The offset in the file. */
static uint64_t origin_of(const struct perf_data *d, uint64_t offset)
{
    return d->unpacker && d->source == perf_unpacker_source_of(d->unpacker)
               ? perf_unpacker_origin(d->unpacker, offset)
               : offset;
}

static void flaw_at(struct perf_data *d, enum perf_flaw flaw, uint64_t offset)
{
    perf_flaw(d, flaw, origin_of(d, offset));
}

/* The record at an offset, if the window has all of it. */
static struct perf_record record_at(const struct perf_data *d, uint64_t offset)
{
    struct str bytes = bytes_at(d, offset);
    struct perf_header h = perf_header_at(d, bytes.ptr);
    const uint64_t *length = d->resized.count ? idmap_find(&d->resized, offset) : NULL;
    struct str all = str_head(bytes, length ? (size_t)*length : h.size);
    return (struct perf_record){.type = h.type,
                                .misc = h.misc,
                                .body = str_skip(all, PERF_RECORD_HEADER),
                                .offset = origin_of(d, offset),
                                .time = TIME_NONE};
}

/* --- Order ------------------------------------------------------------------------- */

static bool before(const void *context, uint32_t a, uint32_t b)
{
    const struct perf_waiting *waiting = context;
    return waiting[a].time < waiting[b].time;
}

/* Sorts the queued records by time, stably. */
static void sort_waiting(struct perf_data *d)
{
    size_t count = d->waiting_count, cap = d->sorted_cap;
    uint32_t *order =
        arena_grow(&d->arena, d->order, &d->order_cap, count * 2, sizeof *order);
    struct perf_waiting *sorted =
        arena_grow(&d->arena, d->sorted, &cap, count, sizeof *sorted);
    if (!order || !sorted)
        return;
    d->order = order;
    for (size_t i = 0; i < count; i++)
        order[i] = (uint32_t)i;
    sort_u32(order, count, order + count, before, d->waiting);
    for (size_t i = 0; i < count; i++)
        sorted[i] = d->waiting[order[i]];
    d->sorted = d->waiting;
    d->sorted_cap = d->waiting_cap;
    d->waiting = sorted;
    d->waiting_cap = cap;
}

/* Makes the records up to that time due. */
static void make_due(struct perf_data *d, uint64_t time)
{
    sort_waiting(d);
    while (d->due < d->waiting_count && d->waiting[d->due].time <= time)
        d->due++;
}

/* All due records were delivered: removes them from the queue and updates d->keep. */
static void forget_given(struct perf_data *d)
{
    size_t left = d->waiting_count - d->due;
    if (left)
        memmove(d->waiting, d->waiting + d->due, left * sizeof *d->waiting);
    d->waiting_count = left;
    d->given = d->due = 0;
    keep_last(d);
    for (size_t i = 0; i < left; i++)
        if (d->waiting[i].offset < d->keep)
            d->keep = d->waiting[i].offset;
}

static void wait(struct perf_data *d, const struct perf_record *r)
{
    struct perf_waiting *added =
        ARRAY_APPEND(&d->arena, d->waiting, d->waiting_count, d->waiting_cap);
    if (!added)
        return;
    *added = (struct perf_waiting){r->time, d->cursor};
    if (r->time > d->newest_time)
        d->newest_time = r->time;
}

/* A round: perf has read the buffers of all CPUs once. In the next round, records can be
 * older than the newest of this round, but not older than the newest of the round before.
 */
static void end_round(struct perf_data *d)
{
    if (d->input->file_count > 1) /* the round of one file only */
        return;
    make_due(d, d->round_time);
    d->round_time = d->newest_time;
}

/* --- Records ----------------------------------------------------------------------- */

/* Whether a record begins at the offset: its size is that of its fields or, if that is
 * unknown, another record or the end follows. */
static bool begins_record(struct perf_data *d, uint64_t offset, struct error *err)
{
    if (!have(d, offset, PERF_RECORD_HEADER, err) ||
        !perf_header_sound(d, bytes_at(d, offset)))
        return false;
    size_t size = perf_header_at(d, bytes_at(d, offset).ptr).size;
    uint64_t next = offset + size;
    bool more = have(d, next, PERF_RECORD_HEADER, err);
    if (!more && (!have(d, offset, size, err) || have(d, next, 1, err)))
        return false;
    size_t length = perf_record_length(d, bytes_at(d, offset));
    return length == size ||
           (length == 0 && (!more || perf_header_sound(d, bytes_at(d, next))));
}

/* The end of a record whose fields and header disagree about its size; 0 if no record
 * follows the fields: then the size in the header is not the damage. */
static size_t true_length(struct perf_data *d, uint64_t offset, struct error *err)
{
    have(d, offset, PERF_RECORD_MAX, err);
    size_t length = perf_record_length(d, bytes_at(d, offset));
    bool other = length && length != perf_header_at(d, bytes_at(d, offset).ptr).size;
    if (!other)
        return 0;
    uint64_t next = offset + length;
    bool ends = have(d, offset, length, err) && !have(d, next, 1, err);
    return ends || begins_record(d, next, err) ? length : 0;
}

/* Stores the real size of the record. */
static void resize(struct perf_data *d, uint64_t offset, size_t length)
{
    uint64_t *at = idmap_put(&d->resized, &d->arena, offset);
    if (at)
        *at = length;
    flaw_at(d, PERF_FLAW_CORRUPTED, offset);
}

/* The bytes at the cursor are not a record: perhaps the header of the record before has a
 * wrong size. That record is queued or was delivered. */
static bool fix_last(struct perf_data *d, struct error *err)
{
    size_t count = d->waiting_count;
    if (count <= d->due || d->waiting[count - 1].offset != d->last)
        return false;
    size_t length = true_length(d, d->last, err);
    if (length == 0)
        return false;
    resize(d, d->last, length);
    struct perf_record r = record_at(d, d->last);
    d->waiting[count - 1].time = perf_time_of(d, &r);
    d->cursor = d->last + length;
    return true;
}

/* The bytes at the cursor are not a record, and the one before is of a type that perf
 * added, whose size only the header has. If another record begins within it, it is the
 * damaged one. */
static bool look_within_last(struct perf_data *d, struct error *err)
{
    uint64_t last = d->last, end = d->cursor, keep = d->keep;
    if (last < d->source->offset || last >= end || end - last > PERF_RECORD_MAX ||
        perf_record_length(d, bytes_at(d, last)))
        return false;
    d->keep = last < keep ? last : keep; /* the window may move meanwhile */
    uint64_t at = last + PERF_RECORD_HEADER;
    while (at < end && !begins_record(d, at, err))
        at += 4;
    d->keep = at < keep ? at : keep;
    if (at >= end)
        return false;
    flaw_at(d, PERF_FLAW_CORRUPTED, last);
    d->cursor = at;
    d->last = UINT64_MAX; /* once only: what is there may be damaged too */
    return true;
}

#define PASSED_MAX ((uint64_t)1 << 20)

/* Bytes of zero words at the beginning: no record begins there, because no type is 0.
 * Damaged files have long runs of them, where blocks were never written. */
static size_t zero_bytes(struct str bytes)
{
    size_t length = 0;
    uint64_t word = 0;
    for (; length + sizeof word <= bytes.len; length += sizeof word) {
        memcpy(&word, bytes.ptr + length, sizeof word);
        if (word)
            break;
    }
    return length;
}

/* The bytes at the cursor are not a record: skips to the next one. Sizes of the kernel's
 * records are multiples of 8, of perf's multiples of 4. If that is far away, the queue is
 * flushed, so as not to retain everything in between. */
static void pass_corrupted(struct perf_data *d, enum perf_flaw if_last, struct error *err)
{
    uint64_t from = d->cursor, left = 0;
    if (if_last == PERF_FLAW_CORRUPTED && look_within_last(d, err))
        return;
    while (have(d, d->cursor, PERF_RECORD_HEADER + 1, err)) {
        move_on(d, 4);
        move_on(d, zero_bytes(bytes_at(d, d->cursor)));
        if (begins_record(d, d->cursor, err)) {
            flaw_at(d, PERF_FLAW_CORRUPTED, from);
            return;
        }
        if (d->waiting_count && d->cursor - from > PASSED_MAX) {
            make_due(d, UINT64_MAX);
            flaw_at(d, PERF_FLAW_CORRUPTED, from);
            return;
        }
    }
    left = bytes_at(d, d->cursor).len;
    move_on(d, left);
    flaw_at(d, if_last, from);
}

/* Records of unknown types are valid if another record follows. */
static bool is_newer(struct perf_data *d, struct perf_header h, struct error *err)
{
    uint64_t next = d->cursor + h.size;
    if (h.size < PERF_RECORD_HEADER || h.type == 0 || h.type > 2 * PERF_USER_END ||
        (h.type < PERF_USER_END && h.type >= PERF_HEADER_ATTR) ||
        h.type < PERF_KERNEL_END)
        return false;
    if (have(d, next, PERF_RECORD_HEADER, err))
        return perf_header_sound(d, bytes_at(d, next));
    return have(d, d->cursor, h.size, err);
}

/* Whether a record ends with a string. Unused bytes can follow the string. */
static bool has_text(uint32_t type)
{
    return type == PERF_MMAP || type == PERF_MMAP2 || type == PERF_COMM ||
           type == PERF_KSYMBOL || type == PERF_CGROUP;
}

/* Whether the record at the cursor is valid: it has the size of its fields, or the real size
 * is stored. If the size differs and a valid record follows it, the type of the record is
 * damaged. */
static bool check_length(struct perf_data *d, bool whole, struct error *err)
{
    size_t size = perf_header_at(d, bytes_at(d, d->cursor).ptr).size;
    uint32_t type = perf_header_at(d, bytes_at(d, d->cursor).ptr).type;
    size_t length = perf_record_length(d, bytes_at(d, d->cursor));
    if (length == 0 && (type == PERF_SAMPLE || has_text(type))) {
        /* the fields end behind the record, perhaps in what is not read yet */
        have(d, d->cursor, PERF_RECORD_MAX, err);
        length = perf_record_length(d, bytes_at(d, d->cursor));
    }
    if (length == 0 || length == size)
        return whole;
    uint64_t next = d->cursor + size;
    bool follows = whole && have(d, next, PERF_RECORD_HEADER, err) &&
                   perf_header_sound(d, bytes_at(d, next));
    bool roomy = type == PERF_SAMPLE || (has_text(type) && length < size);
    length = true_length(d, d->cursor, err);
    if (length == 0 || (follows && length > size))
        return roomy && whole;
    resize(d, d->cursor, length);
    return true;
}

/* Continues with the next file of a folder. */
static void end_file(struct perf_data *d)
{
    d->ended = d->source != &d->section || !perf_next_file(d, &d->cursor);
}

/* A shorter sample may have lost its end, and its time with it. */
#define SAMPLE_LEAST 40

/* Reads the record at the cursor. Returns false if none can be delivered: at the end, or
 * if bytes were skipped. */
static bool take_record(struct perf_data *d, struct perf_record *r, struct error *err)
{
    if (!have(d, d->cursor, PERF_RECORD_HEADER, err)) {
        if (!d->input_failed && bytes_at(d, d->cursor).len)
            flaw_at(d, PERF_FLAW_TRUNCATED, d->cursor);
        end_file(d);
        return false;
    }
    struct perf_header h = perf_header_at(d, bytes_at(d, d->cursor).ptr);
    bool sound = perf_header_sound(d, bytes_at(d, d->cursor));
    bool newer = !sound && is_newer(d, h, err);
    if (!sound && !newer) {
        if (!fix_last(d, err))
            pass_corrupted(d, PERF_FLAW_CORRUPTED, err);
        return false;
    }
    bool whole = have(d, d->cursor, h.size, err);
    if (sound && (!whole || h.type != PERF_SAMPLE || h.size < SAMPLE_LEAST))
        whole = check_length(d, whole, err);
    if (!whole) {
        pass_corrupted(d, sound ? PERF_FLAW_TRUNCATED : PERF_FLAW_CORRUPTED, err);
        return false;
    }
    if (newer)
        flaw_at(d, PERF_FLAW_UNKNOWN, d->cursor);
    *r = record_at(d, d->cursor);
    r->time = newer ? TIME_NONE : perf_time_of(d, r);
    d->last = d->cursor;
    return true;
}

/* Payload that follows some records and is not part of their size. */
static uint64_t payload_of(const struct perf_data *d, const struct perf_record *r)
{
    struct bytes b = perf_body(d, r);
    if (r->type == PERF_AUXTRACE)
        return bytes_u64(&b);
    return r->type == PERF_HEADER_TRACING_DATA ? bytes_u32(&b) : 0;
}

/* Switches to a source of decompressed records. The queue is empty. */
static void start_unpacking(struct perf_data *d)
{
    struct source *s = d->source;
    s->begin += d->cursor - s->offset;
    s->offset = d->cursor;
    d->unpacker = perf_unpacker_create(d, s);
    if (!d->unpacker) {
        d->arena.failed = true;
        return;
    }
    d->source = perf_unpacker_source(d->unpacker);
    d->cursor = d->keep = 0;
    d->last = UINT64_MAX;
}

#define FORMATS_MAX ((size_t)16 << 20)

/* Collects the tracepoint formats until they are complete. */
static void take_formats(struct perf_data *d, struct str piece)
{
    if (!d->keeps_payload)
        return;
    if (d->formats.used + piece.len <= FORMATS_MAX)
        output_str(&d->formats, piece);
    if (piece.len < d->payload)
        return;
    perf_read_formats(d, output_contents(&d->formats));
    d->arena.failed |= d->formats.failed;
    d->keeps_payload = false;
    output_deinit(&d->formats);
    d->formats = OUTPUT_BUFFER;
}

/* Skips a part of a payload. */
static void skip_payload(struct perf_data *d, struct error *err)
{
    uint64_t left = bytes_at(d, d->cursor).len;
    if (left == 0 && !have(d, d->cursor, 1, err)) {
        if (!d->input_failed)
            flaw_at(d, PERF_FLAW_TRUNCATED, d->cursor);
        d->payload = 0;
        return;
    }
    left = bytes_at(d, d->cursor).len;
    left = left < d->payload ? left : d->payload;
    take_formats(d, str_head(bytes_at(d, d->cursor), (size_t)left));
    d->payload -= left;
    move_on(d, left);
}

/* Reads one record. Returns true if it is to be delivered immediately. */
static bool step(struct perf_data *d, struct perf_record *r, struct error *err)
{
    if (d->payload) {
        skip_payload(d, err);
        return false;
    }
    if (!take_record(d, r, err))
        return false;
    if (!d->unpacker && (r->type == PERF_COMPRESSED || r->type == PERF_COMPRESSED2)) {
        if (d->waiting_count)
            make_due(d, UINT64_MAX);
        else
            start_unpacking(d);
        return false;
    }
    if (r->type < PERF_KERNEL_END && r->time != TIME_NONE) {
        wait(d, r);
        d->cursor += r->body.len + PERF_RECORD_HEADER;
        return false;
    }
    move_on(d, r->body.len + PERF_RECORD_HEADER);
    d->payload = payload_of(d, r);
    d->keeps_payload = r->type == PERF_HEADER_TRACING_DATA;
    if (r->type == PERF_AUXTRACE)
        d->aux_bytes += d->payload;
    if (r->type == PERF_FINISHED_ROUND)
        end_round(d);
    if (r->type >= PERF_HEADER_ATTR)
        perf_read_header_record(d, r);
    return true;
}

/* The records have ended: all queued ones are due. Reads the features after them, if they
 * could not be read before. */
static void end(struct perf_data *d, struct error *err)
{
    struct str rest;
    make_due(d, UINT64_MAX);
    if (!d->features_at || d->section_left)
        return;
    if (source_all(d->input, &rest, err))
        perf_read_features(d, rest, d->input->offset);
    else
        d->input_failed = true;
}

void perf_data_damaged(struct perf_data *d, const struct perf_record *r)
{
    perf_flaw(d, PERF_FLAW_CORRUPTED, r->offset);
}

bool perf_data_inner(const struct perf_data *d, struct str *bytes, uint64_t offset,
                     struct perf_record *r)
{
    if (bytes->len < PERF_RECORD_HEADER || !perf_header_sound(d, *bytes))
        return false;
    struct perf_header h = perf_header_at(d, bytes->ptr);
    if (h.size > bytes->len || perf_record_length(d, str_head(*bytes, h.size)) != h.size)
        return false;
    *r = (struct perf_record){.type = h.type,
                              .misc = h.misc,
                              .body =
                                  str_skip(str_head(*bytes, h.size), PERF_RECORD_HEADER),
                              .offset = offset};
    r->time = perf_time_of(d, r);
    *bytes = str_skip(*bytes, h.size);
    return true;
}

bool perf_data_next(struct perf_data *d, struct perf_record *r, struct error *err)
{
    for (;;) {
        if (d->arena.failed)
            return error_memory(err);
        if (d->input_failed)
            return false;
        if (d->given < d->due) {
            *r = record_at(d, d->waiting[d->given].offset);
            r->time = d->waiting[d->given++].time;
            return true;
        }
        if (d->due)
            forget_given(d);
        if (d->ended)
            return false;
        uint64_t most = d->input->file_count > 1 ? source_limits(d->input)->piece / 2
                                                 : WAITING_BYTES_MAX;
        if (!d->source->last && d->cursor - d->keep > most)
            make_due(d, UINT64_MAX);
        else if (step(d, r, err))
            return true;
        if (d->ended)
            end(d, err);
    }
}
