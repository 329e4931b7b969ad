/* SPDX-License-Identifier: Apache-2.0 */
/* Whether the kernel answers questions about a process at once.
 *
 * Its mappings, and the files below /proc/PID/root, are behind locks that its threads hold while
 * they map memory or execute a program. If such a thread waits for a CPU, so does everybody who
 * asks: for seconds, among thousands of threads. Here a thread of its own asks first. */
#ifndef STOKE_OS_PROCESS_PROBE_H
#define STOKE_OS_PROCESS_PROBE_H

#include <stdbool.h>
#include <stdint.h>

struct os_process_probe;

/* Starts the thread, which runs before others if this user may do that. NULL if the system starts
 * none. */
struct os_process_probe *os_process_probe_start(void);

/* Whether the mappings of the process were read within 20 ms. False at once while the thread still
 * waits for another process. True if `p` is NULL or stopped, and for a process that does not exist.
 * For one caller at a time. */
bool os_process_probe_answers(struct os_process_probe *p, uint32_t pid);

/* Ends the thread, once it has its answer. NULL is allowed in both. */
void os_process_probe_stop(struct os_process_probe *p);
void os_process_probe_destroy(struct os_process_probe *p);

#endif
