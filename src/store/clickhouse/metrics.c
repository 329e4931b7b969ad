/* SPDX-License-Identifier: Apache-2.0 */
/* Metrics of this machine: those of other hosts are not mixed with them. */
#include "store/clickhouse/parts.h"

struct metrics_reading {
    struct arena arena;
    const char *host;
    uint32_t step;
    struct store_metric_block block; /* several writers have a part of it */
    bool has_block, stops;
    bool (*each)(void *context, const struct store_metric_block *b);
    void *context;
};

static void end_block(struct metrics_reading *r)
{
    if (r->has_block && !r->stops)
        r->stops = !r->each(r->context, &r->block);
    arena_deinit(&r->arena);
    r->block = (struct store_metric_block){0};
    r->has_block = false;
}

static bool take_block(void *context, struct bytes *b, struct error *err)
{
    struct metrics_reading *r = context;
    uint32_t start = bytes_u32(b);
    struct str host = clickhouse_text(b), data = clickhouse_text(b);
    struct store_metric_block block = {.start = start, .step = r->step};
    struct error ignored;
    if (b->failed)
        return true;
    if (r->stops || !str_equal(host, str_of(r->host)))
        return true;
    if (r->has_block && r->block.start != start)
        end_block(r);
    if (!r->has_block)
        r->block = (struct store_metric_block){.start = start, .step = r->step};
    r->has_block = true;
    /* what is damaged is left out */
    return !store_metrics_decode(data, &r->arena, &block, &ignored) ||
           store_metrics_merge(&r->block, &block, &r->arena) || error_memory(err);
}

bool clickhouse_store_read_metrics(struct store *base, const struct store_span *span,
                                   uint32_t step,
                                   bool (*each)(void *context,
                                                const struct store_metric_block *b),
                                   void *context, struct error *err)
{
    struct clickhouse_store *s = clickhouse_store_of(base);
    struct metrics_reading r = {
        .host = s->host, .step = step, .each = each, .context = context};
    uint64_t length = (uint64_t)step * STORE_BLOCK_VALUES, most = UINT32_MAX;
    uint64_t from = span->from / STORE_SECOND, to = span->to / STORE_SECOND + 1;
    char sql[512];
    from = from > length ? from - length : 0;
    from = from < most ? from : most;
    to = to < most ? to : most;
    format_text(
        sql, sizeof sql,
        "SELECT start, host, argMax(data, version) FROM metrics WHERE day >= "
        "toDate(%llu) AND day <= toDate(%llu) AND step = %u AND start > %llu AND "
        "start < %llu GROUP BY start, host, writer ORDER BY start FORMAT RowBinary",
        (unsigned long long)(from / CLICKHOUSE_DAY),
        (unsigned long long)(to / CLICKHOUSE_DAY), step, (unsigned long long)from,
        (unsigned long long)to);
    bool ok = clickhouse_query(&s->client, sql, take_block, &r, err);
    if (ok)
        end_block(&r);
    arena_deinit(&r.arena);
    return ok;
}
