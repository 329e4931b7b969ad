/* SPDX-License-Identifier: Apache-2.0 */
#include "base/hash.h"
#include "unwind/unwind.h"

#define WORD 8

/* --- A job's memory and maps -------------------------------------------------------- */

static uint64_t load_word(const char *at)
{
    uint64_t value;
    memcpy(&value, at, sizeof value);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    value = __builtin_bswap64(value);
#endif
    return value;
}

static uint64_t stack_address(const struct unwind_job *job)
{
    const struct register_roles *roles = register_roles_of(job->machine);
    return job->registers[roles->perf[roles->sp]];
}

bool unwind_dump_read(const struct unwind_job *job, uint64_t address, unsigned size,
                      uint64_t *value)
{
    struct bytes in = bytes_of(job->stack, false);
    uint64_t offset = address - stack_address(job);
    bytes_seek(&in, offset);
    *value = bytes_number(&in, size);
    return !in.failed;
}

bool unwind_find_location(const struct unwind_objects *objects,
                          const struct unwind_job *job, uint64_t address,
                          struct unwind_location *location)
{
    const struct address_map *map = space_find(job->spaces, job->space, address);
    uint64_t in_file;
    *location = (struct unwind_location){NULL, 0};
    if (!map || map->no_code)
        return false;
    uint64_t offset = address - map->start + map->offset;
    const struct unwind_table *table =
        objects->table_at ? objects->table_at(objects->context, map->object, offset)
                          : objects->table(objects->context, map->object);
    if (table && table->machine == job->machine &&
        unwind_table_address(table, offset, &in_file))
        *location = (struct unwind_location){table, address - in_file};
    return true;
}

/* --- By the cursor ------------------------------------------------------------------ */

struct job_context {
    const struct unwind_objects *objects;
    struct unwind_job *job;
};

static bool job_read(void *context, uint64_t address, unsigned size, uint64_t *value)
{
    const struct job_context *j = context;
    return unwind_dump_read(j->job, address, size, value) ||
           (j->objects->read &&
            j->objects->read(j->objects->context, j->job, address, size, value));
}

static bool job_find(void *context, uint64_t address, struct unwind_location *location)
{
    const struct job_context *j = context;
    return unwind_find_location(j->objects, j->job, address, location);
}

static void set_signal(struct unwind_job *job, size_t frame)
{
    job->signals[frame / 32] |= (uint32_t)1 << (frame % 32);
}

static void clear_job(struct unwind_job *job)
{
    job->count = 0;
    job->end = UNWIND_NO_TABLE;
    memset(job->signals, 0, (job->room + 31) / 32 * sizeof *job->signals);
}

void unwind_job_by_cursor(const struct unwind_objects *objects, struct unwind_job *job)
{
    struct job_context j = {objects, job};
    struct unwind_access access = {&j, job_read, job_find};
    struct unwind_cursor c;
    clear_job(job);
    if (!unwind_cursor_init(&c, job->machine, job->registers, job->recorded))
        return;
    for (;;) {
        if (job->count == job->room) {
            job->end = UNWIND_TOO_DEEP;
            return;
        }
        job->addresses[job->count++] = c.pc;
        if (!c.is_call)
            set_signal(job, job->count - 1);
        size_t left = job->count - 1;
        bool stepped = unwind_step(&c, &access, &job->end);
        if (c.is_entry || (stepped && c.is_signal))
            set_signal(job, left);
        if (!stepped)
            return;
    }
}

void unwind_by_cursor(const struct unwind_objects *objects, struct unwind_job *jobs,
                      size_t count)
{
    for (size_t i = 0; i < count; i++)
        unwind_job_by_cursor(objects, &jobs[i]);
}

/* --- Rules found before ------------------------------------------------------------- */

#define CACHE_BITS 14

struct cached {
    uint64_t address;
    uint64_t space; /* hash of the mappings and the architecture; 0: empty */
    struct unwind_rule rule;
};

struct unwind_cache {
    struct cached entries[(size_t)1 << CACHE_BITS];
};

struct unwind_cache *unwind_cache_create(struct arena *arena)
{
    return arena_zalloc(arena, 1, sizeof(struct unwind_cache));
}

static inline struct cached *cache_slot(struct unwind_cache *cache, uint64_t address,
                                        uint64_t space)
{
    uint64_t mixed = (address ^ space) * 0x9e3779b97f4a7c15u;
    return &cache->entries[mixed >> (64 - CACHE_BITS)];
}

