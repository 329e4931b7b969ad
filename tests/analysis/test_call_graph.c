/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/call_graph.h"
#include "model/builder.h"
#include "unit.h"

/* Folded lines without weights, one sample each. */
static struct profile *profile_of(const char *const *stacks)
{
    struct builder b;
    struct error err;
    assert_true(builder_init(&b, BUILD_COUNT));
    event_id event = builder_event(&b, STR("samples"), UNIT_COUNT);
    for (size_t i = 0; stacks[i]; i++) {
        struct str rest = str_of(stacks[i]);
        struct sample s = {.time = TIME_NONE, .event = event, .count = 1, .weight = 1};
        while (rest.len)
            s.stack =
                builder_push(&b, s.stack, builder_named_frame(&b, str_cut(&rest, ';')));
        builder_add(&b, &s);
    }
    struct profile *p = builder_finish(&b, &err);
    builder_deinit(&b);
    return p;
}

/* "a>b 2" for each call, in their order, and the functions before them. */
static void assert_graph(const char *const *stacks, struct call_limits limits,
                         const char *expected)
{
    struct calltree t;
    struct call_graph g;
    struct error err;
    struct output o = OUTPUT_BUFFER;
    struct profile *p = profile_of(stacks);
    const struct calltree_options options = {.threads = THREAD_NONE};
    assert_true(calltree_init(&t, p, &options, &err));
    assert_true(call_graph_init(&g, &t, &limits, &err));
    for (size_t i = 0; i < g.function_count; i++)
        output_format(&o, "%.*s %g/%g, ",
                      STR_ARG(strings_get(&t.paths.labels, g.functions[i].label)),
                      g.functions[i].self, g.functions[i].total);
    for (size_t i = 0; i < g.call_count; i++)
        output_format(&o, "%.*s>%.*s %g, ",
                      STR_ARG(strings_get(&t.paths.labels, g.calls[i].caller)),
                      STR_ARG(strings_get(&t.paths.labels, g.calls[i].callee)),
                      g.calls[i].total);
    output_format(&o, "without %zu and %zu", g.functions_left, g.calls_left);
    assert_str(output_contents(&o), expected);
    output_deinit(&o);
    call_graph_deinit(&g);
    calltree_deinit(&t);
    profile_destroy(p);
}

#define STACKS(...) ((const char *const[]){__VA_ARGS__, NULL})
#define ALL ((struct call_limits){0})

static void calls_of_all_stacks_are_added_up(void **state)
{
    (void)state;
    assert_graph(STACKS("a;b;c", "a;b", "a;c", "d;b;c"), ALL,
                 "a 0/3, b 1/3, c 3/3, d 0/1, a>b 2, b>c 2, a>c 1, d>b 1, "
                 "without 0 and 0");
}

static void a_call_counts_once_a_stack(void **state)
{
    (void)state;
    assert_graph(STACKS("a;b;a;b;a", "a;a;a"), ALL,
                 "a 2/2, b 0/1, a>a 1, a>b 1, b>a 1, without 0 and 0");
}

/* At the root again, all frames are closed. */
static void siblings_count_apart(void **state)
{
    (void)state;
    assert_graph(STACKS("a;x;a;x;q", "a;y;a;x;r", "z;a;x"), ALL,
                 "a 0/3, x 1/3, q 1/1, y 0/1, r 1/1, z 0/1, a>x 3, x>a 1, x>q 1, a>y 1, "
                 "y>a 1, x>r 1, z>a 1, without 0 and 0");
}

static void light_ones_are_left_out_and_counted(void **state)
{
    (void)state;
    const char *const *stacks = STACKS("a;b", "a;b", "a;b", "a;c");
    assert_graph(stacks, (struct call_limits){.function_share = 0.5},
                 "a 0/4, b 3/3, a>b 3, without 1 and 1");
    assert_graph(stacks, (struct call_limits){.call_share = 0.5},
                 "a 0/4, b 3/3, c 1/1, a>b 3, without 0 and 1");
    assert_graph(stacks, (struct call_limits){.functions_most = 1},
                 "a 0/4, without 2 and 2");
}

int main(void)
{
    const struct CMUnitTest units[] = {
        UNIT(calls_of_all_stacks_are_added_up), UNIT(a_call_counts_once_a_stack),
        UNIT(siblings_count_apart), UNIT(light_ones_are_left_out_and_counted)};
    return UNITS_RUN(units);
}
