/* SPDX-License-Identifier: Apache-2.0 */
#include "folder.h"
#include "os/guard.h"
#include <sys/mman.h>
#include <sys/wait.h>

static void a_complete_file_is_read(void **state)
{
    int fd = open(folder_write(*state, "whole", "abc", 3), O_RDONLY);
    struct os_guard *g = os_guard_map(fd, 3);
    assert_non_null(g);
    assert_memory_equal(os_guard_bytes(g), "abc", 3);
    assert_false(os_guard_was_truncated(g));
    os_guard_unmap(g);
    close(fd);
}

/* Another file, mapped at the same time, is not truncated. */
static bool reads_zeros_after_truncation(int fd, int other, size_t size)
{
    struct os_guard *whole = os_guard_map(other, 3), *g = os_guard_map(fd, size);
    const volatile char *map = g ? os_guard_bytes(g) : NULL;
    if (!map || !whole || map[0] != 'x' || os_guard_was_truncated(g) ||
        ftruncate(fd, 4096) != 0)
        return false;
    bool ok = map[4095] == 'x' && map[4096] == 0 && map[size - 1] == 0 &&
              map[8199] == 0 && os_guard_was_truncated(g) &&
              !os_guard_was_truncated(whole);
    os_guard_unmap(g);
    struct os_guard *again = os_guard_map(other, 3); /* the guard is used again */
    return ok && again && !os_guard_was_truncated(again) &&
           memcmp(os_guard_bytes(again), "abc", 3) == 0;
}

/* In a child process, because cmocka catches the signals of this one. Runs before the
 * other tests, because the handler is installed once. */
static void truncated_bytes_read_as_zeros(void **state)
{
    static char text[5 * 4096];
    int ended;
    memset(text, 'x', sizeof text);
    int fd = open(folder_write(*state, "cut", text, sizeof text), O_RDWR);
    int other = open(folder_write(*state, "other", "abc", 3), O_RDONLY);
    pid_t child = fork();
    if (child == 0)
        _exit(reads_zeros_after_truncation(fd, other, sizeof text) ? 0 : 1);
    assert_int_equal(waitpid(child, &ended, 0), child);
    assert_int_equal(ended, 0);
    close(other);
    close(fd);
}

/* The file's first bytes are cleared, and what is written afterwards does not reach it. */
static bool leaves_the_file(int fd, size_t size)
{
    char now[4096];
    char *map = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    struct os_guard *g = map == MAP_FAILED ? NULL : os_guard_shared(map, size, 8);
    const volatile char *read = map;
    if (!g || read[0] != 'x' || os_guard_was_truncated(g) || ftruncate(fd, 4096) != 0)
        return false;
    bool ok = read[size - 1] == 0 && read[100] == 0 && os_guard_was_truncated(g);
    memset(map, 'y', size);
    ok = ok && pread(fd, now, sizeof now, 0) == (ssize_t)sizeof now && now[0] == 0 &&
         now[7] == 0 && now[8] == 'x' && now[4095] == 'x';
    os_guard_end(g);
    return ok && read[0] == 'y' && munmap(map, size) == 0;
}

static void a_shared_mapping_is_replaced_as_a_whole(void **state)
{
    static char text[5 * 4096];
    int ended;
    memset(text, 'x', sizeof text);
    int fd = open(folder_write(*state, "shared", text, sizeof text), O_RDWR);
    pid_t child = fork();
    if (child == 0)
        _exit(leaves_the_file(fd, sizeof text) ? 0 : 1);
    assert_int_equal(waitpid(child, &ended, 0), child);
    assert_int_equal(ended, 0);
    close(fd);
}

static void mapping_failures_are_reported(void **state)
{
    (void)state;
    assert_null(os_guard_map(-1, 4096));
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        UNIT_IN_FOLDER(truncated_bytes_read_as_zeros),
        UNIT_IN_FOLDER(a_shared_mapping_is_replaced_as_a_whole),
        UNIT_IN_FOLDER(a_complete_file_is_read),
        UNIT(mapping_failures_are_reported),
    };
    return UNITS_RUN(tests);
}
