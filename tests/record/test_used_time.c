/* SPDX-License-Identifier: Apache-2.0 */
/* The CPU time of targets: of a thread and of what it starts, and of the machine. */
#include "os/machine.h"
#include "record/used_time.h"
#include "unit.h"
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define WORK_NS 200000000

/* Uses that much CPU time. */
static void work(void)
{
    struct timespec used;
    do
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
    while (used.tv_sec == 0 && used.tv_nsec < WORK_NS);
}

/* A child that works when it gets a byte, and so does a child of its own. */
static uint32_t start_worker(int *go)
{
    int ends[2];
    char byte;
    assert_int_equal(pipe(ends), 0);
    pid_t child = fork();
    if (child == 0) {
        if (read(ends[0], &byte, 1) == 1 && fork() == 0) {
            work();
            _exit(0);
        }
        work();
        wait(NULL);
        _exit(0);
    }
    close(ends[0]);
    *go = ends[1];
    return (uint32_t)child;
}

static void of_threads(bool alone, double times)
{
    struct record_used_time u;
    int go;
    uint32_t child = start_worker(&go);
    struct record_targets targets = {.tids = &child, .tid_count = 1, .alone = alone};
    record_used_time_open(&u, &targets);
    if (!u.counters) {
        assert_int_equal(write(go, "x", 1), 1);
        waitpid((pid_t)child, NULL, 0);
        skip(); /* the kernel does not allow it */
    }
    record_used_time_start(&u);
    assert_int_equal(write(go, "x", 1), 1);
    waitpid((pid_t)child, NULL, 0);
    record_used_time_stop(&u);
    double got = (double)record_used_time(&u) / WORK_NS;
    record_used_time_close(&u);
    close(go);
    if (got < 0.8 * times || got > 1.3 * times)
        fail_msg("%.2f times the work, not %.0f", got, times);
}

static void what_a_thread_starts_counts(void **state)
{
    (void)state;
    of_threads(false, 2);
}

static void alone_it_does_not_count(void **state)
{
    (void)state;
    of_threads(true, 1);
}

static void the_machine_uses_at_least_what_this_process_does(void **state)
{
    struct record_used_time u;
    struct record_targets targets = {.everyone = true};
    (void)state;
    record_used_time_open(&u, &targets);
    record_used_time_start(&u);
    work();
    record_used_time_stop(&u);
    /* ticks of 10 ms; before this, little was used of the work */
    assert_true(record_used_time(&u) > WORK_NS / 2);
    record_used_time_close(&u);
}

static void nothing_is_known_of_many_threads(void **state)
{
    struct record_used_time u;
    uint32_t tids[RECORD_USED_TIME_THREADS + 1] = {0};
    struct record_targets targets = {.tids = tids,
                                     .tid_count = RECORD_USED_TIME_THREADS + 1};
    (void)state;
    record_used_time_open(&u, &targets);
    record_used_time_start(&u);
    record_used_time_stop(&u);
    assert_int_equal(record_used_time(&u), 0);
    record_used_time_close(&u);
}

int main(void)
{
    const struct CMUnitTest units[] = {
        UNIT(the_machine_uses_at_least_what_this_process_does),
        UNIT(what_a_thread_starts_counts),
        UNIT(alone_it_does_not_count),
        UNIT(nothing_is_known_of_many_threads),
    };
    return UNITS_RUN(units);
}
