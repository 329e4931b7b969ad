/* SPDX-License-Identifier: Apache-2.0 */
/* Decoding records other than samples. */
#include "perf/parts.h"

/* The minimum size of a record's body, by type. */
static const uint8_t kernel_sizes[PERF_KERNEL_END] = {
    [PERF_MMAP] = 32,
    [PERF_LOST] = 16,
    [PERF_COMM] = 8,
    [PERF_EXIT] = 24,
    [PERF_THROTTLE] = 24,
    [PERF_UNTHROTTLE] = 24,
    [PERF_FORK] = 24,
    [PERF_READ] = 16,
    [PERF_MMAP2] = 64,
    [PERF_AUX] = 24,
    [PERF_ITRACE_START] = 8,
    [PERF_LOST_SAMPLES] = 8,
    [PERF_NAMESPACES] = 16,
    [PERF_SWITCH_CPU_WIDE] = 8,
    [PERF_KSYMBOL] = 16,
    [PERF_BPF_EVENT] = 16,
    [PERF_CGROUP] = 8,
    [PERF_TEXT_POKE] = 12,
    [PERF_AUX_OUTPUT_HW_ID] = 8,
    [PERF_CALLCHAIN_DEFERRED] = 16,
};

static const uint8_t own_sizes[PERF_USER_END - PERF_HEADER_ATTR] = {
    [PERF_HEADER_ATTR - 64] = 64,     [PERF_HEADER_TRACING_DATA - 64] = 4,
    [PERF_HEADER_BUILD_ID - 64] = 28, [PERF_AUXTRACE - 64] = 8,
    [PERF_EVENT_UPDATE - 64] = 16,    [PERF_HEADER_FEATURE - 64] = 8,
    [PERF_COMPRESSED2 - 64] = 8,
};

/* Types that perf added whose records have a fixed size, or a multiple of 8. */
static bool own_size_fits(uint32_t type, size_t body)
{
    switch (type) {
    case PERF_FINISHED_ROUND:
    case PERF_FINISHED_INIT:
        return body == 0;
    case PERF_AUXTRACE:
        return body <= 40; /* older versions are shorter */
    case PERF_ID_INDEX:
    case PERF_THREAD_MAP:
    case PERF_CPU_MAP:
    case PERF_EVENT_UPDATE:
    case PERF_TIME_CONV:
        return body % 8 == 0;
    default:
        return true;
    }
}

bool perf_header_sound(const struct perf_data *d, struct str bytes)
{
    struct perf_header h = perf_header_at(d, bytes.ptr);
    size_t body = (size_t)h.size - PERF_RECORD_HEADER;
    if (h.size < PERF_RECORD_HEADER)
        return false;
    if (h.type > 0 && h.type < PERF_KERNEL_END)
        return body >= kernel_sizes[h.type] && body % 8 == 0;
    return h.type >= PERF_HEADER_ATTR && h.type < PERF_USER_END &&
           body >= own_sizes[h.type - PERF_HEADER_ATTR] && own_size_fits(h.type, body);
}

/* --- Identity ---------------------------------------------------------------- */

/* The number of words in a sample before a field with a fixed position. */
static size_t words_before(uint64_t sample_type, uint64_t field)
{
    static const uint64_t order[] = {PERF_SAMPLE_IDENTIFIER, PERF_SAMPLE_IP,
                                     PERF_SAMPLE_TID,        PERF_SAMPLE_TIME,
                                     PERF_SAMPLE_ADDR,       PERF_SAMPLE_ID};
    size_t words = 0;
    for (size_t i = 0; order[i] != field; i++)
        words += (sample_type & order[i]) != 0;
    return words;
}

/* The same for the identity of other records: the number of words from the end. */
static size_t words_behind(uint64_t sample_type, uint64_t field)
{
    static const uint64_t order[] = {PERF_SAMPLE_IDENTIFIER, PERF_SAMPLE_CPU,
                                     PERF_SAMPLE_STREAM_ID,  PERF_SAMPLE_ID,
                                     PERF_SAMPLE_TIME,       PERF_SAMPLE_TID};
    size_t words = 0;
    for (size_t i = 0;; i++) {
        words += (sample_type & order[i]) != 0;
        if (order[i] == field)
            return words;
    }
}

