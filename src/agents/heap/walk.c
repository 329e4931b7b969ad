/* SPDX-License-Identifier: Apache-2.0 */
#include "agents/heap/walk.h"
#include "agents/heap/lane.h"
#include <string.h>

/* --- Steps -------------------------------------------------------------------------- */

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

static inline uint64_t load(uint64_t at)
{
    uint64_t value;
    __builtin_memcpy(&value, (const void *)(uintptr_t)at, sizeof value);
    return value;
}

static bool read_stack(const struct walk *w, uint64_t at, uint64_t *value)
{
    if (at < w->sp || at > w->end - sizeof *value)
        return false;
    *value = load(at);
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

/* Moves to the caller. False if the rule cannot be applied here. */
static __attribute__((noinline)) bool step_by(struct walk *w,
                                              const struct unwind_rule *rule)
{
    uint64_t cfa, pc, fp;
    unsigned from = rule->from & ~(unsigned)RETURN_SIGNAL;
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
    w->fp_at = 0;
    return true;
}

/* --- Cached rules ------------------------------------------------------------------- */

static struct walk_rule *rule_slot(struct walk_cache *c, uint64_t pc)
{
    return &c->rules[(pc ^ pc >> WALK_RULE_BITS) & ((1U << WALK_RULE_BITS) - 1)];
}

static bool is_usual(const struct unwind_rule *rule)
{
    return rule->cfa <= CFA_FP && rule->from == RETURN_AT_CFA &&
           rule->return_offset == -1 && rule->fp <= FP_AT_CFA &&
           (rule->fp == FP_SAME || rule->fp_offset < 0);
}

static void cache_rule(struct walk_rule *slot, uint64_t pc,
                       const struct unwind_rule *rule)
{
    *slot = (struct walk_rule){.pc = pc,
                               .cfa_offset = rule->cfa_offset,
                               .fp_offset = rule->fp == FP_AT_CFA ? rule->fp_offset : 0,
                               .is_by_fp = rule->cfa == CFA_FP};
}

/* The same as step_by, for a cached rule. The caller depends on nothing but the frame, the
 * word below its stack pointer and that at fp_at. */
static inline bool step_usual(struct walk *w, const struct walk_rule *rule)
{
    uint64_t cfa = (rule->is_by_fp ? w->fp : w->sp) + (uint64_t)(int64_t)rule->cfa_offset;
    uint64_t fp_at = words_from(cfa, rule->fp_offset);
    if (cfa < w->sp + sizeof cfa || cfa > w->end)
        return false;
    w->fp_at = 0;
    if (rule->fp_offset) {
        if (fp_at < w->sp || fp_at > cfa)
            return false;
        w->fp = load(fp_at);
        w->fp_at = fp_at;
    }
    w->pc = load(cfa - sizeof w->pc);
    w->sp = cfa;
    w->is_exact = false;
    w->is_outermost = w->pc == 0;
    return true;
}

/* --- The cache ---------------------------------------------------------------------- */

static uint64_t frame_of(const struct walk *w)
{
    return w->pc | (w->is_exact ? HEAP_EXACT : 0);
}

static uint64_t hash_frame(uint64_t callers, uint64_t frame)
{
    uint64_t h = (callers ^ frame) * UINT64_C(0x9e3779b97f4a7c15);
    return h ^ h >> 29;
}

/* The frame pointer of the last fresh frame decides where its callers are, and so does the
 * word that it was read from. */
static void need_fp(struct walk_cache *c, size_t fresh)
{
    while (fresh-- > 0) {
        c->fresh[fresh].needs_fp = true;
        if (c->fresh[fresh].fp_at)
            break;
    }
}

/* Whether the frame is the topmost one of the cache, after those were removed that have
 * returned. */
static bool is_cached(const struct walk *w, struct walk_cache *c, size_t fresh)
{
    while (c->count > 1 && c->frames[c->count - 1].sp < w->sp)
        c->count--;
    if (c->count <= 1 || c->count + fresh > HEAP_FRAMES_MAX + 1)
        return false;
    struct walk_frame *top = &c->frames[c->count - 1];
    if (top->sp != w->sp || top->pc != frame_of(w) || !w->has_fp ||
        (top->needs_fp && top->fp != w->fp))
        return false;
    top->fp = w->fp;
    top->fp_at = w->fp_at;
    if (top->needs_fp && !top->fp_at)
        need_fp(c, fresh);
    return true;
}

/* The number of cached frames, from the root on, of which the last is not the caller of the
 * next one any more, or not by these words alone. 0: all callers of the topmost frame are
 * what they were. */
static size_t count_stale(const struct walk_cache *c)
{
    const struct walk_frame *f = &c->frames[c->count - 1];
    for (; f > c->frames; f--) {
        const struct walk_frame *caller = f - 1;
        if (f->is_opaque || load(caller->sp - sizeof caller->pc) != caller->pc ||
            (caller->needs_fp && caller->fp_at && load(caller->fp_at) != caller->fp))
            return (size_t)(f - c->frames);
    }
    return 0;
}

/* Moves the frames above the stale ones to the fresh ones, and the walk to the last of
 * them, from where it goes on. Returns the number of fresh frames without that one. */
static size_t leave_cache(struct walk *w, struct walk_cache *c, size_t fresh,
                          size_t stale)
{
    while (c->count > stale + 1) {
        struct walk_frame *f = &c->frames[--c->count], *next = f - 1;
        f->fp = w->fp;
        c->fresh[fresh++] = *f;
        if (next->fp_at)
            w->fp = load(next->fp_at);
        w->pc = next->pc & ~HEAP_EXACT;
        w->is_exact = next->pc & HEAP_EXACT;
        w->sp = next->sp;
        w->fp_at = next->fp_at;
    }
    c->count = stale;
    return fresh;
}

static void begin_frames(struct walk_cache *c, const struct walk *w)
{
    c->count = 1;
    c->frames[0] = (struct walk_frame){.sp = w->sp, .hash = c->space};
}

static void begin_space(struct walk_cache *c, uint64_t space)
{
    memset(c->rules, 0, sizeof c->rules);
    c->count = 0;
    c->space = space;
}

static void append_fresh(struct walk_cache *c, size_t fresh)
{
    while (fresh-- > 0) {
        struct walk_frame *f = &c->frames[c->count++];
        *f = c->fresh[fresh];
        f->hash = hash_frame(f[-1].hash, f->pc);
    }
}

/* --- Walks -------------------------------------------------------------------------- */

/* The word below the stack pointer of a caller that there is not. */
static const uint64_t no_caller[2];

static inline void add_fresh(struct walk_cache *c, size_t fresh, const struct walk *w)
{
    struct walk_frame *f = &c->fresh[fresh];
    f->pc = frame_of(w);
    f->sp = w->sp;
    f->fp = w->fp;
    f->fp_at = w->fp_at;
    f->needs_fp = f->is_opaque = false;
}

/* Steps by the cached rule of the frame, which is the last fresh one. */
static inline bool step_cached(struct walk *w, struct walk_cache *c, size_t fresh)
{
    const struct walk_rule *rule = rule_slot(c, w->pc);
    if (!step_usual(w, rule))
        return false;
    if (rule->is_by_fp)
        need_fp(c, fresh);
    return true;
}

/* The slow path of step. */
static __attribute__((noinline)) bool step_by_table(struct walk *w, struct walk_cache *c,
                                                    size_t fresh, uint64_t *missing)
{
    struct unwind_rule rule;
    uint64_t frame = frame_of(w), address = walk_address(frame);
    if (!find_rule(address, c->space, &rule)) {
        *missing = address;
        return false;
    }
    if ((rule.from & ~(unsigned)RETURN_SIGNAL) == RETURN_NONE) {
        w->sp = (uintptr_t)&no_caller[1];
        w->is_outermost = true;
        return true;
    }
    if (is_usual(&rule) && !w->is_exact) {
        cache_rule(rule_slot(c, frame), frame, &rule);
        if (w->has_fp && step_cached(w, c, fresh))
            return true;
    }
    c->fresh[fresh - 1].is_opaque = true;
    return step_by(w, &rule);
}

/* Moves from the last fresh frame to its caller. False if that is not possible. */
static inline bool step(struct walk *w, struct walk_cache *c, size_t fresh,
                        uint64_t *missing)
{
    bool has_rule = rule_slot(c, w->pc)->pc == frame_of(w) && w->has_fp;
    if (__builtin_expect(has_rule && step_cached(w, c, fresh), 1))
        return true;
    return step_by_table(w, c, fresh, missing);
}

/* Frames are missing; those of the cache are not the callers of the fresh ones. */
static struct walk_result end_truncated(struct walk_cache *c)
{
    uint64_t hash = c->space;
    for (size_t i = HEAP_FRAMES_MAX; i-- > 0;)
        hash = hash_frame(hash, c->fresh[i].pc);
    c->count = 0;
    return (struct walk_result){
        .count = HEAP_FRAMES_MAX, .hash = hash | 1, .is_truncated = true};
}

static struct walk_result end_whole(struct walk_cache *c, size_t fresh)
{
    append_fresh(c, fresh);
    return (struct walk_result){.count = c->count - 1,
                                .hash = c->frames[c->count - 1].hash | 1};
}

struct walk_result walk_stack(struct walk *w, struct walk_cache *c, uint64_t space)
{
    struct walk_result none = {.count = 0};
    size_t fresh = 0;
    if (c->space != space)
        begin_space(c, space);
    while (!w->is_outermost) {
        if (is_cached(w, c, fresh)) {
            size_t stale = count_stale(c);
            if (!stale)
                return end_whole(c, fresh);
            fresh = leave_cache(w, c, fresh, stale);
        }
        if (fresh == HEAP_FRAMES_MAX)
            return end_truncated(c);
        add_fresh(c, fresh++, w);
        if (!step(w, c, fresh, &none.missing))
            return none;
    }
    begin_frames(c, w);
    return end_whole(c, fresh);
}

void walk_frames(const struct walk_cache *c, const struct walk_result *result,
                 uint64_t *frames)
{
    for (size_t i = 0; i < result->count; i++)
        frames[i] =
            result->is_truncated ? c->fresh[i].pc : c->frames[c->count - 1 - i].pc;
}
