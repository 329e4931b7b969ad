/* SPDX-License-Identifier: Apache-2.0 */
#include "store/sqlite/parts.h"
#include <errno.h>
#include <string.h>

static const char *const texts[SQL_COUNT] = {
    [SQL_BEGIN] = "BEGIN IMMEDIATE",
    [SQL_COMMIT] = "COMMIT",
    [SQL_ROLLBACK] = "ROLLBACK",
    [SQL_FIND_MODULE] = "SELECT id FROM module WHERE path=?1 AND build_id=?2",
    [SQL_ADD_MODULE] = "INSERT INTO module(path, build_id) VALUES(?1, ?2)",
    [SQL_FIND_FRAME] = "SELECT id FROM frame WHERE hash=?1",
    [SQL_ADD_FRAME] = "INSERT INTO frame(hash, kind, name, module, file, line, offset) "
                      "VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7)",
    [SQL_ADD_STACKS] = "INSERT INTO stacks(first, count, era, start, data) "
                       "VALUES(?1, ?2, ?3, ?4, ?5)",
    [SQL_LIST_STACKS] = "SELECT first, count FROM stacks WHERE first>=?1 ORDER BY first",
    [SQL_READ_PIECES] = "SELECT first, count, data FROM stacks WHERE first>=?1 "
                        "AND first<?2 ORDER BY first",
    [SQL_REMOVE_PIECES] = "DELETE FROM stacks WHERE first>?1 AND first<?2",
    [SQL_CHANGE_PIECE] =
        "UPDATE stacks SET count=?3, data=?4 WHERE first=?1 AND first<?2",
    [SQL_ADD_SYMBOL] = "INSERT OR REPLACE INTO symbol(module, start, end, name) "
                       "VALUES(?1, ?2, ?3, ?4)",
    [SQL_FIND_SERIES] = "SELECT id FROM series WHERE labels=?1",
    [SQL_ADD_SERIES] = "INSERT INTO series(labels) VALUES(?1)",
    [SQL_ADD_WINDOW] = "INSERT INTO window(start, end, rate, rows, samples, lost, data) "
                       "VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7)",
    [SQL_READ_WINDOWS] = "SELECT start, end, rate, lost, data FROM window "
                         "WHERE start < ?2 AND end > ?1 AND start > ?3 "
                         "ORDER BY start, id",
    [SQL_SUM_WINDOWS] = "SELECT count(*), sum(rows), sum(samples), sum(lost), min(rate), "
                        "max(rate), min(start), max(end) FROM window "
                        "WHERE start>=?1 AND start<?2",
    [SQL_LIST_WINDOWS] = "SELECT start, end, rate, lost, data FROM window "
                         "WHERE start>=?1 AND start<?2 ORDER BY start, id",
    [SQL_LIST_RATES] = "SELECT start, rate FROM window WHERE start>=?1 AND start<?2 "
                       "ORDER BY start, id",
    [SQL_REMOVE_WINDOWS] = "DELETE FROM window WHERE start>=?1 AND start<?2",
    [SQL_READ_STACK] = "SELECT parent, frame FROM stack WHERE id=?1",
    [SQL_READ_STACKS] = "SELECT first, count, data FROM stacks WHERE first <= ?1 "
                        "ORDER BY first DESC LIMIT 1",
    [SQL_READ_FRAME] =
        "SELECT kind, name, module, file, line, offset FROM frame WHERE id=?1",
    [SQL_READ_MODULE] = "SELECT path, build_id FROM module WHERE id=?1",
    [SQL_READ_SYMBOL] = "SELECT name, end FROM symbol WHERE module=?1 AND start<=?2 "
                        "ORDER BY start DESC LIMIT 1",
    [SQL_READ_SERIES] = "SELECT labels FROM series WHERE id=?1",
    [SQL_ADD_METRICS] = "INSERT OR REPLACE INTO metrics(step, start, data) "
                        "VALUES(?1, ?2, ?3)",
    [SQL_FIND_METRICS] = "SELECT data FROM metrics WHERE step=?1 AND start=?2",
    [SQL_READ_METRICS] = "SELECT start, data FROM metrics WHERE step=?1 AND start>?2 "
                         "AND start<?3 ORDER BY start",
    [SQL_ADD_ROLLUP] = "INSERT OR REPLACE INTO rollup(start, step, rate, rows, samples, "
                       "lost, data) VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7)",
    [SQL_READ_ROLLUP] = "SELECT rate, lost, data FROM rollup WHERE start=?1 AND step=?2",
    [SQL_READ_ROLLUPS] = "SELECT start, step, rate, lost, data FROM rollup "
                         "WHERE start>=?1 AND start<?2 AND start+step<=?2 "
                         "ORDER BY start, step DESC",
    [SQL_REMOVE_ROLLUPS] = "DELETE FROM rollup WHERE start<=?2 AND start+step>?1",
};

