/* SPDX-License-Identifier: Apache-2.0 */
#include "record/heap_rules.h"

bool heap_rules_have(const struct heap_rule *rules, uint64_t address, uint64_t space)
{
    const struct heap_rule *bucket = rules + heap_rule_bucket(address, space);
    for (int i = 0; i < HEAP_BUCKET; i++)
        if (bucket[i].address == address && bucket[i].space == space)
            return true;
    return false;
}

/* An empty slot, or that of the oldest space. */
static struct heap_rule *choose_slot(struct heap_rule *bucket)
{
    struct heap_rule *chosen = &bucket[0];
    for (int i = 0; i < HEAP_BUCKET; i++) {
        if (!bucket[i].address)
            return &bucket[i];
        if (bucket[i].space < chosen->space)
            chosen = &bucket[i];
    }
    return chosen;
}

void heap_rules_add(struct heap_rule *rules, uint64_t address, uint64_t space,
                    const struct unwind_rule *rule)
{
    struct heap_rule *slot = choose_slot(rules + heap_rule_bucket(address, space));
    if (!address)
        return;
    __atomic_store_n(&slot->address, 0, __ATOMIC_RELAXED);
    __atomic_thread_fence(__ATOMIC_RELEASE);
    slot->space = space;
    slot->rule = *rule;
    __atomic_store_n(&slot->address, address, __ATOMIC_RELEASE);
}
