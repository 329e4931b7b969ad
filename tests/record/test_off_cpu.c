/* SPDX-License-Identifier: Apache-2.0 */
/* Waits made of context switches: the order of the records, missing records, ended threads. */
#include "perf/off_cpu.h"
#include "record/off_cpu.h"
#include "unit.h"
#include <sys/wait.h>
#include <unistd.h>

#define SWITCHES_ID 31
#define WAKINGS_ID 41
#define CALLS_ID 51
#define RETURNS_ID 52
#define FILES_ID 61
#define OTHER_ID 11
#define WOKEN_AT 24 /* in a tracepoint's raw data */
#define ADDRESS_AT 16
#define OPERATION_AT 24
#define PID 100

/* The output: words of the samples. */
struct waits {
    size_t count, others, rounds;
    struct {
        uint64_t id, time, period, frames, first;
        uint32_t tid, word, raw; /* raw: the length of its data */
        uint64_t lock;
        char texts[64]; /* after it */
        size_t length;
    } items[32];
};

static struct record_layout layout;
static struct record_off_cpu stage;
static struct waits got;
static struct record_maker maker;

static void take(void *context, const struct record *r)
{
    (void)context;
    if (r->type != PERF_SAMPLE || record_u64(r->bytes, layout.id) == OTHER_ID) {
        got.others++;
        return;
    }
    assert_in_range(got.count, 0, 31);
    size_t at = layout.fixed_size;
    got.items[got.count].id = record_u64(r->bytes, layout.id);
    got.items[got.count].time = record_u64(r->bytes, layout.time);
    got.items[got.count].period = record_u64(r->bytes, layout.period);
    got.items[got.count].tid = record_tid(&layout, r);
    uint64_t frames = got.items[got.count].frames = record_u64(r->bytes, at);
    got.items[got.count].first = frames ? record_u64(r->bytes, at + 8) : 0;
    at += 8 + 8 * (size_t)frames;
    uint32_t raw = got.items[got.count].raw = record_u32(r->bytes, at);
    assert_in_range(raw, 4, r->bytes.len - at - 4);
    got.items[got.count].lock = raw < 12 ? 0 : record_u64(r->bytes, at + 8);
    memcpy(got.items[got.count].texts, r->bytes.ptr + at + 16,
           raw < 12        ? 0
           : raw - 12 < 63 ? raw - 12
                           : 63);
    got.items[got.count].word = record_u32(r->bytes, at + 4);
    got.items[got.count++].length = r->bytes.len - at - 4 - raw;
}

static void round_over(void *context)
{
    (void)context;
    got.rounds++;
}

static int begin(void **state)
{
    static const uint64_t switches[] = {SWITCHES_ID, SWITCHES_ID + 1},
                          wakings[] = {WAKINGS_ID}, calls[] = {CALLS_ID},
                          returns[] = {RETURNS_ID}, files[] = {FILES_ID};
    struct error err;
    (void)state;
    layout = record_layout_of(true, PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_RAW);
    maker.layout = &layout;
    got = (struct waits){0};
    assert_true(record_off_cpu_init(&stage, &layout,
                                    (struct record_sink){NULL, take, round_over}, &err));
    stage.fields.woken = WOKEN_AT;
    record_off_cpu_ids(&stage, OFF_CPU_SWITCHES, switches, 2);
    record_off_cpu_ids(&stage, OFF_CPU_WAKINGS, wakings, 1);
    stage.fields.address = ADDRESS_AT;
    stage.fields.operation = OPERATION_AT;
    record_off_cpu_ids(&stage, OFF_CPU_CALLS, calls, 1);
    record_off_cpu_ids(&stage, OFF_CPU_RETURNS, returns, 1);
    record_off_cpu_ids(&stage, OFF_CPU_FILES, files, 1);
    return 0;
}

static int end(void **state)
{
    (void)state;
    record_off_cpu_deinit(&stage);
    return 0;
}

static void give(const struct record *r)
{
    struct record_sink sink = record_off_cpu_sink(&stage);
    sink.take(sink.context, r);
}

static void end_round(void)
{
    struct record_sink sink = record_off_cpu_sink(&stage);
    sink.round(sink.context);
}

static void put_fixed(uint64_t id, uint64_t address, uint32_t tid, uint64_t time)
{
    record_begin(&maker, PERF_SAMPLE, PERF_MODE_KERNEL);
    record_put_u64(&maker, id);
    record_put_u64(&maker, address);
    record_put_u32(&maker, PID);
    record_put_u32(&maker, tid);
    record_put_u64(&maker, time);
    record_put_u64(&maker, 1);
    record_put_u64(&maker, 1);
}

