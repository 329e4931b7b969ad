/* SPDX-License-Identifier: Apache-2.0 */
/* The tree that d3-flame-graph draws: {"name", "value", "children": [...]}; the value
 * is the total weight. In a differential profile, the value is that after, and "delta"
 * the change. */
#include "codec/json.h"
#include "export/exporter.h"

/* Opens the object of a node; its children follow. */
static void open_node(struct json_writer *j, const struct calltree *t, uint32_t n,
                      struct str name)
{
    const struct calltree_node *node = &t->nodes[n];
    json_begin(j, JSON_OBJECT);
    json_member_str(j, "name", name);
    json_member_double(j, "value", node->total);
    if (t->base)
        json_member_double(j, "delta", node->total - node->base_total);
    if (node->end > n + 1) {
        json_put_key(j, "children");
        json_begin(j, JSON_ARRAY);
    }
}

/* Nodes are in preorder: open nodes that end before the next one are closed, innermost
 * first. */
static void write_nodes(struct json_writer *j, const struct calltree *t, struct str root)
{
    uint32_t innermost = 0;
    open_node(j, t, 0, root);
    for (uint32_t n = 1; n <= t->count; n++) {
        while (t->nodes[innermost].end == n) {
            if (n > innermost + 1)
                json_end(j, JSON_ARRAY);
            json_end(j, JSON_OBJECT);
            if (innermost == 0)
                return;
            innermost = t->nodes[innermost].parent;
        }
        json_put_line(j);
        open_node(j, t, n, calltree_label(t, n));
        innermost = n;
    }
}

static bool d3_write(const struct profile *p, const struct export_options *options,
                     struct output *out, struct error *err)
{
    struct json_writer j = {.out = out};
    struct calltree t;
    if (!calltree_init(&t, p, &options->tree, err))
        return false;
    write_nodes(&j, &t, options->title.len ? options->title : STR("all"));
    output_char(out, '\n');
    calltree_deinit(&t);
    return true;
}

const struct exporter export_d3 = {
    .name = "d3",
    .suffixes = "json",
    .summary = "d3-flame-graph JSON, a tree of inclusive values",
    .write = d3_write,
};
