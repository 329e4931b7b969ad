/* SPDX-License-Identifier: Apache-2.0 */
#include "model/builder.h"
#include "unit.h"
#include <math.h>

static struct builder started(enum build_mode mode)
{
    struct builder b;
    assert_true(builder_init(&b, mode));
    return b;
}

static struct profile *finished(struct builder *b)
{
    struct error err;
    struct profile *p = builder_finish(b, &err);
    assert_non_null(p);
    builder_deinit(b);
    return p;
}

/* The stack of ';'-separated names, outermost first. */
static stack_id push_names(struct builder *b, const char *names)
{
    struct str rest = str_of(names);
    stack_id stack = 0;
    while (rest.len)
        stack = builder_push(b, stack, builder_named_frame(b, str_cut(&rest, ';')));
    return stack;
}

/* Room for rows is exact where each sample is a row, and adds none. */
static void reserved_rows_stay_where_they_are(void **state)
{
    (void)state;
    struct builder b = started(BUILD_KEEP);
    event_id event = builder_event(&b, STR("cycles"), UNIT_COUNT);
    builder_reserve_samples(&b, 100000);
    assert_int_equal(b.sample_cap, 100000);
    assert_int_equal(b.profile->sample_count, 0);
    const struct sample *before = b.profile->samples;
    for (int i = 0; i < 100000; i++)
        builder_add_stack(&b, event, 0, i);
    assert_ptr_equal(b.profile->samples, before);
    struct profile *p = finished(&b);
    assert_int_equal(p->sample_count, 100000);
    profile_destroy(p);

    struct builder counted = started(BUILD_COUNT);
    builder_reserve_samples(&counted, 100000);
    assert_int_equal(counted.sample_cap, 0);
    builder_deinit(&counted);
}

static void the_same_thing_has_one_id(void **state)
{
    (void)state;
    struct builder b = started(BUILD_COUNT);
    module_id libc = builder_module(&b, STR("/lib/libc.so"), STR("abcd"));
    assert_int_equal(builder_module(&b, STR("/lib/libc.so"), STR("abcd")), libc);
    assert_int_not_equal(builder_module(&b, STR("/lib/libc.so"), STR("")), libc);
    assert_int_equal(builder_module(&b, STR(""), STR("")), 0);
    struct frame f = {.name = builder_string(&b, STR("main")), .module = libc, .line = 7};
    frame_id frame = builder_frame(&b, &f);
    assert_int_equal(builder_frame(&b, &f), frame);
    f.line = 8;
    assert_int_not_equal(builder_frame(&b, &f), frame);
    thread_id thread = builder_thread(&b, 1, 2, STR("sh"));
    assert_int_equal(builder_thread(&b, 1, 2, STR("sh")), thread);
    assert_int_not_equal(builder_thread(&b, 1, 3, STR("sh")), thread);
    assert_int_equal(builder_thread(&b, ID_NONE, ID_NONE, STR("")), 0);
    event_id cycles = builder_event(&b, STR("cycles"), UNIT_CYCLES);
    assert_int_equal(builder_event(&b, STR("cycles"), UNIT_CYCLES), cycles);
    builder_deinit(&b);
}

static void a_parent_comes_before_its_child(void **state)
{
    (void)state;
    struct builder b = started(BUILD_COUNT);
    stack_id leaf = push_names(&b, "main;work;leaf");
    assert_int_equal(push_names(&b, "main;work;leaf"), leaf);
    assert_int_not_equal(push_names(&b, "work;leaf"), leaf);
    assert_int_equal(builder_push(&b, leaf, 0), leaf); /* no frame: no step */
    const struct profile *p = b.profile;
    for (stack_id s = 1; s < p->stack_count; s++)
        assert_true(p->stacks[s].parent < s);
    builder_deinit(&b);
}

static void a_path_goes_both_ways(void **state)
{
    (void)state;
    struct builder b = started(BUILD_COUNT);
    stack_id expected = push_names(&b, "a;b;c");
    static const char *const names[] = {"a", "b", "c"};
    for (int i = 0; i < 3; i++)
        builder_path_add(&b, builder_named_frame(&b, str_of(names[i])));
    assert_int_equal(builder_path_from_root(&b), expected);
    builder_path_clear(&b);
    for (int i = 3; i-- > 0;)
        builder_path_add(&b, builder_named_frame(&b, str_of(names[i])));
    assert_int_equal(builder_path_from_leaf(&b), expected);
    builder_path_clear(&b);
    assert_int_equal(builder_path_from_leaf(&b), 0);
    builder_deinit(&b);
}

