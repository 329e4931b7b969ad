/* SPDX-License-Identifier: Apache-2.0 */
#include "export/rows.h"
#include "base/sort.h"

struct rows_event rows_event(const struct rows *r, size_t event)
{
    const struct breakdown *b = &r->b;
    if (event == 0)
        return (struct rows_event){b->event, b->samples, b->total, b->left_out};
    const struct breakdown_other *o = &b->others[event - 1];
    return (struct rows_event){o->event, o->samples, o->total, o->left_out};
}

double rows_share(const struct rows *r, double weight, size_t event)
{
    struct rows_event e = rows_event(r, event);
    double total = e.total - (r->o->rows->relative ? e.left_out : 0);
    return total != 0 ? 100 * weight / total : 0;
}

size_t rows_write_percent(double share, char *out)
{
    return format_text(out, PERCENT_TEXT_MAX, "%.2f%%", share);
}

static bool has_samples(const struct profile *p, event_id event)
{
    for (size_t i = 0; i < p->sample_count; i++)
        if (p->samples[i].event == event &&
            (p->samples[i].count || p->samples[i].weight != 0))
            return true;
    return false;
}

static event_id next_with_samples(const struct profile *p, event_id last)
{
    for (event_id e = last + 1; e < p->event_count; e++)
        if (has_samples(p, e))
            return e;
    return 0;
}

event_id rows_next_event(const struct profile *p, const struct export_options *options,
                         event_id last)
{
    enum rows_group group = options->table->rows->group;
    event_id only = options->tree.event;
    if (only)
        return last ? 0 : only;
    if (last && group == ROWS_GROUP_ALL)
        return 0;
    do
        last = next_with_samples(p, last);
    while (group == ROWS_GROUP_RECORDED && p->events[last].group &&
           p->events[last].group != last);
    return last;
}

static bool is_in_group(const struct rows *r, event_id event)
{
    const struct event *first = &r->b.p->events[r->b.event];
    return r->o->rows->group == ROWS_GROUP_ALL ||
           (first->group && r->b.p->events[event].group == first->group);
}

/* Groups may have fewer events than the user assumes: rows in another order would look right. */
static bool check_sort(const struct rows *r, struct error *err)
{
    if (r->o->rows->group_sort < r->events)
        return true;
    error_set(err, "invalid event number %u for --group-sort-idx",
              r->o->rows->group_sort);
    if (r->events == 1)
        return error_hint(err, "the table has one event; omit the option");
    return error_hint(err, "the table has %zu events: 0 to %zu", r->events,
                      r->events - 1);
}

static bool add_events(struct rows *r, const struct export_options *options,
                       struct error *err)
{
    const struct rows_options *o = r->o->rows;
    event_id e = options->tree.event || !o->group ? 0 : r->b.event;
    bool ok = true;
    while (ok && e && (e = next_with_samples(r->b.p, e)) != 0)
        ok = !is_in_group(r, e) || breakdown_add_event(&r->b, e, err);
    r->events = r->b.other_count + 1;
    return ok && check_sort(r, err) &&
           (r->events == 1 || breakdown_sort(&r->b, o->group_sort, err));
}

static bool is_large_enough(const struct rows *r, const struct breakdown_row *row)
{
    for (size_t i = 0; i < r->events; i++)
        if (rows_share(r, breakdown_figures(&r->b, row, i).total, i) >=
            r->o->percent_limit)
            return true;
    return false;
}

/* Shown rows come first; both groups are sorted. */
static bool choose_rows(struct rows *r)
{
    size_t limit = r->o->limit ? r->o->limit : r->count, hidden = 0;
    uint32_t *others = arena_alloc(&r->b.arena, (r->count + 1) * sizeof *others);
    r->rest = arena_zalloc(&r->b.arena, r->events, sizeof *r->rest);
    if (!others || !r->rest)
        return false;
    for (size_t i = 0; i < r->count; i++) {
        const struct breakdown_row *row = &r->b.rows[r->order[i]];
        if (r->shown < limit && is_large_enough(r, row)) {
            r->order[r->shown++] = r->order[i];
            continue;
        }
        others[hidden++] = r->order[i];
        for (size_t e = 0; e < r->events; e++)
            r->rest[e] += breakdown_figures(&r->b, row, e).self;
    }
    memcpy(r->order + r->shown, others, hidden * sizeof *others);
    return true;
}

