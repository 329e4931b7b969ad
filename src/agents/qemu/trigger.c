/* SPDX-License-Identifier: Apache-2.0 */
#include "agents/qemu/trigger.h"
#include "agents/qemu/channel.h"

#define NEVER UINT64_MAX
#define ON UINT32_MAX

static struct trace_options trigger;

void trigger_init(const struct trace_options *options)
{
    trigger = *options;
}

/* The edges of selector 1 are one higher than the option: the register changes one
 * cycle later. */
static uint64_t after(uint64_t number, uint64_t by)
{
    return number > NEVER - by ? NEVER : number + by;
}

void trigger_begin(struct lane *l)
{
    l->on = trigger.selector == 0 ? ON : 0;
    l->edge = NEVER;
    if (trigger.selector == 1 && trigger.start <= trigger.end)
        l->edge = after(trigger.start, 1);
}

void trigger_pass_edge(struct lane *l)
{
    l->on = ~l->on;
    l->edge = l->on && trigger.has_end ? after(trigger.end, 2) : NEVER;
}

static bool is_at(uint64_t address, uint64_t value)
{
    if (value >> 40 == 0 && value >> 39 & 1 && address == (value | UINT64_MAX << 40))
        return true;
    return address == value;
}

static bool is_like(uint32_t instruction, uint64_t value)
{
    return ((instruction ^ (uint32_t)value) & (uint32_t)(value >> 32)) == 0;
}

bool trigger_turns(uint64_t address, const unsigned char *bytes, size_t size,
                   uint32_t *on)
{
    if (trigger.selector < 2)
        return false;
    uint32_t instruction = 0;
    for (size_t i = 0; i < size && i < 4; i++)
        instruction |= (uint32_t)bytes[i] << 8 * i;
    bool by_address = trigger.selector == 2;
    bool starts =
        by_address ? is_at(address, trigger.start) : is_like(instruction, trigger.start);
    bool ends = trigger.has_end && (by_address ? is_at(address, trigger.end)
                                               : is_like(instruction, trigger.end));
    *on = starts ? ON : 0;
    return starts || ends;
}
