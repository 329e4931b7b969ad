/* SPDX-License-Identifier: Apache-2.0 */
/* How stoke record writes waits, and how they are recognized.
 *
 * A wait is a sample of the event "off-cpu", of the software type "dummy", which has no
 * other samples. Its stack is where the thread left the CPU, its time is when the thread
 * returned, its period is the duration in ns. A sample of the event "waker" before it has
 * the stack of the thread that woke it. Both have a word of 32 bits as raw data.
 *
 * A sample of the event "lock-holder" has the stack of a thread that releases a lock, and
 * as period how long others have waited for it, in ns, since the lock was taken. Its word is 0. In it,
 * and in a wait for a lock, the address of the lock (64 bits) follows the word, then the name of
 * the variable, if it has one, padded with zeros.
 *
 * In a wait for a file, which its word says, 64 bits of zeros follow the word: it is for no lock.
 * Then come the name of the file and that of its device, each ended by a zero. */
#ifndef STOKE_PERF_OFF_CPU_H
#define STOKE_PERF_OFF_CPU_H

#define PERF_OFF_CPU_EVENT "off-cpu"
#define PERF_WAKER_EVENT "waker" /* its word: the id of the woken thread */

#define PERF_LOCK_HOLDER_EVENT "lock-holder"

/* Bits in the word of a wait. */
#define PERF_OFF_CPU_PREEMPTED \
    1u                        /* the thread was runnable: another thread got the CPU */
#define PERF_OFF_CPU_STILL 2u /* the wait had not ended when the recording did */
#define PERF_OFF_CPU_FILE 4u  /* it was for a file, a socket or a device */

#endif
