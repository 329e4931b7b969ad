#include "export/svg_layout.h"
#include "model/builder.h"
#include "unit.h"

/* Boxes as text: "row name x+width"; summaries by kind. */
static void write_boxes(struct output *o, const struct svg_layout *l,
                        const struct calltree *t)
{
    static const char *const kinds[] = {"", "narrow", "run", "deep"};
    for (size_t i = 0; i < l->count; i++) {
        const struct svg_box *b = &l->boxes[i];
        output_format(o, "%s%u ", i ? ", " : "", b->row);
        if (b->kind == SVG_BOX_FRAME)
            output_str(o, b->node ? calltree_label(t, b->node) : STR("all"));
        else
            output_format(o, "%s:%u", kinds[b->kind], b->hidden);
        output_format(o, " %g+%g", b->x, svg_box_width(l, b));
    }
}

/* A stack of `names`, one letter each, root first. */
static void add_stack(struct builder *b, const char *names, double weight, event_id e)
{
    stack_id stack = 0;
    for (; *names; names++)
        stack = builder_push(b, stack, builder_named_frame(b, (struct str){names, 1}));
    builder_add_stack(b, e, stack, weight);
}

static void lay_out(const struct profile *p, double min_share,
                    struct svg_layout_options options, const char *expected)
{
    struct calltree_options tree_options = {.min_share = min_share};
    struct calltree t;
    struct svg_layout l;
    struct error err;
    struct output o = OUTPUT_BUFFER;
    options.min_share = min_share;
    options.base_factor = options.base_factor > 0 ? options.base_factor : 1;
    options.max_rows = options.max_rows ? options.max_rows : 100;
    assert_true(calltree_init(&t, p, &tree_options, &err));
    assert_true(svg_layout_init(&l, &t, &options, &err));
    write_boxes(&o, &l, &t);
    assert_str(output_contents(&o), expected);
    assert_true(l.rows <= options.max_rows);
    output_deinit(&o);
    svg_layout_deinit(&l);
    calltree_deinit(&t);
}

static struct profile *finish(struct builder *b)
{
    struct error err;
    struct profile *p = builder_finish(b, &err);
    builder_deinit(b);
    assert_non_null(p);
    return p;
}

static struct profile *profile_of(const char *const *stacks, const double *weights)
{
    struct builder b;
    assert_true(builder_init(&b, BUILD_COUNT));
    event_id e = builder_event(&b, STR("samples"), UNIT_COUNT);
    for (; *stacks; stacks++)
        add_stack(&b, *stacks, *weights++, e);
    return finish(&b);
}

/* As in flamegraph.pl and inferno. */
static void own_weight_is_on_the_left(void **state)
{
    const char *const stacks[] = {"a", "ab", "ac", "ac", "acd", "e", NULL};
    const double weights[] = {5, 1, 1, 2, 4, 7};
    struct profile *p = profile_of(stacks, weights);
    (void)state;
    lay_out(p, 0, (struct svg_layout_options){0},
            "0 all 0+20, 1 a 0+13, 2 b 5+1, 2 c 6+7, 3 d 9+4, 1 e 13+7");
    profile_destroy(p);
}

static void callees_stand_side_by_side(void **state)
{
    const char *const stacks[] = {"ab", "acd", "ace", "f", NULL};
    const double weights[] = {1, 2, 3, 4};
    struct profile *p = profile_of(stacks, weights);
    (void)state;
    lay_out(p, 0, (struct svg_layout_options){0},
            "0 all 0+10, 1 a 0+6, 2 b 0+1, 2 c 1+5, 3 d 1+2, 3 e 3+3, 1 f 6+4");
    profile_destroy(p);
}

static void narrow_callees_are_one_box(void **state)
{
    const char *const stacks[] = {"ab", "ac", "ad", "ax", "f", NULL};
    const double weights[] = {4, 5, 3, 80, 908};
    struct profile *p = profile_of(stacks, weights);
    (void)state;
    lay_out(p, 0.01, (struct svg_layout_options){0},
            "0 all 0+1000, 1 a 0+92, 2 x 0+80, 2 narrow:3 80+12, 1 f 92+908");
    profile_destroy(p);
}

static void narrower_than_that_is_counted(void **state)
{
    const char *const stacks[] = {"ab", "ac", "ax", "f", NULL};
    const double weights[] = {4, 5, 80, 911};
    struct profile *p = profile_of(stacks, weights);
    struct calltree_options tree_options = {.min_share = 0.01};
    struct svg_layout_options options = {
        .min_share = 0.01, .base_factor = 1, .max_rows = 100};
    struct calltree t;
    struct svg_layout l;
    struct error err;
    (void)state;
    assert_true(calltree_init(&t, p, &tree_options, &err));
    assert_true(svg_layout_init(&l, &t, &options, &err));
    assert_int_equal(l.narrow_frames, 2);
    assert_double(l.narrow_total, 9);
    svg_layout_deinit(&l);
    calltree_deinit(&t);
    profile_destroy(p);
}

