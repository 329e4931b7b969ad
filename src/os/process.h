/* SPDX-License-Identifier: Apache-2.0 */
/* Other programs, run for what they print. */
#ifndef STOKE_OS_PROCESS_H
#define STOKE_OS_PROCESS_H

#include "base/error.h"
#include "base/output.h"

/* Runs argv[0], looked for in PATH, without a shell and without input, and adds what it
 * prints to `out`, which keeps. What it says to standard error is lost. False, with err
 * set, where it cannot be run, prints more than `most` bytes (it is then ended), or ends
 * with another status than 0. */
bool os_process_run(const char *const *argv, struct output *out, size_t most,
                    struct error *err);

#endif
