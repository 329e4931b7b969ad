/* SPDX-License-Identifier: Apache-2.0 */
#include "export/rows.h"

double rows_share(const struct rows *r, double weight)
{
    double total = r->b.total - (r->o->rows->relative ? r->b.left_out : 0);
    return total != 0 ? 100 * weight / total : 0;
}

static bool has_samples(const struct profile *p, event_id event)
{
    for (size_t i = 0; i < p->sample_count; i++)
        if (p->samples[i].event == event)
            return true;
    return false;
}

event_id rows_next_event(const struct profile *p, const struct export_options *options,
                         event_id last)
{
    event_id only = options->tree.event;
    if (only)
        return last ? 0 : only;
    for (event_id e = last + 1; e < p->event_count; e++)
        if (has_samples(p, e))
            return e;
    return 0;
}

/* Shown rows come first; both groups are sorted. */
static bool choose_rows(struct rows *r)
{
    size_t limit = r->o->limit ? r->o->limit : r->count, hidden = 0;
    uint32_t *others = arena_alloc(&r->b.arena, (r->count + 1) * sizeof *others);
    if (!others)
        return false;
    for (size_t i = 0; i < r->count; i++) {
        const struct breakdown_row *row = &r->b.rows[r->order[i]];
        if (r->shown < limit && rows_share(r, row->total) >= r->o->percent_limit) {
            r->order[r->shown++] = r->order[i];
        } else {
            others[hidden++] = r->order[i];
            r->rest += row->self;
        }
    }
    memcpy(r->order + r->shown, others, hidden * sizeof *others);
    return true;
}

bool rows_init(struct rows *r, const struct profile *p,
               const struct export_options *options, event_id event, struct error *err)
{
    const struct rows_options *o = options->table->rows;
    *r = (struct rows){.o = options->table};
    if (!breakdown_init(&r->b, p, &o->by, event, err))
        return false;
    r->order = r->b.order;
    r->count = r->b.row_count - 1;
    if (!choose_rows(r))
        return error_memory(err);
    struct chain_tree_options graph = o->graph;
    if (o->style < GRAPH_FLAT) /* a path has the weight that ends in it */
        graph.min_weight = o->graph_percent / 100 * r->b.total;
    return graph.order == CHAINS_NONE || chain_trees_init(&r->graphs, &r->b, &graph, err);
}

void rows_deinit(struct rows *r)
{
    chain_trees_deinit(&r->graphs);
    breakdown_deinit(&r->b);
}
