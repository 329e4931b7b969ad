/* SPDX-License-Identifier: Apache-2.0 */
#include "../transform/profiles.h"
#include "analysis/breakdown.h"
#include "analysis/chain_tree.h"

static const struct row rows[] = {
    {"main;parse;parse;alloc", 3, "web/1"},
    {"main;parse", 2, "web/1"},
    {"main;emit", 4, "db/2"},
    {"idle", 1, "db/2"},
    {"main;emit", 7, "db/2", "faults"},
    {"", 5, "db/2/3", "nothing"},
};

/* The rows as "comm sym self total samples;...", the largest first. */
static void write_rows(const struct breakdown *b, struct output *out)
{
    for (size_t i = 0; i + 1 < b->row_count; i++) {
        const struct breakdown_row *row = &b->rows[b->order[i]];
        for (unsigned k = 0; k < b->o->key_count; k++) {
            breakdown_write(b, row, b->o->keys[k], false, out);
            output_char(out, ' ');
        }
        output_format(out, "%g %g %llu;", row->self, row->total,
                      (unsigned long long)row->samples);
    }
}

static void assert_rows(const struct breakdown_options *o, const char *event,
                        const char *expected)
{
    struct profile *p = PROFILE(rows);
    struct output out = OUTPUT_BUFFER;
    struct breakdown b;
    struct error err;
    assert_true(breakdown_init(&b, p, o, profile_find_event(p, str_of(event)), &err));
    write_rows(&b, &out);
    assert_str(output_contents(&out), expected);
    output_deinit(&out);
    breakdown_deinit(&b);
    profile_destroy(p);
}

static void self_adds_up_and_recursion_counts_once(void **state)
{
    struct breakdown_options o = {.keys = {KEY_SYM}, .key_count = 1};
    (void)state;
    assert_rows(&o, "samples", "emit 4 4 1;alloc 3 3 1;parse 2 2 1;idle 1 1 1;");
    o.children = true;
    assert_rows(&o, "samples",
                "main 0 9 0;parse 2 5 1;emit 4 4 1;alloc 3 3 1;idle 1 1 1;");
    assert_rows(&o, "faults", "emit 7 7 1;main 0 7 0;");
    o.keys[0] = KEY_COMM;
    assert_rows(&o, "samples", "db 5 5 2;web 5 5 2;");
}

static void keys_of_threads_and_frames_are_combined(void **state)
{
    struct breakdown_options o = {
        .keys = {KEY_PID, KEY_SYM}, .key_count = 2, .children = true};
    (void)state;
    assert_rows(&o, "samples",
                "1:web parse 2 5 1;1:web main 0 5 0;2:db emit 4 4 1;2:db main 0 4 0;"
                "1:web alloc 3 3 1;2:db idle 1 1 1;");
    /* A sample without a stack is a row, too. */
    o.keys[0] = KEY_TID;
    assert_rows(&o, "nothing", "3:db [unknown] 5 5 1;");
}

static void words_leave_rows_out_and_shares_alone(void **state)
{
    struct str word = STR("p*"), comm = STR("web");
    struct breakdown_options o = {
        .keys = {KEY_COMM}, .key_count = 1, .children = true, .symbols = {&word, 1}};
    struct profile *p = PROFILE(rows);
    struct breakdown b;
    struct error err;
    (void)state;
    assert_rows(&o, "samples", "web 2 5 1;");
    o.comms = (struct breakdown_words){&comm, 1};
    o.symbols.count = 0;
    assert_true(breakdown_init(&b, p, &o, 1, &err));
    assert_true(b.total == 10 && b.left_out == 5 && b.row_count == 2);
    breakdown_deinit(&b);
    profile_destroy(p);
}

/* Graphs as "name total depth;...". */
static void assert_graph(bool children, enum chain_order order, const char *row,
                         const char *expected)
{
    struct breakdown_options o = {
        .keys = {KEY_SYM}, .key_count = 1, .children = children};
    struct chain_tree_options how = {.order = order, .min_weight = 2.5};
    struct profile *p = PROFILE(rows);
    struct output out = OUTPUT_BUFFER;
    struct chain_trees graphs;
    struct chain_tree graph;
    struct breakdown b;
    struct error err;
    uint32_t number = 0;
    assert_true(breakdown_init(&b, p, &o, 1, &err));
    assert_true(chain_trees_init(&graphs, &b, &how, &err));
    for (uint32_t r = 1; r < b.row_count; r++) {
        uint32_t symbol = (uint32_t)breakdown_value(&b, &b.rows[r], KEY_SYM);
        if (str_equal(breakdown_symbol_name(&b, symbol), str_of(row)))
            number = r;
    }
    assert_true(chain_tree_init(&graph, &graphs, number, &err));
    for (uint32_t n = 1; n < graph.count; n++)
        output_format(&out, "%.*s %g %u;",
                      STR_ARG(breakdown_symbol_name(&b, graph.nodes[n].symbol)),
                      graph.nodes[n].total, graph.nodes[n].depth);
    assert_str(output_contents(&out), expected);
    chain_tree_deinit(&graph);
    chain_trees_deinit(&graphs);
    breakdown_deinit(&b);
    output_deinit(&out);
    profile_destroy(p);
}