static void counting_adds_up_equal_samples(void **state)
{
    (void)state;
    struct builder b = started(BUILD_COUNT);
    event_id e = builder_event(&b, STR("cycles"), UNIT_CYCLES);
    stack_id x = push_names(&b, "a;x"), y = push_names(&b, "a;y");
    thread_id t = builder_thread(&b, 1, 1, STR("sh"));
    for (int i = 0; i < 1000; i++) {
        builder_add_stack(&b, e, x, 2.5);
        builder_add(&b, &(struct sample){.time = 100 + (uint64_t)i,
                                         .cpu = 3,
                                         .event = e,
                                         .thread = t,
                                         .stack = x,
                                         .count = 1,
                                         .weight = 1});
    }
    builder_add_stack(&b, e, y, 1);
    struct profile *p = finished(&b);
    assert_int_equal(p->sample_count, 3);
    assert_double(p->samples[0].weight, 2500);
    assert_int_equal(p->samples[0].count, 1000);
    assert_double(p->samples[1].weight, 1000);
    assert_true(p->samples[1].time == TIME_NONE && p->samples[1].cpu == CPU_NONE);
    assert_int_equal(p->facts.samples, 2001);
    assert_int_equal(p->facts.time_first, 100);
    assert_int_equal(p->facts.time_last, 1099);
    profile_destroy(p);
}

static void keeping_has_a_row_for_each(void **state)
{
    (void)state;
    struct builder b = started(BUILD_KEEP);
    event_id e = builder_event(&b, STR("cycles"), UNIT_CYCLES);
    stack_id x = push_names(&b, "a;x");
    for (uint64_t i = 0; i < 100; i++)
        builder_add(&b, &(struct sample){.time = 1000 - i,
                                         .cpu = (uint32_t)i,
                                         .event = e,
                                         .stack = x,
                                         .count = 1,
                                         .weight = (double)i});
    struct profile *p = finished(&b);
    assert_int_equal(p->sample_count, 100);
    for (uint64_t i = 0; i < 100; i++) {
        assert_int_equal(p->samples[i].time, 1000 - i);
        assert_int_equal(p->samples[i].cpu, i);
    }
    assert_int_equal(p->facts.time_first, 901);
    assert_int_equal(p->facts.time_last, 1000);
    profile_destroy(p);
}

/* Memory depends on the number of distinct stacks, not on the number of samples. */
static void an_endless_input_holds_steady(void **state)
{
    (void)state;
    struct builder b = started(BUILD_COUNT);
    event_id e = builder_event(&b, STR("cycles"), UNIT_CYCLES);
    size_t after_first = 0;
    for (int round = 0; round < 1000; round++) {
        for (int i = 0; i < 50; i++) {
            char names[32];
            snprintf(names, sizeof names, "main;f%d;g%d", i % 7, i);
            builder_add_stack(&b, e, push_names(&b, names), 1);
        }
        if (round == 0)
            after_first = b.profile->arena.total;
    }
    assert_int_equal(b.profile->arena.total, after_first);
    builder_deinit(&b);
}

static void a_weight_must_be_finite(void **state)
{
    (void)state;
    struct builder b = started(BUILD_COUNT);
    stack_id x = push_names(&b, "x");
    builder_add_stack(&b, 0, x, INFINITY);
    builder_add_stack(&b, 0, x, -INFINITY);
    builder_add_stack(&b, 0, x, NAN);
    builder_add_stack(&b, 0, x, -3);
    struct profile *p = finished(&b);
    assert_int_equal(p->sample_count, 1);
    assert_double(p->samples[0].weight, -3);
    assert_int_equal(p->facts.warning_count, 1);
    assert_int_equal(p->facts.warnings[0].count, 3);
    profile_destroy(p);
}

static void warnings_are_counted_by_their_text(void **state)
{
    (void)state;
    struct builder b = started(BUILD_COUNT);
    char same[] = "no count";
    builder_warn(&b, "no count", 4, 2, STR("a;b"));
    builder_warn(&b, same, 9, 1, STR("c"));
    builder_warn_offset(&b, "cut", 77);
    const struct facts *facts = &b.profile->facts;
    assert_int_equal(facts->warning_count, 2);
    assert_int_equal(facts->warnings[0].count, 2);
    assert_int_equal(facts->warnings[0].first.line, 4);
    assert_string_equal(facts->warnings[0].first.text, "a;b");
    assert_int_equal(facts->warnings[1].first.offset, 77);
    builder_deinit(&b);
}

static void more_kinds_of_warnings_than_there_is_room_for(void **state)
{
    (void)state;
    static const char *const kinds[] = {"0",  "1",  "2",  "3",  "4",  "5",  "6",
                                        "7",  "8",  "9",  "10", "11", "12", "13",
                                        "14", "15", "16", "17", "18", "19"};
    struct builder b = started(BUILD_COUNT);
    uint64_t sum = 0;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        builder_warn(&b, kinds[i], 1, 1, STR(""));
    const struct facts *facts = &b.profile->facts;
    assert_int_equal(facts->warning_count, WARNINGS_MAX);
    for (unsigned i = 0; i < facts->warning_count; i++)
        sum += facts->warnings[i].count;
    assert_int_equal(sum, sizeof kinds / sizeof *kinds);
    builder_deinit(&b);
}

