/* SPDX-License-Identifier: Apache-2.0 */
/* Puts samples into batches, which the thread pool walks, and adds them in the same
 * order. Stores samples whose user chains come in later records. */
#include "base/array.h"
#include "base/hash.h"
#include "import/perf_data/profile.h"
#include "perf/off_cpu.h"

/* Batches in work for each worker: the workers have enough work while the reader is
 * busy. */
#define BATCHES_PER_WORKER 8

/* Maximum number of samples that wait for their user chains. If there are more, all are
 * added without these chains. */
#define DEFERRED_MAX ((size_t)1 << 16)

/* A worker's ids of locations to the reader's. */
struct perf_numbers {
    location_id *items; /* 0: not used by a sample so far */
    size_t count, cap;
    size_t known_before; /* ids from here on are new with the batch */
};

bool perf_stacks_init(struct perf_profile *p)
{
    unsigned workers = thread_pool_workers(perf_thread_pool(p));
    p->workers = workers;
    p->batch_count = workers > 1 ? (size_t)workers * BATCHES_PER_WORKER : 1;
    p->walkers = arena_zalloc(&p->arena, workers, sizeof *p->walkers);
    p->numbers = arena_zalloc(&p->arena, workers, sizeof *p->numbers);
    p->batches = arena_zalloc(&p->arena, p->batch_count, sizeof *p->batches);
    p->walk = (struct perf_walk_settings){
        .resolver = p->resolver,
        .spaces = &p->processes.spaces,
        .leaf_only = p->consumer && p->consumer->leaf_only,
        .tracepoints = p->options->tracepoints,
        .keeps_pc = p->options->every_address || p->options->addresses,
        .every_pc = p->options->every_address,
    };
    for (size_t i = 0; p->batches && i < p->batch_count; i++) {
        p->batches[i].settings = &p->walk;
        p->batches[i].walkers = p->walkers;
    }
    if (!p->walkers || !p->numbers || !p->batches || !builder_init(&p->raw, p->b->mode))
        return false;
    builder_set_limits(&p->raw, p->b->limits);
    return true;
}

void perf_stacks_deinit(struct perf_profile *p)
{
    for (size_t i = 0; p->batches && i < p->batch_count; i++) {
        struct perf_batch *b = &p->batches[(p->oldest_batch + i) % p->batch_count];
        if (i < p->batches_out)
            thread_pool_finish(perf_thread_pool(p), &b->task);
        arena_deinit(&b->arena);
    }
    for (unsigned i = 0; p->walkers && i < p->workers; i++)
        perf_walker_destroy(p->walkers[i]);
    if (p->raw.profile)
        builder_deinit(&p->raw);
}

/* --- Paths ------------------------------------------------------------------------- */

static location_id add_location(struct perf_profile *p,
                                const struct perf_location *location)
{
    size_t before = p->locations.count;
    location_id number = perf_locations_add(&p->locations, &p->arena, location);
    object_id object = p->files[location->file].object;
    if (p->locations.count > before && object && !p->consumer && p->resolver->prefetch)
        p->resolver->prefetch(p->resolver->context, object);
    return number;
}

/* Makes room for the ids of the locations that are new to the batch's worker. The reader
 * assigns its ids sample by sample, so that they do not depend on the batches. */
static void learn(struct perf_profile *p, const struct perf_batch *b)
{
    struct perf_numbers *n = &p->numbers[b->worker];
    n->known_before = n->count ? n->count : 1;
    size_t count = n->known_before + b->learned_count;
    if (ARRAY_RESERVE_ZEROED(&p->arena, n->items, n->cap, count))
        n->count = count;
}

/* Replaces the worker's ids in a part of the batch's path by the reader's. New ones are
 * assigned from the leaf on. */
static void translate(struct perf_profile *p, const struct perf_batch *b,
                      location_id *path, size_t count)
{
    const struct perf_numbers *n = &p->numbers[b->worker];
    for (size_t i = count; i-- > 0 && !p->arena.failed;) {
        location_id *number = &n->items[path[i]];
        if (*number == 0)
            *number = add_location(p, &b->learned[path[i] - n->known_before]);
        path[i] = *number;
    }
}

/* --- Waits ------------------------------------------------------------------------- */

/* A location that is not code. */
static location_id marker(struct perf_profile *p, struct str name, enum frame_kind kind,
                          uint64_t address)
{
    struct perf_location location = {.address = address,
                                     .file = perf_file_marker(p, name, kind)};
    return perf_locations_add(&p->locations, &p->arena, &location);
}

