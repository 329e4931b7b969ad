/* SPDX-License-Identifier: Apache-2.0 */
#include "import/perf_data/walk.h"
#include "base/array.h"
#include "base/hash.h"
#include "perf/interpreted.h"
#include <stdlib.h>

#define IS_CALL ((uint32_t)1 << 31)

/* An entry of the cache of address lookups. */
struct recent {
    uint64_t pc;
    uint32_t version;  /* of the scope */
    uint32_t location; /* id | is_call << 31 */
};

#define RECENT 16384

/* Buffers for the dumps of one batch. */
struct dumps {
    struct unwind_job jobs[PERF_BATCH_DUMPS];
    uint64_t registers[PERF_BATCH_DUMPS][UNWIND_REGISTERS_MAX];
    uint64_t addresses[PERF_BATCH_DUMPS][UNWIND_FRAMES_MAX];
    uint32_t signals[PERF_BATCH_DUMPS][UNWIND_FRAMES_MAX / 32];
};

struct perf_walker {
    struct arena arena;
    struct perf_locations locations;
    size_t reported; /* number of locations that were listed in batches */
    struct dumps *dumps;
    struct recent recent[RECENT];
};

void perf_walker_destroy(struct perf_walker *w)
{
    if (w)
        arena_deinit(&w->arena);
    free(w);
}

/* --- Locations ------------------------------------------------------------------------ */

struct location_key {
    const struct perf_location *locations, *location;
};

static bool same_location(const void *context, uint32_t id)
{
    const struct location_key *w = context;
    const struct perf_location *a = &w->locations[id], *b = w->location;
    return a->address == b->address && a->pc == b->pc && a->file == b->file &&
           a->version == b->version && a->is_call == b->is_call &&
           a->of_waker == b->of_waker;
}

location_id perf_locations_add(struct perf_locations *p, struct arena *a,
                               const struct perf_location *location)
{
    if (!index_reserve(&p->index, a, 1))
        return 0;
    uint64_t map = hash_pair(location->file, location->version) + location->is_call +
                   2 * (uint64_t)location->of_waker;
    uint32_t hash =
        (uint32_t)hash_mix(location->address ^ HASH_A, location->pc ^ map ^ HASH_C);
    struct index_slot *slot = index_find(&p->index, hash, same_location,
                                         &(struct location_key){p->items, location});
    if (slot->id)
        return slot->id;
    size_t at = p->count ? p->count : 1;
    if (at >= IS_CALL - 1 || !ARRAY_RESERVE(a, p->items, p->cap, at + 1)) {
        a->failed = true;
        return 0;
    }
    if (at == 1)
        p->items[0] = (struct perf_location){0};
    p->items[at] = *location;
    p->count = at + 1;
    index_fill(&p->index, slot, hash, (uint32_t)at);
    return (location_id)at;
}

/* --- One walk ---------------------------------------------------------------------- */

/* The state of one chain's walk. */
struct walk {
    struct perf_batch *batch;
    struct perf_walker *walker;
    const struct perf_scope *user, *scope; /* scope: of the next address */
    bool first;                            /* the next address is no return address */
    bool in_user;                          /* there was a marker of user code */
    bool waits;
    uint64_t cookie;
    uint64_t jit_time;
};

static uint32_t version_at(const struct walk *w, const struct address_map *map,
                           uint64_t address)
{
    const struct resolver *r = w->batch->settings->resolver;
    return map && map->object && r && r->version && w->jit_time != TIME_NONE
               ? r->version(r->context, map->object, address, w->jit_time)
               : 0;
}

/* The map with the call that returns to pc. A call at the end of a map returns to the
 * address after the map. Clears *is_call if there is no code before pc: then pc is the
 * first instruction of a signal trampoline. */
static const struct address_map *map_of(const struct spaces *s, space_id space,
                                        uint64_t pc, bool *is_call)
{
    const struct address_map *map = space_find(s, space, pc - (*is_call && pc));
    if (!*is_call || (map && !map->no_code))
        return map;
    const struct address_map *at = space_find(s, space, pc);
    if (!at || at->no_code)
        return map;
    *is_call = false;
    return at;
}

