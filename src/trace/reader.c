/* SPDX-License-Identifier: Apache-2.0 */
#include "trace/reader.h"
#include "base/array.h"
#include "base/number.h"
#include <stdlib.h>

#define FORMAT(name) extern const struct trace_format trace_format_##name;
#include "trace/formats.def"
#undef FORMAT

const struct trace_format *const trace_formats[] = {
#define FORMAT(name) &trace_format_##name,
#include "trace/formats.def"
#undef FORMAT
    NULL};

const struct trace_format *trace_format_named(struct str name)
{
    for (size_t i = 0; trace_formats[i]; i++)
        if (str_equal(name, str_of(trace_formats[i]->name)))
            return trace_formats[i];
    return NULL;
}

void trace_reader_init(struct trace_reader *r, struct source *in,
                       const struct trace_reader_options *options)
{
    memset(r, 0, sizeof *r);
    r->in = in;
    r->options = options;
    r->multiply = r->divide = 1;
    r->clock = STR("");
}

void trace_reader_deinit(struct trace_reader *r)
{
    for (size_t i = 0; i < r->core_count; i++) {
        tracer_deinit(&r->cores[i]->tracer);
        free(r->cores[i]);
    }
    arena_deinit(&r->arena);
}

struct trace_core *trace_reader_core(struct trace_reader *r, int64_t number)
{
    const struct trace_reader_options *o = r->options;
    for (size_t i = 0; i < r->core_count; i++)
        if (r->cores[i]->number == number)
            return r->cores[i];
    if (r->core_count == TRACE_CORES_MAX)
        return NULL;
    bool has_room = ARRAY_RESERVE(&r->arena, r->cores, r->core_cap, r->core_count + 1);
    struct trace_core *core = has_room ? malloc(sizeof *core) : NULL;
    if (!core) {
        r->arena.failed = true;
        return NULL;
    }
    core->number = number;
    core->process = ID_NONE;
    core->name = STR("");
    core->gate = trace_gate_of(o->trigger);
    core->left_out = 0;
    r->cores[r->core_count++] = core; /* to be deinitialised in any case */
    if (!tracer_init(&core->tracer, o->binaries, o->binary_count, o->keeps)) {
        r->arena.failed = true;
        return NULL;
    }
    core->tracer.code.switches = o->switches;
    return core;
}

/* --- Flaws -------------------------------------------------------------------------- */

void trace_reader_flaw(struct trace_reader *r, const char *what, uint64_t line,
                       uint64_t offset, struct str text)
{
    size_t i = 0;
    while (i < r->flaw_count && strcmp(r->flaws[i].what, what) != 0)
        i++;
    if (i == sizeof r->flaws / sizeof *r->flaws)
        return;
    if (i == r->flaw_count) {
        r->flaw_count++;
        r->flaws[i].what = what;
        r->flaws[i].count = 0;
        r->flaws[i].location = LOCATION_NONE;
        if (line)
            input_location_set_line(&r->flaws[i].location, line, 1, text);
        else
            r->flaws[i].location.offset = offset;
    }
    r->flaws[i].count++;
}

uint64_t trace_reader_back(struct trace_reader *r, uint64_t cycle)
{
    trace_reader_flaw(r, "time goes back: the cycles are counted again from there", 0,
                      UINT64_MAX, STR(""));
    r->skew += r->last - cycle;
    r->last = cycle;
    return cycle;
}

/* Cycles of this clock as cycles of the base clock. */
static uint64_t base_cycle(const struct trace_reader *r, uint64_t cycle)
{
    return r->multiply == r->divide ? cycle
                                    : cycle / r->divide * r->multiply +
                                          cycle % r->divide * r->multiply / r->divide;
}

bool trace_reader_pass(struct trace_reader *r, struct trace_core *core, uint64_t pc,
                       uint32_t bits, uint64_t cycle)
{
    bool passes = trace_gate_pass(&core->gate, pc, bits, base_cycle(r, cycle));
    core->left_out += !passes;
    return passes;
}

/* Passes instructions to the tracer: runs that the trigger selects, and gaps for the
 * others. */
