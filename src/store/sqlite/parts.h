/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of the SQLite store share. stoke-store(5) describes the tables.
 *
 * The content of the file is hostile: tables must be exactly those of schema.c, so that no
 * view or trigger runs; ids are bounded; a stack's parent has a smaller id. */
#ifndef STOKE_STORE_SQLITE_PARTS_H
#define STOKE_STORE_SQLITE_PARTS_H

#include "base/idmap.h"
#include "base/trie.h"
#include "store/stacks.h"
#include "store/store.h"
#include <sqlite3.h>

/* Ids are dense, so that a reader can use arrays. Those of stacks count up for as long as the
 * store exists, and the smaller ones are removed. */
#define SQLITE_STORE_ID_MAX ((uint64_t)1 << 28)
#define SQLITE_STACK_ID_MAX ((uint64_t)UINT32_MAX - STORE_STACKS_MAX)

/* No window is longer, so that an index by their starts finds those of a time. */
#define SQLITE_WINDOW_MAX (7200 * STORE_SECOND)

/* Statements of the writer, prepared once. */
enum sqlite_statement {
    SQL_BEGIN,
    SQL_COMMIT,
    SQL_ROLLBACK,
    SQL_FIND_MODULE,
    SQL_ADD_MODULE,
    SQL_FIND_FRAME,
    SQL_ADD_FRAME,
    SQL_ADD_STACKS,
    SQL_LIST_STACKS,
    SQL_READ_PIECES,
    SQL_REMOVE_PIECES,
    SQL_CHANGE_PIECE,
    SQL_ADD_SYMBOL,
    SQL_FIND_SERIES,
    SQL_ADD_SERIES,
    SQL_ADD_WINDOW,
    SQL_READ_WINDOWS,
    SQL_SUM_WINDOWS,
    SQL_LIST_WINDOWS,
    SQL_LIST_RATES,
    SQL_REMOVE_WINDOWS,
    SQL_READ_STACK,
    SQL_READ_STACKS,
    SQL_READ_FRAME,
    SQL_READ_MODULE,
    SQL_READ_SYMBOL,
    SQL_READ_SERIES,
    SQL_ADD_METRICS,
    SQL_FIND_METRICS,
    SQL_READ_METRICS,
    SQL_ADD_ROLLUP,
    SQL_READ_ROLLUP,
    SQL_READ_ROLLUPS,
    SQL_REMOVE_ROLLUPS,
    SQL_COUNT
};

/* Ids that the writer knows, so that most items need no query. They are forgotten when a
 * transaction fails, or when there are too many. */
struct sqlite_known {
    struct arena arena;
    struct trie stacks;          /* of the era: the first one is node 1 */
    struct idmap frames, series; /* by a keyed hash of their content */
    uint64_t era;                /* first id of the stacks that are known */
    uint64_t era_start;          /* ns: when it began; 0: nothing was read yet */
    uint64_t next;               /* id of the next new stack; 0: nothing was read yet */
    uint64_t newest;             /* ns: the latest start of a window so far */
};

#define SQLITE_ROLLUPS 2 /* of hours, of days */

/* The state of the log: frames are pages that a transaction wrote. */
struct sqlite_log {
    uint32_t frames;
    uint32_t backfilled; /* of these, the store itself has them */
    uint32_t sums[2], salts[2];
};

struct sqlite_store {
    struct store base; /* first */
    uint64_t version;  /* of the file */
    struct sqlite_known known;
    uint64_t pieces;                 /* of stacks, added since they were packed */
    uint64_t packed;                 /* spans of windows (pack_windows.c) */
    bool retained;                   /* removals were completed since it was opened */
    unsigned turn;                   /* the part of the upkeep that is next (retain.c) */
    uint64_t rolled[SQLITE_ROLLUPS]; /* seconds: sums are made from here on */
    sqlite3 *db;
    sqlite3_stmt *statements[SQL_COUNT];
    int lock;       /* file descriptor; -1: none */
    int own;        /* of the store itself, with a lock on a byte of it; -1: none */
    bool abandoned; /* the process that wrote it before was killed: not reported yet */
    int file, log, index;     /* descriptors of the writer that only name the files; -1 */
    struct sqlite_log noted;  /* after the last window */
    bool damaged;             /* SQLite reported it, or the tables show it */
    unsigned aside;           /* damaged files that were moved aside */
    struct sqlite_copy *copy; /* that is being written (copy.h), or NULL */
    char location[4096];
};

static inline struct sqlite_store *sqlite_store_of(struct store *s)
{
    return (struct sqlite_store *)(void *)s;
}

/* Sets err from the database's last error, with a hint for a full disk, a read-only or
 * damaged file. Returns false. `what`: "cannot write". */
bool sqlite_failed(struct sqlite_store *s, const char *what, struct error *err);

/* Runs statements without parameters and results. */
bool sqlite_run(struct sqlite_store *s, const char *sql, struct error *err);

/* Returns a single number. False if there is none. */
bool sqlite_number(struct sqlite_store *s, const char *sql, uint64_t *value);

