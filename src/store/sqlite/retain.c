/* SPDX-License-Identifier: Apache-2.0 */
#include "store/sqlite/parts.h"

/* Windows, and blocks of metrics, that one call removes; pages that it returns to the file
 * system. */
#define WINDOWS_AT_ONCE "16"
#define WINDOWS_ABOVE "2" /* of a store that is too large: each can have ten minutes */
#define BLOCKS_AT_ONCE "64"
#define PAGES_AT_ONCE 256

static bool remove_old(struct sqlite_store *s, uint64_t before, struct error *err)
{
    char sql[200];
    format_text(
        sql, sizeof sql,
        "DELETE FROM window WHERE id IN (SELECT id FROM window WHERE start < %llu "
        "AND end < %llu ORDER BY start LIMIT " WINDOWS_AT_ONCE ")",
        (unsigned long long)before, (unsigned long long)before);
    return sqlite_run(s, sql, err);
}

/* Blocks of metrics that end before that time. */
static bool remove_old_metrics(struct sqlite_store *s, uint64_t before, struct error *err)
{
    static const int steps[] = {1, 60};
    char sql[200];
    bool ok = true;
    for (size_t i = 0; ok && i < sizeof steps / sizeof *steps; i++) {
        format_text(sql, sizeof sql,
                    "DELETE FROM metrics WHERE id IN (SELECT id FROM metrics WHERE "
                    "step = %d AND start <= %lld LIMIT " BLOCKS_AT_ONCE ")",
                    steps[i],
                    (long long)(before / STORE_SECOND) -
                        (long long)steps[i] * STORE_BLOCK_VALUES);
        ok = sqlite_run(s, sql, err);
    }
    return ok;
}

/* When the store is too large, metrics go with the windows of their time. Without windows,
 * the oldest go. */
static bool remove_first_metrics(struct sqlite_store *s, struct error *err)
{
    uint64_t first = 0;
    if (sqlite_number(s, "SELECT min(start) FROM window", &first) && first)
        return remove_old_metrics(s, first, err);
    return sqlite_run(s,
                      "DELETE FROM metrics WHERE id IN (SELECT id FROM metrics "
                      "ORDER BY start LIMIT " BLOCKS_AT_ONCE ")",
                      err);
}

/* Pages in use: those on the free list are returned or used again. */
static bool used_bytes(struct sqlite_store *s, uint64_t *bytes, struct error *err)
{
    uint64_t pages = 0, unused = 0, size = 0;
    if (!sqlite_number(s, "PRAGMA page_count", &pages) ||
        !sqlite_number(s, "PRAGMA freelist_count", &unused) ||
        !sqlite_number(s, "PRAGMA page_size", &size))
        return sqlite_failed(s, "cannot read the store", err);
    *bytes = (pages - unused) * size;
    return true;
}

static bool remove_above(struct sqlite_store *s, uint64_t most, struct error *err)
{
    uint64_t bytes = 0;
    if (!used_bytes(s, &bytes, err))
        return false;
    return bytes <= most || (sqlite_run(s,
                                        "DELETE FROM window WHERE id IN (SELECT id FROM "
                                        "window ORDER BY start LIMIT " WINDOWS_ABOVE ")",
                                        err) &&
                             remove_first_metrics(s, err));
}

/* Without windows nothing refers to the other tables. */
static bool remove_unused(struct sqlite_store *s, struct error *err)
{
    uint64_t windows = 0, stacks = 0;
    if (!sqlite_number(s, "SELECT count(*) FROM (SELECT 1 FROM window LIMIT 1)",
                       &windows) ||
        !sqlite_number(s, "SELECT count(*) FROM (SELECT 1 FROM frame LIMIT 1)", &stacks))
        return sqlite_failed(s, "cannot read the store", err);
    if (windows || !stacks)
        return true;
    if (sqlite_run(s,
                   "BEGIN IMMEDIATE; DELETE FROM stack; DELETE FROM stacks;"
                   "DELETE FROM frame; DELETE FROM symbol; DELETE FROM module;"
                   "DELETE FROM series; COMMIT",
                   err)) {
        sqlite_forget(s);
        return true;
    }
    if (!sqlite3_get_autocommit(s->db))
        sqlite3_exec(s->db, "ROLLBACK", NULL, NULL, NULL);
    return false;
}

