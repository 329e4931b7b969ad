/* Chains of addresses to stacks of places; and stack dumps, a batch at a time, to chains.
 */
#include "base/hash.h"
#include "import/perf_data_profile.h"
#include <stdlib.h>

/* So many dumps are unwound together: enough for several cores to share. */
#define BATCH ((size_t)1024)

/* So many samples without one keep their turn behind them. */
#define KEPT_MAX ((size_t)4 * BATCH)

/* Samples that wait for their user chains; beyond that many they wait no more. */
#define DEFERRED_MAX ((size_t)1 << 16)

#define IS_CALL ((uint32_t)1 << 31)

struct perf_batch {
    struct perf_pendings samples;
    struct unwind_job jobs[BATCH];
    uint64_t registers[BATCH][UNWIND_REGISTERS_MAX];
    uint64_t addresses[BATCH][UNWIND_FRAMES_MAX];
    uint32_t signals[BATCH][UNWIND_FRAMES_MAX / 32];
    size_t job_count;
};

bool perf_stacks_init(struct perf_profile *p)
{
    p->recent = arena_zalloc(&p->arena, PERF_RECENT, sizeof *p->recent);
    p->path = arena_grow(&p->arena, NULL, &p->path_cap, 256, sizeof *p->path);
    return p->recent && p->path && builder_init(&p->raw, p->b->mode);
}

static void drop_batch(struct perf_profile *p)
{
    for (size_t i = 0; p->batch && i < p->batch->samples.count; i++)
        space_drop(&p->processes.spaces, p->batch->samples.items[i].user.space);
    free(p->batch);
    p->batch = NULL;
}

void perf_stacks_deinit(struct perf_profile *p)
{
    drop_batch(p);
    if (p->raw.profile)
        builder_deinit(&p->raw);
}

/* --- Places ---------------------------------------------------------------------------
 */

struct wanted_place {
    const struct perf_profile *p;
    const struct perf_place *place;
};

static bool same_place(const void *context, uint32_t id)
{
    const struct wanted_place *w = context;
    const struct perf_place *a = &w->p->places[id], *b = w->place;
    return a->address == b->address && a->pc == b->pc && a->file == b->file &&
           a->is_call == b->is_call;
}

static frame_id add_place(struct perf_profile *p, const struct perf_place *place)
{
    if (!index_reserve(&p->place_index, &p->arena, 1))
        return 0;
    uint32_t hash = (uint32_t)hash_mix(
        place->address ^ HASH_A, hash_pair(place->file, place->is_call) ^ place->pc);
    struct index_slot *slot =
        index_find(&p->place_index, hash, same_place, &(struct wanted_place){p, place});
    if (slot->id)
        return slot->id;
    size_t at = p->place_count ? p->place_count : 1;
    struct perf_place *places =
        at < IS_CALL - 1
            ? arena_grow(&p->arena, p->places, &p->place_cap, at + 1, sizeof *places)
            : NULL;
    if (!places)
        return 0;
    p->places = places;
    if (at == 1)
        places[0] = (struct perf_place){0};
    places[at] = *place;
    p->place_count = at + 1;
    index_fill(&p->place_index, slot, hash, (uint32_t)at);
    return (frame_id)at;
}

/* The place of an address, looked up. A call at the end of a file's map returns behind
 * it. */
static frame_id find_place(struct perf_profile *p, const struct perf_scope *scope,
                           uint64_t pc, bool is_call)
{
    bool keeps_pc = p->options->every_address || p->options->addresses;
    const struct address_map *map =
        space_find(&p->processes.spaces, scope->space, pc - (is_call && pc));
    struct perf_place place = {.address = pc};
    place.file = map ? map->tag : scope->otherwise;
    place.is_call = is_call;
    if (map && !p->files[map->tag].by_address)
        place.address = pc - map->start + map->offset;
    /* In place of a name the address in the file is shown, as perf script does: it is the
     * same in every process. */
    if (keeps_pc)
        place.pc = p->options->every_address ? pc : place.address;
    /* What is not known has no address to be told apart by, unless that is to be shown.
     */
    if (place.file == FILE_NONE || (!p->resolver && !keeps_pc)) {
        place.address = 0;
        place.is_call = false;
    }
    return add_place(p, &place);
}

