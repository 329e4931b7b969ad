/* SPDX-License-Identifier: Apache-2.0 */
/* When a process has ended, from the records of its threads: its main thread may end before the
 * others (pthread_exit), which then use its mappings further on. */
#ifndef STOKE_RECORD_THREAD_COUNTS_H
#define STOKE_RECORD_THREAD_COUNTS_H

#include <stdbool.h>
#include <stdint.h>

struct thread_counts {
    uint32_t *process_of; /* by id of a thread that is not the main one; 0: none */
    uint32_t *others;     /* number of such threads, by process id */
    uint64_t *ended;      /* a bit per process: its main thread has ended */
    uint32_t limit;       /* of ids */
};

/* False if out of memory; deinit it in any case. */
bool thread_counts_init(struct thread_counts *c, uint32_t limit);
void thread_counts_deinit(struct thread_counts *c); /* also if it is all zeros */

/* A thread was started. The id may have been that of another one, whose end was not reported. */
void thread_counts_begin(struct thread_counts *c, uint32_t pid, uint32_t tid);

/* A thread exists, which may be known already. */
void thread_counts_see(struct thread_counts *c, uint32_t pid, uint32_t tid);

/* True if it was the last known thread of its process. */
bool thread_counts_end(struct thread_counts *c, uint32_t pid, uint32_t tid);

/* The process executes another program, in its main thread only. */
void thread_counts_exec(struct thread_counts *c, uint32_t pid);

#endif
