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