/* The word of the record with the field; NULL if it has none. */
static const char *fixed_field(const struct perf_event *e, const struct perf_record *r,
                               uint64_t field)
{
    size_t at;
    if (!(e->sample_type & field))
        return NULL;
    if (r->type == PERF_SAMPLE) {
        at = words_before(e->sample_type, field) * 8;
        return at + 8 <= r->body.len ? r->body.ptr + at : NULL;
    }
    if (!(e->flags & PERF_FLAG_SAMPLE_ID_ALL) || r->type >= PERF_KERNEL_END)
        return NULL;
    at = words_behind(e->sample_type, field) * 8;
    return at <= r->body.len ? r->body.ptr + r->body.len - at : NULL;
}

static uint64_t word_at(const struct perf_data *d, const char *at)
{
    return perf_word((struct perf_words){{at, 8}, d->big_endian}, 0);
}

/* Events may have different fields. perf record ensures that they have an IDENTIFIER or
 * the id at the same position. Records that perf synthesizes have the id 0. */
int64_t perf_event_of(const struct perf_data *d, const struct perf_record *r)
{
    if (d->event_count == 0)
        return -1;
    const struct perf_event *first = &d->events[0];
    uint64_t field = first->sample_type & PERF_SAMPLE_IDENTIFIER ? PERF_SAMPLE_IDENTIFIER
                                                                 : PERF_SAMPLE_ID;
    const char *at = d->event_count > 1 ? fixed_field(first, r, field) : NULL;
    uint64_t id = at ? word_at(d, at) : 0;
    if (id == 0)
        return 0;
    const uint64_t *index = idmap_find(&d->ids, id);
    return index && *index ? (int64_t)*index - 1 : -1;
}

static const struct perf_event *event_or_first(const struct perf_data *d,
                                               const struct perf_record *r)
{
    int64_t event = perf_event_of(d, r);
    return d->event_count ? &d->events[event < 0 ? 0 : event] : NULL;
}

uint64_t perf_time_of(const struct perf_data *d, const struct perf_record *r)
{
    const struct perf_event *e = r->type < PERF_KERNEL_END ? event_or_first(d, r) : NULL;
    const char *at = e ? fixed_field(e, r, PERF_SAMPLE_TIME) : NULL;
    uint64_t time = at ? word_at(d, at) : 0;
    return time ? time : TIME_NONE;
}

struct perf_identity perf_identity(const struct perf_data *d, const struct perf_record *r)
{
    struct perf_identity id = {PERF_ID_NONE, PERF_ID_NONE, CPU_NONE, r->time, 0, 0};
    const struct perf_event *e = event_or_first(d, r);
    if (!e || r->type == PERF_SAMPLE)
        return id;
    const char *at = fixed_field(e, r, PERF_SAMPLE_TID);
    if (at) {
        struct bytes b = bytes_of((struct str){at, 8}, d->big_endian);
        id.pid = bytes_u32(&b);
        id.tid = bytes_u32(&b);
    }
    at = fixed_field(e, r, PERF_SAMPLE_CPU);
    if (at) {
        struct bytes b = bytes_of((struct str){at, 4}, d->big_endian);
        id.cpu = bytes_u32(&b);
    }
    at = fixed_field(e, r, PERF_SAMPLE_IDENTIFIER);
    at = at ? at : fixed_field(e, r, PERF_SAMPLE_ID);
    id.id = at ? word_at(d, at) : 0;
    at = fixed_field(e, r, PERF_SAMPLE_STREAM_ID);
    id.stream_id = at ? word_at(d, at) : 0;
    return id;
}

/* --- The size of a record ---------------------------------------------------------- */

