/* SPDX-License-Identifier: Apache-2.0 */
/* The events of Java's flight recordings that are samples, shared by the readers of recordings and of
 * jfr print's text. They are shown in this order. */
#ifndef STOKE_IMPORT_JFR_EVENTS_H
#define STOKE_IMPORT_JFR_EVENTS_H

#include "model/profile.h"

struct jfr_event {
    const char *class, *event, *weight; /* field of the weight; NULL: each is 1 */
    enum unit unit;
};

static const struct jfr_event jfr_events[] = {
    {"jdk.ExecutionSample", "cpu", NULL, UNIT_COUNT},
    {"jdk.CPUTimeSample", "cpu", NULL, UNIT_COUNT},
    {"profiler.WallClockSample", "wall", "samples", UNIT_COUNT},
    {"jdk.NativeMethodSample", "native", NULL, UNIT_COUNT},
    {"jdk.ObjectAllocationSample", "allocated", "weight", UNIT_BYTES},
    {"jdk.ObjectAllocationInNewTLAB", "allocated", "tlabSize", UNIT_BYTES},
    {"jdk.ObjectAllocationOutsideTLAB", "allocated", "allocationSize", UNIT_BYTES},
    {"jdk.JavaMonitorEnter", "lock", "duration", UNIT_NANOSECONDS},
    {"jdk.ThreadPark", "park", "duration", UNIT_NANOSECONDS},
};
#define JFR_EVENT_COUNT (sizeof jfr_events / sizeof *jfr_events)

#endif
