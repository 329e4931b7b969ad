/* SPDX-License-Identifier: Apache-2.0 */
#include "os/stack_counts.h"
#include "os/bpf_program.h"
#include "os/machine.h"
#include <bpf/bpf.h>
#include <errno.h>
#include <sched.h>
#include <stack_counts.skel.h>
#include <stdlib.h>

#define READ_AT_ONCE 128

static bool fail(int why, struct error *err)
{
    return os_bpf_failed("counts stacks", why, err);
}

static bool load(struct stack_counts_program *p, uint32_t room, struct error *err)
{
    if (bpf_map__set_max_entries(p->maps.short_0, room) != 0 ||
        bpf_map__set_max_entries(p->maps.short_1, room) != 0 ||
        bpf_map__set_max_entries(p->maps.long_0, room) != 0 ||
        bpf_map__set_max_entries(p->maps.long_1, room) != 0 ||
        stack_counts_program__load(p) != 0)
        return fail(errno, err);
    return true;
}

static void drop_stack(void *context, const struct stack_counts_key *key,
                       const struct stack_count *count)
{
    (void)context, (void)key, (void)count;
}

bool os_stack_counts_open(struct os_stack_counts *c, uint32_t room, struct error *err)
{
    *c = (struct os_stack_counts){.cpus = (uint32_t)os_cpus_possible()};
    if (c->cpus > STACK_COUNTS_CPUS)
        return error_set(err, "this machine may have more than %d CPUs",
                         STACK_COUNTS_CPUS);
    if (!os_bpf_prepare(err))
        return false;
    c->keys = malloc(READ_AT_ONCE * sizeof(struct stack_counts_key));
    c->values = malloc(READ_AT_ONCE * sizeof *c->values);
    if (!c->keys || !c->values)
        return error_memory(err);
    struct stack_counts_program *p = stack_counts_program__open();
    c->program = p;
    if (!p)
        return fail(errno, err);
    if (!load(p, room, err))
        return false;
    c->handle = bpf_program__fd(p->progs.count_stack);
    /* checks now whether this kernel supports batched reads of maps */
    return os_stack_counts_read(c, drop_stack, NULL, err);
}

void os_stack_counts_close(struct os_stack_counts *c)
{
    stack_counts_program__destroy(c->program);
    free(c->keys);
    free(c->values);
    *c = (struct os_stack_counts){0};
}

/* Waits until no CPU counts in the inactive map: until each CPU was seen idle once. A
 * CPU counts for microseconds. */
static void wait_for_cpus(const struct os_stack_counts *c)
{
    const struct stack_counts_program *p = c->program;
    for (uint32_t i = 0; i < c->cpus; i++)
        while (__atomic_load_n(&p->bss->cpus[i].counting, __ATOMIC_ACQUIRE))
            sched_yield();
}

/* Reads and clears the inactive map. */
static bool read_map(struct os_stack_counts *c, const struct bpf_map *map,
                     stack_counts_each *each, void *context, struct error *err)
{
    uint32_t cursor, count;
    size_t size = bpf_map__key_size(map);
    const char *keys = c->keys;
    int failed = 0;
    for (bool first = true; !failed; first = false) {
        count = READ_AT_ONCE;
        failed =
            bpf_map_lookup_and_delete_batch(bpf_map__fd(map), first ? NULL : &cursor,
                                            &cursor, c->keys, c->values, &count, NULL);
        if (failed && errno != ENOENT) /* ENOENT is the end of the map */
            return error_set(err, "cannot read the stack counts from the kernel: %s",
                             strerror(errno));
        for (uint32_t i = 0; i < count; i++)
            each(context, (const struct stack_counts_key *)(keys + i * size),
                 &c->values[i]);
    }
    return true;
}

bool os_stack_counts_read(struct os_stack_counts *c, stack_counts_each *each,
                          void *context, struct error *err)
{
    const struct stack_counts_program *p = c->program;
    uint32_t left = p->bss->second;
    __atomic_store_n(&p->bss->second, !left, __ATOMIC_SEQ_CST);
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    wait_for_cpus(c);
    return read_map(c, left ? p->maps.short_1 : p->maps.short_0, each, context, err) &&
           read_map(c, left ? p->maps.long_1 : p->maps.long_0, each, context, err);
}

uint64_t os_stack_counts_lost(const struct os_stack_counts *c)
{
    const struct stack_counts_program *p = c->program;
    uint64_t lost = 0;
    for (uint32_t i = 0; p && i < c->cpus; i++)
        lost += __atomic_load_n(&p->bss->cpus[i].lost, __ATOMIC_RELAXED);
    return lost;
}
