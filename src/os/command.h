/* SPDX-License-Identifier: Apache-2.0 */
/* Runs other programs and reads their output. */
#ifndef STOKE_OS_COMMAND_H
#define STOKE_OS_COMMAND_H

#include "base/error.h"
#include "base/output.h"

/* Runs argv[0], searched in PATH, without a shell, and appends its standard output to
 * `out`. It reads `input`. Its standard error is discarded. Returns false with err set if
 * it cannot be run, prints more than `limit` bytes (it is then killed), or fails. */
bool os_command_run(const char *const *argv, struct str input, struct output *out,
                    size_t limit, struct error *err);

#endif
