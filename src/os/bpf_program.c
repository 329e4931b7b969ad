/* SPDX-License-Identifier: Apache-2.0 */
#include "os/bpf_program.h"
#include <bpf/libbpf.h>
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

/* The inode number of the initial PID namespace is fixed (Linux, include/linux/proc_ns.h). */
#define INITIAL_PID_NAMESPACE 0xEFFFFFFCu

/* libbpf prints to standard error by default. */
static int print_nothing(enum libbpf_print_level level, const char *format, va_list words)
{
    (void)level, (void)format, (void)words;
    return 0;
}

bool os_bpf_prepare(struct error *err)
{
    struct stat st;
    if (stat("/proc/self/ns/pid", &st) != 0 || st.st_ino != INITIAL_PID_NAMESPACE)
        return error_set(err,
                         "process ids in this container differ from those of the kernel");
    libbpf_set_print(print_nothing);
    return true;
}

bool os_bpf_failed(const char *does, int why, struct error *err)
{
    error_set(err, "cannot load the eBPF program that %s: %s", does, strerror(why));
    if (why == EPERM || why == EACCES)
        error_hint(err, "run as root, or with CAP_BPF and CAP_PERFMON");
    return false;
}
