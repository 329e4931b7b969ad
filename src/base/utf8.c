/* SPDX-License-Identifier: Apache-2.0 */
#include "base/utf8.h"
#include "base/hash.h"

#define HIGH_BITS 0x8080808080808080u

/* The lead byte determines the number of continuation bytes and the range of the
 * first. */
struct lead {
    unsigned char from, to, follow, low, high;
};

static const struct lead leads[] = {
    {0xc2, 0xdf, 1, 0x80, 0xbf}, {0xe0, 0xe0, 2, 0xa0, 0xbf}, {0xe1, 0xec, 2, 0x80, 0xbf},
    {0xed, 0xed, 2, 0x80, 0x9f}, {0xee, 0xef, 2, 0x80, 0xbf}, {0xf0, 0xf0, 3, 0x90, 0xbf},
    {0xf1, 0xf3, 3, 0x80, 0xbf}, {0xf4, 0xf4, 3, 0x80, 0x8f}};

static const struct lead *lead_of(unsigned char c)
{
    for (size_t i = 0; i < sizeof leads / sizeof *leads; i++)
        if (c >= leads[i].from && c <= leads[i].to)
            return &leads[i];
    return NULL;
}

size_t utf8_length(struct str s, size_t *bad)
{
    const unsigned char *p = (const unsigned char *)s.ptr;
    if (p[0] < 0x80)
        return 1;
    const struct lead *lead = lead_of(p[0]);
    size_t seen = 1;
    *bad = 1;
    if (!lead)
        return 0;
    for (; seen <= lead->follow; seen++) {
        unsigned char low = seen == 1 ? lead->low : 0x80;
        unsigned char high = seen == 1 ? lead->high : 0xbf;
        if (seen >= s.len || p[seen] < low || p[seen] > high) {
            *bad = seen;
            return 0;
        }
    }
    return seen;
}

size_t utf8_valid(struct str s)
{
    size_t at = 0, bad;
    while (at < s.len) {
        while (s.len - at >= 8 &&
               !(hash_read64((const unsigned char *)s.ptr + at) & HIGH_BITS))
            at += 8;
        if (at == s.len)
            break;
        size_t length = utf8_length(str_skip(s, at), &bad);
        if (length == 0)
            break;
        at += length;
    }
    return at;
}

size_t utf8_write(unsigned c, char *out)
{
    if (c < 0x80) {
        out[0] = (char)c;
        return 1;
    }
    if (c < 0x800) {
        out[0] = (char)(0xc0 | c >> 6);
        out[1] = (char)(0x80 | (c & 63));
        return 2;
    }
    if (c < 0x10000) {
        out[0] = (char)(0xe0 | c >> 12);
        out[1] = (char)(0x80 | (c >> 6 & 63));
        out[2] = (char)(0x80 | (c & 63));
        return 3;
    }
    out[0] = (char)(0xf0 | c >> 18);
    out[1] = (char)(0x80 | (c >> 12 & 63));
    out[2] = (char)(0x80 | (c >> 6 & 63));
    out[3] = (char)(0x80 | (c & 63));
    return 4;
}

void utf8_print(struct output *o, struct str s)
{
    char replacement[4];
    size_t replacement_length = utf8_write(UTF8_REPLACEMENT, replacement), bad = 1;
    for (;;) {
        size_t good = utf8_valid(s);
        output_bytes(o, s.ptr, good);
        s = str_skip(s, good);
        if (s.len == 0)
            return;
        utf8_length(s, &bad);
        output_bytes(o, replacement, replacement_length);
        s = str_skip(s, bad);
    }
}
