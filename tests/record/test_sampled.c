/* SPDX-License-Identifier: Apache-2.0 */
/* The stage that passes forks, names and mappings of sampled processes only. */
#include "record/sampled.h"
#include "unit.h"
#include <unistd.h>

/* The last ids: no process of this machine has them. */
#define SHELL (sampled.limit - 2)
#define CHILD (sampled.limit - 1)
#define MANY 20000
#define ROUNDS 64

/* What comes out: a letter for each record, and the pid of the last one. */
static char heard[256];
static uint64_t newest[3];  /* times: of all records; until the last two rounds ended */
static uint64_t first_time; /* of what comes out */
static uint32_t last_pid;
static struct record_layout layout;
static struct record_tasks tasks;
static struct record_sampled sampled;
static struct record_maker maker;

static void hear(void *context, const struct record *r)
{
    static const struct {
        uint32_t type;
        char letter;
    } letters[] = {{PERF_SAMPLE, 's'},
                   {PERF_FORK, 'f'},
                   {PERF_EXIT, 'e'},
                   {PERF_COMM, 'c'},
                   {PERF_MMAP2, 'm'}};
    struct record again;
    (void)context;
    first_time = heard[0] ? first_time : r->time;
    assert_true(record_of(&layout, r->bytes, &again));
    assert_int_equal(again.time, r->time);
    assert_true(r->time >= newest[2]); /* readers sort the records of two rounds */
    last_pid = r->type == PERF_SAMPLE ? record_pid(&layout, r) : record_u32(r->bytes, 8);
    for (size_t i = 0; i < sizeof letters / sizeof *letters; i++)
        if (letters[i].type == r->type)
            heard[strlen(heard)] = letters[i].letter;
}

static void hear_round(void *context)
{
    (void)context;
}

static int set_up(void **state)
{
    struct error err;
    struct record_sink end = {NULL, hear, hear_round};
    (void)state;
    memset(heard, 0, sizeof heard);
    memset(newest, 0, sizeof newest);
    last_pid = 0;
    layout = record_layout_of(false, 0);
    maker.layout = &layout;
    assert_true(record_tasks_init(&tasks, &layout, end, &err));
    return record_sampled_init(&sampled, &layout, &tasks, record_tasks_sink(&tasks), &err)
               ? 0
               : -1;
}

static int tear_down(void **state)
{
    (void)state;
    record_sampled_deinit(&sampled);
    record_tasks_deinit(&tasks);
    return 0;
}

static void give(struct record r)
{
    struct record_sink to = record_sampled_sink(&sampled);
    newest[0] = r.time > newest[0] ? r.time : newest[0];
    record_pass(&to, &r);
}

static void end_round(void)
{
    struct record_sink to = record_sampled_sink(&sampled);
    newest[2] = newest[1];
    newest[1] = newest[0];
    to.round(to.context);
}

static void task(uint32_t type, uint32_t pid, uint32_t parent, uint64_t time)
{
    record_begin(&maker, type, 0);
    record_put_u32(&maker, pid);
    record_put_u32(&maker, parent);
    record_put_u32(&maker, pid);
    record_put_u32(&maker, parent);
    record_put_u64(&maker, time);
    give(record_end(&maker, pid, pid, time));
}

static void name(uint32_t pid, bool executed, uint64_t time)
{
    struct record r = record_make_name(&maker, pid, pid, STR("work"), time);
    r.misc = executed ? PERF_MISC_COMM_EXEC : 0;
    memcpy(maker.bytes + RECORD_MISC, &r.misc, sizeof r.misc);
    give(r);
}

static void map(uint32_t pid, uint64_t time)
{
    record_begin(&maker, PERF_MMAP2, PERF_MODE_USER);
    record_put_u32(&maker, pid);
    record_put_u32(&maker, pid);
    for (size_t i = RECORD_MMAP_START; i < RECORD_MMAP_PATH; i += 8)
        record_put_u64(&maker, 0x1000);
    record_put_text(&maker, STR("/bin/work"));
    give(record_end(&maker, pid, pid, time));
}

static void sample(uint32_t pid, uint64_t time)
{
    record_begin(&maker, PERF_SAMPLE, PERF_MODE_USER);
    record_put_u64(&maker, 0x1000);
    record_put_u32(&maker, pid);
    record_put_u32(&maker, pid);
    record_put_u64(&maker, time);
    record_put_u64(&maker, 0);
    record_put_u64(&maker, 1);
    give(record_end_bare(&maker, time));
}

