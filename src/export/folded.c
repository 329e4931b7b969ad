/* Folded stacks: "thread;outermost;...;leaf WEIGHT" per distinct stack, in bytewise order
 * of the text before the weight; a differential profile has two weights, before and
 * after.
 *
 * The order is found without making the lines: a stack's line sorts by its names, each
 * with what follows it, ';' or the end. All names are ranked once in both forms; sorting
 * siblings by rank and walking the tree gives every stack its place. */
#include "base/sort.h"
#include "export/exporter.h"
#include "model/paths.h"

/* A line: a thread's label and a path, each by its place in the order. */
struct row {
    uint32_t thread; /* label id in `threads`, 0 for none */
    uint32_t path;
    uint64_t place; /* in the order of the lines */
    double weight, base;
};

/* One frame of the line written last: its path, and where its text ends. */
struct step {
    uint32_t path;
    uint32_t end;
};

struct folded_writer {
    struct arena arena;
    const struct profile *p;
    const struct calltree_options *options;
    struct paths paths;
    struct strings threads; /* the labels of threads */
    string_id *label_of_thread;
    uint32_t *rank; /* by label * 2 + (1 where ';' follows) */
    uint32_t *thread_rank;
    uint32_t *place; /* by path */
    struct row *rows;
    size_t row_count;
    event_id event, base;
    struct output *out;
    struct output text; /* the names of the line written last, */
    struct step *steps; /* frame by frame */
    uint32_t *step_of;  /* by path: its place in steps, where it is among them */
    uint32_t *climb;    /* scratch: a path, leaf first */
    size_t step_count, step_cap, climb_cap;
};

/* Names ordered as if the mark followed them: item * 2 is the name alone, + 1 "name;". */
static bool before_marked(const void *context, uint32_t a, uint32_t b)
{
    const struct strings *labels = context;
    struct str x = labels->items[a / 2], y = labels->items[b / 2];
    size_t shorter = x.len < y.len ? x.len : y.len;
    int order = shorter ? memcmp(x.ptr, y.ptr, shorter) : 0;
    if (order)
        return order < 0;
    int next_x = x.len > shorter ? (unsigned char)x.ptr[shorter] : a % 2 ? ';' : -1;
    int next_y = y.len > shorter ? (unsigned char)y.ptr[shorter] : b % 2 ? ';' : -1;
    return next_x != next_y ? next_x < next_y : x.len < y.len;
}

/* Ranks of all labels, alone and followed by ';'. NULL when memory is short. */
static uint32_t *rank_labels(struct arena *a, const struct strings *labels)
{
    size_t count = labels->count * 2;
    uint32_t *items = arena_alloc(a, count * sizeof *items);
    uint32_t *scratch = arena_alloc(a, count * sizeof *scratch);
    uint32_t *rank = arena_alloc(a, count * sizeof *rank);
    if (!items || !scratch || !rank)
        return NULL;
    for (uint32_t i = 0; i < count; i++)
        items[i] = i;
    sort_u32(items, count, scratch, before_marked, labels);
    for (uint32_t i = 0; i < count; i++)
        rank[items[i]] = i;
    return rank;
}

static uint32_t path_parent(const void *context, uint32_t path)
{
    return ((const struct paths *)context)->nodes[path].parent;
}

/* Items are path * 2 (its own line) and path * 2 + 1 (the lines below it). */
static bool before_item(const void *context, uint32_t a, uint32_t b)
{
    const struct folded_writer *w = context;
    return w->rank[path_label(&w->paths, a / 2) * 2 + a % 2] <
           w->rank[path_label(&w->paths, b / 2) * 2 + b % 2];
}

/* Walks the paths in the order of their lines and numbers them. An item is taken from its
 * parent's sorted run; one with children opens a run of its own. */
