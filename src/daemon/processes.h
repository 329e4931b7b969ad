/* SPDX-License-Identifier: Apache-2.0 */
/* The processes of this moment, read at most once a second however many ask, and only
 * while somebody asks. */
#ifndef STOKE_DAEMON_PROCESSES_H
#define STOKE_DAEMON_PROCESSES_H

#include "base/output.h"
#include "daemon/process_details.h"
#include "metrics/snapshot.h"
#include "os/thread_pool.h"

#define DAEMON_PROCESSES_MAX 500 /* in a reply: those with the most CPU time and memory */

struct process_reading {
    struct metrics metrics;
    struct process_details *details; /* of its processes, in its arena */
    bool is_read;
};

struct daemon_processes {
    struct os_lock lock;
    struct process_reading before, now;
    struct output reply; /* of `now` */
    uint64_t until;      /* the reply is valid; os_clock_monotonic */
};

bool daemon_processes_init(struct daemon_processes *p); /* false when out of memory */
void daemon_processes_deinit(struct daemon_processes *p);

/* Writes them as JSON: {"time":1790000000,"count":312,"processes":[{"pid":1,"name":"init",
 * "cpu":12,...}]}. Rates are per second: cpu in ms, read and written in bytes. All who
 * ask before `until` (os_clock_monotonic) get the same. False when out of memory. */
bool daemon_processes_write(struct daemon_processes *p, struct output *out,
                            uint64_t *until);

#endif
