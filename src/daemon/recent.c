/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/recent.h"
#include "os/machine.h"

#define NEEDED (30 * STORE_SECOND)
#define OLD \
    (4 * STORE_SECOND) /* the loop reads once a second, and knows two rounds later */
#define PATIENCE (5 * STORE_SECOND)

bool daemon_recent_init(struct daemon_recent *r)
{
    return os_lock_init(&r->lock) && os_condition_init(&r->published);
}

void daemon_recent_deinit(struct daemon_recent *r)
{
    profile_destroy(r->profile);
    os_condition_deinit(&r->published);
    os_lock_deinit(&r->lock);
}

bool daemon_recent_is_awaited(struct daemon_recent *r)
{
    os_lock_acquire(&r->lock);
    bool awaited = r->awaited != 0;
    os_lock_release(&r->lock);
    return awaited;
}

bool daemon_recent_is_needed(struct daemon_recent *r, uint64_t complete, bool due)
{
    os_lock_acquire(&r->lock);
    bool needed = r->asked && os_clock_monotonic() - r->asked < NEEDED;
    needed = needed && (r->awaited ? complete >= r->awaited : due);
    os_lock_release(&r->lock);
    return needed;
}

void daemon_recent_publish(struct daemon_recent *r, struct profile *p, uint64_t start,
                           uint64_t complete)
{
    os_lock_acquire(&r->lock);
    struct profile *before = r->profile;
    r->profile = p;
    r->start = start;
    r->complete = complete;
    if (complete >= r->awaited)
        r->awaited = 0;
    os_condition_wake(&r->published);
    os_lock_release(&r->lock);
    profile_destroy(before);
}

/* Retains the rows of the span. */
static void cut(struct profile *p, const struct store_span *span)
{
    size_t count = 0;
    for (size_t i = 0; i < p->sample_count; i++) {
        if (p->samples[i].time < span->from || p->samples[i].time >= span->to)
            continue;
        p->samples[count] = p->samples[i];
        if (p->sample_labels)
            p->sample_labels[count] = p->sample_labels[i];
        count++;
    }
    p->sample_count = count;
}

static void add_part(struct builder *b, const struct profile *p,
                     const struct store_span *span)
{
    struct builder part;
    struct profile *cropped = NULL;
    struct error ignored;
    if (!builder_init(&part, BUILD_KEEP)) {
        b->profile->arena.failed = true;
        return;
    }
    builder_merge(&part, p);
    cropped = builder_finish(&part, &ignored);
    builder_deinit(&part);
    if (cropped) {
        cut(cropped, span);
        builder_merge(b, cropped);
    } else {
        b->profile->arena.failed = true;
    }
    profile_destroy(cropped);
}

/* The lock is taken. Waits until the samples of the span are published, if the last publication is
 * old. A stopped loop or a changed clock must not stop the server. */
static void await_samples(struct daemon_recent *r, uint64_t to)
{
    uint64_t now = os_clock_real(), end = os_clock_monotonic() + PATIENCE;
    uint64_t last = to < now ? to : now;
    if (last < OLD || r->complete >= last - OLD)
        return;
    while (r->complete < last && os_clock_monotonic() < end) {
        if (r->awaited < last)
            r->awaited = last;
        os_condition_wait(&r->published, &r->lock, end);
    }
    if (r->complete < last)
        r->awaited = 0;
}

void daemon_recent_read(struct daemon_recent *r, const struct store_span *span,
                        struct builder *b, uint64_t *start)
{
    os_lock_acquire(&r->lock);
    r->asked = os_clock_monotonic();
    await_samples(r, span->to);
    *start = r->start ? r->start : UINT64_MAX;
    if (r->profile && r->start < span->to)
        add_part(b, r->profile, span);
    os_lock_release(&r->lock);
}
