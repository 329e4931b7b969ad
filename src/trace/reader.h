/* SPDX-License-Identifier: Apache-2.0 */
/* Reading traces: bytes of a format in, the instructions of each core to its tracer.
 *
 * To add a format:
 *   1. src/trace/read_NAME.c with one `const struct trace_format trace_format_NAME`
 *   2. its line in formats.def (a more particular format before a more general one)
 *   3. its line in src/trace/meson.build
 *   4. tests/trace/NAME with a trace and what it is to become
 * `stoke trace --list-formats`, the manual, the probe and the fuzzer find it in the list.
 *
 * A reader is pure, and its input hostile: what is readable is kept, what is left out is
 * counted in the reader. */
#ifndef STOKE_TRACE_READER_H
#define STOKE_TRACE_READER_H

#include "base/source.h"
#include "model/builder.h"
#include "trace/profile.h"
#include "trace/tracer.h"
#include "trace/trigger.h"

#define TRACE_BATCH ((size_t)4096) /* instructions handed on at once */
#define TRACE_HEAD_SIZE ((size_t)64 << 10)
#define TRACE_CORES_MAX 1024

struct trace_reader_options {
    const struct trace_binary *binaries;
    size_t binary_count;
    bool keeps;   /* the order of what happened, see tracer.h */
    unsigned ipc; /* words of a binary record but the first; 0: found out */
    int64_t core; /* of a trace that does not tell, or ID_NONE */
    struct trace_trigger trigger; /* what it lets pass is all there is */
    const char *const
        *switches; /* functions that switch tasks; NULL: those that are known */

    /* The file that a trace says was mapped, or NULL; it outlives the reader. May be
     * asked by several threads. NULL: nobody finds files. */
    const struct trace_binary *(*find)(void *context, struct str path);
    void *find_context;
};

struct trace_core {
    int64_t number;  /* of the core, or the thread */
    int64_t process; /* or ID_NONE */
    struct str name; /* of the thread, or empty */
    struct tracer tracer;
    struct trace_gate gate;
    uint64_t kept_out; /* instructions: by the trigger */
};

struct trace_reader {
    struct source *in;
    const struct trace_reader_options *options;
    struct arena arena;
    struct trace_core **cores;
    size_t core_count, core_cap;

    /* The clock domain's header: cycles of the base clock are multiply / divide of ours.
     */
    bool has_clock;
    uint64_t multiply, divide;
    struct str clock; /* its name */

    struct trace_trigger recorded; /* the trigger that the trace says it was made with */

    /* Of formats that are one core's. */
    struct trace_core *core;
    uint64_t last, skew; /* cycles: the last one read; added, as time went back */
    size_t count;
    uint64_t pcs[TRACE_BATCH], cycles[TRACE_BATCH];

    /* What was left out or repaired. */
    struct {
        const char *what;
        uint64_t count, line, offset; /* where it was first; 0 and UINT64_MAX: not told */
        struct place place;
    } flaws[8];
    size_t flaw_count;
};

struct trace_format {
    const char *name;    /* --format NAME */
    const char *summary; /* for --list-formats */
    bool is_text;

    /* How sure it is that a trace beginning with `head` (behind the header of the clock
     * domain) is its own: 0 no, 100 surely. */
    int (*probe)(struct str head);

    /* Reads all of the source. False, with err set, where nothing can be read. */
    bool (*read)(struct trace_reader *r, struct error *err);
};

extern const struct trace_format *const trace_formats[]; /* and a NULL behind them */

const struct trace_format *trace_format_named(struct str name);

/* Makes a reader ready, which allocates nothing yet. */
void trace_reader_init(struct trace_reader *r, struct source *in,
                       const struct trace_reader_options *options);
void trace_reader_deinit(struct trace_reader *r);

/* The format of a source that looks like a trace, and like nothing else, or NULL; some of
 * it is in its window then. */
const struct trace_format *trace_reader_knows(struct source *in, struct error *err);

/* Reads the trace, of the format or, where that is NULL, of the one that it looks like,
 * and ends all tracers. False, with err set, where nothing could be read. */
bool trace_read(struct trace_reader *r, const struct trace_format *format,
                struct error *err);

/* The instructions read, but for those that the trigger kept out. */
uint64_t trace_reader_instructions(const struct trace_reader *r);
uint64_t trace_reader_kept_out(const struct trace_reader *r);

/* Adds what was read to a builder: the stacks, and what is to be told. */
bool trace_reader_finish(struct trace_reader *r, struct builder *b,
                         enum demangle demangle, struct error *err);

/* --- For formats -------------------------------------------------------------------- */

/* The core of that number, made where it is new; NULL when memory is short, which
 * arena.failed then tells, or where there are too many. */
struct trace_core *trace_reader_core(struct trace_reader *r, int64_t number);

/* Counts what is left out or repaired; `what` is a literal. */
void trace_reader_flaw(struct trace_reader *r, const char *what, uint64_t line,
                       uint64_t offset, struct str text);

/* Hands on what was added. False where the reader should stop: memory is short. */
bool trace_reader_flush(struct trace_reader *r, struct error *err);

/* A cycle that is before the one before it. */
uint64_t trace_reader_back(struct trace_reader *r, uint64_t cycle);

/* Whether the core's trigger lets an instruction pass; tells its tracer of the gap where
 * it is the first one behind others that did not. `cycle` is of the core's clock. */
bool trace_reader_pass(struct trace_reader *r, struct trace_core *core, uint64_t pc,
                       uint32_t bits, uint64_t cycle);

/* 40 bits of an address are all that is recorded of it. */
static inline uint64_t trace_address(uint64_t pc)
{
    return pc >> 40 ? pc : (uint64_t)((int64_t)(pc << 24) >> 24);
}

/* Adds an instruction; there must be room (see trace_reader_flush). */
static inline void trace_reader_add(struct trace_reader *r, uint64_t pc, uint64_t cycle)
{
    if (cycle < r->last)
        cycle = trace_reader_back(r, cycle);
    else
        r->last = cycle;
    r->pcs[r->count] = trace_address(pc);
    r->cycles[r->count++] = cycle + r->skew;
}

#endif