/* The stack with a marker called by it. */
static stack_id push_marker(struct perf_profile *p, stack_id stack, struct str name,
                            enum frame_kind kind, uint64_t address)
{
    return builder_push(&p->raw, stack, marker(p, name, kind, address));
}

/* Adds the stack of the waker, reversed, to the stack of the wait: the two stacks meet
 * at their leaves. */
static stack_id push_waker(struct perf_profile *p, stack_id stack, uint64_t waker)
{
    const struct profile *raw = p->raw.profile;
    const struct profile *profile = p->b->profile;
    stack = push_marker(p, stack, STR("--"), FRAME_MARKER, 0);
    for (stack_id at = (stack_id)(waker >> 32); at; at = raw->stacks[at].parent) {
        struct perf_location location = p->locations.items[raw->stacks[at].frame];
        location.of_waker = true;
        location_id number = perf_locations_add(&p->locations, &p->arena, &location);
        stack = builder_push(&p->raw, stack, number);
        if (p->arena.failed || builder_failed(&p->raw))
            return 0;
    }
    const struct thread *thread = &profile->threads[waker & UINT32_MAX];
    uint64_t tid = thread->tid > 0 ? (uint64_t)thread->tid : 0;
    return push_marker(p, stack, profile_string(profile, thread->name), FRAME_WAKER, tid);
}

/* Counts a truncated stack. Its path gets the marker in the free element before it. */
static void note_truncated(struct perf_profile *p, struct perf_path *path)
{
    p->b->profile->facts.truncated++;
    if (!p->options->cuts || p->consumer || !path->count)
        return;
    path->items--;
    path->items[0] = marker(p, STR(TRUNCATED_MARK), FRAME_MARKER, 0);
    path->count++;
}

/* Replaces the stack of a sample of a wait by the one to add. Returns false if the sample
 * is not added. */
static bool apply_wait(struct perf_profile *p, const struct perf_queued *s,
                       stack_id *stack)
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

/* Passes a wait to the consumer, with the location that stands for its reason. */
static void give_wait(struct perf_profile *p, const struct sample *sample,
                      const struct perf_path *path, const struct perf_queued *queued)
{
    location_id mark =
        marker(p, WAIT_MARK, FRAME_MARKER, queued->word & PERF_OFF_CPU_PREEMPTED);
    location_id *items = path->count ? path->items - 1 : &mark; /* see struct perf_path */
    if (path->count) {
        memmove(items, path->items, path->count * sizeof *items);
        items[path->count] = mark;
    }
    p->consumer->stack(p->consumer->context, p, sample, items, path->count + 1,
                       queued->unwound);
}

/* Adds the sample, or passes it to the consumer. `queued` is NULL for samples that had to
 * wait for their user chains. */
static void add_sample(struct perf_profile *p, const struct sample *sample,
                       label_set_id labels, const struct perf_path *path,
                       const struct perf_queued *queued)
{
    struct sample s = *sample;
    if (p->consumer) {
        if (p->consumer->with_reasons && queued && queued->wait == WAIT_OFF_CPU) {
            give_wait(p, sample, path, queued);
            return;
        }
        p->consumer->stack(p->consumer->context, p, sample, path->items, path->count,
                           queued ? queued->unwound : 0);
        return;
    }
    s.stack =
        path->count ? builder_push_run(&p->raw, 0, path->items, path->count, NULL) : 0;
    bool waits = queued && (queued->wait == WAIT_OFF_CPU || queued->wait == WAIT_WAKER);
    if (!waits || apply_wait(p, queued, &s.stack))
        builder_add_labelled(&p->raw, &s, labels);
}

/* --- Deferred chains --------------------------------------------------------------- */

/* Stores the sample with its known path. */
static struct perf_pending *store_pending(struct perf_profile *p,
                                          struct perf_pendings *to,
                                          const struct sample *sample,
                                          const struct perf_path *path)
{
    if (!ARRAY_RESERVE(&p->arena, to->items, to->cap, to->count + 1))
        return NULL;
    if (!ARRAY_RESERVE(&p->arena, to->parts, to->part_cap,
                       to->part_count + path->count + 1))
        return NULL;
    if (path->count)
        memcpy(to->parts + to->part_count, path->items, path->count * sizeof *to->parts);
    to->items[to->count] = (struct perf_pending){
        .sample = *sample, .first = to->part_count, .count = path->count};
    to->part_count += path->count;
    return &to->items[to->count++];
}

