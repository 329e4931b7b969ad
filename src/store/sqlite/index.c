/* SPDX-License-Identifier: Apache-2.0 */
/* The index of the log, which SQLite maps into memory (NAME-shm). Other programs may truncate that
 * file, or write into it. SQLite's own access to a page that is not in the file any more would end
 * the process. So the connections of a store use SQLite's own files with guarded mappings: after
 * a truncation, memory of this process replaces the index, and each operation of the connections
 * that use it fails, so that nothing that the index does not show reaches the store. Opened again,
 * SQLite makes the index from the log. */
#include "os/guard.h"
#include "store/sqlite/parts.h"
#include <stdlib.h>
#include <string.h>

#define HEADER 96 /* two copies; without a valid one, SQLite makes the index again */

/* A part of an index. All connections of the process to one store share it. */
struct region {
    struct region *next;
    char *start;
    size_t users;
    struct os_guard *guard;
};

/* What a connection uses, by its file. */
struct use {
    struct use *next;
    sqlite3_file *file;
    struct region *region;
    int number;
};

static struct region *regions;
static struct use *uses;
static const sqlite3_io_methods *original;
static sqlite3_io_methods guarded;
static sqlite3_vfs *base;

static void acquire(void)
{
    sqlite3_mutex_enter(sqlite3_mutex_alloc(SQLITE_MUTEX_STATIC_APP1));
}

static void release(void)
{
    sqlite3_mutex_leave(sqlite3_mutex_alloc(SQLITE_MUTEX_STATIC_APP1));
}

/* --- Regions; under the lock --------------------------------------------------------- */

static struct use *find_use(sqlite3_file *file, int number)
{
    struct use *u = uses;
    while (u && (u->file != file || u->number != number))
        u = u->next;
    return u;
}

static struct region *find_region(char *start, size_t size)
{
    struct region *r = regions;
    while (r && r->start != start)
        r = r->next;
    if (r || !(r = calloc(1, sizeof *r)))
        return r;
    *r = (struct region){
        .next = regions, .start = start, .guard = os_guard_shared(start, size, HEADER)};
    if (!r->guard) {
        free(r);
        return NULL;
    }
    return regions = r;
}

static bool add_use(sqlite3_file *file, int number, char *start, size_t size)
{
    if (find_use(file, number))
        return true;
    struct use *u = calloc(1, sizeof *u);
    struct region *r = u ? find_region(start, size) : NULL;
    if (!r) {
        free(u);
        return false;
    }
    r->users++;
    *u = (struct use){.next = uses, .file = file, .region = r, .number = number};
    uses = u;
    return true;
}

static void drop_region(struct region *gone)
{
    struct region **r = &regions;
    if (--gone->users)
        return;
    while (*r != gone)
        r = &(*r)->next;
    *r = gone->next;
    os_guard_end(gone->guard);
    free(gone);
}

static void drop_uses(sqlite3_file *file)
{
    for (struct use **u = &uses; *u;) {
        struct use *gone = *u;
        if (gone->file != file) {
            u = &gone->next;
            continue;
        }
        *u = gone->next;
        drop_region(gone->region);
        free(gone);
    }
}

static bool is_lost(sqlite3_file *file)
{
    bool lost = false;
    for (struct use *u = uses; u; u = u->next)
        lost |= u->file == file && os_guard_was_truncated(u->region->guard);
    return lost;
}

bool sqlite_index_is_lost(sqlite3_file *file)
{
    acquire();
    bool lost = is_lost(file);
    release();
    return lost;
}

/* --- The files of SQLite, with guards ------------------------------------------------- */

static int map_index(sqlite3_file *file, int number, int size, int extends,
                     void volatile **start)
{
    acquire();
    int code = is_lost(file) ? SQLITE_IOERR_SHMMAP
                             : original->xShmMap(file, number, size, extends, start);
    if (code == SQLITE_OK && *start &&
        !add_use(file, number, (char *)(uintptr_t)*start, (size_t)size))
        code = SQLITE_NOMEM;
    release();
    return code;
}

/* The header may have been written after other parts were lost: it would be valid without them. */
static void clear_header(sqlite3_file *file)
{
    acquire();
    struct use *first = find_use(file, 0);
    if (first)
        memset(first->region->start, 0, HEADER);
    release();
}

static int lock_index(sqlite3_file *file, int first, int count, int flags)
{
    bool lost = sqlite_index_is_lost(file);
    if (lost && flags & SQLITE_SHM_LOCK)
        return SQLITE_IOERR_SHMLOCK;
    if (lost)
        clear_header(file);
    return original->xShmLock(file, first, count, flags);
}

/* In one step: a connection that begins now has the mappings of others, or new ones. */
static int unmap_index(sqlite3_file *file, int removes)
{
    acquire();
    drop_uses(file);
    int code = original->xShmUnmap(file, removes);
    release();
    return code;
}

static int lock_file(sqlite3_file *file, int level)
{
    return sqlite_index_is_lost(file) ? SQLITE_IOERR_LOCK : original->xLock(file, level);
}

static int write_file(sqlite3_file *file, const void *bytes, int size, sqlite3_int64 at)
{
    return sqlite_index_is_lost(file) ? SQLITE_IOERR_WRITE
                                      : original->xWrite(file, bytes, size, at);
}

static int sync_file(sqlite3_file *file, int flags)
{
    return sqlite_index_is_lost(file) ? SQLITE_IOERR_FSYNC : original->xSync(file, flags);
}

static int truncate_file(sqlite3_file *file, sqlite3_int64 size)
{
    return sqlite_index_is_lost(file) ? SQLITE_IOERR_TRUNCATE
                                      : original->xTruncate(file, size);
}

static void guard_methods(sqlite3_file *file)
{
    acquire();
    if (!original && file->pMethods->iVersion >= 2 && file->pMethods->xShmMap) {
        original = file->pMethods;
        guarded = *original;
        guarded.xShmMap = map_index;
        guarded.xShmLock = lock_index;
        guarded.xShmUnmap = unmap_index;
        guarded.xLock = lock_file;
        guarded.xWrite = write_file;
        guarded.xSync = sync_file;
        guarded.xTruncate = truncate_file;
    }
    if (file->pMethods == original)
        file->pMethods = &guarded;
    release();
}

static int open_guarded(sqlite3_vfs *vfs, const char *name, sqlite3_file *file, int flags,
                        int *got)
{
    (void)vfs;
    int code = base->xOpen(base, name, file, flags, got);
    if (code == SQLITE_OK && flags & SQLITE_OPEN_MAIN_DB)
        guard_methods(file);
    return code;
}

const char *sqlite_guarded_files(void)
{
    static sqlite3_vfs vfs;
    if (sqlite3_initialize() != SQLITE_OK)
        return NULL;
    acquire();
    if (!base && (base = sqlite3_vfs_find(NULL)) != NULL) {
        vfs = *base;
        vfs.zName = "stoke";
        vfs.pNext = NULL;
        vfs.xOpen = open_guarded;
        sqlite3_vfs_register(&vfs, 0);
    }
    release();
    return base ? vfs.zName : NULL;
}
