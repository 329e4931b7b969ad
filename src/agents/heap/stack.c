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
    if (lane_is_confined()) {
        own = (struct extent){1, 1};
        return;
    }
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

static bool is_own(uint64_t sp)
{
    if (!own.end)
        find_extent(sp);
    return sp >= own.start && sp < own.end;
}

void stack_prepare(void)
{
    (void)is_own((uint64_t)(uintptr_t)__builtin_frame_address(0));
}

/* --- Stacks of a lane --------------------------------------------------------------- */

/* A signal handler does not use the memory of the stack that it has interrupted. */
static __thread bool is_walking;

/* The number that the stack has, or one that it may get: one of two by its hash. */
static uint64_t choose_number(const struct lane_private *p, uint64_t hash)
{
    uint64_t first = hash >> (64 - HEAP_STACK_BITS), second = first ^ 1;
    bool is_first =
        p->stacks[first] == hash ||
        (p->stacks[second] != hash && (!p->stacks[first] || p->stacks[second]));
    return is_first ? first : second;
}

static bool put_stack(struct lane_private *p, uint64_t number,
                      const struct walk_result *walked)
{
    if (p->stacks[number] == walked->hash)
        return true;
    p->stacks[number] = 0;
    walk_frames(&p->cache, walked, p->frames);
    for (size_t i = 0; i < walked->count; i++)
        code_maps_need(walk_address(p->frames[i]));
    bool is_put =
        lane_put(&(struct lane_record){.kind = HEAP_STACK,
                                       .flags = walked->is_truncated ? HEAP_TRUNCATED : 0,
                                       .address = number,
                                       .size = walked->hash,
                                       .fixed = p->frames,
                                       .fixed_size = walked->count * sizeof *p->frames});
    if (is_put)
        p->stacks[number] = walked->hash;
    return is_put;
}

bool stack_begin(const uint64_t *frame, uint64_t *number, uint64_t *missing)
{
    struct walk w = {
        .pc = frame[1], .sp = (uintptr_t)(frame + 2), .fp = frame[0], .has_fp = true};
    struct lane_private *p = is_walking ? NULL : lane_private();
    *missing = 0;
    if (!p || !is_own(w.sp))
        return false;
    w.end = own.end;
    is_walking = true;
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    struct walk_result walked = walk_stack(&w, &p->cache, code_maps_space());
    *number = choose_number(p, walked.hash);
    *missing = walked.missing;
    if (walked.count && put_stack(p, *number, &walked))
        return true;
    stack_end();
    return false;
}

void stack_end(void)
{
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    is_walking = false;
}

/* --- Copies ------------------------------------------------------------------------- */

void stack_describe(const struct heap_stack *stack, struct lane_record *record)
{
    uint64_t sp = stack->registers[HEAP_SP];
    bool is_known = is_own(sp);
    uint64_t size = is_known ? own.end - sp : HEAP_STACK_MAX;
    record->fixed = stack;
    record->fixed_size = sizeof *stack;
    record->copied = sp;
    record->copied_size = size < HEAP_STACK_MAX ? size : HEAP_STACK_MAX;
    record->is_guarded = !is_known;
}
