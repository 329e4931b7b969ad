/* SPDX-License-Identifier: Apache-2.0 */
#include "record/ring_copier.h"
#include "os/machine.h"
#include "os/mapping.h"
#include "os/rights.h"
#include <errno.h>
#include <stdlib.h>

#define CHUNK_PAGES ((size_t)128 << 10) /* a chunk with its head: whole pages */
#define CHUNK (CHUNK_PAGES - 2 * sizeof(uint64_t)) /* at least a record */
#define SPARE_MOST 24 /* chunks that are not given back to the system */

/* A part of a queue: whole records. */
struct ring_chunk {
    struct ring_chunk *next;
    uint64_t used;
    char bytes[CHUNK];
};
_Static_assert(sizeof(struct ring_chunk) == CHUNK_PAGES, "whole pages");

struct copied_ring {
    struct copied_ring *next;
    struct os_perf_ring ring;
    struct ring_chunk *first, *last; /* the queue; NULL: it never had a record */
    size_t bytes;                    /* in it */
    uint64_t dropped; /* records that no record of type PERF_LOST reports yet */

    /* The pass of the reader: from `offset` in `at` to `end_offset` in `end`. */
    struct ring_chunk *at, *end;
    size_t offset, end_offset;
    size_t consumed; /* bytes since the last release */
};

/* --- The queue --------------------------------------------------------------------- */

static struct ring_chunk *take_chunk(struct ring_copier *c)
{
    struct ring_chunk *chunk = c->spare;
    if (chunk) {
        c->spare = chunk->next;
        c->spare_count--;
    } else if (c->empty_count) {
        chunk = c->empty[--c->empty_count];
    } else {
        return NULL;
    }
    chunk->next = NULL;
    chunk->used = 0;
    return chunk;
}

static void give_chunk(struct ring_copier *c, struct ring_chunk *chunk)
{
    chunk->next = c->spare;
    c->spare = chunk;
    c->spare_count++;
}

/* Takes a spare chunk whose memory the system gets back; NULL if there are few. */
static struct ring_chunk *take_surplus(struct ring_copier *c)
{
    os_lock_acquire(&c->lock);
    struct ring_chunk *chunk = c->spare_count > SPARE_MOST ? take_chunk(c) : NULL;
    os_lock_release(&c->lock);
    return chunk;
}

/* Gives the memory of spare chunks back to the system. The lock is not taken meanwhile: the system
 * may wait for another thread of this process. */
static void release_surplus(struct ring_copier *c)
{
    for (struct ring_chunk *chunk; (chunk = take_surplus(c));) {
        os_pages_clear(chunk, sizeof *chunk);
        os_lock_acquire(&c->lock);
        c->empty[c->empty_count++] = chunk;
        os_lock_release(&c->lock);
    }
}

/* Reserves the memory of all queues: addresses only, because a mapping that is made later waits for
 * any thread of this process that changes its mappings, and such a thread may wait for a CPU.
 * Records can have up to half of a chunk, so up to half of each chunk can be unused; and each ring,
 * one per CPU, holds a chunk even if it is empty. */
static bool reserve_chunks(struct ring_copier *c)
{
    size_t count = 2 * (c->limit + c->limit / 8) / CHUNK + os_cpus_possible();
    c->empty = malloc(count * sizeof *c->empty);
    c->chunks = c->empty ? os_pages_get(count * sizeof *c->chunks) : NULL;
    if (!c->chunks)
        return false;
    c->chunk_count = c->empty_count = count;
    for (size_t i = 0; i < count; i++)
        c->empty[i] = &c->chunks[count - 1 - i];
    return true;
}

/* Room for `size` bytes at the end of the queue; NULL if out of memory. */
static char *append(struct ring_copier *c, struct copied_ring *r, size_t size)
{
    if (!r->last || r->last->used + size > CHUNK) {
        struct ring_chunk *chunk = take_chunk(c);
        if (!chunk)
            return NULL;
        if (r->last)
            r->last->next = chunk;
        else
            r->first = chunk;
        r->last = chunk;
    }
    char *at = r->last->bytes + r->last->used;
    r->last->used += size;
    r->bytes += size;
    c->bytes += size;
    return at;
}

/* --- Copying ----------------------------------------------------------------------- */

