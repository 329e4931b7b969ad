/* Stacks of programs that are written here as single instructions; the expected result
 * is the stack of each instruction. */
#include "trace/profile.h"
#include "unit.h"

enum {
    NOP = 0x00000013,
    RET = 0x00008067,
    CALL_T1 = 0x000300e7, /* jalr ra, 0(t1) */
    JUMP_T1 = 0x00030067,
    SWAP = 0x000280e7, /* jalr ra, 0(t0) */
    JR_T0 = 0x00028067,
    ECALL = 0x00000073,
    MRET = 0x30200073,
};

#define BASE 0x1000u
#define WORDS 1024

/* Functions of 16 instructions each: 'a' is at BASE, 'b' follows, and so on. */
static uint32_t code[WORDS];

/* '?' is code outside all files, to which a signal handler returns; '!' is firmware. */
#define TRAMPOLINE 0x40001000u
#define FIRMWARE 0x80000000u

static uint64_t moved; /* all functions, to higher addresses */

static uint32_t at(char function, unsigned instruction)
{
    if (function == '?')
        return TRAMPOLINE + instruction * 4;
    if (function == '!')
        return FIRMWARE + instruction * 4;
    return BASE + (uint32_t)(function - 'a') * 64 + instruction * 4;
}

static uint32_t jump(uint32_t from, uint32_t to, uint32_t link)
{
    uint32_t by = to - from;
    return 0x6f | link << 7 | (by >> 20 & 1) << 31 | (by >> 1 & 0x3ff) << 21 |
           (by >> 11 & 1) << 20 | (by >> 12 & 0xff) << 12;
}

static void put(char function, unsigned instruction, uint32_t bits)
{
    code[(at(function, instruction) - BASE) / 4] = bits;
}

static void put_call(char function, unsigned instruction, char to)
{
    put(function, instruction, jump(at(function, instruction), at(to, 0), 1));
}

static void put_jump(char function, unsigned instruction, char to)
{
    put(function, instruction, jump(at(function, instruction), at(to, 0), 0));
}

/* --- A trace, and the stacks of its instructions ----------------------------------- */

struct fixture {
    struct arena arena;
    struct symbol_table symbols;
    struct trace_segment segment;
    struct trace_binary binary;
    struct tracer tracer;
    uint64_t cycle;
};

static const char *special; /* the name of 's', or NULL */
static char entry;          /* the function at the start of a user program, or 0 */
static const char *open_symbols = "", *no_symbols = ""; /* of these functions */

static struct fixture begin(void)
{
    static char names[26][2];
    struct fixture f = {.arena = ARENA_INIT};
    struct error err;
    symbol_table_init(&f.symbols, &f.arena);
    for (unsigned i = 0; i < 26; i++) {
        names[i][0] = (char)('a' + i);
        if (strchr(no_symbols, 'a' + (int)i))
            continue;
        bool open = strchr(open_symbols, 'a' + (int)i) != NULL;
        const char *name = i == 's' - 'a' && special ? special : names[i];
        symbol_table_add(&f.symbols, (struct symbol_entry){
                                         .address = moved + BASE + i * 64,
                                         .end = moved + BASE + i * 64 + (open ? 640 : 64),
                                         .open = open,
                                         .name = name,
                                         .length = (uint32_t)strlen(name),
                                         .kind = SYMBOL_FUNCTION,
                                         .binding = SYMBOL_GLOBAL});
    }
    assert_true(symbol_table_finish(&f.symbols, SYMBOLS_BEST, &err));
    return f;
}

static void ready(struct fixture *f)
{
    struct error err;
    f->binary = (struct trace_binary){.name = STR("test"), .symbols = &f->symbols};
    assert_true(trace_binary_init(&f->binary, &f->arena, &err));
    f->binary.is_user = entry;
    if (entry)
        f->binary.entry = at(entry, 0);
    f->binary.segments[0].bytes = (struct str){(const char *)code, sizeof code};
    assert_true(tracer_init(&f->tracer, &f->binary, 1, false));
}

/* Words "a0": the function and the number of the instruction in it; each has one
 * cycle. */
static void take(struct fixture *f, const char *words)
{
    for (; *words; words++) {
        if (*words == ' ')
            continue;
        char function = *words++;
        uint64_t pc =
            at(function, (unsigned)strtoul(words, (char **)(uintptr_t)&words, 10)) +
            (function >= 'a' ? moved : 0);
        uint64_t cycle = f->cycle++;
        tracer_take(&f->tracer, &pc, &cycle, 1);
        words--;
    }
}

