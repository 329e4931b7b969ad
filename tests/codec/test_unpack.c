/* SPDX-License-Identifier: Apache-2.0 */
#include "codec/unpack.h"
#include "unit.h"
#include <lzma.h>
#include <zlib.h>
#include <zstd.h>

static char packed[4 << 20];

/* Without zlib's header and checksum. */
static size_t deflated(struct str text)
{
    z_stream z = {.next_in = (z_const Bytef *)(uintptr_t)text.ptr,
                  .avail_in = (uInt)text.len,
                  .next_out = (Bytef *)packed,
                  .avail_out = sizeof packed};
    assert_int_equal(deflateInit2(&z, 6, Z_DEFLATED, -15, 8, Z_DEFAULT_STRATEGY), Z_OK);
    assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
    deflateEnd(&z);
    return sizeof packed - z.avail_out;
}

static struct str pack(enum pack kind, struct str text)
{
    size_t n = 0;
    uLongf z = sizeof packed;
    switch (kind) {
    case PACK_ZLIB:
        assert_int_equal(compress((Bytef *)packed, &z, (const Bytef *)text.ptr, text.len),
                         Z_OK);
        n = z;
        break;
    case PACK_ZSTD:
        n = ZSTD_compress(packed, sizeof packed, text.ptr, text.len, 3);
        assert_false(ZSTD_isError(n));
        break;
    case PACK_XZ:
        assert_int_equal(lzma_easy_buffer_encode(6, LZMA_CHECK_CRC32, NULL,
                                                 (const uint8_t *)text.ptr, text.len,
                                                 (uint8_t *)packed, &n, sizeof packed),
                         LZMA_OK);
        break;
    case PACK_DEFLATE:
        n = deflated(text);
    }
    return (struct str){packed, n};
}

static const enum pack kinds[] = {PACK_ZLIB, PACK_DEFLATE, PACK_ZSTD, PACK_XZ};

#define KINDS (sizeof kinds / sizeof *kinds)

static struct str some_text(size_t size)
{
    char *text = malloc(size + 1);
    uint32_t x = 1;
    for (size_t i = 0; i < size; i++) {
        x = x * 1664525 + 1013904223;
        text[i] = (char)('a' + (x >> 30) * (i % 7));
    }
    return (struct str){text, size};
}

static void unpacks_packed_data(void **state)
{
    static const size_t sizes[] = {0, 1, 1000, 1 << 20, (1 << 20) + 1, 5 << 20};
    (void)state;
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        struct str text = some_text(sizes[s]), out;
        for (size_t k = 0; k < KINDS; k++) {
            struct arena arena = ARENA_INIT;
            struct error err;
            struct str p = pack(kinds[k], text);
            assert_true(unpack(kinds[k], p, text.len, NULL, &arena, &out, &err));
            assert_true(str_equal(out, text));
            assert_true(
                unpack(kinds[k], p, UNPACK_SIZE_UNKNOWN, NULL, &arena, &out, &err));
            assert_true(str_equal(out, text));
            arena_deinit(&arena);
        }
        free((void *)(uintptr_t)text.ptr);
    }
}

/* A frame states its own size only. */
static void unpacks_zstd_frames_in_a_row(void **state)
{
    struct arena arena = ARENA_INIT;
    struct error err;
    struct str text = some_text(300000), out;
    (void)state;
    struct str p = pack(PACK_ZSTD, text);
    memcpy(packed + p.len, packed, p.len);
    p.len *= 2;
    assert_true(unpack(PACK_ZSTD, p, UNPACK_SIZE_UNKNOWN, NULL, &arena, &out, &err));
    assert_int_equal(out.len, 2 * text.len);
    assert_true(str_equal(str_head(out, text.len), text));
    assert_true(str_equal(str_skip(out, text.len), text));
    arena_deinit(&arena);
    free((void *)(uintptr_t)text.ptr);
}

