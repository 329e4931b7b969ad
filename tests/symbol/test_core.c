/* SPDX-License-Identifier: Apache-2.0 */
#include "core_image.h"
#include "symbol/core.h"
#include "unit.h"

static struct core_image image;

static struct str all(void)
{
    return (struct str){(const char *)image.bytes, image.size};
}

static void test_read(void **state)
{
    (void)state;
    struct arena arena = ARENA_INIT;
    struct core c;
    struct error err;
    image_make(&image);
    assert_true(core_init(&c, all(), &arena, &err));
    assert_int_equal(c.thread_count, 2);
    assert_int_equal(c.threads[1].tid, 8);
    assert_int_equal(c.threads[1].values[8], 0x400020);
    assert_int_equal(c.threads[1].stack_pointer, 0x7008);
    assert_int_equal(c.signal, 11);
    assert_int_equal(c.pid, 7);
    assert_true(str_equal(c.name, STR("name")));
    assert_true(str_equal(c.command, STR("name -x")));
    assert_int_equal(c.file_count, 1);
    assert_int_equal(c.files[0].offset, 4096);
    assert_ptr_equal(core_file_at(&c, 0x400fff), &c.files[0]);
    assert_null(core_file_at(&c, 0x401000));
    assert_int_equal(core_is_code(&c, 0x400010), 1);
    assert_int_equal(core_is_code(&c, 0x7000), 0);
    assert_int_equal(core_is_code(&c, 0x9000), -1);
    assert_int_equal(elf_bytes_at(&c.elf, 0x7000, 100).len, 64);
    assert_int_equal(c.missing + c.rejected, 0);
    arena_deinit(&arena);
}

/* What is in the file is read; what is missing is counted. */
static void test_truncated(void **state)
{
    (void)state;
    struct arena arena = ARENA_INIT;
    struct core c;
    struct error err;
    image_make(&image);
    image.size -= 40;
    assert_true(core_init(&c, all(), &arena, &err));
    assert_int_equal(c.thread_count, 2);
    assert_int_equal(c.missing, 40);
    assert_int_equal(elf_bytes_at(&c.elf, 0x7000, 100).len, 24);
    image.size = 64 + 3 * 56 + 100;
    assert_true(core_init(&c, all(), &arena, &err));
    assert_int_equal(c.thread_count, 0);
    assert_int_equal(c.rejected, 1);
    arena_deinit(&arena);
}

static void test_false_sizes(void **state)
{
    (void)state;
    struct arena arena = ARENA_INIT;
    struct core c;
    struct error err;
    image_make(&image);
    image_put(&image, 64 + 3 * 56 + 4, UINT32_MAX, 4); /* of the first note */
    assert_true(core_init(&c, all(), &arena, &err));
    assert_int_equal(c.thread_count, 0);
    assert_int_equal(c.rejected, 1);
    image_make(&image);
    image.bytes[16] = 2;
    assert_false(core_init(&c, all(), &arena, &err));
    arena_deinit(&arena);
}

static void test_mutations(void **state)
{
    (void)state;
    uint64_t random = 1;
    for (int i = 0; i < 10000; i++) {
        struct arena arena = ARENA_INIT;
        struct core c;
        struct error err;
        image_make(&image);
        for (int m = 0; m < 1 + i % 8; m++) {
            random = random * 6364136223846793005u + 1442695040888963407u;
            image.bytes[(random >> 33) % image.size] = (unsigned char)(random >> 24);
        }
        if (core_init(&c, all(), &arena, &err))
            for (size_t t = 0; t < c.thread_count; t++) {
                struct str s = elf_bytes_at(&c.elf, c.threads[t].stack_pointer, 4096);
                assert_true(s.len <= image.size);
                core_file_at(&c, c.threads[t].values[8]);
            }
        arena_deinit(&arena);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_read),
        cmocka_unit_test(test_truncated),
        cmocka_unit_test(test_false_sizes),
        cmocka_unit_test(test_mutations),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
