/* SPDX-License-Identifier: Apache-2.0 */
#include "codec/decode.h"
#include "base/arena.h"
#include "base/bytes.h"
#include "base/limits.h"
#include "base/utf8.h"
#include <stdlib.h>
#include <zlib.h>
#include <zstd.h>

#define ZIP_ENTRY STR("PK\x03\x04")
#define ZIP_HEAD_SIZE 30 /* of a file in it, without its name */
#define ZIP_DEFLATED 8

/* The packed data cannot be read on. What was unpacked stands, and `flaw` says that it is
 * not all; where nothing was, it is an error. */
static bool stop(struct decoder *d, const char *flaw, struct error *err)
{
    d->flaw = flaw;
    d->broken = true;
    if (d->out)
        return true;
    error_set(err, "%s", flaw);
    error_at_offset(err, d->in);
    return error_hint(err,
                      "make the file anew, or unpack it by hand to see what is in it");
}

static bool damaged(struct decoder *d, struct error *err)
{
    return stop(d, DECODE_DAMAGED, err);
}

static bool cut_short(struct decoder *d, struct error *err)
{
    return stop(d, DECODE_CUT_SHORT, err);
}

/* More of the packed bytes, at least one where there are any. */
static bool refill(struct decoder *d, struct error *err)
{
    struct source *from = d->from;
    if (from->begin < from->end || from->last)
        return true;
    return source_more(from, from->end, err);
}

static void took(struct decoder *d, size_t bytes)
{
    d->from->begin += bytes;
    d->from->offset += bytes;
    d->in += bytes;
}

/* Allocations fail only above what the input ends at: the last bytes are still read. */
static void allow_memory(const struct decoder *d)
{
    uint64_t most = limits.memory, more = d->in < INT64_MAX / 4 / limits.ratio
                                              ? d->in * limits.ratio
                                              : INT64_MAX / 4;
    most = most > more ? most : more;
    most += most / 16;
    arena_allow(d->held + (int64_t)(most < INT64_MAX / 2 ? most : INT64_MAX / 2));
}

void decoder_bound_memory(struct decoder *d)
{
    d->bounded = d->state != NULL;
    d->held = arena_held();
    if (d->bounded)
        allow_memory(d);
}

/* Stops at a limit; what was unpacked until then stands. */
static void check_limits(struct decoder *d)
{
    d->stopped = limits_exceeded(d->in, d->out);
    if (d->stopped)
        d->flaw = "the packed data unpacks to more than the limit: the rest is left out; "
                  "--limits x8 raises it";
    if (d->stopped || !d->bounded)
        return;
    int64_t held = arena_held() - d->held;
    d->stopped = held > 0 && limits_memory_exceeded(d->in, (uint64_t)held);
    if (d->stopped)
        d->flaw = "what the packed data unpacks to takes more memory than the limit: the "
                  "rest is left out; --limits x8 raises it";
    allow_memory(d);
}

static size_t source_left(const struct source *s)
{
    return (size_t)(s->end - s->begin);
}

/* Behind the file of a zip: what else is in it is told, and left out. Between them may
 * stand the file's sums, with or without a signature. */
static bool zip_end(struct decoder *d, struct error *err)
{
    static const size_t gaps[] = {0, 12, 16, 20, 24};
    struct source *from = d->from;
    if (!source_peek(from, 32, err))
        return false;
    struct str rest = str_span(from->begin, from->end);
    for (size_t i = 0; i < sizeof gaps / sizeof *gaps; i++)
        if (str_starts(str_skip(rest, gaps[i]), ZIP_ENTRY))
            d->flaw = "more than one file is in the zip: the first is read";
    return true;
}

/* Makes ready for the member that follows the one that ended. Where none does, *more is
 * false and the text ends; zeros are padding, anything else is a flaw. */
static bool gzip_next_member(struct decoder *d, bool *more, struct error *err)
{
    struct source *from = d->from;
    *more = false;
    if (d->zip)
        return zip_end(d, err);
    while (source_left(from) < 2 && !from->last)
        if (!source_more(from, from->begin, err))
            return false;
    *more = str_starts(str_span(from->begin, from->end), STR("\x1f\x8b"));
    if (!*more && source_left(from) && from->begin[0])
        d->flaw = DECODE_MORE_BEHIND;
    return !*more || inflateReset(d->state) == Z_OK || error_memory(err);
}