static uint64_t space_of(const struct unwind_job *job)
{
    return hash_mix(space_hash(job->spaces, job->space) ^ HASH_A,
                    (uint64_t)job->machine ^ HASH_B) |
           1;
}

/* --- Several stacks at once --------------------------------------------------------- */

#define LANES 12

/* A stack that is being unwound. A step first computes where the caller's registers are
 * and prefetches that memory; it is read when this lane's turn comes again. */
struct lane {
    struct unwind_job *job;
    uint64_t pc, sp, fp, link;
    uint64_t stack_at; /* the address of the dump's first byte */
    const char *stack; /* the dump */
    uint64_t readable; /* words below this offset are readable */
    uint64_t code_mask, address_max;
    uint64_t next_sp;
    const char *return_from, *fp_from; /* a word in the dump, or in the lane */
    uint64_t space;
    bool is_call, has_link;
};

struct flight {
    struct unwind_cache *cache;
    const struct unwind_objects *objects;
};

static bool lane_ends(const struct lane *l, enum unwind_end why)
{
    l->job->end = why;
    return false;
}

/* Unwinds the stack again with the cursor, from the first frame on. */
static bool use_cursor(const struct flight *f, const struct lane *l)
{
    unwind_job_by_cursor(f->objects, l->job);
    return false;
}

static bool lane_read(const struct lane *l, uint64_t address, uint64_t *value)
{
    uint64_t offset = address - l->stack_at;
    if (offset >= l->readable)
        return false;
    *value = load_word(l->stack + offset);
    return true;
}

/* Looks up the rule for the lane's address and stores it in the cache. */
static __attribute__((noinline)) void find_rule(const struct flight *f, struct lane *l,
                                                uint64_t address, struct cached *slot)
{
    struct unwind_location location;
    slot->address = address;
    slot->space = l->space;
    slot->rule = (struct unwind_rule){.cfa = CFA_NO_CODE};
    bool mapped = unwind_find_location(f->objects, l->job, address, &location);
    if (!mapped && !unwind_find_location(f->objects, l->job, l->pc, &location))
        return;
    slot->rule.cfa = CFA_NONE;
    if (!location.table)
        return;
    slot->rule = *unwind_table_find(location.table, address - location.bias);
    if (slot->rule.cfa != CFA_NONE)
        return;
    /* A signal trampoline is never called: the address is its start, or, during its
     * system call, its end. */
    uint64_t beside = l->is_call ? address + 1 : address - 1;
    const struct unwind_rule *other =
        unwind_table_find(location.table, beside - location.bias);
    if (other->from & RETURN_SIGNAL)
        slot->rule = *other;
    else if (l->is_call && other->cfa != CFA_NONE)
        slot->rule.cfa =
            CFA_GENERAL; /* the cursor knows whether a function begins there */
}

/* Code without information, as in the cursor. */
static bool plan_by_frame_pointer(const struct flight *f, struct lane *l)
{
    struct unwind_location location;
    uint64_t caller_fp, pc;
    if (l->fp == 0 && l->is_call) /* the ABI's mark of the outermost frame */
        return lane_ends(l, UNWIND_WHOLE);
    if (l->fp < l->sp || l->fp % WORD || !lane_read(l, l->fp, &caller_fp) ||
        !lane_read(l, l->fp + WORD, &pc))
        return lane_ends(l, UNWIND_NO_TABLE);
    pc &= l->code_mask;
    if (pc < UNWIND_ADDRESS_MIN ||
        !unwind_find_location(f->objects, l->job, pc - 1, &location))
        return lane_ends(l, UNWIND_NO_TABLE);
    l->next_sp = l->fp + 2 * (uint64_t)WORD;
    l->return_from = l->stack + (l->fp + WORD - l->stack_at);
    l->fp_from = l->stack + (l->fp - l->stack_at);
    l->is_call = true;
    l->has_link = false;
    return true;
}

/* The CFA of rare rules; false if it cannot be computed here. */
static bool odd_cfa(const struct lane *l, const struct unwind_rule *rule, uint64_t *cfa)
{
    uint64_t offset = (uint64_t)(int64_t)rule->cfa_offset;
    switch (rule->cfa) {
    case CFA_SP:
        *cfa = l->sp + offset;
        return *cfa >= l->sp;
    case CFA_FP:
        *cfa = l->fp + offset;
        return *cfa > l->sp;
    case CFA_SP_DEREF:
        return lane_read(l, l->sp + offset, cfa) &&
               (*cfa += (uint64_t)rule->extra * WORD);
    case CFA_FP_DEREF:
        return lane_read(l, l->fp + offset, cfa) &&
               (*cfa += (uint64_t)rule->extra * WORD);
    case CFA_PLT:
        *cfa = l->sp + offset + ((l->pc & 15) >= rule->extra ? WORD : 0);
        return *cfa > l->sp;
    default:
        return false;
    }
}

