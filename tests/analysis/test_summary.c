/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/summary.h"
#include "model/builder.h"
#include "unit.h"

static stack_id push(struct builder *b, stack_id parent, const char *name,
                     const char *module, uint64_t address)
{
    struct frame f = {.name = builder_string(b, str_of(name)),
                      .module = builder_module(b, str_of(module), STR("")),
                      .address = address};
    return builder_push(b, parent, builder_frame(b, &f));
}

static void add(struct builder *b, event_id event, thread_id thread, stack_id stack,
                double weight)
{
    builder_add(b, &(struct sample){.time = TIME_NONE,
                                    .cpu = CPU_NONE,
                                    .event = event,
                                    .thread = thread,
                                    .stack = stack,
                                    .count = 2,
                                    .weight = weight});
}

static struct profile *example(void)
{
    struct builder b;
    struct error err;
    assert_true(builder_init(&b, BUILD_COUNT));
    event_id cycles = builder_event(&b, STR("cycles"), UNIT_CYCLES);
    event_id faults = builder_event(&b, STR("faults"), UNIT_COUNT);
    thread_id one = builder_thread(&b, 7, 7, STR("one"));
    thread_id two = builder_thread(&b, 7, 8, STR("two"));
    thread_id other = builder_thread(&b, 9, 9, STR("other"));
    builder_thread(&b, 10, 10, STR("silent"));
    stack_id main = push(&b, 0, "main", "prog", 0x10);
    stack_id unknown = push(&b, main, "", "libx.so", 0x20);
    stack_id deep = push(&b, unknown, "leaf", "libx.so", 0x30);
    stack_id again = push(&b, unknown, "leaf", "libx.so", 0x38);
    add(&b, cycles, one, deep, 10);
    add(&b, cycles, two, again, 20);
    add(&b, cycles, two, unknown, 30);
    add(&b, cycles, one, main, 40);
    add(&b, faults, other, push(&b, again, "deeper", "", 0), 5);
    return builder_finish(&b, &err);
}

static void everything_is_counted(void **state)
{
    (void)state;
    struct profile *p = example();
    struct summary s;
    struct error err;
    assert_true(summary_init(&s, p, &err));
    assert_int_equal(s.event, 1);
    assert_int_equal(s.all.samples, 8);
    assert_double(s.all.weight, 100);
    assert_int_equal(s.events[2].samples, 2);
    assert_double(s.events[2].weight, 5);
    assert_int_equal(s.stacks, 4);
    assert_int_equal(s.deepest, 3);
    assert_int_equal(s.functions, 3); /* the two leaves have different addresses only */
    assert_double(s.unknown_leaf, 30);
    assert_double(s.unknown_any, 60);
    assert_int_equal(s.thread_count, 2);
    assert_int_equal(s.process_count, 1);
    assert_str(profile_string(p, p->threads[s.thread_order[0]].name), "one");
    assert_double(s.threads[s.thread_order[0]].weight, 50);
    assert_int_equal(s.module_count, 2);
    assert_str(profile_string(p, p->modules[s.module_order[0]].path), "libx.so");
    assert_double(s.modules[s.module_order[0]].weight, 60);
    assert_double(s.modules[s.module_order[1]].weight, 40);
    summary_deinit(&s);
    profile_destroy(p);
}

static void nothing_is_counted_too(void **state)
{
    (void)state;
    struct builder b;
    struct summary s;
    struct error err;
    assert_true(builder_init(&b, BUILD_COUNT));
    struct profile *p = builder_finish(&b, &err);
    assert_true(summary_init(&s, p, &err));
    assert_int_equal(s.event, 0);
    assert_int_equal(s.stacks + s.functions + s.deepest + s.thread_count, 0);
    summary_deinit(&s);
    profile_destroy(p);
}

int main(void)
{
    const struct CMUnitTest units[] = {
        UNIT(everything_is_counted),
        UNIT(nothing_is_counted_too),
    };
    return UNITS_RUN(units);
}
