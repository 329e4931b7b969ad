/* SPDX-License-Identifier: Apache-2.0 */
/* Computes the stacks of one core from its instructions.
 *
 * A tracer receives the addresses of retired instructions, in order, each with its
 * cycle, and maintains the call stack. It decodes the instructions in the binaries: a
 * call pushes a frame, a return pops one, a jump out of a function replaces one. An
 * address that does not follow from the instruction before is a trap, whose frames end
 * when it returns. Facts that a trace of addresses does not contain are inferred, and
 * counted (struct trace_report).
 *
 * An instruction has the cycles up to the next one; the last one has one cycle. They
 * belong to one stack, so the sum of all stacks is the duration of the trace. */
#ifndef STOKE_TRACE_TRACER_H
#define STOKE_TRACE_TRACER_H

#include "trace/code.h"
#include "trace/tree.h"

/* Calls deeper than this are counted, and their cycles belong to the deepest frame. */
#define TRACE_FRAMES_MAX ((size_t)1 << 19)

/* Nested traps of a task: more are handlers that do not return. */
#define TRACE_TRAPS_MAX ((size_t)4096)

/* Maximum number of callers that are inferred for a task: no stack is deeper, and a
 * trace of another program would add more without end. */
#define TRACE_CALLERS_MAX ((uint32_t)1 << 16)

struct trace_frame {
    uint64_t returns; /* return address; 0: unknown */
    trace_node node;  /* its stack, without inlined calls */
    trace_function_id function;
};

/* Where a trap occurred. */
struct trace_trap {
    size_t frame;           /* index of the handler's frame in the task */
    uint64_t again;         /* the instruction before, which may be executed again */
    uint64_t next;          /* its target; 0: unknown */
    uint64_t entry;         /* of the handler */
    uint32_t load;          /* number of the interrupted load; 0: none */
    struct trace_site site; /* number of the task of `again` */
    bool by_kernel;         /* it has called a signal handler in this trap */
    trace_node waited; /* of the handlers in it, each of which followed another one: the
                               base of the last one whose caller is still open; 0: none */
};

/* The owner of a stack: a thread, or the whole program. */
struct trace_task {
    struct trace_frame *frames; /* outermost first */
    size_t count, cap;
    uint64_t beyond; /* calls beyond the stack limit */
    struct trace_trap *traps;
    size_t trap_count, trap_cap;
    uint64_t left;       /* time of the switch to another task, in instructions */
    bool is_away;        /* it was suspended in a function that switches tasks */
    uint32_t callers;    /* number of inferred callers */
    bool begins_in_trap; /* its stack changed in code that is still unresolved */
    uint32_t program;    /* the last one of several at the same addresses; 0: none */
    trace_node before;   /* the outermost frame before that; 0: none */
    bool is_boot;        /* it began at a boot address, and no trap has returned yet */
    bool is_born;        /* its first instruction is in the trace */
    struct str name;     /* name of its program, or set by the reader; or empty */
    uint64_t identity;   /* the same in all tracers; 0 if they share no tasks */
    trace_node base; /* frames below this one are copies from another tracer; 0: none */
    trace_function_id begun;       /* the function at the start of its base; 0: unknown */
    uint64_t begun_from, begun_to; /* by which step, in tracer_begin_again */
};

#define TRACE_ECALLS 64        /* by address */
#define TRACE_ECALL_FRAMES 512 /* deeper stacks are not copied */

/* The stack of a program that called its kernel. If the program forks, another task
 * returns to a copy of it. */
struct trace_ecall {
    uint64_t next; /* the address after the call; 0: none */
    struct trace_frame *frames;
    size_t count, cap;
    struct str name; /* of the task */
};

/* The stack that stored a context: see tracer_save_context. */
struct trace_context {
    uint32_t task;
    size_t depth; /* frames, including that of the function that stored it */
    uint64_t returns, caller_returns;
    trace_function_id function, caller;
    uint64_t identity; /* of the task */
};

#define TRACE_VECTORS_MAX 16

/* State that the tracers share if one program runs on several cores: see
 * tracer_share.c. Only one tracer uses it at a time, in the order of stored and loaded
 * contexts. */
