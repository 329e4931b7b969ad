/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
 *
 * The program that runs in the kernel before records are written to the rings, if
 * counters of all threads take the samples of a few targets: records of other threads
 * are not written. task_filter.c loads it.
 *
 * Another program writes the wake-ups of targets, and limits the number of whole stacks.
 *
 * The set of targets has a bit for each thread id. The process adds those that it records; each
 * fork sets the bit of the new task to that of its parent. So an id that is reused has the
 * right bit, and a task stays a target while it exits. Workers of io_uring are not reported as
 * forks: they are targets if the thread that leads their process is one. */
#include "os/task_filter_format.h"
#include <linux/bpf.h>
#include <linux/bpf_perf_event.h>
#include <stdbool.h>

#include <bpf/bpf_helpers.h> /* needs the types of those above */

/* The fields of the kernel's structures that are used. The loading process sets them
 * (os/kernel_fields.h). */
const volatile struct task_filter_kernel kernel;

/* Shared memory of the process that loads the program. */
struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(map_flags, BPF_F_MMAPABLE);
    __type(key, uint32_t);
    __type(value, uint64_t);
    __uint(max_entries, TASK_FILTER_WORDS);
} targets SEC(".maps");

/* The program that runs next at a sample of a target; empty: none. */
struct {
    __uint(type, BPF_MAP_TYPE_PROG_ARRAY);
    __type(key, uint32_t);
    __type(value, uint32_t);
    __uint(max_entries, 1);
} next SEC(".maps");

/* The counters of each CPU that wake-ups are written to: first those with whole stacks, then those
 * with short ones. */
struct {
    __uint(type, BPF_MAP_TYPE_PERF_EVENT_ARRAY);
    __type(key, uint32_t);
    __type(value, uint32_t);
    __uint(max_entries, 2 * TASK_FILTER_CPUS);
} outputs SEC(".maps");

/* How many wake-ups of a CPU had whole stacks since then. */
struct whole_stacks {
    uint64_t since;
    uint64_t count;
};

struct {
    __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
    __type(key, uint32_t);
    __type(value, struct whole_stacks);
    __uint(max_entries, 1);
} whole_stacks SEC(".maps");

static __always_inline uint64_t *word_of(uint32_t tid)
{
    uint32_t index = tid / 64;
    return bpf_map_lookup_elem(&targets, &index);
}

static __always_inline bool is_target(uint32_t tid)
{
    const uint64_t *word = word_of(tid);
    return word && *word >> (tid % 64) & 1;
}

/* A field of a structure of the kernel; 0 if it is not readable. */
static __always_inline uint32_t read_field(const void *structure, uint32_t offset)
{
    uint32_t value = 0;
    bpf_probe_read_kernel(&value, sizeof value, (const char *)structure + offset);
    return value;
}

/* Arguments: the parent, the new task. */
SEC("raw_tp/sched_process_fork")
int follow_fork(struct bpf_raw_tracepoint_args *ctx)
{
    const void *parent = (const void *)ctx->args[0];
    const void *child = (const void *)ctx->args[1];
    uint32_t tid = read_field(child, kernel.task_thread);
    bool is = is_target(read_field(parent, kernel.task_thread)) ||
              is_target(read_field(parent, kernel.task_process));
    uint64_t *word = word_of(tid), bit = (uint64_t)1 << (tid % 64);
    if (!word)
        return 0;
    if (is)
        __sync_fetch_and_or(word, bit);
    else if (*word & bit)
        __sync_fetch_and_and(word, ~bit);
    return 0;
}

static __always_inline bool gets_whole_stack(void)
{
    uint32_t first = 0;
    uint64_t now = bpf_ktime_get_ns();
    struct whole_stacks *w = bpf_map_lookup_elem(&whole_stacks, &first);
    if (!w)
        return true;
    if (now - w->since > TASK_FILTER_SPAN) {
        w->since = now;
        w->count = 0;
    }
    return w->count++ < TASK_FILTER_WHOLE;
}

/* The current task wakes up another one. Stacks of a raw tracepoint would begin with the frames
 * of this program. */
SEC("tp/sched/sched_waking")
int write_waking(void *ctx)
{
    uint32_t tid = read_field(ctx, kernel.waking_thread);
    uint64_t cpu = bpf_get_smp_processor_id();
    if (!is_target(tid) || cpu >= TASK_FILTER_CPUS)
        return 1;
    uint64_t output = gets_whole_stack() ? cpu : cpu + TASK_FILTER_CPUS;
    bpf_perf_event_output(ctx, &outputs, output, &tid, sizeof tid);
    return 1; /* other counters of this tracepoint get their sample */
}

SEC("perf_event")
int filter_sample(struct bpf_perf_event_data *ctx)
{
    uint64_t both = bpf_get_current_pid_tgid();
    if (!is_target((uint32_t)both) && !is_target((uint32_t)(both >> 32)))
        return 0; /* the sample is not written */
    bpf_tail_call(ctx, &next, 0);
    return 1;
}

char program_license[] SEC("license") = "GPL"; /* bpf_perf_event_output requires it */
