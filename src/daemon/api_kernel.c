/* SPDX-License-Identifier: Apache-2.0 */
/* /api/kernel: what the kernel counts by kind. The page computes rates from two replies. */
#include "base/sort.h"
#include "codec/json.h"
#include "daemon/api_parts.h"
#include "lepd/machine.h"
#include "os/machine.h"

#define CACHES_MAX 100

static void put_counters(struct json_writer *w, const char *key,
                         const struct cpu_counter_table *t)
{
    json_put_key(w, key);
    json_begin(w, JSON_ARRAY);
    for (size_t i = 0; i < t->count; i++) {
        uint64_t sum = 0;
        for (size_t k = 0; k < t->rows[i].count; k++)
            sum += t->rows[i].counts[k];
        json_begin(w, JSON_OBJECT);
        json_member_str(w, "name", t->rows[i].name);
        if (t->rows[i].description.len)
            json_member_str(w, "description", t->rows[i].description);
        json_member_u64(w, "count", sum);
        json_end(w, JSON_OBJECT);
    }
    json_end(w, JSON_ARRAY);
}

static void put_buddy(struct json_writer *w, const struct buddy_zones *zones)
{
    json_put_key(w, "buddy");
    json_begin(w, JSON_ARRAY);
    for (size_t i = 0; i < zones->count; i++) {
        const struct buddy_zone *zone = &zones->items[i];
        json_begin(w, JSON_OBJECT);
        json_member_u64(w, "node", zone->node);
        json_member_str(w, "zone", zone->name);
        json_put_key(w, "free");
        json_begin(w, JSON_ARRAY);
        for (size_t order = 0; order < zone->orders; order++)
            json_put_u64(w, zone->free[order]);
        json_end(w, JSON_ARRAY);
        json_end(w, JSON_OBJECT);
    }
    json_end(w, JSON_ARRAY);
}

static uint64_t pages_of(const struct slab_cache *cache)
{
    return cache->slabs * cache->pages_per_slab;
}

static bool is_larger(const void *context, uint32_t a, uint32_t b)
{
    const struct slab_caches *s = context;
    return pages_of(&s->items[a]) > pages_of(&s->items[b]);
}

/* The largest first. */
static bool put_slab(struct json_writer *w, struct slab_caches *s, struct arena *a)
{
    uint32_t *order = arena_alloc(a, (s->count + 1) * sizeof *order);
    uint32_t *scratch = arena_alloc(a, (s->count + 1) * sizeof *scratch);
    if (!order || !scratch)
        return false;
    for (uint32_t i = 0; i < s->count; i++)
        order[i] = i;
    sort_u32(order, s->count, scratch, is_larger, s);
    json_put_key(w, "slab");
    json_begin(w, JSON_ARRAY);
    for (size_t i = 0; i < s->count && i < CACHES_MAX; i++) {
        const struct slab_cache *cache = &s->items[order[i]];
        json_begin(w, JSON_OBJECT);
        json_member_str(w, "name", cache->name);
        json_member_u64(w, "bytes", pages_of(cache) * os_page_size());
        json_member_u64(w, "objects", cache->objects);
        json_member_u64(w, "active", cache->active);
        json_member_u64(w, "object_size", cache->object_size);
        json_end(w, JSON_OBJECT);
    }
    json_end(w, JSON_ARRAY);
    return true;
}

void api_kernel(struct daemon_api *api, const struct http_query *q, struct http_reply *r)
{
    struct metrics m;
    struct json_writer w = {.out = &r->body};
    (void)api, (void)q;
    r->type = "application/json";
    api_share(r, API_SHARED_SHORT);
    bool ok = metrics_read(&m, &lepd_metrics_source, METRICS_OTHERS | METRICS_SLAB,
                           os_clock_monotonic(), os_clock_real());
    json_begin(&w, JSON_OBJECT);
    json_member_u64(&w, "time", m.time);
    json_member_u64(&w, "page", os_page_size());
    put_counters(&w, "interrupts", &m.interrupts);
    put_counters(&w, "softirqs", &m.softirqs);
    put_buddy(&w, &m.buddy);
    ok = put_slab(&w, &m.slab, &m.arena) && ok;
    json_end(&w, JSON_OBJECT);
    r->body.failed |= !ok;
    metrics_deinit(&m);
}
