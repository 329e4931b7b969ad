/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/history.h"
#include "os/machine.h"
#include <string.h>

bool daemon_history_init(struct daemon_history *h)
{
    return os_lock_init(&h->lock);
}

void daemon_history_state(struct daemon_history *h, struct daemon_store_state *state)
{
    os_lock_acquire(&h->lock);
    *state = h->state;
    os_lock_release(&h->lock);
}

/* --- Windows in memory -------------------------------------------------------------- */

static void remove_first(struct daemon_history *h)
{
    profile_destroy((struct profile *)(uintptr_t)h->pending[0].profile);
    h->pending_count--;
    memmove(&h->pending[0], &h->pending[1], h->pending_count * sizeof *h->pending);
}

static void drop_first(struct daemon_history *h)
{
    remove_first(h);
    h->dropped++;
    h->state.dropped++;
}

static size_t pending_bytes(const struct daemon_history *h)
{
    size_t bytes = 0;
    for (size_t i = 0; i < h->pending_count; i++)
        if (h->pending[i].profile)
            bytes += h->pending[i].profile->arena.total;
    return bytes;
}

static void append(struct daemon_history *h, const struct store_window *w)
{
    if (!w->profile && !w->metric_count)
        return;
    os_lock_acquire(&h->lock);
    if (h->pending_count == DAEMON_PENDING_MAX)
        drop_first(h);
    h->pending[h->pending_count++] = *w;
    while (h->pending_count > 1 && pending_bytes(h) > DAEMON_PENDING_BYTES)
        drop_first(h);
    os_lock_release(&h->lock);
}

/* --- What happened ------------------------------------------------------------------ */

static void note_failure(struct daemon_history *h, const struct error *err)
{
    struct daemon_store_state *s = &h->state;
    if (!s->failing)
        engine_note(h->report, "%s: %s; %s", err->file, err->message,
                    h->is_direct ? "agents have to send again"
                                 : "sampling continues, windows are stored later");
    os_lock_acquire(&h->lock);
    if (!s->failing) {
        s->failing_since = os_clock_real();
        s->failures++;
    }
    s->failing = true;
    s->pending = h->pending_count;
    format_text(s->error, sizeof s->error, "%s", err->message);
    os_lock_release(&h->lock);
}

static void note_success(struct daemon_history *h)
{
    struct daemon_store_state *s = &h->state;
    if (s->failing && h->dropped)
        engine_note(h->report, "the store can be written again; %llu windows are lost",
                    (unsigned long long)h->dropped);
    else if (s->failing)
        engine_note(h->report, "the store can be written again%s",
                    h->is_direct ? "" : "; nothing is lost");
    os_lock_acquire(&h->lock);
    s->failing = false;
    s->pending = 0;
    os_lock_release(&h->lock);
    h->dropped = 0;
}

static bool fix(struct daemon_history *h, struct error *err)
{
    struct daemon_store_state *s = &h->state;
    char done[STORE_DONE_SIZE];
    const struct store_kind *kind = h->store->kind;
    bool ok = kind->fix(h->store, done, sizeof done, err);
    while (!ok && h->is_last && kind->settle && kind->settle(h->store))
        ok = kind->fix(h->store, done, sizeof done, err);
    if (!done[0])
        return ok;
    engine_note(h->report, "%s", done);
    os_lock_acquire(&h->lock);
    s->fixed++;
    s->done_at = os_clock_real();
    memcpy(s->done, done, sizeof done);
    os_lock_release(&h->lock);
    return ok;
}

bool daemon_history_open(struct daemon_history *h, const char *location,
                         struct error *err)
{
    struct error ignored;
    h->store = store_open(location, STORE_WRITE, err);
    if (!h->store)
        return false;
    fix(h, &ignored); /* a fault that shows now is reported with the first window */
    return true;
}

/* --- Storing ------------------------------------------------------------------------ */

static bool store_pending(struct daemon_history *h, struct error *err)
{
    while (h->pending_count) {
        if (!h->store->kind->add(h->store, &h->pending[0], err))
            return false;
        remove_first(h);
    }
    return true;
}

#define RETAIN_EVERY (60 * STORE_SECOND)

/* Retention also makes room when the disk is full. Otherwise, once a minute is often enough. */
static bool retain(struct daemon_history *h, const struct store_window *w, bool is_stored,
                   struct error *err)
{
    if (is_stored && w->end / RETAIN_EVERY == h->retained / RETAIN_EVERY)
        return true;
    h->retained = w->end;
    return h->store->kind->retain(h->store, &h->limits, w->end, err);
}

bool daemon_history_add(struct daemon_history *h, const struct store_window *w,
                        struct error *err)
{
    struct error ignored;
    for (size_t i = 0; i < h->pending_count; i++) /* the caller gives them again */
        h->pending[i].name_count = h->pending[i].metric_count = 0;
    append(h, w);
    bool is_fixed = fix(h, err), ok = is_fixed && store_pending(h, err);
    if (is_fixed && !ok) { /* a damage may have shown now */
        uint64_t before = h->state.fixed;
        is_fixed = fix(h, &ignored);
        ok = is_fixed && h->state.fixed != before && store_pending(h, err);
    }
    bool retained = is_fixed && retain(h, w, ok, ok ? err : &ignored);
    if (ok && retained)
        note_success(h);
    else
        note_failure(h, err);
    return ok;
}

bool daemon_history_store(struct daemon_history *h, const struct store_window *w,
                          uint64_t now, struct error *err)
{
    struct error ignored;
    const struct store_kind *kind = h->store->kind;
    bool is_fixed = fix(h, err), ok = is_fixed && kind->add(h->store, w, err);
    if (is_fixed) /* also makes room when the disk is full */
        kind->retain(h->store, &h->limits, now, &ignored);
    if (ok)
        note_success(h);
    else
        note_failure(h, err);
    return ok;
}

void daemon_history_deinit(struct daemon_history *h)
{
    while (h->pending_count)
        remove_first(h);
    store_close(h->store);
    os_lock_deinit(&h->lock);
}