/* Sums of removed windows go, too. Windows refer only to stacks of their own era. So those of an
 * era are not needed when all windows are newer than the start of the next one; those of version 1
 * are not when all windows are newer than the first era. */
static bool remove_old_stacks(struct sqlite_store *s, struct error *err)
{
    return sqlite_run(
        s,
        "DELETE FROM stacks WHERE era < (SELECT max(era) FROM stacks WHERE "
        "first = era AND start <= (SELECT min(start) FROM window));"
        "DELETE FROM stack WHERE EXISTS(SELECT 1 FROM stacks WHERE first = era "
        "AND start <= (SELECT min(start) FROM window));"
        "DELETE FROM rollup WHERE start < "
        "(SELECT min(start) / 1000000000 FROM window) - 1 "
        "OR NOT EXISTS(SELECT 1 FROM window)",
        err);
}

/* A few unused pages are for the next windows; more are returned to the file system. */
static bool return_pages(struct sqlite_store *s, struct error *err)
{
    char sql[64];
    uint64_t unused = 0;
    if (!sqlite_number(s, "PRAGMA freelist_count", &unused))
        return sqlite_failed(s, "cannot read the store", err);
    format_text(sql, sizeof sql, "PRAGMA incremental_vacuum(%d)", PAGES_AT_ONCE);
    return unused <= PAGES_AT_ONCE || sqlite_run(s, sql, err);
}

/* What cannot be packed now is tried again after the next window. */
static bool pack_windows(struct sqlite_store *s, bool *done, struct error *err)
{
    struct error later;
    (void)err;
    sqlite_pack_windows(s, done, &later);
    return true;
}

static bool pack_stacks(struct sqlite_store *s, bool *done, struct error *err)
{
    struct error later;
    (void)err;
    sqlite_pack_stacks(s, done, &later);
    return true;
}

/* Does one part of the upkeep, so that a call is short. The parts take turns: sums of a long
 * time that has none do not delay packing. */
static bool keep_up(struct sqlite_store *s, struct error *err)
{
    static bool (*const parts[])(struct sqlite_store *, bool *, struct error *) = {
        sqlite_sum_hour, sqlite_sum_day, pack_windows, pack_stacks};
    const unsigned count = sizeof parts / sizeof *parts;
    bool done = false, ok = true;
    for (unsigned i = 0; ok && !done && i < count; i++) {
        unsigned which = s->turn;
        s->turn = (which + 1) % count;
        ok = parts[which](s, &done, err);
    }
    return ok;
}

/* Removals come first in each call: they make room, and are bounded themselves. */
static bool remove_beyond(struct sqlite_store *s, const struct store_limits *limits,
                          uint64_t now, struct error *err)
{
    int changes = sqlite3_total_changes(s->db);
    if (limits->age && now > limits->age &&
        !(remove_old(s, now - limits->age, err) &&
          remove_old_metrics(s, now - limits->age, err)))
        return false;
    if (limits->bytes && !remove_above(s, limits->bytes, err))
        return false;
    bool removed = !s->retained || sqlite3_total_changes(s->db) != changes;
    s->retained = false;
    if (removed && !(remove_unused(s, err) && remove_old_stacks(s, err)))
        return false;
    s->retained = true;
    return return_pages(s, err);
}

bool sqlite_store_retain(struct store *base, const struct store_limits *limits,
                         uint64_t now, struct error *err)
{
    struct sqlite_store *s = sqlite_store_of(base);
    bool ok = remove_beyond(s, limits, now, err) && keep_up(s, err);
    if (ok)
        sqlite_log_note(s);
    return ok;
}
