/* SPDX-License-Identifier: Apache-2.0 */
#include "codec/packed.h"
#include <bzlib.h>
#include <lzma.h>
#include <stdlib.h>
#include <zlib.h>

/* zlib and bzip2 count bytes with `unsigned`. */
#define STEP_MOST ((size_t)1 << 30)

static unsigned least(size_t size)
{
    return (unsigned)(size < STEP_MOST ? size : STEP_MOST);
}

static void moved(struct packed_step *s, size_t in, size_t out)
{
    s->in = str_skip(s->in, in);
    s->out += out;
    s->room -= out;
}

/* --- gzip -------------------------------------------------------------------------- */

static void *create_inflate(int window)
{
    z_stream *z = calloc(1, sizeof *z);
    if (z && inflateInit2(z, window) == Z_OK)
        return z;
    free(z);
    return NULL;
}

static void *create_gzip(void)
{
    return create_inflate(15 + 16);
}

static void *create_deflate(void)
{
    return create_inflate(-15);
}

static void free_inflate(void *state)
{
    inflateEnd(state);
    free(state);
}

static bool next_gzip(void *state)
{
    return inflateReset(state) == Z_OK;
}

static enum packed_status step_gzip(void *state, struct packed_step *s)
{
    z_stream *z = state;
    unsigned in = least(s->in.len), out = least(s->room);
    z->next_in = (z_const Bytef *)(uintptr_t)s->in.ptr;
    z->avail_in = in;
    z->next_out = (Bytef *)s->out;
    z->avail_out = out;
    int status = inflate(z, Z_NO_FLUSH);
    moved(s, in - z->avail_in, out - z->avail_out);
    return status == Z_OK || status == Z_BUF_ERROR ? PACKED_MORE
           : status == Z_STREAM_END                ? PACKED_END
           : status == Z_MEM_ERROR                 ? PACKED_MEMORY
                                                   : PACKED_DAMAGED;
}

const struct packed_format packed_gzip = {"gzip",       "\x1f\x8b", create_gzip,
                                          free_inflate, next_gzip,  step_gzip};
const struct packed_format packed_deflate = {"gzip",       NULL,      create_deflate,
                                             free_inflate, next_gzip, step_gzip};

/* --- xz ---------------------------------------------------------------------------- */

/* The dictionary may have gigabytes, of which only those are used that the text fills. */
static bool next_xz(void *state)
{
    return lzma_stream_decoder(state, UINT64_MAX, 0) == LZMA_OK;
}

static void free_xz(void *state)
{
    lzma_end(state);
    free(state);
}

static void *create_xz(void)
{
    lzma_stream *z = calloc(1, sizeof *z);
    if (z && next_xz(z))
        return z;
    free(z);
    return NULL;
}

static enum packed_status step_xz(void *state, struct packed_step *s)
{
    lzma_stream *z = state;
    z->next_in = (const uint8_t *)s->in.ptr;
    z->avail_in = s->in.len;
    z->next_out = (uint8_t *)s->out;
    z->avail_out = s->room;
    lzma_ret status = lzma_code(z, LZMA_RUN);
    moved(s, s->in.len - z->avail_in, s->room - z->avail_out);
    return status == LZMA_OK || status == LZMA_BUF_ERROR ? PACKED_MORE
           : status == LZMA_STREAM_END                   ? PACKED_END
           : status == LZMA_MEM_ERROR                    ? PACKED_MEMORY
                                                         : PACKED_DAMAGED;
}

const struct packed_format packed_xz = {"xz",
                                        "\xfd"
                                        "7zXZ",
                                        create_xz,
                                        free_xz,
                                        next_xz,
                                        step_xz};

/* --- bzip2 ------------------------------------------------------------------------- */

static void *create_bzip2(void)
{
    bz_stream *z = calloc(1, sizeof *z);
    if (z && BZ2_bzDecompressInit(z, 0, 0) == BZ_OK)
        return z;
    free(z);
    return NULL;
}

static void free_bzip2(void *state)
{
    BZ2_bzDecompressEnd(state);
    free(state);
}

static bool next_bzip2(void *state)
{
    bz_stream *z = state;
    BZ2_bzDecompressEnd(z);
    *z = (bz_stream){0};
    return BZ2_bzDecompressInit(z, 0, 0) == BZ_OK;
}

static enum packed_status step_bzip2(void *state, struct packed_step *s)
{
    bz_stream *z = state;
    unsigned in = least(s->in.len), out = least(s->room);
    z->next_in = (char *)(uintptr_t)s->in.ptr;
    z->avail_in = in;
    z->next_out = s->out;
    z->avail_out = out;
    int status = BZ2_bzDecompress(z);
    moved(s, in - z->avail_in, out - z->avail_out);
    return status == BZ_OK           ? PACKED_MORE
           : status == BZ_STREAM_END ? PACKED_END
           : status == BZ_MEM_ERROR  ? PACKED_MEMORY
                                     : PACKED_DAMAGED;
}

const struct packed_format packed_bzip2 = {"bzip2",    "BZh",      create_bzip2,
                                           free_bzip2, next_bzip2, step_bzip2};
