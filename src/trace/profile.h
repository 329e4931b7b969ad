/* SPDX-License-Identifier: Apache-2.0 */
/* What a tracer has counted, as a profile. */
#ifndef STOKE_TRACE_PROFILE_H
#define STOKE_TRACE_PROFILE_H

#include "model/builder.h"
#include "symbol/demangle.h"
#include "trace/tracer.h"

struct trace_profile_options {
    int64_t core;              /* the number of the core, or of the thread of a process */
    int64_t process;           /* or ID_NONE */
    struct str name;           /* of the thread, or empty */
    uint64_t multiply, divide; /* of cycles, to those of the base clock; 0: 1 */
    enum demangle demangle;
};

/* Adds all stacks of an ended tracer, under the event "cycles", a thread for each task. A
 * sample's count is of instructions. What was repaired is told as warnings. False, with
 * err set, when memory is short. */
bool trace_profile(struct tracer *t, struct builder *b,
                   const struct trace_profile_options *options, struct error *err);

#endif
