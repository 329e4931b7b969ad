/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the reason why a thread waits, from the functions on its stack. */
#ifndef STOKE_IMPORT_PERF_DATA_WAIT_REASON_H
#define STOKE_IMPORT_PERF_DATA_WAIT_REASON_H

#include "model/profile.h"

/* The name of the reason's frame: "[io]", "[lock]", "[sleep]" or "[preempted]"; empty if
 * the function implies none. "[lock]" becomes "[idle]" for kinds that no thread holds, see
 * model/lock_kind.h. `kind` is the kind of the frame: the kernel and the C
 * library have different functions. */
struct str wait_reason_of(struct str function, enum frame_kind kind);

#endif
