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
 *                 --38.00%--emit */
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
    double share = rows_share(d->rows, node->total);
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
    for (uint32_t n = 1; levels && n < graph.count; n++)
        write_node(&d, n);
    if (levels && graph.count > 1)
        output_char(out, '\n');
    chain_tree_deinit(&graph);
    return levels || error_memory(err);
}
