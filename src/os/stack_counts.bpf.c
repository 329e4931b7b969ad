/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
 *
 * What runs in the kernel at each sample of the eBPF sampler: counts the stack that is
 * running. stack_counts.c loads it and reads what was counted.
 *
 * Stacks are counted whole, as keys of a hash map: a map of stacks by their hash
 * (STACK_TRACE) loses those whose hashes collide. There are two such maps, and the
 * process says in which of them to count: the other one can then be read while nobody
 * changes it. For that, each CPU says when it begins and ends to count. */
#include "os/stack_counts_format.h"
#include <linux/bpf.h>
#include <linux/bpf_perf_event.h>
#include <stdbool.h>

#include <bpf/bpf_helpers.h> /* needs the types of those above */

struct short_key {
    char bytes[STACK_COUNTS_SHORT_KEY];
};

/* max_entries is set before the maps are created. */
struct short_map {
    __uint(type, BPF_MAP_TYPE_HASH);
    __type(key, struct short_key);
    __type(value, struct stack_count);
    __uint(max_entries, 1);
};

struct long_map {
    __uint(type, BPF_MAP_TYPE_HASH);
    __type(key, struct stack_counts_key);
    __type(value, struct stack_count);
    __uint(max_entries, 1);
};

struct short_map short_0 SEC(".maps"), short_1 SEC(".maps");
struct long_map long_0 SEC(".maps"), long_1 SEC(".maps");

/* A key is too large for the stack of an eBPF program. */
struct {
    __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
    __type(key, uint32_t);
    __type(value, struct stack_counts_key);
    __uint(max_entries, 1);
} rooms SEC(".maps");

/* Memory shared with the process that loads the program. */
struct stack_counts_cpu cpus[STACK_COUNTS_CPUS];
volatile uint32_t second; /* selects the map to count in */

#define HALF (STACK_COUNTS_FRAMES * sizeof(uint64_t))

/* Reads the frames of one kind; fills the rest of their half with 0. */
static __always_inline uint32_t read_frames(void *ctx, uint64_t *frames, uint64_t flags)
{
    long size = bpf_get_stack(ctx, frames, HALF, flags);
    return size > 0 ? (uint32_t)((uint64_t)size / sizeof *frames) : 0;
}

static __always_inline void read_stack(void *ctx, struct stack_counts_key *key)
{
    uint32_t user = read_frames(ctx, key->frames, BPF_F_USER_STACK);
    if (user > STACK_COUNTS_FRAMES) /* needed by the kernel's verifier */
        user = STACK_COUNTS_FRAMES;
    __builtin_memset(key->frames + STACK_COUNTS_FRAMES, 0, HALF);
    key->user_count = (uint16_t)user;
    key->kernel_count = (uint16_t)read_frames(ctx, key->frames + user, 0);
}

/* The CPU is part of the key, so no other CPU updates this entry. */
static __always_inline void count(void *map, const struct stack_counts_key *key,
                                  uint64_t period, struct stack_counts_cpu *cpu)
{
    uint64_t now = bpf_ktime_get_ns();
    struct stack_count *known = bpf_map_lookup_elem(map, key);
    if (known) {
        known->count++;
        known->period += period;
        known->last = now;
        return;
    }
    struct stack_count first = {1, period, now, now};
    if (bpf_map_update_elem(map, key, &first, BPF_ANY) != 0)
        cpu->lost++;
}

SEC("perf_event")
int count_stack(struct bpf_perf_event_data *ctx)
{
    uint32_t zero = 0, number = bpf_get_smp_processor_id();
    uint64_t task = bpf_get_current_pid_tgid();
    struct stack_counts_key *key = bpf_map_lookup_elem(&rooms, &zero);
    if (!key || number >= STACK_COUNTS_CPUS)
        return 0;
    struct stack_counts_cpu *cpu = &cpus[number];
    key->pid = (uint32_t)(task >> 32);
    key->tid = (uint32_t)task;
    key->cpu = number;
    read_stack(ctx, key);
    bool is_long = key->user_count + key->kernel_count > STACK_COUNTS_SHORT;
    /* before it reads which map to count in */
    __sync_lock_test_and_set(&cpu->counting, 1);
    if (second)
        count(is_long ? (void *)&long_1 : &short_1, key, ctx->sample_period, cpu);
    else
        count(is_long ? (void *)&long_0 : &short_0, key, ctx->sample_period, cpu);
    __sync_lock_test_and_set(&cpu->counting, 0);
    return 0; /* writes no record to the ring buffer */
}

char program_license[] SEC("license") = "GPL"; /* bpf_get_stack requires it */
