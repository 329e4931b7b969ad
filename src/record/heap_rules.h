/* SPDX-License-Identifier: Apache-2.0 */
/* The unwind rules that the collector provides for libstoke_heap.so: a cache in shared
 * memory (struct heap_rule), with one writer. A full bucket loses one of its rules. */
#ifndef STOKE_RECORD_HEAP_RULES_H
#define STOKE_RECORD_HEAP_RULES_H

#include "base/heap_format.h"

/* Whether the rule for the address in that space is there. */
bool heap_rules_have(const struct heap_rule *rules, uint64_t address, uint64_t space);

/* Adds a rule that is not there. Address 0 has none. */
void heap_rules_add(struct heap_rule *rules, uint64_t address, uint64_t space,
                    const struct unwind_rule *rule);

#endif
