/* SPDX-License-Identifier: Apache-2.0 */
/* The samples of a recording to stacks of places: into batches, which the crew walks, and
 * out of them in the same order. And samples whose user chains come later. */
#include "base/hash.h"
#include "import/perf_data/profile.h"
#include "perf/off_cpu.h"

/* Batches under way for each hand: while the reader does something that takes long, the
 * others have enough to go on with. */
#define BATCHES_A_HAND 8

/* Samples that wait for their user chains; beyond that many they wait no more. */
#define DEFERRED_MAX ((size_t)1 << 16)

/* A hand's numbers of places to the reader's. */
struct perf_numbers {
    frame_id *items; /* 0 where it was not met yet */
    size_t count, cap;
    size_t told; /* from here on they come with the batch */
};

bool perf_stacks_init(struct perf_profile *p)
{
    unsigned hands = crew_hands(perf_crew(p));
    p->hands = hands;
    p->batch_count = hands > 1 ? (size_t)hands * BATCHES_A_HAND : 1;
    p->walkers = arena_zalloc(&p->arena, hands, sizeof *p->walkers);
    p->numbers = arena_zalloc(&p->arena, hands, sizeof *p->numbers);
    p->batches = arena_zalloc(&p->arena, p->batch_count, sizeof *p->batches);
    p->path = arena_grow(&p->arena, NULL, &p->path_cap, 256, sizeof *p->path);
    p->walk = (struct perf_walk_settings){
        .resolver = p->resolver,
        .spaces = &p->processes.spaces,
        .leaf_alone = p->taker && p->taker->leaf_alone,
        .keeps_pc = p->options->every_address || p->options->addresses,
        .every_pc = p->options->every_address,
    };
    for (size_t i = 0; p->batches && i < p->batch_count; i++) {
        p->batches[i].settings = &p->walk;
        p->batches[i].walkers = p->walkers;
    }
    return p->walkers && p->numbers && p->batches && p->path &&
           builder_init(&p->raw, p->b->mode);
}

void perf_stacks_deinit(struct perf_profile *p)
{
    for (size_t i = 0; p->batches && i < p->batch_count; i++) {
        struct perf_batch *b = &p->batches[(p->oldest_batch + i) % p->batch_count];
        if (i < p->batches_out)
            crew_finish(perf_crew(p), &b->errand);
        arena_deinit(&b->arena);
    }
    for (unsigned i = 0; p->walkers && i < p->hands; i++)
        perf_walker_destroy(p->walkers[i]);
    if (p->raw.profile)
        builder_deinit(&p->raw);
}

/* --- Paths ------------------------------------------------------------------------- */

static frame_id add_place(struct perf_profile *p, const struct perf_place *place)
{
    size_t before = p->places.count;
    frame_id number = perf_places_add(&p->places, &p->arena, place);
    object_id object = p->files[place->file].object;
    if (p->places.count > before && object && !p->taker && p->resolver->expect)
        p->resolver->expect(p->resolver->context, object);
    return number;
}

/* Makes room for the numbers of the places that are new to the batch's hand. They are
 * given as the places are met, sample by sample, so that they are the same however the
 * samples fell into batches. */
static void learn(struct perf_profile *p, const struct perf_batch *b)
{
    struct perf_numbers *n = &p->numbers[b->hand];
    n->told = n->count ? n->count : 1;
    frame_id *items = arena_grow(&p->arena, n->items, &n->cap, n->told + b->learned_count,
                                 sizeof *items);
    if (!items)
        return;
    memset(items + n->count, 0, (n->told + b->learned_count - n->count) * sizeof *items);
    n->items = items;
    n->count = n->told + b->learned_count;
}

/* Room for more places in the path; NULL when memory is short. */
static frame_id *path_room(struct perf_profile *p, size_t more)
{
    frame_id *path =
        arena_grow(&p->arena, p->path, &p->path_cap, p->path_count + more, sizeof *path);
    if (path)
        p->path = path;
    return path;
}

