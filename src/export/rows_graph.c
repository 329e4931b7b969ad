/* SPDX-License-Identifier: Apache-2.0 */
/* The call graph below a row, as perf draws it: a chain of single calls is not
 * indented, several calls are.
 *
 *             |
 *             ---main
 *                run
 *                |
 *                |--60.00%--parse
 *                |
 *                 --38.00%--emit
 *
 * Fractal: shares of the callees of the function above, and a last branch [...] for those
 * that are not shown. Or as paths, each with the weight that ends in it: in a column, or folded in a line:
 *
 *   38.00% main;run;emit */
#include "base/number.h"
#include "base/sort.h"
#include "base/visible.h"
#include "export/rows.h"

#define MARGIN 12
#define LEVEL_MAX 32 /* branches that are drawn; deeper ones are not indented further */
#define NAME_MIN 16

struct drawing {
    const struct rows *rows;
    const struct chain_tree *graph;
    struct output *out;
    size_t margin;
    uint32_t *levels;            /* by node: number of branches up to it */
    uint32_t named;              /* the node that is not written; 0: none */
    double *left;                /* by node: the weight of callees that are not shown */
    bool follows[LEVEL_MAX + 1]; /* by level: whether a sibling follows */
};

static size_t write_margin(struct drawing *d, uint32_t level)
{
    output_format(d->out, "%*s", (int)d->margin, "");
    for (uint32_t i = 1; i <= level; i++)
        output_format(d->out, "%s          ", d->follows[i] ? "|" : " ");
    return d->margin + (size_t)level * 11;
}

static void write_name(struct drawing *d, uint32_t symbol, size_t taken)
{
    struct str name = breakdown_symbol_name(&d->rows->b, symbol);
    size_t width = d->rows->o->width;
    if (width)
        visible_print_cut(d->out, name,
                          width > taken + NAME_MIN ? width - taken : NAME_MIN);
    else
        visible_print(d->out, name);
    output_char(d->out, '\n');
}

static bool is_fractal(const struct drawing *d)
{
    return d->rows->o->rows->style == GRAPH_FRACTAL;
}

/* What the shares of a node's callees are relative to in a fractal graph: the callees, but
 * at the first branches the whole row. */
static double base_of(const struct drawing *d, uint32_t node)
{
    return d->levels[node] ? d->graph->nodes[node].below : d->graph->nodes[0].total;
}

/* The branch itself, without the line before it. Returns its columns. */
static size_t write_share(struct drawing *d, uint32_t parent, double weight,
                          uint32_t level)
{
    double base = base_of(d, parent), share = rows_share(d->rows, weight, 0);
    if (is_fractal(d))
        share = base != 0 ? 100 * weight / base : 0;
    const char *colour = table_percent_colour(d->rows->o, share);
    size_t taken = write_margin(d, level - 1);
    char digits[PERCENT_TEXT_MAX];
    rows_write_percent(share, digits);
    output_format(d->out, "%s--%s%s%s--", d->follows[level] ? "|" : " ", colour, digits,
                  colour[0] ? TABLE_COLOUR_END : "");
    return taken + 12;
}

/* A branch: the line that leads to it, its share and its name. */
static void write_branch(struct drawing *d, uint32_t n, uint32_t level)
{
    const struct chain_tree_node *node = &d->graph->nodes[n];
    d->follows[level] = !chain_tree_is_last(d->graph, n) || d->left[node->parent] > 0;
    write_margin(d, level - 1);
    output_text(d->out, "|\n");
    size_t taken = write_share(d, node->parent, node->total, level);
    write_name(d, node->symbol, taken);
}

/* Number of branches up to a node; that of its parent is known. */
static uint32_t level_of(const struct drawing *d, uint32_t n)
{
    uint32_t above = d->levels[d->graph->nodes[n].parent];
    uint32_t level = above + !chain_tree_is_chained(d->graph, n);
    return level < LEVEL_MAX ? level : LEVEL_MAX;
}

static void write_node(struct drawing *d, uint32_t n)
{
    const struct chain_tree_node *node = &d->graph->nodes[n];
    uint32_t level = level_of(d, n);
    d->levels[n] = level;
    if (!chain_tree_is_chained(d->graph, n)) {
        write_branch(d, n, d->levels[n]);
    } else if (n == d->named) {
        return;
    } else if (node->parent == d->named) {
        output_format(d->out, "%*s|\n%*s---", MARGIN, "", MARGIN, "");
        d->margin = MARGIN + 3;
        write_name(d, node->symbol, d->margin);
    } else {
        size_t taken = write_margin(d, level);
        write_name(d, node->symbol, taken);
    }
}

/* --- The tree ---------------------------------------------------------------------- */

/* Whether the options limit the branches of its parent to those before it. */
static bool is_too_many(const struct drawing *d, uint32_t n, uint32_t *branches)
{
    uint32_t most = d->rows->o->rows->branches;
    return most && ++branches[d->graph->nodes[n].parent] > most;
}

/* In a fractal graph: what is below each node and is not shown there. */
static void find_left(struct drawing *d, uint32_t *branches)
{
    const struct chain_tree_node *nodes = d->graph->nodes;
    for (uint32_t n = 0; n < d->graph->count; n++) {
        if (n)
            d->levels[n] = level_of(d, n);
        d->left[n] = base_of(d, n);
    }
    for (uint32_t n = 1; n < d->graph->count; n++)
        if (!is_too_many(d, n, branches))
            d->left[nodes[n].parent] -= nodes[n].total;
    memset(branches, 0, d->graph->count * sizeof *branches);
    for (uint32_t n = 0; n < d->graph->count; n++) {
        double base = base_of(d, n);
        if (d->left[n] >= base || d->left[n] < 1e-9 * base)
            d->left[n] = 0; /* nothing is shown, or all of it */
    }
}

