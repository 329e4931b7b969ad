/* SPDX-License-Identifier: Apache-2.0 */
#include "os/task_filter.h"
#include "os/bpf_program.h"
#include "os/kernel_fields.h"
#include <bpf/bpf.h>
#include <errno.h>
#include <sys/mman.h>
#include <task_filter.skel.h>

#define TARGETS_SIZE (TASK_FILTER_WORDS * sizeof(uint64_t))

static bool fail(int why, struct error *err)
{
    return os_bpf_failed("filters tasks", why, err);
}

/* Sets what the program knows about the kernel. */
static bool set_kernel(struct task_filter_program *p, struct error *err)
{
    struct os_kernel_field fields[] = {
        {.structure = "task_struct", .member = "pid"},
        {.structure = "task_struct", .member = "tgid"},
        {.structure = "trace_event_raw_sched_wakeup_template", .member = "pid"},
    };
    if (!os_kernel_fields(fields, sizeof fields / sizeof *fields, err))
        return false;
    p->rodata->kernel = (struct task_filter_kernel){
        .task_thread = fields[0].offset,
        .task_process = fields[1].offset,
        .waking_thread = fields[2].offset,
    };
    return true;
}

bool os_task_filter_open(struct os_task_filter *f, bool inherit, struct error *err)
{
    *f = (struct os_task_filter){.program = NULL};
    if (!os_bpf_prepare(err))
        return false;
    struct task_filter_program *p = task_filter_program__open();
    f->program = p;
    if (!p)
        return fail(errno, err);
    if (!set_kernel(p, err))
        return false;
    if (task_filter_program__load(p) != 0)
        return fail(errno, err);
    f->handle = bpf_program__fd(p->progs.filter_sample);
    void *map = mmap(NULL, TARGETS_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED,
                     bpf_map__fd(p->maps.targets), 0);
    if (map == MAP_FAILED)
        return fail(errno, err);
    f->targets = map;
    if (inherit)
        f->forks = bpf_program__attach(p->progs.follow_fork);
    return !inherit || f->forks || fail(errno, err);
}

void os_task_filter_close(struct os_task_filter *f)
{
    bpf_link__destroy(f->forks);
    bpf_link__destroy(f->wakings);
    if (f->targets)
        munmap(f->targets, TARGETS_SIZE);
    task_filter_program__destroy(f->program);
    *f = (struct os_task_filter){.program = NULL};
}

void os_task_filter_add(struct os_task_filter *f, uint32_t tid)
{
    if (tid < TASK_FILTER_TIDS)
        __atomic_fetch_or(&f->targets[tid / 64], (uint64_t)1 << tid % 64,
                          __ATOMIC_SEQ_CST);
}

void os_task_filter_add_all(struct os_task_filter *f)
{
    memset(f->targets, 0xff, TARGETS_SIZE);
}

int os_task_filter_targets(const struct os_task_filter *f)
{
    const struct task_filter_program *p = f->program;
    return bpf_map__fd(p->maps.targets);
}

bool os_task_filter_chain(struct os_task_filter *f, int program)
{
    const struct task_filter_program *p = f->program;
    uint32_t first = 0;
    int map = bpf_map__fd(p->maps.next);
    if (program)
        return bpf_map_update_elem(map, &first, &program, BPF_ANY) == 0;
    return bpf_map_delete_elem(map, &first) == 0 || errno == ENOENT;
}

bool os_task_filter_output(struct os_task_filter *f, uint32_t cpu, bool brief, int fd,
                           struct error *err)
{
    const struct task_filter_program *p = f->program;
    uint32_t index = brief ? cpu + TASK_FILTER_CPUS : cpu;
    if (cpu >= TASK_FILTER_CPUS)
        return error_set(err, "this machine has more than %d CPUs", TASK_FILTER_CPUS);
    if (bpf_map_update_elem(bpf_map__fd(p->maps.outputs), &index, &fd, BPF_ANY) != 0)
        return fail(errno, err);
    if (!f->wakings)
        f->wakings = bpf_program__attach(p->progs.write_waking);
    return f->wakings || fail(errno, err);
}
