/* SPDX-License-Identifier: Apache-2.0 */
/* A process: /proc/PID/stat and /proc/PID/io. */
#ifndef STOKE_METRICS_PROCESS_H
#define STOKE_METRICS_PROCESS_H

#include "base/str.h"
#include <stdint.h>

#define PROCESS_NAME_MAX 64 /* the kernel truncates at 15, of its own threads at 63 */

struct process_counters {
    uint32_t pid, parent;
    char name[PROCESS_NAME_MAX];
    char state; /* 'R', 'S', ... */
    int32_t priority, nice;
    uint32_t policy;
    uint64_t flags;
    uint64_t user, system; /* ticks since its start */
    uint64_t start;        /* ticks since boot: with the PID it identifies a process */
    uint64_t threads, minor_faults, major_faults;
    uint64_t virtual_bytes, resident_pages;
    uint64_t block_delay;                          /* ticks of waiting for disks */
    bool has_io;                                   /* /proc/PID/io is readable */
    uint64_t read_bytes, written_bytes, cancelled; /* from and to disks */
    uint32_t user_id;
};

/* Reads /proc/PID/stat. The name may contain spaces and parentheses. False if the line is
 * incomplete. */
bool process_stat_parse(struct str text, struct process_counters *out);

/* Reads /proc/PID/io into the fields of `out` for it. */
void process_io_parse(struct str text, struct process_counters *out);

/* True for a thread of the kernel, which has no memory and no command line. */
bool process_is_kernel(const struct process_counters *p);

#endif
