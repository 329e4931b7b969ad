/* SPDX-License-Identifier: Apache-2.0 */
/* The interface of fuzz drivers. libFuzzer calls LLVMFuzzerTestOneInput; without
 * libFuzzer, replay.c calls it for files. It is defined in limits.c, which limits time
 * and memory per input.
 *
 * To add a driver: tests/fuzz/fuzz_NAME.c with the three functions, and its line in
 * tests/meson.build and in tests/fuzz/run. */
#ifndef STOKE_TESTS_FUZZ_H
#define STOKE_TESTS_FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Defined by the driver: processes one input. Returns 0. */
int fuzz_one(const uint8_t *data, size_t size);

/* Number of variants: for example, one per importer. */
size_t fuzz_variants(void);

/* Selects a variant for the following inputs. `data` is the next input; if the variant
 * needs only a part, *size may be reduced. Returns the variant's name. */
const char *fuzz_choose(size_t variant, const uint8_t *data, size_t *size);

/* Both functions, for a driver with one variant. */
#define FUZZ_ONE_WAY(name)                                                     \
    size_t fuzz_variants(void)                                                 \
    {                                                                          \
        return 1;                                                              \
    }                                                                          \
    const char *fuzz_choose(size_t variant, const uint8_t *data, size_t *size) \
    {                                                                          \
        (void)variant, (void)data, (void)size;                                 \
        return (name);                                                         \
    }

/* An invariant: aborts, which the fuzzer detects, if it does not hold. */
#define CHECK(condition)                                                      \
    do {                                                                      \
        if (!(condition)) {                                                   \
            fprintf(stderr, "%s:%d: does not hold: %s\n", __FILE__, __LINE__, \
                    #condition);                                              \
            abort();                                                          \
        }                                                                     \
    } while (0)

#endif
