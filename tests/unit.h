/* What every unit test begins with: cmocka, and assertions over stoke's own types. */
#ifndef STOKE_TESTS_UNIT_H
#define STOKE_TESTS_UNIT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/error.h"
#include "base/source.h"

/* A view equals the text. */
#define assert_str(got, wanted)                                                  \
    do {                                                                         \
        struct str got_ = (got), wanted_ = str_of(wanted);                       \
        if (!str_equal(got_, wanted_))                                           \
            fail_msg("got \"%.*s\", wanted \"%s\"", STR_ARG(got_), wanted_.ptr); \
    } while (0)

/* Doubles are compared bit by bit: what is tested here is exact. */
#define assert_double(got, wanted)                              \
    do {                                                        \
        double got_ = (got), wanted_ = (wanted);                \
        if (memcmp(&got_, &wanted_, sizeof got_) != 0)          \
            fail_msg("got %.17g, wanted %.17g", got_, wanted_); \
    } while (0)

/* A provider that gives `text` in bites of at most `bite` bytes, and fails, where asked
 * to, once it has given `fail_after` of them. */
struct bites {
    const char *text;
    size_t length, at, bite;
    size_t fail_after; /* 0: it never fails */
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

#define UNIT(test) cmocka_unit_test(test)
#define UNITS_RUN(units) cmocka_run_group_tests(units, NULL, NULL)

#endif
