/* SPDX-License-Identifier: Apache-2.0 */
/* The process that writes the trace. It shares the channel's memory with QEMU, and
 * outlives it for as long as it takes to finish the file. */
#ifndef STOKE_AGENTS_QEMU_WRITER_H
#define STOKE_AGENTS_QEMU_WRITER_H

#include "agents/qemu/options.h"
#include "base/error.h"

/* Opens what is to be written and starts the process; `flags` are the header's. A guest that was forked has a file
 * of its own beside its parent's, named with its process id. False where it cannot be
 * opened. */
bool writer_start(const struct trace_options *options, uint32_t flags, bool is_forked,
                  struct error *err);

/* All is in the rings: waits until it is in the file. */
void writer_finish(void);

/* Whether it ended, or was killed. */
bool writer_is_gone(void);

/* The forked guest: lets go of the parent's writer. */
void writer_forget(void);

#endif
