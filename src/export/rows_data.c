/* SPDX-License-Identifier: Apache-2.0 */
/* Rows by keys for programs: CSV, one line per row, and JSON. Weights are integers. */
#include "export/rows.h"

static struct str event_name(const struct rows *r)
{
    return profile_string(r->b.p, r->b.p->events[r->b.event].name);
}

static const struct breakdown_options *by(const struct rows *r)
{
    return &r->o->rows->by;
}

/* Numbers need no quotes. */
static bool is_number(enum breakdown_key key)
{
    return key == KEY_PID || key == KEY_TID || key == KEY_CPU || key == KEY_SYMBOL_SIZE;
}

/* --- CSV --------------------------------------------------------------------------- */

static void csv_share(const struct rows *r, double weight, struct output *out)
{
    output_char(out, ',');
    output_double(out, weight);
    output_char(out, ',');
    output_fixed(out, rows_share(r, weight, 0), 4);
}

static void csv_row(const struct rows *r, const struct breakdown_row *row,
                    struct output *cell, struct output *out)
{
    table_csv_text(out, event_name(r));
    csv_share(r, row->self, out);
    if (by(r)->children)
        csv_share(r, row->total, out);
    output_format(out, ",%llu", (unsigned long long)row->samples);
    for (unsigned k = 0; k < by(r)->key_count; k++) {
        enum breakdown_key key = by(r)->keys[k];
        cell->used = 0;
        breakdown_write(&r->b, row, key, true, cell);
        out->failed |= cell->failed;
        output_char(out, ',');
        if (is_number(key))
            output_str(out, output_contents(cell));
        else
            table_csv_text(out, output_contents(cell));
    }
    output_char(out, '\n');
}

bool rows_write_csv(const struct profile *p, const struct export_options *options,
                    struct output *out, struct error *err)
{
    const struct breakdown_options *o = &options->table->rows->by;
    bool ok = true;
    struct output cell = OUTPUT_BUFFER;
    output_text(out, "event,self,self_percent");
    output_text(out, o->children ? ",total,total_percent,samples" : ",samples");
    for (unsigned k = 0; k < o->key_count; k++)
        output_format(out, ",%s", breakdown_key_name(o->keys[k]));
    output_char(out, '\n');
    for (event_id e = 0; ok && (e = rows_next_event(p, options, e)) != 0;) {
        struct rows r;
        ok = rows_init(&r, p, options, e, err);
        for (uint32_t i = 0; ok && i < r.shown; i++)
            csv_row(&r, &r.b.rows[r.order[i]], &cell, out);
        rows_deinit(&r);
    }
    output_deinit(&cell);
    return ok;
}

/* --- JSON -------------------------------------------------------------------------- */

static void json_value(struct json_writer *w, const struct rows *r,
                       const struct breakdown_row *row, enum breakdown_key key,
                       struct output *cell)
{
    const struct breakdown *b = &r->b;
    uint64_t value = breakdown_known_value(b, row, key);
    json_put_key(w, breakdown_key_name(key));
    if (value == 0) {
        json_put_null(w);
    } else if (is_number(key)) {
        json_put_u64(w, key == KEY_SYMBOL_SIZE ? value : value - 1);
    } else {
        cell->used = 0;
        breakdown_write(b, row, key, true, cell);
        w->out->failed |= cell->failed;
        json_put_str(w, output_contents(cell));
    }
    if (key == KEY_SYM)
        json_member_str(w, "level",
                        (struct str){&b->symbols[breakdown_value(b, row, key)].level, 1});
}

static void json_call(struct json_writer *w, const struct rows *r,
                      const struct chain_tree_node *n)
{
    const struct breakdown_symbol *s = &r->b.symbols[n->symbol];
    json_put_line(w);
    json_begin(w, JSON_OBJECT);
    json_put_key(w, "sym");
    if (s->name)
        json_put_str(w, strings_get(&r->b.names, s->name));
    else
        json_put_null(w);
    if (s->module)
        json_member_str(w, "dso", strings_get(&r->b.names, s->module));
    json_member_double(w, "total", n->total);
    json_put_key(w, "calls");
    json_begin(w, JSON_ARRAY);
}

