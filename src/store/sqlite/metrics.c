/* SPDX-License-Identifier: Apache-2.0 */
#include "store/sqlite/parts.h"

/* Adds the values that are stored already, as of a daemon that was started again. */
static bool add_stored(struct sqlite_store *s, struct store_metric_block *b,
                       struct arena *a, struct error *err)
{
    struct store_metric_block old = {0};
    struct error ignored;
    sqlite3_stmt *q = sqlite_prepare(s, SQL_FIND_METRICS, err);
    if (!q)
        return false;
    sqlite3_bind_int64(q, 1, b->step);
    sqlite3_bind_int64(q, 2, (sqlite3_int64)b->start);
    int code = sqlite3_step(q);
    bool ok = code == SQLITE_ROW || code == SQLITE_DONE ||
              sqlite_failed(s, "cannot read the store", err);
    /* what is damaged is replaced */
    if (code == SQLITE_ROW && store_metrics_decode(sqlite_bytes(q, 0), a, &old, &ignored))
        ok = store_metrics_merge(b, &old, a) || error_memory(err);
    sqlite3_reset(q);
    return ok;
}

static bool add_block(struct sqlite_store *s, const struct store_metric_block *block,
                      struct error *err)
{
    struct arena a = ARENA_INIT;
    struct output data = OUTPUT_BUFFER;
    struct store_metric_block b = {.start = block->start, .step = block->step};
    sqlite3_stmt *q = NULL;
    bool ok = (store_metrics_merge(&b, block, &a) || error_memory(err)) &&
              add_stored(s, &b, &a, err) && store_metrics_encode(&b, &data, err) &&
              (q = sqlite_prepare(s, SQL_ADD_METRICS, err));
    if (ok) {
        sqlite3_bind_int64(q, 1, b.step);
        sqlite3_bind_int64(q, 2, (sqlite3_int64)b.start);
        sqlite_bind_bytes(q, 3, output_contents(&data));
        ok = sqlite3_step(q) == SQLITE_DONE ||
             sqlite_failed(s, "cannot write the store", err);
        sqlite3_reset(q);
        sqlite3_clear_bindings(q);
    }
    output_deinit(&data);
    arena_deinit(&a);
    return ok;
}

bool sqlite_add_metrics(struct sqlite_store *s, const struct store_metric_block *blocks,
                        size_t count, struct error *err)
{
    for (size_t i = 0; i < count; i++)
        if (blocks[i].count && !add_block(s, &blocks[i], err))
            return false;
    return true;
}

/* The times are bound as signed numbers. */
static sqlite3_int64 bounded(uint64_t seconds)
{
    return (sqlite3_int64)(seconds < INT64_MAX ? seconds : INT64_MAX);
}

bool sqlite_store_read_metrics(struct store *base, const struct store_span *span,
                               uint32_t step,
                               bool (*each)(void *context,
                                            const struct store_metric_block *b),
                               void *context, struct error *err)
{
    struct sqlite_store *s = sqlite_store_of(base);
    uint64_t from = span->from / STORE_SECOND,
             length = (uint64_t)step * STORE_BLOCK_VALUES;
    int code = SQLITE_DONE;
    bool ok = true, more = true;
    sqlite3_stmt *q = s->version < 3 ? NULL : sqlite_prepare(s, SQL_READ_METRICS, err);
    if (!q)
        return s->version < 3;
    sqlite3_bind_int64(q, 1, step);
    sqlite3_bind_int64(q, 2, from < length ? -1 : bounded(from - length));
    sqlite3_bind_int64(q, 3,
                       bounded(span->to / STORE_SECOND + (span->to % STORE_SECOND != 0)));
    while (ok && more && (code = sqlite3_step(q)) == SQLITE_ROW) {
        struct arena a = ARENA_INIT;
        struct store_metric_block b = {.start = sqlite_u64(q, 0), .step = step};
        ok = store_metrics_decode(sqlite_bytes(q, 1), &a, &b, err);
        more = ok && each(context, &b);
        arena_deinit(&a);
    }
    if (ok && more && code != SQLITE_DONE)
        ok = sqlite_failed(s, "cannot read the store", err);
    sqlite3_reset(q);
    return ok;
}
