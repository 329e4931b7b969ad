/* SPDX-License-Identifier: Apache-2.0 */
#include "os/perf_event.h"
#include <errno.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

/* struct perf_attr must have the layout of the kernel's struct. */
#define SAME(ours, theirs)                                       \
    _Static_assert(offsetof(struct perf_attr, ours) ==           \
                       offsetof(struct perf_event_attr, theirs), \
                   #ours)

SAME(type, type);
SAME(size, size);
SAME(config, config);
SAME(period, sample_period);
SAME(sample_type, sample_type);
SAME(read_format, read_format);
SAME(wakeup, wakeup_events);
SAME(breakpoint_type, bp_type);
SAME(config1, config1);
SAME(config2, config2);
SAME(branch_type, branch_sample_type);
SAME(user_registers, sample_regs_user);
SAME(stack_size, sample_stack_user);
SAME(clock, clockid);
SAME(interrupt_registers, sample_regs_intr);
SAME(aux_watermark, aux_watermark);
SAME(max_stack, sample_max_stack);
SAME(aux_sample_size, aux_sample_size);
SAME(signal_data, sig_data);

static int open_counter(const struct perf_attr *attr, pid_t pid, int cpu, int leader,
                        unsigned long flags)
{
    long fd = syscall(SYS_perf_event_open, attr, pid, cpu, leader,
                      flags | PERF_FLAG_FD_CLOEXEC);
    return fd < 0 ? -errno : (int)fd;
}

int os_perf_open(const struct perf_attr *attr, int64_t tid, int cpu)
{
    return open_counter(attr, (pid_t)tid, cpu, -1, 0);
}

int os_perf_open_in(const struct perf_attr *attr, int64_t tid, int cpu, int leader)
{
    return open_counter(attr, (pid_t)tid, cpu, leader, 0);
}

int os_perf_open_cgroup(const struct perf_attr *attr, int cgroup, int cpu, int leader)
{
    return open_counter(attr, cgroup, cpu, leader, PERF_FLAG_PID_CGROUP);
}

bool os_perf_id(int fd, uint64_t *id)
{
    return ioctl(fd, PERF_EVENT_IOC_ID, id) == 0;
}

bool os_perf_enable(int fd)
{
    return ioctl(fd, PERF_EVENT_IOC_ENABLE, 0) == 0;
}

bool os_perf_enable_for(int fd, int samples)
{
    return ioctl(fd, PERF_EVENT_IOC_REFRESH, samples) == 0;
}

bool os_perf_disable(int fd)
{
    return ioctl(fd, PERF_EVENT_IOC_DISABLE, 0) == 0;
}

bool os_perf_restart(int fd, uint64_t period)
{
    return ioctl(fd, PERF_EVENT_IOC_PERIOD, &period) == 0;
}

bool os_perf_redirect(int fd, int into)
{
    return ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, into) == 0;
}

bool os_perf_attach(int fd, int program)
{
    return ioctl(fd, PERF_EVENT_IOC_SET_BPF, program) == 0;
}

bool os_perf_filter(int fd, const char *filter)
{
    return ioctl(fd, PERF_EVENT_IOC_SET_FILTER, filter) == 0;
}

bool os_perf_read(int fd, struct os_perf_state *state)
{
    /* the count, the time enabled, the number of lost records */
    uint64_t words[3] = {0, 0, 0};
    if (read(fd, words, sizeof words) < (ssize_t)(2 * sizeof *words))
        return false;
    *state = (struct os_perf_state){words[1], words[2]};
    return true;
}

bool os_perf_count(int fd, struct os_perf_count *count)
{
    return read(fd, count, sizeof *count) == (ssize_t)sizeof *count;
}

/* --- Rings ------------------------------------------------------------------------- */

bool os_perf_ring_open(struct os_perf_ring *r, int fd, size_t size, int *why)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    *r = (struct os_perf_ring){.map_size = page + size, .size = size};
    r->joined = malloc(UINT16_MAX + 1);
    r->map = r->joined
                 ? mmap(NULL, r->map_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0)
                 : MAP_FAILED;
    if (r->map != MAP_FAILED) {
        r->data = (const char *)r->map + page;
        return true;
    }
    *why = r->joined ? errno : ENOMEM;
    r->map = NULL;
    os_perf_ring_close(r);
    return false;
}

void os_perf_ring_close(struct os_perf_ring *r)
{
    if (r->map)
        munmap(r->map, r->map_size);
    free(r->joined);
    *r = (struct os_perf_ring){0};
}

void os_perf_ring_begin(struct os_perf_ring *r)
{
    const struct perf_event_mmap_page *page = r->map;
    r->head = __atomic_load_n(&page->data_head, __ATOMIC_ACQUIRE);
    r->at = r->tail;
}

/* Copies bytes out of the ring buffer, across its end if necessary. */
static void copy_out(const struct os_perf_ring *r, char *into, size_t size)
{
    size_t from = (size_t)(r->at & (r->size - 1));
    size_t first = r->size - from < size ? (size_t)(r->size - from) : size;
    memcpy(into, r->data + from, first);
    memcpy(into + first, r->data, size - first);
}

bool os_perf_ring_peek(struct os_perf_ring *r, struct str *record)
{
    struct perf_event_header header;
    uint64_t left = r->head - r->at, from = r->at & (r->size - 1);
    if (left < sizeof header)
        return false;
    copy_out(r, (char *)&header, sizeof header);
    if (header.size < sizeof header || header.size > left) {
        r->at = r->head; /* a corrupt record: the next one cannot be found */
        return false;
    }
    *record = (struct str){r->data + from, header.size};
    if (from + header.size <= r->size)
        return true;
    copy_out(r, r->joined, header.size);
    record->ptr = r->joined;
    return true;
}

void os_perf_ring_consume(struct os_perf_ring *r, struct str record)
{
    r->at += record.len;
}

void os_perf_ring_release(struct os_perf_ring *r)
{
    struct perf_event_mmap_page *page = r->map;
    if (r->at == r->tail)
        return;
    r->tail = r->at;
    __atomic_store_n(&page->data_tail, r->tail, __ATOMIC_RELEASE);
}
