#include "base/scan.h"
#include <stdint.h>

/* The vector extension of gcc and clang: compiles to whatever the machine has. */
typedef char bytes16 __attribute__((vector_size(16)));
typedef uint64_t words16 __attribute__((vector_size(16)));

/* Bytes that are all ones where both this byte and the one before are a line feed. */
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
    size_t count = 0;
    for (size_t i = 0; i < s.len; i++) /* the compiler makes vectors of this */
        count += s.ptr[i] == c;
    return count;
}
