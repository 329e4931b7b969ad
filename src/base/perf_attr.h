/* SPDX-License-Identifier: Apache-2.0 */
/* struct perf_event_attr: the event that a counter counts and what a sample contains,
 * as perf_event_open takes it and as perf.data stores it.
 *
 * Source: include/uapi/linux/perf_event.h of Linux. os/perf_event.c compares the two at
 * compile time. The constants are in perf/format.h, because os/perf_event.c cannot
 * include those beside the kernel's own. */
#ifndef STOKE_BASE_PERF_ATTR_H
#define STOKE_BASE_PERF_ATTR_H

#include <stdint.h>

struct perf_attr {
    uint32_t type; /* enum perf_event_type, or the number of a PMU */
    uint32_t size; /* of this struct: PERF_ATTR_SIZE */
    uint64_t config;
    uint64_t period; /* or, with PERF_FLAG_FREQUENCY, samples per second */
    uint64_t sample_type, read_format, flags;
    uint32_t wakeup; /* with PERF_FLAG_WATERMARK: bytes in the ring buffer */
    uint32_t breakpoint_type;
    uint64_t config1, config2;
    uint64_t branch_type, user_registers;
    uint32_t stack_size; /* bytes of a stack dump: a multiple of 8 */
    int32_t clock;       /* with PERF_FLAG_CLOCK: CLOCK_* */
    uint64_t interrupt_registers;
    uint32_t aux_watermark;
    uint16_t max_stack, reserved;
    uint32_t aux_sample_size, aux_action;
    uint64_t signal_data;
};

#define PERF_ATTR_SIZE 128

_Static_assert(sizeof(struct perf_attr) == PERF_ATTR_SIZE, "same size as in the kernel");

#endif
