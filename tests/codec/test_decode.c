/* SPDX-License-Identifier: Apache-2.0 */
#include "base/limits.h"
#include "base/output.h"
#include "codec/decode.h"
#include "unit.h"
#include <bzlib.h>
#include <lzma.h>
#include <zlib.h>
#include <zstd.h>

/* Compressed bytes for a test; the caller frees `bytes`. */
static const char *flaw_found; /* by the last decode() */

struct packed {
    unsigned char *bytes;
    size_t length;
};

static struct packed pack_gzip(const char *text, size_t length)
{
    z_stream z = {0};
    struct packed p = {.length = length + length / 100 + 100};
    p.bytes = malloc(p.length);
    deflateInit2(&z, 9, Z_DEFLATED, 15 + 16, 9, Z_DEFAULT_STRATEGY);
    z.next_in = (z_const Bytef *)(uintptr_t)text;
    z.avail_in = (uInt)length;
    z.next_out = p.bytes;
    z.avail_out = (uInt)p.length;
    assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
    p.length = z.total_out;
    deflateEnd(&z);
    return p;
}

static struct packed pack_zstd(const char *text, size_t length)
{
    struct packed p = {.length = ZSTD_compressBound(length)};
    p.bytes = malloc(p.length);
    p.length = ZSTD_compress(p.bytes, p.length, text, length, 3);
    assert_false(ZSTD_isError(p.length));
    return p;
}

static struct packed pack_xz(const char *text, size_t length)
{
    size_t room = lzma_stream_buffer_bound(length), used = 0;
    struct packed p = {.bytes = malloc(room)};
    lzma_ret status = lzma_easy_buffer_encode(
        1, LZMA_CHECK_CRC64, NULL, (const uint8_t *)text, length, p.bytes, &used, room);
    assert_int_equal(status, LZMA_OK);
    p.length = used;
    return p;
}

static struct packed pack_bzip2(const char *text, size_t length)
{
    unsigned room = (unsigned)(length + length / 100 + 600);
    struct packed p = {.bytes = malloc(room)};
    char *from = (char *)(uintptr_t)text;
    int status =
        BZ2_bzBuffToBuffCompress((char *)p.bytes, &room, from, (unsigned)length, 1, 0, 0);
    assert_int_equal(status, BZ_OK);
    p.length = room;
    return p;
}

static const struct {
    const char *name;
    struct packed (*pack)(const char *text, size_t length);
} packers[] = {
    {"gzip", pack_gzip}, {"zstd", pack_zstd}, {"xz", pack_xz}, {"bzip2", pack_bzip2}};
#define PACKERS (sizeof packers / sizeof *packers)

/* Decodes bytes that are read in bites; returns true with the text in *out (the caller
 * frees it), or false with err set. */
static bool decode(const void *bytes, size_t length, size_t bite, struct output *out,
                   const char **what, struct error *err)
{
    struct bites bites = {.text = bytes, .length = length, .bite = bite};
    struct source raw = source_reading(bites_read, &bites, STR("x"));
    struct decoder d;
    *out = OUTPUT_BUFFER;
    bool ok = decoder_init(&d, &raw, err);
    *what = ok ? d.what : NULL;
    while (ok && !(d.source.last && d.source.begin == d.source.end)) {
        output_bytes(out, d.source.begin, (size_t)(d.source.end - d.source.begin));
        d.source.begin = d.source.end;
        if (d.source.last)
            break;
        ok = source_more(&d.source, d.source.end, err);
    }
    flaw_found = d.flaw;
    decoder_deinit(&d);
    source_deinit(&raw);
    return ok;
}

static void assert_decodes(const void *bytes, size_t length, const char *what,
                           struct str expected)
{
    static const size_t bites[] = {1, 2, 3, 7, 1000, 1u << 20};
    for (size_t i = 0; i < sizeof bites / sizeof *bites; i++) {
        struct output out;
        struct error err;
        const char *found;
        if (!decode(bytes, length, bites[i], &out, &found, &err))
            fail_msg("bites of %zu: %s", bites[i], err.message);
        assert_true(what ? found && strcmp(found, what) == 0 : !found);
        assert_true(str_equal(output_contents(&out), expected));
        output_deinit(&out);
    }
}

static void assert_rejected(const void *bytes, size_t length, const char *message)
{
    static const size_t bites[] = {1, 5, 1u << 20};
    for (size_t i = 0; i < sizeof bites / sizeof *bites; i++) {
        struct output out;
        struct error err = {.message = ""};
        const char *found;
        if (decode(bytes, length, bites[i], &out, &found, &err))
            fail_msg("it was read, expected: %s", message);
        if (!strstr(err.message, message))
            fail_msg("reported '%s', expected '%s'", err.message, message);
        output_deinit(&out);
    }
}

