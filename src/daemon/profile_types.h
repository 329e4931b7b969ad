/* SPDX-License-Identifier: Apache-2.0 */
/* The profile types of Pyroscope: NAME:SAMPLE_TYPE:UNIT:PERIOD_TYPE:UNIT, such as
 * process_cpu:cpu:nanoseconds:cpu:nanoseconds. Each event of a profile has one. */
#ifndef STOKE_DAEMON_PROFILE_TYPES_H
#define STOKE_DAEMON_PROFILE_TYPES_H

#include "model/profile.h"

#define PROFILE_TYPE_SIZE 700

struct profile_type {
    struct str name, sample, unit, period,
        period_unit; /* views of the profile, or literals */
    char id[PROFILE_TYPE_SIZE];
};

void profile_type_of(const struct profile *p, event_id event, struct profile_type *type);

/* The type of CPU time. */
void profile_type_cpu(struct profile_type *type);

/* Retains the samples of that type, as event 1. False when out of memory. */
bool profile_type_retain(struct profile *p, struct str id);

#endif
