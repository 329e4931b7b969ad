/* SPDX-License-Identifier: Apache-2.0 */
#include "record/perf_data_write.h"
#include "record/perf_stream.h"
#include <stdlib.h>

/* Number of bytes that are compressed at once: the result must fit into a record, and
 * the input must not exceed the size in the feature COMPRESSED. */
#define PIECE ((size_t)63 << 10)

/* Bytes that are collected before a write to the file. */
#define OUT_MAX ((size_t)256 << 10)

/* Offsets in the file header. */
#define HEADER_DATA_SIZE 48
#define HEADER_FEATURES 72

struct section {
    uint64_t offset, size;
};

static bool stop(struct perf_data_writer *w, struct error *err)
{
    w->failed = true;
    w->why = *err;
    return false;
}

/* --- The file's head --------------------------------------------------------------- */

static void put_u64(struct output *o, uint64_t value)
{
    output_bytes(o, (const char *)&value, sizeof value);
}

static void put_section(struct output *o, uint64_t offset, uint64_t size)
{
    put_u64(o, offset);
    put_u64(o, size);
}

/* A reader can sort the records before the previous round. */
static struct str end_of_round(void)
{
    static const struct {
        uint32_t type;
        uint16_t misc, size;
    } record = {PERF_FINISHED_ROUND, 0, PERF_RECORD_HEADER};
    return (struct str){(const char *)&record, sizeof record};
}

/* The attributes, followed by the ids. */
static void put_events(struct output *o, const struct perf_file_head *head)
{
    uint64_t ids_at = PERF_FILE_HEADER +
                      head->event_count * (uint64_t)(PERF_ATTR_SIZE + PERF_FILE_ATTR_IDS);
    for (size_t i = 0; i < head->event_count; i++) {
        const struct perf_file_event *e = &head->events[i];
        output_bytes(o, (const char *)&e->attr, sizeof e->attr);
        put_section(o, ids_at, e->id_count * sizeof(uint64_t));
        ids_at += e->id_count * sizeof(uint64_t);
    }
    for (size_t i = 0; i < head->event_count; i++)
        for (size_t k = 0; k < head->events[i].id_count; k++)
            put_u64(o, head->events[i].ids[k]);
}

/* Readers reject a file without records. The features are not in the file while it grows;
 * perf cannot decompress a record without this one. */
static void put_first_records(struct output *o, const struct perf_file_head *head)
{
    if (head->packed)
        perf_features_put_packing_record(o, head);
    output_str(o, end_of_round());
}

/* Written in one piece, with the first records. */
static void put_head(struct perf_data_writer *w, const struct perf_file_head *head)
{
    struct output *o = &w->out, first = OUTPUT_BUFFER;
    uint64_t attr_size = PERF_ATTR_SIZE + PERF_FILE_ATTR_IDS;
    uint64_t attrs_size = head->event_count * attr_size;
    uint64_t id_count = 0, bits[4];
    for (size_t i = 0; i < head->event_count; i++)
        id_count += head->events[i].id_count;
    w->features_at = PERF_FILE_HEADER + attrs_size + id_count * sizeof(uint64_t);
    w->records_at = (w->features_at + w->features.bodies.used + 7) & ~(uint64_t)7;
    output_str(o, STR("PERFILE2"));
    put_u64(o, PERF_FILE_HEADER);
    put_u64(o, attr_size);
    put_section(o, PERF_FILE_HEADER, attrs_size);
    put_first_records(&first, head);
    w->size = first.used;
    put_section(o, w->records_at, w->size);
    put_section(o, 0, 0); /* event types, which are not used */
    perf_features_bits(&w->features, bits);
    for (size_t i = 0; i < 4; i++)
        put_u64(o, bits[i]);
    put_events(o, head);
    output_str(o, output_contents(&w->features.bodies));
    while (o->used < w->records_at)
        output_char(o, 0);
    output_str(o, output_contents(&first));
    o->failed |= first.failed;
    output_deinit(&first);
    perf_features_table(&w->features, w->features_at, o);
}

/* Writes the size of the records, and whether features follow them. */
static bool write_sizes(struct perf_data_writer *w, bool with_features, struct error *err)
{
    uint64_t words[7] = {w->size}; /* data size, event types, features */
    struct str bytes = {(const char *)words, sizeof words};
    if (with_features)
        perf_features_bits(&w->features, words + 3);
    return os_data_file_write(w->file, HEADER_DATA_SIZE, bytes, err);
}