/* The stacks with their cycles: "a 2, a;b 1", in the order of first appearance. */
static char *stacks(struct fixture *f)
{
    static char text[4096];
    struct builder b;
    struct error err;
    struct output o = OUTPUT_BUFFER;
    struct trace_profile_options options = {
        .core = 0, .process = ID_NONE, .name = STR("")};
    tracer_end(&f->tracer);
    assert_true(builder_init(&b, BUILD_COUNT));
    assert_true(trace_profile(&f->tracer, &b, &options, &err));
    struct profile *p = builder_finish(&b, &err);
    double sum = 0;
    for (size_t i = 0; i < p->sample_count; i++) {
        struct str names[64];
        size_t n = 0;
        for (stack_id s = p->samples[i].stack; s; s = p->stacks[s].parent)
            names[n++] = profile_string(p, p->frames[p->stacks[s].frame].name);
        output_text(&o, i ? ", " : "");
        if (p->thread_count > 2)
            output_format(&o, "%lld:", (long long)p->threads[p->samples[i].thread].tid);
        for (; n > 0; n--) {
            bool whole = str_find(names[n - 1], '+') < names[n - 1].len;
            output_str(&o, str_head(names[n - 1], whole ? 64 : 1));
            output_text(&o, n > 1 ? ";" : "");
        }
        output_format(&o, " %.0f", p->samples[i].weight);
        sum += p->samples[i].weight;
        assert_int_equal(p->samples[i].count, (uint64_t)p->samples[i].weight);
    }
    assert_int_equal((uint64_t)sum, f->cycle); /* the whole duration */
    if (o.used)
        memcpy(text, o.bytes, o.used);
    text[o.used] = 0;
    output_deinit(&o);
    profile_destroy(p);
    return text;
}

static void end(struct fixture *f)
{
    tracer_deinit(&f->tracer);
    arena_deinit(&f->arena);
    special = NULL;
    entry = 0;
    moved = 0;
    open_symbols = no_symbols = "";
}

static void reset(void)
{
    for (size_t i = 0; i < WORDS; i++)
        code[i] = NOP;
}

/* Runs the trace with the code that the test has written. */
static void expect(const char *words, const char *expected)
{
    struct fixture f = begin();
    ready(&f);
    take(&f, words);
    assert_string_equal(stacks(&f), expected);
    end(&f);
}

static void test_calls(void **state)
{
    (void)state;
    reset();
    put_call('a', 1, 'b');
    put('b', 1, CALL_T1);
    put('b', 2, RET);
    put('c', 1, RET);
    expect("a0 a1 b0 b1 c0 c1 b2 a2", "a 3, a;b 3, a;b;c 2");
    put_call('c', 0, 'c'); /* recursion has its real depth */
    expect("a0 a1 b0 b1 c0 c0 c0", "a 2, a;b 2, a;b;c 1, a;b;c;c 1, a;b;c;c;c 1");
}

/* Instructions of one block, one of which calls the block. */
static void test_call_of_itself(void **state)
{
    (void)state;
    reset();
    put_call('a', 0, 'b');
    put_call('b', 0, 'b');
    const uint64_t pcs[] = {at('a', 0), at('b', 0), at('b', 0), at('b', 0)};
    const uint64_t cycles[] = {0, 1, 2, 3};
    struct fixture f = begin();
    ready(&f);
    tracer_take(&f.tracer, pcs, cycles, 4);
    f.cycle = 4;
    assert_string_equal(stacks(&f), "a 1, a;b 1, a;b;b 1, a;b;b;b 1");
    end(&f);
}

static void test_tail_calls(void **state)
{
    (void)state;
    reset();
    put_call('a', 0, 'b');
    put_jump('b', 0, 'c');
    put('c', 0, JUMP_T1);
    put('d', 0, RET);
    expect("a0 b0 c0 d0 a1", "a 2, a;b 1, a;c 1, a;d 1");
    put_jump('c', 0, 'b'); /* repeated pairs of them are one frame */
    expect("a0 b0 c0 b0 c0 b0 c0", "a 1, a;b 3, a;c 3");
}

static void test_swaps(void **state)
{
    (void)state;
    reset();
    put_call('a', 0, 'b');
    put('b', 1, SWAP);
    put('c', 1, SWAP);
    put('b', 3, RET);
    /* At the start of c, it is called; later it continues and replaces b, and b
     * replaces it. */
    expect("a0 b0 b1 c0 c1 b2 b3 a1", "a 2, a;b 4, a;b;c 2");
    put('b', 3, SWAP);
    put('b', 4, RET);
    put('c', 2, SWAP);
    expect("a0 b0 b1 c0 c1 b2 b3 c2 b4 a1", "a 2, a;b 5, a;b;c 2, a;c 1");
}

/* Go calls closures by t0, a link register. */
static void test_calls_by_t0(void **state)
{
    (void)state;
    reset();
    put_call('a', 0, 'b');
    put('b', 1, SWAP);
    put('b', 2, RET);
    put('c', 1, RET);
    put('d', 0, JR_T0);
    put_call('c', 0, 'd');
    put('e', 0, RET);
    expect("a0 b0 b1 c0 d0 e0 c1 b2 a1", "a 2, a;b 3, a;b;c 2, a;b;c;d 1, a;b;c;e 1");
}

