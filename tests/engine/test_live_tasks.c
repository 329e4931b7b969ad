/* SPDX-License-Identifier: Apache-2.0 */
/* Live samples by process, thread, service and container. A child with two threads that wait is
 * the process that is read. */
#include "engine/live_tasks.h"
#include "model/builder.h"
#include "os/thread.h"
#include "unit.h"
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#define GONE 4194300 /* no process has this ID */
#define SECOND ((uint64_t)1000000000)

static uint32_t child;

static void wait_for_end(void *context)
{
    (void)context;
    for (;;)
        pause();
}

/* Returns when the child has its threads. */
static int start_child(void **state)
{
    int ready[2];
    char byte;
    (void)state;
    if (pipe(ready))
        return -1;
    pid_t pid = fork();
    if (pid == 0) {
        struct os_thread thread;
        struct error err;
        bool ok = os_thread_start(&thread, wait_for_end, NULL, &err);
        ok = ok && write(ready[1], "x", 1) == 1;
        while (ok)
            pause();
        _exit(1);
    }
    child = (uint32_t)pid;
    close(ready[1]);
    bool ok = read(ready[0], &byte, 1) == 1;
    close(ready[0]);
    return ok ? 0 : -1;
}

static int end_child(void **state)
{
    (void)state;
    kill((pid_t)child, SIGKILL);
    return waitpid((pid_t)child, NULL, 0) == (pid_t)child ? 0 : -1;
}

static void add(struct builder *b, uint32_t pid, const char *name, double weight)
{
    struct sample s = {.time = TIME_NONE, .cpu = CPU_NONE, .count = 1, .weight = weight};
    s.thread = builder_thread(b, pid, pid, str_of(name));
    s.event = builder_event(b, STR("cpu-clock"), UNIT_NANOSECONDS);
    builder_add(b, &s);
}

/* The child has half of the samples, three processes that ended the other half. */
static struct profile *make_profile(void)
{
    struct builder b;
    struct error err;
    assert_true(builder_init(&b, BUILD_COUNT));
    add(&b, child, "work", 50);
    add(&b, GONE, "ls", 20);
    add(&b, GONE + 1, "ls", 20);
    add(&b, GONE + 2, "cat", 10);
    return builder_finish(&b, &err);
}

static void read_tasks(struct live_tasks *t, const struct profile *p, uint64_t time)
{
    struct error err;
    const struct live_task_targets targets = {.pids = &child, .pid_count = 1};
    assert_true(live_tasks_read(t, &targets, p, time, &err));
}

static struct live_rows rows_of(struct live_tasks *t, const struct profile *p,
                                const struct live_request *request)
{
    struct live_rows rows;
    struct error err;
    assert_true(live_tasks_rows(t, &rows, p, request, &err));
    return rows;
}

static void assert_row(const struct live_rows *rows, size_t at, const char *name,
                       const char *parts, double weight)
{
    assert_true(at < rows->count);
    assert_str(rows->items[at].name, name);
    assert_str(rows->items[at].module, parts);
    assert_double(rows->items[at].self, weight);
}

static void short_processes_of_a_name_are_one_row(void **state)
{
    struct live_tasks t = {0};
    struct profile *p = make_profile();
    struct live_request request = {.by = LIVE_PROCESSES};
    char name[64], parts[64];
    (void)state;
    read_tasks(&t, p, SECOND);
    struct live_rows rows = rows_of(&t, p, &request);
    snprintf(name, sizeof name, "%.*s", STR_ARG(t.processes[1].name));
    snprintf(parts, sizeof parts, "%u, 2 threads", child);
    assert_int_equal(rows.count, 3);
    assert_double(rows.total, 100);
    assert_row(&rows, 0, name, parts, 50);
    assert_int_equal(rows.items[0].mark, '+');
    assert_row(&rows, 1, "ls", "2 ended", 40);
    assert_row(&rows, 2, "cat", "1 ended", 10);
    request.expanded[request.expanded_count++] = rows.items[0].key;
    live_rows_deinit(&rows);
    rows = rows_of(&t, p, &request);
    assert_int_equal(rows.count, 5);
    assert_int_equal(rows.items[0].mark, '-');
    snprintf(parts, sizeof parts, "%u", child);
    assert_row(&rows, 1, name, parts, 50);
    assert_int_equal(rows.items[1].depth, 1);
    assert_double(rows.items[2].self, 0); /* the other thread */
    assert_row(&rows, 3, "ls", "2 ended", 40);
    live_rows_deinit(&rows);
    live_tasks_deinit(&t);
    profile_destroy(p);
}

