/* SPDX-License-Identifier: Apache-2.0 */
#include "import/perf_data/walk.h"
#include "base/hash.h"
#include <stdlib.h>

#define IS_CALL ((uint32_t)1 << 31)

/* An entry of the small memory of addresses looked up last. */
struct recent {
    uint64_t pc;
    uint32_t version, place; /* of what was mapped; the place | is_call << 31 */
};

#define RECENT 16384

/* Room for the dumps of a batch. */
struct dumps {
    struct unwind_job jobs[PERF_BATCH_DUMPS];
    uint64_t registers[PERF_BATCH_DUMPS][UNWIND_REGISTERS_MAX];
    uint64_t addresses[PERF_BATCH_DUMPS][UNWIND_FRAMES_MAX];
    uint32_t signals[PERF_BATCH_DUMPS][UNWIND_FRAMES_MAX / 32];
};

struct perf_walker {
    struct arena arena;
    struct perf_places places;
    size_t told; /* so many of the places the reader knows */
    struct dumps *dumps;
    struct recent recent[RECENT];
};

void perf_walker_destroy(struct perf_walker *w)
{
    if (w)
        arena_deinit(&w->arena);
    free(w);
}

/* --- Places ------------------------------------------------------------------------ */

struct wanted_place {
    const struct perf_place *places, *place;
};

static bool same_place(const void *context, uint32_t id)
{
    const struct wanted_place *w = context;
    const struct perf_place *a = &w->places[id], *b = w->place;
    return a->address == b->address && a->pc == b->pc && a->file == b->file &&
           a->version == b->version && a->is_call == b->is_call &&
           a->of_waker == b->of_waker;
}

frame_id perf_places_add(struct perf_places *p, struct arena *a,
                         const struct perf_place *place)
{
    if (!index_reserve(&p->index, a, 1))
        return 0;
    uint32_t hash =
        (uint32_t)hash_mix(place->address ^ HASH_A,
                           hash_pair(place->file, place->is_call) ^
                               hash_pair(place->version, place->of_waker) ^ place->pc);
    struct index_slot *slot =
        index_find(&p->index, hash, same_place, &(struct wanted_place){p->items, place});
    if (slot->id)
        return slot->id;
    size_t at = p->count ? p->count : 1;
    struct perf_place *items =
        at < IS_CALL - 1 ? arena_grow(a, p->items, &p->cap, at + 1, sizeof *items) : NULL;
    if (!items) {
        a->failed = true;
        return 0;
    }
    p->items = items;
    if (at == 1)
        items[0] = (struct perf_place){0};
    items[at] = *place;
    p->count = at + 1;
    index_fill(&p->index, slot, hash, (uint32_t)at);
    return (frame_id)at;
}

/* --- One walk ---------------------------------------------------------------------- */

