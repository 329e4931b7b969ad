/* SPDX-License-Identifier: Apache-2.0 */
#include "base/number.h"
#include "store/clickhouse/parts.h"

#define TEXT_OF(number) TEXT_OF_(number)
#define TEXT_OF_(number) #number

/* Rows with the same key are one: what was sent twice, or by several agents, is removed by the
 * server when it merges parts. `day` counts from 1970 (UTC), and is the partition. Names are any
 * bytes. In `samples` the key begins with the hour, so that a span reads its hours only. */
static const char *const tables[] = {
    "CREATE TABLE IF NOT EXISTS schema_version (version UInt32) "
    "ENGINE = ReplacingMergeTree PARTITION BY tuple() ORDER BY version",

    "CREATE TABLE IF NOT EXISTS frames (day Date, frame UInt64, kind UInt8, name String, "
    "module String, build_id String, file String, line UInt32, offset UInt64) "
    "ENGINE = ReplacingMergeTree PARTITION BY day ORDER BY frame",

    "CREATE TABLE IF NOT EXISTS stacks (day Date, stack UInt64, frames Array(UInt64)) "
    "ENGINE = ReplacingMergeTree PARTITION BY day ORDER BY stack",

    "CREATE TABLE IF NOT EXISTS series (day Date, series UInt64, host String, "
    "service String, event String, bytes String) "
    "ENGINE = ReplacingMergeTree PARTITION BY day ORDER BY series",

    "CREATE TABLE IF NOT EXISTS names (day Date, module String, build_id String, "
    "start UInt64, end UInt64, name String) "
    "ENGINE = ReplacingMergeTree PARTITION BY day ORDER BY (module, build_id, start)",

    "CREATE TABLE IF NOT EXISTS metrics (day Date, host String, step UInt32, "
    "start UInt32, writer UInt64, version UInt64, data String) "
    "ENGINE = ReplacingMergeTree(version) PARTITION BY day "
    "ORDER BY (host, step, start, writer)",

    "CREATE TABLE IF NOT EXISTS samples (day Date, second UInt32, series UInt64, "
    "stack UInt64, block UInt64, count UInt64, weight Float64, "
    "hour UInt32 MATERIALIZED toUInt32(intDiv(second, 3600))) "
    "ENGINE = ReplacingMergeTree PARTITION BY day "
    "ORDER BY (hour, series, stack, second, block)",

    "CREATE TABLE IF NOT EXISTS windows (day Date, block UInt64, host String, "
    "start UInt64, end UInt64, rate Float64, rows UInt32, samples UInt64, lost UInt64, "
    "dropped UInt64, resent UInt32, sent UInt64, received DateTime DEFAULT now()) "
    "ENGINE = ReplacingMergeTree(resent) PARTITION BY day ORDER BY block",

    "INSERT INTO schema_version VALUES (" TEXT_OF(CLICKHOUSE_VERSION) ")",
};

bool clickhouse_schema_create(struct clickhouse_client *c, struct error *err)
{
    char sql[128];
    format_text(sql, sizeof sql, "CREATE DATABASE IF NOT EXISTS %s",
                c->address->database);
    bool ok = clickhouse_run(c, false, sql, err);
    for (size_t i = 0; ok && i < sizeof tables / sizeof *tables; i++)
        ok = clickhouse_run(c, true, tables[i], err);
    return ok && clickhouse_schema_check(c, err);
}

bool clickhouse_schema_check(struct clickhouse_client *c, struct error *err)
{
    uint64_t version = 0;
    if (!clickhouse_number(c,
                           "SELECT toUInt64(max(version)) FROM schema_version "
                           "FORMAT RowBinary",
                           &version, err))
        return false;
    if (version == CLICKHOUSE_VERSION)
        return true;
    error_set(err, "the tables have version %llu; this stoke uses version %d",
              (unsigned long long)version, CLICKHOUSE_VERSION);
    return error_hint(err, version
                               ? "use the stoke that created them"
                               : "stoke store init --store ADDRESS creates the tables");
}

static bool take_version(void *context, struct bytes *b, struct error *err)
{
    uint64_t major = 0, minor = 0;
    struct str text = clickhouse_text(b);
    (void)err;
    if (b->failed)
        return true;
    number_parse_u64(str_cut(&text, '.'), &major);
    number_parse_u64(str_cut(&text, '.'), &minor);
    *(uint64_t *)context = major * 1000 + minor % 1000;
    return true;
}

bool clickhouse_server_version(struct clickhouse_client *c, uint64_t *version,
                               struct error *err)
{
    *version = 0;
    return clickhouse_query(c, "SELECT version() FORMAT RowBinary", take_version, version,
                            err);
}
