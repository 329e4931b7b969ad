/* SPDX-License-Identifier: Apache-2.0 */
/* A program that installs a filter of system calls (seccomp(2)) may be killed at the first
 * one that it does not make itself. From then on, the library makes none: these functions
 * see the installation, by prctl or by the number of the system call.
 *
 * The strict mode of seccomp, and PR_SET_TSC, forbid the time stamp counter, too: nothing
 * is recorded any more. */
#include "agents/heap/hooks.h"
#include "agents/heap/lane.h"
#include "agents/heap/stack.h"
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

static __attribute__((used)) void *real_prctl, *real_syscall;

void confine_start(void)
{
    real_prctl = hooks_find("prctl");
    real_syscall = hooks_find("syscall");
}

/* This thread, at least, continues to record: it prepares what needs system calls. */
static void confine(void)
{
    if (lane_is_on()) {
        (void)lane_private();
        stack_prepare();
    }
    lane_confine();
}

static __attribute__((used)) void before_prctl(long option, long mode, long filter)
{
    if (!real_prctl)
        confine_start();
    if ((option == PR_SET_SECCOMP && mode == SECCOMP_MODE_STRICT) ||
        (option == PR_SET_TSC && mode == PR_TSC_SIGSEGV))
        lane_end();
    else if (option == PR_SET_SECCOMP && filter)
        confine();
}

/* libseccomp makes calls without a filter, and with invalid flags, to find out what the
 * kernel supports. */
static __attribute__((used)) void before_syscall(long number, long first, long second,
                                                 long third)
{
    if (!real_syscall)
        confine_start();
    if (number == SYS_prctl)
        before_prctl(first, second, third);
    if (number == SYS_seccomp && first == SECCOMP_SET_MODE_STRICT && second == 0 &&
        !third)
        lane_end();
    if (number == SYS_seccomp && first == SECCOMP_SET_MODE_FILTER && third)
        confine();
}

#ifdef STOKE_HEAP_ATTACHED
#define VISIBILITY ".hidden "
#else
#define VISIBILITY ".globl "
#endif

/* A system call may return twice, on one stack (vfork): a function that calls the real one
 * would then return to what its child has left there. So these jump, with all arguments in
 * their registers. */
#define HOOK_BY_JUMP(name, first, second)                \
    __asm__(".text\n\t"                                  \
            ".globl " name "\n\t" VISIBILITY name "\n\t" \
            ".type " name ", @function\n" name ":\n\t"   \
            ".cfi_startproc\n\t"                         \
            "endbr64\n\t"                                \
            "cmpl $" first ", %edi\n\t"                  \
            "je 1f\n\t"                                  \
            "cmpl $" second ", %edi\n\t"                 \
            "je 1f\n\t"                                  \
            "cmpq $0, real_" name "(%rip)\n\t"           \
            "je 1f\n"                                    \
            "0:\n\t"                                     \
            "jmp *real_" name "(%rip)\n"                 \
            "1:\n\t"                                     \
            "pushq %rdi\n\t"                             \
            ".cfi_adjust_cfa_offset 8\n\t"               \
            "pushq %rsi\n\t"                             \
            ".cfi_adjust_cfa_offset 8\n\t"               \
            "pushq %rdx\n\t"                             \
            ".cfi_adjust_cfa_offset 8\n\t"               \
            "pushq %rcx\n\t"                             \
            ".cfi_adjust_cfa_offset 8\n\t"               \
            "pushq %r8\n\t"                              \
            ".cfi_adjust_cfa_offset 8\n\t"               \
            "pushq %r9\n\t"                              \
            ".cfi_adjust_cfa_offset 8\n\t"               \
            "pushq %rax\n\t"                             \
            ".cfi_adjust_cfa_offset 8\n\t"               \
            "call before_" name "\n\t"                   \
            "popq %rax\n\t"                              \
            ".cfi_adjust_cfa_offset -8\n\t"              \
            "popq %r9\n\t"                               \
            ".cfi_adjust_cfa_offset -8\n\t"              \
            "popq %r8\n\t"                               \
            ".cfi_adjust_cfa_offset -8\n\t"              \
            "popq %rcx\n\t"                              \
            ".cfi_adjust_cfa_offset -8\n\t"              \
            "popq %rdx\n\t"                              \
            ".cfi_adjust_cfa_offset -8\n\t"              \
            "popq %rsi\n\t"                              \
            ".cfi_adjust_cfa_offset -8\n\t"              \
            "popq %rdi\n\t"                              \
            ".cfi_adjust_cfa_offset -8\n\t"              \
            "jmp 0b\n\t"                                 \
            ".cfi_endproc\n\t"                           \
            ".size " name ", . - " name)

/* PR_SET_SECCOMP and PR_SET_TSC; SYS_seccomp and SYS_prctl */
HOOK_BY_JUMP("prctl", "22", "26");
HOOK_BY_JUMP("syscall", "317", "157");

_Static_assert(PR_SET_SECCOMP == 22 && PR_SET_TSC == 26 && SYS_seccomp == 317 &&
                   SYS_prctl == 157,
               "the numbers above");
