/* SPDX-License-Identifier: Apache-2.0 */
#include "trace/trigger.h"

#define NEVER UINT64_MAX

static bool is_at(uint64_t pc, uint64_t value)
{
    bool extends = value >> 40 == 0 && value >> 39 & 1;
    return pc == value || (extends && pc == (value | UINT64_MAX << 40));
}

static bool is_like(uint32_t bits, uint64_t value)
{
    return ((bits ^ (uint32_t)value) & (uint32_t)(value >> 32)) == 0;
}

static bool matches(const struct trace_trigger *t, uint64_t pc, uint32_t bits,
                    uint64_t value)
{
    return t->selector == TRACE_BY_ADDRESS ? is_at(pc, value) : is_like(bits, value);
}

bool trace_trigger_turns(const struct trace_trigger *t, uint64_t pc, uint32_t bits)
{
    return t->selector >= TRACE_BY_ADDRESS &&
           (matches(t, pc, bits, t->start) ||
            (t->has_end && matches(t, pc, bits, t->end)));
}

/* The register changes one cycle later, and so does a trigger by cycles. */
static bool is_within(const struct trace_trigger *t, uint64_t cycle)
{
    return cycle > t->start && (!t->has_end || cycle - 1 <= t->end);
}

uint64_t trace_trigger_edge(const struct trace_trigger *t, uint64_t cycle)
{
    if (t->selector != TRACE_BY_CYCLE)
        return NEVER;
    if (cycle <= t->start)
        return t->start < NEVER ? t->start + 1 : NEVER;
    bool ends = t->has_end && t->end < NEVER - 1 && cycle < t->end + 2;
    return ends ? t->end + 2 : NEVER;
}

/* Computes the state of the next cycle from the instruction. */
static void turn(struct trace_gate *g, uint64_t pc, uint32_t bits)
{
    const struct trace_trigger *t = &g->trigger;
    if (matches(t, pc, bits, t->start))
        g->next = g->is_starting = true;
    else if (!g->is_starting && t->has_end && matches(t, pc, bits, t->end))
        g->next = false;
}

bool trace_gate_pass(struct trace_gate *g, uint64_t pc, uint32_t bits, uint64_t cycle)
{
    switch (g->trigger.selector) {
    case TRACE_BY_CYCLE:
        g->on = is_within(&g->trigger, cycle);
        break;
    case TRACE_BY_ADDRESS:
    case TRACE_BY_INSTRUCTION:
        if (cycle != g->cycle) {
            g->on = g->next;
            g->is_starting = false;
            g->cycle = cycle;
        }
        turn(g, pc, bits);
        break;
    case TRACE_ALWAYS:
    default:
        g->on = true;
        break;
    }
    g->fired |= g->on;
    return g->on;
}
