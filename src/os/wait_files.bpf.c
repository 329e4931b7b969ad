/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
 *
 * What runs in the kernel when a thread leaves its CPU, and is not runnable: if it is in a system
 * call for an open file, it writes which file that is to the ring. wait_files.c loads it. The
 * record precedes those of the switch: off_cpu.c attaches it to the wait that begins. */
#include "os/wait_files_format.h"
#include <linux/bpf.h>
#include <linux/bpf_perf_event.h>
#include <linux/ptrace.h>
#include <linux/stat.h>
#include <stdbool.h>

#include "os/task_filter_format.h"
#include <bpf/bpf_helpers.h> /* needs the types of those above */

#define UNIX 1 /* address families of Linux */
#define INET 2
#define INET6 10

/* The loading process sets them (os/kernel_fields.h). */
const volatile struct wait_files_kernel kernel;

/* The set of task_filter.bpf.c. */
struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(map_flags, BPF_F_MMAPABLE);
    __type(key, uint32_t);
    __type(value, uint64_t);
    __uint(max_entries, TASK_FILTER_WORDS);
} targets SEC(".maps");

/* The counter of each CPU that files are written to. */
struct {
    __uint(type, BPF_MAP_TYPE_PERF_EVENT_ARRAY);
    __type(key, uint32_t);
    __type(value, uint32_t);
    __uint(max_entries, WAIT_FILES_CPUS);
} outputs SEC(".maps");

/* A record is too large for the stack of an eBPF program. */
struct {
    __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
    __type(key, uint32_t);
    __type(value, struct wait_file);
    __uint(max_entries, 1);
} rooms SEC(".maps");

static __always_inline bool is_target(uint32_t tid)
{
    uint32_t index = tid / 64;
    const uint64_t *word = bpf_map_lookup_elem(&targets, &index);
    return word && *word >> (tid % 64) & 1;
}

/* Fields of a structure of the kernel; 0 if they are not readable. */
static __always_inline uint32_t read_u32(const void *structure, uint32_t offset)
{
    uint32_t value = 0;
    bpf_probe_read_kernel(&value, sizeof value, (const char *)structure + offset);
    return value;
}

static __always_inline uint16_t read_u16(const void *structure, uint32_t offset)
{
    uint16_t value = 0;
    bpf_probe_read_kernel(&value, sizeof value, (const char *)structure + offset);
    return value;
}

static __always_inline uint64_t read_u64(const void *structure, uint32_t offset)
{
    uint64_t value = 0;
    bpf_probe_read_kernel(&value, sizeof value, (const char *)structure + offset);
    return value;
}

static __always_inline const void *read_pointer(const void *structure, uint32_t offset)
{
    return (const void *)read_u64(structure, offset);
}

/* The descriptor of a system call that waits for one file; -1: there is none. */
static __always_inline int descriptor_of(const void *registers)
{
    uint32_t number = read_u32(registers, kernel.call_number);
    uint64_t first = read_u64(registers, kernel.call_first);
    if ((read_u32(registers, kernel.mode_register) & kernel.mode_mask) !=
        kernel.mode_value)
        return -1; /* numbers of 32-bit processes differ */
    if (number >= WAIT_FILES_CALLS)
        return -1;
    if (kernel.calls[number / 64] >> (number % 64) & 1)
        return (int)first;
    bool one = read_u64(registers, kernel.call_second) == 1;
    int fd = -1; /* the first member of struct pollfd */
    if ((number == kernel.poll || number == kernel.ppoll) && one &&
        bpf_probe_read_user(&fd, sizeof fd, (const void *)first) != 0)
        fd = -1;
    return fd;
}

static __always_inline const void *file_of(const void *task, uint32_t fd)
{
    const void *table =
        read_pointer(read_pointer(task, kernel.task_files), kernel.files_table);
    if (!table || fd >= read_u32(table, kernel.table_count))
        return NULL;
    const void *files = read_pointer(table, kernel.table_files);
    return files ? read_pointer(files, fd * (uint32_t)sizeof(void *)) : NULL;
}

/* The address of a unix socket, or of the one that it is connected to. */
static __always_inline void read_unix(const void *sock, struct wait_file *f)
{
    const void *address = read_pointer(sock, kernel.unix_address);
    const void *peer = read_pointer(sock, kernel.unix_peer);
    if (!address && peer)
        address = read_pointer(peer, kernel.unix_address);
    if (!address)
        return;
    uint32_t length = read_u32(address, kernel.unix_length);
    if (length <= sizeof(uint16_t)) /* of the family */
        return;
    length -= sizeof(uint16_t);
    if (length > sizeof f->name)
        length = sizeof f->name;
    f->name_length = (uint8_t)length;
    bpf_probe_read_kernel(f->name, sizeof f->name,
                          (const char *)address + kernel.unix_name + sizeof(uint16_t));
}