/* Looks up the location of an address. */
static location_id find_location(const struct walk *w, const struct perf_scope *scope,
                                 uint64_t pc, bool is_call)
{
    const struct perf_walk_settings *s = w->batch->settings;
    const struct address_map *map = map_of(s->spaces, scope->space, pc, &is_call);
    struct perf_location location = {.address = pc};
    location.file = map ? map->tag : scope->otherwise;
    location.is_call = is_call;
    if (map)
        location.address = pc - map->start + map->offset;
    location.version =
        version_at(w, map, location.address - (is_call && location.address));
    /* Instead of a name, perf script shows the address in the file. */
    if (s->keeps_pc)
        location.pc = s->every_pc ? pc : location.address;
    /* All unknown addresses are one location, unless addresses are shown. */
    if (location.file == FILE_NONE ||
        (!s->resolver && !s->keeps_pc && !perf_is_interpreted(pc))) {
        location.address = 0;
        location.is_call = false;
    }
    return perf_locations_add(&w->walker->locations, &w->walker->arena, &location);
}

static location_id location_of(const struct walk *w, const struct perf_scope *scope,
                               uint64_t pc, bool is_call)
{
    uint64_t hash = hash_mix(pc ^ HASH_A, HASH_B ^ scope->version);
    struct recent *e = &w->walker->recent[(hash ^ is_call) % RECENT];
    uint32_t flag = is_call ? IS_CALL : 0;
    if (e->pc == pc && e->version == scope->version && e->location &&
        (e->location & IS_CALL) == flag)
        return e->location & ~IS_CALL;
    location_id location = find_location(w, scope, pc, is_call);
    if (w->walker->locations.items && w->walker->locations.items[location].version)
        return location; /* depends on the time: not cached */
    *e = (struct recent){pc, scope->version, location | flag};
    return location;
}

static void push(const struct walk *w, const struct perf_scope *scope, uint64_t pc,
                 bool is_call)
{
    struct perf_batch *b = w->batch;
    location_id *added = ARRAY_APPEND(&b->arena, b->path, b->path_count, b->path_cap);
    if (!added)
        return;
    *added = location_of(w, scope, pc, is_call);
}

static const struct perf_scope *mode_scope(const struct walk *w, uint32_t mode)
{
    static const struct perf_scope unknown = {0};
    static const struct perf_scope guest_user = {.version = UINT32_MAX,
                                                 .otherwise = FILE_GUEST_USER};
    switch (mode) {
    case PERF_MODE_KERNEL:
        return &w->batch->kernel;
    case PERF_MODE_USER:
        return w->user;
    case PERF_MODE_GUEST_KERNEL:
        return &w->batch->guest;
    case PERF_MODE_GUEST_USER:
        return &guest_user;
    default:
        return &unknown;
    }
}

/* Sets the scope of the addresses after a marker. Returns false for an unknown marker:
 * code without frame pointers puts arbitrary values into a chain, and the values after
 * it are wrong, too. */
static bool apply_marker(struct walk *w, uint64_t marker)
{
    static const struct {
        uint64_t marker;
        uint32_t mode;
    } markers[] = {
        {PERF_CONTEXT_KERNEL, PERF_MODE_KERNEL},
        {PERF_CONTEXT_USER, PERF_MODE_USER},
        {PERF_CONTEXT_HV, PERF_MODE_HYPERVISOR},
        {PERF_CONTEXT_GUEST, PERF_MODE_GUEST_KERNEL},
        {PERF_CONTEXT_GUEST_KERNEL, PERF_MODE_GUEST_KERNEL},
        {PERF_CONTEXT_GUEST_USER, PERF_MODE_GUEST_USER},
    };
    for (size_t i = 0; i < sizeof markers / sizeof *markers; i++) {
        if (markers[i].marker != marker)
            continue;
        w->scope = mode_scope(w, markers[i].mode);
        w->in_user |= markers[i].mode == PERF_MODE_USER;
        w->first = true;
        return true;
    }
    return false;
}

static void walk_chain(struct walk *w, struct perf_words chain, bool ends_at_user)
{
    size_t count = perf_word_count(chain);
    for (size_t i = 0; i < count; i++) {
        uint64_t pc = perf_word(chain, i);
        if (pc == PERF_CONTEXT_USER_DEFERRED) {
            w->waits = i + 1 < count;
            w->cookie = w->waits ? perf_word(chain, i + 1) : 0;
            return;
        }
        if (pc >= PERF_CONTEXT_MAX) {
            if (!apply_marker(w, pc) || (ends_at_user && w->in_user))
                return;
            continue;
        }
        push(w, w->scope, pc, !w->first);
        w->first = false;
    }
}

/* How stoke record ended a stack: a truncated one has a user marker at the end of the chain, one
 * that ends in code without unwind information has two. */
