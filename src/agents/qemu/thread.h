/* SPDX-License-Identifier: Apache-2.0 */
/* The threads of lanes: each thread of a user-mode guest is a thread of QEMU. */
#ifndef STOKE_AGENTS_QEMU_THREAD_H
#define STOKE_AGENTS_QEMU_THREAD_H

#include <stdbool.h>

struct lane;

/* Call it once, before all others. */
void thread_init(bool is_system);

/* The calling thread begins to run on an open lane: adds it to the trace. */
void thread_introduce(struct lane *l);

/* The thread may have a new name. */
void thread_refresh_name(struct lane *l);

/* The lane of the calling thread, or NULL. */
struct lane *thread_lane(void);

#endif