/* Appends a piece of the batch's path to the reader's: leaf first. */
static void add_to_path(struct perf_profile *p, const struct perf_batch *b, size_t first,
                        size_t count)
{
    const struct perf_numbers *n = &p->numbers[b->hand];
    frame_id *path = path_room(p, count + 1);
    if (!path || p->arena.failed)
        return;
    for (size_t i = 0; i < count; i++) {
        frame_id *number = &n->items[b->path[first + i]];
        if (*number == 0)
            *number = add_place(p, &b->learned[b->path[first + i] - n->told]);
        path[p->path_count++] = *number;
    }
}

/* --- Waits ------------------------------------------------------------------------- */

/* A place that is no code. */
static frame_id marker(struct perf_profile *p, struct str name, enum frame_kind kind,
                       uint64_t address)
{
    struct perf_place place = {.address = address,
                               .file = perf_file_marker(p, name, kind)};
    return perf_places_add(&p->places, &p->arena, &place);
}

/* The stack with such a place above it. */
static stack_id push_marker(struct perf_profile *p, stack_id stack, struct str name,
                            enum frame_kind kind, uint64_t address)
{
    return builder_push(&p->raw, stack, marker(p, name, kind, address));
}

/* Puts the stack of the waker above that of the wait, from where it was to who called it:
 * where the one ends, the other is. */
static stack_id push_waker(struct perf_profile *p, stack_id stack, uint64_t waker)
{
    const struct profile *raw = p->raw.profile;
    const struct profile *profile = p->b->profile;
    stack = push_marker(p, stack, STR("--"), FRAME_MARKER, 0);
    for (stack_id at = (stack_id)(waker >> 32); at; at = raw->stacks[at].parent) {
        struct perf_place place = p->places.items[raw->stacks[at].frame];
        place.of_waker = true;
        frame_id number = perf_places_add(&p->places, &p->arena, &place);
        stack = builder_push(&p->raw, stack, number);
        if (p->arena.failed || builder_failed(&p->raw))
            return 0;
    }
    string_id name = profile->threads[waker & UINT32_MAX].name;
    return push_marker(p, stack, profile_string(profile, name), FRAME_WAKER, 0);
}

/* The stack in the path was cut short. */
static void note_cut(struct perf_profile *p)
{
    p->b->profile->facts.truncated++;
    if (p->options->cuts && !p->taker && p->path_count && path_room(p, 1))
        p->path[p->path_count++] = marker(p, STR(CUT_MARK), FRAME_MARKER, 0);
}

/* What is to be added in place of the stack of a sample of a wait; false for nothing. */
static bool take_wait(struct perf_profile *p, const struct perf_held *s, stack_id *stack)
{
    uint32_t woken = s->wait == WAIT_WAKER ? s->word : s->tid;
    uint64_t *waker = idmap_put(&p->wakers, &p->arena, woken);
    if (!waker)
        return false;
    if (s->wait == WAIT_WAKER) {
        *waker = (uint64_t)*stack << 32 | s->sample.thread;
        return false;
    }
    *stack =
        push_marker(p, *stack, WAIT_MARK, FRAME_MARKER, s->word & PERF_OFF_CPU_PREEMPTED);
    if (*waker >> 32)
        *stack = push_waker(p, *stack, *waker);
    *waker = 0;
    return true;
}

/* Adds the sample with the path, which is leaf first, as its stack. The last `unwound`
 * places of it come from a dump. */
static void add_sample(struct perf_profile *p, const struct sample *sample,
                       size_t unwound, const struct perf_held *held)
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
    if (!held || held->wait == WAIT_NONE || take_wait(p, held, &s.stack))
        builder_add(&p->raw, &s);
}

/* --- Deferred chains --------------------------------------------------------------- */

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
    p->path_count = 0;
    frame_id *path = path_room(p, pending->count + 1);
    if (!path)
        return;
    if (pending->count)
        memcpy(path, from->parts + pending->first, pending->count * sizeof *path);
    p->path_count = pending->count;
}

static uint64_t cookie_key(uint64_t cookie, uint32_t tid)
{
    return hash_mix(cookie ^ HASH_A, HASH_B + tid);
}

/* Adds those that wait for the key; what the batch has walked, if any, is their user
 * part. */