/* Expects a prefix of `text` and that flaw; or, if nothing could be unpacked, an error
 * with the same message. */
static void assert_flawed(const struct packed *p, size_t length, struct str text,
                          const char *flaw)
{
    static const size_t bites[] = {1, 5, 1u << 20};
    for (size_t i = 0; i < sizeof bites / sizeof *bites; i++) {
        struct output out;
        struct error err = {.message = ""};
        const char *found;
        bool ok = decode(p->bytes, length, bites[i], &out, &found, &err);
        const char *reported = ok ? flaw_found : err.message;
        if (!reported || !strstr(reported, flaw))
            fail_msg("reported '%s', expected '%s'", reported ? reported : "nothing",
                     flaw);
        assert_true(str_starts(text, output_contents(&out)));
        assert_true(ok == (output_contents(&out).len != 0));
        output_deinit(&out);
    }
}

/* Text that compresses well, but not to nothing. */
static char *make_text(size_t length)
{
    char *text = malloc(length);
    for (size_t i = 0; i < length; i++)
        text[i] = (char)("main;work;leaf 1\n"[i % 17] + (i % 1013 == 0));
    return text;
}

static void plain_bytes_pass_through(void **state)
{
    (void)state;
    assert_decodes("", 0, NULL, STR(""));
    assert_decodes("a", 1, NULL, STR("a"));
    assert_decodes("a;b 1\n", 6, NULL, STR("a;b 1\n"));
    assert_decodes("\x1f", 1, NULL, STR("\x1f"));
}

static void a_utf8_byte_order_mark_is_removed(void **state)
{
    (void)state;
    assert_decodes("\xef\xbb\xbf"
                   "a 1",
                   6, NULL, STR("a 1"));
    assert_decodes("\xef\xbb\xbf", 3, NULL, STR(""));
    assert_decodes("\xef\xbb", 2, NULL, STR("\xef\xbb"));
}

static void compressed_text_is_unpacked(void **state)
{
    (void)state;
    size_t length = 300000;
    char *text = make_text(length);
    for (size_t i = 0; i < PACKERS; i++) {
        struct packed p = packers[i].pack(text, length);
        assert_decodes(p.bytes, p.length, packers[i].name, (struct str){text, length});
        free(p.bytes);
    }
    free(text);
}

/* Two compressed files in a row are one text, as with gzip -d; zeros between them are
 * padding. */
static void several_members_are_joined(void **state)
{
    (void)state;
    for (size_t i = 0; i < 2 * PACKERS; i++) {
        struct packed one = packers[i / 2].pack("one\n", 4),
                      two = packers[i / 2].pack("two\n", 4);
        bool zstd = packers[i / 2].pack == pack_zstd;
        size_t gap = i % 2 && !zstd ? 8 : 0, length = one.length + gap + two.length;
        unsigned char *both = calloc(1, length);
        memcpy(both, one.bytes, one.length);
        memcpy(both + one.length + gap, two.bytes, two.length);
        assert_decodes(both, length, packers[i / 2].name, STR("one\ntwo\n"));
        free(both);
        free(one.bytes);
        free(two.bytes);
    }
}

/* The header of a zip entry before the deflated bytes, and the data descriptor after
 * them. */
static struct packed pack_zip(const char *text, size_t length)
{
    static const unsigned char head[] = {
        'P', 'K', 3, 4, 20, 0, 8, 0, 8, 0, 0, 0,   0,   0,   0,   0,   0, 0, 0,
        0,   0,   0, 0, 0,  0, 0, 5, 0, 3, 0, 'a', '.', 't', 'x', 't', 1, 2, 3};
    struct packed p = {.bytes = malloc(sizeof head + length + 200)};
    z_stream z = {0};
    assert_non_null(p.bytes);
    memcpy(p.bytes, head, sizeof head);
    deflateInit2(&z, 6, Z_DEFLATED, -15, 8, Z_DEFAULT_STRATEGY);
    z.next_in = (z_const Bytef *)(uintptr_t)text;
    z.avail_in = (uInt)length;
    z.next_out = p.bytes + sizeof head;
    z.avail_out = (uInt)length + 100;
    assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
    p.length = sizeof head + z.total_out;
    deflateEnd(&z);
    memset(p.bytes + p.length, 7, 16);
    p.length += 16;
    return p;
}