static void start(uint32_t pid, uint32_t parent, uint64_t time)
{
    task(PERF_FORK, pid, parent, time);
    name(pid, true, time);
    map(pid, time);
    map(pid, time);
}

static void test_a_process_without_samples(void **state)
{
    (void)state;
    start(CHILD, SHELL, 1);
    task(PERF_EXIT, CHILD, SHELL, 2);
    for (size_t i = 0; i < ROUNDS; i++)
        end_round();
    assert_string_equal(heard, "");
    assert_int_equal(sampled.count, 0);
    assert_int_equal(sampled.removed, 4);
}

/* Its name and mappings come before the sample, and what follows passes at once. */
static void test_a_sampled_process(void **state)
{
    (void)state;
    start(CHILD, SHELL, 1);
    end_round();
    sample(CHILD, 5);
    assert_string_equal(heard, "cmms");
    map(CHILD, 6);
    task(PERF_EXIT, CHILD, SHELL, 7);
    assert_string_equal(heard, "cmmsme");
}

/* A sample of another source comes after later records: its process is known by then. */
static void test_an_earlier_sample(void **state)
{
    (void)state;
    start(CHILD, SHELL, 3);
    task(PERF_EXIT, CHILD, SHELL, 9);
    sample(CHILD, 8);
    assert_string_equal(heard, "cmmes");
    assert_true(first_time == 3);
    sample(CHILD, 5);
}

/* The mappings of a fork are those of its parent, which has no sample. */
static void test_a_fork(void **state)
{
    (void)state;
    start(SHELL, 1, 1);
    task(PERF_FORK, CHILD, SHELL, 2);
    sample(CHILD, 3);
    assert_string_equal(heard, "cmmfs");
    assert_int_equal(last_pid, CHILD);
    map(SHELL, 4);
    assert_string_equal(heard, "cmmfsm");
}

static void test_an_exit_before_the_last_sample(void **state)
{
    (void)state;
    start(CHILD, SHELL, 1);
    task(PERF_EXIT, CHILD, SHELL, 2);
    sample(CHILD, 3);
    assert_string_equal(heard, "cmmes");
}

/* Another process gets the id of one that was sampled. */
static void test_an_id_given_again(void **state)
{
    (void)state;
    start(CHILD, SHELL, 1);
    sample(CHILD, 2);
    task(PERF_EXIT, CHILD, SHELL, 3);
    start(CHILD, SHELL, 4);
    assert_string_equal(heard, "cmmse");
    task(PERF_EXIT, CHILD, SHELL, 5);
    end_round();
    start(CHILD, SHELL, 6);
    sample(CHILD, 7);
    assert_string_equal(heard, "cmmsecmms");
}

/* A process that has slept for long is read from /proc, like one that ran before. */
static void test_a_process_sampled_late(void **state)
{
    uint32_t own = (uint32_t)getpid();
    (void)state;
    sample(own, 1);
    task(PERF_EXIT, own, 1, 2);
    start(own, 1, 3);
    for (size_t i = 0; i < ROUNDS; i++)
        end_round();
    assert_int_equal(sampled.count, 0);
    memset(heard, 0, sizeof heard);
    sample(own, 4);
    assert_memory_equal(heard, "cm", 2);
    assert_int_equal(heard[strlen(heard) - 1], 's');
}

/* Thousands of processes that stay: the memory is bounded, and nothing passes. */
static void test_many_processes(void **state)
{
    (void)state;
    for (uint32_t pid = sampled.limit - MANY; pid < sampled.limit; pid++) {
        start(pid, 1, 1);
        if (pid % 1000 == 0)
            end_round();
    }
    end_round();
    assert_true(sampled.arena.total < (4u << 20));
    assert_string_equal(heard, "");
}

#define CASE(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest units[] = {
        CASE(test_a_process_without_samples),
        CASE(test_a_sampled_process),
        CASE(test_an_earlier_sample),
        CASE(test_a_fork),
        CASE(test_an_exit_before_the_last_sample),
        CASE(test_an_id_given_again),
        CASE(test_a_process_sampled_late),
        CASE(test_many_processes),
    };
    return UNITS_RUN(units);
}
