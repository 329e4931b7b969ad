/* SPDX-License-Identifier: Apache-2.0 */
/* The unwinding of libstoke_heap.so: walk.c alone, on a stack of made-up functions. What a walk
 * finds with the cache of the walks before is what it finds without one, and what was called. */
#include "agents/heap/lane.h"
#include "agents/heap/walk.h"
#include "unit.h"
#include <string.h>

#define WORDS 32768
#define DEPTH_MAX 1200
#define FUNCTIONS 9
#define SITES 2
#define SPACE 7

struct heap_shared *heap_shared;

/* How a function finds its caller. */
enum kind { BY_SP, SAVES_FP, BY_FP, BY_WORD, KINDS };

struct call {
    uint64_t pc, sp, fp; /* of the frame, when it has called the next one */
    uint64_t caller_fp;
    unsigned function;
};

static uint64_t stack[WORDS];
static struct call calls[DEPTH_MAX];
static size_t depth;
static uint64_t seed;
static struct walk_cache cache, none;
static uint64_t frames[HEAP_FRAMES_MAX], plain[HEAP_FRAMES_MAX];

static unsigned draw(unsigned below)
{
    seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407;
    return (unsigned)(seed >> 33) % below;
}

static enum kind kind_of(unsigned function)
{
    return (enum kind)(function % KINDS);
}

static unsigned words_of(unsigned function)
{
    return 2 + function % 3;
}

static uint64_t site(unsigned function, unsigned number)
{
    return 0x400000 + function * 64 + number * 5;
}

static void set_rule(uint64_t pc, const struct unwind_rule *rule)
{
    struct heap_rule *rules =
        (struct heap_rule *)(void *)((char *)heap_shared + HEAP_RULES_AT);
    struct heap_rule *slot = rules + heap_rule_bucket(pc - 1, SPACE);
    for (int i = 0; i < HEAP_BUCKET; i++, slot++)
        if (!slot->address) {
            *slot = (struct heap_rule){.address = pc - 1, .space = SPACE, .rule = *rule};
            return;
        }
    fail_msg("no room for a rule");
}

static void set_rules(void)
{
    const struct unwind_rule of_kind[KINDS] = {
        [BY_SP] = {.cfa = CFA_SP, .fp = FP_SAME},
        [SAVES_FP] = {.cfa = CFA_SP, .fp = FP_AT_CFA, .fp_offset = -2},
        [BY_FP] = {.cfa = CFA_FP, .cfa_offset = 16, .fp = FP_AT_CFA, .fp_offset = -2},
        [BY_WORD] = {.cfa = CFA_SP_DEREF, .fp = FP_SAME},
    };
    for (unsigned f = 0; f < FUNCTIONS; f++)
        for (unsigned s = 0; s < SITES; s++) {
            struct unwind_rule rule = of_kind[kind_of(f)];
            rule.from = RETURN_AT_CFA;
            rule.return_offset = -1;
            if (rule.cfa == CFA_SP)
                rule.cfa_offset = (int32_t)(8 * (words_of(f) + 1));
            if (f == 0)
                rule.from = RETURN_NONE;
            set_rule(site(f, s), &rule);
        }
}

static uint64_t *word(uint64_t at)
{
    return (uint64_t *)(uintptr_t)at; /* NOLINT(performance-no-int-to-ptr) */
}

/* The frame of a function whose return address is at `at`, until it calls another one. */
static void enter(unsigned function, uint64_t at, uint64_t fp)
{
    struct call *c = &calls[depth++];
    bool is_fixed = kind_of(function) == BY_SP || kind_of(function) == SAVES_FP;
    unsigned words = words_of(function) + (is_fixed ? 0 : draw(4));
    *c = (struct call){.pc = site(function, draw(SITES)),
                       .sp = at - 8 * words,
                       .fp = fp,
                       .caller_fp = fp,
                       .function = function};
    for (unsigned i = 0; i < words; i++)
        if (draw(8) == 0)
            *word(c->sp + 8 * i) = draw(3); /* the other locals are what was there */
    if (kind_of(function) == SAVES_FP || kind_of(function) == BY_FP)
        *word(at - 8) = fp;
    if (kind_of(function) == SAVES_FP)
        c->fp = draw(2); /* a register as any other */
    if (kind_of(function) == BY_FP)
        c->fp = at - 8;
    if (kind_of(function) == BY_WORD)
        *word(c->sp) = at + 8;
}