/* Nodes are in preorder: one is closed if the next is not deeper. */
static bool json_graph(struct json_writer *w, struct rows *r, uint32_t row,
                       struct error *err)
{
    struct chain_tree graph;
    bool ok = chain_tree_init(&graph, &r->graphs, row, err);
    uint32_t open = 0;
    json_put_key(w, "calls");
    json_begin(w, JSON_ARRAY);
    for (uint32_t n = 1; ok && n <= graph.count; n++) {
        uint32_t depth = n < graph.count ? graph.nodes[n].depth : 1;
        for (; open >= depth; open--) {
            json_end(w, JSON_ARRAY);
            json_end(w, JSON_OBJECT);
        }
        if (n == graph.count)
            break;
        json_call(w, r, &graph.nodes[n]);
        open = depth;
    }
    json_end(w, JSON_ARRAY);
    chain_tree_deinit(&graph);
    return ok;
}

static bool json_row(struct json_writer *w, struct rows *r, uint32_t number,
                     struct output *cell, struct error *err)
{
    const struct breakdown_row *row = &r->b.rows[number];
    bool ok = true;
    json_put_line(w);
    json_begin(w, JSON_OBJECT);
    for (unsigned k = 0; k < by(r)->key_count; k++)
        json_value(w, r, row, by(r)->keys[k], cell);
    json_member_double(w, "self", row->self);
    if (by(r)->children)
        json_member_double(w, "total", row->total);
    json_member_u64(w, "samples", row->samples);
    if (r->o->rows->graph.order != CHAINS_NONE)
        ok = json_graph(w, r, number, err);
    json_end(w, JSON_OBJECT);
    return ok;
}

static bool json_event(struct json_writer *w, struct rows *r, struct output *cell,
                       struct error *err)
{
    const struct profile *p = r->b.p;
    bool ok = true;
    json_put_line(w);
    json_begin(w, JSON_OBJECT);
    json_member_str(w, "event", event_name(r));
    json_member_str(w, "unit", str_of(unit_name((enum unit)p->events[r->b.event].unit)));
    json_member_u64(w, "samples", r->b.samples);
    json_member_double(w, "total", r->b.total);
    json_member_double(w, "not_chosen", r->b.left_out);
    json_put_key(w, "rows");
    json_begin(w, JSON_ARRAY);
    for (uint32_t i = 0; ok && i < r->shown; i++)
        ok = json_row(w, r, r->order[i], cell, err);
    json_end(w, JSON_ARRAY);
    json_member_u64(w, "rows_left_out", r->count - r->shown);
    json_end(w, JSON_OBJECT);
    return ok;
}

bool rows_write_json(const struct profile *p, const struct export_options *options,
                     struct output *out, struct error *err)
{
    const struct breakdown_options *o = &options->table->rows->by;
    struct json_writer w = {.out = out};
    struct output cell = OUTPUT_BUFFER;
    bool ok = true;
    json_begin(&w, JSON_OBJECT);
    table_json_facts(&w, p);
    json_put_key(&w, "keys");
    json_begin(&w, JSON_ARRAY);
    for (unsigned k = 0; k < o->key_count; k++)
        json_put_str(&w, str_of(breakdown_key_name(o->keys[k])));
    json_end(&w, JSON_ARRAY);
    json_put_key(&w, "events");
    json_begin(&w, JSON_ARRAY);
    for (event_id e = 0; ok && (e = rows_next_event(p, options, e)) != 0;) {
        struct rows r;
        ok = rows_init(&r, p, options, e, err) && json_event(&w, &r, &cell, err);
        rows_deinit(&r);
    }
    json_end(&w, JSON_ARRAY);
    json_end(&w, JSON_OBJECT);
    output_char(out, '\n');
    output_deinit(&cell);
    return ok;
}
