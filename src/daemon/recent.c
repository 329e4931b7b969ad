/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/recent.h"
#include "os/machine.h"

#define NEEDED (30 * STORE_SECOND)

bool daemon_recent_init(struct daemon_recent *r)
{
    return os_lock_init(&r->lock);
}

void daemon_recent_deinit(struct daemon_recent *r)
{
    profile_destroy(r->profile);
    os_lock_deinit(&r->lock);
}

bool daemon_recent_is_needed(struct daemon_recent *r)
{
    os_lock_acquire(&r->lock);
    bool needed = r->asked && os_clock_monotonic() - r->asked < NEEDED;
    os_lock_release(&r->lock);
    return needed;
}

void daemon_recent_publish(struct daemon_recent *r, struct profile *p, uint64_t start)
{
    os_lock_acquire(&r->lock);
    struct profile *before = r->profile;
    r->profile = p;
    r->start = start;
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

void daemon_recent_read(struct daemon_recent *r, const struct store_span *span,
                        struct builder *b, uint64_t *start)
{
    os_lock_acquire(&r->lock);
    r->asked = os_clock_monotonic();
    *start = r->start ? r->start : UINT64_MAX;
    if (r->profile && r->start < span->to)
        add_part(b, r->profile, span);
    os_lock_release(&r->lock);
}
