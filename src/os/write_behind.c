/* SPDX-License-Identifier: Apache-2.0 */
#include "os/write_behind.h"
#include "os/machine.h"
#include "os/mapping.h"
#include "os/rights.h"
#include "os/thread.h"
#include <stdlib.h>

#define RING ((size_t)8 << 20)
#define PART_MOST (RING / 8) /* of a request: longer ones are divided */
#define CHECK_TIME ((uint64_t)60 * 1000000000)

/* Precedes the bytes in the ring. Both begin at a multiple of 8. */
struct entry {
    uint64_t offset, cut_at, mark;
    uint32_t length;
    bool cuts;
};

/* Entries lie one after the other, from `tail` to `head`; those that do not fit before the end of
 * the ring begin at its start: then the entries before it end at `turn`. An empty ring starts
 * again, so that pages beyond what was pending at once are never used. */
struct write_behind {
    struct write_behind_target target;
    struct os_thread thread;
    struct os_lock lock;
    struct os_condition changed;
    char *ring;
    size_t head, tail, turn; /* turn: 0 if head is after tail */
    bool empty, ends, failed, reported;
    uint64_t mark;
    struct error why;
};

static size_t entry_size(size_t length)
{
    return sizeof(struct entry) + (length + 7) / 8 * 8;
}

static void wait_for_change(struct write_behind *w)
{
    os_condition_wait(&w->changed, &w->lock, os_clock_monotonic() + CHECK_TIME);
}

/* --- The thread -------------------------------------------------------------------- */

/* Without the lock: the caller of write_behind_add does not touch pending entries. */
static bool write_entry(struct write_behind *w, const struct entry *e, struct error *err)
{
    struct str bytes = {(const char *)(e + 1), e->length};
    if (w->target.write(w->target.context, e->offset, bytes, err))
        return true;
    if (e->cuts)
        w->target.cut(w->target.context, e->cut_at);
    return false;
}

static void remove_entry(struct write_behind *w, const struct entry *e)
{
    w->tail += entry_size(e->length);
    if (w->turn && w->tail == w->turn)
        w->tail = w->turn = 0;
    if (!w->turn && w->tail == w->head) {
        w->empty = true;
        w->head = w->tail = 0;
    }
}

static void run(void *context)
{
    struct write_behind *w = context;
    os_rights_restrict(0);
    os_lock_acquire(&w->lock);
    while (!w->ends || !w->empty) {
        if (w->empty) {
            wait_for_change(w);
            continue;
        }
        const struct entry *e = (const struct entry *)(w->ring + w->tail);
        struct error why = {.location = LOCATION_NONE};
        bool ok = false;
        if (!w->failed) {
            os_lock_release(&w->lock);
            ok = write_entry(w, e, &why);
            os_lock_acquire(&w->lock);
            if (!ok) {
                w->failed = true;
                w->why = why;
            }
        }
        if (ok && e->mark)
            w->mark = e->mark;
        remove_entry(w, e);
        os_condition_wake(&w->changed);
    }
    os_lock_release(&w->lock);
}

/* --- The caller -------------------------------------------------------------------- */

static void destroy(struct write_behind *w)
{
    os_condition_deinit(&w->changed);
    os_lock_deinit(&w->lock);
    if (w->ring)
        os_pages_free(w->ring, RING);
    free(w);
}

struct write_behind *write_behind_start(const struct write_behind_target *target)
{
    struct error ignored;
    struct write_behind *w = calloc(1, sizeof *w);
    if (!w)
        return NULL;
    w->target = *target;
    w->empty = true;
    w->ring = os_pages_get(RING);
    /* a caller with a higher priority does not wait for the thread to get CPU time */
    if (w->ring && os_lock_init_inheriting(&w->lock) && os_condition_init(&w->changed) &&
        os_thread_start(&w->thread, run, w, &ignored))
        return w;
    destroy(w);
    return NULL;
}

/* Where an entry of that size fits; NULL: nowhere yet. */
static char *find_room(struct write_behind *w, size_t size)
{
    if (!w->turn && size > RING - w->head && !w->empty) {
        if (size >= w->tail) /* it is not full: head and tail differ */
            return NULL;
        w->turn = w->head;
        w->head = 0;
    } else if (w->turn && size >= w->tail - w->head) {
        return NULL;
    }
    char *at = w->ring + w->head;
    w->head += size;
    w->empty = false;
    return at;
}

static bool add_part(struct write_behind *w, const struct entry *head, const char *bytes,
                     struct error *err)
{
    char *at = NULL;
    os_lock_acquire(&w->lock);
    while (!w->failed && !(at = find_room(w, entry_size(head->length))))
        wait_for_change(w);
    if (at) {
        memcpy(at, head, sizeof *head);
        memcpy(at + sizeof *head, bytes, head->length);
        os_condition_wake(&w->changed);
    } else {
        *err = w->why;
        w->reported = true;
    }
    os_lock_release(&w->lock);
    return at != NULL;
}

bool write_behind_add(struct write_behind *w, const struct write_request *request,
                      struct error *err)
{
    struct str rest = request->bytes;
    struct entry e = {.cut_at = request->offset, .cuts = request->cuts};
    bool ok = true;
    do {
        struct str part = str_head(rest, PART_MOST);
        e.offset = request->offset + (request->bytes.len - rest.len);
        e.length = (uint32_t)part.len;
        rest = str_skip(rest, part.len);
        e.mark = rest.len ? 0 : request->mark;
        ok = add_part(w, &e, part.ptr, err);
    } while (ok && rest.len);
    return ok;
}

/* Takes the lock. */
static void wait_until_empty(struct write_behind *w)
{
    os_lock_acquire(&w->lock);
    while (!w->empty)
        wait_for_change(w);
}

bool write_behind_wait(struct write_behind *w, struct error *err)
{
    wait_until_empty(w);
    bool ok = !w->failed;
    if (!ok) {
        *err = w->why;
        w->reported = true;
    }
    os_lock_release(&w->lock);
    return ok;
}

uint64_t write_behind_mark(struct write_behind *w)
{
    wait_until_empty(w);
    uint64_t mark = w->mark;
    os_lock_release(&w->lock);
    return mark;
}

bool write_behind_end(struct write_behind *w, struct error *err)
{
    if (!w)
        return true;
    wait_until_empty(w);
    bool ok = !w->failed || w->reported;
    if (!ok)
        *err = w->why;
    w->ends = true;
    os_condition_wake(&w->changed);
    os_lock_release(&w->lock);
    os_thread_join(&w->thread);
    destroy(w);
    return ok;
}