#define TEXT_MAX ((size_t)4096) /* of a path or name, with its zero byte */

/* The size of a string with its zero byte, padded to a multiple of 8; 0 if it has no end.
 */
static size_t text_length(struct str bytes)
{
    struct str text = str_head(bytes, TEXT_MAX);
    size_t zero = str_find(text, 0);
    return zero < text.len ? (zero + 8) / 8 * 8 : 0;
}

/* A count, and this number of entries after a head. */
static size_t counted_length(const struct perf_data *d, struct str body, size_t head,
                             size_t entry)
{
    struct bytes b = bytes_of(str_skip(body, head - 8), d->big_endian);
    uint64_t count = bytes_u64(&b);
    return b.failed || count > PERF_RECORD_MAX / entry ? 0 : head + (size_t)count * entry;
}

/* Without the identity at the end of kernel records. SIZE_MAX: unknown. */
static size_t body_length(uint32_t type, struct str body)
{
    size_t text;
    switch (type) {
    case PERF_MMAP:
    case PERF_MMAP2:
    case PERF_COMM:
    case PERF_KSYMBOL:
    case PERF_CGROUP:
        text = text_length(str_skip(body, kernel_sizes[type]));
        return text ? kernel_sizes[type] + text : SIZE_MAX;
    case PERF_LOST:
    case PERF_EXIT:
    case PERF_FORK:
    case PERF_THROTTLE:
    case PERF_UNTHROTTLE:
    case PERF_AUX:
    case PERF_ITRACE_START:
    case PERF_LOST_SAMPLES:
    case PERF_SWITCH:
    case PERF_SWITCH_CPU_WIDE:
    case PERF_BPF_EVENT:
        return kernel_sizes[type];
    default:
        return SIZE_MAX;
    }
}

static size_t sample_length(const struct perf_data *d, struct perf_record *r)
{
    struct perf_sample s;
    if (!perf_sample_of(d, r, &s) || s.event->sample_type >= PERF_SAMPLE_UNKNOWN)
        return 0;
    return PERF_RECORD_HEADER + r->body.len - s.rest;
}

size_t perf_record_length(const struct perf_data *d, struct str bytes)
{
    if (bytes.len < PERF_RECORD_HEADER || d->event_count == 0)
        return 0;
    struct perf_header h = perf_header_at(d, bytes.ptr);
    struct perf_record r = {.type = h.type,
                            .misc = h.misc,
                            .body = str_part(bytes, PERF_RECORD_HEADER,
                                             PERF_RECORD_MAX - PERF_RECORD_HEADER)};
    if (h.type == PERF_SAMPLE)
        return sample_length(d, &r);
    if (h.type == PERF_THREAD_MAP) {
        size_t counted = counted_length(d, r.body, 8, 24);
        return counted ? PERF_RECORD_HEADER + counted : 0;
    }
    size_t body = h.type < PERF_KERNEL_END ? body_length(h.type, r.body) : SIZE_MAX;
    if (body == SIZE_MAX)
        return 0;
    const struct perf_event *first = &d->events[0];
    size_t trailer = first->flags & PERF_FLAG_SAMPLE_ID_ALL
                         ? words_behind(first->sample_type, PERF_SAMPLE_TID) * 8
                         : 0;
    return PERF_RECORD_HEADER + body + trailer;
}

/* --- Bodies ------------------------------------------------------------------------ */

/* The string up to the next zero byte, or all. */
static struct str take_text(struct bytes *b)
{
    struct str rest = bytes_take(b, bytes_left(b));
    return str_head(rest, str_find(rest, 0));
}

/* The number of bits in a minor device number. */
#define MINOR_BITS 20

/* Whether the record has a build ID in place of device and inode. If another recorder
 * requests build IDs, the kernel sets the flag in our records, too, and the major device
 * number looks like a size. So the event requests it, or the size is that of a hash, or what
 * follows is no minor device number. */
