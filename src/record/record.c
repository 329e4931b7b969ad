/* SPDX-License-Identifier: Apache-2.0 */
#include "record/record.h"
#include "base/bytes.h"

/* The fields of fixed length that samples have, in their order (perf_event.h,
 * PERF_RECORD_SAMPLE). */
#define FIXED                                                                \
    (PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU | \
     PERF_SAMPLE_PERIOD)

struct record_layout record_layout_of(bool several, uint64_t more_fields)
{
    struct record_layout l = {.sample_type = FIXED | more_fields};
    size_t at = PERF_RECORD_HEADER;
    if (several) {
        l.sample_type |= PERF_SAMPLE_IDENTIFIER;
        l.id = at;
        at += 8;
    }
    l.ip = at;
    l.tid = at + 8;
    l.time = at + 16;
    l.cpu = at + 24;
    l.period = at + 32;
    l.fixed_size = at + 40;
    l.trailer = several ? 32 : 24; /* tid, time, cpu, identifier */
    l.trailer_time = 8;
    return l;
}

size_t record_length(const struct record_layout *layout, struct str bytes)
{
    struct str name = str_skip(bytes, RECORD_SYMBOL_NAME);
    size_t end = str_find(name, 0);
    if (bytes.len < PERF_RECORD_HEADER || record_u32(bytes, 0) != PERF_KSYMBOL ||
        end == name.len)
        return bytes.len;
    size_t padded = (end + 8) / 8 * 8,
           length = RECORD_SYMBOL_NAME + padded + layout->trailer;
    return length < bytes.len ? length : bytes.len;
}

bool record_dump_of(const struct record_layout *layout, struct str bytes,
                    struct record_dump *dump)
{
    struct bytes b = bytes_of(str_skip(bytes, layout->fixed_size), false);
    if (bytes.len < PERF_RECORD_HEADER || record_u32(bytes, 0) != PERF_SAMPLE ||
        !(layout->sample_type & PERF_SAMPLE_STACK_USER))
        return false;
    bytes_skip(&b, 8 * bytes_u64(&b)); /* the call chain */
    if (layout->sample_type & PERF_SAMPLE_RAW)
        bytes_skip(&b, bytes_u32(&b));
    if (bytes_u64(&b)) /* the ABI of the registers; 0: none */
        bytes_skip(&b, 8 * layout->registers);
    dump->at = (size_t)(b.at - bytes.ptr);
    dump->size = (size_t)bytes_u64(&b);
    bytes_skip(&b, dump->size);
    if (dump->size == 0)
        return false;
    dump->content = (size_t)bytes_u64(&b);
    if (dump->content > dump->size)
        dump->content = dump->size;
    return !b.failed;
}

bool record_of(const struct record_layout *layout, struct str bytes, struct record *r)
{
    if (bytes.len < PERF_RECORD_HEADER)
        return false;
    *r = (struct record){.bytes = bytes, .type = record_u32(bytes, 0)};
    memcpy(&r->misc, bytes.ptr + RECORD_MISC, sizeof r->misc);
    if (r->type >= PERF_HEADER_ATTR)
        return true;
    size_t least = r->type == PERF_SAMPLE ? layout->fixed_size
                                          : PERF_RECORD_HEADER + layout->trailer;
    if (bytes.len < least)
        return false;
    size_t at = r->type == PERF_SAMPLE
                    ? layout->time
                    : bytes.len - layout->trailer + layout->trailer_time;
    r->time = record_u64(bytes, at);
    return true;
}

struct str record_mmap_path(const struct record_layout *layout, const struct record *r)
{
    struct str path = str_head(r->bytes, r->bytes.len - layout->trailer);
    path = str_skip(path, RECORD_MMAP_PATH);
    return str_head(path, str_find(path, 0));
}

void record_begin(struct record_maker *m, uint32_t type, uint16_t misc)
{
    uint16_t size = 0;
    m->used = 0;
    record_put(m, &type, sizeof type);
    record_put(m, &misc, sizeof misc);
    record_put(m, &size, sizeof size);
}

void record_put(struct record_maker *m, const void *bytes, size_t size)
{
    size_t room = PERF_RECORD_MAX - m->used;
    size = size < room ? size : room;
    memcpy(m->bytes + m->used, bytes, size);
    m->used += size;
}

void record_put_u32(struct record_maker *m, uint32_t value)
{
    record_put(m, &value, sizeof value);
}

void record_put_u64(struct record_maker *m, uint64_t value)
{
    record_put(m, &value, sizeof value);
}

/* Limit of texts: the longest path. The rest of the record fits after it. */
#define TEXT_MAX ((size_t)4096)

void record_put_text(struct record_maker *m, struct str text)
{
    static const char zeros[8] = {0};
    text = str_head(text, TEXT_MAX);
    record_put(m, text.ptr, text.len);
    record_put(m, zeros, 8 - text.len % 8);
}

static void put_frames(struct record_maker *m, uint64_t context, const uint64_t *frames,
                       size_t count)
{
    if (count == 0)
        return;
    record_put_u64(m, context);
    record_put(m, frames, count * sizeof *frames);
}

void record_put_chain(struct record_maker *m, const uint64_t *frames, size_t user,
                      size_t kernel)
{
    record_put_u64(m, kernel + user + (kernel > 0) + (user > 0));
    put_frames(m, PERF_CONTEXT_KERNEL, frames + user, kernel);
    put_frames(m, PERF_CONTEXT_USER, frames, user);
}

struct record record_end_bare(struct record_maker *m, uint64_t time)
{
    struct record r = {.bytes = {m->bytes, m->used}, .time = time};
    uint16_t size = (uint16_t)m->used;
    memcpy(m->bytes + 6, &size, sizeof size);
    r.type = record_u32(r.bytes, 0);
    memcpy(&r.misc, m->bytes + 4, sizeof r.misc);
    return r;
}

struct record record_end(struct record_maker *m, uint32_t pid, uint32_t tid,
                         uint64_t time)
{
    record_put_u32(m, pid);
    record_put_u32(m, tid);
    record_put_u64(m, time);
    for (size_t left = m->layout->trailer - 16; left; left -= 8)
        record_put_u64(m, 0);
    return record_end_bare(m, time);
}

struct record record_make_name(struct record_maker *m, uint32_t pid, uint32_t tid,
                               struct str name, uint64_t time)
{
    record_begin(m, PERF_COMM, 0);
    record_put_u32(m, pid);
    record_put_u32(m, tid);
    record_put_text(m, name);
    return record_end(m, pid, tid, time);
}
