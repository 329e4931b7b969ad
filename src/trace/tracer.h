/* SPDX-License-Identifier: Apache-2.0 */
/* From the instructions of one core to its stacks.
 *
 * A tracer is fed the addresses of the instructions that retired, in order, each with its
 * cycle, and keeps the stack of calls: what an instruction is, is decoded from the
 * binaries, so that a call pushes, a return pops, a jump out of a function replaces it,
 * and an address that no instruction leads to is a trap, whose frames end where it
 * returns to. What no trace of addresses can tell is inferred, and counted (struct
 * trace_report).
 *
 * An instruction's cycles are those up to the next one; the last one's is one. They
 * belong to one stack, so all stacks together are the span of the trace. */
#ifndef STOKE_TRACE_TRACER_H
#define STOKE_TRACE_TRACER_H

#include "trace/code.h"
#include "trace/tree.h"

/* Calls deeper than this are counted, but their frames are those of the deepest kept. */
#define TRACE_FRAMES_MAX ((size_t)1 << 20)

/* So many callers of a task are worked out: no stack is that deep, and a trace of another
 * program makes ever more of them. */
#define TRACE_CALLERS_MAX ((uint32_t)1 << 16)

struct trace_frame {
    uint64_t returns; /* to this address; 0: not known */
    trace_node node;  /* its stack, without what is inlined */
    trace_function_id function;
};

/* Where a trap was taken. */
struct trace_trap {
    size_t frame;           /* of the handler, in the task's frames */
    uint64_t again;         /* the instruction before, which may be tried once more */
    uint64_t next;          /* where it led to; 0: not known */
    uint64_t entry;         /* of the handler */
    struct trace_site site; /* of `again` */
};

/* Something that has a stack of its own: a thread, or all there is. */
struct trace_task {
    struct trace_frame *frames; /* the outermost first */
    size_t count, cap;
    uint64_t beyond; /* calls that were too deep */
    struct trace_trap *traps;
    size_t trap_count, trap_cap;
    uint64_t left;    /* when it was switched away from, in instructions */
    bool is_away;     /* it was switched away from, in a function that switches tasks */
    uint32_t callers; /* worked out */
    bool begins_in_trap; /* its stack did, in what is not known yet */
    uint32_t program;    /* of those at one address, the one it ran last; 0: none */
    trace_node before;   /* the outermost frame until then; 0: none */
    bool is_boot;        /* it began where a machine does, and no trap has returned yet */
    bool is_born;        /* its first instruction was seen */
    struct str name;     /* of the program it runs, or what it was told to be; or empty */
    uint64_t identity;   /* the same in all tracers; 0 where they share nothing */
    trace_node base;     /* below which it was copied from another tracer; 0: none */
};

/* The stack of a program that called its kernel: a copy of it may come back, in a task
 * that was forked. */
struct trace_ecall {
    uint64_t next; /* the address behind the call; 0: none */
    struct trace_frame *frames;
    size_t count, cap;
    struct str name; /* of the task */
};

/* The stack that stored a context: see tracer_save_context. */
struct trace_context {
    uint32_t task;
    size_t depth; /* frames, with that of the function that stored it */
    uint64_t returns, caller_returns;
    trace_function_id function, caller;
    uint64_t identity; /* of the task */
};

/* What the tracers of cores that one program runs on share: see tracer_share.c. Only one
 * of them is used at a time, in the order in which contexts were stored and loaded. */
struct trace_shared {
    struct arena arena;
    struct idmap owners;  /* by the address: the tracer that stored a context last */
    struct idmap holders; /* by the identity: the tracer that ran a task last */
    uint64_t identities;
};

#define TRACE_ECALLS 64        /* by the address */
#define TRACE_ECALL_FRAMES 512 /* deeper stacks are not kept */

/* What was seen, inferred and repaired. */
struct trace_report {
    uint64_t instructions, calls, returns, tails, traps, switches, forks;
    uint64_t deepest; /* frames */

    /* Inferred: */
    uint64_t callers; /* returned to, whose calls were not seen */
    uint64_t
        unwound; /* frames left at once by longjmp, an exception or a trap's return */
    uint64_t resumed; /* tasks that went on */
    uint64_t guessed; /* of these, told by being away longest alone */
    /* Repaired: */
    uint64_t unmatched; /* returns to where no call was */
    uint64_t jumps;     /* to where the binary's instructions do not lead */
    uint64_t astray;    /* traps that returned to elsewhere */
    uint64_t too_deep;  /* calls */
    uint64_t unknown;   /* instructions outside of the binaries */
};

/* A stretch of time in one stack, where the order is kept. */
struct trace_stretch {
    uint64_t time, cycles, instructions;
    trace_node node;
};

#define TRACE_LEAF_CACHE 1024

struct trace_leaf {
    trace_node node, leaf;
    trace_place_id place;
};

/* From one instruction to another. */
struct trace_step {
    uint64_t from, to; /* addresses */
    uint64_t next;     /* where the instruction at `from` led to; 0: not known */
    const struct trace_site *from_site, *to_site;
    trace_function_id function; /* of `to` */
};

#define TRACE_VECTORS_MAX 16

struct tracer {
    struct arena arena;
    struct trace_code code;
    bool keeps;               /* stretches */
    bool is_muted;            /* instructions are followed, but not counted: */
    uint64_t uncounted;       /* these */
    struct trace_report kept; /* what was seen until then */

    /* The instruction told last. */
    uint64_t pc;
    const struct trace_site *site;
    trace_place_id place;

