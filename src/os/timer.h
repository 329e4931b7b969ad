/* SPDX-License-Identifier: Apache-2.0 */
/* A descriptor that becomes readable at intervals. */
#ifndef STOKE_OS_TIMER_H
#define STOKE_OS_TIMER_H

#include "base/error.h"

/* Returns the descriptor of a timer that is stopped; -1 with the reason on failure. */
int os_timer_open(struct error *err);

/* Starts it; 0 ns stops it. */
void os_timer_set(int timer, uint64_t interval);

/* It is not readable any more, until the next interval ends. */
void os_timer_read(int timer);

void os_timer_close(int timer); /* -1 is allowed */

#endif
