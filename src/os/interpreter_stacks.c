/* SPDX-License-Identifier: Apache-2.0 */
#include "os/interpreter_stacks.h"
#include "os/bpf_program.h"
#include "os/kernel_fields.h"
#include "os/machine.h"
#include <bpf/bpf.h>
#include <errno.h>
#include <interpreter_stacks.skel.h>

static bool fail(int why, struct error *err)
{
    return os_bpf_failed("reads interpreters", why, err);
}

/* Sets what the program knows about the kernel. */
static bool set_kernel(struct interpreter_stacks_program *p, struct error *err)
{
    struct os_kernel_field fields[] = {
        {.structure = "task_struct", .member = "mm"},
        {.structure = "task_struct", .member = "thread"},
#if defined(__aarch64__)
        {.structure = "thread_struct", .member = "uw"}, /* begins with tp_value */
#else
        {.structure = "thread_struct", .member = "fsbase"},
#endif
    };
    if (!os_kernel_fields(fields, sizeof fields / sizeof *fields, err))
        return false;
    p->rodata->kernel = (struct interpreter_stacks_kernel){
        .task_memory = fields[0].offset,
        .task_thread_pointer = fields[1].offset + fields[2].offset,
    };
    return true;
}

static int take(void *context, void *data, size_t size)
{
    const struct os_interpreter_stacks *s = context;
    const struct interpreter_stacks_record *r = data;
    if (size >= sizeof *r &&
        r->count <= (size - sizeof *r) / sizeof(struct interpreter_walk_frame))
        s->each(s->context, r, (const struct interpreter_walk_frame *)(r + 1));
    return 0;
}

bool os_interpreter_stacks_open(struct os_interpreter_stacks *s,
                                const struct os_interpreter_stacks_settings *settings,
                                interpreter_stacks_each *each, void *context,
                                struct error *err)
{
    *s = (struct os_interpreter_stacks){.each = each, .context = context, .records = -1};
    if (!os_bpf_prepare(err))
        return false;
    struct interpreter_stacks_program *p = interpreter_stacks_program__open();
    s->program = p;
    if (!p)
        return fail(errno, err);
    if (!set_kernel(p, err))
        return false;
    p->rodata->wake_bytes = settings->room / 8;
    p->rodata->announce_second = settings->announce_second;
    if (bpf_map__set_max_entries(p->maps.records, settings->room) != 0)
        return fail(errno, err);
    if (interpreter_stacks_program__load(p) != 0)
        return fail(errno, err);
    s->handle = bpf_program__fd(p->progs.walk_interpreter);
    s->records = bpf_map__fd(p->maps.records);
    s->ring = ring_buffer__new(s->records, take, s, NULL);
    return s->ring || fail(errno, err);
}

void os_interpreter_stacks_close(struct os_interpreter_stacks *s)
{
    ring_buffer__free(s->ring);
    interpreter_stacks_program__destroy(s->program);
    *s = (struct os_interpreter_stacks){.records = -1};
}

void os_interpreter_stacks_read(struct os_interpreter_stacks *s)
{
    if (s->ring)
        ring_buffer__consume(s->ring);
}

void os_interpreter_stacks_set(struct os_interpreter_stacks *s, uint32_t pid,
                               const struct interpreter_stacks_process *process)
{
    const struct interpreter_stacks_program *p = s->program;
    bpf_map_update_elem(bpf_map__fd(p->maps.processes), &pid, process, BPF_ANY);
}

uint64_t os_interpreter_stacks_lost(const struct os_interpreter_stacks *s)
{
    const struct interpreter_stacks_program *p = s->program;
    uint64_t lost = 0;
    for (size_t i = 0; p && i < INTERPRETER_STACKS_CPUS; i++)
        lost += __atomic_load_n(&p->bss->cpus[i].lost, __ATOMIC_RELAXED);
    return lost;
}
