/* SPDX-License-Identifier: Apache-2.0 */
#include "codec/encode.h"
#include <stdlib.h>
#include <zlib.h>
#include <zstd.h>

#define PIECE ((size_t)1 << 30) /* zlib counts in 32 bits */

static bool deflate_bytes(struct encoder *e, const char *bytes, size_t length, int flush)
{
    z_stream *z = e->state;
    char packed[16384];
    z->next_in = (z_const Bytef *)(uintptr_t)bytes;
    z->avail_in = (uInt)length;
    do {
        z->next_out = (Bytef *)packed;
        z->avail_out = sizeof packed;
        if (deflate(z, flush) == Z_STREAM_ERROR)
            return false;
        output_bytes(e->to, packed, sizeof packed - z->avail_out);
    } while (z->avail_out == 0);
    return !e->to->failed;
}

static bool gzip_write(void *context, const char *bytes, size_t length)
{
    struct encoder *e = context;
    for (; length > PIECE; bytes += PIECE, length -= PIECE)
        if (!deflate_bytes(e, bytes, PIECE, Z_NO_FLUSH))
            return false;
    return deflate_bytes(e, bytes, length, Z_NO_FLUSH);
}

static bool init_gzip(struct encoder *e, struct output *to, int level, struct error *err)
{
    *e = (struct encoder){.to = to, .state = calloc(1, sizeof(z_stream))};
    if (!e->state || deflateInit2(e->state, level, Z_DEFLATED, 15 + 16, 8,
                                  Z_DEFAULT_STRATEGY) != Z_OK) {
        free(e->state);
        e->state = NULL;
        return error_memory(err);
    }
    e->output = (struct output){.flush = gzip_write, .context = e};
    return true;
}

bool encoder_init_gzip(struct encoder *e, struct output *to, struct error *err)
{
    return init_gzip(e, to, Z_DEFAULT_COMPRESSION, err);
}

bool encoder_init_gzip_fast(struct encoder *e, struct output *to, struct error *err)
{
    return init_gzip(e, to, Z_BEST_SPEED, err);
}

bool encoder_finish(struct encoder *e)
{
    return output_finish(&e->output) && deflate_bytes(e, "", 0, Z_FINISH);
}

void encoder_deinit(struct encoder *e)
{
    if (e->state)
        deflateEnd(e->state);
    free(e->state);
    e->state = NULL;
    output_deinit(&e->output);
}

/* --- zstd, in pieces --------------------------------------------------------------- */

/* Repetitions in recordings are close together: a small window stays in the CPU cache. */
#define PACKER_WINDOW_LOG 18

bool packer_init(struct packer *p, int level, struct error *err)
{
    ZSTD_CCtx *state = ZSTD_createCCtx();
    p->state = state;
    if (!state)
        return error_memory(err);
    ZSTD_CCtx_setParameter(state, ZSTD_c_compressionLevel, level);
    ZSTD_CCtx_setParameter(state, ZSTD_c_windowLog, PACKER_WINDOW_LOG);
    return true;
}

void packer_deinit(struct packer *p)
{
    ZSTD_freeCCtx(p->state);
    p->state = NULL;
}

size_t packer_bound(size_t size)
{
    return ZSTD_compressBound(size) + 32; /* the frame header, and the end of a block */
}

static size_t pack(struct packer *p, struct str bytes, char *into, size_t room,
                   ZSTD_EndDirective how)
{
    ZSTD_inBuffer in = {bytes.ptr, bytes.len, 0};
    ZSTD_outBuffer out = {into, room, 0};
    size_t left = ZSTD_compressStream2(p->state, &out, &in, how);
    return left == 0 && in.pos == in.size ? out.pos : 0;
}

size_t packer_add(struct packer *p, struct str bytes, char *into, size_t room)
{
    return pack(p, bytes, into, room, ZSTD_e_flush);
}

size_t packer_end(struct packer *p, struct str bytes, char *into, size_t room)
{
    return pack(p, bytes, into, room, ZSTD_e_end);
}

bool packer_write(int level, struct str bytes, struct output *out, struct error *err)
{
    struct packer p = {0};
    size_t room = packer_bound(bytes.len), size = 0;
    if (output_reserve(out, room) && packer_init(&p, level, err))
        size = packer_end(&p, bytes, out->bytes + out->used, room);
    out->used += size;
    packer_deinit(&p);
    return size ? true : error_memory(err);
}
