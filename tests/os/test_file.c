/* SPDX-License-Identifier: Apache-2.0 */
#include "folder.h"
#include "os/data_file.h"
#include "os/file.h"
#include "os/host.h"
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

static size_t read_all(struct source *s, char *into, size_t room)
{
    struct error err = {0};
    size_t used = 0;
    while (!s->last && source_more(s, s->end, &err)) {
        size_t n = (size_t)(s->end - s->begin);
        assert_true(used + n <= room);
        memcpy(into + used, s->begin, n);
        used += n;
        s->begin = s->end;
    }
    assert_str(str_of(err.message), "");
    return used;
}

static void a_file_is_read(void **state)
{
    char text[16];
    size_t got = 0;
    struct os_input in;
    struct error err = {0};
    assert_true(os_input_open(&in, folder_write(*state, "a", "0123456789", 10), &err));
    assert_int_equal(in.size, 10);
    assert_true(os_input_read_at(&in, 3, text, 4, &got, &err));
    assert_int_equal(got, 4);
    assert_memory_equal(text, "3456", 4);
    struct source s = os_input_source(&in);
    assert_int_equal(read_all(&s, text, sizeof text), 10);
    assert_memory_equal(text, "0123456789", 10);
    source_deinit(&s);
    os_input_close(&in);
}

static void unreadable_files_are_reported(void **state)
{
    struct os_input in;
    struct error err = {0};
    assert_false(os_input_open(&in, folder_path(*state, "none"), &err));
    assert_non_null(strstr(err.message, "No such file"));
    assert_true(err.hint[0] != 0);
    assert_false(os_input_open(&in, ((struct folder *)*state)->path, &err));
    assert_non_null(strstr(err.message, "directory"));
}

static bool holds(const char *path, const char *text)
{
    char got[64];
    int fd = open(path, O_RDONLY);
    ssize_t n = fd < 0 ? -1 : read(fd, got, sizeof got);
    close(fd);
    return n == (ssize_t)strlen(text) && memcmp(got, text, (size_t)n) == 0;
}

static void an_output_is_complete_or_unchanged(void **state)
{
    struct os_output file;
    struct error err = {0};
    const char *path = folder_write(*state, "a", "before", 6);
    assert_true(os_output_open(&file, path, &err));
    struct output out = os_output_stream(&file);
    output_text(&out, "half");
    os_output_abandon(&file);
    output_deinit(&out);
    assert_true(holds(path, "before"));

    assert_true(os_output_open(&file, path, &err));
    out = os_output_stream(&file);
    output_text(&out, "after");
    assert_true(holds(path, "before"));
    assert_true(os_output_close(&file, &out, &err));
    output_deinit(&out);
    assert_true(holds(path, "after"));
}

static void write_text(const char *path, const char *text)
{
    struct os_output file;
    struct error err = {0};
    assert_true(os_output_open(&file, path, &err));
    struct output out = os_output_stream(&file);
    output_text(&out, text);
    assert_true(os_output_close(&file, &out, &err));
    output_deinit(&out);
}

static bool is_link(const char *path)
{
    struct stat st;
    return lstat(path, &st) == 0 && S_ISLNK(st.st_mode);
}

/* Links to links, to missing files, and to files that are not regular. */
static void the_target_of_a_link_is_written(void **state)
{
    const char *folder = ((struct folder *)*state)->path;
    char to[512], first[512], second[512];
    snprintf(to, sizeof to, "%s/to", folder);
    assert_int_equal(mkdir(to, 0700), 0);
    snprintf(to, sizeof to, "%s/to/real", folder);
    snprintf(first, sizeof first, "%s/first", folder);
    snprintf(second, sizeof second, "%s/second", folder);
    assert_int_equal(symlink("to/real", first), 0);
    assert_int_equal(symlink(first, second), 0);
    for (int i = 0; i < 2; i++) {
        write_text(second, i ? "once more" : "once");
        assert_true(is_link(first) && is_link(second));
        assert_true(holds(to, i ? "once more" : "once"));
    }
    assert_int_equal(unlink(first), 0);
    assert_int_equal(symlink("second", first), 0);
    struct os_output file;
    struct error err = {0};
    assert_false(os_output_open(&file, first, &err));
    assert_non_null(strstr(err.message, "symbolic links"));
    assert_int_equal(unlink(first), 0);
    assert_int_equal(symlink("/dev/null", first), 0);
    write_text(second, "nothing");
    assert_true(is_link(first));
}

/* An open file is written at its offset, not replaced. */
static void links_to_open_files_are_not_replaced(void **state)
{
    const char *path = folder_write(*state, "open", "before ", 7);
    char name[64];
    int fd = open(path, O_RDWR | O_APPEND);
    snprintf(name, sizeof name, "/proc/self/fd/%d", fd);
    write_text(name, "after");
    close(fd);
    assert_true(holds(path, "before after"));
    assert_false(os_output_is_file("/proc/self/fd/0"));
}

/* A process that is killed before its recording has a name leaves no file. */
static void a_killed_process_leaves_no_file(void **state)
{
    const char *folder = ((struct folder *)*state)->path;
    char path[512];
    int fd = open(folder, O_RDWR | O_TMPFILE, 0600);
    if (fd < 0)
        skip(); /* the file system does not support files without a name */
    close(fd);
    snprintf(path, sizeof path, "%s/killed.data", folder);
    pid_t pid = fork();
    if (pid == 0) {
        struct os_data_file file;
        struct os_user_ids owner = {0};
        struct error err = {0};
        if (os_data_file_create(&file, path, &owner, &err) &&
            os_data_file_write(&file, 0, STR("some"), &err))
            raise(SIGKILL);
        _exit(1);
    }
    int how = 0;
    assert_int_equal(waitpid(pid, &how, 0), pid);
    assert_true(WIFSIGNALED(how));
    DIR *d = opendir(folder);
    assert_non_null(d);
    for (struct dirent *e; (e = readdir(d));)
        assert_null(strstr(e->d_name, "killed"));
    closedir(d);
}

