/* SPDX-License-Identifier: Apache-2.0 */
/* Waits in a recording of ours: what the recorder writes and the reader looks for.
 *
 * A wait is a sample of the event "off-cpu" (of the kernel's kind
 * "dummy", of which there are no others): where the thread was when it left its CPU; the
 * time is when it was back, the period is how many ns it was away. A sample of the event
 * "waker" in front of it tells where the thread was that woke it up. Both have one word
 * of 32 bits as their raw bytes. */
#ifndef STOKE_PERF_OFF_CPU_H
#define STOKE_PERF_OFF_CPU_H

#define PERF_OFF_CPU_EVENT "off-cpu"
#define PERF_WAKER_EVENT "waker" /* its word: the number of the thread that was woken */

/* Bits of the word of a wait. */
#define PERF_OFF_CPU_PREEMPTED 1u /* it could have gone on: others were given the CPU */
#define PERF_OFF_CPU_STILL 2u     /* it was not back yet when the recording ended */

#endif
