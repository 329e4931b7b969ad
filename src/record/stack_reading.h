/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the stacks of interpreters from outside, where eBPF is not possible: at each sample,
 * as soon as it arrives. The process is not stopped, so it has executed more code by then. A
 * timer wakes the recorder up, so that samples do not wait in their ring. */
#ifndef STOKE_RECORD_STACK_READING_H
#define STOKE_RECORD_STACK_READING_H

#include "base/idmap.h"
#include "interpreter/walk.h"
#include "model/resolver.h"

struct record_stack_reading {
    int timer; /* readable when samples should be drained */
    bool active;
    struct arena arena;
    struct idmap states; /* the runtime's structure of a thread, by thread id */
    struct interpreter_walk_frame frames[INTERPRETER_WALK_MAX]; /* the last stack */
    size_t count;
};

/* Call close in any case, or if all is zero except a timer of -1. */
bool record_stack_reading_open(struct record_stack_reading *s, struct error *err);
void record_stack_reading_close(struct record_stack_reading *s);

/* Whether there are processes to read. */
void record_stack_reading_activate(struct record_stack_reading *s, bool active);

/* Reads the stack of a thread. False if the runtime does not know the thread. */
bool record_stack_reading_read(struct record_stack_reading *s,
                               const struct interpreter_runtime *r,
                               const struct interpreter_walk *layout, uint32_t tid,
                               enum interpreter_end *end);

/* The same for a runtime whose frames are those of the native stack: from the registers and the
 * part of the stack that the sample has. Objects are read from the process. */
void record_stack_reading_chain(struct record_stack_reading *s,
                                const struct interpreter_runtime *r,
                                const struct interpreter_walk *layout,
                                const struct unwind_job *job, enum interpreter_end *end);

#endif
