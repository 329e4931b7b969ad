/* SPDX-License-Identifier: Apache-2.0 */
#include "base/scan.h"
#if defined __SSE2__
#include <emmintrin.h>
#elif defined __wasm_simd128__
#include <wasm_simd128.h>
#endif

/* Vector extension of gcc and clang: compiles to the SIMD instructions of the target. */
typedef char bytes16 __attribute__((vector_size(16)));
typedef uint64_t words16 __attribute__((vector_size(16)));

/* Bytes are all ones where this byte and the one before are both a line feed. */
static inline bytes16 pairs_at(const char *p)
{
    bytes16 feed = (bytes16){0} + '\n', here, before;
    memcpy(&here, p, sizeof here);
    memcpy(&before, p - 1, sizeof before);
    return (here == feed) & (before == feed);
}

static size_t scan_bytewise(struct str s, size_t at)
{
    for (; at < s.len; at++)
        if (s.ptr[at] == '\n' && s.ptr[at - 1] == '\n')
            return at;
    return s.len;
}

size_t scan_empty_line(struct str s)
{
    size_t at = 1;
    for (; at + 64 <= s.len; at += 64) {
        bytes16 any = pairs_at(s.ptr + at) | pairs_at(s.ptr + at + 16) |
                      pairs_at(s.ptr + at + 32) | pairs_at(s.ptr + at + 48);
        words16 words = (words16)any;
        if (words[0] | words[1])
            break;
    }
    return scan_bytewise(s, at);
}

#if defined __SSE2__ || defined __wasm_simd128__

/* One bit per byte of 16: set for a line feed. */
static inline uint64_t feeds16(const char *p)
{
    bytes16 here;
    memcpy(&here, p, sizeof here);
    bytes16 same = here == (bytes16){0} + '\n';
#if defined __SSE2__
    return (unsigned)_mm_movemask_epi8((__m128i)same);
#else
    return wasm_i8x16_bitmask((v128_t)same);
#endif
}

#else

static inline uint64_t feeds16(const char *p)
{
    uint64_t bits = 0;
    for (int i = 0; i < 16; i++)
        bits |= (uint64_t)(p[i] == '\n') << i;
    return bits;
}

#endif

static inline uint64_t feeds64(const char *p)
{
    return feeds16(p) | feeds16(p + 16) << 16 | feeds16(p + 32) << 32 |
           feeds16(p + 48) << 48;
}

/* The same for the fewer than 64 bytes at the end. */
static inline uint64_t feeds_of_rest(const char *p, size_t length)
{
    uint64_t bits = 0;
    for (size_t i = 0; i < length; i++)
        bits |= (uint64_t)(p[i] == '\n') << i;
    return bits;
}

size_t scan_lines(struct str s, uint32_t *starts, size_t room, size_t *count)
{
    uint64_t last = 0; /* 1 if the byte before was a line feed */
    size_t found = 0;
    starts[0] = 0;
    *count = 0;
    for (size_t at = 0; at < s.len; at += 64) {
        size_t left = s.len - at;
        uint64_t feeds =
            left < 64 ? feeds_of_rest(s.ptr + at, left) : feeds64(s.ptr + at);
        uint64_t pairs = feeds & (feeds << 1 | last);
        last = feeds >> 63;
        if (pairs)
            feeds &= (pairs & -pairs) - 1;
        for (; feeds; feeds &= feeds - 1, found++)
            if (found < room)
                starts[found + 1] = (uint32_t)(at + (size_t)__builtin_ctzll(feeds) + 1);
        *count = found;
        if (pairs)
            return at + (size_t)__builtin_ctzll(pairs);
    }
    return s.len;
}

static inline bytes16 differ_at(const char *a, const char *b)
{
    bytes16 x, y;
    memcpy(&x, a, sizeof x);
    memcpy(&y, b, sizeof y);
    return x ^ y;
}

size_t scan_common(const char *a, const char *b, size_t limit)
{
    size_t n = 0;
    for (; n + 64 <= limit; n += 64) {
        bytes16 any = differ_at(a + n, b + n) | differ_at(a + n + 16, b + n + 16) |
                      differ_at(a + n + 32, b + n + 32) |
                      differ_at(a + n + 48, b + n + 48);
        words16 words = (words16)any;
        if (words[0] | words[1])
            break;
    }
    while (n < limit && a[n] == b[n])
        n++;
    return n;
}

size_t scan_count(struct str s, char c)
{
    size_t count = 0, at = 0;
    while (at + 16 <= s.len) {
        bytes16 here, sum = {0}; /* a byte counts up to 255 */
        for (int i = 0; i < 255 && at + 16 <= s.len; i++, at += 16) {
            memcpy(&here, s.ptr + at, sizeof here);
            sum -= (bytes16)(here == (bytes16){0} + c);
        }
        for (int i = 0; i < 16; i++)
            count += (unsigned char)sum[i];
    }
    for (; at < s.len; at++)
        count += s.ptr[at] == c;
    return count;
}
