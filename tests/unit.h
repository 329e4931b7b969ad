/* SPDX-License-Identifier: Apache-2.0 */
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
#include "bites.h"

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

#define UNIT(test) cmocka_unit_test(test)
#define UNITS_RUN(units) cmocka_run_group_tests(units, NULL, NULL)

#endif
