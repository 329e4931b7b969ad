/* SPDX-License-Identifier: Apache-2.0 */
#include "store/sqlite/parts.h"
#include <string.h>

#define APPLICATION 0x53746f6b /* "Stok", in the file's header */
#define VERSION 5
#define VERSION_OLDEST 1 /* which is read, and changed to the newest by the writer */
#define TEXT_OF(number) TEXT_OF_(number)
#define TEXT_OF_(number) #number

/* In the order of their names. Text is stored as blobs: names are any bytes. */
static const char *const tables[][2] = {
    {"frame", "CREATE TABLE frame(id INTEGER PRIMARY KEY, hash BLOB NOT NULL UNIQUE, "
              "kind INTEGER, name BLOB, module INTEGER, file BLOB, line INTEGER, "
              "offset INTEGER)"},
    {"metrics", "CREATE TABLE metrics(id INTEGER PRIMARY KEY, step INTEGER NOT NULL, "
                "start INTEGER NOT NULL, data BLOB NOT NULL, UNIQUE(step, start))"},
    {"module", "CREATE TABLE module(id INTEGER PRIMARY KEY, path BLOB NOT NULL, "
               "build_id BLOB NOT NULL, UNIQUE(path, build_id))"},
    {"rollup", "CREATE TABLE rollup(start INTEGER NOT NULL, step INTEGER NOT NULL, "
               "rate REAL, rows INTEGER, samples INTEGER, lost INTEGER, "
               "data BLOB NOT NULL, UNIQUE(start, step))"},
    {"series",
     "CREATE TABLE series(id INTEGER PRIMARY KEY, labels BLOB NOT NULL UNIQUE)"},
    {"stack", "CREATE TABLE stack(id INTEGER PRIMARY KEY, parent INTEGER NOT NULL, "
              "frame INTEGER NOT NULL, UNIQUE(parent, frame))"},
    {"stacks", "CREATE TABLE stacks(first INTEGER PRIMARY KEY, count INTEGER NOT NULL, "
               "era INTEGER NOT NULL, start INTEGER NOT NULL, data BLOB NOT NULL)"},
    {"symbol", "CREATE TABLE symbol(module INTEGER NOT NULL, start INTEGER NOT NULL, "
               "end INTEGER NOT NULL, name BLOB NOT NULL, PRIMARY KEY(module, start)) "
               "WITHOUT ROWID"},
    {"window", "CREATE TABLE window(id INTEGER PRIMARY KEY, start INTEGER NOT NULL, "
               "end INTEGER NOT NULL, rate REAL, rows INTEGER, samples INTEGER, "
               "lost INTEGER, data BLOB NOT NULL)"},
};

#define TABLES (sizeof tables / sizeof *tables)

/* The version that introduced a table. */
static uint64_t since(const char *name)
{
    static const struct {
        const char *name;
        uint64_t version;
    } added[] = {{"stacks", 2}, {"symbol", 2}, {"metrics", 3}, {"rollup", 4}};
    for (size_t i = 0; i < sizeof added / sizeof *added; i++)
        if (strcmp(name, added[i].name) == 0)
            return added[i].version;
    return 1;
}

static size_t tables_of(uint64_t version)
{
    size_t count = 0;
    for (size_t i = 0; i < TABLES; i++)
        count += since(tables[i][0]) <= version;
    return count;
}

static const char window_index[] = "CREATE INDEX window_start ON window(start)";

static bool set_version(struct sqlite_store *s, struct error *err)
{
    s->version = VERSION;
    return sqlite_run(s,
                      "PRAGMA application_id=" TEXT_OF(
                          APPLICATION) ";"
                                       "PRAGMA user_version=" TEXT_OF(VERSION) "; COMMIT",
                      err);
}

static bool create_new(struct sqlite_store *s, struct error *err)
{
    bool ok = sqlite_run(s,
                         "PRAGMA auto_vacuum=INCREMENTAL; PRAGMA journal_mode=WAL;"
                         "BEGIN IMMEDIATE",
                         err);
    for (size_t i = 0; ok && i < TABLES; i++)
        ok = sqlite_run(s, tables[i][1], err);
    return ok && sqlite_run(s, window_index, err) && set_version(s, err);
}

/* Adds the tables that an older version lacks. Stacks of version 1 stay where they are. */
static bool change_version(struct sqlite_store *s, uint64_t from, struct error *err)
{
    bool ok = sqlite_run(s, "BEGIN IMMEDIATE", err);
    for (size_t i = 0; ok && i < TABLES; i++)
        if (since(tables[i][0]) > from)
            ok = sqlite_run(s, tables[i][1], err);
    return ok && set_version(s, err);
}

bool sqlite_schema_create(struct sqlite_store *s, struct error *err)
{
    uint64_t objects = 0, version = 0;
    if (!sqlite_number(s, "SELECT count(*) FROM sqlite_master", &objects))
        return sqlite_failed(s, "cannot open the store", err);
    if (!objects)
        return create_new(s, err);
    if (!sqlite_schema_check(s, err))
        return false;
    return !sqlite_number(s, "PRAGMA user_version", &version) || version == VERSION ||
           change_version(s, version, err);
}

static bool is_expected(struct str name, struct str sql)
{
    if (str_equal(name, STR("window_start")))
        return str_equal(sql, str_of(window_index));
    for (size_t i = 0; i < TABLES; i++)
        if (str_equal(name, str_of(tables[i][0])))
            return str_equal(sql, str_of(tables[i][1]));
    return false;
}

/* Counts the tables and indexes that are as above; false if there are others. */
static bool count_expected(struct sqlite_store *s, size_t *count)
{
    sqlite3_stmt *q;
    bool ok = true;
    *count = 0;
    if (sqlite3_prepare_v2(s->db,
                           "SELECT name, sql FROM sqlite_master "
                           "WHERE name NOT LIKE 'sqlite\\_%' ESCAPE '\\'",
                           -1, &q, NULL) != SQLITE_OK)
        return false;
    while (ok && sqlite3_step(q) == SQLITE_ROW) {
        ok = is_expected(sqlite_bytes(q, 0), sqlite_bytes(q, 1));
        (*count)++;
    }
    sqlite3_finalize(q);
    return ok;
}

bool sqlite_schema_check(struct sqlite_store *s, struct error *err)
{
    uint64_t application = 0, version = 0;
    size_t count;
    if (!sqlite_number(s, "PRAGMA application_id", &application) ||
        !sqlite_number(s, "PRAGMA user_version", &version))
        return sqlite_failed(s, "cannot open the store", err);
    if (application != APPLICATION) {
        s->damaged = true;
        error_set(err, "this is not a store of stoke daemon");
        return error_hint(err, "name a file that stoke daemon --store has written");
    }
    if (version < VERSION_OLDEST || version > VERSION) {
        error_set(err, "the store has version %llu; this stoke reads versions %d to %d",
                  (unsigned long long)version, VERSION_OLDEST, VERSION);
        return error_hint(err, "use the stoke that wrote it, or start a new store");
    }
    if (!count_expected(s, &count) || count != tables_of(version) + 1) {
        int code = sqlite3_errcode(s->db);
        s->damaged |= code == SQLITE_OK || code == SQLITE_ROW || code == SQLITE_DONE;
        error_set(err, "the tables of the store do not match its version");
        return error_hint(err, "the file is damaged, or another program changed it");
    }
    s->version = version;
    return true;
}
