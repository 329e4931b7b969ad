/* SPDX-License-Identifier: Apache-2.0 */
/* The functions and calls of a call graph: each is added once. */
#include "base/array.h"
#include "import/callgrind.h"

static bool same_function(const void *context, uint32_t id)
{
    const struct callgrind *c = context;
    const struct callgrind_function *a = &c->functions[id], *f = &c->key;
    return a->name == f->name && a->file == f->file && a->module == f->module;
}

static uint32_t hash_of_key(const struct callgrind *c)
{
    const struct callgrind_function *f = &c->key;
    return (uint32_t)hash_mix(hash_pair(f->name, f->file), HASH_A ^ f->module);
}

uint32_t callgrind_function_find(struct callgrind *c, string_id name, string_id file,
                                 string_id module)
{
    c->key = (struct callgrind_function){.name = name, .file = file, .module = module};
    if (!c->function_index.used || !index_reserve(&c->function_index, &c->arena, 1))
        return 0;
    return index_find(&c->function_index, hash_of_key(c), same_function, c)->id;
}

uint32_t callgrind_function_of(struct callgrind *c, string_id name, string_id file,
                               string_id module)
{
    c->key = (struct callgrind_function){.name = name, .file = file, .module = module};
    uint32_t hash = hash_of_key(c);
    if (!index_reserve(&c->function_index, &c->arena, 1))
        return 0;
    struct index_slot *slot = index_find(&c->function_index, hash, same_function, c);
    if (slot->id)
        return slot->id;
    if (!ARRAY_RESERVE(&c->arena, c->functions, c->function_cap, c->function_count + 1))
        return 0;
    c->functions[c->function_count] = c->key;
    index_fill(&c->function_index, slot, hash, (uint32_t)c->function_count);
    return (uint32_t)c->function_count++;
}

static bool same_call(const void *context, uint32_t id)
{
    const struct callgrind *c = context;
    return c->calls[id].caller == c->function && c->calls[id].callee == c->called;
}

struct callgrind_call *callgrind_call_of(struct callgrind *c)
{
    uint32_t hash = (uint32_t)hash_pair(c->function, c->called);
    if (!index_reserve(&c->call_index, &c->arena, 1))
        return NULL;
    struct index_slot *slot = index_find(&c->call_index, hash, same_call, c);
    if (slot->id)
        return &c->calls[slot->id];
    if (!ARRAY_RESERVE(&c->arena, c->calls, c->call_cap, c->call_count + 1))
        return NULL;
    struct callgrind_function *caller = &c->functions[c->function];
    c->calls[c->call_count] = (struct callgrind_call){
        .caller = c->function, .callee = c->called, .next = caller->first_call};
    caller->first_call = (uint32_t)c->call_count;
    index_fill(&c->call_index, slot, hash, (uint32_t)c->call_count);
    return &c->calls[c->call_count++];
}
