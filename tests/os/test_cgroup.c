/* SPDX-License-Identifier: Apache-2.0 */
/* The control groups of services and containers, in a folder with their names. */
#include "folder.h"
#include "os/cgroup.h"

#define ID "4d1f1a0b9c3e5d7f4d1f1a0b9c3e5d7f4d1f1a0b9c3e5d7f4d1f1a0b9c3e5d7f"
#define OTHER "77aa1a0b9c3e5d7f4d1f1a0b9c3e5d7f4d1f1a0b9c3e5d7f4d1f1a0b9c3e5d7f"
#define THIRD "99bb1a0b9c3e5d7f4d1f1a0b9c3e5d7f4d1f1a0b9c3e5d7f4d1f1a0b9c3e5d7f"

static const char *const groups[] = {
    "system.slice",
    "system.slice/cron.service",
    "system.slice/cron.service/worker.service",
    "system.slice/postgresql@15-main.service",
    "system.slice/docker-" ID ".scope",
    "system.slice/machine-deb.scope",
    "user.slice",
    "user.slice/a.slice",
    "user.slice/a.slice/sync.service",
    "user.slice/b.slice",
    "user.slice/b.slice/sync.service",
    "docker",
    "docker/" OTHER,
    "libpod_parent",
    "libpod_parent/libpod-conmon-" THIRD ".scope",
    "libpod_parent/libpod-" THIRD ".scope",
    "libpod_parent/libpod-" THIRD ".scope/container",
    "lxc.payload.web",
};

static struct folder *root;
static char path[256];
static struct error err;

static int make_groups(void **state)
{
    int failed = folder_make(state);
    root = *state;
    for (size_t i = 0; !failed && i < sizeof groups / sizeof *groups; i++)
        failed = mkdir(folder_path(root, groups[i]), 0777);
    return failed;
}

static const char *found(enum os_cgroup_kind kind, const char *name)
{
    err = (struct error){.message = ""};
    return os_cgroup_find(kind, name, root->path, path, sizeof path, &err) ? path : "";
}

static void a_service_is_found_by_its_name(void **state)
{
    (void)state;
    assert_string_equal(found(OS_CGROUP_SERVICE, "cron"), "/system.slice/cron.service");
    assert_string_equal(found(OS_CGROUP_SERVICE, "cron.service"),
                        "/system.slice/cron.service");
    assert_string_equal(found(OS_CGROUP_SERVICE, "postgresql@15-main"),
                        "/system.slice/postgresql@15-main.service");
    assert_string_equal(found(OS_CGROUP_SERVICE, "a.slice"), "/user.slice/a.slice");
}

static void a_missing_service_is_reported_with_a_similar_one(void **state)
{
    (void)state;
    assert_string_equal(found(OS_CGROUP_SERVICE, "postgresql"), "");
    assert_non_null(strstr(err.message, "no running service matches 'postgresql'"));
    assert_non_null(strstr(err.hint, "postgresql@15-main.service"));
    assert_string_equal(found(OS_CGROUP_SERVICE, "nosuch"), "");
    assert_non_null(strstr(err.hint, "systemctl"));
    assert_string_equal(found(OS_CGROUP_SERVICE, ""), "");
    assert_string_equal(found(OS_CGROUP_SERVICE, "docker"), "");
}

static void several_services_are_refused(void **state)
{
    (void)state;
    assert_string_equal(found(OS_CGROUP_SERVICE, "sync"), "");
    assert_non_null(strstr(err.message, "/user.slice/a.slice/sync.service"));
    assert_non_null(strstr(err.message, "/user.slice/b.slice/sync.service"));
}

static void a_container_is_found_by_its_id(void **state)
{
    (void)state;
    assert_string_equal(found(OS_CGROUP_CONTAINER, ID),
                        "/system.slice/docker-" ID ".scope");
    assert_string_equal(found(OS_CGROUP_CONTAINER, "77aa1a0b9c3e"), "/docker/" OTHER);
    assert_string_equal(found(OS_CGROUP_CONTAINER, "99bb1a0b9c3e"),
                        "/libpod_parent/libpod-" THIRD ".scope");
    assert_string_equal(found(OS_CGROUP_CONTAINER, "77aa"), ""); /* too few digits */
    assert_string_equal(found(OS_CGROUP_CONTAINER, "aaaaaaaaaaaa"), "");
    assert_non_null(strstr(err.message, "no running container matches 'aaaaaaaaaaaa'"));
}

static void a_container_is_found_by_its_name(void **state)
{
    (void)state;
    assert_string_equal(found(OS_CGROUP_CONTAINER, "web"), "/lxc.payload.web");
    assert_string_equal(found(OS_CGROUP_CONTAINER, "deb"),
                        "/system.slice/machine-deb.scope");
    assert_string_equal(found(OS_CGROUP_CONTAINER, "we"), "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_service_is_found_by_its_name),
        cmocka_unit_test(a_missing_service_is_reported_with_a_similar_one),
        cmocka_unit_test(several_services_are_refused),
        cmocka_unit_test(a_container_is_found_by_its_id),
        cmocka_unit_test(a_container_is_found_by_its_name),
    };
    return cmocka_run_group_tests(tests, make_groups, folder_remove);
}
