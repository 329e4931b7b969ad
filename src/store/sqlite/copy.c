/* SPDX-License-Identifier: Apache-2.0 */
#include "store/sqlite/copy.h"
#include "os/file.h"
#include "os/machine.h"
#include "os/thread.h"
#include <sqlite3.h>
#include <stdlib.h>
#include <unistd.h>

#define STEP_PAGES 256 /* between two checks whether it must stop */

struct sqlite_copy {
    struct os_thread thread;
    struct os_lock lock;
    struct os_condition change;
    sqlite3 *source, *target;
    char path[4300];
    /* under the lock */
    bool stops, ended, failed;
    unsigned percent;
    struct error err;
};

static bool open_target(struct sqlite_copy *c)
{
    return sqlite3_open_v2(c->path, &c->target,
                           SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE |
                               SQLITE_OPEN_NOMUTEX,
                           NULL) == SQLITE_OK;
}

/* Notes how much is done. False if the copy must stop. */
static bool goes_on(struct sqlite_copy *c, sqlite3_backup *b)
{
    int all = sqlite3_backup_pagecount(b), left = sqlite3_backup_remaining(b);
    os_lock_acquire(&c->lock);
    c->percent = all > 0 ? (unsigned)(100 * (int64_t)(all - left) / all) : 0;
    bool stops = c->stops;
    os_lock_release(&c->lock);
    return !stops;
}

/* The last step also waits until the disk has the file. */
static bool copy_pages(struct sqlite_copy *c)
{
    sqlite3_backup *b = sqlite3_backup_init(c->target, "main", c->source, "main");
    int code = SQLITE_OK;
    if (!b)
        return false;
    while (code == SQLITE_OK && goes_on(c, b))
        code = sqlite3_backup_step(b, STEP_PAGES);
    return sqlite3_backup_finish(b) == SQLITE_OK && code == SQLITE_DONE;
}

static void run(void *context)
{
    struct sqlite_copy *c = context;
    bool ok = open_target(c) && copy_pages(c);
    os_lock_acquire(&c->lock);
    if (!ok)
        error_set(&c->err, "it was removed, and cannot be written again: %s",
                  c->target ? sqlite3_errmsg(c->target) : "out of memory");
    c->failed = !ok;
    c->ended = true;
    os_condition_wake(&c->change);
    os_lock_release(&c->lock);
}

static void destroy(struct sqlite_copy *c)
{
    os_thread_join(&c->thread);
    sqlite3_close(c->target);
    os_condition_deinit(&c->change);
    os_lock_deinit(&c->lock);
    free(c);
}

struct sqlite_copy *sqlite_copy_begin(struct sqlite3 *source, const char *path,
                                      struct error *err)
{
    struct sqlite_copy *c = calloc(1, sizeof *c);
    if (!c || !os_lock_init(&c->lock) || !os_condition_init(&c->change)) {
        error_memory(err);
        goto failed;
    }
    c->source = source;
    format_text(c->path, sizeof c->path, "%s", path);
    if (!os_make_folders(path, err))
        goto failed;
    unlink(path);
    os_create_private(path);
    if (os_thread_start(&c->thread, run, c, err))
        return c;
    unlink(path);
failed:
    if (c)
        destroy(c);
    return NULL;
}

bool sqlite_copy_wait(struct sqlite_copy *c, uint64_t until)
{
    os_lock_acquire(&c->lock);
    while (!c->ended && os_clock_monotonic() < until)
        os_condition_wait(&c->change, &c->lock, until);
    bool ended = c->ended;
    os_lock_release(&c->lock);
    return ended;
}

unsigned sqlite_copy_percent(struct sqlite_copy *c)
{
    os_lock_acquire(&c->lock);
    unsigned percent = c->percent;
    os_lock_release(&c->lock);
    return percent;
}

bool sqlite_copy_end(struct sqlite_copy *c, struct error *err)
{
    sqlite_copy_wait(c, UINT64_MAX);
    bool ok = !c->failed;
    if (!ok) {
        *err = c->err;
        error_hint(err, "check the space and the permissions of its folder");
        unlink(c->path);
    }
    destroy(c);
    return ok;
}

void sqlite_copy_stop(struct sqlite_copy *c)
{
    os_lock_acquire(&c->lock);
    c->stops = true;
    os_lock_release(&c->lock);
    sqlite_copy_wait(c, UINT64_MAX);
    unlink(c->path);
    destroy(c);
}
