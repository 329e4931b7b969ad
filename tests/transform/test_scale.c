/* SPDX-License-Identifier: Apache-2.0 */
#include "profiles.h"

static const struct row rows[] = {
    {"a", 1, "t/1"}, {"b", 3, "u/2"}, {"a", 10, "t/1", "bytes"}, {"c", 0, "t/1", "none"}};

static void test_scale(void **state)
{
    struct transform_options o = {.scale = 2.5};
    (void)state;
    struct profile *p = transformed(PROFILE(rows), &o);
    assert_folded_event(p, 1, THREAD_COMM, "t;a 2.5\nu;b 7.5\n");
    assert_folded_event(p, 2, THREAD_COMM, "t;a 25\n");
    profile_destroy(p);
}

static void test_scale_to(void **state)
{
    struct transform_options o = {.scale_to = 100};
    (void)state;
    struct profile *p = transformed(PROFILE(rows), &o);
    assert_folded_event(p, 1, THREAD_COMM, "t;a 25\nu;b 75\n");
    assert_folded_event(p, 2, THREAD_COMM, "t;a 100\n");
    assert_folded_event(p, 3, THREAD_COMM, "t;c 0\n"); /* no value to scale by */
    profile_destroy(p);
}

int main(void)
{
    const struct CMUnitTest units[] = {UNIT(test_scale), UNIT(test_scale_to)};
    return UNITS_RUN(units);
}
