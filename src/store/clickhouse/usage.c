/* SPDX-License-Identifier: Apache-2.0 */
#include "store/clickhouse/parts.h"

bool clickhouse_store_usage(struct store *base, struct store_usage *u, struct error *err)
{
#define BYTES                                                             \
    "SELECT toUInt64(sum(bytes_on_disk)) FROM system.parts WHERE active " \
    "AND database = currentDatabase()"
/* A window that was sent again has several rows until the server merges them. */
#define ONCE(what)                                                                   \
    "SELECT toUInt64(sum(v)) FROM (SELECT any(" what ") AS v FROM windows GROUP BY " \
    "block)"
    const struct {
        const char *query;
        uint64_t *value;
    } numbers[] = {
        {BYTES, &u->bytes},
        {BYTES " AND table = 'samples'", &u->data_bytes},
        {BYTES " AND table = 'metrics'", &u->metric_bytes},
        {"SELECT toUInt64(uniqExact(block)) FROM windows", &u->windows},
        {ONCE("rows"), &u->rows},
        {ONCE("samples"), &u->samples},
        {ONCE("lost"), &u->lost},
        {"SELECT toUInt64(uniqExact(stack)) FROM stacks", &u->stacks},
        {"SELECT toUInt64(uniqExact(frame)) FROM frames", &u->frames},
        {"SELECT toUInt64(uniqExact(series)) FROM series", &u->series},
        {"SELECT min(start) FROM windows", &u->first},
        {"SELECT max(end) FROM windows", &u->last},
    };
    struct clickhouse_store *s = clickhouse_store_of(base);
    char sql[256];
    *u = (struct store_usage){0};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        format_text(sql, sizeof sql, "%s FORMAT RowBinary", numbers[i].query);
        if (!clickhouse_number(&s->client, sql, numbers[i].value, err))
            return false;
    }
    return true;
}
