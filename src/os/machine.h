/* SPDX-License-Identifier: Apache-2.0 */
/* Facts about this machine, its clocks, and resource limits of this process. */
#ifndef STOKE_OS_MACHINE_H
#define STOKE_OS_MACHINE_H

#include "base/str.h"
#include <stdint.h>

/* Times in ns. The monotonic clock does not count while the machine is suspended. It
 * is the clock of the kernel's records, even inside a time namespace
 * (time_namespaces(7)). */
uint64_t os_clock_monotonic(void);
uint64_t os_clock_real(void);

/* The CPU time that the calling thread has used, in ns. */
uint64_t os_clock_of_thread(void);

/* The monotonic clock as programs in this time namespace read it. */
uint64_t os_clock_local(void);

/* What this process has used so far: CPU time in ns, and peak resident memory in
 * bytes. */
uint64_t os_own_cpu_time(void);
uint64_t os_own_peak_bytes(void);

/* Its resident memory now; 0 if it is unknown. */
uint64_t os_own_bytes(void);

/* Whether the time stamp counters of all CPUs are synchronized, as one clock: then the kernel
 * uses them for its clock. */
bool os_clock_is_ticks(void);

/* Resolution of the monotonic clock, in ns. */
uint64_t os_clock_resolution(void);

/* The id of the monotonic clock: CLOCK_MONOTONIC. */
int32_t os_clock_number(void);

struct os_machine {
    char host[256], release[256], arch[64];
    uint64_t memory; /* bytes */
};

void os_machine_read(struct os_machine *m);

/* Reads a small system file, such as those of /proc and /sys, up to `size` bytes. Empty
 * if it cannot be read. */
struct str os_read_text(const char *path, char *room, size_t size);

/* Reads a text file of the system of any length, and passes its lines in parts of whole lines,
 * each at most `size` bytes, in `room`. Longer lines are omitted. False if it cannot be opened. */
bool os_read_lines(const char *path, char *room, size_t size,
                   void (*take)(void *context, struct str lines), void *context);

/* The name of the sysctl that hides kernel addresses from unprivileged users:
 * kernel.kptr_restrict, or kernel.perf_event_paranoid if the former is 0. */
const char *os_kernel_hidden_by(void);

/* Calls `each` for every name in a folder, in no particular order; false if the folder
 * cannot be read. */
bool os_folder_each(const char *path, void (*each)(void *context, struct str name),
                    void *context);

#define OS_CPUS_MAX 8192

/* Parses a CPU list such as "0-3,8". Returns the number of CPUs; skips invalid parts
 * and CPUs beyond OS_CPUS_MAX. `cpus` may be NULL. */
size_t os_cpu_list(struct str text, uint32_t *cpus);

/* The online CPUs (`cpus` has room for OS_CPUS_MAX, or is NULL), and the maximum number
 * of CPUs. */
size_t os_cpus_online(uint32_t *cpus);
size_t os_cpus_possible(void);

size_t os_page_size(void);

/* Fills the room with random bytes. False if the kernel has none yet. */
bool os_random(void *room, size_t size);

/* The same as text: `size` - 1 hexadecimal digits and a null. The size is odd, and at most
 * OS_RANDOM_TEXT_MAX. */
#define OS_RANDOM_TEXT_MAX 65
bool os_random_text(char *text, size_t size);

/* How often the CPUs have switched threads since the machine started; 0 if that is unknown. */
uint64_t os_context_switches(void);

/* Whether so many threads wait for each CPU that this process may not run for a while. */
bool os_is_crowded(void);

/* Process ids are below this. */
uint32_t os_pid_max(void);

/* Raises the scheduling priority of this process if it may. */
void os_run_first(void);

/* Runs this thread before all threads without real-time priority; if this user may not do so, the
 * effect is that of os_run_first, or none. For threads that never work for long: they
 * run before threads with os_thread_set_first, too. */
void os_run_thread_first(void);

/* The ID of this thread. */
int32_t os_thread_id(void);

/* Runs a thread of this process before all threads without real-time priority, or as before.
 * False if this user may not do so (OS_RIGHT_FIRST); a thread may always lower itself. Threads
 * that it starts have a normal priority. */
bool os_thread_set_first(int32_t thread, bool first);

/* For a process of its own that works in the background: it has the lowest priority that still
 * gets CPU time on a busy machine (nice 19: 1.5% of a core; SCHED_IDLE would get 0.3%), has no
 * open file, and ends with its parent. */
void os_run_in_background(void);

/* Raises the limit of open files as far as permitted (higher for root) and returns it. */
uint64_t os_raise_file_limit(void);

#endif
