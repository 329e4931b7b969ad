/* SPDX-License-Identifier: Apache-2.0 */
#include "base/array.h"
#include "base/number.h"
#include "store/clickhouse/parts.h"

#define TEXT_OF(number) TEXT_OF_(number)
#define TEXT_OF_(number) #number

/* Rows with the same key are one: what was sent twice, or by several agents, is removed by the
 * server when it merges parts. `day` counts from 1970 (UTC), and is the partition. Names are any
 * bytes.
 *
 * In `samples` the key begins with the hour, so that a span reads its hours only. The order and
 * the columns are chosen for a server that compresses with LZ4 only, which finds repeated bytes
 * but no differences: hosts that run the same program have its stacks in common, so equal stacks
 * are adjacent. The series and the block are one column, because a repeated value costs three
 * bytes, of any length. From the block is subtracted how many windows of 10 seconds the hour had:
 * the blocks of an agent then have the same number. Writers insert into samples_in, which stores
 * nothing: blocks in a spool still fit when the columns of `samples` change.
 *
 * PACKED follows the type of a column that a server with codecs compresses with ZSTD. */
#define PACKED "~"
#define CODEC " CODEC(ZSTD(1))"
#define BLOCKS_BEFORE_AT "bitShiftLeft(toUInt64(intDiv(at, 10)), 16)"
#define BLOCKS_BEFORE_SECOND "bitShiftLeft(toUInt64(intDiv(second % 3600, 10)), 16)"

static const char *const tables[] = {
    "CREATE TABLE IF NOT EXISTS schema_version (version UInt32) "
    "ENGINE = ReplacingMergeTree PARTITION BY tuple() ORDER BY version",

    "CREATE TABLE IF NOT EXISTS frames (day Date, frame UInt64, kind UInt8, "
    "name String" PACKED ", module String" PACKED ", build_id String" PACKED ", "
    "file String" PACKED ", line UInt32, offset UInt64) "
    "ENGINE = ReplacingMergeTree PARTITION BY day ORDER BY frame",

    "CREATE TABLE IF NOT EXISTS stacks (day Date, stack UInt64, "
    "frames Array(UInt64)" PACKED ") "
    "ENGINE = ReplacingMergeTree PARTITION BY day ORDER BY stack",

    "CREATE TABLE IF NOT EXISTS series (day Date, series UInt64, host String, "
    "service String, event String, bytes String" PACKED ") "
    "ENGINE = ReplacingMergeTree PARTITION BY day ORDER BY series",

    "CREATE TABLE IF NOT EXISTS names (day Date, module String, build_id String, "
    "start UInt64, end UInt64, name String" PACKED ") "
    "ENGINE = ReplacingMergeTree PARTITION BY day ORDER BY (module, build_id, start)",

    "CREATE TABLE IF NOT EXISTS metrics (day Date, host String, step UInt32, "
    "start UInt32, writer UInt64, version UInt64, data String" PACKED ") "
    "ENGINE = ReplacingMergeTree(version) PARTITION BY day "
    "ORDER BY (host, step, start, writer)",

    "CREATE TABLE IF NOT EXISTS samples (day Date, hour UInt32, at UInt16, "
    "stack UInt64" PACKED ", stream FixedString(16)" PACKED ", count UInt64" PACKED ", "
    "weight Float64" PACKED ", "
    "second UInt32 ALIAS toUInt32(hour * 3600 + at), "
    "series UInt64 ALIAS reinterpretAsUInt64(substring(stream, 1, 8)), "
    "block UInt64 ALIAS reinterpretAsUInt64(substring(stream, 9, 8)) + " BLOCKS_BEFORE_AT
    ") ENGINE = ReplacingMergeTree PARTITION BY day "
    "ORDER BY (hour, stack, stream, at)",

    "CREATE TABLE IF NOT EXISTS samples_in (day Date, second UInt32, series UInt64, "
    "stack UInt64, block UInt64, count UInt64, weight Float64) ENGINE = Null",

    "CREATE MATERIALIZED VIEW IF NOT EXISTS samples_view TO samples AS SELECT day, "
    "toUInt32(intDiv(second, 3600)) AS hour, toUInt16(second % 3600) AS at, stack, "
    "toFixedString(concat(toFixedString(reinterpretAsString(series), 8), "
    "toFixedString(reinterpretAsString(block - " BLOCKS_BEFORE_SECOND "), 8)), 16) "
    "AS stream, count, weight FROM samples_in",

    "CREATE TABLE IF NOT EXISTS windows (day Date, block UInt64, host String, "
    "start UInt64, end UInt64, rate Float64, rows UInt32, samples UInt64, lost UInt64, "
    "dropped UInt64, resent UInt32, sent UInt64, received DateTime DEFAULT now()) "
    "ENGINE = ReplacingMergeTree(resent) PARTITION BY day ORDER BY block",
};

/* A statement of `tables`, with or without codecs. */
static bool create(struct clickhouse_client *c, const char *statement, bool has_codecs,
                   struct error *err)
{
    struct output o = OUTPUT_BUFFER;
    for (; *statement; statement++) {
        if (*statement != *PACKED)
            output_char(&o, *statement);
        else if (has_codecs)
            output_text(&o, CODEC);
    }
    output_char(&o, '\0');
    bool ok = !o.failed ? clickhouse_run(c, true, o.bytes, err) : error_memory(err);
    output_deinit(&o);
    return ok;
}