static void the_file_of_a_zip_is_unpacked(void **state)
{
    (void)state;
    size_t length = 300000;
    char *text = make_text(length);
    struct packed p = pack_zip(text, length);
    assert_decodes(p.bytes, p.length, "gzip", (struct str){text, length});
    free(p.bytes);
    free(text);
}

/* Only the first of several files is read, and a flaw reports the others. */
static void further_files_of_a_zip_are_reported(void **state)
{
    (void)state;
    struct packed one = pack_zip("one\n", 4), two = pack_zip("two\n", 4);
    struct error err;
    struct str all;
    unsigned char *both = malloc(one.length + two.length);
    assert_non_null(both);
    memcpy(both, one.bytes, one.length);
    memcpy(both + one.length, two.bytes, two.length);
    struct source in =
        source_of((struct str){(char *)both, one.length + two.length}, STR("zip"));
    struct decoder d;
    assert_true(decoder_init(&d, &in, &err));
    assert_true(source_all(&d.source, &all, &err));
    assert_str(all, "one\n");
    assert_string_equal(d.flaw, "the zip contains several files: only the first is read");
    decoder_deinit(&d);
    free(both);
    free(one.bytes);
    free(two.bytes);
}

/* Entries that are not deflated, such as folders, are rejected. */
static void other_zips_are_rejected(void **state)
{
    (void)state;
    struct packed p = pack_zip("one\n", 4);
    struct error err;
    struct decoder d;
    p.bytes[8] = 0;
    struct source in = source_of((struct str){(char *)p.bytes, p.length}, STR("zip"));
    assert_false(decoder_init(&d, &in, &err));
    assert_string_equal(err.message, "cannot read zip files directly");
    free(p.bytes);
}

static void padding_after_gzip_is_ignored(void **state)
{
    (void)state;
    struct packed p = pack_gzip("one\n", 4);
    unsigned char *padded = calloc(1, p.length + 512);
    memcpy(padded, p.bytes, p.length);
    assert_decodes(padded, p.length + 512, "gzip", STR("one\n"));
    free(padded);
    free(p.bytes);
}

static void the_beginning_of_a_truncated_file_is_read(void **state)
{
    (void)state;
    char *text = make_text(5000);
    for (size_t i = 0; i < PACKERS; i++) {
        struct packed p = packers[i].pack(text, 5000);
        for (size_t length = 6; length < p.length; length++)
            assert_flawed(&p, length, (struct str){text, 5000}, "truncated");
        free(p.bytes);
    }
    free(text);
}

static void damage_is_reported(void **state)
{
    (void)state;
    char *text = make_text(5000);
    struct str whole = {text, 5000};
    struct packed p = pack_gzip(text, 5000);
    p.bytes[p.length - 6] ^= 0x40; /* the checksum */
    assert_flawed(&p, p.length, whole, "is damaged");
    free(p.bytes);
    p = pack_xz(text, 5000);
    p.bytes[p.length - 3] ^= 0x40; /* the footer */
    assert_flawed(&p, p.length, whole, "is damaged");
    free(p.bytes);
    p = pack_bzip2(text, 5000);
    p.bytes[10] ^= 0x40; /* the checksum of the block */
    assert_flawed(&p, p.length, whole, "is damaged");
    free(p.bytes);
    p = pack_zstd(text, 5000);
    memset(p.bytes + 10, 0xff, p.length - 10);
    assert_flawed(&p, p.length, whole, "is damaged");
    free(p.bytes);
    free(text);
}

static void bytes_after_gzip_are_reported(void **state)
{
    static const char second[4] = {'t', 'w', 'o', '\n'};
    (void)state;
    struct packed p = pack_gzip("one\n", 4);
    unsigned char *longer = calloc(1, p.length + 4);
    memcpy(longer, p.bytes, p.length);
    memcpy(longer + p.length, second, sizeof second);
    struct packed both = {longer, p.length + 4};
    assert_flawed(&both, both.length, STR("one\n"), "after the end");
    free(longer);
    free(p.bytes);
}

/* A small file that unpacks to hundreds of megabytes of zeros. */
static void a_decompression_bomb_is_truncated(void **state)
{
    (void)state;
    size_t length = 512u << 20;
    char *zeros = calloc(1, length);
    struct packed p = pack_zstd(zeros, length);
    free(zeros);
    struct error err;
    struct output ignored = OUTPUT_BUFFER;
    struct source raw = source_of((struct str){(char *)p.bytes, p.length}, STR("x"));
    struct decoder d;
    uint64_t seen = 0;
    bool ok = decoder_init(&d, &raw, &err);
    assert_true(ok);
    while (ok && !d.source.last) {
        seen += (uint64_t)(d.source.end - d.source.begin);
        ok = source_more(&d.source, d.source.end, &err);
    }
    assert_true(ok); /* the unpacked part is valid */
    assert_non_null(strstr(d.flaw, "limit"));
    assert_true(seen < limits_default.unpacked + (2u << 20));
    decoder_deinit(&d);
    source_deinit(&raw);
    output_deinit(&ignored);
    free(p.bytes);
}

