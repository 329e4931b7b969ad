/* SPDX-License-Identifier: Apache-2.0 */
/* The call tree with box lines. A chain of single callees is not indented; several
 * callees of a function are:
 *
 *     total %   self %
 *     100.00%    0.00%  main
 *     100.00%    2.00%  run
 *      60.00%   60.00%  ├─ parse
 *      38.00%    0.00%  └─ emit
 *      38.00%   38.00%     write
 *
 * Several outermost functions are below a row "all". */
#include "base/visible.h"
#include "export/table_parts.h"

#define INDENT_MAX \
    40 /* branches that are drawn; deeper ones are not indented further \
        */
#define NAME_MIN 16

struct tree_writer {
    const struct table *t;
    struct output *out;
    uint32_t *branches;           /* by node: number of branches above it */
    bool follows[INDENT_MAX + 1]; /* by branch: whether a sibling follows */
    uint32_t deeper;              /* nodes below the requested depth */
};

static bool is_last_child(const struct calltree *tree, uint32_t n)
{
    return tree->nodes[n].end == tree->nodes[tree->nodes[n].parent].end;
}

static bool is_only_child(const struct calltree *tree, uint32_t n)
{
    return n == tree->nodes[n].parent + 1 && is_last_child(tree, n);
}

static size_t write_percent(struct output *out, double percent, const char *colour)
{
    output_text(out, colour);
    output_format(out, "%7.2f%%", percent);
    output_text(out, colour[0] ? TABLE_COLOUR_END : "");
    return 8;
}

/* The change of a share, with its sign, in 8 columns and a space. */
static void write_change(struct output *out, double points, const char *colour)
{
    char text[16];
    format_text(text, sizeof text, points >= 0.005 ? "+%.2f%%" : "%.2f%%", points);
    output_format(out, "%s%8s%s ", colour, text, colour[0] ? TABLE_COLOUR_END : "");
}

/* Writes the numbers of a node; returns their columns. */
static size_t write_figures(const struct tree_writer *w, const struct calltree_node *n)
{
    const struct table *t = w->t;
    double now = table_share(t, n->total), self = table_share(t, n->self);
    if (!t->differential) {
        size_t taken = write_percent(w->out, now, table_share_colour(t, now));
        output_text(w->out, " ");
        return taken + write_percent(w->out, self, table_share_colour(t, self)) + 1;
    }
    double before = table_base_share(t, n->base_total), change = now - before;
    write_change(w->out, change, table_change_colour(t, change));
    size_t taken = write_percent(w->out, before, "");
    output_text(w->out, " ");
    return 9 + taken + write_percent(w->out, now, "") + 1;
}

/* Writes the lines before a name; returns their columns. */
static size_t write_lines(struct tree_writer *w, uint32_t n)
{
    const struct calltree *tree = &w->t->tree;
    uint32_t branch = w->branches[n];
    bool opens = branch > w->branches[tree->nodes[n].parent];
    uint32_t last = branch < INDENT_MAX ? branch : INDENT_MAX;
    if (opens)
        w->follows[last] = !is_last_child(tree, n);
    for (uint32_t i = 1; i <= last; i++) {
        if (i < last || !opens)
            output_text(w->out, w->follows[i] ? "│  " : "   ");
        else
            output_text(w->out, w->follows[i] ? "├─ " : "└─ ");
    }
    return (size_t)last * 3;
}

static void write_node(struct tree_writer *w, uint32_t n)
{
    const struct table *t = w->t;
    const struct calltree_node *node = &t->tree.nodes[n];
    size_t taken = write_figures(w, node) + 2, width = t->o->width;
    output_text(w->out, "  ");
    taken += write_lines(w, n);
    struct str name = calltree_label(&t->tree, n);
    if (width)
        visible_print_cut(w->out, name,
                          width > taken + NAME_MIN ? width - taken : NAME_MIN);
    else
        visible_print(w->out, name);
    output_char(w->out, '\n');
}

static void write_headings(const struct tree_writer *w)
{
    const struct table *t = w->t;
    output_text(w->out, t->o->colour ? "\x1b[1m" : "");
    output_text(w->out,
                t->differential ? "  change before %  after %" : " total %   self %");
    output_format(w->out, "  %s%s\n", t->o->heading ? t->o->heading : "function",
                  t->o->colour ? TABLE_COLOUR_END : "");
}

/* What is not shown: small nodes, and those that are too deep. */
static void write_rest(const struct tree_writer *w)
{
    const struct calltree *tree = &w->t->tree;
    uint64_t elided = 0;
    for (uint32_t n = 0; n < tree->count; n++)
        elided += calltree_elided(tree, n)->count;
    if (elided)
        output_format(w->out, "# callees below %g%% are not shown\n",
                      w->t->o->percent_limit);
    if (w->deeper)
        output_format(w->out, "# %u callees deeper than %u are not shown\n", w->deeper,
                      w->t->o->depth);
}

bool table_write_tree(const struct table *t, struct output *out, struct error *err)
{
    struct arena scratch = ARENA_INIT;
    struct tree_writer w = {.t = t, .out = out};
    w.branches = arena_zalloc(&scratch, t->tree.count, sizeof *w.branches);
    if (!w.branches) {
        arena_deinit(&scratch);
        return error_memory(err);
    }
    write_headings(&w);
    if (t->tree.count > 1 && !is_only_child(&t->tree, 1)) {
        write_figures(&w, &t->tree.nodes[0]);
        output_text(out, "  all\n");
    }
    for (uint32_t n = 1; n < t->tree.count; n++) {
        const struct calltree_node *node = &t->tree.nodes[n];
        w.branches[n] = w.branches[node->parent] + !is_only_child(&t->tree, n);
        if (t->o->depth && node->depth > t->o->depth)
            w.deeper++;
        else
            write_node(&w, n);
    }
    write_rest(&w);
    arena_deinit(&scratch);
    return true;
}
