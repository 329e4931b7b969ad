/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
 *
 * What runs in the kernel to find long waits: waits.c loads it.
 *
 * A thread that leaves its CPU gets an entry with the time. When a CPU switches to it again, the
 * wait is over; only if it was long enough, its stack is read and written to the ring. The stack is
 * that of the wait, because the thread still is where it left. It can be read only once the CPU
 * has switched, in the context of that thread: at the tracepoint at the end of a switch (Linux 6.16),
 * or at the function that ends each switch. */
#include "os/waits_format.h"
#include <linux/bpf.h>
#include <linux/bpf_perf_event.h>
#include <stdbool.h>

#include <bpf/bpf_helpers.h> /* needs the types of those above */

/* The loading process sets them (os/kernel_fields.h). */
const volatile struct waits_kernel kernel;

/* Memory shared with the process that loads the program. */
volatile uint64_t threshold; /* ns */
struct waits_cpu cpus[WAITS_CPUS];

struct {
    __uint(type, BPF_MAP_TYPE_HASH);
    __type(key, uint32_t);
    __type(value, uint64_t);
    __uint(max_entries, WAITS_THREADS);
} left SEC(".maps");

/* max_entries is set before the maps are created. */
struct {
    __uint(type, BPF_MAP_TYPE_RINGBUF);
    __uint(max_entries, 4096);
} ring SEC(".maps");

/* A record is too large for the stack of an eBPF program. */
struct {
    __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
    __type(key, uint32_t);
    __type(value, struct waits_record);
    __uint(max_entries, 1);
} rooms SEC(".maps");

#define HALF (WAITS_FRAMES * sizeof(uint64_t))
#define PREEMPTED 1u /* the lowest bit of the time of an entry */

/* A field of a structure of the kernel; 0 if it is not readable. */
static __always_inline uint32_t read_field(const void *structure, uint32_t offset)
{
    uint32_t value = 0;
    bpf_probe_read_kernel(&value, sizeof value, (const char *)structure + offset);
    return value;
}

/* Arguments: whether the kernel preempts, the task that leaves, the one that follows. */
SEC("raw_tp/sched_switch")
int switch_task(struct bpf_raw_tracepoint_args *ctx)
{
    const void *from = (const void *)ctx->args[1], *to = (const void *)ctx->args[2];
    uint32_t number = bpf_get_smp_processor_id();
    uint32_t leaves = read_field(from, kernel.task_thread);
    uint32_t returns = read_field(to, kernel.task_thread);
    uint64_t now = bpf_ktime_get_ns();
    if (number >= WAITS_CPUS)
        return 0;
    struct waits_cpu *cpu = &cpus[number];
    cpu->since = 0;
    if (leaves) {
        bool runs = ctx->args[0] || read_field(from, kernel.task_state) == 0;
        uint64_t entry = (now & ~(uint64_t)PREEMPTED) | (runs ? PREEMPTED : 0);
        if (bpf_map_update_elem(&left, &leaves, &entry, BPF_ANY) != 0)
            cpu->full++;
    }
    uint64_t *since = returns ? bpf_map_lookup_elem(&left, &returns) : NULL;
    if (!since)
        return 0;
    if (now > *since && now - *since >= threshold)
        cpu->since = *since;
    bpf_map_delete_elem(&left, &returns);
    return 0;
}

static __always_inline uint32_t read_frames(void *ctx, uint64_t *frames, uint64_t flags)
{
    long size = bpf_get_stack(ctx, frames, HALF, flags);
    return size > 0 ? (uint32_t)((uint64_t)size / sizeof *frames) : 0;
}

/* Reads the stack, and returns the size of the record. */
static __always_inline uint32_t read_stack(void *ctx, struct waits_record *r)
{
    uint32_t user = read_frames(ctx, r->frames, BPF_F_USER_STACK);
    if (user > WAITS_FRAMES) /* needed by the kernel's verifier */
        user = WAITS_FRAMES;
    uint32_t of_kernel = read_frames(ctx, r->frames + user, 0);
    if (of_kernel > WAITS_FRAMES)
        of_kernel = WAITS_FRAMES;
    r->user_count = (uint16_t)user;
    r->kernel_count = (uint16_t)of_kernel;
    return __builtin_offsetof(struct waits_record, frames) +
           (uint32_t)sizeof(uint64_t) * (user + of_kernel);
}

/* The current thread has returned to its CPU. */
static __always_inline int end_wait(void *ctx)
{
    uint32_t zero = 0, number = bpf_get_smp_processor_id();
    if (number >= WAITS_CPUS)
        return 0;
    struct waits_cpu *cpu = &cpus[number];
    uint64_t since = cpu->since, task = bpf_get_current_pid_tgid();
    if (!since)
        return 0;
    cpu->since = 0;
    struct waits_record *r = bpf_map_lookup_elem(&rooms, &zero);
    if (!r)
        return 0;
    r->time = bpf_ktime_get_ns();
    r->is_preempted = since & PREEMPTED;
    r->length = r->time - (since & ~(uint64_t)PREEMPTED);
    r->pid = (uint32_t)(task >> 32);
    r->tid = (uint32_t)task;
    r->cpu = number;
    uint32_t size = read_stack(ctx, r);
    if (size > sizeof *r)
        return 0;
    if (bpf_ringbuf_output(&ring, r, size, BPF_RB_NO_WAKEUP) == 0) {
        cpu->count++;
        cpu->length += r->length;
    } else {
        cpu->lost++;
        cpu->lost_length += r->length;
    }
    return 0;
}

SEC("raw_tp/sched_exit_tp")
int end_switch(struct bpf_raw_tracepoint_args *ctx)
{
    return end_wait(ctx);
}

SEC("kprobe")
int finish_switch(struct pt_regs *ctx)
{
    return end_wait(ctx);
}

static __always_inline void forget(const void *task)
{
    uint32_t tid = read_field(task, kernel.task_thread);
    bpf_map_delete_elem(&left, &tid);
}

/* Arguments: the parent, the new task, whose id may be that of one that has ended. */
SEC("raw_tp/sched_process_fork")
int follow_fork(struct bpf_raw_tracepoint_args *ctx)
{
    forget((const void *)ctx->args[1]);
    return 0;
}

/* Argument: a task that has ended. */
SEC("raw_tp/sched_process_free")
int follow_end(struct bpf_raw_tracepoint_args *ctx)
{
    forget((const void *)ctx->args[0]);
    return 0;
}

char program_license[] SEC("license") = "GPL"; /* bpf_get_stack requires it */
