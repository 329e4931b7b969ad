/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/parts.h"
#include "base/scan.h"
#include "os/thread_pool.h"
#include <stdlib.h>

/* Minimum size of a part. Smaller parts are slower, because each part interns its names
 * again. */
#define PART_MIN ((uint64_t)4 << 20)
#define TAKEN_MIN ((uint64_t)2 << 20)

/* The number of bytes read to find where a record begins. */
#define WINDOW_LEAST ((size_t)16 << 10)
#define WINDOW_MOST ((size_t)256 << 10)

/* A part of the file, read by one thread. */
struct part {
    struct reading *reading;
    uint64_t from; /* in the file */
    uint64_t at,
        to; /* the unread bytes; guarded by the lock of struct reading, as is `next` */
    struct part *next; /* the following part of the file */
    struct builder builder;
    struct error err;
    bool by_caller;
    bool ok; /* it was read without an error */
};

struct reading {
    const struct limits *limits;
    const struct parts_input *in;
    enum build_mode mode; /* how each part is built */
    bool modules_alike;
    struct os_lock lock;        /* guards the ranges of the parts, and the fields below */
    struct part first, *second; /* the first parts of the first two threads */
    uint64_t unreported;        /* bytes read that were not reported as progress */
    struct part *unmerged;      /* the first part that is not merged; NULL: all are */
    struct builder *whole;      /* the caller's; used only by the merging thread */
    bool merging;
};

unsigned parts_threads(uint64_t size, uint64_t limit)
{
    uint64_t useful = size / PART_MIN;
    return (unsigned)(useful < limit ? useful : limit);
}

/* Claims bytes of the part, which other threads can no longer take over. */
static size_t take_bytes(struct part *part, size_t room, uint64_t *from,
                         uint64_t *reported)
{
    struct reading *r = part->reading;
    os_lock_acquire(&r->lock);
    size_t size = room < part->to - part->at ? room : (size_t)(part->to - part->at);
    *from = part->at;
    part->at += size;
    r->unreported += size;
    *reported = part->by_caller ? r->unreported : 0;
    r->unreported -= *reported;
    os_lock_release(&r->lock);
    return size;
}

/* The read function of struct source. Only the calling thread reports progress. */
static bool part_read(void *context, char *into, size_t room, size_t *got,
                      struct error *err)
{
    struct part *part = context;
    struct os_input *file = part->reading->in->file;
    uint64_t from, reported;
    size_t size = take_bytes(part, room, &from, &reported), more = 1;
    for (*got = 0; *got < size && more; *got += more)
        if (!os_input_read_at(file, from + *got, into + *got, size - *got, &more, err))
            return false;
    if (reported && file->progress)
        file->progress(file->progress_context, reported);
    return true;
}

static void read_part(struct part *part)
{
    struct reading *r = part->reading;
    const struct importer *importer = r->in->importer;
    struct source s = source_reading(part_read, part, str_of(r->in->file->name));
    s.limits = r->limits;
    bool ok = builder_init(&part->builder, r->mode);
    if (ok)
        builder_set_limits(&part->builder, r->limits);
    part->builder.modules_alike = r->modules_alike;
    ok = ok && import_part(importer, &s, r->in->options, &part->builder, &part->err);
    source_deinit(&s);
    os_lock_acquire(&r->lock);
    part->ok = ok;
    os_lock_release(&r->lock);
}

/* Where a record begins after `near`; the end of the file if the next record is longer
 * than the window, or cannot be read. Most records are short, so a small part of the
 * window is tried first. */
static uint64_t next_record(const struct reading *r, uint64_t near)
{
    struct error ignored;
    uint64_t from = r->in->file->size;
    char *window = malloc(WINDOW_MOST);
    for (size_t size = WINDOW_LEAST; window && size <= WINDOW_MOST; size *= 4) {
        size_t got = 0;
        if (!os_input_read_at(r->in->file, near, window, size, &got, &ignored))
            break;
        size_t at = r->in->importer->split((struct str){window, got}, 0);
        if (at < got) {
            from = near + at;
            break;
        }
    }
    free(window);
    return from;
}

static struct part *most_left(struct reading *r)
{
    struct part *most = &r->first;
    for (struct part *p = most->next; p; p = p->next)
        if (p->to - p->at > most->to - most->at)
            most = p;
    return most;
}

