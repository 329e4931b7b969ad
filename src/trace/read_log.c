/* SPDX-License-Identifier: Apache-2.0 */
/* The instruction logs of log.h. */
#include "base/array.h"
#include "base/lines.h"
#include "trace/log.h"
#include "trace/reader.h"

#define BATCH 1024     /* instructions of a core per batch */
#define MATCH_BYTES 64 /* bytes of code that identify a binary */
#define STEPS_MAX \
    ((uint64_t)1 << 19) /* steps for repeated instructions, see tracer_take_again */
#define TIMES_MAX ((uint64_t)1 << 40)

struct entry {
    uint64_t pc, now, again; /* number of further executions */
    uint64_t context;        /* the address of the memory access for `stack` */
    uint64_t number;         /* in the order of the log, over all cores */
    uint32_t bits;           /* 0: not in the log */
    enum instruction_stack stack;
};

/* The last instruction that was seen at an address. */
struct known {
    struct trace_block block;
    struct trace_site site;
    uint32_t bits; /* as in the log */
};

struct log_core {
    struct trace_core *core;
    struct idmap known; /* by address: struct known * */
    struct entry entries[BATCH];
    size_t count, followed;
    uint64_t executed; /* instructions, which are the time if the log has no cycles */

    /* Cycles: the last value that was read; the sum that is added, because the counter
     * wrapped or was reset. */
    uint64_t cycle, skew;

    /* The instruction added last: whether the next line may repeat it, and how often
     * it was added in a row. */
    uint64_t pc, in_a_row;
    bool is_disassembly;
};

struct reading {
    struct trace_reader *r;
    struct log_core **cores;
    size_t core_count, core_cap;
    struct log_core *current;
    uint64_t expanded; /* instructions of 2 bytes that the log shows as 4 */
    uint64_t steps;
    uint64_t line;
    uint64_t entries; /* of all cores so far */
    struct trace_shared shared;
};

/* --- Instructions -------------------------------------------------------------------- */

/* The instruction in the binary at an address; 0: none. */
static uint32_t bits_in_binary(const struct trace_code *c, struct trace_where where,
                               uint64_t pc)
{
    const struct trace_segment *s =
        where.binary
            ? trace_segment_at(trace_code_binary(c, where.binary), pc - where.bias)
            : NULL;
    uint32_t bits;
    return s && trace_segment_bits(s, pc - where.bias, &bits) ? bits : 0;
}

/* The bytes from an entry on, as long as instructions are contiguous. */
static size_t code_from(const struct log_core *c, size_t at, char bytes[MATCH_BYTES])
{
    size_t size = 0;
    uint64_t pc = c->entries[at].pc;
    for (; at < c->count && size + 4 <= MATCH_BYTES; at++) {
        const struct entry *e = &c->entries[at];
        unsigned length = instruction_length((uint16_t)e->bits);
        if (e->pc != pc || e->bits == 0 || length > 4)
            break;
        for (unsigned i = 0; i < length; i++)
            bytes[size++] = (char)(e->bits >> 8 * i);
        pc += length;
    }
    return size;
}

/* Tracers of cores that expand compressed instructions log the expanded word. An
 * instruction is compressed if the next one is 2 bytes after it, or, for a jump in
 * such a log, if the binary has one of 2 bytes there. */
static bool is_expanded(struct reading *q, const struct log_core *c, size_t at,
                        uint32_t in_binary)
{
    const struct entry *e = &c->entries[at];
    struct instruction in = instruction_decode(e->bits, c->core->tracer.code.is_32);
    bool is_short_in_binary = in_binary && instruction_length((uint16_t)in_binary) == 2;
    if (in.length != 4 || (in_binary && !is_short_in_binary))
        return false;
    if (!instruction_falls_through(in.kind))
        return is_short_in_binary && q->expanded > 0;
    if (at + 1 < c->count && e[1].pc == e->pc + 2 &&
        (in.kind != INSTRUCTION_BRANCH || in.displacement != 2)) {
        q->expanded++;
        return true;
    }
    return is_short_in_binary && q->expanded > 0;
}