/* What a chain's walk knows: the mode that the markers tell. */
struct walk {
    struct perf_batch *batch;
    struct perf_walker *walker;
    const struct perf_scope *user, *scope; /* scope: of what comes next */
    bool first;                            /* what comes next was not called: it ran */
    bool in_user;                          /* a marker for user code was met */
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

/* The map in which the call is that returns to an address: at the end of a file's map it
 * returns behind it. *is_call is cleared where no call can be: in front of the map is no
 * code, so that it is the first instruction of a signal's trampoline. */
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

/* The place of an address, looked up. */
static frame_id find_place(const struct walk *w, const struct perf_scope *scope,
                           uint64_t pc, bool is_call)
{
    const struct perf_walk_settings *s = w->batch->settings;
    const struct address_map *map = map_of(s->spaces, scope->space, pc, &is_call);
    struct perf_place place = {.address = pc};
    place.file = map ? map->tag : scope->otherwise;
    place.is_call = is_call;
    if (map)
        place.address = pc - map->start + map->offset;
    place.version = version_at(w, map, place.address - (is_call && place.address));
    /* In place of a name the address in the file is shown, as perf script does: it is the
     * same in every process. */
    if (s->keeps_pc)
        place.pc = s->every_pc ? pc : place.address;
    /* What is not known has no address to be told apart by, unless that is to be shown.
     */
    if (place.file == FILE_NONE || (!s->resolver && !s->keeps_pc)) {
        place.address = 0;
        place.is_call = false;
    }
    return perf_places_add(&w->walker->places, &w->walker->arena, &place);
}

static frame_id place_of(const struct walk *w, const struct perf_scope *scope,
                         uint64_t pc, bool is_call)
{
    uint64_t hash = hash_mix(pc ^ HASH_A, HASH_B ^ scope->version);
    struct recent *e = &w->walker->recent[(hash ^ is_call) % RECENT];
    uint32_t flag = is_call ? IS_CALL : 0;
    if (e->pc == pc && e->version == scope->version && e->place &&
        (e->place & IS_CALL) == flag)
        return e->place & ~IS_CALL;
    frame_id place = find_place(w, scope, pc, is_call);
    if (w->walker->places.items && w->walker->places.items[place].version)
        return place; /* at another time it is another */
    *e = (struct recent){pc, scope->version, place | flag};
    return place;
}

static void push(const struct walk *w, const struct perf_scope *scope, uint64_t pc,
                 bool is_call)
{
    struct perf_batch *b = w->batch;
    frame_id *path =
        arena_grow(&b->arena, b->path, &b->path_cap, b->path_count + 1, sizeof *path);
    if (!path)
        return;
    b->path = path;
    path[b->path_count++] = place_of(w, scope, pc, is_call);
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

/* Where the walk goes on behind a marker. False where it is none: programs that keep no
 * frame pointers leave anything at all in a chain, and what follows is no better. */
static bool take_marker(struct walk *w, uint64_t marker)
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
            if (!take_marker(w, pc) || (ends_at_user && w->in_user))
                return;
            continue;
        }
        push(w, w->scope, pc, !w->first);
        w->first = false;
    }
}

/* stoke record's mark of a stack whose outer frames are not known: a marker without
 * anything behind it. */
static bool is_marked_cut(struct perf_words chain)
{
    size_t count = perf_word_count(chain);
    return count > 1 && perf_word(chain, count - 1) == PERF_CONTEXT_USER;
}

/* The processor's own record of calls (LBR): where the last one went to, then where each
 * came from. */
static void walk_branches(const struct walk *w, struct perf_words branches)
{
    size_t count = perf_word_count(branches) / PERF_BRANCH_WORDS;
    push(w, w->user, perf_word(branches, 1), false);
    for (size_t i = 0; i < count; i++)
        push(w, w->user, perf_word(branches, i * PERF_BRANCH_WORDS), false);
}

/* Whether the chain of the processor's call record is to be taken for the user part. */
static bool has_call_record(const struct perf_held *s)
{
    if (!s->from_branches)
        return false;
    for (size_t i = 0; i < perf_word_count(s->chain); i++)
        if (perf_word(s->chain, i) == PERF_CONTEXT_USER)
            return true;
    return false;
}

/* --- Dumps ------------------------------------------------------------------------- */

/* The program counter's number among the registers, as perf counts them. */
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

static void add_job(const struct walk *w, struct perf_held *s, size_t i)
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

/* The frames of the sample's job go into the path. A stack that could not be unwound at
 * all still tells where the program was. */
static void push_unwound(const struct walk *w, struct perf_held *s)
{
    const struct unwind_job *job = &w->walker->dumps->jobs[s->job - 1];
    size_t count = job->count < job->room ? job->count : job->room;
    s->unwound_first = w->batch->path_count;
    for (size_t i = 0; i < count; i++)
        push(w, &s->user, job->addresses[i], i && !(job->signals[i / 32] >> i % 32 & 1));
    if (count == 0)
        push(w, &s->user, job->registers[pc_register(job->machine)], false);
    s->unwound = w->batch->path_count - s->unwound_first;
    s->end = (uint8_t)job->end;
}

/* --- Batches ----------------------------------------------------------------------- */

