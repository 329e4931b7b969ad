/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzzes the reader of core files. If the first byte is not that of an ELF file, each 3 bytes
 * are a position and a value in a valid core file. */
#include "fuzz.h"
#include "symbol/core.h"
#include "symbol/core_image.h"

FUZZ_ONE_WAY("core")

static void read_core(struct str bytes)
{
    struct arena arena = ARENA_INIT;
    struct core c;
    struct error err;
    if (core_init(&c, bytes, &arena, &err)) {
        CHECK(c.thread_count <= CORE_THREADS_MAX && c.file_count <= CORE_FILES_MAX);
        for (size_t i = 0; i < c.thread_count; i++) {
            uint64_t sp = c.threads[i].stack_pointer;
            CHECK(elf_bytes_at(&c.elf, sp, UINT64_MAX).len <= bytes.len);
            core_is_code(&c, sp);
            core_file_at(&c, sp);
        }
        for (size_t i = 0; i < c.file_count; i++)
            CHECK(core_file_at(&c, c.files[i].start) == &c.files[i]);
    }
    arena_deinit(&arena);
}

int fuzz_one(const uint8_t *data, size_t size)
{
    struct core_image image;
    if (size && data[0] == 0x7f) {
        read_core((struct str){(const char *)data, size});
        return 0;
    }
    image_make(&image);
    for (size_t i = 0; i + 3 <= size; i += 3)
        image.bytes[(data[i] | data[i + 1] << 8) % image.size] = data[i + 2];
    read_core((struct str){(const char *)image.bytes, image.size});
    return 0;
}