static bool gzip_read(void *context, char *into, size_t room, size_t *got,
                      struct error *err)
{
    struct decoder *d = context;
    z_stream *z = d->state;
    *got = 0;
    while (*got == 0 && !d->stopped) {
        bool more = true;
        if (d->frame_done && !gzip_next_member(d, &more, err))
            return false;
        if (!more)
            return true;
        if (!refill(d, err))
            return false;
        size_t left = source_left(d->from);
        if (left == 0)
            return cut_short(d, err);
        z->next_in = (z_const Bytef *)(uintptr_t)d->from->begin;
        z->avail_in = (uInt)(left < 1u << 30 ? left : 1u << 30);
        uInt offered = z->avail_in;
        z->next_out = (Bytef *)into;
        z->avail_out = (uInt)(room < 1u << 30 ? room : 1u << 30);
        uInt wanted = z->avail_out;
        int status = inflate(z, Z_NO_FLUSH);
        took(d, offered - z->avail_in);
        *got = wanted - z->avail_out;
        /* what was unpacked before the fault is given first: the fault comes again */
        if (status != Z_OK && status != Z_STREAM_END && *got == 0)
            return status == Z_MEM_ERROR ? error_memory(err) : damaged(d, err);
        d->frame_done = status == Z_STREAM_END;
    }
    d->out += *got;
    check_limits(d);
    return true;
}

/* How many bytes to give next: zstd asks for a block with the header of the next one. A
 * call that fails tells nothing of what it unpacked before, so each gets one or the
 * other. */
static size_t zstd_step(struct decoder *d, size_t asked)
{
    const size_t block_header = 3;
    if (asked == 0)
        return ZSTD_initDStream(d->state);
    return asked > block_header ? asked - block_header : asked;
}

static bool zstd_read(void *context, char *into, size_t room, size_t *got,
                      struct error *err)
{
    struct decoder *d = context;
    *got = 0;
    while (!d->stopped) {
        if (!refill(d, err))
            return false;
        size_t left = source_left(d->from);
        ZSTD_inBuffer in = {d->from->begin, left < d->step ? left : d->step, 0};
        ZSTD_outBuffer out = {into, room, 0};
        if (in.size == 0 && d->frame_done)
            return true;
        size_t status = ZSTD_decompressStream(d->state, &out, &in);
        if (ZSTD_isError(status))
            return damaged(d, err);
        took(d, in.pos);
        d->frame_done = status == 0;
        d->step = zstd_step(d, status);
        if (out.pos) {
            *got = out.pos;
            d->out += out.pos;
            check_limits(d);
            return true;
        }
        if (in.size == 0)
            return cut_short(d, err);
    }
    return true;
}

/* One code unit on: joins surrogates, replaces those that stand alone. */
static size_t utf16_unit(struct decoder *d, unsigned unit, char *out)
{
    size_t n = 0;
    bool low = unit >= 0xdc00 && unit < 0xe000;
    if (d->high && low) {
        n = utf8_write(0x10000 + ((d->high - 0xd800) << 10) + (unit - 0xdc00), out);
        d->high = 0;
        return n;
    }
    if (d->high)
        n = utf8_write(UTF8_REPLACEMENT, out);
    d->high = unit >= 0xd800 && unit < 0xdc00 ? unit : 0;
    if (!d->high)
        n += utf8_write(low ? UTF8_REPLACEMENT : unit, out + n);
    return n;
}

static bool utf16_read(void *context, char *into, size_t room, size_t *got,
                       struct error *err)
{
    struct decoder *d = context;
    struct source *from = d->from;
    *got = 0;
    while (*got == 0) {
        if (source_left(from) < 2 && !from->last && !source_more(from, from->begin, err))
            return false;
        size_t left = source_left(from);
        if (left < 2 && from->last) {
            if (left || d->high)
                *got = utf8_write(UTF8_REPLACEMENT, into);
            d->high = 0;
            took(d, left);
            return true;
        }
        while (source_left(from) >= 2 && room - *got >= 8) {
            unsigned a = (unsigned char)from->begin[0], b = (unsigned char)from->begin[1];
            took(d, 2);
            *got += utf16_unit(d, d->big_endian ? a << 8 | b : b << 8 | a, into + *got);
        }
    }
    return true;
}

static bool start_inflate(struct decoder *d, int window, struct error *err)
{
    z_stream *z = calloc(1, sizeof *z);
    d->what = "gzip";
    d->state = z;
    if (!z || inflateInit2(z, window) != Z_OK) {
        free(z);
        d->state = NULL;
        return error_memory(err);
    }
    d->source = source_reading(gzip_read, d, d->from->name);
    return true;
}

