/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/calltree.h"
#include "model/builder.h"
#include "unit.h"

/* Trees are compared as text: one node a line would be long, so "name self/total" with
 * '(' and ')' around the children: "all 0/3(a 0/3(b 1/1 c 2/2))". */
static void write_tree(struct output *o, const struct calltree *t)
{
    uint32_t depth = 0;
    for (uint32_t n = 0; n < t->count; n++) {
        const struct calltree_node *node = &t->nodes[n];
        for (; depth > node->depth; depth--)
            output_char(o, ')');
        if (n)
            output_char(o, n == node->parent + 1 ? '(' : ' ');
        depth = node->depth;
        output_str(o, n ? calltree_label(t, n) : STR("all"));
        output_format(o, " %g/%g", node->self, node->total);
        if (t->base)
            output_format(o, " was %g/%g", node->base_self, node->base_total);
        if (node->elided_at)
            output_format(o, " elided %u:%g", calltree_elided(t, n)->count,
                          calltree_elided(t, n)->total);
    }
    for (; depth > 0; depth--)
        output_char(o, ')');
}

/* The tree is well formed, whatever it holds. */
static void assert_sound(const struct calltree *t)
{
    assert_int_equal(t->nodes[0].end, t->count);
    for (uint32_t n = 1; n < t->count; n++) {
        const struct calltree_node *node = &t->nodes[n], *up = &t->nodes[node->parent];
        assert_true(node->parent < n);
        assert_true(node->end > n && node->end <= up->end);
        assert_int_equal(node->depth, up->depth + 1);
        assert_true(node->total <= up->total);
    }
}

static void assert_tree(const struct profile *p, struct calltree_options options,
                        const char *expected)
{
    struct calltree t;
    struct error err;
    struct output o = OUTPUT_BUFFER;
    assert_true(calltree_init(&t, p, &options, &err));
    assert_sound(&t);
    write_tree(&o, &t);
    assert_str(output_contents(&o), expected);
    output_deinit(&o);
    calltree_deinit(&t);
}

struct line {
    const char *thread; /* NULL: none */
    const char *stack;
    double weight;
    const char *event; /* NULL: "samples" */
};

static void add_line(struct builder *b, const struct line *line, uint64_t time)
{
    struct str rest = str_of(line->stack);
    struct sample s = {.time = time, .cpu = 0, .count = 1, .weight = line->weight};
    while (rest.len)
        s.stack = builder_push(b, s.stack, builder_named_frame(b, str_cut(&rest, ';')));
    s.event = builder_event(b, str_of(line->event ? line->event : "samples"), UNIT_COUNT);
    if (line->thread)
        s.thread = builder_thread(b, 1, 1, str_of(line->thread));
    builder_add(b, &s);
}

static struct profile *profile_of(const struct line *lines, size_t count,
                                  enum build_mode mode)
{
    struct builder b;
    struct error err;
    assert_true(builder_init(&b, mode));
    for (size_t i = 0; i < count; i++)
        add_line(&b, &lines[i], i);
    struct profile *p = builder_finish(&b, &err);
    builder_deinit(&b);
    return p;
}

#define PROFILE(mode, ...)                         \
    profile_of((const struct line[]){__VA_ARGS__}, \
               sizeof((const struct line[]){__VA_ARGS__}) / sizeof(struct line), (mode))

static void an_empty_profile_is_a_root(void **state)
{
    (void)state;
    struct profile *p = profile_of(NULL, 0, BUILD_COUNT);
    assert_tree(p, (struct calltree_options){0}, "all 0/0");
    profile_destroy(p);
}

static void totals_are_sums_of_selves(void **state)
{
    (void)state;
    struct profile *p = PROFILE(BUILD_COUNT, {NULL, "main;b", 1}, {NULL, "main;a;x", 2},
                                {NULL, "main", 4}, {NULL, "", 8});
    assert_tree(p, (struct calltree_options){0},
                "all 8/15(main 4/7(a 0/2(x 2/2) b 1/1))");
    profile_destroy(p);
}

