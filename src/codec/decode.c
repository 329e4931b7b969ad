/* SPDX-License-Identifier: Apache-2.0 */
#include "codec/decode.h"
#include "base/arena.h"
#include "base/bytes.h"
#include "base/utf8.h"
#include "codec/encoding.h"
#include <stdlib.h>
#include <zstd.h>

/* A packed file may hold a packed file or UTF-16: a zip of a .pb.gz has two layers. */
#define LAYERS_MAX 4

#define ZIP_ENTRY STR("PK\x03\x04")
#define ZIP_DEFLATED 8

/* Reports a flaw in this layer and in all that read from it. */
static void report(struct decoder *d, const char *flaw, bool broken)
{
    uint64_t in = d->in;
    bool stopped = d->stopped;
    for (; d; d = d->over) {
        d->flaw = flaw;
        d->broken |= broken;
        d->stopped |= stopped;
        d->in = in;
    }
}

/* Ends the text at a fault. If some bytes were unpacked they are valid, and `flaw`
 * reports that the rest is missing; otherwise it is an error. */
static bool stop(struct decoder *d, const char *flaw, struct error *err)
{
    report(d, flaw, true);
    if (d->out)
        return true;
    error_set(err, "%s", flaw);
    error_at_offset(err, d->in);
    return error_hint(err, "create the file again, or unpack it by hand to inspect it");
}

static bool damaged(struct decoder *d, struct error *err)
{
    return stop(d, DECODE_DAMAGED, err);
}

static bool truncated(struct decoder *d, struct error *err)
{
    return stop(d, DECODE_TRUNCATED, err);
}

/* Gets more packed bytes, at least one unless the input is at its end. */
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
    d->in = d->under ? d->under->in : d->in + bytes;
}

/* Allocations fail only well above the limit that ends the input, so that the last
 * bytes can still be processed. */
static void allow_memory(const struct decoder *d)
{
    const struct limits *l = source_limits(d->from);
    uint64_t most = l->memory;
    uint64_t more = d->in < INT64_MAX / 4 / l->ratio ? d->in * l->ratio : INT64_MAX / 4;
    most = most > more ? most : more;
    most += most / 16;
    d->bound->most = (int64_t)(most < INT64_MAX / 2 ? most : INT64_MAX / 2);
}

void decoder_bound_memory(struct decoder *d, struct arena_bound *bound)
{
    while (d && !d->state)
        d = d->under;
    if (!d)
        return;
    d->bound = bound;
    allow_memory(d);
    d->bound_before = arena_count_in(bound);
}

/* Stops at a limit; bytes unpacked before stay valid. */
static void check_limits(struct decoder *d)
{
    const struct limits *l = source_limits(d->from);
    d->stopped = limits_exceeded(l, d->in, d->out);
    if (d->stopped)
        report(d,
               "the decompressed data exceeds the limit: the rest is skipped; "
               "--limits x8 raises it",
               false);
    if (d->stopped || !d->bound)
        return;
    int64_t held = d->bound->held;
    d->stopped = held > 0 && limits_memory_exceeded(l, d->in, (uint64_t)held);
    if (d->stopped)
        report(d,
               "reading the decompressed data exceeds the memory limit: the "
               "rest is skipped; --limits x8 raises it",
               false);
    allow_memory(d);
}

static size_t source_left(const struct source *s)
{
    return (size_t)(s->end - s->begin);
}

/* Checks what follows the file of a zip: further files are reported and skipped. The
 * data descriptor, with or without a signature, may come before them. */
static bool zip_end(struct decoder *d, struct error *err)
{
    static const size_t gaps[] = {0, 12, 16, 20, 24};
    struct source *from = d->from;
    if (!source_peek(from, 32, err))
        return false;
    struct str rest = str_span(from->begin, from->end);
    for (size_t i = 0; i < sizeof gaps / sizeof *gaps; i++)
        if (str_starts(str_skip(rest, gaps[i]), ZIP_ENTRY))
            report(d, "the zip contains several files: only the first is read", false);
    return true;
}

/* Prepares for the next member. If there is none, sets *more to false; the text ends. Zeros
 * are padding, anything else is a flaw. */
static bool next_member(struct decoder *d, bool *more, struct error *err)
{
    struct source *from = d->from;
    *more = false;
    if (d->zip)
        return zip_end(d, err);
    do {
        while (from->begin < from->end && !*from->begin)
            took(d, 1);
        if (!source_peek(from, ENCODING_HEAD, err))
            return false;
    } while (from->begin < from->end && !*from->begin);
    struct str rest = str_span(from->begin, from->end);
    *more = str_starts(rest, str_of(d->format->magic));
    if (!*more && rest.len)
        report(d, DECODE_TRAILING_BYTES, false);
    return !*more || d->format->next_member(d->state) || error_memory(err);
}

static bool packed_read(void *context, char *into, size_t room, size_t *got,
                        struct error *err)
{
    struct decoder *d = context;
    *got = 0;
    while (*got == 0 && !d->stopped) {
        bool more = true;
        if (d->frame_done && !next_member(d, &more, err))
            return false;
        if (!more)
            return true;
        if (!refill(d, err))
            return false;
        size_t left = source_left(d->from);
        struct packed_step s = {{d->from->begin, left}, into, room};
        enum packed_status status = d->format->step(d->state, &s);
        took(d, left - s.in.len);
        *got = room - s.room;
        bool stuck = status == PACKED_MORE && left == s.in.len && *got == 0;
        if (stuck && left == 0)
            return truncated(d, err);
        /* returns what was unpacked before the fault first; the next call fails again */
        if ((status >= PACKED_DAMAGED || stuck) && *got == 0)
            return status == PACKED_MEMORY ? error_memory(err) : damaged(d, err);
        d->frame_done = status == PACKED_END;
    }
    d->out += *got;
    check_limits(d);
    return true;
}