static void rejects_other_sizes_and_damage(void **state)
{
    struct str text = some_text(100000), out;
    (void)state;
    for (size_t k = 0; k < KINDS; k++) {
        struct arena arena = ARENA_INIT;
        struct error err;
        struct str p = pack(kinds[k], text);
        assert_false(unpack(kinds[k], p, text.len - 1, NULL, &arena, &out, &err));
        assert_false(unpack(kinds[k], p, text.len + 1, NULL, &arena, &out, &err));
        assert_int_equal(out.len, 0);
        for (size_t cut = 0; cut < p.len; cut += 1 + p.len / 50) {
            struct str head = str_head(p, cut);
            assert_false(unpack(kinds[k], head, text.len, NULL, &arena, &out, &err));
            assert_false(
                unpack(kinds[k], head, UNPACK_SIZE_UNKNOWN, NULL, &arena, &out, &err));
            assert_string_not_equal(err.message, "");
        }
        assert_false(arena.failed);
        arena_deinit(&arena);
    }
    free((void *)(uintptr_t)text.ptr);
}

/* 64 MiB of zeros in few bytes: never more than the ratio allows is allocated. */
static void rejects_decompression_bombs(void **state)
{
    char *zeros = calloc(64, 1 << 20);
    struct str text = {zeros, (size_t)64 << 20}, out;
    (void)state;
    for (size_t k = 2; k < KINDS; k++) {
        struct arena arena = ARENA_INIT;
        struct error err;
        struct str p = pack(kinds[k], text);
        assert_true(p.len < 16 << 10);
        assert_false(unpack(kinds[k], p, text.len, NULL, &arena, &out, &err));
        assert_true(str_starts(str_of(err.message), STR("rejected")));
        assert_false(unpack(kinds[k], p, UNPACK_SIZE_UNKNOWN, NULL, &arena, &out, &err));
        assert_true(str_starts(str_of(err.message), STR("rejected")));
        assert_true(arena.total < (size_t)32 << 20);
        arena_deinit(&arena);
    }
    free(zeros);
}

static void rejects_sizes_beyond_memory(void **state)
{
    struct arena arena = ARENA_INIT;
    struct error err;
    struct str out, p = pack(PACK_ZLIB, STR("hello"));
    (void)state;
    assert_false(unpack(PACK_ZLIB, p, UINT64_MAX - 1, NULL, &arena, &out, &err));
    assert_false(arena.failed);
    arena_deinit(&arena);
}

/* All that precedes the end, or a fault. */
static void parts_of_deflated_data_are_unpacked(void **state)
{
    static char text[100000];
    struct arena arena = ARENA_INIT;
    struct str out;
    unsigned seed = 1;
    (void)state;
    for (size_t i = 0; i < sizeof text; i++)
        text[i] = (char)('a' + ((seed = seed * 1103515245 + 12345) >> 16) % 16);
    struct str all = {text, sizeof text};
    size_t size = deflated(all), before = 0;
    for (size_t cut = 0; cut <= size; cut += size / 8) {
        unpack_part((struct str){packed, cut}, all.len, &arena, &out);
        assert_true(out.len >= before && str_starts(all, out));
        before = out.len;
    }
    unpack_part((struct str){packed, size}, all.len, &arena, &out);
    assert_true(str_equal(out, all));
    unpack_part((struct str){packed, size}, 100, &arena, &out);
    assert_true(str_equal(out, str_head(all, 100)));
    unpack_part((struct str){packed, size}, 0, &arena, &out);
    assert_int_equal(out.len, 0);
    unpack_part(STR("\xff\xff"), 100, &arena, &out);
    assert_int_equal(out.len, 0);
    arena_deinit(&arena);
}

int main(void)
{
    const struct CMUnitTest units[] = {
        UNIT(unpacks_packed_data),
        UNIT(unpacks_zstd_frames_in_a_row),
        UNIT(rejects_other_sizes_and_damage),
        UNIT(rejects_decompression_bombs),
        UNIT(rejects_sizes_beyond_memory),
        UNIT(parts_of_deflated_data_are_unpacked),
    };
    return UNITS_RUN(units);
}
