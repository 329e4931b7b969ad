/* SPDX-License-Identifier: Apache-2.0 */
#include "os/wait.h"
#include "os/machine.h"
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

#define EVENTS_PER_CALL 64

static bool is_ignored(int signal_number)
{
    struct sigaction now;
    return sigaction(signal_number, NULL, &now) == 0 && now.sa_handler == SIG_IGN;
}

/* A blocked signal arrives even if it is ignored, so ignored signals are left out. */
static void signals_of(sigset_t *set)
{
    static const int ends[] = {SIGTERM, SIGHUP,    SIGQUIT, SIGUSR1, SIGALRM,
                               SIGPROF, SIGVTALRM, SIGXCPU, SIGIO,   SIGPWR};
    sigemptyset(set);
    sigaddset(set, SIGINT);
    sigaddset(set, SIGCHLD);
    sigaddset(set, SIGUSR2);
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
        if (!is_ignored(ends[i]))
            sigaddset(set, ends[i]);
}

void os_wait_block_signals(void)
{
    sigset_t set;
    signals_of(&set);
    sigprocmask(SIG_BLOCK, &set, NULL);
    signal(SIGPIPE, SIG_IGN);
}

bool os_wait_init(struct os_wait *w, struct error *err)
{
    sigset_t set;
    signals_of(&set);
    /* exceeding the file size limit becomes an error of write */
    signal(SIGXFSZ, SIG_IGN);
    signal(SIGCHLD, SIG_DFL); /* if it is ignored, the exit status of children is lost */
    *w = (struct os_wait){.epoll = epoll_create1(EPOLL_CLOEXEC), .signals = -1};
    if (sigprocmask(SIG_BLOCK, &set, NULL) == 0)
        w->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    if (w->epoll < 0 || w->signals < 0 || !os_wait_add(w, w->signals, err))
        return error_set(err, "cannot wait for signals: %s", strerror(errno));
    w->handles = 0;
    return true;
}

bool os_wait_init_plain(struct os_wait *w, struct error *err)
{
    *w = (struct os_wait){.epoll = epoll_create1(EPOLL_CLOEXEC), .signals = -1};
    return w->epoll >= 0 || error_set(err, "cannot wait for events: %s", strerror(errno));
}

int os_wait_left(uint64_t deadline)
{
    uint64_t now = os_clock_monotonic();
    uint64_t left = deadline > now ? (deadline - now + 999999) / 1000000 : 0;
    return left < INT32_MAX ? (int)left : INT32_MAX;
}

void os_wait_deinit(struct os_wait *w)
{
    if (w->epoll >= 0)
        close(w->epoll);
    if (w->signals >= 0)
        close(w->signals);
    w->epoll = w->signals = -1;
}

void os_wait_restore_signals(void)
{
    sigset_t set;
    signals_of(&set);
    sigprocmask(SIG_UNBLOCK, &set, NULL);
    signal(SIGXFSZ, SIG_DFL);
    signal(SIGPIPE, SIG_DFL);
}

bool os_wait_add(struct os_wait *w, int fd, struct error *err)
{
    struct epoll_event e = {.events = EPOLLIN, .data.u64 = (uint32_t)fd};
    if (epoll_ctl(w->epoll, EPOLL_CTL_ADD, fd, &e) != 0)
        return error_set(err, "cannot wait for a handle: %s", strerror(errno));
    w->handles++;
    return true;
}

bool os_wait_watch(struct os_wait *w, int fd, struct error *err)
{
    bool ok = os_wait_add(w, fd, err);
    w->handles -= ok;
    return ok;
}

/* In the data of a descriptor, beside its number. */
#define CHANGES_ONLY ((uint64_t)1 << 32)

bool os_wait_watch_changes(struct os_wait *w, int fd, struct error *err)
{
    struct epoll_event e = {.events = EPOLLIN | EPOLLET,
                            .data.u64 = (uint32_t)fd | CHANGES_ONLY};
    return epoll_ctl(w->epoll, EPOLL_CTL_ADD, fd, &e) == 0 ||
           error_set(err, "cannot wait for a handle: %s", strerror(errno));
}

void os_wait_unwatch(struct os_wait *w, int fd)
{
    struct epoll_event ignored = {0};
    epoll_ctl(w->epoll, EPOLL_CTL_DEL, fd, &ignored);
}

void os_wait_remove(struct os_wait *w, int fd)
{
    struct epoll_event ignored = {0};
    if (epoll_ctl(w->epoll, EPOLL_CTL_DEL, fd, &ignored) == 0)
        w->handles--;
}

static unsigned take_signals(struct os_wait *w)
{
    struct signalfd_siginfo info;
    unsigned reasons = 0;
    while (read(w->signals, &info, sizeof info) == sizeof info) {
        bool typed = info.ssi_code > 0; /* sent by the kernel: the user typed Ctrl-C */
        if (info.ssi_signo == SIGINT && typed && is_ignored(SIGINT))
            continue;
        if (info.ssi_signo == SIGCHLD)
            reasons |= OS_WAIT_CHILD;
        else if (info.ssi_signo == SIGUSR2)
            reasons |= OS_WAIT_USER;
        else
            reasons |= OS_WAIT_STOP;
        if (reasons & OS_WAIT_STOP && w->stop_signal == 0)
            w->stop_signal = (int)info.ssi_signo;
    }
    return reasons;
}

unsigned os_wait_for(struct os_wait *w, int milliseconds)
{
    struct epoll_event events[EVENTS_PER_CALL];
    unsigned reasons = 0;
    int count = epoll_wait(w->epoll, events, EVENTS_PER_CALL, milliseconds);
    for (int i = 0; i < count; i++) {
        int fd = (int)(uint32_t)events[i].data.u64;
        if (fd == w->signals)
            reasons |= take_signals(w);
        else if (events[i].events & EPOLLIN)
            reasons |= OS_WAIT_DATA;
        if (fd == w->signals || events[i].data.u64 & CHANGES_ONLY ||
            !(events[i].events & (EPOLLHUP | EPOLLERR)))
            continue;
        os_wait_remove(w, fd);
        if (w->handles == 0)
            reasons |= OS_WAIT_ALONE;
    }
    return reasons;
}

bool os_wake_init(struct os_wake *w, struct error *err)
{
    w->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    return w->fd >= 0 || error_set(err, "cannot make an event: %s", strerror(errno));
}

void os_wake_deinit(struct os_wake *w)
{
    if (w->fd >= 0)
        close(w->fd);
    w->fd = -1;
}

void os_wake_set(const struct os_wake *w)
{
    uint64_t one = 1; /* fails only if it is set 2^64 - 2 times */
    (void)!write(w->fd, &one, sizeof one);
}

void os_wake_clear(const struct os_wake *w)
{
    uint64_t count; /* fails only if it is not set */
    (void)!read(w->fd, &count, sizeof count);
}

void os_sleep(int milliseconds)
{
    (void)poll(NULL, 0, milliseconds);
}