static bool start_zstd(struct decoder *d, struct error *err)
{
    d->what = "zstd";
    d->state = ZSTD_createDStream();
    if (!d->state)
        return error_memory(err);
    d->step = ZSTD_initDStream(d->state);
    ZSTD_DCtx_setParameter(d->state, ZSTD_d_windowLogMax, 27);
    d->source = source_reading(zstd_read, d, d->from->name);
    return true;
}

static bool refuse(const char *what, struct error *err)
{
    error_set(err, "%s files are not read as they are", what);
    return error_hint(err, "unpack it first and give the file that is in it");
}

static bool as_it_is(struct decoder *d)
{
    d->source = *d->from;
    *d->from = source_of(STR(""), d->from->name);
    return true;
}

/* The first file of a zip, where it is deflated; folders are not searched. */
static bool start_zip(struct decoder *d, struct error *err)
{
    struct source *from = d->from;
    if (!source_peek(from, ZIP_HEAD_SIZE, err))
        return false;
    struct bytes head = bytes_of(str_span(from->begin, from->end), false);
    bytes_skip(&head, 8);
    unsigned method = bytes_u16(&head);
    bytes_seek(&head, 26);
    size_t name = bytes_u16(&head), extra = bytes_u16(&head);
    if (head.failed)
        return refuse("zip", err);
    if (!source_peek(from, ZIP_HEAD_SIZE + name + extra, err))
        return false;
    struct str path = str_part(str_span(from->begin, from->end), ZIP_HEAD_SIZE, name);
    if (str_has(path, STR(".trace/"))) /* its reader wants all that is in it */
        return as_it_is(d);
    if (method != ZIP_DEFLATED)
        return refuse("zip", err);
    if (source_left(from) < ZIP_HEAD_SIZE + name + extra)
        return refuse("zip", err);
    took(d, ZIP_HEAD_SIZE + name + extra);
    d->zip = true;
    return start_inflate(d, -15, err);
}

bool decoder_init(struct decoder *d, struct source *from, struct error *err)
{
    *d = (struct decoder){.from = from};
    if (!source_peek(from, 6, err))
        return false;
    struct str head = str_span(from->begin, from->end);
    if (str_starts(head, STR("\x1f\x8b")))
        return start_inflate(d, 15 + 16, err);
    if (str_starts(head, STR("\x28\xb5\x2f\xfd")))
        return start_zstd(d, err);
    if (str_starts(head, STR("\xfd"
                             "7zXZ")))
        return refuse("xz", err);
    if (str_starts(head, STR("BZh")))
        return refuse("bzip2", err);
    if (str_starts(head, ZIP_ENTRY))
        return start_zip(d, err);
    d->big_endian = str_starts(head, STR("\xfe\xff"));
    if (d->big_endian || str_starts(head, STR("\xff\xfe"))) {
        d->what = "UTF-16";
        took(d, 2);
        d->source = source_reading(utf16_read, d, from->name);
        return true;
    }
    if (str_starts(head, STR("\xef\xbb\xbf")))
        took(d, 3);
    return as_it_is(d);
}

void decoder_deinit(struct decoder *d)
{
    if (d->what && strcmp(d->what, "gzip") == 0 && d->state) {
        inflateEnd(d->state);
        free(d->state);
    } else if (d->what && strcmp(d->what, "zstd") == 0) {
        ZSTD_freeDStream(d->state);
    }
    d->state = NULL;
    if (d->bounded)
        arena_allow(INT64_MAX);
    source_deinit(&d->source);
}

bool unpacker_init(struct unpacker *u, struct error *err)
{
    *u = (struct unpacker){.state = ZSTD_createDStream()};
    if (!u->state)
        return error_memory(err);
    ZSTD_DCtx_setParameter(u->state, ZSTD_d_windowLogMax, 27);
    return true;
}

void unpacker_deinit(struct unpacker *u)
{
    ZSTD_freeDStream(u->state);
    u->state = NULL;
}

bool unpacker_take(struct unpacker *u, struct str *packed, char *into, size_t room,
                   size_t *got)
{
    ZSTD_inBuffer in = {packed->ptr, packed->len, 0};
    ZSTD_outBuffer out = {into, room, 0};
    size_t status = ZSTD_decompressStream(u->state, &out, &in);
    *packed = str_skip(*packed, in.pos);
    *got = out.pos;
    u->in += in.pos;
    u->out += out.pos;
    bool stuck = in.pos == 0 && out.pos == 0;
    return !ZSTD_isError(status) && !(stuck && packed->len) &&
           !limits_exceeded(u->in, u->out);
}
