#include "folder.h"
#include "os/file.h"

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

static void a_part_is_read_and_no_more(void **state)
{
    char text[16];
    struct os_input in;
    struct error err = {0};
    assert_true(os_input_open(&in, folder_write(*state, "a", "0123456789", 10), &err));
    assert_int_equal(in.size, 10);
    struct os_input part = os_input_part(&in, 3, 7);
    struct source s = os_input_source(&part);
    assert_int_equal(read_all(&s, text, sizeof text), 4);
    assert_memory_equal(text, "3456", 4);
    source_deinit(&s);
    os_input_close(&in);
}

static void what_cannot_be_read_is_told(void **state)
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

static void an_output_is_there_whole_or_as_it_was(void **state)
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

static void a_full_disk_is_told(void **state)
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

int main(void)
{
    static const struct CMUnitTest tests[] = {
        UNIT_IN_FOLDER(a_part_is_read_and_no_more),
        UNIT_IN_FOLDER(what_cannot_be_read_is_told),
        UNIT_IN_FOLDER(an_output_is_there_whole_or_as_it_was),
        UNIT(a_full_disk_is_told),
    };
    return UNITS_RUN(tests);
}
