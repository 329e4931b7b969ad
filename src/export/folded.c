/* SPDX-License-Identifier: Apache-2.0 */
/* Folded stacks: "thread;root;...;leaf WEIGHT" per distinct stack, in byte order of
 * the text before the weight; a differential profile has two weights, before and
 * after.
 *
 * The order is computed without writing the lines: lines sort by their names, each
 * followed by ';' or the end. All names are ranked once in both forms. Sorting
 * siblings by rank and walking the tree gives every stack its position. */
#include "base/bits.h"
#include "base/sort.h"
#include "export/exporter.h"
#include "export/folded_text.h"

/* A line: a thread's label and a path, each by its position in the order. */
struct row {
    uint32_t thread; /* label ID in `threads`, 0 for none */
    uint32_t path;
    uint32_t position;    /* of the path, in the order of the lines of one thread */
    uint32_t thread_rank; /* the order of the threads' labels */
    double weight, rest, base, base_rest; /* see struct sample */
};

/* A run of paths, each of which is the only child of the preceding one and has the
 * next number. Only the last can end a line: a run ends where lines branch or end.
 * There are far fewer runs than paths, and the first label of a run determines its
 * position among its siblings. */
struct run {
    uint32_t first; /* path */
    uint32_t parent;
    string_id label; /* of the first path */
    bool is_longer;  /* than one path */
    bool ends_line, has_children;
};

/* The first paths of runs, as a bitmap, with the number of set bits before each word. */
struct run_starts {
    uint64_t *bits;
    uint32_t *before;
    size_t words;
};

/* The ranks of all labels, computed while the rows are collected. */
struct ranking {
    struct pool_task task; /* first member, so that the task is the ranking */
    struct arena arena;
    const struct strings *labels;
    uint32_t *rank; /* by label * 2 + (1 if followed by ';'); NULL if out of memory */
};

struct folded_writer {
    struct arena arena;
    const struct profile *p;
    const struct calltree_options *options;
    struct paths paths;
    struct strings threads; /* the labels of threads */
    string_id *label_of_thread;
    const uint32_t *rank; /* see struct ranking */
    uint32_t *thread_rank;
    struct run_starts starts;
    struct run *runs; /* [0]: the root */
    size_t run_count;
    uint32_t *position; /* by run: position of the line at its end */
    struct row *rows;
    size_t row_count;
    event_id event, base;
    const struct thread_pool *pool;
    struct output *out;
};

/* Whether a label sorts after the name but before "name;". */
static bool comes_between(struct str name, struct str label)
{
    return str_starts(label, name) && label.len > name.len &&
           (unsigned char)label.ptr[name.len] < ';';
}

/* Ranks all labels, both alone and followed by ';'. Only the former are sorted: a name
 * is followed by the labels that sort before the name with ';', then by that. NULL if
 * out of memory. */
static uint32_t *rank_labels(struct arena *a, const struct strings *labels)
{
    size_t count = labels->count, open = 0;
    uint32_t *items = arena_alloc(a, count * sizeof *items);
    uint32_t *opened = arena_alloc(a, count * sizeof *opened);
    uint32_t *rank = arena_alloc(a, count * 2 * sizeof *rank), next = 0;
    if (!items || !opened || !rank)
        return NULL;
    for (uint32_t i = 0; i < count; i++)
        items[i] = i;
    if (!strings_sort(labels, items, count, a))
        return NULL;
    for (size_t i = 0; i < count; i++) {
        struct str label = labels->items[items[i]];
        while (open && !comes_between(labels->items[opened[open - 1]], label))
            rank[(size_t)opened[--open] * 2 + 1] = next++;
        rank[(size_t)items[i] * 2] = next++;
        opened[open++] = items[i];
    }
    while (open)
        rank[(size_t)opened[--open] * 2 + 1] = next++;
    return rank;
}

static void rank_task(struct pool_task *task, unsigned worker)
{
    struct ranking *r = (struct ranking *)(void *)task;
    (void)worker;
    r->rank = rank_labels(&r->arena, r->labels);
}

/* --- Runs ------------------------------------------------------------------------- */

