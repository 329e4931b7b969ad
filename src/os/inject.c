/* SPDX-License-Identifier: Apache-2.0 */
#include "os/inject.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#ifdef __x86_64__

#include "os/machine.h"
#include <elf.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <time.h>

#define SECOND ((uint64_t)1000000000)
#define CALL_SECONDS 10
#define WAIT_NS 1000000 /* between two checks, if no signal arrives */
#define FIRST_CHECKS 64 /* without waiting */

/* Memory in the process: data at its start, a stack at its end. */
#define ROOM_SIZE ((uint64_t)256 << 10)
#define TEXT_MAX 8192

/* Vector registers: more than the largest state of today's CPUs (AMX: 11 KiB). */
#define STATE_MAX ((size_t)32 << 10)

#define SYSTEM_CALL_SIZE 2

struct os_inject_saved {
    struct user_regs_struct registers;
    uint64_t signals; /* the mask */
    size_t state_size;
    char state[STATE_MAX];
};

/* --- Stops -------------------------------------------------------------------------- */

enum stop {
    STOP_CALL,  /* at a system call: at its start, or at its end */
    STOP_EVENT, /* requested, or the process is stopped */
    STOP_FAULT, /* the called code failed */
    STOP_LATE,
    STOP_LOST,
};

static enum stop lost(struct os_injection *i)
{
    i->is_lost = true;
    return STOP_LOST;
}

static enum stop stop_of(struct os_injection *i, int status)
{
    if (!WIFSTOPPED(status))
        return lost(i);
    if (WSTOPSIG(status) == (SIGTRAP | 0x80))
        return STOP_CALL;
    /* all signals that can be blocked are */
    i->signal = status >> 16 == PTRACE_EVENT_STOP ? 0 : WSTOPSIG(status);
    return i->signal == 0 || i->signal == SIGSTOP ? STOP_EVENT : STOP_FAULT;
}