static bool odd_fp(struct lane *l, const struct unwind_rule *rule, uint64_t cfa)
{
    uint64_t base = rule->fp == FP_AT_CFA ? cfa : rule->fp == FP_AT_SP ? l->sp : l->fp;
    uint64_t offset = base + (uint64_t)(int64_t)rule->fp_offset * WORD - l->stack_at;
    l->fp_from = (const char *)&l->fp;
    if (rule->fp == FP_SAME)
        return true;
    if (rule->fp == FP_LOST || offset >= l->readable)
        return false;
    l->fp_from = l->stack + offset;
    return true;
}

static bool odd_return(struct lane *l, const struct unwind_rule *rule, uint64_t cfa)
{
    bool at_sp = (rule->from & ~RETURN_SIGNAL) == RETURN_AT_SP;
    if ((rule->from & ~RETURN_SIGNAL) == RETURN_IN_LINK) {
        l->return_from = (const char *)&l->link;
        return l->has_link && cfa >= l->sp;
    }
    uint64_t at = at_sp ? l->sp : cfa;
    at += (uint64_t)(int64_t)rule->return_offset * WORD;
    bool grows = cfa != l->sp || (at_sp && rule->from & RETURN_SIGNAL);
    if (at - l->stack_at >= l->readable || !grows)
        return false;
    l->return_from = l->stack + (at - l->stack_at);
    return !at_sp || lane_read(l, at - 2 * (uint64_t)WORD, &l->link);
}

/* Rules that are not simple. In unusual cases the cursor decides. */
static __attribute__((noinline)) bool plan_odd(const struct flight *f, struct lane *l,
                                               const struct unwind_rule *rule)
{
    bool is_signal = rule->from & RETURN_SIGNAL;
    uint64_t cfa;
    if (rule->cfa == CFA_NO_CODE && l->is_call) {
        l->job->count--; /* it was not a return address */
        return lane_ends(l, UNWIND_BAD_RULE);
    }
    if (rule->cfa >= CFA_NONE)
        return plan_by_frame_pointer(f, l);
    if ((rule->from & ~RETURN_SIGNAL) == RETURN_NONE)
        return lane_ends(l, UNWIND_WHOLE);
    if (rule->from == RETURN_SWITCHED)
        return use_cursor(f, l);
    if (!odd_cfa(l, rule, &cfa) || !odd_fp(l, rule, cfa) || !odd_return(l, rule, cfa))
        return use_cursor(f, l);
    l->next_sp = cfa;
    l->is_call = !is_signal;
    l->has_link = is_signal;
    return true;
}

/* Finds the reason why a simple rule fails. */
static __attribute__((noinline)) bool end_simple(const struct flight *f,
                                                 const struct lane *l, uint64_t cfa,
                                                 uint64_t return_at)
{
    if (cfa <= l->sp || l->stack_at + return_at < l->sp || f->objects->read)
        return use_cursor(f, l);
    return lane_ends(l, UNWIND_CUT);
}

/* Computes where the caller's registers are, and prefetches them. False if there is no
 * caller. */
static inline bool plan(const struct flight *f, struct lane *l)
{
    uint64_t address = l->pc - l->is_call;
    struct cached *slot = cache_slot(f->cache, address, l->space);
    if (slot->address != address || slot->space != l->space)
        find_rule(f, l, address, slot);
    const struct unwind_rule *rule = &slot->rule;
    if ((rule->cfa | rule->from | rule->fp) > 1 || rule->from)
        return plan_odd(f, l, rule);
    uint64_t base = rule->cfa == CFA_SP ? l->sp : l->fp;
    uint64_t cfa = base + (uint64_t)(int64_t)rule->cfa_offset;
    uint64_t on_stack = cfa - l->stack_at;
    uint64_t return_at = on_stack + (uint64_t)(int64_t)rule->return_offset * WORD;
    uint64_t fp_at = on_stack + (uint64_t)(int64_t)rule->fp_offset * WORD;
    if (cfa <= l->sp || return_at >= l->readable)
        return end_simple(f, l, cfa, return_at);
    if (rule->fp != FP_SAME && fp_at >= l->readable)
        return use_cursor(f, l);
    l->return_from = l->stack + return_at;
    l->fp_from = rule->fp == FP_SAME ? (const char *)&l->fp : l->stack + fp_at;
    l->next_sp = cfa;
    l->is_call = true;
    l->has_link = false;
    __builtin_prefetch(l->return_from);
    __builtin_prefetch(l->fp_from);
    return true;
}

