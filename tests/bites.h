/* SPDX-License-Identifier: Apache-2.0 */
/* A source for tests: bytes in memory that arrive in small pieces, as from a slow
 * pipe. */
#ifndef STOKE_TESTS_BITES_H
#define STOKE_TESTS_BITES_H

#include "base/source.h"

/* A provider that returns `text` in pieces of at most `bite` bytes, and fails after
 * `fail_after` bytes if that is set. */
struct bites {
    const char *text;
    size_t length, at, bite;
    size_t fail_after; /* 0: never fails */
};

static inline bool bites_read(void *context, char *into, size_t room, size_t *got,
                              struct error *err)
{
    struct bites *b = context;
    size_t n = b->length - b->at;
    if (b->fail_after && b->at >= b->fail_after)
        return error_set(err, "the disk is on fire");
    if (n > b->bite)
        n = b->bite;
    if (n > room)
        n = room;
    if (n)
        memcpy(into, b->text + b->at, n);
    b->at += n;
    *got = n;
    return true;
}

#endif