static void test_traps(void **state)
{
    (void)state;
    reset();
    put_call('a', 0, 'b');
    put('b', 1, ECALL);
    put_call('t', 0, 'u');
    put('u', 0, RET);
    put('t', 1, MRET);
    expect("a0 b0 b1 t0 u0 t1 b2 b3", "a 1, a;b 4, a;b;t 2, a;b;t;u 1");
    /* An interrupt; the handler is interrupted, too; a faulting load is executed
     * again. */
    expect("a0 b0 t0 u0 t1 b1 t0 t0 u0 t1 u0 t1 b1",
           "a 1, a;b 3, a;b;t 4, a;b;t;u 2, a;b;t;u;t 2, a;b;t;u;t;u 1");
}

static void test_interrupted_jumps(void **state)
{
    (void)state;
    reset();
    put_call('a', 0, 'b');
    put('b', 1, RET);
    put('t', 0, MRET);
    /* Instead of the first instruction of b; then before the call, which is recorded
     * again. */
    expect("a0 t0 b0 b1 a1", "a 2, a;b 2, a;b;t 1");
    expect("a0 t0 a0 b0 b1 a1", "a 3, a;b 2, a;b;t 1");
    /* A known handler interrupts a return. */
    expect("a0 b0 t0 b1 t0 a1", "a 2, a;b 2, a;b;t 1, a;t 1");
}

static void test_beginning(void **state)
{
    (void)state;
    reset();
    put('c', 0, RET);
    put_call('b', 0, 'c');
    put('b', 1, RET);
    put_call('a', 0, 'b');
    expect("c0 b1 a1", "a;b;c 1, a;b 1, a 1");
    put('t', 0, MRET); /* a trap had not returned */
    expect("t0 b3", "b;t 1, b 1");
}

/* A program that returns to further callers without end: the number is limited, and
 * reported. */
static void test_endless_callers(void **state)
{
    (void)state;
    reset();
    put_call('a', 0, 'b');
    put('a', 1, RET);
    struct fixture f = begin();
    ready(&f);
    for (uint32_t i = 0; i < TRACE_CALLERS_MAX + 10; i++)
        take(&f, "a1");
    assert_int_equal(f.tracer.report.callers, TRACE_CALLERS_MAX);
    assert_int_equal(f.tracer.report.unmatched, 9);
    end(&f);
}

static void test_longjmp(void **state)
{
    (void)state;
    reset();
    special = "setjmp";
    put_call('a', 0, 's');
    put('s', 0, RET);
    put_call('a', 1, 'b');
    put_call('b', 0, 'c');
    put_call('c', 0, 'd');
    put('d', 0, RET); /* to the instruction after the call of setjmp */
    expect("a0 s0 a1 b0 c0 d0 a1 a2", "a 4, a;s 1, a;b 1, a;b;c 1, a;b;c;d 1");
}

/* The handler is entered again at the address to which it has just returned. */
/* A machine boots below all programs: code that it starts by the return of a trap is
 * not a caller of the code before. */
static void test_boot(void **state)
{
    (void)state;
    reset();
    entry = 'a';
    put_call('a', 1, 'b');
    put('b', 1, MRET);
    expect("a0 a1 b0 b1 c3 c4", "a 2, a;b 2, c 2");
}

/* A jump and link to the next instruction, or over data, which reads the PC; and one
 * that is a call within its function. */
static void test_read_pc(void **state)
{
    (void)state;
    reset();
    put_call('a', 0, 'b');
    put('b', 1, jump(at('b', 1), at('b', 3), 1));
    put('b', 3, 0x00c08293); /* addi t0, ra, 12 */
    put('b', 5, RET);
    put_call('a', 1, 'b');
    expect("a0 b0 b1 b3 b4 b5 a1", "a 2, a;b 5");
    put('b', 3, NOP);
    expect("a0 b0 b1 b3 b4 b5 b2 b3", "a 1, a;b 4, a;b;b 3");
}

/* Functions without symbols, after one with a size or covered by one without, are
 * named by the address that is called; targets of jumps have no name of their own. */
static void test_call_targets(void **state)
{
    (void)state;
    reset();
    put_call('a', 0, 'c');
    put('a', 1, CALL_T1);
    put('c', 1, RET);
    put('e', 1, RET);
    put_call('e', 0, 'h');
    put('h', 0, jump(at('h', 0), at('h', 2), 0));
    put('h', 3, RET);
    no_symbols = "cdegh";
    expect("a0 c0 c1 a1 e0 h0 h2 h3 e1 a2",
           "a 3, a;test+0x1080 2, a;test+0x1100 2, a;test+0x1100;test+0x11c0 3");
    no_symbols = "cdegh";
    open_symbols = "bf";
    expect("a0 c0 c1 a1 e0 h0 h2 h3 e1 a2",
           "a 3, a;test+0x1080 2, a;test+0x1100 2, a;test+0x1100;test+0x11c0 3");
    no_symbols = "cdegh";
    open_symbols = "bf";
    expect("a1 b0 b1", "a 1, a;b 2");
    /* A jump and link that only reads the PC does not start a function. */
    put('f', 1, jump(at('f', 1), at('f', 3), 1));
    put('f', 3, 0x00c08293); /* addi t0, ra, 12 */
    no_symbols = "cdegh";
    open_symbols = "bf";
    expect("a1 f0 f1 f3 f4", "a 1, a;f 4");
}

