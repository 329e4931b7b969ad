/* SPDX-License-Identifier: Apache-2.0 */
/* The processes that ran before the recording: each is recorded once, before its first
 * sample. */
#include "os/proc.h"
#include "os/process_probe.h"
#include "record/tasks.h"
#include "unit.h"
#include <sys/wait.h>
#include <unistd.h>

/* A stage that stores what it gets. */
struct heard {
    struct record_layout layout;
    size_t names, maps, samples, rounds;
    bool sample_first; /* a sample came before any name or mapping */
    uint32_t pid;      /* of the last name or mapping */
    char name[64];
};

static void hear(void *context, const struct record *r)
{
    struct heard *h = context;
    struct record again;
    assert_true(record_of(&h->layout, r->bytes, &again));
    assert_int_equal(again.time, r->time);
    if (r->type == PERF_SAMPLE) {
        h->sample_first |= h->names + h->maps == 0;
        h->samples++;
    } else if (r->type == PERF_COMM) {
        h->names++;
        h->pid = record_u32(r->bytes, 8);
        snprintf(h->name, sizeof h->name, "%s", r->bytes.ptr + 16);
    } else if (r->type == PERF_MMAP2) {
        h->maps++;
        h->pid = record_u32(r->bytes, 8);
    }
}

static void hear_round(void *context)
{
    ((struct heard *)context)->rounds++;
}

/* The process that does not answer; 0: all do. */
static uint32_t locked;

bool __wrap_os_process_probe_answers(struct os_process_probe *p, uint32_t pid);

bool __wrap_os_process_probe_answers(struct os_process_probe *p, uint32_t pid)
{
    (void)p;
    return pid != locked;
}

static struct heard heard;
static struct record_tasks tasks;
static struct record_maker maker;

static void set_up(void)
{
    struct error err;
    heard = (struct heard){.layout = record_layout_of(false, 0)};
    maker.layout = &heard.layout;
    assert_true(record_tasks_init(&tasks, &heard.layout,
                                  (struct record_sink){&heard, hear, hear_round}, &err));
}

static void give(struct record r)
{
    struct record_sink to = record_tasks_sink(&tasks);
    record_pass(&to, &r);
}

static void sample(uint32_t pid, uint32_t tid, uint64_t time)
{
    record_begin(&maker, PERF_SAMPLE, PERF_MODE_USER);
    record_put_u64(&maker, 0x1000);
    record_put_u32(&maker, pid);
    record_put_u32(&maker, tid);
    record_put_u64(&maker, time);
    record_put_u64(&maker, 0);
    record_put_u64(&maker, 1);
    give(record_end_bare(&maker, time));
}

/* FORK or EXIT. */
static void task(uint32_t type, uint32_t pid, uint32_t parent, uint32_t tid,
                 uint32_t parent_tid, uint64_t time)
{
    record_begin(&maker, type, 0);
    record_put_u32(&maker, pid);
    record_put_u32(&maker, parent);
    record_put_u32(&maker, tid);
    record_put_u32(&maker, parent_tid);
    record_put_u64(&maker, time);
    give(record_end(&maker, pid, tid, time));
}

static void test_once_and_before(void **state)
{
    uint32_t own = (uint32_t)getpid();
    (void)state;
    set_up();
    sample(own, own, 100);
    assert_int_equal(heard.names, 1);
    assert_true(heard.maps > 1);
    assert_false(heard.sample_first);
    assert_int_equal(heard.pid, own);
    assert_true(strstr("record_record_tasks", heard.name) != NULL || heard.name[0]);
    size_t maps = heard.maps;
    sample(own, own, 101);
    assert_int_equal(heard.names, 1);
    assert_int_equal(heard.maps, maps);
    assert_int_equal(heard.samples, 2);
    struct record_sink to = record_tasks_sink(&tasks);
    to.round(to.context);
    assert_int_equal(heard.rounds, 1);
    record_tasks_deinit(&tasks);
}

