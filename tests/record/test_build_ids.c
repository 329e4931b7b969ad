/* SPDX-License-Identifier: Apache-2.0 */
/* The stage that adds build IDs to mappings, on files that this test writes. */
#include "record/build_ids.h"
#include "record/perf_sampler.h"
#include "unit.h"
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#define ID_SIZE 20
#define ELF_HEADER 64
#define ELF_NOTE_AT (ELF_HEADER + 56) /* after one program header */

/* The last record that the stage passed on. */
struct passed {
    size_t count;
    uint16_t misc;
    char bytes[8192];
    size_t size;
};

static struct record_layout layout;
static struct passed passed;
static struct record_build_ids stage;
static struct record_maker maker;
static char folder[] = "/tmp/stoke-build-ids-XXXXXX";
static char path[64];

static void hear(void *context, const struct record *r)
{
    struct record again;
    (void)context;
    assert_true(record_of(&layout, r->bytes, &again));
    assert_int_equal(again.misc, r->misc);
    assert_int_equal(again.time, r->time);
    passed.count++;
    passed.misc = r->misc;
    passed.size = r->bytes.len;
    memcpy(passed.bytes, r->bytes.ptr, r->bytes.len);
}

static void hear_round(void *context)
{
    (void)context;
}

static int set_up(void **state)
{
    struct error err;
    (void)state;
    strcpy(folder, "/tmp/stoke-build-ids-XXXXXX");
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/file", folder);
    layout = record_layout_of(false, 0);
    maker.layout = &layout;
    passed = (struct passed){.count = 0};
    struct record_sink next = {NULL, hear, hear_round};
    return !record_build_ids_init(&stage, &layout, true, next, &err);
}

static int tear_down(void **state)
{
    (void)state;
    record_build_ids_deinit(&stage);
    unlink(path);
    return rmdir(folder);
}

static void write_file(const void *bytes, size_t size)
{
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, size, file), size);
    assert_int_equal(fclose(file), 0);
}

static void put(char *at, uint64_t value, size_t size)
{
    memcpy(at, &value, size); /* as in ELF of a little-endian machine */
}

/* An ELF file with one program header, for the note with the build ID. */
static size_t make_elf(char *bytes, char digit, size_t id_size)
{
    memset(bytes, 0, ELF_NOTE_AT);
    memcpy(bytes, "\177ELF\2\1\1", 7);
    put(bytes + 16, 3, 2); /* shared */
    put(bytes + 18, 62, 2);
    put(bytes + 32, ELF_HEADER, 8); /* program headers: offset, size, count */
    put(bytes + 52, ELF_HEADER, 2);
    put(bytes + 54, 56, 2);
    put(bytes + 56, 1, 2);
    char *header = bytes + ELF_HEADER, *note = bytes + ELF_NOTE_AT;
    put(header, 4, 4); /* PT_NOTE */
    put(header + 8, ELF_NOTE_AT, 8);
    put(header + 32, 16 + id_size, 8);
    put(header + 48, 4, 8);
    put(note, 4, 4);
    put(note + 4, id_size, 4);
    put(note + 8, 3, 4); /* NT_GNU_BUILD_ID */
    memcpy(note + 12, "GNU", 4);
    memset(note + 16, digit, id_size);
    return ELF_NOTE_AT + 16 + id_size;
}

static void write_elf(char digit, size_t id_size)
{
    char bytes[512];
    write_file(bytes, make_elf(bytes, digit, id_size));
}

static void end_round(void)
{
    struct record_sink to = record_build_ids_sink(&stage);
    to.round(to.context);
}

/* Gives a record of a mapping of the file; `inode` is added to the file's. */
static void map_in_round(uint16_t misc, uint64_t inode, uint64_t generation,
                         const char *name)
{
    struct stat st = {.st_ino = 0};
    (void)stat(path, &st);
    record_begin(&maker, PERF_MMAP2, misc);
    record_put_u32(&maker, 7);
    record_put_u32(&maker, 7);
    record_put_u64(&maker, 0x400000);
    record_put_u64(&maker, 0x1000);
    record_put_u64(&maker, 0);
    record_put_u32(&maker, major(st.st_dev));
    record_put_u32(&maker, minor(st.st_dev));
    record_put_u64(&maker, st.st_ino + inode);
    record_put_u64(&maker, generation);
    record_put_u32(&maker, 5);
    record_put_u32(&maker, 2);
    record_put_text(&maker, str_of(name));
    struct record r = record_end(&maker, 7, 7, 100);
    struct record_sink to = record_build_ids_sink(&stage);
    size_t before = passed.count;
    record_pass(&to, &r);
    assert_int_equal(passed.count, before + 1);
}

