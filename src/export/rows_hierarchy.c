/* SPDX-License-Identifier: Apache-2.0 */
/* Rows as a tree, in the layout of perf report --hierarchy: the rows of the first level have the
 * values of the first key, those below one of them its values of the next key.
 *
 *       Overhead  Command / Shared Object / Symbol
 *   58.88%        work
 *      39.49%        work
 *         37.38%        [.] spin
 *
 * A row of the breakdown is a path in the tree. */
#include "base/array.h"
#include "base/hash.h"
#include "base/index.h"
#include "base/sort.h"
#include "base/visible.h"
#include "export/rows_layout.h"

#define INDENT 3 /* columns of a level */

struct node {
    uint32_t parent; /* 0: of the first level */
    uint32_t row;    /* a row of the breakdown with its values, the heaviest */
    uint32_t level;
    uint32_t child, sibling; /* the first child, the next sibling; 0: none */
};

struct tree {
    struct rows_layout *l;
    struct arena arena;
    struct node *nodes; /* [0]: the whole */
    size_t count, cap;
    struct index index; /* by parent and values */
    double *figures;    /* by node, event and column of figures */
    size_t figures_cap, events, columns;
    unsigned levels;
    unsigned first[ROWS_COLUMNS_MAX + 1]; /* by level: its first key in `keys` */
    unsigned keys[ROWS_COLUMNS_MAX];      /* numbers of columns */
};

static const struct rows_options *options_of(const struct tree *t)
{
    return t->l->rows->o->rows;
}

static unsigned column_of(const struct tree *t, unsigned key)
{
    return options_of(t)->columns.items[t->keys[key]];
}

static enum breakdown_key key_of(const struct tree *t, unsigned key)
{
    return (enum breakdown_key)(column_of(t, key) - ROWS_KEYS);
}

static void find_levels(struct tree *t)
{
    const struct rows_options *o = options_of(t);
    unsigned keys = 0;
    for (unsigned i = 0; i < o->columns.count; i++) {
        unsigned column = o->columns.items[i];
        if (column < ROWS_KEYS) {
            t->columns++;
            continue;
        }
        if (keys == 0 || !(o->joined >> (column - ROWS_KEYS) & 1))
            t->first[t->levels++] = keys;
        t->keys[keys++] = i;
    }
    t->first[t->levels] = keys;
}

/* --- Nodes -------------------------------------------------------------------------- */

struct lookup {
    const struct tree *t;
    uint32_t parent, row, level;
};

static uint64_t value_of(const struct tree *t, uint32_t row, unsigned key)
{
    const struct breakdown *b = &t->l->rows->b;
    return breakdown_value(b, &b->rows[row], key_of(t, key));
}

static bool same_node(const void *context, uint32_t id)
{
    const struct lookup *w = context;
    const struct node *n = &w->t->nodes[id];
    bool same = n->parent == w->parent && n->level == w->level;
    for (unsigned k = w->t->first[w->level]; same && k < w->t->first[w->level + 1]; k++)
        same = value_of(w->t, n->row, k) == value_of(w->t, w->row, k);
    return same;
}

static double *figures_of(const struct tree *t, size_t node)
{
    return t->figures + node * t->events * t->columns;
}

/* The child of a node with the row's values at that level; 0 when out of memory. */
static uint32_t child_of(struct tree *t, uint32_t parent, uint32_t row, uint32_t level)
{
    struct lookup w = {t, parent, row, level};
    uint64_t hash = hash_pair(parent, level);
    size_t figures = t->events * t->columns;
    for (unsigned k = t->first[level]; k < t->first[level + 1]; k++)
        hash = hash_mix(hash ^ HASH_A, value_of(t, row, k) ^ HASH_B);
    if (!ARRAY_RESERVE(&t->arena, t->nodes, t->cap, t->count + 1) ||
        !ARRAY_RESERVE_ZEROED(&t->arena, t->figures, t->figures_cap,
                              (t->count + 1) * figures) ||
        !index_reserve(&t->index, &t->arena, 1))
        return 0;
    struct index_slot *slot = index_find(&t->index, (uint32_t)hash, same_node, &w);
    if (!slot->id) {
        t->nodes[t->count] = (struct node){parent, row, level, 0, 0};
        index_fill(&t->index, slot, (uint32_t)hash, (uint32_t)t->count++);
    }
    return slot->id;
}

