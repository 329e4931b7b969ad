/* SPDX-License-Identifier: Apache-2.0 */
/* System calls with stacks, for importers of traces of them: a sample of the event "system
 * calls" for each call and, where the trace has durations, one of "time in system calls". */
#ifndef STOKE_IMPORT_SYSCALLS_H
#define STOKE_IMPORT_SYSCALLS_H

#include "import/stacktext.h"

struct syscalls {
    event_id calls, times; /* 0: no such sample yet */
    uint64_t time;         /* of the current call */
    double duration;       /* ns; below 0: not known */
};

/* Begins the stack of a call with the frame of the kernel's function. */
void syscalls_begin(struct stacktext *t, struct str name);

/* Ends the stack of the current call, if there is one, of t's thread ID and that name. */
void syscalls_end(struct syscalls *s, struct stacktext *t, struct str comm);

#endif