static void take_gated(struct trace_reader *r)
{
    struct trace_core *core = r->core;
    struct tracer *t = &core->tracer;
    bool by_bits = core->gate.trigger.selector == TRACE_BY_INSTRUCTION;
    size_t first = 0;
    for (size_t i = 0; i < r->count && !tracer_failed(t); i++) {
        uint32_t bits = by_bits ? trace_code_find(&t->code, r->pcs[i])->bits : 0;
        bool passes = trace_reader_pass(r, core, r->pcs[i], bits, r->cycles[i]);
        if (passes == !t->is_muted)
            continue;
        if (i > first)
            tracer_take(t, r->pcs + first, r->cycles + first, i - first);
        tracer_mute(t, !passes, r->cycles[i]);
        first = i;
    }
    if (first < r->count)
        tracer_take(t, r->pcs + first, r->cycles + first, r->count - first);
}

bool trace_reader_flush(struct trace_reader *r, struct error *err)
{
    if (r->count == 0)
        return true;
    if (!r->core)
        r->core = trace_reader_core(r, r->options->core);
    if (!r->core)
        return error_memory(err);
    if (r->options->trigger.selector == TRACE_ALWAYS)
        tracer_take(&r->core->tracer, r->pcs, r->cycles, r->count);
    else
        take_gated(r);
    r->count = 0;
    return !tracer_failed(&r->core->tracer) || error_memory(err);
}

/* --- Reading ------------------------------------------------------------------------ */

uint64_t trace_reader_instructions(const struct trace_reader *r)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < r->core_count; i++)
        sum += tracer_instructions(&r->cores[i]->tracer);
    return sum;
}

uint64_t trace_reader_left_out(const struct trace_reader *r)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < r->core_count; i++)
        sum += r->cores[i]->left_out;
    return sum;
}

/* "# Clock Domain: NAME, Relative Frequency: 1/2 of Base Clock" */
static void read_clock(struct trace_reader *r, struct str line)
{
    struct str rest = str_skip(line, sizeof "# Clock Domain:" - 1);
    uint64_t multiply, divide;
    r->has_clock = true;
    r->clock = arena_str(&r->arena, str_trim(str_cut(&rest, ',')));
    size_t at = str_find(rest, ':');
    rest = str_trim_left(str_skip(rest, at + 1));
    struct str ratio = str_word(&rest);
    struct str over = str_cut(&ratio, '/');
    bool good = number_parse_u64(over, &multiply) && number_parse_u64(ratio, &divide) &&
                multiply > 0 && divide > 0 && multiply < UINT32_MAX &&
                divide < UINT32_MAX;
    if (!good) {
        trace_reader_flaw(r, "a clock domain without a frequency", 1, 0, line);
        return;
    }
    /* This clock ticks `multiply` times in `divide` ticks of the base clock. */
    r->multiply = divide;
    r->divide = multiply;
}

#define CLOCK_LINE_MAX 4096

static bool read_header(struct trace_reader *r, struct error *err)
{
    if (!source_peek(r->in, TRACE_HEAD_SIZE, err))
        return false;
    struct str head = str_span(r->in->begin, r->in->end);
    if (!str_starts(head, STR("# Clock Domain:")))
        return true;
    size_t end = str_find(str_head(head, CLOCK_LINE_MAX), '\n');
    read_clock(r, str_trim(str_head(head, end)));
    end = end < head.len ? end + 1 : head.len;
    r->in->begin += end;
    r->in->offset += end;
    return source_peek(r->in, TRACE_HEAD_SIZE, err);
}

static const struct trace_format *probe(struct str head)
{
    const struct trace_format *best = NULL;
    int most = 0;
    for (size_t i = 0; trace_formats[i]; i++) {
        int sure = trace_formats[i]->probe(head);
        if (sure > most) {
            best = trace_formats[i];
            most = sure;
        }
    }
    return best;
}

/* A file that may also be a profile of another kind is not recognised. */
#define SURE 85

const struct trace_format *trace_reader_knows(struct source *in, struct error *err)
{
    if (!source_peek(in, TRACE_HEAD_SIZE, err))
        return NULL;
    struct str head = str_head(str_span(in->begin, in->end), TRACE_HEAD_SIZE);
    bool has_clock = str_starts(head, STR("# Clock Domain:"));
    if (has_clock)
        str_cut(&head, '\n');
    const struct trace_format *format = probe(head);
    return format && (has_clock || format->probe(head) >= SURE) ? format : NULL;
}

