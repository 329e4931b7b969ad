/* SPDX-License-Identifier: Apache-2.0 */
/* Why the kernel refuses a counter, and what the user can do about it. */
#ifndef STOKE_RECORD_REFUSAL_H
#define STOKE_RECORD_REFUSAL_H

#include "record/perf_sampler.h"

/* Fills err for an errno of perf_event_open. Always false. */
bool record_refusal(const struct perf_sampler_settings *settings, size_t event, int why,
                    struct error *err);

/* The same for a filter that the kernel rejects. */
bool record_refusal_filter(const struct perf_sampler_settings *settings, size_t event,
                           int why, struct error *err);

/* The same for the memory of the rings. */
bool record_refusal_ring(size_t size, int why, struct error *err);

/* The value of kernel.perf_event_paranoid; 2 if it cannot be read. */
int record_paranoid(void);

/* Samples per second that the kernel allows (kernel.perf_event_max_sample_rate); UINT32_MAX if it
 * cannot be read. */
uint32_t record_rate_most(void);

#endif