/* Decodes an entry. False if out of memory. */
static bool make_known(struct reading *q, struct log_core *c, size_t at, struct known *k)
{
    struct tracer *t = &c->core->tracer;
    const struct entry *e = &c->entries[at];
    char bytes[MATCH_BYTES];
    size_t size = code_from(c, at, bytes);
    struct trace_where where = trace_code_where(&t->code, e->pc);
    if (bits_in_binary(&t->code, where, e->pc) != e->bits)
        where = trace_code_match(&t->code, e->pc, (struct str){bytes, size});
    if (t->site && t->site->kind == INSTRUCTION_CALL_REGISTER)
        trace_code_call(&t->code, where, e->pc);
    uint32_t in_binary = bits_in_binary(&t->code, where, e->pc);
    bool expanded = is_expanded(q, c, at, in_binary);
    *k = (struct known){.bits = e->bits};
    trace_code_describe(&t->code, e->pc, expanded && in_binary ? in_binary : e->bits,
                        where, &k->site);
    if (expanded && k->site.length == 4) {
        k->site.length = 2;
        k->site.advance = k->site.advance ? 2 : 0;
    }
    k->block.pc = e->pc;
    k->block.count = 1;
    k->block.sites = &k->site;
    return trace_block_ready(t, &k->block);
}

/* A site never changes: if an address gets another instruction, it gets a new site. */
static struct known *known_of(struct reading *q, struct log_core *c, size_t at)
{
    struct arena *a = &c->core->tracer.arena;
    uint64_t *slot = idmap_put(&c->known, a, c->entries[at].pc);
    struct known *k = slot ? (struct known *)(uintptr_t)*slot : NULL;
    if (!slot || (k && k->bits == c->entries[at].bits))
        return k;
    k = arena_zalloc(a, 1, sizeof *k);
    if (!k)
        return NULL;
    *slot = (uint64_t)(uintptr_t)k;
    return make_known(q, c, at, k) ? k : NULL;
}

static void follow(struct reading *q, struct log_core *c, size_t at)
{
    const struct entry *e = &c->entries[at];
    struct tracer *t = &c->core->tracer;
    bool passes = q->r->options->trigger.selector == TRACE_ALWAYS ||
                  trace_reader_pass(q->r, c->core, e->pc, e->bits, e->now);
    c->core->left_out += passes ? 0 : e->again;
    tracer_mute(t, !passes, e->now);
    if (e->bits == 0) {
        tracer_take(t, &e->pc, &e->now, 1);
        return;
    }
    struct known *k = known_of(q, c, at);
    if (!k)
        return;
    tracer_take_block(t, &k->block, 0, 1, e->now);
    if (e->stack == STACK_STORED)
        tracer_save_context(t, e->context);
    else if (e->stack == STACK_LOADED)
        tracer_load_context(t, e->context);
    if (e->again &&
        !tracer_take_again(t, &k->block, 0, 1, e->now + 1, e->again, &q->steps))
        trace_reader_flaw(q->r, "an instruction that calls is repeated too often",
                          q->line, 0, STR(""));
}

/* Processes the entries of a core up to one that stores or loads a context. */
static void follow_to_context(struct reading *q, struct log_core *c, size_t count)
{
    const struct tracer *t = &c->core->tracer;
    while (c->followed < count && !tracer_failed(t) &&
           c->entries[c->followed].stack == STACK_NEITHER)
        follow(q, c, c->followed++);
}

/* The last entry of a core waits for the next one, unless the log ends. An entry with
 * a context does not wait, because other cores may wait for it. */
static size_t count_ready(const struct log_core *c, bool at_end)
{
    bool waits =
        !at_end && c->count > 0 && c->entries[c->count - 1].stack == STACK_NEITHER;
    return c->count - waits;
}

/* The core with the first context in the log; NULL: no core has one. */
static struct log_core *first_context(const struct reading *q)
{
    struct log_core *first = NULL;
    for (size_t i = 0; i < q->core_count; i++) {
        struct log_core *c = q->cores[i];
        bool has =
            c->followed < c->count && c->entries[c->followed].stack != STACK_NEITHER;
        if (has && (!first || c->entries[c->followed].number <
                                  first->entries[first->followed].number))
            first = c;
    }
    return first;
}