static void by_name_is_bytewise_and_by_size_is_largest_first(void **state)
{
    (void)state;
    struct profile *p = PROFILE(BUILD_COUNT, {NULL, "b", 1}, {NULL, "B", 2},
                                {NULL, "\xc3\xa4", 9}, {NULL, "a", 2}, {NULL, "ab", 5});
    assert_tree(p, (struct calltree_options){.order = CALLTREE_BY_NAME},
                "all 0/19(B 2/2 a 2/2 ab 5/5 b 1/1 \xc3\xa4 9/9)");
    assert_tree(p, (struct calltree_options){.order = CALLTREE_BY_SIZE},
                "all 0/19(\xc3\xa4 9/9 ab 5/5 B 2/2 a 2/2 b 1/1)");
    profile_destroy(p);
}

static void by_time_the_same_path_later_is_a_new_node(void **state)
{
    (void)state;
    struct profile *p = PROFILE(BUILD_KEEP, {NULL, "m;b", 1}, {NULL, "m;b", 1},
                                {NULL, "m;a", 1}, {NULL, "m;b;c", 1}, {NULL, "n", 1});
    assert_tree(p, (struct calltree_options){.order = CALLTREE_BY_TIME},
                "all 0/5(m 0/4(b 2/2 a 1/1 b 0/1(c 1/1)) n 1/1)");
    profile_destroy(p);
}

static void threads_are_children_of_the_root(void **state)
{
    (void)state;
    struct profile *p = PROFILE(BUILD_COUNT, {"sh", "m;a", 1}, {"java", "m;a", 2},
                                {"sh", "m;b", 4}, {NULL, "idle", 8}, {"sh", "", 16});
    assert_tree(p, (struct calltree_options){.threads = THREAD_COMM},
                "all 0/31(idle 8/8 java 0/2(m 0/2(a 2/2)) sh 16/21(m 0/5(a 1/1 b 4/4)))");
    assert_tree(p, (struct calltree_options){.threads = THREAD_NONE},
                "all 16/31(idle 8/8 m 0/7(a 3/3 b 4/4))");
    assert_tree(p, (struct calltree_options){.threads = THREAD_PID},
                "all 0/31(idle 8/8 java-1 0/2(m 0/2(a 2/2)) "
                "sh-1 16/21(m 0/5(a 1/1 b 4/4)))");
    profile_destroy(p);
}

/* Threads under the limit are dropped whole: their stacks are not visited. */
static void small_threads_are_elided_into_the_root(void **state)
{
    (void)state;
    struct profile *p =
        PROFILE(BUILD_COUNT, {"big", "m;a", 90}, {"big", "m;b", 1}, {"s1", "m;a", 2},
                {"s2", "m;a;deep", 1}, {"s2", "m;b", 1}, {NULL, "m", 5});
    struct calltree_options options = {.threads = THREAD_COMM, .min_share = 0.03};
    assert_tree(p, options,
                "all 0/100 elided 2:4(big 0/91(m 0/91 elided 1:1(a 90/90)) m 5/5)");
    options.min_share = 0.02; /* a share equal to the limit remains */
    assert_tree(
        p, options,
        "all 0/100(big 0/91(m 0/91 elided 1:1(a 90/90)) m 5/5 s1 0/2(m 0/2(a 2/2)) "
        "s2 0/2(m 0/2 elided 2:2))");
    profile_destroy(p);
}

static void a_small_thread_was_large_before(void **state)
{
    (void)state;
    struct profile *p =
        PROFILE(BUILD_COUNT, {"old", "m", 50, "before"}, {"big", "m", 50, "before"},
                {"new", "m", 1, "after"}, {"big", "m", 99, "after"},
                {"no", "m", 1, "before"}, {"no", "m", 0, "after"});
    p->facts.differential = true;
    assert_tree(p, (struct calltree_options){.threads = THREAD_COMM, .min_share = 0.05},
                "all 0/100 was 0/101 elided 2:1(big 0/99 was 0/50(m 99/99 was 50/50) "
                "old 0/0 was 0/50(m 0/0 was 50/50))");
    profile_destroy(p);
}

