/* SPDX-License-Identifier: Apache-2.0 */
/* The files of a recording: one file, rotation, and snapshots in memory. */
#include "os/folder.h"
#include "perf/perf_data.h"
#include "record/files.h"
#include <fcntl.h>

static const char *const words[] = {"stoke", "record"};
static struct record_layout layout;
static struct perf_file_event event;
static struct perf_file_head head;
static struct record_maker maker;
static struct record_files files;
static struct record_files_settings settings;
static char path[256];

static void open_files(void **state, struct record_files_settings requested)
{
    struct error err = {0};
    layout = record_layout_of(false, PERF_SAMPLE_CALLCHAIN);
    maker.layout = &layout;
    event = (struct perf_file_event){.attr = {.type = PERF_TYPE_SOFTWARE,
                                              .size = PERF_ATTR_SIZE,
                                              .sample_type = layout.sample_type,
                                              .flags = PERF_FLAG_SAMPLE_ID_ALL},
                                     .name = "cpu-clock"};
    head = (struct perf_file_head){.events = &event,
                                   .event_count = 1,
                                   .command = words,
                                   .command_count = 2,
                                   .packed = true,
                                   .pack_level = -1};
    settings = requested;
    snprintf(path, sizeof path, "%s", folder_path(*state, "data"));
    settings.path = path;
    if (!record_files_open(&files, &settings, &head, 1, &err) ||
        !record_files_name(&files, &err))
        fail_msg("%s", err.message);
}

static void give(uint64_t time)
{
    struct record_sink to = perf_data_writer_sink(record_files_writer(&files));
    record_begin(&maker, PERF_SAMPLE, PERF_MODE_USER);
    record_put_u64(&maker, 0x400000);
    record_put_u64(&maker, 7 | (uint64_t)7 << 32);
    record_put_u64(&maker, time);
    record_put_u64(&maker, 0);
    record_put_u64(&maker, 1);
    record_put_u64(&maker, 0);
    struct record r = record_end_bare(&maker, time);
    record_pass(&to, &r);
    to.round(to.context);
}

/* The times of the samples in a file, as digits. */
static const char *times_in(const char *name)
{
    static char text[256];
    struct error err = {0};
    struct perf_data d;
    struct perf_record r;
    size_t used = 0;
    static char bytes[1 << 20];
    int fd = open(name, O_RDONLY);
    assert_true(fd >= 0);
    ssize_t size = read(fd, bytes, sizeof bytes);
    close(fd);
    struct source in = source_of((struct str){bytes, (size_t)size}, STR("data"));
    assert_true(perf_data_init(&d, &in, &err));
    while (perf_data_next(&d, &r, &err)) {
        struct perf_sample s;
        if (r.type != PERF_SAMPLE)
            continue;
        assert_true(perf_sample_of(&d, &r, &s));
        text[used++] = (char)('0' + s.time % 1000);
    }
    for (unsigned i = 0; i < PERF_FLAWS; i++)
        assert_int_equal(d.flaws[i], 0);
    text[used] = 0;
    perf_data_deinit(&d);
    return text;
}

static void close_files(void)
{
    struct error err;
    assert_true(record_files_close(&files, &err));
    assert_true(record_files_close(&files, &err)); /* the second call finds none */
}

static bool is_there(const char *name)
{
    return access(name, F_OK) == 0;
}

static void one_file_ends_at_its_limit(void **state)
{
    struct error err;
    open_files(state, (struct record_files_settings){.most = 1});
    assert_true(record_files_full(&files));
    assert_false(record_files_due(&files, UINT64_MAX));
    give(1);
    assert_true(record_files_finish(&files, &err));
    close_files();
    assert_string_equal(times_in(folder_path(*state, "data")), "1");
}

static void rotation_removes_the_oldest_files(void **state)
{
    struct error err;
    open_files(state, (struct record_files_settings){.rotate = 10, .limit = 2});
    for (uint64_t i = 1; i <= 4; i++) {
        give(i);
        assert_false(record_files_full(&files));
        assert_false(record_files_due(&files, 10 * i - 1));
        assert_true(record_files_due(&files, 10 * i + 1));
        if (i < 4)
            assert_true(record_files_switch(&files, 10 * i + 1, &err));
    }
    assert_true(record_files_finish(&files, &err));
    close_files();
    assert_false(is_there(folder_path(*state, "data")));
    assert_false(is_there(folder_path(*state, "data.1")));
    assert_false(is_there(folder_path(*state, "data.2")));
    assert_string_equal(times_in(folder_path(*state, "data.3")), "3");
    assert_string_equal(times_in(folder_path(*state, "data.4")), "4");
}

/* Ten parts in memory, each with a sample; a snapshot after the first and the sixth. */
static void fill_memory(void **state, uint64_t most)
{
    struct error err;
    open_files(state, (struct record_files_settings){.snapshot = true, .most = most});
    give(0);
    assert_true(record_files_snapshot(&files, &err));
    assert_string_equal(times_in(folder_path(*state, "data.1")), "0");
    for (uint64_t i = 1; i <= 9; i++) {
        assert_int_equal(record_files_due(&files, 1), most == 8);
        assert_true(record_files_switch(&files, i, &err));
        give(i);
        if (i == 5)
            assert_true(record_files_snapshot(&files, &err));
    }
    assert_false(is_there(folder_path(*state, "data")));
    assert_true(record_files_finish(&files, &err));
    close_files();
}

static void snapshots_have_the_latest_parts(void **state)
{
    fill_memory(state, 1 << 20);
    assert_string_equal(times_in(folder_path(*state, "data.2")), "012345");
    assert_string_equal(times_in(folder_path(*state, "data")), "23456789");
}

/* Parts above their limit: fewer parts, but at least a complete one. */
static void memory_is_bounded(void **state)
{
    fill_memory(state, 8);
    assert_string_equal(times_in(folder_path(*state, "data.2")), "45");
    assert_string_equal(times_in(folder_path(*state, "data")), "89");
}

/* A file that cannot be created: the writer accepts nothing more, and reports why. */
static void a_file_that_cannot_be_created_is_reported(void **state)
{
    struct error err = {0};
    open_files(state, (struct record_files_settings){.rotate = 10});
    give(1);
    assert_int_equal(mkdir(folder_path(*state, "data.2"), 0700), 0);
    assert_false(record_files_switch(&files, 11, &err));
    assert_non_null(strstr(err.message, "data.2"));
    give(2);
    struct error again = {0};
    assert_false(record_files_finish(&files, &again));
    assert_string_equal(again.message, err.message);
    close_files();
    assert_string_equal(times_in(folder_path(*state, "data.1")), "1");
}

int main(void)
{
    const struct CMUnitTest units[] = {
        UNIT_IN_FOLDER(one_file_ends_at_its_limit),
        UNIT_IN_FOLDER(rotation_removes_the_oldest_files),
        UNIT_IN_FOLDER(snapshots_have_the_latest_parts),
        UNIT_IN_FOLDER(memory_is_bounded),
        UNIT_IN_FOLDER(a_file_that_cannot_be_created_is_reported),
    };
    return UNITS_RUN(units);
}
