/* SPDX-License-Identifier: Apache-2.0 */
/* Labels of processes. */
#include "daemon/labels.h"
#include "os/proc.h"
#include "unit.h"
#include <unistd.h>

static void two_builders_have_their_own_sets(void **state)
{
    struct daemon_labels l;
    struct builder a, b;
    (void)state;
    assert_true(builder_init(&a, BUILD_KEEP) && builder_init(&b, BUILD_KEEP));
    daemon_labels_init(&l);
    for (uint32_t pid = 4000000; pid < 4000100; pid++)
        assert_true(daemon_labels_of(&l, &a, pid, STR("one")));
    for (uint32_t pid = 4000000; pid < 4000100; pid++)
        assert_true(daemon_labels_of(&l, &b, pid, STR("one")) <
                    b.profile->label_set_count);
    daemon_labels_deinit(&l);
    builder_deinit(&a);
    builder_deinit(&b);
}

/* A process is read once in several windows; by another name, and of another start, again. */
static void processes_are_read_once(void **state)
{
    struct daemon_labels l;
    struct builder b;
    uint32_t pid = (uint32_t)getpid();
    (void)state;
    assert_true(builder_init(&b, BUILD_KEEP));
    daemon_labels_init(&l);
    label_set_id set = daemon_labels_of(&l, &b, pid, STR("one"));
    for (unsigned window = 1; window < DAEMON_LABELS_WINDOWS; window++) {
        assert_int_equal(daemon_labels_of(&l, &b, pid, STR("one")), set);
        daemon_labels_clear(&l);
    }
    assert_int_equal(daemon_labels_of(&l, &b, pid, STR("one")), set);
    assert_int_equal(l.reads, 1);
    assert_int_not_equal(daemon_labels_of(&l, &b, pid, STR("two")), set);
    assert_int_equal(l.reads, 2);
    daemon_labels_clear(&l);
    assert_int_equal(daemon_labels_of(&l, &b, pid, STR("one")), set);
    assert_int_equal(l.reads, 3);
    daemon_labels_deinit(&l);
    builder_deinit(&b);
}

/* Two processes that exist at the same time differ in more than their id. */
static void identities_differ(void **state)
{
    uint32_t user;
    uint64_t own, again, parent;
    (void)state;
    assert_true(os_process_identity((uint32_t)getpid(), &user, &own));
    assert_int_equal(user, geteuid());
    assert_true(os_process_identity((uint32_t)getpid(), &user, &again));
    assert_true(own == again);
    if (os_process_identity((uint32_t)getppid(), &user, &parent))
        assert_true(own != parent);
    assert_false(os_process_identity(4000000, &user, &own));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(two_builders_have_their_own_sets),
        cmocka_unit_test(processes_are_read_once),
        cmocka_unit_test(identities_differ),
    };
    return cmocka_run_group_tests_name("daemon/labels", tests, NULL, NULL);
}