/* A child starts with its parent's name and mappings: these must be known before. */
static void test_parents_before_children(void **state)
{
    uint32_t own = (uint32_t)getpid();
    (void)state;
    set_up();
    task(PERF_FORK, 1000000, own, 1000000, own, 50);
    assert_int_equal(heard.names, 1);
    assert_true(heard.maps > 1);
    assert_int_equal(heard.pid, own);
    size_t maps = heard.maps;
    sample(1000000, 1000000, 51); /* nothing more is read */
    assert_int_equal(heard.maps, maps);
    assert_int_equal(heard.names, 1);
    task(PERF_FORK, 1000000, 1000000, 1000001, 1000000, 52); /* a thread */
    sample(1000000, 1000001, 53);
    assert_int_equal(heard.names, 1);
    assert_int_equal(heard.maps, maps);
    record_tasks_deinit(&tasks);
}

/* /proc has nothing about a process that has ended; another one may get its id. */
static void test_reused_ids(void **state)
{
    uint32_t own = (uint32_t)getpid();
    (void)state;
    set_up();
    task(PERF_EXIT, own, 1, own, 1, 10);
    sample(own, own, 11);
    assert_int_equal(heard.names + heard.maps, 0);
    task(PERF_FORK, own, own, own, own, 12); /* a thread of an unknown process */
    sample(own, own, 13);
    assert_int_equal(heard.names, 1);
    assert_true(heard.maps > 1);
    record_tasks_deinit(&tasks);
}

/* Ids above the limit, the idle task, records that are too short. */
static void test_invalid_ids(void **state)
{
    (void)state;
    set_up();
    sample(0, 0, 1);
    sample(UINT32_MAX, UINT32_MAX, 2);
    sample(UINT32_MAX - 5, 77, 3);
    task(PERF_FORK, UINT32_MAX, UINT32_MAX, UINT32_MAX, UINT32_MAX, 4);
    task(PERF_EXIT, UINT32_MAX, UINT32_MAX, UINT32_MAX, UINT32_MAX, 5);
    record_begin(&maker, PERF_FORK, 0);
    give(record_end(&maker, 1, 1, 6));
    assert_int_equal(heard.samples, 3);
    record_tasks_deinit(&tasks);
}

static void test_all_at_once(void **state)
{
    uint32_t own = (uint32_t)getpid();
    (void)state;
    set_up();
    record_tasks_add(&tasks, own);
    assert_int_equal(heard.names, 1);
    assert_true(heard.maps > 1);
    size_t maps = heard.maps;
    record_tasks_add(&tasks, 999999999);
    assert_int_equal(heard.maps, maps);
    record_tasks_deinit(&tasks);
}

static void test_crowded(void **state)
{
    uint32_t own = (uint32_t)getpid();
    (void)state;
    set_up();
    assert_int_equal(os_process_thread_count(own), 1);
    assert_int_equal(os_process_thread_count(999999999), 0);
    record_tasks_add_crowded(&tasks, UINT32_MAX);
    assert_int_equal(heard.maps, 0);
    record_tasks_add_crowded(&tasks, 1);
    assert_true(heard.maps > 1);
    size_t maps = heard.maps;
    sample(own, own, 5);
    assert_int_equal(heard.names, 1);
    assert_int_equal(heard.maps, maps);
    record_tasks_deinit(&tasks);
}

/* The mappings of a process that does not answer come with a later sample, and so do those of a
 * child that started meanwhile. */
static void test_locked(void **state)
{
    uint32_t own = (uint32_t)getpid(), parent = (uint32_t)getppid();
    (void)state;
    set_up();
    locked = parent;
    task(PERF_FORK, own, parent, own, parent, 50);
    assert_int_equal(heard.maps, 0);
    sample(parent, parent, 51);
    assert_int_equal(heard.maps, 0);
    assert_int_equal(heard.samples, 1);
    sample(own, own, 52);
    assert_true(heard.maps > 1);
    assert_int_equal(heard.pid, own);
    size_t maps = heard.maps;
    locked = 0;
    sample(parent, parent, 53);
    assert_true(heard.maps > maps);
    record_tasks_deinit(&tasks);
}

int main(void)
{
    const struct CMUnitTest units[] = {
        UNIT(test_once_and_before), UNIT(test_parents_before_children),
        UNIT(test_reused_ids),      UNIT(test_invalid_ids),
        UNIT(test_all_at_once),     UNIT(test_crowded),
        UNIT(test_locked)};
    return UNITS_RUN(units);
}
