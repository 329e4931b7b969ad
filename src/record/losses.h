/* SPDX-License-Identifier: Apache-2.0 */
/* Records that a recording does not contain, by cause. */
#ifndef STOKE_RECORD_LOSSES_H
#define STOKE_RECORD_LOSSES_H

#include <stdint.h>

struct record_losses {
    uint64_t
        by_rings; /* the kernel's rings were full: this process did not run in time */
    uint64_t by_queues; /* the queues after the rings were full: stages waited too long */
    uint64_t by_sources; /* tables of event sources in the kernel were full */
    uint64_t
        short_dumps; /* not lost: stack dumps that are shorter, so that the queues last */
    /* Not lost: bytes of the dumps of context switches and other events without a rate, since a ring
     * was more than half full; 0: as requested. */
    uint32_t dump_limit;
};

#endif
