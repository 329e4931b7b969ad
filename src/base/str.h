/* SPDX-License-Identifier: Apache-2.0 */
/* A string view: bytes that something else owns, without a terminating zero.
 *
 * Nothing here owns memory. A view is valid as long as its bytes: until the source
 * slides its window (source.h), or the arena that holds them is freed. */
#ifndef STOKE_BASE_STR_H
#define STOKE_BASE_STR_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

struct str {
    const char *ptr; /* never NULL, even if len is 0 */
    size_t len;
};

/* A view of a string literal, usable in constant initialisers. */
#define STR(literal) ((struct str){(literal), sizeof(literal) - 1})

/* For printf-like functions: format("%.*s", STR_ARG(s)). */
#define STR_ARG(s) (int)(s).len, (s).ptr

static inline struct str str_of(const char *zero_terminated)
{
    return (struct str){zero_terminated, strlen(zero_terminated)};
}

static inline struct str str_span(const char *begin, const char *end)
{
    return (struct str){begin, (size_t)(end - begin)};
}

/* s without its first n bytes; empty if it is shorter. */
static inline struct str str_skip(struct str s, size_t n)
{
    if (n > s.len)
        n = s.len;
    return (struct str){s.ptr + n, s.len - n};
}

/* The first n bytes of s, or all of it. */
static inline struct str str_head(struct str s, size_t n)
{
    return (struct str){s.ptr, n < s.len ? n : s.len};
}

static inline bool str_equal(struct str a, struct str b)
{
    return a.len == b.len && (a.len == 0 || memcmp(a.ptr, b.ptr, a.len) == 0);
}

/* Bytewise order; a prefix is less than a longer string. */
static inline int str_compare(struct str a, struct str b)
{
    size_t shorter = a.len < b.len ? a.len : b.len;
    int order = shorter ? memcmp(a.ptr, b.ptr, shorter) : 0;
    if (order)
        return order;
    return (a.len > b.len) - (a.len < b.len);
}

static inline bool str_starts(struct str s, struct str head)
{
    return s.len >= head.len && memcmp(s.ptr, head.ptr, head.len) == 0;
}

static inline bool str_ends(struct str s, struct str tail)
{
    return s.len >= tail.len && memcmp(s.ptr + s.len - tail.len, tail.ptr, tail.len) == 0;
}

/* Offset of the first byte c in s, or s.len. */
static inline size_t str_find(struct str s, char c)
{
    const char *at = s.len ? memchr(s.ptr, c, s.len) : NULL;
    return at ? (size_t)(at - s.ptr) : s.len;
}

/* Offset of the last byte c in s, or s.len. */
static inline size_t str_rfind(struct str s, char c)
{
    for (size_t i = s.len; i-- > 0;)
        if (s.ptr[i] == c)
            return i;
    return s.len;
}

/* Offset of the first, or last, occurrence of `part` in s, or s.len. */
size_t str_search(struct str s, struct str part);
size_t str_rsearch(struct str s, struct str part);

static inline bool str_has(struct str s, struct str part)
{
    return part.len == 0 || str_search(s, part) < s.len;
}

static inline bool byte_is_space(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

static inline bool byte_is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static inline bool byte_is_hex(char c)
{
    return byte_is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

static inline bool byte_is_word(char c)
{
    return byte_is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           c == '_';
}

/* s without white space at its beginning, its end, or both. */
static inline struct str str_trim_left(struct str s)
{
    size_t n = 0;
    while (n < s.len && byte_is_space(s.ptr[n]))
        n++;
    return n ? str_skip(s, n) : s; /* an empty string may be NULL */
}

struct str str_trim_right(struct str s);
struct str str_trim(struct str s);

/* Removes the bytes up to the first c (and c itself) from *rest and returns them
 * without c; returns all of *rest if there is no c. */
struct str str_cut(struct str *rest, char c);

/* Removes the next run of non-space bytes from *rest and returns it; empty at the end. */
struct str str_word(struct str *rest);

/* The part of a path after its last '/', or all of it. */
struct str str_basename(struct str path);

#endif
