/* SPDX-License-Identifier: Apache-2.0 */
/* Inspects the threads of another process (ptrace(2), process_vm_readv(2)). A thread is stopped
 * only while its registers and memory are read. It is attached with PTRACE_SEIZE, so no signal
 * is sent to it, and the kernel releases it if this process ends.
 *
 * Like any stop, this one may end some system calls early with EINTR (signal(7), "Interruption
 * of system calls and library functions by stop signals"). */
#ifndef STOKE_OS_INSPECT_H
#define STOKE_OS_INSPECT_H

#include "base/architecture.h"
#include "base/error.h"

/* Registers in perf's numbering (PERF_REG_X86_*, PERF_REG_ARM64_*). */
#define OS_REGISTERS_MAX 64

struct os_registers {
    enum architecture machine;
    uint64_t values[OS_REGISTERS_MAX];
    uint64_t present;        /* bit per register */
    uint64_t stack_pointer;  /* also in values */
    uint64_t thread_pointer; /* of x86-64: fs base; 0: unknown */
};

enum os_stop {
    OS_STOPPED,
    OS_STOP_GONE,    /* the thread has ended */
    OS_STOP_BUSY,    /* it does not stop: it waits in the kernel without interruption */
    OS_STOP_REFUSED, /* without permission, or another process traces it: err is set */
};

/* A thread that this process has stopped. The calling thread must make all calls. */
struct os_stopped {
    int64_t tid;
    int signal; /* to be delivered when it continues */
};

/* Stops a thread; waits at most a second. Only if it returns OS_STOPPED must os_resume
 * follow. */
enum os_stop os_stop_thread(struct os_stopped *stopped, int64_t tid, struct error *err);
void os_resume(const struct os_stopped *stopped);

/* Reads the registers of a stopped thread; false if that fails, or if the architecture is not
 * supported, or if the process is a 32-bit one. */
bool os_stopped_registers(const struct os_stopped *stopped, struct os_registers *r);

/* Reads memory of a process; false unless all bytes were read. */
bool os_process_read(int64_t pid, uint64_t address, void *into, size_t size);

/* Calls `each` for every readable mapping of a process, in order of address. False if they
 * cannot be read. */
bool os_process_ranges(int64_t pid,
                       void (*each)(void *context, uint64_t start, uint64_t end),
                       void *context);

#define OS_CALL_NONE (-1)

/* What a thread does. */
struct os_thread_state {
    char letter; /* as in /proc/PID/stat: R running, S sleeping, D, T, t, Z; 0: unknown */
    int64_t call; /* number of the system call in which it waits, or OS_CALL_NONE */
};

struct os_thread_state os_thread_state(int64_t pid, int64_t tid);

/* The name of a system call in which threads often wait; NULL for others. */
const char *os_call_name(int64_t number);

#endif