    /* What is being spent: since when, in which leaf of `tree`. */
    uint64_t now, since;             /* cycles */
    uint64_t counted, counted_since; /* instructions */
    trace_node leaf;
    struct trace_leaf leaves[TRACE_LEAF_CACHE];

    struct trace_task *tasks;
    size_t task_count, task_cap;
    uint32_t current;
    size_t credit; /* frames that may still be searched, see tracer_flow.c */

    struct trace_tree tree;
    struct trace_tree trial; /* of a task of which it is not known which one goes on */
    struct trial {
        bool is_on;
        uint32_t task;        /* whose frames are on trial */
        size_t matched;       /* frames that have returned */
        uint32_t *candidates; /* tasks */
        size_t count, cap;
        size_t stretches; /* from there on they are of the trial's tree */
    } on_trial;

    /* A step that is still to be done; its from_site is repeat_site. */
    bool repeats;
    struct trace_step repeat;
    struct trace_site repeat_site;

    uint64_t
        vectors[TRACE_VECTORS_MAX]; /* entries of handlers that returned from a trap */
    size_t vector_count;

    struct trace_ecall ecalls[TRACE_ECALLS];

    /* Contexts, and the one that was loaded last, while the stack is still the old one. */
    struct trace_context *contexts;
    size_t context_count, context_cap;
    struct idmap by_address; /* 1 + the number of a context */
    bool has_contexts;       /* the trace tells of them */

    struct trace_shared *shared; /* the reader's, or NULL */
    struct idmap by_identity;    /* 1 + the number of a task */
    struct idmap adopted;        /* functions of other tracers, as they are here */
    struct trace_loaded {
        bool is_on, is_known;
        struct trace_context context; /* where it is known */
    } load;
    uint32_t reused; /* the task that was begun anew last, when there were too many */

    /* Calls of functions that return twice: by the address, how deep. */
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

/* False when memory is short. Binaries outlive the tracer. */
bool tracer_init(struct tracer *t, const struct trace_binary *binaries, size_t count,
                 bool keeps);
void tracer_deinit(struct tracer *t);

/* The next instructions: addresses of 64 bits, sign-extended, and their cycles, which
 * never go back. */
void tracer_take(struct tracer *t, const uint64_t *pcs, const uint64_t *cycles,
                 size_t count);

/* Within a block: from an instruction on it is in another place than before. */
struct trace_turn {
    uint32_t at;     /* number of the instruction in the block */
    uint32_t before; /* bytes from the block's beginning to the instruction before */
    trace_place_id place;
    trace_function_id function; /* of the place */
};

/* How a block is entered from the last instruction of another, as far as the stack does
 * not matter. */
enum trace_way {
    TRACE_WAY_OTHER,
    TRACE_WAY_STAYS,         /* in the same place */
    TRACE_WAY_FLOWS,         /* to where the instruction leads */
    TRACE_WAY_CALLS,         /* the same, by a call */
    TRACE_WAY_CALLS_REGISTER /* to wherever, unless that is an interrupt's handler */
};

/* Instructions that follow one another, of a trace that carries their bits. */
struct trace_block {
    uint64_t pc;
    uint64_t last;                    /* address of the last one */
    struct trace_site *sites;         /* `advance` tells each one's length */
    struct trace_turn *turn;          /* each change of the place in it */
    const struct trace_site *from[2]; /* where it was entered from of late, */
    uint32_t count;
    trace_function_id function; /* of the first instruction */
    uint32_t turn_count;
    uint8_t way[2]; /* and how: enum trace_way */
    bool turns;     /* the reader's: something in it turns the trigger */
};

_Static_assert(sizeof(struct trace_block) == 64, "a line of the cache");

/* Sets what follows from pc, count and sites. False when memory is short. */
bool trace_block_ready(struct tracer *t, struct trace_block *b);

/* The next instructions: `count` of a block, from number `first` on, one a cycle, the
 * first at cycle `now`, which is not before any other. */
void tracer_take_block(struct tracer *t, struct trace_block *b, uint32_t first,
                       uint32_t count, uint64_t now);

/* The same so many times more, right after it was taken. Each time that it changes the
 * stack takes one of *steps, or as many as it has instructions; with none left it is
 * counted in the stack as it is, and false returned. */
bool tracer_take_again(struct tracer *t, struct trace_block *b, uint32_t first,
                       uint32_t count, uint64_t now, uint64_t times, uint64_t *steps);

/* The instruction taken last, or one before it in the same block, has stored or loaded
 * the context of a stack at an address: any word of it that both do. */
void tracer_save_context(struct tracer *t, uint64_t address);
void tracer_load_context(struct tracer *t, uint64_t address);

/* Instructions are missing here, up to the cycle `now`, which nobody spent. */
void tracer_gap(struct tracer *t, uint64_t now);

/* From the cycle `now` on instructions are followed, so that the stack is known, but not
 * counted; or they are counted again. */
void tracer_mute(struct tracer *t, bool mute, uint64_t now);

/* The instructions that are counted. */
static inline uint64_t tracer_instructions(const struct tracer *t)
{
    uint64_t open = t->is_muted ? t->counted - t->counted_since : 0;
    return t->counted - t->uncounted - open;
}

/* The trace ends: what is under way is counted. */
void tracer_end(struct tracer *t);

/* Whether memory was short at any time. */
static inline bool tracer_failed(const struct tracer *t)
{
    return t->arena.failed || t->tree.arena.failed || t->trial.arena.failed;
}

#endif
