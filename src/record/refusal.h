/* SPDX-License-Identifier: Apache-2.0 */
/* Why the kernel does not open a counter, and what the user can do about it. */
#ifndef STOKE_RECORD_REFUSAL_H
#define STOKE_RECORD_REFUSAL_H

#include "record/perf_sampler.h"

/* Fills err for the errno that perf_event_open gave. Always false. */
bool record_refusal(const struct perf_sampler_settings *settings, size_t event, int why,
                    struct error *err);

/* The same for a filter that it does not take. */
bool record_refusal_filter(const struct perf_sampler_settings *settings, size_t event,
                           int why, struct error *err);

/* The same for the memory of the rings. */
bool record_refusal_ring(size_t size, int why, struct error *err);

/* The value of kernel.perf_event_paranoid; 2 where it cannot be read. */
int record_paranoid(void);

/* Samples a second that the kernel gives at most (kernel.perf_event_max_sample_rate);
 * UINT32_MAX where it does not tell. */
uint32_t record_rate_most(void);

#endif