/* --- Order by columns ---------------------------------------------------------------- */

struct sorting {
    const struct rows *r;
    struct str *texts; /* by row, for each key of the order */
};

static bool is_number(unsigned column)
{
    return column == ROWS_KEYS + KEY_PID || column == ROWS_KEYS + KEY_TID ||
           column == ROWS_KEYS + KEY_CPU || column == ROWS_KEYS + KEY_TIME ||
           column == ROWS_KEYS + KEY_SYMBOL_SIZE;
}

double rows_figure(const struct rows *r, const struct breakdown_row *row, unsigned column,
                   size_t event)
{
    struct breakdown_figures figures = breakdown_figures(&r->b, row, event);
    if (column == ROWS_SAMPLES)
        return (double)figures.samples;
    return column == ROWS_CHILDREN ? figures.total : figures.self;
}

/* Figures of the first event at which they differ, the one that sorts rows before it. */
static int compare_figures(const struct rows *r, const struct breakdown_row *left,
                           const struct breakdown_row *right, unsigned column)
{
    int order = 0;
    for (size_t i = 0; order == 0 && i <= r->events; i++) {
        size_t event = i ? i - 1 : r->b.sorted_by;
        double x = rows_figure(r, left, column, event);
        double y = rows_figure(r, right, column, event);
        order = (x < y) - (x > y);
    }
    return order;
}

/* Below 0 if row a is before row b, above 0 if it is after it. Unknown values are last. */
static int compare(const struct sorting *s, unsigned number, uint32_t a, uint32_t b)
{
    const struct breakdown *d = &s->r->b;
    unsigned column = s->r->o->rows->order.items[number];
    const struct breakdown_row *left = &d->rows[a], *right = &d->rows[b];
    if (column < ROWS_KEYS)
        return compare_figures(s->r, left, right, column);
    enum breakdown_key key = (enum breakdown_key)(column - ROWS_KEYS);
    uint64_t x = breakdown_known_value(d, left, key);
    uint64_t y = breakdown_known_value(d, right, key);
    if (!x || !y)
        return (x == 0) - (y == 0);
    if (is_number(column))
        return (x > y) - (x < y);
    const struct str *texts = s->texts + number * d->row_count;
    return str_compare(texts[a], texts[b]);
}

static bool comes_first(const void *context, uint32_t a, uint32_t b)
{
    const struct sorting *s = context;
    int order = 0;
    for (unsigned i = 0; order == 0 && i < s->r->o->rows->order.count; i++)
        order = compare(s, i, a, b);
    return order < 0;
}

/* The texts of the keys; each is written once. */
static bool write_texts(struct rows *r, struct str *texts)
{
    const struct rows_columns *order = &r->o->rows->order;
    struct output cell = OUTPUT_BUFFER;
    bool ok = true;
    for (unsigned i = 0; i < order->count; i++) {
        unsigned column = order->items[i];
        if (column < ROWS_KEYS || is_number(column))
            continue;
        for (size_t row = 1; ok && row < r->b.row_count; row++) {
            cell.used = 0;
            breakdown_write(&r->b, &r->b.rows[row],
                            (enum breakdown_key)(column - ROWS_KEYS), false, &cell);
            texts[i * r->b.row_count + row] =
                arena_str(&r->b.arena, output_contents(&cell));
            ok = !cell.failed && !r->b.arena.failed;
        }
    }
    output_deinit(&cell);
    return ok;
}

/* Rows are in the order of their weights before. */
static bool sort_rows(struct rows *r)
{
    unsigned columns = r->o->rows->order.count;
    struct sorting s = {.r = r};
    if (columns == 0)
        return true;
    s.texts = arena_zalloc(&r->b.arena, columns * r->b.row_count, sizeof *s.texts);
    uint32_t *scratch = arena_alloc(&r->b.arena, (r->count + 1) * sizeof *scratch);
    if (!s.texts || !scratch || !write_texts(r, s.texts))
        return false;
    sort_u32(r->order, r->count, scratch, comes_first, &s);
    return true;
}

