/* SPDX-License-Identifier: Apache-2.0 */
/* What happens to the file of a store while it is written: it is removed, moved, replaced or
 * damaged. The open database still has the file that was removed, so it can be written again. */
#include "os/machine.h"
#include "store/sqlite/copy.h"
#include "store/sqlite/parts.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define ASIDE_MAX 16 /* damaged files; more would fill a disk that damages all of them */
#define PATH_SIZE 4300
#define COPY_WAIT (STORE_SECOND / 5) /* as long as sampling may wait */

static const char magic[16] = "SQLite format 3";

static const char *path_of(const struct sqlite_store *s, const char *suffix,
                           char path[PATH_SIZE])
{
    format_text(path, PATH_SIZE, "%s%s", s->location, suffix);
    return path;
}

/* --- Which files are open ----------------------------------------------------------- */

/* A descriptor that only names the file: closing it does not drop SQLite's locks. */
static int name_file(const char *path)
{
    return open(path, O_PATH | O_CLOEXEC);
}

static void forget_file(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

void sqlite_files_open(struct sqlite_store *s)
{
    char path[PATH_SIZE];
    s->file = name_file(s->location);
    s->log = name_file(path_of(s, "-wal", path));
    s->index = name_file(path_of(s, "-shm", path));
}

void sqlite_files_close(struct sqlite_store *s)
{
    forget_file(&s->file);
    forget_file(&s->log);
    forget_file(&s->index);
}

bool sqlite_file_is(int fd, const char *path)
{
    struct stat open_one, named;
    return fd >= 0 && fstat(fd, &open_one) == 0 && stat(path, &named) == 0 &&
           open_one.st_dev == named.st_dev && open_one.st_ino == named.st_ino;
}

static bool is_removed(int fd)
{
    struct stat facts;
    return fd < 0 || fstat(fd, &facts) != 0 || facts.st_nlink == 0;
}

/* The beginning of the file: SQLite itself reads it rarely. */
static bool has_header(struct sqlite_store *s)
{
    char head[sizeof magic];
    sqlite3_file *file = NULL;
    sqlite3_file_control(s->db, "main", SQLITE_FCNTL_FILE_POINTER, (void *)&file);
    if (!file || !file->pMethods)
        return true;
    int code = file->pMethods->xRead(file, head, sizeof head, 0);
    return code == SQLITE_IOERR_SHORT_READ
               ? false
               : code != SQLITE_OK || memcmp(head, magic, sizeof magic) == 0;
}

/* --- Moving files aside ------------------------------------------------------------- */

static bool cannot_move(const char *from, struct error *err)
{
    error_set(err, "cannot move '%s' aside: %s", from, strerror(errno));
    return error_hint(err, "check the permissions of the folder");
}

/* Completes an error. Returns false. */
static bool at_location(const struct sqlite_store *s, struct error *err)
{
    format_text(err->file, sizeof err->file, "%s", s->location);
    return false;
}

#define TIME_SIZE 32

static const char *utc(time_t time, const char *format, char text[TIME_SIZE])
{
    struct tm parts;
    text[0] = '\0';
    if (gmtime_r(&time, &parts))
        strftime(text, TIME_SIZE, format, &parts);
    return text;
}

/* A name beside the store that no file has: NAME.WHAT-TIME, in UTC. */
static void aside_name(const struct sqlite_store *s, const char *what,
                       char name[PATH_SIZE])
{
    char text[TIME_SIZE];
    utc(time(NULL), "%Y%m%dT%H%M%SZ", text);
    size_t n = format_text(name, PATH_SIZE, "%s.%s-%s", s->location, what, text);
    for (unsigned i = 2; access(name, F_OK) == 0 && i < 1000; i++)
        format_text(name + n, PATH_SIZE - n, ".%u", i);
}

/* The log goes first: without it the file is an older state, but never a mixed one. */
static bool move_damaged(struct sqlite_store *s, char name[PATH_SIZE], struct error *err)
{
    static const char *const suffixes[] = {"-wal", "-shm", ""};
    char from[PATH_SIZE], to[PATH_SIZE + 8];
    if (s->aside >= ASIDE_MAX) {
        error_set(err, "the store was damaged %d times", ASIDE_MAX);
        return error_hint(err, "check the disk, and start stoke daemon again");
    }
    aside_name(s, "damaged", name);
    for (size_t i = 0; i < sizeof suffixes / sizeof *suffixes; i++) {
        format_text(to, sizeof to, "%s%s", name, suffixes[i]);
        if (rename(path_of(s, suffixes[i], from), to) != 0 && errno != ENOENT)
            return cannot_move(from, err);
    }
    s->aside++;
    return true;
}

/* --- Fixing ------------------------------------------------------------------------ */

/* Opens the store at the location, or creates a new one. A file there that is not a store is
 * moved aside. */
static bool open_again(struct sqlite_store *s, struct error *err)
{
    char name[PATH_SIZE];
    sqlite_store_shut(s);
    if (sqlite_store_open_writer(s, err))
        return true;
    bool unusable = s->damaged;
    sqlite_store_shut(s);
    if (!unusable || !move_damaged(s, name, err))
        return false;
    if (sqlite_store_open_writer(s, err))
        return true;
    sqlite_store_shut(s);
    return false;
}

static bool set_aside(struct sqlite_store *s, char *done, size_t size, struct error *err)
{
    char name[PATH_SIZE];
    if (!move_damaged(s, name, err) || !open_again(s, err))
        return false;
    format_text(done, size,
                "the store was damaged: it is now '%s', and a new one is created", name);
    return true;
}

/* Copies what is stored, as of a file that was removed, into a new file. A large store takes
 * several calls, so that sampling does not wait; false in between. */
static bool write_copy(struct sqlite_store *s, const char *path, struct error *err)
{
    if (!s->copy && !(s->copy = sqlite_copy_begin(s->db, path, err)))
        return false;
    if (sqlite_copy_wait(s->copy, os_clock_monotonic() + COPY_WAIT)) {
        struct sqlite_copy *copy = s->copy;
        s->copy = NULL;
        return sqlite_copy_end(copy, err) || at_location(s, err);
    }
    error_set(err, "it was removed, and is being written again: %u%% so far",
              sqlite_copy_percent(s->copy));
    return at_location(s, err);
}

/* What the open database has gets a name again: its old one, or one beside it if another file
 * has that. */
static bool save_removed(struct sqlite_store *s, char *done, size_t size,
                         struct error *err)
{
    char copy[PATH_SIZE], name[PATH_SIZE];
    bool taken = access(s->location, F_OK) == 0;
    if (!write_copy(s, path_of(s, ".again", copy), err))
        return false;
    if (taken)
        aside_name(s, "removed", name);
    else
        format_text(name, sizeof name, "%s", s->location);
    if (rename(copy, name) != 0)
        return cannot_move(copy, err);
    if (taken)
        format_text(done, size, "another file replaced the store, which is now '%s'",
                    name);
    else
        format_text(done, size, "the store was removed: it was written again");
    return true;
}

/* Writes the log into the file, wherever it is now. */
static bool finish_log(struct sqlite_store *s, struct error *err)
{
    return sqlite3_wal_checkpoint_v2(s->db, NULL, SQLITE_CHECKPOINT_TRUNCATE, NULL,
                                     NULL) == SQLITE_OK ||
           sqlite_failed(s, "cannot write the store", err);
}

/* A log at the location would belong to the next file there. */
static void remove_old_log(struct sqlite_store *s)
{
    char path[PATH_SIZE];
    if (sqlite_file_is(s->log, path_of(s, "-wal", path)))
        unlink(path);
    if (sqlite_file_is(s->index, path_of(s, "-shm", path)))
        unlink(path);
}

static bool follow_file(struct sqlite_store *s, char *done, size_t size,
                        struct error *err)
{
    bool ok = is_removed(s->file) ? save_removed(s, done, size, err) : finish_log(s, err);
    if (!ok)
        return false;
    if (!done[0])
        format_text(done, size, "the store was moved: another one is written at '%s'",
                    s->location);
    remove_old_log(s);
    return open_again(s, err);
}

bool sqlite_store_settle(struct store *base)
{
    struct sqlite_store *s = sqlite_store_of(base);
    return s->copy && sqlite_copy_wait(s->copy, UINT64_MAX);
}

/* What the process before had not stored when it was killed is lost. */
static void report_abandoned(struct sqlite_store *s, char *done, size_t size)
{
    char text[TIME_SIZE];
    uint64_t end = 0;
    s->abandoned = false;
    if (sqlite_number(s, "SELECT max(end) FROM window", &end) && end)
        format_text(
            done, size,
            "the previous writer of this store was killed, or the machine crashed: its "
            "last window ends at %s",
            utc((time_t)(end / STORE_SECOND), "%Y-%m-%d %H:%M:%S UTC", text));
}

/* What was stored is still there, except for the end of a damaged log. */
static bool fix_log(struct sqlite_store *s, enum sqlite_log_fault fault, char *done,
                    size_t size, struct error *err)
{
    char text[TIME_SIZE];
    uint64_t end = 0;
    if (!open_again(s, err))
        return false;
    if (fault == SQLITE_LOG_NO_INDEX)
        format_text(done, size,
                    "the index of the store's log was truncated or overwritten: it was "
                    "written again, and nothing is lost");
    else if (sqlite_number(s, "SELECT max(end) FROM window", &end) && end)
        format_text(done, size,
                    "the log of the store was damaged: what was stored after %s is lost",
                    utc((time_t)(end / STORE_SECOND), "%Y-%m-%d %H:%M:%S UTC", text));
    else
        format_text(done, size,
                    "the log of the store was damaged: the store has no window any more");
    return true;
}

static bool fix_files(struct sqlite_store *s, char *done, size_t size, struct error *err)
{
    char path[PATH_SIZE];
    if (!s->db) /* it could not be opened again */
        return open_again(s, err);
    if (!sqlite_store_take_lock(s, err))
        return false;
    if (!sqlite_file_is(s->file, s->location))
        return follow_file(s, done, size, err);
    enum sqlite_log_fault fault = sqlite_log_check(s);
    if (fault != SQLITE_LOG_RIGHT)
        return fix_log(s, fault, done, size, err);
    if (s->damaged || !has_header(s))
        return set_aside(s, done, size, err);
    /* without a log, the file system permits none, and SQLite writes the file itself */
    if (s->log < 0 || sqlite_file_is(s->log, path_of(s, "-wal", path)))
        return true;
    if (!finish_log(s, err) || !open_again(s, err))
        return false;
    format_text(done, size, "the log of the store was removed: it was written again");
    return true;
}

bool sqlite_store_fix(struct store *base, char *done, size_t size, struct error *err)
{
    struct sqlite_store *s = sqlite_store_of(base);
    done[0] = '\0';
    if (!fix_files(s, done, size, err))
        return false;
    if (s->abandoned && !done[0])
        report_abandoned(s, done, size);
    return true;
}