struct trace_shared {
    struct arena arena;
    struct idmap owners;  /* by address: the tracer that stored a context last */
    struct idmap holders; /* by identity: the tracer that ran a task last */
    uint64_t identities;
    bool has_contexts;                   /* the trace has contexts */
    uint64_t vectors[TRACE_VECTORS_MAX]; /* as in struct tracer */
    size_t vector_count;
    uint64_t trampoline;
    struct tracer *ecalls[TRACE_ECALLS]; /* tracer of the last call */
};

/* What was counted, inferred and repaired. */
struct trace_report {
    uint64_t instructions, calls, returns, tails, traps, switches, forks;
    uint64_t deepest; /* frames */

    /* Inferred: */
    uint64_t callers; /* frames that were returned to, whose calls are before the trace */
    uint64_t unwound; /* frames that longjmp, an exception or a trap's return removed */
    uint64_t resumed; /* tasks that continued */
    uint64_t guessed; /* of these, chosen only because they were suspended longest */
    /* Repaired: */
    uint64_t unmatched; /* returns to an address without a matching call */
    uint64_t jumps;     /* steps to an address that the instruction cannot reach */
    uint64_t astray;    /* traps that returned to another address */
    uint64_t too_deep;  /* calls beyond the stack limit */
    uint64_t unknown;   /* instructions outside all binaries */
};

/* A period of time in one stack, if the order is recorded. */
struct trace_stretch {
    uint64_t time, cycles, instructions;
    trace_node node;
};

#define TRACE_LEAF_CACHE 1024

struct trace_leaf {
    trace_node node, leaf;
    trace_location_id location;
};

/* A step from one instruction to the next. */
struct trace_step {
    uint64_t from, to; /* addresses */
    uint64_t next;     /* target of the instruction at `from`; 0: unknown */
    const struct trace_site *from_site, *to_site;
    trace_function_id function; /* of `to` */
};

struct tracer {
    struct arena arena;
    struct trace_code code;
    bool keeps;         /* periods */
    bool is_muted;      /* instructions change the stack, but are not counted: */
    uint64_t uncounted; /* the number of these */
    struct trace_report counted_report; /* counts until then */

    /* The last instruction. */
    uint64_t pc;
    const struct trace_site *site;
    trace_location_id location;

    /* The current leaf of `tree`, and when it became the leaf. */
    uint64_t now, since;             /* cycles */
    uint64_t counted, counted_since; /* instructions */
    trace_node leaf;
    struct trace_leaf leaves[TRACE_LEAF_CACHE];

    struct trace_task *tasks;
    size_t task_count, task_cap;
    uint32_t current;
    size_t credit; /* number of frames that may still be searched, see tracer_flow.c */

    struct trace_tree tree;
    struct trace_tree trial; /* of a task that is not identified yet */
    struct trial {
        bool is_on;
        uint32_t task;        /* the unidentified task, whose frames are on trial */
        size_t matched;       /* frames that have returned */
        uint32_t *candidates; /* tasks */
        size_t count, cap;
        size_t stretches; /* nodes from this one on are in the tree of the trial */
    } on_trial;

    /* A step that is still to do; its from_site is repeat_site. */
    bool repeats;
    struct trace_step repeat;
    struct trace_site repeat_site;

    uint64_t vectors
        [TRACE_VECTORS_MAX]; /* start addresses of handlers that returned from a trap */
    size_t vector_count;
    uint64_t trampoline; /* return address of signal handlers; 0: unknown */
    uint32_t waited;     /* handlers that have a base for it */

    struct trace_ecall ecalls[TRACE_ECALLS];

    /* Contexts, and the one that was loaded last, until the stack is switched. */
    struct trace_context *contexts;
    size_t context_count, context_cap;
    struct idmap by_address; /* 1 + number of a context */

    struct trace_shared *shared; /* the reader's, or NULL */
    struct idmap by_identity;    /* 1 + number of a task */
    struct idmap adopted;        /* functions of other tracers, as numbers of this one */
    struct trace_loaded {
        bool is_on, is_known;
        struct trace_context context; /* if known */
    } load, interrupted;              /* second: the clock when a trap occurred */
    uint32_t interrupted_loads;
    bool has_contexts; /* the trace has contexts */
    uint32_t reused;   /* the task that was reused last, because there were too many */

