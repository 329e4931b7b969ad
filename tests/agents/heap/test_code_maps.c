/* SPDX-License-Identifier: Apache-2.0 */
/* When libstoke_heap.so lists the mapped code of its process: code_maps.c alone, with records
 * that are only counted. */
#include "agents/heap/code_maps.h"
#include "agents/heap/lane.h"
#include "unit.h"
#include <sys/mman.h>
#include <unistd.h>

struct heap_shared *heap_shared;
static struct heap_shared shared;
static unsigned lists;
static uint64_t listed_space;

/* Called at the end of each list, before it counts. */
static void (*at_end)(void);

bool lane_put(const struct lane_record *record)
{
    if (record->kind == HEAP_NO_CODE)
        listed_space = record->size;
    if (record->kind == HEAP_CODE_LISTED) {
        lists++;
        if (at_end)
            at_end();
    }
    return true;
}

bool lane_is_confined(void)
{
    return false;
}

static int start(void **state)
{
    (void)state;
    heap_shared = &shared;
    at_end = NULL;
    code_maps_start();
    code_maps_put();
    lists = 0;
    return 0;
}

static uint64_t own_code(void)
{
    return (uint64_t)(uintptr_t)start;
}

/* A page of code that no list has. Spans of addresses are not used again: the number
 * makes them differ. */
static char *new_code(void)
{
    static char *at;
    char *page =
        mmap(at, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(page, MAP_FAILED);
    at = page + 64 * 4096;
    return page;
}

static void known_code_is_not_listed_again(void **state)
{
    (void)state;
    code_maps_need(own_code());
    code_maps_need((uint64_t)(uintptr_t)getpid);
    assert_int_equal(lists, 0);
}

static void new_code_is_listed_once(void **state)
{
    (void)state;
    char *page = new_code();
    code_maps_need((uint64_t)(uintptr_t)page);
    assert_int_equal(lists, 1);
    code_maps_need((uint64_t)(uintptr_t)page + 4095);
    code_maps_need(own_code());
    assert_int_equal(lists, 1);
    munmap(page, 4096);
}

/* An address outside of all code does not cause a new list each time. */
static void other_addresses_are_searched_once(void **state)
{
    (void)state;
    for (int i = 0; i < 3; i++)
        code_maps_need(0x10);
    assert_int_equal(lists, 1);
}

static void unloading_begins_a_space(void **state)
{
    (void)state;
    uint64_t before = code_maps_space();
    code_maps_unloaded();
    assert_int_not_equal(code_maps_space(), before);
    assert_int_equal(listed_space, code_maps_space());
    assert_int_equal(lists, 1);
    code_maps_need(own_code());
    assert_int_equal(lists, 1);
}

/* Another thread unloads a library while this one puts a list: the list is not valid, and
 * the next stack needs another one. */
static void unload(void)
{
    at_end = NULL;
    code_maps_start();
}

static void a_list_of_before_an_unloading_is_not_valid(void **state)
{
    (void)state;
    at_end = unload;
    code_maps_put();
    assert_int_equal(lists, 1);
    code_maps_need(own_code());
    assert_int_equal(lists, 2);
    code_maps_need(own_code());
    assert_int_equal(lists, 2);
}

/* A signal handler, or another thread, lists while a list is put: both are complete. */
static void list(void)
{
    at_end = NULL;
    code_maps_need(own_code());
}

static void a_list_within_a_list(void **state)
{
    (void)state;
    at_end = list;
    code_maps_put();
    assert_int_equal(lists, 2);
    code_maps_need(own_code());
    assert_int_equal(lists, 2);
}

/* The parent was putting a list when it was forked: the child can list nevertheless. */
static void fork_here(void)
{
    at_end = NULL;
    code_maps_forked();
    code_maps_put();
}

static void a_fork_within_a_list(void **state)
{
    (void)state;
    at_end = fork_here;
    code_maps_put();
    lists = 0;
    code_maps_forked();
    code_maps_need(own_code());
    assert_int_equal(lists, 1);
    code_maps_need(own_code());
    assert_int_equal(lists, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(known_code_is_not_listed_again, start),
        cmocka_unit_test_setup(new_code_is_listed_once, start),
        cmocka_unit_test_setup(other_addresses_are_searched_once, start),
        cmocka_unit_test_setup(unloading_begins_a_space, start),
        cmocka_unit_test_setup(a_list_of_before_an_unloading_is_not_valid, start),
        cmocka_unit_test_setup(a_list_within_a_list, start),
        cmocka_unit_test_setup(a_fork_within_a_list, start),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