static enum unwind_end marked_end(struct perf_words chain)
{
    size_t count = perf_word_count(chain), markers = 0;
    while (markers < 2 && count > 1 + markers &&
           perf_word(chain, count - 1 - markers) == PERF_CONTEXT_USER)
        markers++;
    return markers == 0 ? UNWIND_WHOLE : markers == 1 ? UNWIND_CUT : UNWIND_NO_TABLE;
}

/* The CPU's call stack in branch records (LBR): the target of the newest branch, then the
 * source of each. */
static void walk_branches(const struct walk *w, struct perf_words branches)
{
    size_t count = perf_word_count(branches) / PERF_BRANCH_WORDS;
    push(w, w->user, perf_word(branches, 1), false);
    for (size_t i = 0; i < count; i++)
        push(w, w->user, perf_word(branches, i * PERF_BRANCH_WORDS), false);
}

/* Whether the user part of the chain is replaced by the branch records. */
static bool has_call_record(const struct perf_queued *s)
{
    if (!s->from_branches)
        return false;
    for (size_t i = 0; i < perf_word_count(s->chain); i++)
        if (perf_word(s->chain, i) == PERF_CONTEXT_USER)
            return true;
    return false;
}

/* --- Dumps ------------------------------------------------------------------------- */

/* The register number of the program counter, as perf counts registers. */
static unsigned pc_register(enum architecture machine)
{
    return machine == ARCH_ARM64 ? 32 : machine == ARCH_ARM ? 15 : 8;
}

/* Registers by their number. */
static void spread_registers(const struct perf_registers *from, uint64_t *registers)
{
    size_t next = 0;
    memset(registers, 0, UNWIND_REGISTERS_MAX * sizeof *registers);
    for (unsigned i = 0; i < UNWIND_REGISTERS_MAX && next < perf_word_count(from->values);
         i++)
        if (from->mask >> i & 1)
            registers[i] = perf_word(from->values, next++);
}

static void add_job(const struct walk *w, struct perf_queued *s, size_t i)
{
    struct dumps *d = w->walker->dumps;
    size_t frames = s->stack.len / 8 + 2;
    s->job = (uint32_t)i + 1;
    spread_registers(&s->registers, d->registers[i]);
    d->jobs[i] = (struct unwind_job){
        .machine = s->machine,
        .spaces = w->batch->settings->spaces,
        .space = s->user.space,
        .registers = d->registers[i],
        .recorded = s->registers.mask,
        .stack = s->stack,
        .addresses = d->addresses[i],
        .signals = d->signals[i],
        .room = frames < UNWIND_FRAMES_MAX ? frames : UNWIND_FRAMES_MAX,
    };
    memset(d->signals[i], 0, sizeof d->signals[i]);
}

/* --- Paths ------------------------------------------------------------------------- */

static void reverse(location_id *path, size_t count)
{
    for (size_t i = 0, j = count; i + 1 < j; i++) {
        location_id swap = path[i];
        path[i] = path[--j];
        path[j] = swap;
    }
}

/* Appends the path of a sample with a job: the frames of the dump, then the known part,
 * which is leaf first until now. A dump that cannot be unwound at all still has its
 * program counter. */
static void append_unwound(const struct walk *w, struct perf_queued *s)
{
    struct perf_batch *b = w->batch;
    const struct unwind_job *job = &w->walker->dumps->jobs[s->job - 1];
    size_t count = job->count < job->room ? job->count : job->room, known = s->count;
    size_t unwound = count ? count : 1, first = b->path_count + 1;
    if (!ARRAY_RESERVE(&b->arena, b->path, b->path_cap, first + unwound + known))
        return;
    b->path_count = first + unwound + known;
    for (size_t i = 0; i < count; i++)
        b->path[first + count - 1 - i] = location_of(
            w, &s->user, job->addresses[i], i && !(job->signals[i / 32] >> i % 32 & 1));
    if (count == 0)
        b->path[first] =
            location_of(w, &s->user, job->registers[pc_register(job->machine)], false);
    for (size_t i = 0; i < known; i++)
        b->path[first + unwound + i] = b->path[s->first + known - 1 - i];
    s->first = first;
    s->count = unwound + known;
    s->unwound = unwound;
    s->end = (uint8_t)job->end;
}

/* The end of a branch. The kernel's addresses have the highest bit. */
static void push_end(const struct walk *w, uint64_t address)
{
    push(w, mode_scope(w, address >> 63 ? PERF_MODE_KERNEL : PERF_MODE_USER), address,
         false);
}

/* Walks the part that is known without unwinding. Returns true if there is a dump to
 * unwind. */
