/* SPDX-License-Identifier: Apache-2.0 */
/* Tables for programs: CSV, one row per function or node, and JSON. Weights are
 * integers. */
#include "base/visible.h"
#include "codec/json.h"
#include "export/table_parts.h"

/* --- CSV ---------------------------------------------------------------------------- */

static void csv_number(struct output *out, double v)
{
    output_char(out, ',');
    output_double(out, v);
}

/* A field in quotes; control characters are made visible, because it may be written to
 * a terminal. */
void table_csv_text(struct output *out, struct str s)
{
    struct output text = OUTPUT_BUFFER;
    visible_print(&text, s);
    out->failed |= text.failed;
    output_char(out, '"');
    for (struct str rest = output_contents(&text); rest.len;) {
        size_t quote = str_find(rest, '"');
        output_str(out, str_head(rest, quote));
        if (quote < rest.len)
            output_text(out, "\"\"");
        rest = str_skip(rest, quote + 1);
    }
    output_char(out, '"');
    output_deinit(&text);
}

static void csv_weights(struct output *out, const struct table *t, double self,
                        double total, double base_self, double base_total)
{
    csv_number(out, self);
    csv_number(out, total);
    output_char(out, ',');
    output_fixed(out, table_share(t, self), 4);
    output_char(out, ',');
    output_fixed(out, table_share(t, total), 4);
    if (!t->differential)
        return;
    csv_number(out, base_self);
    csv_number(out, base_total);
    output_char(out, ',');
    output_fixed(out, table_base_share(t, base_self), 4);
    output_char(out, ',');
    output_fixed(out, table_base_share(t, base_total), 4);
}

static struct str event_name(const struct table *t)
{
    return profile_string(t->p, t->p->events[t->tree.event].name);
}

static void csv_functions(const struct table *t, struct output *out)
{
    for (size_t i = 0; i < t->shown; i++) {
        const struct table_row *r = &t->rows[t->order[i]];
        table_csv_text(out, event_name(t));
        csv_weights(out, t, r->self, r->total, r->base_self, r->base_total);
        output_char(out, ',');
        table_csv_text(out, r->name);
        output_char(out, ',');
        table_csv_text(out, r->module);
        output_char(out, '\n');
    }
}

static void csv_tree(const struct table *t, struct output *out)
{
    for (uint32_t n = 1; n < t->tree.count; n++) {
        const struct calltree_node *node = &t->tree.nodes[n];
        if (t->o->depth && node->depth > t->o->depth)
            continue;
        table_csv_text(out, event_name(t));
        csv_weights(out, t, node->self, node->total, node->base_self, node->base_total);
        output_format(out, ",%u,", node->depth);
        table_csv_text(out, calltree_label(&t->tree, n));
        output_char(out, '\n');
    }
}

bool table_write_csv(const struct profile *p, const struct export_options *options,
                     struct output *out, struct error *err)
{
    const struct table_options *o = options->table;
    bool ok = true;
    output_text(out, "event,self,total,self_percent,total_percent");
    if (p->facts.differential)
        output_text(out, ",self_before,total_before,self_percent_before,"
                         "total_percent_before");
    output_text(out, o->tree ? ",depth,name\n" : ",name,module\n");
    for (event_id e = 0; ok && (e = table_next_event(p, options, e)) != 0;) {
        struct table t;
        ok = table_init(&t, p, options, e, err);
        if (ok && o->tree)
            csv_tree(&t, out);
        else if (ok)
            csv_functions(&t, out);
        table_deinit(&t);
    }
    return ok;
}

/* --- JSON --------------------------------------------------------------------------- */

static void json_weights(struct json_writer *w, const struct table *t, double self,
                         double total, double base_self, double base_total)
{
    json_member_double(w, "self", self);
    json_member_double(w, "total", total);
    if (!t->differential)
        return;
    json_member_double(w, "self_before", base_self);
    json_member_double(w, "total_before", base_total);
}