static void a_small_node_is_elided_into_its_caller(void **state)
{
    (void)state;
    struct profile *p = PROFILE(BUILD_COUNT, {NULL, "m;big", 98}, {NULL, "m;s1;deep", 1},
                                {NULL, "m;s2", 0.5}, {NULL, "n", 0.5});
    assert_tree(p, (struct calltree_options){.min_share = 0.02},
                "all 0/100 elided 1:0.5(m 0/99.5 elided 2:1.5(big 98/98))");
    assert_tree(
        p, (struct calltree_options){.min_share = 0.01},
        "all 0/100 elided 1:0.5(m 0/99.5 elided 1:0.5(big 98/98 s1 0/1(deep 1/1)))");
    profile_destroy(p);
}

static void one_event_is_shown_at_a_time(void **state)
{
    (void)state;
    struct profile *p = PROFILE(BUILD_COUNT, {NULL, "a", 1, "cycles"},
                                {NULL, "b", 2, "faults"}, {NULL, "a", 4, "faults"});
    assert_tree(p, (struct calltree_options){0}, "all 0/1(a 1/1)");
    assert_tree(p, (struct calltree_options){.event = 2}, "all 0/6(a 4/4 b 2/2)");
    profile_destroy(p);
}

static void samples_can_be_counted_instead_of_weighed(void **state)
{
    (void)state;
    struct profile *p =
        PROFILE(BUILD_COUNT, {NULL, "a", 100}, {NULL, "a", 50}, {NULL, "b", 7});
    assert_tree(p, (struct calltree_options){.weight = CALLTREE_SAMPLES},
                "all 0/3(a 2/2 b 1/1)");
    profile_destroy(p);
}

static void a_differential_profile_shows_both_sides(void **state)
{
    (void)state;
    struct profile *p =
        PROFILE(BUILD_COUNT, {NULL, "m;gone", 3, "before"}, {NULL, "m;live", 1, "before"},
                {NULL, "m;live", 5, "after"}, {NULL, "m;new", 2, "after"});
    p->facts.differential = true;
    assert_tree(p, (struct calltree_options){0},
                "all 0/7 was 0/4(m 0/7 was 0/4(gone 0/0 was 3/3 "
                "live 5/5 was 1/1 new 2/2 was 0/0))");
    profile_destroy(p);
}

static void frames_of_one_label_are_one_node(void **state)
{
    (void)state;
    struct builder b;
    struct error err;
    assert_true(builder_init(&b, BUILD_COUNT));
    string_id name = builder_string(&b, STR("f"));
    for (uint32_t line = 1; line <= 3; line++) {
        frame_id f = builder_frame(&b, &(struct frame){.name = name, .line = line});
        stack_id up = builder_push(&b, 0, f);
        builder_add_stack(&b, 0, builder_push(&b, up, f), line);
    }
    builder_event(&b, STR("samples"), UNIT_COUNT);
    for (size_t i = 0; i < b.profile->sample_count; i++)
        b.profile->samples[i].event = 1;
    struct profile *p = builder_finish(&b, &err);
    assert_tree(p, (struct calltree_options){0}, "all 0/6(f 0/6(f 6/6))");
    profile_destroy(p);
}

static const struct function *function_named(const struct calltree *t,
                                             const struct function *rows, size_t count,
                                             const char *name)
{
    for (size_t i = 0; i < count; i++)
        if (str_equal(strings_get(&t->paths.labels, rows[i].label), str_of(name)))
            return &rows[i];
    fail_msg("no function %s", name);
    return NULL;
}