/* A dump at least: the unwinder then finds the function and often its caller. */
#define LEAST_OF_DUMP ((size_t)64)

/* How many bytes of a dump are copied: fewer while the queues fill up. A quarter of the room is
 * for samples with the shortest dumps: it has room for most of the samples. */
static size_t most_of_dump(const struct ring_copier *c)
{
    size_t eighths = c->bytes / (c->limit / 8);
    return eighths < 2   ? SIZE_MAX
           : eighths < 3 ? 4096
           : eighths < 4 ? 1024
                         : LEAST_OF_DUMP;
}

/* An eighth more is for records that are needed to name samples. */
static bool is_full(const struct ring_copier *c, bool sample)
{
    return c->bytes >= (sample ? c->limit : c->limit + c->limit / 8);
}

static void put_size(char *record, size_t size)
{
    uint16_t field = (uint16_t)size;
    memcpy(record + RECORD_SIZE, &field, sizeof field);
}

/* Copies the first bytes of a record, with that length. */
static bool copy_head(struct ring_copier *c, struct copied_ring *r, struct str record,
                      size_t length)
{
    char *to = append(c, r, length);
    if (!to)
        return false;
    memcpy(to, record.ptr, length);
    put_size(to, length);
    return true;
}

/* Copies a sample with the first `part` bytes of its dump, a multiple of 8 and more than 0. */
static bool copy_with_part(struct ring_copier *c, struct copied_ring *r,
                           struct str record, const struct record_dump *d, size_t part)
{
    size_t rest_at = d->at + 8 + d->size + 8, rest = record.len - rest_at;
    size_t length = d->at + 8 + part + 8 + rest;
    uint64_t size = part, content = d->content < part ? d->content : part;
    char *to = append(c, r, length);
    if (!to)
        return false;
    memcpy(to, record.ptr, d->at);
    put_size(to, length);
    memcpy(to + d->at, &size, sizeof size);
    memcpy(to + d->at + 8, record.ptr + d->at + 8, part);
    memcpy(to + d->at + 8 + part, &content, sizeof content);
    memcpy(to + d->at + 8 + part + 8, record.ptr + rest_at, rest);
    return true;
}

static bool copy_sample(struct ring_copier *c, struct copied_ring *r, struct str record)
{
    struct record_dump d;
    if (!record_dump_of(c->layout, record, &d))
        return copy_head(c, r, record, record.len);
    size_t part = (d.content + 7) / 8 * 8, most = most_of_dump(c);
    part = part ? part : 8; /* a size of 0 would be a sample without a dump */
    if (part > most) {
        part = most;
        __atomic_fetch_add(&c->counts.shortened, 1, __ATOMIC_RELAXED);
    }
    return part < d.size ? copy_with_part(c, r, record, &d, part)
                         : copy_head(c, r, record, record.len);
}

/* Reports the dropped records before the record, at its time. */
static void put_lost(struct ring_copier *c, struct copied_ring *r, struct str record)
{
    struct record before;
    size_t size = PERF_RECORD_HEADER + 16 + c->layout->trailer;
    if (!record_of(c->layout, record, &before))
        return;
    char *to = append(c, r, size);
    if (!to)
        return;
    memset(to, 0, size);
    uint32_t type = PERF_LOST;
    memcpy(to, &type, sizeof type);
    put_size(to, size);
    memcpy(to + PERF_RECORD_HEADER + 8, &r->dropped, sizeof r->dropped);
    memcpy(to + PERF_RECORD_HEADER + 16 + c->layout->trailer_time, &before.time,
           sizeof before.time);
    r->dropped = 0;
}

static void copy_record(struct ring_copier *c, struct copied_ring *r, struct str record)
{
    bool sample = record_u32(record, 0) == PERF_SAMPLE;
    bool full = is_full(c, sample);
    if (!full && r->dropped && !is_full(c, true))
        put_lost(c, r, record);
    bool ok =
        !full && (sample ? copy_sample(c, r, record)
                         : copy_head(c, r, record, record_length(c->layout, record)));
    if (ok)
        return;
    r->dropped++;
    __atomic_fetch_add(&c->counts.dropped, 1, __ATOMIC_RELAXED);
}