static void merging_interns_and_sums(void **state)
{
    (void)state;
    struct profile *parts[2];
    for (int i = 0; i < 2; i++) {
        struct builder b = started(BUILD_COUNT);
        if (i) /* another order of ids, so that they must be mapped */
            push_names(&b, "z;y");
        event_id e = builder_event(&b, STR("cycles"), UNIT_CYCLES);
        thread_id t = builder_thread(&b, 5, 6, STR("java"));
        builder_add(&b, &(struct sample){.time = 10 + (uint64_t)i,
                                         .cpu = 1,
                                         .event = e,
                                         .thread = t,
                                         .stack = push_names(&b, "a;b"),
                                         .count = 1,
                                         .weight = 1.5});
        builder_warn(&b, "odd line", 3, 1, STR("x"));
        builder_lost(&b, TIME_NONE, 1);
        builder_lost(&b, 12 + (uint64_t)i, 3);
        parts[i] = finished(&b);
    }
    struct builder b = started(BUILD_COUNT);
    builder_merge(&b, parts[0]);
    builder_merge(&b, parts[1]);
    profile_destroy(parts[0]);
    profile_destroy(parts[1]);
    struct profile *p = finished(&b);
    assert_int_equal(p->sample_count, 1);
    assert_double(p->samples[0].weight, 3);
    assert_int_equal(p->samples[0].count, 2);
    assert_int_equal(p->facts.samples, 2);
    assert_int_equal(p->facts.lost, 8);
    assert_int_equal(p->facts.loss_count, 2);
    assert_int_equal(p->facts.losses[1].time, 13);
    assert_int_equal(p->facts.losses[1].count, 3);
    assert_int_equal(p->facts.time_first, 10);
    assert_int_equal(p->facts.time_last, 11);
    assert_int_equal(p->facts.warnings[0].count, 2);
    assert_int_equal(p->event_count, 2);
    assert_int_equal(p->thread_count, 2);
    assert_str(profile_string(p, p->threads[1].name), "java");
    assert_int_equal(profile_find_event(p, STR("cycles")), 1);
    assert_int_equal(profile_find_event(p, STR("faults")), 0);
    profile_destroy(p);
}

/* "cycles": a>b, called three times. */
static struct profile *with_calls(const char *first, bool stated)
{
    struct builder b = started(BUILD_COUNT);
    push_names(&b, first); /* its own order of IDs */
    event_id e = builder_event(&b, STR("cycles"), UNIT_CYCLES);
    builder_add_stack(&b, e, push_names(&b, "a;b"), 8);
    if (stated)
        builder_add_call(&b, &(struct stated_call){builder_named_frame(&b, STR("a")),
                                                   builder_named_frame(&b, STR("b")), e,
                                                   3, 8});
    return finished(&b);
}

static struct profile *merged_calls(bool first, bool second)
{
    struct profile *parts[] = {with_calls("b;a", first), with_calls("z;y", second)};
    struct builder b = started(BUILD_COUNT);
    for (int i = 0; i < 2; i++) {
        builder_merge(&b, parts[i]);
        profile_destroy(parts[i]);
    }
    return finished(&b);
}

static void calls_are_merged_if_both_state_them(void **state)
{
    (void)state;
    struct profile *p = merged_calls(true, true);
    assert_int_equal(p->call_count, 2);
    for (size_t i = 0; i < 2; i++) {
        const struct stated_call *call = &p->calls[i];
        assert_str(profile_string(p, p->frames[call->caller].name), "a");
        assert_str(profile_string(p, p->frames[call->callee].name), "b");
        assert_int_equal(call->event, profile_find_event(p, STR("cycles")));
        assert_double(call->count, 3);
        assert_double(call->total, 8);
    }
    profile_destroy(p);
    for (int i = 0; i < 2; i++) {
        p = merged_calls(i == 0, i == 1);
        assert_int_equal(p->call_count, 0);
        profile_destroy(p);
    }
}

/* A frame becomes several, one or no frames. */
static void runs_stand_for_frames(void **state)
{
    (void)state;
    struct builder source = started(BUILD_COUNT), b = started(BUILD_COUNT);
    stack_id first = push_names(&source, "one;two;none;one");
    stack_id second = push_names(&source, "one;none;two"), ends[8];
    frame_id frames[] = {builder_named_frame(&b, STR("a")),
                         builder_named_frame(&b, STR("b")),
                         builder_named_frame(&b, STR("c"))};
    struct frame_run runs[] = {{0, 0}, {0, 1}, {1, 2}, {0, 0}};
    builder_map_runs(&b, source.profile, runs, frames, ends);
    assert_int_equal(ends[first], push_names(&b, "a;b;c;a"));
    assert_int_equal(ends[second], push_names(&b, "a;b;c"));
    assert_int_equal(b.profile->stack_count, 5);
    builder_deinit(&source);
    builder_deinit(&b);
}

