/* SPDX-License-Identifier: Apache-2.0 */
#include "codec/unpack.h"
#include "base/bytes.h"

#define ROOM_FIRST ((uint64_t)1 << 20)

static const char *const names[] = {[PACK_ZLIB] = "zlib",
                                    [PACK_ZSTD] = "zstd",
                                    [PACK_XZ] = "xz",
                                    [PACK_DEFLATE] = "deflated"};

/* The maximum unpacked size of that many packed bytes. */
static uint64_t bound_of(size_t packed, const struct limits *limits)
{
    uint64_t ratio = limits->block_ratio;
    uint64_t most = packed < UNPACK_MAX / ratio ? packed * ratio : UNPACK_MAX;
    if (most < ROOM_FIRST)
        most = ROOM_FIRST;
    return most < SIZE_MAX / 2 ? most : SIZE_MAX / 2;
}

static bool refuse(struct str packed, const char *name, uint64_t size, struct error *err)
{
    error_set(err, "rejected: %zu KiB of %s data unpack to %zu MiB or more",
              packed.len >> 10, name, (size_t)(size >> 20));
    return error_hint(err, "--limits x8 raises the limit");
}

static bool out_of_memory(struct arena *arena, struct error *err)
{
    arena->failed = true;
    return error_memory(err);
}

static bool unpack_known(enum pack kind, struct str packed, uint64_t size,
                         const struct limits *limits, struct arena *arena,
                         struct str *out, struct error *err)
{
    if (size > bound_of(packed.len, limits))
        return refuse(packed, names[kind], size, err);
    struct unpack_run r = {.in = packed, .room = (size_t)size};
    r.out = arena_alloc(arena, r.room + 1); /* not a size of 0 */
    if (!r.out)
        return error_memory(err);
    if (unpack_run(kind, &r) && r.ended && r.done == size) {
        *out = (struct str){r.out, r.done};
        return true;
    }
    arena_release(arena, r.out, r.room + 1);
    if (r.lacks_memory)
        return out_of_memory(arena, err);
    return error_set(err, "the %s data is damaged", names[kind]);
}

/* The size that the header of a zstd frame states; 0: none. */
static uint64_t size_of_zstd(struct str packed)
{
    static const uint8_t ids[] = {0, 1, 2, 4}, sizes[] = {0, 2, 4, 8};
    struct bytes b = bytes_of(packed, false);
    if (bytes_u32(&b) != 0xfd2fb528)
        return 0;
    uint8_t flags = bytes_u8(&b);
    bool has_window = !(flags & 0x20);
    unsigned size = sizes[flags >> 6];
    bytes_skip(&b, ids[flags & 3] + has_window);
    if (size == 0 && !has_window)
        size = 1;
    uint64_t stated = size ? bytes_number(&b, size) : 0;
    return b.failed ? 0 : stated + (size == 2 ? 256 : 0);
}

/* The room of the first attempt. */
static uint64_t first_room(enum pack kind, struct str packed, uint64_t most)
{
    uint64_t stated = kind == PACK_ZSTD ? size_of_zstd(packed) : 0;
    return stated && stated <= most ? stated : ROOM_FIRST;
}

/* Doubles the room at each attempt: at most three times the work compared with a known
 * size. */
static bool unpack_unknown(enum pack kind, struct str packed, const struct limits *limits,
                           struct arena *arena, struct str *out, struct error *err)
{
    uint64_t most = bound_of(packed.len, limits), room = first_room(kind, packed, most);
    for (;; room = room < most / 2 ? room * 2 : most) {
        struct unpack_run r = {.in = packed, .room = (size_t)room};
        r.out = arena_alloc(arena, r.room);
        if (!r.out)
            return error_memory(err);
        bool ok = unpack_run(kind, &r);
        if (ok && r.ended) {
            *out = (struct str){r.out, r.done};
            return true;
        }
        arena_release(arena, r.out, r.room);
        if (r.lacks_memory)
            return out_of_memory(arena, err);
        if (!ok || r.done < r.room)
            return error_set(err, "the %s data is damaged", names[kind]);
        if (room == most)
            return refuse(packed, names[kind], most, err);
    }
}

bool unpack(enum pack kind, struct str packed, uint64_t size, const struct limits *limits,
            struct arena *arena, struct str *out, struct error *err)
{
    *out = STR("");
    limits = limits ? limits : &limits_default;
    if (size == UNPACK_SIZE_UNKNOWN)
        return unpack_unknown(kind, packed, limits, arena, out, err);
    return unpack_known(kind, packed, size, limits, arena, out, err);
}

void unpack_part(struct str packed, size_t room, struct arena *arena, struct str *out)
{
    struct unpack_run r = {.in = packed, .room = room, .part = true};
    *out = STR("");
    r.out = arena_alloc(arena, room + 1); /* not a size of 0 */
    if (!r.out)
        return;
    unpack_run(PACK_DEFLATE, &r);
    if (r.lacks_memory)
        arena->failed = true;
    else
        *out = (struct str){r.out, r.done};
}