/* --- Callers before callees ------------------------------------------------------------ */

/* Rows of the same threads, by their call graphs. */
struct ties {
    const struct rows *r;
    const uint32_t *depths, *ranks; /* by row */
};

static double total_of(const struct rows *r, uint32_t row)
{
    return breakdown_figures(&r->b, &r->b.rows[row], r->b.sorted_by).total;
}

static bool caller_first(const void *context, uint32_t a, uint32_t b)
{
    const struct ties *t = context;
    uint32_t group = t->r->b.rows[a].group, other = t->r->b.rows[b].group;
    double x = total_of(t->r, a), y = total_of(t->r, b);
    bool longest = t->r->o->rows->graph.order == CHAINS_CALLER;
    if (x > y || x < y)
        return x > y;
    if (group != other)
        return group < other;
    if (t->depths[a] != t->depths[b])
        return (t->depths[a] < t->depths[b]) != longest;
    return t->ranks[a] < t->ranks[b];
}

/* Puts the rows of each group at the positions of the group, in the order of `sorted`, which
 * has the rows from `first` up to `end` by group. */
static void assign_ties(struct rows *r, const uint32_t *sorted, uint32_t *next,
                        size_t first, size_t end)
{
    for (size_t i = end; i-- > first;)
        next[r->b.rows[sorted[i]].group] = (uint32_t)i;
    for (size_t i = first; i < end; i++)
        r->order[i] = sorted[next[r->b.rows[r->order[i]].group]++];
}

static bool sort_ties(struct rows *r)
{
    size_t count = r->b.row_count, first = 0;
    struct arena *a = &r->b.arena;
    uint32_t *depths = arena_alloc(a, count * sizeof *depths);
    uint32_t *ranks = arena_alloc(a, count * sizeof *ranks);
    uint32_t *sorted = arena_alloc(a, count * sizeof *sorted);
    uint32_t *scratch = arena_alloc(a, count * sizeof *scratch);
    uint32_t *next = arena_alloc(a, (r->b.group_count + 1) * sizeof *next);
    struct ties t = {r, depths, ranks};
    if (!depths || !ranks || !sorted || !scratch || !next)
        return false;
    for (uint32_t i = 0; i < r->count; i++) {
        sorted[i] = r->order[i];
        ranks[sorted[i]] = i;
        depths[sorted[i]] = chain_trees_depth(&r->graphs, sorted[i]);
    }
    sort_u32(sorted, r->count, scratch, caller_first, &t);
    for (size_t i = 1; i <= r->count; i++) {
        if (i < r->count && total_of(r, sorted[i]) >= total_of(r, sorted[first]))
            continue;
        assign_ties(r, sorted, next, first, i);
        first = i;
    }
    return true;
}

/* Of rows with equal totals and the same threads, the caller comes before its callees, as
 * in perf: the longest path below it, or the shortest above it. */
static bool sort_callers(struct rows *r)
{
    const struct rows_options *o = r->o->rows;
    bool requested = o->graph.order != CHAINS_NONE && o->by.children && !o->order.count;
    return !requested || r->count == 0 || sort_ties(r);
}

bool rows_init(struct rows *r, const struct profile *p,
               const struct export_options *options, event_id event, struct error *err)
{
    const struct rows_options *o = options->table->rows;
    *r = (struct rows){.o = options->table};
    if (!breakdown_init(&r->b, p, &o->by, event, err) || !add_events(r, options, err))
        return false;
    r->order = r->b.order;
    r->count = r->b.row_count - 1;
    struct chain_tree_options graph = o->graph;
    if (o->style == GRAPH_TREE) /* a path has the weight that ends in it */
        graph.min_weight = o->graph_percent / 100 * r->b.total;
    else if (o->style == GRAPH_FRACTAL)
        graph.min_share = o->graph_percent / 100;
    if (graph.order != CHAINS_NONE && !chain_trees_init(&r->graphs, &r->b, &graph, err))
        return false;
    return (sort_rows(r) && sort_callers(r) && choose_rows(r)) || error_memory(err);
}

void rows_deinit(struct rows *r)
{
    chain_trees_deinit(&r->graphs);
    breakdown_deinit(&r->b);
}
