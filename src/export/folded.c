/* SPDX-License-Identifier: Apache-2.0 */
/* Folded stacks: "thread;outermost;...;leaf WEIGHT" per distinct stack, in bytewise order
 * of the text before the weight; a differential profile has two weights, before and
 * after.
 *
 * The order is found without making the lines: a stack's line sorts by its names, each
 * with what follows it, ';' or the end. All names are ranked once in both forms; sorting
 * siblings by rank and walking the tree gives every stack its place. */
#include "base/bits.h"
#include "base/sort.h"
#include "export/exporter.h"
#include "export/folded_text.h"

/* A line: a thread's label and a path, each by its place in the order. */
struct row {
    uint32_t thread; /* label id in `threads`, 0 for none */
    uint32_t path;
    uint32_t place;       /* of the path, in the order of the lines of one thread */
    uint32_t thread_rank; /* the order of the threads' labels */
    double weight, rest, base, base_rest; /* as of samples */
};

/* A run of paths, each the only child of the one before it and behind it in number, none
 * but the last the end of a line: where lines part or end, a run does. There are far fewer
 * runs than paths, and the first label of a run tells its place among those beside it. */
struct run {
    uint32_t first; /* path */
    uint32_t parent;
    string_id label; /* of the first path */
    bool is_longer;  /* than one path */
    bool ends_line, has_children;
};

/* Which paths are the first of a run: a bit for each, and how many there are in front of
 * each word of bits. */
struct run_starts {
    uint64_t *bits;
    uint32_t *before;
    size_t words;
};

/* The ranks of all labels, found while the rows are collected. */
struct ranking {
    struct errand errand; /* first: the errand is the ranking */
    struct arena arena;
    const struct strings *labels;
    uint32_t *rank; /* by label * 2 + (1 where ';' follows); NULL when memory is short */
};

struct folded_writer {
    struct arena arena;
    const struct profile *p;
    const struct calltree_options *options;
    struct paths paths;
    struct strings threads; /* the labels of threads */
    string_id *label_of_thread;
    const uint32_t *rank; /* as in a ranking */
    uint32_t *thread_rank;
    struct run_starts starts;
    struct run *runs; /* [0]: the root */
    size_t run_count;
    uint32_t *place; /* by run: of the line at its end */
    struct row *rows;
    size_t row_count;
    event_id event, base;
    const struct crew *crew;
    struct output *out;
};

/* Whether a label comes before "name;" where it comes behind the name. */
static bool comes_between(struct str name, struct str label)
{
    return str_starts(label, name) && label.len > name.len &&
           (unsigned char)label.ptr[name.len] < ';';
}

/* Ranks of all labels, alone and followed by ';'. Sorted are those alone: behind a name
 * come those that it begins, then it with its ';'. NULL when memory is short. */
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

static void rank_errand(struct errand *errand, unsigned hand)
{
    struct ranking *r = (struct ranking *)(void *)errand;
    (void)hand;
    r->rank = rank_labels(&r->arena, r->labels);
}

/* --- Runs ------------------------------------------------------------------------- */

static void mark_start(struct run_starts *s, uint32_t path)
{
    s->bits[path / 64] |= (uint64_t)1 << path % 64;
}

/* Most paths have the number behind their caller's. One that does not parts from what
 * does: both begin a run, as does what is behind the end of a line. */
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

/* Counts the runs; the path behind the last is not one. */
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

/* The run that the path is of. */
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

/* So far ahead the first path of a run is fetched. */
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

/* Items are run * 2 (the line at its end) and run * 2 + 1 (the lines behind that). */
static uint32_t item_rank(const struct folded_writer *w, uint32_t item)
{
    const struct run *run = &w->runs[item / 2];
    return w->rank[run->label * 2 + (item % 2 || run->is_longer)];
}

static bool before_item(const void *context, uint32_t a, uint32_t b)
{
    return item_rank(context, a) < item_rank(context, b);
}

/* The items of a run's children, in order; how many there are. */
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

/* Walks the runs in the order of their lines and numbers the lines. An item is taken from
 * its parent's sorted share; one with lines behind it opens a share of its own. */
static bool place_runs(struct folded_writer *w)
{
    struct arena *a = &w->arena;
    struct children c;
    size_t count = w->run_count;
    w->place = arena_zalloc(a, count, sizeof(uint32_t));
    uint32_t *items = arena_alloc(a, count * 2 * sizeof *items);
    uint32_t *scratch = arena_alloc(a, count * 2 * sizeof *scratch);
    uint32_t *next = arena_alloc(a, count * sizeof *next);
    uint32_t *end = arena_alloc(a, count * sizeof *end);
    if (!w->place || !items || !scratch || !next || !end || count > UINT32_MAX / 2 ||
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
            w->place[item / 2] = ++placed;
    }
}

static bool label_threads(struct folded_writer *w)
{
    struct output text = OUTPUT_KEEP;
    w->label_of_thread = arena_zalloc(&w->arena, w->p->thread_count, sizeof(string_id));
    if (!w->label_of_thread || !strings_init(&w->threads, &w->arena))
        return false;
    for (thread_id t = 1; t < w->p->thread_count; t++) {
        text.used = 0;
        label_thread(&text, w->p, t, w->options->threads);
        w->label_of_thread[t] = strings_add(&w->threads, output_kept(&text));
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

static uint32_t row_place(const struct row *r)
{
    return r->place;
}

static uint32_t row_thread(const struct row *r)
{
    return r->thread_rank;
}

/* Puts row numbers in the order of a key below `bound`, those with the same key as they
 * were. False when memory is short. */
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
        r->place = w->place[run_at(w, r->path)];
        r->thread_rank = w->thread_rank[r->thread * 2 + (r->place != 0)];
    }
    bool ok = sort_by_key(w, order, scratch, row_place, w->run_count + 1) &&
              sort_by_key(w, scratch, order, row_thread, w->threads.count * 2);
    return ok ? order : NULL;
}

static bool same_line(const struct row *a, const struct row *b)
{
    return a->place == b->place && a->thread_rank == b->thread_rank;
}

/* The rows in order; those of the same line are added up. */
static bool write_rows(struct folded_writer *w)
{
    const uint32_t *order = order_rows(w);
    struct folded_line *lines =
        arena_alloc(&w->arena, (w->row_count + 1) * sizeof *lines);
    size_t count = 0;
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
        if (line.path || line.thread.len)
            lines[count++] = line;
    }
    struct folded_text text = {&w->paths, lines, count, w->base != 0};
    return folded_text_write(&text, w->crew, w->out);
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
    struct ranking ranking = {.errand.work = rank_errand, .labels = &w->paths.labels};
    crew_start(w->crew, &ranking.errand);
    bool ok = collect_runs(w);
    crew_finish(w->crew, &ranking.errand);
    w->rank = ranking.rank;
    ok = ok && w->rank && place_runs(w);
    w->rank = NULL;
    arena_deinit(&ranking.arena);
    return ok;
}

static bool folded_write(const struct profile *p, const struct export_options *options,
                         struct output *out, struct error *err)
{
    struct folded_writer w = {
        .p = p, .options = &options->tree, .crew = options->crew, .out = out};
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
