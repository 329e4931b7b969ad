/* SPDX-License-Identifier: Apache-2.0 */
/* What is packed inside of a file is unpacked by the page, which has the libraries for it
 * (web/src/unpack.ts); files that are packed as a whole it unpacks before they come here. */
#include "codec/unpack.h"
#include "base/limits.h"
#include "codec/decode.h"

#define IMPORT(name) __attribute__((import_module("unpack"), import_name(#name))) name

/* A stream of zstd data: its number, 0 where there are too many. */
extern int IMPORT(zstd_open)(void);
extern void IMPORT(zstd_close)(int stream);

/* Unpacks some of the bytes to `into`: gives how many came, -1 where the data is damaged,
 * and in *used how many bytes were taken. */
extern int IMPORT(zstd_take)(int stream, const char *bytes, size_t length, char *into,
                             size_t room, size_t *used);

/* Unpacks a whole block of zlib (wrapped) or deflated data: gives how many bytes came, -1
 * where the data is damaged, -2 where there are more than there is room for. */
extern int IMPORT(inflate)(int wrapped, const char *bytes, size_t length, char *into,
                           size_t room);

bool unpacker_init(struct unpacker *u, struct error *err)
{
    int stream = zstd_open();
    *u = (struct unpacker){.state = (void *)(intptr_t)stream};
    return stream || error_memory(err);
}

void unpacker_deinit(struct unpacker *u)
{
    if (u->state)
        zstd_close((int)(intptr_t)u->state);
    u->state = NULL;
}

bool unpacker_take(struct unpacker *u, struct str *packed, char *into, size_t room,
                   size_t *got)
{
    size_t used = 0;
    int came =
        zstd_take((int)(intptr_t)u->state, packed->ptr, packed->len, into, room, &used);
    *packed = str_skip(*packed, used);
    *got = came > 0 ? (size_t)came : 0;
    u->in += used;
    u->out += *got;
    return came >= 0 && !limits_exceeded(u->in, u->out);
}

/* Object files, which have blocks of the other kinds, are not read here. */
bool unpack_run(enum pack kind, struct unpack_run *r)
{
    if (kind != PACK_ZLIB && kind != PACK_DEFLATE)
        return false;
    int came = inflate(kind == PACK_ZLIB, r->in.ptr, r->in.len, r->out, r->room);
    r->done = came >= 0 ? (size_t)came : came == -2 ? r->room : 0;
    r->ended = came >= 0;
    return came != -1;
}
