/* SPDX-License-Identifier: Apache-2.0 */
#include "web/core/core.h"

bool graph_init(struct graph *g, const struct shown *s, struct error *err)
{
    const struct calltree_options options = {
        .event = s->event,
        .threads = THREAD_NONE,
        .label =
            {.plain =
                 true}, /* as in shown_init, so that the labels have the same numbers */
        .weight = s->count ? CALLTREE_SAMPLES : CALLTREE_VALUE,
        .idle = s->idle_left};
    *g = (struct graph){0};
    g->made = calltree_init(&g->tree, s->p, &options, err);
    return g->made;
}

void graph_deinit(struct graph *g)
{
    if (g->made)
        calltree_deinit(&g->tree);
    *g = (struct graph){0};
}

static void reply_call(struct json_writer *w, const struct call *c)
{
    json_begin(w, JSON_OBJECT);
    json_member_u64(w, "caller", c->caller);
    json_member_u64(w, "callee", c->callee);
    json_member_double(w, "total", c->total);
    json_member_double(w, "base_total", c->base_total);
    json_end(w, JSON_OBJECT);
}

bool reply_graph(struct json_writer *w, struct graph *g, const struct shown *s,
                 const struct functions *f, const struct call_limits *limits,
                 const struct looks *looks, struct error *err)
{
    struct call_graph graph;
    if (!call_graph_init(&graph, &g->tree, limits, err)) {
        call_graph_deinit(&graph);
        return false;
    }
    json_begin(w, JSON_OBJECT);
    json_member_u64(w, "functions_left", graph.functions_left);
    json_member_u64(w, "calls_left", graph.calls_left);
    json_put_key(w, "functions");
    json_begin(w, JSON_ARRAY);
    for (size_t i = 0; i < graph.function_count; i++) {
        string_id label = graph.functions[i].label;
        json_begin(w, JSON_OBJECT);
        json_put_key(w, "match");
        json_put_bool(w, looks->matches && looks->matches[label]);
        json_put_key(w, "function");
        reply_function(w, s, f, 0, label);
        json_end(w, JSON_OBJECT);
    }
    json_end(w, JSON_ARRAY);
    json_put_key(w, "calls");
    json_begin(w, JSON_ARRAY);
    for (size_t i = 0; i < graph.call_count; i++)
        reply_call(w, &graph.calls[i]);
    json_end(w, JSON_ARRAY);
    json_end(w, JSON_OBJECT);
    call_graph_deinit(&graph);
    return true;
}