static void parents_are_the_innermost_selected_functions(void **state)
{
    struct profile *p = PROFILE(rows);
    uint32_t selected[32] = {0};
    struct breakdown_options o = {
        .keys = {KEY_PARENT, KEY_SYM}, .key_count = 2, .parents = selected};
    (void)state;
    assert_true(p->frame_count <= 32);
    for (frame_id f = 0; f < p->frame_count; f++) {
        struct str name = profile_string(p, p->frames[f].name);
        selected[f] = str_equal(name, STR("main")) || str_equal(name, STR("parse"));
    }
    profile_destroy(p);
    assert_rows(
        &o, "samples",
        "main emit 4 4 1;parse alloc 3 3 1;parse parse 2 2 1;[other] idle 1 1 1;");
    o.only_parents = true;
    assert_rows(&o, "samples", "main emit 4 4 1;parse alloc 3 3 1;parse parse 2 2 1;");
    o.parents = NULL;
    assert_rows(&o, "samples", "");
}

static void graphs_lead_to_callers_and_callees(void **state)
{
    (void)state;
    assert_graph(true, CHAINS_CALLER, "main",
                 "main 9 1;parse 5 2;parse 3 3;alloc 3 4;emit 4 2;");
    assert_graph(true, CHAINS_CALLER, "parse", "parse 3 1;parse 3 2;alloc 3 3;");
    assert_graph(true, CHAINS_CALLEE, "parse", "parse 5 1;parse 3 2;main 3 3;");
    assert_graph(false, CHAINS_CALLEE, "alloc",
                 "alloc 3 1;parse 3 2;parse 3 3;main 3 4;");
    assert_graph(false, CHAINS_CALLER, "alloc",
                 "main 3 1;parse 3 2;parse 3 3;alloc 3 4;");
    assert_graph(false, CHAINS_CALLER, "idle", ""); /* too small */
}

static void a_stack_may_be_deep(void **state)
{
    enum { DEPTH = 300000 };
    struct breakdown_options o = {.keys = {KEY_SYM}, .key_count = 1, .children = true};
    struct chain_tree_options how = {.order = CHAINS_CALLER};
    struct chain_trees graphs;
    struct chain_tree graph;
    struct breakdown b;
    struct builder builder;
    struct error err;
    stack_id stack = 0;
    (void)state;
    assert_true(builder_init(&builder, BUILD_COUNT));
    event_id event = builder_event(&builder, STR("samples"), UNIT_COUNT);
    for (int i = 0; i < DEPTH; i++) {
        stack = builder_push(&builder, stack,
                             builder_named_frame(&builder, i % 2 ? STR("f") : STR("g")));
        builder_add_stack(&builder, event, stack, 1);
    }
    struct profile *p = builder_finish(&builder, &err);
    assert_true(breakdown_init(&b, p, &o, event, &err));
    assert_int_equal(b.row_count, 3);
    assert_true(b.rows[b.order[0]].total == DEPTH &&
                b.rows[b.order[1]].total == DEPTH - 1);
    assert_true(chain_trees_init(&graphs, &b, &how, &err));
    assert_true(chain_tree_init(&graph, &graphs, b.order[0], &err));
    assert_int_equal(graph.count, CHAIN_DEPTH + 1);
    chain_tree_deinit(&graph);
    chain_trees_deinit(&graphs);
    breakdown_deinit(&b);
    profile_destroy(p);
    builder_deinit(&builder);
}

int main(void)
{
    const struct CMUnitTest units[] = {UNIT(self_adds_up_and_recursion_counts_once),
                                       UNIT(keys_of_threads_and_frames_are_combined),
                                       UNIT(words_leave_rows_out_and_shares_alone),
                                       UNIT(parents_are_the_innermost_selected_functions),
                                       UNIT(graphs_lead_to_callers_and_callees),
                                       UNIT(a_stack_may_be_deep)};
    return UNITS_RUN(units);
}