static void add_deferred(struct perf_profile *p, uint32_t last,
                         const struct perf_batch *user)
{
    while (last) {
        const struct perf_pending *pending = &p->deferred.items[last - 1];
        last = pending->previous;
        take_back(p, &p->deferred, pending);
        if (user)
            add_to_path(p, user, 0, user->path_count);
        else
            note_cut(p);
        add_sample(p, &pending->sample, 0, NULL);
        p->deferred_left--;
    }
    if (p->deferred_left == 0)
        p->deferred.count = p->deferred.part_count = 0;
}

/* Those whose chains never came have no user part. */
void perf_stacks_give_up(struct perf_profile *p)
{
    for (size_t i = 1; i < p->cookies.count; i++) {
        add_deferred(p, (uint32_t)p->cookies.entries[i].value, NULL);
    }
    p->cookies = (struct idmap){0};
}

/* Puts aside the sample whose known part is in the path. */
static void defer_sample(struct perf_profile *p, const struct perf_held *s)
{
    size_t count = p->path_count;
    if (p->deferred_left >= DEFERRED_MAX) {
        p->path_count = 0;
        perf_stacks_give_up(p);
        p->path_count = count;
    }
    uint64_t *at = idmap_put(&p->cookies, &p->arena, cookie_key(s->cookie, s->tid));
    struct perf_pending *pending = at ? put_aside(p, &p->deferred, &s->sample) : NULL;
    p->path_count = 0;
    if (!pending)
        return;
    pending->previous = (uint32_t)*at;
    *at = p->deferred.count;
    p->deferred_left++;
}

/* --- Batches ----------------------------------------------------------------------- */

static void note_end(struct perf_profile *p, enum unwind_end end)
{
    if (end == UNWIND_CUT || end == UNWIND_TOO_DEEP)
        note_cut(p);
    else if (end != UNWIND_WHOLE)
        builder_warn(p->b, "a stack that could not be followed to its end", 0, 0,
                     STR(""));
}

/* Makes the batch as new, but for the memory that it has. */
static void clear_batch(struct perf_profile *p, struct perf_batch *b)
{
    struct spaces *spaces = &p->processes.spaces;
    for (size_t i = 0; i < b->count; i++)
        space_drop(spaces, b->samples[i].user.space);
    if (b->count) {
        space_drop(spaces, b->kernel.space);
        space_drop(spaces, b->guest.space);
    }
    b->count = b->dumps = b->path_count = b->learned_count = 0;
}

/* Adds the samples of a batch that was walked. */
static void take_batch(struct perf_profile *p, struct perf_batch *b)
{
    if (b->failed) {
        p->arena.failed = true;
        return;
    }
    learn(p, b);
    for (size_t i = 0; i < b->count && !p->arena.failed; i++) {
        const struct perf_held *s = &b->samples[i];
        add_to_path(p, b, s->first, s->known);
        add_to_path(p, b, s->unwound_first, s->unwound);
        if (s->waits) {
            defer_sample(p, s);
            continue;
        }
        if (s->is_cut)
            note_cut(p);
        if (s->job)
            note_end(p, s->end);
        add_sample(p, &s->sample, s->unwound, s);
    }
}

static void take_oldest(struct perf_profile *p)
{
    struct perf_batch *b = &p->batches[p->oldest_batch];
    crew_finish(perf_crew(p), &b->errand);
    p->oldest_batch = (p->oldest_batch + 1) % p->batch_count;
    p->batches_out--;
    take_batch(p, b);
    clear_batch(p, b);
}

/* The batch that samples are put into: the one behind those under way. */
static struct perf_batch *open_batch(struct perf_profile *p)
{
    return &p->batches[(p->oldest_batch + p->batches_out) % p->batch_count];
}

static void send_batch(struct perf_profile *p)
{
    struct perf_batch *b = open_batch(p);
    if (b->count == 0)
        return;
    b->errand.work = perf_walk_batch;
    crew_start(perf_crew(p), &b->errand);
    if (++p->batches_out == p->batch_count)
        take_oldest(p);
}

void perf_stacks_unwind(struct perf_profile *p)
{
    send_batch(p);
    while (p->batches_out)
        take_oldest(p);
}

/* A sample at the end of the open batch, which is one of those for which the kernel's and
 * the guest's maps are what they are now. NULL when memory is short. */