static void recursion_counts_once_in_a_total(void **state)
{
    (void)state;
    struct profile *p = PROFILE(BUILD_COUNT, {"sh", "f;g;f;g;f", 1}, {"sh", "f;f", 2},
                                {"sh", "g;f", 4}, {"sh", "h", 8});
    struct calltree t;
    struct error err;
    size_t count;
    assert_true(calltree_init(&t, p, &(struct calltree_options){0}, &err));
    const struct function *rows = calltree_functions(&t, &count, &err);
    assert_non_null(rows);
    assert_int_equal(count, 3); /* the thread is no function */
    const struct function *f = function_named(&t, rows, count, "f");
    const struct function *g = function_named(&t, rows, count, "g");
    assert_double(f->self, 7);
    assert_double(f->total, 7);
    assert_double(g->self, 0);
    assert_double(g->total, 5);
    calltree_deinit(&t);
    profile_destroy(p);
}

static void a_deep_stack_needs_no_deep_machine_stack(void **state)
{
    (void)state;
    struct builder b;
    struct error err;
    size_t count;
    struct calltree t;
    assert_true(builder_init(&b, BUILD_COUNT));
    for (int i = 0; i < 500000; i++)
        builder_path_add(&b, builder_named_frame(&b, i % 3 ? STR("f") : STR("g")));
    event_id e = builder_event(&b, STR("samples"), UNIT_COUNT);
    builder_add_stack(&b, e, builder_path_from_root(&b), 2);
    struct profile *p = builder_finish(&b, &err);
    assert_true(calltree_init(&t, p, &(struct calltree_options){0}, &err));
    assert_int_equal(t.depth, 500000);
    assert_double(t.nodes[t.count - 1].self, 2);
    assert_sound(&t);
    const struct function *rows = calltree_functions(&t, &count, &err);
    assert_int_equal(count, 2);
    assert_double(rows[0].total, 2);
    calltree_deinit(&t);
    profile_destroy(p);
}

/* --- Paths -------------------------------------------------------------------------- */

static void distinct_labels_make_paths_of_stacks(void **state)
{
    (void)state;
    struct profile *p = PROFILE(BUILD_COUNT, {NULL, "a;b", 1}, {NULL, "a;c", 1});
    struct paths paths;
    struct error err;
    assert_true(paths_init(&paths, p, &(struct label_style){0}, &err));
    assert_null(paths.of_stack);
    assert_int_equal(paths.count, p->stack_count);
    for (stack_id s = 1; s < p->stack_count; s++)
        assert_int_equal(path_of_stack(&paths, s), s);
    paths_deinit(&paths);
    profile_destroy(p);
}

static void shared_labels_merge_paths(void **state)
{
    (void)state;
    struct builder b;
    assert_true(builder_init(&b, BUILD_COUNT));
    string_id name = builder_string(&b, STR("f"));
    stack_id one = 0, two = 0;
    for (uint32_t line = 1; line <= 3; line++) {
        one = builder_push(
            &b, one, builder_frame(&b, &(struct frame){.name = name, .line = line}));
        two = builder_push(
            &b, two, builder_frame(&b, &(struct frame){.name = name, .line = 10 - line}));
    }
    struct paths paths;
    struct error err;
    assert_true(paths_init(&paths, b.profile, &(struct label_style){0}, &err));
    assert_int_equal(paths.count, 4);
    assert_int_equal(path_of_stack(&paths, one), path_of_stack(&paths, two));
    assert_str(strings_get(&paths.labels, path_label(&paths, 3)), "f");
    paths_deinit(&paths);
    builder_deinit(&b);
}

/* Stacks of random frames with shared labels, some frequent and some unused, in random
 * order: two stacks share a path only as far as all labels are equal. */
