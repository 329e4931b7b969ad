/* SPDX-License-Identifier: Apache-2.0 */
/* The filter in the kernel: samples of the targets and of what they start are written to the
 * ring, those of other tasks are not, and the program after the filter runs at targets only. Of
 * many wake-ups at once, most have short stacks. */
#include "os/machine.h"
#include "os/perf_event.h"
#include "os/proc.h"
#include "os/stack_counts.h"
#include "os/task_filter.h"
#include "perf/format.h"
#include "unit.h"
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#define PROCESSES_MAX 8

static struct os_task_filter filter;
static pid_t target, grandchild, other;

static void burn(void)
{
    for (volatile unsigned i = 0;; i++)
        continue;
}

/* A process that runs all the time, or waits for a byte and then starts one that does. */
static pid_t start(int go, int report)
{
    char byte;
    pid_t pid = fork();
    if (pid)
        return pid;
    if (go < 0)
        burn();
    if (read(go, &byte, 1) != 1)
        _exit(1);
    pid = fork();
    if (pid == 0)
        burn();
    if (write(report, &pid, sizeof pid) != sizeof pid)
        _exit(1);
    burn();
    return 0;
}

static void stop(pid_t pid)
{
    if (pid <= 0)
        return;
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
}

static int open_counter(uint32_t cpu)
{
    struct perf_attr attr = {.type = PERF_TYPE_SOFTWARE,
                             .size = PERF_ATTR_SIZE,
                             .config = PERF_SOFTWARE_CPU_CLOCK,
                             .period = 200000,
                             .sample_type = PERF_SAMPLE_TID};
    int fd = os_perf_open(&attr, OS_ANY_THREAD, (int)cpu);
    assert_true(fd >= 0);
    assert_true(os_perf_attach(fd, filter.handle));
    return fd;
}

/* Counts the samples of the three processes, and of all others. */
static void count(struct os_perf_ring *ring, size_t seen[4])
{
    struct str record;
    os_perf_ring_begin(ring);
    while (os_perf_ring_peek(ring, &record)) {
        uint32_t type, pid;
        memcpy(&type, record.ptr, sizeof type);
        memcpy(&pid, record.ptr + PERF_RECORD_HEADER, sizeof pid);
        if (type == PERF_SAMPLE)
            seen[pid == (uint32_t)target       ? 0
                 : pid == (uint32_t)grandchild ? 1
                 : pid == (uint32_t)other      ? 2
                                               : 3]++;
        os_perf_ring_consume(ring, record);
    }
    os_perf_ring_release(ring);
}

static void sample_all(size_t seen[4])
{
    static uint32_t cpus[OS_CPUS_MAX];
    static struct os_perf_ring rings[OS_CPUS_MAX];
    static int fds[OS_CPUS_MAX];
    size_t n = os_cpus_online(cpus);
    int why;
    for (size_t i = 0; i < n; i++) {
        fds[i] = open_counter(cpus[i]);
        assert_true(os_perf_ring_open(&rings[i], fds[i], 65536, &why));
    }
    for (int turn = 0; turn < 2000 && (seen[0] < 20 || seen[1] < 20); turn++) {
        usleep(5000);
        for (size_t i = 0; i < n; i++)
            count(&rings[i], seen);
    }
    for (size_t i = 0; i < n; i++) {
        os_perf_ring_close(&rings[i]);
        close(fds[i]);
    }
}

static void keeps_descendants_only(void **state)
{
    (void)state;
    struct error err;
    int go[2], report[2];
    size_t seen[4] = {0};
    if (!os_task_filter_open(&filter, true, &err)) {
        print_message("skipped: %s\n", err.message);
        os_task_filter_close(&filter);
        skip();
    }
    assert_int_equal(pipe(go) + pipe(report), 0);
    other = start(-1, -1);
    target = start(go[0], report[1]);
    os_task_filter_add(&filter, (uint32_t)target);
    assert_int_equal(write(go[1], "x", 1), 1);
    assert_int_equal(read(report[0], &grandchild, sizeof grandchild), sizeof grandchild);
    sample_all(seen);
    kill(grandchild, SIGKILL);
    stop(target);
    stop(other);
    assert_true(seen[0] >= 20 && seen[1] >= 20);
    assert_int_equal(seen[2], 0);
    assert_int_equal(seen[3], 0);
    os_task_filter_close(&filter);
}

static size_t counted, counted_others;

static void hear(void *context, const struct stack_counts_key *key,
                 const struct stack_count *count)
{
    (void)context;
    counted += key->pid == (uint32_t)target ? count->count : 0;
    counted_others += key->pid != (uint32_t)target;
}

