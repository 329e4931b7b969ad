/* SPDX-License-Identifier: Apache-2.0 */
/* What is slow to read of a process, or changes rarely: proportional memory (the kernel
 * visits all pages), control group and user. It is retained from one reading of the
 * processes to the next. */
#ifndef STOKE_DAEMON_PROCESS_DETAILS_H
#define STOKE_DAEMON_PROCESS_DETAILS_H

#include "base/arena.h"
#include "metrics/process.h"

struct process_details {
    uint64_t time;                  /* when it was read; 0: never */
    uint64_t ticks, resident_pages; /* of the process when its memory was read */
    uint64_t pss;                   /* bytes; 0: it cannot be read */
    bool has_pss;                   /* it was tried */
    struct str user, service, container;
};

/* Reads the details at `time`. Proportional memory only `with_pss`, and again only if the
 * process ran or its resident memory changed since. */
void process_details_read(struct process_details *d, const struct process_counters *c,
                          uint64_t time, bool with_pss, struct arena *a);

/* Copies the details of an earlier reading, with their texts. */
struct process_details process_details_copy(const struct process_details *d,
                                            struct arena *a);

#endif
