/* SPDX-License-Identifier: Apache-2.0 */
/* Finds waits of all threads that last at least a threshold, with an eBPF program (waits.bpf.c). Of
 * shorter ones, the kernel only takes the times: it reads no stack and writes nothing.
 *
 * Needs the kernel's description of its types, and Linux 6.16, or kprobes. */
#ifndef STOKE_OS_WAITS_H
#define STOKE_OS_WAITS_H

#include "base/error.h"
#include "os/waits_format.h"
#include <stdbool.h>

struct os_waits {
    void *program; /* the skeleton; NULL: not open */
    void *ring, *links[4];
    void (*each)(void *context, const struct waits_record *r); /* during a read */
    void *context;
    uint64_t schedule_start,
        schedule_end; /* addresses of the function __schedule; 0: hidden */
};

struct os_waits_counts {
    uint64_t waits, length; /* that were written */
    uint64_t lost, lost_length;
    uint64_t full; /* waits that were not timed, because too many threads wait */
};

/* Starts to time waits. `threshold` in ns. Returns false if stoke was built without eBPF, the kernel
 * does not support it, or the user lacks permission. Call os_waits_close in any case. */
bool os_waits_open(struct os_waits *w, uint64_t threshold, struct error *err);
void os_waits_close(struct os_waits *w); /* a zeroed struct is allowed */

/* Passes on the waits that have ended since the last call. The kernel frames of a record begin
 * with the function that waits. Returns false with err set if the kernel fails. */
bool os_waits_read(struct os_waits *w,
                   void (*each)(void *context, const struct waits_record *r),
                   void *context, struct error *err);

/* Changes the threshold, ns. */
void os_waits_set_threshold(struct os_waits *w, uint64_t threshold);

/* The sums since the start. */
struct os_waits_counts os_waits_count(const struct os_waits *w);

#endif
