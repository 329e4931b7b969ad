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
 * Or as paths, each with the weight that ends in it: in a column, or folded in a line:
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

/* A branch: the line that leads to it, its share and its name. */
static void write_branch(struct drawing *d, uint32_t n, uint32_t level)
{
    const struct chain_tree_node *node = &d->graph->nodes[n];
    double above = d->graph->nodes[node->parent].total;
    double share = rows_share(d->rows, node->total, 0);
    if (d->rows->o->rows->style == GRAPH_FRACTAL)
        share = above != 0 ? 100 * node->total / above : 0;
    const char *colour = table_percent_colour(d->rows->o, share);
    d->follows[level] = !chain_tree_is_last(d->graph, n);
    write_margin(d, level - 1);
    output_text(d->out, "|\n");
    size_t taken = write_margin(d, level - 1);
    output_format(d->out, "%s--%s%.2f%%%s--", d->follows[level] ? "|" : " ", colour,
                  share, colour[0] ? TABLE_COLOUR_END : "");
    write_name(d, node->symbol, taken + 12);
}

static void write_node(struct drawing *d, uint32_t n)
{
    const struct chain_tree_node *node = &d->graph->nodes[n];
    bool chained = chain_tree_is_chained(d->graph, n);
    uint32_t level = d->levels[node->parent] + !chained;
    d->levels[n] = level < LEVEL_MAX ? level : LEVEL_MAX;
    if (!chained) {
        write_branch(d, n, d->levels[n]);
    } else if (node->parent == 0) {
        output_format(d->out, "%*s|\n%*s---", MARGIN, "", MARGIN, "");
        d->margin = MARGIN + 3;
        write_name(d, node->symbol, d->margin);
    } else {
        size_t taken = write_margin(d, level);
        write_name(d, node->symbol, taken);
    }
}

/* --- The tree ---------------------------------------------------------------------- */

static void write_tree(struct drawing *d, uint32_t *branches)
{
    uint32_t most = d->rows->o->rows->branches, n = 1;
    while (n < d->graph->count) {
        const struct chain_tree_node *node = &d->graph->nodes[n];
        bool shown = most == 0 || ++branches[node->parent] <= most;
        if (shown)
            write_node(d, n);
        n = shown ? n + 1 : node->end;
    }
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
    char digits[NUMBER_TEXT_MAX];
    uint32_t count = 0;
    bool folded = o->style == GRAPH_FOLDED;
    for (uint32_t up = n; up; up = d->graph->nodes[up].parent)
        p->symbols[count++] = d->graph->nodes[up].symbol;
    if (!folded)
        output_text(d->out, "           ");
    if (o->weights)
        output_double(d->out, p->own[n]);
    else
        output_bytes(d->out, digits,
                     number_write_fixed(rows_share(d->rows, p->own[n], 0), 2, digits));
    output_text(d->out, o->weights ? "" : "%");
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
    bool ok = levels && branches;
    if (ok && r->o->rows->style >= GRAPH_FLAT)
        ok = write_paths(&d, &graph.arena);
    else if (ok)
        write_tree(&d, branches);
    chain_tree_deinit(&graph);
    return ok || error_memory(err);
}