/* A sample whose chain is one address; `woken`: raw data of a tracepoint, or 4 bytes of zeros. */
static void sample(uint64_t id, uint32_t tid, uint64_t time, uint64_t address,
                   uint32_t woken)
{
    char raw[32] = {0};
    put_fixed(id, address, tid, time);
    record_put_u64(&maker, 1);
    record_put_u64(&maker, address);
    memcpy(raw + WOKEN_AT, &woken, sizeof woken);
    record_put_u32(&maker, woken ? 28 : 4);
    record_put(&maker, raw, woken ? 28 : 4);
    struct record r = record_end_bare(&maker, time);
    give(&r);
}

static void changes(uint32_t tid, uint64_t time, uint16_t misc)
{
    record_begin(&maker, PERF_SWITCH, misc);
    struct record r = record_end(&maker, PID, tid, time);
    give(&r);
}

static void leaves(uint32_t tid, uint64_t time)
{
    changes(tid, time, PERF_MISC_SWITCH_OUT);
}

static void is_back(uint32_t tid, uint64_t time)
{
    changes(tid, time, 0);
}

static void task(uint32_t type, uint32_t tid, uint64_t time)
{
    record_begin(&maker, type, 0);
    record_put_u32(&maker, PID);
    record_put_u32(&maker, PID);
    record_put_u32(&maker, tid);
    record_put_u32(&maker, tid);
    record_put_u64(&maker, time);
    struct record r = record_end(&maker, PID, tid, time);
    give(&r);
}

static void assert_wait(size_t i, uint32_t tid, uint64_t time, uint64_t period,
                        uint64_t address, uint32_t word)
{
    assert_in_range(i + 1, 1, got.count);
    assert_int_equal(got.items[i].id, SWITCHES_ID);
    assert_int_equal(got.items[i].tid, tid);
    assert_int_equal(got.items[i].time, time);
    assert_int_equal(got.items[i].period, period);
    assert_int_equal(got.items[i].first, address);
    assert_int_equal(got.items[i].word, word);
    assert_int_equal(got.items[i].length, 0);
}

static void test_a_wait(void **state)
{
    (void)state;
    sample(SWITCHES_ID, 7, 100, 0xabc, 0);
    leaves(7, 101);
    is_back(7, 1101);
    assert_int_equal(got.count, 0); /* stacks may still come */
    end_round();
    assert_int_equal(got.count, 1);
    assert_wait(0, 7, 1101, 1000, 0xabc, 0);
    assert_int_equal(stage.counts.nanoseconds, 1000);
    assert_int_equal(got.rounds, 1);
}

/* The stack comes after the other records, the thread returns in another round on another CPU,
 * whose counter has another id; records of other threads in between change nothing. */
static void test_order(void **state)
{
    (void)state;
    leaves(7, 101);
    sample(SWITCHES_ID, 8, 50, 0x111, 0);
    sample(SWITCHES_ID + 1, 7, 100, 0xabc, 0);
    changes(8, 51, PERF_MISC_SWITCH_OUT | PERF_MISC_SWITCH_OUT_PREEMPT);
    end_round();
    is_back(7, 301);
    is_back(8, 251);
    end_round();
    assert_int_equal(got.count, 2);
    assert_wait(0, 8, 251, 200, 0x111, PERF_OFF_CPU_PREEMPTED);
    assert_wait(1, 7, 301, 200, 0xabc, 0);
}

static void test_missing_records(void **state)
{
    (void)state;
    is_back(9, 10); /* it already waited when the recording started */
    leaves(7, 101); /* its stack was lost */
    is_back(7, 201);
    sample(SWITCHES_ID, 8, 300, 0xabc, 0); /* the switch out was lost */
    is_back(8, 400);
    sample(SWITCHES_ID, 8, 500, 0xabc, 0); /* the switch in was lost */
    leaves(8, 501);
    sample(SWITCHES_ID, 8, 600, 0xdef, 0);
    leaves(8, 601);
    is_back(8, 701);
    sample(SWITCHES_ID, 0, 800, 0xabc, 0); /* the idle task */
    leaves(0, 801);
    is_back(0, 901);
    leaves(UINT32_MAX, 902); /* there are no such thread ids */
    is_back(UINT32_MAX, 903);
    end_round();
    assert_int_equal(got.count, 3);
    assert_wait(0, 7, 201, 100, 0, 0);
    assert_int_equal(got.items[0].frames, 0);
    assert_wait(1, 8, 400, 100, 0xabc, 0);
    assert_wait(2, 8, 701, 100, 0xdef, 0);
    assert_int_equal(stage.counts.without_stack, 1);
}

