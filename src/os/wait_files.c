/* SPDX-License-Identifier: Apache-2.0 */
#include "os/wait_files.h"
#include "os/bpf_program.h"
#include "os/kernel_fields.h"
#include <asm/ptrace.h>
#include <bpf/bpf.h>
#include <errno.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <wait_files.skel.h>

/* System calls that wait for the file whose descriptor is their first argument. */
static const uint32_t calls[] = {
    SYS_read,       SYS_write,           SYS_pread64,   SYS_pwrite64,
    SYS_readv,      SYS_writev,          SYS_preadv,    SYS_pwritev,
    SYS_preadv2,    SYS_pwritev2,        SYS_fsync,     SYS_fdatasync,
    SYS_syncfs,     SYS_sync_file_range, SYS_fallocate, SYS_ftruncate,
    SYS_getdents64, SYS_recvfrom,        SYS_sendto,    SYS_recvmsg,
    SYS_sendmsg,    SYS_recvmmsg,        SYS_sendmmsg,  SYS_accept,
    SYS_accept4,    SYS_connect,         SYS_sendfile,  SYS_splice,
    SYS_tee,        SYS_vmsplice,        SYS_ioctl,     SYS_flock,
    SYS_fcntl,      SYS_epoll_pwait,     SYS_readahead, SYS_copy_file_range,
    SYS_close,      SYS_fadvise64,
#ifdef SYS_epoll_wait
    SYS_epoll_wait, SYS_getdents,
#endif
};

static bool fail(int why, struct error *err)
{
    return os_bpf_failed("finds the files that threads wait for", why, err);
}

/* --- The kernel's structures ----------------------------------------------------------- */

/* A field, and what its offset is added to. */
struct field_offset {
    struct os_kernel_field field;
    uint32_t *to; /* a member of a member adds to it */
};

static bool find_offsets(const struct field_offset *offsets, size_t count,
                         struct error *err)
{
    struct os_kernel_field fields[24];
    for (size_t i = 0; i < count; i++)
        fields[i] = offsets[i].field;
    if (!os_kernel_fields(fields, count, err))
        return false;
    for (size_t i = 0; i < count; i++)
        *offsets[i].to += fields[i].offset;
    return true;
}

#define OFFSETS(offsets) (offsets), sizeof(offsets) / sizeof *(offsets)

static bool find_files(struct wait_files_kernel *k, struct error *err)
{
    const struct field_offset offsets[] = {
        {{"task_struct", "pid", 0}, &k->task_thread},
        {{"task_struct", "tgid", 0}, &k->task_process},
        {{"task_struct", "__state", 0}, &k->task_state},
        {{"task_struct", "files", 0}, &k->task_files},
        {{"files_struct", "fdt", 0}, &k->files_table},
        {{"fdtable", "max_fds", 0}, &k->table_count},
        {{"fdtable", "fd", 0}, &k->table_files},
        {{"file", "f_inode", 0}, &k->file_inode},
        {{"file", "private_data", 0}, &k->file_data},
        {{"file", "f_path", 0}, &k->file_entry},
        {{"path", "dentry", 0}, &k->file_entry},
        {{"inode", "i_ino", 0}, &k->inode_number},
        {{"inode", "i_mode", 0}, &k->inode_mode},
        {{"inode", "i_rdev", 0}, &k->inode_device},
        {{"inode", "i_sb", 0}, &k->inode_system},
        {{"super_block", "s_dev", 0}, &k->system_device},
        {{"dentry", "d_parent", 0}, &k->entry_parent},
        {{"dentry", "d_name", 0}, &k->entry_name},
        {{"qstr", "name", 0}, &k->entry_name},
    };
    return find_offsets(OFFSETS(offsets), err);
}

