/* SPDX-License-Identifier: Apache-2.0 */
/* Names many addresses on all cores: groups them by object, answers them from the
 * caches on disk or else loads the objects in the background, and splits the rest into
 * pieces for the workers. */
#include "base/array.h"
#include "base/sort.h"
#include "resolve/local_resolver_parts.h"

/* Jobs in a piece: few enough that no worker waits long for the last piece. */
#define PIECE_JOBS 512

/* The jobs of one object, or a piece of them. */
struct share {
    struct pool_task task; /* answers them */
    struct naming *naming;
    struct entry *entry;
    uint32_t *jobs; /* indexes */
    struct dwarf_query *queries;
    size_t count;
    struct share *next; /* next piece of the object, or NULL */

    /* Of the first piece of an object: */
    bool cache_used;      /* cached answers were set */
    size_t uncached_jobs; /* the first of `jobs`, which were not in the cache */
};

struct naming {
    struct local_resolver *m;
    struct name_job *jobs;
    struct share *shares; /* one per object */
    size_t share_count, share_cap;
    bool failed; /* atomic: out of memory, and some jobs have no answer */
    struct arena scratch;
};

/* --- Grouping ---------------------------------------------------------------------- */

static bool add_share(struct naming *n, const struct share *share)
{
    struct share *added =
        ARRAY_APPEND(&n->scratch, n->shares, n->share_count, n->share_cap);
    if (!added)
        return false;
    *added = *share;
    return true;
}

/* The indexes of the jobs, sorted by object. */
static struct sort_key *order_jobs(struct naming *n, size_t count)
{
    struct sort_key *order = arena_alloc(&n->scratch, 2 * (count + 1) * sizeof *order);
    if (!order || count >= UINT32_MAX)
        return NULL;
    for (uint32_t i = 0; i < count; i++) {
        n->jobs[i].frames = NULL;
        n->jobs[i].count = 0;
        order[i] = (struct sort_key){n->jobs[i].object, i};
    }
    sort_keys(order, count, order + count);
    return order;
}

/* Makes one share per object. */
static bool group_jobs(struct naming *n, size_t count)
{
    const struct sort_key *order = order_jobs(n, count);
    uint32_t *jobs = arena_alloc(&n->scratch, (count + 1) * sizeof *jobs);
    struct dwarf_query *queries = arena_zalloc(&n->scratch, count + 1, sizeof *queries);
    if (!order || !jobs || !queries)
        return false;
    for (size_t from = 0, to; from < count; from = to) {
        object_id id = (object_id)order[from].key;
        for (to = from; to < count && order[to].key == id; to++)
            jobs[to] = order[to].id;
        struct share share = {.naming = n,
                              .entry = local_resolver_entry(n->m, id),
                              .jobs = jobs + from,
                              .queries = queries + from,
                              .count = to - from};
        if (id && !add_share(n, &share))
            return false;
    }
    return true;
}

/* --- Preparing --------------------------------------------------------------------- */

/* Answers cached jobs; the others remain in the share. */
static void answer_cached(struct naming *n, struct share *s)
{
    struct object *o = s->entry->object;
    struct arena *arena = &n->m->workers[0].arena;
    size_t left = 0;
    if (s->cache_used)
        return;
    s->cache_used = true;
    object_open_cache(o, n->m->settings);
    for (size_t i = 0; i < s->count; i++) {
        uint32_t job = s->jobs[i];
        if (!name_cache_find(&o->names, &n->jobs[job], arena))
            s->jobs[left++] = job;
    }
    s->count = s->uncached_jobs = left;
}

/* Makes sorted queries of the share's jobs, with addresses of the object's tables. For a
 * return address, the query is for the call. */
static void make_queries(struct naming *n, struct share *s)
{
    const struct object *o = s->entry->object;
    for (size_t i = 0; i < s->count; i++) {
        const struct name_job *job = &n->jobs[s->jobs[i]];
        uint64_t address;
        bool inside = object_address(o, job->address, &address);
        if (inside && job->is_call)
            address = namer_call_address(o, address);
        s->queries[i] =
            (struct dwarf_query){.address = inside ? address : 0, .tag = s->jobs[i]};
    }
    if (o->has_dwarf || o->has_go)
        dwarf_order(&o->dwarf, s->queries, s->count);
}

static void prepare_share(struct naming *n, struct share *s)
{
    answer_cached(n, s);
    if (s->count == 0)
        return;
    object_load_names(s->entry->object, n->m->settings);
    make_queries(n, s);
}