static void add_figures(struct tree *t, uint32_t node, uint32_t row)
{
    const struct rows *r = t->l->rows;
    const struct rows_columns *c = &options_of(t)->columns;
    double *figures = figures_of(t, node);
    for (size_t e = 0; e < t->events; e++)
        for (unsigned i = 0; i < c->count; i++)
            if (c->items[i] < ROWS_KEYS)
                *figures++ += rows_figure(r, &r->b.rows[row], c->items[i], e);
}

/* The rows come in the order of their weights. */
static bool add_rows(struct tree *t)
{
    const struct rows *r = t->l->rows;
    if (!ARRAY_RESERVE(&t->arena, t->nodes, t->cap, 1))
        return false;
    t->nodes[t->count++] = (struct node){0};
    for (size_t i = 0; i < r->count; i++) {
        uint32_t node = 0;
        for (uint32_t level = 0; level < t->levels; level++) {
            node = child_of(t, node, r->order[i], level);
            if (!node)
                return false;
            add_figures(t, node, r->order[i]);
        }
    }
    return true;
}

static double share_of(const struct tree *t, uint32_t node, size_t event)
{
    return rows_share(t->l->rows, figures_of(t, node)[event * t->columns], event);
}

static bool heavier(const void *context, uint32_t a, uint32_t b)
{
    const struct tree *t = context;
    size_t first = t->l->rows->b.sorted_by;
    for (size_t i = 0; i <= t->events; i++) {
        size_t event = i ? i - 1 : first;
        double x = share_of(t, a, event), y = share_of(t, b, event);
        if (x > y || x < y)
            return x > y;
    }
    return a < b; /* the order of the heaviest rows below them */
}

static bool is_shown(const struct tree *t, uint32_t node)
{
    for (size_t e = 0; e < t->events; e++)
        if (share_of(t, node, e) >= t->l->rows->o->percent_limit)
            return true;
    return false;
}

/* Links the shown nodes: the lightest first, each before its siblings so far. */
static bool link_nodes(struct tree *t)
{
    uint32_t *order = arena_alloc(&t->arena, t->count * sizeof *order);
    uint32_t *scratch = arena_alloc(&t->arena, t->count * sizeof *scratch);
    if (!order || !scratch)
        return false;
    for (uint32_t i = 1; i < t->count; i++)
        order[i - 1] = i;
    sort_u32(order, t->count - 1, scratch, heavier, t);
    for (size_t i = t->count - 1; i-- > 0;) {
        struct node *n = &t->nodes[order[i]];
        if (!is_shown(t, order[i]))
            continue;
        n->sibling = t->nodes[n->parent].child;
        t->nodes[n->parent].child = order[i];
    }
    return true;
}

/* --- Text --------------------------------------------------------------------------- */

static void write_figures(const struct tree *t, uint32_t node)
{
    const struct rows_options *o = options_of(t);
    unsigned column = 0;
    for (unsigned i = 0; i < o->columns.count; i++) {
        if (o->columns.items[i] >= ROWS_KEYS)
            continue;
        size_t width = o->separator ? 0 : rows_figure_width(t->l, i);
        output_text(t->l->out, !o->separator ? "  " : column ? o->separator : "");
        for (size_t e = 0; e < t->events; e++) {
            output_text(t->l->out, e && !width ? " " : "");
            rows_write_figure(t->l, figures_of(t, node)[e * t->columns + column],
                              o->columns.items[i], e, width);
        }
        column++;
    }
}

static void write_values(const struct tree *t, const struct node *n)
{
    struct rows_layout *l = t->l;
    const char *separator = options_of(t)->separator;
    const struct breakdown_row *row = &l->rows->b.rows[n->row];
    for (unsigned k = t->first[n->level]; k < t->first[n->level + 1]; k++) {
        struct str text = rows_cell_text(l, row, key_of(t, k));
        size_t width = l->widths[t->keys[k]], used = visible_columns(text);
        output_text(l->out, separator ? separator : "  ");
        if (separator)
            rows_write_plain(l, text, str_of(separator));
        else
            visible_print(l->out, text);
        if (!separator && k + 1 < t->first[n->level + 1] && used < width)
            output_format(l->out, "%*s", (int)(width - used), "");
    }
    output_char(l->out, '\n');
}

