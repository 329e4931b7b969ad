/* SPDX-License-Identifier: Apache-2.0 */
#include "os/inspect.h"
#include "base/format.h"
#include "base/number.h"
#include "os/machine.h"
#include "os/mapping.h"
#include "os/proc.h"
#include <elf.h>
#include <errno.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <time.h>

/* --- Stopping ----------------------------------------------------------------------- */

#define STOP_NS ((uint64_t)1000000000)
#define WAIT_NS 1000000 /* between two checks, if no signal arrives */
#define FIRST_CHECKS 64 /* without waiting: most threads stop within microseconds */

/* Why a thread cannot be attached. */
static void refuse(int64_t tid, int reason, struct error *err)
{
    char room[16];
    struct str scope =
        os_read_text("/proc/sys/kernel/yama/ptrace_scope", room, sizeof room);
    error_set(err, "cannot attach to thread %lld: %s", (long long)tid, strerror(reason));
    if (reason != EPERM)
        return;
    if (scope.len && scope.ptr[0] != '0')
        error_hint(err,
                   "run as root (kernel.yama.ptrace_scope=%c), and end debuggers that "
                   "are attached",
                   scope.ptr[0]);
    else
        error_hint(err,
                   "run as the user of the process or as root, and end debuggers that "
                   "are attached");
}

/* Waits for the stop. SIGCHLD, which is blocked, reports it; other threads may receive it
 * instead, so the state is checked regularly too. */
static enum os_stop wait_for_stop(struct os_stopped *stopped, const sigset_t *child)
{
    uint64_t end = os_clock_monotonic() + STOP_NS;
    struct timespec wait = {.tv_nsec = WAIT_NS};
    for (unsigned i = 0;; i++) {
        int status;
        pid_t got = waitpid((pid_t)stopped->tid, &status, __WALL | WNOHANG);
        if (got < 0 && errno != EINTR)
            return OS_STOP_GONE;
        if (got > 0 && !WIFSTOPPED(status))
            return OS_STOP_GONE;
        if (got > 0) {
            /* a signal that arrived first is delivered when the thread continues */
            stopped->signal = status >> 16 ? 0 : WSTOPSIG(status);
            return OS_STOPPED;
        }
        if (os_clock_monotonic() > end)
            return OS_STOP_BUSY;
        if (i >= FIRST_CHECKS)
            sigtimedwait(child, NULL, &wait);
    }
}

enum os_stop os_stop_thread(struct os_stopped *stopped, int64_t tid, struct error *err)
{
    sigset_t child, before;
    *stopped = (struct os_stopped){.tid = tid};
    if (ptrace(PTRACE_SEIZE, (pid_t)tid, NULL, NULL) != 0) {
        int reason = errno;
        bool gone = reason == EPERM && os_thread_state(tid, tid).letter == 'Z';
        if (gone || reason == ESRCH)
            return OS_STOP_GONE;
        refuse(tid, reason, err);
        return OS_STOP_REFUSED;
    }
    if (ptrace(PTRACE_INTERRUPT, (pid_t)tid, NULL, NULL) != 0)
        return OS_STOP_GONE;
    sigemptyset(&child);
    sigaddset(&child, SIGCHLD);
    pthread_sigmask(SIG_BLOCK, &child, &before);
    enum os_stop result = wait_for_stop(stopped, &child);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return result;
}

void os_resume(const struct os_stopped *stopped)
{
    ptrace(PTRACE_DETACH, (pid_t)stopped->tid, NULL, (void *)(intptr_t)stopped->signal);
}

/* --- Registers ---------------------------------------------------------------------- */

/* Reads a register set; the size must be that of a 64-bit process. */
static bool read_set(const struct os_stopped *stopped, void *into, size_t size)
{
    struct iovec part = {into, size};
    return ptrace(PTRACE_GETREGSET, (pid_t)stopped->tid, (void *)NT_PRSTATUS, &part) ==
               0 &&
           part.iov_len == size;
}

#if defined(__x86_64__)
#define PERF_SP 7

bool os_stopped_registers(const struct os_stopped *stopped, struct os_registers *r)
{
    struct user_regs_struct u;
    if (!read_set(stopped, &u, sizeof u))
        return false;
    *r = (struct os_registers){
        .machine = ARCH_X86_64,
        .values = {[0] = u.rax,
                   [1] = u.rbx,
                   [2] = u.rcx,
                   [3] = u.rdx,
                   [4] = u.rsi,
                   [5] = u.rdi,
                   [6] = u.rbp,
                   [7] = u.rsp,
                   [8] = u.rip,
                   [9] = u.eflags,
                   [16] = u.r8,
                   [17] = u.r9,
                   [18] = u.r10,
                   [19] = u.r11,
                   [20] = u.r12,
                   [21] = u.r13,
                   [22] = u.r14,
                   [23] = u.r15},
        .present = 0xff03ff,
        .stack_pointer = u.rsp,
        .thread_pointer = u.fs_base,
    };
    return true;
}
#elif defined(__aarch64__)

