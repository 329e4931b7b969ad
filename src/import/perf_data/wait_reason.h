/* SPDX-License-Identifier: Apache-2.0 */
/* Why a thread waits, told by the functions it waits in. */
#ifndef STOKE_IMPORT_PERF_DATA_WAIT_REASON_H
#define STOKE_IMPORT_PERF_DATA_WAIT_REASON_H

#include "model/profile.h"

/* What stands for the reason in a stack: "[io]", "[lock]", "[sleep]" or "[preempted]".
 * Empty where the function does not tell. `kind` is its frame's: the kernel's functions
 * tell more than those that a program called. */
struct str wait_reason_of(struct str function, enum frame_kind kind);

#endif
