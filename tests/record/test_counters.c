/* SPDX-License-Identifier: Apache-2.0 */
/* Counters of this process: what they count, and events that the machine does not have. */
#include "os/proc.h"
#include "record/counters.h"
#include "unit.h"
#include <sys/mman.h>

#define PAGES 1000
#define PAGE 4096

static uint32_t self;

static struct record_counters_settings settings_for(const char *list)
{
    struct record_counters_settings set = {.targets = {.tids = &self, .tid_count = 1}};
    struct error err = {.location = LOCATION_NONE};
    self = os_own_pid();
    assert_true(record_events_parse(list, &set.events, &err));
    return set;
}

static bool opened(struct record_counters *c, const struct record_counters_settings *set)
{
    struct error err = {.location = LOCATION_NONE};
    if (record_counters_open(c, set, &err) && c->count)
        return true;
    print_message("no counters here: %s\n", err.message);
    record_counters_close(c);
    return false;
}

static void touch_pages(void)
{
    char *area = mmap(NULL, PAGES * PAGE, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(area != MAP_FAILED);
    madvise(area, PAGES * PAGE, MADV_NOHUGEPAGE);
    for (size_t i = 0; i < PAGES; i++)
        ((volatile char *)area)[i * PAGE] = 1;
    munmap(area, PAGES * PAGE);
}

static void test_counts_between_enable_and_disable(void **state)
{
    (void)state;
    struct record_counters c;
    struct record_counters_settings set = settings_for("page-faults:u,task-clock:u");
    if (!opened(&c, &set))
        skip();
    touch_pages();
    assert_int_equal(record_counters_read(&c.items[0]).value, 0);
    record_counters_enable(&c);
    touch_pages();
    record_counters_disable(&c);
    touch_pages();
    struct os_perf_count faults = record_counters_read(&c.items[0]);
    assert_in_range(faults.value, PAGES, 2 * PAGES - 1);
    assert_true(faults.running > 0 && faults.running == faults.enabled);
    record_counters_close(&c);
}

static void test_events_that_are_missing(void **state)
{
    (void)state;
    struct record_counters c;
    struct record_counters_settings set = settings_for("page-faults:u,cycles:u,cs:u");
    set.events.items[1].type = UINT32_MAX; /* no unit has this number */
    if (!opened(&c, &set))
        skip();
    assert_true(!c.missing[0] && c.missing[1] && !c.missing[2]);
    assert_int_equal(c.count, 2);
    record_counters_close(&c);
}

static void test_groups_are_counted_at_once_or_split(void **state)
{
    (void)state;
    struct record_counters c;
    struct record_counters_settings set = settings_for("{page-faults,cs,cycles}:u");
    set.events.items[2].type = UINT32_MAX;
    if (!opened(&c, &set))
        skip();
    assert_true(!c.missing[0] && !c.missing[1] && c.missing[2]);
    record_counters_enable(&c);
    touch_pages();
    assert_true(record_counters_read(&c.items[0]).value >= PAGES);
    assert_true(record_counters_read(&c.items[1]).enabled > 0);
    record_counters_close(&c);
}

static void test_a_thread_that_has_ended(void **state)
{
    (void)state;
    struct record_counters c;
    struct error err = {.location = LOCATION_NONE};
    struct record_counters_settings set = settings_for("page-faults:u");
    self = INT32_MAX; /* above the highest id */
    bool ok = record_counters_open(&c, &set, &err);
    assert_true(!ok || c.count == 0);
    record_counters_close(&c);
}

int main(void)
{
    const struct CMUnitTest units[] = {
        cmocka_unit_test(test_counts_between_enable_and_disable),
        cmocka_unit_test(test_events_that_are_missing),
        cmocka_unit_test(test_groups_are_counted_at_once_or_split),
        cmocka_unit_test(test_a_thread_that_has_ended),
    };
    return cmocka_run_group_tests(units, NULL, NULL);
}