static void call(unsigned function)
{
    struct call *c = &calls[depth - 1];
    uint64_t at = c->sp - 8;
    *word(at) = c->pc;
    enter(function, at, c->fp);
}

static void begin(bool ends_by_zero)
{
    depth = 0;
    uint64_t top = (uint64_t)(uintptr_t)(stack + WORDS - 2);
    *word(top) = 0;
    enter(ends_by_zero ? 4 : 0, top, 0);
}

/* Returns from some functions, of which the last one goes on and calls others. */
static void change(size_t most)
{
    size_t returns = draw(4) ? draw(4) : draw((unsigned)depth + 1);
    depth -= returns < depth ? returns : depth - 1;
    if (draw(3))
        calls[depth - 1].pc = site(calls[depth - 1].function, draw(SITES));
    if (draw(2) && kind_of(calls[depth - 1].function) == SAVES_FP)
        calls[depth - 1].fp = draw(3);
    for (unsigned n = draw(4) ? draw(5) : draw(40); n > 0 && depth < most; n--)
        call(1 + draw(FUNCTIONS - 1));
}

static struct walk_result walk(struct walk_cache *with, uint64_t *found)
{
    const struct call *c = &calls[depth - 1];
    struct walk w = {.pc = c->pc,
                     .sp = c->sp,
                     .fp = c->fp,
                     .end = (uint64_t)(uintptr_t)(stack + WORDS),
                     .has_fp = true};
    struct walk_result result = walk_stack(&w, with, SPACE);
    walk_frames(with, &result, found);
    return result;
}

static void check(void)
{
    struct walk_result result = walk(&cache, frames);
    none.count = 0;
    struct walk_result other = walk(&none, plain);
    size_t count = depth < HEAP_FRAMES_MAX ? depth : HEAP_FRAMES_MAX;
    assert_int_equal(result.count, count);
    assert_int_equal(result.is_truncated, depth > HEAP_FRAMES_MAX);
    for (size_t i = 0; i < count; i++)
        assert_int_equal(frames[i], calls[depth - 1 - i].pc);
    assert_int_equal(other.count, count);
    assert_memory_equal(frames, plain, count * sizeof *frames);
    assert_int_equal(result.hash, other.hash);
}

static int start(void **state)
{
    (void)state;
    heap_shared = calloc(1, HEAP_LANES_AT);
    if (!heap_shared)
        return -1;
    set_rules();
    memset(&cache, 0, sizeof cache);
    memset(&none, 0, sizeof none);
    return 0;
}

static int end(void **state)
{
    (void)state;
    free(heap_shared);
    return 0;
}

static void test_cached_walks(void **state)
{
    (void)state;
    for (seed = 1; seed < 60; seed += 2) {
        uint64_t first = seed;
        begin(draw(2));
        for (int i = 0; i < 2000; i++) {
            change(60);
            check();
        }
        seed = first;
    }
}

/* Some of these stacks have more frames than are recorded. */
static void test_deep(void **state)
{
    (void)state;
    seed = 5;
    begin(false);
    while (depth < HEAP_FRAMES_MAX - 20)
        call(1 + draw(FUNCTIONS - 1));
    for (int i = 0; i < 3000; i++) {
        size_t least = HEAP_FRAMES_MAX - 20;
        depth -= depth > least ? draw((unsigned)(depth - least) + 1) : 0;
        for (unsigned n = draw(40); n > 0 && depth < DEPTH_MAX; n--)
            call(1 + draw(FUNCTIONS - 1));
        check();
    }
}

/* Code was unloaded: the same addresses may be other functions. */
static void test_space(void **state)
{
    (void)state;
    seed = 9;
    begin(false);
    call(1);
    check();
    struct walk w = {.pc = calls[1].pc,
                     .sp = calls[1].sp,
                     .fp = calls[1].fp,
                     .end = (uint64_t)(uintptr_t)(stack + WORDS),
                     .has_fp = true};
    struct walk_result result = walk_stack(&w, &cache, SPACE + 1);
    assert_int_equal(result.count, 0);
    assert_int_equal(result.missing, calls[1].pc - 1);
    check();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_cached_walks, start, end),
        cmocka_unit_test_setup_teardown(test_deep, start, end),
        cmocka_unit_test_setup_teardown(test_space, start, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