    /* Calls of functions that return twice: depth, by address. */
    struct trace_mark {
        uint64_t returns;
        size_t depth;
        uint32_t task;
    } marks[64];
    size_t mark_count;

    struct trace_stretch *stretches;
    size_t stretch_count, stretch_cap;
    struct trace_report report;
};

/* False if out of memory. Binaries must outlive the tracer. */
bool tracer_init(struct tracer *t, const struct trace_binary *binaries, size_t count,
                 bool keeps);
void tracer_deinit(struct tracer *t);

/* Adds the next instructions: addresses of 64 bits, sign-extended, and their cycles,
 * which never decrease. */
void tracer_take(struct tracer *t, const uint64_t *pcs, const uint64_t *cycles,
                 size_t count);

/* A change of the location within a block, at an instruction. */
struct trace_turn {
    uint32_t at;     /* number of the instruction in the block */
    uint32_t before; /* bytes from the start of the block to the instruction before */
    trace_location_id location;
    trace_function_id function; /* of the location */
};

/* How a block follows the last instruction of another one, independent of the stack. */
enum trace_way {
    TRACE_WAY_OTHER,
    TRACE_WAY_STAYS,         /* in the same location */
    TRACE_WAY_FLOWS,         /* to the target of the instruction */
    TRACE_WAY_CALLS,         /* the same, by a call */
    TRACE_WAY_CALLS_REGISTER /* to any address, if no interrupt handler begins there */
};

/* A block: contiguous instructions, of a trace that has their bytes. */
struct trace_block {
    uint64_t pc;
    uint64_t last;                    /* address of the last instruction */
    struct trace_site *sites;         /* `advance` is the length of each one */
    struct trace_turn *turn;          /* each change of the location in it */
    const struct trace_site *from[2]; /* the last instructions before it, */
    uint32_t count;
    trace_function_id function; /* of the first instruction */
    uint32_t turn_count;
    uint8_t way[2]; /* and the step from them: enum trace_way */
    bool turns;     /* set by the reader: an instruction of it changes the trigger */
};

_Static_assert(sizeof(struct trace_block) == 64, "a line of the cache");

/* Computes the other fields from pc, count and sites. False if out of memory. */
bool trace_block_ready(struct tracer *t, struct trace_block *b);

/* Adds the next instructions: `count` of a block, from number `first` on, one per
 * cycle, the first at cycle `now`, which is not before an earlier one. */
void tracer_take_block(struct tracer *t, struct trace_block *b, uint32_t first,
                       uint32_t count, uint64_t now);

/* Adds the same instructions `times` more, directly after the first time. Each
 * repetition that changes the stack uses one of *steps, or one per instruction. When
 * *steps is 0, the rest is counted in the current stack, and false is returned. */
bool tracer_take_again(struct tracer *t, struct trace_block *b, uint32_t first,
                       uint32_t count, uint64_t now, uint64_t times, uint64_t *steps);

/* The last instruction, or an earlier one of its block, stored or loaded the context
 * of a stack at this address: any word that both do. */
void tracer_save_context(struct tracer *t, uint64_t address);
void tracer_load_context(struct tracer *t, uint64_t address);

/* Instructions are missing here, up to the cycle `now`; these cycles are not counted. */
void tracer_gap(struct tracer *t, uint64_t now);

/* From the cycle `now` on, instructions change the stack but are not counted; or they
 * are counted again. */
void tracer_mute(struct tracer *t, bool mute, uint64_t now);

/* The number of counted instructions. */
static inline uint64_t tracer_instructions(const struct tracer *t)
{
    uint64_t open = t->is_muted ? t->counted - t->counted_since : 0;
    return t->counted - t->uncounted - open;
}

/* Ends the trace: counts all cycles up to now. */
void tracer_end(struct tracer *t);

/* Whether an allocation has failed at any time. */
static inline bool tracer_failed(const struct tracer *t)
{
    return t->arena.failed || t->tree.arena.failed || t->trial.arena.failed;
}

#endif
