/* SPDX-License-Identifier: Apache-2.0 */
#include "resolve/name_cache.h"
#include "unit.h"
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define ADDRESSES 500

static char folder[] = "/tmp/stoke-names-XXXXXX", path[sizeof folder + 16];

static int make_folder(void **state)
{
    (void)state;
    if (!mkdtemp(folder))
        return -1;
    snprintf(path, sizeof path, "%s/deep/names", folder);
    return 0;
}

static int remove_folder(void **state)
{
    char deep[sizeof path];
    (void)state;
    snprintf(deep, sizeof deep, "%s/deep", folder);
    unlink(path);
    rmdir(deep);
    return rmdir(folder);
}

/* Makes the answer for an address: no function, or a function with as many inlined
 * calls as the number. */
static void answer(struct name_job *job, uint64_t i, struct arena *a)
{
    static const char *const names[] = {"main", "",
                                        "a very long name of a template<int>"};
    size_t count = i % 4;
    struct resolved_frame *frames = arena_zalloc(a, count + 1, sizeof *frames);
    assert_non_null(frames);
    *job = (struct name_job){.object = 1,
                             .address = i * 7,
                             .is_call = i % 2,
                             .frames = frames,
                             .count = count};
    for (size_t k = 0; k < count; k++)
        frames[k] = (struct resolved_frame){.name = str_of(names[(i + k) % 3]),
                                            .file = str_of(k ? "a.c" : ""),
                                            .line = (uint32_t)(i + k),
                                            .kind = FRAME_INLINED,
                                            .offset = i << 33};
}

static void assert_answer(const struct name_job *got, const struct name_job *expected)
{
    assert_int_equal(got->count, expected->count);
    for (size_t k = 0; k < expected->count; k++) {
        const struct resolved_frame *a = &got->frames[k], *b = &expected->frames[k];
        assert_true(str_equal(a->name, b->name) && str_equal(a->file, b->file));
        assert_true(a->line == b->line && a->kind == b->kind && a->offset == b->offset);
    }
}

static void write_names(uint64_t from, uint64_t to, struct arena *a)
{
    struct name_cache c;
    name_cache_open(&c, path);
    for (uint64_t i = from; i < to; i++) {
        struct name_job job;
        answer(&job, i, a);
        name_cache_add(&c, &job);
    }
    name_cache_write(&c);
    name_cache_close(&c);
}

static void test_round_trip(void **state)
{
    struct arena a = ARENA_INIT;
    struct name_cache c;
    (void)state;
    write_names(0, ADDRESSES / 2, &a);
    write_names(ADDRESSES / 2, ADDRESSES, &a); /* the first half is cached already */
    name_cache_open(&c, path);
    assert_true(name_cache_has_entries(&c));
    for (uint64_t i = 0; i < ADDRESSES; i++) {
        struct name_job expected, job;
        answer(&expected, i, &a);
        job = (struct name_job){.address = i * 7, .is_call = i % 2};
        assert_true(name_cache_find(&c, &job, &a));
        assert_answer(&job, &expected);
        job.is_call = !job.is_call; /* a different key */
        assert_false(name_cache_find(&c, &job, &a));
    }
    name_cache_close(&c);
    arena_deinit(&a);
}

static void test_no_file(void **state)
{
    struct arena a = ARENA_INIT;
    struct name_cache c, nothing = {.path = ""};
    struct name_job job = {.address = 7};
    (void)state;
    name_cache_open(&c, "/nonexistent/names");
    assert_false(name_cache_has_entries(&c));
    assert_false(name_cache_find(&c, &job, &a));
    name_cache_close(&c);
    name_cache_add(&nothing, &job);
    assert_int_equal(nothing.added_count, 0);
    assert_false(name_cache_find(&nothing, &job, &a));
    name_cache_close(&nothing);
    arena_deinit(&a);
}

static void put_file(const char *bytes, size_t size)
{
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, size, file), size);
    assert_int_equal(fclose(file), 0);
}

/* A file that is truncated, or has a changed byte, is ignored. */
static void test_damaged(void **state)
{
    struct arena a = ARENA_INIT;
    struct error err;
    struct os_mapping whole;
    (void)state;
    unlink(path);
    write_names(0, 40, &a);
    assert_true(os_mapping_open(&whole, path, &err));
    char *bytes = test_malloc(whole.bytes.len);
    size_t size = whole.bytes.len;
    memcpy(bytes, whole.bytes.ptr, size);
    os_mapping_close(&whole);
    for (size_t at = 0; at < size; at += 3) {
        struct name_cache c;
        put_file(bytes, at);
        name_cache_open(&c, path);
        assert_false(name_cache_has_entries(&c));
        name_cache_close(&c);
        bytes[at] ^= 0x41;
        put_file(bytes, size);
        name_cache_open(&c, path);
        assert_false(name_cache_has_entries(&c));
        name_cache_close(&c);
        bytes[at] ^= 0x41;
    }
    put_file(bytes, size);
    struct name_cache c;
    name_cache_open(&c, path);
    assert_true(name_cache_has_entries(&c));
    name_cache_close(&c);
    test_free(bytes);
    arena_deinit(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_no_file),
        cmocka_unit_test(test_round_trip),
        cmocka_unit_test(test_damaged),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