static void mark_start(struct run_starts *s, uint32_t path)
{
    s->bits[path / 64] |= (uint64_t)1 << path % 64;
}

/* Most paths have the number after their caller's. If not, both the path and the child
 * that does begin a run. So does the path after the end of a line. */
static void mark_starts(struct folded_writer *w)
{
    const struct path_node *nodes = w->paths.nodes;
    struct run_starts *s = &w->starts;
    mark_start(s, 0);
    mark_start(s, 1);
    for (uint32_t n = 1; n < w->paths.count; n++) {
        if (nodes[n].parent + 1 == n)
            continue;
        mark_start(s, n);
        mark_start(s, nodes[n].parent + 1);
    }
    for (size_t i = 0; i < w->row_count; i++)
        mark_start(s, w->rows[i].path + 1);
}

/* Counts the runs; the path after the last is not one. */
static size_t count_starts(struct run_starts *s, size_t paths)
{
    size_t count = 0;
    s->bits[paths / 64] &= ((uint64_t)1 << paths % 64) - 1;
    for (size_t i = 0; i < s->words; i++) {
        s->before[i] = (uint32_t)count;
        count += bits_count(s->bits[i]);
    }
    return count;
}

/* The run that contains the path. */
static uint32_t run_at(const struct folded_writer *w, uint32_t path)
{
    const struct run_starts *s = &w->starts;
    uint64_t up_to = s->bits[path / 64] & (UINT64_MAX >> (63 - path % 64));
    return s->before[path / 64] + bits_count(up_to) - 1;
}

static void find_firsts(struct folded_writer *w)
{
    struct run *run = w->runs;
    for (size_t i = 0; i < w->starts.words; i++)
        for (uint64_t bits = w->starts.bits[i]; bits; bits &= bits - 1)
            run++->first = (uint32_t)(i * 64) + (uint32_t)__builtin_ctzll(bits);
}

/* The prefetch distance for the first paths of runs. */
#define RUNS_AHEAD 12

static void fill_runs(struct folded_writer *w)
{
    const struct paths *t = &w->paths;
    struct run *runs = w->runs;
    for (size_t i = 1; i < w->run_count; i++) {
        struct run *run = &runs[i];
        size_t next = i + 1 < w->run_count ? run[1].first : t->count;
        if (i + RUNS_AHEAD < w->run_count)
            __builtin_prefetch(&t->nodes[run[RUNS_AHEAD].first]);
        run->parent = run_at(w, t->nodes[run->first].parent);
        run->label = path_label(t, run->first);
        run->is_longer = next - run->first > 1;
        runs[run->parent].has_children = true;
    }
    for (size_t i = 0; i < w->row_count; i++)
        runs[run_at(w, w->rows[i].path)].ends_line = true;
}

static bool make_runs(struct folded_writer *w)
{
    struct run_starts *s = &w->starts;
    s->words = w->paths.count / 64 + 1;
    s->bits = arena_zalloc(&w->arena, s->words, sizeof *s->bits);
    s->before = arena_alloc(&w->arena, s->words * sizeof *s->before);
    if (!s->bits || !s->before)
        return false;
    mark_starts(w);
    w->run_count = count_starts(s, w->paths.count);
    w->runs = arena_zalloc(&w->arena, w->run_count, sizeof *w->runs);
    if (!w->runs)
        return false;
    find_firsts(w);
    fill_runs(w);
    return true;
}

static uint32_t run_parent(const void *context, uint32_t run)
{
    return ((const struct folded_writer *)context)->runs[run].parent;
}

/* Items are run * 2 (the line at its end) and run * 2 + 1 (the lines of its callees). */
static uint32_t item_rank(const struct folded_writer *w, uint32_t item)
{
    const struct run *run = &w->runs[item / 2];
    return w->rank[run->label * 2 + (item % 2 || run->is_longer)];
}

static bool before_item(const void *context, uint32_t a, uint32_t b)
{
    return item_rank(context, a) < item_rank(context, b);
}