/* Removes processed entries. False if out of memory. */
static bool remove_followed(struct reading *q)
{
    bool ok = true;
    for (size_t i = 0; i < q->core_count; i++) {
        struct log_core *c = q->cores[i];
        size_t rest = c->count - c->followed;
        memmove(c->entries, c->entries + c->followed, rest * sizeof *c->entries);
        c->count = rest;
        c->followed = 0;
        ok = ok && !tracer_failed(&c->core->tracer);
    }
    return ok;
}

/* Processes the entries of all cores: contexts in the order of the log, because a task
 * may continue on another core. */
static bool follow_all(struct reading *q, bool at_end)
{
    struct log_core *c;
    for (size_t i = 0; i < q->core_count; i++)
        follow_to_context(q, q->cores[i], count_ready(q->cores[i], at_end));
    while ((c = first_context(q)) != NULL && !tracer_failed(&c->core->tracer)) {
        follow(q, c, c->followed++);
        follow_to_context(q, c, count_ready(c, at_end));
    }
    return remove_followed(q);
}

/* --- Lines --------------------------------------------------------------------------- */

/* The cycle counters of some cores have 32 bits. */
static uint64_t cycle_of(struct reading *q, struct log_core *c, uint64_t cycle)
{
    if (cycle < c->cycle && c->cycle - cycle > UINT32_MAX / 2 && c->cycle <= UINT32_MAX)
        c->skew += (uint64_t)UINT32_MAX + 1;
    else if (cycle < c->cycle) {
        trace_reader_flaw(q->r, "the cycle is lower than the one before it", q->line, 0,
                          STR(""));
        c->skew += c->cycle - cycle;
    }
    c->cycle = cycle;
    return cycle + c->skew;
}

static struct log_core *core_of(struct reading *q, int64_t number)
{
    struct trace_reader *r = q->r;
    for (size_t i = 0; i < q->core_count; i++)
        if (q->cores[i]->core->number == number)
            return q->cores[i];
    struct log_core *c = arena_zalloc(&r->arena, 1, sizeof *c);
    if (!c || !ARRAY_RESERVE(&r->arena, q->cores, q->core_cap, q->core_count + 1))
        return NULL;
    c->core = trace_reader_core(r, number);
    if (!c->core)
        return NULL;
    c->core->tracer.shared = &q->shared;
    q->cores[q->core_count++] = c;
    return c;
}

/* The core of a line. NULL if out of memory, or if there are too many cores. */
static struct log_core *find_core(struct reading *q, const struct log_line *line)
{
    int64_t number = line->core;
    if (number == ID_NONE) {
        if (q->current)
            return q->current;
        number = q->r->options->core;
    }
    if (!q->current || q->current->core->number != number)
        q->current = core_of(q, number);
    return q->current;
}

/* The address at which the last instruction stores or loads the stack pointer, if the
 * log contains it. */
static void note_memory(struct log_core *c, const struct log_line *line)
{
    if (c->count == 0)
        return;
    struct entry *e = &c->entries[c->count - 1];
    enum instruction_stack stack =
        instruction_stack(line->bits, c->core->tracer.code.is_32);
    if (stack != STACK_NEITHER && log_parse_memory(line->rest, &e->context))
        e->stack = stack;
}

static bool add(struct reading *q, struct log_core *c, const struct log_line *line,
                bool is_disassembly)
{
    bool repeats = c->is_disassembly && !is_disassembly && line->pc == c->pc;
    uint64_t pc = trace_address(line->pc);
    if (line->is_32 && q->r->options->binary_count == 0)
        c->core->tracer.code.is_32 = true;
    c->is_disassembly = is_disassembly;
    if (repeats) { /* the commit of the instruction that was logged before */
        note_memory(c, line);
        return true;
    }
    if (c->count == BATCH && !follow_all(q, false))
        return false;
    c->in_a_row = line->pc == c->pc ? c->in_a_row + 1 : 1;
    c->pc = line->pc;
    uint64_t now = line->has_cycle ? cycle_of(q, c, line->cycle) : c->executed;
    c->entries[c->count++] =
        (struct entry){.pc = pc, .now = now, .bits = line->bits, .number = q->entries++};
    note_memory(c, line);
    c->executed++;
    return true;
}

