/* SPDX-License-Identifier: Apache-2.0 */
/* The store in one SQLite file (WAL). stoke-store(5) specifies it. */
#include "os/file.h"
#include "os/file_lock.h"
#include "store/sqlite/copy.h"
#include "store/sqlite/parts.h"
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define BUSY_MS 2000
#define BLOB_MAX ((int)256 << 20)

/* Limits what a hostile file can do; bounds memory. */
static bool configure(struct sqlite_store *s, struct error *err)
{
    sqlite3_busy_timeout(s->db, BUSY_MS);
    sqlite3_limit(s->db, SQLITE_LIMIT_LENGTH, BLOB_MAX);
    sqlite3_db_config(s->db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
    sqlite3_db_config(s->db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
    sqlite3_db_config(s->db, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, NULL);
    sqlite3_db_config(s->db, SQLITE_DBCONFIG_ENABLE_VIEW, 0, NULL);
    return sqlite_run(s,
                      "PRAGMA cell_size_check=ON; PRAGMA mmap_size=0;"
                      "PRAGMA cache_size=-1024; PRAGMA temp_store=MEMORY",
                      err);
}

static bool open_file(struct sqlite_store *s, const char *name, int flags,
                      struct error *err)
{
    return sqlite3_open_v2(name, &s->db, flags | SQLITE_OPEN_NOMUTEX,
                           sqlite_guarded_files()) == SQLITE_OK ||
           sqlite_failed(s, "cannot open the store", err);
}

/* One process writes a store. The lock is a file of its own: closing any descriptor of
 * the store would drop SQLite's own locks. */
bool sqlite_store_take_lock(struct sqlite_store *s, struct error *err)
{
    char path[4200];
    format_text(path, sizeof path, "%s.lock", s->location);
    if (sqlite_file_is(s->lock, path))
        return true;
    bool abandoned;
    int lock = os_file_lock_take(path, &abandoned, err);
    if (lock >= 0) {
        s->abandoned |= abandoned;
        os_file_lock_release(s->lock);
        s->lock = lock;
        return true;
    }
    format_text(err->file, sizeof err->file, "%s", s->location);
    return false;
}

/* SQLite's locks are bytes from 2^30 on, so this byte is not one of them. */
#define OWN_BYTE ((int64_t)1 << 62)

/* The file may have several names: links, and mounts of its folder elsewhere. The file of the lock
 * belongs to one of them, this lock to the file. */
static bool take_file(struct sqlite_store *s, struct error *err)
{
    int own;
    if (sqlite_file_is(s->own, s->location))
        return true;
    if (!os_file_lock_byte(s->location, OWN_BYTE, &own, err)) {
        format_text(err->file, sizeof err->file, "%s", s->location);
        return false;
    }
    os_file_unlock_byte(s->own);
    s->own = own;
    return true;
}

bool sqlite_store_open_writer(struct sqlite_store *s, struct error *err)
{
    if (!os_make_folders(s->location, err) || !sqlite_store_take_lock(s, err))
        return false;
    os_create_private(s->location);
    /* a short log: all of it is read again before each window (sqlite_log_check) */
    bool ok =
        take_file(s, err) &&
        open_file(s, s->location, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, err) &&
        configure(s, err) && sqlite_schema_create(s, err) &&
        sqlite_run(s,
                   "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL;"
                   "PRAGMA wal_autocheckpoint=64; PRAGMA journal_size_limit=1048576",
                   err) &&
        take_file(s, err); /* SQLite has created the file that a link names */
    if (ok) {
        sqlite_files_open(s);
        sqlite_log_note(s);
    }
    return ok;
}

/* A file in a folder that this user may not write, and that no daemon writes now: SQLite
 * cannot make its index of the log, and there is no log. */
static bool open_unchanging(struct sqlite_store *s, struct error *err)
{
    char name[3 * sizeof s->location + 32];
    size_t n = format_text(name, sizeof name, "file:");
    sqlite3_close(s->db);
    s->db = NULL;
    for (const char *c = s->location; *c; c++)
        n += format_text(name + n, sizeof name - n, "%%%x%x", (unsigned char)*c >> 4,
                         *c & 15);
    format_text(name + n, sizeof name - n, "?immutable=1");
    return open_file(s, name, SQLITE_OPEN_READONLY | SQLITE_OPEN_URI, err) &&
           configure(s, err) && sqlite_schema_check(s, err);
}

/* A reader that may write the file removes the log when it is the last one to close. */
static bool open_reader(struct sqlite_store *s, struct error *err)
{
    if (access(s->location, F_OK) != 0) {
        error_set(err, "there is no store");
        format_text(err->file, sizeof err->file, "%s", s->location);
        return error_hint(err,
                          "stoke daemon --store FILE writes one; --store FILE names it");
    }
    /* names are read in any order */
    if (open_file(s, s->location, SQLITE_OPEN_READWRITE, err) && configure(s, err) &&
        sqlite_run(s, "PRAGMA query_only=ON; PRAGMA cache_size=-8192", err) &&
        sqlite_schema_check(s, err))
        return true;
    return s->db && sqlite3_errcode(s->db) == SQLITE_CANTOPEN && open_unchanging(s, err);
}

/* SQLite names the log after the file to which a link leads. */
static void set_location(struct sqlite_store *s, const char *location)
{
    struct stat facts;
    bool is_link = lstat(location, &facts) == 0 && S_ISLNK(facts.st_mode);
    char *target = is_link ? realpath(location, NULL) : NULL;
    bool fits = target && strlen(target) < sizeof s->location;
    format_text(s->location, sizeof s->location, "%s", fits ? target : location);
    free(target);
}

static bool open_store(struct store *base, const char *location, enum store_mode mode,
                       struct error *err)
{
    struct sqlite_store *s = sqlite_store_of(base);
    s->lock = s->own = s->file = s->log = s->index = -1;
    if (strlen(location) >= sizeof s->location)
        return error_set(err, "the name of the store is too long");
    set_location(s, location);
    bool ok = mode != STORE_READ ? sqlite_store_open_writer(s, err) : open_reader(s, err);
    if (!ok && err->file[0] == 0)
        format_text(err->file, sizeof err->file, "%s", location);
    return ok;
}

void sqlite_store_shut(struct sqlite_store *s)
{
    if (s->copy)
        sqlite_copy_stop(s->copy);
    s->copy = NULL;
    sqlite_finalize(s);
    sqlite_forget(s);
    sqlite3_close(s->db);
    sqlite_files_close(s);
    s->db = NULL;
    s->damaged = s->retained = false;
    memset(s->rolled, 0, sizeof s->rolled);
    s->packed = s->pieces = 0;
}

static void close_store(struct store *base)
{
    struct sqlite_store *s = sqlite_store_of(base);
    if (s->db && s->file >= 0)
        sqlite_log_check(s); /* SQLite writes it into the store now */
    sqlite_store_shut(s);
    os_file_unlock_byte(s->own); /* without a connection: it drops SQLite's locks */
    os_file_lock_release(s->lock);
}

const struct store_kind store_kind_sqlite = {
    .name = "sqlite",
    .size = sizeof(struct sqlite_store),
    .open = open_store,
    .close = close_store,
    .add = sqlite_store_add,
    .read = sqlite_store_read,
    .read_metrics = sqlite_store_read_metrics,
    .retain = sqlite_store_retain,
    .usage = sqlite_store_usage,
    .fix = sqlite_store_fix,
    .settle = sqlite_store_settle,
};
