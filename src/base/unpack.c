#include "base/unpack.h"
#include <libdeflate.h>
#include <lzma.h>
#include <zstd.h>

/* The dictionary of `xz -9` takes 65 MiB. */
#define XZ_MEMORY ((uint64_t)68 << 20)

/* A run of one of the libraries over a block, until it ends or `room` is full. */
struct run {
    struct str in;
    char *out;
    size_t room, done;
    bool ended;
};

/* libdeflate takes a third of zlib's time, where all is there at once. */
static bool run_zlib(struct run *r)
{
    struct libdeflate_decompressor *z = libdeflate_alloc_decompressor();
    if (!z)
        return false;
    enum libdeflate_result result =
        libdeflate_zlib_decompress(z, r->in.ptr, r->in.len, r->out, r->room, &r->done);
    libdeflate_free_decompressor(z);
    r->ended = result == LIBDEFLATE_SUCCESS;
    if (result == LIBDEFLATE_INSUFFICIENT_SPACE)
        r->done = r->room;
    return r->ended || result == LIBDEFLATE_INSUFFICIENT_SPACE;
}

static bool run_zstd(struct run *r)
{
    ZSTD_DCtx *context = ZSTD_createDCtx();
    ZSTD_inBuffer in = {r->in.ptr, r->in.len, 0};
    ZSTD_outBuffer out = {r->out, r->room, 0};
    size_t status = 1, before;
    if (!context)
        return false;
    ZSTD_DCtx_setParameter(context, ZSTD_d_windowLogMax, 27);
    do {
        before = in.pos + out.pos;
        status = ZSTD_decompressStream(context, &out, &in);
        r->ended = status == 0 && in.pos == in.size;
    } while (!ZSTD_isError(status) && !r->ended && in.pos + out.pos > before);
    r->done = out.pos;
    ZSTD_freeDCtx(context);
    return !ZSTD_isError(status);
}

static bool run_xz(struct run *r)
{
    lzma_stream z = LZMA_STREAM_INIT;
    if (lzma_stream_decoder(&z, XZ_MEMORY, LZMA_CONCATENATED) != LZMA_OK)
        return false;
    z.next_in = (const uint8_t *)r->in.ptr;
    z.avail_in = r->in.len;
    z.next_out = (uint8_t *)r->out;
    z.avail_out = r->room;
    lzma_ret status = LZMA_OK;
    while (status == LZMA_OK)
        status = lzma_code(&z, LZMA_FINISH);
    r->done = r->room - z.avail_out;
    r->ended = status == LZMA_STREAM_END;
    lzma_end(&z);
    return r->ended || status == LZMA_BUF_ERROR;
}

static const struct packer {
    const char *name;
    bool (*run)(struct run *r); /* false: the data is damaged */
} packers[] = {
    [PACK_ZLIB] = {"zlib", run_zlib},
    [PACK_ZSTD] = {"zstd", run_zstd},
    [PACK_XZ] = {"xz", run_xz},
};

/* The most that so many packed bytes may become. */
static uint64_t bound_of(size_t packed)
{
    uint64_t most =
        packed < UNPACK_MAX / UNPACK_RATIO ? packed * (uint64_t)UNPACK_RATIO : UNPACK_MAX;
    if (most < UNPACK_FREE_SIZE)
        most = UNPACK_FREE_SIZE;
    return most < SIZE_MAX / 2 ? most : SIZE_MAX / 2;
}

static bool refuse(struct str packed, const char *name, uint64_t size, struct error *err)
{
    return error_set(err, "refused: %zu KiB of %s data unpack to %zu MiB or more",
                     packed.len >> 10, name, (size_t)(size >> 20));
}

static bool unpack_known(const struct packer *p, struct str packed, uint64_t size,
                         struct arena *arena, struct str *out, struct error *err)
{
    if (size > bound_of(packed.len))
        return refuse(packed, p->name, size, err);
    struct run r = {.in = packed, .room = (size_t)size};
    r.out = arena_alloc(arena, r.room + 1); /* not nothing, for no bytes */
    if (!r.out)
        return error_memory(err);
    if (p->run(&r) && r.ended && r.done == size) {
        *out = (struct str){r.out, r.done};
        return true;
    }
    arena_release(arena, r.out, r.room + 1);
    return error_set(err, "the %s data is damaged", p->name);
}

/* Twice the room each time: at most three times the work of knowing. */
static bool unpack_unknown(const struct packer *p, struct str packed, struct arena *arena,
                           struct str *out, struct error *err)
{
    uint64_t most = bound_of(packed.len), room = UNPACK_FREE_SIZE;
    for (;; room = room < most / 2 ? room * 2 : most) {
        struct run r = {.in = packed, .room = (size_t)room};
        r.out = arena_alloc(arena, r.room);
        if (!r.out)
            return error_memory(err);
        bool ok = p->run(&r);
        if (ok && r.ended) {
            *out = (struct str){r.out, r.done};
            return true;
        }
        arena_release(arena, r.out, r.room);
        if (!ok || r.done < r.room)
            return error_set(err, "the %s data is damaged", p->name);
        if (room == most)
            return refuse(packed, p->name, most, err);
    }
}

bool unpack(enum pack kind, struct str packed, uint64_t size, struct arena *arena,
            struct str *out, struct error *err)
{
    *out = STR("");
    if (size == UNPACK_SIZE_UNKNOWN)
        return unpack_unknown(&packers[kind], packed, arena, out, err);
    return unpack_known(&packers[kind], packed, size, arena, out, err);
}
