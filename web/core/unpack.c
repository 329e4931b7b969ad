/* SPDX-License-Identifier: Apache-2.0 */
/* Data that is compressed inside of a file is decompressed by the page's libraries
 * (web/src/unpack.ts). Files that are compressed as a whole are decompressed before
 * they get here. */
#include "codec/unpack.h"
#include "base/limits.h"
#include "codec/decode.h"

#define IMPORT(name) __attribute__((import_module("unpack"), import_name(#name))) name

/* Opens a stream of zstd data and returns its number; 0 if there are too many. */
extern int IMPORT(zstd_open)(void);
extern void IMPORT(zstd_close)(int stream);

/* Decompresses some of the bytes to `into`. Returns how many were written, -1 if the
 * data is damaged; *used is the number of bytes read. */
extern int IMPORT(zstd_take)(int stream, const char *bytes, size_t length, char *into,
                             size_t room, size_t *used);

/* Decompresses a whole block of zlib (wrapped) or raw deflate data. Returns how many
 * bytes were written, -1 if the data is damaged, -2 if there is not enough room. */
extern int IMPORT(inflate)(int wrapped, const char *bytes, size_t length, char *into,
                           size_t room);

bool unpacker_init(struct unpacker *u, const struct limits *limits, struct error *err)
{
    int stream = zstd_open();
    *u = (struct unpacker){.state = (void *)(intptr_t)stream,
                           .limits = limits ? limits : &limits_default};
    return stream || error_memory(err);
}

void unpacker_deinit(struct unpacker *u)
{
    if (u->state)
        zstd_close((int)(intptr_t)u->state);
    u->state = NULL;
}

bool unpacker_unpack(struct unpacker *u, struct str *packed, char *into, size_t room,
                     size_t *got)
{
    size_t used = 0;
    int came =
        zstd_take((int)(intptr_t)u->state, packed->ptr, packed->len, into, room, &used);
    *packed = str_skip(*packed, used);
    *got = came > 0 ? (size_t)came : 0;
    u->in += used;
    u->out += *got;
    return came >= 0 && !limits_exceeded(u->limits, u->in, u->out);
}

/* Other kinds are used only in object files, which the page does not read. */
bool unpack_run(enum pack kind, struct unpack_run *r)
{
    if (kind != PACK_ZLIB && kind != PACK_DEFLATE)
        return false;
    int came = inflate(kind == PACK_ZLIB, r->in.ptr, r->in.len, r->out, r->room);
    r->done = came >= 0 ? (size_t)came : came == -2 ? r->room : 0;
    r->ended = came >= 0;
    return came != -1;
}
