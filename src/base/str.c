/* SPDX-License-Identifier: Apache-2.0 */
#include "base/str.h"

size_t str_search(struct str s, struct str part)
{
    if (part.len == 0)
        return 0;
    for (size_t at = 0; at + part.len <= s.len; at++) {
        at += str_find(str_skip(s, at), part.ptr[0]);
        if (at + part.len > s.len)
            break;
        if (memcmp(s.ptr + at, part.ptr, part.len) == 0)
            return at;
    }
    return s.len;
}

size_t str_rsearch(struct str s, struct str part)
{
    if (part.len == 0 || part.len > s.len)
        return s.len;
    for (size_t at = s.len - part.len + 1; at-- > 0;)
        if (s.ptr[at] == part.ptr[0] && memcmp(s.ptr + at, part.ptr, part.len) == 0)
            return at;
    return s.len;
}

struct str str_trim_right(struct str s)
{
    while (s.len && byte_is_space(s.ptr[s.len - 1]))
        s.len--;
    return s;
}

struct str str_trim(struct str s)
{
    return str_trim_left(str_trim_right(s));
}

struct str str_cut(struct str *rest, char c)
{
    size_t at = str_find(*rest, c);
    struct str head = str_head(*rest, at);
    *rest = str_skip(*rest, at < rest->len ? at + 1 : at);
    return head;
}

struct str str_word(struct str *rest)
{
    struct str s = str_trim_left(*rest);
    size_t n = 0;
    while (n < s.len && ((unsigned char)s.ptr[n] > ' ' || !byte_is_space(s.ptr[n])))
        n++; /* one comparison for most bytes */
    *rest = str_skip(s, n);
    return str_head(s, n);
}

struct str str_basename(struct str path)
{
    size_t slash = str_rfind(path, '/');
    return slash < path.len ? str_skip(path, slash + 1) : path;
}
