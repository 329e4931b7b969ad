/* SPDX-License-Identifier: Apache-2.0 */
/* Converts the counts of tracers to a profile. */
#ifndef STOKE_TRACE_PROFILE_H
#define STOKE_TRACE_PROFILE_H

#include "model/builder.h"
#include "symbol/demangle.h"
#include "trace/tracer.h"

struct trace_profile_options {
    int64_t core;    /* the number of the core, or of the thread of a process */
    int64_t process; /* or ID_NONE */
    struct str name; /* of the thread, or empty */
    uint64_t multiply,
        divide; /* cycles of this clock to cycles of the base clock; 0: 1 */
    enum demangle demangle;
};

/* Adds all stacks of a tracer after its end, under the event "cycles", with a thread
 * for each task. The count of a sample is instructions. Repairs are reported as
 * warnings. False, with err set, if out of memory. */
bool trace_profile(struct tracer *t, struct builder *b,
                   const struct trace_profile_options *options, struct error *err);

#endif