/* --- Tasks ------------------------------------------------------------------------- */

static void name_piece(struct pool_task *e, unsigned number)
{
    const struct share *s = (const struct share *)(const void *)e;
    struct local_resolver *m = s->naming->m;
    struct worker *worker = &m->workers[number];
    if (!worker->namer)
        worker->namer = namer_create(m->settings, &worker->arena);
    if (!worker->namer ||
        !namer_answer(worker->namer, s->entry->object, s->queries, s->count,
                      s->naming->jobs) ||
        worker->arena.failed)
        __atomic_store_n(&s->naming->failed, true, __ATOMIC_RELAXED);
}

/* Splits the share in two: it keeps the queries from `count` on, and a new piece after it gets
 * the first `count`. */
static bool split_off(struct naming *n, struct share *s, size_t count)
{
    struct share *piece = arena_alloc(&n->scratch, sizeof *piece);
    if (!piece)
        return false;
    *piece = *s;
    piece->count = count;
    s->next = piece;
    s->queries += count;
    s->count -= count;
    return true;
}

/* Gives the share to the pool, in pieces if it is large. */
static void start_share(struct naming *n, struct share *s)
{
    const struct object *o = s->entry->object;
    if (s->count == 0)
        return;
    while (s->count > PIECE_JOBS) {
        size_t cut =
            o->has_dwarf ? dwarf_cut(s->queries, s->count, PIECE_JOBS) : PIECE_JOBS;
        if (cut == s->count || !split_off(n, s, cut))
            break;
    }
    for (struct share *piece = s; piece; piece = piece->next) {
        piece->task = (struct pool_task){.work = name_piece};
        thread_pool_start(&n->m->pool, &piece->task);
    }
}

static void load_names(struct pool_task *e, unsigned worker)
{
    struct entry *entry = (struct entry *)(void *)e;
    (void)worker;
    object_load_names(entry->object, entry->settings);
    __atomic_store_n(&entry->is_loaded, true, __ATOMIC_RELEASE);
}

/* Returns true if the object can answer uncached jobs. If it must be loaded first, starts
 * a task that does so in the background. */
static bool is_ready(struct naming *n, struct share *s)
{
    struct entry *entry = s->entry;
    if (entry->has_task && !__atomic_load_n(&entry->is_loaded, __ATOMIC_ACQUIRE))
        return false;
    local_resolver_finish(n->m, entry);
    answer_cached(n, s);
    if (s->count == 0 || entry->object->named || n->m->pool.workers == 1)
        return true;
    local_resolver_start(n->m, entry, load_names);
    return false;
}

/* Starts the shares of loaded objects first, while the others are loaded. */
static void start_shares(struct naming *n)
{
    for (size_t i = 0; i < n->share_count; i++) {
        struct share *s = &n->shares[i];
        if (!is_ready(n, s))
            continue;
        prepare_share(n, s);
        start_share(n, s);
    }
    for (size_t i = 0; i < n->share_count; i++) {
        struct share *s = &n->shares[i];
        if (s->task.work)
            continue;
        local_resolver_finish(n->m, s->entry);
        prepare_share(n, s);
        start_share(n, s);
    }
}

/* Waits for all pieces of an object. */
static void finish_share(struct naming *n, struct share *s)
{
    if (s->task.work)
        thread_pool_finish(&n->m->pool, &s->task);
    for (struct share *piece = s->next; piece; piece = piece->next)
        thread_pool_finish(&n->m->pool, &piece->task);
}

static void add_to_cache(const struct naming *n, const struct share *s)
{
    for (size_t i = 0; i < s->uncached_jobs; i++)
        name_cache_add(&s->entry->object->names, &n->jobs[s->jobs[i]]);
}

void local_resolver_name(struct local_resolver *m, struct name_job *jobs, size_t count)
{
    struct naming n = {.m = m, .jobs = jobs, .scratch = ARENA_INIT};
    if (group_jobs(&n, count)) {
        start_shares(&n);
        for (size_t i = 0; i < n.share_count; i++)
            finish_share(&n, &n.shares[i]);
        for (size_t i = 0; !n.failed && i < n.share_count; i++)
            add_to_cache(&n, &n.shares[i]);
    }
    local_resolver_finish_all(m);
    for (unsigned i = 0; i < m->pool.workers; i++) {
        namer_destroy(m->workers[i].namer);
        m->workers[i].namer = NULL;
    }
    arena_deinit(&n.scratch);
}