/* la ra, 1f; j b; 1: is a call, also with other instructions between, or with a jump
 * by register; it is not a call if ra is loaded again. */
static void test_two_part_calls(void **state)
{
    (void)state;
    const uint32_t load = 0x00813083; /* ld ra, 8(sp) */
    reset();
    put_call('a', 0, 'c');
    put('c', 0, 0x00000097); /* auipc ra, 0 */
    put('c', 1, 0x00c08093); /* addi ra, ra, 12 */
    put_jump('c', 2, 'b');
    put('c', 4, RET);
    put('b', 1, RET);
    expect("a0 c0 c1 c2 b0 b1 c3 c4 a1", "a 2, a;c 5, a;c;b 2");
    expect("b0 b1 c3 c4 a1", "a;c;b 2, a;c 2, a 1");
    put('c', 1, 0x01408093); /* addi ra, ra, 20 */
    put('c', 2, NOP);
    put('c', 3, NOP);
    put('c', 4, JUMP_T1);
    put('c', 5, RET);
    expect("a0 c0 c1 c2 c3 c4 b0 b1 c5 a1", "a 2, a;c 6, a;c;b 2");
    put_jump('c', 4, 'c'); /* itself */
    expect("a0 c0 c1 c2 c3 c4 c0 c1 c2 c3 c4 c0", "a 1, a;c 5, a;c;c 5, a;c;c;c 1");
    put_jump('c', 4, 'b');
    put('c', 3, load);
    expect("a0 c0 c1 c2 c3 c4 b0 b1 a1", "a 2, a;c 5, a;b 2");
}

/* A context that is loaded in the function that stored it: longjmp to an outer level
 * of a recursion, and a switch to another stack. */
static void test_contexts(void **state)
{
    (void)state;
    reset();
    put_call('a', 0, 's');
    put('a', 1, CALL_T1);
    put('s', 1, RET);
    put('j', 1, RET);
    struct fixture f = begin();
    ready(&f);
    take(&f, "a0 s0");
    tracer_save_context(&f.tracer, 0x100);
    take(&f, "s1 a1 a0 s0");
    tracer_save_context(&f.tracer, 0x200);
    take(&f, "s1 a1 a0 s0");
    tracer_save_context(&f.tracer, 0x300);
    take(&f, "s1 a1 j0");
    tracer_load_context(&f.tracer, 0x200); /* returns to the second of three calls */
    take(&f, "j1 a1");
    assert_int_equal(f.tracer.tasks[0].count, 2);
    assert_string_equal(stacks(&f), "a 2, a;s 2, a;a 3, a;a;s 2, a;a;a 2, a;a;a;s 2, "
                                    "a;a;a;j 2");
    end(&f);
}

static void test_trap_behind_trap(void **state)
{
    (void)state;
    reset();
    put_call('a', 0, 'b');
    put('b', 1, ECALL);
    put('t', 1, MRET);
    expect("a0 b0 b1 t0 t1 b2 t0 t1 t0 t1 b3", "a 1, a;b 4, a;b;t 6");
    /* At the start of the trace, when the return address is unknown. */
    expect("t0 t1 a2 t0 t1 t0 t1 a3", "a;t 6, a 2");
}

/* A handler that jumps back to the interrupted code, without mret; and a context that
 * was loaded before the jump that the trap interrupted. */
static void test_handler_jumps_back(void **state)
{
    (void)state;
    put('h', 1, JUMP_T1);
    expect("a0 a1 h0 h1 a2 a3", "a 4, a;h 2");
    put('a', 1, 0x00050463); /* beqz a0, 8: the branch that leaves the handler */
    put_call('z', 0, 'a');
    expect("z0 a0 a1 h0 h1 a3 a4", "z 1, z;a 4, z;a;h 2");
    reset();
    put('h', 1, MRET);
    put_call('a', 1, 'b');
    put_call('b', 1, 'd');
    put('d', 0, JR_T0);
    struct fixture f = begin();
    ready(&f);
    take(&f, "a0 h0 h1 a1 b0");
    tracer_save_context(&f.tracer, 0x100);
    take(&f, "b1 d0");
    tracer_load_context(&f.tracer, 0x100);
    take(&f, "h0 h1 a2 a3");
    assert_string_equal(stacks(&f), "a 4, a;h 2, a;b 2, a;b;d 1, a;b;d;h 2");
    end(&f);
}

/* A kernel's handler loads the stack pointer of the kernel, which no instruction has
 * stored, and jumps to another function by a link register: no task begins there. */
