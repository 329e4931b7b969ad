/* SPDX-License-Identifier: Apache-2.0 */
/* What this machine is, and what time it is. */
#ifndef STOKE_OS_MACHINE_H
#define STOKE_OS_MACHINE_H

#include "base/str.h"
#include <stdint.h>

/* Times in ns. The first runs evenly, and stands still while the machine is suspended: it
 * is the one that the kernel's records have, also where this process is shown another one
 * (time_namespaces(7)). */
uint64_t os_clock_monotonic(void);
uint64_t os_clock_real(void);

/* What this process has used so far: ns of CPU, and the most memory that was resident. */
uint64_t os_own_cpu_time(void);
uint64_t os_own_peak_bytes(void);

/* How often the first clock can tick, in ns. */
uint64_t os_clock_resolution(void);

/* The number of CLOCK_MONOTONIC. */
int32_t os_clock_number(void);

struct os_machine {
    char host[256], release[256], arch[64];
    uint64_t memory; /* bytes */
};

void os_machine_read(struct os_machine *m);

/* The bytes of a small file of the system's, such as those of /proc and /sys: as far as
 * they fit. Empty where it cannot be read. */
struct str os_read_text(const char *path, char *room, size_t size);

/* The sysctl that hides the kernel's addresses from who may not see them: with
 * kernel.kptr_restrict at 0 it is kernel.perf_event_paranoid. */
const char *os_kernel_hidden_by(void);

/* Calls for each name in a folder, in no order; false where it cannot be read. */
bool os_folder_each(const char *path, void (*each)(void *context, struct str name),
                    void *context);

#define OS_CPUS_MAX 8192

/* The CPUs that are in such a list: "0-3,8". Gives how many; more than OS_CPUS_MAX and
 * what makes no sense are left out. `cpus` may be NULL. */
size_t os_cpu_list(struct str text, uint32_t *cpus);

/* The CPUs that are running now (`cpus` has room for OS_CPUS_MAX, or is NULL), and how
 * many there can be at most. */
size_t os_cpus_online(uint32_t *cpus);
size_t os_cpus_possible(void);

size_t os_page_size(void);

/* Process ids are below this. */
uint32_t os_pid_max(void);

/* Has this process run before others that want to at the same moment, where it may. */
void os_run_first(void);

/* Lets this process open as many files as it may, root more than users; gives how many
 * that are. */
uint64_t os_raise_file_limit(void);

#endif
