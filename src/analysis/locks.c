/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/locks.h"
#include "base/array.h"
#include "base/sort.h"
#include "model/sample_labels.h"

#define HOLDER_EVENT STR("lock-holder")

/* Functions that implement locks, by the beginnings of their names without underscores, and what
 * they are for. */
static const struct lock_function {
    const char *name, *kind;
} functions[] = {
    {"pthread_mutex", "mutex"},
    {"pthread_rwlock", "rwlock"},
    {"pthread_cond", "condition variable"},
    {"pthread_barrier", "barrier"},
    {"pthread_join", "end of a thread"},
    {"pthread_clockjoin", "end of a thread"},
    {"pthread_timedjoin", "end of a thread"},
    {"pthread_once", "once"},
    {"sem_", "semaphore"},
    {"new_sem_", "semaphore"},
    {"lll_mutex", "mutex"},
    {"lll_lock", ""},
    {"lll_unlock", ""},
    {"futex_", ""},
    {"syscall", ""},
    {"gthread_", ""},
    {"gthrw_", ""},
    {"std::mutex", "mutex"},
    {"std::timed_mutex", "mutex"},
    {"std::recursive_mutex", "mutex"},
    {"std::shared_mutex", "rwlock"},
    {"std::shared_timed_mutex", "rwlock"},
    {"std::condition_variable", "condition variable"},
    {"std::unique_lock", ""},
    {"std::lock_guard", ""},
    {"std::scoped_lock", ""},
    {"std::shared_lock", ""},
    {"std::counting_semaphore", "semaphore"},
    {"std::barrier", "barrier"},
    {"std::latch", "latch"},
    {"std::__", ""},    /* internals of libstdc++ and libc++ */
    {"std::sys::", ""}, /* of Rust */
    {"parking_lot::", ""},
    {"parking_lot_core::", ""},
    {"lock_api::", ""},
    {"mtx_lock", "mutex"}, /* of C11 */
    {"mtx_timedlock", "mutex"},
    {"cnd_", "condition variable"},
    {"timedwait", ""}, /* in musl */
    {"absl::Mutex", "mutex"},
    {"absl::CondVar", "condition variable"},
    {"boost::mutex", "mutex"},
    {"boost::condition_variable", "condition variable"},
    {"QBasicMutex", "mutex"},
    {"QMutex", "mutex"},
    {"QReadWriteLock", "rwlock"},
    {"QWaitCondition", "condition variable"},
    {"QSemaphore", "semaphore"},
    {"g_mutex_", "mutex"},
    {"g_rec_mutex_", "mutex"},
    {"g_rw_lock_", "rwlock"},
    {"g_cond_", "condition variable"},
    {"uv_mutex_", "mutex"},
    {"uv_rwlock_", "rwlock"},
    {"uv_cond_", "condition variable"},
    {"uv_sem_", "semaphore"},
    {"uv_barrier_", "barrier"},
    {"gomp_barrier", "barrier"},
    {"gomp_team_barrier", "barrier"},
    {"gomp_mutex", "mutex"},
    {"GOMP_barrier", "barrier"},
    {"GOMP_critical", "mutex"},
    {"start_thread", ""},
    {"clone3", ""},
};

/* The same for CPython, whose locks are made of semaphores and condition variables: the kind
 * is that of the innermost of these functions. Then follows what calls a function of C. */
static const struct lock_function python[] = {
    {"take_gil", "GIL"},
    {"drop_gil", "GIL"},
    {"PyCOND_", ""},
    {"PyEval_RestoreThread", "GIL"},
    {"PyEval_SaveThread", "GIL"},
    {"PyEval_AcquireThread", "GIL"},
    {"PyGILState_Ensure", "GIL"},
    {"eval_frame_handle_pending", "GIL"},
    {"eval_breaker", "GIL"},
    {"Py_HandlePending", "GIL"},
    {"PyMutex_", "Python lock"},
    {"PyParkingLot_", ""},
    {"PySemaphore_", ""},
    {"PyThread_", "Python lock"},
    {"lock_PyThread_", "Python lock"},
    {"rlock_", "Python lock"},
    {"acquire_timed", "Python lock"},
    {"method_vectorcall_", ""},
    {"cfunction_", ""},
    {"PyObject_Vectorcall", ""},
    {"PyObject_MakeTpCall", ""},
    {"PyVectorcall_", ""},
};

