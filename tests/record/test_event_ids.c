/* SPDX-License-Identifier: Apache-2.0 */
/* Samples of counters that were opened late have an id that the head of the output has. */
#include "record/event_ids.h"
#include "unit.h"

static struct record_layout layout;
static struct record_event_ids ids;
static uint64_t got;
static size_t rounds, others;

static void hear(void *context, const struct record *r)
{
    (void)context;
    if (r->type == PERF_SAMPLE)
        got = record_u64(r->bytes, layout.id);
    else
        others++;
}

static void hear_round(void *context)
{
    (void)context;
    rounds++;
}

static int start(void **state)
{
    (void)state;
    layout = record_layout_of(true, 0);
    record_event_ids_start(&ids, &layout, (struct record_sink){NULL, hear, hear_round});
    return 0;
}

static int stop(void **state)
{
    (void)state;
    record_event_ids_deinit(&ids);
    return 0;
}

/* The id that a sample of this id has at the output. */
static uint64_t through(uint64_t id)
{
    static struct record_maker maker;
    struct record_sink to = record_event_ids_sink(&ids);
    maker.layout = &layout;
    record_begin(&maker, PERF_SAMPLE, PERF_MODE_USER);
    record_put_u64(&maker, id);
    for (size_t at = 16; at < layout.fixed_size; at += 8)
        record_put_u64(&maker, 1);
    struct record r = record_end_bare(&maker, 1);
    record_pass(&to, &r);
    assert_int_equal(record_u64(r.bytes, layout.id), id); /* the input is as it was */
    return got;
}

static void later_counters_have_a_known_id(void **state)
{
    (void)state;
    assert_int_equal(through(10), 10);
    record_event_ids_add(&ids, 30, 10);
    record_event_ids_add(&ids, 31, 11);
    assert_int_equal(through(30), 10);
    assert_int_equal(through(31), 11);
    assert_int_equal(through(11), 11);
    start(NULL); /* another output */
    assert_int_equal(through(30), 10);
}

static void other_records_pass(void **state)
{
    struct record_sink to = record_event_ids_sink(&ids);
    static struct record_maker maker;
    (void)state;
    maker.layout = &layout;
    record_event_ids_add(&ids, 7, 1);
    record_begin(&maker, PERF_LOST, 0);
    record_put_u64(&maker, 7);
    record_put_u64(&maker, 1);
    struct record r = record_end(&maker, 1, 1, 1);
    record_pass(&to, &r);
    assert_int_equal(others, 1);
    to.round(to.context);
    assert_int_equal(rounds, 1);
}

int main(void)
{
    const struct CMUnitTest units[] = {
        cmocka_unit_test_setup_teardown(later_counters_have_a_known_id, start, stop),
        cmocka_unit_test_setup_teardown(other_records_pass, start, stop),
    };
    return UNITS_RUN(units);
}