static frame_id place_of(struct perf_profile *p, const struct perf_scope *scope,
                         uint64_t pc, bool is_call)
{
    uint64_t hash = hash_mix(pc ^ HASH_A, HASH_B ^ scope->version);
    struct perf_recent *e = &p->recent[(hash ^ is_call) % PERF_RECENT];
    uint32_t flag = is_call ? IS_CALL : 0;
    if (e->pc == pc && e->version == scope->version && e->place &&
        (e->place & IS_CALL) == flag)
        return e->place & ~IS_CALL;
    frame_id place = find_place(p, scope, pc, is_call);
    *e = (struct perf_recent){pc, scope->version, place | flag};
    return place;
}

static void push(struct perf_profile *p, const struct perf_scope *scope, uint64_t pc,
                 bool is_call)
{
    frame_id *path =
        arena_grow(&p->arena, p->path, &p->path_cap, p->path_count + 1, sizeof *path);
    if (!path)
        return;
    p->path = path;
    path[p->path_count++] = place_of(p, scope, pc, is_call);
}

/* --- Chains ---------------------------------------------------------------------------
 */

/* What a chain's walk knows: the mode that the markers tell. */
struct walk {
    struct perf_scope user, unknown, guest_user;
    const struct perf_scope *scope; /* of what comes next */
    bool first;                     /* what comes next was not called: it ran */
    bool in_user;                   /* a marker for user code was met */
    bool deferred;
    uint64_t cookie;
};

static struct perf_scope user_scope(const struct perf_profile *p, uint32_t pid)
{
    const struct process *process = processes_find(&p->processes, pid);
    return (struct perf_scope){process->space, process->version, FILE_NONE};
}

static const struct perf_scope *mode_scope(const struct perf_profile *p,
                                           const struct walk *w, uint32_t mode)
{
    switch (mode) {
    case PERF_MODE_KERNEL:
        return &p->kernel;
    case PERF_MODE_USER:
        return &w->user;
    case PERF_MODE_GUEST_KERNEL:
        return &p->guest;
    case PERF_MODE_GUEST_USER:
        return &w->guest_user;
    default:
        return &w->unknown;
    }
}

static struct walk begin_walk(const struct perf_profile *p, const struct perf_sample *s)
{
    return (struct walk){
        .user = user_scope(p, s->pid),
        .guest_user = {.version = UINT32_MAX, .otherwise = FILE_GUEST_USER},
        .first = true};
}

/* Where the walk goes on behind a marker. False where it is none: programs that keep no
 * frame pointers leave anything at all in a chain, and what follows is no better. */
static bool take_marker(struct perf_profile *p, struct walk *w, uint64_t marker)
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
        w->scope = mode_scope(p, w, markers[i].mode);
        w->in_user |= markers[i].mode == PERF_MODE_USER;
        w->first = true;
        return true;
    }
    return false;
}

static void walk_chain(struct perf_profile *p, struct walk *w, struct perf_words chain,
                       bool ends_at_user)
{
    size_t count = perf_word_count(chain);
    for (size_t i = 0; i < count; i++) {
        uint64_t pc = perf_word(chain, i);
        if (pc == PERF_CONTEXT_USER_DEFERRED) {
            w->deferred = i + 1 < count;
            w->cookie = w->deferred ? perf_word(chain, i + 1) : 0;
            return;
        }
        if (pc >= PERF_CONTEXT_MAX) {
            /* stoke record's mark of a stack whose outer frames are not known */
            p->b->profile->facts.truncated +=
                i && i + 1 == count && pc == PERF_CONTEXT_USER;
            if (!take_marker(p, w, pc) || (ends_at_user && w->in_user))
                return;
            continue;
        }
        push(p, w->scope, pc, !w->first);
        w->first = false;
    }
}