/* The instruction before was executed `times` times in total. */
static void repeat(struct log_core *c, uint64_t times)
{
    if (times > TIMES_MAX)
        times = TIMES_MAX;
    if (c->count == 0 || times <= c->in_a_row)
        return;
    c->entries[c->count - 1].again = times - c->in_a_row;
    c->executed += times - c->in_a_row;
    c->in_a_row = 0;
}

/* `cut`: the line has no line end. */
static bool read_line(struct reading *q, log_parser parse, struct str text, bool cut)
{
    struct log_line line;
    enum log_kind kind = parse(text, &line);
    if (cut && (kind == LOG_OTHER || kind == LOG_NOTE ||
                (kind >= LOG_INSTRUCTION && line.is_open))) {
        trace_reader_flaw(q->r, "the last line is truncated", q->line, 0, text);
        return true;
    }
    if (kind == LOG_NOTE || (kind == LOG_OTHER && str_trim(text).len == 0))
        return true;
    if (kind == LOG_OTHER) {
        trace_reader_flaw(q->r, "not a line of the log", q->line, 0, text);
        return true;
    }
    struct log_core *c = find_core(q, &line);
    if (!c)
        return false;
    if (kind == LOG_REPEAT) {
        repeat(c, line.times);
        return true;
    }
    return add(q, c, &line, kind == LOG_DISASSEMBLY);
}

static bool read_log(struct trace_reader *r, log_parser parse, struct error *err)
{
    struct reading q = {.r = r, .steps = STEPS_MAX};
    struct lines lines = lines_of(r->in, err);
    struct str line;
    bool ok = true;
    while (ok && lines_next(&lines, &line)) {
        q.line = lines.number;
        ok = read_line(&q, parse, line, lines.cut);
    }
    ok = ok && follow_all(&q, true);
    for (size_t i = 0; i < q.core_count; i++)
        q.cores[i]->core->tracer.shared = NULL;
    ok = ok && !q.shared.arena.failed;
    arena_deinit(&q.shared.arena);
    if (!ok)
        return error_memory(err);
    return !lines.failed;
}

/* --- Formats ------------------------------------------------------------------------- */

#define LINES_PROBED 256
#define LINES_ENOUGH 4

/* Output of the program or of the simulator may be between the lines. */
static int probe_log(struct str head, log_parser parse)
{
    size_t executed = 0, other = 0, known = 0;
    struct log_line line;
    for (size_t i = 0; i < LINES_PROBED && str_find(head, '\n') < head.len; i++) {
        struct str text = str_cut(&head, '\n');
        enum log_kind kind = parse(text, &line);
        executed += kind >= LOG_INSTRUCTION;
        known += kind == LOG_NOTE;
        other += kind == LOG_OTHER && str_trim(text).len > 0;
    }
    if (executed > 0 && executed + known >= other)
        return 90;
    return executed >= LINES_ENOUGH ? 70 : 0;
}

#define LOG_FORMAT(format, text)                                                \
    static bool format##_read(struct trace_reader *r, struct error *err)        \
    {                                                                           \
        return read_log(r, log_parse_##format, err);                            \
    }                                                                           \
    static int format##_probe(struct str head)                                  \
    {                                                                           \
        return probe_log(head, log_parse_##format);                             \
    }                                                                           \
    const struct trace_format trace_format_##format = {.name = #format,         \
                                                       .summary = (text),       \
                                                       .is_text = true,         \
                                                       .probe = format##_probe, \
                                                       .read = format##_read}

LOG_FORMAT(spike, "Spike's -l and --log-commits, BOOM's commit log, CVA6's rvfi trace");
LOG_FORMAT(columns,
           "tracers of Ibex, CV32E40P, RI5CY, CVA6 and NEORV32: columns of time, "
           "cycle, address and instruction");
LOG_FORMAT(rocket, "Rocket's +verbose: C0: 16413 [1] pc=[800007b0] ... inst=[00013503]");
LOG_FORMAT(execlog, "QEMU's execlog plugin: 0, 0x80000000, 0x297, \"auipc t0,0\"");
