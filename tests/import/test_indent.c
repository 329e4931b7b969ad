#include "import/indent.h"
#include "model/frame_label.h"
#include "unit.h"

static frame_id frame(struct builder *b, const char *name)
{
    return builder_named_frame(b, str_of(name));
}

/* "a;b 3" per sample, in the order of the samples. */
static void print_samples(struct output *o, const struct profile *p)
{
    for (size_t i = 0; i < p->sample_count; i++) {
        stack_id path[16];
        size_t depth = 0;
        for (stack_id s = p->samples[i].stack; s; s = p->stacks[s].parent)
            path[depth++] = s;
        while (depth--)
            output_format(
                o, "%.*s%s",
                STR_ARG(profile_string(p, p->frames[p->stacks[path[depth]].frame].name)),
                depth ? ";" : "");
        output_format(o, " %g x%u\n", p->samples[i].weight,
                      (unsigned)p->samples[i].count);
    }
}

static void assert_samples(const struct builder *b, const char *expected)
{
    struct output got = OUTPUT_BUFFER;
    print_samples(&got, b->profile);
    assert_str(output_contents(&got), expected);
    output_deinit(&got);
}

static void a_row_is_under_the_last_one_farther_out(void **state)
{
    (void)state;
    struct builder b;
    assert_true(builder_init(&b, BUILD_KEEP));
    struct indent t = {.b = &b};
    event_id e = builder_event(&b, STR("e"), UNIT_COUNT);
    builder_add_stack(&b, e, indent_open(&t, 2, frame(&b, "a")), 1);
    builder_add_stack(&b, e, indent_open(&t, 9, frame(&b, "b")), 2);
    builder_add_stack(&b, e, indent_open(&t, 5, frame(&b, "c")), 3);
    builder_add_stack(&b, e, indent_stack(&t), 4);
    builder_add_stack(&b, e, indent_open(&t, 0, frame(&b, "d")), 5);
    indent_close(&t, 0);
    assert_int_equal(indent_stack(&t), 0);
    indent_deinit(&t);
    assert_samples(&b, "a 1 x1\na;b 2 x1\na;c 3 x1\na;c 4 x1\nd 5 x1\n");
    builder_deinit(&b);
}

static void add_total(struct indent *t, size_t column, const char *name, double total,
                      double doubt)
{
    indent_open(t, column, frame(t->b, name));
    indent_total(t, total, doubt);
}

static void a_total_gives_what_the_rows_below_leave(void **state)
{
    (void)state;
    struct builder b;
    assert_true(builder_init(&b, BUILD_KEEP));
    struct indent t = {
        .b = &b, .samples = true, .event = builder_event(&b, STR("e"), UNIT_COUNT)};
    add_total(&t, 0, "a", 10, 0);
    add_total(&t, 1, "b", 4, 0);
    add_total(&t, 2, "c", 4, 0);
    add_total(&t, 1, "d", 5, 0);
    indent_silence(&t);
    add_total(&t, 0, "e", 2, 0);
    add_total(&t, 1, "f", 3, 0);
    indent_deinit(&t);
    assert_samples(&b, "a;b;c 4 x4\na 1 x1\ne;f 3 x3\n");
    assert_int_equal(b.profile->facts.warning_count, 1); /* e has less than f */
    builder_deinit(&b);
}

static void rounding_leaves_nothing(void **state)
{
    (void)state;
    struct builder b;
    assert_true(builder_init(&b, BUILD_KEEP));
    struct indent t = {.b = &b, .event = builder_event(&b, STR("e"), UNIT_COUNT)};
    add_total(&t, 0, "a", 10, 0.5);
    add_total(&t, 1, "b", 3, 0.5);
    add_total(&t, 1, "c", 6, 0.5);
    add_total(&t, 0, "d", 10, 0.5);
    add_total(&t, 1, "e", 11, 0.5);
    indent_deinit(&t);
    assert_samples(&b, "a;b 3 x1\na;c 6 x1\nd;e 11 x1\n");
    assert_int_equal(b.profile->facts.warning_count, 0);
    builder_deinit(&b);
}

static void in_a_tree_of_callers_the_innermost_row_is_outermost(void **state)
{
    (void)state;
    struct builder b;
    assert_true(builder_init(&b, BUILD_KEEP));
    struct indent t = {
        .b = &b, .callers = true, .event = builder_event(&b, STR("e"), UNIT_COUNT)};
    add_total(&t, 0, "leaf", 7, 0);
    add_total(&t, 1, "caller", 5, 0);
    add_total(&t, 2, "main", 5, 0);
    indent_deinit(&t);
    assert_samples(&b, "main;caller;leaf 5 x1\nleaf 2 x1\n");
    builder_deinit(&b);
}

int main(void)
{
    static const struct CMUnitTest units[] = {
        UNIT(a_row_is_under_the_last_one_farther_out),
        UNIT(a_total_gives_what_the_rows_below_leave),
        UNIT(rounding_leaves_nothing),
        UNIT(in_a_tree_of_callers_the_innermost_row_is_outermost),
    };
    return UNITS_RUN(units);
}