/* A server that has codecs states those of its columns. */
static bool create_all(struct clickhouse_client *c, struct error *err)
{
    uint64_t codecs;
    bool ok = clickhouse_number(c,
                                "SELECT count() FROM system.columns WHERE "
                                "database = 'system' AND table = 'columns' AND "
                                "name = 'compression_codec' FORMAT RowBinary",
                                &codecs, err);
    for (size_t i = 0; ok && i < sizeof tables / sizeof *tables; i++)
        ok = create(c, tables[i], codecs > 0, err);
    return ok;
}

static bool run_all(struct clickhouse_client *c, const char *const *statements,
                    size_t count, struct error *err)
{
    bool ok = true;
    for (size_t i = 0; ok && i < count; i++)
        ok = clickhouse_run(c, true, statements[i], err);
    return ok;
}

/* Zero if there are no tables. */
static bool read_version(struct clickhouse_client *c, uint64_t *version,
                         struct error *err)
{
    return clickhouse_number(c,
                             "SELECT toUInt64(max(version)) FROM schema_version "
                             "FORMAT RowBinary",
                             version, err);
}

static bool has_table(struct clickhouse_client *c, const char *name, bool *has,
                      struct error *err)
{
    char sql[160];
    uint64_t count;
    format_text(sql, sizeof sql,
                "SELECT count() FROM system.tables WHERE database = currentDatabase() "
                "AND name = '%s' FORMAT RowBinary",
                name);
    bool ok = clickhouse_number(c, sql, &count, err);
    *has = ok && count > 0;
    return ok;
}

/* --- Tables of version 1 ------------------------------------------------------------------ */

#define MOVED "samples_1"

struct hours {
    struct arena arena;
    uint32_t *list;
    size_t count, cap;
};

static bool take_hour(void *context, struct bytes *b, struct error *err)
{
    struct hours *h = context;
    uint32_t hour = bytes_u32(b);
    if (b->failed)
        return true;
    uint32_t *added = ARRAY_APPEND(&h->arena, h->list, h->count, h->cap);
    if (!added)
        return error_memory(err);
    *added = hour;
    return true;
}

/* One hour at a time: a request during which the server says nothing for long fails. */
static bool copy_samples(struct clickhouse_client *c, struct error *err)
{
    struct hours h = {.arena = ARENA_INIT};
    char sql[256];
    bool ok = clickhouse_query(c, "SELECT DISTINCT hour FROM " MOVED " FORMAT RowBinary",
                               take_hour, &h, err);
    for (size_t i = 0; ok && i < h.count; i++) {
        format_text(sql, sizeof sql,
                    "INSERT INTO samples_in SELECT day, second, series, stack, block, "
                    "count, weight FROM " MOVED " WHERE hour = %u",
                    (unsigned)h.list[i]);
        ok = clickhouse_run(c, true, sql, err);
    }
    arena_deinit(&h.arena);
    return ok;
}

/* The old table gets another name first: agents of version 1 then cannot insert rows that would
 * not be copied, and those of this version wait for its number. What an interrupted migration has
 * copied is removed, so a row is not copied twice. */
static bool begin_migration(struct clickhouse_client *c, struct error *err)
{
    static const char *const again[] = {"DROP TABLE IF EXISTS samples_view",
                                        "DROP TABLE IF EXISTS samples"};
    bool is_moved;
    if (!has_table(c, MOVED, &is_moved, err))
        return false;
    if (!is_moved)
        return clickhouse_run(c, true, "RENAME TABLE samples TO " MOVED, err);
    return run_all(c, again, sizeof again / sizeof *again, err);
}

bool clickhouse_schema_create(struct clickhouse_client *c, struct error *err)
{
    uint64_t version = 0;
    bool has_version = false;
    char sql[128];
    format_text(sql, sizeof sql, "CREATE DATABASE IF NOT EXISTS %s",
                c->address->database);
    bool ok = clickhouse_run(c, false, sql, err) &&
              has_table(c, "schema_version", &has_version, err) &&
              (!has_version || read_version(c, &version, err));
    if (ok && version > CLICKHOUSE_VERSION)
        return clickhouse_schema_check(c, err);
    ok = ok && (version != 1 || begin_migration(c, err)) && create_all(c, err) &&
         (version != 1 || copy_samples(c, err)) &&
         clickhouse_run(
             c, true,
             "INSERT INTO schema_version VALUES (" TEXT_OF(CLICKHOUSE_VERSION) ")", err);
    return ok && clickhouse_run(c, true, "DROP TABLE IF EXISTS " MOVED, err) &&
           clickhouse_schema_check(c, err);
}

bool clickhouse_schema_check(struct clickhouse_client *c, struct error *err)
{
    uint64_t version = 0;
    if (!read_version(c, &version, err))
        return false;
    if (version == CLICKHOUSE_VERSION)
        return true;
    error_set(err, "the tables have version %llu; this stoke uses version %d",
              (unsigned long long)version, CLICKHOUSE_VERSION);
    if (version > CLICKHOUSE_VERSION)
        return error_hint(err, "use the stoke that created them");
    return error_hint(err, version
                               ? "stoke store init --store ADDRESS migrates the tables"
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