/* Sorts the items of a run's children; returns their number. */
static uint32_t sort_children(const struct folded_writer *w, const struct children *c,
                              uint32_t run, uint32_t *items, uint32_t *scratch)
{
    uint32_t count = 0;
    for (uint32_t i = c->first[run]; i < c->first[run + 1]; i++) {
        uint32_t child = c->items[i];
        if (w->runs[child].ends_line)
            items[count++] = child * 2;
        if (w->runs[child].has_children)
            items[count++] = child * 2 + 1;
    }
    sort_u32(items, count, scratch, before_item, w);
    return count;
}

/* Walks the runs in the order of their lines and numbers the lines. An item is taken
 * from its parent's sorted items; an item with callees adds its own. */
static bool order_runs(struct folded_writer *w)
{
    struct arena *a = &w->arena;
    struct children c;
    size_t count = w->run_count;
    w->position = arena_zalloc(a, count, sizeof(uint32_t));
    uint32_t *items = arena_alloc(a, count * 2 * sizeof *items);
    uint32_t *scratch = arena_alloc(a, count * 2 * sizeof *scratch);
    uint32_t *next = arena_alloc(a, count * sizeof *next);
    uint32_t *end = arena_alloc(a, count * sizeof *end);
    if (!w->position || !items || !scratch || !next || !end || count > UINT32_MAX / 2 ||
        !children_init(&c, a, count, run_parent, w))
        return false;
    for (uint32_t n = 0; n < count; n++) {
        next[n] = c.first[n] * 2;
        end[n] = next[n] + sort_children(w, &c, n, items + next[n], scratch);
    }
    for (uint32_t at = 0, placed = 0;;) {
        if (next[at] == end[at]) {
            if (at == 0)
                return true;
            at = w->runs[at].parent;
            continue;
        }
        uint32_t item = items[next[at]++];
        if (item % 2)
            at = item / 2;
        else
            w->position[item / 2] = ++placed;
    }
}

static bool label_threads(struct folded_writer *w)
{
    struct output text = OUTPUT_BUFFER;
    w->label_of_thread = arena_zalloc(&w->arena, w->p->thread_count, sizeof(string_id));
    if (!w->label_of_thread || !strings_init(&w->threads, &w->arena))
        return false;
    for (thread_id t = 1; t < w->p->thread_count; t++) {
        text.used = 0;
        label_thread(&text, w->p, t, w->options->threads);
        w->label_of_thread[t] = strings_add(&w->threads, output_contents(&text));
    }
    bool ok = !text.failed && !w->arena.failed;
    output_deinit(&text);
    return ok;
}

/* --- Rows ------------------------------------------------------------------------ */

static bool collect_rows(struct folded_writer *w)
{
    const struct profile *p = w->p;
    bool samples = w->options->weight == CALLTREE_SAMPLES;
    w->rows = arena_alloc(&w->arena, (p->sample_count + 1) * sizeof *w->rows);
    for (size_t i = 0; w->rows && i < p->sample_count; i++) {
        const struct sample *s = &p->samples[i];
        double weight = samples ? (double)s->count : s->weight;
        double rest = samples ? 0 : s->rest;
        if (s->event != w->event && (!w->base || s->event != w->base))
            continue;
        struct row *row = &w->rows[w->row_count++];
        *row = (struct row){.thread = w->label_of_thread[s->thread],
                            .path = path_of_stack(&w->paths, s->stack),
                            .weight = s->event == w->event ? weight : 0,
                            .rest = s->event == w->event ? rest : 0,
                            .base = s->event == w->event ? 0 : weight,
                            .base_rest = s->event == w->event ? 0 : rest};
    }
    return w->rows != NULL;
}

static uint32_t row_position(const struct row *r)
{
    return r->position;
}

static uint32_t row_thread(const struct row *r)
{
    return r->thread_rank;
}

/* Sorts row indices by a key below `bound`; stable. False if out of memory. */
static bool sort_by_key(struct folded_writer *w, const uint32_t *from, uint32_t *to,
                        uint32_t (*key)(const struct row *r), size_t bound)
{
    uint32_t *at = arena_zalloc(&w->arena, bound + 1, sizeof *at);
    if (!at)
        return false;
    for (size_t i = 0; i < w->row_count; i++)
        at[key(&w->rows[i]) + 1]++;
    for (size_t k = 1; k <= bound; k++)
        at[k] += at[k - 1];
    for (size_t i = 0; i < w->row_count; i++)
        to[at[key(&w->rows[from[i]])]++] = from[i];
    return true;
}

