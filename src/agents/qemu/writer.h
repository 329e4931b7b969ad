/* SPDX-License-Identifier: Apache-2.0 */
/* The process that writes the trace. It shares the channel's memory with QEMU, and
 * continues after QEMU's end until the file is complete. */
#ifndef STOKE_AGENTS_QEMU_WRITER_H
#define STOKE_AGENTS_QEMU_WRITER_H

#include "agents/qemu/options.h"
#include "base/error.h"

/* Opens the output and starts the process; `flags` are those of the header. A forked
 * guest has its own file beside the file of its parent; the name has its process id.
 * False if the file cannot be opened. */
bool writer_start(const struct trace_options *options, uint32_t flags, bool is_forked,
                  struct error *err);

/* All words are in the rings: waits until they are in the file. */
void writer_finish(void);

/* Whether the process has ended, or was killed. */
bool writer_is_gone(void);

/* In the forked guest: closes the connection to the parent's writer. */
void writer_forget(void);

#endif
