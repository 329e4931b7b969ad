/* SPDX-License-Identifier: Apache-2.0 */
#include "base/array.h"
#include "base/sort.h"
#include "base/trie.h"
#include "model/sample_labels.h"
#include "web/core/label_process.h"
#include "web/core/tracks.h"

#define WAITS_LISTED 5000

/* The waits of a thread with the same reason, function, waker, and lock or file. */
struct wait_group {
    thread_id thread;
    uint8_t reason; /* enum activity */
    string_id function;
    frame_id waker;      /* the frame with the waker's name, or 0 */
    label_id lock, file; /* that the thread waited for, or 0 */
    uint64_t count;
    double total, longest, begin; /* ns; begin: of the longest one */
};

struct waits {
    const struct shown *s;
    struct arena arena;
    struct trie trie;        /* thread, reason, function, waker, lock or file */
    label_id *locks, *files; /* by set of labels */
    struct wait_group *groups;
    uint32_t *group_of_node; /* number + 1 */
    size_t count, cap, node_cap;
    uint8_t *reasons; /* by stack: activity + 1, or 0: not known yet */
    string_id *functions;
};

/* The innermost function outside the kernel, otherwise the innermost one; not of the
 * waker. */
static string_id function_of(const struct shown *s, stack_id stack)
{
    const struct profile *p = s->p;
    frame_id innermost = 0;
    for (stack_id at = stack; at; at = p->stacks[at].parent) {
        frame_id frame = p->stacks[at].frame;
        uint32_t kind = p->frames[frame].kind;
        if (kind == FRAME_WAKER || kind == FRAME_MARKER)
            continue;
        innermost = innermost ? innermost : frame;
        if (kind != FRAME_KERNEL) {
            innermost = frame;
            break;
        }
    }
    return s->paths.label_of_frame[innermost];
}

/* The leaf of a stack with a waker is the waker's name. */
static frame_id waker_of(const struct shown *s, stack_id stack)
{
    frame_id leaf = s->p->stacks[stack].frame;
    return s->p->frames[leaf].kind == FRAME_WAKER ? leaf : 0;
}

static void put_waker(struct json_writer *w, const struct shown *s, frame_id waker)
{
    const struct frame *frame = &s->p->frames[waker];
    string_id label = s->paths.label_of_frame[waker];
    json_member_str(w, "waker", strings_get(&s->paths.labels, label));
    if (frame->address && !frame->module)
        json_member_u64(w, "waker_tid", frame->address);
}

/* A wait for a lock or a file is one, also if its stack does not show it. */
static uint8_t reason_of(const struct profile *p, uint8_t by_stack, label_id lock,
                         label_id file)
{
    struct str name = profile_string(p, p->labels[file].text);
    if (lock)
        return ACTIVITY_LOCK;
    if (!file || by_stack != ACTIVITY_SLEEP || str_starts(name, STR("anon_inode:")))
        return by_stack;
    return str_starts(name, STR("/")) ? ACTIVITY_DISK : ACTIVITY_NETWORK;
}

static struct wait_group *group_of(struct waits *w, size_t row)
{
    const struct profile *p = w->s->p;
    const struct sample *sample = &p->samples[row];
    stack_id stack = sample->stack;
    if (!w->reasons[stack]) {
        w->reasons[stack] = (uint8_t)(wait_activity(p, stack) + 1);
        w->functions[stack] = function_of(w->s, stack);
    }
    label_id lock = w->locks[profile_labels(p, row)];
    label_id file = lock ? 0 : w->files[profile_labels(p, row)];
    const struct wait_group found = {
        .thread = sample->thread,
        .reason = reason_of(p, (uint8_t)(w->reasons[stack] - 1), lock, file),
        .function = w->functions[stack],
        .waker = waker_of(w->s, stack),
        .lock = lock,
        .file = file};
    uint32_t node = trie_child(&w->trie, 0, found.thread);
    node = trie_child(&w->trie, node, found.reason);
    node = trie_child(&w->trie, node, found.function);
    node = trie_child(&w->trie, node, found.waker);
    node = trie_child(&w->trie, node, lock ? lock : file); /* another label each */
    if (!ARRAY_RESERVE_ZEROED(&w->arena, w->group_of_node, w->node_cap, node + 1))
        return NULL;
    if (!w->group_of_node[node]) {
        if (!ARRAY_RESERVE(&w->arena, w->groups, w->cap, w->count + 1))
            return NULL;
        w->groups[w->count++] = found;
        w->group_of_node[node] = (uint32_t)w->count;
    }
    return &w->groups[w->group_of_node[node] - 1];
}