static bool place_paths(struct folded_writer *w)
{
    struct paths *t = &w->paths;
    struct arena *a = &w->arena;
    struct children c;
    w->place = arena_zalloc(a, t->count, sizeof(uint32_t));
    uint32_t *items = arena_alloc(a, t->count * 2 * sizeof *items);
    uint32_t *scratch = arena_alloc(a, t->count * 2 * sizeof *scratch);
    uint32_t *next = arena_alloc(a, t->count * sizeof *next);
    if (!w->place || !items || !scratch || !next || t->count > UINT32_MAX / 2 ||
        !children_init(&c, a, t->count, path_parent, t))
        return false;
    for (uint32_t n = 0; n < t->count; n++) {
        size_t from = c.first[n], count = c.first[n + 1] - from;
        next[n] = (uint32_t)from * 2;
        for (size_t i = from; i < from + count; i++) {
            items[i * 2] = c.items[i] * 2;
            items[i * 2 + 1] = c.items[i] * 2 + 1;
        }
        if (count > 1)
            sort_u32(items + from * 2, count * 2, scratch, before_item, w);
    }
    uint32_t at = 0, placed = 0;
    for (;;) {
        if (next[at] == c.first[at + 1] * 2) {
            if (at == 0)
                return true;
            at = t->nodes[at].parent;
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

static uint64_t row_place(const struct folded_writer *w, const struct row *r)
{
    uint32_t thread = w->thread_rank[r->thread * 2 + (w->place[r->path] != 0)];
    return (uint64_t)thread << 32 | w->place[r->path];
}

static bool before_row(const void *context, uint32_t a, uint32_t b)
{
    const struct row *rows = context;
    return rows[a].place < rows[b].place;
}

static bool collect_rows(struct folded_writer *w)
{
    const struct profile *p = w->p;
    bool samples = w->options->weight == CALLTREE_SAMPLES;
    w->rows = arena_alloc(&w->arena, (p->sample_count + 1) * sizeof *w->rows);
    for (size_t i = 0; w->rows && i < p->sample_count; i++) {
        const struct sample *s = &p->samples[i];
        double weight = samples ? (double)s->count : s->weight;
        if (s->event != w->event && (!w->base || s->event != w->base))
            continue;
        struct row *row = &w->rows[w->row_count++];
        *row = (struct row){.thread = w->label_of_thread[s->thread],
                            .path = path_of_stack(&w->paths, s->stack),
                            .weight = s->event == w->event ? weight : 0,
                            .base = s->event == w->event ? 0 : weight};
        row->place = row_place(w, row);
    }
    return w->rows != NULL;
}

/* --- Text ------------------------------------------------------------------------ */

/* Collects the path's frames that the last line does not have, leaf first, into w->climb.
 * *shared is how many frames the two lines share. */
static size_t climb_path(struct folded_writer *w, uint32_t path, size_t *shared)
{
    size_t count = 0;
    for (; path; path = w->paths.nodes[path].parent) {
        size_t step = w->step_of[path];
        if (step < w->step_count && w->steps[step].path == path) {
            *shared = step + 1;
            return count;
        }
        uint32_t *climb =
            arena_grow(&w->arena, w->climb, &w->climb_cap, count + 1, sizeof *climb);
        if (!climb)
            break;
        w->climb = climb;
        climb[count++] = path;
    }
    *shared = 0;
    return count;
}

/* Makes w->text the path's names. Lines come in order, so most of the text of the line
 * before stands: only the frames behind those they share are written anew. */
static void write_path(struct folded_writer *w, uint32_t path)
{
    size_t shared, count = climb_path(w, path, &shared), total = shared + count;
    struct step *steps =
        arena_grow(&w->arena, w->steps, &w->step_cap, total, sizeof *steps);
    if (!steps)
        return;
    w->steps = steps;
    w->text.used = shared ? steps[shared - 1].end : 0;
    for (size_t i = shared; i < total; i++) {
        uint32_t at = w->climb[total - 1 - i];
        if (i)
            output_char(&w->text, ';');
        output_str(&w->text, strings_get(&w->paths.labels, path_label(&w->paths, at)));
        steps[i] = (struct step){at, (uint32_t)w->text.used};
        w->step_of[at] = (uint32_t)i;
    }
    w->step_count = total;
}

static void write_row(struct folded_writer *w, const struct row *r)
{
    struct str thread = strings_get(&w->threads, r->thread);
    output_str(w->out, thread);
    if (thread.len && r->path)
        output_char(w->out, ';');
    if (r->path) {
        write_path(w, r->path);
        output_str(w->out, output_kept(&w->text));
    }
    if (w->base) {
        output_char(w->out, ' ');
        output_double(w->out, r->base);
    }
    output_char(w->out, ' ');
    output_double(w->out, r->weight);
    output_char(w->out, '\n');
}

/* Rows in order; those of the same line are added up. */
static bool write_rows(struct folded_writer *w)
{
    uint32_t *order = arena_alloc(&w->arena, (w->row_count + 1) * sizeof *order);
    uint32_t *scratch = arena_alloc(&w->arena, (w->row_count + 1) * sizeof *scratch);
    w->step_of = w->place; /* the rows know their places: the column serves again */
    if (!order || !scratch)
        return false;
    for (uint32_t i = 0; i < w->row_count; i++)
        order[i] = i;
    sort_u32(order, w->row_count, scratch, before_row, w->rows);
    for (size_t i = 0; i < w->row_count;) {
        struct row sum = w->rows[order[i]];
        for (i++; i < w->row_count && w->rows[order[i]].place == sum.place; i++) {
            sum.weight += w->rows[order[i]].weight;
            sum.base += w->rows[order[i]].base;
        }
        if (sum.path || sum.thread)
            write_row(w, &sum);
    }
    return true;
}

static bool folded_prepare(struct folded_writer *w)
{
    calltree_events(w->p, w->options, &w->event, &w->base);
    w->rank = rank_labels(&w->arena, &w->paths.labels);
    if (!w->rank || !place_paths(w) || !label_threads(w))
        return false;
    w->thread_rank = rank_labels(&w->arena, &w->threads);
    return w->thread_rank && collect_rows(w);
}

static bool folded_write(const struct profile *p, const struct export_options *options,
                         struct output *out, struct error *err)
{
    struct folded_writer w = {.p = p, .options = &options->tree, .out = out};
    struct label_style style = options->tree.label;
    style.folded = true; /* before sorting: the order is that of the written text */
    if (!paths_init(&w.paths, p, &style, err)) {
        paths_deinit(&w.paths);
        return false;
    }
    bool ok = folded_prepare(&w) && write_rows(&w) && !w.text.failed;
    output_deinit(&w.text);
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