/* The processor's own record of calls (LBR): where the last one went to, then where each
 * came from. */
static void walk_branches(struct perf_profile *p, const struct walk *w,
                          struct perf_words branches)
{
    size_t count = perf_word_count(branches) / PERF_BRANCH_WORDS;
    push(p, &w->user, perf_word(branches, 1), false);
    for (size_t i = 0; i < count; i++)
        push(p, &w->user, perf_word(branches, i * PERF_BRANCH_WORDS), false);
}

/* Whether the chain of the processor's call record is to be taken for the user part. */
static bool has_call_record(const struct perf_sample *s)
{
    if (!(s->event->branch_type & PERF_BRANCH_CALL_STACK) || !s->branches.bytes.len)
        return false;
    for (size_t i = 0; i < perf_word_count(s->chain); i++)
        if (perf_word(s->chain, i) == PERF_CONTEXT_USER)
            return true;
    return false;
}

/* --- Samples --------------------------------------------------------------------------
 */

/* Adds the sample with the path as its stack. The last `unwound` places of it come from a
 * dump. */
static void add_sample(struct perf_profile *p, const struct sample *sample,
                       size_t unwound)
{
    struct sample s = *sample;
    frame_id *path = p->path;
    size_t count = p->path_count;
    p->path_count = 0;
    if (p->taker) {
        p->taker->stack(p->taker->context, p, sample, path, count, unwound);
        return;
    }
    for (size_t i = 0, j = count; i + 1 < j; i++) {
        frame_id swap = path[i];
        path[i] = path[--j];
        path[j] = swap;
    }
    s.stack = count ? builder_push_run(&p->raw, 0, path, count, NULL) : 0;
    builder_add(&p->raw, &s);
}

/* Puts the sample aside with what is in the path. */
static struct perf_pending *put_aside(struct perf_profile *p, struct perf_pendings *to,
                                      const struct sample *sample)
{
    struct perf_pending *items =
        arena_grow(&p->arena, to->items, &to->cap, to->count + 1, sizeof *items);
    if (!items)
        return NULL;
    to->items = items;
    frame_id *parts = arena_grow(&p->arena, to->parts, &to->part_cap,
                                 to->part_count + p->path_count + 1, sizeof *parts);
    if (!parts)
        return NULL;
    to->parts = parts;
    if (p->path_count)
        memcpy(parts + to->part_count, p->path, p->path_count * sizeof *parts);
    items[to->count] = (struct perf_pending){
        .sample = *sample, .first = to->part_count, .count = p->path_count};
    to->part_count += p->path_count;
    return &items[to->count++];
}

/* Takes what was put aside back into the path. */
static void take_back(struct perf_profile *p, const struct perf_pendings *from,
                      const struct perf_pending *pending)
{
    frame_id *path =
        arena_grow(&p->arena, p->path, &p->path_cap, pending->count + 1, sizeof *path);
    p->path_count = 0;
    if (!path)
        return;
    p->path = path;
    if (pending->count)
        memcpy(path, from->parts + pending->first, pending->count * sizeof *path);
    p->path_count = pending->count;
}

/* --- Stack dumps ----------------------------------------------------------------------
 */

