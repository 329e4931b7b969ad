/* SPDX-License-Identifier: Apache-2.0 */
/* Whole files mapped to be read: programs, their debug files, what a JIT left in /tmp. */
#ifndef STOKE_OS_MAPPING_H
#define STOKE_OS_MAPPING_H

#include "base/arena.h"
#include "base/error.h"

struct os_mapping {
    struct str bytes;  /* the file's; empty for an empty file */
    void *map;         /* NULL: it is not mapped */
    struct arena read; /* what was read, where it is not mapped */
};

#define OS_MAPPING_NONE ((struct os_mapping){STR(""), NULL, ARENA_INIT})

/* Maps a plain file, which os/plain.h opens: whatever the path leads to, nothing else is
 * opened. False with the reason. */
bool os_mapping_open(struct os_mapping *m, const char *path, struct error *err);

/* The same for a file below a folder, behind all links; NULL: for one anywhere that is
 * not itself a link. */
bool os_mapping_open_below(struct os_mapping *m, const char *path, const char *folder,
                           struct error *err);

/* The same for a file that lies where anyone may write: it must not be a link, must
 * belong to `owner` or to root, and have at most `limit` bytes. */
bool os_mapping_open_shared(struct os_mapping *m, const char *path, uint32_t owner,
                            uint64_t limit, struct error *err);

/* The same in two steps, for a file that grows and may lose its name: -1 where it cannot be
 * had, and os_mapping_of maps what it has by now. Closing -1 is allowed. */
int os_shared_open(const char *path, uint32_t owner, struct error *err);
bool os_mapping_of(struct os_mapping *m, int fd, uint64_t limit, struct error *err);
void os_shared_close(int fd);

/* The same for a file that is known by its number on its device: another is refused. */
bool os_mapping_open_inode(struct os_mapping *m, const char *path, uint32_t device_major,
                           uint32_t device_minor, uint64_t inode, struct error *err);

/* A file of the system's that has no size to map, such as /proc/kallsyms: read into
 * memory, at most `limit` bytes. */
bool os_mapping_read(struct os_mapping *m, const char *path, size_t limit,
                     struct error *err);

void os_mapping_close(struct os_mapping *m);

/* The bytes are not needed for a while: they do not count as this process's memory until
 * they are read again. */
void os_mapping_rest(const struct os_mapping *m);

/* For caches, where failure is no more than false. A cache is this user's own: a file of
 * another user's is not read, as it could hold anything, and nothing is written below a
 * folder of another user's ($HOME may be the invoking user's, as with sudo -E).
 *
 * os_cache_write writes a whole file, beside it first and then in its place, with its
 * folders made, readable by this user only. */
bool os_cache_open(struct os_mapping *m, const char *path);
bool os_cache_write(const char *path, struct str bytes);

/* Whom a process belongs to; false where there is no such process. */
bool os_process_owner(int64_t pid, uint32_t *owner);

/* The number that a process has in its own, innermost namespace of processes: `pid` where
 * it has no other or does not run. */
int64_t os_process_own_pid(int64_t pid);

/* The code that the kernel maps into this process, or empty. */
struct str os_vdso(void);

/* Who runs this program. */
uint32_t os_user(void);

/* The number of a user, by name or as a number; false where there is none of that name. */
bool os_user_named(const char *name, uint32_t *user);

/* The kernel's name, as uname -r says. */
struct str os_kernel_release(char *room, size_t size);

#endif