/* The last branches of the nodes that end before node n; `open` are the nodes above the
 * last one, the innermost last. */
static void write_left(struct drawing *d, uint32_t *open, uint32_t *count, uint32_t n)
{
    for (; *count && d->graph->nodes[open[*count - 1]].end <= n; --*count) {
        uint32_t node = open[*count - 1], level = d->levels[node] + 1;
        if (d->left[node] <= 0 || level > LEVEL_MAX)
            continue;
        d->follows[level] = false;
        write_share(d, node, d->left[node], level);
        output_text(d->out, "[...]\n");
    }
}

static void write_tree(struct drawing *d, uint32_t *branches, uint32_t *open)
{
    uint32_t n = 1, count = 0;
    if (is_fractal(d))
        find_left(d, branches);
    while (n < d->graph->count) {
        const struct chain_tree_node *node = &d->graph->nodes[n];
        write_left(d, open, &count, n);
        bool shown = !is_too_many(d, n, branches);
        if (shown) {
            write_node(d, n);
            open[count++] = n;
        }
        n = shown ? n + 1 : node->end;
    }
    write_left(d, open, &count, n);
    if (d->graph->count > 1)
        output_char(d->out, '\n');
}

/* --- Paths ------------------------------------------------------------------------- */

struct row_paths {
    struct drawing *d;
    double *own;       /* by node: the weight of the path that ends in it */
    uint32_t *order;   /* paths, the largest first */
    uint32_t *symbols; /* of the current path, from its end */
};

static bool larger_path(const void *context, uint32_t a, uint32_t b)
{
    const struct row_paths *p = context;
    return p->own[a] > p->own[b] || (p->own[a] >= p->own[b] && a < b);
}

static bool row_paths_init(struct row_paths *p, struct drawing *d, struct arena *arena)
{
    size_t count = d->graph->count;
    *p = (struct row_paths){.d = d};
    p->own = arena_zalloc(arena, count, sizeof *p->own);
    p->order = arena_zalloc(arena, 2 * count, sizeof *p->order);
    p->symbols = arena_zalloc(arena, count, sizeof *p->symbols);
    for (uint32_t n = 1; p->own && n < count; n++) {
        const struct chain_tree_node *node = &d->graph->nodes[n];
        p->own[n] += node->total;
        p->own[node->parent] -= node->total;
    }
    return p->own && p->order && p->symbols;
}

static void write_path(struct row_paths *p, uint32_t n)
{
    struct drawing *d = p->d;
    const struct rows_options *o = d->rows->o->rows;
    uint32_t count = 0;
    char digits[PERCENT_TEXT_MAX];
    bool folded = o->style == GRAPH_FOLDED;
    for (uint32_t up = n; up; up = d->graph->nodes[up].parent)
        p->symbols[count++] = d->graph->nodes[up].symbol;
    if (!folded)
        output_text(d->out, "           ");
    if (o->weights)
        output_double(d->out, p->own[n]);
    else
        output_bytes(d->out, digits,
                     rows_write_percent(rows_share(d->rows, p->own[n], 0), digits));
    output_text(d->out, folded ? "" : "\n");
    for (uint32_t i = count; i-- > 0;) {
        if (folded)
            output_char(d->out, i + 1 == count ? ' ' : ';');
        else
            output_text(d->out, "                ");
        visible_print(d->out, breakdown_symbol_name(&d->rows->b, p->symbols[i]));
        output_text(d->out, folded ? "" : "\n");
    }
    output_char(d->out, '\n');
}

static bool write_paths(struct drawing *d, struct arena *arena)
{
    struct row_paths p;
    const struct rows_options *o = d->rows->o->rows;
    double least = o->graph_percent / 100 * d->rows->b.total;
    size_t count = 0;
    if (!row_paths_init(&p, d, arena))
        return false;
    for (uint32_t n = 1; n < d->graph->count; n++)
        if (p.own[n] > 0 && p.own[n] >= least)
            p.order[count++] = n;
    sort_u32(p.order, count, p.order + d->graph->count, larger_path, &p);
    for (size_t i = 0; i < count && (o->branches == 0 || i < o->branches); i++)
        write_path(&p, p.order[i]);
    return true;
}

/* Whether the graph begins with the function that is the first text of the row. */
static bool is_named(const struct rows *r, uint32_t row, const struct chain_tree *graph)
{
    const struct breakdown *b = &r->b;
    return r->o->rows->named && graph->count > 1 && chain_tree_is_chained(graph, 1) &&
           graph->nodes[1].symbol == breakdown_value(b, &b->rows[row], KEY_SYM);
}

bool rows_write_graph(struct rows *r, uint32_t row, struct output *out, struct error *err)
{
    struct chain_tree graph;
    if (!chain_tree_init(&graph, &r->graphs, row, err)) {
        chain_tree_deinit(&graph);
        return false;
    }
    uint32_t *levels = arena_zalloc(&graph.arena, graph.count, sizeof *levels);
    struct drawing d = {
        .rows = r, .graph = &graph, .out = out, .margin = MARGIN, .levels = levels};
    uint32_t *branches = arena_zalloc(&graph.arena, graph.count, sizeof *branches);
    uint32_t *open = arena_zalloc(&graph.arena, graph.count, sizeof *open);
    d.left = arena_zalloc(&graph.arena, graph.count, sizeof *d.left);
    bool ok = levels && branches && open && d.left;
    if (ok && r->o->rows->style >= GRAPH_FLAT)
        ok = write_paths(&d, &graph.arena);
    else if (ok) {
        d.named = is_named(r, row, &graph);
        write_tree(&d, branches, open);
    }
    chain_tree_deinit(&graph);
    return ok || error_memory(err);
}
