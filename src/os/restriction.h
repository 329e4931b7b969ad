/* SPDX-License-Identifier: Apache-2.0 */
/* Restricts threads that read what strangers send (seccomp(2)). */
#ifndef STOKE_OS_RESTRICTION_H
#define STOKE_OS_RESTRICTION_H

/* From now on, this thread and those that it starts cannot execute programs, trace or read the memory
 * of other processes, open counters, load programs into the kernel, mount, or change users and
 * namespaces: these system calls fail with EPERM. Does nothing if the kernel has no filters. */
void os_thread_restrict(void);

#endif