static bool walk_known(struct walk *w, struct perf_queued *s)
{
    const struct perf_walk_settings *settings = w->batch->settings;
    w->user = &s->user;
    w->scope = mode_scope(w, s->mode);
    if (s->is_branch) {
        push_end(w, s->ip);
        push_end(w, s->from);
        return false;
    }
    if (settings->leaf_only) {
        if (s->has_ip)
            push(w, w->scope, s->ip, false);
        return false;
    }
    bool from_branches = has_call_record(s);
    s->end = s->has_chain ? (uint8_t)marked_end(s->chain) : UNWIND_WHOLE;
    if (s->has_chain)
        walk_chain(w, s->chain, from_branches);
    else if (s->has_ip && (settings->tracepoints || !s->is_tracepoint))
        push(w, w->scope, s->ip, false);
    if (from_branches)
        walk_branches(w, s->branches);
    s->waits = w->waits;
    s->cookie = w->cookie;
    bool has_user = w->in_user && !w->first;
    if (w->waits || !s->registers.abi || !s->stack.len || !s->has_chain || has_user)
        return false;
    s->is_truncated = !settings->resolver;
    if (s->is_truncated) { /* the program counter at least */
        uint64_t registers[UNWIND_REGISTERS_MAX];
        spread_registers(&s->registers, registers);
        push(w, &s->user, registers[pc_register(s->machine)], false);
    }
    return !s->is_truncated;
}

/* Leaves a free element in front of a sample's path. */
static void begin_path(struct perf_batch *b, struct perf_queued *s)
{
    location_id *free_element =
        ARRAY_APPEND(&b->arena, b->path, b->path_count, b->path_cap);
    if (free_element)
        *free_element = 0;
    s->first = b->path_count;
}

/* --- Batches ----------------------------------------------------------------------- */

static bool make_walker(struct perf_batch *b, unsigned worker)
{
    struct perf_walker *w = b->walkers[worker];
    if (!w)
        w = b->walkers[worker] = calloc(1, sizeof *w);
    if (w && b->dumps && !w->dumps)
        w->dumps = arena_alloc(&w->arena, sizeof *w->dumps);
    return w && (w->dumps || !b->dumps);
}

/* Lists the new locations in the batch. */
static void report_locations(struct perf_batch *b, struct perf_walker *w)
{
    size_t from = w->reported ? w->reported : 1;
    size_t more = w->locations.count > from ? w->locations.count - from : 0;
    bool has_room = ARRAY_RESERVE(&b->arena, b->learned, b->learned_cap, more + 1);
    b->learned_count = has_room ? more : 0;
    if (b->learned_count)
        memcpy(b->learned, w->locations.items + from, more * sizeof *b->learned);
    w->reported = from + more;
    b->failed = b->arena.failed || w->arena.failed;
}

void perf_walk_batch(struct pool_task *task, unsigned worker)
{
    struct perf_batch *b = (struct perf_batch *)(void *)task;
    const struct perf_walk_settings *settings = b->settings;
    size_t jobs = 0;
    b->worker = worker;
    b->failed = !make_walker(b, worker);
    if (b->failed)
        return;
    struct perf_walker *walker = b->walkers[worker];
    for (size_t i = 0; i < b->count; i++) {
        struct perf_queued *s = &b->samples[i];
        struct walk w = {
            .batch = b, .walker = walker, .first = true, .jit_time = s->jit_time};
        begin_path(b, s);
        if (!s->is_item && walk_known(&w, s))
            add_job(&w, s, jobs++);
        s->count = b->path_count - s->first;
        if (!s->job && s->count)
            reverse(b->path + s->first, s->count);
    }
    if (jobs)
        settings->resolver->unwind(settings->resolver->context, worker,
                                   walker->dumps->jobs, jobs);
    for (size_t i = 0; jobs && i < b->count; i++)
        if (b->samples[i].job)
            append_unwound(&(struct walk){.batch = b,
                                          .walker = walker,
                                          .jit_time = b->samples[i].jit_time},
                           &b->samples[i]);
    report_locations(b, walker);
}

void perf_walk_user(struct perf_batch *b, struct perf_words chain,
                    const struct perf_scope *user, uint64_t jit_time)
{
    struct walk w = {
        .batch = b, .user = user, .scope = user, .first = true, .jit_time = jit_time};
    b->worker = 0;
    b->failed = !make_walker(b, 0);
    if (b->failed)
        return;
    w.walker = b->walkers[0];
    walk_chain(&w, chain, false);
    if (b->path_count)
        reverse(b->path, b->path_count);
    report_locations(b, w.walker);
}