/* Returns whether there was a record. */
static bool copy_all(struct ring_copier *c)
{
    bool any = false;
    for (struct copied_ring *r = c->rings; r; r = r->next) {
        struct str record;
        os_perf_ring_begin(&r->ring);
        if (os_perf_ring_pending(&r->ring) > r->ring.size / 2)
            __atomic_store_n(&c->late, true, __ATOMIC_RELAXED);
        while (os_perf_ring_peek(&r->ring, &record)) {
            copy_record(c, r, record);
            os_perf_ring_consume(&r->ring, record);
            any = true;
        }
        os_perf_ring_release(&r->ring);
    }
    if (c->bytes > c->limit / 2)
        __atomic_store_n(&c->late, true, __ATOMIC_RELAXED);
    return any;
}

/* --- The thread -------------------------------------------------------------------- */

/* The reader wakes up when the queues have that number of bytes. */
#define READY ((size_t)256 << 10)

/* When the counters have ended, the reader runs first if more bytes than these are left. */
#define REST ((size_t)64 << 10)

static bool needs_priority(const struct ring_copier *c)
{
    return !c->reader_first && (c->hurries || ring_copier_is_filling(c));
}

/* The lock is taken. */
static void note_filling(struct ring_copier *c)
{
    bool filling = c->bytes > (c->no_more ? REST : c->limit / 8);
    __atomic_store_n(&c->filling, filling, __ATOMIC_RELAXED);
}

/* The lock is taken. The reader gets real-time priority when the queues fill up, before dumps
 * become shorter, and returns it when they are nearly empty. */
static void set_reader_priority(struct ring_copier *c)
{
    if (needs_priority(c))
        c->reader_first = os_thread_set_first(c->reader, true);
    else if (c->reader_first && !c->hurries &&
             c->bytes < (c->no_more ? REST : c->limit) / 16)
        c->reader_first = !os_thread_set_first(c->reader, false);
}

/* The lock is taken. Few records wait for more, so that the reader wakes up less often. */
static bool is_due(const struct ring_copier *c)
{
    return c->bytes >= READY || c->filling || c->no_more;
}

static void run(void *context)
{
    struct ring_copier *c = context;
    os_run_thread_first();
    os_rights_restrict(OS_RIGHT_FIRST);
    while (!__atomic_load_n(&c->ends, __ATOMIC_ACQUIRE)) {
        os_wait_for(&c->changes, -1);
        os_lock_acquire(&c->lock);
        bool any = copy_all(c);
        note_filling(c);
        bool wakes = any && is_due(c);
        set_reader_priority(c);
        os_lock_release(&c->lock);
        if (wakes)
            os_wake_set(&c->ready);
    }
}

bool ring_copier_start(struct ring_copier *c, struct error *err)
{
    if (c->thread.body)
        return true;
    c->reader = os_thread_id();
    return os_thread_start(&c->thread, run, c, err);
}

bool ring_copier_init(struct ring_copier *c, const struct record_layout *layout,
                      size_t limit, struct error *err)
{
    *c = (struct ring_copier){.layout = layout,
                              .limit = limit,
                              .changes = {.epoll = -1, .signals = -1},
                              .wake = {-1},
                              .ready = {-1}};
    if (!os_lock_init_inheriting(&c->lock) || !reserve_chunks(c))
        return error_memory(err);
    return os_wait_init_plain(&c->changes, err) && os_wake_init(&c->wake, err) &&
           os_wake_init(&c->ready, err) &&
           os_wait_watch_changes(&c->changes, c->wake.fd, err);
}

void ring_copier_deinit(struct ring_copier *c)
{
    if (!c->lock.mutex)
        return;
    __atomic_store_n(&c->ends, true, __ATOMIC_RELEASE);
    os_wake_set(&c->wake);
    os_thread_join(&c->thread);
    while (c->rings)
        ring_copier_remove(c, c->rings);
    if (c->chunks)
        os_pages_free(c->chunks, c->chunk_count * sizeof *c->chunks);
    free(c->empty);
    os_wait_deinit(&c->changes);
    os_wake_deinit(&c->wake);
    os_wake_deinit(&c->ready);
    os_lock_deinit(&c->lock);
    *c = (struct ring_copier){0};
}

/* --- Rings ------------------------------------------------------------------------- */