bool os_stopped_registers(const struct os_stopped *stopped, struct os_registers *r)
{
    struct user_regs_struct u;
    if (!read_set(stopped, &u, sizeof u))
        return false;
    *r = (struct os_registers){
        .machine = ARCH_ARM64, .present = ((uint64_t)1 << 33) - 1, .stack_pointer = u.sp};
    for (size_t i = 0; i < 31; i++)
        r->values[i] = u.regs[i];
    r->values[31] = u.sp;
    r->values[32] = u.pc;
    return true;
}
#else

bool os_stopped_registers(const struct os_stopped *stopped, struct os_registers *r)
{
    (void)stopped;
    *r = (struct os_registers){0};
    return false;
}
#endif

/* --- Memory ------------------------------------------------------------------------- */

bool os_process_read(int64_t pid, uint64_t address, void *into, size_t size)
{
    size_t done = 0;
    while (done < size) {
        struct iovec local = {(char *)into + done, size - done};
        struct iovec remote = {(void *)(uintptr_t)(address + done), size - done};
        ssize_t got = process_vm_readv((pid_t)pid, &local, 1, &remote, 1, 0);
        if (got <= 0)
            return false;
        done += (size_t)got;
    }
    return true;
}

#define MAPS_MAX ((size_t)64 << 20)

bool os_process_ranges(int64_t pid,
                       void (*each)(void *context, uint64_t start, uint64_t end),
                       void *context)
{
    char path[64];
    struct os_mapping maps;
    struct error ignored;
    format_text(path, sizeof path, "/proc/%lld/task/%u/maps", (long long)pid,
                os_process_live_thread((uint32_t)pid));
    if (!os_mapping_read(&maps, path, MAPS_MAX, &ignored))
        return false;
    struct str rest = maps.bytes;
    while (rest.len) {
        struct str line = str_cut(&rest, '\n'), end = str_word(&line);
        struct str start = str_cut(&end, '-');
        uint64_t low, high;
        if (str_starts(str_trim_left(line), STR("r")) && number_parse_hex(start, &low) &&
            number_parse_hex(end, &high))
            each(context, low, high);
    }
    os_mapping_close(&maps);
    return true;
}

/* --- State -------------------------------------------------------------------------- */

struct os_thread_state os_thread_state(int64_t pid, int64_t tid)
{
    char path[64], room[1024];
    struct os_thread_state state = {.call = OS_CALL_NONE};
    uint64_t number;
    format_text(path, sizeof path, "/proc/%lld/task/%lld/stat", (long long)pid,
                (long long)tid);
    struct str text = os_read_text(path, room, sizeof room);
    /* the name is in parentheses and may contain any */
    text = str_skip(text, str_rfind(text, ')') + 2);
    state.letter = text.len ? text.ptr[0] : 0;
    format_text(path, sizeof path, "/proc/%lld/task/%lld/syscall", (long long)pid,
                (long long)tid);
    text = os_read_text(path, room, sizeof room);
    if (number_parse_u64(str_word(&text), &number) && number < INT64_MAX)
        state.call = (int64_t)number;
    return state;
}

#define CALL(name)        \
    {                     \
        SYS_##name, #name \
    }

static const struct {
    int64_t number;
    const char *name;
} calls[] = {
    CALL(accept),
    CALL(accept4),
    CALL(clock_nanosleep),
    CALL(connect),
    CALL(epoll_pwait),
    CALL(fcntl),
    CALL(fdatasync),
    CALL(flock),
    CALL(fsync),
    CALL(futex),
    CALL(io_getevents),
    CALL(nanosleep),
    CALL(openat),
    CALL(ppoll),
    CALL(pread64),
    CALL(preadv),
    CALL(pselect6),
    CALL(pwrite64),
    CALL(pwritev),
    CALL(read),
    CALL(readv),
    CALL(recvfrom),
    CALL(recvmsg),
    CALL(restart_syscall),
    CALL(rt_sigsuspend),
    CALL(rt_sigtimedwait),
    CALL(semtimedop),
    CALL(sendmsg),
    CALL(sendto),
    CALL(wait4),
    CALL(waitid),
    CALL(write),
    CALL(writev),
#ifdef SYS_epoll_wait
    CALL(epoll_wait),
    CALL(pause),
    CALL(poll),
    CALL(select),
#endif
};

const char *os_call_name(int64_t number)
{
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++)
        if (calls[i].number == number)
            return calls[i].name;
    return NULL;
}