static bool hide_features(struct perf_data_writer *w, struct error *err)
{
    static const char zeros[32] = {0};
    return os_data_file_write(w->file, HEADER_FEATURES, (struct str){zeros, sizeof zeros},
                              err);
}

/* Before the records. */
static bool begin(struct perf_data_writer *w, struct error *err)
{
    if (!w->is_stream) {
        put_head(w, w->head);
    } else if (!perf_stream_put_head(&w->out, w->head, &w->features, err)) {
        return false;
    } else {
        put_first_records(&w->out, w->head);
        w->size = w->out.used;
    }
    return !w->out.failed || error_memory(err);
}

bool perf_data_writer_init(struct perf_data_writer *w, struct os_data_file *file,
                           const struct perf_file_head *head, struct error *err)
{
    *w = (struct perf_data_writer){.file = file,
                                   .head = head,
                                   .packed = head->packed,
                                   .out = OUTPUT_BUFFER,
                                   .is_stream = file->is_stream};
    w->pending = malloc(PIECE);
    bool ok = perf_features_init(&w->features, head) && w->pending;
    if (!ok || (w->packed && !packer_init(&w->packer, head->pack_level, err)))
        return error_memory(err);
    if (!begin(w, err))
        return false;
    /* without its head, it is not a recording, and must not get its name */
    ok = os_data_file_write(file, 0, output_contents(&w->out), err) &&
         os_data_file_wait(file, err);
    w->out.used = 0;
    return ok;
}

/* --- Records ----------------------------------------------------------------------- */

/* All samples are in what was written. */
static bool mark(struct perf_data_writer *w, struct error *err)
{
    return !w->samples || os_data_file_set_mark(w->file, w->samples, err) || stop(w, err);
}

static bool write_to_stream(struct perf_data_writer *w, struct error *err)
{
    if (w->out.failed) {
        error_memory(err);
        return stop(w, err);
    }
    if (!os_data_file_write(w->file, w->size, output_contents(&w->out), err))
        return stop(w, err);
    w->size += w->out.used;
    w->out.used = 0;
    return mark(w, err);
}

/* Appends w->out to the records in the file. */
static bool write_out(struct perf_data_writer *w, struct error *err)
{
    size_t table = perf_features_table_size(&w->features), records = w->out.used;
    uint64_t at = w->records_at + w->size;
    if (w->failed) {
        *err = w->why;
        return false;
    }
    if (records == 0)
        return true;
    if (w->is_stream)
        return write_to_stream(w, err);
    perf_features_table(&w->features, w->features_at, &w->out);
    if (w->out.failed) {
        error_memory(err);
        return stop(w, err);
    }
    struct str all = output_contents(&w->out), after_table = str_skip(all, table);
    if (!os_data_file_extend(w->file, at + table, after_table, err))
        return stop(w, err);
    w->size += records;
    w->out.used = 0;
    bool ok = hide_features(w, err) &&
              os_data_file_write(w->file, at, str_head(all, table), err) &&
              write_sizes(w, true, err);
    return (ok || stop(w, err)) && mark(w, err);
}

/* Compresses a part of the records: packer_add, packer_end. */
typedef size_t pack_piece(struct packer *p, struct str bytes, char *into, size_t room);

/* Moves pending records to w->out, compressed if requested. */
static bool move_by(struct perf_data_writer *w, pack_piece *pack)
{
    struct str records = {w->pending, w->pending_used};
    char packed[PERF_RECORD_MAX];
    w->pending_used = 0;
    if (records.len == 0 || !w->packed) {
        output_str(&w->out, records);
        return !w->out.failed;
    }
    size_t size = pack(&w->packer, records, packed + PERF_RECORD_HEADER,
                       sizeof packed - PERF_RECORD_HEADER);
    uint32_t type = PERF_COMPRESSED;
    uint16_t head[2] = {0, (uint16_t)(size + PERF_RECORD_HEADER)};
    memcpy(packed, &type, sizeof type);
    memcpy(packed + sizeof type, head, sizeof head);
    output_bytes(&w->out, packed, size + PERF_RECORD_HEADER);
    return size && !w->out.failed;
}

static bool move_pending(struct perf_data_writer *w)
{
    return move_by(w, packer_add);
}