/* A thousand seconds later, both threads have waited for all of them. */
static void waits_are_those_of_the_last_interval(void **state)
{
    struct live_tasks t = {0};
    struct live_request request = {.by = LIVE_PROCESSES};
    (void)state;
    read_tasks(&t, NULL, SECOND);
    struct live_rows rows = rows_of(&t, NULL, &request);
    assert_int_equal(rows.count, 1);
    assert_double(rows.items[0].waits, -1);
    live_rows_deinit(&rows);
    if (t.items[1].ran) { /* the kernel counts it */
        read_tasks(&t, NULL, 1001 * SECOND);
        rows = rows_of(&t, NULL, &request);
        assert_true(rows.items[0].waits > 1.99 && rows.items[0].waits <= 2);
        assert_true(rows.items[0].ready >= 0 && rows.items[0].ready < 0.01);
        live_rows_deinit(&rows);
    }
    live_tasks_deinit(&t);
}

static void threads_have_rows_of_their_own(void **state)
{
    struct live_tasks t = {0};
    struct profile *p = make_profile();
    struct live_request request = {.by = LIVE_THREADS, .sort = LIVE_BY_NAME};
    (void)state;
    read_tasks(&t, p, SECOND);
    struct live_rows rows = rows_of(&t, p, &request);
    assert_int_equal(rows.count, 4);
    assert_row(&rows, 0, "cat", "1 ended", 10); /* then the child's */
    assert_row(&rows, 3, "ls", "2 ended", 40);
    live_rows_deinit(&rows);
    snprintf(request.filter, sizeof request.filter, "LS");
    rows = rows_of(&t, p, &request);
    assert_int_equal(rows.count, 1);
    live_rows_deinit(&rows);
    live_tasks_deinit(&t);
    profile_destroy(p);
}

static void services_have_the_processes_of_both(void **state)
{
    struct live_tasks t = {0};
    struct profile *p = make_profile();
    struct live_request request = {.by = LIVE_SERVICES, .expand_all = true};
    (void)state;
    read_tasks(&t, p, SECOND);
    struct live_rows rows = rows_of(&t, p, &request);
    assert_int_equal(rows.count, 7); /* group, process, 2 threads; group, 2 names */
    assert_str(rows.items[4].name, "[ended]");
    assert_row(&rows, 4, "[ended]", "3 processes", 50);
    assert_int_equal(rows.items[2].depth, 2);
    assert_row(&rows, 5, "ls", "2 ended", 40);
    live_rows_deinit(&rows);
    live_tasks_deinit(&t);
    profile_destroy(p);
}

/* A process that was read before it ended keeps its service while it has samples. */
static void what_was_read_is_retained(void **state)
{
    struct live_tasks t = {0};
    struct profile *p = make_profile();
    struct live_request request = {.by = LIVE_SERVICES};
    char service[256];
    (void)state;
    read_tasks(&t, p, SECOND);
    struct live_rows rows = rows_of(&t, p, &request);
    live_rows_deinit(&rows);
    snprintf(service, sizeof service, "%.*s", STR_ARG(t.processes[1].service));
    assert_int_equal(end_child(NULL), 0);
    read_tasks(&t, p, 2 * SECOND);
    rows = rows_of(&t, p, &request);
    assert_int_equal(rows.count, 2);
    assert_str(rows.items[0].name, service);
    live_rows_deinit(&rows);
    rows = rows_of(&t, NULL, &request);
    live_rows_deinit(&rows);
    read_tasks(&t, NULL, 3 * SECOND);
    assert_int_equal(t.count, 0);
    live_tasks_deinit(&t);
    profile_destroy(p);
    assert_int_equal(start_child(NULL), 0);
}

int main(void)
{
    const struct CMUnitTest units[] = {
        UNIT(short_processes_of_a_name_are_one_row),
        UNIT(waits_are_those_of_the_last_interval),
        UNIT(threads_have_rows_of_their_own),
        UNIT(services_have_the_processes_of_both),
        UNIT(what_was_read_is_retained),
    };
    return cmocka_run_group_tests(units, start_child, end_child);
}
