/* SPDX-License-Identifier: Apache-2.0 */
/* The live blocks of a process: how much memory they take, and that nothing of a block is
 * lost by it. */
#include "record/heap_events.h"
#include "unit.h"

#define BLOCKS 1000000
#define LARGE (((uint64_t)1 << 47) + 5)

static void apply(struct heap_events *e, struct heap_origin *from, unsigned kind,
                  uint64_t address, uint64_t size)
{
    struct heap_entry entry = {
        .kind = kind, .time = e->now + 1, .address = address, .size = size};
    heap_events_apply(e, from, &entry);
}

static void test_memory_of_blocks(void **state)
{
    struct heap_events e;
    struct heap_origin from = {.pid = 1};
    (void)state;
    assert_true(heap_events_init(&e, NULL, 0));
    apply(&e, &from, HEAP_PROCESS, 0, 1);
    for (uint64_t i = 1; i <= BLOCKS; i++)
        apply(&e, &from, HEAP_ALLOCATED, i * 16, i);
    const struct heap_blocks *blocks = &e.processes[0].blocks;
    assert_int_equal(blocks->count, BLOCKS);
    assert_in_range((blocks->mask + 1) * sizeof *blocks->slots, 1, 64 * BLOCKS);
    for (uint64_t i = 2; i <= BLOCKS; i += 2)
        apply(&e, &from, HEAP_FREED, i * 16, 0);
    assert_int_equal(e.unknown, 0);
    assert_true(e.live == (double)BLOCKS * BLOCKS / 4);
    heap_events_deinit(&e);
}

/* The largest addresses and sizes of a program. */
static void test_large_block(void **state)
{
    struct heap_events e;
    struct heap_origin from = {.pid = 1};
    uint64_t address = HEAP_ADDRESS_MASK - 15;
    (void)state;
    assert_true(heap_events_init(&e, NULL, 0));
    apply(&e, &from, HEAP_PROCESS, 0, 1);
    apply(&e, &from, HEAP_ALLOCATED, address, LARGE);
    assert_true(e.live == (double)LARGE);
    apply(&e, &from, HEAP_FREED, address, 0);
    assert_int_equal(e.unknown, 0);
    assert_true(e.live == 0 && e.most == (double)LARGE);
    heap_events_deinit(&e);
}

/* A sample stands for as much when it is released as when it was allocated. */
static void test_sampled_block(void **state)
{
    struct heap_events e;
    struct heap_origin from = {.pid = 1};
    (void)state;
    assert_true(heap_events_init(&e, NULL, 1000));
    apply(&e, &from, HEAP_PROCESS, 0, 1);
    apply(&e, &from, HEAP_ALLOCATED, 16, 100);
    assert_true(e.live > 1000 && e.live == e.sites[1].bytes);
    apply(&e, &from, HEAP_FREED, 16, 0);
    assert_true(e.live == 0);
    double count = 0;
    uint64_t samples = 0;
    for (unsigned i = 0; i < HEAP_LIFETIMES; i++) {
        count += e.releases[1].count[i];
        samples += e.releases[1].samples[i];
    }
    assert_true(count == e.sites[1].count && count > 1);
    assert_int_equal(samples, 1);
    assert_int_equal(e.sites[1].live_blocks, 0);
    assert_int_equal(heap_site_peak_blocks(&e, &e.sites[1]), 1);
    heap_events_deinit(&e);
}

int main(void)
{
    const struct CMUnitTest units[] = {UNIT(test_memory_of_blocks),
                                       UNIT(test_large_block), UNIT(test_sampled_block)};
    return UNITS_RUN(units);
}