/* An id that no process has any more. */
static uint32_t ended_process(void)
{
    pid_t pid = fork();
    if (pid == 0)
        _exit(0);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    return (uint32_t)pid;
}

/* A thread that ends leaves the CPU for good, which is not a wait; another thread may get its id. */
static void test_exit_and_fork(void **state)
{
    uint32_t me = (uint32_t)getpid(), no_process = ended_process();
    (void)state;
    sample(SWITCHES_ID, 7, 100, 0xabc, 0);
    leaves(7, 101);
    is_back(7, 201);
    task(PERF_EXIT, 7, 300);
    sample(SWITCHES_ID, 7, 301, 0xabc, 0);
    leaves(7, 302);
    is_back(7, 303); /* it waits while it ends */
    sample(SWITCHES_ID, 7, 304, 0xabc, 0);
    leaves(7, 305);
    end_round();
    task(PERF_FORK, 7, 400);
    is_back(7, 450);
    sample(SWITCHES_ID, 7, 500, 0xdef, 0);
    leaves(7, 501);
    is_back(7, 601);
    sample(SWITCHES_ID, me, 500, 0xdef, 0);
    leaves(me, 501);
    sample(SWITCHES_ID, no_process, 500, 0xdef, 0); /* its EXIT record was lost */
    leaves(no_process, 501);
    end_round();
    assert_int_equal(got.count, 2);
    assert_wait(1, 7, 601, 100, 0xdef, 0);
    record_off_cpu_end(&stage, 1501);
    assert_int_equal(got.count, 3);
    assert_wait(2, me, 1501, 1000, 0xdef, PERF_OFF_CPU_STILL);
    record_off_cpu_end(&stage, 2000);
    assert_int_equal(got.count, 3);
    assert_int_equal(got.others, 2); /* both records of the thread are passed on */
}

static void test_wakers(void **state)
{
    (void)state;
    sample(WAKINGS_ID, 9, 50, 0x222, 7); /* it does not wait */
    sample(SWITCHES_ID, 7, 100, 0xabc, 0);
    leaves(7, 101);
    sample(WAKINGS_ID, 9, 150, 0x333, 7);
    sample(WAKINGS_ID, 9, 160, 0x333, 0); /* too short to contain the thread */
    is_back(7, 201);
    end_round();
    assert_int_equal(got.count, 2);
    assert_int_equal(got.items[0].id, WAKINGS_ID);
    assert_int_equal(got.items[0].tid, 9);
    assert_int_equal(got.items[0].first, 0x333);
    assert_int_equal(got.items[0].word, 7);
    assert_wait(1, 7, 201, 100, 0xabc, 0);
}

/* A call of futex, or the return from it. */
static void call(uint64_t id, uint32_t tid, uint64_t time, uint64_t address,
                 uint64_t operation)
{
    uint64_t data[] = {0, 0, address, operation};
    put_fixed(id, 0, tid, time);
    record_put_u64(&maker, 0); /* no call chain */
    record_put_u32(&maker, sizeof data + 4);
    record_put(&maker, data, sizeof data);
    record_put_u32(&maker, 0);
    struct record r = record_end_bare(&maker, time);
    give(&r);
}

/* A wait for a lock has its address; the holder is the thread that wakes in a call of futex. */
static void test_locks(void **state)
{
    (void)state;
    call(CALLS_ID, 7, 100, 0x5000, 128); /* FUTEX_WAIT_PRIVATE */
    sample(SWITCHES_ID, 7, 101, 0xabc, 0);
    leaves(7, 102);
    call(CALLS_ID, 9, 150, 0x5000, 129); /* FUTEX_WAKE_PRIVATE */
    sample(WAKINGS_ID, 9, 152, 0x333, 7);
    call(RETURNS_ID, 9, 153, 0, 0);
    is_back(7, 160);
    call(RETURNS_ID, 7, 161, 0, 0);
    sample(SWITCHES_ID, 7, 200, 0xdef, 0); /* not in a call */
    leaves(7, 201);
    is_back(7, 211);
    end_round();
    assert_int_equal(got.count, 4);
    assert_int_equal(got.items[0].id, WAKINGS_ID);
    assert_int_equal(got.items[1].id, CALLS_ID);
    assert_int_equal(got.items[1].tid, 9);
    assert_int_equal(got.items[1].first, 0x333);
    assert_int_equal(got.items[1].period, 50);
    assert_int_equal(got.items[1].lock, 0x5000);
    assert_wait(2, 7, 160, 58, 0xabc, 0);
    assert_int_equal(got.items[2].lock, 0x5000);
    assert_wait(3, 7, 211, 10, 0xdef, 0);
    assert_int_equal(got.items[3].raw, 4);
}