/* Modules of Python's library that wait for others. */
static const char *const python_files[] = {"threading.py", "queue.py"};

struct grouping {
    struct locks *l;
    struct trie trie;                /* side, lock, thread, stack */
    uint32_t *row_of_node, *lock_of; /* by label */
    const label_id *label_of_set;
    size_t node_cap;
    event_id holders;
};

static const struct lock_function *find(const struct lock_function *list, size_t count,
                                        struct str name)
{
    for (size_t i = 0; i < count; i++)
        if (str_starts(name, str_of(list[i].name)))
            return &list[i];
    return NULL;
}

static bool is_python_file(const struct profile *p, const struct frame *f)
{
    struct str path = profile_string(p, f->file ? f->file : p->modules[f->module].path);
    struct str name = str_basename(path);
    for (size_t i = 0; i < sizeof python_files / sizeof *python_files; i++)
        if (str_equal(name, str_of(python_files[i])))
            return true;
    return false;
}

/* The kind of lock that a stack is about. */
struct kind {
    const char *name; /* "": not known yet */
    bool python;
};

/* Whether the frame is of the implementation of a lock. Sets its kind if it is known better. */
static bool is_of_lock(const struct profile *p, const struct frame *f, struct kind *kind)
{
    struct str name = profile_string(p, f->name);
    while (str_starts(name, STR("_")))
        name = str_skip(name, 1);
    if (str_starts(name, STR("GI_"))) /* inside of the C library */
        name = str_skip(name, 3);
    while (str_starts(name, STR("_")) || str_starts(name, STR("<")))
        name = str_skip(name, 1);
    const struct lock_function *found =
        find(python, sizeof python / sizeof *python, name);
    if (found && found->kind[0] && !kind->python)
        *kind = (struct kind){found->kind, true};
    if (found)
        return true;
    found = find(functions, sizeof functions / sizeof *functions, name);
    if (found && !kind->name[0])
        kind->name = found->kind;
    return found || is_python_file(p, f);
}

stack_id locks_user(const struct profile *p, stack_id stack, const char **kind)
{
    struct kind found = {*kind, false};
    stack_id at = stack;
    for (; at; at = p->stacks[at].parent) {
        const struct frame *f = &p->frames[p->stacks[at].frame];
        if (f->kind == FRAME_KERNEL || f->kind == FRAME_MARKER || f->kind == FRAME_WAKER)
            continue;
        if (!is_of_lock(p, f, &found))
            break;
    }
    *kind = found.name;
    return at;
}

/* The lock of a label. */
static struct locks_lock *lock_of(struct grouping *g, label_id label)
{
    struct locks *l = g->l;
    if (g->lock_of[label] == 0) {
        g->lock_of[label] = (uint32_t)l->count;
        l->items[l->count++] = (struct locks_lock){.label = label, .kind = ""};
    }
    return &l->items[g->lock_of[label]];
}

static struct locks_row *row_of(struct grouping *g, enum locks_side side, uint32_t lock,
                                string_id thread, stack_id stack)
{
    struct locks *l = g->l;
    uint32_t keys[] = {(uint32_t)side + 1, lock, thread + 1, stack + 1};
    uint32_t node = trie_descend(&g->trie, 0, keys, 4, NULL);
    if (l->arena.failed ||
        !ARRAY_RESERVE_ZEROED(&l->arena, g->row_of_node, g->node_cap, node + 1))
        return NULL;
    if (g->row_of_node[node])
        return &l->rows[g->row_of_node[node]];
    if (!ARRAY_RESERVE(&l->arena, l->rows, l->row_cap, l->row_count + 1))
        return NULL;
    g->row_of_node[node] = (uint32_t)l->row_count;
    l->rows[l->row_count] = (struct locks_row){
        .thread = thread, .stack = stack, .next = l->items[lock].rows[side]};
    l->items[lock].rows[side] = (uint32_t)l->row_count;
    return &l->rows[l->row_count++];
}

