/* SPDX-License-Identifier: Apache-2.0 */
#include "os/file_lock.h"
#include "os/regular_file.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define TICK_NS 5000000
#define TICKS_OF_EXIT 100         /* half a second */
#define TICKS_WITHOUT_GROWTH 2000 /* 10 s: the disk hangs, or the writer is stopped */

static bool is_locked(int fd, int64_t offset)
{
    struct flock lock = {
        .l_type = F_RDLCK, .l_whence = SEEK_SET, .l_start = offset, .l_len = 1};
    return fcntl(fd, F_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
}

/* Opens a regular file; -1 for other files and on failure. */
static int open_regular(const char *path)
{
    struct stat stat;
    struct error ignored;
    return os_regular_open(path, &(struct os_regular){0}, &stat, &ignored);
}

bool os_file_is_locked(const char *path, int64_t offset)
{
    int fd = open_regular(path);
    bool locked = fd >= 0 && is_locked(fd, offset);
    if (fd >= 0)
        close(fd);
    return locked;
}

void os_file_wait_for_writer(const char *path, int64_t writer, int64_t owner)
{
    int fd = open_regular(path);
    off_t size = 0;
    for (int still = 0; fd >= 0 && still < TICKS_WITHOUT_GROWTH; still++) {
        struct stat stat;
        if (!is_locked(fd, writer) || is_locked(fd, owner) || fstat(fd, &stat) != 0)
            break;
        if (stat.st_size != size)
            still = 0;
        size = stat.st_size;
        nanosleep(&(struct timespec){.tv_nsec = TICK_NS}, NULL);
    }
    if (fd >= 0)
        close(fd);
}

static int create_lock(const char *path, struct error *err)
{
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0) {
        error_set(err, "cannot create '%s': %s", path, strerror(errno));
        error_hint(err, "check the permissions of the folder");
    }
    return fd;
}

#define HELD "\nis running\n" /* the first line is the ID alone */
#define RELEASED " has ended\n"

/* For users, and for the next process that takes the lock. */
static void write_holder(int fd, const char *state)
{
    if (ftruncate(fd, 0) == 0 && lseek(fd, 0, SEEK_SET) == 0)
        dprintf(fd, "%d%s", (int)getpid(), state);
}

#define WHOLE_FILE (-1)

static bool try_lock(int fd, int64_t offset)
{
    struct flock byte = {
        .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = offset, .l_len = 1};
    if (offset == WHOLE_FILE)
        return flock(fd, LOCK_EX | LOCK_NB) == 0;
    bool locked = fcntl(fd, F_OFD_SETLK, &byte) == 0;
    if (!locked && errno == EACCES)
        errno = EWOULDBLOCK;
    return locked;
}

/* The kernel releases the lock of a killed process a moment after its other locks. */
static bool lock_soon(int fd, int64_t offset)
{
    bool locked = false;
    for (int i = 0; i < TICKS_OF_EXIT && !locked; i++) {
        if (i > 0)
            nanosleep(&(struct timespec){.tv_nsec = TICK_NS}, NULL);
        locked = try_lock(fd, offset);
        if (!locked && errno != EWOULDBLOCK && errno != EINTR)
            break;
    }
    return locked;
}

/* Why the lock was not taken, by errno. Returns false. */
static bool lock_failed(const char *path, struct error *err)
{
    if (errno == EWOULDBLOCK)
        error_set(err, "another process writes it");
    else
        error_set(err, "cannot lock '%s': %s", path, strerror(errno));
    return error_hint(err, "end the other stoke daemon, or name another file");
}

static bool has_holder(int fd)
{
    char text[32];
    ssize_t got = pread(fd, text, sizeof text, 0);
    return got > 0 && str_ends((struct str){text, (size_t)got}, STR(HELD));
}

int os_file_lock_take(const char *path, bool *abandoned, struct error *err)
{
    int fd = create_lock(path, err);
    if (fd < 0)
        return -1;
    if (lock_soon(fd, WHOLE_FILE)) {
        if (abandoned)
            *abandoned = has_holder(fd);
        write_holder(fd, HELD);
        return fd;
    }
    lock_failed(path, err);
    close(fd);
    return -1;
}

bool os_file_lock_byte(const char *path, int64_t offset, int *lock, struct error *err)
{
    *lock = open(path, O_RDWR | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (*lock < 0 || lock_soon(*lock, offset))
        return true;
    lock_failed(path, err);
    os_file_unlock_byte(*lock);
    *lock = -1;
    return false;
}

void os_file_unlock_byte(int lock)
{
    if (lock >= 0)
        close(lock);
}

void os_file_lock_release(int lock)
{
    if (lock < 0)
        return;
    write_holder(lock, RELEASED);
    close(lock);
}

int os_file_lock_wait(const char *path, struct error *err)
{
    int fd = create_lock(path, err), got;
    if (fd < 0)
        return -1;
    do
        got = flock(fd, LOCK_EX);
    while (got != 0 && errno == EINTR);
    if (got == 0) {
        write_holder(fd, HELD);
        return fd;
    }
    error_set(err, "cannot lock '%s': %s", path, strerror(errno));
    close(fd);
    return -1;
}

/* It makes a new file: a reader that has opened the old one cannot confuse the two texts. */
int os_file_announce(const char *path, struct str text, struct error *err)
{
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    unlink(path);
    int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd >= 0 && fchmod(fd, 0600) == 0 && fcntl(fd, F_SETLK, &lock) == 0 &&
        write(fd, text.ptr, text.len) == (ssize_t)text.len)
        return fd;
    error_set(err, "cannot write '%s': %s", path, strerror(errno));
    os_file_withdraw(path, fd);
    return -1;
}

void os_file_withdraw(const char *path, int fd)
{
    if (fd < 0)
        return;
    unlink(path);
    close(fd);
}

static bool is_private(int fd)
{
    struct stat stat;
    return fstat(fd, &stat) == 0 && S_ISREG(stat.st_mode) && stat.st_uid == geteuid() &&
           (stat.st_mode & 077) == 0;
}

int64_t os_file_announced(const char *path, char *room, size_t size, struct str *text)
{
    struct flock lock = {.l_type = F_RDLCK, .l_whence = SEEK_SET};
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    bool runs = fd >= 0 && is_private(fd) && fcntl(fd, F_GETLK, &lock) == 0 &&
                lock.l_type != F_UNLCK;
    ssize_t got = runs ? pread(fd, room, size, 0) : 0;
    if (fd >= 0)
        close(fd);
    if (got <= 0 || room[got - 1] != '\n')
        return 0;
    *text = (struct str){room, (size_t)got};
    return lock.l_pid;
}
