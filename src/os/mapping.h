/* SPDX-License-Identifier: Apache-2.0 */
/* Whole files mapped for reading: executables, debug files, perf maps of JITs in /tmp. */
#ifndef STOKE_OS_MAPPING_H
#define STOKE_OS_MAPPING_H

#include "base/arena.h"
#include "base/error.h"
#include "os/guard.h"

struct os_mapping {
    struct str bytes;     /* the content of the file */
    struct os_guard *map; /* NULL: not mapped */
    struct arena read;    /* the content, if it was read instead of mapped */
};

#define OS_MAPPING_NONE ((struct os_mapping){STR(""), NULL, ARENA_INIT})

/* Maps a regular file; os/regular_file.h opens it, so no other kind of file is ever opened.
 * Returns false with the reason. */
bool os_mapping_open(struct os_mapping *m, const char *path, struct error *err);

/* The same for a file that must be below `folder` after resolving links. NULL:
 * anywhere, but the path itself must not be a link. */
bool os_mapping_open_below(struct os_mapping *m, const char *path, const char *folder,
                           struct error *err);

/* The same for a file in a folder where anyone can write: it must not be a link, must
 * belong to `owner` or root, and must have at most `limit` bytes. */
bool os_mapping_open_shared(struct os_mapping *m, const char *path, uint32_t owner,
                            uint64_t limit, struct error *err);

/* The same in two steps, for a file that grows and may be deleted. os_shared_open
 * returns a descriptor or -1; os_mapping_of maps the current content. Closing -1 is
 * allowed. */
int os_shared_open(const char *path, uint32_t owner, struct error *err);
bool os_mapping_of(struct os_mapping *m, int fd, uint64_t limit, struct error *err);
void os_shared_close(int fd);

/* The same for a file identified by device and inode: another file at the path is
 * rejected. */
bool os_mapping_open_inode(struct os_mapping *m, const char *path, uint32_t device_major,
                           uint32_t device_minor, uint64_t inode, struct error *err);

/* Reads a system file that cannot be mapped, such as /proc/kallsyms, at most `limit`
 * bytes. */
bool os_mapping_read(struct os_mapping *m, const char *path, size_t limit,
                     struct error *err);

/* Whether the file was truncated, and bytes were read that it no longer had: as zeros. */
static inline bool os_mapping_was_truncated(const struct os_mapping *m)
{
    return os_guard_was_truncated(m->map);
}

void os_mapping_close(struct os_mapping *m);

/* Releases the resident pages of the mapping until they are read again; the bytes stay
 * valid. */
void os_mapping_release(const struct os_mapping *m);

/* Cache files; failure only returns false. A cache belongs to this user: files of other
 * users are not read, because they could contain anything, and nothing is written below
 * a folder of another user ($HOME may be the invoking user's, as with sudo -E).
 *
 * os_cache_write writes a temporary file and renames it, creates missing folders, and
 * makes the file readable by this user only. */
bool os_cache_open(struct os_mapping *m, const char *path);
bool os_cache_write(const char *path, struct str bytes);

/* Memory of whole pages, zeroed; NULL if there is none. Unlike memory of malloc, it is always given
 * back to the system when it is freed. */
void *os_pages_get(size_t size);
void os_pages_free(void *pages, size_t size);

/* Gives their memory back to the system; they are zeroed when they are used again. */
void os_pages_clear(void *pages, size_t size);

/* The user id of a process; false if there is no such process. */
bool os_process_owner(int64_t pid, uint32_t *owner);

/* The id of a process in its innermost PID namespace; `pid` if it has no other
 * namespace or does not run. */
int64_t os_process_own_pid(int64_t pid);

/* The vDSO that the kernel maps into this process, or empty. */
struct str os_vdso(void);

/* The user id of this process. */
uint32_t os_user(void);

/* The id of a user, given by name or number; false if there is no such user. */
bool os_user_named(const char *name, uint32_t *user);

/* The kernel release, as uname -r prints it. */
struct str os_kernel_release(char *room, size_t size);

#endif
