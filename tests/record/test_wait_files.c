/* SPDX-License-Identifier: Apache-2.0 */
/* Names of files and sockets that threads wait for, as the kernel describes them. */
#include "os/open_file.h"
#include "record/wait_files.h"
#include "unit.h"
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#define NO_THREAD 0x3fffffu /* above the ids that this machine gives */

static struct record_wait_files files;

static int end(void **state)
{
    (void)state;
    record_wait_files_deinit(&files);
    return 0;
}

static void assert_socket(const struct wait_file *f, const char *expected)
{
    char room[200];
    struct str name = record_wait_files_socket(f, room, sizeof room);
    room[name.len] = 0;
    assert_string_equal(room, expected);
}

static void test_internet(void **state)
{
    struct wait_file f = {.mode = S_IFSOCK,
                          .family = AF_INET,
                          .type = SOCK_STREAM,
                          .protocol = IPPROTO_TCP,
                          .port = 5432,
                          .address = {10, 0, 0, 1},
                          .peer = {10, 0, 0, 7},
                          .state = 10};
    (void)state;
    assert_socket(&f, "tcp 10.0.0.1:5432"); /* it listens */
    f.state = 1;
    f.peer_port = 40001;
    assert_socket(&f, "tcp 10.0.0.1:5432 from 10.0.0.7");
    f.port = 40000;
    f.peer_port = 5433;
    assert_socket(&f, "tcp to 10.0.0.7:5433");
    f.peer_port = 40001;
    assert_socket(&f, "tcp 10.0.0.1:40000 to 10.0.0.7:40001");
    f.protocol = IPPROTO_UDP;
    f.type = SOCK_DGRAM;
    f.peer_port = 0;
    assert_socket(&f, "udp 10.0.0.1:40000");
    f.family = AF_INET6;
    memset(f.address, 0, sizeof f.address);
    f.address[15] = 1;
    assert_socket(&f, "udp [::1]:40000");
}

static void test_other_sockets(void **state)
{
    struct wait_file f = {.mode = S_IFSOCK, .family = AF_UNIX, .inode = 5};
    (void)state;
    assert_socket(&f, "unix socket");
    memcpy(f.name, "\0bus-1", 6);
    f.name_length = 6;
    assert_socket(&f, "unix @bus-1");
    memset(f.name, 'x', sizeof f.name); /* no zero at its end, and a wrong length */
    f.name_length = 255;
    char expected[5 + WAIT_FILES_NAME + 1] = "unix ";
    memset(expected + 5, 'x', WAIT_FILES_NAME);
    assert_socket(&f, expected);
    f.family = AF_NETLINK;
    assert_socket(&f, "netlink socket");
    f.family = 200;
    assert_socket(&f, "socket");
    f.family = 0;
    assert_socket(&f, "socket:[5]");
}

static struct wait_file of_descriptor(int fd)
{
    struct stat st;
    assert_int_equal(fstat(fd, &st), 0);
    return (struct wait_file){.fd = (uint32_t)fd,
                              .inode = st.st_ino,
                              .mode = st.st_mode,
                              .device = major(st.st_dev) << 20 | minor(st.st_dev)};
}

static void assert_file(uint32_t tid, const struct wait_file *f, const char *name)
{
    struct record_wait_file got =
        record_wait_files_get(&files, record_wait_files_add(&files, tid, f));
    assert_int_equal(got.file.len, strlen(name));
    assert_memory_equal(got.file.ptr, name, got.file.len);
}

/* An open file is named by /proc, once; one that is not open by the kernel's names. */
static void test_files(void **state)
{
    char path[] = "/tmp/stoke-wait-files-XXXXXX";
    int fd = mkstemp(path);
    (void)state;
    assert_true(fd >= 0);
    struct wait_file f = of_descriptor(fd);
    strcpy(f.name, path + 5);
    assert_file(NO_THREAD, &f, path + 5);
    assert_file((uint32_t)getpid(), &f, path);
    assert_file(NO_THREAD, &f, path); /* it is cached */
    unlink(path);
    close(fd);
    strcpy(f.name, "another"); /* of the same inode number */
    assert_file(NO_THREAD, &f, "another");
    assert_int_equal(files.count, 2);
}

/* The descriptor now is of another file. */
static void test_reused_descriptor(void **state)
{
    int ends[2];
    (void)state;
    assert_int_equal(pipe(ends), 0);
    struct wait_file f = of_descriptor(ends[0]);
    f.inode = 123;
    assert_file((uint32_t)getpid(), &f, "pipe:[123]");
    close(ends[0]);
    close(ends[1]);
}

/* The names of the directories, from the kernel. */
static void test_walked(void **state)
{
    struct stat st;
    char room[OS_FILE_PATH_MAX], expected[OS_FILE_PATH_MAX];
    (void)state;
    assert_int_equal(stat("/proc/self", &st), 0);
    struct wait_file f = {.inode = 77,
                          .mode = S_IFREG,
                          .device = major(st.st_dev) << 20 | minor(st.st_dev),
                          .path_is_whole = true,
                          .path_length = 6,
                          .name = "leaf"};
    memcpy(f.path, "b\0aaa\0", 6);
    struct str point =
        os_mount_point(major(st.st_dev), minor(st.st_dev), room, sizeof room);
    assert_true(point.len > 1);
    snprintf(expected, sizeof expected, "%.*s/aaa/b/leaf", (int)point.len, point.ptr);
    assert_file(NO_THREAD, &f, expected);
    static const char wrong[][6] = {"\0\0\0\0\0", "xxxxxx", "\0aaaa"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        f.inode++;
        memcpy(f.path, wrong[i], 6);
        record_wait_files_add(&files, NO_THREAD, &f);
    }
    f.inode++;
    f.path_length = UINT32_MAX;
    assert_file(NO_THREAD, &f, "leaf");
    f.inode++;
    f.path_length = 6;
    f.path_is_whole = false;
    assert_file(NO_THREAD, &f, "leaf");
}

static void test_mounts(void **state)
{
    static const struct {
        const char *line, *device, *path;
    } cases[] = {
        {"36 35 0:98 / /mnt rw,noatime master:1 - nfs4 server:/home rw", "server:/home",
         "/mnt"},
        {"36 35 0:98 / /mnt rw - tmpfs tmpfs rw", "tmpfs", "/mnt"},
        {"36 35 0:98 /@home /home rw - btrfs /dev/sda2 rw", "sda2", ""},
        {"36 35 0:99 / /mnt rw - tmpfs tmpfs rw", "", ""},
        {"36 35 0:98 / /mnt rw", "", "/mnt"},
        {"36", "", ""},
        {"", "", ""},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct str line = str_of(cases[i].line);
        assert_true(str_equal(os_mount_device(line, 0, 98), str_of(cases[i].device)));
        assert_true(str_equal(os_mount_path(line, 0, 98), str_of(cases[i].path)));
    }
}

int main(void)
{
    const struct CMUnitTest units[] = {
        cmocka_unit_test_teardown(test_internet, end),
        cmocka_unit_test_teardown(test_other_sockets, end),
        cmocka_unit_test_teardown(test_files, end),
        cmocka_unit_test_teardown(test_reused_descriptor, end),
        cmocka_unit_test_teardown(test_walked, end),
        cmocka_unit_test_teardown(test_mounts, end),
    };
    return UNITS_RUN(units);
}
