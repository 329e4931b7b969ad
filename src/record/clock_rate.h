/* SPDX-License-Identifier: Apache-2.0 */
/* The rates of clocks that this machine serves: the highest one, and one that costs little.
 *
 * Each sample of a clock (cpu-clock, task-clock) is a timer interrupt of the sampled thread. It
 * takes some microseconds, in a virtual machine 20 and more: at 100,000 samples per second,
 * interrupts follow each other, and the thread does nothing else. The kernel limits the CPU time
 * of the interrupts that hardware counters cause (kernel.perf_cpu_time_max_percent), but not of
 * those that clocks cause: the recorder applies the same limit to clocks. */
#ifndef STOKE_RECORD_CLOCK_RATE_H
#define STOKE_RECORD_CLOCK_RATE_H

#include "record/perf_sampler.h"

/* Limits clocks with a high rate or a short period to the rate that is measured on this thread,
 * which takes some 20 ms. Returns this rate; 0 if nothing was changed. */
uint32_t record_limit_clocks(struct perf_sampler_settings *set);

/* The rate of -F auto: the highest of 997, 499 and 199 Hz whose samples of one busy CPU, with stacks
 * of that kind, take at most 0.5 % of it, in the interrupt and in the recorder; else 99 Hz. The
 * interrupt is measured on this thread, which takes 2 to 5 ms; 99 Hz if it cannot be measured. */
uint32_t record_cheap_rate(enum record_stacks stacks);

#endif
