/* SPDX-License-Identifier: Apache-2.0 */
/* The trigger of TracerV, applied to a trace that was recorded without one.
 *
 * Source of the rules: FireSim's documentation of TracerV ("Setting a TracerV Trigger")
 * and its driver. The state is kept in a register, so it follows a cycle late: what turns
 * it is seen in one cycle, and the next one is the first that is traced, or is not. Of
 * several instructions that retire in a cycle any may turn it, and a start counts for
 * more than an end. */
#ifndef STOKE_TRACE_TRIGGER_H
#define STOKE_TRACE_TRIGGER_H

#include <stdbool.h>
#include <stdint.h>

enum trace_selector {
    TRACE_ALWAYS = 0,
    TRACE_BY_CYCLE = 1,       /* of the base clock, both ends included */
    TRACE_BY_ADDRESS = 2,     /* of 40 bits, or sign-extended */
    TRACE_BY_INSTRUCTION = 3, /* mask << 32 | value, beside the bits of the instruction */
};

struct trace_trigger {
    enum trace_selector selector;
    uint64_t start, end;
    bool has_end; /* else it is never turned off */
};

/* The trigger of a core, and its register. */
struct trace_gate {
    struct trace_trigger trigger;
    uint64_t cycle;   /* that of the instruction seen last */
    bool on, next;    /* in this cycle, in the one after it */
    bool is_starting; /* something in this cycle has turned it on */
    bool fired;       /* it was on at any time */
};

static inline struct trace_gate trace_gate_of(struct trace_trigger trigger)
{
    return (struct trace_gate){.trigger = trigger};
}

/* Whether the instruction at that cycle of the base clock, which never goes back, is
 * traced. Each is to be shown, in order, but for those that turn nothing. */
bool trace_gate_pass(struct trace_gate *g, uint64_t pc, uint32_t bits, uint64_t cycle);

/* An instruction that turns a trigger by address or by instruction. */
bool trace_trigger_turns(const struct trace_trigger *t, uint64_t pc, uint32_t bits);

/* The first cycle behind `cycle` in which a trigger by cycle has another state;
 * UINT64_MAX where there is none, and for the others. */
uint64_t trace_trigger_edge(const struct trace_trigger *t, uint64_t cycle);

#endif