/* A kernel may have no network, or another layout: then sockets have no addresses. */
static void find_sockets(struct wait_files_kernel *k)
{
    const struct field_offset offsets[] = {
        {{"socket", "sk", 0}, &k->socket_socket},
        {{"sock", "sk_type", 0}, &k->socket_type},
        {{"sock", "sk_protocol", 0}, &k->socket_protocol},
        {{"sock_common", "skc_family", 0}, &k->socket_family},
        {{"sock_common", "skc_state", 0}, &k->socket_state},
        {{"sock_common", "skc_rcv_saddr", 0}, &k->socket_address},
        {{"sock_common", "skc_daddr", 0}, &k->socket_peer},
        {{"sock_common", "skc_num", 0}, &k->socket_port},
        {{"sock_common", "skc_dport", 0}, &k->socket_peer_port},
    };
    const struct field_offset of_ipv6[] = {
        {{"sock_common", "skc_v6_rcv_saddr", 0}, &k->socket_address6},
        {{"sock_common", "skc_v6_daddr", 0}, &k->socket_peer6},
    };
    const struct field_offset of_unix[] = {
        {{"unix_sock", "addr", 0}, &k->unix_address},
        {{"unix_sock", "peer", 0}, &k->unix_peer},
        {{"unix_address", "len", 0}, &k->unix_length},
        {{"unix_address", "name", 0}, &k->unix_name},
    };
    struct error ignored;
    k->has_sockets = find_offsets(OFFSETS(offsets), &ignored);
    k->has_unix = k->has_sockets && find_offsets(OFFSETS(of_unix), &ignored);
    if (k->has_sockets)
        find_offsets(OFFSETS(of_ipv6), &ignored);
}

/* --- System calls ---------------------------------------------------------------------- */

#ifdef __x86_64__
#define USER_CODE_64 0x33 /* the code segment of 64-bit processes */

static bool find_registers(struct wait_files_kernel *k, struct error *err)
{
    (void)err;
    k->call_number = offsetof(struct pt_regs, orig_rax);
    k->call_first = offsetof(struct pt_regs, rdi);
    k->call_second = offsetof(struct pt_regs, rsi);
    k->mode_register = offsetof(struct pt_regs, cs);
    k->mode_mask = 0xffff;
    k->mode_value = USER_CODE_64;
    k->poll = SYS_poll;
    return true;
}
#else
#define PSTATE_32 0x10 /* the process executes 32-bit instructions */

static bool find_registers(struct wait_files_kernel *k, struct error *err)
{
    const struct field_offset offsets[] = {{{"pt_regs", "syscallno", 0}, &k->call_number},
                                           {{"pt_regs", "orig_x0", 0}, &k->call_first}};
    k->call_second = offsetof(struct user_pt_regs, regs) + sizeof(uint64_t);
    k->mode_register = offsetof(struct user_pt_regs, pstate);
    k->mode_mask = PSTATE_32;
    k->poll = WAIT_FILES_CALLS; /* there is ppoll only */
    return find_offsets(OFFSETS(offsets), err);
}
#endif

static bool find_kernel(struct wait_files_kernel *k, struct error *err)
{
    *k = (struct wait_files_kernel){.ppoll = SYS_ppoll};
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++)
        k->calls[calls[i] / 64] |= (uint64_t)1 << calls[i] % 64;
    if (!find_files(k, err) || !find_registers(k, err))
        return false;
    find_sockets(k);
    return true;
}

/* --- Loading --------------------------------------------------------------------------- */

bool os_wait_files_open(struct os_wait_files *w, const struct os_task_filter *targets,
                        struct error *err)
{
    struct wait_files_kernel kernel;
    *w = (struct os_wait_files){.program = NULL};
    if (!os_bpf_prepare(err) || !find_kernel(&kernel, err))
        return false;
    struct wait_files_program *p = wait_files_program__open();
    w->program = p;
    if (!p)
        return fail(errno, err);
    kernel.every_thread = targets == NULL;
    p->rodata->kernel = kernel;
    if (targets ? bpf_map__reuse_fd(p->maps.targets, os_task_filter_targets(targets)) != 0
                : bpf_map__set_max_entries(p->maps.targets, 1) != 0)
        return fail(errno, err);
    return wait_files_program__load(p) == 0 || fail(errno, err);
}

void os_wait_files_close(struct os_wait_files *w)
{
    bpf_link__destroy(w->link);
    wait_files_program__destroy(w->program);
    *w = (struct os_wait_files){.program = NULL};
}

bool os_wait_files_output(struct os_wait_files *w, uint32_t cpu, int fd,
                          struct error *err)
{
    const struct wait_files_program *p = w->program;
    if (cpu >= WAIT_FILES_CPUS)
        return error_set(err, "this machine has more than %d CPUs", WAIT_FILES_CPUS);
    if (bpf_map_update_elem(bpf_map__fd(p->maps.outputs), &cpu, &fd, BPF_ANY) != 0)
        return fail(errno, err);
    if (!w->link)
        w->link = bpf_program__attach(p->progs.write_file);
    return w->link || fail(errno, err);
}
