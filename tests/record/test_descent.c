/* SPDX-License-Identifier: Apache-2.0 */
/* The stage that keeps the samples of the targets: their descendants are targets until they
 * have exited, and samples of events of all tasks pass. */
#include "record/descent.h"
#include "unit.h"

#define COMMAND 100
#define WAKING_ID 7

static size_t samples, others;
static uint32_t last;
static struct perf_sampler_settings settings;
static struct perf_sampler sampler;
static struct record_descent descent;
static struct record_maker maker;

static void hear(void *context, const struct record *r)
{
    (void)context;
    if (r->type == PERF_SAMPLE) {
        samples++;
        last = record_tid(&sampler.layout, r);
    } else {
        others++;
    }
}

static void hear_round(void *context)
{
    (void)context;
}

static void set_up(const uint32_t *tids, size_t count, bool from_exec, bool several)
{
    struct error err;
    struct record_sink next = {NULL, hear, hear_round};
    samples = others = 0;
    settings = (struct perf_sampler_settings){
        .targets = {.tids = tids, .tid_count = count, .from_exec = from_exec},
        .events.count = several ? 2 : 1};
    sampler = (struct perf_sampler){.settings = &settings,
                                    .layout = record_layout_of(several, 0)};
    maker.layout = &sampler.layout;
    assert_true(record_descent_init(&descent, &sampler, next, &err));
}

static void give(struct record r)
{
    struct record_sink to = record_descent_sink(&descent);
    record_pass(&to, &r);
}

/* Whether a sample of that thread passes. */
static bool passes(uint32_t tid)
{
    size_t before = samples;
    record_begin(&maker, PERF_SAMPLE, PERF_MODE_USER);
    if (sampler.layout.id || settings.events.count > 1)
        record_put_u64(&maker, WAKING_ID);
    record_put_u64(&maker, 0x1000);
    record_put_u32(&maker, tid);
    record_put_u32(&maker, tid);
    record_put_u64(&maker, 1);
    record_put_u64(&maker, 0);
    record_put_u64(&maker, 1);
    give(record_end_bare(&maker, 1));
    return samples == before + 1 && last == tid;
}

/* FORK or EXIT. */
static void task(uint32_t type, uint32_t tid)
{
    record_begin(&maker, type, 0);
    record_put_u32(&maker, tid);
    record_put_u32(&maker, COMMAND);
    record_put_u32(&maker, tid);
    record_put_u32(&maker, COMMAND);
    record_put_u64(&maker, 1);
    give(record_end(&maker, tid, tid, 1));
}

static void end_round(void)
{
    struct record_sink to = record_descent_sink(&descent);
    to.round(to.context);
}

static void test_a_command_from_its_exec_on(void **state)
{
    (void)state;
    uint32_t tids[] = {COMMAND};
    set_up(tids, 1, true, false);
    assert_false(passes(COMMAND));
    give(record_make_name(&maker, COMMAND, COMMAND, STR("work"), 1));
    assert_true(passes(COMMAND));
    assert_false(passes(COMMAND + 1));
    assert_int_equal(descent.removed, 2);
    assert_int_equal(others, 1);
    record_descent_deinit(&descent);
}

static void test_descendants(void **state)
{
    (void)state;
    uint32_t tids[] = {COMMAND, COMMAND + 1};
    set_up(tids, 2, false, false);
    assert_true(passes(COMMAND));
    assert_true(passes(COMMAND + 1));
    assert_false(passes(200));
    task(PERF_FORK, 200);
    assert_true(passes(200));
    task(PERF_EXIT, 200);
    assert_true(passes(200)); /* the kernel removes its memory after the record */
    end_round();
    assert_false(passes(200));
    assert_true(passes(COMMAND));
    record_descent_deinit(&descent);
}

static void test_an_id_given_again_in_a_round(void **state)
{
    (void)state;
    set_up(NULL, 0, false, false);
    task(PERF_FORK, 300);
    task(PERF_EXIT, 300);
    task(PERF_FORK, 300);
    end_round();
    assert_true(passes(300));
    task(PERF_EXIT, 300);
    end_round();
    assert_false(passes(300));
    record_descent_deinit(&descent);
}

static void test_invalid_ids(void **state)
{
    (void)state;
    uint32_t tids[] = {UINT32_MAX};
    set_up(tids, 1, false, false);
    task(PERF_FORK, 1u << 22);
    task(PERF_EXIT, 1u << 22);
    end_round();
    assert_false(passes(1u << 22));
    assert_false(passes(UINT32_MAX));
    record_descent_deinit(&descent);
}

/* The ids of open counters cannot be had here: they are set after `init`. */
static void test_events_of_all_tasks(void **state)
{
    (void)state;
    set_up(NULL, 0, false, true);
    assert_false(passes(400));
    descent.ids[0] = WAKING_ID;
    descent.id_count = 1;
    assert_true(passes(400));
    descent.ids[0] = WAKING_ID + 1;
    assert_false(passes(400));
    record_descent_deinit(&descent);
}

int main(void)
{
    const struct CMUnitTest units[] = {
        UNIT(test_a_command_from_its_exec_on), UNIT(test_descendants),
        UNIT(test_an_id_given_again_in_a_round), UNIT(test_invalid_ids),
        UNIT(test_events_of_all_tasks)};
    return UNITS_RUN(units);
}