#define TRACE_QEMU_HINT                                                                \
    "record with stoke's plugin: qemu-riscv64 -plugin libstoke_qemu.so,out=trace.bin " \
    "PROGRAM"

/* The trace is not empty, and contains no instruction. */
static bool nothing_read(const struct trace_reader *r, const struct trace_format *format,
                         const struct trace_format *other, struct error *err)
{
    error_set(err, "there is no instruction of the format '%s' in it: %s", format->name,
              r->flaws[0].what);
    err->location = r->flaws[0].location;
    if (other && other != format)
        return error_hint(err, "--format %s, which it looks like", other->name);
    return error_hint(err, "'stoke trace --list-formats' lists the formats");
}

/* Text of FireSim or QEMU that is known, but not a trace: the message names the right
 * file. */
static bool refuse_text(struct str head, struct error *err)
{
    bool is_listing = false;
    if (str_starts(head, STR("Indent: "))) {
        error_set(err, "this is FireSim's stack text: it has stacks, not instructions");
        return error_hint(err, "'stoke fold FILE' and 'stoke flamegraph FILE' read it");
    }
    while (head.len > 0) {
        struct str line = str_trim(str_cut(&head, '\n'));
        bool is_entry = str_starts(line, STR("Trace ")) && str_has(line, STR(": 0x")) &&
                        str_has(line, STR(" ["));
        if (is_entry) {
            error_set(err, "this is the log of QEMU's -d exec: it has the blocks that "
                           "QEMU entered, not the instructions that ran");
            return error_hint(err, TRACE_QEMU_HINT);
        }
        is_listing |= str_starts(line, STR("IN:"));
        if (is_listing && str_starts(line, STR("0x")) && str_has(line, STR(":  "))) {
            error_set(err, "this is the log of QEMU's -d in_asm: it has the code that "
                           "QEMU translated, not the instructions that ran");
            return error_hint(err, TRACE_QEMU_HINT);
        }
    }
    return true;
}

bool trace_read(struct trace_reader *r, const struct trace_format *format,
                struct error *err)
{
    if (!read_header(r, err))
        return false;
    struct str head = str_head(str_span(r->in->begin, r->in->end), TRACE_HEAD_SIZE);
    if (head.len == 0 && !format)
        return true;
    const struct trace_format *other = probe(head);
    if (!format)
        format = other;
    bool is_guess =
        !format || (format == other && !format->is_text &&
                    format->probe(head) < SURE); /* any bytes can be binary records */
    if (is_guess && !refuse_text(head, err))
        return false;
    if (!format) {
        error_set(err, "the trace format is unknown");
        return error_hint(err, "--format NAME; 'stoke trace --list-formats' lists them");
    }
    if (!format->read(r, err) || !trace_reader_flush(r, err))
        return false;
    if (r->flaw_count && !trace_reader_instructions(r) && !trace_reader_left_out(r) &&
        format->is_text)
        return nothing_read(r, format, other, err);
    for (size_t i = 0; i < r->core_count; i++) {
        tracer_end(&r->cores[i]->tracer);
        if (tracer_failed(&r->cores[i]->tracer))
            return error_memory(err);
    }
    return true;
}

/* --- The profile ------------------------------------------------------------------- */

bool trace_reader_finish(struct trace_reader *r, struct builder *b,
                         enum demangle demangle, struct error *err)
{
    for (size_t i = 0; i < r->core_count; i++) {
        struct trace_profile_options options = {.core = r->cores[i]->number,
                                                .process = r->cores[i]->process,
                                                .name = r->cores[i]->name,
                                                .multiply = r->multiply,
                                                .divide = r->divide,
                                                .demangle = demangle};
        if (!trace_profile(&r->cores[i]->tracer, b, &options, err))
            return false;
    }
    for (size_t i = 0; i < r->flaw_count; i++)
        builder_warn_location(b, r->flaws[i].what, r->flaws[i].count,
                              &r->flaws[i].location);
    return true;
}