/* The program after the filter counts the stacks of the target only. */
static void runs_the_next_program(void **state)
{
    (void)state;
    struct error err;
    struct os_stack_counts counts;
    static uint32_t cpus[OS_CPUS_MAX];
    static int fds[OS_CPUS_MAX];
    if (!os_task_filter_open(&filter, true, &err) ||
        !os_stack_counts_open(&counts, 512, &err)) {
        os_task_filter_close(&filter);
        skip();
    }
    assert_true(os_task_filter_chain(&filter, counts.handle));
    target = start(-1, -1);
    os_task_filter_add(&filter, (uint32_t)target);
    size_t n = os_cpus_online(cpus);
    for (size_t i = 0; i < n; i++)
        fds[i] = open_counter(cpus[i]);
    for (int turn = 0; turn < 2000 && counted < 20; turn++) {
        usleep(5000);
        assert_true(os_stack_counts_read(&counts, hear, NULL, &err));
    }
    for (size_t i = 0; i < n; i++)
        close(fds[i]);
    stop(target);
    assert_true(counted >= 20);
    assert_int_equal(counted_others, 0);
    assert_true(os_task_filter_chain(&filter, 0));
    assert_true(os_task_filter_chain(&filter, 0)); /* there is none already */
    os_stack_counts_close(&counts);
    os_task_filter_close(&filter);
}

/* --- Wake-ups ----------------------------------------------------------------------- */

#define THREADS 300

static void *wait_always(void *unused)
{
    for (;;)
        pause();
    return unused;
}

/* A process whose threads all wait, until it ends at a byte, which wakes all of them at once. */
static pid_t start_threads(int go, int report)
{
    char byte = 0;
    pthread_t thread;
    pid_t pid = fork();
    if (pid)
        return pid;
    for (int i = 0; i < THREADS; i++)
        if (pthread_create(&thread, NULL, wait_always, NULL))
            _exit(1);
    if (write(report, &byte, 1) != 1 || read(go, &byte, 1) != 1)
        _exit(1);
    _exit(0);
}

/* The counters of a CPU for wake-ups with whole stacks, and for the others. */
struct wake_counters {
    int fds[2];
    struct os_perf_ring rings[2];
};

static void open_wake_counters(struct wake_counters *w, uint32_t cpu)
{
    struct perf_attr attr = {.type = PERF_TYPE_SOFTWARE,
                             .size = PERF_ATTR_SIZE,
                             .config = PERF_SOFTWARE_BPF_OUTPUT,
                             .period = 1,
                             .sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_RAW};
    struct error err;
    int why;
    for (int brief = 0; brief < 2; brief++) {
        w->fds[brief] = os_perf_open(&attr, OS_ANY_THREAD, (int)cpu);
        assert_true(w->fds[brief] >= 0);
        assert_true(os_perf_ring_open(&w->rings[brief], w->fds[brief], 1 << 20, &why));
        assert_true(os_task_filter_output(&filter, cpu, brief != 0, w->fds[brief], &err));
    }
}

static size_t samples_in(struct os_perf_ring *ring)
{
    size_t seen[4] = {0};
    count(ring, seen);
    return seen[0] + seen[1] + seen[2] + seen[3];
}

static void see_thread(void *context, uint32_t tid)
{
    size_t *awake = context;
    char path[64], room[512];
    snprintf(path, sizeof path, "/proc/%d/task/%u/stat", (int)target, tid);
    struct str text = os_read_text(path, room, sizeof room);
    size_t name_end = str_rfind(text, ')');
    *awake += name_end + 2 >= text.len || text.ptr[name_end + 2] != 'S';
}

/* A thread that does not wait yet is not woken up. */
static void await_sleep(void)
{
    for (size_t awake = 1; awake; usleep(1000)) {
        awake = 0;
        assert_true(os_process_threads((uint32_t)target, see_thread, &awake));
    }
}

/* Of wake-ups in a moment, a few have whole stacks. */
static void limits_whole_stacks(void **state)
{
    (void)state;
    struct error err;
    static uint32_t cpus[OS_CPUS_MAX];
    static struct wake_counters counters[OS_CPUS_MAX];
    size_t seen[2] = {0}, n = os_cpus_online(cpus);
    int go[2], report[2];
    char byte = 0;
    if (!os_task_filter_open(&filter, true, &err)) {
        os_task_filter_close(&filter);
        skip();
    }
    assert_int_equal(pipe(go) + pipe(report), 0);
    target = start_threads(go[0], report[1]);
    assert_int_equal(read(report[0], &byte, 1), 1);
    await_sleep();
    for (size_t i = 0; i < n; i++)
        open_wake_counters(&counters[i], cpus[i]);
    os_task_filter_add_all(&filter);
    assert_int_equal(write(go[1], "x", 1), 1);
    waitpid(target, NULL, 0);
    for (size_t i = 0; i < n; i++)
        for (int brief = 0; brief < 2; brief++) {
            seen[brief] += samples_in(&counters[i].rings[brief]);
            os_perf_ring_close(&counters[i].rings[brief]);
            close(counters[i].fds[brief]);
        }
    print_message("%zu whole, %zu brief\n", seen[0], seen[1]);
    assert_true(seen[0] > 0 && seen[1] > 0);
    assert_true(seen[0] + seen[1] >= THREADS);
    os_task_filter_close(&filter);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keeps_descendants_only),
        cmocka_unit_test(runs_the_next_program),
        cmocka_unit_test(limits_whole_stacks),
    };
    return cmocka_run_group_tests_name("task_filter", tests, NULL, NULL);
}