static void a_larger_total_leaves_room(void **state)
{
    const char *const stacks[] = {"a", NULL};
    const double weights[] = {5};
    struct profile *p = profile_of(stacks, weights);
    struct calltree t;
    struct svg_layout l;
    struct error err;
    struct svg_layout_options options = {.total = 20, .base_factor = 1, .max_rows = 100};
    (void)state;
    assert_true(calltree_init(&t, p, &(struct calltree_options){0}, &err));
    assert_true(svg_layout_init(&l, &t, &options, &err));
    assert_double(l.total, 20);
    svg_layout_deinit(&l);
    options.total = 2; /* less than the sum: ignored */
    assert_true(svg_layout_init(&l, &t, &options, &err));
    assert_double(l.total, 5);
    svg_layout_deinit(&l);
    calltree_deinit(&t);
    profile_destroy(p);
}

static struct profile *differential(void)
{
    struct builder b;
    assert_true(builder_init(&b, BUILD_COUNT));
    event_id before = builder_event(&b, STR("before"), UNIT_COUNT);
    event_id after = builder_event(&b, STR("after"), UNIT_COUNT);
    b.profile->facts.differential = true;
    add_stack(&b, "ab", 6, before);
    add_stack(&b, "ac", 2, before);
    add_stack(&b, "ac", 4, after);
    return finish(&b);
}

static void what_vanished_has_no_width_but_had_one(void **state)
{
    struct profile *p = differential();
    (void)state;
    lay_out(p, 0, (struct svg_layout_options){0}, "0 all 0+4, 1 a 0+4, 2 b 0+0, 2 c 0+4");
    lay_out(p, 0, (struct svg_layout_options){.before = true},
            "0 all 0+8, 1 a 0+8, 2 b 0+6, 2 c 6+2");
    lay_out(p, 0, (struct svg_layout_options){.before = true, .base_factor = 0.5},
            "0 all 0+4, 1 a 0+4, 2 b 0+3, 2 c 3+1");
    profile_destroy(p);
}

static void a_long_run_is_shortened_where_there_is_no_room(void **state)
{
    const char *const stacks[] = {"abbbbbbbbbbbbbbbbbbc", "abd", NULL};
    const double weights[] = {2, 1};
    struct profile *p = profile_of(stacks, weights);
    (void)state;
    lay_out(p, 0, (struct svg_layout_options){.max_rows = 9},
            "0 all 0+3, 1 a 0+3, 2 b 0+3, 3 b 0+2, 4 b 0+2, 5 run:14 0+2, 6 b 0+2, "
            "7 c 0+2, 3 d 2+1");
    profile_destroy(p);
}

static void what_is_deeper_still_is_one_box(void **state)
{
    const char *const stacks[] = {"abcdefghijk", "abcdefghi", "abcdefgh", "abcdef",
                                  "abcde",       "abcd",      "abc",      NULL};
    const double weights[] = {1, 1, 1, 1, 1, 1, 1};
    struct profile *p = profile_of(stacks, weights);
    (void)state;
    lay_out(p, 0, (struct svg_layout_options){.max_rows = 8},
            "0 all 0+7, 1 a 0+7, 2 b 0+7, 3 c 0+7, 4 d 1+6, 5 e 2+5, 6 f 3+4, "
            "7 deep:5 4+3");
    profile_destroy(p);
}

static void half_a_million_frames_fit(void **state)
{
    struct builder b;
    (void)state;
    assert_true(builder_init(&b, BUILD_COUNT));
    event_id e = builder_event(&b, STR("samples"), UNIT_COUNT);
    stack_id stack = 0;
    for (int i = 0; i < 500000; i++) {
        char name[16];
        format_text(name, sizeof name, "f%d", i % 100);
        stack = builder_push(&b, stack, builder_named_frame(&b, str_of(name)));
        if (i % 1000 == 0) /* runs of 1000, and of 500 times a branch */
            builder_add_stack(&b, e, stack, 1);
    }
    builder_add_stack(&b, e, stack, 1);
    struct profile *p = finish(&b);
    struct svg_layout_options options = {.base_factor = 1, .max_rows = 1700};
    struct calltree t;
    struct svg_layout l;
    struct error err;
    assert_true(calltree_init(&t, p, &(struct calltree_options){0}, &err));
    assert_true(svg_layout_init(&l, &t, &options, &err));
    assert_true(l.rows <= 1700 && l.count < 10000);
    uint64_t frames = 0;
    for (size_t i = 0; i < l.count; i++)
        frames += l.boxes[i].kind == SVG_BOX_FRAME ? 1 : l.boxes[i].hidden;
    assert_int_equal(frames, t.count); /* every frame is a box, or counted in one */
    svg_layout_deinit(&l);
    calltree_deinit(&t);
    profile_destroy(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        UNIT(callees_stand_side_by_side),
        UNIT(own_weight_is_on_the_left),
        UNIT(narrow_callees_are_one_box),
        UNIT(narrower_than_that_is_counted),
        UNIT(a_larger_total_leaves_room),
        UNIT(what_vanished_has_no_width_but_had_one),
        UNIT(a_long_run_is_shortened_where_there_is_no_room),
        UNIT(what_is_deeper_still_is_one_box),
        UNIT(half_a_million_frames_fit),
    };
    return UNITS_RUN(tests);
}