static void utf16_becomes_utf8(void **state)
{
    (void)state;
    static const char expected[] = "a\xc3\xa4\xe2\x82\xac\xf0\x9f\x94\xa5 1";
    static const unsigned units[] = {0xfeff, 'a', 0xe4, 0x20ac, 0xd83d, 0xdd25, ' ', '1'};
    enum { COUNT = sizeof units / sizeof *units };
    char little[COUNT * 2], big[COUNT * 2];
    for (size_t i = 0; i < COUNT; i++) {
        little[i * 2] = big[i * 2 + 1] = (char)(units[i] & 0xff);
        little[i * 2 + 1] = big[i * 2] = (char)(units[i] >> 8);
    }
    assert_decodes(little, sizeof little, "UTF-16", str_of(expected));
    assert_decodes(big, sizeof big, "UTF-16", str_of(expected));
}

static void invalid_utf16_is_replaced(void **state)
{
    (void)state;
#define MARK "\xef\xbf\xbd"
    assert_decodes("\xff\xfe"
                   "a",
                   3, "UTF-16", STR(MARK)); /* half a unit */
    assert_decodes("\xff\xfe"
                   "\x3d\xd8",
                   4, "UTF-16", STR(MARK)); /* a lone high surrogate */
    assert_decodes("\xff\xfe"
                   "\x25\xdd"
                   "a\0",
                   6, "UTF-16", STR(MARK "a"));
    assert_decodes("\xff\xfe"
                   "\x3d\xd8"
                   "a\0",
                   6, "UTF-16", STR(MARK "a"));
    assert_decodes("\xff\xfe"
                   "\x3d\xd8"
                   "\x3d\xd8"
                   "\x25\xdd",
                   8, "UTF-16", STR(MARK "\xf0\x9f\x94\xa5"));
    assert_decodes("\xff\xfe", 2, "UTF-16", STR(""));
}

static void unsupported_archives_are_named(void **state)
{
    (void)state;
    assert_rejected("PK\x03\x04xx", 6, "cannot read zip files");
}

/* perf record -z splits the stream anywhere; the content of each piece is needed at
 * once. */
static void zstd_in_pieces_is_unpacked(void **state)
{
    (void)state;
    char text[5000], got[sizeof text];
    for (size_t i = 0; i < sizeof text; i++)
        text[i] = (char)('a' + i * i % 23);
    struct packed p = pack_zstd(text, sizeof text);
    struct unpacker u;
    struct error err;
    assert_true(unpacker_init(&u, NULL, &err));
    size_t have = 0, some, piece = 7;
    for (size_t at = 0; at < p.length; at += piece) {
        struct str packed =
            str_head((struct str){(const char *)p.bytes + at, p.length - at}, piece);
        do {
            size_t room = sizeof got - have < 100 ? sizeof got - have : 100;
            assert_true(unpacker_unpack(&u, &packed, got + have, room, &some));
            have += some;
        } while (packed.len || some);
    }
    assert_int_equal(have, sizeof text);
    assert_memory_equal(got, text, have);
    assert_int_equal(u.in, p.length);
    struct str damaged = STR("this is no frame of zstd's");
    assert_false(unpacker_unpack(&u, &damaged, got, sizeof got, &some));
    unpacker_deinit(&u);
    free(p.bytes);
}

int main(void)
{
    const struct CMUnitTest units[] = {
        UNIT(plain_bytes_pass_through),
        UNIT(a_utf8_byte_order_mark_is_removed),
        UNIT(compressed_text_is_unpacked),
        UNIT(several_members_are_joined),
        UNIT(the_file_of_a_zip_is_unpacked),
        UNIT(further_files_of_a_zip_are_reported),
        UNIT(other_zips_are_rejected),
        UNIT(padding_after_gzip_is_ignored),
        UNIT(the_beginning_of_a_truncated_file_is_read),
        UNIT(damage_is_reported),
        UNIT(bytes_after_gzip_are_reported),
        UNIT(a_decompression_bomb_is_truncated),
        UNIT(zstd_in_pieces_is_unpacked),
        UNIT(utf16_becomes_utf8),
        UNIT(invalid_utf16_is_replaced),
        UNIT(unsupported_archives_are_named),
    };
    return UNITS_RUN(units);
}
