/* SPDX-License-Identifier: Apache-2.0 */
#include "profiles.h"

static const struct transform_options wall = {.wall = true};

/* Waits are in ns, for every unit in the row. */
static struct profile *with_units(const struct row *rows, size_t count, enum unit on)
{
    struct builder b;
    assert_true(builder_init(&b, BUILD_KEEP));
    builder_event(&b, STR("on"), on);
    builder_event(&b, STR("off-cpu"), UNIT_NANOSECONDS);
    builder_event(&b, STR("other"), UNIT_COUNT);
    return profile_built(&b, rows, count);
}

#define WITH_UNITS(rows, unit) with_units(rows, sizeof(rows) / sizeof *(rows), unit)

static void times_are_added_up(void **state)
{
    static const struct row rows[] = {
        {"main;work", 10, "t/1", "on", 100},
        {"main;work", 10, "t/1", "on", 110},
        {"main;wait", 400, "t/1", "off-cpu", 510},
        {"main;x", 7, "t/1", "other", 520},
        {"main;work", 10, "t/1", "on", 530},
        {"main;wait", 30, "t/1", "off-cpu", 560},
    };
    (void)state;
    struct profile *p = transformed(WITH_UNITS(rows, UNIT_NANOSECONDS), &wall);
    assert_folded(p, "t-1/?;main;wait;[off-cpu] 430\nt-1/?;main;work 30\n");
    assert_int_equal(p->event_count, 2);
    assert_int_equal(p->events[1].unit, UNIT_NANOSECONDS);
    profile_destroy(p);
    p = transformed(WITH_UNITS(rows, UNIT_MILLISECONDS), &wall);
    assert_folded(p, "t-1/?;main;wait;[off-cpu] 430\nt-1/?;main;work 30000000\n");
    profile_destroy(p);
}

/* The time of a sample that counts cycles: the median of 20, 30 and 1000. */
static void a_period_is_found_by_the_times(void **state)
{
    static const struct row rows[] = {
        {"a", 5e6, "t/1", "on", 100},     {"b", 1, "t/1", "on", 120},
        {"a", 5e6, "t/1", "on", 150},     {"a", 5e6, "t/1", "on", 1150},
        {"w", 9, "t/1", "off-cpu", 1160},
    };
    (void)state;
    struct profile *p = transformed(WITH_UNITS(rows, UNIT_CYCLES), &wall);
    assert_folded(p, "t-1/?;a 90\nt-1/?;b 30\nt-1/?;w;[off-cpu] 9\n");
    profile_destroy(p);
}

static void a_rate_says_it_as_well(void **state)
{
    static const struct row rows[] = {{"a", 5e6, "t/1", "on"}};
    (void)state;
    struct profile *p = WITH_UNITS(rows, UNIT_CYCLES);
    p->facts.rate = 1e8;
    p = transformed(p, &wall);
    assert_folded(p, "t-1/?;a 10\n");
    profile_destroy(p);
}

static void without_any_time_it_is_refused(void **state)
{
    static const struct row rows[] = {{"a", 5e6, "t/1", "on"}};
    struct error err;
    const struct transform *emptied;
    (void)state;
    struct profile *p = WITH_UNITS(rows, UNIT_CYCLES);
    assert_null(transform_apply(&wall, p, &emptied, &err));
    assert_str(str_of(err.message), "the time per sample is unknown");
}

int main(void)
{
    const struct CMUnitTest units[] = {
        UNIT(times_are_added_up), UNIT(a_period_is_found_by_the_times),
        UNIT(a_rate_says_it_as_well), UNIT(without_any_time_it_is_refused)};
    return UNITS_RUN(units);
}