/* Walks what is known without unwinding. True where there is a dump to unwind. */
static bool walk_known(struct walk *w, struct perf_held *s)
{
    const struct perf_walk_settings *settings = w->batch->settings;
    w->user = &s->user;
    w->scope = mode_scope(w, s->mode);
    if (settings->leaf_alone) {
        if (s->has_ip)
            push(w, w->scope, s->ip, false);
        return false;
    }
    bool from_branches = has_call_record(s);
    s->is_cut = s->has_chain && is_marked_cut(s->chain);
    if (s->has_chain)
        walk_chain(w, s->chain, from_branches);
    else if (s->has_ip && !s->is_tracepoint) /* as perf shows it */
        push(w, w->scope, s->ip, false);
    if (from_branches)
        walk_branches(w, s->branches);
    s->waits = w->waits;
    s->cookie = w->cookie;
    bool has_user = w->in_user && !w->first;
    if (w->waits || !s->registers.abi || !s->stack.len || !s->has_chain || has_user)
        return false;
    s->is_cut = !settings->resolver;
    if (s->is_cut) { /* where the program was, at least */
        uint64_t registers[UNWIND_REGISTERS_MAX];
        spread_registers(&s->registers, registers);
        push(w, &s->user, registers[pc_register(s->machine)], false);
    }
    return !s->is_cut;
}

static bool make_walker(struct perf_batch *b, unsigned hand)
{
    struct perf_walker *w = b->walkers[hand];
    if (!w)
        w = b->walkers[hand] = calloc(1, sizeof *w);
    if (w && b->dumps && !w->dumps)
        w->dumps = arena_alloc(&w->arena, sizeof *w->dumps);
    return w && (w->dumps || !b->dumps);
}

/* The places that are new go with the batch. */
static void tell_places(struct perf_batch *b, struct perf_walker *w)
{
    size_t from = w->told ? w->told : 1;
    size_t more = w->places.count > from ? w->places.count - from : 0;
    struct perf_place *learned =
        arena_grow(&b->arena, b->learned, &b->learned_cap, more + 1, sizeof *learned);
    if (learned)
        b->learned = learned;
    b->learned_count = learned ? more : 0;
    if (learned && more)
        memcpy(learned, w->places.items + from, more * sizeof *learned);
    w->told = from + more;
    b->failed = b->arena.failed || w->arena.failed;
}

void perf_walk_batch(struct errand *errand, unsigned hand)
{
    struct perf_batch *b = (struct perf_batch *)(void *)errand;
    const struct perf_walk_settings *settings = b->settings;
    size_t jobs = 0;
    b->hand = hand;
    b->failed = !make_walker(b, hand);
    if (b->failed)
        return;
    struct perf_walker *walker = b->walkers[hand];
    for (size_t i = 0; i < b->count; i++) {
        struct perf_held *s = &b->samples[i];
        struct walk w = {
            .batch = b, .walker = walker, .first = true, .jit_time = s->jit_time};
        s->first = b->path_count;
        if (!s->is_turn && walk_known(&w, s))
            add_job(&w, s, jobs++);
        s->known = b->path_count - s->first;
    }
    if (jobs)
        settings->resolver->unwind(settings->resolver->context, hand, walker->dumps->jobs,
                                   jobs);
    for (size_t i = 0; jobs && i < b->count; i++)
        if (b->samples[i].job)
            push_unwound(&(struct walk){.batch = b,
                                        .walker = walker,
                                        .jit_time = b->samples[i].jit_time},
                         &b->samples[i]);
    tell_places(b, walker);
}

void perf_walk_user(struct perf_batch *b, struct perf_words chain,
                    const struct perf_scope *user, uint64_t jit_time)
{
    struct walk w = {
        .batch = b, .user = user, .scope = user, .first = true, .jit_time = jit_time};
    b->hand = 0;
    b->failed = !make_walker(b, 0);
    if (b->failed)
        return;
    w.walker = b->walkers[0];
    walk_chain(&w, chain, false);
    tell_places(b, w.walker);
}
