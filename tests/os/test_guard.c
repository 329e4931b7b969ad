/* SPDX-License-Identifier: Apache-2.0 */
#include "folder.h"
#include "os/guard.h"
#include <sys/mman.h>
#include <sys/wait.h>

static void a_whole_file_is_read_as_it_is(void **state)
{
    int fd = open(folder_write(*state, "whole", "abc", 3), O_RDONLY);
    char *map = os_guard_map(fd, 3);
    assert_non_null(map);
    assert_memory_equal(map, "abc", 3);
    assert_false(os_guard_was_cut());
    munmap(map, 3);
    close(fd);
}

static bool reads_zeros_where_it_is_cut(int fd, size_t size)
{
    const volatile char *map = os_guard_map(fd, size);
    if (!map || map[0] != 'x' || os_guard_was_cut() || ftruncate(fd, 4096) != 0)
        return false;
    return map[4095] == 'x' && map[4096] == 0 && map[size - 1] == 0 && map[8199] == 0 &&
           os_guard_was_cut();
}

/* In a process of its own: cmocka catches the signals of this one. Before the others:
 * what is watched for is asked of the system once. */
static void what_was_cut_off_reads_as_zeros(void **state)
{
    static char text[5 * 4096];
    int ended;
    memset(text, 'x', sizeof text);
    int fd = open(folder_write(*state, "cut", text, sizeof text), O_RDWR);
    pid_t child = fork();
    if (child == 0)
        _exit(reads_zeros_where_it_is_cut(fd, sizeof text) ? 0 : 1);
    assert_int_equal(waitpid(child, &ended, 0), child);
    assert_int_equal(ended, 0);
    close(fd);
}

static void what_cannot_be_mapped_is_told(void **state)
{
    (void)state;
    assert_null(os_guard_map(-1, 4096));
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        UNIT_IN_FOLDER(what_was_cut_off_reads_as_zeros),
        UNIT_IN_FOLDER(a_whole_file_is_read_as_it_is),
        UNIT(what_cannot_be_mapped_is_told),
    };
    return UNITS_RUN(tests);
}
