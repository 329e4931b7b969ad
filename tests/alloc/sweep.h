/* SPDX-License-Identifier: Apache-2.0 */
/* Lets every allocation of some work fail in turn. */
#ifndef STOKE_TESTS_SWEEP_H
#define STOKE_TESTS_SWEEP_H

#include "base/error.h"
#include "base/output.h"

/* Work under test: true with its result in `text`, or false with err set. Its output has
 * no memory of its own to begin with. */
struct work {
    const char *name;
    bool (*run)(const void *context, struct output *text, struct error *err);
    const void *context;
};

/* Runs it with each allocation failing, and reports a test. */
void sweep(const struct work *w);

/* The work of src/symbol, over files of tests/fuzz/corpus. */
void sweep_symbols(const char *tests);

/* The readers of instruction traces, over tests/man and tests/trace/inputs. */
void sweep_traces(const char *tests);

#endif
