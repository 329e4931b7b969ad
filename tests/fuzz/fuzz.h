/* SPDX-License-Identifier: Apache-2.0 */
/* A fuzz driver, and the means to replay it: libFuzzer calls LLVMFuzzerTestOneInput;
 * built without libFuzzer, replay.c calls it for files. It stands in limits.c, which
 * holds each input to its time and memory.
 *
 * To add one: tests/fuzz/fuzz_NAME.c with the three functions, its line in
 * tests/meson.build and in tests/fuzz/run. */
#ifndef STOKE_TESTS_FUZZ_H
#define STOKE_TESTS_FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The driver's: takes one input. Gives 0. */
int fuzz_one(const uint8_t *data, size_t size);

/* How many ways there are to take an input: each importer is one. */
size_t fuzz_variants(void);

/* From now on inputs are taken that way. `data` is what will come: where it cannot be of
 * interest to the variant, *size may be made smaller. Returns the variant's name. */
const char *fuzz_choose(size_t variant, const uint8_t *data, size_t *size);

/* Both, for a driver that takes every input the same way. */
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

/* An invariant: ends the process, and so tells the fuzzer, when it does not hold. */
#define CHECK(condition)                                                      \
    do {                                                                      \
        if (!(condition)) {                                                   \
            fprintf(stderr, "%s:%d: does not hold: %s\n", __FILE__, __LINE__, \
                    #condition);                                              \
            abort();                                                          \
        }                                                                     \
    } while (0)

#endif
