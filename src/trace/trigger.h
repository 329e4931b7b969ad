/* SPDX-License-Identifier: Apache-2.0 */
/* The trigger of TracerV, applied to a trace that was recorded without one.
 *
 * Source of the rules: FireSim's documentation of TracerV ("Setting a TracerV
 * Trigger") and its driver. The state is in a register, so a change in one cycle has
 * its effect in the next cycle. Of several instructions that retire in a cycle, any
 * may change the state, and a start has priority over an end. */
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
    bool has_end; /* otherwise it never ends */
};

/* The trigger of a core, and its register. */
struct trace_gate {
    struct trace_trigger trigger;
    uint64_t cycle;   /* cycle of the last instruction */
    bool on, next;    /* state in this cycle, and in the next one */
    bool is_starting; /* an instruction of this cycle has started it */
    bool fired;       /* it was on at any time */
};

static inline struct trace_gate trace_gate_of(struct trace_trigger trigger)
{
    return (struct trace_gate){.trigger = trigger};
}

/* Whether the instruction in that cycle of the base clock is traced; cycles never
 * decrease. Call it for each instruction in order; those that do not change the state
 * may be omitted. */
bool trace_gate_pass(struct trace_gate *g, uint64_t pc, uint32_t bits, uint64_t cycle);

/* Whether an instruction changes a trigger by address or by instruction. */
bool trace_trigger_turns(const struct trace_trigger *t, uint64_t pc, uint32_t bits);

/* The first cycle after `cycle` in which a trigger by cycle has another state;
 * UINT64_MAX if there is none, and for other triggers. */
uint64_t trace_trigger_edge(const struct trace_trigger *t, uint64_t cycle);

#endif
