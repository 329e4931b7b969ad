/* SPDX-License-Identifier: Apache-2.0 */
/* The trigger: it selects the instructions to trace. base/qemu_format.h defines the
 * selectors. This module implements them by two properties of a lane: an edge, which
 * is the number of the instruction at which the state changes, and marks, which are
 * instructions after which it changes. */
#ifndef STOKE_AGENTS_QEMU_TRIGGER_H
#define STOKE_AGENTS_QEMU_TRIGGER_H

#include "agents/qemu/options.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct lane;

/* Call it once, before all others. */
void trigger_init(const struct trace_options *options);

/* Sets the state of a new thread. */
void trigger_begin(struct lane *l);

/* The lane has reached its edge. */
void trigger_pass_edge(struct lane *l);

/* Whether an instruction changes the trigger, and the new state: all ones for on. */
bool trigger_turns(uint64_t address, const unsigned char *bytes, size_t size,
                   uint32_t *on);

#endif