/* The rows in the order of their lines: by thread, then by path. */
static uint32_t *order_rows(struct folded_writer *w)
{
    uint32_t *order = arena_alloc(&w->arena, (w->row_count + 1) * sizeof *order);
    uint32_t *scratch = arena_alloc(&w->arena, (w->row_count + 1) * sizeof *scratch);
    if (!order || !scratch)
        return NULL;
    for (uint32_t i = 0; i < w->row_count; i++) {
        struct row *r = &w->rows[i];
        order[i] = i;
        r->position = w->position[run_at(w, r->path)];
        r->thread_rank = w->thread_rank[r->thread * 2 + (r->position != 0)];
    }
    bool ok = sort_by_key(w, order, scratch, row_position, w->run_count + 1) &&
              sort_by_key(w, scratch, order, row_thread, w->threads.count * 2);
    return ok ? order : NULL;
}

static bool same_line(const struct row *a, const struct row *b)
{
    return a->position == b->position && a->thread_rank == b->thread_rank;
}

/* Writes the rows in order; the weights of equal lines are added. */
static bool write_rows(struct folded_writer *w)
{
    const uint32_t *order = order_rows(w);
    struct folded_line *lines =
        arena_alloc(&w->arena, (w->row_count + 1) * sizeof *lines);
    size_t count = 0;
    bool is_live = !w->base && w->p->events[w->event].kind == EVENT_LIVE;
    if (!order || !lines)
        return false;
    for (size_t i = 0; i < w->row_count;) {
        const struct row *first = &w->rows[order[i]];
        struct folded_line line = {strings_get(&w->threads, first->thread),
                                   first->path,
                                   first->weight,
                                   first->rest,
                                   first->base,
                                   first->base_rest};
        for (i++; i < w->row_count && same_line(&w->rows[order[i]], first); i++) {
            const struct row *more = &w->rows[order[i]];
            weight_add(&line.weight, &line.rest, more->weight, more->rest);
            weight_add(&line.base, &line.base_rest, more->base, more->base_rest);
        }
        /* what is allocated and freed again is not live */
        bool is_gone = is_live && line.weight >= 0 && line.weight <= 0;
        if ((line.path || line.thread.len) && !is_gone)
            lines[count++] = line;
    }
    struct folded_text text = {&w->paths, lines, count, w->base != 0};
    return folded_text_write(&text, w->pool, w->out);
}

static bool collect_runs(struct folded_writer *w)
{
    calltree_events(w->p, w->options, &w->event, &w->base);
    if (!label_threads(w) || !collect_rows(w) || !make_runs(w))
        return false;
    w->thread_rank = rank_labels(&w->arena, &w->threads);
    return w->thread_rank != NULL;
}

static bool folded_prepare(struct folded_writer *w)
{
    struct ranking ranking = {.task.work = rank_task, .labels = &w->paths.labels};
    thread_pool_start(w->pool, &ranking.task);
    bool ok = collect_runs(w);
    thread_pool_finish(w->pool, &ranking.task);
    w->rank = ranking.rank;
    ok = ok && w->rank && order_runs(w);
    w->rank = NULL;
    arena_deinit(&ranking.arena);
    return ok;
}

static bool folded_write(const struct profile *p, const struct export_options *options,
                         struct output *out, struct error *err)
{
    struct folded_writer w = {
        .p = p, .options = &options->tree, .pool = options->pool, .out = out};
    struct label_style style = options->tree.label;
    style.folded = true; /* before sorting: the order is that of the written text */
    if (!paths_init(&w.paths, p, &style, err)) {
        paths_deinit(&w.paths);
        return false;
    }
    bool ok = folded_prepare(&w) && write_rows(&w);
    arena_deinit(&w.arena);
    paths_deinit(&w.paths);
    return ok || error_memory(err);
}

const struct exporter export_folded = {
    .name = "folded",
    .suffixes = "folded,collapsed",
    .summary = "folded stacks, one line each",
    .write = folded_write,
};