/* It replaces an existing file, which is renamed unless it is empty. */
static void a_data_file_gets_its_name(void **state)
{
    const char *path = folder_write(*state, "x.data", "", 0);
    char old[512];
    snprintf(old, sizeof old, "%s.old", path);
    for (int i = 0; i < 2; i++) {
        struct os_data_file file;
        struct os_user_ids owner = {0};
        struct error err = {0};
        assert_true(os_data_file_create(&file, path, &owner, &err));
        assert_true(os_data_file_write(&file, 0, i ? STR("second") : STR("first"), &err));
        assert_true(os_data_file_name(&file, &err));
        assert_true(os_data_file_close(&file, &err));
        assert_true(holds(path, i ? "second" : "first"));
        assert_int_equal(access(old, F_OK), i ? 0 : -1);
    }
    assert_true(holds(old, "first"));
}

static void a_full_disk_is_reported(void **state)
{
    (void)state;
    struct os_output file;
    struct error err = {0};
    assert_true(os_output_open(&file, "/dev/full", &err));
    struct output out = os_output_stream(&file);
    output_text(&out, "text");
    assert_false(os_output_close(&file, &out, &err));
    assert_non_null(strstr(err.message, "No space left"));
    output_deinit(&out);
}

static void assert_open_file(struct os_open_files *f, const char *path, struct str text)
{
    struct output out = OUTPUT_BUFFER;
    assert_true(os_open_files_read(f, path, &out));
    assert_int_equal(out.used, text.len);
    assert_memory_equal(out.bytes, text.ptr, text.len);
    output_deinit(&out);
}

/* Each reading begins at the start, of any length. A descriptor that became unreadable is
 * replaced. */
static void open_files_are_read_again(void **state)
{
    static char large[100000];
    struct os_open_files f = {.count = 0};
    struct output out = OUTPUT_BUFFER;
    char path[sizeof f.items->path];
    memset(large, 'x', sizeof large);
    format_text(path, sizeof path, "/tmp/open-files.%d", (int)getpid());
    int fd = open(path, O_RDWR | O_CREAT | O_EXCL, 0600), folder = open("/", O_RDONLY);
    assert_true(fd >= 0 && folder >= 0);
    assert_int_equal(pwrite(fd, "one", 3, 0), 3);
    assert_open_file(&f, path, STR("one"));
    assert_int_equal(pwrite(fd, large, sizeof large, 0), sizeof large);
    assert_open_file(&f, path, (struct str){large, sizeof large});
    assert_int_equal(f.count, 1);
    assert_int_equal(dup2(folder, f.items[0].file), f.items[0].file);
    assert_open_file(&f, path, (struct str){large, sizeof large});
    assert_int_equal(f.count, 0);
    assert_int_equal(ftruncate(fd, 0), 0);
    assert_open_file(&f, path, STR(""));
    assert_false(os_open_files_read(&f, "/absent", &out));
    assert_false(os_open_files_read(&f, "/", &out));
    assert_int_equal(f.count, 1);
    assert_int_equal(unlink(path), 0);
    close(fd);
    close(folder);
    os_open_files_close(&f);
    output_deinit(&out);
    (void)state;
}

/* More files than have room are read, too, and files whose path is long. */
static void not_all_files_remain_open(void **state)
{
    struct os_open_files f = {.count = 0};
    for (unsigned i = 0; i < 2 * OS_OPEN_FILES_MAX; i++) {
        char name[64], text[16];
        format_text(name, sizeof name, "%u", i);
        format_text(text, sizeof text, "text %u", i);
        const char *path = folder_write(*state, name, text, strlen(text));
        assert_open_file(&f, path, str_of(text));
        assert_true(f.count <= OS_OPEN_FILES_MAX);
    }
    for (unsigned i = 0; i < 2 * OS_OPEN_FILES_MAX; i++) {
        struct output out = OUTPUT_BUFFER;
        char path[sizeof f.items->path] = "/proc";
        for (unsigned slash = 0; slash <= i % 24; slash++)
            strcat(path, "/");
        strcat(path, "stat");
        assert_true(os_open_files_read(&f, path, &out));
        assert_true(out.used > 0 && f.count <= OS_OPEN_FILES_MAX);
        output_deinit(&out);
    }
    assert_int_equal(f.count, OS_OPEN_FILES_MAX);
    os_open_files_close(&f);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        UNIT_IN_FOLDER(a_file_is_read),
        UNIT_IN_FOLDER(unreadable_files_are_reported),
        UNIT_IN_FOLDER(an_output_is_complete_or_unchanged),
        UNIT_IN_FOLDER(the_target_of_a_link_is_written),
        UNIT_IN_FOLDER(links_to_open_files_are_not_replaced),
        UNIT_IN_FOLDER(a_killed_process_leaves_no_file),
        UNIT_IN_FOLDER(a_data_file_gets_its_name),
        UNIT(a_full_disk_is_reported),
        UNIT(open_files_are_read_again),
        UNIT_IN_FOLDER(not_all_files_remain_open),
    };
    return UNITS_RUN(tests);
}