static __always_inline void read_socket(const void *file, struct wait_file *f)
{
    const void *sock =
        read_pointer(read_pointer(file, kernel.file_data), kernel.socket_socket);
    if (!sock)
        return;
    f->family = read_u16(sock, kernel.socket_family);
    f->type = read_u16(sock, kernel.socket_type);
    f->protocol = read_u16(sock, kernel.socket_protocol);
    f->state = (uint8_t)read_u16(sock, kernel.socket_state);
    f->port = read_u16(sock, kernel.socket_port);
    f->peer_port = __builtin_bswap16(read_u16(sock, kernel.socket_peer_port));
    if (f->family == UNIX && kernel.has_unix)
        read_unix(sock, f);
    const char *from = sock;
    if (f->family == INET) {
        bpf_probe_read_kernel(f->address, 4, from + kernel.socket_address);
        bpf_probe_read_kernel(f->peer, 4, from + kernel.socket_peer);
    } else if (f->family == INET6 && kernel.socket_address6) {
        bpf_probe_read_kernel(f->address, 16, from + kernel.socket_address6);
        bpf_probe_read_kernel(f->peer, 16, from + kernel.socket_peer6);
    }
}

/* The names of the directories of an entry, as far as there is room. */
static __always_inline void read_path(const void *entry, struct wait_file *f)
{
    uint32_t used = 0;
    for (int i = 0; i < WAIT_FILES_DEPTH; i++) {
        const void *parent = read_pointer(entry, kernel.entry_parent);
        const void *above = read_pointer(parent, kernel.entry_parent);
        if (!parent || parent == above) {
            f->path_is_whole = parent != NULL;
            break;
        }
        if (used > WAIT_FILES_PATH - WAIT_FILES_NAME)
            break;
        long length = bpf_probe_read_kernel_str(f->path + used, WAIT_FILES_NAME,
                                                read_pointer(parent, kernel.entry_name));
        if (length <= 0 || length >= WAIT_FILES_NAME) /* longer ones are truncated */
            break;
        used += (uint32_t)length;
        entry = parent;
    }
    f->path_length = used;
}

static __always_inline void read_file(const void *file, struct wait_file *f)
{
    const void *inode = read_pointer(file, kernel.file_inode);
    f->inode = read_u64(inode, kernel.inode_number);
    f->mode = read_u16(inode, kernel.inode_mode);
    f->special_device = read_u32(inode, kernel.inode_device);
    f->device = read_u32(read_pointer(inode, kernel.inode_system), kernel.system_device);
    if (S_ISSOCK(f->mode) && kernel.has_sockets) {
        read_socket(file, f);
        return;
    }
    const void *entry = read_pointer(file, kernel.file_entry);
    bpf_probe_read_kernel_str(f->name, sizeof f->name,
                              read_pointer(entry, kernel.entry_name));
    if (S_ISREG(f->mode) || S_ISDIR(f->mode))
        read_path(entry, f);
}

/* Arguments: whether the kernel preempts, the task that leaves, which is the current one, and
 * the one that follows. */
SEC("raw_tp/sched_switch")
int write_file(struct bpf_raw_tracepoint_args *ctx)
{
    const void *from = (const void *)ctx->args[1];
    struct wait_file *f;
    uint32_t zero = 0;
    if (ctx->args[0] || read_u32(from, kernel.task_state) == 0)
        return 0;
    if (!kernel.every_thread && !is_target(read_u32(from, kernel.task_thread)) &&
        !is_target(read_u32(from, kernel.task_process)))
        return 0;
    int fd = descriptor_of((const void *)bpf_task_pt_regs(bpf_get_current_task_btf()));
    const void *file = fd >= 0 ? file_of(from, (uint32_t)fd) : NULL;
    if (!file)
        return 0;
    f = bpf_map_lookup_elem(&rooms, &zero);
    if (!f)
        return 0;
    __builtin_memset(f, 0, WAIT_FILES_HEAD);
    f->fd = (uint32_t)fd;
    read_file(file, f);
    uint64_t size = WAIT_FILES_HEAD + f->path_length;
    if (size > sizeof *f) /* needed by the kernel's verifier */
        size = sizeof *f;
    bpf_perf_event_output(ctx, &outputs, BPF_F_CURRENT_CPU, f, size);
    return 0;
}

char program_license[] SEC("license") = "GPL"; /* bpf_perf_event_output requires it */