static void test_stack_of_kernel(void **state)
{
    (void)state;
    reset();
    put('h', 1, JR_T0);
    put('g', 0, RET);
    put('k', 0, MRET);
    struct fixture f = begin();
    ready(&f);
    take(&f, "a0 a1 h0");
    tracer_load_context(&f.tracer, 0x100);
    take(&f, "h1 g0 k0 a2");
    assert_int_equal(f.tracer.task_count, 1);
    assert_string_equal(stacks(&f), "a 3, a;h 2, a;g 1, a;k 1");
    end(&f);
    /* The same, in a trace without addresses of stores and loads. */
    put('h', 0, 0x00223823); /* sd sp, 16(tp) */
    put('h', 1, 0x00823103); /* ld sp, 8(tp) */
    put('h', 2, JR_T0);
    expect("a0 a1 h0 h1 h2 g0 k0 a2", "a 3, a;h 3, a;g 1, a;k 1");
}

/* The firmware interrupts a call by register; when it returns, the kernel interrupts
 * it. The handler of the kernel jumps to a function by register, which returns from
 * the trap. */
static void test_interrupted_call(void **state)
{
    (void)state;
    reset();
    put_call('z', 0, 'a');
    put('a', 2, CALL_T1);
    put('b', 1, RET);
    put('m', 1, MRET);
    put('k', 1, JUMP_T1);
    put('g', 1, MRET);
    expect("z0 a0 m0 m1 a1 k0 k1 g0 g1 a2 m0 m1 k0 k1 g0 g1 b0 b1 a3",
           "z 1, z;a 4, z;a;m 2, z;a;k 2, z;a;g 2, z;a;b;m 2, z;a;b;k 2, z;a;b;g 2, "
           "z;a;b 2");
}

/* A jump by register to another function is interrupted; the handler loads its stack
 * pointer again, which no instruction has stored. No task begins at the return
 * address. */
static void test_interrupted_tail_call(void **state)
{
    (void)state;
    reset();
    put_call('z', 0, 'a');
    put('a', 2, JUMP_T1);
    put('k', 1, MRET);
    put('b', 1, RET);
    struct fixture f = begin();
    ready(&f);
    take(&f, "z0 a0 k0 k1 a1 a2 k0 k1");
    tracer_load_context(&f.tracer, 0x100);
    take(&f, "b0 b1 z1");
    assert_int_equal(f.tracer.task_count, 1);
    assert_string_equal(stacks(&f), "z 2, z;a 3, z;a;k 2, z;b;k 2, z;b 2");
    end(&f);
}

/* A kernel enables the addresses of its file in the middle of a function. The caller
 * of that function is not a caller of the firmware that ran before; the caller of the
 * firmware is. */
static void test_kernel_behind_firmware(void **state)
{
    (void)state;
    reset();
    put_call('k', 0, 'r');
    put_call('j', 0, 'k');
    put('r', 4, RET);
    put('k', 2, RET);
    moved = 0xffffffff80000000;
    expect("!0 !1 r3 r4 k1 k2 j1", "[ 2, j;k;r 2, j;k 2, j 1");
    put('k', 1, ECALL);
    moved = 0xffffffff80000000;
    expect("!0 !1 k2 j1", "j;[ 2, j;k 1, j 1");
}

/* A signal arrives in the trampoline: before its first instruction, before its second
 * one, and when that calls rt_sigreturn, which is then called again. "[" is code
 * outside all files. */
static void test_signals_in_trampoline(void **state)
{
    (void)state;
    reset();
    put('h', 1, RET);
    expect("a0 h0 h1 ?0 ?1 a1", "a 2, a;h 2, a;[ 2");
    expect("a0 h0 h1 ?0 ?1 h0 h1 ?0 ?1 a1",
           "a 2, a;h 4, a;[ 4"); /* a signal was pending */
    expect("a0 h0 h1 ?0 ?1 a1 h0 h1 h0 h1 ?0 ?1 ?0 ?1 a2", "a 3, a;h 4, a;[ 6, a;[;h 2");
    expect("a0 h0 h1 ?0 h0 h1 ?0 ?1 ?1 a1", "a 2, a;h 2, a;[ 4, a;[;h 2");
    expect("a0 h0 h1 ?0 ?1 h0 h1 ?0 ?1 ?1 a1", "a 2, a;h 2, a;[ 5, a;[;h 2");
    /* A handler makes a call; no handler has returned before. */
    put_call('h', 0, 'g');
    put('g', 0, RET);
    put('i', 1, RET);
    expect("a0 h0 g0 h1 ?0 ?1 a1 h0 g0 h1 i0 i1 ?0 ?1 ?0 ?1 a2",
           "a 3, a;h 4, a;h;g 2, a;[ 6, a;[;i 2");
    /* The interrupted instruction is a call by register with an unknown target. */
    put('a', 1, CALL_T1);
    put('b', 1, RET);
    expect("a0 h0 g0 h1 ?0 ?1 a1 h0 g0 h1 ?0 h0 g0 h1 ?0 ?1 ?1 b0 b1 a2",
           "a 3, a;h 2, a;h;g 1, a;[ 2, a;b;h 2, a;b;h;g 1, a;b;[ 4, a;b;[;h 2, "
           "a;b;[;h;g 1, a;b 2");
    expect("a0 h0 g0 h1 ?0 ?1 a1 h0 h1 ?0 ?1 h0 h1 ?0 ?1 h0 h1 ?0 ?1 ?1 b0 b1 a2",
           "a 3, a;h 2, a;h;g 1, a;[ 2, a;b;h 4, a;b;[ 7, a;b;[;h 2, a;b 2");
}

