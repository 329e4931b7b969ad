/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
 *
 * What runs in the kernel in front of the rings, if counters of all tasks take the samples of a
 * few targets: records of other tasks are not written. task_filter.c loads it.
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

#include <bpf/bpf_core_read.h>

#define KNOWN __attribute__((preserve_access_index))

/* The fields of the kernel's structures that are used; libbpf finds their offsets. */
struct task_struct {
    int pid;  /* of the thread */
    int tgid; /* of its process */
} KNOWN;

/* The data of the tracepoint. */
struct trace_event_raw_sched_wakeup_template {
    int pid; /* of the thread that is woken up */
} KNOWN;

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

/* The counter of each CPU that wake-ups are written to. */
struct {
    __uint(type, BPF_MAP_TYPE_PERF_EVENT_ARRAY);
    __type(key, uint32_t);
    __type(value, uint32_t);
    __uint(max_entries, TASK_FILTER_CPUS);
} outputs SEC(".maps");

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

/* Arguments: the parent, the new task. */
SEC("raw_tp/sched_process_fork")
int follow_fork(struct bpf_raw_tracepoint_args *ctx)
{
    const struct task_struct *parent = (const struct task_struct *)ctx->args[0];
    const struct task_struct *child = (const struct task_struct *)ctx->args[1];
    uint32_t from = (uint32_t)BPF_CORE_READ(parent, pid);
    uint32_t tid = (uint32_t)BPF_CORE_READ(child, pid);
    bool is = is_target(from) || is_target((uint32_t)BPF_CORE_READ(parent, tgid));
    uint64_t *word = word_of(tid), bit = (uint64_t)1 << (tid % 64);
    if (!word)
        return 0;
    if (is)
        __sync_fetch_and_or(word, bit);
    else if (*word & bit)
        __sync_fetch_and_and(word, ~bit);
    return 0;
}

/* The current task wakes up another one. Stacks of a raw tracepoint would begin with the frames
 * of this program. */
SEC("tp/sched/sched_waking")
int write_waking(struct trace_event_raw_sched_wakeup_template *ctx)
{
    uint32_t tid = (uint32_t)ctx->pid;
    if (is_target(tid))
        bpf_perf_event_output(ctx, &outputs, BPF_F_CURRENT_CPU, &tid, sizeof tid);
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
