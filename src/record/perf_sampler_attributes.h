/* SPDX-License-Identifier: Apache-2.0 */
/* What the sampler of counters requests of the kernel, as its settings require: the attributes of
 * counters, and the size of rings. Only perf_sampler.c needs it; questions of other modules, such as
 * whether the machine has an event, are in perf_sampler.h and answered here. */
#ifndef STOKE_RECORD_PERF_SAMPLER_ATTRIBUTES_H
#define STOKE_RECORD_PERF_SAMPLER_ATTRIBUTES_H

#include "record/perf_sampler.h"

/* Flags of the first counter of the targets: it reports processes and mappings. */
#define PERF_SAMPLER_TRACKING                                                  \
    (PERF_FLAG_MMAP | PERF_FLAG_MMAP2 | PERF_FLAG_COMM | PERF_FLAG_COMM_EXEC | \
     PERF_FLAG_TASK | PERF_FLAG_KSYMBOL | PERF_FLAG_BUILD_ID)

/* All bits of the requested precision. */
#define PERF_SAMPLER_PRECISION ((uint64_t)3 << PERF_FLAG_PRECISE_SHIFT)

/* Bytes of a ring that users may lock without rights. */
#define PERF_SAMPLER_RING_LEAST ((size_t)32 << 10)

/* PERF_SAMPLE_* of all samples. */
uint64_t perf_sampler_fields(const struct perf_sampler_settings *settings);

/* How many registers a sample with a dump has. */
size_t perf_sampler_registers(void);

/* The attributes of an event's counter; `wakeup` is not set. */
struct perf_attr perf_sampler_attr(const struct perf_sampler *s, size_t event);

/* The leader of the event's group; the event itself if it is the leader, or in no group. */
size_t perf_sampler_leader(const struct perf_sampler *s, size_t event);

/* Whether the kernel samples each occurrence of the event, however many there are. */
bool perf_sampler_is_unrated(const struct record_event *e);

/* Bytes of the ring of a CPU: a power of two. */
size_t perf_sampler_ring_size(const struct perf_sampler_settings *set);

/* Whether the rings, with whole dumps of each switch of threads, would soon be full. The machine made
 * that many switches in that many ns, more than 0. */
bool perf_sampler_fills_rings(const struct perf_sampler *s, uint64_t switches,
                              uint64_t time);

#endif
