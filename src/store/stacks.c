/* SPDX-License-Identifier: Apache-2.0 */
#include "store/stacks.h"
#include "base/bytes.h"
#include "codec/encode.h"
#include "codec/protobuf.h"
#include "codec/unpack.h"

#define VERSION 1
#define LEVEL 6 /* of zstd */

/* Frames near each other were new at the same time, in both directions. */
static uint64_t fold_sign(uint64_t difference)
{
    return difference << 1 ^ (0 - (difference >> 63));
}

static uint64_t unfold_sign(uint64_t v)
{
    return v >> 1 ^ (0 - (v & 1));
}

static void put_columns(struct output *o, const struct store_stack *stacks, size_t count,
                        uint64_t first)
{
    uint64_t before = 0;
    for (size_t i = 0; i < count; i++)
        proto_put_varint(o, stacks[i].parent ? first + i - stacks[i].parent : 0);
    for (size_t i = 0; i < count; i++) {
        proto_put_varint(o, fold_sign(stacks[i].frame - before));
        before = stacks[i].frame;
    }
}

bool store_stacks_encode(const struct store_stack *stacks, size_t count, uint64_t first,
                         struct output *out, struct error *err)
{
    struct output columns = OUTPUT_BUFFER;
    put_columns(&columns, stacks, count, first);
    output_char(out, VERSION);
    bool ok = !columns.failed && packer_write(LEVEL, output_contents(&columns), out, err);
    output_deinit(&columns);
    return ok || error_memory(err);
}

static bool damaged(struct error *err)
{
    error_set(err, "the stacks of a window are damaged");
    return error_hint(err, "other spans may be intact: choose them with --at");
}

static bool take_columns(struct bytes *b, uint64_t first, struct store_stack *stacks,
                         size_t count)
{
    uint64_t frame = 0;
    for (size_t i = 0; i < count; i++) {
        uint64_t distance = bytes_uleb(b);
        if (distance >= first + i)
            return false;
        stacks[i].parent = distance ? (uint32_t)(first + i - distance) : 0;
    }
    for (size_t i = 0; i < count; i++) {
        frame += unfold_sign(bytes_uleb(b));
        if (frame > UINT32_MAX)
            return false;
        stacks[i].frame = (uint32_t)frame;
    }
    return !b->failed && bytes_left(b) == 0;
}

bool store_stacks_decode(struct str bytes, uint64_t first, size_t count,
                         struct arena *arena, struct store_stack **stacks,
                         struct error *err)
{
    struct str plain;
    if (bytes.len == 0 || bytes.ptr[0] != VERSION || count > STORE_STACKS_MAX)
        return damaged(err);
    if (!unpack(PACK_ZSTD, str_skip(bytes, 1), UNPACK_SIZE_UNKNOWN, NULL, arena, &plain,
                err))
        return false;
    if (plain.len / 2 < count) /* two bytes each, at least */
        return damaged(err);
    struct bytes b = bytes_of(plain, false);
    *stacks = arena_zalloc(arena, count + 1, sizeof **stacks);
    if (!*stacks)
        return error_memory(err);
    return take_columns(&b, first, *stacks, count) || damaged(err);
}