/* Waits for the next stop. SIGCHLD, which is blocked, reports it. */
static enum stop wait_for_stop(struct os_injection *i, uint64_t end)
{
    struct timespec wait = {.tv_nsec = WAIT_NS};
    sigset_t child, before;
    sigemptyset(&child);
    sigaddset(&child, SIGCHLD);
    pthread_sigmask(SIG_BLOCK, &child, &before);
    enum stop result = STOP_LATE;
    for (unsigned n = 0; result == STOP_LATE && os_clock_monotonic() < end; n++) {
        int status;
        pid_t got = waitpid((pid_t)i->tid, &status, __WALL | WNOHANG);
        if (got > 0)
            result = stop_of(i, status);
        else if (got < 0 && errno != EINTR)
            result = lost(i);
        else if (n >= FIRST_CHECKS)
            sigtimedwait(&child, NULL, &wait);
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return result;
}

/* Continues the thread to the start or the end of a system call. */
static enum stop next_call(struct os_injection *i, uint64_t end)
{
    enum stop stop;
    i->signal = 0;
    do {
        if (ptrace(PTRACE_SYSCALL, (pid_t)i->tid, NULL, (void *)(intptr_t)i->signal) != 0)
            return lost(i);
        stop = wait_for_stop(i, end);
    } while (stop == STOP_EVENT);
    i->is_at_stop = stop == STOP_FAULT;
    return stop;
}

/* Stops it where the kernel can restart a system call: on its way to user code. */
static bool stop_by_event(struct os_injection *i)
{
    if (i->is_at_stop)
        return true;
    enum stop stop = STOP_CALL;
    if (ptrace(PTRACE_INTERRUPT, (pid_t)i->tid, NULL, NULL) != 0)
        i->is_lost = true;
    while (!i->is_lost && stop == STOP_CALL) {
        ptrace(PTRACE_CONT, (pid_t)i->tid, NULL, NULL); /* unless it runs already */
        stop = wait_for_stop(i, os_clock_monotonic() + CALL_SECONDS * SECOND);
    }
    i->is_at_stop = stop == STOP_EVENT || stop == STOP_FAULT;
    return i->is_at_stop;
}

/* --- Registers ---------------------------------------------------------------------- */

static bool get(const struct os_injection *i, struct user_regs_struct *r)
{
    return ptrace(PTRACE_GETREGS, (pid_t)i->tid, NULL, r) == 0;
}

static bool set(const struct os_injection *i, const struct user_regs_struct *r)
{
    return ptrace(PTRACE_SETREGS, (pid_t)i->tid, NULL, r) == 0;
}

static bool save(struct os_injection *i)
{
    struct os_inject_saved *s = i->saved;
    struct iovec state = {s->state, sizeof s->state};
    bool ok =
        get(i, &s->registers) &&
        ptrace(PTRACE_GETREGSET, (pid_t)i->tid, (void *)NT_X86_XSTATE, &state) == 0 &&
        ptrace(PTRACE_GETSIGMASK, (pid_t)i->tid, (void *)sizeof s->signals,
               &s->signals) == 0;
    s->state_size = state.iov_len;
    return ok;
}

static void restore(struct os_injection *i)
{
    struct os_inject_saved *s = i->saved;
    struct iovec state = {s->state, s->state_size};
    set(i, &s->registers);
    ptrace(PTRACE_SETREGSET, (pid_t)i->tid, (void *)NT_X86_XSTATE, &state);
    ptrace(PTRACE_SETSIGMASK, (pid_t)i->tid, (void *)sizeof s->signals, &s->signals);
}

/* The registers for what the thread does next: no system call is to be restarted. */
static struct user_regs_struct fresh(const struct os_injection *i)
{
    struct user_regs_struct r = i->saved->registers;
    r.orig_rax = UINT64_MAX;
    r.eflags &= ~(unsigned long long)0x500; /* direction, single steps */
    return r;
}

/* --- Calls -------------------------------------------------------------------------- */

static bool fail(const struct os_injection *i, struct error *err)
{
    return error_set(err, "cannot run code in thread %lld: %s", (long long)i->tid,
                     i->is_lost  ? "it has ended"
                     : i->signal ? strsignal(i->signal)
                                 : strerror(errno));
}

struct system_call {
    int64_t number;
    uint64_t arguments[6];
};

static bool call_system(struct os_injection *i, const struct system_call *c,
                        int64_t *result, struct error *err)
{
    struct user_regs_struct r = fresh(i);
    uint64_t end = os_clock_monotonic() + CALL_SECONDS * SECOND;
    r.rip = i->code.system_call;
    r.rax = (uint64_t)c->number;
    r.rdi = c->arguments[0];
    r.rsi = c->arguments[1];
    r.rdx = c->arguments[2];
    r.r10 = c->arguments[3];
    r.r8 = c->arguments[4];
    r.r9 = c->arguments[5];
    if (!set(i, &r) || next_call(i, end) != STOP_CALL || next_call(i, end) != STOP_CALL ||
        !get(i, &r))
        return fail(i, err);
    *result = (int64_t)r.rax;
    return true;
}

static bool write_memory(const struct os_injection *i, uint64_t address,
                         const void *bytes, size_t size)
{
    struct iovec local = {(void *)(uintptr_t)bytes, size};
    struct iovec remote = {(void *)(uintptr_t)address, size};
    return process_vm_writev((pid_t)i->tid, &local, 1, &remote, 1, 0) == (ssize_t)size;
}

static enum stop interrupt(struct os_injection *i)
{
    i->signal = 0;
    if (ptrace(PTRACE_INTERRUPT, (pid_t)i->tid, NULL, NULL) != 0)
        return lost(i);
    return wait_for_stop(i, os_clock_monotonic() + CALL_SECONDS * SECOND);
}

/* The function may wait for a lock that another thread holds for long. In its first system
 * call, it holds none itself, and its call can be abandoned. */
static bool abandons(struct os_injection *i, size_t calls, struct error *err)
{
    struct user_regs_struct r;
    if (calls != 1 || !get(i, &r) || r.orig_rax != SYS_futex)
        return false;
    i->is_at_stop = true;
    error_set(err,
              "cannot run code in thread %lld: another thread holds a lock of the C "
              "library",
              (long long)i->tid);
    error_hint(err, "try again");
    return true;
}

/* Lets the function run until it returns to the instruction "syscall", whose number is
 * then its result: no signal, and so no signal handling of the process, is involved. */
static bool run_to_return(struct os_injection *i, uint64_t stack, uint64_t *result,
                          struct error *err)
{
    struct user_regs_struct r = {0};
    size_t calls = 0;
    while (r.rip != i->code.system_call + SYSTEM_CALL_SIZE || r.rsp != stack) {
        enum stop stop = next_call(i, os_clock_monotonic() + CALL_SECONDS * SECOND);
        if (stop == STOP_LATE)
            stop = interrupt(i);
        if (stop == STOP_EVENT && abandons(i, calls, err))
            return false;
        if (stop == STOP_EVENT)
            continue;
        if (stop != STOP_CALL || !get(i, &r))
            return fail(i, err);
        calls++;
    }
    *result = r.orig_rax;
    r.orig_rax = UINT64_MAX; /* that system call is not made */
    if (!set(i, &r) ||
        next_call(i, os_clock_monotonic() + CALL_SECONDS * SECOND) != STOP_CALL)
        return fail(i, err);
    return true;
}

bool os_inject_call(struct os_injection *i, uint64_t function, uint64_t first,
                    uint64_t second, uint64_t *result, struct error *err)
{
    struct user_regs_struct r = fresh(i);
    uint64_t stack = i->room + ROOM_SIZE - 64;
    r.rip = function;
    r.rdi = first;
    r.rsi = second;
    r.rax = 0;
    r.rsp = stack - sizeof stack;
    if (!write_memory(i, r.rsp, &i->code.system_call, sizeof i->code.system_call) ||
        !set(i, &r))
        return fail(i, err);
    return run_to_return(i, stack, result, err);
}

bool os_inject_text(struct os_injection *i, const char *text, uint64_t *address,
                    struct error *err)
{
    size_t size = strlen(text) + 1;
    *address = i->room;
    if (size > TEXT_MAX)
        return error_set(err, "the path is too long");
    return write_memory(i, i->room, text, size) || fail(i, err);
}

/* --- Files -------------------------------------------------------------------------- */

bool os_inject_memory_file(struct os_injection *i, int64_t *fd, struct error *err)
{
    uint64_t name;
    if (!os_inject_text(i, "stoke", &name, err))
        return false;
    struct system_call c = {SYS_memfd_create, {name, MFD_CLOEXEC | MFD_ALLOW_SEALING}};
    if (!call_system(i, &c, fd, err))
        return false;
    return *fd >= 0 || error_set(err, "the process cannot open a file in memory: %s",
                                 strerror((int)-*fd));
}

void os_inject_close(struct os_injection *i, int64_t fd)
{
    struct system_call c = {SYS_close, {(uint64_t)fd}};
    struct error ignored;
    int64_t result;
    if (!i->is_lost)
        call_system(i, &c, &result, &ignored);
}

/* --- Start and end ------------------------------------------------------------------ */

static bool make_room(struct os_injection *i, struct error *err)
{
    struct system_call c = {SYS_mmap,
                            {0, ROOM_SIZE, PROT_READ | PROT_WRITE,
                             MAP_PRIVATE | MAP_ANONYMOUS, UINT64_MAX, 0}};
    int64_t address = 0;
    if (!call_system(i, &c, &address, err))
        return false;
    if (address < 0 && address > -4096)
        return error_set(err, "the process has no memory for a stack: %s",
                         strerror((int)-address));
    i->room = (uint64_t)address;
    return true;
}

static bool save_errno(struct os_injection *i, struct error *err)
{
    uint64_t address = 0;
    if (!os_inject_call(i, i->code.errno_location, 0, 0, &address, err))
        return false;
    if (!os_process_read(i->tid, address, &i->errno_value, sizeof i->errno_value))
        return fail(i, err);
    i->errno_at = address;
    return true;
}

bool os_inject_begin(struct os_injection *i, const struct os_stopped *stopped,
                     const struct os_inject_code *code, struct error *err)
{
    uint64_t all = UINT64_MAX;
    *i = (struct os_injection){.tid = stopped->tid, .code = *code, .is_at_stop = true};
    i->saved = calloc(1, sizeof *i->saved);
    if (!i->saved)
        return error_memory(err);
    if (!save(i)) {
        free(i->saved);
        i->saved = NULL;
        return fail(i, err);
    }
    if (ptrace(PTRACE_SETOPTIONS, (pid_t)i->tid, NULL, (void *)PTRACE_O_TRACESYSGOOD) !=
            0 ||
        ptrace(PTRACE_SETSIGMASK, (pid_t)i->tid, (void *)sizeof all, &all) != 0)
        return fail(i, err);
    return make_room(i, err) && save_errno(i, err);
}

static void release_room(struct os_injection *i)
{
    struct system_call c = {SYS_munmap, {i->room, ROOM_SIZE}};
    struct error ignored;
    int64_t result;
    if (i->errno_at)
        write_memory(i, i->errno_at, &i->errno_value, sizeof i->errno_value);
    if (i->room)
        call_system(i, &c, &result, &ignored);
}

void os_inject_end(struct os_injection *i)
{
    if (!i->is_lost && i->saved)
        release_room(i);
    if (!i->is_lost && i->saved && stop_by_event(i))
        restore(i);
    if (!i->is_lost)
        ptrace(PTRACE_DETACH, (pid_t)i->tid, NULL, NULL);
    free(i->saved);
    i->saved = NULL;
}

#else

bool os_inject_begin(struct os_injection *i, const struct os_stopped *stopped,
                     const struct os_inject_code *code, struct error *err)
{
    *i = (struct os_injection){.tid = stopped->tid, .code = *code};
    os_resume(stopped);
    return error_set(err, "code can be run in other processes on x86-64 only");
}

void os_inject_end(struct os_injection *i)
{
    (void)i;
}

bool os_inject_call(struct os_injection *i, uint64_t function, uint64_t first,
                    uint64_t second, uint64_t *result, struct error *err)
{
    (void)i;
    (void)function;
    (void)first;
    (void)second;
    *result = 0;
    return error_set(err, "code can be run in other processes on x86-64 only");
}

bool os_inject_text(struct os_injection *i, const char *text, uint64_t *address,
                    struct error *err)
{
    (void)i;
    (void)text;
    *address = 0;
    return error_set(err, "code can be run in other processes on x86-64 only");
}

bool os_inject_memory_file(struct os_injection *i, int64_t *fd, struct error *err)
{
    (void)i;
    *fd = -1;
    return error_set(err, "code can be run in other processes on x86-64 only");
}

void os_inject_close(struct os_injection *i, int64_t fd)
{
    (void)i;
    (void)fd;
}

#endif
