/* SPDX-License-Identifier: Apache-2.0 */
#include "record/perf_stream.h"

#define HEADER_SIZE 16
#define ALIGNED_TO 8

static void put_u64(struct output *o, uint64_t value)
{
    output_bytes(o, (const char *)&value, sizeof value);
}

static void begin(struct output *o, uint32_t type, size_t size)
{
    uint16_t misc_and_size[2] = {0, (uint16_t)size};
    output_bytes(o, (const char *)&type, sizeof type);
    output_bytes(o, (const char *)misc_and_size, sizeof misc_and_size);
}

static size_t padding(size_t size)
{
    return -size % ALIGNED_TO;
}

static void put_padded(struct output *o, struct str bytes)
{
    static const char zeros[ALIGNED_TO] = {0};
    output_str(o, bytes);
    output_bytes(o, zeros, padding(bytes.len));
}

/* The attribute of an event, and the ids of its counters. */
static bool put_event(struct output *o, const struct perf_file_event *e,
                      struct error *err)
{
    size_t ids = e->id_count * sizeof *e->ids;
    size_t size = PERF_RECORD_HEADER + sizeof e->attr + ids;
    if (size > PERF_RECORD_MAX) {
        error_set(err, "%s has too many counters for a stream", e->name);
        return error_hint(err, "write to a file, -o FILE, or record fewer events");
    }
    begin(o, PERF_HEADER_ATTR, size);
    output_bytes(o, (const char *)&e->attr, sizeof e->attr);
    output_bytes(o, (const char *)e->ids, ids);
    return true;
}

/* The formats of tracepoints follow the record. */
static void put_tracing(struct output *o, struct str body)
{
    uint32_t size = (uint32_t)(body.len + padding(body.len));
    begin(o, PERF_HEADER_TRACING_DATA, PERF_RECORD_HEADER + sizeof size);
    output_bytes(o, (const char *)&size, sizeof size);
    put_padded(o, body);
}

/* The body is a record already, without its type. */
static void put_build_id(struct output *o, struct str body)
{
    uint32_t type = PERF_HEADER_BUILD_ID;
    output_bytes(o, (const char *)&type, sizeof type);
    output_str(o, str_skip(body, sizeof type));
}

static void put_feature(struct output *o, unsigned number, struct str body)
{
    size_t size = PERF_RECORD_HEADER + sizeof(uint64_t) + body.len + padding(body.len);
    if (size > PERF_RECORD_MAX)
        return; /* names of many events: their attributes have what is needed */
    begin(o, PERF_HEADER_FEATURE, size);
    put_u64(o, number);
    put_padded(o, body);
}

bool perf_stream_put_head(struct output *o, const struct perf_file_head *head,
                          const struct perf_features *features, struct error *err)
{
    struct str bodies = output_contents(&features->bodies);
    output_str(o, STR("PERFILE2"));
    put_u64(o, HEADER_SIZE);
    for (size_t i = 0; i < head->event_count; i++)
        if (!put_event(o, &head->events[i], err))
            return false;
    for (size_t i = 0; i < features->count; i++) {
        unsigned number = features->items[i].number;
        struct str body = str_head(str_skip(bodies, features->items[i].offset),
                                   features->items[i].size);
        if (number == PERF_FEATURE_TRACING_DATA)
            put_tracing(o, body);
        else if (number == PERF_FEATURE_BUILD_ID)
            put_build_id(o, body);
        else if (number != PERF_FEATURE_COMPRESSED) /* it comes with the records */
            put_feature(o, number, body);
    }
    return true;
}
