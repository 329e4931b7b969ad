/* SPDX-License-Identifier: Apache-2.0 */
#include "os/guard.h"
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

static volatile sig_atomic_t was_cut;
static size_t page_size; /* asked for before there is a handler: sysconf may not be one */

/* mmap is no more than a system call here, so it may be called from a handler. */
static void put_zeros(int signal_number, siginfo_t *info, void *context)
{
    (void)context;
    void *page = (void *)((uintptr_t)info->si_addr & ~(uintptr_t)(page_size - 1));
    if (info->si_code == BUS_ADRERR &&
        mmap(page, page_size, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1,
             0) == page)
        was_cut = 1;
    else
        signal(signal_number, SIG_DFL); /* the same again ends the program */
}

static void watch(void)
{
    struct sigaction action = {.sa_sigaction = put_zeros, .sa_flags = SA_SIGINFO};
    page_size = (size_t)sysconf(_SC_PAGESIZE);
    sigemptyset(&action.sa_mask);
    sigaction(SIGBUS, &action, NULL);
}

void *os_guard_map_at(void *at, int fd, size_t size)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, watch);
    void *map =
        mmap(at, size, PROT_READ, at ? MAP_PRIVATE | MAP_FIXED : MAP_PRIVATE, fd, 0);
    return map == MAP_FAILED ? NULL : map;
}

void *os_guard_map(int fd, size_t size)
{
    return os_guard_map_at(NULL, fd, size);
}

void os_guard_note_cut(void)
{
    __atomic_store_n(&was_cut, 1, __ATOMIC_RELAXED);
}

bool os_guard_was_cut(void)
{
    return was_cut != 0;
}
