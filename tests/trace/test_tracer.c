/* Stacks of programs that are written here, an instruction at a time: what is expected is
 * the stack of each instruction. */
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

/* A function of 16 instructions each: 'a' is at BASE, 'b' behind it, and so on. */
static uint32_t code[WORDS];

static uint32_t at(char function, unsigned instruction)
{
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
static char entry;          /* the function that a user's program starts with, or 0 */
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
        symbol_table_add(&f.symbols,
                         (struct symbol_entry){.address = BASE + i * 64,
                                               .end = BASE + i * 64 + (open ? 640 : 64),
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

/* Words "a0": the function and the number of the instruction in it; each takes a cycle.
 */
static void take(struct fixture *f, const char *words)
{
    for (; *words; words++) {
        if (*words == ' ')
            continue;
        char function = *words++;
        uint64_t pc =
            at(function, (unsigned)strtoul(words, (char **)(uintptr_t)&words, 10));
        uint64_t cycle = f->cycle++;
        tracer_take(&f->tracer, &pc, &cycle, 1);
        words--;
    }
}

/* The stacks with their cycles: "a 2, a;b 1", in the order of their first appearance. */
static char *stacks(struct fixture *f)
{
    static char text[4096];
    struct builder b;
    struct error err;
    struct output o = OUTPUT_KEEP;
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
    assert_int_equal((uint64_t)sum, f->cycle); /* all of the span */
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
    open_symbols = no_symbols = "";
}

static void reset(void)
{
    for (size_t i = 0; i < WORDS; i++)
        code[i] = NOP;
}

/* Runs the trace through the code as it was put. */
static void expect(const char *words, const char *wanted)
{
    struct fixture f = begin();
    ready(&f);
    take(&f, words);
    assert_string_equal(stacks(&f), wanted);
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
    put_call('c', 0, 'c'); /* recursion is real depth */
    expect("a0 a1 b0 b1 c0 c0 c0", "a 2, a;b 2, a;b;c 1, a;b;c;c 1, a;b;c;c;c 1");
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
    put_jump('c', 0, 'b'); /* a pair of them, again and again, is one frame */
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
    /* Where c begins, it is called; later it goes on in place of b, and b in place of it. */
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
    /* An interrupt; the handler is interrupted again; a faulting load is tried again. */
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
    /* Instead of the first of b; then before the call, which is told once more. */
    expect("a0 t0 b0 b1 a1", "a 2, a;b 2, a;b;t 1");
    expect("a0 t0 a0 b0 b1 a1", "a 3, a;b 2, a;b;t 1");
    /* A return is interrupted, by a handler that is known by then. */
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
    put('t', 0, MRET); /* a trap was under way */
    expect("t0 b3", "b;t 1, b 1");
}

/* A program that returns ever farther out: it is bounded, and told. */
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
    put('d', 0, RET); /* to behind the call of setjmp */
    expect("a0 s0 a1 b0 c0 d0 a1 a2", "a 4, a;s 1, a;b 1, a;b;c 1, a;b;c;d 1");
}

/* The handler is entered again where it has just returned to. */
/* A machine begins below all programs: what it returns to by a trap's return does not call
 * what ran before. */
static void test_boot(void **state)
{
    (void)state;
    reset();
    entry = 'a';
    put_call('a', 1, 'b');
    put('b', 1, MRET);
    expect("a0 a1 b0 b1 c3 c4", "a 2, a;b 2, c 2");
}

/* A jump and link to the next instruction, or over data, which reads the PC; and one that
 * is a call within its function. */
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

/* Functions without symbols, behind one with a size and in the reach of one without, are
 * named by the address that is called; what is only jumped to stays as it was. */
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
    /* A jump and link that only reads the PC does not begin a function. */
    put('f', 1, jump(at('f', 1), at('f', 3), 1));
    put('f', 3, 0x00c08293); /* addi t0, ra, 12 */
    no_symbols = "cdegh";
    open_symbols = "bf";
    expect("a1 f0 f1 f3 f4", "a 1, a;f 4");
}

/* la ra, 1f; j b; 1: is a call, with other instructions between, too, or by a register;
 * where ra is loaded after that it is not. */
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

/* A context that is loaded where it was stored: longjmp to an outer level of a recursion,
 * and a switch to another stack. */
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
    tracer_load_context(&f.tracer, 0x200); /* to the second of three */
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
    /* At the beginning, where nothing is known of what it returns to. */
    expect("t0 t1 a2 t0 t1 t0 t1 a3", "a;t 6, a 2");
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

/* A task that was not seen before returns to behind another's call of the kernel. */
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_calls),
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
        cmocka_unit_test(test_exec),
        cmocka_unit_test(test_fork),
        cmocka_unit_test(test_call_targets),
        cmocka_unit_test(test_two_part_calls),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
