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

/* --- Unwinding ---------------------------------------------------------------------- */

/* A frame, and its caller's registers after a step. */
struct walk {
    uint64_t pc, sp, fp;
    uint64_t end; /* of the stack */
    bool has_fp;
    bool is_exact; /* pc is not a return address */
    bool is_outermost;
};

/* The collector may replace the rule while it is read. */
static inline bool read_rule(const struct heap_rule *slot, uint64_t address,
                             uint64_t space, struct unwind_rule *rule)
{
    if (__atomic_load_n(&slot->address, __ATOMIC_ACQUIRE) != address ||
        slot->space != space)
        return false;
    __builtin_memcpy(rule, &slot->rule, sizeof *rule);
    __atomic_thread_fence(__ATOMIC_ACQUIRE);
    return __atomic_load_n(&slot->address, __ATOMIC_RELAXED) == address &&
           slot->space == space;
}

static bool find_rule(uint64_t address, uint64_t space, struct unwind_rule *rule)
{
    const struct heap_rule *rules =
        (const struct heap_rule *)(const void *)((const char *)heap_shared +
                                                 HEAP_RULES_AT);
    const struct heap_rule *bucket = rules + heap_rule_bucket(address, space);
    for (int i = 0; i < HEAP_BUCKET; i++)
        if (read_rule(&bucket[i], address, space, rule))
            return true;
    return false;
}

static bool read_stack(const struct walk *w, uint64_t at, uint64_t *value)
{
    if (at < w->sp || at > w->end - sizeof *value)
        return false;
    __builtin_memcpy(value, (const void *)(uintptr_t)at, sizeof *value);
    return true;
}

static bool find_cfa(const struct walk *w, const struct unwind_rule *rule, uint64_t *cfa)
{
    bool by_fp = rule->cfa == CFA_FP || rule->cfa == CFA_FP_DEREF;
    uint64_t at = (by_fp ? w->fp : w->sp) + (uint64_t)(int64_t)rule->cfa_offset;
    if (by_fp && !w->has_fp)
        return false;
    switch (rule->cfa) {
    case CFA_SP:
    case CFA_FP:
        *cfa = at;
        return true;
    case CFA_SP_DEREF:
    case CFA_FP_DEREF:
        if (!read_stack(w, at, cfa))
            return false;
        *cfa += rule->extra * sizeof(uint64_t);
        return true;
    default:
        return false;
    }
}

static uint64_t words_from(uint64_t base, int16_t words)
{
    return base + (uint64_t)(int64_t)words * sizeof(uint64_t);
}

/* The caller's frame pointer, which may be lost. */
static bool find_caller_fp(struct walk *w, const struct unwind_rule *rule, uint64_t cfa,
                           uint64_t *fp)
{
    uint64_t base = cfa;
    *fp = w->fp;
    if (rule->fp == FP_SAME)
        return true;
    if (rule->fp == FP_AT_SP)
        base = w->sp;
    if (rule->fp == FP_AT_FP && w->has_fp)
        base = w->fp;
    else if (rule->fp >= FP_AT_FP) {
        w->has_fp = false;
        return rule->fp == FP_LOST;
    }
    w->has_fp = true;
    return read_stack(w, words_from(base, rule->fp_offset), fp);
}

/* The same as step_by, for the most frequent rules only: the CFA by a register, the return
 * address below it, the frame pointer there, too, or unchanged. False if it is not one of
 * them, or cannot be applied. */
static inline bool step_usual(struct walk *w, const struct unwind_rule *rule)
{
    bool is_usual = rule->cfa <= CFA_FP && rule->from == RETURN_AT_CFA &&
                    rule->fp <= FP_AT_CFA && w->has_fp;
    uint64_t cfa =
        (rule->cfa == CFA_FP ? w->fp : w->sp) + (uint64_t)(int64_t)rule->cfa_offset;
    uint64_t at = words_from(cfa, rule->return_offset);
    uint64_t fp_at = words_from(cfa, rule->fp == FP_AT_CFA ? rule->fp_offset : -1);
    if (!is_usual || cfa <= w->sp || cfa > w->end || at < w->sp || fp_at < w->sp ||
        at > w->end - sizeof at || fp_at > w->end - sizeof at)
        return false;
    __builtin_memcpy(&w->pc, (const void *)(uintptr_t)at, sizeof w->pc);
    if (rule->fp == FP_AT_CFA)
        __builtin_memcpy(&w->fp, (const void *)(uintptr_t)fp_at, sizeof w->fp);
    w->sp = cfa;
    w->is_exact = false;
    w->is_outermost = w->pc == 0;
    return true;
}

