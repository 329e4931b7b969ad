/* SPDX-License-Identifier: Apache-2.0 */
#include "os/waits.h"
#include "os/bpf_program.h"
#include "os/kernel_fields.h"
#include "os/machine.h"
#include "os/waits_symbols.h"
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>
#include <waits.skel.h>

#define RING_SIZE (1u << 19)
#define LINES_SIZE ((size_t)64 << 10)

static bool fail(int why, struct error *err)
{
    return os_bpf_failed("finds waits", why, err);
}

/* --- Functions of the kernel ----------------------------------------------------------- */

static void take_lines(void *context, struct str lines)
{
    waits_symbols_read(context, lines);
}

static void read_symbols(struct waits_symbols *s)
{
    char *room = malloc(LINES_SIZE);
    if (room)
        os_read_lines("/proc/kallsyms", room, LINES_SIZE, take_lines, s);
    free(room);
    if (!s->schedule_end)
        s->schedule_start = 0;
}

/* --- Loading -------------------------------------------------------------------------- */

/* The state of a task has another name before Linux 5.14. */
static bool find_fields(struct waits_kernel *kernel, struct error *err)
{
    struct os_kernel_field fields[] = {{.structure = "task_struct", .member = "pid"},
                                       {.structure = "task_struct", .member = "__state"}};
    if (!os_kernel_fields(fields, 2, err)) {
        fields[1].member = "state";
        if (!os_kernel_fields(fields, 2, err))
            return false;
    }
    *kernel = (struct waits_kernel){fields[0].offset, fields[1].offset};
    return true;
}

/* The end of a switch: by the tracepoint, or else, before Linux 6.16, by the function. */
static bool attach_end(struct os_waits *w, const struct waits_symbols *s,
                       struct error *err)
{
    const struct waits_program *p = w->program;
    w->links[0] = bpf_program__attach(p->progs.end_switch);
    if (!w->links[0] && s->finish_switch[0])
        w->links[0] =
            bpf_program__attach_kprobe(p->progs.finish_switch, false, s->finish_switch);
    if (w->links[0])
        return true;
    error_set(err,
              "this kernel has neither the tracepoint sched_exit nor kprobes, which the "
              "recording of waits needs");
    return error_hint(err, "Linux 6.16, or one with CONFIG_KPROBES");
}

static bool attach(struct os_waits *w, const struct waits_symbols *s, struct error *err)
{
    const struct waits_program *p = w->program;
    const struct bpf_program *programs[] = {p->progs.follow_fork, p->progs.follow_end,
                                            p->progs.switch_task};
    if (!attach_end(w, s, err))
        return false;
    for (size_t i = 0; i < sizeof programs / sizeof *programs; i++) {
        w->links[i + 1] = bpf_program__attach(programs[i]);
        if (!w->links[i + 1])
            return fail(errno, err);
    }
    return true;
}

static int give(void *context, void *data, size_t size)
{
    struct os_waits *w = context;
    const size_t head = offsetof(struct waits_record, frames);
    struct waits_record r;
    if (size < head || size > sizeof r)
        return 0;
    memcpy(&r, data, size);
    size_t user = r.user_count, skipped = 0;
    if (user + r.kernel_count > (size - head) / sizeof *r.frames)
        return 0;
    /* the innermost frames are those of this program, up to the scheduler */
    for (size_t i = 0; i < r.kernel_count && !skipped; i++)
        if (r.frames[user + i] > w->schedule_start &&
            r.frames[user + i] < w->schedule_end)
            skipped = i;
    r.kernel_count = (uint16_t)(r.kernel_count - skipped);
    memmove(r.frames + user, r.frames + user + skipped,
            r.kernel_count * sizeof *r.frames);
    w->each(w->context, &r);
    return 0;
}

static bool load(struct os_waits *w, uint64_t threshold, struct error *err)
{
    struct waits_kernel kernel;
    if (os_cpus_possible() > WAITS_CPUS)
        return error_set(err, "this machine may have more than %d CPUs", WAITS_CPUS);
    if (!os_bpf_prepare(err))
        return false;
    if (!find_fields(&kernel, err))
        return false;
    struct waits_program *p = waits_program__open();
    w->program = p;
    if (!p)
        return fail(errno, err);
    p->rodata->kernel = kernel;
    p->bss->threshold = threshold;
    if (bpf_map__set_max_entries(p->maps.ring, RING_SIZE) != 0 ||
        waits_program__load(p) != 0)
        return fail(errno, err);
    w->ring = ring_buffer__new(bpf_map__fd(p->maps.ring), give, w, NULL);
    return w->ring || fail(errno, err);
}

bool os_waits_open(struct os_waits *w, uint64_t threshold, struct error *err)
{
    struct waits_symbols s = {.schedule_start = 0};
    read_symbols(&s);
    *w = (struct os_waits){.schedule_start = s.schedule_start,
                           .schedule_end = s.schedule_end};
    return load(w, threshold, err) && attach(w, &s, err);
}

void os_waits_close(struct os_waits *w)
{
    for (size_t i = 0; i < sizeof w->links / sizeof *w->links; i++)
        bpf_link__destroy(w->links[i]);
    ring_buffer__free(w->ring);
    waits_program__destroy(w->program);
    *w = (struct os_waits){.program = NULL};
}

bool os_waits_read(struct os_waits *w,
                   void (*each)(void *context, const struct waits_record *r),
                   void *context, struct error *err)
{
    w->each = each;
    w->context = context;
    int got = ring_buffer__consume(w->ring);
    return got >= 0 ||
           error_set(err, "cannot read waits from the kernel: %s", strerror(-got));
}

void os_waits_set_threshold(struct os_waits *w, uint64_t threshold)
{
    const struct waits_program *p = w->program;
    __atomic_store_n(&p->bss->threshold, threshold, __ATOMIC_RELAXED);
}

struct os_waits_counts os_waits_count(const struct os_waits *w)
{
    const struct waits_program *p = w->program;
    struct os_waits_counts n = {0};
    for (size_t i = 0; p && i < os_cpus_possible(); i++) {
        const struct waits_cpu *cpu = &p->bss->cpus[i];
        n.waits += __atomic_load_n(&cpu->count, __ATOMIC_RELAXED);
        n.length += __atomic_load_n(&cpu->length, __ATOMIC_RELAXED);
        n.lost += __atomic_load_n(&cpu->lost, __ATOMIC_RELAXED);
        n.lost_length += __atomic_load_n(&cpu->lost_length, __ATOMIC_RELAXED);
        n.full += __atomic_load_n(&cpu->full, __ATOMIC_RELAXED);
    }
    return n;
}