/* The same in a round of its own. */
static void map(uint16_t misc, uint64_t inode, uint64_t generation, const char *name)
{
    end_round();
    map_in_round(misc, inode, generation, name);
}

static void assert_unchanged(void)
{
    assert_int_equal(passed.misc & PERF_MISC_MMAP_BUILD_ID, 0);
    assert_int_equal(passed.size, maker.used);
    assert_memory_equal(passed.bytes, maker.bytes, passed.size);
}

/* The record has this ID, and nothing else is different. */
static void assert_has_id(char digit, size_t size)
{
    char id[RECORD_MMAP_FILE_SIZE] = {(char)size};
    memset(id + 4, digit, size);
    assert_int_equal(passed.misc, PERF_MODE_USER | PERF_MISC_MMAP_BUILD_ID);
    assert_int_equal(passed.size, maker.used);
    assert_memory_equal(passed.bytes + RECORD_MMAP_MAJOR, id, sizeof id);
    memcpy(passed.bytes + RECORD_MMAP_MAJOR, maker.bytes + RECORD_MMAP_MAJOR, sizeof id);
    memcpy(passed.bytes + RECORD_MISC, maker.bytes + RECORD_MISC, 2);
    assert_memory_equal(passed.bytes, maker.bytes, passed.size);
}

static void adds_the_build_id(void **state)
{
    (void)state;
    write_elf('\xab', ID_SIZE);
    map(PERF_MODE_USER, 0, 0, path);
    assert_has_id('\xab', ID_SIZE);
    map(PERF_MODE_USER | PERF_MISC_MMAP_BUILD_ID, 0, 0, path); /* a wrong flag */
    assert_has_id('\xab', ID_SIZE);
    assert_int_equal(stage.files_read, 1);
    write_elf('\xcd', 8); /* the size differs, even if the time does not */
    map(PERF_MODE_USER, 0, 0, path);
    assert_has_id('\xcd', 8);
    assert_int_equal(stage.files_read, 2);
}

/* Processes that start in a round map the same files: each is checked once. */
static void a_round_checks_a_file_once(void **state)
{
    (void)state;
    write_elf('\xab', ID_SIZE);
    end_round();
    for (int i = 0; i < 10; i++) {
        map_in_round(PERF_MODE_USER, 0, 0, path);
        assert_has_id('\xab', ID_SIZE);
    }
    assert_int_equal(stage.files_checked, 1);
    map_in_round(PERF_MODE_USER, 1, 0, path); /* another file that had this path */
    assert_unchanged();
    assert_int_equal(stage.files_checked, 2);
    write_elf('\xcd', 8);
    map(PERF_MODE_USER, 0, 0, path);
    assert_has_id('\xcd', 8);
    assert_int_equal(stage.files_checked, 3);
}

static void other_files_stay(void **state)
{
    char other[80];
    (void)state;
    write_elf('\xab', ID_SIZE);
    map(PERF_MODE_USER, 1, 0, path);
    assert_unchanged();
    map(PERF_MODE_KERNEL, 0, 0, path);
    assert_unchanged();
    map(PERF_MODE_USER, 0, 0, "file");
    assert_unchanged();
    snprintf(other, sizeof other, "%s/../file", folder);
    map(PERF_MODE_USER, 0, 0, other);
    assert_unchanged();
    map(PERF_MODE_USER, 0, 0, "//anon");
    assert_unchanged();
    map(PERF_MODE_USER, 0, 0, folder);
    assert_unchanged();
    assert_int_equal(stage.files_read, 0);
    map(PERF_MODE_USER, 0, 0, path);
    assert_has_id('\xab', ID_SIZE);
}

/* It is not opened: without a writer, that would block. */
static void special_files_are_not_opened(void **state)
{
    (void)state;
    assert_int_equal(mkfifo(path, 0600), 0);
    map(PERF_MODE_USER, 0, 0, path);
    assert_unchanged();
    unlink(path);
    map(PERF_MODE_USER, 7, 0, path);
    assert_unchanged();
    assert_int_equal(stage.files_read, 0);
}