static struct perf_held *hold(struct perf_profile *p, const struct sample *sample)
{
    struct perf_batch *b = open_batch(p);
    bool as_before =
        b->kernel.version == p->kernel.version && b->guest.version == p->guest.version;
    if (b->count && !as_before) {
        send_batch(p);
        b = open_batch(p);
    }
    struct perf_held *samples =
        arena_grow(&b->arena, b->samples, &b->cap, b->count + 1, sizeof *samples);
    if (!samples) {
        p->arena.failed = true;
        return NULL;
    }
    b->samples = samples;
    if (b->count == 0) {
        b->kernel = p->kernel;
        b->guest = p->guest;
        space_share(&p->processes.spaces, p->kernel.space);
        space_share(&p->processes.spaces, p->guest.space);
    }
    samples[b->count] = (struct perf_held){.sample = *sample};
    return &samples[b->count++];
}

static void send_full(struct perf_profile *p)
{
    const struct perf_batch *b = open_batch(p);
    if (b->dumps == PERF_BATCH_DUMPS || b->count == PERF_BATCH_SAMPLES)
        send_batch(p);
}

void perf_stacks_turn(struct perf_profile *p, const struct sample *turn)
{
    struct perf_held *held = hold(p, turn);
    if (held)
        held->is_turn = true;
    send_full(p);
}

/* A time of the recording as a JIT would tell it, which goes by CLOCK_MONOTONIC. */
static uint64_t jit_time(const struct perf_event *e, uint64_t time)
{
    bool same = e->flags & PERF_FLAG_CLOCK && e->clock == PERF_CLOCK_MONOTONIC;
    return same ? time : TIME_NONE;
}

static uint32_t first_word(const struct perf_profile *p, struct str raw)
{
    struct bytes b = bytes_of(raw, p->data.big_endian);
    return raw.len < 4 ? 0 : bytes_u32(&b);
}

void perf_stacks_sample(struct perf_profile *p, const struct perf_sample *s,
                        const struct sample *sample)
{
    if (s->mode == PERF_MODE_USER)
        processes_ran(&p->processes, s->pid);
    struct perf_held *held = hold(p, sample);
    if (!held)
        return;
    const struct process *process = processes_find(&p->processes, s->pid);
    held->user = (struct perf_scope){process->space, process->version, FILE_NONE};
    space_share(&p->processes.spaces, process->space);
    held->tid = s->tid;
    held->wait = (uint8_t)perf_wait_of(s->event);
    held->word = first_word(p, s->raw);
    held->mode = (uint8_t)s->mode;
    held->machine = (uint8_t)perf_machine(&p->data, &s->user);
    held->has_chain = s->has_chain;
    held->has_ip = s->has_ip;
    held->from_branches =
        s->event->branch_type & PERF_BRANCH_CALL_STACK && s->branches.bytes.len;
    held->is_tracepoint = s->event->type == PERF_TYPE_TRACEPOINT;
    held->ip = s->ip;
    held->chain = s->chain;
    held->branches = s->branches;
    held->registers = s->user;
    held->stack = s->stack;
    held->jit_time = jit_time(s->event, s->time);
    open_batch(p)->dumps += s->user.abi && s->stack.len;
    send_full(p);
}

void perf_stacks_deferred(struct perf_profile *p, const struct perf_identity *id,
                          uint64_t time, const struct perf_deferred *chain)
{
    perf_stacks_unwind(p); /* those that wait for it are among them */
    uint64_t *at = idmap_put(&p->cookies, &p->arena, cookie_key(chain->cookie, id->tid));
    if (!at || *at == 0)
        return;
    const struct process *process = processes_find(&p->processes, id->pid);
    struct perf_scope user = {process->space, process->version, FILE_NONE};
    struct perf_batch *b = open_batch(p);
    uint32_t last = (uint32_t)*at;
    *at = 0;
    b->kernel = p->kernel;
    b->guest = p->guest;
    perf_walk_user(b, chain->chain, &user, jit_time(&p->data.events[0], time));
    p->arena.failed |= b->failed;
    if (p->arena.failed)
        return;
    learn(p, b);
    add_deferred(p, last, b);
    clear_batch(p, b);
}
