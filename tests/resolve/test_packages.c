/* SPDX-License-Identifier: Apache-2.0 */
#include "resolve/packages.h"
#include "unit.h"
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static char root[] = "/tmp/stoke-packages-XXXXXX";
static const char *const folders[] = {"etc", "var", "var/lib", "var/lib/dpkg",
                                      "var/lib/dpkg/info"};
static const char *const files[] = {
    "etc/os-release", "var/lib/dpkg/info/libc6:amd64.list", "var/lib/dpkg/info/zip.list",
    "var/lib/dpkg/info/zip.md5sums"};

static void write_file(const char *name, const char *text)
{
    char path[256];
    snprintf(path, sizeof path, "%s/%s", root, name);
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    assert_true(fputs(text, f) >= 0);
    assert_int_equal(fclose(f), 0);
}

static int make_root(void **state)
{
    char path[256];
    (void)state;
    if (!mkdtemp(root))
        return -1;
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) {
        snprintf(path, sizeof path, "%s/%s", root, folders[i]);
        if (mkdir(path, 0700))
            return -1;
    }
    return 0;
}

static int remove_root(void **state)
{
    char path[256];
    (void)state;
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        snprintf(path, sizeof path, "%s/%s", root, files[i]);
        unlink(path);
    }
    for (size_t i = sizeof folders / sizeof *folders; i-- > 0;) {
        snprintf(path, sizeof path, "%s/%s", root, folders[i]);
        rmdir(path);
    }
    return rmdir(root);
}

static void test_owners(void **state)
{
    (void)state;
    const struct str paths[] = {STR("/usr/lib/x86_64-linux-gnu/libc.so.6"),
                                STR("/usr/bin/zip"),
                                STR("/bin/zip"),
                                STR("/usr/bin/zi"),
                                STR("/opt/usr/bin/zip"),
                                STR("/usr/bin/last")};
    char names[6][PACKAGE_NAME_MAX];
    assert_false(packages_find(root, paths, 6, names)); /* no lists yet */
    write_file("var/lib/dpkg/info/libc6:amd64.list",
               "/.\n/lib\n/lib/x86_64-linux-gnu/libc.so.6\n");
    write_file("var/lib/dpkg/info/zip.list",
               "/.\n/usr/bin/zipnote\n/srv/usr/bin/zip\n/usr/bin/zip\n/usr/bin/last");
    write_file("var/lib/dpkg/info/zip.md5sums", "\n/usr/bin/zi\n");
    assert_true(packages_find(root, paths, 6, names));
    assert_string_equal(names[0], "libc6");
    assert_string_equal(names[1], "zip");
    assert_string_equal(names[2], "zip");
    assert_string_equal(names[3], "");
    assert_string_equal(names[4], "");
    assert_string_equal(names[5], "zip");
}

static void assert_debug_name(const char *package, const char *expected)
{
    char name[PACKAGE_NAME_MAX];
    package_debug_name(package, name);
    assert_string_equal(name, expected);
}

static void test_debug_names(void **state)
{
    char longest[PACKAGE_NAME_MAX], name[PACKAGE_NAME_MAX];
    (void)state;
    assert_debug_name("gzip", "gzip-dbgsym");
    assert_debug_name("libc6", "libc6-dbg");
    assert_debug_name("libc6-dev", "libc6-dev-dbgsym");
    assert_debug_name("python3.11-minimal", "python3.11-dbg");
    assert_debug_name("libpython3.12", "python3.12-dbg");
    assert_debug_name("libpython3.12-stdlib", "python3.12-dbg");
    assert_debug_name("python3-numpy", "python3-numpy-dbgsym");
    for (size_t i = 0; i < sizeof longest; i++)
        longest[i] = 'a';
    longest[sizeof longest - 1] = 0;
    package_debug_name(longest, name);
    assert_true(str_ends(str_of(name), STR("-dbgsym")));
}

static void assert_distribution(const char *release, enum package_manager manager,
                                const char *server)
{
    write_file("etc/os-release", release);
    struct distribution d = distribution_find(root);
    assert_int_equal(d.manager, manager);
    assert_string_equal(d.server, server);
}

static void test_distributions(void **state)
{
    (void)state;
    assert_distribution("NAME=x\nID=debian\n", PACKAGES_DPKG,
                        "https://debuginfod.debian.net");
    assert_distribution("ID_LIKE=\"ubuntu debian\"\nID=linuxmint\n", PACKAGES_DPKG,
                        "https://debuginfod.ubuntu.com");
    assert_distribution("ID=\"rocky\"\nID_LIKE=\"rhel centos fedora\"", PACKAGES_DNF,
                        "https://debuginfod.elfutils.org");
    assert_distribution("ID='opensuse-leap'\r\nID_LIKE='suse opensuse'\r\n",
                        PACKAGES_ZYPPER, "https://debuginfod.elfutils.org");
    assert_distribution("ID=arch\n", PACKAGES_OTHER, "https://debuginfod.archlinux.org");
    assert_distribution("", PACKAGES_OTHER, "https://debuginfod.elfutils.org");
    assert_distribution("ID=\"\nID_LIKE=", PACKAGES_OTHER,
                        "https://debuginfod.elfutils.org");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_owners),
                                       cmocka_unit_test(test_debug_names),
                                       cmocka_unit_test(test_distributions)};
    return cmocka_run_group_tests(tests, make_root, remove_root);
}
