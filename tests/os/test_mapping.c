/* SPDX-License-Identifier: Apache-2.0 */
#include "folder.h"
#include "os/mapping.h"
#include <sys/sysmacros.h>

#define MINE ((uint32_t)geteuid())

static bool rejected(const char *path, uint32_t owner, uint64_t limit, const char *why)
{
    struct os_mapping m;
    struct error err = {0};
    bool ok = os_mapping_open_shared(&m, path, owner, limit, &err);
    os_mapping_close(&m);
    return !ok && strstr(err.message, why);
}

static void a_file_is_mapped(void **state)
{
    struct os_mapping m;
    struct error err = {0};
    assert_true(os_mapping_open(&m, folder_write(*state, "a", "abc", 3), &err));
    assert_str(m.bytes, "abc");
    os_mapping_close(&m);
    assert_true(os_mapping_open(&m, folder_write(*state, "empty", "", 0), &err));
    assert_int_equal(m.bytes.len, 0);
    os_mapping_close(&m);
    assert_false(os_mapping_open(&m, folder_path(*state, "none"), &err));
    assert_non_null(strstr(err.message, "No such file"));
}

static void only_regular_files_are_mapped(void **state)
{
    struct os_mapping m;
    struct error err = {0};
    assert_int_equal(mkfifo(folder_path(*state, "fifo"), 0600), 0);
    /* does not block */
    assert_false(os_mapping_open(&m, folder_path(*state, "fifo"), &err));
    assert_non_null(strstr(err.message, "not a regular file"));
    assert_false(os_mapping_open(&m, ((struct folder *)*state)->path, &err));
}

static void a_shared_file_of_another_owner_is_rejected(void **state)
{
    struct os_mapping m;
    struct error err = {0};
    const char *path = folder_write(*state, "a", "abc", 3);
    assert_true(os_mapping_open_shared(&m, path, MINE, 3, &err));
    os_mapping_close(&m);
    assert_true(rejected(path, MINE, 2, "larger than"));
    if (geteuid() != 0) { /* files of root are accepted for all users */
        assert_true(rejected(path, MINE + 1, 3, "its owner is user"));
        return;
    }
    assert_int_equal(chown(path, 65534, 65534), 0);
    assert_true(rejected(path, 1, 3, "its owner is user 65534"));
    assert_false(rejected(path, 65534, 3, ""));
}

static void a_file_is_identified_by_its_inode(void **state)
{
    struct os_mapping m;
    struct stat st;
    struct error err = {0};
    const char *path = folder_write(*state, "a", "abc", 3);
    assert_int_equal(stat(path, &st), 0);
    uint32_t high = major(st.st_dev), low = minor(st.st_dev);
    assert_true(os_mapping_open_inode(&m, path, high, low, st.st_ino, &err));
    assert_str(m.bytes, "abc");
    os_mapping_close(&m);
    assert_false(os_mapping_open_inode(&m, path, high, low, st.st_ino + 1, &err));
    assert_non_null(strstr(err.message, "the file was replaced"));
    assert_false(os_mapping_open_inode(&m, path, high + 1, low, st.st_ino, &err));
    assert_false(os_mapping_open_inode(&m, path, high, low + 1, st.st_ino, &err));
    assert_null(m.map);
}

static void shared_links_and_fifos_are_rejected(void **state)
{
    char target[128];
    snprintf(target, sizeof target, "%s", folder_write(*state, "a", "abc", 3));
    assert_int_equal(symlink(target, folder_path(*state, "link")), 0);
    assert_true(
        rejected(folder_path(*state, "link"), MINE, 100, "it is a symbolic link"));
    assert_int_equal(mkfifo(folder_path(*state, "fifo"), 0600), 0);
    assert_true(rejected(folder_path(*state, "fifo"), MINE, 100, "not a regular file"));
}

static void files_without_size_are_read_up_to_a_limit(void **state)
{
    (void)state;
    struct os_mapping m;
    struct error err = {0};
    assert_true(os_mapping_read(&m, "/proc/self/status", 1 << 16, &err));
    assert_true(str_starts(m.bytes, STR("Name:")));
    os_mapping_close(&m);
    assert_true(os_mapping_read(&m, "/proc/self/status", 4, &err));
    assert_str(m.bytes, "Name");
    os_mapping_close(&m);
    assert_false(os_mapping_read(&m, "/proc/self/none", 4, &err));
}

static void a_cached_file_is_complete(void **state)
{
    struct os_mapping m;
    struct error err = {0};
    const char *path = folder_path(*state, "new/folders/file");
    assert_true(os_cache_write(path, STR("abc")));
    assert_true(os_cache_write(path, STR("defg")));
    assert_true(os_mapping_open(&m, path, &err));
    assert_str(m.bytes, "defg");
    os_mapping_close(&m);
    assert_false(os_cache_write("/proc/none/file", STR("abc")));
}

static void a_cache_belongs_to_one_user(void **state)
{
    struct os_mapping m;
    char file[256], below[256];
    snprintf(file, sizeof file, "%s", folder_path(*state, "cache/file"));
    snprintf(below, sizeof below, "%s", folder_path(*state, "cache"));
    assert_true(os_cache_write(file, STR("abc")));
    assert_true(os_cache_open(&m, file));
    assert_str(m.bytes, "abc");
    os_mapping_close(&m);
    if (geteuid() != 0 || chown(file, 65534, 65534) != 0)
        return;
    assert_false(os_cache_open(&m, file));
    assert_true(os_cache_write(file, STR("own")));
    assert_int_equal(chown(below, 65534, 65534), 0);
    assert_false(os_cache_write(file, STR("xyz")));
    assert_false(os_cache_write(folder_path(*state, "cache/deep/file"), STR("xyz")));
    assert_true(os_cache_open(&m, file));
    assert_str(m.bytes, "own");
    os_mapping_close(&m);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        UNIT_IN_FOLDER(a_file_is_mapped),
        UNIT_IN_FOLDER(only_regular_files_are_mapped),
        UNIT_IN_FOLDER(a_file_is_identified_by_its_inode),
        UNIT_IN_FOLDER(a_shared_file_of_another_owner_is_rejected),
        UNIT_IN_FOLDER(shared_links_and_fifos_are_rejected),
        UNIT(files_without_size_are_read_up_to_a_limit),
        UNIT_IN_FOLDER(a_cached_file_is_complete),
        UNIT_IN_FOLDER(a_cache_belongs_to_one_user),
    };
    return UNITS_RUN(tests);
}
