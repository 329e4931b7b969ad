/* SPDX-License-Identifier: Apache-2.0 */
/* Reads traces: the bytes of a format become the instructions of each core, for its
 * tracer.
 *
 * To add a format:
 *   1. src/trace/read_NAME.c with one `const struct trace_format trace_format_NAME`
 *   2. its line in formats.def (specific formats before general ones)
 *   3. its line in src/trace/meson.build
 *   4. tests/trace/NAME with a trace and its expected output
 * `stoke trace --list-formats`, the manual, the probe and the fuzzer use the list.
 *
 * A reader is pure, and its input hostile: it uses readable data, and counts omitted
 * data. */
#ifndef STOKE_TRACE_READER_H
#define STOKE_TRACE_READER_H

#include "base/source.h"
#include "model/builder.h"
#include "trace/profile.h"
#include "trace/tracer.h"
#include "trace/trigger.h"

#define TRACE_BATCH ((size_t)4096) /* instructions passed on at once */
#define TRACE_HEAD_SIZE ((size_t)64 << 10)
#define TRACE_CORES_MAX 1024

struct trace_reader_options {
    const struct trace_binary *binaries;
    size_t binary_count;
    bool keeps;   /* record the order of stacks, see tracer.h */
    unsigned ipc; /* words of a binary record except the first; 0: detect */
    int64_t core; /* pid of a trace that does not contain one, or ID_NONE */
    struct trace_trigger trigger; /* only what it selects is in the profile */
    const char *const *switches;  /* functions that switch tasks; NULL: the known ones */

    /* Returns the file that a trace names as mapped, or NULL; it outlives the reader.
     * Several threads may call it. NULL: no files are found. */
    const struct trace_binary *(*find)(void *context, struct str path);
    void *find_context;
};

struct trace_core {
    int64_t number;  /* number of the core, or of the thread */
    int64_t process; /* or ID_NONE */
    struct str name; /* of the thread, or empty */
    struct tracer tracer;
    struct trace_gate gate;
    uint64_t left_out; /* counted instructions: those that the trigger selects */
};

struct trace_reader {
    struct source *in;
    const struct trace_reader_options *options;
    struct arena arena;
    struct trace_core **cores;
    size_t core_count, core_cap;

    /* The header of the clock domain: cycles of the base clock are multiply / divide
     * of this clock. */
    bool has_clock;
    uint64_t multiply, divide;
    struct str clock; /* its name */

    struct trace_trigger recorded; /* according to the header of the trace */

    /* State of formats with one core. */
    struct trace_core *core;
    /* Cycles: the last value; the sum that is added, because time went back. */
    uint64_t last, skew;
    size_t count;
    uint64_t pcs[TRACE_BATCH], cycles[TRACE_BATCH];

    /* Omitted or repaired data. */
    struct {
        const char *what;
        uint64_t count, line,
            offset; /* first offset and line; 0 and UINT64_MAX: unknown */
        struct input_location location;
    } flaws[8];
    size_t flaw_count;
};

struct trace_format {
    const char *name;    /* --format NAME */
    const char *summary; /* for --list-formats */
    bool is_text;

    /* How likely it is that a trace beginning with `head` (after the header of the
     * clock domain) has this format: 0 no, 100 certain. */
    int (*probe)(struct str head);

    /* Reads the whole source. False, with err set, if nothing can be read. */
    bool (*read)(struct trace_reader *r, struct error *err);
};

extern const struct trace_format *const trace_formats[]; /* ends in NULL */

const struct trace_format *trace_format_named(struct str name);

/* Initialises a reader; it allocates no memory yet. */
void trace_reader_init(struct trace_reader *r, struct source *in,
                       const struct trace_reader_options *options);
void trace_reader_deinit(struct trace_reader *r);

/* The format of a source that looks like a trace and like no other input, or NULL. The
 * start of the source is in its window then. */
const struct trace_format *trace_reader_knows(struct source *in, struct error *err);

/* Reads the trace in the format, or, if that is NULL, in the detected format, and ends
 * all tracers. False, with err set, if nothing can be read. */
bool trace_read(struct trace_reader *r, const struct trace_format *format,
                struct error *err);

/* The instructions that were read, without those that the trigger excludes. */
uint64_t trace_reader_instructions(const struct trace_reader *r);
uint64_t trace_reader_left_out(const struct trace_reader *r);

/* Adds the stacks and the warnings to a builder. */
bool trace_reader_finish(struct trace_reader *r, struct builder *b,
                         enum demangle demangle, struct error *err);

/* --- For formats -------------------------------------------------------------------- */

/* The core of that number, which is created if it is new; NULL if out of memory
 * (arena.failed is set), or if there are too many. */
struct trace_core *trace_reader_core(struct trace_reader *r, int64_t number);

/* Counts omitted or repaired data; `what` is a literal. */
void trace_reader_flaw(struct trace_reader *r, const char *what, uint64_t line,
                       uint64_t offset, struct str text);

/* Passes on the added instructions. False if the reader must stop: out of memory. */
bool trace_reader_flush(struct trace_reader *r, struct error *err);

/* Reports a cycle that is less than the one before. */
uint64_t trace_reader_back(struct trace_reader *r, uint64_t cycle);

/* Whether the trigger of the core selects an instruction. If it is the first one after
 * excluded ones, reports the gap to the tracer. `cycle` is in cycles of the core's
 * clock. */
bool trace_reader_pass(struct trace_reader *r, struct trace_core *core, uint64_t pc,
                       uint32_t bits, uint64_t cycle);

/* Sign-extends an address: the trace has 40 bits of it. */
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
