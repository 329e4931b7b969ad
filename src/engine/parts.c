/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/parts.h"
#include "base/scan.h"
#include "os/parallel.h"
#include <stdlib.h>

/* Less than this is not worth a thread at the beginning, nor to be taken over later: each
 * part learns its names anew. */
#define PART_MIN ((uint64_t)4 << 20)
#define TAKEN_MIN ((uint64_t)2 << 20)

/* What is looked at to find where a record begins. */
#define WINDOW_LEAST ((size_t)16 << 10)
#define WINDOW_MOST ((size_t)256 << 10)

/* What one thread reads in one go. */
struct part {
    struct reading *reading;
    uint64_t from;   /* in the file */
    uint64_t at, to; /* what is not read yet; the reading's lock is theirs, and next's */
    struct part *next; /* what lies behind it in the file */
    struct builder builder;
    struct error err;
    bool by_caller;
    bool ok; /* it is read, and well */
};

struct reading {
    const struct parts_input *in;
    enum build_mode mode; /* how each part is built */
    bool modules_alike;
    struct os_lock lock;        /* of the parts' pieces, and of the below */
    struct part first, *second; /* what the first two threads begin with */
    uint64_t untold;            /* bytes read that the progress was not told of */
    struct part *unmerged;      /* the first that is not in the whole; NULL: all are */
    struct builder *whole;      /* the caller's; who is merging has it */
    bool merging;
};

unsigned parts_threads(uint64_t size, uint64_t wanted)
{
    uint64_t useful = size / PART_MIN;
    return (unsigned)(useful < wanted ? useful : wanted);
}

/* Bytes of the part that nobody takes over any more. */
static size_t take_bytes(struct part *part, size_t room, uint64_t *from, uint64_t *told)
{
    struct reading *r = part->reading;
    os_lock_take(&r->lock);
    size_t size = room < part->to - part->at ? room : (size_t)(part->to - part->at);
    *from = part->at;
    part->at += size;
    r->untold += size;
    *told = part->by_caller ? r->untold : 0;
    r->untold -= *told;
    os_lock_give(&r->lock);
    return size;
}

/* As struct source asks for it. Progress is the calling thread's to tell. */
static bool part_read(void *context, char *into, size_t room, size_t *got,
                      struct error *err)
{
    struct part *part = context;
    const struct os_input *file = part->reading->in->file;
    uint64_t from, told;
    size_t size = take_bytes(part, room, &from, &told), more = 1;
    for (*got = 0; *got < size && more; *got += more)
        if (!os_input_read_at(file, from + *got, into + *got, size - *got, &more, err))
            return false;
    if (told && file->progress)
        file->progress(file->progress_context, told);
    return true;
}

static void read_part(struct part *part)
{
    struct reading *r = part->reading;
    const struct importer *importer = r->in->importer;
    struct source s = source_reading(part_read, part, str_of(r->in->file->name));
    bool ok = builder_init(&part->builder, r->mode);
    part->builder.modules_alike = r->modules_alike;
    ok = ok && import_part(importer, &s, r->in->options, &part->builder, &part->err);
    source_deinit(&s);
    os_lock_take(&r->lock);
    part->ok = ok;
    os_lock_give(&r->lock);
}

/* Where a record begins behind `near`; at the end of the file where the next is longer
 * than the window, or cannot be read. Most are short: a small part of it is tried
 * first. */
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

/* The second half of what the part with the most left has before it, as a part of its
 * own. NULL where that is not worth it. */
static struct part *take_over(struct reading *r)
{
    struct part *part = NULL;
    os_lock_take(&r->lock);
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
    os_lock_give(&r->lock);
    return part;
}

/* --- All parts made one ------------------------------------------------------------- */

/* How many lines of the file lie in front of a part. */
static uint64_t lines_before(const struct os_input *file, uint64_t offset)
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

/* A part counts its lines from its own beginning; messages tell the file's. */
static void move_places(struct part *part)
{
    struct facts *facts = &part->builder.profile->facts;
    bool any = facts->warning_count || part->err.place.line;
    uint64_t lines =
        any && part->from ? lines_before(part->reading->in->file, part->from) : 0;
    for (unsigned i = 0; i < facts->warning_count; i++)
        if (facts->warnings[i].first.line)
            facts->warnings[i].first.line += lines;
    if (part->err.place.line)
        part->err.place.line += lines;
}

/* The next part of the file that is to go into the whole, where it is read and nobody is
 * at one before it; who gets it is merging. NULL where there is none. */
static struct part *begin_merge(struct reading *r)
{
    os_lock_take(&r->lock);
    struct part *part = r->merging ? NULL : r->unmerged;
    part = part && part->ok ? part : NULL;
    r->merging |= part != NULL;
    os_lock_give(&r->lock);
    return part;
}

/* Puts what is read into the whole, as long as there is some. */
static void merge(struct reading *r)
{
    for (struct part *part = begin_merge(r); part; part = begin_merge(r)) {
        move_places(part);
        builder_absorb(r->whole, &part->builder);
        os_lock_take(&r->lock);
        r->unmerged = part->next;
        r->merging = false;
        os_lock_give(&r->lock);
    }
}

/* --- Who does what ------------------------------------------------------------------ */

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

/* The first part that could not be read: why, as the file's. */
static bool fail(struct part *part, struct error *err)
{
    if (part->builder.profile)
        move_places(part);
    *err = part->err;
    return err->message[0] ? false : error_memory(err);
}

bool parts_read(const struct parts_input *in, unsigned threads, struct builder *b,
                struct error *err)
{
    uint64_t before = b->profile->facts.samples;
    struct reading r = {.in = in, .mode = b->mode, .modules_alike = b->modules_alike};
    r.first = (struct part){
        .reading = &r, .from = in->begin, .at = in->begin, .to = in->file->size};
    r.unmerged = &r.first;
    r.whole = b;
    if (!os_lock_init(&r.lock))
        return error_memory(err);
    r.second = take_over(&r); /* of one long record there is none */
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