static bool has_build_id(const struct perf_data *d, const struct perf_record *r,
                         struct bytes b)
{
    uint32_t size = bytes_u8(&b), reserved = bytes_u8(&b);
    reserved |= bytes_u16(&b);
    if (r->type != PERF_MMAP2 || !(r->misc & PERF_MISC_MMAP_BUILD_ID) || reserved ||
        size == 0 || size > 20)
        return false;
    return size == 20 || size == 16 || d->asks_build_ids || bytes_u32(&b) >> MINOR_BITS;
}

bool perf_map_of(const struct perf_data *d, const struct perf_record *r,
                 struct perf_mmap *m)
{
    struct bytes b = perf_body(d, r);
    *m = (struct perf_mmap){.build_id = STR("")};
    m->pid = bytes_u32(&b);
    m->tid = bytes_u32(&b);
    m->start = bytes_u64(&b);
    m->size = bytes_u64(&b);
    m->offset = bytes_u64(&b);
    if (has_build_id(d, r, b)) {
        uint8_t size = bytes_u8(&b);
        bytes_skip(&b, 3);
        m->build_id = str_head(bytes_take(&b, 20), size);
    } else if (r->type == PERF_MMAP2) {
        m->major = bytes_u32(&b);
        m->minor = bytes_u32(&b);
        m->inode = bytes_u64(&b);
        m->generation = bytes_u64(&b);
    }
    if (r->type == PERF_MMAP2) {
        m->protection = bytes_u32(&b);
        m->flags = bytes_u32(&b);
    }
    m->path = take_text(&b);
    return !b.failed;
}

bool perf_task_of(const struct perf_data *d, const struct perf_record *r,
                  struct perf_task *t)
{
    struct bytes b = perf_body(d, r);
    *t = (struct perf_task){.name = STR("")};
    t->pid = bytes_u32(&b);
    if (r->type == PERF_COMM) {
        t->tid = bytes_u32(&b);
        t->name = take_text(&b);
        return !b.failed;
    }
    t->parent_pid = bytes_u32(&b);
    t->tid = bytes_u32(&b);
    t->parent_tid = bytes_u32(&b);
    return !b.failed;
}

bool perf_symbol_of(const struct perf_data *d, const struct perf_record *r,
                    struct perf_symbol *s)
{
    struct bytes b = perf_body(d, r);
    s->address = bytes_u64(&b);
    s->size = bytes_u32(&b);
    s->type = bytes_u16(&b);
    s->flags = bytes_u16(&b);
    s->name = take_text(&b);
    return !b.failed;
}

bool perf_cgroup_of(const struct perf_data *d, const struct perf_record *r, uint64_t *id,
                    struct str *path)
{
    struct bytes b = perf_body(d, r);
    *id = bytes_u64(&b);
    *path = take_text(&b);
    return !b.failed;
}

bool perf_deferred_of(const struct perf_data *d, const struct perf_record *r,
                      struct perf_deferred *c)
{
    struct bytes b = perf_body(d, r);
    c->cookie = bytes_u64(&b);
    uint64_t count = bytes_u64(&b);
    if (count > bytes_left(&b) / 8)
        return false;
    c->chain = (struct perf_words){bytes_take(&b, count * 8), d->big_endian};
    return true;
}

bool perf_lost_of(const struct perf_data *d, const struct perf_record *r, uint64_t *count)
{
    struct bytes b = perf_body(d, r);
    if (r->type == PERF_LOST)
        bytes_skip(&b, 8); /* id of the event */
    *count = bytes_u64(&b);
    return !b.failed && (r->type == PERF_LOST || r->type == PERF_LOST_SAMPLES);
}

bool perf_read_of(const struct perf_data *d, const struct perf_record *r, uint32_t *pid,
                  uint32_t *tid, struct str *read)
{
    struct bytes b = perf_body(d, r);
    *pid = bytes_u32(&b);
    *tid = bytes_u32(&b);
    *read = bytes_take(&b, bytes_left(&b));
    return !b.failed && r->type == PERF_READ;
}
