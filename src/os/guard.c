/* SPDX-License-Identifier: Apache-2.0 */
#include "os/guard.h"
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

/* Signal handlers belong to the process, so the list of guarded ranges does, too. The
 * handler reads it without a lock: guards are never freed, but used again. A guard whose
 * range is being replaced has start 0 meanwhile; the thread that faults reads from a
 * mapping that is in use, so its own guard does not change. */
struct os_guard {
    _Atomic uintptr_t start, end; /* start 0: free */
    atomic_bool truncated;
    atomic_bool is_shared;
    atomic_size_t cleared;      /* of a shared one */
    struct os_guard *next;      /* in the list of all, which only grows */
    struct os_guard *next_free; /* under the lock */
};

static struct os_guard *_Atomic all;
static struct os_guard *unused;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static size_t page_size; /* set before there is a handler, which must not call sysconf */
static int zeros = -1;   /* /dev/zero */

static struct os_guard *guard_of(uintptr_t address)
{
    for (struct os_guard *g = atomic_load(&all); g; g = g->next) {
        uintptr_t start = atomic_load(&g->start);
        if (start && address >= start && address < atomic_load(&g->end) &&
            atomic_load(&g->start) == start)
            return g;
    }
    return NULL;
}

/* A system call reports a page that the file no longer has: it does not end the process. */
static void clear_file(uintptr_t start, size_t size)
{
    ssize_t ignored = zeros >= 0 ? read(zeros, (void *)start, size) : 0;
    (void)ignored;
}

/* mmap is a plain system call here, so it may be called in a handler. */
static bool replace(struct os_guard *g, uintptr_t address)
{
    uintptr_t start = address & ~(uintptr_t)(page_size - 1);
    size_t size = page_size;
    int rights = PROT_READ;
    if (atomic_load(&g->is_shared)) {
        start = atomic_load(&g->start);
        size = atomic_load(&g->end) - start;
        rights |= PROT_WRITE;
        clear_file(start, atomic_load(&g->cleared));
    }
    return mmap((void *)start, size, rights, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1,
                0) == (void *)start;
}

static void map_zeros(int signal_number, siginfo_t *info, void *context)
{
    (void)context;
    int saved = errno;
    uintptr_t address = (uintptr_t)info->si_addr;
    struct os_guard *g = info->si_code == BUS_ADRERR ? guard_of(address) : NULL;
    if (g && replace(g, address))
        atomic_store(&g->truncated, true);
    else
        signal(signal_number, SIG_DFL); /* the fault repeats and ends the process */
    errno = saved;
}

static void install_handler(void)
{
    struct sigaction action = {.sa_sigaction = map_zeros, .sa_flags = SA_SIGINFO};
    page_size = (size_t)sysconf(_SC_PAGESIZE);
    sigemptyset(&action.sa_mask);
    sigaction(SIGBUS, &action, NULL);
}

static void open_zeros(void)
{
    zeros = open("/dev/zero", O_RDONLY | O_CLOEXEC);
}

static struct os_guard *add_guard(void *start, size_t size, bool is_shared,
                                  size_t cleared)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, install_handler);
    pthread_mutex_lock(&lock);
    struct os_guard *g = unused;
    if (g) {
        unused = g->next_free;
    } else if ((g = calloc(1, sizeof *g)) != NULL) {
        g->next = atomic_load(&all);
        atomic_store(&all, g);
    }
    pthread_mutex_unlock(&lock);
    if (!g)
        return NULL;
    atomic_store(&g->truncated, false);
    atomic_store(&g->is_shared, is_shared);
    atomic_store(&g->cleared, cleared);
    atomic_store(&g->end, (uintptr_t)start + size);
    atomic_store(&g->start, (uintptr_t)start);
    return g;
}

struct os_guard *os_guard_range(void *start, size_t size)
{
    return add_guard(start, size, false, 0);
}

struct os_guard *os_guard_shared(void *start, size_t size, size_t cleared)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, open_zeros);
    return add_guard(start, size, true, cleared);
}

struct os_guard *os_guard_map(int fd, size_t size)
{
    void *map = mmap(NULL, size, PROT_READ, MAP_PRIVATE, fd, 0);
    struct os_guard *g = map == MAP_FAILED ? NULL : os_guard_range(map, size);
    if (!g && map != MAP_FAILED) {
        munmap(map, size);
        errno = ENOMEM;
    }
    return g;
}

void *os_guard_bytes(const struct os_guard *g)
{
    return (void *)atomic_load(&g->start);
}

bool os_guard_was_truncated(const struct os_guard *g)
{
    return g && atomic_load(&g->truncated);
}

void os_guard_unmap(struct os_guard *g)
{
    if (!g)
        return;
    uintptr_t start = atomic_load(&g->start), end = atomic_load(&g->end);
    atomic_store(&g->start, 0); /* the range may be another guard's from then on */
    munmap((void *)start, end - start);
    os_guard_end(g);
}

void os_guard_end(struct os_guard *g)
{
    atomic_store(&g->start, 0);
    pthread_mutex_lock(&lock);
    g->next_free = unused;
    unused = g;
    pthread_mutex_unlock(&lock);
}
