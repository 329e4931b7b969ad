/* SPDX-License-Identifier: Apache-2.0 */
/* Who runs on a lane: the threads of a user-mode guest are threads of QEMU. */
#ifndef STOKE_AGENTS_QEMU_THREAD_H
#define STOKE_AGENTS_QEMU_THREAD_H

#include <stdbool.h>

struct lane;

/* Once, before all others. */
void thread_init(bool is_system);

/* The calling thread begins to run on a lane that was opened: tells of it in the trace.
 */
void thread_introduce(struct lane *l);

/* It may have another name now. */
void thread_look_at_name(struct lane *l);

/* The lane of the calling thread, or NULL. */
struct lane *thread_lane(void);

#endif
