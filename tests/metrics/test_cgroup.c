/* SPDX-License-Identifier: Apache-2.0 */
/* Services, containers and pods from the paths of control groups. */
#include "metrics/cgroup.h"
#include "unit.h"

#define ID "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

static const struct {
    const char *text, *service, *container, *pod, *group;
} cases[] = {
    {"0::/\n", "", "", "", ""},
    {"", "", "", "", ""},
    {"0::/system.slice/ssh.service\n", "ssh.service", "", "", "ssh.service"},
    {"0::/user.slice/user-1000.slice/user@1000.service/app.slice/app-x.service",
     "app-x.service", "", "", "app-x.service"},
    {"12:pids:/system.slice/cron.service\n1:name=systemd:/system.slice/cron.service\n",
     "cron.service", "", "", "cron.service"},
    {"4:memory:/jobs/7\n0::/\n", "", "", "", ""},
    {"0::/user.slice/session-3.scope\n", "", "", "", "session-3.scope"},
    {"0::/system.slice/docker-" ID ".scope\n", "", "0123456789ab", "",
     "docker-" ID ".scope"},
    {"4:cpu:/docker/" ID "\n", "", "0123456789ab", "", ""},
    {"0::/machine.slice/libpod-" ID ".scope/container\n", "", "0123456789ab", "",
     "container"},
    {"0::/machine.slice/libpod-conmon-" ID ".scope\n", "", "", "",
     "libpod-conmon-" ID ".scope"},
    {"0::/lxc.payload.web\n", "", "web", "", "lxc.payload.web"},
    {"0::/machine.slice/machine-web.scope/payload/system.slice/ssh.service\n",
     "ssh.service", "web", "", "ssh.service"},
    {"0::/machine.slice/systemd-nspawn@web.service/payload\n",
     "systemd-nspawn@web.service", "web", "", "payload"},
    {"0::/x" ID "\n", "", "", "", "x" ID},
    {"0::/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod12_34.slice/"
     "cri-containerd-" ID ".scope\n",
     "", "0123456789ab", "12_34", "cri-containerd-" ID ".scope"},
    {"3:cpu:/kubepods/besteffort/podab-cd/" ID "\n", "", "0123456789ab", "ab-cd", ""},
};

static void assert_text(struct str got, const char *expected)
{
    assert_int_equal(got.len, strlen(expected));
    assert_memory_equal(got.ptr, expected, got.len);
}

static void control_groups_name_services_and_containers(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct cgroup_names c = cgroup_names_parse(str_of(cases[i].text));
        assert_text(c.service, cases[i].service);
        assert_text(c.container, cases[i].container);
        assert_text(c.pod, cases[i].pod);
        assert_text(c.group, cases[i].group);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(control_groups_name_services_and_containers),
    };
    return cmocka_run_group_tests_name("metrics/cgroup", tests, NULL, NULL);
}