/* Number of bytes to pass next: zstd asks for a block together with the header of the
 * next one. A failing call does not say how much it unpacked before, so each call gets
 * only one of the two. */
static size_t zstd_step(struct decoder *d, size_t suggested)
{
    const size_t block_header = 3;
    if (suggested == 0)
        return ZSTD_initDStream(d->state);
    return suggested > block_header ? suggested - block_header : suggested;
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
            return truncated(d, err);
    }
    return true;
}

/* Processes one code unit: joins surrogate pairs, replaces lone surrogates. */
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

static bool start_packed(struct decoder *d, const struct packed_format *format,
                         struct error *err)
{
    d->what = format->name;
    d->format = format;
    d->state = format->create();
    if (!d->state)
        return error_memory(err);
    d->source = source_reading(packed_read, d, d->from->name);
    d->source.limits = d->from->limits;
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
    d->source.limits = d->from->limits;
    return true;
}

static bool refuse(const char *what, struct error *err)
{
    error_set(err, "cannot read %s files directly", what);
    return error_hint(err, "unpack it first and name the unpacked file");
}

static bool pass_through(struct decoder *d)
{
    d->source = *d->from;
    *d->from = source_of(STR(""), d->from->name);
    return true;
}

/* Opens the first file of a zip if it is deflated; folders are not searched. */
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
    if (!source_peek(from, ZIP_NAMES_SIZE, err))
        return false;
    if (zip_is_profile(str_span(from->begin, from->end)))
        return pass_through(d);
    if (method != ZIP_DEFLATED)
        return refuse("zip", err);
    if (source_left(from) < ZIP_HEAD_SIZE + name + extra)
        return refuse("zip", err);
    took(d, ZIP_HEAD_SIZE + name + extra);
    d->zip = true;
    return start_packed(d, &packed_deflate, err);
}

static bool start_utf16(struct decoder *d, bool big_endian)
{
    d->big_endian = big_endian;
    d->what = "UTF-16";
    took(d, 2);
    d->source = source_reading(utf16_read, d, d->from->name);
    d->source.limits = d->from->limits;
    return true;
}

/* Starts the layer for the encoding of d->from. */
static bool start_layer(struct decoder *d, struct error *err)
{
    struct source *from = d->from;
    if (!source_peek(from, ENCODING_HEAD, err))
        return false;
    enum encoding encoding = encoding_of(str_span(from->begin, from->end));
    switch (encoding) {
    case ENCODING_GZIP:
        return start_packed(d, &packed_gzip, err);
    case ENCODING_ZSTD:
        return start_zstd(d, err);
    case ENCODING_XZ:
        return start_packed(d, &packed_xz, err);
    case ENCODING_BZIP2:
        return start_packed(d, &packed_bzip2, err);
    case ENCODING_ZIP:
        return start_zip(d, err);
    case ENCODING_UTF16_LE:
    case ENCODING_UTF16_BE:
        return start_utf16(d, encoding == ENCODING_UTF16_BE);
    case ENCODING_UTF8:
        took(d, 3);
        break;
    case ENCODING_NONE:
        break;
    }
    return pass_through(d);
}

/* Moves the layer *d to the heap and makes *d the layer that reads from it. */
static bool add_layer(struct decoder *d, struct error *err)
{
    struct decoder *under = malloc(sizeof *under);
    if (!under)
        return error_memory(err);
    *under = *d;
    under->source.context = under;
    if (under->under)
        under->under->over = under;
    *d = (struct decoder){.from = &under->source,
                          .under = under,
                          .in = under->in,
                          .flaw = under->flaw,
                          .broken = under->broken,
                          .stopped = under->stopped};
    under->over = d;
    return true;
}

static bool is_encoded(const struct source *s)
{
    return encoding_of(str_span(s->begin, s->end)) != ENCODING_NONE;
}

bool decoder_init(struct decoder *d, struct source *from, struct error *err)
{
    *d = (struct decoder){.from = from};
    bool ok = start_layer(d, err);
    for (int layers = 1; ok && d->what && layers < LAYERS_MAX; layers++) {
        const char *what = d->what;
        ok = source_peek(&d->source, ENCODING_HEAD, err);
        if (!ok || !is_encoded(&d->source))
            break;
        ok = add_layer(d, err) && start_layer(d, err);
        if (ok && !d->what) { /* only a byte order mark was removed */
            d->what = what;
            break;
        }
    }
    if (!ok)
        decoder_deinit(d);
    return ok;
}

static void free_layer(struct decoder *d)
{
    if (d->state && d->format)
        d->format->free(d->state);
    else if (d->state)
        ZSTD_freeDStream(d->state);
    d->state = NULL;
    if (d->bound)
        arena_count_in(d->bound_before);
    d->bound = NULL;
    source_deinit(&d->source);
}

void decoder_deinit(struct decoder *d)
{
    struct decoder *under = d->under;
    free_layer(d);
    d->under = NULL;
    while (under) {
        struct decoder *next = under->under;
        free_layer(under);
        free(under);
        under = next;
    }
}

bool unpacker_init(struct unpacker *u, const struct limits *limits, struct error *err)
{
    *u = (struct unpacker){.state = ZSTD_createDStream(),
                           .limits = limits ? limits : &limits_default};
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

bool unpacker_unpack(struct unpacker *u, struct str *packed, char *into, size_t room,
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
           !limits_exceeded(u->limits, u->in, u->out);
}