static void json_functions(struct json_writer *w, const struct table *t)
{
    json_put_key(w, "functions");
    json_begin(w, JSON_ARRAY);
    for (size_t i = 0; i < t->shown; i++) {
        const struct table_row *r = &t->rows[t->order[i]];
        json_put_line(w);
        json_begin(w, JSON_OBJECT);
        json_member_str(w, "name", r->name);
        if (r->module.len)
            json_member_str(w, "module", r->module);
        json_weights(w, t, r->self, r->total, r->base_self, r->base_total);
        json_end(w, JSON_OBJECT);
    }
    json_end(w, JSON_ARRAY);
    json_member_u64(w, "functions_left_out", t->count - t->shown);
}

/* Nodes are in preorder: one is closed if the next is not deeper. */
static void json_tree(struct json_writer *w, const struct table *t)
{
    uint32_t open = 0;
    json_put_key(w, "tree");
    json_begin(w, JSON_ARRAY);
    for (uint32_t n = 1; n < t->tree.count; n++) {
        const struct calltree_node *node = &t->tree.nodes[n];
        if (t->o->depth && node->depth > t->o->depth)
            continue;
        for (; open >= node->depth; open--) {
            json_end(w, JSON_ARRAY);
            json_end(w, JSON_OBJECT);
        }
        json_put_line(w);
        json_begin(w, JSON_OBJECT);
        json_member_str(w, "name", calltree_label(&t->tree, n));
        json_weights(w, t, node->self, node->total, node->base_self, node->base_total);
        json_put_key(w, "children");
        json_begin(w, JSON_ARRAY);
        open = node->depth;
    }
    for (; open > 0; open--) {
        json_end(w, JSON_ARRAY);
        json_end(w, JSON_OBJECT);
    }
    json_end(w, JSON_ARRAY);
}

static void json_event(struct json_writer *w, const struct table *t)
{
    enum unit unit = t->p->events[t->tree.event].unit;
    json_put_line(w);
    json_begin(w, JSON_OBJECT);
    json_member_str(w, "event", event_name(t));
    json_member_str(w, "unit", str_of(unit_name(unit)));
    json_member_u64(w, "samples", t->samples);
    json_member_double(w, "total", t->total);
    if (t->differential)
        json_member_double(w, "total_before", t->base_total);
    json_member_double(w, "unknown", t->unknown);
    if (t->o->tree)
        json_tree(w, t);
    else
        json_functions(w, t);
    json_end(w, JSON_OBJECT);
}

void table_json_facts(struct json_writer *w, const struct profile *p)
{
    const struct facts *facts = &p->facts;
    json_member_str(w, "format", profile_string(p, facts->format));
    if (facts->host)
        json_member_str(w, "host", profile_string(p, facts->host));
    if (facts->command)
        json_member_str(w, "command", profile_string(p, facts->command));
    json_member_u64(w, "samples", facts->samples);
    json_put_key(w, "filtered");
    json_put_bool(w, facts->filtered);
    json_member_u64(w, "lost", facts->lost);
    json_member_u64(w, "truncated", facts->truncated);
    if (facts->grafted)
        json_member_u64(w, "grafted", facts->grafted);
    if (facts->time_first != TIME_NONE) {
        json_member_u64(w, "time_first_ns", facts->time_first);
        json_member_u64(w, "time_last_ns", facts->time_last);
    }
    json_put_key(w, "differential");
    json_put_bool(w, facts->differential);
    json_put_key(w, "warnings");
    json_begin(w, JSON_ARRAY);
    for (unsigned i = 0; i < facts->warning_count; i++) {
        json_begin(w, JSON_OBJECT);
        json_member_str(w, "what", str_of(facts->warnings[i].what));
        json_member_u64(w, "count", facts->warnings[i].count);
        json_end(w, JSON_OBJECT);
    }
    json_end(w, JSON_ARRAY);
}

bool table_write_json(const struct profile *p, const struct export_options *options,
                      struct output *out, struct error *err)
{
    struct json_writer w = {.out = out};
    bool ok = true;
    json_begin(&w, JSON_OBJECT);
    table_json_facts(&w, p);
    json_put_key(&w, "events");
    json_begin(&w, JSON_ARRAY);
    for (event_id e = 0; ok && (e = table_next_event(p, options, e)) != 0;) {
        struct table t;
        ok = table_init(&t, p, options, e, err);
        if (ok)
            json_event(&w, &t);
        table_deinit(&t);
    }
    json_end(&w, JSON_ARRAY);
    json_end(&w, JSON_OBJECT);
    output_char(out, '\n');
    return ok;
}
