/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/history.h"
#include <string.h>

static void remove_first(struct daemon_history *h)
{
    profile_destroy((struct profile *)(uintptr_t)h->pending[0].profile);
    h->pending_count--;
    memmove(&h->pending[0], &h->pending[1], h->pending_count * sizeof *h->pending);
}

static void append(struct daemon_history *h, const struct store_window *w)
{
    if (!w->profile && !w->metric_count)
        return;
    if (h->pending_count == DAEMON_PENDING_MAX) {
        remove_first(h);
        h->dropped++;
    }
    h->pending[h->pending_count++] = *w;
}

static void note_failure(struct daemon_history *h, const struct error *err)
{
    if (!h->failing)
        engine_note(h->report, "%s: %s; sampling continues, windows are stored later",
                    err->file, err->message);
    h->failing = true;
}

static void note_success(struct daemon_history *h)
{
    if (h->failing && h->dropped)
        engine_note(h->report, "the store can be written again; %llu windows are lost",
                    (unsigned long long)h->dropped);
    else if (h->failing)
        engine_note(h->report, "the store can be written again; nothing is lost");
    h->failing = false;
    h->dropped = 0;
}

bool daemon_history_add(struct daemon_history *h, const struct store_window *w,
                        struct error *err)
{
    bool ok = true;
    for (size_t i = 0; i < h->pending_count; i++) /* the caller gives them again */
        h->pending[i].name_count = h->pending[i].metric_count = 0;
    append(h, w);
    while (ok && h->pending_count) {
        ok = h->store->kind->add(h->store, &h->pending[0], err);
        if (ok)
            remove_first(h);
    }
    /* retention also makes room when the disk is full */
    struct error ignored;
    bool retained =
        h->store->kind->retain(h->store, &h->limits, w->end, ok ? err : &ignored);
    if (ok && retained)
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
}