/* The same, in a trace that contains the kernel, which calls the handlers. */
static void test_signals_by_kernel(void **state)
{
    (void)state;
    reset();
    put('h', 1, RET);
    put('k', 1, MRET);
    entry = 'p';
    expect("a0 k0 k1 h0 h1 ?0 ?1 k0 k1 a1", "a 2, a;k 2, a;h 2, a;[ 2, a;[;k 2");
    entry = 'p';
    expect("a0 k0 k1 h0 h1 ?0 ?1 k0 k1 h0 h1 ?0 ?1 k0 k1 a1",
           "a 2, a;k 2, a;h 4, a;[ 4, a;[;k 4");
    entry = 'p';
    expect("a0 k0 k1 h0 h1 ?0 k0 k1 ?1 k0 k1 a1", "a 2, a;k 2, a;h 2, a;[ 2, a;[;k 4");
    entry = 'p';
    expect("a0 k0 k1 h0 h1 ?0 k0 k1 h0 h1 ?0 ?1 k0 k1 ?1 k0 k1 a1",
           "a 2, a;k 2, a;h 2, a;[ 4, a;[;k 6, a;[;h 2");
    entry = 'p';
    expect("a0 k0 k1 h0 h1 ?0 ?1 k0 k1 a1 k0 k1 h0 h1 k0 k1 ?0 ?1 k0 k1 a2",
           "a 3, a;k 4, a;h 4, a;[ 4, a;[;k 6");
}

/* --- Signals at each instruction ---------------------------------------------------- */

static const char SIGRETURN[] = "?1";

/* Instructions with their stacks. */
struct script {
    struct scripted {
        const char *word;
        char stack[64];
    } steps[64];
    size_t count;
};

static void script_add(struct script *s, const char *word, const char *stack,
                       const char *frames)
{
    struct scripted *step = &s->steps[s->count++];
    step->word = word;
    int length = snprintf(step->stack, sizeof step->stack, "%s%s", stack, frames);
    assert_true(length < (int)sizeof step->stack);
}

/* A signal arrives before the instruction of that number; or in the instruction before
 * it, the second one of the trampoline, which is then executed again. Its handler calls
 * c. */
static void script_signal(struct script *s, size_t at, bool again)
{
    const struct script before = *s;
    const struct scripted *next = &before.steps[at - again];
    bool in_trampoline = next->word[0] == '?';
    s->count = at;
    script_add(s, "h0", next->stack, ";h");
    script_add(s, "c0", next->stack, ";h;c");
    script_add(s, "c2", next->stack, ";h;c");
    script_add(s, "c3", next->stack, ";h;c");
    script_add(s, "h1", next->stack, ";h");
    /* Code outside all files is one frame, even if it calls itself. */
    script_add(s, "?0", next->stack, in_trampoline ? "" : ";[");
    script_add(s, SIGRETURN, next->stack, in_trampoline ? "" : ";[");
    for (size_t i = at - again; i < before.count; i++)
        script_add(s, before.steps[i].word, before.steps[i].stack, "");
}

static void expect_script(const struct script *s)
{
    char found[4096], one[80];
    struct fixture f = begin();
    ready(&f);
    for (size_t i = 0; i < s->count; i++)
        take(&f, s->steps[i].word);
    snprintf(found, sizeof found, ", %s,", stacks(&f));
    end(&f);
    for (size_t i = 0; i < s->count; i++) {
        unsigned count = 0;
        for (size_t j = 0; j < s->count; j++)
            count += strcmp(s->steps[j].stack, s->steps[i].stack) == 0;
        snprintf(one, sizeof one, ", %s %u,", s->steps[i].stack, count);
        if (strstr(found, one))
            continue;
        for (size_t j = 0; j < s->count; j++)
            print_error("%s ", s->steps[j].word);
        fail_msg("\"%s\" is not in \"%s\"", one, found);
    }
}

/* Whether a signal can arrive there: see script_signal. Of several handlers before the
 * trampoline's second instruction is executed again, the last one interrupted it: a
 * trace does not show which. */
static bool can_arrive(const struct script *s, size_t at, bool again)
{
    bool ends = s->steps[at - 1].word == SIGRETURN;
    return again ? ends : !ends || s->steps[at].word != SIGRETURN;
}

#define SIGNALS 3