static void check_merged(unsigned seed, uint32_t frame_count, uint32_t label_count)
{
    struct builder b;
    struct paths paths;
    struct error err;
    uint32_t random = seed;
    assert_true(builder_init(&b, BUILD_COUNT));
    for (uint32_t i = 0; i < 600; i++) {
        stack_id stack = 0;
        random = random * 1664525 + 1013904223;
        for (uint32_t depth = 1 + (random >> 20) % 9; depth; depth--) {
            random = random * 1664525 + 1013904223;
            uint32_t frame = (random >> 8) % frame_count;
            char name[16];
            snprintf(name, sizeof name, "f%u", (unsigned)(frame % label_count));
            stack = builder_push(
                &b, stack,
                builder_frame(&b,
                              &(struct frame){.name = builder_string(&b, str_of(name)),
                                              .line = 1 + frame / label_count}));
        }
    }
    const struct profile *p = b.profile;
    assert_true(paths_init(&paths, p, &(struct label_style){0}, &err));
    uint32_t *first = calloc(paths.count, sizeof *first), seen = 0;
    for (stack_id s = 1; s < p->stack_count; s++) {
        uint32_t path = path_of_stack(&paths, s);
        assert_in_range(path, 1, paths.count - 1);
        assert_int_equal(paths.nodes[path].parent,
                         path_of_stack(&paths, p->stacks[s].parent));
        assert_int_equal(path_label(&paths, path),
                         paths.label_of_frame[p->stacks[s].frame]);
        seen += first[path]++ == 0;
    }
    assert_int_equal(seen, paths.count - 1);         /* each path belongs to a stack */
    for (uint32_t one = 1; one < paths.count; one++) /* and occurs once */
        for (uint32_t two = one + 1; two < paths.count; two++)
            assert_false(paths.nodes[one].parent == paths.nodes[two].parent &&
                         path_label(&paths, one) == path_label(&paths, two));
    free(first);
    paths_deinit(&paths);
    builder_deinit(&b);
}

static void stacks_of_shared_labels_have_one_path(void **state)
{
    (void)state;
    for (unsigned seed = 0; seed < 12; seed++) {
        check_merged(seed, 6, 5); /* one label of two frames */
        check_merged(seed, 9, 3);
        check_merged(seed, 40, 39);
    }
}

static uint32_t half(const void *context, uint32_t node)
{
    const uint32_t *left_out = context;
    return node == *left_out ? UINT32_MAX : node / 2;
}

static void children_are_listed_by_their_parents(void **state)
{
    (void)state;
    struct arena a = ARENA_INIT;
    struct children c;
    uint32_t left_out = 5;
    assert_true(children_init(&c, &a, 8, half, &left_out)); /* 1 of 0, 2 3 of 1, 4 5.. */
    static const uint32_t first[] = {0, 1, 3, 4, 6, 6, 6, 6, 6};
    static const uint32_t items[] = {1, 2, 3, 4, 6, 7};
    assert_memory_equal(c.first, first, sizeof first);
    assert_memory_equal(c.items, items, sizeof items);
    arena_deinit(&a);
}

int main(void)
{
    const struct CMUnitTest units[] = {
        UNIT(an_empty_profile_is_a_root),
        UNIT(totals_are_sums_of_selves),
        UNIT(by_name_is_bytewise_and_by_size_is_largest_first),
        UNIT(by_time_the_same_path_later_is_a_new_node),
        UNIT(threads_are_children_of_the_root),
        UNIT(small_threads_are_elided_into_the_root),
        UNIT(a_small_thread_was_large_before),
        UNIT(a_small_node_is_elided_into_its_caller),
        UNIT(one_event_is_shown_at_a_time),
        UNIT(samples_can_be_counted_instead_of_weighed),
        UNIT(a_differential_profile_shows_both_sides),
        UNIT(frames_of_one_label_are_one_node),
        UNIT(recursion_counts_once_in_a_total),
        UNIT(a_deep_stack_needs_no_deep_machine_stack),
        UNIT(distinct_labels_make_paths_of_stacks),
        UNIT(shared_labels_merge_paths),
        UNIT(stacks_of_shared_labels_have_one_path),
        UNIT(children_are_listed_by_their_parents),
    };
    return UNITS_RUN(units);
}
