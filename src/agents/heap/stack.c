/* SPDX-License-Identifier: Apache-2.0 */
/* The extent of a stack. Reading above the stack pointer must not fault, and threads may
 * run on memory of their own (signal stacks, coroutines). The initial thread's stack ends
 * at __libc_stack_end, and no other mapping is less than 128 MB below it (mmap_base() in
 * the kernel's mm/util.c). Another thread's ends at its thread control block: that it is
 * one mapping is read once. All other memory is read by a system call that reports what
 * cannot be read. */
#include "agents/heap/stack.h"
#include "agents/heap/code_maps.h"
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#define MAIN_STACK_MAX ((uint64_t)128 << 20)

extern void *__libc_stack_end; /* NOLINT(bugprone-reserved-identifier) */

struct extent {
    uint64_t start, end; /* end 0: not known yet */
};

static __thread struct extent own;

struct lookup {
    uint64_t sp, end;
    struct extent found;
};

static bool match_line(void *context, const struct map_line *line)
{
    struct lookup *l = context;
    if (l->sp < line->start || l->sp >= line->end)
        return true;
    if (l->end > line->start && l->end <= line->end)
        l->found.start = line->start;
    return false;
}

static void find_extent(uint64_t sp)
{
    bool is_initial = syscall(SYS_gettid) == syscall(SYS_getpid);
    uint64_t end = (uint64_t)(uintptr_t)pthread_self();
    own = (struct extent){end, end};
    if (is_initial) {
        end = (uint64_t)(uintptr_t)__libc_stack_end;
        own = (struct extent){end - MAIN_STACK_MAX, end};
        return;
    }
    struct lookup l = {.sp = sp, .end = end, .found = {end, end}};
    code_maps_each(match_line, &l);
    own = l.found;
}

void stack_describe(const struct heap_stack *stack, struct lane_record *record)
{
    uint64_t sp = stack->registers[HEAP_SP];
    if (!own.end)
        find_extent(sp);
    bool is_own = sp >= own.start && sp < own.end;
    uint64_t size = is_own ? own.end - sp : HEAP_STACK_MAX;
    record->fixed = stack;
    record->fixed_size = sizeof *stack;
    record->copied = sp;
    record->copied_size = size < HEAP_STACK_MAX ? size : HEAP_STACK_MAX;
    record->is_guarded = !is_own;
}