/* Returns true if the address may be a caller: after a call, or the start of a function
 * to which a hand-made stack returns. */
static bool is_code(const struct unwind_objects *objects, const struct unwind_job *job,
                    uint64_t pc)
{
    struct unwind_location location;
    return unwind_find_location(objects, job, pc - 1, &location) ||
           unwind_find_location(objects, job, pc, &location);
}

static inline bool record(const struct flight *f, struct lane *l)
{
    struct unwind_job *job = l->job;
    if (!l->is_call && job->count) /* it was the trampoline */
        set_signal(job, job->count - 1);
    if (job->count == job->room)
        return lane_ends(l, !l->is_call || is_code(f->objects, job, l->pc)
                                ? UNWIND_TOO_DEEP
                                : UNWIND_BAD_RULE);
    if (!l->is_call)
        set_signal(job, job->count);
    job->addresses[job->count++] = l->pc;
    return true;
}

/* Unwinds one frame. */
static inline bool advance(const struct flight *f, struct lane *l)
{
    uint64_t pc = load_word(l->return_from) & l->code_mask;
    l->fp = load_word(l->fp_from);
    if (pc - UNWIND_ADDRESS_MIN >= l->address_max - UNWIND_ADDRESS_MIN)
        return lane_ends(l, pc ? UNWIND_BAD_RULE : UNWIND_WHOLE);
    if (pc == l->pc && l->next_sp == l->sp)
        return lane_ends(l, UNWIND_BAD_RULE);
    l->pc = pc;
    l->sp = l->next_sp;
    return record(f, l) && plan(f, l);
}

/* Prefetches the memory that a job reads first. */
static void prefetch(const struct unwind_job *job)
{
    for (size_t i = 0; i < 32; i += 8)
        __builtin_prefetch(job->registers + i);
    __builtin_prefetch(job->addresses, 1);
    __builtin_prefetch(job->signals, 1);
    __builtin_prefetch(job->stack.ptr);
    __builtin_prefetch(job->stack.ptr + 64);
}

/* Puts the next job that has a caller into the lane; false if there are no more. */
static bool launch(const struct flight *f, struct lane *l, struct unwind_job *jobs,
                   size_t count, size_t *next)
{
    while (*next < count) {
        struct unwind_job *job = &jobs[(*next)++];
        const struct register_roles *roles = register_roles_of(job->machine);
        if (*next < count)
            prefetch(&jobs[*next]);
        clear_job(job);
        uint64_t needed = roles ? (uint64_t)1 << roles->perf_pc |
                                      (uint64_t)1 << roles->perf[roles->sp] |
                                      (uint64_t)1 << roles->perf[roles->fp]
                                : 0;
        if (!roles || (job->recorded & needed) != needed) {
            unwind_job_by_cursor(f->objects, job);
            continue;
        }
        *l = (struct lane){.job = job,
                           .pc = job->registers[roles->perf_pc],
                           .sp = job->registers[roles->perf[roles->sp]],
                           .fp = job->registers[roles->perf[roles->fp]],
                           .stack = job->stack.ptr,
                           .code_mask = roles->code_mask,
                           .address_max = roles->address_max,
                           .space = space_of(job)};
        l->stack_at = l->sp;
        l->readable = job->stack.len < WORD ? 0 : job->stack.len - WORD + 1;
        l->has_link =
            roles->link != REGISTER_NONE && job->recorded >> roles->perf[roles->link] & 1;
        if (l->has_link)
            l->link = job->registers[roles->perf[roles->link]];
        if (record(f, l) && plan(f, l))
            return true;
    }
    return false;
}

void unwind_batch(struct unwind_cache *cache, const struct unwind_objects *objects,
                  struct unwind_job *jobs, size_t count)
{
    struct flight f = {cache, objects};
    struct lane lanes[LANES];
    size_t next = 0, flying = 0;
    while (flying < LANES && launch(&f, &lanes[flying], jobs, count, &next))
        flying++;
    while (flying) {
        for (size_t i = 0; i < flying;) {
            struct lane *l = &lanes[i];
            if (!advance(&f, l) && !launch(&f, l, jobs, count, &next))
                /* pointers into the lane itself still refer to the old one */
                *l = lanes[--flying];
            else
                i++;
        }
    }
}