static void failure_persists_and_is_reported(void **state)
{
    (void)state;
    struct builder b = started(BUILD_COUNT);
    b.profile->arena.failed = true;
    assert_int_equal(builder_string(&b, STR("x")), 0);
    assert_int_equal(builder_module(&b, STR("x"), STR("")), 0);
    assert_int_equal(builder_named_frame(&b, STR("x")), 0);
    assert_int_equal(builder_thread(&b, 1, 1, STR("x")), 0);
    assert_int_equal(builder_event(&b, STR("x"), UNIT_COUNT), 0);
    builder_path_add(&b, 1);
    builder_add_stack(&b, 0, 0, 1);
    assert_int_equal(b.profile->sample_count, 0);
    struct error err;
    assert_null(builder_finish(&b, &err));
    assert_string_equal(err.message, "out of memory");
    builder_deinit(&b);
}

/* Half a million frames deep: built, and merged, without recursion. */
static void a_stack_of_half_a_million_frames(void **state)
{
    (void)state;
    struct builder b = started(BUILD_COUNT), other = started(BUILD_COUNT);
    for (int i = 0; i < 500000; i++)
        builder_path_add(&b, builder_named_frame(&b, i % 2 ? STR("even") : STR("odd")));
    builder_add_stack(&b, 0, builder_path_from_root(&b), 1);
    assert_int_equal(b.profile->stack_count, 500001);
    builder_merge(&other, b.profile);
    assert_int_equal(other.profile->stack_count, 500001);
    builder_deinit(&b);
    builder_deinit(&other);
}

/* A copy has the data of its time; later additions do not change it. */
static void a_copy_stands_by_itself(void **state)
{
    (void)state;
    struct builder b = started(BUILD_KEEP);
    char own[] = "of the reader's own";
    builder_thread(&b, 1, 2, STR("worker"));
    builder_add_stack(&b, builder_event(&b, STR("cycles"), UNIT_CYCLES),
                      push_names(&b, "main;work"), 3);
    builder_warn(&b, own, 0, 0, STR(""));
    struct profile *copy = profile_copy(b.profile);
    assert_non_null(copy);
    for (int i = 0; i < 1000; i++)
        builder_add_stack(&b, 1, push_names(&b, i % 2 ? "main;more" : "other"), 1);
    own[0] = 'O';
    builder_deinit(&b);
    assert_int_equal(copy->sample_count, 1);
    assert_int_equal(copy->stack_count, 3);
    assert_int_equal(copy->thread_count, 2);
    assert_string_equal(copy->facts.warnings[0].what, "of the reader's own");
    const struct stack *leaf = &copy->stacks[copy->samples[0].stack];
    assert_true(
        str_equal(profile_string(copy, copy->frames[leaf->frame].name), STR("work")));
    string_id name = strings_find(&copy->strings, STR("main"));
    assert_int_equal(copy->frames[copy->stacks[leaf->parent].frame].name, name);
    assert_int_equal(strings_find(&copy->strings, STR("other")), 0);
    assert_int_equal(profile_find_event(copy, STR("cycles")), 1);
    profile_destroy(copy);

    struct builder empty = started(BUILD_COUNT);
    copy = profile_copy(empty.profile);
    assert_non_null(copy);
    assert_int_equal(copy->sample_count, 0);
    profile_destroy(copy);
    builder_deinit(&empty);
}

int main(void)
{
    const struct CMUnitTest units[] = {
        UNIT(reserved_rows_stay_where_they_are),
        UNIT(the_same_thing_has_one_id),
        UNIT(a_parent_comes_before_its_child),
        UNIT(a_path_goes_both_ways),
        UNIT(counting_adds_up_equal_samples),
        UNIT(keeping_has_a_row_for_each),
        UNIT(an_endless_input_holds_steady),
        UNIT(a_weight_must_be_finite),
        UNIT(warnings_are_counted_by_their_text),
        UNIT(more_kinds_of_warnings_than_there_is_room_for),
        UNIT(merging_interns_and_sums),
        UNIT(calls_are_merged_if_both_state_them),
        UNIT(runs_stand_for_frames),
        UNIT(failure_persists_and_is_reported),
        UNIT(a_stack_of_half_a_million_frames),
        UNIT(a_copy_stands_by_itself),
    };
    return UNITS_RUN(units);
}