static void no_valid_build_id(void **state)
{
    char bytes[512];
    size_t size = make_elf(bytes, 'x', 24);
    (void)state;
    write_file(bytes, size); /* longer than the record's field */
    map(PERF_MODE_USER, 0, 0, path);
    assert_unchanged();
    size = make_elf(bytes, 'x', ID_SIZE);
    for (size_t cut = 0; cut < size; cut++) {
        write_file(bytes, cut);
        map(PERF_MODE_USER, 0, 0, path);
        assert_unchanged();
    }
    put(bytes + ELF_NOTE_AT + 4, UINT32_MAX, 4); /* the size of the ID */
    write_file(bytes, size + 1);
    map(PERF_MODE_USER, 0, 0, path);
    assert_unchanged();
    put(bytes + ELF_HEADER + 8, UINT64_MAX - 4, 8); /* the offset of the notes */
    put(bytes + 56, UINT16_MAX, 2);
    write_file(bytes, size + 2);
    map(PERF_MODE_USER, 0, 0, path);
    assert_unchanged();
}

/* Only the head of a file is read. */
static void distant_notes_are_not_read(void **state)
{
    static char bytes[1 << 20];
    const size_t at = sizeof bytes - 4096;
    (void)state;
    size_t size = make_elf(bytes, '\xab', ID_SIZE);
    memcpy(bytes + at, bytes + ELF_NOTE_AT, size - ELF_NOTE_AT);
    put(bytes + ELF_HEADER + 8, at, 8);
    write_file(bytes, sizeof bytes);
    map(PERF_MODE_USER, 0, 0, path);
    assert_unchanged();
}

/* Any number of files is handled with a cache of constant size. */
static void the_cache_is_bounded(void **state)
{
    const size_t files = 4 * RECORD_BUILD_IDS_CACHED;
    (void)state;
    write_elf('\xab', ID_SIZE);
    for (size_t i = 0; i < files; i++) {
        map(PERF_MODE_USER, 0, i, path);
        assert_has_id('\xab', ID_SIZE);
    }
    assert_int_equal(stage.files_read, files);
    map(PERF_MODE_USER, 0, files - 1, path); /* the newest is in the cache */
    assert_int_equal(stage.files_read, files);
}

static void only_wrong_flags_are_removed(void **state)
{
    (void)state;
    stage.reads = false;
    write_elf('\xab', ID_SIZE);
    map(PERF_MODE_USER, 0, 0, path);
    assert_unchanged();
    map(PERF_MODE_USER | PERF_MISC_MMAP_BUILD_ID, 0, 0, path);
    assert_int_equal(passed.misc, PERF_MODE_USER);
    assert_memory_equal(passed.bytes + 8, maker.bytes + 8, passed.size - 8);
    assert_int_equal(stage.files_read, 0);
}

static void short_records_pass(void **state)
{
    (void)state;
    record_begin(&maker, PERF_MMAP2, PERF_MODE_USER | PERF_MISC_MMAP_BUILD_ID);
    struct record r = record_end(&maker, 1, 1, 5);
    struct record_sink to = record_build_ids_sink(&stage);
    record_pass(&to, &r);
    assert_int_equal(passed.count, 1);
    assert_int_equal(passed.size, r.bytes.len);
}

static void only_counters_of_threads_request_them(void **state)
{
    struct perf_sampler_settings set = {.events.count = 1};
    (void)state;
    assert_true(perf_sampler_requests_build_ids(&set));
    set.targets.everyone = true;
    assert_false(perf_sampler_requests_build_ids(&set));
    set.targets.everyone = false;
    set.events.items[0].of_everyone = true;
    assert_false(perf_sampler_requests_build_ids(&set));
    set.events.items[0].of_everyone = false;
    set.no_build_ids = true;
    assert_false(perf_sampler_requests_build_ids(&set));
}

#define STAGE(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest units[] = {
        STAGE(adds_the_build_id),    STAGE(a_round_checks_a_file_once),
        STAGE(other_files_stay),     STAGE(special_files_are_not_opened),
        STAGE(no_valid_build_id),    STAGE(distant_notes_are_not_read),
        STAGE(the_cache_is_bounded), STAGE(only_wrong_flags_are_removed),
        STAGE(short_records_pass),   UNIT(only_counters_of_threads_request_them),
    };
    return UNITS_RUN(units);
}