/* Where the texts of a level without rows would be. */
static void write_none(const struct tree *t, uint32_t level)
{
    const struct rows_options *o = options_of(t);
    size_t before = (level + t->levels - 1) * INDENT + 2;
    for (unsigned i = 0; i < o->columns.count; i++)
        if (o->columns.items[i] < ROWS_KEYS)
            before += 2 + t->events * rows_figure_width(t->l, i);
    output_format(t->l->out, "%*sno entry >= %.2f%%\n", (int)before, "",
                  t->l->rows->o->percent_limit);
}

static bool write_node(const struct tree *t, uint32_t number, struct error *err)
{
    const struct rows_options *o = options_of(t);
    const struct node *n = &t->nodes[number];
    struct output *out = t->l->out;
    output_format(out, "%*s", (int)(n->level * INDENT), "");
    write_figures(t, number);
    if (!o->separator)
        output_format(out, "%*s", (int)((t->levels - 1) * INDENT), "");
    write_values(t, n);
    if (n->level + 1 < t->levels && !n->child)
        write_none(t, n->level + 1);
    return n->level + 1 < t->levels || o->graph.order == CHAINS_NONE ||
           rows_write_graph(t->l->rows, n->row, out, err);
}

static void write_dots(struct output *out, size_t count)
{
    for (; count > 0; count--)
        output_char(out, '.');
}

/* "Command / Shared Object / Symbol"; its length. */
static size_t write_names(const struct tree *t)
{
    size_t used = 0;
    for (unsigned level = 0; level < t->levels; level++) {
        for (unsigned k = t->first[level]; k < t->first[level + 1]; k++) {
            const char *name = rows_heading(column_of(t, k));
            const char *before = k == 0 ? "" : k == t->first[level] ? " / " : "+";
            output_format(t->l->out, "%s%s", before, name);
            used += strlen(before) + strlen(name);
        }
    }
    return used;
}

/* The width of the longest level. */
static size_t names_width(const struct tree *t, size_t least)
{
    for (unsigned level = 0; level < t->levels; level++) {
        size_t width = (size_t)level * INDENT;
        for (unsigned k = t->first[level]; k < t->first[level + 1]; k++)
            width += (k > t->first[level]) + t->l->widths[t->keys[k]];
        least = width > least ? width : least;
    }
    return least;
}

static void write_headings(const struct tree *t)
{
    const struct rows_options *o = options_of(t);
    struct output *out = t->l->out;
    size_t dots = o->separator ? 0 : (t->levels - 1) * INDENT, before = dots;
    output_format(out, "# %*s", (int)before, "");
    for (unsigned i = 0; i < o->columns.count; i++) {
        if (o->columns.items[i] >= ROWS_KEYS)
            continue;
        size_t width = o->separator ? 0 : t->events * rows_figure_width(t->l, i);
        output_text(out, dots == before ? "" : o->separator ? o->separator : "  ");
        output_format(out, "%*s", (int)width, rows_heading(o->columns.items[i]));
        dots += (dots > before ? 2 : 0) + (width ? width : 1);
    }
    output_text(out, o->separator ? o->separator : "  ");
    size_t names = write_names(t);
    output_text(out, "\n");
    if (o->separator)
        return;
    output_text(out, "# ");
    write_dots(out, dots);
    output_text(out, "  ");
    write_dots(out, names_width(t, names));
    output_text(out, "\n#\n");
}

/* The next node of a walk over the tree, callers before callees; 0 at the end. */
static uint32_t next_node(const struct tree *t, uint32_t node)
{
    if (t->nodes[node].child)
        return t->nodes[node].child;
    while (node && !t->nodes[node].sibling)
        node = t->nodes[node].parent;
    return t->nodes[node].sibling;
}

bool rows_write_hierarchy(struct rows_layout *l, struct error *err)
{
    struct tree t = {.l = l, .arena = ARENA_INIT, .events = l->rows->events};
    find_levels(&t);
    bool ok = t.columns && t.levels && add_rows(&t) && link_nodes(&t);
    bool made = ok || error_memory(err);
    if (ok)
        write_headings(&t);
    for (uint32_t n = 0; ok && (n = next_node(&t, n)) != 0;)
        ok = write_node(&t, n, err);
    arena_deinit(&t.arena);
    return made && ok;
}