/* A sample of a wait has the time of its end. */
static bool add_wait(struct waits *w, size_t row)
{
    const struct sample *sample = &w->s->p->samples[row];
    struct wait_group *g = group_of(w, row);
    uint64_t first = w->s->p->facts.time_first;
    if (!g)
        return false;
    g->count += sample->count;
    g->total += sample->weight;
    if (sample->weight <= g->longest)
        return true;
    double end = sample->time != TIME_NONE && sample->time >= first
                     ? (double)(sample->time - first)
                     : 0;
    g->longest = sample->weight;
    g->begin = end > g->longest ? end - g->longest : 0;
    return true;
}

/* Sleep is last: idle threads sleep all of the time. */
static bool before(const void *context, uint32_t a, uint32_t b)
{
    const struct wait_group *groups = context;
    bool left = groups[a].reason == ACTIVITY_SLEEP,
         right = groups[b].reason == ACTIVITY_SLEEP;
    return left != right ? right : groups[a].total > groups[b].total;
}

static void put_group(struct json_writer *w, const struct shown *s,
                      const struct wait_group *g)
{
    static const char *const names[] = {"running", "lock", "disk",
                                        "network", "cpu",  "sleep"};
    const struct thread *t = &s->p->threads[g->thread];
    json_begin(w, JSON_OBJECT);
    json_member_str(w, "name", profile_string(s->p, t->name));
    if (has_id(t->pid))
        json_member_double(w, "pid", (double)t->pid);
    if (t->tid != ID_NONE)
        json_member_double(w, "tid", (double)t->tid);
    json_member_str(w, "reason", str_of(names[g->reason]));
    json_member_u64(w, "label", g->function);
    json_member_str(w, "function", strings_get(&s->paths.labels, g->function));
    if (g->waker)
        put_waker(w, s, g->waker);
    if (g->lock)
        json_member_str(w, "lock", profile_string(s->p, s->p->labels[g->lock].text));
    if (g->file)
        json_member_str(w, "file", profile_string(s->p, s->p->labels[g->file].text));
    json_member_u64(w, "count", g->count);
    json_member_double(w, "total", g->total);
    json_member_double(w, "longest", g->longest);
    json_member_double(w, "begin", g->begin);
    json_end(w, JSON_OBJECT);
}

static bool collect(struct waits *w, event_id off)
{
    const struct profile *p = w->s->p;
    w->reasons = arena_zalloc(&w->arena, p->stack_count + 1, 1);
    w->functions = arena_zalloc(&w->arena, p->stack_count + 1, sizeof *w->functions);
    w->locks = label_sets_find(p, STR("lock"), &w->arena);
    w->files = label_sets_find(p, STR("file"), &w->arena);
    if (!w->reasons || !w->functions || !w->locks || !w->files ||
        !trie_init(&w->trie, &w->arena))
        return false;
    for (size_t i = 0; i < p->sample_count; i++)
        if (p->samples[i].event == off && !add_wait(w, i))
            return false;
    return !w->arena.failed;
}

bool reply_waits(struct json_writer *w, const struct shown *s, struct error *err)
{
    struct waits waits = {.s = s};
    event_id off = profile_find_kind(s->p, EVENT_WAITING);
    bool ok = !off || s->p->events[off].unit != UNIT_NANOSECONDS || collect(&waits, off);
    uint32_t *order = arena_alloc(&waits.arena, 2 * (waits.count + 1) * sizeof *order);
    if (ok && order) {
        for (uint32_t i = 0; i < waits.count; i++)
            order[i] = i;
        sort_u32(order, waits.count, order + waits.count, before, waits.groups);
        json_begin(w, JSON_ARRAY);
        for (size_t i = 0; i < waits.count && i < WAITS_LISTED; i++)
            put_group(w, s, &waits.groups[order[i]]);
        json_end(w, JSON_ARRAY);
    }
    trie_seal(&waits.trie);
    ok = ok && order;
    arena_deinit(&waits.arena);
    return ok || error_memory(err);
}
