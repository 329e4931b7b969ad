/* SPDX-License-Identifier: Apache-2.0 */
/* Included by every unit test: cmocka, and assertions for stoke's own types. */
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
#include "sanitized.h"

/* Checks that a view equals a text. */
#define assert_str(got, expected)                                                    \
    do {                                                                             \
        struct str got_ = (got), expected_ = str_of(expected);                       \
        if (!str_equal(got_, expected_))                                             \
            fail_msg("got \"%.*s\", expected \"%s\"", STR_ARG(got_), expected_.ptr); \
    } while (0)

/* Compares doubles bit by bit, because tested results are exact. */
#define assert_double(got, expected)                                \
    do {                                                            \
        double got_ = (got), expected_ = (expected);                \
        if (memcmp(&got_, &expected_, sizeof got_) != 0)            \
            fail_msg("got %.17g, expected %.17g", got_, expected_); \
    } while (0)

#define UNIT(test) cmocka_unit_test(test)
#define UNITS_RUN(units) cmocka_run_group_tests(units, NULL, NULL)

#endif
