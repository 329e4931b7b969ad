/* SPDX-License-Identifier: Apache-2.0 */
/* Makes every allocation of some code fail in turn. */
#ifndef STOKE_TESTS_SWEEP_H
#define STOKE_TESTS_SWEEP_H

#include "base/error.h"
#include "base/output.h"

/* Code under test: returns true with its result in `text`, or false with err set.
 * `text` has no memory at first. */
struct work {
    const char *name;
    bool (*run)(const void *context, struct output *text, struct error *err);
    const void *context;
};

/* Runs it with each allocation failing, and reports a test. */
void sweep(const struct work *w);

/* Tests src/symbol, with files of tests/fuzz/corpus. */
void sweep_symbols(const char *tests);

/* Tests the readers of instruction traces, with tests/man and tests/trace/inputs. */
void sweep_traces(const char *tests);

#endif