/* The path of a stored sample, appended to `user`, which may be empty. */
static struct perf_path load_pending(struct perf_profile *p,
                                     const struct perf_pending *pending,
                                     const struct perf_path *user)
{
    size_t count = user->count + pending->count;
    if (!ARRAY_RESERVE(&p->arena, p->path, p->path_cap, count + 1))
        return (struct perf_path){NULL, 0};
    location_id *path = p->path + 1; /* a free element in front */
    if (user->count)
        memcpy(path, user->items, user->count * sizeof *path);
    if (pending->count)
        memcpy(path + user->count, p->deferred.parts + pending->first,
               pending->count * sizeof *path);
    return (struct perf_path){path, count};
}

static uint64_t cookie_key(uint64_t cookie, uint32_t tid)
{
    return hash_mix(cookie ^ HASH_A, HASH_B + tid);
}

/* Adds the samples of a list with the user part of their stacks; NULL: it never came. */
static void add_deferred(struct perf_profile *p, uint32_t last,
                         const struct perf_path *user)
{
    static const struct perf_path none = {NULL, 0};
    while (last) {
        const struct perf_pending *pending = &p->deferred.items[last - 1];
        struct perf_path path = load_pending(p, pending, user ? user : &none);
        last = pending->previous;
        if (!user)
            note_truncated(p, &path);
        add_sample(p, &pending->sample, pending->labels, &path, NULL);
        p->deferred_left--;
    }
    if (p->deferred_left == 0)
        p->deferred.count = p->deferred.part_count = 0;
}

void perf_stacks_abandon(struct perf_profile *p)
{
    for (size_t i = 1; i < p->cookies.count; i++)
        add_deferred(p, (uint32_t)p->cookies.entries[i].value, NULL);
    p->cookies = (struct idmap){0};
}

static void defer_sample(struct perf_profile *p, const struct perf_queued *s,
                         const struct perf_path *path)
{
    if (p->deferred_left >= DEFERRED_MAX)
        perf_stacks_abandon(p);
    uint64_t *at = idmap_put(&p->cookies, &p->arena, cookie_key(s->cookie, s->tid));
    struct perf_pending *pending =
        at ? store_pending(p, &p->deferred, &s->sample, path) : NULL;
    if (!pending)
        return;
    pending->labels = s->labels;
    pending->previous = (uint32_t)*at;
    *at = p->deferred.count;
    p->deferred_left++;
}

/* --- Batches ----------------------------------------------------------------------- */

/* Counts a stack that ends in code without unwind information, by its file. */
static void note_gap(struct perf_profile *p, const struct perf_path *path)
{
    const struct perf_location *root =
        path->count ? &p->locations.items[path->items[0]] : NULL;
    unwind_gaps_add(&p->b->profile->facts.unwind_gaps,
                    root ? p->files[root->file].module : STR(""), 1);
}

static void note_end(struct perf_profile *p, const struct perf_queued *s,
                     struct perf_path *path)
{
    if (unwind_is_truncated(s->end))
        note_truncated(p, path);
    else if (s->end != UNWIND_WHOLE)
        note_gap(p, path);
}

/* Clears the batch but not its memory. */
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
static void finish_batch(struct perf_profile *p, struct perf_batch *b)
{
    if (b->failed) {
        p->arena.failed = true;
        return;
    }
    learn(p, b);
    for (size_t i = 0; i < b->count && !p->arena.failed; i++) {
        const struct perf_queued *s = &b->samples[i];
        struct perf_path path = {b->path + s->first, s->count};
        translate(p, b, path.items, path.count);
        if (p->arena.failed)
            return;
        if (s->waits) {
            defer_sample(p, s, &path);
            continue;
        }
        if (s->is_truncated)
            note_truncated(p, &path);
        if (s->job || s->end)
            note_end(p, s, &path);
        add_sample(p, &s->sample, s->labels, &path, s);
    }
}

static void finish_oldest(struct perf_profile *p)
{
    struct perf_batch *b = &p->batches[p->oldest_batch];
    thread_pool_finish(perf_thread_pool(p), &b->task);
    p->oldest_batch = (p->oldest_batch + 1) % p->batch_count;
    p->batches_out--;
    finish_batch(p, b);
    clear_batch(p, b);
}

/* The batch that is filled now: the one after the batches in work. */
static struct perf_batch *open_batch(struct perf_profile *p)
{
    return &p->batches[(p->oldest_batch + p->batches_out) % p->batch_count];
}

static void start_batch(struct perf_profile *p)
{
    struct perf_batch *b = open_batch(p);
    if (b->count == 0)
        return;
    b->task.work = perf_walk_batch;
    thread_pool_start(perf_thread_pool(p), &b->task);
    if (++p->batches_out == p->batch_count)
        finish_oldest(p);
}