/* All scripts with one to three signals more, each at a position from `first` on. */
static void expect_signals(const struct script *base, size_t first)
{
    struct script scripts[SIGNALS + 1] = {*base};
    size_t positions[SIGNALS] = {2 * first}; /* odd: `again` */
    for (size_t level = 0;;) {
        struct script *next = &scripts[level + 1];
        size_t at = positions[level] / 2;
        bool again = positions[level]++ % 2;
        *next = scripts[level];
        if (at == next->count && level == 0)
            return;
        if (at == next->count) {
            level--;
        } else if (can_arrive(next, at, again)) {
            script_signal(next, at, again);
            expect_script(next);
            if (level + 1 < SIGNALS)
                positions[++level] = 2 * (at + 1);
        }
    }
}

/* Three signals, each before each instruction: at the target of a recursive call, of a
 * return, of a tail jump, of a call and a jump by register; in the handler and in a
 * function that it calls; at the end of the handler, in the trampoline and directly
 * after it. */
static void test_signals_anywhere(void **state)
{
    (void)state;
    reset();
    put_call('z', 1, 'a');
    put_call('a', 0, 'c');
    put('c', 0, 0x00050463); /* beqz a0, 8 */
    put_call('c', 1, 'c');
    put('c', 3, RET);
    put_call('a', 1, 'd');
    put_jump('d', 1, 'e');
    put('e', 1, RET);
    put('a', 2, CALL_T1);
    put('f', 0, JUMP_T1);
    put('g', 1, RET);
    put_call('h', 0, 'c');
    put('h', 1, RET);
    struct script base = {.count = 0};
    script_add(&base, "z0", "z", "");
    script_add(&base, "z1", "z", "");
    script_signal(&base, 1, false);
    size_t first = base.count;
    const char *const rest[][2] = {
        {"a0", "z;a"},     {"c0", "z;a;c"},   {"c1", "z;a;c"}, {"c0", "z;a;c;c"},
        {"c2", "z;a;c;c"}, {"c3", "z;a;c;c"}, {"c2", "z;a;c"}, {"c3", "z;a;c"},
        {"a1", "z;a"},     {"d0", "z;a;d"},   {"d1", "z;a;d"}, {"e0", "z;a;e"},
        {"e1", "z;a;e"},   {"a2", "z;a"},     {"f0", "z;a;f"}, {"g0", "z;a;g"},
        {"g1", "z;a;g"},   {"a3", "z;a"},     {"a4", "z;a"}};
    for (size_t i = 0; i < sizeof rest / sizeof *rest; i++)
        script_add(&base, rest[i][0], rest[i][1], "");
    expect_signals(&base, first);
}

/* A block of one instruction that runs `times` more. */
static uint64_t take_again(struct fixture *f, char function, uint64_t times)
{
    struct trace_site site;
    struct trace_block block = {.pc = at(function, 0), .count = 1, .sites = &site};
    uint64_t steps = times;
    struct trace_where where = trace_code_where(&f->tracer.code, block.pc);
    trace_code_describe(&f->tracer.code, block.pc, code[(block.pc - BASE) / 4], where,
                        &site);
    assert_true(trace_block_ready(&f->tracer, &block));
    tracer_take_block(&f->tracer, &block, 0, 1, f->cycle++);
    assert_true(tracer_take_again(&f->tracer, &block, 0, 1, f->cycle, times, &steps));
    f->cycle += times;
    return times - steps;
}

/* A repeated block begins the same stack again, or traps again: repetitions need no
 * memory. */
static void test_repeats(void **state)
{
    (void)state;
    put('a', 0, MRET);
    struct fixture f = begin();
    ready(&f);
    take_again(&f, 'a', 100000);
    assert_true(f.tracer.tree.trie.count < 10);
    assert_string_equal(stacks(&f), "a 100001");
    end(&f);
    put('b', 0, NOP);
    f = begin();
    ready(&f);
    take_again(&f, 'b', 100000);
    assert_true(f.tracer.tasks[f.tracer.current].trap_count <= TRACE_TRAPS_MAX);
    end(&f);
}

static void test_exec(void **state)
{
    (void)state;
    reset();
    entry = 'p';
    put_call('a', 0, 'b');
    put('b', 1, ECALL);
    put('t', 1, MRET);
    put_call('p', 1, 'q');
    struct fixture f = begin();
    ready(&f);
    take(&f, "a0 b0 b1 t0 t1 p0 p1 q0");
    assert_str(f.tracer.tasks[0].name, "test");
    assert_string_equal(stacks(&f), "a 1, a;b 2, a;b;t 2, p 2, p;q 1");
    end(&f);
}

/* A task that was not seen before returns to the instruction after another task's
 * system call. */
static void test_fork(void **state)
{
    (void)state;
    reset();
    special = "__switch_to";
    put_call('a', 0, 'b');
    put('b', 1, ECALL);
    put_call('t', 0, 's');
    put('s', 0, RET);
    put('g', 1, MRET);
    put('b', 3, RET);
    struct fixture f = begin();
    ready(&f);
    take(&f, "a0 b0 b1 t0 s0 g0 g1 b2 b3 a1");
    assert_int_equal(f.tracer.report.forks, 1);
    assert_int_equal(f.tracer.report.unmatched, 0);
    assert_string_equal(stacks(&f), "0:a 1, 0:a;b 2, 0:a;b;t 1, 0:a;b;t;_ 1, 1:a;b;g 2, "
                                    "1:a 1, 1:a;b 2");
    end(&f);
}