/* Moves to the caller. False if the rule cannot be applied here. */
static __attribute__((noinline)) bool step_by(struct walk *w,
                                              const struct unwind_rule *rule)
{
    uint64_t cfa, pc, fp;
    unsigned from = rule->from & ~(unsigned)RETURN_SIGNAL;
    if (from == RETURN_NONE) {
        w->is_outermost = true;
        return true;
    }
    if (from != RETURN_AT_CFA && from != RETURN_AT_SP)
        return false;
    uint64_t base = from == RETURN_AT_SP ? w->sp : 0;
    if (!find_cfa(w, rule, &cfa) || cfa <= w->sp || cfa > w->end ||
        !read_stack(w, words_from(base ? base : cfa, rule->return_offset), &pc) ||
        !find_caller_fp(w, rule, cfa, &fp))
        return false;
    w->is_exact = rule->from & RETURN_SIGNAL;
    w->is_outermost = pc == 0;
    w->pc = pc;
    w->sp = cfa;
    w->fp = fp;
    return true;
}

/* Where a frame is: in the call before its return address. */
static uint64_t address_of(uint64_t frame)
{
    return frame & HEAP_EXACT ? frame & ~HEAP_EXACT : frame - 1;
}

/* Stores the frames, and a hash of them and of the space. Returns their number; 0 if a rule is
 * missing. */
static size_t walk(struct walk *w, uint64_t *frames, uint64_t *hash, uint64_t *missing)
{
    uint64_t space = code_maps_space(), h = space;
    size_t count = 0;
    struct unwind_rule rule;
    while (!w->is_outermost && count < HEAP_FRAMES_MAX) {
        uint64_t frame = w->pc | (w->is_exact ? HEAP_EXACT : 0);
        uint64_t address = address_of(frame);
        frames[count++] = frame;
        h = (h ^ frame) * UINT64_C(0x9e3779b97f4a7c15);
        h ^= h >> 29;
        if (!find_rule(address, space, &rule)) {
            *missing = address;
            return 0;
        }
        if (!step_usual(w, &rule) && !step_by(w, &rule))
            return 0;
    }
    *hash = h | 1; /* 0 is an empty element */
    return count;
}

/* --- Stacks of a lane --------------------------------------------------------------- */

/* A signal handler does not use the memory of the stack that it has interrupted. */
static __thread bool is_walking;

static bool put_stack(struct lane_private *p, uint64_t number, size_t count,
                      uint64_t hash, bool is_truncated)
{
    if (p->stacks[number] == hash)
        return true;
    p->stacks[number] = 0;
    for (size_t i = 0; i < count; i++)
        code_maps_need(address_of(p->frames[i]));
    bool is_put =
        lane_put(&(struct lane_record){.kind = HEAP_STACK,
                                       .flags = is_truncated ? HEAP_TRUNCATED : 0,
                                       .address = number,
                                       .fixed = p->frames,
                                       .fixed_size = count * sizeof *p->frames});
    if (is_put)
        p->stacks[number] = hash;
    return is_put;
}

bool stack_begin(const uint64_t *frame, uint64_t *number, uint64_t *missing)
{
    struct walk w = {
        .pc = frame[1], .sp = (uintptr_t)(frame + 2), .fp = frame[0], .has_fp = true};
    uint64_t hash = 0;
    struct lane_private *p = is_walking ? NULL : lane_private();
    *missing = 0;
    if (!p || !is_own(w.sp))
        return false;
    w.end = own.end;
    is_walking = true;
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    size_t count = walk(&w, p->frames, &hash, missing);
    *number = hash >> (64 - HEAP_STACK_BITS);
    if (count && put_stack(p, *number, count, hash, !w.is_outermost))
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