/* The statement, ready to bind; NULL, with err set, if it cannot be prepared. */
sqlite3_stmt *sqlite_prepare(struct sqlite_store *s, enum sqlite_statement which,
                             struct error *err);
void sqlite_finalize(struct sqlite_store *s);

static inline void sqlite_bind_bytes(sqlite3_stmt *q, int at, struct str bytes)
{
    sqlite3_bind_blob64(q, at, bytes.len ? bytes.ptr : "", bytes.len, SQLITE_STATIC);
}

/* A column's bytes, valid until the next step. */
static inline struct str sqlite_bytes(sqlite3_stmt *q, int column)
{
    const char *bytes = sqlite3_column_blob(q, column);
    int size = sqlite3_column_bytes(q, column);
    return bytes && size > 0 ? (struct str){bytes, (size_t)size} : STR("");
}

static inline uint64_t sqlite_u64(sqlite3_stmt *q, int column)
{
    sqlite3_int64 v = sqlite3_column_int64(q, column);
    return v > 0 ? (uint64_t)v : 0;
}

/* Binds the span, ns, whose windows SQL_READ_WINDOWS reads. */
/* The losses of a window in the part [from, to) of its time: its losses scaled by the overlap,
 * rounded so that those of parts that follow one another add up to all of them. */
uint64_t sqlite_lost_in(const struct store_span *window, uint64_t lost, uint64_t from,
                        uint64_t to);

void sqlite_bind_windows(sqlite3_stmt *q, uint64_t from, uint64_t to);

/* The name of the files of SQLite (sqlite3_vfs) that stores use: a truncated index of the log does
 * not end the process (index.c). */
const char *sqlite_guarded_files(void);

/* Whether that happened: all operations fail until the connection is closed. */
bool sqlite_index_is_lost(sqlite3_file *file);

enum sqlite_log_fault {
    SQLITE_LOG_RIGHT,
    SQLITE_LOG_NO_INDEX, /* it was truncated, or overwritten; opened again, there is a new one */
    SQLITE_LOG_DAMAGED /* the end of the log, or all of it, is lost */
};

/* Notes the state of the log, which the next check expects. */
void sqlite_log_note(struct sqlite_store *s);

/* Checks the log, outside of transactions. After a fault, open the store again. */
enum sqlite_log_fault sqlite_log_check(struct sqlite_store *s);

/* Creates the tables in a new file; otherwise checks that the file is a store of this
 * version. */
bool sqlite_schema_create(struct sqlite_store *s, struct error *err);
bool sqlite_schema_check(struct sqlite_store *s, struct error *err);

/* Forgets what the writer knows: the next window begins with what is stored. */
void sqlite_forget(struct sqlite_store *s);

bool sqlite_store_add(struct store *s, const struct store_window *w, struct error *err);
bool sqlite_store_read(struct store *s, const struct store_span *span, struct builder *b,
                       struct error *err);

/* Adds blocks of metrics, in the transaction of the caller. */
bool sqlite_add_metrics(struct sqlite_store *s, const struct store_metric_block *blocks,
                        size_t count, struct error *err);
bool sqlite_store_read_metrics(struct store *base, const struct store_span *span,
                               uint32_t step,
                               bool (*each)(void *context,
                                            const struct store_metric_block *b),
                               void *context, struct error *err);
/* The upkeep of a store, in parts of a bounded time: a part sets *done if there was something
 * to do. */

/* Makes the next sum of an hour that is complete, or of a day (rollup.c). */
bool sqlite_sum_hour(struct sqlite_store *s, bool *done, struct error *err);
bool sqlite_sum_day(struct sqlite_store *s, bool *done, struct error *err);

/* Makes large pieces of stacks of many small ones, now and then (pack_stacks.c). */
bool sqlite_pack_stacks(struct sqlite_store *s, bool *done, struct error *err);

/* Makes one window of those of the next span that is complete (pack_windows.c). */
bool sqlite_pack_windows(struct sqlite_store *s, bool *done, struct error *err);

/* Removes the sums that contain a part of that span, ns. */
bool sqlite_remove_rollups(struct sqlite_store *s, uint64_t from, uint64_t to,
                           struct error *err);

bool sqlite_store_retain(struct store *s, const struct store_limits *limits, uint64_t now,
                         struct error *err);
bool sqlite_store_usage(struct store *s, struct store_usage *u, struct error *err);

bool sqlite_store_fix(struct store *s, char *done, size_t size, struct error *err);
bool sqlite_store_settle(struct store *s);

/* Opens the writer, creates what is missing. The lock is taken if this process does not have
 * it, also if its file was removed. */
bool sqlite_store_open_writer(struct sqlite_store *s, struct error *err);
bool sqlite_store_take_lock(struct sqlite_store *s, struct error *err);

/* Closes the database and forgets what was known of it. The lock is held. */
void sqlite_store_shut(struct sqlite_store *s);

/* The files that the writer has open, by which it sees that others have their names. */
void sqlite_files_open(struct sqlite_store *s);
void sqlite_files_close(struct sqlite_store *s);
bool sqlite_file_is(int fd, const char *path);

#endif