/* A second core that runs the same program. */
static void ready_second(struct fixture *g, struct fixture *f,
                         struct trace_shared *shared)
{
    assert_true(tracer_init(&g->tracer, &f->binary, 1, false));
    g->tracer.shared = f->tracer.shared = shared;
}

/* A task is suspended on one core, and continues on another one, and on the first one
 * again. */
static void test_other_core(void **state)
{
    (void)state;
    reset();
    special = "__switch_to";
    put_call('a', 0, 'b');
    put_call('b', 0, 's');
    put_call('b', 1, 's');
    put_call('i', 0, 's');
    put('s', 1, RET);
    put('b', 2, RET);
    struct trace_shared shared = {.arena = ARENA_INIT, .has_contexts = true};
    struct fixture f = begin(), g = {.arena = ARENA_INIT};
    ready(&f);
    ready_second(&g, &f, &shared);
    take(&g, "i0 s0");
    tracer_save_context(&g.tracer, 0x200);
    take(&f, "a0 b0 s0");
    tracer_save_context(&f.tracer, 0x100);
    tracer_load_context(&f.tracer, 0x300); /* never stored: a new task */
    take(&f, "s1 i0 s0");
    tracer_save_context(&f.tracer, 0x300);
    tracer_load_context(&g.tracer, 0x100); /* a's */
    take(&g, "s1 b1 s0");
    tracer_save_context(&g.tracer, 0x100);
    tracer_load_context(&g.tracer, 0x200);
    take(&g, "s1 i1 i2");
    tracer_load_context(&f.tracer, 0x100);
    take(&f, "s1 b2 a1 a2");
    g.tracer.shared = f.tracer.shared = NULL;
    assert_string_equal(stacks(&f), "0:a 3, 0:a;b 2, 0:a;b;_ 2, 1:i 1, 1:i;_ 2");
    assert_string_equal(stacks(&g), "0:i 3, 0:i;_ 2, 1:a;b 1, 1:a;b;_ 2");
    arena_deinit(&shared.arena);
    end(&g);
    end(&f);
}

/* A program is forked on one core, and its child starts on another one. */
static void test_fork_on_other_core(void **state)
{
    (void)state;
    reset();
    special = "__switch_to";
    put_call('a', 0, 'b');
    put('b', 1, ECALL);
    put('b', 3, RET);
    put('g', 1, MRET);
    put_call('i', 0, 's');
    put('s', 1, RET);
    struct trace_shared shared = {.arena = ARENA_INIT, .has_contexts = true};
    struct fixture f = begin(), g = {.arena = ARENA_INIT};
    ready(&f);
    ready_second(&g, &f, &shared);
    take(&f, "a0 b0 b1 t0");
    take(&g, "i0 s0");
    tracer_load_context(&g.tracer, 0x100); /* never stored: a new task */
    take(&g, "s1 g0 g1 b2 b3 a1");
    g.tracer.shared = f.tracer.shared = NULL;
    assert_int_equal(g.tracer.report.forks, 1);
    assert_string_equal(stacks(&g), "0:i 1, 0:i;_ 2, 1:a;b;g 2, 1:a 1, 1:a;b 2");
    arena_deinit(&shared.arena);
    end(&g);
    end(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_calls),
        cmocka_unit_test(test_call_of_itself),
        cmocka_unit_test(test_tail_calls),
        cmocka_unit_test(test_swaps),
        cmocka_unit_test(test_traps),
        cmocka_unit_test(test_calls_by_t0),
        cmocka_unit_test(test_beginning),
        cmocka_unit_test(test_interrupted_jumps),
        cmocka_unit_test(test_longjmp),
        cmocka_unit_test(test_endless_callers),
        cmocka_unit_test(test_boot),
        cmocka_unit_test(test_read_pc),
        cmocka_unit_test(test_contexts),
        cmocka_unit_test(test_trap_behind_trap),
        cmocka_unit_test(test_handler_jumps_back),
        cmocka_unit_test(test_stack_of_kernel),
        cmocka_unit_test(test_interrupted_call),
        cmocka_unit_test(test_interrupted_tail_call),
        cmocka_unit_test(test_kernel_behind_firmware),
        cmocka_unit_test(test_signals_in_trampoline),
        cmocka_unit_test(test_signals_by_kernel),
        cmocka_unit_test(test_signals_anywhere),
        cmocka_unit_test(test_repeats),
        cmocka_unit_test(test_exec),
        cmocka_unit_test(test_fork),
        cmocka_unit_test(test_other_core),
        cmocka_unit_test(test_fork_on_other_core),
        cmocka_unit_test(test_call_targets),
        cmocka_unit_test(test_two_part_calls),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
