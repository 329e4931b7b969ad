/* SPDX-License-Identifier: Apache-2.0 */
/* Writes the stacks of a process. */
#ifndef STOKE_CLI_STACKS_STACKS_H
#define STOKE_CLI_STACKS_STACKS_H

#include "base/output.h"
#include "engine/stacks.h"

/* Return false if out of memory. */
bool stacks_write_text(const struct stacks *s, bool colour, struct output *out);
bool stacks_write_json(const struct stacks *s, struct output *out);

/* What a thread does: "running", "sleeping", "stopped"; of a thread that waits in a system
 * call "waiting". */
const char *stacks_state(const struct stacks_thread *t);

/* The name of a signal that ends a process with a core file; NULL for others, as SIGSTOP of
 * gcore. */
const char *stacks_signal(unsigned number);

/* Why a stack is incomplete or doubtful; NULL if it is not. */
const char *stacks_doubt(const struct stacks *s, const struct stacks_thread *t);

#endif
