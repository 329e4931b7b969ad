/* SPDX-License-Identifier: Apache-2.0 */
#include "os/shared_memory.h"
#include "base/format.h"
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

bool os_shared_memory_create(struct os_shared_memory *m, uint64_t size, struct error *err)
{
    m->fd = memfd_create("stoke", MFD_CLOEXEC);
    if (m->fd < 0 || ftruncate(m->fd, (off_t)size) != 0)
        return error_set(err, "cannot make shared memory: %s", strerror(errno));
    format_text(m->path, sizeof m->path, "/proc/%lld/fd/%d", (long long)getpid(), m->fd);
    return true;
}

bool os_shared_memory_open(struct os_shared_memory *m, int64_t pid, int64_t fd,
                           uint64_t size, struct error *err)
{
    format_text(m->path, sizeof m->path, "/proc/%lld/fd/%lld", (long long)pid,
                (long long)fd);
    m->fd = open(m->path, O_RDWR | O_CLOEXEC);
    if (m->fd < 0 || ftruncate(m->fd, (off_t)size) != 0 ||
        fcntl(m->fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0)
        return error_set(err, "cannot make shared memory: %s", strerror(errno));
    return true;
}

void os_shared_memory_close(struct os_shared_memory *m)
{
    if (m->fd >= 0)
        close(m->fd);
    m->fd = -1;
}

void *os_shared_memory_map(const struct os_shared_memory *m, uint64_t offset, size_t size,
                           unsigned times, struct error *err)
{
    char *all = mmap(NULL, size * times, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    bool is_mapped = all != MAP_FAILED;
    for (unsigned i = 0; is_mapped && i < times; i++)
        is_mapped = mmap(all + i * size, size, PROT_READ | PROT_WRITE,
                         MAP_SHARED | MAP_FIXED, m->fd, (off_t)offset) != MAP_FAILED;
    if (is_mapped)
        return all;
    error_set(err, "cannot map shared memory: %s", strerror(errno));
    if (all != MAP_FAILED)
        munmap(all, size * times);
    return NULL;
}

void os_shared_memory_unmap(void *mapping, size_t size, unsigned times)
{
    if (mapping)
        munmap(mapping, size * times);
}

void os_shared_memory_discard(const struct os_shared_memory *m, uint64_t offset,
                              size_t size)
{
    (void)fallocate(m->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)offset,
                    (off_t)size);
}