void perf_stacks_unwind(struct perf_profile *p)
{
    start_batch(p);
    while (p->batches_out)
        finish_oldest(p);
}

void perf_profile_flush(struct perf_profile *p)
{
    perf_stacks_unwind(p);
}

/* Adds a sample to the open batch. All samples of a batch have the same maps of the kernel
 * and the guest. NULL if out of memory. */
static struct perf_queued *enqueue(struct perf_profile *p, const struct sample *sample)
{
    struct perf_batch *b = open_batch(p);
    bool as_before =
        b->kernel.version == p->kernel.version && b->guest.version == p->guest.version;
    if (b->count && !as_before) {
        start_batch(p);
        b = open_batch(p);
    }
    if (!ARRAY_RESERVE(&b->arena, b->samples, b->cap, b->count + 1)) {
        p->arena.failed = true;
        return NULL;
    }
    if (b->count == 0) {
        b->kernel = p->kernel;
        b->guest = p->guest;
        space_share(&p->processes.spaces, p->kernel.space);
        space_share(&p->processes.spaces, p->guest.space);
    }
    b->samples[b->count] = (struct perf_queued){.sample = *sample};
    return &b->samples[b->count++];
}

static void start_full_batch(struct perf_profile *p)
{
    const struct perf_batch *b = open_batch(p);
    if (b->dumps == PERF_BATCH_DUMPS || b->count == PERF_BATCH_SAMPLES)
        start_batch(p);
}

void perf_profile_enqueue(struct perf_profile *p, const struct sample *item)
{
    struct perf_queued *queued = enqueue(p, item);
    if (queued)
        queued->is_item = true;
    start_full_batch(p);
}

/* A time of the recording by the clock that JITs use, CLOCK_MONOTONIC. */
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

/* Enqueues a sample of the thread, without its stack. */
static struct perf_queued *enqueue_of(struct perf_profile *p, const struct perf_sample *s,
                                      const struct sample *sample)
{
    if (s->mode == PERF_MODE_USER)
        processes_ran(&p->processes, s->pid);
    struct perf_queued *queued = enqueue(p, sample);
    if (!queued)
        return NULL;
    const struct process *process = processes_find(&p->processes, s->pid);
    queued->user = (struct perf_scope){process->space, process->version, FILE_NONE};
    space_share(&p->processes.spaces, process->space);
    queued->jit_time = jit_time(s->event, s->time);
    return queued;
}

void perf_stacks_branch(struct perf_profile *p, const struct perf_sample *s,
                        const struct sample *sample, const struct perf_branch *branch)
{
    struct perf_queued *queued = enqueue_of(p, s, sample);
    if (!queued)
        return;
    queued->is_branch = true;
    queued->from = branch->from;
    queued->ip = branch->to;
    queued->labels = perf_branch_labels(p, branch);
    start_full_batch(p);
}

void perf_stacks_sample(struct perf_profile *p, const struct perf_sample *s,
                        const struct sample *sample)
{
    struct perf_queued *queued = enqueue_of(p, s, sample);
    if (!queued)
        return;
    queued->labels = perf_lock_labels(p, s, perf_cgroup_labels(p, s));
    queued->tid = s->tid;
    queued->wait = (uint8_t)perf_wait_of(s->event);
    queued->word = first_word(p, s->raw);
    queued->mode = (uint8_t)s->mode;
    queued->machine = (uint8_t)perf_machine(&p->data, &s->user);
    queued->has_chain = s->has_chain;
    queued->has_ip = s->has_ip;
    queued->from_branches =
        s->event->branch_type & PERF_BRANCH_CALL_STACK && s->branches.bytes.len;
    queued->is_tracepoint = s->event->type == PERF_TYPE_TRACEPOINT;
    queued->ip = s->ip;
    queued->chain = s->chain;
    queued->branches = s->branches;
    queued->registers = s->user;
    queued->stack = s->stack;
    open_batch(p)->dumps += s->user.abi && s->stack.len;
    start_full_batch(p);
}

void perf_stacks_deferred(struct perf_profile *p, const struct perf_identity *id,
                          uint64_t time, const struct perf_deferred *chain)
{
    perf_stacks_unwind(p); /* the samples that wait for it may be in a batch */
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
    translate(p, b, b->path, b->path_count);
    if (!p->arena.failed)
        add_deferred(p, last, &(struct perf_path){b->path, b->path_count});
    clear_batch(p, b);
}