/* Adds a whole record: the file never ends within one. */
static void put(struct perf_data_writer *w, struct str bytes)
{
    bool ok = !w->failed;
    if (ok && bytes.len > PIECE - w->pending_used)
        ok = move_pending(w);
    while (ok && bytes.len) {
        struct str part = str_head(bytes, PIECE);
        memcpy(w->pending + w->pending_used, part.ptr, part.len);
        w->pending_used += part.len;
        bytes = str_skip(bytes, part.len);
        if (bytes.len) /* more than one compressed part holds */
            ok = move_pending(w);
    }
    if (!ok && !w->failed) {
        error_memory(&w->why);
        w->failed = true;
    }
}

/* After a whole record: writes if much is pending. */
static void write_much(struct perf_data_writer *w)
{
    struct error why;
    if (w->out.used > OUT_MAX && !w->failed)
        perf_data_writer_flush(w, &why); /* the writer remembers the reason */
}

static void widen_times(struct perf_data_writer *w, uint64_t first, uint64_t last)
{
    if (!w->samples || first < w->first)
        w->first = first;
    if (!w->samples || last > w->last)
        w->last = last;
}

static void take(void *context, const struct record *r)
{
    struct perf_data_writer *w = context;
    put(w, r->bytes);
    if (r->type == PERF_SAMPLE) {
        widen_times(w, r->time, r->time);
        w->samples++;
    }
    write_much(w);
}

static void round_over(void *context)
{
    put(context, end_of_round());
}

struct record_sink perf_data_writer_sink(struct perf_data_writer *w)
{
    return (struct record_sink){w, take, round_over};
}

bool perf_data_writer_flush(struct perf_data_writer *w, struct error *err)
{
    if (!w->failed && !move_pending(w)) {
        error_memory(err);
        return stop(w, err);
    }
    return write_out(w, err);
}

bool perf_data_writer_part(struct perf_data_writer *w, struct error *err)
{
    put(w, end_of_round()); /* perf rejects a compressed record without content */
    if (!w->failed && !move_by(w, packer_end)) {
        error_memory(err);
        return stop(w, err);
    }
    return write_out(w, err);
}

bool perf_data_writer_join(struct perf_data_writer *w,
                           const struct perf_data_writer *other, struct error *err)
{
    if (!perf_data_writer_part(w, err))
        return false;
    if (!hide_features(w, err) ||
        !os_data_file_copy(w->file, w->records_at + w->size, other->file,
                           other->records_at, other->size, err))
        return stop(w, err);
    w->size += other->size;
    if (other->samples)
        widen_times(w, other->first, other->last);
    w->samples += other->samples;
    return (write_sizes(w, false, err) || stop(w, err)) && mark(w, err);
}

void perf_data_writer_deinit(struct perf_data_writer *w)
{
    packer_deinit(&w->packer);
    free(w->pending);
    w->pending = NULL;
    output_deinit(&w->out);
    perf_features_deinit(&w->features);
}

/* Waits until all is written, and ends the thread: children of a later fork would not have it. */
static bool end_writing(struct perf_data_writer *w, struct error *err)
{
    return os_data_file_end_behind(w->file, err) || stop(w, err);
}

bool perf_data_writer_finish(struct perf_data_writer *w, struct error *err)
{
    if (!perf_data_writer_flush(w, err))
        return false;
    if (w->is_stream)
        return end_writing(w, err);
    if (w->samples)
        perf_features_add_times(&w->features, w->first, w->last);
    if (w->head->jit_maps)
        perf_features_add_jit_maps(&w->features, w->head->jit_maps);
    if (w->head->put_interpreters)
        perf_features_add_interpreters(&w->features, w->head);
    if (w->head->used_time)
        perf_features_add_cpu_time(&w->features, w->head);
    uint64_t at = w->records_at + w->size;
    w->out.used = 0;
    perf_features_table(&w->features, at + perf_features_table_size(&w->features),
                        &w->out);
    output_str(&w->out, output_contents(&w->features.bodies));
    if (w->out.failed) {
        error_memory(err);
        return stop(w, err);
    }
    bool ok = hide_features(w, err) &&
              os_data_file_write(w->file, at, output_contents(&w->out), err) &&
              write_sizes(w, true, err);
    w->out.used = 0;
    return (ok || stop(w, err)) && end_writing(w, err);
}

uint64_t perf_data_writer_in_file(const struct perf_data_writer *w)
{
    return w->file ? os_data_file_marked(w->file) : 0; /* none: it could not be created */
}

uint64_t perf_data_writer_bytes(const struct perf_data_writer *w)
{
    return w->is_stream
               ? w->size
               : w->records_at + w->size + perf_features_table_size(&w->features);
}
