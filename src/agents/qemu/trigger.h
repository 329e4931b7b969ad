/* SPDX-License-Identifier: Apache-2.0 */
/* The trigger: which instructions are traced. base/qemu_format.h says what each selector
 * means; here they are made of two things that a lane understands: an edge, the number of
 * the instruction from which the state is another, and marks, the instructions after
 * which it is. */
#ifndef STOKE_AGENTS_QEMU_TRIGGER_H
#define STOKE_AGENTS_QEMU_TRIGGER_H

#include "agents/qemu/options.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct lane;

/* Once, before all others. */
void trigger_init(const struct trace_options *options);

/* A thread begins. */
void trigger_begin(struct lane *l);

/* The lane came to its edge. */
void trigger_pass_edge(struct lane *l);

/* Whether an instruction turns the trigger, and to what: all ones for on. */
bool trigger_turns(uint64_t address, const unsigned char *bytes, size_t size,
                   uint32_t *on);

#endif