/* The record of a file that a thread will wait for; `size`: of its data. */
static void file(uint32_t tid, uint64_t time, uint64_t inode, size_t size)
{
    struct wait_file f = {
        .inode = inode, .mode = 0010000, .fd = UINT32_MAX, .path_length = UINT32_MAX};
    put_fixed(FILES_ID, 0, tid, time);
    record_put_u64(&maker, 0); /* no call chain */
    record_put_u32(&maker, (uint32_t)size);
    record_put(&maker, &f, size);
    struct record r = record_end_bare(&maker, time);
    give(&r);
}

/* The file belongs to the wait that begins next, not to a later one. */
static void test_files(void **state)
{
    const size_t whole = WAIT_FILES_HEAD;
    (void)state;
    file(7, 50, 5, whole); /* of a switch that is not recorded */
    sample(SWITCHES_ID, 7, 20000100, 0xabc, 0);
    leaves(7, 20000101);
    is_back(7, 20000201);
    file(7, 20000300, 6, whole);
    sample(SWITCHES_ID, 7, 20000301, 0xabc, 0);
    leaves(7, 20000302);
    is_back(7, 20000402);
    file(7, 20000500, 7, whole); /* its stack was lost */
    leaves(7, 20000502);
    is_back(7, 20000602);
    file(8, 20000700, 8, whole); /* all of its wait was lost */
    is_back(8, 20000701);
    file(8, 20000800, 9, whole - 1); /* truncated */
    leaves(8, 20000802);
    is_back(8, 20000902);
    file(9, 20001000, 9, whole);
    changes(9, 20001001, PERF_MISC_SWITCH_OUT | PERF_MISC_SWITCH_OUT_PREEMPT);
    is_back(9, 20001002);
    end_round();
    assert_int_equal(got.count, 5);
    assert_wait(0, 7, 20000201, 100, 0xabc, 0);
    assert_wait(1, 7, 20000402, 100, 0xabc, PERF_OFF_CPU_FILE);
    assert_int_equal(got.items[1].lock, 0);
    assert_memory_equal(got.items[1].texts, "pipe:[6]\0pipe", 14);
    assert_wait(2, 7, 20000602, 100, 0, PERF_OFF_CPU_FILE);
    assert_memory_equal(got.items[2].texts, "pipe:[7]\0pipe", 14);
    assert_wait(3, 8, 20000902, 100, 0, 0);
    assert_wait(4, 9, 20001002, 1, 0, PERF_OFF_CPU_PREEMPTED);
    assert_int_equal(stage.counts.files, 2);
    file(9, 20001100, 9, whole); /* it still is on its CPU */
    end_round();
    record_off_cpu_end(&stage, 20002000);
    assert_int_equal(got.count, 5);
}

/* Samples of other events lose the raw data, and nothing else. */
static void test_others(void **state)
{
    (void)state;
    sample(OTHER_ID, 7, 100, 0xabc, 0);
    assert_int_equal(got.others, 1);
    record_begin(&maker, PERF_SAMPLE, 0); /* as short as a sample can be */
    record_put_u64(&maker, OTHER_ID);
    for (int i = 0; i < 5; i++)
        record_put_u64(&maker, 0);
    struct record r = record_end_bare(&maker, 1);
    give(&r);
    record_begin(&maker, PERF_SAMPLE,
                 0); /* with a chain that is longer than the record */
    record_put_u64(&maker, SWITCHES_ID);
    for (int i = 0; i < 5; i++)
        record_put_u64(&maker, 0);
    record_put_u64(&maker, UINT64_MAX);
    r = record_end_bare(&maker, 1);
    give(&r);
    end_round();
    assert_int_equal(got.others, 2);
}

int main(void)
{
    const struct CMUnitTest units[] = {
        cmocka_unit_test_setup_teardown(test_a_wait, begin, end),
        cmocka_unit_test_setup_teardown(test_order, begin, end),
        cmocka_unit_test_setup_teardown(test_missing_records, begin, end),
        cmocka_unit_test_setup_teardown(test_exit_and_fork, begin, end),
        cmocka_unit_test_setup_teardown(test_wakers, begin, end),
        cmocka_unit_test_setup_teardown(test_locks, begin, end),
        cmocka_unit_test_setup_teardown(test_files, begin, end),
        cmocka_unit_test_setup_teardown(test_others, begin, end),
    };
    return UNITS_RUN(units);
}
