/* SPDX-License-Identifier: Apache-2.0 */
/* Runs other programs and reads their output. */
#ifndef STOKE_OS_COMMAND_H
#define STOKE_OS_COMMAND_H

#include "base/error.h"
#include "base/output.h"

/* Runs argv[0], searched in PATH, without a shell and without input, and appends its
 * standard output to `out`. Its standard error is discarded. Returns false with err set
 * if it cannot be run, prints more than `limit` bytes (it is then killed), or fails. */
bool os_command_run(const char *const *argv, struct output *out, size_t limit,
                    struct error *err);

#endif