/* Why a file could not be written: the last error of the log, or else of the store. */
static int system_reason(struct sqlite_store *s)
{
    static const int which[] = {SQLITE_FCNTL_JOURNAL_POINTER, SQLITE_FCNTL_FILE_POINTER};
    int reason = 0;
    for (size_t i = 0; i < 2 && !reason; i++) {
        sqlite3_file *file = NULL;
        sqlite3_file_control(s->db, "main", which[i], (void *)&file);
        if (file && file->pMethods)
            file->pMethods->xFileControl(file, SQLITE_FCNTL_LAST_ERRNO, &reason);
    }
    return reason;
}

bool sqlite_failed(struct sqlite_store *s, const char *what, struct error *err)
{
    int code = s->db ? sqlite3_errcode(s->db) : SQLITE_CANTOPEN;
    int reason = s->db && code == SQLITE_IOERR ? system_reason(s) : 0;
    error_set(err, "%s: %s", what,
              reason  ? strerror(reason) /* SQLite's text is only "disk I/O error" */
              : s->db ? sqlite3_errmsg(s->db)
                      : "out of memory");
    format_text(err->file, sizeof err->file, "%s", s->location);
    s->damaged |= code == SQLITE_CORRUPT || code == SQLITE_NOTADB;
    if (code == SQLITE_FULL)
        error_hint(err, "the disk is full: free some space");
    else if (reason == EROFS)
        error_hint(err,
                   "the file system is read-only: see the log of the kernel (dmesg) for "
                   "faults of the disk");
    else if (code == SQLITE_CORRUPT || code == SQLITE_NOTADB)
        error_hint(err, "the file is not a store, or is damaged: move it away, and stoke "
                        "daemon starts a new one");
    else if (code == SQLITE_READONLY || code == SQLITE_CANTOPEN || code == SQLITE_PERM)
        error_hint(err, "check the permissions of the file and its folder; --store FILE "
                        "names another one");
    return false;
}

bool sqlite_run(struct sqlite_store *s, const char *sql, struct error *err)
{
    return sqlite3_exec(s->db, sql, NULL, NULL, NULL) == SQLITE_OK ||
           sqlite_failed(s, "cannot access the store", err);
}

bool sqlite_number(struct sqlite_store *s, const char *sql, uint64_t *value)
{
    sqlite3_stmt *q;
    if (sqlite3_prepare_v2(s->db, sql, -1, &q, NULL) != SQLITE_OK)
        return false;
    bool ok = sqlite3_step(q) == SQLITE_ROW;
    if (ok)
        *value = sqlite_u64(q, 0);
    sqlite3_finalize(q);
    return ok;
}

sqlite3_stmt *sqlite_prepare(struct sqlite_store *s, enum sqlite_statement which,
                             struct error *err)
{
    sqlite3_stmt **q = &s->statements[which];
    if (*q) {
        sqlite3_reset(*q);
        return *q;
    }
    if (sqlite3_prepare_v3(s->db, texts[which], -1, SQLITE_PREPARE_PERSISTENT, q, NULL) ==
        SQLITE_OK)
        return *q;
    sqlite_failed(s, "cannot access the store", err);
    return NULL;
}

void sqlite_finalize(struct sqlite_store *s)
{
    for (size_t i = 0; i < SQL_COUNT; i++) {
        sqlite3_finalize(s->statements[i]);
        s->statements[i] = NULL;
    }
}
