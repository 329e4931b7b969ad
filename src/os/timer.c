/* SPDX-License-Identifier: Apache-2.0 */
#include "os/timer.h"
#include <errno.h>
#include <sys/timerfd.h>
#include <unistd.h>

#define SECOND ((uint64_t)1000000000)

int os_timer_open(struct error *err)
{
    int timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
    if (timer < 0)
        error_set(err, "cannot make a timer: %s", strerror(errno));
    return timer;
}

void os_timer_set(int timer, uint64_t interval)
{
    struct timespec time = {.tv_sec = (time_t)(interval / SECOND),
                            .tv_nsec = (long)(interval % SECOND)};
    struct itimerspec both = {.it_interval = time, .it_value = time};
    timerfd_settime(timer, 0, &both, NULL);
}

void os_timer_read(int timer)
{
    uint64_t times;
    while (read(timer, &times, sizeof times) == (ssize_t)sizeof times)
        continue;
}

void os_timer_close(int timer)
{
    if (timer >= 0)
        close(timer);
}