/* The program counter's number among the registers, as perf counts them. */
static unsigned pc_register(enum machine machine)
{
    return machine == MACHINE_ARM64 ? 32 : machine == MACHINE_ARM ? 15 : 8;
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

static void add_job(struct perf_profile *p, const struct perf_sample *s, space_id space)
{
    struct perf_batch *batch = p->batch;
    size_t i = batch->job_count++, frames = s->stack.len / 8 + 2;
    spread_registers(&s->user, batch->registers[i]);
    batch->jobs[i] = (struct unwind_job){
        .machine = perf_machine(&p->data, &s->user),
        .spaces = &p->processes.spaces,
        .space = space,
        .registers = batch->registers[i],
        .recorded = s->user.mask,
        .stack = s->stack,
        .addresses = batch->addresses[i],
        .signals = batch->signals[i],
        .room = frames < UNWIND_FRAMES_MAX ? frames : UNWIND_FRAMES_MAX,
    };
    memset(batch->signals[i], 0, sizeof batch->signals[i]);
}

static void note_end(struct perf_profile *p, enum unwind_end end)
{
    if (end == UNWIND_CUT || end == UNWIND_TOO_DEEP)
        p->b->profile->facts.truncated++;
    else if (end != UNWIND_WHOLE)
        builder_warn(p->b, "a stack that could not be followed to its end", 0, 0,
                     STR(""));
}

/* The frames of a job go behind the path. A stack that could not be unwound at all still
 * tells where the program was. */
static void push_unwound(struct perf_profile *p, const struct perf_pending *pending,
                         const struct unwind_job *job)
{
    size_t count = job->count < job->room ? job->count : job->room;
    for (size_t i = 0; i < count; i++)
        push(p, &pending->user, job->addresses[i],
             i && !(job->signals[i / 32] >> i % 32 & 1));
    if (count == 0)
        push(p, &pending->user, job->registers[pc_register(job->machine)], false);
    note_end(p, job->end);
}

void perf_stacks_unwind(struct perf_profile *p)
{
    struct perf_batch *batch = p->batch;
    if (!batch)
        return;
    struct perf_pendings *samples = &batch->samples;
    if (batch->job_count && !processes_failed(&p->processes))
        p->resolver->unwind(p->resolver->context, batch->jobs, batch->job_count);
    for (size_t i = 0; i < samples->count; i++) {
        const struct perf_pending *pending = &samples->items[i];
        take_back(p, samples, pending);
        size_t known = p->path_count;
        if (pending->job)
            push_unwound(p, pending, &batch->jobs[pending->job - 1]);
        add_sample(p, &pending->sample, p->path_count - known);
        space_drop(&p->processes.spaces, pending->user.space);
    }
    samples->count = samples->part_count = 0;
    batch->job_count = 0;
}

/* Puts the sample into the batch: with its dump, or to keep its turn behind others. */
static bool batch_sample(struct perf_profile *p, const struct perf_sample *s,
                         const struct walk *w, const struct sample *sample, bool dump)
{
    if (!p->batch && dump)
        p->batch = calloc(1, sizeof *p->batch);
    if (!p->batch)
        p->arena.failed |= dump;
    if (!p->batch || (!dump && p->batch->samples.count == 0))
        return false;
    struct perf_pending *pending = put_aside(p, &p->batch->samples, sample);
    p->path_count = 0;
    if (!pending)
        return true;
    pending->user = w->user;
    space_share(&p->processes.spaces, w->user.space);
    if (dump) {
        add_job(p, s, w->user.space);
        pending->job = (uint32_t)p->batch->job_count;
    }
    if (p->batch->job_count == BATCH || p->batch->samples.count >= KEPT_MAX)
        perf_stacks_unwind(p);
    return true;
}

void perf_stacks_turn(struct perf_profile *p, const struct sample *turn)
{
    p->path_count = 0;
    if (!p->batch || p->batch->samples.count == 0) {
        add_sample(p, turn, 0);
        return;
    }
    put_aside(p, &p->batch->samples, turn);
    if (p->batch->samples.count >= 4 * BATCH)
        perf_stacks_unwind(p);
}

/* --- Deferred chains ----------------------------------------------------------- */

static uint64_t cookie_key(uint64_t cookie, uint32_t tid)
{
    return hash_mix(cookie ^ HASH_A, HASH_B + tid);
}

/* Adds those that wait for the key, the path's user part behind each one's own. */
static void add_deferred(struct perf_profile *p, uint32_t last, struct perf_words chain,
                         const struct perf_scope *user)
{
    while (last) {
        const struct perf_pending *pending = &p->deferred.items[last - 1];
        struct walk w = {.user = *user, .scope = user, .first = true};
        last = pending->previous;
        take_back(p, &p->deferred, pending);
        w.scope = &w.user;
        walk_chain(p, &w, chain, false);
        add_sample(p, &pending->sample, 0);
        p->deferred_left--;
    }
    if (p->deferred_left == 0)
        p->deferred.count = p->deferred.part_count = 0;
}

/* Those whose chains never came have no user part. */
void perf_stacks_give_up(struct perf_profile *p)
{
    const struct perf_scope none = {0};
    const struct perf_words nothing = {STR(""), false};
    for (size_t i = 1; i < p->cookies.count; i++) {
        uint32_t last = (uint32_t)p->cookies.entries[i].value;
        for (uint32_t at = last; at; at = p->deferred.items[at - 1].previous)
            p->b->profile->facts.truncated++;
        add_deferred(p, last, nothing, &none);
    }
    p->cookies = (struct idmap){0};
}

static void defer_sample(struct perf_profile *p, const struct perf_sample *s,
                         const struct walk *w, const struct sample *sample)
{
    if (p->deferred_left >= DEFERRED_MAX)
        perf_stacks_give_up(p);
    uint64_t *at = idmap_put(&p->cookies, &p->arena, cookie_key(w->cookie, s->tid));
    struct perf_pending *pending = at ? put_aside(p, &p->deferred, sample) : NULL;
    p->path_count = 0;
    if (!pending)
        return;
    pending->previous = (uint32_t)*at;
    *at = p->deferred.count;
    p->deferred_left++;
}

void perf_stacks_deferred(struct perf_profile *p, uint32_t pid, uint32_t tid,
                          const struct perf_deferred *chain)
{
    uint64_t *at = idmap_put(&p->cookies, &p->arena, cookie_key(chain->cookie, tid));
    const struct perf_scope user = user_scope(p, pid);
    if (!at || *at == 0)
        return;
    uint32_t last = (uint32_t)*at;
    *at = 0;
    add_deferred(p, last, chain->chain, &user);
}

/* --- One sample -----------------------------------------------------------------------
 */

void perf_stacks_sample(struct perf_profile *p, const struct perf_sample *s,
                        const struct sample *sample)
{
    if (s->mode == PERF_MODE_USER)
        processes_ran(&p->processes, s->pid);
    struct walk w = begin_walk(p, s);
    w.scope = mode_scope(p, &w, s->mode);
    p->path_count = 0;
    if (p->taker && p->taker->leaf_alone) {
        if (s->has_ip)
            push(p, w.scope, s->ip, false);
        add_sample(p, sample, 0);
        return;
    }
    bool lbr = has_call_record(s), dump = s->user.abi && s->stack.len;
    if (s->has_chain)
        walk_chain(p, &w, s->chain, lbr);
    else if (s->has_ip && s->event->type != PERF_TYPE_TRACEPOINT) /* as perf shows it */
        push(p, w.scope, s->ip, false);
    if (lbr)
        walk_branches(p, &w, s->branches);
    if (w.deferred) {
        defer_sample(p, s, &w, sample);
        return;
    }
    dump &= s->has_chain && !(w.in_user && !w.first);
    if (dump && !p->resolver) { /* where the program was, at least */
        uint64_t registers[UNWIND_REGISTERS_MAX];
        spread_registers(&s->user, registers);
        push(p, &w.user, registers[pc_register(perf_machine(&p->data, &s->user))], false);
        p->b->profile->facts.truncated++;
    }
    if (!batch_sample(p, s, &w, sample, dump && p->resolver))
        add_sample(p, sample, 0);
}
