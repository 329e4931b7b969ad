/* SPDX-License-Identifier: Apache-2.0 */
#include "codec/unpack.h"
#include <libdeflate.h>
#include <lzma.h>
#include <zlib.h>
#include <zstd.h>

/* The dictionary of `xz -9` takes 65 MiB. */
#define XZ_MEMORY ((uint64_t)68 << 20)

/* libdeflate takes less than half of zlib's time if the whole block is in memory. */
static bool inflate_all(struct unpack_run *r, bool wrapped)
{
    struct libdeflate_decompressor *z = libdeflate_alloc_decompressor();
    r->lacks_memory = !z;
    if (!z)
        return false;
    enum libdeflate_result result =
        wrapped ? libdeflate_zlib_decompress(z, r->in.ptr, r->in.len, r->out, r->room,
                                             &r->done)
                : libdeflate_deflate_decompress(z, r->in.ptr, r->in.len, r->out, r->room,
                                                &r->done);
    libdeflate_free_decompressor(z);
    r->ended = result == LIBDEFLATE_SUCCESS;
    if (result == LIBDEFLATE_INSUFFICIENT_SPACE)
        r->done = r->room;
    return r->ended || result == LIBDEFLATE_INSUFFICIENT_SPACE;
}

static bool run_zlib(struct unpack_run *r)
{
    return inflate_all(r, true);
}

/* libdeflate unpacks whole blocks only. */
static bool inflate_part(struct unpack_run *r)
{
    z_stream z = {.next_in = (z_const Bytef *)(uintptr_t)r->in.ptr,
                  .next_out = (Bytef *)r->out};
    z.avail_in = r->in.len < UINT32_MAX ? (uInt)r->in.len : UINT32_MAX;
    z.avail_out = r->room < UINT32_MAX ? (uInt)r->room : UINT32_MAX;
    r->lacks_memory = inflateInit2(&z, -15) != Z_OK;
    if (r->lacks_memory)
        return false;
    int status = inflate(&z, Z_FINISH);
    r->done = (size_t)z.total_out;
    r->ended = status == Z_STREAM_END;
    inflateEnd(&z);
    return r->ended || status == Z_BUF_ERROR;
}

static bool run_deflate(struct unpack_run *r)
{
    return r->part ? inflate_part(r) : inflate_all(r, false);
}

static bool run_zstd(struct unpack_run *r)
{
    ZSTD_DCtx *context = ZSTD_createDCtx();
    ZSTD_inBuffer in = {r->in.ptr, r->in.len, 0};
    ZSTD_outBuffer out = {r->out, r->room, 0};
    size_t status = 1, before;
    r->lacks_memory = !context;
    if (r->lacks_memory)
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

static bool run_xz(struct unpack_run *r)
{
    lzma_stream z = LZMA_STREAM_INIT;
    r->lacks_memory = lzma_stream_decoder(&z, XZ_MEMORY, LZMA_CONCATENATED) != LZMA_OK;
    if (r->lacks_memory)
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

bool unpack_run(enum pack kind, struct unpack_run *r)
{
    static bool (*const runs[])(struct unpack_run *) = {
        [PACK_ZLIB] = run_zlib,
        [PACK_ZSTD] = run_zstd,
        [PACK_XZ] = run_xz,
        [PACK_DEFLATE] = run_deflate,
    };
    return runs[kind](r);
}