static void add_sample(struct grouping *g, const struct sample *s, label_id label,
                       enum locks_side side)
{
    struct locks *l = g->l;
    struct locks_lock *lock = lock_of(g, label);
    const char *kind = "";
    stack_id user = locks_user(l->p, s->stack, &kind);
    if (!lock->kind[0] && side == LOCKS_WAITED)
        lock->kind = kind;
    struct locks_row *row =
        row_of(g, side, (uint32_t)(lock - l->items), l->p->threads[s->thread].name, user);
    if (!row)
        return;
    row->weight += s->weight;
    row->count += s->count;
    lock->weight[side] += s->weight;
    lock->count[side] += s->count;
    l->weight[side] += s->weight;
    l->waits += side == LOCKS_WAITED ? s->count : 0;
}

static void add_samples(struct grouping *g)
{
    const struct profile *p = g->l->p;
    for (size_t i = 0; i < p->sample_count && !g->l->arena.failed; i++) {
        const struct sample *s = &p->samples[i];
        label_id label = g->label_of_set[profile_labels(p, i)];
        bool holder = s->event == g->holders && s->event;
        if (label && (holder || p->events[s->event].kind == EVENT_WAITING))
            add_sample(g, s, label, holder ? LOCKS_HELD : LOCKS_WAITED);
    }
}

/* Sorts ids by weight, the largest first. */
static uint64_t descending(double weight)
{
    return weight > 0 ? UINT64_MAX - (uint64_t)weight : UINT64_MAX;
}

static void sort_rows(struct locks *l, uint32_t *first, struct sort_key *room)
{
    size_t count = 0;
    for (uint32_t row = *first; row; row = l->rows[row].next)
        room[count++] = (struct sort_key){descending(l->rows[row].weight), row};
    sort_keys(room, count, room + count);
    for (size_t i = count; i-- > 0;) {
        l->rows[room[i].id].next = i + 1 < count ? room[i + 1].id : 0;
        *first = room[i].id;
    }
}

static bool sort_all(struct locks *l)
{
    size_t most = l->count > l->row_count ? l->count : l->row_count;
    struct sort_key *room = arena_zalloc(&l->arena, 2 * most + 1, sizeof *room);
    l->order = arena_zalloc(&l->arena, l->count + 1, sizeof *l->order);
    if (!room || !l->order)
        return false;
    for (size_t i = 1; i < l->count; i++)
        for (unsigned side = 0; side < LOCKS_SIDES; side++)
            sort_rows(l, &l->items[i].rows[side], room);
    for (size_t i = 1; i < l->count; i++)
        room[i - 1] =
            (struct sort_key){descending(l->items[i].weight[LOCKS_WAITED]), (uint32_t)i};
    sort_keys(room, l->count - 1, room + l->count - 1);
    for (size_t i = 1; i < l->count; i++)
        l->order[i] = room[i - 1].id;
    return true;
}

bool locks_init(struct locks *l, const struct profile *p, struct error *err)
{
    *l = (struct locks){.p = p, .count = 1, .row_count = 1};
    struct grouping g = {.l = l, .holders = profile_find_event(p, HOLDER_EVENT)};
    g.label_of_set = label_sets_find(p, STR("lock"), &l->arena);
    g.lock_of = arena_zalloc(&l->arena, p->label_count + 1, sizeof *g.lock_of);
    l->items = arena_zalloc(&l->arena, p->label_count + 1, sizeof *l->items);
    if (!g.label_of_set || !g.lock_of || !l->items || !trie_init(&g.trie, &l->arena) ||
        !ARRAY_RESERVE_ZEROED(&l->arena, l->rows, l->row_cap, 1))
        return error_memory(err);
    if (p->sample_labels)
        add_samples(&g);
    return (!l->arena.failed && sort_all(l)) || error_memory(err);
}

void locks_deinit(struct locks *l)
{
    arena_deinit(&l->arena);
}