struct copied_ring *ring_copier_add(struct ring_copier *c, int fd, size_t size, int *why)
{
    struct copied_ring *r = calloc(1, sizeof *r);
    *why = ENOMEM;
    if (!r || !os_perf_ring_open(&r->ring, fd, size, why)) {
        free(r);
        return NULL;
    }
    os_lock_acquire(&c->lock);
    r->next = c->rings;
    c->rings = r;
    os_lock_release(&c->lock);
    return r;
}

static void free_queue(struct ring_copier *c, struct copied_ring *r)
{
    for (struct ring_chunk *next; r->first; r->first = next) {
        next = r->first->next;
        give_chunk(c, r->first);
    }
}

void ring_copier_remove(struct ring_copier *c, struct copied_ring *r)
{
    os_lock_acquire(&c->lock);
    struct copied_ring **link = &c->rings;
    while (*link != r)
        link = &(*link)->next;
    *link = r->next;
    c->bytes -= r->bytes;
    free_queue(c, r);
    os_lock_release(&c->lock);
    os_perf_ring_close(&r->ring);
    free(r);
}

bool ring_copier_watch(struct ring_copier *c, int counter, struct error *err)
{
    return os_wait_watch_changes(&c->changes, counter, err);
}

void ring_copier_unwatch(struct ring_copier *c, int counter)
{
    os_wait_unwatch(&c->changes, counter);
}

void ring_copier_hurry(struct ring_copier *c, bool hurries)
{
    os_lock_acquire(&c->lock);
    c->hurries = hurries;
    if (!hurries && c->reader_first)
        set_reader_priority(c);
    bool waits = c->thread.body && needs_priority(c);
    os_lock_release(&c->lock);
    if (waits)
        os_wake_set(&c->wake);
}

void ring_copier_counters_ended(struct ring_copier *c)
{
    os_lock_acquire(&c->lock);
    c->no_more = true;
    os_lock_release(&c->lock);
}

/* --- The reader -------------------------------------------------------------------- */

void ring_copier_begin(struct ring_copier *c)
{
    os_wake_clear(&c->ready);
    os_lock_acquire(&c->lock);
    copy_all(c);
    note_filling(c);
    bool late = c->thread.body && needs_priority(c);
    for (struct copied_ring *r = c->rings; r; r = r->next) {
        if (!r->at)
            r->at = r->first;
        r->end = r->last;
        r->end_offset = r->last ? r->last->used : 0;
    }
    os_lock_release(&c->lock);
    if (late) /* counters may have ended: nothing else wakes the thread */
        os_wake_set(&c->wake);
}

bool ring_copier_peek(struct copied_ring *r, struct str *record)
{
    uint16_t size;
    while (r->at != r->end && r->offset == r->at->used) {
        r->at = r->at->next;
        r->offset = 0;
    }
    if (!r->at || (r->at == r->end && r->offset == r->end_offset))
        return false;
    const char *from = r->at->bytes + r->offset;
    memcpy(&size, from + RECORD_SIZE, sizeof size);
    *record = (struct str){from, size};
    return true;
}

void ring_copier_consume(struct copied_ring *r, struct str record)
{
    r->offset += record.len;
    r->consumed += record.len;
}

/* The lock is taken. */
static void release_ring(struct ring_copier *c, struct copied_ring *r)
{
    c->bytes -= r->consumed;
    r->bytes -= r->consumed;
    r->consumed = 0;
    while (r->at && r->first != r->at) {
        struct ring_chunk *next = r->first->next;
        give_chunk(c, r->first);
        r->first = next;
    }
    if (r->at && r->at == r->last && r->offset == r->at->used)
        r->at->used = r->offset = r->end_offset = 0;
}

void ring_copier_release(struct ring_copier *c)
{
    os_lock_acquire(&c->lock);
    for (struct copied_ring *r = c->rings; r; r = r->next)
        release_ring(c, r);
    note_filling(c);
    if (c->reader_first)
        set_reader_priority(c);
    os_lock_release(&c->lock);
    release_surplus(c);
}

struct ring_copier_counts ring_copier_counts(const struct ring_copier *c)
{
    return (struct ring_copier_counts){
        .dropped = __atomic_load_n(&c->counts.dropped, __ATOMIC_RELAXED),
        .shortened = __atomic_load_n(&c->counts.shortened, __ATOMIC_RELAXED),
    };
}
