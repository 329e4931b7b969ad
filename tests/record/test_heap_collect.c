/* SPDX-License-Identifier: Apache-2.0 */
/* The order in which the collector applies the records of lanes. A child of this process
 * writes them to the shared memory as threads of a program would. */
#include "base/heap_format.h"
#include "record/heap_collect.h"
#include "unit.h"
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define LANES 2

/* A record, and the lane that it is in. Its time is relative to when the writing begins. */
struct written {
    unsigned lane;
    unsigned kind;
    uint64_t time;
    uint64_t address, size;
};

#define FUTURE ((uint64_t)1 << 50)
#define ONE 0x1000
#define TWO 0x2000

/* Adds a record to a lane whose records so far are `head` bytes long. Returns its length. */
static size_t put(char *to, const struct written *r, uint64_t time)
{
    uint64_t when = time << HEAP_KIND_BITS | r->kind;
    uint64_t words[3] = {when, r->address, r->size};
    struct heap_record head = {
        .when = when, .length = sizeof head, .address = r->address, .size = r->size};
    size_t length = r->kind >= HEAP_LONG        ? sizeof head
                    : r->kind == HEAP_ALLOCATED ? sizeof words
                                                : 2 * sizeof *words;
    memcpy(to, r->kind >= HEAP_LONG ? (const void *)&head : words, length);
    return length;
}

static uint64_t clock_of(const struct heap_shared *shared)
{
    struct timespec t;
    if (shared->has_ticks)
        return heap_ticks() - shared->started;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec - shared->started;
}

/* Writes all records before the collector sees any of them: lanes without records that are
 * busy hold it back. */
static void write_records(char *memory, const struct written *records, size_t count)
{
    struct heap_shared *shared = (void *)memory;
    uint64_t heads[LANES] = {0};
    while (__atomic_load_n(&shared->magic, __ATOMIC_ACQUIRE) != HEAP_MAGIC)
        usleep(100);
    uint64_t begin = clock_of(shared);
    for (size_t i = 0; i < count; i++) {
        const struct written *r = &records[i];
        char *ring = memory + HEAP_LANES_AT + r->lane * HEAP_LANE_SIZE;
        heads[r->lane] += put(ring + heads[r->lane], r, begin + r->time);
    }
    for (unsigned i = LANES; i-- > 0;)
        __atomic_store_n(&shared->lanes[i].head, heads[i], __ATOMIC_RELEASE);
    for (unsigned i = 0; i < LANES; i++)
        __atomic_store_n(&shared->lanes[i].is_busy, 0, __ATOMIC_RELEASE);
}

static pid_t start_writer(char *memory, const struct written *records, size_t count)
{
    struct heap_shared *shared = (void *)memory;
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        write_records(memory, records, count);
        _exit(0);
    }
    for (uint32_t i = 0; i < LANES; i++) {
        struct heap_lane *lane = &shared->lanes[i];
        lane->pid = (uint32_t)child;
        lane->tid = lane->pid + i;
        lane->is_busy = 1;
        lane->state = HEAP_LANE_USED;
    }
    return child;
}

/* Collects these records. The caller ends e. */
static void collect(struct heap_events *e, const struct written *records, size_t count)
{
    struct os_shared_memory m;
    struct error err = {.location = LOCATION_NONE};
    struct heap_collect_result result;
    assert_true(os_shared_memory_create(&m, HEAP_SHARED_SIZE, &err));
    char *memory = os_shared_memory_map(&m, 0, HEAP_SHARED_SIZE, 1, &err);
    assert_non_null(memory);
    pid_t child = start_writer(memory, records, count);
    assert_true(heap_events_init(e, NULL, 0));
    struct heap_collect_settings settings = {.memory = &m, .caller = (uint32_t)child};
    bool ok = heap_collect(&settings, e, &result, &err);
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    os_shared_memory_unmap(memory, HEAP_SHARED_SIZE, 1);
    assert_true(ok);
    assert_false(e->failed);
}

static double leaked(const struct heap_events *e)
{
    double sum = 0;
    for (size_t i = 1; i < e->site_count; i++)
        sum += e->sites[i].leaked;
    return sum;
}

/* An earlier time than that of the record before: the order of the lane remains. Each of
 * these allocations has no stack, which counts as damaged. */
static void test_lane_order(void **state)
{
    static const struct written records[] = {
        {0, HEAP_PROCESS, 0, 0, 1},       {0, HEAP_ALLOCATED, 500, ONE, 64},
        {0, HEAP_FREED, 400, ONE, 0},     {0, HEAP_ALLOCATED, 300, ONE, 16},
        {0, HEAP_MOVING, 200, ONE, 0},    {0, HEAP_ALLOCATED, 100, TWO, 32},
        {0, HEAP_ALLOCATED, 600, ONE, 8},
    };
    struct heap_events e;
    (void)state;
    collect(&e, records, sizeof records / sizeof *records);
    assert_int_equal(e.records, 7);
    assert_int_equal(e.allocations, 4);
    assert_int_equal(e.unknown, 0);
    assert_true(leaked(&e) == 32 + 8);
    assert_true(e.most == 64);
    heap_events_deinit(&e);
}

/* A thread releases what another one has allocated; its clock was read before that, although
 * it has put a later time before. A release of before the allocation remains one. */
static void test_lanes_merged(void **state)
{
    static const struct written records[] = {
        {0, HEAP_PROCESS, 0, 0, 1},       {0, HEAP_ALLOCATED, 500, TWO, 1},
        {0, HEAP_FREED, 400, ONE, 0},     {1, HEAP_FREED, 200, TWO, 0},
        {1, HEAP_ALLOCATED, 450, ONE, 2}, {1, HEAP_ALLOCATED, 600, ONE, 4},
    };
    struct heap_events e;
    (void)state;
    collect(&e, records, sizeof records / sizeof *records);
    assert_int_equal(e.records, 6);
    assert_int_equal(e.unknown, 1);
    assert_true(leaked(&e) == 1 + 4);
    assert_true(e.most == 5 && e.now > 600);
    heap_events_deinit(&e);
}

/* A lane with a time of the far future ends there; the other one goes on with its own. */
static void test_future(void **state)
{
    static const struct written records[] = {
        {0, HEAP_PROCESS, 0, 0, 1},        {0, HEAP_ALLOCATED, 100, ONE, 64},
        {1, HEAP_FREED, 200, ONE, 0},      {0, HEAP_ALLOCATED, FUTURE, TWO, 32},
        {0, HEAP_ALLOCATED, 300, TWO, 16}, {1, HEAP_ALLOCATED, 400, ONE, 8},
    };
    struct heap_events e;
    (void)state;
    collect(&e, records, sizeof records / sizeof *records);
    assert_int_equal(e.records, 4);
    assert_int_equal(e.allocations, 2);
    assert_int_equal(e.damaged, 2 + 1); /* two allocations without a stack */
    assert_true(e.now < FUTURE);
    assert_true(leaked(&e) == 8);
    heap_events_deinit(&e);
}

int main(void)
{
    const struct CMUnitTest units[] = {UNIT(test_lane_order), UNIT(test_lanes_merged),
                                       UNIT(test_future)};
    return UNITS_RUN(units);
}
