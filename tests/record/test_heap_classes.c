/* SPDX-License-Identifier: Apache-2.0 */
/* The classes of sizes and lifetimes: their borders and names, and what records count in them. */
#include "record/heap_classes.h"
#include "record/heap_events.h"
#include "unit.h"
#include <stdlib.h>

static void expect_size(uint64_t size, const char *name)
{
    char room[32];
    heap_size_name(heap_size_class(size), room, sizeof room);
    assert_string_equal(room, name);
}

static void sizes(void **state)
{
    (void)state;
    expect_size(0, "0 bytes");
    expect_size(1, "1 to 15 bytes");
    expect_size(15, "1 to 15 bytes");
    expect_size(16, "16 to 31 bytes");
    expect_size(511, "256 to 511 bytes");
    expect_size(512, "512 bytes to 1 KiB");
    expect_size(1023, "512 bytes to 1 KiB");
    expect_size(1024, "1 to 2 KiB");
    expect_size(524288, "512 KiB to 1 MiB");
    expect_size(1048576, "1 to 2 MiB");
    expect_size(1073741823, "512 MiB to 1 GiB");
    expect_size(1073741824, "1 GiB and more");
    expect_size(UINT64_MAX, "1 GiB and more");
}

static void lifetimes(void **state)
{
    (void)state;
    assert_int_equal(heap_lifetime_class(0, 1), 0);
    assert_int_equal(heap_lifetime_class(999, 1), 0);
    assert_int_equal(heap_lifetime_class(1000, 1), 1);
    assert_int_equal(heap_lifetime_class(30000, 0.25), 1);
    assert_int_equal(heap_lifetime_class(UINT64_C(100000000000), 1), HEAP_LIFETIMES - 1);
    assert_int_equal(heap_lifetime_class(UINT64_MAX, 1), HEAP_LIFETIMES - 1);
    assert_string_equal(heap_lifetime_name(3), "100 us to 1 ms");
    assert_string_equal(heap_lifetime_name(HEAP_LIFETIMES - 1), "100 s and more");
}

static void apply(struct heap_events *e, struct heap_origin *from, unsigned kind,
                  uint64_t time, uint64_t address, uint64_t size)
{
    heap_events_apply(e, from,
                      &(struct heap_entry){
                          .kind = kind, .time = time, .address = address, .size = size});
}

/* A failed realloc does not release the block. */
static void releases(void **state)
{
    (void)state;
    struct heap_events e;
    struct heap_origin from = {.pid = 1};
    assert_true(heap_events_init(&e, NULL, 0));
    e.unit_ns = 10;
    apply(&e, &from, HEAP_PROCESS, 1, 0, 1);
    apply(&e, &from, HEAP_ALLOCATED, 10, 0x1000, 20);
    apply(&e, &from, HEAP_ALLOCATED, 10, 0x2000, 40);
    apply(&e, &from, HEAP_ALLOCATED, 10, 0x3000, 3000);
    apply(&e, &from, HEAP_FREED, 109, 0x1000, 0); /* 990 ns */
    apply(&e, &from, HEAP_MOVING, 110, 0x2000, 0);
    apply(&e, &from, HEAP_MOVE_FAILED, 111, 0x2000, 0);
    apply(&e, &from, HEAP_MOVING, 110010, 0x3000, 0); /* 1.1 ms */
    apply(&e, &from, HEAP_ALLOCATED, 110020, 0x4000, 5000);
    heap_events_finish(&e);
    assert_int_equal(e.site_count, 5);
    for (unsigned i = 1; i < 5; i++)
        for (unsigned j = 0; j < HEAP_LIFETIMES; j++) {
            unsigned size = e.sites[i].size_class;
            bool is_first = size == heap_size_class(20) && j == 0;
            bool is_third = size == heap_size_class(3000) && j == 4;
            double bytes = is_first ? 20 : is_third ? 3000 : 0;
            assert_true(e.releases[i].bytes[j] == bytes);
            assert_true(e.releases[i].count[j] == (is_first || is_third));
        }
    heap_events_deinit(&e);
    heap_origin_deinit(&from);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sizes),
        cmocka_unit_test(lifetimes),
        cmocka_unit_test(releases),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
