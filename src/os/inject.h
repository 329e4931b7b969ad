/* SPDX-License-Identifier: Apache-2.0 */
/* Calls functions of another process, on one of its threads (ptrace(2)). The thread was
 * stopped (inspect.h); it uses a stack of its own meanwhile, and no signal is delivered
 * to it. At the end, its registers, its signal mask and its errno are as before, and a
 * system call that it was in is restarted, as after any stop. Other threads continue.
 *
 * The caller must know that the thread holds no lock that the called functions take. Only
 * x86-64; the process must have no filter of system calls (seccomp(2)).
 *
 * If this process is killed meanwhile, the thread is lost, and with it the process. */
#ifndef STOKE_OS_INJECT_H
#define STOKE_OS_INJECT_H

#include "base/str.h"
#include "os/inspect.h"

/* Addresses in the process. */
struct os_inject_code {
    uint64_t system_call;    /* an instruction "syscall" */
    uint64_t errno_location; /* the function that returns the address of errno */
};

struct os_injection {
    int64_t tid;
    struct os_inject_code code;
    struct os_inject_saved *saved; /* owned */
    uint64_t room;                 /* memory in the process for a stack and for data */
    uint64_t errno_at;             /* 0: not known */
    uint32_t errno_value;
    int signal;      /* that arrived last, or 0 */
    bool is_at_stop; /* as it was stopped at first, and not in a system call */
    bool is_lost;    /* the thread has ended */
};

/* Takes over a thread that os_stop_thread has stopped: os_inject_end instead of os_resume
 * must follow, in any case. */
bool os_inject_begin(struct os_injection *i, const struct os_stopped *stopped,
                     const struct os_inject_code *code, struct error *err);
void os_inject_end(struct os_injection *i);

/* Calls a function with two arguments. False if the thread has ended, or if the function
 * waits for a lock for longer than 10 seconds: its call is then abandoned. */
bool os_inject_call(struct os_injection *i, uint64_t function, uint64_t first,
                    uint64_t second, uint64_t *result, struct error *err);

/* Copies a text, with a null, to memory of the process that is valid until the next
 * text. */
bool os_inject_text(struct os_injection *i, const char *text, uint64_t *address,
                    struct error *err);

/* Opens a file in memory in the process, which closes when it executes another program. */
bool os_inject_memory_file(struct os_injection *i, int64_t *fd, struct error *err);
void os_inject_close(struct os_injection *i, int64_t fd);

#endif