/* Splits off the second half of the unread bytes of the part that has the most. NULL
 * if they are too few. */
static struct part *take_over(struct reading *r)
{
    struct part *part = NULL;
    os_lock_acquire(&r->lock);
    struct part *other = most_left(r);
    uint64_t half = (other->to - other->at) / 2;
    uint64_t from = half < TAKEN_MIN ? other->to : next_record(r, other->at + half);
    if (from < other->to)
        part = calloc(1, sizeof *part);
    if (part) {
        *part = (struct part){
            .reading = r, .from = from, .at = from, .to = other->to, .next = other->next};
        other->to = from;
        other->next = part;
    }
    os_lock_release(&r->lock);
    return part;
}

/* --- Merging --------------------------------------------------------------------- */

/* The number of lines before an offset of the file. */
static uint64_t lines_before(struct os_input *file, uint64_t offset)
{
    struct error ignored;
    uint64_t lines = 0;
    size_t got = 1;
    char *window = malloc(WINDOW_MOST);
    for (uint64_t at = 0; window && at < offset && got; at += got) {
        size_t size = offset - at < WINDOW_MOST ? (size_t)(offset - at) : WINDOW_MOST;
        if (!os_input_read_at(file, at, window, size, &got, &ignored))
            break;
        lines += scan_count((struct str){window, got}, '\n');
    }
    free(window);
    return lines;
}

/* A part counts its lines from its own beginning; messages need those of the file. */
static void move_locations(struct part *part)
{
    struct facts *facts = &part->builder.profile->facts;
    bool any = facts->warning_count || part->err.location.line;
    uint64_t lines =
        any && part->from ? lines_before(part->reading->in->file, part->from) : 0;
    for (unsigned i = 0; i < facts->warning_count; i++)
        if (facts->warnings[i].first.line)
            facts->warnings[i].first.line += lines;
    if (part->err.location.line)
        part->err.location.line += lines;
}

/* The next part to merge in the order of the file, if it is read and no thread is
 * merging; the caller then merges it. NULL if there is none. */
static struct part *begin_merge(struct reading *r)
{
    os_lock_acquire(&r->lock);
    struct part *part = r->merging ? NULL : r->unmerged;
    part = part && part->ok ? part : NULL;
    r->merging |= part != NULL;
    os_lock_release(&r->lock);
    return part;
}

/* Merges all parts that are read, in the order of the file. */
static void merge(struct reading *r)
{
    for (struct part *part = begin_merge(r); part; part = begin_merge(r)) {
        move_locations(part);
        builder_absorb(r->whole, &part->builder);
        os_lock_acquire(&r->lock);
        r->unmerged = part->next;
        r->merging = false;
        os_lock_release(&r->lock);
    }
}

/* --- Threads ---------------------------------------------------------------------- */

static void read_parts(void *context, unsigned thread)
{
    struct reading *r = context;
    struct part *part = thread == 0 ? &r->first : thread == 1 ? r->second : take_over(r);
    for (; part; part = take_over(r)) {
        part->by_caller = thread == 0;
        read_part(part);
        merge(r);
    }
}

/* Sets the error of the first part that could not be read, with its location in the
 * file. */
static bool fail(struct part *part, struct error *err)
{
    if (part->builder.profile)
        move_locations(part);
    *err = part->err;
    return err->message[0] ? false : error_memory(err);
}

bool parts_read(const struct parts_input *in, unsigned threads, struct builder *b,
                struct error *err)
{
    uint64_t before = b->profile->facts.samples;
    struct reading r = {.in = in,
                        .mode = b->mode,
                        .modules_alike = b->modules_alike,
                        .limits = b->limits};
    r.first = (struct part){
        .reading = &r, .from = in->begin, .at = in->begin, .to = in->file->size};
    r.unmerged = &r.first;
    r.whole = b;
    if (!os_lock_init(&r.lock))
        return error_memory(err);
    r.second = take_over(&r); /* NULL for one long record */
    os_parallel(r.second ? threads : 1, read_parts, &r);
    merge(&r);
    bool ok = r.unmerged ? fail(r.unmerged, err)
                         : import_check(in->importer, in->options, b, before, err);
    for (struct part *part = &r.first, *next; part; part = next) {
        next = part->next;
        builder_deinit(&part->builder);
        if (part != &r.first)
            free(part);
    }
    os_lock_deinit(&r.lock);
    return ok;
}
